//! `python -m sglang.bench_serving`.

use super::given::{Given, uniform};
use super::vllm::{closed_or_open, data};
use super::{Draft, TranslateError, url};

const NOT_NEEDED: [&str; 9] = [
    "backend",
    "output-file",
    "output-details",
    "disable-tqdm",
    "return-routed-experts",
    "tokenize-prompt",
    "tag",
    "ready-check-timeout-sec",
    "plot-throughput",
];

pub(super) fn translate(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let backend = given
        .value(&["backend"])
        .unwrap_or_else(|| "sglang".to_owned());
    let port = match backend.as_str() {
        "vllm" | "vllm-chat" | "trt" | "gserver" | "truss" => 8000,
        "lmdeploy" | "lmdeploy-chat" => 23333,
        _ => 30000,
    };
    url::of_host(given, draft, port);
    match backend.contains("chat") || given.flag(&["apply-chat-template"]) {
        true => draft.push("api", "chat"),
        false => draft.push("api", "completions"),
    }
    if backend == "sglang" || backend == "sglang-native" {
        draft
            .differs("the backend 'sglang' speaks /generate; the same is asked of /v1/completions");
    }
    if given.flag(&["disable-stream"]) {
        draft.flag("no-stream");
    }
    let model = given.value(&["model"]);
    draft.push_some("model", given.value(&["served-model-name"]).or(model));
    for header in given.all(&["header"]) {
        draft.header(&header);
    }
    work(given, draft)?;
    let rate = given.real(&["request-rate"])?.unwrap_or(f64::INFINITY);
    let cap = given.count(&["max-concurrency"])?;
    closed_or_open(draft, rate, cap, "SGLang");
    draft.push(
        "warmup",
        given
            .count(&["warmup-requests"])?
            .filter(|n| *n > 0)
            .unwrap_or(1)
            .to_string(),
    );
    let body = given.value(&["extra-request-body"]);
    draft.bodies("extra-request-body", body);
    let temperature = given.value(&["temperature"]);
    draft.push("temperature", temperature.unwrap_or_else(|| "0".to_owned()));
    draft.push_some("top-p", given.value(&["top-p"]));
    draft.push("seed", given.count(&["seed"])?.unwrap_or(42).to_string());
    if given.flag(&["flush-cache"]) {
        draft
            .lacks("--flush-cache: prompts are new in each run, so that there is nothing to flush");
    }
    if given.flag(&["profile"]) {
        draft.lacks("--profile: start the engine's profiler yourself (/start_profile)");
    }
    draft.differs("where the server sends no usage, SGLang counts the length it asked for; here such a count is absent");
    draft.not_needed = given.not_needed(&NOT_NEEDED);
    Ok(())
}

fn work(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let name = given
        .value(&["dataset-name"])
        .unwrap_or_else(|| "sharegpt".to_owned());
    let path = given
        .value(&["dataset-path"])
        .filter(|path| !path.is_empty());
    let requests = given.count(&["num-prompts"])?.unwrap_or(1000);
    let ends = given.flag(&["disable-ignore-eos"]);
    if let Some(tokenizer) = given.value(&["tokenizer"]) {
        match tokenizer.starts_with(['/', '.']) {
            true => draft.push("tokenizer", tokenizer),
            false => draft.lacks(format!(
                "--tokenizer {tokenizer}: give --tokenizer a local folder or tokenizer.json for exact lengths"
            )),
        }
    }
    match name.as_str() {
        "sharegpt" => {
            data(draft, path, "sharegpt");
            draft.flag("shuffle");
            let output = given.count(&["sharegpt-output-len"])?;
            draft.push_some("output-tokens", output.map(|length| length.to_string()));
            draft.push("requests", requests.to_string());
            if !ends {
                draft.flag("ignore-eos");
            }
        }
        "random" | "random-ids" => {
            let input = given
                .count(&["random-input-len", "random-input"])?
                .unwrap_or(1024) as f64;
            let output = given
                .count(&["random-output-len", "random-output"])?
                .unwrap_or(1024) as f64;
            let ratio = given.real(&["random-range-ratio"])?.unwrap_or(0.0);
            draft.push("input-tokens", uniform((input * ratio).max(1.0), input));
            draft.push("output-tokens", uniform((output * ratio).max(1.0), output));
            draft.push("requests", requests.to_string());
            if ratio < 1.0 {
                draft.differs(format!("--random-range-ratio {ratio} of SGLang draws lengths from {ratio} times the given length up to it; vLLM's option of that name does not"));
            }
            if path.is_some() {
                draft.differs("SGLang takes random prompts out of ShareGPT's text; ours are made of common words");
            }
            if ends {
                draft.flag("no-ignore-eos");
            }
        }
        "generated-shared-prefix" => {
            let groups = given.count(&["gsp-num-groups"])?.unwrap_or(64);
            let each = given.count(&["gsp-prompts-per-group"])?.unwrap_or(16);
            let prefix = given.count(&["gsp-system-prompt-len"])?.unwrap_or(2048);
            let question = given.count(&["gsp-question-len"])?.unwrap_or(128);
            let output = given.count(&["gsp-output-len"])?.unwrap_or(256);
            draft.push("input-tokens", prefix.saturating_add(question).to_string());
            draft.push("prefix-tokens", prefix.to_string());
            draft.push("prefix-groups", groups.to_string());
            draft.push("output-tokens", output.to_string());
            draft.push("requests", groups.saturating_mul(each).to_string());
            if ends {
                draft.flag("no-ignore-eos");
            }
        }
        "mooncake" => {
            data(draft, path, "mooncake");
            draft.push("requests", requests.to_string());
        }
        other => {
            draft.lacks(format!(
                "--dataset-name {other}: convert it to lines of {{\"prompt\": …}} and give --data FILE --data-format custom"
            ));
            draft.push("requests", requests.to_string());
        }
    }
    Ok(())
}
