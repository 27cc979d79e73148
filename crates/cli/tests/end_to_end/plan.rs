//! `inferometer plan`: memory, calibration, prediction.

use crate::support::{Ended, Place};
use serde_json::Value;
use std::sync::LazyLock;

const LADDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/plan/ladder.md");

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn plan(place: &Place, words: &[&str]) -> Ended {
    let words: Vec<&str> = ["plan"].iter().chain(words).copied().collect();
    place.run(&words)
}

/// Calibrates on the ladder and gives back what was printed.
fn calibrate(place: &Place, options: &[&str]) -> Ended {
    let fixed = [
        "calibrate",
        LADDER,
        "--model",
        "qwen1.5-7b",
        "--device",
        "a100-80g",
        "--input-tokens",
        "60",
        "--output-tokens",
        "200",
    ];
    let words: Vec<&str> = fixed.iter().chain(options).copied().collect();
    plan(place, &words)
}

/// Puts the calibration on the ladder there, which is computed once for all.
fn calibrated(place: &Place) {
    static CALIBRATION: LazyLock<String> = LazyLock::new(|| {
        let place = Place::new();
        assert_eq!(calibrate(&place, &[]).code, Some(0));
        std::fs::read_to_string(place.path("calibration.toml")).unwrap()
    });
    place.write("calibration.toml", &*CALIBRATION);
}

#[test]
fn memory_of_the_h200_server_is_what_the_engine_itself_reports() {
    let place = Place::new();
    let config = r#"{"architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584,
        "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
        "num_key_value_heads": 4, "vocab_size": 8192, "max_position_embeddings": 32768,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "model_type": "qwen2"}"#;
    let config = place.write("config.json", config);
    let words = [
        "memory",
        "--model",
        &config,
        "--device",
        "h200",
        "--engine",
        "vllm",
        "--flag",
        "max-model-len=8192",
        "--flag",
        "gpu-memory-utilization=0.92",
        "--format",
        "json",
    ];
    let ended = plan(&place, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answer = json(&ended);
    assert_eq!(answer["schema"], "inferometer.memory/1");
    assert_eq!(answer["fits"], true);
    assert_eq!(answer["kv_bytes_per_token"], 57344.0);
    let near = |key: &str, reported: f64| {
        let value = answer[key].as_f64().unwrap_or_default();
        assert!((value / reported - 1.0).abs() < 0.03, "{key}: {value}");
    };
    near("weights_gib", 12.37);
    near("kv_tokens", 2_152_576.0);
    assert!(
        answer["max_concurrency"]
            .as_f64()
            .is_some_and(|most| most > 200.0)
    );
    assert!(
        answer["parts"]
            .as_array()
            .is_some_and(|parts| parts.len() >= 4)
    );
}

#[test]
fn what_does_not_fit_says_by_how_much_and_what_would() {
    let place = Place::new();
    let words = ["memory", "--model", "llama-3.1-70b", "--device", "l20"];
    let ended = plan(&place, &[&words[..], &["--lang", "en"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("DOES NOT FIT"), "{ended:?}");
    assert!(ended.stdout.contains("GiB per card"), "{ended:?}");
    assert!(ended.stdout.contains("tensor-parallel-size"), "{ended:?}");
    let answer = json(&plan(&place, &[&words[..], &["--format", "json"]].concat()));
    assert_eq!(answer["fits"], false);
    assert!(answer["lacking_gib"].as_f64().is_some_and(|gib| gib > 50.0));
    assert!(
        answer["remedies"]
            .as_array()
            .is_some_and(|remedies| !remedies.is_empty())
    );
}

#[test]
fn a_ladder_becomes_a_calibration_that_predicts_and_knows_its_limits() {
    let place = Place::new();
    let ended = calibrate(&place, &["--lang", "en"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("calibration.toml"), "{ended:?}");
    let widest = ended.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{ended:?}");
    let words = [
        "what-if",
        "--calibration",
        "calibration.toml",
        "--concurrency",
        "32,4096",
        "--format",
        "json",
    ];
    let many = words.map(|word| word.replace("32,4096", "2147483648"));
    plan(&place, &many.each_ref().map(String::as_str))
        .assert_refused(&["2147483648 is too much to simulate", "at most"]);
    let ended = plan(&place, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answer = json(&ended);
    assert_eq!(answer["schema"], "inferometer.what-if/1");
    let (near, far) = (&answer["settings"][0], &answer["settings"][1]);
    assert_eq!(near["point"]["concurrency"], 32);
    assert_eq!(near["inside_envelope"], true);
    assert_eq!(far["inside_envelope"], false);
    let rate = near["predicted"]["throughput"]["requests_per_s"].as_f64();
    let interval = &near["interval"]["throughput"]["requests_per_s"];
    let (low, high) = (interval[0].as_f64(), interval[1].as_f64());
    assert!(low < rate && rate < high, "{near}");
    let width = |setting: &Value| {
        let interval = &setting["interval"]["throughput"]["requests_per_s"];
        interval[1].as_f64().unwrap_or_default() / interval[0].as_f64().unwrap_or(1.0)
    };
    assert!(width(far) > width(near), "outside it is less sure");
}

#[test]
fn a_verified_prediction_leaves_its_error_in_the_calibration() {
    let place = Place::new();
    calibrated(&place);
    let words = [
        "what-if",
        "--calibration",
        "calibration.toml",
        "--flag",
        "max-num-seqs=16,64",
        "--concurrency",
        "64",
        "--verify",
        "sim",
        "--format",
        "json",
    ];
    for times in 1..=2 {
        let ended = plan(&place, &words);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let error = json(&ended)["verified"]["errors"]["requests"].as_f64();
        assert!(error.is_some_and(|error| error.abs() < 0.5), "{ended:?}");
        let kept = std::fs::read_to_string(place.path("calibration.toml")).unwrap();
        assert_eq!(kept.matches("[[verified]]").count(), times, "{kept}");
        assert_eq!(kept.matches("on = \"sim\"").count(), times, "{kept}");
    }
}

#[test]
fn what_if_says_what_it_sent_and_rejects_what_the_engine_would() {
    let place = Place::new();
    assert_eq!(
        calibrate(&place, &["--flag", "max-model-len=2048"]).code,
        Some(0)
    );
    let what_if = |options: &[&str]| {
        let fixed = [
            "what-if",
            "--calibration",
            "calibration.toml",
            "--lang",
            "en",
        ];
        plan(&place, &[&fixed[..], options].concat())
    };
    let said = what_if(&["--concurrency", "16"]);
    assert!(
        said.stdout.contains("prompts of 60 and answers of"),
        "{said:?}"
    );
    assert!(
        said.stdout.contains("all streams starting at once"),
        "{said:?}"
    );
    assert!(!said.stdout.contains("first calibrated point"), "{said:?}");
    // Points of two lengths were calibrated, and the question names none of them.
    let file = place.path("calibration.toml");
    let kept = std::fs::read_to_string(&file).unwrap();
    let varied = kept.replace(
        r#"max-model-len = ["2048"]"#,
        r#"max-model-len = ["2048", "4096"]"#,
    );
    assert_ne!(kept, varied);
    std::fs::write(&file, varied).unwrap();
    let said = what_if(&["--concurrency", "16"]);
    let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("first calibrated point: max-model-len=2048;"),
        "{said:?}"
    );
    std::fs::write(&file, kept).unwrap();
    what_if(&["--concurrency", "8", "--input-tokens", "2000"])
        .assert_refused(&["max-model-len 2048", "rejects"]);
    what_if(&["--concurrency", "8", "--model", "qwen3-32b"])
        .assert_refused(&["plan predict --model qwen3-32b"]);
    let rate = what_if(&["--rate", "2.8517110266159693"]);
    assert!(rate.stdout.contains(" 2.85/s"), "{rate:?}");
    let long = ["--concurrency", "8", "--input-tokens", "uniform(500,2500)"];
    let counted = what_if(&[&long[..], &["--format", "json"]].concat());
    let setting = &json(&counted)["settings"][0];
    let requests = &setting["predicted"]["requests"];
    let failed = requests["failed"].as_u64().unwrap();
    assert_eq!(setting["work"]["too_long"], failed);
    let planned = requests["planned"].as_u64().unwrap();
    assert!(failed > planned / 5 && failed < planned / 2, "{setting}");
    let longest = 2048.0 - 200.0;
    let mean = setting["predicted"]["tokens"]["input_mean"].as_f64();
    assert!(mean.is_some_and(|mean| mean < longest), "{setting}");
    let said = what_if(&long);
    assert!(said.stdout.contains("exceed max-model-len"), "{said:?}");
}

#[test]
fn answers_keep_to_the_columns_of_a_terminal() {
    let place = Place::new();
    calibrated(&place);
    let asked = |options: &str| {
        let fixed = "what-if --calibration calibration.toml --lang en --slo ttft.p90=1s";
        let words: Vec<&str> = fixed.split(' ').chain(options.split(' ')).collect();
        let said = plan(&place, &words).stdout;
        let widest = said.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{widest:?}: {said}");
        assert!(said.contains("Latencies"), "{said}");
    };
    asked("--flag max-num-seqs=64,128 --concurrency 4,64");
    asked("--flag max-num-seqs=64,128 --flag max-num-batched-tokens=2048,8192 --concurrency 64");
    asked("--device a100-80g,h100@3 --flag max-num-seqs=64,128 --traffic 20 --price-per-hour 2");
}

#[test]
fn points_outside_what_was_measured_are_drawn_hollow() {
    let place = Place::new();
    calibrated(&place);
    let drawn = |loads: &str, folder: &str| {
        let words = [
            "what-if",
            "--calibration",
            "calibration.toml",
            "--concurrency",
            loads,
            "--format",
            "svg",
            "--lang",
            "en",
            "-o",
            folder,
        ];
        let ended = plan(&place, &words);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let file = place.path(folder).join("what-if-throughput-latency.svg");
        std::fs::read_to_string(file).unwrap()
    };
    assert!(!drawn("16,64", "inside").contains("Hollow points"));
    let outside = drawn("64,1024", "outside");
    assert!(outside.contains("Hollow points") && outside.contains("which is not drawn"));
}

#[test]
fn what_was_measured_is_predicted_as_it_was_measured() {
    let place = Place::new();
    let sweep = "sweep --sim-clock virtual --concurrency 4,16,64 --requests concurrency*12 \
        --input-tokens 256 --output-tokens 64 --quiet --no-html --out ladder";
    let swept = place.run(&sweep.split_whitespace().collect::<Vec<_>>());
    assert_eq!(swept.code, Some(0), "{swept:?}");
    let calibrate = "calibrate ladder --model qwen2.5-7b --device a100-80g -o calibration.toml";
    let fitted = plan(&place, &calibrate.split(' ').collect::<Vec<_>>());
    assert_eq!(fitted.code, Some(0), "{fitted:?}");
    let what_if = "what-if --calibration calibration.toml --concurrency 16 --format json";
    let found = plan(&place, &what_if.split(' ').collect::<Vec<_>>());
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let predicted = &found["settings"][0]["predicted"];
    assert_eq!(predicted["requests"]["planned"], 16 * 12, "{found}");
    let measured = (std::fs::read_dir(place.path("ladder/points")).unwrap())
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_str().unwrap().contains("concurrency_16-"))
        .unwrap();
    let measured = std::fs::read(measured.join("summary.json")).unwrap();
    let measured: Value = serde_json::from_slice(&measured).unwrap();
    let rate = |of: &Value| of["throughput"]["requests_per_s"].as_f64().unwrap();
    let ratio = rate(predicted) / rate(&measured);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn a_sweep_is_a_source_and_its_invalid_points_are_refused_unless_forced() {
    let place = Place::new();
    let sweep = [
        "sweep",
        "--sim-clock",
        "virtual",
        "--sim-model",
        "qwen2.5-7b",
        "--sim-device",
        "a100-80g",
        "--concurrency",
        "2,8,32",
        "--requests",
        "200",
        "--quiet",
        "--out",
        "ladder",
    ];
    let ended = place.run(&sweep);
    assert!(place.path("ladder/sweep.json").exists(), "{ended:?}");
    let words = [
        "calibrate",
        "ladder",
        "--model",
        "qwen2.5-7b",
        "--device",
        "a100-80g",
        "--format",
        "json",
    ];
    let ended = plan(&place, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let calibration = json(&ended);
    assert_eq!(calibration["points"].as_array().map(Vec::len), Some(3));
    let held_out = calibration["held-out"].as_array().unwrap();
    let medians = held_out.iter().filter_map(|known| known["median"].as_f64());
    assert!(medians.into_iter().all(|median| median < 0.1), "{ended:?}");

    let runs = std::fs::read_dir(place.path("ladder/points")).unwrap();
    let eight = runs.map(|run| run.unwrap().path()).find(|run| {
        let name = run.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("concurrency_8-")
    });
    let summary = eight.unwrap().join("summary.json");
    let text = std::fs::read_to_string(&summary).unwrap();
    let mut spoilt: Value = serde_json::from_str(&text).unwrap();
    spoilt["valid"] = Value::from(false);
    std::fs::write(&summary, spoilt.to_string()).unwrap();
    std::fs::remove_file(summary.with_file_name("SHA256SUMS")).unwrap();
    plan(&place, &words).assert_refused(&["concurrency_8", "--force"]);
    let forced = plan(&place, &[&words[..], &["--force"]].concat());
    assert_eq!(forced.code, Some(0), "{forced:?}");
}

#[test]
fn what_cannot_be_planned_says_why_in_a_line() {
    let place = Place::new();
    let one = place.write(
        "one.md",
        "| 并发数 | QPS | 平均延迟(ms) |\n|---|---|---|\n| 8 | 3.8 | 2100 |\n",
    );
    let nothing = place.write("nothing.md", "no numbers here\n");
    let calibrate = |source: &str, model: &str, device: &str| {
        let words = [
            "calibrate",
            source,
            "--model",
            model,
            "--device",
            device,
            "--input-tokens",
            "40",
            "--output-tokens",
            "240",
        ];
        plan(&place, &words)
    };
    calibrate(&one, "qwen2.5-7b", "a100-80g").assert_refused(&["at least 3"]);
    calibrate(&nothing, "qwen2.5-7b", "a100-80g").assert_refused(&["nothing.md"]);
    calibrate("absent.md", "qwen2.5-7b", "a100-80g").assert_refused(&["absent.md"]);
    calibrate(LADDER, "no-such-model", "a100-80g").assert_refused(&["no-such-model"]);
    calibrate(LADDER, "qwen1.5-7b", "no-such-card").assert_refused(&["no-such-card"]);
    calibrate(LADDER, "qwen1.5-7b", "memory=80GiB").assert_refused(&["bandwidth="]);
    let words = [
        "calibrate",
        LADDER,
        "--model",
        "qwen1.5-7b",
        "--device",
        "a100-80g",
    ];
    plan(&place, &words).assert_refused(&["--input-tokens"]);
    plan(
        &place,
        &["what-if", "--calibration", &one, "--concurrency", "8"],
    )
    .assert_refused(&["plan calibrate"]);
    assert!(
        !place.path("calibration.toml").exists(),
        "nothing is left behind"
    );
}

#[test]
fn memory_is_drawn_as_stacked_bars_of_every_engine_and_card() {
    let place = Place::new();
    let words = [
        "memory",
        "--model",
        "qwen2.5-7b",
        "--device",
        "h100",
        "--device",
        "l20",
        "--engine",
        "vllm,sglang",
        "--lang",
        "zh",
    ];
    for (format, file) in [
        ("svg", "memory.svg"),
        ("png", "memory.png"),
        ("html", "page.html"),
    ] {
        let ended = plan(
            &place,
            &[&words[..], &["--format", format, "-o", file]].concat(),
        );
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let drawn = std::fs::read_to_string(place.path("memory.svg")).unwrap();
    for name in [
        "vllm h100",
        "sglang h100",
        "vllm l20",
        "sglang l20",
        "KV 缓存",
        "权重",
    ] {
        assert!(drawn.contains(name), "{name}");
    }
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("\"shape\":\"stack\""));
}

#[test]
fn a_deployment_is_predicted_without_any_measurement() {
    let place = Place::new();
    let words = "predict --device h100:8 --concurrency 16,32 --input-tokens 1024 --output-tokens 128 --format json -- vllm serve Qwen/Qwen3-32B --tensor-parallel-size 8";
    let words: Vec<&str> = words.split(' ').collect();
    let ended = plan(&place, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answer = json(&ended);
    assert_eq!(answer["schema"], "inferometer.prediction/1");
    let settings = answer["settings"].as_array().unwrap();
    assert_eq!(settings.len(), 2);
    for setting in settings {
        assert_eq!(setting["basis"], "validated", "{setting}");
        assert_eq!(setting["cards"], 8);
        let mean = setting["predicted"]["latency"]["ttft_ms"]["mean"].as_f64();
        let interval = &setting["interval"]["latency"]["ttft_ms"]["mean"];
        assert!(interval[0].as_f64() < mean && mean < interval[1].as_f64());
    }
    let fixed = "predict --concurrency 4 --input-tokens 64 --output-tokens 16 --lang en";
    let with = |rest: &str| {
        let words = format!("{fixed} {rest}");
        plan(&place, &words.split(' ').collect::<Vec<_>>())
    };
    let ended = with("--model qwen2.5-7b --device a100-80g");
    assert!(
        ended
            .stdout
            .contains("nothing of this kind was ever validated"),
        "{ended:?}"
    );
    with("--model qwen2.5-7b --device h200:none").assert_refused(&["h200:8"]);
    with("--model no-such-model --device h200").assert_refused(&["no-such-model"]);
    with("--model qwen2.5-72b --device l20").assert_refused(&["does not start", "GiB"]);
    with("--model qwen2.5-7b --device h200:3").assert_refused(&["28"]);
}

#[test]
fn prompts_on_workers_of_their_own_are_predicted_with_all_their_cards() {
    let place = Place::new();
    let asked = |options: &str| {
        let line = format!(
            "predict --device h200 --concurrency 8 --input-tokens 2000 --output-tokens 64 \
             --format json {options} -- vllm serve llama-3.1-8b"
        );
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        words
    };
    let with = |words: Vec<String>, prefill: &str| {
        let mut words = words;
        words.splice(1..1, ["--prefill".to_owned(), prefill.to_owned()]);
        plan(
            &place,
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    let together = plan(
        &place,
        &asked("").iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let apart = with(asked("--workers 2:1"), "vllm serve llama-3.1-8b -tp 2");
    let (together, apart) = (json(&together), json(&apart));
    let (one, all) = (&together["settings"][0], &apart["settings"][0]);
    assert_eq!(one["cards"], 1);
    assert_eq!(all["cards"], 5);
    let tpot = |setting: &Value| setting["predicted"]["latency"]["tpot_ms"]["mean"].as_f64();
    assert!(tpot(all) < tpot(one), "{all} {one}");
    with(asked(""), "trtllm-serve llama-3.1-8b").assert_refused(&["trtllm", "vllm"]);
    with(asked(""), "vllm serve qwen2.5-7b").assert_refused(&["another model"]);
    with(asked("--workers 2"), "vllm serve llama-3.1-8b").assert_refused(&["2:1"]);
}

#[test]
fn a_table_without_concurrency_and_flags_for_more_cards_are_refused_in_a_line() {
    let place = Place::new();
    let table = include_str!("../../../../fixtures/plan/silicon-sample.csv");
    let table = table.replace("silicon_concurrency=", "streams=");
    std::fs::write(place.path("table.csv"), table).unwrap();
    let ended = plan(&place, &["validate", "table.csv"]);
    ended.assert_refused(&["silicon_concurrency=N"]);
    let words = "predict --device h100:8 --concurrency 8 --input-tokens 100 --output-tokens 10 -- vllm serve qwen3-32b --tensor-parallel-size 4 --data-parallel-size 4";
    let words: Vec<&str> = words.split(' ').collect();
    plan(&place, &words).assert_refused(&["16 cards"]);
}

#[test]
fn a_prediction_is_of_the_command_as_it_was_typed() {
    let place = Place::new();
    let asked = "predict --device h100:8 --concurrency 8 --input-tokens 100 --output-tokens 10";
    let predicted = |options: &str, command: &str| {
        let words = format!("{asked} {options} -- {command}");
        let words: Vec<&str> = words.split_whitespace().collect();
        plan(&place, &words)
    };
    // One card was said, where eight are offered.
    let command = "vllm serve llama-3.1-8b -tp 1";
    let one = json(&predicted("--format json", command));
    assert_eq!(one["settings"][0]["flags"]["tensor-parallel-size"], 1);
    let command = "vllm serve qwen3-32b";
    predicted("", &format!("{command} --tensor-paralel-size 4"))
        .assert_refused(&["--tensor-paralel-size", "tensor-parallel-size"]);
    predicted("--engine sglang", command).assert_refused(&["--engine sglang"]);
    predicted("--model llama-3.1-8b", command).assert_refused(&["--model", "qwen3-32b"]);
    predicted("--model Qwen/Qwen3-32Z", "vllm serve x").assert_refused(&["one of: qwen3-32b"]);
}

#[test]
fn a_prediction_names_its_engine() {
    let place = Place::new();
    let words = "predict --model qwen2.5-7b --engine vllm,sglang --device h200 --concurrency 8 --input-tokens 512 --output-tokens 64 --lang en";
    let asked = |more: &str| {
        let words = format!("{words} {more}");
        plan(&place, &words.split_whitespace().collect::<Vec<_>>())
    };
    let answer = json(&asked("--format json"));
    let engines = answer["settings"].as_array().unwrap().iter();
    let engines: Vec<&str> = engines.map(|it| it["engine"].as_str().unwrap()).collect();
    assert_eq!(engines, ["vllm", "sglang"]);
    let said = asked("").stdout;
    for line in ["engine", "  vllm", "  sglang", "h200 · "] {
        assert!(said.contains(line), "{line}: {said}");
    }
}
