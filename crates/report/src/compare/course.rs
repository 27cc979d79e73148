//! What the loads of a ladder say one after the other, and all together.

use super::{CompareReport, change, label_of, verdict_word};
use inferometer_chart::compared_loads::{Saturation, loads};
use inferometer_chart::measured::distinct;
use inferometer_compare::{Group, Metric, Pooled, Row, Verdict};
use inferometer_core::point::Point;
use inferometer_message::CompareText;
use inferometer_page::doc::Block;
use inferometer_page::number::{change_in_percent, whole_or_brief as level};
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// From which load on a side is better or worse, where that changes once.
pub(super) fn turn(rows: &[&Row], lang: Lang) -> Option<String> {
    let points: Vec<&Point> = rows.iter().map(|row| &row.point).collect();
    let named = loads(&points)?.into_iter().zip(rows);
    let told = named.filter(|(_, row)| matches!(row.verdict, Verdict::Better | Verdict::Worse));
    let told: Vec<(String, Verdict)> = told
        .map(|((axis, load), row)| (format!("{axis}={}", level(load)), row.verdict))
        .collect();
    let phases: Vec<_> = told.chunk_by(|a, b| a.1 == b.1).collect();
    let (text, ends) = match phases.as_slice() {
        [before, after] => {
            let text = match before[0].1 {
                Verdict::Better => CompareText::BetterThenWorse,
                _ => CompareText::WorseThenBetter,
            };
            (text, [before.last()?, after.first()?])
        }
        [highest] if highest.len() > 1 && highest.len() < rows.len() => {
            let since = rows.len() - highest.len();
            if rows[since..].iter().any(|row| row.verdict != highest[0].1) {
                return None;
            }
            let text = match highest[0].1 {
                Verdict::Better => CompareText::BetterFrom,
                _ => CompareText::WorseFrom,
            };
            (text, [&highest[0]; 2])
        }
        _ => return None,
    };
    let [low, high] = ends.map(|(load, _)| load.clone());
    Some(text.with(lang, &[("low", low), ("high", high)]))
}

/// What all loads say together.
pub(super) fn together(pooled: &Pooled, lang: Lang) -> String {
    let values = [
        ("count", pooled.loads.to_string()),
        ("change", change(Some(pooled.ratio))),
        ("low", change_in_percent(pooled.low)),
        ("high", change_in_percent(pooled.high)),
    ];
    CompareText::Together.with(lang, &values)
}

/// Lines under the table of loads: what these say together, and where each side saturates.
pub(super) fn below(report: &CompareReport<'_>, primary: &[&Row]) -> Vec<Block> {
    let lang = report.lang;
    let test = primary.first().and_then(|row| row.point.group());
    let pooled = report.groups.iter().filter_map(|group| {
        let pooled = report.comparison.pooled_of(&group.name, test)?;
        let word = verdict_word(pooled.verdict).0.text(lang).to_owned();
        let said = [label_of(report.groups, &group.name), together(pooled, lang)];
        let values = [("verdict", word), ("said", said.join(": "))];
        Some(CompareText::TogetherIs.with(lang, &values))
    });
    let is_rate = primary
        .iter()
        .all(|row| row.metric == Metric::OutputTokensPerS);
    let sides = report.groups.iter().filter(|_| is_rate);
    let sides: Vec<String> = sides
        .filter_map(|it| saturation(report, it, primary))
        .collect();
    let saturated = (!sides.is_empty()).then(|| {
        let sides = PunctuationText::Semicolon.join(lang, &sides);
        CompareText::Saturation.with(lang, &[("sides", sides)])
    });
    pooled.chain(saturated).map(Block::Paragraph).collect()
}

/// Where a side has nearly all of its highest throughput, or that it rises still.
fn saturation(report: &CompareReport<'_>, group: &Group, primary: &[&Row]) -> Option<String> {
    let points = distinct(primary.iter().map(|row| &row.point));
    let (lang, side) = (report.lang, label_of(report.groups, &group.name));
    match Saturation::of(group, &points)? {
        Saturation::At(knee) => {
            let values = [
                ("load", level(knee.about())),
                ("low", level(knee.low)),
                ("high", level(knee.high)),
                ("side", side),
            ];
            Some(CompareText::SaturatesAt.with(lang, &values))
        }
        Saturation::Above(load) => {
            let values = [("load", level(load)), ("side", side)];
            Some(CompareText::RisesStill.with(lang, &values))
        }
    }
}
