//! How many cards served a result, as the prose around it says: `worldSize 4`, `4 卡`,
//! `--tensor-parallel-size 4`; else its flags; else a heading: `4×H20`, `单机8卡`. What is said of
//! the host is not what served the model.

use crate::facts::is_card;
use crate::result::ImportedResult;
use crate::section::{home_of, sections};
use inferometer_core::summary::CARDS;
use inferometer_notes::Notes;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

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
    // Above several models a heading names the cards of the host, and not of each model.
    let mut models: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    for found in results.iter() {
        let Some(model) = found.facts.get("model") else {
            continue;
        };
        for depth in 1..=found.section.len() {
            let below = models.entry(found.section[..depth].to_vec()).or_default();
            below.insert(model.clone());
        }
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
        let only = only.copied().or_else(|| by_flags(found.flags.as_ref()?));
        let headings = || {
            let depths = (1..=found.section.len()).rev();
            let mut of_one_model = depths.filter(|depth| {
                let below = models.get(&found.section[..*depth]);
                below.is_none_or(|models| models.len() == 1)
            });
            of_one_model.find_map(|depth| of_heading(&found.section[depth - 1]))
        };
        let only = only.or_else(headings);
        if let (Some(summary), Some(cards)) = (&mut found.summary, only) {
            let tag = summary.tags.entry(CARDS.to_owned());
            tag.or_insert(cards.to_string());
        }
    }
}

/// Names of flags that multiply to the number of cards.
const FACTORS: [&[&str]; 3] = [
    &["tensor-parallel-size", "tp-size", "tp", "worldSize"],
    &["pipeline-parallel-size", "pp-size", "pp"],
    &["data-parallel-size", "dp-size", "dp"],
];

fn by_flags(flags: &BTreeMap<String, Value>) -> Option<u64> {
    let factor = |names: &&[&str]| names.iter().find_map(|name| flags.get(*name)?.as_u64());
    let factors = FACTORS
        .iter()
        .filter_map(factor)
        .filter(|factor| *factor > 0);
    factors.reduce(u64::saturating_mul)
}

/// The one number of cards that a heading names: `4×H20`, `H20*8`, `8卡`, `worldSize 8`, `TP4`.
fn of_heading(title: &str) -> Option<u64> {
    let lower = title.to_lowercase();
    let mut counts = numbers(title);
    counts.extend(
        lower
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter_map(|word| {
                let number: u64 = word.strip_prefix("tp")?.parse().ok()?;
                Some(number).filter(|number| *number > 0)
            }),
    );
    // What is multiplied is a card, and no memory: `4X16G`.
    let counted = counted_cards(&lower);
    counts.extend(counted);
    counts.pop_first().filter(|_| counts.is_empty())
}

/// Numbers that stand before or behind a card with a sign of multiplication in between.
fn counted_cards(lower: &str) -> BTreeSet<u64> {
    let text = lower.replace(['×', '✕', '*', '＊'], " x ");
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
        // `4xh20`, `h20x8`.
        let parts = word.split_once('x').filter(|(before, behind)| {
            let is_number = |text: &str| text.parse::<u64>().is_ok();
            is_number(before) || is_number(behind) && !before.is_empty()
        });
        match parts {
            Some((before, behind)) => words.extend([before, "x", behind]),
            None => words.push(word),
        }
    }
    // The memory of a card stands between it and its number: `910B4 32G × 8`.
    let is_memory = |word: &&str| {
        let size = word.trim_end_matches('b').strip_suffix('g');
        size.is_some_and(|size| size.parse::<u64>().is_ok())
    };
    let cards = words.clone();
    let is_card_before = |at: usize| at > 0 && cards[at - 1].split('-').any(is_card);
    let mut at = 0..words.len();
    words.retain(|word| {
        let is_of_card = at.next().is_some_and(is_card_before) && is_memory(word);
        !word.is_empty() && !is_of_card
    });
    let pairs = words.windows(3).filter(|it| it[1] == "x");
    let pairs = pairs.flat_map(|it| [(it[0], it[2]), (it[2], it[0])]);
    let count = |(number, card): (&str, &str)| {
        let number: u64 = number.parse().ok()?;
        let is_known = card.split('-').any(is_card);
        (is_known && number > 0).then_some(number)
    };
    pairs.filter_map(count).collect()
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
    fn headings_count_cards_and_not_their_memory() {
        for (title, expected) in [
            ("Qwen2.5-72B-Instruct (4×H20)", Some(4)),
            ("72B（8×910B4, worldSize 8, maxBatchSize 16）", Some(8)),
            ("vLLM, H20*8", Some(8)),
            ("vLLM (8x H20-96G)", Some(8)),
            ("A100-80G * 4", Some(4)),
            ("MindIE（910B4 32G × 8）", Some(8)),
            ("单机8卡", Some(8)),
            ("vLLM TP4", Some(4)),
            ("8 卡服务器，4×H20", Some(4)),
            ("vLLM (T4: 4X16G)", None),
            ("4×H20 与 8×H20", None),
            ("mixtral-8x7b", None),
        ] {
            assert_eq!(of_heading(title), expected, "{title}");
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

    #[test]
    fn the_cards_of_a_host_are_not_those_of_each_of_its_models() {
        let table = "| 并发 | QPS |\n|---|---|\n| 1 | 0.1 |\n| 4 | 0.4 |\n";
        let cards = |notes: &str| {
            let results = crate::read("notes", notes).results.into_iter();
            let tags = results.map(|found| found.summary.unwrap().tags.get(CARDS).cloned());
            tags.collect::<Vec<_>>()
        };
        let host = format!(
            "# t\n\n## MindIE (8×910B4)\n\n### Qwen2.5-7B\n\n{table}\n### Qwen2.5-32B (4×910B4)\n\n{table}"
        );
        let four = Some("4".to_owned());
        assert_eq!(cards(&host), [None, None, four.clone(), four]);
        let one = format!("# t\n\n## MindIE (8×910B4)\n\n### Qwen2.5-72B\n\n{table}");
        assert_eq!(cards(&one), vec![Some("8".to_owned()); 2]);
    }
}
