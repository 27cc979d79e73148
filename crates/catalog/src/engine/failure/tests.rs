use super::*;
use std::collections::BTreeMap;

fn class(text: &str, code: i32) -> FailureClass {
    explain(EngineKind::Vllm, text.lines().skip(3), Some(code)).class
}

fn recorded(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/engine/vllm");
    std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap()
}

#[test]
fn real_refusals_are_illegal_flags() {
    for (name, code) in [
        ("refused-batched-tokens-below-seqs", 1),
        ("refused-unknown-flag", 2),
        ("refused-zero-seqs", 1),
        ("refused-bad-block-size", 1),
        ("unforeseen-attention-backend", 1),
    ] {
        let text = recorded(name);
        assert_eq!(class(&text, code), FailureClass::IllegalFlags, "{name}");
    }
}

#[test]
fn the_cause_counts_and_not_its_echo() {
    let text = recorded("refused-kv-cache-too-small");
    let failure = explain(EngineKind::Vllm, text.lines(), Some(1));
    assert_eq!(failure.class, FailureClass::NoRoomForKvCache);
    assert!(matches!(
        failure.fact,
        Some(Fact::KvCacheTooSmall {
            fitting: Some(896),
            ..
        })
    ));
    let text = recorded("refused-port-taken");
    assert_eq!(class(&text, 1), FailureClass::PortTaken);
}

#[test]
fn out_of_memory_is_told_apart_by_when_it_came() {
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    let echo = "Engine core initialization failed. See root cause above.";
    for (before, class) in [
        ("Starting to load model", FailureClass::OutOfMemoryLoading),
        (
            "Model loading took 12.37 GiB memory and 3.000000 seconds",
            FailureClass::OutOfMemory,
        ),
        (
            "INFO:     Application startup complete.",
            FailureClass::OutOfMemoryUnderLoad,
        ),
    ] {
        let failure = explain(EngineKind::Vllm, [before, oom, echo], Some(1));
        assert_eq!(failure.class, class, "{before}");
    }
    let killed = explain(EngineKind::Vllm, [], Some(-9));
    assert_eq!(killed.class, FailureClass::Crash);
}

#[derive(serde::Deserialize)]
struct Told {
    engine: EngineKind,
    class: FailureClass,
    says: Option<String>,
    log: String,
}

#[test]
fn logs_of_users_reports_have_their_class_and_their_cause_is_quoted() {
    let text = include_str!("../../../../../fixtures/engine/failures.toml");
    let mut told: BTreeMap<String, Vec<Told>> = toml::from_str(text).unwrap();
    for told in told.remove("failure").unwrap() {
        let failure = explain(told.engine, told.log.lines(), Some(1));
        assert_eq!(failure.class, told.class, "{}", told.log);
        let evidence = failure.evidence.unwrap();
        match told.says {
            Some(says) => assert!(evidence.contains(&says), "{says}: {evidence}"),
            None if told.log.lines().count() == 1 => assert_eq!(evidence, told.log),
            None => {}
        }
    }
}
