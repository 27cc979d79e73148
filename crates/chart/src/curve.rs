//! Trade-offs along a ladder: latency over throughput, and one user against all.

use super::ladder::Ladder;
use super::load_level::{Places, capacity_mark, objective_mark, ratio, scale};
use super::metric_name::{MetricUnit, metric_name, unit_of};
use super::omitted;
use super::star;
use crate::Level;
use crate::measured::distinct;
use inferometer_compare::Metric;
use inferometer_core::slo::Slo;
use inferometer_core::summary::Summary;
use inferometer_message::FigureText as Text;
use inferometer_page::figure::time_unit::TimeUnit;
use inferometer_page::figure::{Axis, Colour, Figure, Panel, Sample, Scale, Series, Shape, thin};
use inferometer_page::number;
use inferometer_text::Lang;

/// From this ratio of the largest to the least latency on, a curve is drawn by ratio.
const WIDE: f64 = 30.0;

/// What a curve of latency over throughput shows.
#[derive(Clone, Debug)]
pub struct Tradeoff<'a> {
    pub ladder: &'a Ladder<'a>,
    /// The horizontal axis: a throughput.
    pub rate: Metric,
    pub latency: Latency,
    /// Limit of the latency, as given (`ttft.p99=1s`) and in milliseconds.
    pub objective: Option<(String, f64)>,
    /// Throughput at the highest load that meets the objectives, in the unit of `rate`.
    pub capacity: Option<f64>,
    /// Lines for levels of one length, points for probes that differ in it.
    pub shape: fn(Vec<Sample>) -> Shape,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Latency {
    Usual(Metric),
    /// What an objective limits, at any percentile, as it is written: `ttft.p95=1s`.
    Limited(String),
}

impl Latency {
    fn of(&self, summary: &Summary) -> Option<f64> {
        match self {
            Latency::Usual(metric) => metric.of(summary),
            Latency::Limited(objective) => {
                let stated = &summary.slo.as_ref()?.objectives;
                let found = stated.iter().find(|one| one.objective == *objective);
                found?.value_ms
            }
        }
    }

    fn name(&self, lang: Lang) -> String {
        match self {
            Latency::Usual(metric) => metric_name(*metric, lang),
            Latency::Limited(objective) => {
                let (name, _) = objective.split_once(['>', '=']).unwrap_or((objective, ""));
                let (metric, p) = name.split_once('.').unwrap_or((name, ""));
                format!("{} {p}", metric.to_uppercase())
                    .trim_end()
                    .to_owned()
            }
        }
    }

    /// The percentile that it is and the requests that it would take, where a run has too few.
    fn lacking(&self, summary: &Summary) -> Option<(f64, u64)> {
        match self {
            Latency::Usual(metric) => metric.lacking(summary),
            Latency::Limited(objective) => {
                let slo: Slo = objective.parse().ok()?;
                summary.latency.lacking(&slo)
            }
        }
    }

    fn unit(&self) -> MetricUnit {
        match self {
            Latency::Usual(metric) => unit_of(*metric),
            Latency::Limited(_) => MetricUnit::Time,
        }
    }
}

/// Latency over throughput, with the objective and the capacity.
pub fn throughput_latency(tradeoff: &Tradeoff<'_>, lang: Lang) -> Figure {
    let of = |summary: &Summary| {
        let pair = tradeoff.rate.of(summary).zip(tradeoff.latency.of(summary));
        pair.filter(|(rate, latency)| rate.is_finite() && latency.is_finite())
    };
    let lacking = |summary: &Summary| tradeoff.latency.lacking(summary);
    let few = |summary: &Summary| lacking(summary).is_some();
    let mut series = points(tradeoff.ladder, of, few, tradeoff.shape);
    let limit = tradeoff.objective.as_ref().map(|(_, ms)| *ms);
    let samples = series.iter().flat_map(|series| series.shape.samples());
    let unit = TimeUnit::of(samples.filter_map(|sample| sample.y).chain(limit));
    let (y_unit, time) = match tradeoff.latency.unit() {
        MetricUnit::Time => (unit.sign(), unit),
        MetricUnit::Sign(sign) => (sign, TimeUnit::Milliseconds),
    };
    time.rescale(&mut series);
    // Beyond saturation latency grows without bound, and would leave the rest a flat line.
    let known = series.iter().flat_map(|series| series.shape.samples());
    let scale = scale(ratio(known.filter_map(|sample| sample.y)) > WIDE);
    let mut marks = Vec::new();
    if let Some((objective, ms)) = &tradeoff.objective {
        marks.push(objective_mark(time.of_ms(*ms), objective.clone(), lang));
    }
    let x_unit = match unit_of(tradeoff.rate) {
        MetricUnit::Sign(sign) => sign,
        MetricUnit::Time => "ms",
    };
    if let Some(at) = tradeoff.capacity.filter(|at| at.is_finite()) {
        let value = format!("{} {x_unit}", number::brief(at));
        marks.push(capacity_mark(at, value, tradeoff.ladder.confirmed, lang));
    }
    marks.retain(|mark| mark.at.is_finite());
    let panel = Panel {
        x: Axis::new(metric_name(tradeoff.rate, lang), x_unit, Scale::FromZero),
        y: Axis::new(tradeoff.latency.name(lang), y_unit, scale),
        series,
        marks,
        when_empty: Text::NoData.text(lang).to_owned(),
        ..Panel::default()
    };
    let mut footnotes = footnotes(tradeoff.ladder, lang);
    let drawn = (tradeoff.ladder.series.iter()).flat_map(|series| &series.points);
    let drawn = drawn.filter(|(_, summary)| tradeoff.ladder.shown.takes(summary));
    let starred = drawn.filter_map(|(_, summary)| lacking(summary));
    footnotes.extend(star::footnote(starred, lang));
    Figure::new(
        "throughput-latency",
        Text::ThroughputLatency.text(lang),
        vec![panel],
        footnotes,
    )
}

/// Tokens per second of one user against those of all, with the points that none beats in both.
pub fn pareto(ladder: &Ladder<'_>, lang: Lang) -> Figure {
    let of = |summary: &Summary| {
        let user = summary.speed.per_user_tokens_per_s.map(|speed| speed.mean);
        user.zip(summary.throughput.output_tokens_per_s)
            .filter(|(user, all)| user.is_finite() && all.is_finite())
    };
    let mut series = points(ladder, of, |_| false, Shape::Scatter);
    // Lengths are no choice: a front for each.
    let works = distinct(ladder.series.iter().map(|series| series.work.as_str()));
    let fronts = works.iter().filter_map(|work| {
        // What failed or did other work is shown, and beats nothing.
        let mut found: Vec<[f64; 2]> = (ladder.series.iter())
            .filter(|series| series.work == *work)
            .flat_map(|series| &series.points)
            .filter(|(_, summary)| ladder.shown.takes(summary) && summary.can_win())
            .filter_map(|(_, summary)| of(summary))
            .map(|(user, all)| [user, all])
            .collect();
        let front = front(&mut found);
        let samples = front.iter().map(|&[x, y]| Sample::new(x, Some(y)));
        let line = Shape::Line(samples.collect());
        let name = if work.is_empty() {
            Text::ParetoFront.text(lang).to_owned()
        } else {
            Text::ParetoFrontOf.with(lang, &[("work", (*work).to_owned())])
        };
        (front.len() > 1).then(|| Series::new(name, Colour::Quiet, line))
    });
    let fronts: Vec<Series> = fronts.collect();
    series.splice(0..0, fronts);
    let panel = Panel {
        x: Axis::new(Text::PerUser.text(lang), "tok/s", Scale::FromZero),
        y: Axis::new(Text::OutputThroughput.text(lang), "tok/s", Scale::FromZero),
        series,
        when_empty: Text::NoData.text(lang).to_owned(),
        ..Panel::default()
    };
    Figure::new(
        "pareto",
        Text::Pareto.text(lang),
        vec![panel],
        footnotes(ladder, lang),
    )
}

/// A labelled point for each level, the lowest first; starred where there are too few samples.
fn points(
    ladder: &Ladder<'_>,
    of: impl Fn(&Summary) -> Option<(f64, f64)>,
    few: impl Fn(&Summary) -> bool,
    shape: fn(Vec<Sample>) -> Shape,
) -> Vec<Series> {
    let all = ladder.series.iter().enumerate();
    all.map(|(number, series)| {
        let mut shown: Vec<&(Level, &Summary)> = (series.points.iter())
            .filter(|(_, summary)| ladder.shown.takes(summary))
            .collect();
        shown.sort_by(|a, b| a.0.order(&b.0));
        let samples = shown.into_iter().filter_map(|(level, summary)| {
            let (x, y) = of(summary)?;
            let star = if few(summary) { "*" } else { "" };
            Some(Sample::new(x, Some(y)).labelled(format!("{}{star}", level.text())))
        });
        let shape = shape(thin::course(samples.collect(), thin::MOST));
        Series::new(ladder.legend_of(series), Colour::Nth(number), shape)
    })
    .collect()
}

/// The points that no other beats in both, from left to right.
fn front(points: &mut [[f64; 2]]) -> Vec<[f64; 2]> {
    points.sort_by(|a, b| b[0].total_cmp(&a[0]).then(b[1].total_cmp(&a[1])));
    let mut best = f64::NEG_INFINITY;
    let mut front: Vec<[f64; 2]> = Vec::new();
    for &point in points.iter() {
        if point[1] > best {
            best = point[1];
            front.push(point);
        }
    }
    front.reverse();
    front
}

fn footnotes(ladder: &Ladder<'_>, lang: Lang) -> Vec<String> {
    let places = Places::new(ladder, lang);
    let left_out = omitted::footnote(Text::LeftOut, &places.left_out, lang);
    let level = places.axis_title();
    let labels = Text::LabelsAre.with(lang, &[("axis", level)]);
    std::iter::once(labels).chain(left_out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_holds_what_nothing_beats_in_both() {
        let mut points = vec![
            [1.0, 9.0],
            [2.0, 8.0],
            [2.0, 5.0],
            [3.0, 8.0],
            [0.5, 3.0],
            [4.0, 1.0],
        ];
        assert_eq!(front(&mut points), [[1.0, 9.0], [3.0, 8.0], [4.0, 1.0]]);
        assert_eq!(front(&mut []), <[[f64; 2]; 0]>::default());
    }
}
