//! MindIE's `benchmark`. Its options are written in capitals: `--DatasetPath`.

use super::address::push_endpoint;
use super::translator::{TranslateError, Translator};

pub(super) fn translate(translator: &mut Translator) -> Result<(), TranslateError> {
    if let Some(address) = translator.value("http") {
        push_endpoint(translator, &address);
    } else {
        translator.url = Some("http://127.0.0.1:1025".to_owned());
    }
    match &*translator.value_or("testtype", "client") {
        "openai" | "vllm_client" => {}
        "client" | "triton_client" | "tgi_client" => translator.differs(
            "the client speaks MindIE's own API; here the same requests go to /v1/chat/completions",
        ),
        "engine" => translator.lacks(
            "--TestType engine runs without a server: start MindIE's server and measure that",
        ),
        other => translator.lacks(format!("--TestType {other}: has no counterpart here")),
    }
    translator.push("api", "chat");
    if translator
        .value("taskkind")
        .is_some_and(|kind| kind != "stream")
    {
        translator.switch("no-stream");
    }
    translator.copy("model", "modelname");
    translator.copy_tokenizer_path("modelpath");
    work(translator)?;
    let concurrency = translator.list_or("concurrency", "128");
    let rate = translator
        .options
        .list("requestrate")
        .filter(|rate| !rate.is_empty());
    if let Some(rate) = rate {
        translator.axis("rate", &rate);
        translator.axis("max-concurrency", &concurrency);
        translator
            .differs("requests beyond --Concurrency wait, and here that wait counts as latency");
    } else {
        translator.axis("concurrency", &concurrency);
    }
    translator.copy_count("requests", "requestcount|requestnum")?;
    translator.sends_first("warmupsize")?;
    let sampling = translator.value("samplingparams");
    if let Some(sampling) = &sampling {
        translator.body("SamplingParams", sampling);
    }
    if !translator.flag("dosampling") && sampling.is_none() {
        translator.push("temperature", "0");
    }
    if translator.flag("testaccuracy") {
        translator.lacks("--TestAccuracy: answers are not graded here");
    }
    translator.differs("GenerateSpeedPerClient divides by the configured concurrency; per-user speed here is of each answer");
    translator.skip(
        "savepath|savetokensperrequest|tokenizer|managementhttp|workersnum|outputfile|\
         distributiontype|modelversion",
    );
    Ok(())
}

fn work(translator: &mut Translator) -> Result<(), TranslateError> {
    let kind = translator.value_or("datasettype", "").to_lowercase();
    let path = translator.value("datasetpath");
    let limit = translator.count("maxoutputlen")?;
    let input = translator.count("maxinputlen")?;
    let config = translator.value_or("syntheticconfigpath", "its configuration");
    if kind == "synthetic" {
        translator.lacks(format!("the lengths in {config}: give --input-tokens and --output-tokens, such as uniform(256,1024) or normal(512,100)"));
        translator.push("input-tokens", "256");
        translator.push("output-tokens", limit.unwrap_or(128));
        return Ok(());
    }
    let format = match kind.as_str() {
        "gsm8k" => "gsm8k",
        "oasst1" | "sharegpt" => "sharegpt",
        _ => "auto",
    };
    if let Some(path) = &path {
        let file = path.rsplit('/').next().unwrap_or_default();
        if path.ends_with("gsm8k") || !file.contains('.') {
            translator.differs(format!(
                "--data takes a file: name the .jsonl in {path} if it is a folder"
            ));
        }
    }
    translator.push_data(path, format);
    translator.push_some("max-prompt", input);
    translator.push_some("max-tokens", limit);
    Ok(())
}
