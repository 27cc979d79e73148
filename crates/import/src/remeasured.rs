//! Sections that repeat another: `复测` beside what it repeats, `vLLM rerun` beside `vLLM`. Their
//! results are put where the first ones stand.

use crate::context::{AGAIN, says_again};
use crate::group::load;
use crate::result::ImportedResult;
use std::collections::{BTreeMap, BTreeSet};

/// Words of a heading that say when or which time something was measured, and not what; and that
/// nothing was changed. The longest first: some are parts of others.
const TIMES: &str = "same settings|same config|unchanged|wednesday|saturday|thursday|tuesday|monday|friday|\
    sunday|second|third|next|day|the|run|on|同样配置|相同配置|配置不变|配置没变|配置没动|\
    参数不变|参数没变|上午|下午|晚上|早上|结果|了|又|第|次|轮|遍|天|日|月|年";
const NUMERALS: &str = "一二三四五六七八九十号";

/// Gives results of sections that repeat another its headings and, unless they say their own, its
/// flags. Which section is repeated must be certain: one with all loads of the repeat.
pub(crate) fn put_beside_first(results: &mut [ImportedResult]) {
    // Loads by section, of what was measured above.
    let mut known: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    let mut at = 0;
    while at < results.len() {
        let section = results[at].section.clone();
        let of_section = results[at..].iter().take_while(|it| it.section == section);
        let end = at + of_section.count();
        let measured = results[at..end].iter().filter(|it| it.summary.is_some());
        let loads: BTreeSet<String> = measured.map(load).collect();
        let first = first_of(&section, &loads, &known);
        if let Some(first) = &first {
            take_over(results, at..end, first);
        }
        let home = first.unwrap_or(section);
        known.entry(home).or_default().extend(loads);
        at = end;
    }
}

/// The same of tables in one section, of which the line above says so.
pub(crate) fn put_beside_table(
    results: &mut [ImportedResult],
    is_table: impl Fn(&ImportedResult) -> bool,
) {
    for at in 0..results.len() {
        let found = &results[at];
        let said = found.heading.as_deref().filter(|it| says_again(it));
        let Some(said) = said.filter(|_| is_table(found)) else {
            continue;
        };
        let words = without_again(said);
        let is_own = is_of(&words, &found.section);
        let before = || {
            results[..at]
                .iter()
                .filter(|it| it.lines != found.lines && is_table(it))
        };
        let same = || before().rfind(|it| is_same_load(it, found));
        let first = is_own.then(|| same().or(before().next_back())).flatten();
        if let Some(first) = first.cloned() {
            let found = &mut results[at];
            if is_same_load(&first, found) {
                found.repeats(&first);
            }
            found.heading = first.heading;
            found.said_again = true;
        }
    }
}

/// Whether words of a heading name nothing beside what the headings above it do.
fn is_of(words: &str, around: &[String]) -> bool {
    let mut around = around.iter().map(|title| title.to_lowercase());
    words.is_empty() || around.any(|title| title.contains(words))
}

/// What both say of their load is the same.
fn is_same_load(a: &ImportedResult, b: &ImportedResult) -> bool {
    let mut shared = a
        .point
        .iter()
        .filter_map(|(key, value)| Some(b.point.get(key)? == value));
    a.point.get("concurrency") == b.point.get("concurrency")
        && a.point.get("rate") == b.point.get("rate")
        && shared.all(|same| same)
}

impl ImportedResult {
    /// Takes what the first says of its load and its server, and this does not.
    fn repeats(&mut self, first: &ImportedResult) {
        for (key, value) in &first.point {
            self.point
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
        if self.flags.is_none() {
            (self.flags, self.command) = (first.flags.clone(), first.command.clone());
        }
    }
}

/// The section that another repeats.
fn first_of(
    section: &[String],
    loads: &BTreeSet<String>,
    known: &BTreeMap<Vec<String>, BTreeSet<String>>,
) -> Option<Vec<String>> {
    let place = section.iter().position(|title| says_again(title))?;
    let (around, rest) = (&section[..place], &section[place + 1..]);
    let words = without_again(&section[place]);
    let is_own = is_of(&words, around);
    let is_same_test = |other: &Vec<String>| {
        let has_loads = known[other].is_superset(loads);
        let is_below = other.starts_with(around) && other.ends_with(rest);
        let between = other.get(place..other.len() - rest.len().min(other.len()));
        has_loads
            && is_below
            && match between {
                // Right below what it repeats.
                Some([]) => is_own,
                Some([title]) => is_own && !says_again(title) || without_again(title) == words,
                _ => false,
            }
    };
    let mut same = known.keys().filter(|other| is_same_test(other));
    let first = same.next().filter(|_| !loads.is_empty())?;
    same.next().is_none().then(|| first.clone())
}

/// What a heading says beside its number, that something was measured again, and when.
fn without_again(title: &str) -> String {
    let mut rest = title.to_lowercase();
    for word in AGAIN.split('|') {
        rest = rest.replace(word, " ");
    }
    // `三、短输入（重测，5 月 6 日）` is `短输入`.
    let clauses = rest.split(['(', ')', '（', '）', ',', '，', ';', '；', ':', '：', '、']);
    let clauses = clauses.filter(|clause| !is_time(clause));
    let words = clauses.flat_map(str::split_whitespace);
    let words = words.map(|word| word.trim_matches(['-', '_', '/', '.', '的']));
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let begin = usize::from(words.first().is_some_and(|word| is_number(word)));
    words[begin..].join(" ")
}

/// Whether a text says no more than a time or a number.
fn is_time(text: &str) -> bool {
    let mut rest = text.to_owned();
    for word in TIMES.split('|') {
        rest = rest.replace(word, "");
    }
    !rest.contains(|c: char| c.is_alphabetic() && !NUMERALS.contains(c))
}

fn take_over(results: &mut [ImportedResult], places: std::ops::Range<usize>, first: &[String]) {
    for at in places {
        let own = load(&results[at]);
        let mut before = results[..at].iter();
        let original = before.find(|it| it.section == first && load(it) == own);
        let original = original.cloned();
        let found = &mut results[at];
        if let Some(original) = original {
            found.repeats(&original);
            if found.heading.as_deref().is_some_and(says_again) {
                found.heading = original.heading;
            }
        }
        found.section = first.to_vec();
        found.said_again = true;
    }
}
