//! Other tools' numbers from the same records, in their own words, so that old notes and
//! dashboards can be compared with. Dialects are never translated.
//!
//! A dialect reproduces its tool, weaknesses included: where the tool prints 0 for what is
//! not known, so does the dialect. Our own report never does.

pub mod aiperf;
mod block;
pub mod evalscope;
pub mod evalscope_2024;
pub mod grid_log;
pub mod guidellm;
pub mod mindie;
mod object;
pub mod otlp;
mod outline;
mod python;
pub mod sglang;
pub mod sweep;
pub mod vllm;

use inferometer_core::environment::{Ending, Environment};
use inferometer_core::record::Record;
use inferometer_core::scenario::{Arrival, Scenario, Shape};
use inferometer_core::slo::{SloMetric, SloScope};
use inferometer_core::summary::{INVALID_KEY, INVALID_LINE};
use inferometer_core::units::Offset;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use std::collections::BTreeMap;
use std::time::Duration;
use strum::VariantArray as _;

/// Whose definitions and words a report uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    #[default]
    Ours,
    Foreign(Foreign),
}

/// A dialect that is not our own.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Foreign {
    /// `vllm bench serve`.
    Vllm,
    /// `sglang.bench_serving`.
    Sglang,
    /// `evalscope perf` of 2024.
    #[strum(serialize = "evalscope-2024")]
    Evalscope2024,
    /// `evalscope perf` of today.
    Evalscope,
    /// MindIE's `benchmark`.
    Mindie,
    /// The log of the length-grid study.
    GridLog,
    Aiperf,
    Guidellm,
}

impl Dialect {
    const OURS: &'static str = "ours";

    /// The words that `--dialect` takes.
    pub fn words() -> impl Iterator<Item = &'static str> {
        let foreign = Foreign::VARIANTS.iter().map(|foreign| foreign.into());
        std::iter::once(Self::OURS).chain(foreign)
    }

    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            Self::OURS => Some(Dialect::Ours),
            _ => word.parse().ok().map(Dialect::Foreign),
        }
    }

    /// The foreign dialect; absent for our own, which is composed from the summary.
    pub fn foreign(self) -> Option<Foreign> {
        match self {
            Dialect::Ours => None,
            Dialect::Foreign(foreign) => Some(foreign),
        }
    }
}

/// What a dialect is computed from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The records of the run; those of the warm-up are left out here.
    pub records: &'a [Record],
    pub scenario: &'a Scenario,
    /// Where and against what it ran.
    pub environment: &'a Environment,
    pub ending: &'a Ending,
    /// Codes of the doubts that make it INVALID; none for a valid run.
    pub invalid: &'a [&'a str],
}

/// Why a dialect has nothing to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialectError {
    /// The tool itself breaks off in this case.
    #[error("{0} has no block for a run without a single success; use --dialect ours")]
    NoSuccess(&'static str),
    /// The tool counts in whole seconds and divides by them.
    #[error("{0} divides by whole seconds, and this run took less than one; use --dialect ours")]
    NoSecond(&'static str),
}

/// Measures in a foreign dialect and shows the numbers by one of its two methods.
macro_rules! shown {
    ($dialect:ident, $source:ident, $as:ident) => {
        Ok(match $dialect {
            Foreign::Vllm => vllm::measure($source).$as(),
            Foreign::Sglang => sglang::measure($source)?.$as(),
            Foreign::Evalscope2024 => evalscope_2024::measure($source)?.$as(),
            Foreign::Evalscope => evalscope::measure($source).$as(),
            Foreign::Mindie => mindie::measure($source)?.$as(),
            Foreign::GridLog => grid_log::measure($source)?.$as(),
            Foreign::Aiperf => aiperf::measure($source)?.$as(),
            Foreign::Guidellm => guidellm::measure($source)?.$as(),
        })
    };
}

/// A foreign dialect's text block. No tool has a word for a run that is INVALID, so a line of our own
/// says it below.
pub fn text(dialect: Foreign, source: &Source<'_>) -> Result<String, DialectError> {
    let block: Result<String, DialectError> = shown!(dialect, source, text);
    let mut block = block?;
    if !source.invalid.is_empty() {
        let end = if block.ends_with('\n') { "" } else { "\n" };
        // A log stays one: its reader takes each line apart.
        let before = match dialect {
            Foreign::GridLog => grid_log::line_begin(&block),
            _ => "",
        };
        let codes = source.invalid.join(", ");
        block = format!("{block}{end}{before}{INVALID_LINE} ({codes})\n");
    }
    Ok(block)
}

/// A foreign dialect's result file, one line of JSON. Of an INVALID run it begins with a key of ours.
pub fn json(dialect: Foreign, source: &Source<'_>) -> Result<String, DialectError> {
    let object: Result<String, DialectError> = shown!(dialect, source, json);
    let object = object?;
    Ok(match object.strip_prefix('{') {
        Some(rest) if !source.invalid.is_empty() => {
            let codes = serde_json::json!(source.invalid);
            format!("{{\"{INVALID_KEY}\": {codes}, {rest}")
        }
        _ => object,
    })
}

/// 0 where no time passed.
fn per_second(amount: f64, duration: Duration) -> f64 {
    if duration.is_zero() {
        0.0
    } else {
        amount / duration.as_secs_f64()
    }
}

impl<'a> Source<'a> {
    /// The measured records that were sent, in order of sending.
    fn measured(&self) -> Vec<&'a Record> {
        let records = self.records.iter();
        let mut sent: Vec<&Record> = records
            .filter(|record| {
                record.is_measured() && (record.sent.is_some() || record.end.is_some())
            })
            .collect();
        sent.sort_by_key(|record| (start(record), record.index));
        sent
    }

    /// The first arrival, or where the measured part began.
    fn begin(&self, records: &[&Record]) -> Option<Offset> {
        let begin = records.iter().map(|record| start(record)).min();
        begin.map(|first| match self.ending.measured_from {
            from if from > Offset::default() => first.min(from),
            _ => first,
        })
    }

    /// From the first arrival, as both tools count it, to the end of the last request.
    fn duration(&self, records: &[&Record]) -> Duration {
        let begin = self.begin(records);
        let end = records
            .iter()
            .filter_map(|record| record.end.or(record.completed()))
            .max();
        match (begin, end) {
            (Some(begin), Some(end)) => end.since(begin),
            _ => Duration::ZERO,
        }
    }

    /// Arrivals a second; a closed loop is `inf` to both tools.
    fn rate(&self) -> f64 {
        match &self.scenario.load.shape {
            Shape::Closed { .. } => f64::INFINITY,
            Shape::Open { rate, .. } => rate.0,
            // Neither tool replays at a rate of its own.
            Shape::Replay { .. } => f64::INFINITY,
        }
    }

    /// The streams of a closed loop, or the cap of an open one.
    fn max_concurrency(&self) -> Option<u32> {
        match &self.scenario.load.shape {
            Shape::Closed { concurrency, .. } => Some(*concurrency),
            Shape::Open {
                max_concurrency, ..
            }
            | Shape::Replay {
                max_concurrency, ..
            } => *max_concurrency,
        }
    }

    /// Shape of the gamma distribution of gaps; 1 is Poisson.
    fn burstiness(&self) -> f64 {
        match &self.scenario.load.shape {
            Shape::Closed { .. } | Shape::Replay { .. } => 1.0,
            Shape::Open { arrival, .. } => match arrival {
                Arrival::Constant => f64::INFINITY,
                Arrival::Poisson => 1.0,
                Arrival::Gamma(burstiness) => *burstiness,
            },
        }
    }

    /// The client's local time at a moment of the run, without its zone.
    fn wall_time(&self, at: Offset) -> DateTime {
        let started = Pieces::parse(&self.environment.started).ok();
        let started = started.and_then(|pieces| Some(pieces.date().to_datetime(pieces.time()?)));
        let since = SignedDuration::try_from(at.as_duration()).unwrap_or(SignedDuration::MAX);
        // A stored run whose time cannot be read still has its durations.
        let origin = started.unwrap_or(DateTime::constant(1970, 1, 1, 0, 0, 0, 0));
        origin.checked_add(since).unwrap_or(origin)
    }

    fn is_chat(&self) -> bool {
        self.environment.server.api != "completions"
    }

    fn model(&self) -> String {
        let probed = &self.environment.server.model;
        if probed.is_empty() {
            (self.scenario.connection.model.as_ref())
                .map_or(String::new(), |mix| mix.first().to_owned())
        } else {
            probed.clone()
        }
    }

    /// The objectives of single requests that both tools know, in their order.
    fn goodput(&self) -> Vec<(GoodputMetric, Duration)> {
        let slos = &self.scenario.objectives.slos;
        let known = [
            (SloMetric::Ttft, GoodputMetric::Ttft),
            (SloMetric::Tpot, GoodputMetric::Tpot),
            (SloMetric::E2e, GoodputMetric::E2el),
        ];
        let limits = known.into_iter().flat_map(|(ours, theirs)| {
            let bound = move |slo: &&inferometer_core::slo::Slo| {
                slo.metric == ours && slo.scope == SloScope::Request
            };
            slos.iter()
                .filter(bound)
                .map(move |slo| (theirs, slo.limit.0))
        });
        limits.collect()
    }
}

/// Metrics that both tools take objectives for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoodputMetric {
    Ttft,
    Tpot,
    E2el,
}

impl GoodputMetric {
    fn key(self) -> &'static str {
        match self {
            GoodputMetric::Ttft => "ttft",
            GoodputMetric::Tpot => "tpot",
            GoodputMetric::E2el => "e2el",
        }
    }
}

/// When both tools start the clock: after the gate, before the connection is there.
fn start(record: &Record) -> Offset {
    let sent = record.sent.or(record.due).unwrap_or_default();
    sent - record.connect.unwrap_or_default()
}

/// The successes, for tools that break off where there is none.
fn successes<'a>(
    records: &[&'a Record],
    tool: &'static str,
) -> Result<Vec<&'a Record>, DialectError> {
    let done = records.iter().copied().filter(|record| record.is_done());
    let done: Vec<&Record> = done.collect();
    if done.is_empty() {
        Err(DialectError::NoSuccess(tool))
    } else {
        Ok(done)
    }
}

/// From the start to the end of the stream.
fn latency(record: &Record) -> Duration {
    let start = start(record);
    let end = record.end.max(record.completed()).unwrap_or(start);
    end.since(start)
}

/// The server's count, else what was asked for, else 0.
fn input_tokens(record: &Record) -> u32 {
    (record.input_tokens().or(record.input_tokens_asked)).unwrap_or(0)
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// Every message of an answer, in order: tokens, roles, finish and usage. An answer without a
/// stream is one message.
fn all_messages(record: &Record) -> Vec<Offset> {
    if !record.streamed {
        return record.end.into_iter().collect();
    }
    let mut messages = record.chunks.at.clone();
    messages.extend(record.bare.iter().map(|chunk| chunk.at));
    messages.sort();
    messages
}

/// One answered request as a tool sees it.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    start: Offset,
    /// Messages that the tool counts, in order.
    messages: Vec<Offset>,
    ttft: Duration,
    latency: Duration,
    output: u32,
    input: u32,
}

impl Answer {
    fn gaps(&self) -> impl Iterator<Item = Duration> + '_ {
        self.messages.windows(2).map(|pair| pair[1].since(pair[0]))
    }

    /// (latency − TTFT) / (output − 1); absent for one token.
    fn tpot(&self) -> Option<Duration> {
        let gaps = self.output.checked_sub(1).filter(|&gaps| gaps > 0)?;
        Some(self.latency.saturating_sub(self.ttft) / gaps)
    }

    /// Whether it meets a limit; an answer of one token meets any limit of TPOT.
    fn meets(&self, metric: GoodputMetric, limit: Duration) -> bool {
        let value = match metric {
            GoodputMetric::Ttft => self.ttft,
            GoodputMetric::Tpot => self.tpot().unwrap_or_default(),
            GoodputMetric::E2el => self.latency,
        };
        value <= limit
    }
}

/// The two peak figures: buckets of a second from the first start. Messages are counted, and
/// requests that followed each other within a second count as concurrent.
fn peaks(answers: &[Answer]) -> (u64, u64) {
    let Some(first) = answers.iter().map(|answer| answer.start).min() else {
        return (0, 0);
    };
    let bucket = |at: Offset| at.since(first).as_secs();
    // Only the seconds in which something happens: a damaged time may lie centuries away.
    let mut messages: BTreeMap<u64, u64> = BTreeMap::new();
    let mut changes: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for answer in answers {
        for &at in &answer.messages {
            *messages.entry(bucket(at)).or_default() += 1;
        }
        changes.entry(bucket(answer.start)).or_default()[0] += 1;
        let after = bucket(answer.start + answer.latency) + 1;
        changes.entry(after).or_default()[1] += 1;
    }
    let under_way = changes.values().scan(0, |count, [begun, ended]| {
        *count = *count + begun - ended;
        Some(*count)
    });
    let most_requests = under_way.max().unwrap_or(0);
    (messages.into_values().max().unwrap_or(0), most_requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_those_of_seconds_and_do_not_depend_on_how_far_apart_they_are() {
        let answer = |start_s: u64, latency_s: u64| Answer {
            start: Offset(start_s * 1_000_000_000),
            messages: vec![Offset((start_s + latency_s) * 1_000_000_000); 3],
            ttft: Duration::ZERO,
            latency: Duration::from_secs(latency_s),
            output: 3,
            input: 1,
        };
        assert_eq!(peaks(&[]), (0, 0));
        assert_eq!(peaks(&[answer(0, 2), answer(2, 1), answer(9, 0)]), (3, 2));
        // 580 years: a bucket for each second would take hundreds of gigabytes.
        assert_eq!(peaks(&[answer(0, 1), answer(1, 18_000_000_000)]), (3, 2));
    }
}
