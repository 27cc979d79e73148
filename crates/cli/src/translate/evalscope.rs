//! `evalscope perf`, of 2024 and of today.

use super::given::{Given, seconds, uniform};
use super::{Draft, TranslateError, url};

const NOT_NEEDED: [&str; 17] = [
    "log-every-n-query",
    "debug",
    "visualizer",
    "wandb-api-key",
    "swanlab-api-key",
    "outputs-dir",
    "no-timestamp",
    "no-test-connection",
    "db-commit-interval",
    "queue-size-multiplier",
    "in-flight-task-multiplier",
    "num-workers",
    "data-source",
    "dataset-offset",
    "parser",
    "enable-progress-tracker",
    "attn-implementation",
];

pub(super) fn translate(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    match given.value(&["url"]) {
        Some(url) => url::of_endpoint(draft, &url),
        None => {
            draft.url = Some("http://127.0.0.1:8877".to_owned());
            draft.push("api", "chat");
        }
    }
    match given.value(&["api"]).as_deref() {
        None | Some("openai") => {}
        Some(other) => draft.lacks(format!(
            "--api {other}: start a server that speaks the OpenAI API"
        )),
    }
    draft.push_some("model", given.value(&["model"]));
    for header in given.all(&["headers"]) {
        draft.header(&header);
    }
    let key = given.value(&["api-key"]);
    draft.key("api-key", key);
    for (theirs, ours) in [
        ("connect-timeout", "connect-timeout"),
        ("read-timeout", "read-timeout"),
        ("total-timeout", "request-timeout"),
    ] {
        if let Some(time) = given.real(&[theirs])? {
            draft.push(ours, seconds(time));
        }
    }
    let streams = given.flag(&["stream"]);
    if given.flag(&["no-stream"]) {
        draft.flag("no-stream");
    } else if !streams {
        draft.differs("answers are streamed; EvalScope of 2024 streamed only with --stream, and its time to first token without it is the latency (--no-stream does so here)");
    }
    load(given, draft)?;
    work(given, draft)?;
    sampling(given, draft)?;
    draft.push_some("label", given.value(&["name"]));
    draft.push_some("seed", given.count(&["seed"])?.map(|seed| seed.to_string()));
    if given.flag(&["sla-auto-tune"]) {
        draft.lacks("--sla-auto-tune: use inferometer capacity with --slo");
        draft.not_needed = given.not_needed(&[
            "sla-variable",
            "sla-params",
            "sla-num-runs",
            "sla-upper-bound",
            "sla-lower-bound",
            "sla-fixed-parallel",
            "sla-number-multiplier",
        ]);
    }
    draft.not_needed.extend(given.not_needed(&NOT_NEEDED));
    draft.differs("EvalScope's percentiles are values at a rank, ours are interpolated");
    Ok(())
}

fn load(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let parallel = given
        .list(&["parallel"])
        .unwrap_or_else(|| vec!["1".to_owned()]);
    let number = given
        .list(&["number", "n"])
        .unwrap_or_else(|| vec!["1000".to_owned()]);
    let rate = given.list(&["rate"]).unwrap_or_default();
    let rate: Vec<String> = rate.into_iter().filter(|rate| rate != "-1").collect();
    let open = given.flag(&["open-loop"]);
    let (axis, levels) = match rate.is_empty() {
        true => ("concurrency", parallel.clone()),
        false => ("rate", rate),
    };
    if axis == "rate" && !open {
        draft.differs("--rate with --parallel: requests beyond the cap wait, and here that wait counts as latency");
        draft.axis("max-concurrency", &parallel);
    }
    draft.axis(axis, &levels);
    requests(draft, axis, &levels, &number);
    if let Some(warmup) = given.real(&["warmup-num"])?.filter(|warmup| *warmup > 0.0) {
        match warmup >= 1.0 {
            true => draft.push("warmup", warmup.to_string()),
            false => draft.lacks("--warmup-num as a share: give --warmup N"),
        }
    }
    if let Some(time) = given.real(&["duration"])? {
        draft.push("duration", seconds(time));
    }
    let rest = given.real(&["sleep-interval"])?;
    if draft.sweep {
        draft.push("rest", seconds(rest.unwrap_or(5.0)));
    }
    Ok(())
}

/// Numbers of requests that go with the levels: one for all, a multiple, or one each.
fn requests(draft: &mut Draft, axis: &str, levels: &[String], number: &[String]) {
    if let [number] = number {
        return draft.push("requests", number.clone());
    }
    if number.len() != levels.len() {
        draft.lacks(format!(
            "--number has {} values for {} levels: give one each",
            number.len(),
            levels.len()
        ));
        return draft.push("requests", number.first().cloned().unwrap_or_default());
    }
    let ratio = |level: &String, number: &String| -> Option<u64> {
        let (level, number) = (level.parse::<u64>().ok()?, number.parse::<u64>().ok()?);
        (level > 0 && number.is_multiple_of(level)).then(|| number / level)
    };
    let ratios: Vec<Option<u64>> = levels
        .iter()
        .zip(number)
        .map(|(a, b)| ratio(a, b))
        .collect();
    match ratios.first() {
        Some(Some(first)) if ratios.iter().all(|other| *other == Some(*first)) => {
            draft.push("requests", format!("{axis}*{first}"));
        }
        _ => {
            draft.axis("requests", number);
            draft.flag("zip");
        }
    }
}

fn work(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let tokenizer = given.value(&["tokenizer-path"]);
    let path = given.value(&["dataset-path"]);
    let name = given
        .value(&["dataset"])
        .unwrap_or_else(|| "openqa".to_owned());
    let (min, max) = (
        given.count(&["min-prompt-length"])?,
        given.count(&["max-prompt-length"])?,
    );
    let limits = given
        .list(&["max-tokens"])
        .unwrap_or_else(|| vec!["2048".to_owned()]);
    let limit = match limits.as_slice() {
        [low, high] => uniform(low.parse().unwrap_or(1.0), high.parse().unwrap_or(2048.0)),
        limits => limits.first().cloned().unwrap_or_default(),
    };
    let prefix = given
        .count(&["prefix-length"])?
        .filter(|length| *length > 0);
    // Lengths are in tokens where EvalScope has a tokenizer, else in characters.
    let unit = if tokenizer.is_some() { "" } else { "chars" };
    match tokenizer {
        Some(path) if path.starts_with(['/', '.']) => draft.push("tokenizer", path),
        Some(name) => draft.lacks(format!(
            "--tokenizer-path {name}: give --tokenizer a local folder or tokenizer.json"
        )),
        None => {}
    }
    if let Some(prompt) = given.value(&["prompt"]) {
        match prompt.strip_prefix('@') {
            Some(file) => {
                draft.lacks(format!(
                    "--prompt @{file}: give its text with --prompt \"$(cat {file})\""
                ));
                draft.push("prompt", "TEXT");
            }
            None => draft.push("prompt", prompt),
        }
        draft.push("max-tokens", limit);
        return Ok(());
    }
    if name.starts_with("random") && !name.contains("vl") {
        let (min, max) = (min.unwrap_or(0), max.unwrap_or(131_072));
        draft.push("input-tokens", uniform(min.max(1) as f64, max as f64));
        draft.push_some("prefix-tokens", prefix.map(|length| length.to_string()));
        draft.push("output-tokens", limit);
        draft.flag("no-ignore-eos");
        if name.contains("multi_turn") {
            let (low, high) = (given.count(&["min-turns"])?, given.count(&["max-turns"])?);
            let low = low.unwrap_or(1);
            draft.push("turns", uniform(low as f64, high.unwrap_or(low) as f64));
            given.flag(&["multi-turn"]);
        }
        return Ok(());
    }
    let (format, hub) = match name.as_str() {
        "openqa" => (
            "openqa",
            Some("ms://datasets/AI-ModelScope/HC3-Chinese/open_qa.jsonl"),
        ),
        "longalpaca" => (
            "instruct",
            Some("ms://datasets/AI-ModelScope/LongAlpaca-12k/LongAlpaca-12k.json"),
        ),
        "line_by_line" => ("line", None),
        "custom" => ("line", None),
        other => {
            draft.lacks(format!(
                "--dataset {other}: convert it to lines of {{\"prompt\": …}} and give --data FILE --data-format custom"
            ));
            ("auto", None)
        }
    };
    match (path, hub) {
        (Some(path), _) => draft.push("data", path),
        (None, Some(hub)) => draft.push("data", hub),
        (None, None) => {
            draft.push("data", "FILE");
            draft.lacks("no data set is named: put its path in place of FILE");
        }
    }
    draft.push("data-format", format);
    draft.push_some(
        "min-prompt",
        min.filter(|length| *length > 0)
            .map(|length| format!("{length}{unit}")),
    );
    draft.push_some("max-prompt", max.map(|length| format!("{length}{unit}")));
    match limits.len() {
        2 => draft.push("output-tokens", limit),
        _ => draft.push("max-tokens", limit),
    }
    Ok(())
}

fn sampling(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    draft.push_some("min-tokens", given.value(&["min-tokens"]));
    match given.value(&["temperature"]) {
        Some(temperature) => draft.push("temperature", temperature),
        None => {
            draft.push("temperature", "0");
            draft.differs("--temperature 0 is what EvalScope sends today; in 2024 it sent none");
        }
    }
    draft.push_some("top-p", given.value(&["top-p"]));
    for stop in given.all(&["stop"]) {
        draft.push("stop", stop);
    }
    for (option, field) in [
        ("top-k", "top_k"),
        ("frequency-penalty", "frequency_penalty"),
        ("repetition-penalty", "repetition_penalty"),
        ("n-choices", "n"),
    ] {
        let value = given.value(&[option]);
        draft.body(field, value);
    }
    if given.flag(&["logprobs"]) {
        draft.body("logprobs", Some("true".to_owned()));
    }
    let more = given.value(&["extra-args"]);
    draft.bodies("extra-args", more);
    if let Some(template) = given.value(&["query-template"]) {
        match serde_json::from_str::<serde_json::Value>(&template) {
            Ok(serde_json::Value::Object(fields)) => {
                for (name, value) in fields {
                    match (name.as_str(), &value) {
                        ("stream", serde_json::Value::Bool(false)) => draft.flag("no-stream"),
                        ("stream" | "model" | "messages" | "prompt", _) => {}
                        _ => drop(draft.extra.insert(name, value)),
                    }
                }
            }
            _ => draft.lacks("--query-template: give the further fields of the body with --extra"),
        }
    }
    Ok(())
}
