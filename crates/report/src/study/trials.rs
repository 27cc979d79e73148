//! The table of trials, and what its columns say.

use super::{StudyReport, named, outcome, whole_sentences};
use inferometer_campaign::space::{Point, Value};
use inferometer_campaign::study::TrialRow;
use inferometer_campaign::trial::{Level, Origin};
use inferometer_chart::metric_name::name_and_unit;
use inferometer_chart::star;
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_core::summary::Latencies;
use inferometer_message::StudyText;
use inferometer_page::doc::{Cell, Column, Table, Tone, Unit};
use inferometer_text::Lang;
use serde::Deserialize;

pub(super) fn trials(report: &StudyReport<'_>, shown: &[&TrialRow]) -> Table {
    let lang = report.lang;
    let levels = report.several_levels();
    let slos = &report.study.goal.slos;
    let memory = (shown.iter()).any(|trial| trial.device_memory_gib.is_some());
    // Where all of them are done there is more room for the flags.
    let states = (shown.iter()).any(|trial| !matches!(outcome(trial), StudyText::Done));
    let mut columns = vec![
        Column::right(StudyText::Id.text(lang)),
        Column::left(StudyText::Why.text(lang)),
    ];
    if states {
        columns.push(Column::left(StudyText::State.text(lang)));
    }
    for objective in report.objectives() {
        columns.push(Column::right(&objective_heading(&objective.path, lang)));
        columns.extend(levels.iter().map(|level| {
            let load = match level {
                Level::Concurrency(streams) => streams.to_string(),
                Level::Capacity => "capacity".to_owned(),
            };
            Column::right(&StudyText::AtLoad.with(lang, &[("load", load)]))
        }));
    }
    let refusals = (shown.iter()).any(|trial| trial.failed_requests.is_some_and(|count| count > 0));
    if refusals {
        columns.push(Column::right(StudyText::FailedRequests.text(lang)));
    }
    // A search for the capacity keeps its limits by itself.
    let known = |at: &usize| (shown.iter()).any(|trial| slo_figure(trial, *at).is_some());
    let limits: Vec<usize> = (0..slos.len()).filter(known).collect();
    columns.extend((limits.iter()).map(|&at| Column::right(&slo_heading(&slos[at]))));
    if memory {
        columns.push(Column::right(StudyText::Memory.text(lang)));
    }
    columns.push(Column::wrapped(StudyText::Flags.text(lang)));
    let row = |trial: &&TrialRow| {
        let why = match &trial.origin {
            Origin::Default => StudyText::Default.text(lang).to_owned(),
            Origin::Preset(name) => StudyText::Preset.with(lang, &[("name", name.clone())]),
            Origin::Search => StudyText::Searched.text(lang).to_owned(),
            Origin::Confirm { of, .. } => StudyText::Again.with(lang, &[("of", of.to_string())]),
            Origin::Trim { of } => StudyText::PartOf.with(lang, &[("of", of.to_string())]),
        };
        let outcome = outcome(trial);
        let tone = match outcome {
            StudyText::Done => Tone::Good,
            StudyText::Stopped => Tone::Plain,
            StudyText::SloMissed | StudyText::Invalid => Tone::Caution,
            _ => Tone::Bad,
        };
        let mut cells = vec![Cell::count(trial.id), Cell::text(why)];
        if states {
            cells.push(Cell::Toned(outcome.text(lang).to_owned(), tone));
        }
        for (objective, figure) in report.objectives().iter().zip(&trial.objectives) {
            cells.push(Cell::number(*figure, Unit::Count, 2));
            cells.extend(levels.iter().map(|level| {
                let measured = trial.levels.iter().find(|it| it.load == *level);
                let figure = measured.and_then(|it| it.figure(&objective.path));
                Cell::number(figure, Unit::Count, 2)
            }));
        }
        if refusals {
            let failed = trial.failed_requests.map(|count| count as f64);
            cells.push(Cell::number(failed, Unit::Count, 0));
        }
        cells.extend(limits.iter().map(|&at| {
            let figure = slo_figure(trial, at).map(|figure| match slos[at].scope {
                SloScope::Request | SloScope::Session => figure * 100.0,
                SloScope::Percentile(_) | SloScope::Mean => figure,
            });
            starred(trial, &slos[at], Cell::number(figure, Unit::Count, 1))
        }));
        if memory {
            cells.push(Cell::number(trial.device_memory_gib, Unit::Count, 2));
        }
        let class = trial.class.as_ref();
        let class = class.map_or(String::new(), |class| format!("({class}) "));
        let values = changes(trial, &report.result.defaults);
        cells.push(Cell::text(format!("{class}{values}")));
        cells
    };
    let mean = (!levels.is_empty()).then(|| StudyText::MeanOfLoads.text(lang).to_owned());
    let rows: Vec<Vec<Cell>> = shown.iter().map(row).collect();
    Table {
        columns,
        footnotes: mean
            .into_iter()
            .chain(few_samples(report, shown.iter().copied()))
            .chain(why_requests_failed(report, shown))
            .collect(),
        rows,
    }
}

/// What most of the failed requests of some trials failed by, in the server's words.
fn why_requests_failed(report: &StudyReport<'_>, trials: &[&TrialRow]) -> Option<String> {
    let levels = trials.iter().flat_map(|trial| {
        let levels = trial.levels.iter().map(|level| &level.summary);
        levels.chain(trial.summary.iter().filter(|_| trial.levels.is_empty()))
    });
    let failures = levels.filter_map(|summary| summary.get("failures")?.as_array());
    let failures = failures.flatten().filter(|it| it["count"].is_u64());
    let most = failures.max_by_key(|it| it["count"].as_u64())?;
    let values = [
        ("class", most["class"].as_str()?.to_owned()),
        ("words", whole_sentences(most["sample"].as_str()?)),
    ];
    Some(StudyText::WhyRequestsFailed.with(report.lang, &values))
}

/// The percentile of an SLO that some level of a trial has too few samples for, and the requests
/// that it takes.
fn lacking(trial: &TrialRow, slo: &Slo) -> Option<(f64, u64)> {
    let levels = trial.levels.iter().map(|level| &level.summary);
    let lacking = |summary: &serde_json::Value| {
        let latency = Latencies::deserialize(summary.get("latency")?).ok()?;
        latency.lacking(slo)
    };
    let lacking = levels.chain(&trial.summary).filter_map(lacking);
    lacking.max_by_key(|(_, requests)| *requests)
}

/// The figure of an SLO, with a star where its percentile rests on too few samples.
pub(super) fn starred(trial: &TrialRow, slo: &Slo, cell: Cell) -> Cell {
    match lacking(trial, slo) {
        Some(_) => cell.starred(),
        None => cell,
    }
}

/// What the stars of a table mean.
pub(super) fn few_samples<'a>(
    report: &StudyReport<'_>,
    trials: impl Iterator<Item = &'a TrialRow>,
) -> Option<String> {
    let slos = &report.study.goal.slos;
    let lacking = trials.flat_map(|trial| slos.iter().filter_map(|slo| lacking(trial, slo)));
    star::footnote(lacking, report.lang)
}

/// What a trial showed of the SLO at a place of the goal's list.
pub(super) fn slo_figure(trial: &TrialRow, at: usize) -> Option<f64> {
    trial.slo_figures.get(at).copied().flatten()
}

/// An objective above its column: its place in the summary, which is known without its group, or what
/// it means where readers have another language.
pub(super) fn objective_heading(path: &str, lang: Lang) -> String {
    match (lang, name_and_unit(path, lang)) {
        (Lang::Zh, (name, "")) => name,
        (Lang::Zh, (name, unit)) => format!("{name} ({unit})"),
        (Lang::En, _) => path
            .split_once('.')
            .map_or(path, |(_, rest)| rest)
            .to_owned(),
    }
}

/// What an SLO limits, with its unit: `ttft.p99 ms`, or `ttft=1s %` for the share of requests.
pub(super) fn slo_heading(slo: &Slo) -> String {
    let written = slo.to_string();
    let (figure, _) = written.split_once(['>', '=']).unwrap_or((&written, ""));
    match slo.scope {
        SloScope::Request | SloScope::Session => format!("{written} %"),
        _ if slo.metric == SloMetric::PerUser => format!("{figure} ms/token"),
        SloScope::Percentile(_) | SloScope::Mean => format!("{figure} ms"),
    }
}

/// What a trial changed of what the engine does by itself: what is to be added to the command for
/// the same.
fn changes(trial: &TrialRow, defaults: &Point) -> String {
    let is_changed = |name: &str, value: &Value| match &trial.implied {
        Some(implied) => !implied.contains(name),
        None => {
            let default = defaults.get(name);
            default.is_none_or(|default| !default.same(value))
        }
    };
    let changed = (trial.flags.0.iter()).filter(|(name, value)| is_changed(name, value));
    let changed = changed.map(|(name, value)| named(name, value));
    changed.collect::<Vec<_>>().join(" ")
}
