use super::*;
use strum::VariantArray as _;

const NEW: Version = Version::new(0, 32, 0);

fn facts() -> Vec<Fact> {
    vec![
        Fact::Version("0.32.0".into()),
        Fact::MaxModelLen { tokens: 4096 },
        Fact::WeightsLoaded {
            gib: 12.37,
            seconds: Some(3.25),
        },
        Fact::WeightsLoaded {
            gib: 14.25,
            seconds: None,
        },
        Fact::KvCacheMemory { gib: 111.25 },
        Fact::KvCacheTokens { tokens: 2_152_576 },
        Fact::KvCacheBlocks {
            device: 27_893,
            host: 2048,
        },
        Fact::MaxConcurrency {
            tokens: 8192,
            requests: 262.75,
        },
        Fact::KvCacheCapacity {
            tokens: 1_048_576,
            request_tokens: 4096,
            requests: 256.0,
        },
        Fact::PoolSized {
            tokens: 400_000,
            chunk: -1,
            requests: 2048,
            request_tokens: 32_768,
        },
        Fact::Slots {
            slots: 4,
            tokens: 2048,
        },
        Fact::GraphsCaptured {
            seconds: 21.0,
            gib: Some(0.75),
        },
        Fact::GraphsCaptured {
            seconds: 8.0,
            gib: None,
        },
        Fact::EngineStarted { seconds: 66.5 },
        Fact::Listening {
            address: "http://127.0.0.1:8000".into(),
        },
        Fact::Ready,
        Fact::Load {
            prompt_rate: 2.5,
            generation_rate: 100.0,
            running: 3,
            waiting: 4,
        },
        Fact::FreeMemoryTooSmall {
            free: 10.5,
            total: 79.25,
            utilization: 0.92,
            wanted: 72.5,
        },
        Fact::MemoryOccupied,
        Fact::NoMemoryForKvCache,
        Fact::KvCacheTooSmall {
            max_model_len: 32768,
            needed: 4.5,
            available: 1.25,
            fitting: Some(9088),
        },
        Fact::KvCacheTooSmall {
            max_model_len: 32768,
            needed: 4.5,
            available: 1.25,
            fitting: None,
        },
        Fact::DeviceOutOfMemory,
        Fact::EngineCoreFailed,
        Fact::AddressInUse,
        Fact::ModelMissing,
    ]
}

#[test]
fn what_is_written_is_read_back_the_same() {
    let mut written = 0;
    for &engine in EngineKind::VARIANTS {
        for version in [
            Version::new(0, 6, 3),
            Version::new(0, 8, 5),
            Version::new(0, 26, 0),
            engine.newest(),
        ] {
            for fact in facts() {
                let Some(line) = write_line(engine, version, &fact) else {
                    continue;
                };
                // A ready line of llama.cpp says where it listens too.
                if engine == EngineKind::LlamaServer && matches!(fact, Fact::Listening { .. }) {
                    continue;
                }
                let line = format!("(EngineCore pid=1) INFO 11-15 06:01:17 [core.py:402] {line}");
                assert_eq!(
                    read_line(engine, &line),
                    Some(fact),
                    "{engine} {version}: {line}"
                );
                written += 1;
            }
        }
    }
    assert!(written > 60, "{written}");
}

#[test]
fn every_fact_is_logged_by_some_engine() {
    for fact in facts() {
        let logged = EngineKind::VARIANTS.iter().any(|engine| {
            [
                Version::new(0, 6, 3),
                Version::new(0, 26, 0),
                engine.newest(),
            ]
            .iter()
            .any(|version| write_line(*engine, *version, &fact).is_some())
        });
        assert!(logged, "{fact:?}");
    }
}

#[test]
fn a_real_start_is_understood() {
    let log = include_str!("../../../../../fixtures/engine/vllm/start-cpu.log");
    let facts: Vec<Fact> = log
        .lines()
        .filter_map(|line| read_line(EngineKind::Vllm, line))
        .collect();
    assert_eq!(
        facts,
        [
            Fact::Version("0.32.0".into()),
            Fact::MaxModelLen { tokens: 4096 },
            Fact::KvCacheCapacity {
                tokens: 1_048_576,
                request_tokens: 4096,
                requests: 256.0
            },
            Fact::EngineStarted { seconds: 0.63 },
            Fact::Listening {
                address: "http://127.0.0.1:8471".into()
            },
            Fact::Ready,
            Fact::Load {
                prompt_rate: 2.8,
                generation_rate: 2.2,
                running: 0,
                waiting: 0
            },
        ]
    );
}

#[test]
fn a_real_start_of_llama_cpp_is_understood() {
    let log = include_str!("../../../../../fixtures/engine/llama-server/start-cpu.log");
    let facts: Vec<Fact> = log
        .lines()
        .filter_map(|line| read_line(EngineKind::LlamaServer, line))
        .collect();
    let slots = Fact::Slots {
        slots: 4,
        tokens: 4096,
    };
    assert_eq!(facts, [slots, Fact::Ready]);
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
    use EngineKind::{Custom, LlamaServer, Mindie, Sglang, Vllm};
    let weights = Fact::WeightsLoaded {
        gib: 15.3,
        seconds: None,
    };
    let address = "http://127.0.0.1:8080".into();
    for (engine, line, fact) in [
        (
            Sglang,
            "Load weight end. elapsed=2.10 s, type=Qwen2ForCausalLM, avail mem=60.10 GB, mem usage=15.30 GB.",
            Some(weights),
        ),
        (
            Sglang,
            "KV Cache is allocated. #tokens: 1000, K size: 1.00 GB, V size: 1.00 GB",
            Some(Fact::KvCacheTokens { tokens: 1000 }),
        ),
        (
            LlamaServer,
            "srv  main: server is listening on http://127.0.0.1:8080 - starting the main loop",
            Some(Fact::Listening { address }),
        ),
        (
            LlamaServer,
            "srv  main: listening on http://127.0.0.1:8080",
            Some(Fact::Ready),
        ),
        (Mindie, "Daemon start success!", Some(Fact::Ready)),
        (
            Vllm,
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB",
            Some(Fact::DeviceOutOfMemory),
        ),
        (
            Custom,
            "The server is fired up and ready to roll!",
            Some(Fact::Ready),
        ),
        (Vllm, "nothing to see", None),
    ] {
        assert_eq!(read_line(engine, line), fact, "{line}");
    }
}
