//! A grid of lengths as tables: for each input length, how long the answers really were and
//! how fast they came.

use super::{Row, SweepReport, grouped, named, shown};
use crate::message::page::PageText;
use inferometer_page::doc::{Block, Cell, Column, Section, Table, Unit};

const INPUT: [&str; 2] = ["input-tokens", "input-chars"];
const OUTPUT: [&str; 3] = ["output-tokens", "max-tokens", "ask-chars"];

/// Whether an axis is a length of prompts or answers.
pub(crate) fn is_length(axis: &str) -> bool {
    INPUT.contains(&axis) || OUTPUT.contains(&axis)
}

/// The axes of input and output lengths, where a sweep has both.
pub(crate) fn lengths(axes: &[String]) -> Option<[&String; 2]> {
    let of = |names: &[&str]| axes.iter().find(|axis| names.contains(&axis.as_str()));
    Some([of(&INPUT)?, of(&OUTPUT)?])
}

/// A table for each input length and each value of the other axes.
pub(super) fn sections(report: &SweepReport<'_>, rows: &[Row<'_>]) -> Vec<Section> {
    let lang = report.lang;
    let axes = &report.plan.axes;
    let Some([input, output]) = lengths(axes) else {
        return Vec::new();
    };
    let others: Vec<&String> = (axes.iter())
        .filter(|axis| *axis != input && *axis != output)
        .collect();
    let heading = |row: &Row<'_>| {
        let length = [("input", shown(row.point.0.get(input)))];
        let heading = PageText::GridOf.with(lang, &length);
        match others.is_empty() {
            true => heading,
            false => format!("{heading} ({})", named(&others, row.point)),
        }
    };
    let section = |(heading, rows): (String, Vec<&Row<'_>>)| {
        let cells = |row: &&Row<'_>| {
            vec![
                Cell::text(shown(row.point.0.get(output))),
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
                PageText::AskedOutput,
                PageText::ActualOutput,
                PageText::CompletionSpeed,
            ]
            .map(|title| Column::right(title.text(lang)))
            .to_vec(),
            rows: rows.iter().map(cells).collect(),
            footnotes: vec![PageText::CompletionSpeedIs.text(lang).to_owned()],
        };
        Section::headed(&heading, vec![Block::Table(table)])
    };
    grouped(rows.iter(), heading)
        .into_iter()
        .map(section)
        .collect()
}
