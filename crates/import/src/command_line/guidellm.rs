//! `guidellm benchmark`, and `guidellm run` of today, whose options are `kind=NAME,key=value`.

use super::address::{answers_with_items, api_of, push_api, push_endpoint};
use super::translator::{TranslateError, Translator, normal, seconds};
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) fn translate(translator: &mut Translator) -> Result<(), TranslateError> {
    let backend = fields(&translator.value_or("backend", ""));
    let target = translator
        .value("target")
        .or(backend.get("target").cloned());
    push_endpoint(
        translator,
        target.as_deref().unwrap_or("http://localhost:8000"),
    );
    let kind = translator.value("request-type");
    let kind = kind.map(|kind| match kind.as_str() {
        "chat_completions" => "/v1/chat/completions".to_owned(),
        "text_completions" => "/v1/completions".to_owned(),
        "audio_transcriptions" => "/v1/audio/transcriptions".to_owned(),
        other => format!("/v1/{other}"),
    });
    let path = backend.get("request_format").cloned().or(kind);
    if let Some(path) = &path {
        push_api(translator, path);
    }
    let model = translator.value("model").or(backend.get("model").cloned());
    translator.push_some("model", model);
    let profile = translator.value_or("rate-type|profile", "sweep");
    let mut profile_fields = fields(&profile);
    let kind = profile_fields.remove("kind").unwrap_or(profile);
    let rate = translator.options.list("rate").unwrap_or_else(|| {
        let levels = profile_fields.get("rate").or(profile_fields.get("streams"));
        levels.map(|levels| list(levels)).unwrap_or_default()
    });
    match kind.as_str() {
        "synchronous" => translator.push("concurrency", "1"),
        "throughput" => translator.push("rate", "inf"),
        "concurrent" if !rate.is_empty() => translator.axis("concurrency", &rate),
        "constant" | "poisson" | "async" if !rate.is_empty() => {
            translator.axis("rate", &rate);
            let is_poisson = kind == "poisson";
            translator.push("arrival", if is_poisson { "poisson" } else { "constant" });
        }
        other => {
            translator.lacks(format!("--rate-type {other}: it finds its own rates; give --rate LIST, or use inferometer capacity"));
            translator.push("concurrency", "1");
        }
    }
    let constraints = translator.options.all("constraint");
    let constraints: Vec<_> = constraints.iter().map(|it| fields(it)).collect();
    let limit = |kind: &str, field: &str| {
        let is_kind = |it: &&BTreeMap<String, String>| it.get("kind").is_some_and(|it| it == kind);
        constraints
            .iter()
            .find(is_kind)?
            .get(field)?
            .parse::<f64>()
            .ok()
    };
    let requests = translator.count("max-requests")?.map(|count| count as f64);
    translator.push_some("requests", requests.or(limit("max_requests", "count")));
    let time = translator
        .real("max-seconds")?
        .or(limit("max_duration", "seconds"));
    translator.push_some("duration", time.map(seconds));
    match translator.value("data") {
        Some(data) if data.contains("prompt_tokens") => lengths(translator, &data),
        Some(data) if fields(&data).contains_key("path") => {
            translator.push_some("data", fields(&data).remove("path"));
        }
        Some(path) if path.contains('.') => translator.push("data", path),
        Some(name) => {
            translator.lacks(format!(
                "--data {name}: give a file, or hf://datasets/{name}/FILE"
            ));
            translator.push("data", "FILE");
        }
        None => {}
    }
    // `--tokenizer kind=hf_auto,model=PATH` since 0.8.
    let tokenizer = translator.value("tokenizer").map(|text| {
        let mut named = fields(&text);
        named.remove("model").unwrap_or(text)
    });
    let tokenizer = tokenizer.or(translator.value("processor"));
    translator.push_tokenizer_path(tokenizer);
    translator.copy_count("seed", "random-seed")?;
    if translator.value("warmup|warmup-percent").is_some() {
        translator.lacks(
            "--warmup as a share of the burst: leave out --warmup none --hold none for a window",
        );
    }
    if path.is_some_and(|path| answers_with_items(api_of(&path))) {
        translator.leave_out("output-tokens");
    } else {
        translator.differs("GuideLLM's TPOT counts the first token too; ours does not");
    }
    translator.skip(
        "output-path|output-dir|outputs|output-extras|display-scheduler-stats|disable-console|\
         disable-progress",
    );
    Ok(())
}

/// `kind=constant,rate=10`, or the same as a JSON object; a list keeps its brackets.
fn fields(text: &str) -> BTreeMap<String, String> {
    if let Ok(Value::Object(object)) = serde_json::from_str(text) {
        let plain = |(key, value)| match value {
            Value::String(text) => (key, text),
            other => (key, other.to_string()),
        };
        return object.into_iter().map(plain).collect();
    }
    let mut found: Vec<(String, String)> = Vec::new();
    for part in text.split(',') {
        match (part.split_once('='), found.last_mut()) {
            (Some((key, value)), _) => found.push((key.trim().to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value = format!("{value},{part}"),
            (None, None) => {}
        }
    }
    found.into_iter().collect()
}

/// `[1, 2]`, `1,2` or `1`.
fn list(text: &str) -> Vec<String> {
    let inside = text.trim().trim_matches(['[', ']']);
    let parts = inside.split(',').map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// `prompt_tokens=256,output_tokens=128`, or the same as JSON.
fn lengths(translator: &mut Translator, text: &str) {
    let inside = text.trim_matches(['{', '}', ' ']);
    let value = |name: &str| -> Option<f64> {
        let pairs = inside
            .split(',')
            .filter_map(|pair| pair.split_once(['=', ':']));
        let mut own = pairs.filter(|(key, _)| key.trim().trim_matches('"') == name);
        own.next()?.1.trim().trim_matches('"').parse().ok()
    };
    for (theirs, ours) in [
        ("prompt_tokens", "input-tokens"),
        ("output_tokens", "output-tokens"),
    ] {
        if let Some(mean) = value(theirs) {
            translator.push(ours, normal(mean, value(&format!("{theirs}_stdev"))));
        }
    }
    if value("prompt_tokens_min").is_some() || value("output_tokens_min").is_some() {
        translator.lacks("bounds of lengths: normal(MEAN,DEVIATION) is cut at 1 only");
    }
}
