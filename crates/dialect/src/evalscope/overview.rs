//! The two tables that the tool prints after several loads: an overview, and the metrics of
//! requests. Its basic information about the data set and its own output folder is left out.

use crate::evalscope::{Numbers, nearest_rank, shown};
use crate::outline::heavy_sections;

/// One load in the cells of both tables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    concurrency: u32,
    rate: f64,
    overview: Vec<String>,
    metrics: Vec<Vec<String>>,
}

/// A load that was not given.
const NOT_GIVEN: &str = "-";

impl Numbers {
    /// The cells of this load.
    pub(crate) fn entry(&self) -> Entry {
        let summary = self.summary();
        let value = |key: &str| {
            let found = summary.iter().find(|(name, _)| *name == key);
            found.map(|(_, value)| *value)
        };
        let cell = |key: &str, digits| shown(value(key).unwrap_or_default(), digits);
        let load = [
            match self.concurrency {
                0 => NOT_GIVEN.to_owned(),
                streams => streams.to_string(),
            },
            match self.rate {
                rate if rate < 0.0 => NOT_GIVEN.to_owned(),
                rate => shown(rate, 2),
            },
        ];
        let success = 100.0 * self.answers.len() as f64 / self.total.max(1) as f64;
        let mut overview = load.to_vec();
        overview.extend([
            self.total.to_string(),
            cell("Req Throughput (req/s)", 2),
            cell("Output Throughput (tok/s)", 2),
            format!("{}%", shown(success, 1)),
        ]);
        let samples = self.samples();
        let mut metrics: Vec<Vec<String>> = Vec::new();
        // Percentiles of nought are not shown, nor is a metric that is nought throughout.
        for (label, average, sample, digits) in [
            ("Latency (s)", "Avg Latency (s)", "Latency (s)", 3),
            ("TTFT (ms)", "Avg TTFT (ms)", "TTFT (ms)", 2),
            ("TPOT (ms)", "Avg TPOT (ms)", "TPOT (ms)", 2),
            ("Input Tokens", "Avg Input Tokens", "Input tokens", 0),
            ("Output Tokens", "Avg Output Tokens", "Output tokens", 0),
        ] {
            let values = samples.iter().find(|(name, ..)| *name == sample);
            let values = values.map_or(&[][..], |(_, _, values)| values);
            let average = value(average).unwrap_or_default();
            if average == 0.0 && label != "Input Tokens" {
                continue;
            }
            let mut row = vec![label.to_owned(), shown(average, digits)];
            row.extend([50, 99, 100].map(|p| match nearest_rank(values, p) {
                0.0 => NOT_GIVEN.to_owned(),
                value => shown(value, digits),
            }));
            metrics.push(row);
        }
        let scalar = |label: &str, text: String| {
            let mut row = vec![label.to_owned(), text];
            row.resize(5, NOT_GIVEN.to_owned());
            row
        };
        let tpot = value("Avg TPOT (ms)").filter(|tpot| *tpot > 0.0);
        metrics.extend(tpot.map(|tpot| scalar("Decode toks/s", shown(1e3 / tpot, 2))));
        if let (Some(tokens), Some(share)) =
            (value("Avg Decoded Tok/Iter"), value("Spec. Accept Rate"))
        {
            metrics.push(scalar("Decoded Tok/Iter", shown(tokens, 2)));
            metrics.push(scalar(
                "Spec. Accept Rate",
                format!("{}%", shown(share * 100.0, 1)),
            ));
        }
        // The load stands before the first metric only.
        for (at, row) in metrics.iter_mut().enumerate() {
            let load = match at {
                0 => load.clone(),
                _ => [String::new(), String::new()],
            };
            row.splice(0..0, load);
        }
        Entry {
            concurrency: self.concurrency,
            rate: self.rate,
            overview,
            metrics,
        }
    }
}

/// Both tables of several loads, by rising concurrency and rate.
pub(crate) fn tables(mut entries: Vec<Entry>) -> String {
    let last = |value: f64, given: bool| if given { value } else { f64::INFINITY };
    entries.sort_by(|a, b| {
        let streams = |e: &Entry| last(f64::from(e.concurrency), e.concurrency > 0);
        let rate = |e: &Entry| last(e.rate, e.rate >= 0.0);
        (streams(a).total_cmp(&streams(b))).then(rate(a).total_cmp(&rate(b)))
    });
    let heads = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let overview: Vec<Vec<String>> = entries.iter().map(|e| e.overview.clone()).collect();
    let metrics: Vec<Vec<Vec<String>>> = entries.into_iter().map(|e| e.metrics).collect();
    let first = heavy_sections(
        "Performance Overview",
        &heads(&["Conc.", "Rate", "Num", "RPS", "Gen/s", "Success"]),
        &[overview],
        None,
    );
    let second = heavy_sections(
        "Per-Request Metrics",
        &heads(&["Conc.", "Rate", "Metric", "avg", "p50", "p99", "max"]),
        &metrics,
        Some(2),
    );
    format!("\n{first}\n\n{second}")
}
