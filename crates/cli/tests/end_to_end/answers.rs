//! What answers say: checked, compared with those of another run, and kept.

use crate::support::{Place, Run, Sim};
use inferometer_store::texts_file::{RequestText, read_texts};

/// Questions that end with their answer, which an echo therefore knows.
fn sums(place: &Place) -> String {
    let row = |n: u32| {
        let (question, answer) = (
            format!("1 \\\"and\\\" {n} is {n}"),
            format!("so\\n#### {n}"),
        );
        format!("{{\"question\": \"{question}\", \"answer\": \"{answer}\"}}\n")
    };
    place.write("sums.jsonl", (0..40).map(row).collect::<String>())
}

fn measured(sim: &Sim, place: &Place, concurrency: &str, options: &[&str]) -> Run {
    let fixed = ["--requests", "40", "--concurrency", concurrency];
    let run = place.measure(&sim.url, &[&fixed, options].concat());
    run.assert_all_ok(40);
    run
}

fn texts(run: &Run) -> Vec<RequestText> {
    let path = run.path.join("records/texts.jsonl");
    read_texts(&path).unwrap().map(Result::unwrap).collect()
}

#[test]
fn answers_are_scored_after_the_run_and_texts_stay_only_where_asked() {
    let sim = Sim::start(&["--faults", "echo"]);
    let place = Place::new();
    let data = sums(&place);
    let right = measured(&sim, &place, "4", &["--data", &data, "--check", "gsm8k"]);
    let check = right.summary.check.as_ref().unwrap();
    assert_eq!(
        (check.score, check.checked, check.unchecked),
        (Some(1.0), 40, 0)
    );
    assert!(right.records.iter().all(|it| it.score == Some(1.0)));
    assert!(
        right.ended.stdout.contains("Score"),
        "{}",
        right.ended.stdout
    );
    for file in ["answers.jsonl", "texts.jsonl"] {
        assert!(!right.path.join("records").join(file).exists(), "{file}");
    }
    let options = [
        "--data",
        &data,
        "--check",
        "exact",
        "--keep-text",
        "--no-stream",
    ];
    let wrong = measured(&sim, &place, "4", &options);
    assert_eq!(wrong.summary.check.as_ref().unwrap().score, Some(0.0));
    let kept = texts(&wrong);
    assert_eq!(kept.len(), 40);
    let first = kept.iter().find(|text| text.index == 0).unwrap();
    assert_eq!(first.prompt.as_deref(), Some("1 \"and\" 0 is 0"));
    assert_eq!(first.answer, "1 \"and\" 0 is 0");
    assert_eq!(first.expected.as_deref(), Some("so\n#### 0"));
    assert_eq!(first.score, Some(0.0));
    let report = place.run(&["report", wrong.path.to_str().unwrap(), "--format", "json"]);
    let again: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(again["check"]["score"], 0.0);
}

#[test]
fn an_engine_that_mixes_up_answers_under_load_is_seen_by_score_and_by_comparison() {
    let sim = Sim::start(&["--faults", "echo,garble-above=2"]);
    let place = Place::new();
    let data = sums(&place);
    let alone = measured(&sim, &place, "1", &["--data", &data, "--keep-text"]);
    let same = format!("same-as:{}", alone.path.display());
    let options = [
        "--data",
        data.as_str(),
        "--max-tokens",
        "64",
        "--check",
        &same,
    ];
    let again = measured(&sim, &place, "1", &options);
    assert_eq!(again.summary.check.as_ref().unwrap().score, Some(1.0));
    let loaded = measured(&sim, &place, "16", &options);
    let check = loaded.summary.check.as_ref().unwrap();
    assert!(
        check.score < Some(1.0) && check.differs_at_p50.is_some(),
        "{check:?}"
    );
    let out = place.path("sweep");
    let swept = place.run(&[
        "sweep",
        &sim.url,
        "--lang",
        "en",
        "--concurrency",
        "1,16",
        "--requests",
        "40",
        "--data",
        &data,
        "--check",
        "gsm8k",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(swept.stdout.contains("Score"), "{}", swept.stdout);
}

#[test]
fn a_check_that_cannot_be_made_is_refused_in_one_line_before_the_run() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let plain = place.write("plain.jsonl", "{\"question\": \"why\"}\n");
    let none = place.write("none.json", "[1]");
    let earlier = place.measure(&sim.url, &["--requests", "2", "--concurrency", "1"]);
    let same = format!("same-as:{}", earlier.path.display());
    let refuse = |options: &[&str], words: &[&str]| {
        let ended = place.run(&[&["run", &sim.url], options].concat());
        ended.assert_refused(words);
    };
    refuse(&["--check", "gsm8k"], &["--check", "--data"]);
    refuse(&["--check", "mmlu"], &["same-as:RUN"]);
    refuse(
        &["--data", &plain, "--check", "exact"],
        &["expected answer", "reference"],
    );
    refuse(&["--check", "regex:("], &["regex:(", "pattern"]);
    refuse(&["--check", &none], &["none.json", "JSON schema"]);
    refuse(&["--check", "missing.json"], &["missing.json"]);
    refuse(&["--check", &same], &["--no-cache-nonce"]);
    refuse(
        &["--no-cache-nonce", "--check", &same],
        &["kept no texts", "--keep-text"],
    );
    refuse(
        &["--api", "embeddings", "--keep-text"],
        &["--keep-text", "chat"],
    );
}
