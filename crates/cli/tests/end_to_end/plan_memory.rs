//! `inferometer plan memory`: cards, flags and lists of them.

use crate::support::{Crooked, Ended, Place, Started, answer};
use inferometer_catalog::engine::{Fact, LaunchCommand, read_line};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn memory(place: &Place, words: &[&str]) -> Ended {
    let words: Vec<&str> = ["plan", "memory"].iter().chain(words).copied().collect();
    place.run(&words)
}

fn widest(text: &str) -> usize {
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap_or_default()
}

#[test]
fn bars_of_long_names_keep_to_the_columns_of_a_terminal() {
    let place = Place::new();
    let flags = ["--flag", "max-model-len=8192,16384", "--lang", "en"];
    let cards = ["--model", "qwen2.5-7b", "--device", "a100-80g,t4"];
    let ended = memory(&place, &[&cards[..], &flags[..]].concat());
    assert!(ended.stdout.contains("████████"), "{}", ended.stdout);
    assert!(widest(&ended.stdout) <= 80, "{}", ended.stdout);
}

#[test]
fn a_cache_in_fp8_is_not_promised_on_cards_without_it() {
    let place = Place::new();
    let on = |device: &str| {
        let fp8 = ["--flag", "kv-cache-dtype=fp8", "--lang", "en"];
        memory(
            &place,
            &[&["--model", "qwen2.5-7b", "--device", device], &fp8[..]].concat(),
        )
    };
    let converted = on("a100-80g").stdout.replace("\n  ", " ");
    assert!(converted.contains("does not compute in FP8"), "{converted}");
    let native = on("h100").stdout;
    assert!(!native.contains("does not compute"), "{native}");
    on("v100-32g").assert_refused(&["kv-cache-dtype fp8", "use auto"]);
    // An older engine converted on every card.
    let old = ["--as-version", "0.6.3", "--format", "json"];
    let words = [
        "--model",
        "qwen2.5-7b",
        "--device",
        "v100-32g",
        "--flag",
        "kv-cache-dtype=fp8",
    ];
    let old = memory(&place, &[&words[..], &old[..]].concat());
    let old: Value = serde_json::from_str(&old.stdout).unwrap();
    assert_eq!(old["fp8_cache"], "converted", "{old}");
}

#[test]
fn values_of_a_flag_stand_side_by_side() {
    let place = Place::new();
    let words = [
        "--model",
        "qwen2.5-72b",
        "--device",
        "h100",
        "--flag",
        "tensor-parallel-size=2,4,8",
        "--flag",
        "max-model-len=8192",
    ];
    let ended = memory(&place, &[&words[..], &["--format", "json"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answers: Value = serde_json::from_str(&ended.stdout).unwrap();
    let cards: Vec<u64> = (answers["answers"].as_array().unwrap().iter())
        .filter_map(|answer| answer["cards"].as_u64())
        .collect();
    assert_eq!(cards, [2, 4, 8]);
    let ended = memory(&place, &[&words[..], &["--lang", "en"]].concat());
    for column in ["×2", "×4", "×8", "tensor-parallel-size=8"] {
        assert!(ended.stdout.contains(column), "{column}: {ended:?}");
    }
    let many = [
        "--model",
        "qwen2.5-7b",
        "--device",
        "h100",
        "--flag",
        "max-num-seqs=1..100:+1",
    ];
    memory(&place, &many).assert_refused(&["combinations"]);
}

#[test]
fn replicas_and_flags_that_are_not_counted_are_told_in_both_languages() {
    let place = Place::new();
    let words = [
        "--model",
        "deepseek-v3",
        "--device",
        "h200",
        "--flag",
        "data-parallel-size=8",
        "--flag",
        "enable-expert-parallel=true",
        "--flag",
        "speculative-config={\"method\":\"mtp\",\"num_speculative_tokens\":1}",
    ];
    for (lang, replicas, not_counted) in [
        (
            "en",
            "each of 8 replicas",
            "not counted: speculative-config",
        ),
        ("zh", "共 8 个副本", "未计入：speculative-config"),
    ] {
        for format in ["text", "md"] {
            let view = ["--lang", lang, "--format", format, "-o", "answer"];
            let ended = memory(&place, &[&words[..], &view].concat());
            assert_eq!(ended.code, Some(0), "{ended:?}");
            let answer = std::fs::read_to_string(place.path("answer")).unwrap();
            for said in [replicas, not_counted, "×8"] {
                assert!(answer.contains(said), "{said}: {answer}");
            }
        }
    }
    let few = [&words[..], &["--cards", "4"]].concat();
    memory(&place, &few).assert_refused(&["8 cards", "--cards"]);
}

#[test]
fn mindie_speaks_chinese_where_chinese_is_asked_for() {
    let place = Place::new();
    let words = [
        "--model",
        "qwen2.5-7b",
        "--device",
        "910b3",
        "--engine",
        "mindie",
        "--lang",
        "zh",
    ];
    let ended = memory(&place, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("剩余显存 × 0.8"), "{ended:?}");
    assert!(!ended.stdout.contains("rest"), "{ended:?}");
    assert!(widest(&ended.stdout) <= 100);
}

/// The tokens of its cache that the simulated engine logs while it starts.
fn logged_tokens(place: &Place, device: &str, line: &str) -> u64 {
    let engine = LaunchCommand::parse_line(line).unwrap().engine;
    let options = ["sim", "--listen", "127.0.0.1:0", "--device", device, "--"];
    let words = options.into_iter().chain(line.split(' '));
    let mut command = place.command(words);
    let mut child = (command.stdout(Stdio::null()).stderr(Stdio::piped()))
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let tokens = lines
        .map_while(Result::ok)
        .find_map(|line| match read_line(engine, &line)? {
            Fact::KvCacheTokens { tokens }
            | Fact::KvCacheCapacity { tokens, .. }
            | Fact::PoolSized { tokens, .. } => Some(tokens),
            _ => None,
        });
    child.kill().unwrap();
    child.wait().unwrap();
    tokens.unwrap_or_else(|| panic!("{line}: no size of the cache is logged"))
}

#[test]
fn a_command_has_the_tokens_that_its_simulated_engine_logs() {
    let place = Place::new();
    let sglang = "python -m sglang.launch_server --model-path";
    for (device, line) in [
        ("h100", "vllm serve Qwen/Qwen2.5-7B-Instruct".to_owned()),
        ("a100-80g", "vllm serve qwen2.5-72b -tp 4".to_owned()),
        ("h100", "vllm serve qwen2.5-32b -pp 3".to_owned()),
        ("h100", "vllm serve qwen3-30b-a3b -dp 2".to_owned()),
        (
            "h100",
            "vllm serve qwen3-30b-a3b -dp 2 -tp 2 --enable-expert-parallel".to_owned(),
        ),
        (
            "h100",
            "vllm serve llama-3.1-8b --kv-cache-dtype fp8".to_owned(),
        ),
        (
            "h100",
            "vllm serve llama-3.1-8b --quantization fp8".to_owned(),
        ),
        (
            "h100",
            "vllm serve llama-3.1-8b --num-gpu-blocks-override 20000".to_owned(),
        ),
        (
            "h100",
            "vllm serve qwen2.5-7b --kv-cache-memory-bytes 8G -pp 2".to_owned(),
        ),
        ("910b3", "vllm serve qwen2.5-7b --block-size 128".to_owned()),
        (
            "l20",
            "docker run vllm/vllm-openai:v0.10.1 --model qwen2.5-7b".to_owned(),
        ),
        (
            "h100",
            format!("{sglang} llama-3.1-8b --mem-fraction-static 0.85"),
        ),
        (
            "h200",
            format!("{sglang} deepseek-v3 --tp 8 --dp 8 --enable-dp-attention"),
        ),
    ] {
        let words = ["--device", device, "--format", "json", "--"];
        let words: Vec<&str> = words.into_iter().chain(line.split(' ')).collect();
        let ended = memory(&place, &words);
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
        let logged = logged_tokens(&place, device, &line);
        assert_eq!(answer["kv_tokens"].as_u64(), Some(logged), "{line}");
    }
}

#[test]
fn options_win_over_a_command_or_contradict_it_in_one_line() {
    let place = Place::new();
    let command = [
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
        "--max-model-len",
        "4096",
    ];
    let ask = |options: &[&str]| {
        let words = [&["--device", "h100", "--format", "json"], options, &command].concat();
        memory(&place, &words)
    };
    let answer = |options: &[&str]| -> Value {
        let ended = ask(options);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    };
    assert_eq!(answer(&[])["max_model_len"], 4096);
    assert_eq!(
        answer(&["--flag", "max-model-len=8192"])["max_model_len"],
        8192
    );
    assert_eq!(
        answer(&["--model", "llama-3.1-8b"])["model"],
        "llama-3.1-8b"
    );
    let both = ask(&["--engine", "sglang"]);
    assert_eq!(both.code, Some(2), "{both:?}");
    assert!(both.stderr.contains("--engine"), "{both:?}");
    let nameless = ["--device", "910b3", "--", "mindieservice_daemon"];
    memory(&place, &nameless).assert_refused(&["--model"]);
    let mindie = [
        "--model",
        "qwen2.5-7b",
        "--device",
        "910b3",
        "--",
        "mindieservice_daemon",
    ];
    assert_eq!(memory(&place, &mindie).code, Some(0));
    let unknown = [
        "--device",
        "h100",
        "--model",
        "qwen2.5-7b",
        "--",
        "./my-server",
    ];
    memory(&place, &unknown).assert_refused(&["vllm, sglang, trtllm or mindie"]);
}

#[test]
fn a_model_is_looked_up_at_the_endpoint_of_the_environment_with_its_token() {
    let hub = Crooked::answering(|head| {
        let config = r#"{"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
            "num_attention_heads": 4, "vocab_size": 1000, "max_position_embeddings": 4096}"#;
        let is_config = head.starts_with("GET /org/name/resolve/main/config.json ");
        let is_known = head
            .to_lowercase()
            .contains("authorization: bearer hf_test\r\n");
        if !is_known {
            answer("401 Unauthorized", "text/plain", "")
        } else if is_config {
            answer("200 OK", "application/json", config)
        } else {
            answer("404 Not Found", "text/plain", "")
        }
    });
    let place = Place::new();
    let ask = |token: &str, more: &[&str]| {
        let words = "plan memory --model hf://org/name --device h100";
        let mut command = place.command(words.split(' ').chain(more.iter().copied()));
        command.env("HF_ENDPOINT", hub.url()).env("HF_TOKEN", token);
        Started::new(command).wait()
    };
    let ended = ask("hf_test", &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ask("hf_wrong", &[]).assert_refused(&["status 401", "HF_TOKEN"]);
    let ended = ask("hf_test", &["--proxy", "gopher://me:s3cr3t@x"]);
    ended.assert_refused(&["proxy", "http://HOST:PORT"]);
    assert!(!ended.stderr.contains("s3cr3t"), "{ended:?}");
}

#[test]
fn mindies_own_file_is_divided_as_its_keys_say() {
    let place = Place::new();
    let file = r#"{"BackendConfig": {"ModelDeployConfig": {"maxSeqLen": 8192,
        "ModelConfig": [{"modelName": "qwen2.5-7b", "modelWeightPath": "/data/Qwen2.5-7B-Instruct",
        "worldSize": 2, "npuMemSize": 5}]}, "ScheduleConfig": {"cacheBlockSize": 64}}}"#;
    std::fs::write(place.path("config.json"), file).unwrap();
    let asked = |more: &[&str]| {
        let words = ["--device", "910b4", "--format", "json"];
        let answer = memory(&place, &[&words[..], more].concat());
        serde_json::from_str::<Value>(&answer.stdout).expect(&answer.stdout)
    };
    let of_file = asked(&["--mindie-config", "config.json"]);
    let flags = [
        "maxSeqLen=8192",
        "worldSize=2",
        "npuMemSize=5",
        "cacheBlockSize=64",
    ];
    let flags = flags.iter().flat_map(|flag| ["--flag", flag]);
    let by_hand = ["--model", "qwen2.5-7b", "--engine", "mindie"];
    let by_hand = asked(&by_hand.into_iter().chain(flags).collect::<Vec<_>>());
    assert_eq!(of_file["kv_tokens"], by_hand["kv_tokens"], "{of_file:#}");
    assert!(of_file["kv_tokens"].as_u64() > Some(100_000), "{of_file:#}");
    let refused = memory(&place, &["--device", "910b4", "--mindie-config", "no.json"]);
    refused.assert_refused(&["cannot read --mindie-config no.json; check the path"]);
}

#[test]
fn mindies_own_file_is_predicted_as_its_keys_say() {
    let place = Place::new();
    let file = r#"{"BackendConfig": {"ModelDeployConfig": {"maxSeqLen": 8192,
        "ModelConfig": [{"modelName": "qwen2.5-7b", "modelWeightPath": "/data/Qwen2.5-7B-Instruct",
        "worldSize": 2}]}, "ScheduleConfig": {"maxBatchSize": 4, "maxPrefillBatchSize": 2}}}"#;
    std::fs::write(place.path("config.json"), file).unwrap();
    let asked = |more: &[&str]| {
        let words = ["plan", "predict", "--device", "910b4", "--concurrency", "8"];
        let lengths = ["--input-tokens", "500", "--output-tokens", "100"];
        place.run(&[&words[..], &lengths, more].concat())
    };
    let json = |more: &[&str]| {
        let answer = asked(&[more, &["--format", "json"]].concat());
        serde_json::from_str::<Value>(&answer.stdout).expect(&answer.stderr)
    };
    let of_file = json(&["--mindie-config", "config.json"]);
    let flags = [
        "maxSeqLen=8192",
        "worldSize=2",
        "maxBatchSize=4",
        "maxPrefillBatchSize=2",
    ];
    let flags = flags.iter().flat_map(|flag| ["--flag", flag]);
    let by_hand = ["--model", "qwen2.5-7b", "--engine", "mindie"];
    let by_hand = json(&by_hand.into_iter().chain(flags).collect::<Vec<_>>());
    let throughput = |answer: &Value| {
        let place = "/settings/0/predicted/throughput/output_tokens_per_s";
        answer.pointer(place).and_then(Value::as_f64)
    };
    assert!(throughput(&of_file).is_some(), "{of_file:#}");
    assert_eq!(throughput(&of_file), throughput(&by_hand));
    asked(&["--mindie-config", "no.json"]).assert_refused(&["no.json; check the path"]);
    asked(&["--mindie-config", "config.json", "--engine", "vllm"]).assert_refused(&["--engine"]);
}

#[test]
fn cards_that_cannot_share_a_layer_are_refused_with_those_that_can() {
    let place = Place::new();
    let asked = |engine: &str, flag: &str| {
        let card = if engine == "mindie" { "910b3" } else { "h100" };
        let fixed = [
            "--model",
            "qwen2.5-14b",
            "--device",
            card,
            "--engine",
            engine,
        ];
        memory(&place, &[&fixed[..], &["--flag", flag]].concat())
    };
    for engine in ["vllm", "sglang", "trtllm", "mindie"] {
        asked(engine, "tensor-parallel-size=3").assert_refused(&["choose one of 1, 2, 4, 8"]);
    }
}

#[test]
fn a_number_behind_the_card_shares_the_model_as_it_does_in_predictions() {
    let place = Place::new();
    let asked = |device: &str, more: &[&str]| {
        let words = ["--model", "qwen2.5-7b", "--device", device];
        memory(&place, &[&words[..], more].concat())
    };
    let tokens = |ended: &Ended| {
        let answer: Value = serde_json::from_str(&ended.stdout).expect(&ended.stdout);
        answer["kv_tokens"].as_u64().unwrap()
    };
    let json = ["--format", "json"];
    let by_flag = ["--flag", "tensor-parallel-size=4", "--format", "json"];
    let four = tokens(&asked("l40s:4", &json));
    assert_eq!(four, tokens(&asked("l40s", &by_flag)));
    assert!(four > 4 * tokens(&asked("l40s", &json)));
    // More cards than the flags need stay free.
    let two = ["--flag", "tensor-parallel-size=2", "--format", "json"];
    assert_eq!(tokens(&asked("l40s:4", &two)), tokens(&asked("l40s", &two)));
    asked("l40s:2", &by_flag).assert_refused(&["among 4 cards"]);
    asked("l40s:none", &[]).assert_refused(&["h200:8"]);
    asked("l40s:3", &[]).assert_refused(&["choose one of 1, 2, 4"]);
    asked("l40s:2@1.5", &[]).assert_refused(&["price"]);
}

#[test]
fn a_flag_of_another_version_is_refused_with_the_version_that_has_it() {
    let place = Place::new();
    let command = ["--", "vllm", "serve", "qwen2.5-7b", "--async-scheduling"];
    let old = ["--device", "l40s", "--as-version", "0.6.3"];
    let since = "vllm 0.6.3 lacks what others have: --async-scheduling (since 0.10.0)";
    memory(&place, &[&old[..], &command].concat()).assert_refused(&[since]);
    let gone = [
        "--device",
        "l40s",
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
        "--use-v2-block-manager",
    ];
    memory(&place, &gone).assert_refused(&["--use-v2-block-manager (gone since 0.10.0)"]);
    // The engine's own words stand last.
    let sim = place.run(&[&["sim", "--as-version", "0.6.3"], &command[..]].concat());
    let lines: Vec<&str> = sim.stderr.lines().collect();
    assert!(lines[0].contains(since), "{sim:?}");
    assert!(
        lines
            .last()
            .unwrap()
            .ends_with("unrecognized arguments: --async-scheduling")
    );
    let load = [
        "--input-tokens",
        "100",
        "--output-tokens",
        "10",
        "--concurrency",
        "1",
    ];
    let predicted = [
        "plan",
        "predict",
        "--model",
        "qwen2.5-7b",
        "--device",
        "l40s",
    ];
    let flag = ["--flag", "use-v2-block-manager"];
    place
        .run(&[&predicted[..], &load, &flag].concat())
        .assert_refused(&["has no such flag; others have it (gone since 0.10.0)"]);
}

#[test]
fn flags_that_contradict_each_other_are_told() {
    let place = Place::new();
    let asked = |command: &str| {
        let words = format!("--device h100 --lang en -- {command}");
        memory(&place, &words.split(' ').collect::<Vec<_>>())
    };
    let eager = "vllm serve qwen2.5-7b --enforce-eager --compilation-config";
    let told = asked(&format!("{eager} {{\"cudagraph_mode\":\"FULL\"}}"));
    assert_eq!(told.code, Some(0), "{told:?}");
    let said = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("cudagraph_mode FULL is without effect"),
        "{said}"
    );
    let agreed = asked(&format!("{eager} {{\"cudagraph_mode\":\"NONE\"}}"));
    assert!(!agreed.stdout.contains("without effect"), "{agreed:?}");
    asked("vllm serve qwen2.5-7b --enable-expert-parallel")
        .assert_refused(&["Number of experts in the model must be greater than 0"]);
    let sglang = "python -m sglang.launch_server --model-path qwen3-30b-a3b --tp-size 4";
    asked(&format!("{sglang} --dp-size 3 --enable-dp-attention"))
        .assert_refused(&["--dp-size 3", "1, 2, 4"]);
    asked(&format!("{sglang} --ep-size 3")).assert_refused(&["ep_size 3", "1, 2, 4"]);
}

#[test]
fn a_card_is_found_whose_words_are_in_another_order() {
    let place = Place::new();
    let ended = memory(
        &place,
        &["--model", "qwen2.5-7b", "--device", "rtx-6000-pro"],
    );
    ended.assert_refused(&["choose one of rtx-pro-6000"]);
}
