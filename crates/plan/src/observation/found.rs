//! Other tools' results as observations.

use super::{MeasuredOn, Observation, engine_named};
use crate::flags::flags_of;
use crate::means::Means;
use crate::work::Load;
use inferometer_catalog::engine::{EngineKind, LaunchCommand, Version};
use inferometer_core::length::Distribution as Lengths;
use inferometer_import::{ImportDoubtCode, ImportedResult, ImportedSummary, Spread, Tool};
use serde_json::Value;

/// Deviation that the 90th percentile of a normal distribution has.
const P90: f64 = 1.2816;

/// The observation in a result; `None` where it has no load or no numbers.
pub(super) fn observation(found: &ImportedResult) -> Option<Observation> {
    let summary = found.summary.as_ref()?;
    let requests = requests(summary);
    let load = load(found, requests)?;
    let means = means(found, summary);
    if means == Means::default() {
        return None;
    }
    let spread = deviation(summary.tokens.output_spread.as_ref())
        .or_else(|| relative(summary.latency.e2e_ms.as_ref()?));
    let name = format!("{} lines {}–{}", found.file, found.lines.0, found.lines.1);
    let input_spread = deviation(summary.tokens.input_spread.as_ref());
    Some(Observation {
        requests,
        input: length(summary.tokens.input_mean, input_spread),
        output: length(summary.tokens.output_mean, spread),
        spread,
        seed: None,
        flags: command(found).map_or(Vec::new(), |command| flags_of(&command)),
        on: measured_on(found),
        version: version(found.tool),
        invalid: invalid(summary),
        ..Observation::imported(name, load, means)
    })
}

fn invalid(summary: &ImportedSummary) -> Vec<String> {
    if summary.valid {
        return Vec::new();
    }
    let invalid = summary
        .doubts
        .iter()
        .filter(|doubt| doubt.severity == inferometer_core::doubt::Severity::Invalid);
    named(invalid.map(|doubt| doubt.code.name().to_owned()))
}

/// Codes of doubts; a run may be marked without any.
pub(super) fn named(codes: impl Iterator<Item = String>) -> Vec<String> {
    let mut codes: Vec<String> = codes.collect();
    if codes.is_empty() {
        codes.push("marked INVALID".to_owned());
    }
    codes
}

fn requests(summary: &ImportedSummary) -> Option<u32> {
    let counted = summary.requests.ok.or(summary.requests.planned);
    let from_rate = || {
        let count = summary.window_s? * summary.throughput.requests_per_s?;
        Some(count.round() as u64)
    };
    let count = counted.or_else(from_rate)?;
    u32::try_from(count).ok().filter(|&count| count > 0)
}

fn load(found: &ImportedResult, requests: Option<u32>) -> Option<Load> {
    let configured = found.summary.as_ref()?.concurrency.configured;
    let streams = found
        .point
        .get("concurrency")
        .and_then(Value::as_u64)
        .or(configured);
    if let Some(streams) = streams.and_then(|streams| u32::try_from(streams).ok()) {
        return (streams > 0).then_some(Load::Closed(streams));
    }
    match found.point.get("rate")? {
        Value::String(_) => Some(Load::Closed(requests?)),
        rate => rate.as_f64().filter(|&rate| rate > 0.0).map(Load::Open),
    }
}

fn means(found: &ImportedResult, summary: &ImportedSummary) -> Means {
    let doubted = |code: ImportDoubtCode| found.doubts.iter().any(|doubt| doubt.code == code);
    let mean = |spread: &Option<Spread>| {
        let spread = spread.as_ref()?;
        spread.mean.or(spread.p50).filter(|mean| *mean > 0.0)
    };
    // Some tools print the latency as TTFT where nothing was streamed, and one over the
    // throughput as the time per token, which then is one number in all percentiles.
    let streamed = !doubted(ImportDoubtCode::NotStreamed);
    let per_token = !matches!(found.tool, Tool::Evalscope2024 | Tool::MarkdownTable) && streamed;
    let tpot = summary.latency.tpot_ms.as_ref();
    let is_one_number = tpot.is_some_and(Spread::is_one_number);
    let positive = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
    Means {
        requests_per_s: positive(summary.throughput.requests_per_s),
        output_tokens_per_s: positive(summary.throughput.output_tokens_per_s),
        ttft_ms: mean(&summary.latency.ttft_ms).filter(|_| streamed),
        tpot_ms: mean(&summary.latency.tpot_ms).filter(|_| per_token && !is_one_number),
        e2e_ms: mean(&summary.latency.e2e_ms),
        ..Means::default()
    }
}

fn length(mean: Option<f64>, relative: Option<f64>) -> Option<Lengths> {
    let mean = mean.filter(|mean| *mean >= 1.0)?;
    Some(spread_around(mean, relative))
}

pub(super) fn spread_around(mean: f64, relative: Option<f64>) -> Lengths {
    match relative.filter(|relative| *relative > 0.03) {
        Some(relative) => Lengths::Normal(mean, (mean * relative.min(1.0)).round()),
        None => Lengths::Fixed((mean.round() as u32).max(1)),
    }
}

/// The relative deviation that a tool states.
fn deviation(spread: Option<&Spread>) -> Option<f64> {
    let spread = spread?;
    Some(spread.std? / spread.mean.filter(|mean| *mean > 0.0)?)
}

/// The relative deviation of a sample, from its percentiles.
fn relative(spread: &Spread) -> Option<f64> {
    let (middle, high) = (spread.p50?, spread.p90?);
    (middle > 0.0 && high >= middle).then(|| (high / middle - 1.0) / P90)
}

/// Tools of 2023 and 2024 measured engines of their time.
pub(super) fn version(tool: Tool) -> Option<Version> {
    match tool {
        Tool::Evalscope2024 | Tool::Vllm2023 => Some(Version::new(0, 6, 3)),
        _ => None,
    }
}

fn command(found: &ImportedResult) -> Option<LaunchCommand> {
    LaunchCommand::parse_line(found.command.as_deref()?).ok()
}

/// By the launch command above it, else by what its headings say.
fn measured_on(found: &ImportedResult) -> MeasuredOn {
    let command = command(found);
    let fact = |name: &str| found.facts.get(name).cloned();
    let of_command = MeasuredOn {
        engine: (command.as_ref().map(|it| it.engine)).filter(|it| *it != EngineKind::Custom),
        model: command.and_then(|command| command.model),
        card: None,
    };
    of_command.or(&MeasuredOn {
        engine: fact("engine").and_then(|text| engine_named(&text)),
        model: fact("model"),
        card: fact("card"),
    })
}
