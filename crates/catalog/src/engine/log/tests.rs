use super::*;
use serde_json::{Value, json};
use strum::VariantArray as _;

const NEW: Version = Version::new(0, 32, 0);

fn facts() -> Vec<Fact> {
    let lines = include_str!("../../../../../fixtures/engine/facts.jsonl").lines();
    lines.map(|it| serde_json::from_str(it).unwrap()).collect()
}

fn read_log(engine: EngineKind, log: &str) -> Value {
    let facts = log.lines().filter_map(|line| read_line(engine, line));
    serde_json::to_value(facts.collect::<Vec<_>>()).unwrap()
}

#[test]
fn every_fact_is_logged_by_some_engine_and_read_back_the_same() {
    let [old, later, new] =
        [(6, 3), (8, 5), (26, 0)].map(|(minor, patch)| Version::new(0, minor, patch));
    for fact in facts() {
        let mut logged = false;
        for &engine in EngineKind::VARIANTS {
            for version in [old, later, new, engine.newest()] {
                let Some(line) = write_line(engine, version, &fact) else {
                    continue;
                };
                logged = true;
                // A ready line of llama.cpp says where it listens too.
                if engine == EngineKind::LlamaServer && matches!(fact, Fact::Listening { .. }) {
                    continue;
                }
                let line = format!("(EngineCore pid=1) INFO 11-15 06:01:17 [core.py:402] {line}");
                let read = read_line(engine, &line);
                assert_eq!(read.as_ref(), Some(&fact), "{engine} {version}: {line}");
            }
        }
        assert!(logged, "{fact:?}");
    }
}

#[test]
fn a_real_start_is_understood() {
    let log = include_str!("../../../../../fixtures/engine/vllm/start-cpu.log");
    let told = json!([
        {"version": "0.32.0"},
        {"max-model-len": {"tokens": 4096}},
        {"kv-cache-capacity": {"tokens": 1_048_576, "request_tokens": 4096, "requests": 256.0}},
        {"engine-started": {"seconds": 0.63}},
        {"listening": {"address": "http://127.0.0.1:8471"}},
        "ready",
        {"load": {"prompt_rate": 2.8, "generation_rate": 2.2, "running": 0, "waiting": 0}},
    ]);
    assert_eq!(read_log(EngineKind::Vllm, log), told);
}

#[test]
fn a_real_start_of_llama_cpp_is_understood() {
    let log = include_str!("../../../../../fixtures/engine/llama-server/start-cpu.log");
    let told = json!([{"slots": {"slots": 4, "tokens": 4096}}, "ready"]);
    assert_eq!(read_log(EngineKind::LlamaServer, log), told);
}

proptest::proptest! {
    #[test]
    fn any_line_is_read_or_passed_over(line in proptest::prelude::any::<String>()) {
        for &engine in EngineKind::VARIANTS {
            let _ = read_line(engine, &line);
        }
    }
}

#[test]
fn a_written_line_looks_like_a_real_one() {
    let fact = Fact::EngineStarted { seconds: 0.63 };
    let line = format!(
        "{}{}",
        vllm_prefix(NEW, "EngineCore", 1, "01-01 00:00:00", &fact),
        write_line(EngineKind::Vllm, NEW, &fact).unwrap()
    );
    let log = include_str!("../../../../../fixtures/engine/vllm/start-cpu.log");
    assert!(log.lines().any(|real| real == line), "{line}");
    let ready = format!(
        "{}{}",
        vllm_prefix(NEW, "", 0, "", &Fact::Ready),
        ready_line(EngineKind::Vllm).unwrap()
    );
    assert!(log.lines().any(|real| real == ready), "{ready}");
}

#[test]
fn lines_of_other_engines_and_years_are_read() {
    #[derive(Deserialize)]
    struct Told {
        engine: EngineKind,
        line: String,
        fact: Option<Fact>,
    }
    for told in include_str!("../../../../../fixtures/engine/lines.jsonl").lines() {
        let told: Told = serde_json::from_str(told).unwrap();
        assert_eq!(
            read_line(told.engine, &told.line),
            told.fact,
            "{}",
            told.line
        );
    }
}
