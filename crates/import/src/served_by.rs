//! How many cards served a result, as the prose around it says: `worldSize 4`, `4 卡`,
//! `--tensor-parallel-size 4`. What a heading says of the host is not what served the model.

use crate::notes::Notes;
use crate::result::ImportedResult;
use crate::section::{home_of, sections};
use inferometer_core::summary::CARDS;
use std::collections::BTreeSet;

/// Names in front of the number, in lower case.
const BEFORE: [&str; 7] = [
    "worldsize",
    "world_size",
    "tensor-parallel-size",
    "tensor_parallel_size",
    "tp-size",
    "tp_size",
    "--tp",
];
/// Signs between a name and its number.
const BETWEEN: [char; 8] = ['"', '\'', '`', ' ', ':', '：', '=', '|'];
/// What tells that cards are those of a host, behind `8 卡`.
const HOSTS: [&str; 5] = ["机", "服务器", "节点", "主机", "型"];

/// Notes the number of cards of each result for which the lines of its own section, above it, name
/// exactly one.
pub(crate) fn read(results: &mut [ImportedResult], notes: &Notes<'_>) {
    let sections = sections(notes);
    let mut is_prose = vec![true; notes.lines.len()];
    for (first, last) in results.iter().map(ImportedResult::span) {
        let end = (last + 1).min(is_prose.len());
        is_prose[first.min(end)..end].fill(false);
    }
    // Results stand in the order of their lines, so that every line is looked at once.
    let (mut seen, mut home, mut named) = (0, 0, BTreeSet::new());
    for found in results {
        let (first, _) = found.span();
        let lines = is_prose.iter().enumerate().take(first).skip(seen);
        for (line, is_prose) in lines {
            let section = home_of(&sections, line);
            if std::mem::replace(&mut home, section) != section {
                named.clear();
            }
            if section > 0 && *is_prose {
                named.extend(numbers(notes.lines[line]));
            }
        }
        seen = seen.max(first);
        let is_own = home_of(&sections, first) == home && home > 0;
        let only = named.first().filter(|_| is_own && named.len() == 1);
        if let (Some(summary), Some(cards)) = (&mut found.summary, only) {
            let tag = summary.tags.entry(CARDS.to_owned());
            tag.or_insert(cards.to_string());
        }
    }
}

/// The numbers of cards that a line names.
fn numbers(line: &str) -> BTreeSet<u64> {
    let line = line.to_lowercase();
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit());
        text[..end.unwrap_or(text.len())].parse::<u64>().ok()
    };
    let before = BEFORE.iter().flat_map(|name| line.match_indices(name));
    let before =
        before.filter_map(|(at, name)| digits(line[at + name.len()..].trim_start_matches(BETWEEN)));
    let behind = line.match_indices('卡').filter_map(|(at, sign)| {
        let rest = &line[at + sign.len()..];
        if HOSTS.iter().any(|host| rest.starts_with(host)) {
            return None;
        }
        let front = line[..at].trim_end();
        if front.ends_with('单') {
            return Some(1);
        }
        let begin = front.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        digits(&front[begin..])
    });
    before.chain(behind).filter(|count| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_flags_name_the_cards_that_serve() {
        for (line, expected) in [
            ("4 卡，worldSize 4。npuMemSize -1。", vec![4]),
            (
                "`vllm serve m --tensor-parallel-size 4 --max-model-len 4096`",
                vec![4],
            ),
            ("vllm-ascend，单卡。", vec![1]),
            ("\"worldSize\": 2,", vec![2]),
            ("8 卡服务器", vec![]),
            ("显卡温度", vec![]),
            ("worldSize 1（7B），worldSize 4（72B）", vec![1, 4]),
        ] {
            assert_eq!(Vec::from_iter(numbers(line)), expected, "{line}");
        }
    }

    #[test]
    fn a_result_has_the_cards_of_its_own_section() {
        let table = "| 并发 | QPS |\n|---|---|\n| 1 | 0.1 |\n| 4 | 0.4 |\n";
        let notes = format!("## a\n\n4 卡，worldSize 4。\n\n{table}\n## b\n\n{table}");
        let results = crate::read("notes", &notes).results;
        let cards = |at: usize| {
            results[at]
                .summary
                .as_ref()
                .unwrap()
                .tags
                .get(CARDS)
                .cloned()
        };
        assert_eq!([cards(0), cards(2)], [Some("4".to_owned()), None]);
    }
}
