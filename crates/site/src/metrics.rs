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
    pub model: String,
    /// As in `concurrency=64`.
    pub load: String,
    /// What has ended so far; what is under way is not among them.
    pub records: Vec<Record>,
    pub in_flight: usize,
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
        let (labels, records) = (labels(view), &view.records);
        for (word, is_it) in [
            (
                "ok",
                (|it| matches!(it, Outcome::Done)) as fn(&Outcome) -> bool,
            ),
            ("failed", |it| matches!(it, Outcome::Failed(_))),
            ("cancelled", |it| matches!(it, Outcome::Cancelled)),
            ("cut", |it| matches!(it, Outcome::Cut)),
        ] {
            let count = records.iter().filter(|it| is_it(&it.outcome)).count();
            let name = "inferometer_requests_total";
            let _ = writeln!(requests, "{name}{{{labels},outcome=\"{word}\"}} {count}");
        }
        let all = records.iter().filter_map(Record::output_tokens);
        let all: u64 = all.map(u64::from).sum();
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
    for Quantity {
        name,
        help,
        ends,
        of,
    } in QUANTITIES
    {
        let mut lines = String::new();
        for view in runs {
            let labels = labels(view);
            let values = view.records.iter().flat_map(of);
            let (mut counts, mut count, mut sum) = (vec![0_u64; ends.len() + 1], 0_u64, 0.0);
            for value in values.map(|it| it.as_secs_f64()) {
                counts[ends.partition_point(|end| *end < value)] += 1;
                count += 1;
                sum += value;
            }
            let mut below = 0;
            for (end, more) in ends.iter().zip(counts) {
                below += more;
                let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"{end}\"}} {below}");
            }
            let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(lines, "{name}_count{{{labels}}} {count}");
            let _ = writeln!(lines, "{name}_sum{{{labels}}} {sum}");
        }
        family(name, "histogram", help, lines);
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
    let [run, model, load] = [&view.run, &view.model, &view.load].map(|it| quoted(it));
    format!("run=\"{run}\",model=\"{model}\",load=\"{load}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_the_text_ends_as_openmetrics_does() {
        let record = Record {
            outcome: Outcome::Done,
            ..Record::default()
        };
        let text = open_metrics(&[View {
            run: "a\"b\n".to_owned(),
            model: "m\\x".to_owned(),
            load: "concurrency=8".to_owned(),
            records: vec![record],
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
    fn the_dashboard_asks_for_what_is_served() {
        let dashboard = include_str!("../../../docs/grafana.json");
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        let served = open_metrics(&[View {
            run: "a".to_owned(),
            model: "m".to_owned(),
            load: "concurrency=8".to_owned(),
            records: Vec::new(),
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
