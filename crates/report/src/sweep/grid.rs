//! Lengths as tables: what was asked for, how long the answers really were and how fast they came.

use super::{SweepReport, by_load};
use inferometer_chart::measured::{MeasuredPoint, groups, is_load, lengths, output_length};
use inferometer_core::summary::{ContinuationResult, Summary};
use inferometer_message::{FigureText, PageText, SweepText};
use inferometer_page::doc::{Cell, Column, Section, Table, Unit};

/// Tokens by which answers may be longer or shorter than asked for, for their table to be left out.
const AS_ASKED: f64 = 0.5;

/// Whether its template asked for characters.
fn by_chars(row: &MeasuredPoint<'_>) -> bool {
    row.summaries().any(|it| it.continuation.is_some())
}

/// A table for each input length and each setting, its rows by load and by the length of answers.
pub(super) fn sections(report: &SweepReport<'_>, rows: &[MeasuredPoint<'_>]) -> Vec<Section> {
    let lang = report.lang;
    let axes = &report.plan.axes;
    let Some(output) = output_length(axes) else {
        return Vec::new();
    };
    let input = lengths(axes).map(|[input, _]| input);
    let (loads, others): (Vec<&String>, Vec<&String>) = (axes.iter())
        .filter(|axis| Some(*axis) != input && *axis != output)
        .partition(|axis| is_load(axis));
    let heading = |row: &MeasuredPoint<'_>| {
        let setting = row.name(&others);
        match input {
            Some(input) => {
                let length = [("input", row.text(input))];
                let heading = PageText::GridOf.with(lang, &length);
                if setting.is_empty() {
                    heading
                } else {
                    format!("{heading} ({setting})")
                }
            }
            None if setting.is_empty() => SweepText::AnswerLengths.text(lang).to_owned(),
            None => SweepText::AnswerLengthsOf.with(lang, &[("setting", setting)]),
        }
    };
    // The tables above have all of answers that are as long as they were asked to be.
    let is_as_asked = |row: &MeasuredPoint<'_>| {
        let (asked, actual) = (row.number(output), row.mean(|it| it.tokens.output_mean));
        let is_equal = |(asked, actual): (f64, f64)| (asked - actual).abs() < AS_ASKED;
        !by_chars(row) && asked.zip(actual).is_some_and(is_equal)
    };
    if report.columns.is_none() && rows.iter().all(is_as_asked) {
        return Vec::new();
    }
    let section = |(heading, rows): (String, Vec<&MeasuredPoint<'_>>)| {
        let mut rows = by_load(rows);
        let length = |row: &MeasuredPoint<'_>| row.number(output).unwrap_or(f64::INFINITY);
        rows.sort_by(|a, b| length(a).total_cmp(&length(b)));
        Section::headed(&heading, [table(report, &loads, output, &rows)])
    };
    groups(rows, heading).into_iter().map(section).collect()
}

fn table(
    report: &SweepReport<'_>,
    loads: &[&String],
    output: &str,
    rows: &[&MeasuredPoint<'_>],
) -> Table {
    let lang = report.lang;
    // Characters are asked for, tokens are counted, and characters too where they were asked for.
    let [tokens, chars] = [FigureText::Tokens, FigureText::Characters];
    let unit = |unit: FigureText| [("unit", unit.text(lang).to_owned())];
    let asked = if output.contains("chars") {
        chars
    } else {
        tokens
    };
    let by_chars = rows.iter().any(|row| by_chars(row));
    let mut columns: Vec<Column> = loads.iter().map(|axis| Column::key(axis)).collect();
    columns.push(Column::right(
        &PageText::AskedOutput.with(lang, &unit(asked)),
    ));
    if by_chars {
        columns.push(Column::right(
            &PageText::ActualOutput.with(lang, &unit(chars)),
        ));
    }
    columns.push(Column::right(
        &PageText::ActualOutput.with(lang, &unit(tokens)),
    ));
    if by_chars {
        columns.push(Column::right(SweepText::Refused.text(lang)));
        columns.push(Column::right(SweepText::VeryShort.text(lang)));
    }
    columns.push(Column::right(PageText::CompletionSpeed.text(lang)));
    let cells = |row: &&MeasuredPoint<'_>| {
        let mut cells: Vec<Cell> = loads
            .iter()
            .map(|axis| Cell::text(row.text(axis)))
            .collect();
        cells.push(Cell::text(row.text(output)));
        if by_chars {
            let chars = row.mean(|it| it.continuation.as_ref()?.chars_mean);
            cells.push(Cell::number(chars, Unit::Count, 1));
        }
        let tokens = row.mean(|it| it.tokens.output_mean);
        cells.push(Cell::number(tokens, Unit::Count, 1));
        if by_chars {
            cells.push(counted(row, |it| it.refused));
            cells.push(counted(row, |it| it.very_short));
        }
        let speed = |it: &Summary| it.speed.per_user_tokens_per_s.map(|speed| speed.mean);
        cells.push(Cell::number(row.mean(speed), Unit::TokensPerSecond, 1));
        cells
    };
    Table {
        footnotes: vec![PageText::CompletionSpeedIs.text(lang).to_owned()],
        ..Table::new(columns, rows.iter().map(cells))
    }
}

/// Answers of a kind, of all measurements of a point.
fn counted(row: &MeasuredPoint<'_>, of: impl Fn(&ContinuationResult) -> u64) -> Cell {
    let known = row.shown().into_iter();
    let known: Vec<u64> = known
        .filter_map(|it| it.continuation.as_ref().map(&of))
        .collect();
    if known.is_empty() {
        Cell::Absent
    } else {
        Cell::count(known.iter().sum())
    }
}
