//! `guidellm benchmark`, and `guidellm run` of today, whose options are `kind=NAME,key=value`.

use super::given::{Given, seconds};
use super::{Draft, TranslateError, url};
use serde_json::Value;
use std::collections::BTreeMap;

const NOT_NEEDED: [&str; 7] = [
    "output-path",
    "output-dir",
    "outputs",
    "output-extras",
    "display-scheduler-stats",
    "disable-console",
    "disable-progress",
];

pub(super) fn translate(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let backend = fields(&given.value(&["backend"]).unwrap_or_default());
    let target = given.value(&["target"]).or(backend.get("target").cloned());
    let target = target.unwrap_or_else(|| "http://localhost:8000".to_owned());
    url::of_endpoint(draft, &target);
    if let Some(path) = backend.get("request_format") {
        url::api_of_path(draft, path);
    }
    let model = given.value(&["model"]).or(backend.get("model").cloned());
    draft.push_some("model", model);
    let profile = given
        .value(&["rate-type", "profile"])
        .unwrap_or_else(|| "sweep".to_owned());
    let mut profile_fields = fields(&profile);
    let kind = profile_fields.remove("kind").unwrap_or(profile);
    let rate = given.list(&["rate"]).unwrap_or_else(|| {
        let levels = profile_fields.get("rate").or(profile_fields.get("streams"));
        levels.map(|levels| list(levels)).unwrap_or_default()
    });
    match kind.as_str() {
        "synchronous" => draft.push("concurrency", "1"),
        "throughput" => draft.push("rate", "inf"),
        "concurrent" if !rate.is_empty() => draft.axis("concurrency", &rate),
        "constant" | "poisson" | "async" if !rate.is_empty() => {
            draft.axis("rate", &rate);
            draft.push(
                "arrival",
                if kind == "poisson" {
                    "poisson"
                } else {
                    "constant"
                },
            );
        }
        other => {
            draft.lacks(format!("--rate-type {other}: it finds its own rates; give --rate LIST, or use inferometer capacity"));
            draft.push("concurrency", "1");
        }
    }
    let constraints: Vec<BTreeMap<String, String>> = (given.all(&["constraint"]).iter())
        .map(|constraint| fields(constraint))
        .collect();
    let limit = |kind: &str, field: &str| {
        let own = constraints
            .iter()
            .find(|it| it.get("kind").is_some_and(|it| it == kind));
        own.and_then(|it| it.get(field)?.parse::<f64>().ok())
    };
    let requests = given.count(&["max-requests"])?.map(|count| count as f64);
    let requests = requests.or(limit("max_requests", "count"));
    draft.push_some("requests", requests.map(|count| count.to_string()));
    if let Some(time) = given
        .real(&["max-seconds"])?
        .or(limit("max_duration", "seconds"))
    {
        draft.push("duration", seconds(time));
    }
    match given.value(&["data"]) {
        Some(data) if data.contains("prompt_tokens") => lengths(draft, &data),
        Some(data) if fields(&data).contains_key("path") => {
            draft.push_some("data", fields(&data).remove("path"));
        }
        Some(path) if path.contains('.') => draft.push("data", path),
        Some(name) => {
            draft.lacks(format!(
                "--data {name}: give a file, or hf://datasets/{name}/FILE"
            ));
            draft.push("data", "FILE");
        }
        None => {}
    }
    if let Some(path) = given
        .value(&["processor"])
        .filter(|path| path.starts_with(['/', '.']))
    {
        draft.push("tokenizer", path);
    }
    draft.push_some(
        "seed",
        given.count(&["random-seed"])?.map(|seed| seed.to_string()),
    );
    if given.value(&["warmup", "warmup-percent"]).is_some() {
        draft.lacks("--warmup as a share: give --warmup N or a time");
    }
    draft.differs("GuideLLM's TPOT counts the first token too; ours does not");
    draft.not_needed = given.not_needed(&NOT_NEEDED);
    Ok(())
}

/// `kind=constant,rate=10`, or the same as a JSON object; a list keeps its brackets.
fn fields(text: &str) -> BTreeMap<String, String> {
    if let Ok(Value::Object(object)) = serde_json::from_str(text) {
        let plain = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        return object
            .into_iter()
            .map(|(key, value)| (key, plain(value)))
            .collect();
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
fn lengths(draft: &mut Draft, text: &str) {
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
        let Some(mean) = value(theirs) else { continue };
        draft.push(
            ours,
            match value(&format!("{theirs}_stdev")).filter(|deviation| *deviation > 0.0) {
                Some(deviation) => format!("normal({mean},{deviation})"),
                None => mean.to_string(),
            },
        );
    }
    if value("prompt_tokens_min").is_some() || value("output_tokens_min").is_some() {
        draft.lacks("bounds of lengths: normal(MEAN,DEVIATION) is cut at 1 only");
    }
}
