//! Which flags matter, and what is lost without each.

use super::{StudyReport, changed, last_part, named};
use inferometer_campaign::study::{Direction, Effect, Importance, Spread};
use inferometer_chart::metric_name::name_and_unit;
use inferometer_message::StudyText;
use inferometer_page::doc::{Cell, Column, Table};
use inferometer_page::number;
use inferometer_text::Lang;
use std::collections::BTreeSet;

/// Less than this, as a logarithm, is no loss.
const NOTHING: f64 = 0.005;
/// Losses that add up to this many times the whole gain do not add up by chance.
const TOGETHER: f64 = 1.25;

pub(super) fn importance(report: &StudyReport<'_>) -> Table {
    let lang = report.lang;
    // A model's shares are of what varies; those against the default are gains.
    let has_gains = report.result.importance_of_met.is_none()
        && report
            .result
            .importance
            .iter()
            .any(|line| line.gain.is_some_and(|gain| gain > 0.0));
    let lines = || report.result.importance.iter();
    let has_shares = lines().any(|line| line.share > 0.0);
    let has_spreads = lines().any(|line| line.spread.is_some());
    let needed = |line: &Importance| {
        let mut needed = report.result.trimming.iter().flat_map(|it| &it.needed);
        needed.find(|it| it.flag == line.flag)
    };
    // Where nothing can be told, 0 % would be a claim.
    let share = |line: &Importance| match line.effect {
        _ if needed(line).is_some_and(|it| it.fails_without) => number::ABSENT.to_owned(),
        _ if line.share == 0.0 && line.gain.is_none() && line.spread.is_some() => {
            number::ABSENT.to_owned()
        }
        Effect::None
        | Effect::Rises
        | Effect::Falls
        | Effect::Mixed
        | Effect::Choice
        | Effect::OnlyBeside
        | Effect::DefaultBest => format!("{} %", number::grouped(line.share * 100.0, 0)),
        Effect::Needed if line.gain.is_some() => {
            format!("{} %", number::grouped(line.share * 100.0, 0))
        }
        _ => number::ABSENT.to_owned(),
    };
    let row = |line: &Importance| {
        let effect = match line.effect {
            Effect::Rises => StudyText::Rises,
            Effect::Falls => StudyText::Falls,
            Effect::Mixed => StudyText::Mixed,
            Effect::Choice => StudyText::Choice,
            Effect::None => StudyText::NoEffect,
            Effect::Unclear => StudyText::Unclear,
            Effect::NotVaried => StudyText::NotVaried,
            Effect::NeverServed => StudyText::NeverServed,
            Effect::NotModelled => StudyText::NotModelled,
            Effect::DefaultBest => StudyText::DefaultAsGood,
            Effect::Needed => StudyText::NeededFlag,
            Effect::Confounded => StudyText::Confounded,
            Effect::OnlyBeside => StudyText::OnlyBeside,
        };
        let best_at = line.best_at.as_ref();
        let mut cells = vec![Cell::text(last_part(&line.flag))];
        if has_shares {
            cells.push(Cell::text(share(line)));
        }
        if has_gains {
            let without = match needed(line).and_then(|it| it.without) {
                Some(measured) => Some(measured),
                None => line.gain.map(|gain| without(report, gain)),
            };
            let without = without.filter(|_| share(line) != number::ABSENT);
            let without = without.map_or(number::ABSENT.to_owned(), changed);
            cells.push(Cell::text(without));
        }
        let beside = line.beside.iter().flat_map(|it| &it.0);
        let beside: Vec<String> = beside.map(|(name, value)| named(name, value)).collect();
        let values = [("values", beside.join(", "))];
        cells.push(Cell::text(effect.with(lang, &values)));
        cells.push(Cell::text(
            best_at.map(ToString::to_string).unwrap_or_default(),
        ));
        if has_spreads {
            let spread = line.spread.as_ref().map(|it| spread(it, lang));
            cells.push(Cell::text(spread.unwrap_or_default()));
        }
        cells
    };
    let mut columns = vec![Column::left(StudyText::Flag.text(lang))];
    if has_shares {
        columns.push(Column::right(StudyText::Share.text(lang)));
    }
    if has_gains {
        columns.push(Column::right(StudyText::WithoutFlag.text(lang)));
    }
    columns.push(Column::wrapped(StudyText::Effect.text(lang)));
    columns.push(Column::left(StudyText::BestAt.text(lang)));
    if has_spreads {
        columns.push(Column::left(StudyText::Spread.text(lang)));
    }
    Table {
        columns,
        rows: report.result.importance.iter().map(row).collect(),
        footnotes: importance_notes(report, has_gains, has_spreads),
    }
}

/// What the worst and the best value of a flag differ by.
fn spread(spread: &Spread, lang: Lang) -> String {
    let values = [
        ("worst", spread.worst.to_string()),
        ("best", spread.best.to_string()),
        ("change", changed(spread.change)),
    ];
    StudyText::SpreadChange.with(lang, &values)
}

/// How the first objective changes without a flag that gains so much.
fn without(report: &StudyReport<'_>, gain: f64) -> f64 {
    match report.objectives().first().map(|it| it.direction) {
        Some(Direction::Minimize) => (1.0 - gain).recip() - 1.0,
        _ => (1.0 + gain).recip() - 1.0,
    }
}

/// Flags whose losses add up to more than the whole gain: none of them has it alone.
fn together<'a>(report: &StudyReport<'a>) -> Vec<&'a str> {
    let log = |change: f64| change.ln_1p().abs();
    let changes = report.result.comparison.as_ref().map(|it| &it.changes);
    let whole = changes.and_then(|changes| changes.first());
    let whole = whole.map_or(0.0, |change| log(change.value));
    let lines = report.result.importance.iter();
    let gaining: Vec<(&str, f64)> = lines
        .filter_map(|line| Some((line.flag.as_str(), log(without(report, line.gain?)))))
        .filter(|(_, lost)| *lost > NOTHING)
        .collect();
    let lost: f64 = gaining.iter().map(|(_, lost)| lost).sum();
    if gaining.len() < 2 || lost <= whole * TOGETHER {
        return Vec::new();
    }
    gaining.into_iter().map(|(flag, _)| flag).collect()
}

/// Which objective the shares are of, where there are several, of which trials, and which flags
/// cannot be told apart.
fn importance_notes(report: &StudyReport<'_>, has_gains: bool, has_spreads: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = report.objectives().first().filter(|_| has_spreads) {
        let (metric, _) = name_and_unit(&first.path, report.lang);
        notes.push(StudyText::SpreadOf.with(report.lang, &[("metric", metric)]));
    }
    if let Some(first) = report.objectives().first().filter(|_| has_gains) {
        let (metric, _) = name_and_unit(&first.path, report.lang);
        notes.push(StudyText::WithoutAlone.with(report.lang, &[("metric", metric)]));
        let flags: Vec<&str> = together(report).into_iter().map(last_part).collect();
        if !flags.is_empty() {
            let flags = [("flags", flags.join(", "))];
            notes.push(StudyText::WorkTogether.with(report.lang, &flags));
        }
    }
    if let [first, _, ..] = report.objectives() {
        let text = StudyText::ImportanceOf.text(report.lang);
        notes.push(text.replace("{path}", &first.path));
    }
    if let Some(count) = report.result.importance_of_met {
        let text = StudyText::AmongMet.text(report.lang);
        notes.push(text.replace("{count}", &count.to_string()));
    }
    let groups: BTreeSet<Vec<&str>> = (report.result.importance.iter())
        .filter(|line| !line.changed_with.is_empty())
        .map(|line| {
            let others = line.changed_with.iter().map(String::as_str);
            let mut group: Vec<&str> = others.chain([line.flag.as_str()]).collect();
            group.sort_unstable();
            group
        })
        .collect();
    let text = StudyText::ChangedTogether.text(report.lang);
    notes.extend(
        groups
            .iter()
            .map(|group| text.replace("{flags}", &group.join(", "))),
    );
    notes
}
