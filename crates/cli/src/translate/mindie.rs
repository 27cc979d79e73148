//! MindIE's `benchmark`. Its options are written in capitals: `--DatasetPath`.

use super::given::Given;
use super::{Draft, TranslateError, url};

const NOT_NEEDED: [&str; 8] = [
    "savepath",
    "savetokensperrequest",
    "tokenizer",
    "managementhttp",
    "workersnum",
    "outputfile",
    "distributiontype",
    "modelversion",
];

pub(super) fn translate(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    match given.value(&["http"]) {
        Some(address) => url::of_endpoint(draft, &address),
        None => draft.url = Some("http://127.0.0.1:1025".to_owned()),
    }
    match given.value(&["testtype"]).as_deref() {
        Some("openai" | "vllm_client") => draft.push("api", "chat"),
        Some("client" | "triton_client" | "tgi_client") | None => {
            draft.push("api", "chat");
            draft.differs(
                "the client speaks MindIE's own API; the same is asked of /v1/chat/completions",
            );
        }
        Some("engine") => {
            draft.push("api", "chat");
            draft.lacks(
                "--TestType engine runs without a server: start MindIE's server and measure that",
            );
        }
        Some(other) => draft.lacks(format!("--TestType {other}: has no counterpart here")),
    }
    if given
        .value(&["taskkind"])
        .is_some_and(|kind| kind != "stream")
    {
        draft.flag("no-stream");
    }
    draft.push_some("model", given.value(&["modelname"]));
    draft.push_some(
        "tokenizer",
        given
            .value(&["modelpath"])
            .filter(|path| path.starts_with(['/', '.'])),
    );
    work(given, draft)?;
    let concurrency = given
        .list(&["concurrency"])
        .unwrap_or_else(|| vec!["128".to_owned()]);
    let rate = given.list(&["requestrate"]).filter(|rate| !rate.is_empty());
    match rate {
        Some(rate) => {
            draft.axis("rate", &rate);
            draft.axis("max-concurrency", &concurrency);
            draft.differs(
                "requests beyond --Concurrency wait, and here that wait counts as latency",
            );
        }
        None => draft.axis("concurrency", &concurrency),
    }
    draft.push_some(
        "requests",
        given
            .count(&["requestcount", "requestnum"])?
            .map(|n| n.to_string()),
    );
    draft.push_some(
        "warmup",
        given
            .count(&["warmupsize"])?
            .filter(|n| *n > 0)
            .map(|n| n.to_string()),
    );
    let sampling = given.value(&["samplingparams"]);
    match given.flag(&["dosampling"]) || sampling.is_some() {
        true => draft.bodies("SamplingParams", sampling),
        false => draft.push("temperature", "0"),
    }
    if given.flag(&["testaccuracy"]) {
        draft.lacks("--TestAccuracy: answers are not graded here");
    }
    draft.differs("GenerateSpeedPerClient divides by the configured concurrency; per-user speed here is of each answer");
    draft.not_needed = given.not_needed(&NOT_NEEDED);
    Ok(())
}

fn work(given: &mut Given, draft: &mut Draft) -> Result<(), TranslateError> {
    let kind = given
        .value(&["datasettype"])
        .map(|kind| kind.to_lowercase());
    let path = given.value(&["datasetpath"]);
    let limit = given.count(&["maxoutputlen"])?;
    let input = given.count(&["maxinputlen"])?;
    let config = given.value(&["syntheticconfigpath"]);
    match (kind.as_deref(), path) {
        (Some("synthetic"), _) => {
            let config = config.unwrap_or_else(|| "its configuration".to_owned());
            draft.lacks(format!("the lengths in {config}: give --input-tokens and --output-tokens, such as uniform(256,1024) or normal(512,100)"));
            draft.push("input-tokens", "256");
            draft.push("output-tokens", limit.unwrap_or(128).to_string());
            return Ok(());
        }
        (kind, Some(path)) => {
            let format = match kind {
                Some("gsm8k") => "gsm8k",
                Some("oasst1" | "sharegpt") => "sharegpt",
                _ => "auto",
            };
            if path.ends_with("gsm8k") || !path.rsplit('/').next().unwrap_or_default().contains('.')
            {
                draft.differs(format!(
                    "--data takes a file: name the .jsonl in {path} if it is a folder"
                ));
            }
            draft.push("data", path);
            draft.push("data-format", format);
        }
        (_, None) => {
            draft.push("data", "FILE");
            draft.lacks("no data set is named: put its path in place of FILE");
        }
    }
    draft.push_some("max-prompt", input.map(|length| length.to_string()));
    draft.push_some("max-tokens", limit.map(|length| length.to_string()));
    Ok(())
}
