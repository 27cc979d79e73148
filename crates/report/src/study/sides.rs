//! The best beside the default: what users feel, and the fresh starts that decide.

use super::trials::{few_samples, objective_heading, slo_figure, slo_heading, starred};
use super::{StudyReport, changed, outcome};
use inferometer_campaign::study::{FigurePair, StudyResult, TrialRow};
use inferometer_campaign::trial::Origin;
use inferometer_chart::metric_name::name_and_unit;
use inferometer_core::slo::SloScope;
use inferometer_message::StudyText;
use inferometer_page::doc::{Cell, Column, Pair, Table, Unit};
use inferometer_page::number;
use inferometer_text::punctuation::PunctuationText;

/// Throughput and latencies of both.
pub(super) fn figures(report: &StudyReport<'_>) -> Table {
    let lang = report.lang;
    let comparison = report.result.comparison.iter();
    let row = |pair: &FigurePair| {
        let (name, unit) = name_and_unit(&pair.metric, lang);
        let decimals = number::decimals(pair.default.min(pair.trial));
        let cell = |figure| Cell::number(Some(figure), Unit::Count, decimals);
        vec![
            Cell::text(format!("{name} {unit}").trim().to_owned()),
            cell(pair.default),
            cell(pair.trial),
            Cell::text(changed(pair.trial / pair.default - 1.0)),
        ]
    };
    let trial = comparison.clone().next().map(|it| it.trial.to_string());
    let trial = [("trial", trial.unwrap_or_default())];
    Table::new(
        vec![
            Column::left(""),
            Column::right(StudyText::Default.text(lang)),
            Column::right(&StudyText::TrialNumber.with(lang, &trial)),
            Column::right(StudyText::ChangeOfFigure.text(lang)),
        ],
        comparison.flat_map(|it| &it.figures).map(row),
    )
}

/// The objectives of the best: their means over its fresh starts that decide, or over all there
/// are, or those of its one trial.
pub fn figures_of_best(report: &StudyReport<'_>) -> Vec<Option<f64>> {
    let Some(best) = &report.result.best else {
        return Vec::new();
    };
    let trials = &report.result.trials;
    let decides = pairs(report).into_iter().map(|(own, default)| {
        match report.result.comparison.as_ref().map(|it| it.trial) {
            Some(trial) if trial == best.trial => own,
            _ => default,
        }
    });
    let repeats = trials
        .iter()
        .filter(|it| it.origin.confirms() == Some(best.trial));
    let own = trials.iter().filter(|it| it.id == best.trial);
    let mut starts: Vec<&TrialRow> = decides.collect();
    for others in [repeats.collect::<Vec<_>>(), own.collect()] {
        if starts.is_empty() {
            starts = others;
        }
    }
    let mean = |at: usize| {
        let figures = starts
            .iter()
            .map(|it| it.objectives.get(at).copied().flatten());
        let figures: Vec<f64> = figures.collect::<Option<_>>()?;
        Some(figures.iter().sum::<f64>() / figures.len().max(1) as f64)
    };
    (0..report.objectives().len()).map(mean).collect()
}

/// That the figures which decide may be those of a rhythm of the load.
pub(super) fn in_step(report: &StudyReport<'_>) -> Option<Pair> {
    let comparison = report.result.comparison.as_ref()?;
    let starts = comparison.in_step?;
    let values = [
        ("own", starts.trial.to_string()),
        ("default", starts.default.to_string()),
        ("starts", comparison.pairs.len().to_string()),
        ("trial", comparison.trial.to_string()),
    ];
    let name = StudyText::InStep.text(report.lang);
    Some(Pair::new(
        name,
        StudyText::InStepStarts.with(report.lang, &values),
    ))
}

/// Why the default does not serve.
pub(super) fn failure_of_default(result: &StudyResult) -> Option<&str> {
    let mut trials = result.trials.iter();
    let default = trials.find(|it| it.origin == Origin::Default)?;
    default.class.as_deref()
}

/// The objectives of the best.
pub(super) fn figures_in_words(report: &StudyReport<'_>) -> String {
    let figures = report.objectives().iter().zip(figures_of_best(report));
    let words = figures.map(|(objective, figure)| {
        let (name, unit) = name_and_unit(&objective.path, report.lang);
        let figure = figure.map_or(number::ABSENT.to_owned(), number::brief);
        format!("{name} {figure} {unit}").trim_end().to_owned()
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A latency that grows by more than this share is told where the gain is.
const LONGER: f64 = 0.1;

/// What users wait longer for with the best than with the default, whatever the goal says.
pub(super) fn longer(report: &StudyReport<'_>) -> Option<Pair> {
    let lang = report.lang;
    let figures = report.result.comparison.iter().flat_map(|it| &it.figures);
    let longer = figures.filter_map(|pair| {
        let change = pair.trial / pair.default - 1.0;
        let is_longer = pair.metric.starts_with("latency.") && change > LONGER;
        let (name, _) = name_and_unit(&pair.metric, lang);
        is_longer.then(|| format!("{name} {}", changed(change)))
    });
    let longer: Vec<String> = longer.collect();
    let listed = PunctuationText::Semicolon.join(lang, &longer);
    (!longer.is_empty()).then(|| Pair::new(StudyText::Longer.text(lang), listed))
}

/// Every pair of fresh starts: the first objective and each SLO of both.
pub(super) fn starts(report: &StudyReport<'_>) -> Table {
    let lang = report.lang;
    let slos = &report.study.goal.slos;
    let mut columns = vec![
        Column::right(StudyText::PairNumber.text(lang)),
        Column::left(StudyText::Why.text(lang)),
        Column::right(StudyText::Id.text(lang)),
    ];
    for objective in report.objectives() {
        columns.push(Column::right(&objective_heading(&objective.path, lang)));
    }
    columns.extend(slos.iter().map(|slo| Column::right(&slo_heading(slo))));
    columns.push(Column::left(StudyText::State.text(lang)));
    let mut rows = Vec::new();
    for (at, (own, default)) in pairs(report).into_iter().enumerate() {
        let trial = report
            .result
            .comparison
            .iter()
            .map(|it| it.trial.to_string());
        let trial = [("trial", trial.collect::<String>())];
        let names = [
            (StudyText::TrialNumber.with(lang, &trial), own),
            (StudyText::Default.text(lang).to_owned(), default),
        ];
        for (name, start) in names {
            let mut cells = vec![
                Cell::count(at as u64 + 1),
                Cell::text(name),
                Cell::count(start.id),
            ];
            let figures = start.objectives.iter();
            cells.extend(figures.map(|figure| Cell::number(*figure, Unit::Count, 2)));
            cells.extend(slos.iter().enumerate().map(|(at, slo)| {
                let figure = slo_figure(start, at).map(|figure| match slo.scope {
                    SloScope::Request | SloScope::Session => figure * 100.0,
                    SloScope::Percentile(_) | SloScope::Mean => figure,
                });
                starred(start, slo, Cell::number(figure, Unit::Count, 1))
            }));
            cells.push(Cell::text(match outcome(start) {
                StudyText::Done if !slos.is_empty() => StudyText::SloMet.text(lang),
                other => other.text(lang),
            }));
            rows.push(cells);
        }
    }
    let starts = pairs(report);
    let starts = starts.iter().flat_map(|(own, default)| [*own, *default]);
    Table {
        columns,
        footnotes: few_samples(report, starts).into_iter().collect(),
        rows,
    }
}

/// Fresh starts of the simulated engine that gave one number only: they are one measurement.
pub(super) fn is_one_start(report: &StudyReport<'_>) -> bool {
    let pairs = pairs(report);
    let mut others = pairs.iter().skip(1).peekable();
    report.result.computed
        && others.peek().is_some()
        && others.all(|(own, default)| {
            own.objectives == pairs[0].0.objectives && default.objectives == pairs[0].1.objectives
        })
}

fn pairs<'a>(report: &StudyReport<'a>) -> Vec<(&'a TrialRow, &'a TrialRow)> {
    let by_id = |id: u64| report.result.trials.iter().find(|it| it.id == id);
    let pairs = report.result.comparison.iter().flat_map(|it| &it.pairs);
    pairs
        .filter_map(|pair| by_id(pair.trial).zip(by_id(pair.default)))
        .collect()
}
