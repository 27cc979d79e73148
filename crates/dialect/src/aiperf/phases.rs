//! What happens at once: requests, prompts and answers under way, and the tokens that are made
//! meanwhile.

use super::answer::Answer;
use super::metric::{Group, Metric, Values};
use super::steps::Steps;
use inferometer_core::record::Record;
use std::ops::RangeInclusive;

const PER_S: f64 = 1e9;

/// From when to when, and how much.
type Span = (u64, u64, f64);

/// All curves over the window, then those of the active parts.
pub(super) fn metrics(
    done: &[Answer<'_>],
    failed: &[&Record],
    window: &RangeInclusive<u64>,
) -> Vec<Metric> {
    // A failure is under way until its last message with text.
    let failures = failed.iter().filter_map(|record| {
        let (begin, last) = (crate::start(record).0, record.last_token()?.0);
        Some((begin, last.max(begin), 1.0))
    });
    let answers = done.iter().map(|it| (it.start.0, it.closed.0, 1.0));
    let under_way = Steps::of_spans(answers.chain(failures));
    let phase =
        |of: &dyn Fn(&Answer<'_>) -> Option<Span>| Steps::of_spans(done.iter().filter_map(of));
    let decoding = phase(&|it| Some((it.first?.0, it.closed.0, 1.0)));
    let prefilling = phase(&|it| Some((it.start.0, it.first?.0, 1.0)));
    let output = Steps::of_spans(done.iter().flat_map(decoded));
    let input = phase(&prefilled);
    let both = done.iter().filter_map(evenly_decoded);
    let both = Steps::of_spans(both.chain(done.iter().filter_map(prefilled)));
    let output_each = output.over(&decoding);
    let input_each = input.over(&prefilling);
    let in_flight = Steps::from_changes(done.iter().flat_map(held_tokens));
    let effective = [
        ("effective_concurrency", &under_way, 1.0),
        ("effective_decode_throughput", &output, PER_S),
        ("effective_prefill_throughput", &input, PER_S),
        ("effective_decode_concurrency", &decoding, 1.0),
        ("effective_prefill_concurrency", &prefilling, 1.0),
        ("effective_total_throughput", &both, PER_S),
        ("effective_decode_throughput_per_user", &output_each, PER_S),
        ("effective_prefill_throughput_per_user", &input_each, PER_S),
        ("tokens_in_flight", &in_flight, 1.0),
    ];
    let effective = effective.map(|(tag, steps, scale)| {
        let values = Values::OverTime(steps.held(window, None, scale));
        Metric::new((tag, unit(tag)), Group::Effective, values)
    });
    let active = [
        ("active_decode_throughput", &output, &decoding),
        ("active_prefill_throughput", &input, &prefilling),
        ("active_decode_throughput_per_user", &output_each, &decoding),
        (
            "active_prefill_throughput_per_user",
            &input_each,
            &prefilling,
        ),
        ("active_total_throughput", &both, &under_way),
    ];
    let active = active.map(|(tag, steps, mask)| {
        let values = Values::OverTime(steps.held(window, Some(mask), PER_S));
        Metric::new((tag, unit(tag)), Group::Active, values)
    });
    effective.into_iter().chain(active).collect()
}

fn unit(tag: &str) -> &'static str {
    if tag.ends_with("per_user") {
        "tokens/sec/user"
    } else if tag.ends_with("throughput") {
        "tokens/sec"
    } else if tag.ends_with("concurrency") {
        "requests"
    } else {
        "tokens"
    }
}

/// The prompt's tokens, evenly until the first one of the answer.
fn prefilled(answer: &Answer<'_>) -> Option<Span> {
    let (begin, first) = (answer.start.0, answer.first?.0);
    let took = first.checked_sub(begin).filter(|took| *took > 0)?;
    Some((begin, first, answer.input? / took as f64))
}

/// The tokens after the first, evenly until the end.
fn evenly_decoded(answer: &Answer<'_>) -> Option<Span> {
    let (first, end) = (answer.first?.0, answer.closed.0);
    let took = end.checked_sub(first).filter(|took| *took > 0)?;
    let further = answer.output.filter(|output| *output >= 1.0)? - 1.0;
    Some((first, end, further / took as f64))
}

/// The same, as many in each gap between two messages that did not come at once.
fn decoded<'a>(answer: &Answer<'a>) -> impl Iterator<Item = Span> + use<'a> {
    let gaps = answer.record.chunks.at.windows(2);
    let gaps = gaps
        .map(|pair| (pair[0].0, pair[1].0))
        .filter(|(a, b)| b > a);
    let count = gaps.clone().count() as f64;
    let further = answer.output.filter(|output| *output >= 1.0);
    let further = further.map(|output| output - 1.0).into_iter();
    further.flat_map(move |further| {
        gaps.clone()
            .map(move |(a, b)| (a, b, further / count / (b - a) as f64))
    })
}

/// Tokens of prompt and answer that the server holds: the prompt from the beginning, one token
/// with the first message, the others with the further ones, none after the end.
fn held_tokens(answer: &Answer<'_>) -> Vec<(u64, f64)> {
    let (begin, end) = (answer.start.0, answer.closed.0);
    let mut changes = Vec::new();
    let Some(first) = answer.first.map(|first| first.0) else {
        return changes;
    };
    if let Some(input) = answer.input.filter(|_| first > begin) {
        changes.extend([(begin, input), (end, -input)]);
    }
    let further = &answer.record.chunks.at[1..];
    let output = answer.output.filter(|output| *output >= 1.0);
    if let Some(output) = output.filter(|_| !further.is_empty()) {
        let each = (output - 1.0) / further.len() as f64;
        changes.push((first, 1.0));
        // The last message ends the request, but its tokens were there.
        let last = end.saturating_sub(1);
        changes.extend(further.iter().map(|at| (at.0.min(last), each)));
        changes.push((end, -output));
    }
    changes
}
