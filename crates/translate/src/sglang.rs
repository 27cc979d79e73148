//! `python -m sglang.bench_serving`.

use super::address::push_host;
use super::translator::{TranslateError, Translator, uniform};

pub(super) fn translate(translator: &mut Translator) -> Result<(), TranslateError> {
    let backend = translator.value_or("backend", "sglang");
    let port = match backend.as_str() {
        "vllm" | "vllm-chat" | "trt" | "gserver" | "truss" => 8000,
        "lmdeploy" | "lmdeploy-chat" => 23333,
        _ => 30000,
    };
    push_host(translator, port);
    let is_chat = backend.contains("chat") || translator.flag("apply-chat-template");
    translator.push("api", if is_chat { "chat" } else { "completions" });
    if backend == "sglang" || backend == "sglang-native" {
        translator.differs(
            "the backend 'sglang' speaks /generate; here the same requests go to /v1/completions",
        );
    }
    if translator.flag("disable-stream") {
        translator.switch("no-stream");
    }
    let model = translator.value("model");
    let model = translator.value("served-model-name").or(model);
    // Adapters are drawn evenly, as models of a mix are here.
    let adapters = translator.options.list("lora-name").unwrap_or_default();
    let model = match adapters.as_slice() {
        [] => model,
        adapters => Some(adapters.join(",")),
    };
    translator.push_some("model", model);
    translator.copy_headers("header");
    work(translator)?;
    let rate = translator.real("request-rate")?.unwrap_or(f64::INFINITY);
    let cap = translator.count("max-concurrency")?;
    translator.push_load(rate, cap, "SGLang");
    translator.sends_first("warmup-requests")?;
    translator.copy_body("extra-request-body");
    let temperature = translator.value_or("temperature", "0");
    translator.push("temperature", temperature);
    translator.copy("top-p", "top-p");
    let seed = translator.count("seed")?;
    translator.push("seed", seed.unwrap_or(42));
    if translator.flag("flush-cache") {
        translator
            .lacks("--flush-cache: prompts are new in each run, so that there is nothing to flush");
    }
    if translator.flag("profile") {
        translator.lacks("--profile: start the engine's profiler yourself (/start_profile)");
    }
    translator.differs("where the server sends no usage, SGLang counts the length it asked for; here such a count is absent");
    translator.skip(
        "backend|output-file|output-details|disable-tqdm|return-routed-experts|tokenize-prompt|\
         tag|ready-check-timeout-sec|plot-throughput",
    );
    Ok(())
}

fn work(translator: &mut Translator) -> Result<(), TranslateError> {
    let name = translator.value_or("dataset-name", "sharegpt");
    let path = translator
        .value("dataset-path")
        .filter(|path| !path.is_empty());
    let requests = translator.count_or("num-prompts", 1000)?;
    let stops_at_eos = translator.flag("disable-ignore-eos");
    translator.copy_tokenizer("tokenizer");
    match name.as_str() {
        "sharegpt" => {
            translator.push_data(path, "sharegpt");
            translator.switch("shuffle");
            translator.copy_count("output-tokens", "sharegpt-output-len")?;
            translator.push("requests", requests);
            translator.differs("SGLang sends each conversation once, and fewer requests where the file has fewer; here they begin again (lower --requests to their number)");
            if !stops_at_eos {
                translator.switch("ignore-eos");
            }
        }
        "random" | "random-ids" => {
            let input = translator.count("random-input-len|random-input")?;
            let output = translator.count("random-output-len|random-output")?;
            let ratio = translator.real("random-range-ratio")?.unwrap_or(0.0);
            for (name, length) in [("input-tokens", input), ("output-tokens", output)] {
                let length = length.unwrap_or(1024) as f64;
                translator.push(name, uniform((length * ratio).max(1.0), length));
            }
            translator.push("requests", requests);
            if ratio < 1.0 {
                translator.differs(format!("--random-range-ratio {ratio} of SGLang draws lengths from {ratio} times the given length up to it; vLLM's option of that name does not"));
            }
            if path.is_some() {
                translator.differs("SGLang takes random prompts out of ShareGPT's text; ours are made of common words");
            }
            if stops_at_eos {
                translator.switch("no-ignore-eos");
            }
        }
        "generated-shared-prefix" => {
            let groups = translator.count_or("gsp-num-groups", 64)?;
            let each = translator.count_or("gsp-prompts-per-group", 16)?;
            let prefix = translator.count_or("gsp-system-prompt-len", 2048)?;
            let question = translator.count_or("gsp-question-len", 128)?;
            let output = translator.count_or("gsp-output-len", 256)?;
            translator.push("input-tokens", prefix.saturating_add(question));
            translator.push("prefix-tokens", prefix);
            translator.push("prefix-groups", groups);
            translator.push("output-tokens", output);
            let turns = translator.count_or("gsp-num-turns", 1)?;
            translator.push_some("turns", (turns > 1).then_some(turns));
            translator.push(
                "requests",
                groups.saturating_mul(each).saturating_mul(turns.max(1)),
            );
            if stops_at_eos {
                translator.switch("no-ignore-eos");
            }
        }
        "mooncake" => {
            translator.push_data(path, "mooncake");
            translator.push("requests", requests);
        }
        other => {
            translator.lacks_dataset("dataset-name", other);
            translator.push("requests", requests);
        }
    }
    Ok(())
}
