//! A metric and its statistics, by the tool's rules: linear percentiles of single requests,
//! nearest ranks where failures count, and shares of the time for what is drawn over time.

use super::steps::Held;
use crate::object::Object;
use inferometer_core::quantile::quantile;

/// A row of a table and an entry of the export.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Metric {
    pub(super) tag: &'static str,
    pub(super) header: String,
    pub(super) unit: &'static str,
    pub(super) group: Group,
    pub(super) values: Values,
}

/// The tables of the console, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Effective,
    Active,
    Usage,
    Main,
    /// In the export alone.
    Export,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    /// One number for the whole run.
    Total(f64),
    /// Ascending.
    Sample(Vec<f64>),
    /// The same with an infinite value at its end for each failure.
    WithFailures(Vec<f64>),
    /// Of a value that holds for a while.
    OverTime(Held),
}

const PERCENTILES: [u32; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

impl Values {
    fn percentile(&self, percent: u32) -> Option<f64> {
        let share = f64::from(percent) / 100.0;
        match self {
            Values::Total(_) => None,
            Values::Sample(sample) => quantile(sample, share),
            Values::WithFailures(sample) => {
                let at = share * sample.len().checked_sub(1)? as f64;
                // Half-way ranks go to the even one.
                sample.get(at.round_ties_even() as usize).copied()
            }
            Values::OverTime(held) => held.percentile(percent),
        }
    }

    /// A statistic by its name; absent where it has none or is not finite, which the tool does
    /// not write.
    pub(super) fn statistic(&self, name: &str) -> Option<f64> {
        self.of(name).filter(|value| value.is_finite())
    }

    fn of(&self, name: &str) -> Option<f64> {
        if let Some(percent) = name.strip_prefix('p').and_then(|rank| rank.parse().ok()) {
            return self.percentile(percent);
        }
        let sample = match self {
            Values::Total(value) => return (name == "avg").then_some(*value),
            Values::OverTime(held) => return held.statistic(name),
            Values::Sample(sample) | Values::WithFailures(sample) => sample,
        };
        let mean = sample.iter().sum::<f64>() / sample.len() as f64;
        match name {
            "avg" => Some(mean),
            "min" => sample.first().copied(),
            "max" => sample.last().copied(),
            "std" => {
                let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
                Some((squares / sample.len() as f64).sqrt())
            }
            "count" => Some(sample.len() as f64),
            "sum" => Some(sample.iter().sum()),
            _ => None,
        }
    }

    /// Whether there is anything to state: the tool has no row for what no request has.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Values::Total(value) => value.is_finite(),
            Values::Sample(sample) | Values::WithFailures(sample) => !sample.is_empty(),
            Values::OverTime(_) => true,
        }
    }
}

/// Names that are not the words of their tags.
const NAMED: [(&str, &str); 8] = [
    (
        "completed_request_count",
        "Completed Requests (Success + Error)",
    ),
    ("credit_to_start_latency", "Credit-to-Start Latency"),
    ("effective_latency", "Effective Latency (CO-aware)"),
    ("good_request_fraction", "GoodRequestFraction"),
    ("http_req_duration", "HTTP Duration (excl. conn)"),
    ("http_req_total", "HTTP Total Time"),
    ("total_isl", "Total Input Sequence Length"),
    ("total_osl", "Total Output Sequence Length"),
];

/// The name that tables have for a metric.
fn header(tag: &str) -> String {
    if let Some((_, named)) = NAMED.iter().find(|(named, _)| *named == tag) {
        return (*named).to_owned();
    }
    if let Some(plain) = tag.strip_prefix("adj_") {
        return format!("{} (error-adjusted)", header(plain));
    }
    let words = tag.split('_').filter(|word| *word != "req");
    let words = words.map(|word| match word {
        "to" => "to".to_owned(),
        "pct" => "%".to_owned(),
        "e2e" | "http" | "osl" => word.to_uppercase(),
        _ => word[..1].to_uppercase() + &word[1..],
    });
    words.collect::<Vec<_>>().join(" ")
}

impl Metric {
    pub(super) fn new(
        (tag, unit): (&'static str, &'static str),
        group: Group,
        values: Values,
    ) -> Metric {
        Metric {
            tag,
            header: header(tag),
            unit,
            group,
            values,
        }
    }

    /// What the export file has of it.
    pub(super) fn entry(&self) -> Object {
        let mut entry = Object::default();
        entry.put("unit", self.unit);
        let mut put = |name: &str| match (name, self.values.statistic(name)) {
            (_, None) => {}
            ("count", Some(count)) => entry.put(name, count as u64),
            (_, Some(value)) => entry.put(name, value),
        };
        put("avg");
        for percent in PERCENTILES {
            put(&format!("p{percent}"));
        }
        for name in ["min", "max", "std", "count", "sum"] {
            put(name);
        }
        entry
    }
}
