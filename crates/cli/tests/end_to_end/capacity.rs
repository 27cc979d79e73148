//! The search for capacity, on the simulated engine.

use crate::support::{Ended, Place, Sim, Started, until};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;

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
        "128",
        "--output-tokens",
        "16",
        "--tolerance",
        "10",
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
            "128",
            "--output-tokens",
            "16",
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
fn the_capacity_for_jobs_counts_whole_sessions() {
    let place = Place::new();
    let work = [
        "--sim-clock",
        "virtual",
        "--turns",
        "3",
        "--input-tokens",
        "64",
        "--output-tokens",
        "16",
    ];
    let asked = [
        "--slo",
        "job=1s",
        "--attainment",
        "0.9",
        "--tolerance",
        "30",
        "--start",
        "16",
        "--budget",
        "20000",
        "--format",
        "json",
    ];
    let ended = capacity(&place, &[&work[..], &asked].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = json(&ended);
    assert_eq!(found["binding"], "job=1s");
    let value = found["value"].as_f64().unwrap();
    let attained = |rate: f64| {
        let rate = rate.to_string();
        let load = ["--rate", &rate, "--requests", "3000", "--slo", "job=1s"];
        let more = ["--attainment", "0.9", "--lang", "en", "--format", "json"];
        let run = place.run(&[&["run"], &work[..], &load, &more].concat());
        json(&run)["slo"]["jobs"]["attainment"].as_f64().unwrap()
    };
    let (below, above) = (attained(value * 0.8), attained(value * 1.3));
    assert!(below > 0.9 && above < 0.9, "{below} {above} at {value}");
    let report = place.run(&["report", "found", "--lang", "en"]);
    assert!(report.stdout.contains("sessions/s"), "{}", report.stdout);
    let both = ["--slo", "ttft=1s"];
    let ended = capacity(&place, &[&work[..], &asked, &both].concat());
    ended.assert_refused(&["job=1s", "ttft=1s", "search for each by itself"]);
}

#[test]
fn a_live_server_is_searched_over_its_streams() {
    let place = Place::new();
    // Fixed times: every number of streams meets the objective, up to the highest. They are longer
    // than most pauses of a busy machine, which would make waits with a long memory of shorter ones.
    let sim = Sim::start(&["--ttft", "30ms", "--itl", "2ms"]);
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

#[test]
fn the_report_of_a_search_says_how_to_search_so_again() {
    let place = Place::new();
    let options = [
        "--sim-clock",
        "virtual",
        "--over",
        "concurrency",
        "--slo",
        "tpot.p90=20ms",
        "--tier",
        "batch: tpot.p90=40ms",
        "--input-tokens",
        "64",
        "--output-tokens",
        "16",
        "--tolerance",
        "10",
        "--budget",
        "4000",
    ];
    capacity(&place, &options);
    let report = [
        "report", "found", "--lang", "en", "--format", "md", "-o", "-",
    ];
    let shown = place.run(&report).stdout;
    // A capacity is that of a model at some work.
    assert!(shown.contains("prompts of 64 tokens"), "{shown}");
    let command = (shown.lines())
        .find_map(|line| line.strip_prefix("inferometer capacity "))
        .unwrap_or_else(|| panic!("{shown}"));
    let binary = env!("CARGO_BIN_EXE_inferometer");
    let again = format!("{binary} capacity {command} --out again --format json");
    let again = (std::process::Command::new("sh").args(["-c", &again]))
        .current_dir(place.path(""))
        .output()
        .unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    let first = json(&place.run(&["report", "found", "--format", "json"]));
    for key in ["value", "low", "high", "requests_spent"] {
        assert_eq!(again[key], first[key], "{key}");
    }
    assert_eq!(again["tiers"].as_array().unwrap().len(), 2);
}

#[test]
fn a_key_in_the_engines_command_is_neither_kept_nor_shown() {
    const KEY: &str = "hush-hush-1";
    let place = Place::new();
    let options = [
        "--sim-clock",
        "virtual",
        "--slo",
        "ttft.p90=2s",
        "--tolerance",
        "30",
        "--budget",
        "3000",
        "--output-tokens",
        "8",
        "--",
        "vllm",
        "serve",
        "qwen2-0.5b",
        "--api-key",
        KEY,
    ];
    let ended = capacity(&place, &options);
    assert!(ended.stdout.contains("vllm serve"), "{ended:?}");
    assert!(!ended.stdout.contains(KEY), "{ended:?}");
    let files = place.files("found");
    assert!(files.iter().any(|file| file.ends_with("report.html")));
    for file in files {
        let held = std::fs::read(&file).unwrap();
        let found = held.windows(KEY.len()).any(|part| part == KEY.as_bytes());
        assert!(!found, "{}", file.display());
    }
}

#[test]
fn what_is_confirmed_was_met_and_every_request_is_stored() {
    let place = Place::new();
    let command = "--sim-clock virtual --over concurrency --slo tpot=40ms --slo ttft=400ms \
        --attainment 0.9 --input-tokens uniform(64,512) --output-tokens uniform(16,64) \
        --budget 20000 --format json";
    let ended = capacity(&place, &command.split_whitespace().collect::<Vec<_>>());
    let found = json(&ended);
    let run = &found["long_run"];
    assert_eq!(
        found["ending"] == "confirmed",
        run["met"] == true,
        "{found}"
    );
    assert_eq!(run["met"], found["confirmed"]["slo"]["met"], "{found}");
    assert!(found["value"].as_f64() <= run["level"].as_f64(), "{found}");
    assert_eq!(found["objectives"][2], "attainment=0.9");
    let mut stored = 0;
    for probe in found["probes"].as_array().unwrap() {
        let directory = place
            .path("found")
            .join(probe["directory"].as_str().unwrap());
        let text = std::fs::read_to_string(directory.join("summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(summary["requests"]["planned"], probe["requests"], "{probe}");
        stored += summary["requests"]["planned"].as_u64().unwrap();
    }
    assert_eq!(found["requests_spent"], stored);
    assert!(stored <= 20_000);
}

#[test]
fn tiers_share_the_budget_and_each_says_how_it_ended() {
    let place = Place::new();
    let command = "--sim-clock virtual --input-tokens 256 --output-tokens 32 --budget 20000";
    let tiers = [
        "--slo",
        "ttft.p99=500ms",
        "--tier",
        "loose: ttft.p90=3s",
        "--tier",
        "fast: tpot.p90=60ms",
    ];
    let options: Vec<&str> = command.split_whitespace().chain(tiers).collect();
    let ended = capacity(&place, &options);
    let report = &ended.stdout;
    let table = report
        .split("Tiers")
        .nth(1)
        .unwrap_or_else(|| panic!("{report}"));
    let rows: Vec<&str> = table.lines().skip(2).take(3).collect();
    let endings = [
        "confirmed",
        "not confirmed",
        "missed",
        "out of budget",
        "too few",
        "too short",
    ];
    for row in rows {
        assert!(
            endings.iter().any(|ending| row.contains(ending)),
            "{report}"
        );
    }
    for word in ["  near  ", "meets"] {
        assert!(!report.contains(word), "{report}");
    }
    let stored = json(&place.run(&["report", "found", "--format", "json"]));
    assert!(stored["requests_spent"].as_u64().unwrap() <= 20_000);
    assert!(stored["tiers"][2]["value"].is_f64(), "{stored}");
}

/// Lines of a journal that are whole.
fn lines(journal: &Path) -> usize {
    let text = std::fs::read_to_string(journal).unwrap_or_default();
    text.matches('\n').count()
}

#[test]
fn a_search_that_was_killed_goes_on_and_measures_nothing_twice() {
    let place = Place::new();
    let work = "--sim-clock virtual --slo ttft.p90=500ms --input-tokens 64 --output-tokens 32 \
        --tolerance 10 --budget 20000 --format json";
    let work: Vec<&str> = work.split_whitespace().collect();
    let fixed = ["capacity", "--lang", "en", "--quiet", "--out"];
    let searched = |out: &'static str| [&fixed[..], &[out], &work].concat();
    let whole = json(&place.run(&searched("whole")));

    let journal = place.path("found/probes.jsonl");
    until("a search that is killed before its end", || {
        let _ = std::fs::remove_dir_all(place.path("found"));
        let started = Started::new(place.command(searched("found")));
        until("three probes", || (lines(&journal) > 3).then_some(()));
        started.signal(Signal::KILL);
        started.wait().code.is_none().then_some(())
    });
    // It is listed, and what is known by now is shown.
    let listed = place.run(&["runs", ".", "--lang", "en"]).stdout;
    let line = listed.lines().find(|line| line.contains("found"));
    assert!(line.is_some_and(|line| line.contains("no end")), "{listed}");
    let shown = place.run(&["report", "found", "--lang", "en"]);
    assert!(shown.stdout.contains("has not ended"), "{shown:?}");
    assert_eq!(shown.code, Some(1));
    let so_far = json(&place.run(&["report", "found", "--format", "json"]));
    assert_eq!(so_far["ending"], "under-way");
    let made: Vec<Value> = so_far["probes"].as_array().unwrap().clone();
    assert!(made.len() >= 2, "{so_far}");
    let records = |probe: &Value| {
        let directory = place
            .path("found")
            .join(probe["directory"].as_str().unwrap());
        let file = std::fs::metadata(directory.join("records/records.parquet")).unwrap();
        file.modified().unwrap()
    };
    let measured: Vec<_> = made.iter().map(records).collect();

    let other = [&searched("found")[..], &["--seed", "9"]].concat();
    place.run(&other).assert_refused(&["--out"]);
    let found = json(&place.run(&searched("found")));
    for key in [
        "value",
        "low",
        "high",
        "ending",
        "requests_spent",
        "long_run",
    ] {
        assert_eq!(found[key], whole[key], "{key}");
    }
    let without_folder = |found: &Value| -> Vec<Value> {
        let mut probes = found["probes"].as_array().unwrap().clone();
        probes
            .iter_mut()
            .for_each(|probe| probe["directory"] = Value::Null);
        probes
    };
    assert_eq!(without_folder(&found), without_folder(&whole));
    assert_eq!(found["probes"].as_array().unwrap()[..made.len()], made[..]);
    assert_eq!(made.iter().map(records).collect::<Vec<_>>(), measured);
    // One that has ended is shown as it is.
    let again = json(&place.run(&searched("found")));
    assert_eq!(again, found);
}
