//! Lines between results that tell of requests that failed or were refused: a log prints them on
//! its way, and a result that counts its answers alone would hide them.

use crate::block::entries;
use crate::commands::is_program;
use crate::doubt::ToldFailures;
use crate::failure_words::FAILED;
use crate::heading::named_load;
use crate::label::Field;
use crate::quantity::count;
use crate::result::ImportedResult;
use crate::section::{home_of, sections};
use inferometer_notes::Notes;
use inferometer_text::hostile::printable;

/// Longest line that is looked at, in bytes.
const LONGEST: usize = 2000;
/// Lines behind a result in which a script may count what failed of it.
const LARGEST_GAP: usize = 2;
/// Words of which one stands before a status: `HTTP/1.1" 500`, `status code 429`.
const STATUS: [&str; 3] = ["http", "status", "code"];

#[derive(Debug, PartialEq)]
enum Told {
    Count(u64),
    One,
}

/// Notes what lines that nobody took tell of failures at the result that they are of: the one that
/// follows, since it is printed at the end; a count right behind a result is that result's own, and so
/// is what stands before the next command.
pub(crate) fn find(results: &mut [ImportedResult], notes: &mut Notes<'_>) {
    let sections = sections(notes);
    let lines = 0..notes.lines.len();
    let commands: Vec<usize> = lines.filter(|at| is_program(notes.lines[*at])).collect();
    for line in 0..notes.lines.len() {
        let Some(told) = told(notes.bare(line)) else {
            continue;
        };
        let next = results.partition_point(|found| found.span().0 <= line);
        let home = home_of(&sections, line);
        let is_here = |at: &usize| {
            let found = results.get(*at);
            found.is_some_and(|found| home_of(&sections, found.span().0) == home)
        };
        let before = next.checked_sub(1).filter(is_here);
        let behind = before.map(|at| results[at].span().1);
        // Among its own lines it is of nothing else.
        let is_inside = behind.is_some_and(|end| line <= end);
        // A block is taken whole, with what stands between its figures.
        let is_open = |at: usize| {
            let summary = results[at].summary.as_ref();
            summary.is_some_and(|it| it.requests.failed.is_none())
        };
        let is_missing = is_inside && before.is_some_and(is_open) && told != Told::One;
        if notes.is_taken(line) && !is_missing {
            continue;
        }
        let is_behind = behind.is_some_and(|end| line.saturating_sub(end) <= LARGEST_GAP);
        let command = behind.map(|end| commands.partition_point(|at| *at <= end));
        let command = command.and_then(|at| commands.get(at));
        let begins = results.get(next).map_or(0, |found| found.span().0);
        let is_over = command.is_some_and(|command| (line..begins).contains(command));
        // `并发 128 报了不少错` names the one that it is of.
        let load = named_load(notes.bare(line));
        let has_load = |at: &usize| {
            let point = results.get(*at).map(|found| &found.point);
            let named = load.iter().flatten();
            let mut same =
                named.map(|(key, value)| point.is_some_and(|it| it.get(key) == Some(value)));
            load.is_some() && same.all(|it| it)
        };
        let named = Some(next).filter(is_here).filter(has_load);
        let of = match told {
            _ if is_inside => before,
            _ if named.is_some() && !before.as_ref().is_some_and(has_load) => named,
            Told::Count(_) if is_behind => before,
            _ if is_over => before,
            _ => Some(next).filter(is_here).or(before),
        };
        let is_row = |at: usize| {
            let mut beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            beside.any(|other| results.get(other).map(|it| it.lines) == Some(results[at].lines))
        };
        match of {
            Some(at) if !is_row(at) => {
                let sample = printable(notes.bare(line), 200);
                account(&mut results[at], told, sample);
                notes.take((line, line));
            }
            // Whose it is nobody knows: it is named as a line that was not read.
            _ => notes.fail((line, line)),
        }
    }
}

/// Takes a count as the result's own where that fits what it says itself; else it is told beside.
fn account(found: &mut ImportedResult, told: Told, sample: String) {
    // What could not be measured at all failed as a whole.
    let Some(summary) = &mut found.summary else {
        return;
    };
    let requests = &mut summary.requests;
    if let (Told::Count(failed), None, None) = (&told, requests.failed, requests.failed_share) {
        let ended = requests.ok.map(|ok| ok.saturating_add(*failed));
        let fits = requests
            .planned
            .zip(ended)
            .is_none_or(|(all, ended)| ended <= all);
        if fits {
            requests.failed = Some(*failed);
            return;
        }
    }
    let known = found.told_failures.get_or_insert(ToldFailures {
        requests: 0,
        sample,
    });
    known.requests = match told {
        Told::Count(failed) => known.requests.max(failed),
        Told::One => known.requests.saturating_add(1),
    };
}

/// Requests that a remark says to have failed: `12 requests timed out`, `拒绝 12 个请求`.
pub(crate) fn told_count(remark: &str) -> Option<u64> {
    match told(remark)? {
        Told::Count(failed) => Some(failed),
        Told::One => None,
    }
}

/// Whether a remark tells of some failure, of how many requests it may be: `部分请求报错`, `HTTP 503`.
pub(crate) fn tells_a_failure(remark: &str) -> bool {
    told(remark).is_some()
}

fn told(text: &str) -> Option<Told> {
    if text.len() > LONGEST || text.starts_with(['|', '#', '{', '`']) {
        return None;
    }
    let is_account =
        |field: Field| matches!(field, Field::Failed | Field::Rejected | Field::TimedOut);
    let entries = entries(text);
    if let Some(entry) = entries.iter().find(|entry| is_account(entry.label.field)) {
        let failed = count(entry.quantity.value).filter(|_| entry.quantity.unit.is_none())?;
        return (failed > 0).then_some(Told::Count(failed));
    }
    let text = text.to_lowercase();
    for word in ["requests", "request", "请求"] {
        let Some((before, behind)) = text.split_once(word) else {
            continue;
        };
        if let Some(errors) = errors_beside(behind) {
            return (errors > 0).then_some(Told::Count(errors));
        }
        if let Some(failed) = failed_before(before) {
            return (failed > 0).then_some(Told::Count(failed));
        }
        if !has_failed(behind) {
            continue;
        }
        let before = before.trim_end().trim_end_matches('个').trim_end();
        let is_none = ["no", "没有", "无", "any"]
            .iter()
            .any(|none| before.ends_with(none));
        return match first_count(before) {
            Some(0) => None,
            Some(failed) => Some(Told::Count(failed)),
            None => (!is_none).then_some(Told::One),
        };
    }
    has_status(&text).then_some(Told::One)
}

/// `拒绝 12 个` before the word for requests.
fn failed_before(before: &str) -> Option<u64> {
    let counted = before.trim_end().trim_end_matches('个').trim_end();
    let begin = counted.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let word = counted[..begin].trim_end().trim_end_matches('了');
    let is_failed = FAILED
        .iter()
        .any(|failed| !failed.is_ascii() && word.ends_with(failed));
    is_failed.then(|| counted[begin..].parse().ok())?
}

/// `47 valid requests and 3 errors`.
fn errors_beside(behind: &str) -> Option<u64> {
    let rest = behind.strip_prefix(" and ")?;
    let (errors, rest) = rest.split_once(' ')?;
    rest.starts_with("error").then(|| errors.parse().ok())?
}

/// `failed`, `12 was refused: …`: what became of a request, behind the word for it.
fn has_failed(behind: &str) -> bool {
    let rest = behind.trim_start_matches(|c: char| !c.is_alphabetic());
    let auxiliary = ["was ", "were ", "has ", "have ", "had "].iter();
    let rest = auxiliary.fold(rest, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
    let is_near = behind.len() - rest.len() <= 24;
    is_near && FAILED.iter().any(|word| rest.starts_with(word))
}

/// The number that a text ends with; of `12/100` and `12 of 100` the first.
fn first_count(text: &str) -> Option<u64> {
    let begin = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let last = text[begin..].parse().ok();
    let front = text[..begin].trim_end();
    let part = front
        .strip_suffix('/')
        .or_else(|| front.strip_suffix(" of"));
    last.and(part.and_then(|it| first_count(it.trim_end())).or(last))
}

/// `HTTP/1.1" 503`, `status code: 429`.
fn has_status(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let mut named = false;
    for word in words.filter(|word| !word.is_empty()) {
        if named && word.len() == 3 && matches!(word.parse(), Ok(400..=599)) {
            return true;
        }
        // `1.1` stands between the name of the protocol and the status.
        let is_version = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_digit());
        named = STATUS.contains(&word) || named && is_version;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_tell_failures_are_told_from_others() {
        for (line, expected) in [
            ("12 requests failed", Some(Told::Count(12))),
            ("12/100 requests timed out", Some(Told::Count(12))),
            ("3 of 100 requests were rejected", Some(Told::Count(3))),
            ("5 个请求失败", Some(Told::Count(5))),
            ("拒绝 12 个请求", Some(Told::Count(12))),
            ("超时了3个请求", Some(Told::Count(3))),
            ("Failed requests: 7", Some(Told::Count(7))),
            (
                "Processed 47 valid requests and 3 errors (50 total).",
                Some(Told::Count(3)),
            ),
            ("50 valid requests and 0 errors (50 total)", None),
            ("Request rejected: queue is full", Some(Told::One)),
            ("request 3 refused: sorry", Some(Told::One)),
            (
                "\"POST /v1/completions HTTP/1.1\" 503 Service Unavailable",
                Some(Told::One),
            ),
            ("status code: 429", Some(Told::One)),
            ("\"POST /v1/completions HTTP/1.1\" 200 OK", None),
            ("0 requests failed", None),
            ("no request failed", None),
            ("sending requests to http://host:8000, 500 in all", None),
            ("requests per second: 12", None),
            ("failed requests: 3 %", None),
        ] {
            assert_eq!(told(line), expected, "{line}");
        }
    }
}
