//! A part of an import: the results under some headings, or those of an engine, card or model.

use crate::group::groups;
use crate::result::ImportedResult;
use inferometer_catalog::nearest::nearest;
use serde_json::Value;
use std::collections::BTreeSet;

#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    #[error("it holds {count} results")]
    NoNumber { count: usize },
    #[error("{} {}", if *more { "its nearest headings are" } else { "its headings are" }, nearest.join("; "))]
    NoHeading {
        nearest: Vec<String>,
        /// There are others.
        more: bool,
    },
    #[error("no result there stands under a heading; give the number of one, from 1")]
    NoHeadings,
    #[error("{}", if known.is_empty() {
        format!("no heading there names the {name}")
    } else {
        format!("its headings name the {name} {}", known.join(", "))
    })]
    NoFact { name: String, known: Vec<String> },
    #[error("its results have {name} {}", known.join(", "))]
    NoSetting { name: String, known: Vec<String> },
    #[error("no heading there names the {name}{}{}", if known.is_empty() {
        String::new()
    } else {
        format!("; they name the {}", known.join(", "))
    }, if flags.is_empty() {
        String::new()
    } else {
        format!("; known flags are {}", flags.join(", "))
    })]
    NoSuchFact {
        name: String,
        known: Vec<String>,
        flags: Vec<String>,
    },
}

/// Most headings that an error lists.
const MOST_HEADINGS: usize = 3;

/// Of the headings of groups those nearest to what was asked for: under most of the parts that are
/// known, then with words that are spelled nearly like the others.
fn nearest_headings(known: Vec<String>, wanted: &[String]) -> SelectError {
    let is_word = |c: char| c.is_alphanumeric() || c == '.';
    let words = |text: &str| -> Vec<String> {
        let words = text.split(move |c: char| !is_word(c));
        words
            .filter(|it| !it.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let all: Vec<String> = known.iter().flat_map(|it| words(it)).collect();
    let distance = |heading: &String| {
        let lower = heading.to_lowercase();
        let missing = wanted.iter().filter(|part| !names(&lower, part));
        let missing: Vec<&String> = missing.collect();
        let own = words(heading);
        let unlike = missing.iter().filter(|part| {
            let near = nearest(all.iter().map(String::as_str), part);
            !near.iter().any(|word| own.iter().any(|own| own == word))
        });
        (missing.len(), unlike.count())
    };
    let more = known.len() > MOST_HEADINGS;
    let mut nearest = known;
    nearest.sort_by_key(distance);
    nearest.truncate(MOST_HEADINGS);
    SelectError::NoHeading { nearest, more }
}

/// Which results are under these headings, leaving out the outermost `skipped`.
fn chosen(results: &[ImportedResult], wanted: &[String], skipped: usize) -> Vec<bool> {
    let chain = |found: &ImportedResult| -> Vec<String> {
        let own = found.label.iter().filter(|it| !found.section.contains(it));
        let titles = found.section.iter().skip(skipped).chain(own);
        titles.map(|title| title.to_lowercase()).collect()
    };
    let is_under = |found: &ImportedResult| {
        let mut chain = chain(found).into_iter();
        (wanted.iter()).all(|part| chain.any(|title| names(&title, part)))
    };
    // A whole heading means itself, and not those that say more.
    let is_named = |found: &ImportedResult| {
        let last = wanted.last();
        is_under(found) && chain(found).iter().any(|title| Some(title) == last)
    };
    let by_name = results.iter().any(is_named);
    let is_chosen = |found: &ImportedResult| {
        if by_name {
            is_named(found)
        } else {
            is_under(found)
        }
    };
    results.iter().map(is_chosen).collect()
}

/// The result of a number, from 1, or all under headings: `MindIE/7B` are those under a heading
/// with `MindIE` in it and, below it, one with `7B`.
pub fn under(
    results: Vec<ImportedResult>,
    headings: &str,
) -> Result<Vec<ImportedResult>, SelectError> {
    if let Ok(number) = headings.parse::<u64>() {
        let count = results.len();
        let mut results = results.into_iter();
        return match results.find(|found| found.number == number) {
            Some(found) => Ok(vec![found]),
            None => Err(SelectError::NoNumber { count }),
        };
    }
    let wanted: Vec<String> = (headings.split('/'))
        .map(|part| part.trim().to_lowercase())
        .collect();
    let known: Vec<String> = (groups(&results).into_iter())
        .filter_map(|group| {
            let section = &results[*group.members.first()?].section;
            (!section.is_empty()).then(|| section.join("/"))
        })
        .collect();
    // The title of the whole may name everything that is in it.
    let title = |found: &ImportedResult| found.section.first().cloned();
    let is_titled = results.iter().map(title).collect::<BTreeSet<_>>().len() == 1;
    let below_title = is_titled.then(|| chosen(&results, &wanted, 1));
    // Headings may hold the sign that stands between them: `completion tok/s`.
    let whole = headings.trim().to_lowercase();
    let is_whole = |found: &ImportedResult| {
        let ends = 1..=found.section.len();
        let mut chains = ends.flat_map(|end| (0..end).map(move |begin| begin..end));
        chains.any(|chain| found.section[chain].join("/").to_lowercase() == whole)
    };
    let by_whole: Vec<bool> = results.iter().map(is_whole).collect();
    let places = match below_title {
        _ if by_whole.contains(&true) => by_whole,
        Some(places) if places.contains(&true) => places,
        _ => chosen(&results, &wanted, 0),
    };
    let places = with_followers(&results, places);
    let chosen: Vec<ImportedResult> = (results.into_iter().zip(places))
        .filter_map(|(found, is_chosen)| is_chosen.then_some(found))
        .collect();
    match (chosen.is_empty(), known.is_empty()) {
        (false, _) => Ok(chosen),
        (true, false) => Err(nearest_headings(known, &wanted)),
        (true, true) => Err(SelectError::NoHeadings),
    }
}

/// A line above a launch command names the first of its results alone: those that follow it under
/// the same command, with no name of their own, are of it as well.
fn with_followers(results: &[ImportedResult], mut places: Vec<bool>) -> Vec<bool> {
    for (at, pair) in results.windows(2).enumerate() {
        let [first, next] = pair else { continue };
        let of = |found: &ImportedResult| {
            let found = found.clone();
            (found.file, found.section, found.command, found.flags)
        };
        let follows = next.command.is_some() && next.heading.is_none() && of(first) == of(next);
        places[at + 1] |= places[at] && follows;
    }
    places
}

/// Whether a text holds a part that is not the end of a longer number: `7b` is in `qwen-7b` and
/// not in `6.7b` or `27b`.
fn names(text: &str, part: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit();
    let begins_in_number = part.starts_with(is_number);
    let ends_in_number = part.ends_with(is_number);
    let is_whole = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + part.len()..].chars().next();
        let longer_before = begins_in_number && before.is_some_and(|c| is_number(c) || c == '.');
        let longer_after = ends_in_number && after.is_some_and(is_number);
        !longer_before && !longer_after
    };
    !part.is_empty() && text.match_indices(part).any(|(at, _)| is_whole(at))
}

/// What a result was made with: a flag of its server by any of its spellings, or an axis of its
/// load.
fn setting<'f>(found: &'f ImportedResult, name: &str) -> Option<&'f Value> {
    let name = name.trim_start_matches('-');
    let spelled = |own: &str, name: &str| own.replace('_', "-") == name.replace('_', "-");
    let flags = found.flags.iter().flatten();
    let mut all = flags.chain(&found.point);
    // Keys of a file may be given with the sections that they stand in.
    let key = name.rsplit('.').next().unwrap_or(name);
    let is_meant = |own: &str| spelled(own, name) || own == key;
    all.find(|(own, _)| is_meant(own)).map(|(_, value)| value)
}

fn in_words(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Those that were made with a setting; `None` where none is known to have it, whatever its value.
fn with_setting(
    results: &[ImportedResult],
    name: &str,
    wanted: &str,
) -> Option<Result<Vec<ImportedResult>, SelectError>> {
    let number = wanted.parse::<f64>().ok();
    let is_wanted = |value: &Value| {
        let is_number = number.is_some() && value.as_f64() == number;
        is_number || in_words(value).eq_ignore_ascii_case(wanted)
    };
    let mut values: Vec<&Value> = results.iter().filter_map(|it| setting(it, name)).collect();
    if values.is_empty() {
        return None;
    }
    let chosen = results.iter();
    let chosen = chosen.filter(|it| setting(it, name).is_some_and(is_wanted));
    let chosen: Vec<ImportedResult> = chosen.cloned().collect();
    if !chosen.is_empty() {
        return Some(Ok(chosen));
    }
    values.sort_by(|a, b| {
        let numbers = a.as_f64().unwrap_or(f64::INFINITY);
        let order = numbers.total_cmp(&b.as_f64().unwrap_or(f64::INFINITY));
        order.then_with(|| in_words(a).cmp(&in_words(b)))
    });
    let mut known: Vec<String> = values.into_iter().map(in_words).collect();
    known.dedup();
    let name = name.to_owned();
    Some(Err(SelectError::NoSetting { name, known }))
}

/// Most flags that an error lists.
const MOST_FLAGS: usize = 12;

/// Those of which the headings say so: `engine=MindIE`, `card=T4`, `model=7B`. Where none has
/// just this value, those that have it among others. Else those that were made with a setting:
/// `max-num-seqs=16`.
pub fn with_fact(
    results: &[ImportedResult],
    name: &str,
    value: &str,
) -> Result<Vec<ImportedResult>, SelectError> {
    let wanted = value.to_lowercase();
    let own = |found: &ImportedResult| found.facts.get(name).map(|it| it.to_lowercase());
    let is_equal = |found: &ImportedResult| own(found).as_ref() == Some(&wanted);
    let contains = |found: &ImportedResult| own(found).is_some_and(|it| names(&it, &wanted));
    let exact = results.iter().any(is_equal);
    let mut known: Vec<String> = (results.iter())
        .filter_map(|found| found.facts.get(name).cloned())
        .collect();
    known.sort_unstable();
    known.dedup();
    let facts: BTreeSet<String> = results
        .iter()
        .flat_map(|it| it.facts.keys().cloned())
        .collect();
    let chosen: Vec<ImportedResult> = (results.iter())
        .filter(|found| {
            if exact {
                is_equal(found)
            } else {
                contains(found)
            }
        })
        .cloned()
        .collect();
    if chosen.is_empty() {
        let name = name.to_owned();
        if facts.contains(&name) {
            return Err(SelectError::NoFact { name, known });
        }
        if let Some(of_setting) = with_setting(results, &name, value) {
            return of_setting;
        }
        let flags = results.iter().flat_map(|it| it.flags.iter().flatten());
        let flags: BTreeSet<String> = flags.map(|(name, _)| name.clone()).collect();
        return Err(SelectError::NoSuchFact {
            name,
            known: facts.into_iter().collect(),
            flags: flags.into_iter().take(MOST_FLAGS).collect(),
        });
    }
    Ok(chosen)
}
