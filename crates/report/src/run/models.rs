//! Each model by itself, where requests ask for several.

use super::{RunReport, heading};
use inferometer_core::summary::ModelResult;
use inferometer_message::NumbersText;
use inferometer_page::doc::{Block, Cell, Column, Section, Table, Unit};

pub(super) fn section(report: &RunReport<'_>) -> Option<Section> {
    let models = &report.summary.models;
    if models.is_empty() {
        return None;
    }
    let columns = [
        "ok".to_owned(),
        report.say(NumbersText::Failed).to_owned(),
        report.say(NumbersText::MeanTokens).to_owned(),
        "TTFT p50".to_owned(),
        "TTFT p99".to_owned(),
        "TPOT p50".to_owned(),
        "E2E p50".to_owned(),
        "E2E p99".to_owned(),
    ];
    let columns = columns.iter().map(|title| Column::right(title));
    let columns = std::iter::once(Column::left(report.say(NumbersText::Model))).chain(columns);
    let table = Table::new(columns.collect::<Vec<_>>(), models.iter().map(row));
    Some(Section::headed(
        &heading(report, NumbersText::ByModel),
        [Block::Table(table)],
    ))
}

fn row(model: &ModelResult) -> Vec<Cell> {
    let ms = |value: Option<f64>| {
        let decimals = usize::from(value.is_some_and(|value| value < 100.0));
        Cell::number(value, Unit::Milliseconds, decimals)
    };
    vec![
        Cell::text(&model.model),
        Cell::count(model.ok),
        Cell::count(model.failed),
        Cell::number(
            model.output_tokens.map(|tokens| tokens as f64),
            Unit::Count,
            0,
        ),
        ms(model.ttft_p50_ms),
        ms(model.ttft_p99_ms),
        ms(model.tpot_p50_ms),
        ms(model.e2e_p50_ms),
        ms(model.e2e_p99_ms),
    ]
}
