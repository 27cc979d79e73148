//! Percentiles of latencies with their intervals, a row for each metric.

use super::labels::{brief_load, brief_ms, flags, off_by, predicted};
use inferometer_core::slo::{Slo, SloMetric};
use inferometer_core::summary::Distribution;
use inferometer_message::PlanText as Text;
use inferometer_page::doc::{Cell, Column, Section, Table};
use inferometer_plan::means::MeanMetric;
use inferometer_plan::what_if::{Answers, Prediction, TAIL};
use inferometer_text::Lang;
use std::collections::BTreeSet;

/// The latencies that the objectives judge, or all where there are none.
pub(super) fn latencies(answers: &Answers, judged: &[Slo], lang: Lang) -> Option<Section> {
    let shown = [MeanMetric::Ttft, MeanMetric::Tpot, MeanMetric::E2e]
        .into_iter()
        .filter(|&metric| judged.is_empty() || judged.iter().any(|slo| of_slo(slo) == metric));
    let shown: Vec<MeanMetric> = shown.collect();
    let settings = || answers.settings.iter();
    let devices: BTreeSet<&str> = settings().map(|(s, _)| s.device.as_str()).collect();
    let several = devices.len() > 1;
    let varied = settings().any(|(setting, _)| !setting.varied.is_empty());
    let mut columns = Vec::new();
    if several {
        columns.push(Column::left(Text::Device.text(lang)));
    }
    if varied {
        columns.push(Column::wrapped(Text::Flags.text(lang)));
    }
    columns.push(Column::right(Text::Load.text(lang)));
    columns.push(Column::left(""));
    columns.extend(["p50", "±", "p90", "p99", "±"].map(Column::right));
    let rows = settings().filter_map(|known| Some((&known.0, predicted(known)?)));
    let rows = rows.flat_map(|(setting, prediction)| {
        let before = move || {
            let mut cells = Vec::new();
            cells.extend(several.then(|| Cell::text(&setting.device)));
            cells.extend(varied.then(|| Cell::text(flags(setting))));
            cells.push(Cell::text(brief_load(prediction.work.load)));
            cells
        };
        let shown = shown.iter().filter_map(move |&metric| {
            let mut cells = before();
            cells.extend(row(prediction, metric)?);
            Some(cells)
        });
        shown.collect::<Vec<_>>()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let table = Table::new(columns, rows);
    let heading = Text::Latencies.text(lang);
    (!table.rows.is_empty()).then(|| Section::headed(heading, [table]))
}

fn of_slo(slo: &Slo) -> MeanMetric {
    match slo.metric {
        SloMetric::Ttft | SloMetric::FirstAnswer => MeanMetric::Ttft,
        SloMetric::Tpot | SloMetric::Itl | SloMetric::MaxGap => MeanMetric::Tpot,
        SloMetric::E2e | SloMetric::PerUser | SloMetric::Job => MeanMetric::E2e,
    }
}

fn row(prediction: &Prediction, metric: MeanMetric) -> Option<Vec<Cell>> {
    let (name, sample): (&str, Option<Distribution>) = match metric {
        MeanMetric::Ttft => ("TTFT", prediction.ttft_ms),
        MeanMetric::Tpot => ("TPOT", prediction.tpot_ms),
        MeanMetric::E2e => ("E2E", prediction.e2e_ms),
        _ => return None,
    };
    let sample = sample?;
    let bound = |wider: f64| {
        let bound = prediction.bound(metric);
        Cell::known(bound.map(|bound| off_by(bound * wider)))
    };
    Some(vec![
        Cell::text(name),
        Cell::text(brief_ms(sample.p50)),
        bound(1.0),
        Cell::text(brief_ms(sample.p90)),
        Cell::text(brief_ms(sample.p99)),
        bound(TAIL),
    ])
}
