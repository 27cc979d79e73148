use super::super::Value;
use super::super::defaults::DeviceKind;
use super::*;
use crate::model::Model;

const NEW: Version = Version::new(0, 32, 0);
const OLD: Version = Version::new(0, 6, 3);

fn gpu(name: &str, memory_gib: f64, count: u32) -> DeviceClass {
    DeviceClass {
        kind: DeviceKind::Gpu,
        name: name.into(),
        memory_gib,
        count,
    }
}

fn model() -> ModelLimits {
    ModelLimits::of(&Model::named("qwen2.5-7b").unwrap())
}

/// The device and the model of the recordings.
fn recorded_host() -> (DeviceClass, ModelLimits) {
    let cpu = DeviceClass {
        kind: DeviceKind::Cpu,
        name: "cpu".into(),
        memory_gib: 23.5,
        count: 1,
    };
    let tiny = ModelLimits {
        max_position: 8192,
        heads: 4,
        kv_heads: None,
        multimodal: false,
        dense: true,
    };
    (cpu, tiny)
}

/// The words behind the program of a recorded command.
fn words<'a>(program: &[&'a str], case: &'a serde_json::Value) -> Vec<&'a str> {
    let words = case["words"].as_array().unwrap().iter();
    let words = words.map(|word| word.as_str().unwrap());
    program.iter().copied().chain(words).collect()
}

fn settle(line: &str, version: Version) -> Result<ResolvedFlags, Refusal> {
    let command = LaunchCommand::parse_line(line).unwrap();
    resolve(&command, version, &gpu("NVIDIA H200", 139.8, 2), &model())
}

/// Every recorded refusal: same condition, same words, same exit status.
#[test]
fn refusals_are_those_of_the_real_engine() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/engine/vllm");
    let (cpu, tiny) = recorded_host();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Memory and ports are not known before the start.
        if !name.starts_with("refused-") || name.contains("kv-cache") || name.contains("port-taken")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let after = |mark: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(mark))
                .unwrap()
        };
        let command = LaunchCommand::parse_line(after("# command: ")).unwrap();
        let refusal = resolve(&command, NEW, &cpu, &tiny).expect_err(&name);
        assert!(
            text.contains(&refusal.message),
            "{name}: {}",
            refusal.message
        );
        assert_eq!(refusal.exit_code.to_string(), after("# exit: "), "{name}");
        for line in refusal.printed.lines() {
            let line = line.split(" [type=").next().unwrap();
            assert!(text.contains(line), "{name}: {line}");
        }
        seen += 1;
    }
    assert_eq!(seen, 16);
}

#[test]
fn the_real_start_resolves_to_what_the_server_reported() {
    let command = LaunchCommand::parse_line(
        "vllm serve MODEL --host 127.0.0.1 --port 8471 --served-model-name tiny --dtype float32 \
         --load-format auto --max-model-len 4096 --enforce-eager --max-num-seqs 16",
    )
    .unwrap();
    let (cpu, tiny) = recorded_host();
    let flags = resolve(&command, NEW, &cpu, &tiny).unwrap();
    assert_eq!(flags.max_num_seqs, 16);
    assert_eq!(flags.max_num_batched_tokens, 2048);
    assert_eq!(flags.block_size, 128);
    assert_eq!(flags.gpu_memory_utilization, 0.92);
    assert!(flags.chunked_prefill && flags.prefix_caching && flags.enforce_eager);
    assert_eq!(flags.port, 8471);
    assert_eq!(flags.served_names, ["tiny"]);
    assert_eq!(flags.without_effect, ["load-format"]);
}

#[test]
fn an_h200_gets_the_defaults_that_were_measured() {
    let flags = settle(
        "vllm serve m --max-model-len 8k --no-enable-prefix-caching",
        Version::new(0, 26, 0),
    )
    .unwrap();
    assert_eq!(flags.max_num_batched_tokens, 8192);
    assert_eq!(flags.max_num_seqs, 1024);
    assert_eq!(flags.gpu_memory_utilization, 0.92);
    assert_eq!(flags.max_model_len, 8000);
    assert_eq!(flags.max_graph_batch, 512);
    assert!(!flags.prefix_caching);
}

#[test]
fn a_hand_made_search_of_2024_is_refused_as_it_was() {
    let refusal = settle(
        "vllm serve qwen/Qwen2-0.5B-Instruct --max-num-seqs 6091 --max-num-batched-tokens 535 \
         --block-size 8 --scheduler-delay-factor 0.23 --enable-prefix-caching --use-v2-block-manager",
        OLD,
    )
    .unwrap_err();
    assert_eq!(
        refusal.printed,
        "ValueError: max_num_batched_tokens (535) is smaller than max_model_len (32768). This \
         effectively limits the maximum sequence length to max_num_batched_tokens and makes vLLM \
         reject longer sequences. Please increase max_num_batched_tokens or decrease max_model_len."
    );
    assert_eq!(refusal.exit_code, 1);
    let legal = "vllm serve qwen/Qwen2-0.5B-Instruct --max-num-seqs 3563 --max-num-batched-tokens 7472 \
                 --block-size 32 --scheduler-delay-factor 1.67 --enable-chunked-prefill \
                 --enable-prefix-caching --disable-custom-all-reduce --use-v2-block-manager";
    assert!(settle(legal, OLD).is_ok());
}

#[test]
fn a_flag_of_other_versions_is_refused_with_the_version_that_has_it() {
    let said = |line: &str, version| settle(line, version).unwrap_err().to_string();
    let vllm = |flags: &str, version| said(&format!("vllm serve m {flags}"), version);
    let new = vllm("--async-scheduling --port 1", OLD);
    assert!(
        new.contains("unrecognized arguments: --async-scheduling;"),
        "{new}"
    );
    assert!(
        new.contains("vllm 0.6.3 lacks what others have: --async-scheduling (since 0.10.0)"),
        "{new}"
    );
    let both = vllm("--use_v2_block_manager --nonsense --swap-space=4", NEW);
    assert!(
        both.contains(
            "--use_v2_block_manager (gone since 0.10.0), --swap-space (gone since 0.18.0)"
        ),
        "{both}"
    );
    let negative = vllm("--no-disable-custom-all-reduce", OLD);
    assert!(
        negative.contains("--no-disable-custom-all-reduce (since 0.8.5)"),
        "{negative}"
    );
    let nowhere = vllm("--nonsense", NEW);
    assert!(!nowhere.contains("others"), "{nowhere}");
    let sglang = "python -m sglang.launch_server --model-path m --additional-ports 3";
    let sglang = said(sglang, EngineKind::Sglang.newest());
    assert!(
        sglang.contains("--additional-ports (gone since 0.3.3)"),
        "{sglang}"
    );
}

#[test]
fn negative_spellings_are_refused_by_versions_that_lack_them() {
    let refused = |flag: &str, version| {
        let settled = settle(&format!("vllm serve m {flag}"), version);
        settled.err().map(|refusal| refusal.message)
    };
    let no_reduce = "--no-disable-custom-all-reduce";
    for version in [OLD, Version::new(0, 8, 4)] {
        let said = refused(no_reduce, version).expect("refused");
        assert!(
            said.contains(&format!("unrecognized arguments: {no_reduce}")),
            "{said}"
        );
    }
    assert_eq!(refused(no_reduce, Version::new(0, 8, 5)), None);
    assert!(refused("--no-enable-prefix-caching", OLD).is_some());
    assert_eq!(
        refused("--no-enable-prefix-caching", Version::new(0, 6, 5)),
        None
    );
}

#[test]
fn chunked_prefill_of_2024_is_on_above_32k_only() {
    let long = ModelLimits {
        max_position: 131_072,
        ..model()
    };
    let command = LaunchCommand::parse_line("vllm serve m").unwrap();
    let device = gpu("NVIDIA L20", 44.0, 1);
    let flags = resolve(&command, OLD, &device, &long).unwrap();
    assert!(flags.chunked_prefill);
    assert_eq!(flags.max_num_batched_tokens, 512);
    let flags = resolve(&command, OLD, &device, &model()).unwrap();
    assert!(!flags.chunked_prefill);
    assert_eq!(flags.max_num_batched_tokens, 32768);
    let command = LaunchCommand::parse_line("vllm serve m --enable-chunked-prefill false").unwrap();
    assert!(
        !resolve(&command, OLD, &device, &long)
            .unwrap()
            .chunked_prefill
    );
}

#[test]
fn too_many_devices_are_refused_before_the_heads_are() {
    let refusal = settle("vllm serve m -tp 4", NEW).unwrap_err();
    assert_eq!(refusal.rule, Rule::TooManyDevices);
    assert!(
        refusal
            .message
            .starts_with("World size (4) is larger than the number of available GPUs (2)")
    );
}

#[test]
fn speculative_decoding_is_read_in_all_its_spellings() {
    for (line, version) in [
        (
            "vllm serve m --speculative-config '{\"method\": \"ngram\", \"num_speculative_tokens\": 3}'",
            NEW,
        ),
        (
            "vllm serve m --speculative-config.method ngram --speculative_config.num_speculative_tokens 3",
            NEW,
        ),
        ("vllm serve m --spec-method ngram --spec-tokens 3", NEW),
        (
            "vllm serve m --speculative-model '[ngram]' --num-speculative-tokens 3",
            OLD,
        ),
    ] {
        let speculative = settle(line, version).unwrap().speculative.unwrap();
        assert_eq!(speculative.method.as_str(), "ngram", "{line}");
        assert_eq!(speculative.tokens, 3, "{line}");
    }
}

#[test]
fn other_engines_resolve_to_the_same_settings() {
    let line = "python -m sglang.launch_server --model-path m --max-running-requests 64 \
                --chunked-prefill-size 4096 --disable-radix-cache --schedule-policy lpm";
    let flags = settle(line, EngineKind::Sglang.newest()).unwrap();
    assert_eq!(
        (flags.max_num_seqs, flags.max_num_batched_tokens, flags.port),
        (64, 4096, 30000)
    );
    assert!(!flags.prefix_caching && flags.chunked_prefill);
    assert_eq!(flags.policy, Policy::LongestPrefix);

    // Groups of cards that attend apart have their share of both.
    let groups = "--tp-size 4 --dp-size 4";
    let each = |groups: &str| {
        let flags = settle(&format!("{line} {groups}"), EngineKind::Sglang.newest()).unwrap();
        (flags.max_num_seqs, flags.max_num_batched_tokens)
    };
    assert_eq!(each(groups), (64, 4096));
    assert_eq!(each(&format!("{groups} --enable-dp-attention")), (16, 1024));

    let flags = settle(
        "llama-server -m x.gguf -c 8192 -np 4",
        Version::new(0, 0, 0),
    )
    .unwrap();
    assert_eq!(
        (flags.max_num_seqs, flags.max_model_len, flags.port),
        (4, 2048, 8080)
    );
    let refusal = settle("llama-server -m x.gguf --nonsense", Version::new(0, 0, 0)).unwrap_err();
    assert_eq!(
        refusal.message.as_str(),
        "error: invalid argument: --nonsense"
    );
    assert_eq!(refusal.exit_code, 1);
}

/// Hundreds of made-up command lines that the argument parser of vLLM 0.32 was given.
#[test]
fn arguments_are_read_as_the_real_parser_reads_them() {
    let cases = include_str!("../../../../../fixtures/engine/vllm/arguments.jsonl");
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let words = words(&["vllm", "serve"], &case);
        let command = LaunchCommand::parse(&words).unwrap();
        let voice = Voice {
            engine: command.engine,
            form: command.form,
            version: NEW,
        };
        let ours = match given::read(&command, voice) {
            Ok(_) => "accepted".to_owned(),
            Err(refusal) => refusal.message,
        };
        let real = case["message"].as_str().unwrap_or("accepted").trim();
        if ours.trim() != real {
            wrong.push(format!("{words:?}\n  real: {real}\n  ours: {ours}"));
        }
    }
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} differ:\n{}", wrong.join("\n"));
}

/// Random flags that vLLM 0.32 made a configuration of, or refused.
#[test]
fn configurations_are_those_that_the_real_engine_makes() {
    let (cpu, tiny) = recorded_host();
    let cases = include_str!("../../../../../fixtures/engine/vllm/configurations.jsonl");
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let words = words(&["vllm", "serve", "m"], &case);
        let command = LaunchCommand::parse(&words).unwrap();
        let ours = match resolve(&command, NEW, &cpu, &tiny) {
            // Found in the workers only, after the configuration is made.
            Err(refusal) if refusal.rule == Rule::BadBlockSize => continue,
            Err(refusal) => {
                // The exception's text begins behind the name of its class.
                let said = case["message"].as_str().unwrap_or("accepted").to_owned();
                let first = refusal
                    .printed
                    .lines()
                    .map(|line| line.split(" [type=").next().unwrap());
                let first: Vec<&str> = first
                    .map(|l| l.trim_start_matches("pydantic_core._pydantic_core.ValidationError: "))
                    .collect();
                if first.iter().all(|line| said.contains(line)) {
                    continue;
                }
                format!("{first:?}")
            }
            Ok(flags) => serde_json::json!({
                "words": case["words"],
                "seqs": flags.max_num_seqs,
                "tokens": flags.max_num_batched_tokens,
                "model_len": flags.max_model_len,
                "chunked": flags.chunked_prefill,
                "prefix": flags.prefix_caching,
                "block": flags.block_size,
                "threshold": flags.long_prefill_token_threshold,
                "stream": flags.stream_interval,
                "policy": flags.policy,
                "util": flags.gpu_memory_utilization,
            })
            .to_string(),
        };
        if serde_json::from_str::<serde_json::Value>(&ours).ok() != Some(case.clone()) {
            wrong.push(format!(
                "{}\n  real: {case}\n  ours: {ours}",
                words.join(" ")
            ));
        }
    }
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} differ:\n{}", wrong.join("\n"));
}

#[test]
fn a_longer_context_is_the_engines_to_judge_where_something_stretches_it() {
    let at = |before: &str, after: &str| {
        let line = format!("{before} vllm serve m --max-model-len 131072 {after}");
        settle(&line, Version::new(0, 10, 0))
    };
    let refusal = at("", "").unwrap_err();
    assert_eq!(refusal.rule, Rule::ModelLenAboveModel);
    for (before, after) in [
        ("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1", ""),
        ("VLLM_ALLOW_LONG_MAX_MODEL_LEN=true", ""),
        ("", r#"--hf-overrides '{"rope_scaling":{"factor":4.0}}'"#),
        ("", "--hf-overrides.rope_scaling.factor 4.0"),
        ("", r#"--rope-scaling '{"rope_type":"yarn","factor":4.0}'"#),
    ] {
        let flags = at(before, after).unwrap_or_else(|refusal| panic!("{after}: {refusal:?}"));
        assert_eq!(flags.max_model_len, 131_072);
    }
    assert!(at("VLLM_ALLOW_LONG_MAX_MODEL_LEN=0", "").is_err());
}

#[test]
fn the_short_flag_of_compilation_is_read_in_every_version() {
    let config = |line: &str, version| {
        let flags = settle(&format!("vllm serve m {line}"), version).unwrap();
        flags.get("compilation-config").cloned()
    };
    let old = Version::new(0, 11, 0);
    for line in [
        "-O3",
        "-O=3",
        "-O 3",
        "-O.level=3",
        "-O.level 3",
        r#"-O='{"level":3}'"#,
    ] {
        let read = config(line, old).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(read, Value::Json(serde_json::json!({"level": 3})), "{line}");
    }
    assert_eq!(config("-O3", NEW), None, "a level of its own since 0.12");
    let command = LaunchCommand::parse_line("vllm serve m -O3").unwrap();
    assert_eq!(command.to_string(), "vllm serve m -O=3");
}
