//! The client's view of running measurements in the text form of OpenMetrics.

use inferometer_core::record::{Outcome, Record};
use std::fmt::Write as _;

/// Upper ends of the buckets, in seconds: from a quick token to a long answer.
const TOKEN_S: [f64; 12] = [
    0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0,
];
const ANSWER_S: [f64; 14] = [
    0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 300.0,
];

type Quantity = (
    &'static str,
    &'static str,
    &'static [f64],
    fn(&Record) -> Option<f64>,
);

const QUANTITIES: [Quantity; 3] = [
    (
        "inferometer_ttft_seconds",
        "Time to the first token.",
        &ANSWER_S,
        |record| Some(record.ttft()?.as_secs_f64()),
    ),
    (
        "inferometer_tpot_seconds",
        "Time per output token after the first.",
        &TOKEN_S,
        |record| Some(record.tpot()?.as_secs_f64()),
    ),
    (
        "inferometer_e2e_seconds",
        "Time from sending to the end of the answer.",
        &ANSWER_S,
        |record| Some(record.e2e()?.as_secs_f64()),
    ),
];

/// Runs by name and model, with their records so far.
pub fn text(runs: &[(String, String, Vec<Record>)]) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: String| {
        let _ = write!(out, "# TYPE {name} {kind}\n# HELP {name} {help}\n{lines}");
    };
    let (mut requests, mut tokens) = (String::new(), String::new());
    for (run, model, records) in runs {
        let labels = labels(run, model);
        for (word, is_it) in [
            (
                "ok",
                (|it| matches!(it, Outcome::Done)) as fn(&Outcome) -> bool,
            ),
            ("failed", |it| matches!(it, Outcome::Failed(_))),
            ("cut", |it| matches!(it, Outcome::Cut)),
            ("cancelled", |it| matches!(it, Outcome::Cancelled)),
        ] {
            let count = records.iter().filter(|it| is_it(&it.outcome)).count();
            let name = "inferometer_requests_total";
            let _ = writeln!(requests, "{name}{{{labels},outcome=\"{word}\"}} {count}");
        }
        let all = records.iter().filter_map(Record::output_tokens);
        let all: u64 = all.map(u64::from).sum();
        let _ = writeln!(tokens, "inferometer_output_tokens_total{{{labels}}} {all}");
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
    for (name, help, ends, of) in QUANTITIES {
        let mut lines = String::new();
        for (run, model, records) in runs {
            let labels = labels(run, model);
            let values: Vec<f64> = records.iter().filter_map(of).collect();
            for end in ends {
                let below = values.iter().filter(|it| *it <= end).count();
                let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"{end}\"}} {below}");
            }
            let (count, sum) = (values.len(), values.iter().sum::<f64>());
            let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(lines, "{name}_count{{{labels}}} {count}");
            let _ = writeln!(lines, "{name}_sum{{{labels}}} {sum}");
        }
        family(name, "histogram", help, lines);
    }
    out + "# EOF\n"
}

fn labels(run: &str, model: &str) -> String {
    let quoted = |text: &str| {
        let text = inferometer_text::hostile::printable(text, 200);
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', " ")
    };
    format!("run=\"{}\",model=\"{}\"", quoted(run), quoted(model))
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
        let text = text(&[("a\"b\n".to_owned(), "m\\x".to_owned(), vec![record])]);
        assert!(text.contains("outcome=\"ok\"} 1"), "{text}");
        assert!(text.contains("run=\"a\\\"b"), "{text}");
        assert!(text.contains("model=\"m\\\\x\""), "{text}");
        assert!(text.ends_with("# EOF\n"));
        assert!(!text.lines().any(|line| line.trim() == "\""), "{text}");
    }
}
