//! Doubts that only several results of one text together can raise.

use crate::comparable::repeated;
use crate::copies::{alike, numbers, repeats};
use crate::doubt::ImportDoubt;
use crate::heading::named_load;
use crate::judge;
use crate::off_ladder;
use crate::result::ImportedResult;
use inferometer_core::point::Point;
use inferometer_core::quantile::{quantile, sort};
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Figures by which repeats are held against each other, the first that they have.
const REPEATED: [&str; 4] = [
    "output_tokens_per_s",
    "requests_per_s",
    "total_tokens_per_s",
    "e2e_ms.mean",
];
/// How far repeats may be apart, unless they are of so few requests that chance explains more.
const MOST_APART: f64 = 0.05;

/// The doubts that results raise about each other, by place. Results are in the order of lines.
pub(crate) fn judge(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let mut doubts = tables_against_blocks(results);
    doubts.extend(token_offsets(results));
    doubts.extend(unlike_repeats(results));
    doubts.extend(queues(results));
    doubts.extend(copied(results));
    doubts.extend(copied_from_another_load(results));
    doubts.extend(other_answers(results));
    doubts.extend(copied_percentiles(results));
    doubts.extend(off_ladder::judge(results));
    doubts
}

/// Loads of one table from which on two percentiles that are equal at each are no chance.
const FEWEST_ALIKE: usize = 3;

/// Digits, and loads, by which a median that equals a tail is no chance: first tokens wait, and no
/// two of them as long.
const TAIL_DIGITS: usize = 4;
const FEWEST_TAILS: usize = 2;

/// Two percentiles that are equal to the last digit in every column of a table; of first tokens the
/// median and a tail in several.
fn copied_percentiles(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    type Column = (usize, f64, f64, bool);
    let mut columns: BTreeMap<_, Vec<Column>> = BTreeMap::new();
    for (at, found) in results.iter().enumerate() {
        for (metric, spread) in found.summary.iter().flat_map(|it| it.latency.known()) {
            let ranks = spread.percentiles();
            for pair in ranks.windows(2).filter(|_| !spread.is_one_number()) {
                let ((low, a), (high, b)) = (pair[0], pair[1]);
                let names = (format!("p{low}"), format!("p{high}"));
                let column = columns.entry((&found.file, found.lines, metric, names));
                column.or_default().push((at, a, b, low >= 50.0));
            }
        }
    }
    let digits = |value: f64| value.to_string().bytes().filter(u8::is_ascii_digit).count();
    let mut doubts = Vec::new();
    for ((.., metric, (lower, upper)), columns) in columns {
        let is_copy = |(_, a, b, is_upper): &Column| {
            *is_upper && a == b && *a > 0.0 && digits(*a) >= LEAST_DIGITS
        };
        let copies: Vec<&Column> = columns.iter().filter(|it| is_copy(it)).collect();
        let is_whole = copies.len() == columns.len() && copies.len() >= FEWEST_ALIKE;
        let are_long = copies.iter().all(|(_, a, ..)| digits(*a) >= TAIL_DIGITS);
        let is_tail = metric == "ttft_ms" && lower == "p50" && are_long;
        if is_whole || is_tail && copies.len() >= FEWEST_TAILS {
            let doubt = ImportDoubt::CopiedPercentile {
                metric,
                lower,
                upper,
                is_whole,
            };
            doubts.extend(copies.into_iter().map(|(at, ..)| (*at, doubt.clone())));
        }
    }
    doubts
}

/// Figures that must be equal to the last digit before one of two results was copied: no two
/// measurements agree in so many.
const FEWEST_COPIED: usize = 6;
/// Digits of a figure that tell anything.
const LEAST_DIGITS: usize = 3;

/// What was measured, written out, where it has digits enough to be known again.
fn figures(found: &ImportedResult) -> Vec<String> {
    let is_measured = |name: &str| !["window_s", "ok", "failed"].contains(&name);
    let numbers = numbers(found).into_iter();
    let numbers = numbers.filter(|(name, value)| {
        let digits = value.to_string().bytes().filter(u8::is_ascii_digit).count();
        is_measured(name) && digits >= LEAST_DIGITS && !found.derived.iter().any(|it| it == name)
    });
    numbers
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// Results that are said to be of another engine, card, model, command or heading, and have the
/// figures of each other at every load that both have; below another heading of the same server,
/// where others of their loads differ: a ladder that is told twice as a whole is a summary.
fn copied(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let of = |at: usize| (&results[at].facts, results[at].flags.as_ref());
    let section = |at: usize| results[at].section.as_slice();
    let mut alike: BTreeMap<(String, Vec<String>), Vec<usize>> = BTreeMap::new();
    let mut loads: BTreeMap<&[String], BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (at, found) in results.iter().enumerate() {
        let figures = figures(found);
        if found.summary.is_some() && figures.len() >= 2 {
            let load = Point(found.point.clone()).to_string();
            let here = loads.entry(&found.section).or_default();
            here.insert(load.clone(), figures.clone());
            alike.entry((load, figures)).or_default().push(at);
        }
    }
    // Loads of two sections whose figures differ.
    let differing = |[a, b]: [&[String]; 2]| {
        let (a, b) = (&loads[a], &loads[b]);
        let differ = a
            .iter()
            .filter(|(load, own)| b.get(*load).is_some_and(|it| it != *own));
        differ.count()
    };
    // Pairs of one file that stand under the same two headings belong together.
    type Headings<'a> = [&'a [String]; 2];
    type Alike = ([usize; 2], usize);
    let mut pairs: BTreeMap<Headings<'_>, Vec<Alike>> = BTreeMap::new();
    for ((_, figures), places) in &alike {
        let pair = places
            .windows(2)
            .filter_map(|pair| <[usize; 2]>::try_from(pair).ok());
        for pair in pair.filter(|[a, b]| of(*a) != of(*b) || section(*a) != section(*b)) {
            let sections = pair.map(section);
            pairs
                .entry(sections)
                .or_default()
                .push((pair, figures.len()));
        }
    }
    let mut doubts = Vec::new();
    for (sections, rows) in pairs {
        let is_of_others = rows.iter().all(|([a, b], _)| of(*a) != of(*b));
        let is_part = rows.len() > 1 && differing(sections) >= rows.len();
        let figures: usize = rows.iter().map(|(_, count)| count).sum();
        if figures < FEWEST_COPIED || !(is_of_others || is_part) {
            continue;
        }
        for ([a, b], _) in rows {
            for (at, other) in [(a, b), (b, a)] {
                let lines = results[other].lines;
                let other = if is_of_others {
                    name_of(&results[other])
                } else {
                    section(other).last().cloned().unwrap_or_default()
                };
                doubts.push((at, ImportDoubt::Copied { lines, other }));
            }
        }
    }
    doubts
}

/// Digits that results of other loads must share before one of them was copied.
const MOST_BY_CHANCE: usize = 20;

/// Results of one section that have the figures of another load to the last digit: a row of a grid
/// that was copied, a block of a log under another title.
fn copied_from_another_load(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    // By file, section and figures.
    type Place<'a> = (&'a str, &'a [String], Vec<String>);
    let mut alike: BTreeMap<Place<'_>, Vec<usize>> = BTreeMap::new();
    for (at, found) in results.iter().enumerate() {
        let figures = figures(found);
        if found.summary.is_some() && figures.len() >= 2 && !found.point.is_empty() {
            let key = (found.file.as_str(), found.section.as_slice(), figures);
            alike.entry(key).or_default().push(at);
        }
    }
    // By the axes that differ: cells of a copied row differ from their originals in the same.
    type Change<'a> = (&'a [String], Vec<String>);
    let mut rows: BTreeMap<Change<'_>, (Vec<[usize; 2]>, usize)> = BTreeMap::new();
    for ((_, section, figures), places) in &alike {
        for pair in places.windows(2) {
            let [a, b] = [&results[pair[0]].point, &results[pair[1]].point];
            let axes = a
                .keys()
                .chain(b.keys())
                .filter(|axis| a.get(*axis) != b.get(*axis));
            let change: Vec<String> = (axes.collect::<BTreeSet<_>>().into_iter())
                .map(|axis| format!("{axis} {:?} {:?}", a.get(axis), b.get(axis)))
                .collect();
            // What one of them does not say may be the same: the table of a block leaves its rate out.
            let are_both_said = a.keys().all(|axis| b.contains_key(axis)) && a.len() == b.len();
            if change.is_empty() || !are_both_said {
                continue;
            }
            let values = figures.iter().filter_map(|figure| figure.split_once('='));
            let digits = values.map(|(_, value)| value.bytes().filter(u8::is_ascii_digit).count());
            let (pairs, known) = rows.entry((*section, change)).or_default();
            pairs.push([pair[0], pair[1]]);
            *known += digits.sum::<usize>();
        }
    }
    let rows = rows
        .into_values()
        .filter(|(_, digits)| *digits >= MOST_BY_CHANCE);
    let pairs = rows.flat_map(|(pairs, _)| pairs);
    let both = pairs.flat_map(|[a, b]| [(a, b), (b, a)]);
    let doubt = |(at, other): (usize, usize)| {
        let lines = results[other].lines;
        let mut point = results[other].point.clone();
        point.retain(|axis, value| results[at].point.get(axis) != Some(value));
        let other = Point(point).to_string();
        (at, ImportDoubt::Copied { lines, other })
    };
    both.map(doubt).collect()
}

/// What a result is said to be of.
fn name_of(found: &ImportedResult) -> String {
    let facts = ["engine", "card", "model"].into_iter();
    let facts = facts.filter_map(|name| found.facts.get(name).cloned());
    let command = || {
        found
            .command
            .clone()
            .or(found.label.clone())
            .unwrap_or_default()
    };
    match Vec::from_iter(facts) {
        facts if facts.is_empty() => printable(&command(), 120),
        facts => facts.join(", "),
    }
}

/// Fewest results of one ask of which one may have other answers.
const FEWEST_OF_ASK: usize = 4;
/// How many times as long or as short as those of the others answers must be to be other work.
const OTHER_WORK: f64 = 2.0;
/// How far from their median the answers of a table that states no ask may be to be of one.
const OF_ONE_ASK: f64 = 0.2;

/// Results whose answers are much shorter or longer than those of the same ask in the same section:
/// what a wrong prompt, an early stop or a refusal in words leaves. Rows of one table without an ask
/// have the same where most of their answers, of one model to prompts of one length, are alike.
fn other_answers(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let mut asks: BTreeMap<_, Vec<(usize, f64)>> = BTreeMap::new();
    for (at, found) in results.iter().enumerate() {
        let Some(tokens) = found.summary.as_ref().map(|it| &it.tokens) else {
            continue;
        };
        let asked =
            ["ask_chars", "output_tokens"].map(|axis| found.point.get(axis).map(Value::to_string));
        let is_asked = asked.iter().any(Option::is_some);
        let input = ["input_chars", "input_tokens"].map(|axis| found.point.get(axis));
        let input = format!("{input:?} {:?}", tokens.input_mean.map(f64::round));
        let of_table = (!is_asked).then_some((found.lines, found.facts.get("model"), input));
        let template = found.facts.get("template");
        if let Some(mean) = tokens.output_mean {
            let key = (&found.file, &found.section, template, asked, of_table);
            asks.entry(key).or_default().push((at, mean));
        }
    }
    let mut doubts = Vec::new();
    for ((.., of_table), answers) in asks.iter().filter(|(_, it)| it.len() >= FEWEST_OF_ASK) {
        let mut means = Vec::from_iter(answers.iter().map(|(_, mean)| *mean));
        sort(&mut means);
        let Some(others) = quantile(&means, 0.5) else {
            continue;
        };
        let alike = means
            .iter()
            .filter(|mean| (**mean / others - 1.0).abs() <= OF_ONE_ASK);
        if of_table.is_some() && 4 * alike.count() < 3 * means.len() {
            continue;
        }
        for &(at, mean) in answers {
            if (mean / others).max(others / mean) >= OTHER_WORK {
                doubts.push((at, ImportDoubt::OtherAnswers { mean, others }));
            }
        }
    }
    doubts
}

/// Share of an offered rate below which a server has fallen behind, if first tokens also wait so
/// many times as long as at the lowest rate.
const FALLEN_BEHIND: f64 = 0.75;
const LONGER_WAIT: f64 = 5.0;

/// A rate of a ladder.
struct Rung {
    at: usize,
    offered: f64,
    done: f64,
    wait_ms: f64,
}

/// Rates of a ladder at which a queue grows: a short test alone may lack what its last answers
/// take, but these would not make the first token wait.
fn queues(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let mut ladders: BTreeMap<&[String], Vec<Rung>> = BTreeMap::new();
    for (at, found) in results.iter().enumerate() {
        let Some(summary) = found.summary.as_ref() else {
            continue;
        };
        let offered = found.point.get("rate").and_then(Value::as_f64);
        let offered = offered.filter(|_| summary.concurrency.configured.is_none());
        let wait = summary
            .latency
            .ttft_ms
            .as_ref()
            .and_then(|it| it.mean.or(it.p50));
        let rung = (offered, summary.throughput.requests_per_s, wait);
        if let (Some(offered), Some(done), Some(wait_ms)) = rung
            && judge::overload(summary, Some(offered)).is_none()
        {
            let ladder = ladders.entry(&found.section).or_default();
            ladder.push(Rung {
                at,
                offered,
                done,
                wait_ms,
            });
        }
    }
    let behind = ladders.into_values().flat_map(|ladder| {
        let lowest = (ladder.iter()).min_by(|a, b| a.offered.total_cmp(&b.offered));
        let long_ms = lowest.map_or(f64::INFINITY, |it| LONGER_WAIT * it.wait_ms);
        ladder.into_iter().filter_map(move |rung| {
            let Rung {
                at,
                offered,
                done,
                wait_ms,
            } = rung;
            let is_behind = done < FALLEN_BEHIND * offered && wait_ms > long_ms;
            is_behind.then_some((at, ImportDoubt::Overload { offered, done }))
        })
    });
    behind.collect()
}

/// The lowest and the highest of results that should be repeats, where these are too far apart.
fn unlike_repeats(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let unlike = |places: Vec<usize>| {
        let figures = places.iter().map(|at| (*at, numbers(&results[*at])));
        let figures: Vec<(usize, BTreeMap<String, f64>)> = figures.collect();
        let mut names = REPEATED.iter().filter_map(|name| {
            let values = figures
                .iter()
                .filter_map(|(at, it)| Some((*at, *it.get(*name)?)));
            let order = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
            let (low, high) = (values.clone().min_by(order)?, values.max_by(order)?);
            let fewest = [low.0, high.0].into_iter().filter_map(|at| {
                let requests = results[at].summary.as_ref()?.requests;
                requests.answered().filter(|count| *count > 0)
            });
            let by_chance = fewest
                .min()
                .map_or(0.0, |count| (count as f64).sqrt().recip());
            let is_apart = high.1 > low.1 * (1.0 + MOST_APART.max(by_chance));
            is_apart.then_some((*name, low, high))
        });
        let Some((name, low, high)) = names.next() else {
            return Vec::new();
        };
        let (a, b) = if low.0 < high.0 {
            (low, high)
        } else {
            (high, low)
        };
        let doubt = ImportDoubt::UnlikeRepeats {
            load: Point(results[a.0].point.clone()).to_string(),
            lines: [results[a.0].lines, results[b.0].lines],
            name: name.to_owned(),
            values: [a.1, b.1],
        };
        vec![(a.0, doubt.clone()), (b.0, doubt)]
    };
    repeated(results).into_iter().flat_map(unlike).collect()
}

/// Rows of tables against the blocks that they were made of.
fn tables_against_blocks(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let contradictions = |(at, block): (usize, Option<usize>)| {
        let Some(block) = block.map(|block| &results[block]) else {
            return Vec::new();
        };
        let (row, of_block) = (numbers(&results[at]), numbers(block));
        let differences = row.into_iter().filter_map(|(name, value)| {
            let other = *of_block.get(&name)?;
            (!alike(&name, value, other)).then_some((name, value, other))
        });
        // What the block has copied says nothing against the table.
        let (copied, differing): (Vec<_>, Vec<_>) =
            differences.partition(|(name, ..)| is_copied(name, block));
        let doubt = |(differences, is_copied): (Vec<_>, bool)| {
            let lines = block.lines;
            let doubt = ImportDoubt::TableContradicts {
                lines,
                differences,
                is_copied,
            };
            (at, doubt)
        };
        let doubts = [(differing, false), (copied, true)].into_iter();
        let doubts = doubts.filter(|(differences, _)| !differences.is_empty());
        doubts.map(doubt).collect()
    };
    let copies = repeats(results).into_iter().enumerate();
    copies.flat_map(contradictions).collect()
}

/// Whether a percentile is one of several that are the same number in a block.
fn is_copied(name: &str, block: &ImportedResult) -> bool {
    let Some((sample, _)) = name.split_once('.') else {
        return false;
    };
    let known = block.summary.iter().flat_map(|it| it.latency.known());
    let mut of_sample = known.filter(|(known, _)| *known == sample);
    of_sample.any(|(_, spread)| spread.is_one_number()) && !name.ends_with(".mean")
}

/// Mean lengths of one workload that differ by a whole number of tokens: somebody counts a
/// template or a begin token that the others do not.
fn token_offsets(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let workload = |found: &ImportedResult| {
        let summary = found.summary.as_ref()?;
        let mean = summary.tokens.input_mean?;
        // Only a mean with a fraction identifies a workload: 512 and 1024 are just two lengths.
        let fraction = Some(mean - mean.floor()).filter(|it| (0.002..=0.998).contains(it))?;
        let requests = summary.requests.planned.or(summary.requests.ok)?;
        let chars = found.point.get("input_chars").map(Value::to_string);
        // A derived mean has all digits; a printed one three.
        let thousandths = (fraction * 1000.0).round() as i64;
        Some(((found.tool.name(), requests, chars, thousandths), mean))
    };
    let mut first: BTreeMap<_, f64> = BTreeMap::new();
    let mut doubts = Vec::new();
    for (at, found) in results.iter().enumerate() {
        let Some((key, mean)) = workload(found) else {
            continue;
        };
        let base = *first.entry(key).or_insert(mean);
        let offset = (mean - base).round();
        if offset != 0.0 && (mean - base - offset).abs() < 0.0015 {
            doubts.push((at, ImportDoubt::TokenOffset { mean, offset, base }));
        }
    }
    doubts
}

/// Share and number of tokens by which a mean may miss the length that a heading says: templates
/// add to prompts, and random lengths vary.
const NEAR_LENGTH: f64 = 0.1;
const NEAR_TOKENS: f64 = 64.0;

/// Headings such as `输入 4096` against the mean length of the prompts, and of the answers where these
/// are longer: they often end before they must.
pub(crate) fn heading_lengths(found: &ImportedResult) -> Vec<ImportDoubt> {
    let Some(tokens) = found.summary.as_ref().map(|summary| &summary.tokens) else {
        return Vec::new();
    };
    let headings = found.heading.iter().chain(found.section.iter().rev());
    let said: Vec<BTreeMap<String, Value>> = headings.filter_map(|it| named_load(it)).collect();
    let lengths = [
        ("input_tokens", tokens.input_mean),
        ("output_tokens", tokens.output_mean),
    ];
    let doubt = |(key, mean): (&str, Option<f64>)| {
        let mean = mean?;
        let heading = said.iter().find_map(|it| it.get(key)?.as_f64())?;
        let is_output = key == "output_tokens";
        let apart = if is_output {
            mean - heading
        } else {
            (mean - heading).abs()
        };
        (apart > NEAR_TOKENS.max(NEAR_LENGTH * heading)).then_some(ImportDoubt::HeadingLength {
            is_output,
            heading,
            mean,
        })
    };
    lengths.into_iter().filter_map(doubt).collect()
}

/// A heading such as `enable-64` or `parallel 8` against the command and the numbers.
pub(crate) fn heading_doubt(found: &ImportedResult) -> Option<ImportDoubt> {
    let heading = found.heading.as_ref().or(found.label.as_ref())?;
    let heading = heading.to_lowercase();
    let number_after = |word: &str| -> Option<u64> {
        let rest = heading
            .split(word)
            .nth(1)?
            .trim_start_matches(['-', '_', ' ', ':', '=', '：']);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest.get(..digits)?.parse().ok()
    };
    if let Some(flags) = &found.flags {
        for (word, on) in [("enable", true), ("disable", false)] {
            let Some(number) = number_after(word) else {
                continue;
            };
            if !flags.values().any(|value| value.as_u64() == Some(number)) {
                return Some(ImportDoubt::HeadingNumber { number });
            }
            if flags.get("enable-chunked-prefill") == Some(&Value::Bool(!on)) {
                return Some(ImportDoubt::HeadingSwitch { word, given: !on });
            }
        }
    }
    let configured = found.summary.as_ref()?.concurrency.configured?;
    let mut words = ["parallel", "concurrency", "并发数", "并发"].into_iter();
    let heading = words.find_map(number_after)?;
    (heading != configured).then_some(ImportDoubt::HeadingConcurrency {
        heading,
        configured,
    })
}
