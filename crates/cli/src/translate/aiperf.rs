//! `aiperf profile`.

use super::given::{Given, seconds};
use super::{Draft, TranslateError, url};

const NOT_NEEDED: [&str; 9] = [
    "ui",
    "ui-type",
    "verbose",
    "v",
    "output-artifact-dir",
    "artifact-dir",
    "profile-export-prefix",
    "log-level",
    "workers-max",
];

pub(super) fn translate(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let address = given
        .value(&["url", "u"])
        .unwrap_or_else(|| "localhost:8000".to_owned());
    url::of_endpoint(draft, &address);
    match given.value(&["endpoint-type"]).as_deref() {
        None | Some("chat") => draft.push("api", "chat"),
        Some("completions") => draft.push("api", "completions"),
        Some(other) => draft.lacks(format!(
            "--endpoint-type {other}: chat and completions are measured here"
        )),
    }
    if !given.flag(&["streaming"]) {
        draft.flag("no-stream");
    }
    draft.push_some("model", given.value(&["model", "model-names", "m"]));
    for header in given.all(&["header", "h"]) {
        draft.header(&header);
    }
    let key = given.value(&["api-key"]);
    draft.key("api-key", key);
    let concurrency = given.list(&["concurrency"]);
    let rate = given.list(&["request-rate"]);
    match (rate, concurrency) {
        (Some(rate), cap) => {
            draft.axis("rate", &rate);
            draft.push_some(
                "max-concurrency",
                cap.and_then(|cap| cap.into_iter().next()),
            );
            draft.push_some(
                "arrival",
                given
                    .value(&["request-rate-mode", "arrival-pattern"])
                    .filter(|mode| mode == "constant" || mode == "poisson"),
            );
        }
        (None, concurrency) => draft.axis(
            "concurrency",
            &concurrency.unwrap_or_else(|| vec!["1".to_owned()]),
        ),
    }
    let count = given.count(&["request-count", "num-requests"])?;
    let duration = given.real(&["benchmark-duration"])?;
    if count.is_none() && duration.is_none() {
        draft.differs("--requests 10 is AIPerf's number unless told otherwise, which is few for any percentile");
    }
    let count = count.or(duration.is_none().then_some(10));
    draft.push_some("requests", count.map(|count| count.to_string()));
    if let Some(time) = duration {
        draft.push("duration", seconds(time));
    }
    draft.push_some(
        "warmup",
        given
            .count(&["warmup-request-count", "num-warmup-requests"])?
            .filter(|n| *n > 0)
            .map(|n| n.to_string()),
    );
    let mean = given
        .real(&[
            "synthetic-input-tokens-mean",
            "prompt-input-tokens-mean",
            "isl",
        ])?
        .unwrap_or(550.0);
    let deviation = given.real(&[
        "synthetic-input-tokens-stddev",
        "prompt-input-tokens-stddev",
        "isl-stddev",
    ])?;
    draft.push("input-tokens", normal(mean, deviation));
    if let Some(mean) = given.real(&["output-tokens-mean", "prompt-output-tokens-mean", "osl"])? {
        let deviation = given.real(&[
            "output-tokens-stddev",
            "prompt-output-tokens-stddev",
            "osl-stddev",
        ])?;
        draft.push("output-tokens", normal(mean, deviation));
        draft.flag("no-ignore-eos");
        draft.differs("--osl is a limit there unless ignore_eos is among the --extra-inputs; so it is here (leave out --no-ignore-eos for exact lengths)");
    } else {
        draft.push("output-tokens", "free");
    }
    for input in given.all(&["extra-inputs"]) {
        match input.split_once(':') {
            Some((name, value)) => draft.body(name, Some(value.to_owned())),
            None => draft.bodies("extra-inputs", Some(input)),
        }
    }
    draft.push_some(
        "tokenizer",
        given
            .value(&["tokenizer"])
            .filter(|path| path.starts_with(['/', '.'])),
    );
    draft.push_some(
        "seed",
        given.count(&["random-seed"])?.map(|seed| seed.to_string()),
    );
    draft.not_needed = given.not_needed(&NOT_NEEDED);
    Ok(())
}

fn normal(mean: f64, deviation: Option<f64>) -> String {
    match deviation.filter(|deviation| *deviation > 0.0) {
        Some(deviation) => format!("normal({mean},{deviation})"),
        None => format!("{}", mean.round()),
    }
}
