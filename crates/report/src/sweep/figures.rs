//! What is drawn of a sweep: ladders where load is climbed, heat maps where lengths are
//! crossed, bars or lines over everything else.

use super::dependence::confounded;
use super::ladder::rates;
use super::table::mark;
use super::{LOAD, Row, SweepReport, grid, grouped, independent, named, rows, shown};
use crate::chart::configurations::{self, Configurations, Style};
use crate::chart::curve::{self, Latency, Tradeoff};
use crate::chart::grid::{Counted, Grid, USUAL, heat_maps};
use crate::chart::ladder::{self, Ladder, LadderSeries, legend};
use crate::chart::left_out;
use crate::chart::{Level, Shown};
use crate::findings::knee;
use crate::message::figures::FigureText;
use crate::message::page::PageText;
use crate::message::sweep::SweepText;
use inferometer_analysis::compare::Metric;
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_core::summary::Summary;
use inferometer_page::figure::{Figure, Shape};
use inferometer_page::number;
use std::collections::BTreeSet;

/// Series in one chart: as many as there are colours.
const MOST_SERIES: usize = 8;
/// Heat maps, one for each value of the other axes.
const MOST_GRIDS: usize = 6;
/// Configurations from this number on are lines, and above the other are not drawn.
const MANY: usize = 10;
const MOST_CONFIGURATIONS: usize = 400;

/// Every figure of a sweep, in reading order, without its invalid points.
pub fn figures(report: &SweepReport<'_>) -> Vec<Figure> {
    figures_of(report, Shown::Valid)
}

/// The same, of the points that are to be shown.
pub(crate) fn figures_of(report: &SweepReport<'_>, which: Shown) -> Vec<Figure> {
    let (rows, unmeasured): (Vec<Row<'_>>, Vec<Row<'_>>) =
        (rows(report).into_iter()).partition(|row| typical(row).is_some());
    if rows.is_empty() {
        return Vec::new();
    }
    let axes = independent(report.plan);
    let climbed = (axes.iter().copied()).find(|axis| LOAD.contains(&axis.as_str()));
    let lengths = grid::lengths(&report.plan.axes);
    let mut figures = match (climbed, axes.as_slice()) {
        (Some(climbed), _) => ladders(report, climbed, &rows, which),
        (None, [axis]) if rows.iter().all(|row| is_number(row, axis)) => {
            ladders(report, axis, &rows, which)
        }
        (None, _) => Vec::new(),
    };
    match (lengths, climbed) {
        (Some(lengths), _) => figures.extend(grids(report, lengths, &rows, which)),
        (None, None) => figures.extend(settings(report, &rows, which)),
        (None, Some(_)) => {}
    }
    let computed = (report.is_virtual()).then(|| FigureText::Computed.text(report.lang));
    let repeated = (report.plan.repeat > 1).then(|| PageText::MedianRepeat.text(report.lang));
    let notes = computed.into_iter().chain(repeated).map(str::to_owned);
    let notes = notes.chain(following(report));
    let notes = notes.chain(without_numbers(report, &unmeasured));
    for note in notes {
        for figure in &mut figures {
            figure.footnotes.push(note.clone());
        }
    }
    figures
}

/// Axes that follow others and have no place in a chart of their own.
fn following(report: &SweepReport<'_>) -> Vec<String> {
    let pairs = confounded(report.plan).into_iter();
    let note = |(a, b): (&str, &str)| {
        let values = [("a", a.to_owned()), ("b", b.to_owned())];
        SweepText::ChangesWith.with(report.lang, &values)
    };
    pairs.map(note).collect()
}

/// The points that were skipped or failed to run, so that no chart hides them.
fn without_numbers(report: &SweepReport<'_>, rows: &[Row<'_>]) -> Option<String> {
    let axes: Vec<&String> = report.plan.axes.iter().collect();
    let name = |row: &Row<'_>| match mark(row, report.lang) {
        Some(mark) => format!("{} ({mark})", named(&axes, row.point)),
        None => named(&axes, row.point),
    };
    let names: Vec<String> = rows.iter().map(name).collect();
    left_out::footnote(FigureText::NotMeasured, &names, report.lang)
}

/// Of several measurements of a point, the one with the median throughput.
fn typical<'a>(row: &Row<'a>) -> Option<&'a Summary> {
    let mut all = row.shown();
    all.sort_by(|a, b| {
        let rate = |it: &Summary| it.throughput.output_tokens_per_s.unwrap_or(0.0);
        rate(a).total_cmp(&rate(b))
    });
    all.get(all.len().saturating_sub(1) / 2).copied()
}

fn is_number(row: &Row<'_>, axis: &str) -> bool {
    matches!(level(row, axis), Level::Number(_))
}

fn level(row: &Row<'_>, axis: &str) -> Level {
    let text = shown(row.point.0.get(axis));
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Level::Number(value),
        _ => Level::Name(text),
    }
}

/// The name of a point on the axes other than some: values of servers without their scheme.
fn label(axes: &[&String], row: &Row<'_>, without: &[&String]) -> String {
    let others = axes.iter().filter(|axis| !without.contains(axis));
    let values: Vec<String> = others
        .map(|axis| {
            let value = shown(row.point.0.get(*axis));
            match axis.as_str() {
                "url" | "result" => value.split("://").last().unwrap_or_default().to_owned(),
                axis => format!("{axis} {value}"),
            }
        })
        .collect();
    values.join(", ")
}

fn ladders(report: &SweepReport<'_>, axis: &String, rows: &[Row<'_>], which: Shown) -> Vec<Figure> {
    let lang = report.lang;
    let axes = independent(report.plan);
    let groups = grouped(rows.iter(), |row| label(&axes, row, &[axis]));
    let left = groups.len().saturating_sub(MOST_SERIES);
    let series = spread(groups, MOST_SERIES).map(|(label, rows)| {
        let knee = match LOAD.contains(&axis.as_str()) {
            true => knee(&rates(axis, rows.iter().copied())),
            false => None,
        };
        let points = rows.into_iter();
        let points: Vec<(Level, &Summary)> = points
            .filter_map(|row| Some((level(row, axis), typical(row)?)))
            .collect();
        LadderSeries {
            label: match label.is_empty() {
                true => common_legend(&points),
                false => label,
            },
            points,
            knee,
        }
    });
    let mut ladder = Ladder {
        axis: axis.clone(),
        series: series.collect(),
        shown: which,
        ..Ladder::default()
    };
    ladder.capacity = within_objectives(&ladder);
    let mut figures = vec![ladder::sheet(&ladder, lang)];
    if ladder.series.len() > 1 {
        figures.push(ladder::overlay(&ladder, lang));
    }
    figures.extend(ladder::overlay_per_card(&ladder, lang));
    let failed = rows
        .iter()
        .filter_map(typical)
        .any(|it| it.requests.failed > 0);
    if failed {
        figures.push(ladder::failures(&ladder, lang));
    }
    if LOAD.contains(&axis.as_str()) && rows.len() > 1 {
        figures.push(curve::throughput_latency(&tradeoff(&ladder), lang));
        figures.push(curve::pareto(&ladder, lang));
    }
    left_over(report, left, &mut figures);
    figures
}

/// What all points are called; empty where each has a name of its own.
fn common_legend(points: &[(Level, &Summary)]) -> String {
    let mut names = points.iter().map(|(_, summary)| legend(summary));
    let first = names.next().unwrap_or_default();
    match names.all(|name| name == first) {
        true => first,
        false => String::new(),
    }
}

/// Of many, some that lie evenly between the first and the last.
fn spread<T>(all: Vec<T>, most: usize) -> impl Iterator<Item = T> {
    let last = all.len().saturating_sub(1);
    let chosen: BTreeSet<usize> = match all.len() > most {
        true => (0..most).map(|nth| nth * last / (most - 1)).collect(),
        false => (0..all.len()).collect(),
    };
    let all = all.into_iter().enumerate();
    all.filter_map(move |(place, it)| chosen.contains(&place).then_some(it))
}

/// The highest level up to which a lone ladder meets its objectives; absent where none are
/// judged, or all levels meet them.
fn within_objectives(ladder: &Ladder<'_>) -> Option<f64> {
    let [alone] = ladder.series.as_slice() else {
        return None;
    };
    let mut levels: Vec<(f64, bool)> = (alone.points.iter())
        .filter_map(|(level, summary)| match level {
            Level::Number(value) => Some((*value, summary.slo.as_ref()?.met?)),
            Level::Name(_) => None,
        })
        .collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let met = levels.iter().take_while(|(_, met)| *met).count();
    (met < levels.len()).then(|| levels[..met].last().map(|(level, _)| *level))?
}

/// Latency over throughput: that of the first objective, else TTFT at p99.
pub(crate) fn tradeoff<'a>(ladder: &'a Ladder<'a>) -> Tradeoff<'a> {
    let summaries = ladder.series.iter().flat_map(|series| &series.points);
    let mut objectives = summaries
        .filter_map(|(_, summary)| summary.slo.as_ref())
        .flat_map(|slo| &slo.objectives);
    let limited = objectives.find_map(|it| {
        let slo: Slo = it.objective.parse().ok()?;
        let limit = slo.limit.0.as_secs_f64() * 1e3;
        let latency = match of_objective(&slo) {
            Some(usual) => Latency::Usual(usual),
            None => Latency::Limited(it.value_ms.map(|_| it.objective.clone())?),
        };
        Some((latency, (it.objective.clone(), limit)))
    });
    let (latency, objective) = match limited {
        Some((latency, objective)) => (latency, Some(objective)),
        None => (Latency::Usual(usual_latency(ladder)), None),
    };
    let rate = Metric::OutputTokensPerS;
    let mut points = ladder.series.iter().flat_map(|series| &series.points);
    let at_capacity = ladder.capacity.and_then(|capacity| {
        let found = points.find(|(level, _)| *level == Level::Number(capacity));
        rate.of(found?.1)
    });
    Tradeoff {
        ladder,
        rate,
        latency,
        objective,
        capacity: at_capacity,
        shape: Shape::Line,
    }
}

/// The latency that is looked at without objectives: the first that most points have, since
/// other tools do not print every one.
fn usual_latency(ladder: &Ladder<'_>) -> Metric {
    let known = |metric: &Metric| {
        let summaries = ladder.series.iter().flat_map(|series| &series.points);
        let known = summaries.filter(|(_, summary)| metric.of(summary).is_some());
        known.count()
    };
    let usual = [Metric::E2eMean, Metric::TtftMean, Metric::TtftP99];
    // Of equals, the last is taken.
    usual
        .into_iter()
        .max_by_key(known)
        .unwrap_or(Metric::TtftP99)
}

/// The metric that an objective limits, where it is one that is drawn.
fn of_objective(slo: &Slo) -> Option<Metric> {
    let percent = match slo.scope {
        SloScope::Mean => return of_mean(slo.metric),
        SloScope::Percentile(percent) => percent,
        // Of the requests that miss it, the slowest show first.
        SloScope::Request => 99.0,
    };
    Some(match (slo.metric, percent) {
        (SloMetric::Ttft, 50.0) => Metric::TtftP50,
        (SloMetric::Ttft, 99.0) => Metric::TtftP99,
        (SloMetric::Tpot, 50.0) => Metric::TpotP50,
        (SloMetric::Tpot, 99.0) => Metric::TpotP99,
        (SloMetric::E2e, 50.0) => Metric::E2eP50,
        (SloMetric::E2e, 99.0) => Metric::E2eP99,
        _ => return None,
    })
}

fn of_mean(metric: SloMetric) -> Option<Metric> {
    match metric {
        SloMetric::Ttft => Some(Metric::TtftMean),
        SloMetric::Tpot => Some(Metric::TpotMean),
        SloMetric::E2e => Some(Metric::E2eMean),
        _ => None,
    }
}

/// Heat maps over input and output lengths, one for each value of the other axes.
fn grids(
    report: &SweepReport<'_>,
    [input, output]: [&String; 2],
    rows: &[Row<'_>],
    which: Shown,
) -> Vec<Figure> {
    let axes = independent(report.plan);
    let groups = grouped(rows.iter(), |row| label(&axes, row, &[input, output]));
    let left = groups.len().saturating_sub(MOST_GRIDS);
    let alone = groups.len() == 1;
    let groups = spread(groups, MOST_GRIDS).enumerate();
    let mut figures: Vec<Figure> = groups
        .map(|(place, (label, rows))| {
            let cells = rows.into_iter().filter_map(|row| {
                let summary = typical(row)?;
                Some((level(row, input), level(row, output), summary))
            });
            let grid = Grid {
                cells: cells.collect(),
                shown: which,
                counts: [input, output].map(|axis| match axis.ends_with("-chars") {
                    true => Counted::Characters,
                    false => Counted::Tokens,
                }),
            };
            let mut figure = heat_maps(&grid, &USUAL, report.lang);
            if !label.is_empty() {
                figure.title = format!("{} – {label}", figure.title);
            }
            if !alone {
                figure.id = format!("{}-{}", figure.id, place + 1);
            }
            figure
        })
        .collect();
    left_over(report, left, &mut figures);
    figures
}

/// Settings side by side, by short names: `0-enable-64`.
fn settings(report: &SweepReport<'_>, rows: &[Row<'_>], which: Shown) -> Vec<Figure> {
    let name = |row: &Row<'_>| {
        let axes = report.plan.axes.iter();
        let values: Vec<String> = axes.map(|axis| shown(row.point.0.get(axis))).collect();
        match values.is_empty() {
            true => typical(row).map(legend).unwrap_or_default(),
            false => values.join("-"),
        }
    };
    let shown = rows.iter().take(MOST_CONFIGURATIONS);
    let table = Configurations {
        rows: shown
            .filter_map(|row| Some((name(row), typical(row)?)))
            .collect(),
        style: match rows.len() {
            0..=MANY => Style::Bars,
            _ => Style::Lines,
        },
        shown: which,
        named_by: match report.plan.axes.as_slice() {
            [alone] if alone == "result" => String::new(),
            axes => axes.join(", "),
        },
    };
    let mut figures = vec![
        configurations::latency(&table, report.lang),
        configurations::throughput(&table, report.lang),
    ];
    let left = rows.len().saturating_sub(MOST_CONFIGURATIONS);
    left_over(report, left, &mut figures);
    figures
}

/// What is not drawn is said.
fn left_over(report: &SweepReport<'_>, left: usize, figures: &mut [Figure]) {
    if left == 0 {
        return;
    }
    let count = [("count", number::count(left as u64))];
    let note = PageText::MoreSeries.with(report.lang, &count);
    for figure in figures {
        figure.footnotes.push(note.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn of_many_settings_those_at_both_ends_and_between_are_drawn() {
        let some: Vec<usize> = spread((0..100).collect(), 4).collect();
        assert_eq!(some, [0, 33, 66, 99]);
        let all: Vec<usize> = spread((0..3).collect(), 4).collect();
        assert_eq!(all, [0, 1, 2]);
    }
}
