//! Doubts about one result: what its own numbers cannot all be.

mod impossible;

use crate::builder::{OBSERVED, TURN_DELAY};
use crate::doubt::ImportDoubt;
use crate::doubt_texts::ImportDoubtText as Text;
use crate::label::is_account;
use crate::result::{ImportedResult, Tool};
use crate::rounding::{half_unit, is_same};
use crate::summary::{ImportedSummary, Spread};
use inferometer_core::doubt::Severity::{self, Invalid, Warn};
use inferometer_core::quantile::least_samples;
use serde_json::Value;

/// Share of the concurrency that must have been in flight.
const LEAST_IN_FLIGHT: f64 = 0.8;
/// Share of the offered rate that a server completes which keeps up.
const LEAST_KEPT_UP: f64 = 0.9;
/// Mean answers that the last ones of a test may last.
const LAST_ANSWERS: f64 = 1.5;
/// How far numbers that follow from each other may differ, beside rounding.
const TOLERANCE: f64 = 0.02;
/// How far they may differ by another window or another count: one late answer can double the time
/// that all requests are divided by. Beyond it one of them is wrong.
const IMPOSSIBLE: f64 = 0.5;

/// All doubts about a result, the worst first.
pub(crate) fn judge(summary: &ImportedSummary, rate: Option<f64>) -> Vec<ImportDoubt> {
    let mut doubts: Vec<ImportDoubt> = [
        lost_requests(summary),
        failures(summary),
        first_after_end(summary),
        idle_streams(summary).or_else(|| shrunk_concurrency(summary)),
        other_rate(summary, rate),
        overload(summary, rate),
        not_streamed(summary),
        output_capped(summary),
        few_samples(summary),
    ]
    .into_iter()
    .flatten()
    .collect();
    doubts.extend(not_a_distribution(summary));
    doubts.extend(disordered_percentiles(summary));
    doubts.extend(inconsistent(summary));
    doubts.extend(impossible::impossible(summary, rate));
    if rate == Some(f64::INFINITY) && summary.concurrency.configured.is_none() {
        doubts.push(ImportDoubt::AllAtOnce);
    }
    doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.severity()));
    doubts
}

pub(crate) fn lost_requests(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let requests = &summary.requests;
    let planned = requests.planned?;
    let ended = requests.accounted_for()?;
    (ended < planned).then(|| ImportDoubt::LostRequests {
        missing: planned - ended,
        planned,
        ended,
        failed: requests.failed,
    })
}

pub(crate) fn failures(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let gravity = |share: f64| match share {
        share if share > 0.2 => Some(Invalid),
        share if share > 0.01 => Some(Warn),
        _ => None,
    };
    if let (None, Some(share)) = (summary.requests.failed, summary.requests.failed_share) {
        let severity = gravity(share)?;
        return Some(ImportDoubt::FailedShare { share, severity });
    }
    let failed = summary.requests.failed.filter(|failed| *failed > 0)?;
    let all = summary
        .requests
        .planned
        .or(summary.requests.ok.map(|ok| ok.saturating_add(failed)));
    let Some(all) = all else {
        return Some(ImportDoubt::FailuresOfUnknown { failed });
    };
    let severity = gravity(failed as f64 / all.max(1) as f64)?;
    Some(ImportDoubt::Failures {
        failed,
        all,
        severity,
    })
}

/// A mean TTFT above the mean latency, beside rounding.
pub(crate) fn first_after_end(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let ttft_ms = summary.latency.ttft_ms.as_ref()?.mean?;
    let e2e_ms = summary.latency.e2e_ms.as_ref()?.mean?;
    (ttft_ms > e2e_ms * (1.0 + TOLERANCE)).then(|| ImportDoubt::FirstAfterEnd {
        ttft_ms,
        e2e_ms,
        severity: gravity(ttft_ms, e2e_ms),
    })
}

/// How grave it is that two numbers differ that should not.
fn gravity(a: f64, b: f64) -> Severity {
    if apart(a, b) > IMPOSSIBLE {
        Invalid
    } else {
        Warn
    }
}

/// The difference as a share of the larger.
fn apart(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.abs().max(b.abs()).max(f64::MIN_POSITIVE)
}

/// Mean latency in milliseconds: as printed, else from its parts, else from one user's speed.
fn mean_latency_ms(summary: &ImportedSummary) -> Option<f64> {
    let latency = &summary.latency;
    let mean = |spread: &Option<Spread>| spread.as_ref().and_then(|spread| spread.mean);
    let length = summary.tokens.output_mean;
    let parts =
        || Some(mean(&latency.ttft_ms)? + mean(&latency.tpot_ms)? * (length? - 1.0).max(0.0));
    let by_speed = || {
        Some(1000.0 * length? / mean(&summary.speed.per_user_tokens_per_s).filter(|v| *v > 0.0)?)
    };
    mean(&latency.e2e_ms).or_else(parts).or_else(by_speed)
}

/// Fewer requests than streams: never all of these were busy.
fn idle_streams(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let configured = summary.concurrency.configured? as f64;
    let requests = summary.requests.planned.or(summary.requests.ok)? as f64;
    (requests < configured).then_some(ImportDoubt::IdleStreams {
        requests,
        configured,
    })
}

/// Little's law: requests/s × latency is how many were in flight.
pub fn shrunk_concurrency(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let configured = summary.concurrency.configured.filter(|n| *n >= 1)? as f64;
    let latency_s = mean_latency_ms(summary)? / 1000.0;
    let in_flight = match summary.concurrency.mean {
        Some(mean) => mean,
        None => summary.throughput.requests_per_s? * latency_s,
    };
    let e2e = summary.latency.e2e_ms.as_ref();
    let longest_s = e2e
        .and_then(|e2e| e2e.percentiles().last().map(|last| last.1).or(e2e.max))
        .map_or(1.5 * latency_s, |ms| ms / 1000.0)
        .max(latency_s);
    let requests = &summary.requests;
    let by_rate = || Some(summary.throughput.requests_per_s? * summary.window_s?);
    let asked = requests.planned.or(requests.ok).map(|n| n as f64);
    let asked = asked.or_else(by_rate);
    let expected = asked.map_or(configured, |asked| {
        // The last requests drain: when the queue is empty, each stream has half an answer to
        // go on average, and the last one a whole long answer.
        let busy_s = asked * latency_s / configured;
        let window_s = busy_s - 0.5 * latency_s + longest_s;
        (configured * busy_s / window_s.max(busy_s)).min(asked)
    });
    // A stream waits between the turns of its conversation.
    let pause = summary.other.get(TURN_DELAY).and_then(Value::as_f64);
    let pause_s = pause.map_or(0.0, |pause_ms| pause_ms.max(0.0) / 1000.0);
    let expected = if latency_s > 0.0 {
        expected * latency_s / (latency_s + pause_s)
    } else {
        expected
    };
    let at_most = match summary.concurrency.mean {
        Some(mean) => mean,
        None => in_flight + not_answered(summary, longest_s),
    };
    (at_most < LEAST_IN_FLIGHT * expected).then_some(ImportDoubt::ShrunkConcurrency {
        in_flight,
        configured,
        expected,
    })
}

/// How many more may have been in flight: what is told as failed may have held a stream all the
/// time, what is lost without a word as long as the longest answer.
fn not_answered(summary: &ImportedSummary, longest_s: f64) -> f64 {
    let requests = &summary.requests;
    let all = requests.planned.or(requests.ok).unwrap_or_default() as f64;
    let share = requests.failed_share.unwrap_or(0.0);
    let failed = requests.failed.map_or(share * all, |failed| failed as f64);
    let lost = requests.planned.zip(requests.accounted_for());
    let lost = lost.map_or(0, |(planned, ended)| planned.saturating_sub(ended)) as f64;
    let window_s = requests.ok.zip(summary.throughput.requests_per_s);
    let window_s = window_s.map_or(f64::INFINITY, |(ok, rate)| ok as f64 / rate);
    failed + lost * longest_s / window_s
}

/// More than four deviations of a Poisson process above the rate. Fewer are the server's affair.
fn other_rate(summary: &ImportedSummary, rate: Option<f64>) -> Option<ImportDoubt> {
    let asked = rate.filter(|rate| rate.is_finite() && *rate > 0.0)?;
    let requests = &summary.requests;
    let count = requests.planned.or(requests.ok).filter(|n| *n > 0)? as f64;
    let sent = summary.throughput.requests_per_s?;
    (sent > asked * (1.0 + 4.0 / count.sqrt())).then_some(ImportDoubt::OtherRate { asked, sent })
}

/// Fewer requests/s than were offered, by more than four deviations of a Poisson process and the
/// time that the last answers take. Their wait for a first token is not taken off: a queue that
/// grows makes it long.
pub(crate) fn overload(summary: &ImportedSummary, rate: Option<f64>) -> Option<ImportDoubt> {
    // A cap on the concurrency holds arrivals back at the client.
    let capped = summary.concurrency.configured.is_some();
    let offered = rate.filter(|rate| rate.is_finite() && *rate > 0.0 && !capped)?;
    let requests = &summary.requests;
    let count = requests.planned.or(requests.ok).filter(|n| *n > 0)? as f64;
    let done = summary.throughput.requests_per_s.filter(|it| *it > 0.0)?;
    // A rate that the counts contradict decides nothing against the server.
    let counted = requests.ok.zip(summary.window_s.filter(|it| *it > 0.0));
    let done = counted.map_or(done, |(ok, window_s)| done.max(ok as f64 / window_s));
    let first_s = summary.latency.ttft_ms.as_ref().and_then(|it| it.mean);
    let answer_s = (mean_latency_ms(summary).unwrap_or(0.0) - first_s.unwrap_or(0.0)) / 1000.0;
    let window_s = count / offered + LAST_ANSWERS * answer_s.max(0.0);
    let answered = requests.ok.map_or(1.0, |ok| (ok as f64 / count).min(1.0));
    let least = answered * count / window_s * (1.0 - 4.0 / count.sqrt());
    // A few per cent are nothing to warn of, however many requests tell them.
    (done < least && done < LEAST_KEPT_UP * offered)
        .then_some(ImportDoubt::Overload { offered, done })
}

pub(crate) fn not_streamed(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let ttft = summary.latency.ttft_ms.as_ref()?;
    let e2e = summary.latency.e2e_ms.as_ref()?;
    if summary.tokens.output_mean.is_some_and(|mean| mean <= 1.0) {
        return None;
    }
    let ranks = e2e.percentiles();
    let pairs = [(ttft.mean, e2e.mean), (ttft.max, e2e.max)]
        .into_iter()
        .filter_map(|(a, b)| Some((a?, b?)))
        .chain(ttft.percentiles().into_iter().filter_map(|(rank, value)| {
            Some((value, ranks.iter().find(|(other, _)| *other == rank)?.1))
        }));
    let mut compared = 0;
    for (first, whole) in pairs {
        // Clocks read one after the other, and digits cut off, make them differ by a hair.
        if !is_same(first, whole) && (first - whole).abs() > 1e-3 * whole || first == 0.0 {
            return None;
        }
        compared += 1;
    }
    (compared > 0).then_some(ImportDoubt::NotStreamed)
}

/// Three percentiles or more that are equal to the last digit.
pub(crate) fn not_a_distribution(summary: &ImportedSummary) -> Vec<ImportDoubt> {
    let known = summary.latency.known().into_iter();
    let flat = known.filter(|(_, spread)| spread.is_one_number());
    flat.map(|(metric, _)| ImportDoubt::NotADistribution { metric })
        .collect()
}

/// Latency percentiles that fall, or that no values of this mean have. Speeds fall by design and are not looked at.
pub(crate) fn disordered_percentiles(summary: &ImportedSummary) -> Vec<ImportDoubt> {
    let mut doubts = Vec::new();
    for (name, spread) in summary.latency.known() {
        let mut ordered: Vec<(String, f64)> = Vec::new();
        ordered.extend(spread.min.map(|min| ("min".into(), min)));
        let ranks = spread.percentiles().into_iter();
        ordered.extend(ranks.map(|(rank, value)| (format!("p{rank}"), value)));
        ordered.extend(spread.max.map(|max| ("max".into(), max)));
        let falls = |pair: &&[(String, f64)]| {
            let (lower, upper) = (pair[0].1, pair[1].1);
            lower > upper && !is_same(lower, upper)
        };
        // Half of the values are the median or more, so that the mean is half of it at least; a
        // twentieth are p95 or more, and so on.
        let mean = spread.mean.map(|mean| ("mean".to_owned(), mean));
        let beyond_mean = spread.percentiles().into_iter().find_map(|(rank, value)| {
            let most = mean.clone()?.1 / (1.0 - rank / 100.0).max(f64::MIN_POSITIVE);
            (value > most * (1.0 + TOLERANCE)).then(|| (format!("p{rank}"), value))
        });
        let falling = ordered.windows(2).find(falls);
        let pair = (falling.map(|pair| (pair[0].clone(), pair[1].clone())))
            .or_else(|| beyond_mean.zip(mean));
        if let Some((lower, upper)) = pair {
            doubts.push(ImportDoubt::DisorderedPercentiles {
                metric: name,
                lower,
                upper,
            });
        }
    }
    doubts
}

/// Throughput that does not follow from the counts.
pub(crate) fn inconsistent(summary: &ImportedSummary) -> Vec<ImportDoubt> {
    let throughput = &summary.throughput;
    let tokens = &summary.tokens;
    let observed = summary.other.get(OBSERVED).and_then(Value::as_f64);
    let window = (observed.or(summary.window_s)).filter(|window| *window > 0.0);
    let per_second = |total: Option<u64>| Some(total? as f64 / window?);
    // A time that is written in tenths of a second is as rough.
    let rough_window = window.filter(|window| window.fract() != 0.0);
    let rough_window = rough_window.map_or(0.0, |window| half_unit(window) / window);
    let rate = throughput.requests_per_s;
    // Of those under way at both ends of a window, tools count some as ended in it and some not.
    let at_ends = (summary.concurrency.mean.zip(summary.requests.ok))
        .filter(|(_, ok)| summary.requests.cut.is_some() && *ok > 0)
        .map_or(0.0, |(mean, ok)| mean / ok as f64);
    // Where the rate is printed with two digits, its product is as rough.
    let rough = rate
        .filter(|rate| *rate > 0.0)
        .map_or(0.0, |rate| 0.005 / rate);
    // A mean without a fraction is a rounded one, unless the tokens it is of are counted too, or
    // all answers are of one length.
    let spread = tokens.output_spread.as_ref();
    let is_exact = tokens.output.is_some()
        || spread.is_some_and(|spread| spread.min.is_some() && spread.min == spread.max);
    let rounded = tokens
        .output_mean
        .filter(|mean| *mean > 0.0 && mean.fract() == 0.0 && !is_exact)
        .map_or(0.0, |mean| half_unit(mean) / mean);
    let ended = summary.requests.ok.map(|ok| ok as f64);
    let ended_per_second = ended.and_then(|ended| Some(ended / window?));
    let product = rate.zip(tokens.output_mean).map(|(rate, mean)| rate * mean);
    let sum = throughput
        .input_tokens_per_s
        .zip(throughput.output_tokens_per_s)
        .map(|(a, b)| a + b);
    let output = throughput.output_tokens_per_s;
    // All tokens are at least those of the answers.
    let least_total = throughput
        .total_tokens_per_s
        .filter(|total| output.is_some_and(|output| output > *total));
    let [of_output, of_input] = [tokens.output, tokens.input].map(per_second);
    let (input, total) = (throughput.input_tokens_per_s, throughput.total_tokens_per_s);
    use Text::*;
    [
        (
            OutputThroughput,
            output,
            QpsTimesOutput,
            product,
            rough + rounded,
        ),
        (
            OutputThroughput,
            output,
            OutputOverTime,
            of_output,
            rough_window,
        ),
        (
            InputThroughput,
            input,
            InputOverTime,
            of_input,
            rough_window,
        ),
        (TotalThroughput, total, SumOfBoth, sum, 0.0),
        (OutputThroughput, output, TotalThroughput, least_total, 0.0),
        (
            Qps,
            rate,
            RequestsOverTime,
            ended_per_second,
            rough + rough_window + at_ends,
        ),
    ]
    .into_iter()
    .filter_map(|(name, printed, from, follows, rough)| {
        let (printed, follows) = (printed?, follows?);
        let is_off = apart(printed, follows) > TOLERANCE + rough;
        is_off.then(|| ImportDoubt::Contradiction {
            printed: (name, printed),
            from: (from, follows),
            severity: gravity(printed, follows),
        })
    })
    .collect()
}

/// Most answers end at one value.
pub(crate) fn output_capped(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let tokens = &summary.tokens;
    let at_cap = |cap: f64| Some(ImportDoubt::OutputCapped { cap });
    if let Some(spread) = &tokens.output_spread {
        let least = spread.percentiles().first().copied();
        // From the 75th percentile on one value is a quarter of all: only a limit makes that.
        if let (Some((rank, value)), Some(max)) = (least, spread.max.or(spread.p99))
            && rank <= 75.0
            && value == max
            && spread.min != Some(max)
            && max > 1.0
        {
            return at_cap(max);
        }
        if let (Some(p75), Some(max)) = (spread.p75, spread.max)
            && p75 == max
            && max > 1.0
        {
            return at_cap(max);
        }
    }
    if let Some(Value::Array(lengths)) = summary.other.get("output_lens") {
        let lengths: Vec<f64> = lengths.iter().filter_map(Value::as_f64).collect();
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let at_longest = lengths.iter().filter(|length| **length == longest).count();
        if lengths.len() >= 10 && longest > 1.0 && 2 * at_longest > lengths.len() {
            return at_cap(longest);
        }
    }
    match (tokens.output_asked, tokens.output_mean) {
        (Some(cap), Some(mean)) if cap > 1.0 && mean >= 0.995 * cap && mean <= cap * 1.001 => {
            at_cap(cap)
        }
        _ => None,
    }
}

pub(crate) fn few_samples(summary: &ImportedSummary) -> Option<ImportDoubt> {
    let n = summary.requests.ok.or(summary.requests.planned)?;
    let mut ranks: Vec<f64> = summary
        .latency
        .known()
        .iter()
        .flat_map(|(_, spread)| spread.percentiles())
        .map(|(rank, _)| rank)
        .filter(|rank| *rank > 50.0 && least_samples(*rank).is_some_and(|least| n < least))
        .collect();
    ranks.sort_by(f64::total_cmp);
    ranks.dedup();
    let least = least_samples(*ranks.last()?)?;
    Some(ImportDoubt::FewSamples {
        count: n,
        ranks,
        least,
    })
}

/// More failures in the lines beside a result than it counts itself.
pub(crate) fn told_failures(found: &ImportedResult) -> Option<ImportDoubt> {
    let counted = found.summary.as_ref()?.requests.failed.unwrap_or(0);
    let told = found.told_failures.as_ref()?;
    (told.requests > counted).then(|| ImportDoubt::ToldFailures(told.clone()))
}

/// Columns of a table that tell what became of requests, and were not read.
pub(crate) fn unread_accounts(found: &ImportedResult) -> Option<ImportDoubt> {
    // Tools print more than a summary has a place for; who keeps a table by hand keeps what counts.
    if found.tool != Tool::MarkdownTable {
        return None;
    }
    let names: Vec<String> = (found.unread.iter())
        .filter(|name| is_account(name))
        .cloned()
        .collect();
    (!names.is_empty()).then_some(ImportDoubt::UnreadAccounts { names })
}

#[cfg(test)]
mod tests;
