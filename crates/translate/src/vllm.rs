//! `vllm bench serve`, and `benchmark_serving.py` of 2023 and 2024.

use super::address::{answers_with_items, api_of, push_api, push_host};
use super::media;
use super::translator::{Client, TranslateError, Translator, uniform};
use serde_json::Value;

/// Options about output and progress, since every run is kept with all its records; and
/// `no-stream`, which says how a data set is loaded, not how answers come.
const NOT_NEEDED: &str = "backend|endpoint-type|trust-remote-code|disable-tqdm|save-result|\
    save-detailed|append-result|result-dir|result-filename|metadata|percentile-metrics|\
    metric-percentiles|ready-check-timeout-sec|tokenizer-mode|skip-tokenizer-init|\
    skip-chat-template|plot-timeline|plot-dataset-stats|version|best-of|enable-multimodal-chat|\
    request-id-prefix|no-stream|no-oversample|timeline-itl-thresholds";

pub(super) fn translate(translator: &mut Translator, client: Client) -> Result<(), TranslateError> {
    let backend = translator.value_or("backend|endpoint-type", "openai");
    push_host(translator, 8000);
    let path = translator.value("endpoint");
    let api = match (by_backend(&backend), &path) {
        (Some(api), _) => api,
        (None, Some(path)) => api_of(path),
        (None, None) if backend.contains("chat") => "chat",
        (None, None) => "completions",
    };
    let items = answers_with_items(api);
    match path.filter(|_| by_backend(&backend).is_none()) {
        Some(path) => push_api(translator, &path),
        None => translator.push("api", api),
    }
    if items
        && ["chat", "clip", "vlm2vec"]
            .iter()
            .any(|form| backend.contains(form))
    {
        translator.lacks(format!(
            "--backend {backend}: texts are sent as /v1/embeddings takes them; for messages with images give rows that are whole bodies (--data-format line)"
        ));
    }
    if translator.flag("insecure") {
        translator.switch("insecure");
    }
    let model = translator.value("model");
    let model = translator.value("served-model-name").or(model);
    // vLLM draws an adapter for each request, all of them as often.
    let adapters = translator.options.list("lora-modules");
    let adapters = adapters
        .map(|names| names.join(","))
        .filter(|names| !names.is_empty());
    translator.push_some("model", adapters.or(model));
    if (translator.value("lora-assignment")).is_some_and(|how| how != "random") {
        translator
            .differs("each session draws its adapter here, all as often; they do not take turns");
    }
    translator.copy_headers("header");
    let count = translator.count("num-prompts")?;
    let sent = match api {
        "transcriptions" => {
            sounds(translator)?;
            Sent::Requests(count)
        }
        _ if items => texts(translator, &backend, api, count)?,
        _ => work(translator, count, client)?,
    };
    load(translator, sent)?;
    if !items {
        sampling(translator);
    }
    objectives(translator);
    translator.copy("label", "label");
    let seed = translator.count("seed")?;
    translator.push("seed", seed.unwrap_or(0));
    if translator.flag("profile") {
        translator.lacks("--profile: start the engine's profiler yourself (/start_profile)");
    }
    translator.skip(NOT_NEEDED);
    Ok(())
}

/// The API of a backend whose name says it.
fn by_backend(backend: &str) -> Option<&'static str> {
    let known = [
        ("openai-audio", "transcriptions"),
        ("embeddings", "embeddings"),
        ("rerank", "rerank"),
        ("classify", "classify"),
        ("pooling", "pooling"),
        ("score", "score"),
        ("tgi", "generate"),
        ("tensorrt-llm", "generate"),
        ("responses", "responses"),
    ];
    let known = known.into_iter().find(|(word, _)| backend.contains(word));
    known.map(|(_, api)| api)
}

/// What is sent, and when.
#[derive(Clone, Copy)]
enum Sent {
    /// So many requests, at a rate or in streams.
    Requests(Option<u64>),
    /// Those of a trace, when it says.
    OnItsClock(Option<u64>),
}

/// Texts of `random` and `random-rerank`, several in a request, and rows of other data sets; how
/// many requests they make.
fn texts(
    translator: &mut Translator,
    backend: &str,
    api: &str,
    count: Option<u64>,
) -> Result<Sent, TranslateError> {
    let name = translator.value_or("dataset-name", "random");
    let sent = if matches!(name.as_str(), "random" | "random-rerank") {
        let general = translator.count("input-len")?;
        let own = translator.count("random-input-len")?;
        let length = general.or(own).unwrap_or(1024);
        let batch = translator.count_or("random-batch-size", 1)?.max(1);
        let pairs = !translator.flag("no-reranker");
        let [ratio, _] = range_ratios(translator)?;
        let (length, batch, query) = match (name.as_str(), pairs) {
            // A query and a document share the length.
            ("random-rerank", true) => {
                translator.differs("the length of a reranker's prompts is that of a query and a document together there, and of each of them here");
                (length / 2, batch, 0)
            }
            // The query is one of the texts.
            ("random-rerank", false) => (length, batch.saturating_sub(1).max(1), 1),
            // The first text of each request is its query.
            _ if api == "rerank" => (length, batch.saturating_sub(1).max(1), 0),
            _ => (length, batch, 0),
        };
        let prefix = match name.as_str() {
            "random" => translator.count_or("random-prefix-len", 0)?,
            _ => 0,
        };
        translator.push("input-tokens", drawn(length.max(1), prefix, ratio));
        if prefix > 0 {
            translator.push("prefix-tokens", prefix);
        }
        if batch > 1 || api == "rerank" {
            translator.push("batch-size", batch);
        }
        if batch > 1 {
            translator.differs(
                "--num-prompts counts texts there, and --requests counts requests of several",
            );
        }
        let texts = count.unwrap_or(1000).saturating_sub(query).max(1);
        Some(texts.div_ceil(batch))
    } else {
        let path = translator.value("dataset-path|dataset");
        match name.as_str() {
            "custom" | "custom_image" | "custom_mm" => translator.push_data(path, "custom"),
            "sharegpt" => translator.push_data(path, "sharegpt"),
            other => {
                translator.lacks_dataset("dataset-name", other);
                translator.push_some("data", path);
            }
        }
        if !translator.flag("disable-shuffle") {
            translator.switch("shuffle");
        }
        count
    };
    translator.copy_tokenizer("tokenizer");
    if ["openai-", "vllm-"]
        .iter()
        .any(|of| backend.starts_with(of))
    {
        // Texts longer than the model's context are cut by the server.
        translator.field("truncate_prompt_tokens", Some("-1".to_owned()));
    }
    if api != "rerank" {
        translator.copy_body("extra-body");
    }
    translator.skip(
        "extra-body|disable-shuffle|random-output-len|output-len|custom-output-len|\
         sharegpt-output-len|ignore-eos|temperature",
    );
    Ok(Sent::Requests(sent))
}

/// Prompts whose answers have tokens.
fn work(
    translator: &mut Translator,
    count: Option<u64>,
    client: Client,
) -> Result<Sent, TranslateError> {
    let path = translator.value("dataset-path|dataset");
    // Before there were names, --dataset was a ShareGPT file.
    let usual = if path.is_some() { "sharegpt" } else { "random" };
    let mut name = translator.value_or("dataset-name", usual);
    if name == "random-mm" {
        media::of_vllm(translator)?;
        name = "random".to_owned();
    }
    let output = translator.count("output-len")?;
    let input = translator.count("input-len")?;
    let ignore_eos = translator.flag("ignore-eos");
    let shuffles = !translator.flag("disable-shuffle");
    translator.copy_tokenizer("tokenizer");
    match name.as_str() {
        "random" => {
            // The general ones win there.
            let own = translator.count("random-input-len")?;
            let input = input.or(own).unwrap_or(1024);
            let own = translator.count("random-output-len")?;
            let output = output.or(own).unwrap_or(128);
            let prefix = translator.count_or("random-prefix-len", 0)?;
            let [input_ratio, output_ratio] = range_ratios(translator)?;
            translator.push("input-tokens", drawn(input, prefix, input_ratio));
            translator.push("output-tokens", drawn(output, 0, output_ratio));
            if prefix > 0 {
                translator.push("prefix-tokens", prefix);
            }
            translator.differs("prompts are new in each run; vLLM sends the same ones again with the same seed, which a prefix cache then knows (--no-cache-nonce does so here)");
        }
        "sharegpt" => {
            translator.push_data(path, "sharegpt");
            translator.push("filter", "vllm");
            if shuffles {
                translator.switch("shuffle");
            }
            let output = translator.count("sharegpt-output-len")?.or(output);
            translator.push_some("output-tokens", output);
            translator.differs("rows are drawn by our own seed, so they differ from vLLM's");
        }
        "custom" | "custom_mm" | "custom_image" | "custom_audio" => {
            translator.push_data(path, "custom");
            if shuffles {
                translator.switch("shuffle");
            }
            // -1 stands for the lengths of the file.
            let own = translator.real("custom-output-len")?;
            let own = output.map(|output| output as f64).or(own);
            let own = own.unwrap_or(256.0);
            translator.push_some("output-tokens", (own >= 0.0).then_some(own));
            if translator.flag("custom-ensure-client-side-data") {
                translator.differs("--custom-ensure-client-side-data: files are sent in the request here as well, but URLs as they are");
            }
            if name == "custom_mm" {
                translator.differs("vLLM sends only the first of image_files; here all are sent, and names are meant from the folder of the file");
            } else if name != "custom" {
                translator.differs("names of files are meant from the folder of the data set");
            } else if !translator.flag("skip-chat-template") {
                translator.differs("vLLM lays the model's chat template around each prompt of a custom data set, also for completions, unless --skip-chat-template is given");
            }
            if translator.flag("no-oversample") {
                translator.differs("--no-oversample: vLLM sends each row once; here rows are repeated until --requests are sent");
            }
        }
        "timed_trace" => return timed_trace(translator, path, count),
        "burstgpt" => {
            translator.push_data(path, "burstgpt");
            translator.differs("of the trace only the lengths are used, as vLLM does");
        }
        "prefix_repetition" => {
            let prefix = translator.count_or("prefix-repetition-prefix-len", 256)?;
            let suffix = translator.count_or("prefix-repetition-suffix-len", 256)?;
            let groups = translator.count_or("prefix-repetition-num-prefixes", 10)?;
            let output = translator.count("prefix-repetition-output-len")?.or(output);
            translator.push("input-tokens", prefix.saturating_add(suffix));
            translator.push("prefix-tokens", prefix);
            translator.push("prefix-groups", groups);
            translator.push("output-tokens", output.unwrap_or(128));
        }
        other => {
            translator.lacks_dataset("dataset-name", other);
            translator.push_some("data", path);
        }
    }
    match (name.as_str(), ignore_eos) {
        ("random" | "prefix_repetition", true) => {}
        ("random", false) if client == Client::Vllm => translator.differs("answers run to their length (ignore_eos), as with vllm bench serve since v0.11.1 for random data; before they could end sooner (add --no-ignore-eos)"),
        ("random" | "prefix_repetition", false) => translator.switch("no-ignore-eos"),
        (_, true) => translator.switch("ignore-eos"),
        (_, false) => {}
    }
    Ok(Sent::Requests(count))
}

/// A trace, on its own clock unless that is turned off.
fn timed_trace(
    translator: &mut Translator,
    path: Option<String>,
    count: Option<u64>,
) -> Result<Sent, TranslateError> {
    let seconds = translator.real("timed-trace-sec-multiplier")?;
    let seconds = seconds.filter(|seconds| *seconds > 0.0).unwrap_or(1.0);
    let block = translator.count("timed-trace-chunk-hash-size")?;
    let own_clock = !translator.flag("no-self-timed");
    translator.skip("self-timed");
    if seconds == 0.001 {
        translator.push_data(path, "mooncake");
        translator.push("block-tokens", block.unwrap_or(16));
    } else {
        translator.push_data(path, "timed-trace");
        translator.push_some("block-tokens", block);
    }
    for (label, usual) in [
        ("timestamp", "timestamp"),
        ("input-length", "input_length"),
        ("output-length", "output_length"),
        ("hash-ids", "hash_ids"),
    ] {
        let option = format!("timed-trace-label-{label}");
        if let Some(other) = translator.value(&option).filter(|other| other != usual) {
            translator.lacks(format!(
                "--{option} {other}: rename that field of the trace to {usual}"
            ));
        }
    }
    if !own_clock {
        return Ok(Sent::Requests(count));
    }
    if seconds != 0.001 && seconds != 1.0 {
        translator.push("speed", 1.0 / seconds);
    }
    Ok(Sent::OnItsClock(count))
}

/// A length that is spread around its mean, with what comes before it.
fn drawn(length: u64, before: u64, ratio: f64) -> String {
    let (length, before) = (length as f64, before as f64);
    uniform(
        before + length * (1.0 - ratio),
        before + length * (1.0 + ratio),
    )
}

/// Sounds to transcribe: rows that name them, in English unless the body says otherwise.
fn sounds(translator: &mut Translator) -> Result<(), TranslateError> {
    let path = translator.value("dataset-path|dataset");
    let name = translator.value_or("dataset-name", "custom_audio");
    if name == "custom_audio" {
        translator.push_data(path, "custom");
    } else {
        translator.lacks_dataset("dataset-name", &name);
        translator.push_some("data", path);
    }
    let own = translator.count("custom-output-len")?;
    let output = translator.count("output-len")?.or(own);
    translator.push("max-tokens", output.unwrap_or(256));
    translator.field("language", Some("en".to_owned()));
    translator.differs(
        "vLLM decodes each sound and sends it again as a WAV; here a file is sent as it is",
    );
    translator.copy_tokenizer("tokenizer");
    if translator.flag("disable-shuffle") {
        translator
            .lacks("--disable-shuffle: rows are sent in their order unless --shuffle is given");
    }
    translator.skip("ignore-eos|input-len|asr-max-audio-len-sec|asr-min-audio-len-sec");
    Ok(())
}

/// `0.3`, or `{"input": 0.3, "output": 0.5}`: how far input and output are drawn around theirs.
fn range_ratios(translator: &mut Translator) -> Result<[f64; 2], TranslateError> {
    const NAME: &str = "random-range-ratio";
    let text = translator.value_or(NAME, "0");
    let both = serde_json::from_str::<Value>(&text).unwrap_or_default();
    match (both["input"].as_f64(), both["output"].as_f64()) {
        (Some(input), Some(output)) => Ok([input, output]),
        _ => Ok([translator.real(NAME)?.unwrap_or(0.0); 2]),
    }
}

fn load(translator: &mut Translator, sent: Sent) -> Result<(), TranslateError> {
    if let Some(rate) = translator
        .real("probe-request-rate")?
        .filter(|rate| *rate > 0.0)
    {
        translator.lacks(format!(
            "--probe-request-rate {rate}: measure the probes by a second run beside this one, as in --rate {rate} --input-tokens 8 --max-tokens 1"
        ));
    }
    let requests = match sent {
        Sent::Requests(requests) => requests,
        Sent::OnItsClock(requests) => {
            translator.push_some("requests", requests);
            let cap = translator.count("max-concurrency")?;
            translator.push_some("max-concurrency", cap);
            let others =
                "request-rate|burstiness|ramp-up-strategy|ramp-up-start-rps|ramp-up-end-rps";
            translator.skip(others);
            return translator.sends_first("num-warmups");
        }
    };
    let rate = translator.real("request-rate")?.unwrap_or(f64::INFINITY);
    let cap = translator.count("max-concurrency")?;
    let burstiness = translator.real("burstiness")?.filter(|shape| *shape != 1.0);
    let ramp = translator.value("ramp-up-strategy");
    let from = translator.real("ramp-up-start-rps")?;
    let to = translator.real("ramp-up-end-rps")?;
    translator.push("requests", requests.unwrap_or(1000));
    let is_limited = rate.is_finite();
    // vLLM itself takes the ramp's own rates and no other.
    if ramp.is_some() && to.is_none() && !is_limited {
        translator
            .lacks("--ramp-up-strategy: it needs the rate that is reached, --ramp-up-end-rps");
    }
    if let Some(curve) = ramp
        && let Some(to) = to.or(is_limited.then_some(rate))
    {
        if is_limited {
            translator.differs("vLLM refuses --request-rate beside --ramp-up-strategy; here the ramp ends at --ramp-up-end-rps, or at that rate where there is none, and the rate is held from then on");
        }
        translator.push("rate", to);
        translator.push("ramp", curve);
        translator.push_some("ramp-from", from);
        translator.differs("vLLM raises the rate over the whole run; here it rises over --ramp-over (30s unless given)");
        translator.push_some("max-concurrency", cap);
    } else {
        translator.push_load(rate, cap, "vLLM");
    }
    if let Some(shape) = burstiness {
        translator.push("arrival", "gamma");
        translator.push("burstiness", shape);
    }
    translator.sends_first("num-warmups")?;
    Ok(())
}

fn sampling(translator: &mut Translator) {
    match translator.value("temperature") {
        Some(temperature) => translator.push("temperature", temperature),
        None => translator.differs("without --temperature the server's own holds, as with vllm bench serve since v0.15; it sent 0 before, and so did benchmark_serving.py (add --temperature 0)"),
    }
    translator.copy("top-p", "top-p");
    translator.copy_fields([
        ("top-k", "top_k"),
        ("min-p", "min_p"),
        ("frequency-penalty", "frequency_penalty"),
        ("presence-penalty", "presence_penalty"),
        ("repetition-penalty", "repetition_penalty"),
        ("logprobs", "logprobs"),
        ("chat-template-kwargs", "chat_template_kwargs"),
    ]);
    if translator.flag("use-beam-search") {
        translator.lacks("--use-beam-search: today's servers do not offer it in this API");
    }
    translator.copy_body("extra-body");
}

/// `--goodput ttft:200 tpot:50`.
fn objectives(translator: &mut Translator) {
    for goal in translator.options.all("goodput") {
        match goal.split_once(':') {
            Some((name, ms)) if ms.parse::<f64>().is_ok() => {
                let name = if name == "e2el" { "e2e" } else { name };
                translator.push("slo", format!("{name}={ms}ms"));
            }
            _ => translator.lacks(format!("--goodput {goal}: write --slo ttft=200ms")),
        }
    }
}
