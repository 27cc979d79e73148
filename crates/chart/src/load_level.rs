//! Levels of load, and where they lie on the axis of a ladder.

use super::omitted::{self, Shown};
use inferometer_campaign::knee::Knee;
use inferometer_core::summary::Summary;
use inferometer_message::FigureText as Text;
use inferometer_page::figure::{Axis, Mark, MarkKind, On, Panel, Sample, Scale, Series};
use inferometer_page::number;
use inferometer_text::Lang;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// A number, as a concurrency.
    Number(f64),
    /// A name, as `0-enable-64`.
    Name(String),
}

impl Level {
    /// By size; names stay in the order that they came in.
    pub(crate) fn order(&self, other: &Level) -> Ordering {
        match (self, other) {
            (Level::Number(a), Level::Number(b)) => a.total_cmp(b),
            _ => Ordering::Equal,
        }
    }

    pub fn text(&self) -> String {
        match self {
            Level::Number(value) => number::whole_or_brief(*value),
            Level::Name(name) => name.clone(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Ladder<'a> {
    /// What a level is: `concurrency`, `rate`, or the name of another axis.
    pub axis: String,
    /// One for each engine or configuration.
    pub series: Vec<LadderSeries<'a>>,
    pub shown: Shown,
    /// The highest level that meets the objectives.
    pub capacity: Option<f64>,
    /// A longer run confirmed it.
    pub confirmed: bool,
}

impl Ladder<'_> {
    /// The name of a series in the legend, which a lone one does not need.
    pub(crate) fn legend_of<'s>(&self, series: &'s LadderSeries<'_>) -> &'s str {
        match self.series.len() {
            1 => "",
            _ => &series.label,
        }
    }

    /// The names of some points, with that of their series where there are several.
    pub(crate) fn named(&self, which: impl Fn(&Summary) -> bool) -> Vec<String> {
        let several = self.series.len() > 1;
        let points = (self.series.iter())
            .flat_map(|series| series.points.iter().map(move |point| (series, point)))
            .filter(|(_, (_, summary))| which(summary));
        points
            .map(|(series, (level, summary))| {
                let name = omitted::name(&level.text(), summary);
                if several {
                    format!("{} {name}", series.label)
                } else {
                    name
                }
            })
            .collect()
    }
}

#[derive(Clone, Debug)]
pub struct LadderSeries<'a> {
    /// Its name in the legend; [`legend`](super::ladder::legend) makes one from tags.
    pub label: String,
    /// What its requests ask for, where series differ in that: points of different work do not
    /// compete.
    pub work: String,
    /// Levels in the order of the ladder, and their numbers.
    pub points: Vec<(Level, &'a Summary)>,
    /// The lowest load with nearly all of the highest throughput.
    pub knee: Option<Knee>,
}

pub(crate) struct Places {
    axis: Axis,
    /// Place of each name, where not all levels are numbers.
    pub(crate) names: HashMap<String, usize>,
    pub(crate) left_out: Vec<String>,
}

const BY_RATIO: f64 = 12.0;

impl Places {
    pub(crate) fn new(ladder: &Ladder<'_>, lang: Lang) -> Self {
        let (title, unit) = axis_name(&ladder.axis, lang);
        let levels = || ladder.series.iter().flat_map(|series| &series.points);
        let numbers: Option<Vec<f64>> = levels()
            .map(|(level, _)| match level {
                Level::Number(value) if value.is_finite() => Some(*value),
                _ => None,
            })
            .collect();
        let left_out = ladder.named(|summary| !ladder.shown.takes(summary));
        let mut names = HashMap::new();
        let axis = match numbers {
            Some(mut numbers) => {
                numbers.sort_by(f64::total_cmp);
                numbers.dedup();
                let scale = by_ratio(numbers.iter().copied());
                Axis {
                    ticks_at: numbers,
                    ..Axis::new(title, unit, scale)
                }
            }
            None => {
                let mut order = Vec::new();
                for (level, _) in levels() {
                    let next = order.len();
                    if let Entry::Vacant(place) = names.entry(level.text()) {
                        order.push(place.key().clone());
                        place.insert(next);
                    }
                }
                Axis::of_names(title, order)
            }
        };
        Places {
            axis,
            names,
            left_out,
        }
    }

    pub(crate) fn axis_title(&self) -> String {
        self.axis.caption()
    }

    fn at(&self, level: &Level) -> f64 {
        match level {
            Level::Number(value) if self.names.is_empty() => *value,
            level => self.names.get(&level.text()).copied().unwrap_or_default() as f64,
        }
    }

    pub(crate) fn samples(
        &self,
        series: &LadderSeries<'_>,
        shown: Shown,
        of: impl Fn(&Summary) -> (Option<f64>, Option<[f64; 2]>),
    ) -> Vec<Sample> {
        let sample = |(level, summary): &(Level, &Summary)| {
            if !shown.takes(summary) {
                return Sample::new(self.at(level), None);
            }
            let (value, interval) = of(summary);
            Sample::new(self.at(level), value).between(interval)
        };
        let mut samples: Vec<Sample> = series.points.iter().map(sample).collect();
        samples.sort_by(|a, b| a.x.total_cmp(&b.x));
        // What was left out between two points is a gap of the line, which nobody measured, unless
        // another measurement of that load is shown; beyond them it is nothing.
        let known: Vec<f64> = (samples.iter().filter(|it| it.y.is_some()))
            .map(|it| it.x)
            .collect();
        let is_inside = |x: f64| {
            known.first().is_some_and(|first| *first < x)
                && known.last().is_some_and(|last| x < *last)
                && known.binary_search_by(|it| it.total_cmp(&x)).is_err()
        };
        samples.retain(|it| it.y.is_some() || is_inside(it.x));
        samples
    }

    pub(crate) fn panel(
        &self,
        title: String,
        unit: &str,
        series: Vec<Series>,
        lang: Lang,
    ) -> Panel {
        Panel {
            title,
            x: self.axis.clone(),
            y: Axis::new("", unit, Scale::FromZero),
            series,
            when_empty: Text::NoData.text(lang).to_owned(),
            ..Panel::default()
        }
    }
}

/// How levels lie on an axis: by ratio where they are far apart.
pub(crate) fn by_ratio(levels: impl Iterator<Item = f64>) -> Scale {
    scale(ratio(levels) >= BY_RATIO)
}

/// The largest value over the least; 0 where there is no such ratio.
pub(crate) fn ratio(values: impl Iterator<Item = f64>) -> f64 {
    let (least, most) = values.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), value| {
        (least.min(value), most.max(value))
    });
    if least > 0.0 { most / least } else { 0.0 }
}

/// A limit of the values.
pub fn objective_mark(at: f64, objective: String, lang: Lang) -> Mark {
    let label = Text::Objective.with(lang, &[("objective", objective)]);
    Mark::new(On::Y, at, label, MarkKind::Objective)
}

/// The highest load that meets the objectives, `value` in words; without a run that confirms it,
/// it is not the capacity.
pub(crate) fn capacity_mark(at: f64, value: String, confirmed: bool, lang: Lang) -> Mark {
    let text = if confirmed {
        Text::Capacity
    } else {
        Text::HighestMet
    };
    let label = text.with(lang, &[("value", value)]);
    Mark::new(On::X, at, label, MarkKind::Capacity)
}

pub(crate) fn scale(wide: bool) -> Scale {
    if wide { Scale::Log } else { Scale::FromZero }
}

/// An axis in a sentence: as its option is spelled, or in Chinese, which has words for the usual ones.
pub fn axis_in_text(axis: &str, lang: Lang) -> String {
    match lang {
        Lang::En => axis.to_owned(),
        Lang::Zh => axis_name(axis, lang).0,
    }
}

/// The name of an axis of load, and its unit.
pub fn axis_name(axis: &str, lang: Lang) -> (String, &'static str) {
    match axis {
        "concurrency" => (Text::Concurrency.text(lang).to_owned(), ""),
        "rate" => (Text::Rate.text(lang).to_owned(), "req/s"),
        "ask-chars" => (Text::AskedLength.text(lang).to_owned(), ""),
        axis if axis.starts_with("input-") => (Text::InputLength.text(lang).to_owned(), ""),
        axis if axis.starts_with("output-") => (Text::OutputLength.text(lang).to_owned(), ""),
        other => (other.to_owned(), ""),
    }
}
