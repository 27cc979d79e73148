//! How sure `plan` is of what it says: intervals, verdicts, verifications.

use crate::support::{Ended, Place, Sim};
use serde_json::Value;

const POINTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/plan/h200.md");

fn calibrated(lang: &str) -> (Place, Ended) {
    let place = Place::new();
    let ended = place.run(&[
        "plan",
        "calibrate",
        POINTS,
        "--model",
        "qwen2.5-7b",
        "--device",
        "h200",
        "--flag",
        "max-model-len=8192",
        "--lang",
        lang,
        "-o",
        "c.toml",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (place, ended)
}

fn ask(place: &Place, words: &[&str]) -> Ended {
    let fixed = ["plan", "what-if", "--calibration", "c.toml"];
    place.run(&[&fixed[..], words].concat())
}

fn first(ended: &Ended) -> Value {
    let all: Value = serde_json::from_str(&ended.stdout).unwrap();
    all["settings"][0].clone()
}

#[test]
fn an_objective_within_the_interval_is_uncertain() {
    let (place, _) = calibrated("en");
    let words = ["--concurrency", "64", "--traffic", "100"];
    let json = |limit: f64| {
        let objective = format!("e2e.p50={limit:.1}ms");
        let more = ["--slo", &objective, "--format", "json"];
        first(&ask(&place, &[&words[..], &more].concat()))
    };
    let usual = json(1e6);
    assert_eq!(usual["predicted"]["slo"]["verdict"], "met");
    let interval = &usual["interval"]["latency"]["e2e_ms"]["p50"];
    let (middle, upper) = (
        usual["predicted"]["latency"]["e2e_ms"]["p50"]
            .as_f64()
            .unwrap(),
        interval[1].as_f64().unwrap(),
    );
    let near = json((middle + upper) / 2.0);
    assert_eq!(near["predicted"]["slo"]["verdict"], "uncertain");
    assert_eq!(near["predicted"]["slo"]["met"], false);
    assert_eq!(json(upper * 1.01)["predicted"]["slo"]["verdict"], "met");
    let missed = json(middle * 0.9);
    assert_eq!(missed["predicted"]["slo"]["verdict"], "missed");
    assert_eq!(missed["replicas"], Value::Null);
    let range = usual["replicas_range"].as_array().unwrap();
    assert!(range[0].as_u64() <= range[1].as_u64());
    let objective = format!("e2e.p50={:.1}ms", (middle + upper) / 2.0);
    for (lang, said) in [("en", "not certain"), ("zh", "尚不确定")] {
        let more = ["--slo", &objective, "--lang", lang];
        let ended = ask(&place, &[&words[..], &more].concat());
        assert!(ended.stdout.contains(said), "{ended:?}");
    }
}

#[test]
fn percentiles_are_told_with_their_intervals() {
    let (place, _) = calibrated("en");
    for format in ["text", "md"] {
        let words = ["--concurrency", "16,64", "--lang", "en", "--format", format];
        let ended = ask(&place, &[&words[..], &["-o", "answer"]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let answer = std::fs::read_to_string(place.path("answer")).unwrap();
        for said in ["p50", "p99", "TTFT", "TPOT", "E2E"] {
            assert!(answer.contains(said), "{said}: {answer}");
        }
        if format == "text" {
            let widths = answer.lines().map(|line| line.chars().count());
            assert!(widths.max() <= Some(80), "{answer}");
        }
    }
}

#[test]
fn a_prediction_that_a_server_refutes_is_not_verified_and_later_answers_say_so() {
    let (place, _) = calibrated("en");
    // A hundred times slower than any H200.
    let sim = Sim::start(&["--ttft", "1s", "--itl", "50ms"]);
    let words = [
        "--concurrency",
        "4",
        "--requests",
        "8",
        "--input-tokens",
        "64",
        "--output-tokens",
        "16",
    ];
    let verify = ["--verify", &sim.url, "--lang", "en"];
    // A busy machine wakes the client too late at times, and then nothing is concluded.
    let ended = (0..5)
        .map(|_| ask(&place, &[&words[..], &verify].concat()))
        .find(|ended| !ended.stderr.contains("client-late"))
        .unwrap();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("NOT VERIFIED"), "{ended:?}");
    assert!(ended.stdout.contains("these flags"), "{ended:?}");
    for (lang, said) in [("en", "NOT VERIFIED"), ("zh", "验证未通过")] {
        let ended = ask(&place, &[&words[..], &["--lang", lang]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains(said), "{ended:?}");
    }
    let ended = ask(&place, &[&words[..], &["--format", "json"]].concat());
    let all: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(all["last_verified"]["held"], false, "{ended:?}");
}

#[test]
fn calibrations_speak_chinese_where_chinese_is_asked_for() {
    let place = Place::new();
    let table = "concurrency,input_tokens,output_tokens,requests_per_s,ttft_ms,tpot_ms\n\
        1,512,128,1.70,27,4.4\n16,512,128,18.0,60,6.0\n64,512,128,46.9,208,8.8\n";
    let points = place.write("points.csv", table);
    let words = [
        "plan",
        "calibrate",
        &points,
        "--model",
        "qwen2.5-7b",
        "--device",
        "h200",
        "--flag",
        "max-model-len=8192",
        "--lang",
        "zh",
        "-o",
        "c.toml",
        "--force",
    ];
    let ended = place.run(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("并发 16"), "{ended:?}");
    assert!(ended.stdout.contains("第 2 行"), "{ended:?}");
    for english in ["concurrency", " line "] {
        assert!(!ended.stdout.contains(english), "{english}: {ended:?}");
    }
}
