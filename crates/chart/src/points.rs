//! What is drawn of the points of a sweep or an import: ladders where load is climbed, heat maps
//! where lengths are crossed, bars or lines over everything else.

use super::configurations::{self, Configurations, Style};
use super::curve::{self, Latency, Tradeoff};
use super::grid::{Grid, GridAxis, Heat, SPEEDS, USUAL, heat_maps};
use super::ladder::{self, Ladder, LadderSeries, legend};
use super::load_level::{axis_in_text, axis_name};
use super::{Level, Shown};
use crate::measured::ladder::rates;
use crate::measured::{
    MeasuredPoint, MeasuredPoints, SETTING, confounded, groups, independent, is_length, is_load,
    is_work, lengths,
};
use inferometer_campaign::knee::knee;
use inferometer_compare::Metric;
use inferometer_core::slo::{Slo, SloScope};
use inferometer_core::summary::{ObjectiveResult, Summary};
use inferometer_message::{FigureText as Text, PageText, SweepText};
use inferometer_page::figure::{Figure, Shape, share_colours};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Series in one chart: as many as there are colours.
const MOST_SERIES: usize = 8;
/// Heat maps, one for each value of the other axes.
const MOST_GRIDS: usize = 6;
/// Configurations from this number on are lines, and above the other are not drawn.
const MANY: usize = 10;
const MOST_CONFIGURATIONS: usize = 400;

/// Every figure, in reading order, of the points that are to be shown.
pub fn figures(all: &MeasuredPoints<'_>, which: Shown, lang: Lang) -> Vec<Figure> {
    let measured = (all.points.iter()).filter(|point| !point.summaries.is_empty());
    let points: Vec<MeasuredPoint<'_>> = measured.cloned().collect();
    if points.is_empty() {
        return Vec::new();
    }
    let axes = independent(all.axes, &all.planned);
    let load = axes.iter().copied().find(|axis| is_load(axis));
    let drawn = Drawn {
        axes,
        points,
        which,
        lang,
    };
    let climbed = load.filter(|axis| drawn.is_climbed(axis));
    let mut figures = match (climbed, drawn.axes.as_slice()) {
        (Some(climbed), _) => drawn.ladders(climbed),
        (None, [axis])
            if drawn.is_climbed(axis) && drawn.points.iter().all(|row| is_number(row, axis)) =>
        {
            drawn.ladders(axis)
        }
        (None, _) => Vec::new(),
    };
    let length = drawn.axes.iter().copied().find(|axis| is_length(axis));
    match (lengths(all.axes), load, length) {
        (Some(lengths), ..) => figures.extend(drawn.grids(lengths, &USUAL)),
        (None, Some(load), Some(length)) => figures.extend(drawn.grids([load, length], &SPEEDS)),
        (None, Some(_), None) if climbed.is_some() => {}
        (None, ..) => figures.extend(drawn.settings(all.axes)),
    }
    for note in all.notes.iter().cloned().chain(following(all, lang)) {
        add_note(&mut figures, &note);
    }
    figures
}

pub fn add_note(figures: &mut [Figure], note: &str) {
    for figure in figures {
        figure.footnotes.push(note.to_owned());
    }
}

/// Axes that follow others and have no place in a chart of their own.
fn following(measured: &MeasuredPoints<'_>, lang: Lang) -> Vec<String> {
    let pairs = confounded(measured.axes, &measured.planned).into_iter();
    let note = |(a, b): (&str, &str)| {
        let values = [("a", axis_in_text(a, lang)), ("b", axis_in_text(b, lang))];
        SweepText::ChangesWith.with(lang, &values)
    };
    pairs.map(note).collect()
}

/// What is drawn: the points that have numbers, and the axes that follow no other.
struct Drawn<'a> {
    axes: Vec<&'a String>,
    points: Vec<MeasuredPoint<'a>>,
    which: Shown,
    lang: Lang,
}

impl Drawn<'_> {
    /// Whether anything was measured at several levels of an axis: dots alone are no curve.
    fn is_climbed(&self, axis: &String) -> bool {
        let groups = groups(&self.points, |row| {
            label((self.axes.as_slice(), self.lang), row, &[axis])
        });
        let has_levels = |rows: &Vec<&MeasuredPoint<'_>>| {
            let first = rows.first().map(|row| row.text(axis));
            rows.iter().any(|row| Some(row.text(axis)) != first)
        };
        groups.iter().any(|(_, rows)| has_levels(rows))
    }

    fn ladders(&self, axis: &String) -> Vec<Figure> {
        let (rows, lang) = (&self.points, self.lang);
        let groups = groups(rows, |row| {
            label((self.axes.as_slice(), self.lang), row, &[axis])
        });
        let left = groups.len().saturating_sub(MOST_SERIES);
        let work: Vec<&String> = (self.axes.iter().copied())
            .filter(|other| is_work(other) && *other != axis)
            .collect();
        let series = spread(groups, MOST_SERIES).map(|(label, rows)| {
            let work = rows.first().map(|row| row.name(&work));
            let knee = is_load(axis).then(|| knee(&rates(axis, &rows))).flatten();
            let points = rows.into_iter();
            let points: Vec<(Level, &Summary)> = points
                .filter_map(|row| Some((level(row, axis), row.typical()?)))
                .collect();
            LadderSeries {
                label: if label.is_empty() {
                    common_legend(&points)
                } else {
                    label
                },
                work: work.unwrap_or_default(),
                points,
                knee,
            }
        });
        let mut ladder = Ladder {
            axis: axis.clone(),
            series: series.collect(),
            shown: self.which,
            ..Ladder::default()
        };
        ladder.capacity = within_objectives(&ladder);
        let mut figures = vec![ladder::sheet(&ladder, lang)];
        let mut rows_shown = rows.iter().filter_map(MeasuredPoint::typical);
        let failures = rows_shown.any(|it| it.requests.failed > 0);
        let failures = failures.then(|| ladder::failures(&ladder, lang));
        if ladder.series.len() > 1 {
            // What another figure has is not drawn twice.
            let mut overlay = ladder::overlay(&ladder, lang);
            let others = figures.iter().chain(&failures);
            let known: Vec<&str> = others
                .flat_map(|figure| &figure.panels)
                .map(|panel| panel.title.as_str())
                .collect();
            (overlay.panels).retain(|panel| !known.contains(&panel.title.as_str()));
            if !overlay.panels.is_empty() {
                figures.push(overlay);
            }
        }
        figures.extend(ladder::overlay_per_card(&ladder, lang));
        figures.extend(failures);
        if is_load(axis) && rows.len() > 1 {
            figures.push(curve::throughput_latency(&tradeoff(&ladder), lang));
            figures.push(curve::pareto(&ladder, lang));
        }
        // Of levels of which one alone is shown, the table says as much.
        figures.retain(joins_points);
        self.note_left_over(left, &mut figures);
        figures
    }

    /// Heat maps over two axes, one for each value of the others.
    fn grids(&self, [across, up]: [&String; 2], heats: &[Heat]) -> Vec<Figure> {
        let groups = groups(&self.points, |row| {
            label((self.axes.as_slice(), self.lang), row, &[across, up])
        });
        let left = groups.len().saturating_sub(MOST_GRIDS);
        let alone = groups.len() == 1;
        let groups = spread(groups, MOST_GRIDS).enumerate();
        let mut figures: Vec<Figure> = groups
            .map(|(place, (label, rows))| {
                let cells = rows.into_iter().filter_map(|row| {
                    let summary = row.typical()?;
                    Some((level(row, across), level(row, up), summary))
                });
                let grid = Grid {
                    cells: cells.collect(),
                    shown: self.which,
                    axes: [across, up].map(|axis| GridAxis::of(axis)),
                };
                let mut figure = heat_maps(&grid, heats, self.lang);
                if !label.is_empty() {
                    figure.title = format!("{} – {label}", figure.title);
                }
                if !alone {
                    figure.id = format!("{}-{}", figure.id, place + 1);
                }
                figure
            })
            .collect();
        share_colours(&mut figures);
        self.note_left_over(left, &mut figures);
        figures
    }

    /// Settings side by side, by short names: `0-enable-64`.
    fn settings(&self, axes: &[String]) -> Vec<Figure> {
        let rows = &self.points;
        let name = |row: &MeasuredPoint<'_>| {
            let values: Vec<String> = axes.iter().map(|axis| row.text(axis)).collect();
            if values.is_empty() {
                row.typical().map(legend).unwrap_or_default()
            } else {
                values.join("-")
            }
        };
        let shown = rows.iter().take(MOST_CONFIGURATIONS);
        let table = Configurations {
            rows: shown
                .filter_map(|row| Some((name(row), row.typical()?)))
                .collect(),
            style: match rows.len() {
                0..=MANY => Style::Bars,
                _ => Style::Lines,
            },
            shown: self.which,
            named_by: match axes {
                [alone] if alone == SETTING => String::new(),
                axes => axis_names(axes, self.lang),
            },
        };
        let mut figures = vec![
            configurations::latency(&table, self.lang),
            configurations::throughput(&table, self.lang),
        ];
        let left = rows.len().saturating_sub(MOST_CONFIGURATIONS);
        self.note_left_over(left, &mut figures);
        figures
    }

    /// What is not drawn is said.
    fn note_left_over(&self, left: usize, figures: &mut [Figure]) {
        if left > 0 {
            let count = [("count", number::count(left as u64))];
            add_note(figures, &PageText::MoreSeries.with(self.lang, &count));
        }
    }
}

/// What names are made of, where they are values of several axes.
fn axis_names(axes: &[String], lang: Lang) -> String {
    let names = axes.iter().map(|axis| match axis.as_str() {
        SETTING => Text::Configuration.text(lang).to_owned(),
        axis => axis_name(axis, lang).0,
    });
    PunctuationText::Comma.join(lang, &Vec::from_iter(names))
}

/// Whether some line of a figure has two points or more.
fn joins_points(figure: &Figure) -> bool {
    let mut lines = figure.panels.iter().flat_map(|panel| &panel.series);
    lines.any(|line| {
        line.shape
            .samples()
            .iter()
            .filter(|it| it.y.is_some())
            .count()
            > 1
    })
}

fn is_number(row: &MeasuredPoint<'_>, axis: &str) -> bool {
    matches!(level(row, axis), Level::Number(_))
}

fn level(row: &MeasuredPoint<'_>, axis: &str) -> Level {
    let text = row.text(axis);
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Level::Number(value),
        _ => Level::Name(text),
    }
}

/// The name of a point on the axes other than some: values of servers without their scheme.
fn label((axes, lang): (&[&String], Lang), row: &MeasuredPoint<'_>, without: &[&String]) -> String {
    let others = axes.iter().filter(|axis| !without.contains(axis));
    let values: Vec<String> = others
        .map(|axis| {
            let value = row.text(axis);
            match axis.as_str() {
                "url" | SETTING => value.split("://").last().unwrap_or_default().to_owned(),
                axis => format!("{} {value}", axis_in_text(axis, lang)),
            }
        })
        .collect();
    values.join(", ")
}

/// What all points are called; empty where each has a name of its own.
fn common_legend(points: &[(Level, &Summary)]) -> String {
    let mut names = points.iter().map(|(_, summary)| legend(summary));
    let first = names.next().unwrap_or_default();
    if names.all(|name| name == first) {
        first
    } else {
        String::new()
    }
}

/// Of many, some that lie evenly between the first and the last.
fn spread<T>(all: Vec<T>, most: usize) -> impl Iterator<Item = T> {
    let last = all.len().saturating_sub(1);
    let chosen: BTreeSet<usize> = if all.len() > most {
        (0..most).map(|nth| nth * last / (most - 1)).collect()
    } else {
        (0..all.len()).collect()
    };
    let all = all.into_iter().enumerate();
    all.filter_map(move |(place, it)| chosen.contains(&place).then_some(it))
}

/// The highest level up to which a lone ladder meets its objectives, by what was measured validly;
/// absent where none are judged, or all levels meet them.
fn within_objectives(ladder: &Ladder<'_>) -> Option<f64> {
    let [alone] = ladder.series.as_slice() else {
        return None;
    };
    let mut levels: Vec<(f64, bool)> = (alone.points.iter())
        .filter(|(_, summary)| summary.valid)
        .filter_map(|(level, summary)| match level {
            Level::Number(value) => {
                let met = summary.slo.as_ref()?.met?;
                Some((*value, met && summary.did_the_work()))
            }
            Level::Name(_) => None,
        })
        .collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let met = levels.iter().take_while(|(_, met)| *met).count();
    (met < levels.len()).then(|| levels[..met].last().map(|(level, _)| *level))?
}

/// Latency over throughput: that of the objective that is missed most often, of equals the first;
/// without one, TTFT at p99.
pub fn tradeoff<'a>(ladder: &'a Ladder<'a>) -> Tradeoff<'a> {
    let summaries = ladder.series.iter().flat_map(|series| &series.points);
    let judged: Vec<&ObjectiveResult> = summaries
        .filter_map(|(_, summary)| summary.slo.as_ref())
        .flat_map(|slo| &slo.objectives)
        .collect();
    let misses = |objective: &str| {
        let misses = |it: &&&ObjectiveResult| it.objective == objective && it.met == Some(false);
        judged.iter().filter(misses).count()
    };
    let mut binding_first = judged.clone();
    binding_first.sort_by_cached_key(|it| Reverse(misses(&it.objective)));
    let limited = binding_first.into_iter().find_map(|it| {
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
    (usual.into_iter().max_by_key(known)).unwrap_or(Metric::TtftP99)
}

/// The metric that an objective limits, where it is one that is drawn.
pub fn of_objective(slo: &Slo) -> Option<Metric> {
    let part = match slo.scope {
        SloScope::Mean => "mean".to_owned(),
        SloScope::Percentile(percent) => format!("p{percent}"),
        // Of the requests that miss it, the slowest show first.
        SloScope::Request | SloScope::Session => "p99".to_owned(),
    };
    format!("latency.{}_ms.{part}", slo.metric).parse().ok()
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
