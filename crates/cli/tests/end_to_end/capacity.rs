//! The search for capacity, on the simulated engine.

use crate::support::{Ended, Place, Sim};
use serde_json::Value;

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn capacity(place: &Place, options: &[&str]) -> Ended {
    let fixed = ["capacity", "--lang", "en", "--quiet", "--out", "found"];
    place.run(&[&fixed[..], options].concat())
}

#[test]
fn the_capacity_of_the_simulated_engine_is_found_in_virtual_time() {
    let place = Place::new();
    let options = [
        "--sim-clock",
        "virtual",
        "--slo",
        "ttft.p90=500ms",
        "--input-tokens",
        "512",
        "--output-tokens",
        "64",
        "--format",
        "json",
    ];
    let ended = capacity(&place, &options);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = json(&ended);
    assert_eq!(found["schema"], "inferometer.capacity/1");
    assert_eq!(found["over"], "rate");
    assert_eq!(found["binding"], "ttft.p90");
    let (value, low, high) = (
        found["value"].as_f64().unwrap(),
        found["low"].as_f64().unwrap(),
        found["high"].as_f64().unwrap(),
    );
    assert!(
        low <= value && value <= high && low > 0.5 * value,
        "{low} {value} {high}"
    );
    let spent: u64 = (found["probes"].as_array().unwrap().iter())
        .map(|probe| probe["requests"].as_u64().unwrap())
        .sum();
    assert_eq!(found["requests_spent"], spent);
    assert!(found["confirmed"]["requests"]["ok"].as_u64().unwrap() > 0);
    // The load just below it meets the objective, a quarter above misses it.
    let at = |rate: f64| {
        let rate = rate.to_string();
        let run = place.run(&[
            "run",
            "--sim-clock",
            "virtual",
            "--lang",
            "en",
            "--slo",
            "ttft.p90=500ms",
            "--input-tokens",
            "512",
            "--output-tokens",
            "64",
            "--rate",
            &rate,
            "--requests",
            "3000",
            "--seed",
            "7",
            "--format",
            "json",
        ]);
        json(&run)["latency"]["ttft_ms"]["p90"].as_f64().unwrap()
    };
    assert!(at(value * 0.85) < 500.0);
    assert!(at(value * 1.25) > 500.0);
    // What was found is shown again.
    let report = place.run(&["report", "found", "--lang", "en"]);
    assert!(report.stdout.starts_with("CAPACITY"), "{}", report.stdout);
    assert!(report.stdout.contains("ttft.p90"), "{}", report.stdout);
}

#[test]
fn a_live_server_is_searched_over_its_streams() {
    let place = Place::new();
    // Fixed times: every number of streams meets the objective, up to the highest.
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let ended = capacity(
        &place,
        &[
            &sim.url,
            "--over",
            "concurrency",
            "--slo",
            "ttft.p50=2s",
            "--highest",
            "8",
            "--start",
            "2",
            "--output-tokens",
            "4",
            "--input-tokens",
            "16",
            "--budget",
            "2000",
            "--format",
            "json",
        ],
    );
    let found = json(&ended);
    assert_eq!(found["ending"], "at-ceiling", "{found}");
    assert_eq!(found["value"], 8.0);
    assert!(found["high"].is_null());
}

#[test]
fn a_server_that_never_meets_the_objective_is_told_so() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "50ms", "--itl", "1ms"]);
    let ended = capacity(
        &place,
        &[
            &sim.url,
            "--over",
            "concurrency",
            "--slo",
            "ttft.p50=1ms",
            "--highest",
            "4",
            "--start",
            "2",
            "--output-tokens",
            "4",
            "--input-tokens",
            "16",
            "--format",
            "json",
        ],
    );
    assert_eq!(ended.code, Some(1));
    let found = json(&ended);
    assert_eq!(found["ending"], "never-met", "{found}");
    assert!(found["value"].is_null());
}

#[test]
fn what_cannot_be_searched_for_is_said_in_one_line() {
    let place = Place::new();
    let cases: [(&[&str], &str); 5] = [
        (&[], "--slo"),
        (&["--slo", "ttft=1s"], "--attainment"),
        (&["--slo", "ttft.mean=1s"], "percentile"),
        (&["--slo", "ttft.p99=1s", "--rate", "5"], "by itself"),
        (
            &["--slo", "ttft.p99=1s", "--lowest", "9", "--highest", "3"],
            "search between",
        ),
    ];
    for (options, says) in cases {
        let ended = capacity(&place, options);
        assert_eq!(ended.code, Some(2), "{options:?}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{options:?}: {}", ended.stderr);
        assert!(!place.path("found").exists());
    }
}
