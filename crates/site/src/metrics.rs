//! The client's view of measurements that go on, or have just ended, in the text form of OpenMetrics.

use inferometer_core::record::{Outcome, Record};
use std::fmt::Write as _;
use std::time::Duration;

/// Upper ends of the buckets, in seconds: from a quick token to a long answer.
const TOKEN_S: [f64; 20] = [
    0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.0125, 0.015, 0.02, 0.025, 0.03, 0.04,
    0.05, 0.075, 0.1, 0.2, 0.5, 1.0,
];
const ANSWER_S: [f64; 22] = [
    0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5,
    10.0, 20.0, 30.0, 60.0, 300.0,
];

/// A run that goes on or has just ended.
pub struct View {
    pub run: String,
    /// Its place below the result of that name, where it is a part of it: a point of a sweep.
    pub point: Option<String>,
    pub model: String,
    /// As in `concurrency=64`.
    pub load: String,
    pub counted: Counted,
    pub in_flight: u64,
}

/// What has ended so far of a run; what is under way is not among it.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    ok: u64,
    failed: u64,
    cancelled: u64,
    cut: u64,
    output_tokens: u64,
    /// Of each of [`QUANTITIES`].
    histograms: [Histogram; QUANTITIES.len()],
}

#[derive(Clone, Debug, Default)]
struct Histogram {
    /// By bucket, the last for what is above all ends.
    counts: Vec<u64>,
    sum_s: f64,
}

impl Histogram {
    fn add(&mut self, seconds: f64, ends: &[f64]) {
        self.counts.resize(ends.len() + 1, 0);
        self.counts[ends.partition_point(|end| *end < seconds)] += 1;
        self.sum_s += seconds;
    }
}

impl Counted {
    pub fn add(&mut self, record: &Record) {
        match record.outcome {
            Outcome::Done => self.ok += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Cancelled => self.cancelled += 1,
            Outcome::Cut => self.cut += 1,
        }
        self.output_tokens += u64::from(record.output_tokens().unwrap_or_default());
        for (quantity, histogram) in QUANTITIES.iter().zip(&mut self.histograms) {
            for value in (quantity.of)(record) {
                histogram.add(value.as_secs_f64(), quantity.ends);
            }
        }
    }
}

struct Quantity {
    name: &'static str,
    help: &'static str,
    ends: &'static [f64],
    of: fn(&Record) -> Vec<Duration>,
}

const QUANTITIES: [Quantity; 4] = [
    Quantity {
        name: "inferometer_ttft_seconds",
        help: "Time to the first token.",
        ends: &ANSWER_S,
        of: |record| Vec::from_iter(record.ttft()),
    },
    Quantity {
        name: "inferometer_tpot_seconds",
        help: "Time per output token after the first.",
        ends: &TOKEN_S,
        of: |record| Vec::from_iter(record.tpot()),
    },
    Quantity {
        name: "inferometer_itl_seconds",
        help: "Time between chunks of an answer.",
        ends: &TOKEN_S,
        of: |record| record.gaps().collect(),
    },
    Quantity {
        name: "inferometer_e2e_seconds",
        help: "Time from sending to the end of the answer.",
        ends: &ANSWER_S,
        of: |record| Vec::from_iter(record.e2e()),
    },
];

pub fn open_metrics(runs: &[View]) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: String| {
        let _ = write!(out, "# TYPE {name} {kind}\n# HELP {name} {help}\n{lines}");
    };
    let (mut requests, mut tokens, mut in_flight) = (String::new(), String::new(), String::new());
    for view in runs {
        let (labels, counted) = (labels(view), &view.counted);
        for (word, count) in [
            ("ok", counted.ok),
            ("failed", counted.failed),
            ("cancelled", counted.cancelled),
            ("cut", counted.cut),
        ] {
            let name = "inferometer_requests_total";
            let _ = writeln!(requests, "{name}{{{labels},outcome=\"{word}\"}} {count}");
        }
        let all = counted.output_tokens;
        let _ = writeln!(tokens, "inferometer_output_tokens_total{{{labels}}} {all}");
        let count = view.in_flight;
        let _ = writeln!(
            in_flight,
            "inferometer_requests_in_flight{{{labels}}} {count}"
        );
    }
    family(
        "inferometer_requests",
        "counter",
        "Requests that ended, by outcome.",
        requests,
    );
    family(
        "inferometer_output_tokens",
        "counter",
        "Output tokens of requests that ended.",
        tokens,
    );
    family(
        "inferometer_requests_in_flight",
        "gauge",
        "Requests that were sent and have not ended.",
        in_flight,
    );
    for (nth, quantity) in QUANTITIES.iter().enumerate() {
        let (name, mut lines) = (quantity.name, String::new());
        for view in runs {
            let (labels, histogram) = (labels(view), &view.counted.histograms[nth]);
            let counts = histogram.counts.iter().chain(std::iter::repeat(&0));
            let mut below = 0;
            for (end, more) in quantity.ends.iter().zip(counts) {
                below += more;
                let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"{end}\"}} {below}");
            }
            let (count, sum) = (histogram.counts.iter().sum::<u64>(), histogram.sum_s);
            let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(lines, "{name}_count{{{labels}}} {count}");
            let _ = writeln!(lines, "{name}_sum{{{labels}}} {sum}");
        }
        family(name, "histogram", quantity.help, lines);
    }
    out + "# EOF\n"
}

fn labels(view: &View) -> String {
    let quoted = |text: &str| {
        let text = inferometer_text::hostile::printable(text, 200);
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', " ")
    };
    let point = view.point.as_ref().map(|point| ("point", point));
    let labels = [
        ("run", &view.run),
        ("model", &view.model),
        ("load", &view.load),
    ];
    let labels = labels.into_iter().chain(point);
    let labels: Vec<String> = labels
        .map(|(name, value)| format!("{name}=\"{}\"", quoted(value)))
        .collect();
    labels.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::units::Offset;

    #[test]
    fn names_are_quoted_and_the_text_ends_as_openmetrics_does() {
        let record = Record {
            outcome: Outcome::Done,
            ..Record::default()
        };
        let mut counted = Counted::default();
        counted.add(&record);
        let text = open_metrics(&[View {
            run: "a\"b\n".to_owned(),
            point: None,
            model: "m\\x".to_owned(),
            load: "concurrency=8".to_owned(),
            counted,
            in_flight: 7,
        }]);
        let in_flight = |line: &str| line.contains("_in_flight{") && line.ends_with(" 7");
        assert!(text.lines().any(in_flight), "{text}");
        assert!(text.contains("outcome=\"ok\"} 1"), "{text}");
        assert!(text.contains("run=\"a\\\"b"), "{text}");
        assert!(text.contains("model=\"m\\\\x\""), "{text}");
        assert!(text.contains("load=\"concurrency=8\",le="), "{text}");
        assert!(text.ends_with("# EOF\n"));
        assert!(!text.lines().any(|line| line.trim() == "\""), "{text}");
    }

    #[test]
    fn a_bucket_counts_what_is_at_or_below_its_end() {
        let answer = |ms: u64| Record {
            sent: Some(Offset(0)),
            end: Some(Offset::after(Duration::from_millis(ms))),
            outcome: Outcome::Done,
            ..Record::default()
        };
        let mut counted = Counted::default();
        [10, 11, 400_000]
            .into_iter()
            .for_each(|ms| counted.add(&answer(ms)));
        let text = open_metrics(&[View {
            run: "a".to_owned(),
            point: Some("points/1".to_owned()),
            model: "m".to_owned(),
            load: "rate=8".to_owned(),
            counted,
            in_flight: 0,
        }]);
        let labels = "run=\"a\",model=\"m\",load=\"rate=8\",point=\"points/1\"";
        for (end, count) in [("0.01", 1), ("0.02", 2), ("300", 2), ("+Inf", 3)] {
            let line = format!("inferometer_e2e_seconds_bucket{{{labels},le=\"{end}\"}} {count}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
        assert!(text.contains(&format!(
            "inferometer_e2e_seconds_sum{{{labels}}} 400.021\n"
        )));
    }

    #[test]
    fn the_dashboard_asks_for_what_is_served() {
        let dashboard = include_str!("../../../docs/grafana.json");
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        let served = open_metrics(&[View {
            run: "a".to_owned(),
            model: "m".to_owned(),
            point: Some("points/1".to_owned()),
            load: "concurrency=8".to_owned(),
            counted: Counted::default(),
            in_flight: 0,
        }]);
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
        let mut asked = 0;
        for target in targets {
            let query = target["expr"].as_str().unwrap();
            let name = &query[query.find("inferometer_").unwrap()..];
            let name = &name[..=name.find('{').unwrap()];
            assert!(served.contains(name), "{name} of {query}");
            asked += 1;
        }
        assert!(asked > 10, "{asked}");
    }
}
