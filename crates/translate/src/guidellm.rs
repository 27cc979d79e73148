//! `guidellm benchmark`, and `guidellm run` of today, whose options are `kind=NAME,key=value`.

use super::address::{answers_with_items, api_of, push_api, push_endpoint};
use super::media;
use super::translator::{TranslateError, Translator, normal, seconds};
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) fn translate(translator: &mut Translator) -> Result<(), TranslateError> {
    let mut backend = fields(&translator.value_or("backend", ""));
    let target = translator.value("target").or(backend.remove("target"));
    push_endpoint(
        translator,
        target.as_deref().unwrap_or("http://localhost:8000"),
    );
    let kind = translator.value("request-type|request-format");
    let kind = kind.map(|kind| match kind.as_str() {
        "chat_completions" => "/v1/chat/completions".to_owned(),
        "text_completions" => "/v1/completions".to_owned(),
        "audio_transcriptions" => "/v1/audio/transcriptions".to_owned(),
        "audio_translations" => "/v1/audio/translations".to_owned(),
        other => format!("/v1/{other}"),
    });
    let path = backend.remove("request_format").or(kind);
    if let Some(path) = &path {
        push_api(translator, path);
    }
    let model = translator.value("model").or(backend.remove("model"));
    translator.push_some("model", model);
    push_backend(translator, backend);
    let streams = push_load(translator)?;
    push_limits(translator)?;
    push_data(translator);
    // `--tokenizer kind=hf_auto,model=PATH` since 0.8.
    let tokenizer = translator.value("tokenizer").map(|text| {
        let mut named = fields(&text);
        named.remove("model").unwrap_or(text)
    });
    let tokenizer = tokenizer.or(translator.value("processor"));
    translator.push_tokenizer(tokenizer, "tokenizer");
    // `--seed kind=static,seed=9` since 0.8.
    let seed = translator.value("random-seed|seed").map(|text| {
        let mut named = fields(&text);
        named.remove("seed").unwrap_or(text)
    });
    translator.push_some("seed", seed.filter(|seed| seed.parse::<u64>().is_ok()));
    objectives(translator);
    if translator.value("warmup|warmup-percent").is_some() {
        translator.lacks(
            "--warmup as a share of the burst: leave out --warmup none --hold none for a window",
        );
    }
    if path.is_some_and(|path| answers_with_items(api_of(&path))) {
        translator.leave_out("output-tokens");
    } else if streams {
        translator.differs("GuideLLM's TPOT counts the first token too; ours does not");
    }
    translator.skip(
        "output|output-path|output-dir|outputs|output-extras|display-scheduler-stats|\
         disable-console|disable-progress",
    );
    Ok(())
}

type Fields = BTreeMap<String, String>;

/// What is left of an option's fields has no counterpart, but for those that are not needed.
fn tell_left(translator: &mut Translator, option: &str, mut left: Fields, not_needed: &str) {
    left.retain(|name, value| {
        let is_set = !matches!(value.as_str(), "" | "null" | "None");
        is_set && not_needed.split('|').all(|known| known != name)
    });
    for (name, value) in left {
        translator.lacks(format!("the field {name}={value} of --{option}"));
    }
}

fn is_false(value: &str) -> bool {
    value.eq_ignore_ascii_case("false")
}

fn push_backend(translator: &mut Translator, mut backend: Fields) {
    if backend.remove("stream").is_some_and(|it| is_false(&it)) {
        translator.switch("no-stream");
    }
    if backend.remove("verify").is_some_and(|it| is_false(&it)) {
        translator.switch("insecure");
    }
    if backend.remove("api_key").is_some() {
        translator.differs("--backend api_key: set the key as OPENAI_API_KEY in the environment; it is not repeated here");
    }
    translator.push_some("max-tokens", backend.remove("max_tokens"));
    let timeout = backend.remove("timeout").and_then(|it| it.parse().ok());
    translator.push_some("request-timeout", timeout.map(seconds));
    if let Some(body) = backend.remove("extras")
        && let Ok(Value::Object(extras)) = serde_json::from_str(&body)
    {
        match extras.get("body") {
            Some(body) => translator.body("backend extras", &body.to_string()),
            None => translator.body("backend extras", &body),
        }
    }
    let not_needed = "kind|http2|follow_redirects|validate_backend|timeout_connect";
    tell_left(translator, "backend", backend, not_needed);
}

/// The load; whether there is one that was understood.
fn push_load(translator: &mut Translator) -> Result<bool, TranslateError> {
    let profile = translator.value_or("rate-type|profile", "sweep");
    let mut profile_fields = fields(&profile);
    let kind = profile_fields.remove("kind").unwrap_or(profile);
    let given = translator.options.all("rate");
    let mut levels: Vec<String> = given.iter().flat_map(|level| list(level)).collect();
    for name in ["rate", "streams"] {
        if let Some(own) = profile_fields.remove(name)
            && levels.is_empty()
        {
            levels = list(&own);
        }
    }
    // `--override profile.streams 1,2,4`: a run for each.
    let mut overridden = translator.options.all("override").into_iter();
    while let Some(path) = overridden.next() {
        match (path.as_str(), overridden.next()) {
            ("profile.rate" | "profile.streams", Some(values)) => levels = list(&values),
            (path, values) => {
                let values = values.unwrap_or_default();
                translator.lacks(format!("--override {path} {values}"));
            }
        }
    }
    let cap = profile_fields.remove("max_concurrency");
    let cap: Option<u64> = cap.and_then(|cap| cap.parse().ok());
    let mut is_known = true;
    match kind.as_str() {
        "synchronous" => translator.push("concurrency", "1"),
        "throughput" => {
            // What is given as its rate is the number of streams.
            let streams = levels.first().and_then(|it| it.parse().ok());
            translator.push_load(f64::INFINITY, cap.or(streams), "GuideLLM");
        }
        "concurrent" if !levels.is_empty() => translator.axis("concurrency", &levels),
        "constant" | "poisson" | "async" if !levels.is_empty() => {
            translator.axis("rate", &levels);
            let is_poisson = kind == "poisson";
            translator.push("arrival", if is_poisson { "poisson" } else { "constant" });
            translator.push_some("max-concurrency", cap);
        }
        "replay" => {
            // A trace keeps its own times where no load is given.
            is_known = false;
            let scale = profile_fields.remove("time_scale");
            push_speed(translator, scale);
        }
        other => {
            is_known = false;
            translator.lacks(format!("--rate-type {other}: it finds its own loads; give --concurrency LIST or --rate LIST in place of --concurrency 1, or use inferometer capacity"));
            translator.push("concurrency", "1");
        }
    }
    if let Some(time) = profile_fields.remove("rampup_duration")
        && time.parse::<f64>().is_ok_and(|time| time > 0.0)
    {
        translator.lacks(format!(
            "--profile rampup_duration={time}: streams begin at once in a burst; with a window, --stagger {time}s spreads them"
        ));
    }
    tell_left(translator, "profile", profile_fields, "random_seed");
    Ok(is_known)
}

/// How much faster than its own clock a trace is replayed.
fn push_speed(translator: &mut Translator, scale: Option<String>) {
    let scale = scale.and_then(|scale| scale.parse::<f64>().ok());
    if let Some(scale) = scale.filter(|scale| *scale > 0.0 && *scale != 1.0) {
        translator.push("speed", 1.0 / scale);
    }
}

/// A trace inside the description of how it is replayed.
fn push_trace(translator: &mut Translator, mut own: Fields, format: &str) {
    let source = own.remove("source").map(|source| fields(&source));
    let inside = source.and_then(|mut source| source.remove("path"));
    translator.push_data(own.remove("path").or(inside), format);
    translator.push_some("block-tokens", own.remove("hash_id_block_size"));
    push_speed(translator, own.remove("time_scale"));
    tell_left(translator, "data", own, "kind");
}

fn push_limits(translator: &mut Translator) -> Result<(), TranslateError> {
    let (mut requests, mut time) = (
        translator.count("max-requests")?.map(|count| count as f64),
        translator.real("max-seconds")?,
    );
    for constraint in translator.options.all("constraint") {
        let mut own = fields(&constraint);
        let kind = own.remove("kind").unwrap_or_default();
        let mut number = |name: &str| own.remove(name)?.parse::<f64>().ok();
        match kind.as_str() {
            "max_requests" => requests = requests.or(number("count")),
            "max_duration" => time = time.or(number("seconds")),
            _ => translator.lacks(format!(
                "--constraint {constraint}: --stop-when 'failures>20%' ends a run early"
            )),
        }
    }
    translator.push_some("requests", requests);
    translator.push_some("duration", time.map(seconds));
    Ok(())
}

fn push_data(translator: &mut Translator) {
    // Text and pictures may be given side by side.
    for data in translator.options.all("data") {
        let mut own = fields(&data);
        let kind = own.get("kind").cloned().unwrap_or_default();
        match kind.as_str() {
            "synthetic_image" | "synthetic_video" => {
                media::of_guidellm(translator, &kind, |name| own.remove(name));
                answers(translator, &mut own);
                let not_needed = "kind|seed|format|content|jpeg_quality|video_bitrate";
                tell_left(translator, "data", own, not_needed);
            }
            "mooncake" => push_trace(translator, own, "mooncake"),
            "otel" | "opentelemetry" => push_trace(translator, own, "otel"),
            "weka" => push_trace(translator, own, "agentic"),
            _ if data.contains("prompt_tokens") => lengths(translator, &data),
            _ if own.contains_key("path") => {
                translator.push_some("data", own.remove("path"));
                tell_left(translator, "data", own, "kind");
            }
            _ if data.contains('.') => translator.push("data", data),
            _ => {
                translator.lacks(format!(
                    "--data {data}: give a file, or hf://datasets/{data}/FILE"
                ));
                translator.push("data", "FILE");
            }
        }
    }
}

/// `--metrics '{"kind":"generative","slo":{"ttft_ms":200}}'`.
fn objectives(translator: &mut Translator) {
    let Some(metrics) = translator.value("metrics") else {
        return;
    };
    let parsed: Option<Value> = serde_json::from_str(&metrics).ok();
    let slo = parsed.as_ref().and_then(|it| it.get("slo")?.as_object());
    let Some(slo) = slo else {
        return translator.lacks(format!("--metrics {metrics}: write --slo ttft=200ms"));
    };
    for (name, limit) in slo {
        let ours = match name.as_str() {
            "ttft_ms" => "ttft",
            "tpot_ms" => "tpot",
            "e2el_ms" => "e2e",
            _ => continue,
        };
        if let Some(limit) = limit.as_f64() {
            translator.push("slo", format!("{ours}={limit}ms"));
        }
    }
}

/// `kind=constant,rate=10`, or the same as a JSON object; a list keeps its brackets.
fn fields(text: &str) -> Fields {
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
    let mut own = fields(text);
    push_length(translator, &mut own, "prompt_tokens", "input-tokens");
    answers(translator, &mut own);
    let mut prefix = |name: &str| own.remove(name)?.trim().parse::<u64>().ok();
    let (prefix, groups) = (prefix("prefix_tokens"), prefix("prefix_count"));
    if let Some(prefix) = prefix.filter(|prefix| *prefix > 0) {
        // It comes before the prompt there, and is a part of it here.
        translator.lengthen("input-tokens", prefix);
        translator.push("prefix-tokens", prefix);
        translator.push_some("prefix-groups", groups.filter(|groups| *groups > 1));
    }
    let turns = own.remove("turns").filter(|turns| turns != "1");
    translator.push_some("turns", turns);
    tell_left(translator, "data", own, "kind|source|samples");
}

fn answers(translator: &mut Translator, own: &mut Fields) {
    push_length(translator, own, "output_tokens", "output-tokens");
}

/// A mean length with its deviation.
fn push_length(translator: &mut Translator, own: &mut Fields, theirs: &str, ours: &str) {
    let mut number = |name: &str| own.remove(name)?.trim().parse::<f64>().ok();
    let deviation = number(&format!("{theirs}_stdev"));
    if let Some(mean) = number(theirs) {
        translator.push(ours, normal(mean, deviation));
    }
    let bounds = ["min", "max"].map(|end| number(&format!("{theirs}_{end}")));
    if bounds.iter().any(Option::is_some) {
        translator.lacks(format!(
            "--data {theirs}_min and {theirs}_max: normal(MEAN,DEVIATION) is cut at 1 only"
        ));
    }
}
