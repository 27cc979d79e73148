//! `evalscope perf`, of 2024 and of today.

use super::address::{answers_with_items, push_endpoint};
use super::translator::{TranslateError, Translator, seconds, uniform};
use serde_json::Value;

pub(super) fn translate(translator: &mut Translator) -> Result<(), TranslateError> {
    if let Some(url) = translator.value("url") {
        push_endpoint(translator, &url);
    } else {
        translator.url = Some("http://127.0.0.1:8877".to_owned());
        translator.push("api", "chat");
    }
    let api = translator.value_or("api", "openai");
    let named = match api.as_str() {
        "openai" => None,
        "embedding" | "openai_embedding" => Some("embeddings"),
        "rerank" | "openai_rerank" => Some("rerank"),
        "responses" | "openai_responses" => Some("responses"),
        _ => {
            translator.lacks(format!(
                "--api {api}: start a server that speaks the OpenAI API"
            ));
            None
        }
    };
    if let Some(named) = named {
        translator.leave_out("api");
        translator.push("api", named);
    }
    let items = named.is_some_and(answers_with_items);
    translator.copy("model", "model");
    translator.copy_headers("headers");
    translator.drop_key("api-key");
    translator.copy_seconds("connect-timeout", "connect-timeout")?;
    translator.copy_seconds("read-timeout", "read-timeout")?;
    translator.copy_seconds("request-timeout", "total-timeout")?;
    let streams = translator.flag("stream");
    if items {
        // There is nothing to stream.
        translator.flag("no-stream");
    } else if translator.flag("no-stream") {
        translator.switch("no-stream");
    } else if !streams {
        translator.differs("answers are streamed; EvalScope of 2024 streamed only with --stream, and its time to first token without it is the latency (--no-stream does so here)");
    }
    load(translator)?;
    work(translator)?;
    sampling(translator);
    if items {
        for option in "output-tokens max-tokens min-tokens temperature top-p".split(' ') {
            translator.leave_out(option);
        }
        translator.leave_out_switch("no-ignore-eos");
    }
    translator.copy("label", "name");
    translator.copy_count("seed", "seed")?;
    search(translator);
    translator.skip(
        "log-every-n-query|debug|visualizer|wandb-api-key|swanlab-api-key|outputs-dir|\
         no-timestamp|no-test-connection|db-commit-interval|queue-size-multiplier|\
         in-flight-task-multiplier|num-workers|data-source|dataset-offset|parser|\
         enable-progress-tracker|attn-implementation",
    );
    translator.differs("EvalScope's percentiles are values at a rank, ours are interpolated");
    Ok(())
}

/// The search for the highest load that meets objectives.
fn search(translator: &mut Translator) {
    let is_search = translator.flag("sla-auto-tune");
    if let Some(asked) = translator.value("sla-params") {
        objectives(translator, &asked);
    }
    let over = match translator.value("sla-variable").as_deref() {
        Some("rate") => "rate",
        _ => "concurrency",
    };
    if is_search {
        translator.lacks(format!(
            "--sla-auto-tune: type capacity in place of run or sweep, and --over {over} in place of its levels"
        ));
    }
    translator.skip(
        "sla-num-runs|sla-upper-bound|sla-lower-bound|sla-fixed-parallel|sla-number-multiplier",
    );
}

/// `[{"p99_ttft": "<=2s", "avg_tpot": "<50ms"}]`: groups are searched for one after the other.
fn objectives(translator: &mut Translator, asked: &str) {
    let groups = match serde_json::from_str(asked) {
        Ok(Value::Array(groups)) => groups,
        Ok(group @ Value::Object(_)) => vec![group],
        _ => Vec::new(),
    };
    let Some(Value::Object(criteria)) = groups.first() else {
        return translator.lacks(format!("--sla-params {asked}: write --slo ttft.p99=2s"));
    };
    for (name, criterion) in criteria {
        match objective(name, criterion) {
            Some(slo) => translator.push("slo", slo),
            None => translator.lacks(format!(
                "--sla-params {name} {criterion}: objectives are upper limits of times with their unit, as in --slo ttft.p99=2s"
            )),
        }
    }
    if groups.len() > 1 {
        translator.lacks("--sla-params: of several groups the first; search for the others too");
    }
}

/// Bare numbers are in the unit of that version's report, which a command does not tell.
fn objective(name: &str, criterion: &Value) -> Option<String> {
    let (statistic, metric) = name.split_once('_')?;
    let metric = match metric {
        "latency" => "e2e",
        "ttft" | "tpot" => metric,
        _ => return None,
    };
    let statistic = match statistic {
        "avg" => "mean",
        "p50" | "p90" | "p99" => statistic,
        _ => return None,
    };
    let limit = criterion.as_str()?.trim();
    let limit = limit.trim_start_matches(['<', '=', '≤']).trim();
    let digits = limit.trim_end_matches("ms").trim_end_matches('s').trim();
    let is_time = limit.ends_with('s') && digits.parse::<f64>().is_ok_and(|it| it > 0.0);
    is_time.then(|| format!("{metric}.{statistic}={}", limit.replace(' ', "")))
}

fn load(translator: &mut Translator) -> Result<(), TranslateError> {
    let parallel = translator.list_or("parallel", "1");
    let mut number = translator.list_or("number|n", "1000");
    if let Some([low, high]) = turns(translator)? {
        // It counts conversations.
        for count in &mut number {
            if let Ok(conversations) = count.parse::<f64>() {
                let mean = (low + high) as f64 / 2.0;
                *count = (conversations * mean).round().to_string();
            }
        }
        translator.differs("--requests counts turns: conversations times their mean number");
    }
    let mut rate = translator.options.list("rate").unwrap_or_default();
    rate.retain(|rate| rate != "-1");
    let is_open = translator.flag("open-loop");
    if !rate.is_empty() && !is_open {
        translator.differs("--rate with --parallel: requests beyond the cap wait, and here that wait counts as latency");
        translator.axis("max-concurrency", &parallel);
    }
    let (axis, levels) = if rate.is_empty() {
        ("concurrency", parallel)
    } else {
        ("rate", rate)
    };
    translator.axis(axis, &levels);
    requests(translator, axis, &levels, &number);
    // Below 1 it is a share of the requests.
    let first = number.first().and_then(|it| it.parse::<f64>().ok());
    let first = first.unwrap_or(0.0);
    let warmup = translator.real("warmup-num")?.filter(|it| *it > 0.0);
    let warmup = warmup.map(|it| if it < 1.0 { (it * first).max(1.0) } else { it });
    translator.push_warmup("warmup-num", warmup.map(|it| (it as u64).to_string()));
    translator.copy_seconds("duration", "duration")?;
    let rest = translator.real("sleep-interval")?;
    if translator.is_sweep {
        translator.push("rest", seconds(rest.unwrap_or(5.0)));
    }
    Ok(())
}

/// Numbers of requests that go with the levels: one for all, a multiple, or one each.
fn requests(translator: &mut Translator, axis: &str, levels: &[String], number: &[String]) {
    if let [number] = number {
        return translator.push("requests", number);
    }
    if number.len() != levels.len() {
        let (numbers, levels) = (number.len(), levels.len());
        translator.lacks(format!(
            "--number has {numbers} values for {levels} levels: give one each"
        ));
        return translator.push("requests", number.first().cloned().unwrap_or_default());
    }
    let ratio = |(level, number): (&String, &String)| -> Option<u64> {
        let (level, number) = (level.parse::<u64>().ok()?, number.parse::<u64>().ok()?);
        (level > 0 && number.is_multiple_of(level)).then(|| number / level)
    };
    let mut ratios = levels.iter().zip(number).map(ratio);
    match ratios.next().flatten() {
        Some(first) if ratios.all(|other| other == Some(first)) => {
            translator.push("requests", format!("{axis}*{first}"));
        }
        _ => {
            translator.axis("requests", number);
            translator.switch("zip");
        }
    }
}

/// Turns of a conversation, where it has several.
fn turns(translator: &mut Translator) -> Result<Option<[u64; 2]>, TranslateError> {
    let name = translator.value_or("dataset", "openqa");
    if !name.starts_with("random") || !name.contains("multi_turn") {
        return Ok(None);
    }
    let low = translator.count_or("min-turns", 1)?;
    let high = translator.count("max-turns")?.unwrap_or(low);
    Ok(Some([low, high]))
}

fn work(translator: &mut Translator) -> Result<(), TranslateError> {
    // Lengths are in tokens where EvalScope has a tokenizer, else in characters.
    let has_tokenizer = translator.value("tokenizer-path").is_some();
    let unit = if has_tokenizer { "" } else { "chars" };
    let path = translator.value("dataset-path");
    let name = translator.value_or("dataset", "openqa");
    let min = translator.count("min-prompt-length")?;
    let max = translator.count("max-prompt-length")?;
    let limits = translator.list_or("max-tokens", "2048");
    let limit = match limits.as_slice() {
        [low, high] => uniform(low.parse().unwrap_or(1.0), high.parse().unwrap_or(2048.0)),
        limits => limits.first().cloned().unwrap_or_default(),
    };
    let prefix = translator.count("prefix-length")?;
    translator.copy_tokenizer("tokenizer-path");
    if let Some(prompt) = translator.value("prompt") {
        if let Some(file) = prompt.strip_prefix('@') {
            translator.lacks(format!(
                r#"--prompt @{file}: give its text with --prompt "$(cat {file})""#
            ));
            translator.push("prompt", "TEXT");
        } else {
            translator.push("prompt", prompt);
        }
        translator.push("max-tokens", limit);
        return Ok(());
    }
    if name.starts_with("random") {
        if name.contains("vl") {
            let side = |name: &str, translator: &mut Translator| translator.count_or(name, 224);
            let (width, height) = (
                side("image-width", translator)?,
                side("image-height", translator)?,
            );
            let count = translator.count_or("image-num", 1)?;
            translator.push("images", format!("n={count},size={width}x{height}"));
        }
        let (min, max) = (min.unwrap_or(0), max.unwrap_or(131_072));
        // It comes before the prompt there, and is a part of it here.
        let prefix = prefix.filter(|length| *length > 0);
        let ends = [min.max(1), max].map(|end| end.saturating_add(prefix.unwrap_or(0)) as f64);
        translator.push("input-tokens", uniform(ends[0], ends[1]));
        translator.push_some("prefix-tokens", prefix);
        let groups = translator.count("prefix-count")?;
        translator.push_some("prefix-groups", groups.filter(|groups| *groups > 1));
        translator.differs("in chat, EvalScope takes the tokens of the template off the prompt's length; here the prompt itself is that long");
        translator.push("output-tokens", limit);
        translator.switch("no-ignore-eos");
        if let Some([low, high]) = turns(translator)? {
            translator.push("turns", uniform(low as f64, high as f64));
            translator.flag("multi-turn");
        }
        return Ok(());
    }
    let of = |file: &str| Some(file.to_owned());
    let (format, hub) = match name.as_str() {
        "openqa" => ("openqa", of("AI-ModelScope/HC3-Chinese/open_qa.jsonl")),
        "longalpaca" => (
            "instruct",
            of("AI-ModelScope/LongAlpaca-12k/LongAlpaca-12k.json"),
        ),
        "line_by_line" | "custom" => ("line", None),
        "custom_multi_turn" => {
            translator.lacks("--dataset custom_multi_turn: its lines are lists; make each an object with jq -c '{messages: .}' FILE");
            ("conversations", None)
        }
        name if name.starts_with("share_gpt") => {
            let format = if name.ends_with("multi_turn") {
                "conversations"
            } else {
                translator.differs("of each conversation the first question is asked; EvalScope asks the last, with all before it");
                "sharegpt"
            };
            let language = if name.contains("_zh") { "zh" } else { "en" };
            (
                format,
                Some(format!("swift/sharegpt/common_{language}_70k.jsonl")),
            )
        }
        other => {
            translator.lacks_dataset("dataset", other);
            ("auto", None)
        }
    };
    let hub = hub.map(|file| format!("ms://datasets/{file}"));
    translator.push_data(path.or(hub), format);
    if format == "conversations" {
        translator.flag("multi-turn");
        translator.copy_count("turns", "max-turns")?;
        translator.differs("--requests counts turns; EvalScope's --number counts conversations");
    }
    let length = |length: u64| format!("{length}{unit}");
    translator.push_some("min-prompt", min.filter(|length| *length > 0).map(length));
    translator.push_some("max-prompt", max.map(length));
    let is_drawn = limits.len() == 2;
    translator.push(
        if is_drawn {
            "output-tokens"
        } else {
            "max-tokens"
        },
        limit,
    );
    Ok(())
}

fn sampling(translator: &mut Translator) {
    translator.copy("min-tokens", "min-tokens");
    if let Some(temperature) = translator.value("temperature") {
        translator.push("temperature", temperature);
    } else {
        translator.push("temperature", "0");
        translator.differs("--temperature 0 is what EvalScope sends today; in 2024 it sent none");
    }
    translator.copy("top-p", "top-p");
    for stop in translator.options.all("stop") {
        translator.push("stop", stop);
    }
    translator.copy_fields([
        ("top-k", "top_k"),
        ("frequency-penalty", "frequency_penalty"),
        ("repetition-penalty", "repetition_penalty"),
        ("n-choices", "n"),
    ]);
    if translator.flag("logprobs") {
        translator
            .extra
            .insert("logprobs".to_owned(), Value::Bool(true));
    }
    translator.copy_body("extra-args");
    let template = translator.value("query-template");
    match template.as_deref().map(serde_json::from_str) {
        Some(Ok(Value::Object(fields))) => {
            for (name, value) in fields {
                match name.as_str() {
                    "stream" if value == Value::Bool(false) => translator.switch("no-stream"),
                    "stream" | "model" | "messages" | "prompt" => {}
                    _ => drop(translator.extra.insert(name, value)),
                }
            }
        }
        Some(_) => {
            translator.lacks("--query-template: give the further fields of the body with --extra");
        }
        None => {}
    }
}
