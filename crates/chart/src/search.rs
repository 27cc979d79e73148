//! The figure of a search for capacity: every probe at its load, by whether it met the
//! objectives. Probes differ in length and lie close to each other, so that no line joins them.

use super::ladder::titled;
use super::load_level::{axis_name, by_ratio, capacity_mark, objective_mark, ratio, scale};
use super::metric_name::{MetricUnit, metric_name, statistic, unit_of};
use crate::Level;
use inferometer_campaign::capacity::ProbeVerdict;
use inferometer_compare::Metric;
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_core::summary::Summary;
use inferometer_message::FigureText as Text;
use inferometer_page::figure::time_unit::TimeUnit;
use inferometer_page::figure::{
    Axis, Colour, Figure, Mark, MarkKind, On, Panel, Sample, Series, Shade, Shape,
};
use inferometer_text::Lang;

/// From this ratio of the largest to the least value on, a latency is drawn by ratio.
const WIDE: f64 = 20.0;

#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// What was raised: `rate` or `concurrency`.
    pub over: &'a str,
    pub label: Option<&'a str>,
    /// Loads, what was measured at them, and whether the objectives were met.
    pub probes: Vec<(f64, &'a Summary, ProbeVerdict)>,
    /// The objective that binds, which is drawn first.
    pub objective: Option<Objective>,
    pub capacity: Option<f64>,
    /// A longer run confirmed it.
    pub confirmed: bool,
    pub interval: Option<(f64, f64)>,
    /// The answers of further tiers, by name.
    pub tiers: Vec<(&'a str, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Objective {
    /// A percentile of the run has a limit.
    Limit(Slo),
    /// So large a share of requests must meet all that is asked of one.
    Attainment(f64),
}

enum Drawn<'a> {
    Objective(&'a Objective),
    Metric(Metric),
}

impl Drawn<'_> {
    fn of(&self, summary: &Summary) -> Option<f64> {
        let judged = summary.slo.as_ref();
        match self {
            Drawn::Metric(metric) => metric.of(summary),
            Drawn::Objective(Objective::Attainment(_)) => Some(100.0 * judged?.attainment?),
            Drawn::Objective(Objective::Limit(slo)) => {
                let text = slo.to_string();
                let mut all = judged?.objectives.iter();
                all.find(|it| it.objective == text)?.value_ms
            }
        }
    }

    fn unit(&self) -> MetricUnit {
        match self {
            Drawn::Metric(metric) => unit_of(*metric),
            Drawn::Objective(Objective::Attainment(_)) => MetricUnit::Sign("%"),
            Drawn::Objective(Objective::Limit(_)) => MetricUnit::Time,
        }
    }

    fn name(&self, lang: Lang) -> String {
        let slo = match self {
            Drawn::Metric(metric) => return metric_name(*metric, lang),
            Drawn::Objective(Objective::Attainment(_)) => {
                return Text::Attainment.text(lang).to_owned();
            }
            Drawn::Objective(Objective::Limit(slo)) => slo,
        };
        let latency = match slo.metric {
            SloMetric::Ttft => Text::Ttft,
            SloMetric::Tpot => Text::Tpot,
            SloMetric::Itl => Text::Itl,
            SloMetric::MaxGap => Text::MaxGap,
            SloMetric::E2e => Text::E2e,
            SloMetric::FirstAnswer => Text::FirstAnswer,
            SloMetric::Job => Text::Job,
            SloMetric::PerUser => Text::TimePerUserToken,
        };
        match slo.scope {
            SloScope::Percentile(percent) => statistic(latency, Some(&format!("p{percent}")), lang),
            SloScope::Mean => statistic(latency, None, lang),
            SloScope::Request | SloScope::Session => latency.text(lang).to_owned(),
        }
    }

    /// The limit as given, and in the unit of the values.
    fn limit(&self) -> Option<(String, f64)> {
        match self {
            Drawn::Metric(_) => None,
            Drawn::Objective(Objective::Attainment(share)) => {
                Some((format!("{} %", 100.0 * share), 100.0 * share))
            }
            Drawn::Objective(Objective::Limit(slo)) => {
                Some((slo.to_string(), slo.limit.0.as_secs_f64() * 1e3))
            }
        }
    }
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
    let objective = search.objective.iter().map(Drawn::Objective);
    let drawn = objective.chain(usual.map(Drawn::Metric));
    let panels = drawn.map(|drawn| panel(search, &drawn, lang)).collect();
    let title = Text::Search.text(lang);
    let interval = search.interval.map(|_| Text::CapacityInterval.text(lang));
    let tiers = (!search.tiers.is_empty()).then(|| Text::TierMarks.text(lang));
    Figure::new(
        "search",
        titled(title.to_owned(), search.label.unwrap_or_default()),
        panels,
        (interval.into_iter().chain(tiers))
            .map(str::to_owned)
            .collect(),
    )
}

fn panel(search: &Search<'_>, drawn: &Drawn<'_>, lang: Lang) -> Panel {
    let known: Vec<(f64, ProbeVerdict, f64)> = (search.probes.iter())
        .filter_map(|&(level, summary, verdict)| Some((level, verdict, drawn.of(summary)?)))
        .filter(|(level, _, value)| level.is_finite() && value.is_finite())
        .collect();
    let limit = drawn.limit().filter(|(_, at)| at.is_finite());
    let values = || known.iter().map(|(_, _, value)| *value);
    let (time, unit) = match drawn.unit() {
        MetricUnit::Sign(sign) => (None, sign),
        MetricUnit::Time => {
            let unit = TimeUnit::of(values().chain(limit.iter().map(|(_, ms)| *ms)));
            (Some(unit), unit.sign())
        }
    };
    let placed = |value: f64| time.map_or(value, |unit| unit.of_ms(value));
    let wide = time.is_some() && ratio(values()) > WIDE;
    let outcomes = [
        (ProbeVerdict::Met, Text::Meets, Colour::Good),
        (ProbeVerdict::Missed, Text::Misses, Colour::Bad),
        (ProbeVerdict::Undecided, Text::NotJudged, Colour::Quiet),
    ];
    let series = outcomes.map(|(outcome, name, colour)| {
        let samples = known.iter().filter(|(_, verdict, _)| *verdict == outcome);
        let samples = samples.map(|(level, _, value)| Sample::new(*level, Some(placed(*value))));
        Series::new(name.text(lang), colour, Shape::Scatter(samples.collect()))
    });
    let objective = limit.map(|(objective, at)| objective_mark(placed(at), objective, lang));
    let capacity = (search.capacity.filter(|at| at.is_finite()))
        .map(|at| capacity_mark(at, Level::Number(at).text(), search.confirmed, lang));
    let further = search.tiers.iter().filter(|(_, at)| at.is_finite());
    let further = further.map(|&(tier, at)| {
        let values = [
            ("value", Level::Number(at).text()),
            ("tier", tier.to_owned()),
        ];
        let label = Text::TierCapacity.with(lang, &values);
        Mark::new(On::X, at, label, MarkKind::Reference)
    });
    let (title, load_unit) = axis_name(search.over, lang);
    let levels = search.probes.iter().map(|(level, ..)| *level);
    let shade = |(from, to): (f64, f64)| Shade {
        from,
        to,
        label: String::new(),
    };
    Panel {
        title: drawn.name(lang),
        x: Axis::new(title, load_unit, by_ratio(levels)),
        y: Axis::new("", unit, scale(wide)),
        series: (series.into_iter())
            .filter(|series| !series.shape.is_empty())
            .collect(),
        marks: (objective.into_iter().chain(capacity).chain(further)).collect(),
        shades: search.interval.map(shade).into_iter().collect(),
        when_empty: Text::NoData.text(lang).to_owned(),
    }
}
