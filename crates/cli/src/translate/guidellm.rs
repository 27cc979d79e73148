//! `guidellm benchmark`.

use super::given::{Given, seconds};
use super::{Draft, TranslateError, url};

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
    let target = given
        .value(&["target"])
        .unwrap_or_else(|| "http://localhost:8000".to_owned());
    url::of_endpoint(draft, &target);
    draft.push_some("model", given.value(&["model"]));
    let kind = given
        .value(&["rate-type", "profile"])
        .unwrap_or_else(|| "sweep".to_owned());
    let rate = given.list(&["rate"]).unwrap_or_default();
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
    draft.push_some(
        "requests",
        given.count(&["max-requests"])?.map(|n| n.to_string()),
    );
    if let Some(time) = given.real(&["max-seconds"])? {
        draft.push("duration", seconds(time));
    }
    match given.value(&["data"]) {
        Some(data) if data.contains("prompt_tokens") => lengths(draft, &data),
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
