//! `inferometer plan` about arrivals: what is chosen and predicted is what a run of the simulated
//! engine in virtual time finds.

use crate::support::{Ended, Place};
use serde_json::Value;

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn plan(place: &Place, words: &[&str]) -> Ended {
    let words: Vec<&str> = ["plan"].iter().chain(words).copied().collect();
    place.run(&words)
}

/// The summary of a run in virtual time of an engine's command.
fn computed(place: &Place, options: &str, device: &str, command: &str) -> Value {
    let line = format!(
        "run --sim-clock virtual --sim-device {device} {options} --quiet --no-html --format json -- {command}"
    );
    let ended = place.run(&line.split_whitespace().collect::<Vec<_>>());
    json(&ended)
}

/// That both have the same requests at the same times.
fn assert_same(predicted: &Value, run: &Value) {
    for [kind, name, figure] in [
        ["throughput", "requests_per_s", ""],
        ["latency", "ttft_ms", "p99"],
        ["latency", "tpot_ms", "p99"],
        ["latency", "e2e_ms", "mean"],
    ] {
        let of = |all: &Value| {
            let found = &all[kind][name];
            let found = if figure.is_empty() {
                found
            } else {
                &found[figure]
            };
            found.as_f64().unwrap_or_else(|| panic!("{name}: {all}"))
        };
        let ratio = of(predicted) / of(run);
        assert!((ratio - 1.0).abs() < 1e-3, "{name} {figure}: {ratio}");
    }
}

#[test]
fn what_is_chosen_meets_the_objectives_by_the_command_that_verifies_it() {
    let place = Place::new();
    let words = "choose --model llama-3.1-8b --device h20:8@1.2 --device h100@2.5 --input-tokens uniform(256,768) --output-tokens uniform(32,96) --slo ttft.p99=1s --slo tpot.p99=15ms --traffic 30 --top 3 --format json";
    let ended = plan(&place, &words.split(' ').collect::<Vec<_>>());
    let answer = json(&ended);
    assert_eq!(answer["size_by"], "estimate");
    let deployments = answer["deployments"].as_array().unwrap();
    let whole = |it: &&Value| it["workers"].is_null();
    for chosen in deployments.iter().filter(whole) {
        let text = |key: &str| chosen[key].as_str().unwrap();
        let (measure, options) = text("verify").split_at(text("verify").find("--").unwrap());
        let port = match text("engine") {
            "sglang" => 30000,
            _ => 8000,
        };
        assert_eq!(measure, format!("inferometer run http://127.0.0.1:{port} "));
        let options = options.replace('\'', "");
        let run = computed(&place, &options, text("device"), text("command"));
        assert_eq!(run["slo"]["met"], true, "{options}: {run}");
        assert_eq!(run["valid"], true, "{options}: {run}");
        // SGLang's cache finds first words that prompts share by chance, and serves those first.
        if chosen["engine"] == "vllm" {
            assert_same(&chosen["predicted"], &run);
        }
        let replicas = chosen["replicas"].as_f64().unwrap();
        let rate = chosen["point"]["rate"].as_f64().unwrap();
        assert!(rate * replicas >= 30.0, "{chosen}");
        let requests = chosen["predicted"]["requests"]["planned"].as_u64();
        assert!(requests >= Some(459), "{chosen}");
    }
    assert!(deployments.iter().any(|it| whole(&it)), "{answer}");
}

#[test]
fn a_rate_is_predicted_as_a_run_has_it() {
    let place = Place::new();
    let command = "vllm serve qwen3-32b --tensor-parallel-size 4";
    let load = "--rate 8 --requests 200 --input-tokens uniform(1000,3000) --output-tokens 100";
    let predict = format!("predict --device h100 {load} --format json -- {command}");
    let predicted = json(&plan(&place, &predict.split(' ').collect::<Vec<_>>()));
    let predicted = &predicted["settings"][0]["predicted"];
    let run = computed(&place, load, "h100", command);
    assert_same(predicted, &run);
    let window = |of: &Value| of["window_s"].as_f64().unwrap();
    assert!((window(predicted) / window(&run) - 1.0).abs() < 1e-3);
}

#[test]
fn replicas_for_a_traffic_meet_the_objectives_at_their_share_of_it() {
    let place = Place::new();
    let fixed = "predict --model qwen2.5-7b --device h100 --input-tokens 512 --output-tokens 64 --slo tpot.p99=12ms --traffic 60 --format json";
    let asked = |more: &str| {
        let words = format!("{fixed}{more}");
        let answer = json(&plan(&place, &words.split(' ').collect::<Vec<_>>()));
        answer["settings"][0].clone()
    };
    let sized = asked("");
    let rate = sized["point"]["rate"].as_f64().unwrap();
    let replicas = sized["replicas"].as_u64().unwrap();
    assert!(replicas > 1 && rate * replicas as f64 >= 60.0, "{sized}");
    let requests = &sized["predicted"]["requests"]["planned"];
    let offered = asked(&format!(" --rate {rate} --requests {requests}"));
    assert_eq!(offered["replicas"], sized["replicas"]);
    assert_eq!(offered["predicted"], sized["predicted"]);
}

#[test]
fn the_interval_is_named_where_it_is_the_reason_for_more_replicas() {
    let place = Place::new();
    let fixed = "choose --model qwen2.5-7b --engine vllm --device l20@1 --flag max-num-batched-tokens=8192 --input-tokens 512 --output-tokens 64 --slo tpot.p90=2s --slo ttft.p90=200s --traffic 12 --top 2";
    let asked = |more: &str| {
        let words = format!("{fixed} {more}");
        plan(&place, &words.split(' ').collect::<Vec<_>>())
    };
    let first = |more: &str| json(&asked(more))["deployments"][0].clone();
    let estimate = first("--format json");
    let [few, many] = [0, 1].map(|end| estimate["replicas_range"][end].as_u64().unwrap());
    assert_eq!(estimate["replicas"], few);
    assert!(many > few && estimate["certain"] == false, "{estimate}");
    let interval = first("--size-by interval --format json");
    assert!(interval["replicas"].as_u64() >= Some(few), "{interval}");
    assert_eq!(interval["certain"], true, "{interval}");
    for (lang, said) in [("en", "its whole interval"), ("zh", "按整个区间需")] {
        let ended = asked(&format!("--lang {lang}"));
        assert!(
            ended.stdout.contains(&format!("{few} / {many}")),
            "{ended:?}"
        );
        assert!(ended.stdout.contains(said), "{ended:?}");
    }
    asked("--size-by guess").assert_refused(&["estimate or interval"]);
}

#[test]
fn cards_are_named_alike_everywhere_and_each_has_its_price() {
    let place = Place::new();
    let fixed = "predict --model qwen2.5-7b --concurrency 4 --input-tokens 64 --output-tokens 16 --format json --device";
    let asked = |device: &str| {
        let words = format!("{fixed} {device}");
        plan(&place, &words.split(' ').collect::<Vec<_>>())
    };
    let answer = json(&asked(
        "h20:2@2,h100:4@5.5 --device a100-80g --price-per-hour 1",
    ));
    for (setting, (cards, price)) in [(2.0, 2.0), (4.0, 5.5), (1.0, 1.0)].iter().enumerate() {
        let found = &answer["settings"][setting];
        assert_eq!(found["cards"], *cards, "{found}");
        let tokens = &found["predicted"]["throughput"]["output_tokens_per_s"];
        let cost = price * cards / 3600.0 / tokens.as_f64().unwrap() * 1e6;
        let stated = found["cost_per_million_output_tokens"].as_f64().unwrap();
        assert!((stated / cost - 1.0).abs() < 1e-9, "{found}");
    }
    asked("h20:8@free").assert_refused(&["'free'", "h200:8@3.5"]);
    asked("h20:2@2,h20:4@3").assert_refused(&["two prices"]);
}

#[test]
fn cards_that_cannot_share_a_layer_are_refused_with_those_that_can() {
    let place = Place::new();
    let asked = |device: &str, engine: &str| {
        // 40 heads, and 8 of keys and values.
        let words = format!(
            "predict --model qwen2.5-14b --device {device} --engine {engine} --concurrency 4 --input-tokens 64 --output-tokens 16"
        );
        plan(&place, &words.split(' ').collect::<Vec<_>>())
    };
    for engine in ["vllm", "sglang", "trtllm"] {
        asked("h20:5", engine).assert_refused(&["8 KV heads", "1, 2, 4, 8"]);
        asked("h20:3", engine).assert_refused(&["attention heads", "1, 2, 4, 8"]);
    }
    asked("910b3:3", "mindie").assert_refused(&["worldSize 3", "1, 2, 4, 8"]);
}

#[test]
fn the_cheapest_deployment_comes_with_its_commands_and_its_chart() {
    let place = Place::new();
    let words = "choose --model llama-3.1-8b --engine vllm --device h20:2@1.2 --device h100@2.5 --flag max-num-batched-tokens=8192 --input-tokens 512 --output-tokens 64 --slo ttft.p99=4s --slo tpot.p99=60ms --traffic 2 --lang en";
    let asked = |more: &str| {
        let words = format!("{words} {more}");
        plan(&place, &words.split(' ').collect::<Vec<_>>())
    };
    let ended = asked("--top 2 --format json");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answer = json(&ended);
    assert_eq!(answer["schema"], "inferometer.choice/1");
    let first = &answer["deployments"][0];
    assert!(
        first["command"]
            .as_str()
            .unwrap()
            .contains("vllm serve llama-3.1-8b")
    );
    assert!(
        first["verify"]
            .as_str()
            .unwrap()
            .starts_with("inferometer run")
    );
    assert!(first["headroom"].as_f64() >= Some(0.0), "{first}");
    let ended = asked("--top 2");
    assert!(
        ended.stdout.contains("Why the next ones are worse"),
        "{ended:?}"
    );
    assert_eq!(asked("--top 2 --format svg -o chart").code, Some(0));
    assert!(place.path("chart").join("choice-pareto.svg").exists() || place.path("chart").exists());
    let none = plan(
        &place,
        &words.replace("@2.5", "").split(' ').collect::<Vec<_>>(),
    );
    none.assert_refused(&["has no price", "h200:8@3.5"]);
}

#[test]
fn a_prediction_stands_in_for_a_calibration() {
    let place = Place::new();
    let command = "vllm serve llama-3.1-8b";
    let words = |text: &'static str| Vec::from_iter(text.split(' '));
    let options = words(
        "predict --device h200 --concurrency 16 --input-tokens 1000 --output-tokens 200 --save-calibration p.toml --format json --",
    );
    let predicted = plan(&place, &[&options[..], &words(command)].concat());
    assert_eq!(predicted.code, Some(0), "{predicted:?}");
    let predicted = json(&predicted);
    let asked = "what-if --calibration p.toml --concurrency 16 --flag max-num-seqs=8,256 --format";
    let what_if = json(&plan(&place, &[&words(asked)[..], &["json"]].concat()));
    let (own, bare) = (&predicted["settings"][0], &what_if["settings"][1]);
    assert_eq!(own["predicted"], bare["predicted"]);
    assert_eq!(own["interval"], bare["interval"]);
    assert_eq!(bare["inside_envelope"], true, "{bare}");
    let few = &what_if["settings"][0];
    assert_eq!(few["inside_envelope"], true, "flags are obeyed: {few}");
    let said = plan(&place, &[&words(asked)[..], &["text"]].concat()).stdout;
    assert!(said.contains("What the intervals rest on"), "{said}");
    let two = "predict --device h200,h100 --model llama-3.1-8b --concurrency 16 --input-tokens 100 --output-tokens 20 --save-calibration q.toml";
    plan(&place, &words(two)).assert_refused(&["--save-calibration", "one card"]);
}

#[test]
fn costs_energy_and_headroom_have_intervals_that_agree_with_the_replicas() {
    let place = Place::new();
    let asked = |device: &str, engine: &str| {
        let words = format!(
            "choose --model llama-3.1-8b --engine {engine} --device {device} --flag max-num-batched-tokens=8192 --input-tokens 512 --output-tokens 64 --slo ttft.p99=2s --slo tpot.p99=30ms --traffic 60 --top 2 --format json"
        );
        json(&plan(&place, &words.split(' ').collect::<Vec<_>>()))
    };
    let answer = asked("l20@1", "vllm");
    for chosen in answer["deployments"].as_array().unwrap() {
        let number = |value: &Value| {
            value
                .as_f64()
                .unwrap_or_else(|| panic!("{value}: {chosen}"))
        };
        let count = number(&chosen["replicas"]);
        // One server fewer was found not to be enough: headroom does not say that it is.
        let headroom = number(&chosen["headroom"]);
        assert!(headroom >= 0.0, "{chosen}");
        assert!(
            count < 2.0 || headroom < count / (count - 1.0) - 1.0 + 1e-3,
            "{chosen}"
        );
        let [low, high] = [0, 1].map(|end| chosen["headroom_interval"][end].as_f64());
        assert!(high.is_none_or(|high| high >= headroom), "{chosen}");
        assert!(low <= Some(headroom), "{chosen}");
        let is_certain = low.is_some_and(|low| low >= 0.0);
        assert_eq!(chosen["certain"], is_certain, "{chosen}");
        let most = chosen["replicas_range"][1].as_f64();
        for (value, interval) in [
            (
                "cost_per_million_output_tokens",
                "cost_per_million_interval",
            ),
            ("most_joules_per_output_token", "most_joules_interval"),
        ] {
            // The cost at the traffic, not that of the simulated window.
            let value = match value {
                "cost_per_million_output_tokens" => {
                    number(&chosen["cost_per_hour"]) / (60.0 * 64.0 * 3600.0) * 1e6
                }
                value => number(&chosen[value]),
            };
            let least = number(&chosen[interval][0]);
            assert!(least <= value * 1.0001 && least > 0.0, "{chosen}");
            let dearest = most.map(|most| value * most / count);
            let said = chosen[interval][1].as_f64();
            assert_eq!(dearest.is_some(), said.is_some(), "{chosen}");
            if let (Some(dearest), Some(said)) = (dearest, said) {
                assert!((dearest / said - 1.0).abs() < 1e-3, "{chosen}");
            }
        }
        // 275 W of each card.
        let joules = 275.0 * number(&chosen["all_cards"]) / (60.0 * 64.0);
        let said = number(&chosen["most_joules_per_output_token"]);
        assert!((said / joules - 1.0).abs() < 1e-3, "{chosen}");
    }
    let several = |chosen: &Value| chosen["replicas"].as_f64() > Some(1.0);
    assert!(
        answer["deployments"]
            .as_array()
            .unwrap()
            .iter()
            .any(several),
        "{answer}"
    );
    let unknown = asked("910b3@1", "vllm");
    assert!(unknown["deployments"][0]["most_joules_per_output_token"].is_null());
}

#[test]
fn workers_of_two_kinds_come_with_ports_cards_and_a_router() {
    let place = Place::new();
    let words = "choose --model qwen3-32b --engine sglang --device h20:8@1.2 --flag tensor-parallel-size=1 --flag pipeline-parallel-size=1 --flag max-num-batched-tokens=8192 --input-tokens 2000 --output-tokens 300 --slo ttft.p99=5s --slo tpot.p99=60ms --traffic 1.5 --top 2 --format json";
    let answer = json(&plan(&place, &words.split(' ').collect::<Vec<_>>()));
    let deployments = answer["deployments"].as_array().unwrap();
    let apart = deployments.iter().find(|it| !it["workers"].is_null());
    let apart = apart.unwrap_or_else(|| panic!("{answer}"));
    let [x, y] = [0, 1].map(|side| apart["workers"][side].as_u64().unwrap());
    let processes = apart["processes"].as_array().unwrap();
    assert_eq!(processes.len() as u64, x + y + 1, "{apart}");
    let (router, workers) = processes.split_last().unwrap();
    assert_eq!(router["role"], "router");
    let router = router["command"].as_str().unwrap();
    for worker in workers {
        let command = worker["command"].as_str().unwrap();
        let (_, port) = command.split_once("--port ").unwrap();
        let port = port.split(' ').next().unwrap();
        assert!(router.contains(&format!(":{port}")), "{router}: {command}");
        assert!(command.starts_with("CUDA_VISIBLE_DEVICES="), "{command}");
    }
    assert!(router.contains("--port 8000"), "{router}");
    let verify = apart["verify"].as_str().unwrap();
    assert!(verify.contains("http://127.0.0.1:8000 "), "{verify}");
}

#[test]
fn lengths_may_come_from_a_trace_that_the_verifying_command_sends_too() {
    let place = Place::new();
    let line = |number: u32| {
        format!(
            r#"{{"timestamp": {}, "input_length": {}, "output_length": {}, "hash_ids": []}}"#,
            number * 250,
            200 + number * 37 % 900,
            16 + number * 13 % 90
        )
    };
    let lines: Vec<String> = (0..400).map(line).collect();
    std::fs::write(place.path("trace.jsonl"), lines.join("\n")).unwrap();
    let words = "choose --model llama-3.1-8b --engine vllm --device h100@2.5 --flag max-num-batched-tokens=8192 --data trace.jsonl --slo ttft.p99=2s --slo tpot.p99=30ms --top 1 --format json";
    let asked = |more: &str| {
        let words = format!("{words}{more}");
        plan(&place, &words.split(' ').collect::<Vec<_>>())
    };
    let answer = json(&asked(""));
    let chosen = &answer["deployments"][0];
    // Four requests a second, as the trace has them.
    let rate = chosen["point"]["rate"].as_f64().unwrap();
    let replicas = chosen["replicas"].as_f64().unwrap();
    assert!((rate * replicas / 4.0 - 1.0).abs() < 0.02, "{chosen}");
    assert_eq!(chosen["work"]["trace"], true);
    let verify = chosen["verify"].as_str().unwrap();
    assert!(verify.contains("--data trace.jsonl"), "{verify}");
    let options = &verify[verify.find("--").unwrap()..];
    let run = computed(&place, options, "h100", chosen["command"].as_str().unwrap());
    assert_same(&chosen["predicted"], &run);
    asked(" --input-tokens 100").assert_refused(&["--data", "--input-tokens"]);
}

#[test]
fn a_card_is_offered_once() {
    let place = Place::new();
    let asked = |devices: &str| {
        let words = format!(
            "choose --model llama-3.1-8b {devices} --input-tokens 512 --output-tokens 64 --slo ttft=2s --traffic 2"
        );
        plan(&place, &words.split(' ').collect::<Vec<_>>())
    };
    asked("--device h20:4@1.2 --device h20:4@1.5").assert_refused(&["offered twice"]);
    asked("--device h20@1.2,H20@1.2").assert_refused(&["offered twice"]);
}

#[test]
fn mindie_is_started_by_its_file_with_the_model_in_it() {
    let place = Place::new();
    let words = "choose --model qwen2.5-7b --engine mindie --device 910b3@1 --input-tokens 3000 --output-tokens 600 --slo ttft.p90=5s --slo tpot.p90=100ms --traffic 0.5 --top 1 --format json";
    let answer = json(&plan(&place, &words.split(' ').collect::<Vec<_>>()));
    let chosen = &answer["deployments"][0];
    let command = chosen["command"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    for said in [
        "modelName = \"qwen2.5-7b\"",
        "npuDeviceIds",
        "maxSeqLen",
        "maxInputTokenLen",
    ] {
        assert!(command.contains(said), "{said}: {command}");
    }
    let verify = chosen["verify"].as_str().unwrap();
    assert!(verify.contains("http://127.0.0.1:1025 "), "{verify}");
}
