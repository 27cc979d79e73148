//! The table of a ladder, its marks and what they mean.

use super::{SweepReport, notes, refusal};
use crate::columns;
use crate::run::{is_missed_by_failures, seen};
use inferometer_chart::measured::MeasuredPoint;
use inferometer_chart::star;
use inferometer_core::doubt::Severity;
use inferometer_core::summary::{Quantity, Summary, SummaryColumn};
use inferometer_message::{SweepText, VerdictText};
use inferometer_page::doc::{Cell, Column, Table, Tone, Unit};
use inferometer_statistics::batch_means;
use inferometer_store::sweep_dir::{Trial, TrialState};
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use inferometer_text::punctuation::PunctuationText;

/// Marked points that footnotes name, at most.
const MOST_REASONS: usize = 12;

/// Columns of answers that were asked for by their length.
const OF_ANSWERS: [&str; 3] = ["chars", "refused", "very_short"];

/// The points of a ladder, a row each.
pub(super) fn table(
    report: &SweepReport<'_>,
    axes: &[String],
    rows: Vec<&MeasuredPoint<'_>>,
) -> Table {
    let lang = report.lang;
    let repeated = report.plan.repeat > 1;
    let chosen = report
        .columns
        .cloned()
        .unwrap_or_else(|| columns::of_sweep(report.plan, &rows));
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::key(axis)).collect();
    columns.extend(columns::heads(&chosen, lang));
    let shared = |summary: &Summary| summary.cards().is_some_and(|cards| cards > 1.0);
    let with_cards = rows.iter().any(|row| row.summaries().any(shared));
    if with_cards {
        columns.push(Column::right(SweepText::PerCard.text(lang)));
    }
    if repeated {
        columns.push(Column::right(SweepText::Repeats.text(lang)));
        columns.push(Column::right(SweepText::Spread.text(lang)));
    }
    let marked = rows.iter().any(|row| remark(row, lang).is_some());
    if marked {
        columns.push(Column::mark());
    }
    let cells = |row: &&MeasuredPoint<'_>| {
        let mut cells: Vec<Cell> = axes.iter().map(|axis| Cell::text(row.text(axis))).collect();
        cells.extend(columns::of_point(&chosen, row));
        if with_cards {
            let each = row.mean(Summary::output_tokens_per_s_per_card);
            cells.push(Cell::number(each, Unit::TokensPerSecond, 1));
        }
        if repeated {
            cells.push(Cell::count(row.shown().len() as u64));
            cells.push(Cell::number(spread(row), Unit::Count, 1));
        }
        if marked {
            cells.push(match remark(row, lang) {
                Some((word, tone)) => Cell::Toned(word.to_owned(), tone),
                None => Cell::blank(),
            });
        }
        cells
    };
    let mut table = Table::new(columns, rows.iter().map(cells));
    let is_filled = |place: usize| {
        let mut cells = table.rows.iter().map(|row| &row[axes.len() + place]);
        cells.any(|cell| *cell != Cell::Absent)
    };
    let shown: Vec<&SummaryColumn> = (chosen.0.iter().enumerate())
        .filter(|(place, _)| is_filled(*place))
        .map(|(_, column)| column)
        .collect();
    let mut meanings = Vec::new();
    if shown.iter().any(|it| it.quantity == Quantity::Milliseconds) {
        meanings.push(SweepText::TimesInMs.text(lang).to_owned());
    }
    if shown.iter().any(|it| OF_ANSWERS.contains(&it.name)) {
        meanings.push(SweepText::VeryShortMeans.text(lang).to_owned());
    }
    let starred = columns::lacking(&chosen, &rows);
    let empty = columns::without_empty(&mut table, axes.len(), &chosen, lang);
    table.footnotes = meanings;
    table
        .footnotes
        .extend(footnotes(report, axes, &rows, starred));
    // What was asked for and is nowhere known is told; what was not asked for is not missed.
    table
        .footnotes
        .extend(empty.filter(|_| report.columns.is_some()));
    table
}

/// Half of the interval of the throughput over repeats, in percent.
fn spread(row: &MeasuredPoint<'_>) -> Option<f64> {
    let values: Vec<f64> = (row.shown().into_iter())
        .filter_map(|summary| summary.throughput.output_tokens_per_s)
        .collect();
    let known = batch_means(&values, values.len())?;
    Some((known.interval[1] - known.mean) / known.mean * 100.0).filter(|share| share.is_finite())
}

/// What a point that cannot be trusted is called.
pub(super) fn mark(row: &MeasuredPoint<'_>, lang: Lang) -> Option<&'static str> {
    let text = match row.trials.iter().map(|trial| trial.state).next_back()? {
        _ if row.summaries().any(|summary| !summary.valid) => SweepText::Invalid,
        TrialState::Done => return None,
        TrialState::Failed => SweepText::NotRun,
        TrialState::Skipped if row.trials.iter().any(|trial| refusal(trial).is_some()) => {
            SweepText::RefusedStart
        }
        TrialState::Skipped => SweepText::Skipped,
        TrialState::Interrupted => SweepText::Interrupted,
    };
    Some(text.text(lang))
}

/// The mark, or why a valid point is not to be compared, or that it misses objectives.
fn remark(row: &MeasuredPoint<'_>, lang: Lang) -> Option<(&'static str, Tone)> {
    if let Some(word) = mark(row, lang) {
        return Some((word, Tone::Bad));
    }
    let text = if row.summaries().any(|summary| !summary.can_win()) {
        SweepText::NotComparable
    } else if row.meets() == Some(false) {
        SweepText::SloMissed
    } else {
        return None;
    };
    Some((text.text(lang), Tone::Caution))
}

/// The objectives that a point misses, with what it showed.
fn misses(row: &MeasuredPoint<'_>, lang: Lang) -> Option<String> {
    let objectives = (row.shown().into_iter()).filter_map(|summary| summary.slo.as_ref());
    let mut missed: Vec<String> = (objectives.flat_map(|slo| &slo.objectives))
        .filter(|one| one.met == Some(false))
        .map(|one| {
            let seen = seen(one, lang);
            let seen = if is_missed_by_failures(one) {
                VerdictText::SeenOfAnswers.with(lang, &[("seen", seen)])
            } else {
                seen
            };
            format!("{} ({seen})", one.objective)
        })
        .collect();
    missed.dedup();
    (!missed.is_empty()).then(|| PunctuationText::Comma.join(lang, &missed))
}

/// Why a point is marked: the codes of its grave doubts, or the reason of the trial.
fn why(row: &MeasuredPoint<'_>, lang: Lang) -> Option<String> {
    let grave = row.summaries().flat_map(|summary| &summary.doubts);
    let mut codes: Vec<&str> = grave
        .filter(|doubt| doubt.severity == Severity::Invalid)
        .map(|doubt| doubt.code.into_str())
        .collect();
    codes.dedup();
    if !codes.is_empty() {
        return Some(codes.join(", "));
    }
    let reason = |trial: &&Trial| match refusal(trial) {
        Some([engine, message]) => {
            let values = [
                ("engine", engine.to_owned()),
                ("message", message.to_owned()),
            ];
            Some(SweepText::WouldRefuse.with(lang, &values))
        }
        None => trial.reason.clone(),
    };
    let mut reasons = row.trials.iter().filter_map(reason);
    Some(printable(&reasons.next_back()?, 300))
}

fn footnotes(
    report: &SweepReport<'_>,
    axes: &[String],
    rows: &[&MeasuredPoint<'_>],
    starred: Vec<(f64, u64)>,
) -> Vec<String> {
    let lang = report.lang;
    let mut notes = Vec::from_iter(notes::mean_lengths(rows.iter().copied(), lang));
    notes.extend(star::footnote(starred, lang));
    if report.plan.repeat > 1 {
        notes.push(SweepText::SpreadMeans.text(lang).to_owned());
    }
    let axes: Vec<&String> = axes.iter().collect();
    let name = |row: &MeasuredPoint<'_>| row.name(&axes);
    let missing = (rows.iter()).filter_map(|row| Some((name(row), misses(row, lang)?)));
    notes.extend(
        missing
            .take(MOST_REASONS)
            .map(|(point, list)| SweepText::Misses.with(lang, &[("point", point), ("list", list)])),
    );
    let reasons: Vec<(String, String)> = (rows.iter())
        .filter(|row| mark(row, lang).is_some())
        .filter_map(|row| Some((name(row), why(row, lang)?)))
        .collect();
    notes.extend(reasons.iter().take(MOST_REASONS).map(|(point, why)| {
        SweepText::Because.with(lang, &[("point", point.clone()), ("why", why.clone())])
    }));
    if reasons.len() > MOST_REASONS {
        let more = (reasons.len() - MOST_REASONS).to_string();
        notes.push(SweepText::MoreReasons.with(lang, &[("count", more)]));
    }
    notes
}
