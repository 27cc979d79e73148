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
    let cached = models
        .iter()
        .any(|model| model.cached_tokens_mean.is_some());
    let preempted = models.iter().any(|model| model.preempted.is_some());
    let mut columns = vec![
        "ok".to_owned(),
        report.say(NumbersText::Failed).to_owned(),
        report.say(NumbersText::MeanTokens).to_owned(),
        "TTFT p50".to_owned(),
        "TTFT p99".to_owned(),
        "TPOT p50".to_owned(),
        "E2E p50".to_owned(),
        "E2E p99".to_owned(),
    ];
    if cached {
        columns.push(report.say(NumbersText::InputMean).to_owned());
        columns.push(report.say(NumbersText::CachedMean).to_owned());
    }
    if preempted {
        columns.push(report.say(NumbersText::PreemptedOf).to_owned());
    }
    let columns = columns.iter().map(|title| Column::right(title));
    let columns = std::iter::once(Column::left(report.say(NumbersText::Model))).chain(columns);
    let table = Table::new(
        columns.collect::<Vec<_>>(),
        models.iter().map(|model| row(model, cached, preempted)),
    );
    Some(Section::headed(
        &heading(report, NumbersText::ByModel),
        [Block::Table(table)],
    ))
}

fn row(model: &ModelResult, cached: bool, preempted: bool) -> Vec<Cell> {
    let ms = |value: Option<f64>| {
        let decimals = usize::from(value.is_some_and(|value| value < 100.0));
        Cell::number(value, Unit::Milliseconds, decimals)
    };
    let tokens = |value: Option<f64>| Cell::number(value, Unit::Count, 0);
    let mut cells = vec![
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
    ];
    if cached {
        cells.push(tokens(model.input_tokens_mean));
        cells.push(tokens(model.cached_tokens_mean));
    }
    if preempted {
        cells.push(tokens(model.preempted.map(|count| count as f64)));
    }
    cells
}
