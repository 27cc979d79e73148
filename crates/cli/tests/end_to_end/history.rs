//! Runs of one scenario over time: what changed, when, and what lay between.

use crate::support::Place;
use serde_json::Value;

/// Ten runs in virtual time; the last four with an engine that takes fewer requests at once.
fn ten_runs(place: &Place) {
    for number in 0..10 {
        let changed = number >= 6;
        let (seqs, driver) = if changed { ("4", "571") } else { ("64", "570") };
        let ended = place.run(&[
            "run",
            "--quiet",
            "--sim-clock",
            "virtual",
            "--concurrency",
            "16",
            "--requests",
            "160",
            "--output-tokens",
            "uniform(24,40)",
            "--seed",
            &number.to_string(),
            "--out",
            &format!("runs/{number}"),
            "--tag",
            &format!("driver={driver}"),
            "--",
            "vllm",
            "serve",
            "Qwen/Qwen2.5-7B-Instruct",
            "--max-num-seqs",
            seqs,
        ]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn a_change_is_dated_and_named_and_fails_a_gate() {
    let place = Place::new();
    ten_runs(&place);
    let told = place.run(&["history", "runs", "--lang", "en"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.stdout.starts_with("WORSE"), "{}", told.stdout);
    // Wherever its lines break.
    let words: Vec<&str> = told.stdout.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("driver 570 → 571"), "{words}");
    assert!(words.contains("output tok/s −"), "{words}");
    let gate = place.run(&["history", "runs", "--fail-on", "worse", "--lang", "zh"]);
    assert_eq!(gate.code, Some(1), "{gate:?}");
    assert!(gate.stdout.starts_with("变差"), "{}", gate.stdout);

    let json = place.run(&["history", "runs", "--format", "json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let timeline = &json["timelines"][0];
    assert_eq!(timeline["runs"].as_array().map(Vec::len), Some(10));
    let change = &timeline["metrics"][0]["changes"][0];
    assert_eq!(change["between"], serde_json::json!([5, 6]), "{change}");
    assert_eq!(change["worse"], true);

    let steady = place.run(&["history", "runs", "--where", "driver=570", "--lang", "en"]);
    assert!(steady.stdout.starts_with("NO CHANGE"), "{}", steady.stdout);
    let few = place.run(&["history", "runs", "--where", "driver=571", "--lang", "en"]);
    assert!(few.stdout.starts_with("TOO FEW RUNS"), "{}", few.stdout);

    let junit = place.run(&["history", "runs", "--format", "junit", "--lang", "en"]);
    let junit = roxmltree::Document::parse(&junit.stdout).unwrap();
    let failed = junit.descendants().find(|it| it.has_tag_name("failure"));
    let failed = failed.and_then(|it| it.attribute("message")).unwrap();
    assert!(failed.starts_with("Output throughput fell"), "{failed}");

    let drawn = ["--format", "html", "--format", "svg", "--format", "csv"];
    let ended = place.run(&[&["history", "runs", "-o", "seen"], &drawn[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = std::fs::read_to_string(place.path("seen/report.html")).unwrap();
    assert!(page.contains("WORSE") && page.contains("变差") && page.contains("id=\"history\""));
}

#[test]
fn what_cannot_be_looked_back_on_is_told_in_one_line() {
    let place = Place::new();
    std::fs::create_dir(place.path("none")).unwrap();
    ten_runs(&place);
    for (arguments, expected) in [
        (&["nowhere"][..], "name a folder of runs"),
        (&["none"], "there is no finished run"),
        (&["runs", "--where", "driver=9"], "there is 570, 571"),
        (&["runs", "--where", "drivr=9"], "no run says anything"),
        (&["runs", "--where", "driver"], "write NAME=VALUE"),
        (&["runs", "--metric", "speed"], "not a metric"),
    ] {
        let ended = place.run(&[&["history"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.stderr.contains(expected),
            "{expected}: {}",
            ended.stderr
        );
    }
}
