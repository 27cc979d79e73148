//! The sides of a comparison in one chart: over the loads, and request by request.

use super::ladder::{self, Ladder, LadderSeries};
use super::load_level::scale;
use super::omitted::{self, Shown};
use crate::Level;
use crate::measured::distinct;
use inferometer_compare::{RunSample, Series as RequestSeries};
use inferometer_core::point::Point;
use inferometer_core::quantile::sort;
use inferometer_core::summary::Summary;
use inferometer_message::FigureText as Text;
use inferometer_page::figure::time_unit::TimeUnit;
use inferometer_page::figure::{Axis, Colour, Figure, Panel, Scale, Series, Shape, thin};
use inferometer_page::number;
use inferometer_text::Lang;
use serde_json::Value;
use std::collections::BTreeSet;

/// Axes that are climbed, before any other that has numbers.
const LOAD: [&str; 2] = ["concurrency", "rate"];
/// Settings that have an overlay of their own.
const MOST_SETTINGS: usize = 4;
/// Loads whose distributions are drawn: the least, one between, and the highest.
const MOST_LOADS: usize = 3;
/// From this ratio of the largest to the least value on, a distribution is drawn by ratio.
const WIDE: f64 = 30.0;

#[derive(Clone, Debug)]
pub struct ComparedRuns<'a> {
    pub label: String,
    pub runs: &'a [RunSample],
}

/// QPS, latency, throughput, TTFT, TPOT and failures over the loads, a sheet for each setting
/// of the other axes; none where only one load was measured.
pub fn overlays(sides: &[ComparedRuns<'_>], lang: Lang) -> Vec<Figure> {
    let Some(axis) = climbed(sides) else {
        return Vec::new();
    };
    let runs = || sides.iter().flat_map(|side| side.runs);
    let rest = |run: &RunSample| {
        let mut point = run.point.clone();
        point.0.remove(&axis);
        point
    };
    let settings = distinct(runs().map(rest));
    // As of an import: another tool's runs cannot be measured again, so that they are drawn where
    // there are no others.
    let is_foreign = runs().any(|run| run.definition.tool.is_some());
    let shown = if is_foreign && runs().all(|run| !run.summary.valid) {
        Shown::All
    } else {
        Shown::Valid
    };
    let several = settings.len() > 1;
    let left = settings.len().saturating_sub(MOST_SETTINGS);
    let drawn = settings.iter().take(MOST_SETTINGS).enumerate();
    let mut figures: Vec<Figure> = drawn
        .flat_map(|(place, setting)| {
            let series = sides.iter().map(|side| LadderSeries {
                label: side.label.clone(),
                work: String::new(),
                points: levels(side, &axis, |run| rest(run) == *setting),
                knee: None,
            });
            let ladder = Ladder {
                axis: axis.clone(),
                series: series.collect(),
                shown,
                ..Ladder::default()
            };
            let mut figures = vec![ladder::overlay(&ladder, lang)];
            figures.extend(ladder::overlay_per_card(&ladder, lang));
            for figure in &mut figures {
                // What no side knows has no chart.
                if figure.panels.iter().any(|panel| !panel.is_empty()) {
                    figure.panels.retain(|panel| !panel.is_empty());
                }
                figure.footnotes.extend(doubtful(&ladder, lang));
                if several {
                    figure.id = format!("{}-{}", figure.id, place + 1);
                    figure.title = format!("{} – {setting}", figure.title);
                }
            }
            figures
        })
        .collect();
    if let Some(last) = figures.last_mut().filter(|_| left > 0) {
        let count = [("count", left.to_string())];
        last.footnotes.push(Text::AndMore.with(lang, &count));
    }
    figures
}

/// The axis with several numbers: one of load, else the first.
fn climbed(sides: &[ComparedRuns<'_>]) -> Option<String> {
    let runs = sides.iter().flat_map(|side| side.runs);
    let mut axes = distinct(runs.flat_map(|run| run.point.0.keys()));
    let place = |axis: &&String| LOAD.iter().position(|load| load == axis);
    axes.sort_by_key(|axis| place(axis).unwrap_or(LOAD.len()));
    let is_climbed = |axis: &&String| {
        sides.iter().any(|side| {
            let values: Option<Vec<f64>> = (side.runs.iter())
                .map(|run| number_of(run.point.0.get(axis.as_str())?))
                .collect();
            let bits = values.unwrap_or_default().into_iter().map(f64::to_bits);
            bits.collect::<BTreeSet<u64>>().len() > 1
        })
    };
    axes.into_iter().find(is_climbed).cloned()
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    }
    .filter(|number: &f64| number.is_finite())
}

/// The levels of a side; of repeats, the one with the median throughput.
fn levels<'a>(
    side: &ComparedRuns<'a>,
    axis: &str,
    belongs: impl Fn(&RunSample) -> bool,
) -> Vec<(Level, &'a Summary)> {
    let mut levels: Vec<(f64, Vec<&Summary>)> = Vec::new();
    for run in side.runs.iter().filter(|run| belongs(run)) {
        let Some(level) = run.point.0.get(axis).and_then(number_of) else {
            continue;
        };
        match levels.iter_mut().find(|(known, _)| *known == level) {
            Some((_, repeats)) => repeats.push(&run.summary),
            None => levels.push((level, vec![&run.summary])),
        }
    }
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let typical = |(level, mut repeats): (f64, Vec<&'a Summary>)| {
        if repeats.iter().any(|summary| summary.valid) {
            repeats.retain(|summary| summary.valid);
        }
        let rate = |it: &Summary| it.throughput.output_tokens_per_s.unwrap_or(0.0);
        repeats.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        (Level::Number(level), repeats[(repeats.len() - 1) / 2])
    };
    levels.into_iter().map(typical).collect()
}

/// A footnote that names the points that are drawn though they are invalid.
pub fn doubtful(ladder: &Ladder<'_>, lang: Lang) -> Option<String> {
    let named = ladder.named(|summary| !summary.valid);
    omitted::footnote(Text::Doubtful, &named, lang).filter(|_| ladder.shown == Shown::All)
}

/// The column of a run's requests that a distribution is of.
type Column = fn(&RequestSeries) -> &[f64];

/// Shares of answers by TTFT and latency at the loads that several sides have; absent where
/// requests are not known one by one.
pub fn distributions(sides: &[ComparedRuns<'_>], lang: Lang) -> Option<Figure> {
    let columns: [(Text, Column); 3] = [
        (Text::Ttft, |it| it.ttft_ms()),
        (Text::Tpot, |it| it.tpot_ms()),
        (Text::E2e, |it| it.e2e_ms()),
    ];
    let common = common_loads(sides);
    let mut loads: Vec<&Point> = match common.len() {
        0..=MOST_LOADS => common.iter().collect(),
        n => vec![&common[0], &common[n / 2], &common[n - 1]],
    };
    loads.dedup();
    let named = common.len() > 1;
    let mut panels = Vec::new();
    for load in &loads {
        for (metric, column) in &columns {
            let mut panel = shares(sides, load, *metric, *column, lang);
            if panel.is_empty() {
                continue;
            }
            if named {
                panel.title = format!("{} – {load}", panel.title);
            }
            panels.push(panel);
        }
    }
    if panels.is_empty() {
        return None;
    }
    let mut footnotes = Vec::new();
    let repeated = sides.iter().any(|side| {
        let at = |load: &&Point| side.runs.iter().filter(|run| run.point == **load).count() > 1;
        loads.iter().any(at)
    });
    if repeated {
        footnotes.push(Text::Pooled.text(lang).to_owned());
    }
    if common.len() > loads.len() {
        let values = [
            ("shown", loads.len().to_string()),
            ("count", number::count(common.len() as u64)),
        ];
        footnotes.push(Text::SomeLoads.with(lang, &values));
    }
    Some(Figure::new(
        "distributions",
        Text::Distributions.text(lang),
        panels,
        footnotes,
    ))
}

/// Loads at which two sides or more know their requests, in the order of the first of them.
fn common_loads(sides: &[ComparedRuns<'_>]) -> Vec<Point> {
    let known = |run: &&RunSample| (run.series.as_ref()).is_some_and(|it| !it.e2e_ms().is_empty());
    let runs = sides.iter().flat_map(|side| side.runs).filter(known);
    let loads = distinct(runs.map(|run| &run.point));
    let sides_at = |load: &Point| {
        let has =
            |side: &&ComparedRuns<'_>| side.runs.iter().filter(known).any(|run| run.point == *load);
        sides.iter().filter(has).count()
    };
    // Two runs at different loads are shown side by side all the same.
    let alone = sides.iter().all(|side| side.runs.len() == 1);
    let mut common: Vec<Point> = loads
        .into_iter()
        .filter(|load| sides_at(load) > 1 || alone)
        .cloned()
        .collect();
    common.sort_by(|a, b| a.order(b));
    common
}

fn shares(
    sides: &[ComparedRuns<'_>],
    load: &Point,
    metric: Text,
    column: Column,
    lang: Lang,
) -> Panel {
    let samples: Vec<Vec<f64>> = (sides.iter())
        .map(|side| {
            let runs = side.runs.iter().filter(|run| run.point == *load);
            let known = runs.filter_map(|run| run.series.as_ref());
            let mut values: Vec<f64> = known.flat_map(column).copied().collect();
            values.retain(|ms| ms.is_finite());
            sort(&mut values);
            values
        })
        .collect();
    let all = || samples.iter().flatten().copied();
    let least = all().filter(|ms| *ms > 0.0).fold(f64::INFINITY, f64::min);
    let wide = all().fold(0.0, f64::max) / least > WIDE;
    let unit = if wide {
        TimeUnit::Milliseconds
    } else {
        TimeUnit::of(all())
    };
    let series = sides.iter().zip(&samples).enumerate();
    let series = series.map(|(place, (side, sample))| {
        let steps = thin::cumulative(sample, thin::MOST).into_iter();
        let steps = steps.map(|[ms, share]| [unit.of_ms(ms), 100.0 * share]);
        Series::new(
            side.label.clone(),
            Colour::Nth(place),
            Shape::Step(steps.collect()),
        )
    });
    Panel {
        title: metric.text(lang).to_owned(),
        x: Axis::new("", unit.sign(), scale(wide)),
        y: Axis {
            bounds: Some([0.0, 100.0]),
            ..Axis::new(Text::ShareOfAnswers.text(lang), "%", Scale::FromZero)
        },
        series: series.filter(|it| !it.shape.is_empty()).collect(),
        when_empty: Text::NoAnswers.text(lang).to_owned(),
        ..Panel::default()
    }
}
