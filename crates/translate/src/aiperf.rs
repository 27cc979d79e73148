//! `aiperf profile`.

use super::address::{answers_with_items, base_of, before_end, push_endpoint};
use super::media;
use super::translator::{TranslateError, Translator, normal, seconds, uniform};

pub(super) fn translate(translator: &mut Translator) -> Result<(), TranslateError> {
    let addresses = translator.options.all("url|u");
    let (first, more) = match addresses.split_first() {
        Some((first, more)) => (first.as_str(), more),
        None => ("localhost:8000", &[][..]),
    };
    push_endpoint(translator, first);
    translator.more_urls = more.iter().map(|url| base_of(url)).collect();
    let kind = translator.value_or("endpoint-type", "chat");
    let api = match &*kind {
        "chat" | "completions" | "responses" | "embeddings" => Some(&*kind),
        "cohere_rankings" | "hf_tei_rankings" | "nim_rankings" | "rankings" => Some("rerank"),
        "huggingface_generate" | "ollama_generate" | "generate" => Some("generate"),
        "anthropic_messages" | "messages" => Some("messages"),
        "nim_embeddings" => Some("embeddings"),
        "audio_transcription" => Some("transcriptions"),
        _ => None,
    };
    match api {
        Some(api) => translator.push("api", api),
        None if kind == "chat_embeddings" => translator.lacks(
            "--endpoint-type chat_embeddings: messages are embedded from rows that are whole bodies: --api embeddings --data FILE --data-format line",
        ),
        None if matches!(&*kind, "raw" | "template") => translator.lacks(format!(
            "--endpoint-type {kind}: give the body to --raw-body, with {{prompt}} where the text goes, and --api raw with --raw-text PATH"
        )),
        None => translator.lacks(format!(
            "--endpoint-type {kind}: there is no such endpoint here, and this asks for a chat (--api raw with --raw-body and the URL measures any JSON service)"
        )),
    }
    if kind == "nim_rankings" {
        translator.lacks(
            "--endpoint-type nim_rankings: query and passages are sent as /v1/rerank takes them, not as NIM's /v1/ranking; --api raw with a --raw-body of that form asks it for the rank of one text",
        );
    }
    let items = api.is_some_and(answers_with_items);
    endpoint(translator, api);
    if !translator.flag("streaming") && !items {
        translator.switch("no-stream");
    }
    let batch = translator.count("batch-size-text|prompt-batch-size|b|rankings-passages-mean")?;
    if let Some(batch) = batch.filter(|batch| *batch > 1 && !items) {
        translator.lacks(format!(
            "--batch-size-text {batch}: a request has one prompt here; give --isl as the sum of them"
        ));
    }
    translator.push_some("batch-size", batch.filter(|_| items));
    translator.copy("model", "model|model-names|m");
    if (translator.value("model-selection-strategy")).is_some_and(|how| how != "random") {
        translator
            .differs("each session draws its model here, all as often; they do not take turns");
    }
    translator.copy_headers("header|h");
    translator.drop_key("api-key");
    load(translator)?;
    let per_session = sessions(translator)?;
    let sessions = translator.count("conversation-num|num-conversations|num-sessions")?;
    let counts = translator.numbers("request-count|num-requests")?;
    let counts = counts.or_else(|| {
        let sessions = sessions? as f64;
        translator.differs("--requests counts turns: conversations times their mean number");
        Some(vec![(sessions * per_session).round()])
    });
    let times = translator.numbers("benchmark-duration")?;
    if counts.is_none() && times.is_none() {
        translator.differs("--requests 10 is AIPerf's number unless told otherwise, which is few for any percentile");
    }
    let counts = counts.or(times.is_none().then(|| vec![10.0]));
    for (name, values, written) in [
        (
            "requests",
            counts,
            (|it| it.to_string()) as fn(f64) -> String,
        ),
        ("duration", times, seconds),
    ] {
        if let Some(values) = values {
            let values: Vec<String> = values.into_iter().map(written).collect();
            translator.axis(name, &values);
        }
    }
    translator.sends_first("warmup-request-count|num-warmup-requests")?;
    let time = translator.real("warmup-duration")?;
    translator.push_warmup("warmup-duration", time.map(seconds));
    let spread = Spread::of(translator)?;
    let means = translator.numbers("synthetic-input-tokens-mean|prompt-input-tokens-mean|isl")?;
    let deviation =
        translator.real("synthetic-input-tokens-stddev|prompt-input-tokens-stddev|isl-stddev")?;
    let (means, deviation) = match api {
        Some("rerank") => documents(translator)?,
        _ => (means, deviation),
    };
    let prefix = translator
        .count("prefix-prompt-length|prompt-prefix-length|shared-system-prompt-length")?;
    let pool =
        translator.count("num-prefix-prompts|prompt-prefix-pool-size|prefix-prompt-pool-size")?;
    let file = file(translator);
    match file {
        Some(_) => {}
        // It comes before the prompt there, and is a part of it here.
        None => {
            let whole = means.unwrap_or_else(|| vec![550.0]).into_iter();
            let whole = whole.map(|mean| {
                spread.around(mean, deviation, spread.input, prefix.unwrap_or(0) as f64)
            });
            translator.axis("input-tokens", &Vec::from_iter(whole));
            translator.push_some("prefix-tokens", prefix);
            translator.push_some("prefix-groups", pool);
        }
    }
    let extra = extra_inputs(translator);
    if items {
        translator.skip("output-tokens-mean|prompt-output-tokens-mean|osl");
    } else if let Some(means) =
        translator.numbers("output-tokens-mean|prompt-output-tokens-mean|osl")?
    {
        let deviation =
            translator.real("output-tokens-stddev|prompt-output-tokens-stddev|osl-stddev")?;
        let lengths = means
            .into_iter()
            .map(|mean| spread.around(mean, deviation, spread.output, 0.0));
        translator.axis("output-tokens", &Vec::from_iter(lengths));
        if !extra {
            translator.switch("no-ignore-eos");
            translator.differs("--osl is a limit there unless ignore_eos is among the --extra-inputs; so it is here (leave out --no-ignore-eos for exact lengths)");
        }
    } else if file == Some(Rows::Trace) {
        // Its rows say how long answers are.
        if !extra {
            translator.switch("no-ignore-eos");
        }
    } else {
        translator.push("output-tokens", "free");
    }
    media::of_aiperf(translator)?;
    if api == Some("transcriptions") {
        // A sound is all that is asked.
        for text in ["input-tokens", "prefix-tokens", "prefix-groups"] {
            translator.leave_out(text);
        }
    }
    let rate = translator.real("request-cancellation-rate")?;
    let delay = translator
        .real("request-cancellation-delay")?
        .unwrap_or(0.0);
    if let Some(rate) = rate.filter(|rate| *rate > 0.0) {
        translator.push("cancel", format!("{rate}%@{}ms", (delay * 1e3).max(1.0)));
    }
    objectives(translator);
    translator.copy_seconds("request-timeout", "request-timeout-seconds")?;
    let runs = translator.count("num-profile-runs")?;
    if let Some(runs) = runs.filter(|runs| *runs > 1) {
        translator.is_sweep = true;
        translator.push("repeat", runs);
    }
    translator.copy_tokenizer_path("tokenizer");
    translator.copy_count("seed", "random-seed")?;
    if let Some(benchmark) = translator.value("accuracy-benchmark") {
        translator.lacks(format!(
            "--accuracy-benchmark {benchmark}: give its rows with --data FILE, and --check gsm8k, choice or exact"
        ));
    }
    translator.skip(NOT_NEEDED);
    Ok(())
}

/// Options about output and workers, and what the preflight finds out by itself or the server's
/// usage says.
const NOT_NEEDED: &str = "ui|ui-type|verbose|v|output-artifact-dir|artifact-dir|\
    profile-export-prefix|profile-export-file|export-level|profile-export-level|log-level|\
    workers-max|max-workers|use-server-token-count|per-chunk-usage|use-legacy-max-tokens|\
    wait-for-model-timeout|wait-for-model-mode|wait-for-model-interval|url-strategy|\
    connection-reuse-strategy|num-dataset-entries|num-prompts|rankings-passages-prompt-token-mean|\
    rankings-passages-prompt-token-stddev|rankings-query-prompt-token-mean|\
    rankings-query-prompt-token-stddev|rankings-passages-stddev";

/// A path of its own for the endpoint.
fn endpoint(translator: &mut Translator, api: Option<&str>) {
    let Some(path) = translator.value("custom-endpoint|endpoint") else {
        return;
    };
    match before_end(&path) {
        Some((before, named)) if Some(named) == api => {
            if let Some(url) = &mut translator.url {
                let before = before.strip_suffix("/v1").unwrap_or(before);
                url.push_str(before);
            }
        }
        _ => translator.lacks(format!(
            "--custom-endpoint {path}: give the whole address, with --api raw and --raw-body where the path is of no API that is known"
        )),
    }
}

/// Lengths of documents; the query is as long here.
fn documents(
    translator: &mut Translator,
) -> Result<(Option<Vec<f64>>, Option<f64>), TranslateError> {
    let document = translator.real("rankings-passages-prompt-token-mean")?;
    let deviation = translator.real("rankings-passages-prompt-token-stddev")?;
    let query = translator.real("rankings-query-prompt-token-mean")?;
    if query.unwrap_or(550.0) != document.unwrap_or(550.0) {
        translator.differs("the query is drawn as long as a document here");
    }
    Ok((document.map(|mean| vec![mean]), deviation))
}

/// Rates, or streams; where both are given, the streams are the cap of an open loop.
fn load(translator: &mut Translator) -> Result<(), TranslateError> {
    let cap = translator.options.list("concurrency");
    let rate = translator.options.list("request-rate");
    let arrival = translator.value("request-rate-mode|arrival-pattern");
    let shape = translator.real("arrival-smoothness|vllm-burstiness|burstiness")?;
    let one = || vec!["1".to_owned()];
    let Some(rate) = rate.filter(|_| arrival.as_deref() != Some("concurrency_burst")) else {
        translator.axis("concurrency", &cap.unwrap_or_else(one));
        return Ok(());
    };
    translator.axis("rate", &rate);
    if let Some(cap) = cap {
        translator.axis("max-concurrency", &cap);
    }
    match arrival.as_deref() {
        Some(pattern @ ("constant" | "poisson" | "gamma")) => {
            translator.push("arrival", pattern);
            translator.push_some("burstiness", shape.filter(|_| pattern == "gamma"));
        }
        Some(other) => translator.lacks(format!("--arrival-pattern {other}")),
        None => {}
    }
    Ok(())
}

/// `--random-range-ratio`: lengths that are spread evenly around the given ones.
struct Spread {
    input: Option<f64>,
    output: Option<f64>,
    /// From a part of the length up to it, not as far below as above.
    below_only: bool,
}

impl Spread {
    fn of(translator: &mut Translator) -> Result<Self, TranslateError> {
        let style = translator.value("random-corpus-style");
        let ratio = translator.value("random-range-ratio");
        let ratio = ratio.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        let of = |name: &str| {
            let ratio = ratio.as_ref()?;
            ratio.as_f64().or_else(|| ratio.get(name)?.as_f64())
        };
        Ok(Spread {
            input: of("input"),
            output: of("output"),
            below_only: style.as_deref() == Some("sglang"),
        })
    }

    /// A length as an option says it, with what comes before it.
    fn around(&self, mean: f64, deviation: Option<f64>, ratio: Option<f64>, before: f64) -> String {
        match ratio {
            Some(ratio) if self.below_only => uniform(mean * ratio + before, mean + before),
            Some(ratio) => uniform(
                (mean * (1.0 - ratio)).floor() + before,
                (mean * (1.0 + ratio)).ceil() + before,
            ),
            None => normal(mean + before, deviation),
        }
    }
}

/// Further fields of the body: `name:value`, or JSON; whether answers are to run to their length.
fn extra_inputs(translator: &mut Translator) -> bool {
    for input in translator.options.all("extra-inputs") {
        match input.split_once(':') {
            Some((name, value)) if !input.trim_start().starts_with('{') => {
                translator.field(name, Some(value.to_owned()));
            }
            _ => translator.body("extra-inputs", &input),
        }
    }
    let is_asked = |value: &serde_json::Value| *value == true || *value == "true";
    if translator.extra.get("ignore_eos").is_some_and(is_asked) {
        // It is asked for with every length here.
        translator.extra.remove("ignore_eos");
        return true;
    }
    false
}

/// What stands in a file that is in place of prompts that are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    Prompts,
    Trace,
}

fn file(translator: &mut Translator) -> Option<Rows> {
    let file = translator.value("input-file")?;
    let kind = translator.value("custom-dataset-type").unwrap_or_default();
    let on_its_clock = translator.flag("fixed-schedule");
    let format = match kind.as_str() {
        "mooncake_trace" => Some("mooncake"),
        "bailian_trace" => Some("bailian"),
        "burst_gpt_trace" => Some("burstgpt"),
        // The form of kv-cache-tester.
        "weka_trace" => Some("agentic"),
        _ => None,
    };
    translator.push("data", file);
    if let Some(format) = format {
        if on_its_clock {
            translator.leave_out("concurrency");
        }
        translator.push("data-format", format);
        return Some(Rows::Trace);
    }
    if !matches!(kind.as_str(), "single_turn" | "random_pool" | "") {
        translator.lacks(format!(
            "--custom-dataset-type {kind}: `inferometer data FILE` says what is read of it"
        ));
    }
    Some(Rows::Prompts)
}

/// Conversations of several turns; their mean number of turns.
fn sessions(translator: &mut Translator) -> Result<f64, TranslateError> {
    let turns = translator.real("conversation-turn-mean|session-turns-mean")?;
    let deviation = translator.real("conversation-turn-stddev|session-turns-stddev")?;
    let pause_ms = translator.real("conversation-turn-delay-mean|session-turn-delay-mean")?;
    let factor = translator.real("conversation-turn-delay-ratio|session-delay-ratio")?;
    let pause_ms = pause_ms.map(|pause| pause * factor.unwrap_or(1.0));
    let Some(turns) = turns.filter(|turns| *turns > 1.0) else {
        return Ok(1.0);
    };
    translator.push("turns", normal(turns, deviation));
    translator.push_some("think", pause_ms.map(|ms| format!("{ms}ms")));
    Ok(turns)
}

/// `--goodput "time_to_first_token:100 inter_token_latency:5"`, in milliseconds.
fn objectives(translator: &mut Translator) {
    let goals = translator.options.all("goodput").join(" ");
    for goal in goals.split_whitespace() {
        let (name, limit) = goal.split_once(':').unwrap_or((goal, ""));
        let ours = match name {
            "time_to_first_token" => "ttft",
            // The mean gap of each request.
            "inter_token_latency" => "tpot",
            "request_latency" => "e2e",
            _ => "",
        };
        if ours.is_empty() || limit.parse::<f64>().is_err() {
            translator.lacks(format!("--goodput {goal}: write --slo ttft=200ms"));
        } else {
            translator.push("slo", format!("{ours}={limit}ms"));
        }
    }
}
