//! What stands above a result: its name, and the load that only a heading gives.

use crate::announced::is_announcement;
use crate::block::{Entry, entries};
use crate::context::memory_gib;
use crate::doubt_words::doubt_said;
use crate::group::load;
use crate::label::Field;
use crate::quantity::{count, leading_number, number};
use crate::remeasured;
use crate::result::{ImportedResult, Tool};
use crate::section;
use inferometer_notes::{Notes, bare};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Lines right above a result in which its load may be announced.
const LARGEST_ANNOUNCEMENT: usize = 4;

/// Names each result by the headings above it, and takes the load from there that the result
/// itself does not give. Returns the title of the whole.
pub(crate) fn read(results: &mut [ImportedResult], notes: &Notes<'_>) -> Option<String> {
    let sections = section::sections(notes);
    let mut floor = 0;
    let mut last: Option<((u64, u64), Option<String>)> = None;
    for found in &mut *results {
        let (first, end) = found.span();
        let heading = match &last {
            // Columns of one table share its heading.
            Some((lines, heading)) if *lines == found.lines => heading.clone(),
            _ => (floor..first).rev().find_map(|line| heading(notes, line)),
        };
        let above = section::above(&sections, first);
        let mut load = announced(notes, floor.min(first), first);
        for title in heading.iter().chain(above.iter().map(|it| &it.title)) {
            load.fill(of_heading(title));
        }
        load.settle(found);
        last = Some((found.lines, heading.clone()));
        floor = end + 1;
        let chain = above.iter().rev().map(|it| &it.title);
        found.section = chain.filter(|it| !is_only_load(it)).cloned().collect();
        found.heading = heading;
    }
    told_apart(results);
    remeasured::put_beside_first(results);
    let remarked = remarked(results);
    for (found, is_remarked) in results.iter_mut().zip(remarked) {
        let heading = found.heading.clone();
        let heading = heading.filter(|it| !is_only_load(it) && !is_remarked);
        let heading = heading.or_else(|| found.section.last().cloned());
        found.label = match (heading, found.label.take()) {
            (Some(heading), Some(own)) if found.tool == Tool::MarkdownTable => {
                Some(format!("{heading}: {own}"))
            }
            (heading, own) => own.or(heading),
        };
    }
    section::title(&sections)
}

/// Where several tables stand in one section, the line above each is its heading, and that of
/// what follows it.
fn told_apart(results: &mut [ImportedResult]) {
    let mut rows: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for found in results.iter() {
        *rows.entry(found.lines).or_default() += 1;
    }
    for of_section in results.chunk_by_mut(|a, b| a.section == b.section) {
        let own = |found: &ImportedResult| {
            let heading = found.heading.clone().filter(|it| !is_only_load(it));
            heading.filter(|it| found.section.last() != Some(it))
        };
        let is_table = |found: &ImportedResult| rows[&found.lines] > 1;
        remeasured::put_beside_table(of_section, is_table);
        let tables = of_section.iter().filter(|found| is_table(found));
        let names: BTreeSet<Option<String>> = tables.map(own).collect();
        if names.len() < 2 {
            continue;
        }
        let mut name = None;
        for found in of_section {
            if is_table(found) {
                name = own(found);
            }
            found.section.extend(name.clone());
        }
    }
}

/// Which results have a remark behind the load of their heading, `concurrency 16 (again)`, beside
/// another of that load without one: the same measured twice. Words that several headings have are
/// what was changed, and are left to tell their results apart.
fn remarked(results: &[ImportedResult]) -> Vec<bool> {
    type Of<'a> = (&'a str, &'a [String]);
    let of = |found: &'_ ImportedResult| (found.file.clone(), found.section.clone(), load(found));
    let mut bare = BTreeSet::new();
    let mut said: BTreeMap<(Of<'_>, String), usize> = BTreeMap::new();
    for found in results.iter().filter(|found| found.summary.is_some()) {
        let words = found.heading.as_deref().and_then(words_behind_load);
        if let Some(words) = words {
            let place = (found.file.as_str(), found.section.as_slice());
            *said.entry((place, words)).or_default() += 1;
        } else if found.heading.as_deref().is_none_or(is_only_load) {
            bare.insert(of(found));
        }
    }
    let is_remarked = |found: &ImportedResult| {
        let Some(words) = found.heading.as_deref().and_then(words_behind_load) else {
            return false;
        };
        let place = (found.file.as_str(), found.section.as_slice());
        said.get(&(place, words)) == Some(&1) && bare.contains(&of(found))
    };
    results.iter().map(is_remarked).collect()
}

/// The words, without numbers, of a heading that begins with a load and says more.
fn words_behind_load(text: &str) -> Option<String> {
    if of_heading(text).0.is_empty() || is_only_load(text) {
        return None;
    }
    let mut ends = text
        .char_indices()
        .filter(|(_, c)| !c.is_ascii_alphanumeric());
    let (end, _) = ends.find(|(end, _)| is_only_load(&text[..*end]))?;
    let words = text[end..].to_lowercase();
    let words = words
        .split(|c: char| !c.is_alphabetic())
        .filter(|it| !it.is_empty());
    Some(words.collect::<Vec<_>>().join(" "))
}

/// Whether a heading says no more than a load: `parallel 8`, `并发 16 测试`.
fn is_only_load(text: &str) -> bool {
    if of_heading(text).0.is_empty() {
        return false;
    }
    let mut rest = text.to_lowercase();
    let words = NAMES
        .iter()
        .flat_map(|(_, before, behind)| [before, behind]);
    // The longest first: `生成` is a part of `生成文本长度`.
    let mut words: Vec<&str> = words
        .flat_map(|list| list.split('|'))
        .chain(GENERIC)
        .collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in words {
        rest = rest.replace(word, "");
    }
    !rest.contains(char::is_alphabetic)
}

/// The load of a line that names nothing else.
pub(crate) fn only_load(text: &str) -> Option<BTreeMap<String, Value>> {
    is_only_load(text).then(|| named_load(text)).flatten()
}

/// The load of a line, whatever else it names.
pub(crate) fn named_load(text: &str) -> Option<BTreeMap<String, Value>> {
    let load = of_heading(text).0.into_iter();
    let load = load.map(|(key, value)| (key.to_owned(), number(value)));
    Some(load.collect()).filter(|load: &BTreeMap<_, _>| !load.is_empty())
}

/// A load, by its key in a point.
#[derive(Debug, Default, PartialEq)]
struct Load(BTreeMap<&'static str, f64>);

impl Load {
    /// Takes what `further` knows and this does not.
    fn fill(&mut self, further: Load) {
        for (key, value) in further.0 {
            self.0.entry(key).or_insert(value);
        }
    }

    fn settle(self, found: &mut ImportedResult) {
        let Some(summary) = &mut found.summary else {
            // A load that could not be served was of these lengths and streams, too.
            if !found.point.is_empty() {
                for (key, value) in self.0 {
                    found.point.entry(key.to_owned()).or_insert(number(value));
                }
            }
            return;
        };
        for (key, value) in self.0 {
            if found.point.contains_key(key) {
                continue;
            }
            if key == "concurrency" {
                // A mean that the tool measured, or a setting of its own, says more.
                if summary.concurrency.configured.is_some() {
                    continue;
                }
                summary.concurrency.configured = count(value);
            }
            found.point.insert(key.to_owned(), number(value));
        }
    }
}

/// `concurrency=8` on a line of its own above a result.
fn announced(notes: &Notes<'_>, floor: usize, first: usize) -> Load {
    let above = (floor..first)
        .rev()
        .take(LARGEST_ANNOUNCEMENT)
        .filter(|line| !notes.is_taken(*line));
    let key = |entry: &Entry<'_>| match entry.label.field {
        Field::Concurrency | Field::BareConcurrency => Some("concurrency"),
        Field::Rate => Some("rate"),
        Field::InputSize => Some("input_tokens"),
        Field::OutputSize => Some("output_tokens"),
        _ => None,
    };
    let mut load = Load::default();
    for line in above {
        let entries = entries(notes.bare(line));
        if entries.iter().all(|entry| key(entry).is_some()) {
            let keyed = entries
                .iter()
                .filter_map(|entry| Some((key(entry)?, entry.quantity.value)));
            load.fill(Load(keyed.collect()));
        }
    }
    load
}

/// What a number counts, and the words before it and behind it, between bars.
const NAMES: [(&str, &str, &str); 6] = [
    (
        "concurrency",
        "并发数|并发量|并发|concurrency|parallel",
        "并发|路|concurrent|concurrency|users|streams",
    ),
    (
        "rate",
        "request-rate|request_rate|request rate|请求速率|到达率",
        "",
    ),
    (
        "input_tokens",
        "input length|input len|input-len|input_len|input|输入长度|输入|isl",
        "",
    ),
    (
        "output_tokens",
        "output length|output len|output-len|output_len|output|输出长度|输出|生成长度|生成|osl",
        "",
    ),
    (
        "input_chars",
        "chunk_size|chunk size|单个文本块长度|文本块长度",
        "",
    ),
    ("ask_chars", "generate_size|generate size|生成文本长度", ""),
];

/// Words that say nothing of what was measured.
const GENERIC: [&str; 10] = [
    "压测", "测试", "结果", "数", "字符", "字", "test", "results", "result", "run",
];

/// Units of a length in characters.
const CHARS: [&str; 4] = ["字", "characters", "chars", "char"];

/// The load that a heading names: `并发 16`, `concurrency = 64, input 2048`, `8路`.
fn of_heading(text: &str) -> Load {
    let text = text.to_lowercase();
    let mut load = Load::default();
    for (key, before, behind) in NAMES {
        let words = |list: &'static str| list.split('|').filter(|word| !word.is_empty());
        let named = words(before).flat_map(|word| numbers_behind(&text, word));
        let counted = words(behind).flat_map(|word| numbers_before(&text, word));
        let counted = counted.map(|value| (value, false));
        let mut numbers: Vec<(f64, bool)> = named.chain(counted).collect();
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        numbers.dedup();
        // Of several nobody knows which is meant.
        if let [(value, in_chars)] = numbers.as_slice() {
            let key = match (key, in_chars) {
                ("input_tokens", true) => "input_chars",
                ("output_tokens", true) => "ask_chars",
                (key, _) => key,
            };
            load.0.insert(key, *value);
        }
    }
    let lengths_of = ["input_tokens", "output_tokens", "input_chars", "ask_chars"];
    let is_named = lengths_of.iter().any(|key| load.0.contains_key(key));
    if let Some((input, output)) = lengths(&text).filter(|_| !is_named) {
        load.0.insert("input_tokens", input);
        load.0.insert("output_tokens", output);
    }
    load
}

/// The two lengths of `short chat 128/128` or `4096/512`. Small numbers are days or parts, and
/// behind the name of a load stand loads.
fn lengths(text: &str) -> Option<(f64, f64)> {
    const LEAST: f64 = 32.0;
    let whole = |digits: &str| -> Option<f64> {
        let value = digits.parse::<u32>().ok().map(f64::from);
        value.filter(|value| *value >= LEAST)
    };
    let mut pairs = text.match_indices('/').filter_map(|(at, _)| {
        let (before, behind) = (text[..at].trim_end(), text[at + 1..].trim_start());
        let front = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let rest = behind.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_part = front.ends_with(|c: char| c.is_ascii_alphanumeric() || "./-~–".contains(c))
            || rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "./-~–%".contains(c));
        let words = NAMES.iter().map(|(_, before, _)| before);
        let mut words = words.flat_map(|list| list.split('|'));
        let front = front.trim_end_matches([' ', '=', ':', '：', '-', '_', '*', '`']);
        if is_part || words.any(|word| front.ends_with(word)) {
            return None;
        }
        whole(&before[front_len(before)..]).zip(whole(&behind[..behind.len() - rest.len()]))
    });
    let first = pairs.next()?;
    pairs.next().is_none().then_some(first)
}

/// Where the digits at the end of a text begin.
fn front_len(text: &str) -> usize {
    text.trim_end_matches(|c: char| c.is_ascii_digit()).len()
}

/// Numbers behind a word, and whether they count characters.
fn numbers_behind(text: &str, word: &str) -> Vec<(f64, bool)> {
    let numbers = text.match_indices(word).filter_map(|(at, _)| {
        let of_the_server = ["tensor", "pipeline", "data", "expert"];
        let before = text[..at].trim_end_matches([' ', '-', '_']);
        if of_the_server.iter().any(|kind| before.ends_with(kind)) {
            return None;
        }
        let rest =
            text[at + word.len()..].trim_start_matches([' ', '=', ':', '：', '-', '_', '*', '`']);
        let (value, _, rest) = leading_number(rest)?;
        // `1k` is not sure, and `1-64`, `1/8/32` or `100 条` are something else.
        let mut following = rest.chars();
        let is_one = match following.next() {
            Some('-' | '~' | '/' | '、' | ',' | '+' | '～' | '–') => {
                !following.next().is_some_and(|c| c.is_ascii_digit())
            }
            Some(c) => !c.is_ascii_alphanumeric() && c != '%',
            None => true,
        };
        let counts_others = rest
            .trim_start()
            .starts_with(['条', '个', '次', '轮', '倍']);
        let unit = rest.trim_start_matches([' ', '-', '_']);
        let of_chars = CHARS.iter().find_map(|chars| unit.strip_prefix(chars));
        // `输出 50 字/s` is a speed.
        let speeds = ["/s", "/秒", " per second", "tok/s", "tokens/s"];
        let is_speed = speeds
            .iter()
            .any(|speed| of_chars.unwrap_or(unit).starts_with(speed));
        let is_length = is_one && !counts_others && !is_speed && value > 0.0;
        is_length.then_some((value, of_chars.is_some()))
    });
    numbers.collect()
}

fn numbers_before(text: &str, word: &str) -> Vec<f64> {
    let numbers = text.match_indices(word).filter_map(|(at, _)| {
        // `output 128 concurrency=64`: it is the name of what follows.
        if text[at + word.len()..]
            .trim_start()
            .starts_with(['=', ':', '：'])
        {
            return None;
        }
        let before = text[..at].trim_end();
        let begin = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let joined = before[..begin].ends_with(['-', '~', '/', '、', '.', '–', '～'])
            || before[..begin].ends_with(|c: char| c.is_ascii_alphanumeric());
        let value: f64 = before[begin..].parse().ok()?;
        (!joined && value > 0.0).then_some(value)
    });
    numbers.collect()
}

fn heading(notes: &Notes<'_>, line: usize) -> Option<String> {
    if let Some(beside) = notes.captions.get(&line) {
        return Some(beside.clone()).filter(|beside| !beside.is_empty());
    }
    // A comment in a program begins like a heading.
    if notes.code.get(line) == Some(&true) && notes.lines[line].trim_start().starts_with('#') {
        return None;
    }
    if notes.is_taken(line) {
        return None;
    }
    let text = notes.lines[line].trim();
    if let Some((_, title)) = section::heading(text) {
        return Some(section::plain(title)).filter(|title| !title.is_empty());
    }
    let above_is_blank = line == 0 || notes.lines[line - 1].trim().is_empty();
    let is_bullet = text.starts_with(['-', '*', '•']);
    let plain = bare(text).trim_end_matches([':', '：']);
    let is_title = above_is_blank
        && !plain.is_empty()
        && text.chars().count() <= 60
        && !text.starts_with(['|', '`', '!', '{', '}', '[', '=', '+', '<', '"', '│', '┌'])
        && !text.ends_with(['.', '。', ',', '，', '\\'])
        && !plain.contains(" --")
        && !plain.starts_with("Namespace(")
        && !is_said_by_a_program(plain)
        && !is_announcement(plain)
        && doubt_said(plain).is_none()
        && entries(plain).is_empty()
        && memory_gib(text).is_none()
        && (!is_bullet || plain.contains(|c: char| c.is_ascii_digit()));
    is_title.then(|| section::plain(plain))
}

/// `tip: …`, `Error 3: Internal Server Error`, a bar of progress: lines that tools print on their
/// way.
fn is_said_by_a_program(text: &str) -> bool {
    let marks = ["%|", "it/s]", "evalscope - "];
    if text.starts_with("Traceback (") || marks.iter().any(|mark| text.contains(mark)) {
        return true;
    }
    // EvalScope's and AIPerf's names of their tables, which name no result.
    if matches!(
        text,
        "Performance Overview" | "Detailed Performance Metrics" | "Basic Information"
    ) || text.starts_with("NVIDIA AIPerf |")
    {
        return true;
    }
    let Some((front, _)) = text.split_once(':') else {
        return false;
    };
    let front = front.to_lowercase();
    let word = front.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
    matches!(word, "tip" | "hint" | "info" | "warning" | "error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_behind_a_load_are_told_from_those_before_it() {
        for (text, expected) in [
            ("concurrency 16 (again)", Some("again")),
            (
                "concurrency 16，第二天早上又测了一遍",
                Some("第二天早上又测了一遍"),
            ),
            ("16 并发, mns 64", Some("mns")),
            ("chunked prefill on, concurrency 16", None),
            ("并发 16 测试", None),
            ("run 2", None),
        ] {
            assert_eq!(words_behind_load(text).as_deref(), expected, "{text}");
        }
    }

    fn load(text: &str) -> Vec<(&'static str, f64)> {
        of_heading(text).0.into_iter().collect()
    }

    #[test]
    fn headings_name_loads_in_both_languages() {
        let all = [
            ("concurrency", 64.0),
            ("input_tokens", 2048.0),
            ("output_tokens", 512.0),
        ];
        for text in [
            "concurrency = 64, input 2048, output 512",
            "Concurrency: 64 (input 2048 / output 512)",
            "并发 64，输入 2048，输出 512",
            "64 并发、输入2048/输出512",
            "ISL 2048 OSL 512 parallel 64",
        ] {
            assert_eq!(load(text), all, "{text}");
        }
        let lengths = [("input_tokens", 4096.0), ("output_tokens", 512.0)];
        for text in ["long 4096/512", "4096 / 512, 20 × concurrency prompts"] {
            assert_eq!(load(text), lengths, "{text}");
        }
        for text in [
            "输入 2000 字，生成 1000 字",
            "input 2000 chars, output 1000-char",
        ] {
            assert_eq!(
                load(text),
                [("ask_chars", 1000.0), ("input_chars", 2000.0)],
                "{text}"
            );
        }
        assert_eq!(load("request rate 4.5"), [("rate", 4.5)]);
        assert_eq!(load("8路压测"), [("concurrency", 8.0)]);
    }

    #[test]
    fn what_a_heading_leaves_open_is_not_read() {
        for text in [
            "并发 1-64",
            "并发 1/8/32 对比",
            "8并发与16并发",
            "输入 4k",
            "tensor parallel 4",
            "tensor-parallel-size 4",
            "并发测试",
            "11/18",
            "2026/11/18",
            "并发 64/128",
            "128/256/512",
            "n/a 1/2",
            "输出 50 字/s",
            "输出 50 tok/s",
        ] {
            assert_eq!(load(text), [], "{text}");
        }
    }
}
