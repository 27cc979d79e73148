//! `vllm bench serve`, and `benchmark_serving.py` of 2023 and 2024.

use super::given::{Given, uniform};
use super::{Draft, TranslateError, url};

/// Options about output and progress: every run is kept with all its records.
const NOT_NEEDED: [&str; 25] = [
    "backend",
    "endpoint-type",
    "trust-remote-code",
    "disable-tqdm",
    "save-result",
    "save-detailed",
    "append-result",
    "result-dir",
    "result-filename",
    "metadata",
    "percentile-metrics",
    "metric-percentiles",
    "ready-check-timeout-sec",
    "tokenizer-mode",
    "skip-tokenizer-init",
    "skip-chat-template",
    "no-reranker",
    "plot-timeline",
    "plot-dataset-stats",
    "version",
    "best-of",
    "request-id-prefix",
    // How it loads a data set, not how answers come.
    "no-stream",
    "no-oversample",
    "timeline-itl-thresholds",
];

pub(super) fn translate(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let backend = given
        .value(&["backend", "endpoint-type"])
        .unwrap_or_else(|| "openai".into());
    url::of_host(given, draft, 8000);
    match given.value(&["endpoint"]) {
        Some(path) => url::api_of_path(draft, &path),
        None if backend.contains("chat") => draft.push("api", "chat"),
        None => draft.push("api", "completions"),
    }
    if given.flag(&["insecure"]) {
        draft.flag("insecure");
    }
    let model = given.value(&["model"]);
    let served = given.value(&["served-model-name"]);
    draft.push_some("model", served.or(model));
    for header in given.all(&["header"]) {
        draft.header(&header);
    }
    work(given, draft)?;
    load(given, draft)?;
    sampling(given, draft)?;
    objectives(given, draft);
    draft.push_some("label", given.value(&["label"]));
    draft.push("seed", given.count(&["seed"])?.unwrap_or(0).to_string());
    if given.flag(&["profile"]) {
        draft.lacks("--profile: start the engine's profiler yourself (/start_profile)");
    }
    draft.not_needed = given.not_needed(&NOT_NEEDED);
    Ok(())
}

fn work(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let path = given.value(&["dataset-path", "dataset"]);
    // Before there were names, --dataset was a ShareGPT file.
    let name = given
        .value(&["dataset-name"])
        .unwrap_or_else(|| match &path {
            Some(_) => "sharegpt".to_owned(),
            None => "random".to_owned(),
        });
    let output = given.count(&["output-len"])?;
    let input = given.count(&["input-len"])?;
    let ignore_eos = given.flag(&["ignore-eos"]);
    if given.flag(&["disable-shuffle"]) {
        draft.lacks("--disable-shuffle: leave out --shuffle below");
    }
    let tokenizer = given.value(&["tokenizer"]);
    match tokenizer {
        Some(path) if path.starts_with(['/', '.']) => draft.push("tokenizer", path),
        Some(name) => draft.lacks(format!(
            "--tokenizer {name}: give --tokenizer a local folder or tokenizer.json for exact lengths"
        )),
        None => {}
    }
    match name.as_str() {
        "random" => {
            let input = given
                .count(&["random-input-len"])?
                .or(input)
                .unwrap_or(1024);
            let output = given
                .count(&["random-output-len"])?
                .or(output)
                .unwrap_or(128);
            let prefix = given.count(&["random-prefix-len"])?.unwrap_or(0);
            let [input_ratio, output_ratio] = range_ratios(given)?;
            let drawn = |length: u64, fixed: u64, ratio: f64| {
                let length = length as f64;
                let fixed = fixed as f64;
                uniform(
                    fixed + length * (1.0 - ratio),
                    fixed + length * (1.0 + ratio),
                )
            };
            draft.push("input-tokens", drawn(input, prefix, input_ratio));
            draft.push("output-tokens", drawn(output, 0, output_ratio));
            if prefix > 0 {
                draft.push("prefix-tokens", prefix.to_string());
            }
            draft.differs("prompts are new in each run; vLLM sends the same ones again with the same seed, which a prefix cache then knows (--no-cache-nonce does so here)");
        }
        "sharegpt" => {
            data(draft, path, "sharegpt");
            draft.push("filter", "vllm");
            draft.flag("shuffle");
            let output = given.count(&["sharegpt-output-len"])?.or(output);
            draft.push_some("output-tokens", output.map(|n| n.to_string()));
            draft.differs("rows are drawn by our own seed, so they are others than vLLM's");
        }
        "custom" => {
            data(draft, path, "custom");
            draft.flag("shuffle");
            let output = given
                .count(&["custom-output-len"])?
                .or(output)
                .unwrap_or(256);
            draft.push("output-tokens", output.to_string());
        }
        "burstgpt" => {
            data(draft, path, "burstgpt");
            draft.differs("of the trace only the lengths are used, as vLLM does");
        }
        "prefix_repetition" => {
            let prefix = given
                .count(&["prefix-repetition-prefix-len"])?
                .unwrap_or(256);
            let suffix = given
                .count(&["prefix-repetition-suffix-len"])?
                .unwrap_or(256);
            let groups = given
                .count(&["prefix-repetition-num-prefixes"])?
                .unwrap_or(10);
            let output = given
                .count(&["prefix-repetition-output-len"])?
                .or(output)
                .unwrap_or(128);
            draft.push("input-tokens", (prefix + suffix).to_string());
            draft.push("prefix-tokens", prefix.to_string());
            draft.push("prefix-groups", groups.to_string());
            draft.push("output-tokens", output.to_string());
        }
        other => {
            draft.lacks(format!(
                "--dataset-name {other}: convert it to lines of {{\"prompt\": …}} and give --data FILE --data-format custom"
            ));
            if let Some(path) = path {
                draft.push("data", path);
            }
        }
    }
    let synthetic = matches!(name.as_str(), "random" | "prefix_repetition");
    match (ignore_eos, synthetic) {
        (true, false) => draft.flag("ignore-eos"),
        (false, true) => draft.flag("no-ignore-eos"),
        _ => {}
    }
    Ok(())
}

/// `0.3`, or `{"input": 0.3, "output": 0.5}`: how far input and output are drawn around theirs.
fn range_ratios(given: &mut Given) -> Result<[f64; 2], TranslateError> {
    const NAME: &[&str] = &["random-range-ratio"];
    let Some(text) = given.value(NAME) else {
        return Ok([0.0; 2]);
    };
    let both = serde_json::from_str::<serde_json::Value>(&text);
    let of = |key| both.as_ref().ok()?.get(key)?.as_f64();
    match (of("input"), of("output")) {
        (Some(input), Some(output)) => Ok([input, output]),
        _ => Ok([given.real(NAME)?.unwrap_or(0.0); 2]),
    }
}

pub(super) fn data(draft: &mut Draft, path: Option<String>, format: &str) {
    match path {
        Some(path) => draft.push("data", path),
        None => {
            draft.push("data", "FILE");
            draft.lacks(format!(
                "no data set is named: put its path in place of FILE ({format})"
            ));
        }
    }
    draft.push("data-format", format);
}

fn load(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let rate = given.real(&["request-rate"])?.unwrap_or(f64::INFINITY);
    let cap = given.count(&["max-concurrency"])?;
    let burstiness = given.real(&["burstiness"])?.filter(|shape| *shape != 1.0);
    let ramp = given.value(&["ramp-up-strategy"]);
    let from = given.real(&["ramp-up-start-rps"])?;
    let to = given.real(&["ramp-up-end-rps"])?;
    draft.push(
        "requests",
        given.count(&["num-prompts"])?.unwrap_or(1000).to_string(),
    );
    match (ramp, to) {
        (Some(curve), Some(to)) => {
            draft.push("rate", to.to_string());
            draft.push("ramp", curve);
            draft.push_some("ramp-from", from.map(|rate| rate.to_string()));
            draft.differs("vLLM lets the rate rise over the whole run; here over --ramp-over (30s unless given)");
            draft.push_some("max-concurrency", cap.map(|cap| cap.to_string()));
        }
        _ => closed_or_open(draft, rate, cap, "vLLM"),
    }
    if let Some(shape) = burstiness {
        draft.push("arrival", "gamma");
        draft.push("burstiness", shape.to_string());
    }
    match given.count(&["num-warmups"])? {
        Some(warmup) if warmup > 0 => draft.push("warmup", warmup.to_string()),
        _ => draft.push("warmup", "1"),
    }
    Ok(())
}

/// A cap without a rate is a closed loop; a rate is an open one.
pub(super) fn closed_or_open(draft: &mut Draft, rate: f64, cap: Option<u64>, tool: &str) {
    match (rate.is_infinite(), cap) {
        (true, Some(cap)) => {
            draft.push("concurrency", cap.to_string());
            draft.push("stagger", "none");
            draft.differs("--max-concurrency with an infinite rate is a closed loop of so many streams; all start at once, as there (leave out --stagger none for a smoother start)");
        }
        (true, None) => {
            draft.push("rate", "inf");
            draft.differs("an infinite rate sends everything at once: time to first token is mostly the wait in the server's queue");
        }
        (false, cap) => {
            draft.push("rate", rate.to_string());
            if let Some(cap) = cap {
                draft.push("max-concurrency", cap.to_string());
                draft.differs(format!("{tool}'s clock starts behind the cap; ours starts when the request was due, so that the wait is seen"));
            }
        }
    }
}

fn sampling(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    match given.value(&["temperature"]) {
        Some(temperature) => draft.push("temperature", temperature),
        None => draft.differs("without --temperature the server's own holds, as with vllm bench serve since v0.15; it sent 0 before, and so did benchmark_serving.py (add --temperature 0)"),
    }
    draft.push_some("top-p", given.value(&["top-p"]));
    for (option, field) in [
        ("top-k", "top_k"),
        ("min-p", "min_p"),
        ("frequency-penalty", "frequency_penalty"),
        ("presence-penalty", "presence_penalty"),
        ("repetition-penalty", "repetition_penalty"),
        ("logprobs", "logprobs"),
    ] {
        let value = given.value(&[option]);
        draft.body(field, value);
    }
    if given.flag(&["use-beam-search"]) {
        draft.lacks("--use-beam-search: today's servers do not offer it in this API");
    }
    let template = given.value(&["chat-template-kwargs"]);
    draft.body("chat_template_kwargs", template);
    let body = given.value(&["extra-body"]);
    draft.bodies("extra-body", body);
    Ok(())
}

/// `--goodput ttft:200 tpot:50`.
fn objectives(given: &mut Given, draft: &mut Draft) {
    for goal in given.all(&["goodput"]) {
        match goal.split_once(':') {
            Some((name, ms)) if ms.parse::<f64>().is_ok() => {
                let name = if name == "e2el" { "e2e" } else { name };
                draft.push("slo", format!("{name}={ms}ms"));
            }
            _ => draft.lacks(format!("--goodput {goal}: write --slo ttft=200ms")),
        }
    }
}
