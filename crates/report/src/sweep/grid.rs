//! A grid of lengths as tables: for each input length, how long the answers really were and
//! how fast they came.

use super::SweepReport;
use inferometer_chart::measured::{MeasuredPoint, groups, lengths};
use inferometer_message::{FigureText, PageText};
use inferometer_page::doc::{Cell, Column, Section, Table, Unit};

/// A table for each input length and each value of the other axes.
pub(super) fn sections(report: &SweepReport<'_>, rows: &[MeasuredPoint<'_>]) -> Vec<Section> {
    let lang = report.lang;
    let axes = &report.plan.axes;
    let Some([input, output]) = lengths(axes) else {
        return Vec::new();
    };
    let others: Vec<&String> = (axes.iter())
        .filter(|axis| *axis != input && *axis != output)
        .collect();
    let heading = |row: &MeasuredPoint<'_>| {
        let length = [("input", row.text(input))];
        let heading = PageText::GridOf.with(lang, &length);
        if others.is_empty() {
            heading
        } else {
            format!("{heading} ({})", row.name(&others))
        }
    };
    // Characters are asked for, tokens are counted.
    let tokens = FigureText::Tokens;
    let asked = match output.contains("chars") {
        true => FigureText::Characters,
        false => tokens,
    };
    let section = |(heading, rows): (String, Vec<&MeasuredPoint<'_>>)| {
        let cells = |row: &&MeasuredPoint<'_>| {
            vec![
                Cell::text(row.text(output)),
                Cell::number(row.mean(|it| it.tokens.output_mean), Unit::Count, 1),
                Cell::number(
                    row.mean(|it| it.speed.per_user_tokens_per_s.map(|speed| speed.mean)),
                    Unit::TokensPerSecond,
                    1,
                ),
            ]
        };
        let table = Table {
            columns: [
                PageText::AskedOutput.with(lang, &[("unit", asked.text(lang).to_owned())]),
                PageText::ActualOutput.with(lang, &[("unit", tokens.text(lang).to_owned())]),
                PageText::CompletionSpeed.text(lang).to_owned(),
            ]
            .iter()
            .map(|title| Column::right(title))
            .collect(),
            rows: rows.iter().map(cells).collect(),
            footnotes: vec![PageText::CompletionSpeedIs.text(lang).to_owned()],
        };
        Section::headed(&heading, [table])
    };
    groups(rows, heading).into_iter().map(section).collect()
}
