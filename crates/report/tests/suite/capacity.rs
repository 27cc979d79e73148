//! What the report of a search for capacity says.

use crate::samples;
use inferometer_campaign::capacity::stored::{Capacity, SearchEnding};
use inferometer_core::summary::{ObjectiveResult, SloResult};
use inferometer_page::text;
use inferometer_report::capacity::compose;
use inferometer_text::Lang;
use serde_json::json;
use std::path::Path;

/// A search for two objectives that a request must meet together, each with the share that met it.
fn found(shares: [f64; 2], ending: &str, counted: u64) -> Capacity {
    let mut summary = samples::empty_summary();
    let objective = |(name, share): (&str, f64)| ObjectiveResult {
        objective: name.to_owned(),
        value_ms: None,
        share: Some(share),
        met: None,
    };
    let both = ["ttft=1s", "e2e=1m"].into_iter().zip(shares);
    summary.slo = Some(SloResult {
        attainment: Some(shares[0]),
        attainment_interval: None,
        goodput_per_s: None,
        jobs: None,
        objectives: both.map(objective).collect(),
        met: Some(true),
    });
    let value = if ending == "confirmed" {
        Some(23.5)
    } else {
        None
    };
    let found = json!({
        "schema": "inferometer.capacity/1",
        "label": null,
        "sim_clock": "virtual",
        "over": "rate",
        "tier": null,
        "objectives": ["ttft=1s", "e2e=1m", "attainment=0.9"],
        "value": value,
        "low": 22.5,
        "high": 25.6,
        "binding": "ttft=1s and e2e=1m",
        "edge": "slope",
        "ending": ending,
        "needs": 44,
        "long_run": {"level": 23.1, "offered": 22.5, "requests": counted, "within": 0.9, "asked": 0.9, "met": false, "needs": null},
        "requests_spent": 6000,
        "confirmed": summary,
        "repeat": [],
        "typed": [],
        "probes": [{"level": 23.1, "offered": 22.5, "purpose": "confirm", "requests": 4003, "verdict": "met", "directory": "probes/001-23.1"}],
    });
    serde_json::from_value(found).unwrap()
}

fn shown(found: &Capacity, lang: Lang) -> String {
    let doc = compose(found, None, Path::new("out"), lang);
    let shown = text::render(&doc, text::TextStyle::default());
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn only_objectives_that_are_missed_are_said_to_be_missed_first() {
    let one = found([0.91, 1.0], "confirmed", 4003);
    assert!(shown(&one, Lang::En).contains("Missed first ttft=1s Beyond"));
    let both = found([0.91, 0.93], "confirmed", 4003);
    assert!(shown(&both, Lang::En).contains("Missed first ttft=1s, e2e=1m Beyond"));
    assert!(!shown(&both, Lang::Zh).contains(" and "));
    // JSON names the same.
    let named = |found: Capacity| found.named_by_misses().answer.binding;
    assert_eq!(named(one).as_deref(), Some("ttft=1s"));
    assert_eq!(named(both).as_deref(), Some("ttft=1s and e2e=1m"));
}

#[test]
fn a_run_is_told_by_the_rate_at_which_its_arrivals_came() {
    let text = shown(&found([0.91, 1.0], "confirmed", 4003), Lang::En);
    for expected in [
        "requests at 22.5 req/s (23.1 were asked for",
        "The run that confirms it, at 22.5 req/s",
        "23.1 22.5 confirm 4,003 met",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    // One that does not confirm is not said to be at the answer.
    let open = shown(&found([0.91, 1.0], "too-short", 4003), Lang::En);
    assert!(
        open.contains("The long run that tells most, at 22.5 req/s"),
        "{open}"
    );
}

#[test]
fn runs_that_tell_together_are_told_together() {
    let mut together = found([0.91, 1.0], "confirmed", 4003);
    let run = together.answer.long_run.as_mut().unwrap();
    (run.runs, run.sent) = (Some(2), Some(9_120));
    let text = shown(&together, Lang::En);
    let expected = "by 2 runs of 9,120 requests in all, the lowest at 22.5 req/s";
    assert!(text.contains(expected), "{text}");
    together.answer.ending = SearchEnding::TooShort;
    let text = shown(&together, Lang::En);
    let expected = "2 runs of 9,120 requests in all, at 22.5 req/s and above, met the objectives";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_long_run_that_is_too_short_is_told_with_what_counted_of_it() {
    let few = shown(&found([0.91, 1.0], "too-few-samples", 31), Lang::En);
    let expected = "NO CAPACITY the budget left too few requests for a long run: 31 counted beside those with which the server fills, and the objectives need at least 44; raise --budget";
    assert!(few.starts_with(expected), "{few}");
}
