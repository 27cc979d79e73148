//! Numbers that no run can have had together, or at all.

use super::{IMPOSSIBLE, TOLERANCE, mean_latency_ms};
use crate::doubt::ImportDoubt;
use crate::doubt_texts::ImportDoubtText::{self as Text, *};
use crate::rounding::half_unit;
use crate::summary::{ImportedSummary, Spread};
use inferometer_core::doubt::Severity::{self, Invalid, Warn};

/// How far the throughput may be above concurrency × mean speed, since long answers weigh more.
const FASTER_THAN_MEAN: f64 = 2.0;
/// Tokens of one character of any text, with room for those that are not shown.
const MOST_TOKENS_PER_CHAR: f64 = 100.0;
/// Tokens or requests per second, and milliseconds, beyond what anything on earth does.
const MOST_PER_S: f64 = 1e9;
const MOST_MS: f64 = 1e10;
/// More requests in flight than streams, beyond which digits and another window explain nothing.
const FEW_TOO_MANY: f64 = 1.05;
const TOO_MANY: f64 = 1.2;
/// Share by which the digits of a latency excuse it; a whole number of seconds may be exact.
const ROUGHEST_LATENCY: f64 = 0.15;

pub(super) fn impossible(summary: &ImportedSummary, rate: Option<f64>) -> Vec<ImportDoubt> {
    let beyond = limits(summary)
        .into_iter()
        .filter_map(|(name, value, of, limit)| {
            let (value, limit) = value.zip(limit)?;
            (value > limit).then_some(contradiction((name, value), (of, limit), Invalid))
        });
    let mut doubts = Vec::from_iter(beyond);
    doubts.extend(too_many_in_flight(summary, rate));
    doubts.extend(other_length(summary));
    doubts
}

fn contradiction(printed: (Text, f64), from: (Text, f64), severity: Severity) -> ImportDoubt {
    ImportDoubt::Contradiction {
        printed,
        from,
        severity,
    }
}

type Limit = (Text, Option<f64>, Text, Option<f64>);

/// Values, and what they cannot be above.
fn limits(summary: &ImportedSummary) -> Vec<Limit> {
    let (requests, rates) = (&summary.requests, &summary.throughput);
    let counts = [requests.accounted_for(), requests.planned];
    let [ended, planned] = counts.map(|count| count.map(|n| n as f64));
    let speed = summary.speed.per_user_tokens_per_s.as_ref();
    let speed = speed.and_then(|it| it.max.or(it.mean.map(|mean| FASTER_THAN_MEAN * mean)));
    let streams = summary.concurrency.configured.map(|n| n as f64);
    let by_users = streams.zip(speed).map(|(streams, speed)| streams * speed);
    let written = rates.output_chars_per_s.zip(rates.output_tokens_per_s);
    let chars = (summary.tokens.chars_per_token).or(written.map(|(chars, all)| chars / all));
    let latencies = summary.latency.known().into_iter();
    let latencies = latencies.flat_map(|(_, spread)| {
        let ranks = spread.percentiles().into_iter().map(|(_, value)| value);
        ranks.chain(spread.mean).chain(spread.max)
    });
    let longest = latencies.reduce(f64::max);
    let (input, output) = (rates.input_tokens_per_s, rates.output_tokens_per_s);
    let total = rates.total_tokens_per_s;
    // What ended in a window took no longer, unless it began before or was cut.
    let window = summary.window_s.filter(|_| requests.cut.is_none());
    let window_ms = window.map(|window_s| 1000.0 * (1.0 + TOLERANCE) * window_s);
    let latency_ms = mean_latency_ms(summary);
    let fastest = Some(MOST_PER_S);
    let most_tokens = Some(MOST_TOKENS_PER_CHAR);
    vec![
        (EndedRequests, ended, PlannedRequests, planned),
        (OutputThroughput, output, StreamsTimesSpeed, by_users),
        (
            TokensPerChar,
            chars.map(f64::recip),
            MostPossible,
            most_tokens,
        ),
        (OutputThroughput, output, MostPossible, fastest),
        (InputThroughput, input, MostPossible, fastest),
        (TotalThroughput, total, MostPossible, fastest),
        (Qps, rates.requests_per_s, MostPossible, fastest),
        (ALatency, longest, MostPossible, Some(MOST_MS)),
        (MeanLatency, latency_ms, Duration, window_ms),
    ]
}

fn mean(spread: &Option<Spread>) -> Option<f64> {
    spread.as_ref()?.mean
}

/// Little's law: a closed loop has no more requests in flight than streams.
fn too_many_in_flight(summary: &ImportedSummary, rate: Option<f64>) -> Option<ImportDoubt> {
    // At a rate latency may count from a planned arrival, before a stream is free.
    let streams = summary
        .concurrency
        .configured
        .filter(|_| !rate.is_some_and(f64::is_finite))?;
    let latency_s = mean(&summary.latency.e2e_ms)? / 1000.0;
    let requests_per_s = summary.throughput.requests_per_s?;
    let in_flight = requests_per_s * latency_s;
    // A rate of two digits is as rough, and so is a latency in tenths of a second.
    let rough = 0.005 / requests_per_s.max(f64::MIN_POSITIVE);
    let rough = rough + (half_unit(latency_s) / latency_s).min(ROUGHEST_LATENCY);
    let share = in_flight / (streams as f64 * (1.0 + rough));
    let severity = match share {
        share if share > TOO_MANY => Invalid,
        share if share > FEW_TOO_MANY => Warn,
        _ => return None,
    };
    let streams = (Streams, streams as f64);
    Some(contradiction(
        (QpsTimesLatency, in_flight),
        streams,
        severity,
    ))
}

/// Answers as long as they last, beside as long as throughput makes them: a digit that is missing
/// in one of them makes a factor of ten.
fn other_length(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let latency = &summary.latency;
    let (e2e, ttft) = (mean(&latency.e2e_ms)?, mean(&latency.ttft_ms)?);
    let tpot = mean(&latency.tpot_ms).filter(|tpot| *tpot > 0.0)?;
    // Seconds may be written in few digits.
    let rough = 1000.0
        * [e2e, ttft]
            .map(|ms| half_unit(ms / 1000.0))
            .into_iter()
            .sum::<f64>();
    let requests_per_s = summary.throughput.requests_per_s?;
    let by_time = |ms: f64| requests_per_s * (1.0 + (ms / tpot).max(0.0));
    let [least, follows, most] = [-rough, 0.0, rough].map(|off| by_time(e2e - ttft + off));
    let output = summary.throughput.output_tokens_per_s?;
    let is_off = output < least * IMPOSSIBLE || output > most / IMPOSSIBLE;
    let from = (QpsTimesTokens, follows);
    is_off.then(|| contradiction((OutputThroughput, output), from, Invalid))
}
