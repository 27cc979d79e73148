//! How many requests the words above a result say that it is of: `50 × concurrency prompts`,
//! `每档 300 条请求`. Without that number nobody can tell a difference from chance.

use crate::assumption::Assumption;
use crate::quantity::count;
use crate::result::ImportedResult;
use crate::section;
use inferometer_notes::Notes;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stated {
    /// At each load.
    All(u64),
    /// For each stream.
    PerStream(u64),
}

/// Gives results that do not say it themselves what headings and sentences say, the nearest first.
pub(crate) fn read(results: &mut [ImportedResult], notes: &Notes<'_>) {
    let sections = section::sections(notes);
    for found in results {
        let first = found.span().0;
        let Some(summary) = &mut found.summary else {
            continue;
        };
        let requests = &mut summary.requests;
        if requests.planned.or(requests.ok).is_some() {
            continue;
        }
        let mut words = section::words_above(&sections, notes, first);
        let Some((stated, text)) = words.find_map(|text| Some((stated(text)?, text))) else {
            continue;
        };
        let streams = found.point.get("concurrency").and_then(|it| it.as_f64());
        let streams = streams.and_then(count).or(summary.concurrency.configured);
        let planned = stated.of_streams(streams);
        if planned.is_some() {
            requests.planned = planned;
            let answered = requests.answered();
            // Of each request one value.
            let latency = &mut summary.latency;
            let samples = [
                &mut latency.ttft_ms,
                &mut latency.tpot_ms,
                &mut latency.e2e_ms,
            ];
            for spread in samples.into_iter().flatten() {
                spread.n = spread.n.or(answered);
            }
            let text = section::plain(text);
            let text = text.trim_start_matches(['#', ' ']).to_owned();
            found.assumed.push(Assumption::RequestsInWords { text });
        }
    }
}

impl Stated {
    /// How many requests a result with so many streams is of.
    pub(crate) fn of_streams(self, streams: Option<u64>) -> Option<u64> {
        match self {
            Stated::All(planned) => Some(planned),
            Stated::PerStream(each) => streams.and_then(|streams| each.checked_mul(streams)),
        }
    }
}

/// What a caption says of every cell of its table: `（每格 200 条）`.
pub(crate) fn of_every_cell(caption: &str) -> Option<Stated> {
    let caption = caption.to_lowercase();
    let counts = PER_CELL
        .iter()
        .filter_map(|word| number_behind(&caption, word));
    only(counts).map(Stated::All)
}

/// Words in front of the number of requests of a cell or load.
const PER_CELL: [&str; 7] = [
    "每格",
    "每档",
    "每点",
    "每组",
    "每个并发",
    "per cell",
    "per point",
];

/// Longest line that is read.
const LONGEST: usize = 300;
const STREAMS: [&str; 6] = [
    "concurrency",
    "并发数",
    "并发量",
    "并发",
    "parallel",
    "streams",
];
const REQUESTS: [&str; 6] = ["prompt", "request", "请求", "样本", "数据", "samples"];
const COUNTED: [&str; 11] = [
    "requests",
    "prompts",
    "samples",
    "个请求",
    "条请求",
    "次请求",
    "条数据",
    "条样本",
    "个prompt",
    "条prompt",
    "个样本",
];
const NAMED: [&str; 6] = [
    "num-prompts",
    "num_prompts",
    "num prompts",
    "请求总数",
    "请求数",
    "requests:",
];
/// What is told of some of the requests, or of their rate, is not how many there are.
const OF_SOME: [&str; 15] = [
    "失败",
    "fail",
    "超时",
    "timeout",
    "timed out",
    "reject",
    "拒绝",
    "error",
    "/s",
    "每秒",
    "per second",
    "qps",
    "missing",
    "丢",
    "only",
];

fn stated(text: &str) -> Option<Stated> {
    let text = text.to_lowercase().replace(['×', '✕', '＊', '⨉'], "*");
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if text.len() > LONGEST || has(&OF_SOME) {
        return None;
    }
    if !has(&REQUESTS) {
        return of_every_cell(&text);
    }
    let factors = STREAMS.iter().flat_map(|word| factors_of(&text, word));
    if let Some(each) = only(factors) {
        return Some(Stated::PerStream(each));
    }
    let counted = COUNTED.iter().filter_map(|word| number_before(&text, word));
    let named = NAMED.iter().filter_map(|word| number_behind(&text, word));
    let each = PER_CELL
        .iter()
        .filter_map(|word| number_behind(&text, word));
    only(counted.chain(named).chain(each)).map(Stated::All)
}

/// The one number of several that are the same.
fn only(numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let mut numbers = numbers.filter(|number| *number > 0);
    let first = numbers.next()?;
    numbers.all(|other| other == first).then_some(first)
}

/// What a word is multiplied by, before or behind it.
fn factors_of(text: &str, word: &str) -> Vec<u64> {
    let is_times = |sign: char| matches!(sign, '*' | 'x');
    let around = text.match_indices(word).flat_map(|(at, _)| {
        let before = text[..at].trim_end().strip_suffix(is_times);
        let behind = text[at + word.len()..].trim_start().strip_prefix(is_times);
        [before.and_then(ending), behind.and_then(beginning)]
    });
    around.flatten().collect()
}

fn number_before(text: &str, word: &str) -> Option<u64> {
    ending(&text[..text.find(word)?])
}

fn number_behind(text: &str, word: &str) -> Option<u64> {
    let (_, behind) = text.split_once(word)?;
    beginning(behind.trim_start_matches([' ', '=', ':', '：', '为']))
}

/// The whole number that a text ends with.
fn ending(text: &str) -> Option<u64> {
    let text = text.trim_end();
    let begin = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let is_part = text[..begin].ends_with(['.', ',', '-', '~', '/', '*', '–', '～']);
    let number = text[begin..].parse().ok();
    number.filter(|_| !is_part && !text[..begin].ends_with(|c: char| c.is_ascii_alphanumeric()))
}

/// The whole number that a text begins with.
fn beginning(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_part = rest.starts_with(['.', '-', '~', '/', '*', '–', '～', '%'])
        || rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    let number = text[..text.len() - rest.len()].parse().ok();
    number.filter(|_| !is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_how_many_requests_there_were() {
        for (text, expected) in [
            (
                "short chat 128/128, 50 × concurrency prompts",
                Stated::PerStream(50),
            ),
            ("每档 10×并发 个请求", Stated::PerStream(10)),
            ("请求数 = 并发 x 20", Stated::PerStream(20)),
            ("num-prompts 300, seed 1", Stated::All(300)),
            ("每档 300 条请求，间隔 1 分钟", Stated::All(300)),
            ("All levels: 1000 requests", Stated::All(1000)),
            ("单机 A100，每格 500 个文本块", Stated::All(500)),
            ("统一使用 openqa 数据集，每档 500 条", Stated::All(500)),
            ("参数对比（并发 128，每组 1000 条）", Stated::All(1000)),
        ] {
            assert_eq!(stated(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_told_of_some_requests_or_is_not_sure_is_not_taken() {
        for text in [
            "12 requests failed",
            "1000 requests 中 3 个超时",
            "4.5 requests/s",
            "100-1000 requests",
            "200 requests or 300 prompts",
            "每档 200 条请求，共 1000 条数据",
            "concurrency 64",
            "64 并发",
            "2 x H20, concurrency 8",
        ] {
            assert_eq!(stated(text), None, "{text}");
        }
    }
}
