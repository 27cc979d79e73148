//! The figure of a search for capacity: every probe at its load, by whether it met the
//! objectives. Probes differ in length and lie close to each other, so that no line joins them.

use super::level::{axis_name, by_ratio};
use super::metric_name::{MetricUnit, metric_name, unit_of};
use super::time_unit::TimeUnit;
use super::{Axis, Colour, Figure, Level, Mark, MarkKind, On, Panel, Sample, Scale, Series};
use super::{Shade, Shape};
use inferometer_core::compare::Metric;
use inferometer_core::message::Lang;
use inferometer_core::message::figures::FigureText as Text;
use inferometer_core::summary::{SloOutcome, Summary};

/// From this ratio of the largest to the least value on, a latency is drawn by ratio.
const WIDE: f64 = 20.0;

/// A search and what it found.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// What was raised: `rate` or `concurrency`.
    pub over: &'a str,
    /// Its name.
    pub label: Option<&'a str>,
    /// Loads, and what was measured at them.
    pub probes: Vec<(f64, &'a Summary)>,
    /// The latency that is drawn first: that of the objective.
    pub latency: Metric,
    /// Its limit, as given and in milliseconds.
    pub objective: Option<(String, f64)>,
    /// The answer.
    pub capacity: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// The answers of further tiers, by name.
    pub tiers: Vec<(&'a str, f64)>,
}

/// The probes: the latency of the objective, throughput, and the usual latencies over the load.
pub fn probes(search: &Search<'_>, lang: Lang) -> Figure {
    let usual = [
        Metric::RequestsPerS,
        Metric::OutputTokensPerS,
        Metric::TtftP50,
        Metric::TpotP50,
        Metric::E2eP50,
    ];
    let metrics = std::iter::once(search.latency)
        .chain(usual.into_iter().filter(|&metric| metric != search.latency));
    let panels = metrics.map(|metric| panel(search, metric, lang)).collect();
    let title = Text::Search.text(lang);
    let interval = search.interval.map(|_| Text::CapacityInterval.text(lang));
    let tiers = (!search.tiers.is_empty()).then(|| Text::TierMarks.text(lang));
    Figure {
        id: "search".to_owned(),
        title: match search.label.filter(|label| !label.is_empty()) {
            Some(label) => format!("{title} – {label}"),
            None => title.to_owned(),
        },
        panels,
        footnotes: (interval.into_iter().chain(tiers))
            .map(str::to_owned)
            .collect(),
        ..Figure::default()
    }
}

fn panel(search: &Search<'_>, metric: Metric, lang: Lang) -> Panel {
    let known: Vec<(f64, &Summary, f64)> = (search.probes.iter())
        .filter_map(|&(level, summary)| Some((level, summary, metric.of(summary)?)))
        .filter(|(level, _, value)| level.is_finite() && value.is_finite())
        .collect();
    let limit = search.objective.as_ref();
    let limit = limit.filter(|(_, ms)| metric == search.latency && ms.is_finite());
    let values = || known.iter().map(|(_, _, value)| *value);
    let (time, unit) = match unit_of(metric) {
        MetricUnit::Sign(sign) => (None, sign),
        MetricUnit::Time => {
            let unit = TimeUnit::of(values().chain(limit.map(|(_, ms)| *ms)));
            (Some(unit), unit.sign())
        }
    };
    let placed = |value: f64| time.map_or(value, |unit| unit.of_ms(value));
    let least = values().fold(f64::INFINITY, f64::min);
    let wide = time.is_some() && least > 0.0 && values().fold(0.0, f64::max) / least > WIDE;
    let outcomes = [
        (Some(SloOutcome::Met), Text::Meets, Colour::Good),
        (Some(SloOutcome::Missed), Text::Misses, Colour::Bad),
        (None, Text::NotJudged, Colour::Quiet),
    ];
    let series = outcomes.map(|(outcome, name, colour)| {
        let samples = known
            .iter()
            .filter(|(_, summary, _)| judged(summary) == outcome);
        let samples = samples.map(|(level, _, value)| Sample::new(*level, Some(placed(*value))));
        Series {
            name: name.text(lang).to_owned(),
            colour,
            shape: Shape::Scatter(samples.collect()),
        }
    });
    let objective = limit.map(|(objective, ms)| Mark {
        on: On::Y,
        at: placed(*ms),
        label: Text::Objective.with(lang, &[("objective", objective.clone())]),
        kind: MarkKind::Objective,
    });
    let capacity = search.capacity.filter(|at| at.is_finite()).map(|at| Mark {
        on: On::X,
        at,
        label: Text::Capacity.with(lang, &[("value", Level::Number(at).text())]),
        kind: MarkKind::Capacity,
    });
    let further = search.tiers.iter().filter(|(_, at)| at.is_finite());
    let further = further.map(|&(tier, at)| {
        let value = Level::Number(at).text();
        Mark {
            on: On::X,
            at,
            label: Text::TierCapacity.with(lang, &[("value", value), ("tier", tier.to_owned())]),
            kind: MarkKind::Reference,
        }
    });
    let (title, load_unit) = axis_name(search.over, lang);
    let levels = search.probes.iter().map(|(level, _)| *level);
    let shade = |(from, to): (f64, f64)| Shade {
        from,
        to,
        label: String::new(),
    };
    Panel {
        title: metric_name(metric, lang),
        x: Axis::new(title, load_unit, by_ratio(levels)),
        y: Axis::new("", unit, if wide { Scale::Log } else { Scale::FromZero }),
        series: (series.into_iter())
            .filter(|series| !series.shape.is_empty())
            .collect(),
        marks: objective
            .into_iter()
            .chain(capacity)
            .chain(further)
            .collect(),
        shades: search.interval.map(shade).into_iter().collect(),
        when_empty: Text::NoData.text(lang).to_owned(),
    }
}

/// Whether the objectives were met; absent where it cannot be told.
fn judged(summary: &Summary) -> Option<SloOutcome> {
    let outcome = summary.slo.as_ref()?.outcome();
    matches!(outcome, SloOutcome::Met | SloOutcome::Missed).then_some(outcome)
}
