//! Predictions as curves: throughput and latency over the load, and latency over throughput, with
//! the intervals in which they lie in 9 of 10 cases.

use super::labels::{flags, off_by, predicted};
use inferometer_chart::load_level::objective_mark;
use inferometer_chart::metric_name::statistic;
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_message::{FigureText as Text, PlanText};
use inferometer_page::figure::{
    Axis, Colour, Figure, Mark, Panel, Sample, Scale, Series, Shape, in_readable_time,
};
use inferometer_plan::means::MeanMetric;
use inferometer_plan::what_if::{Answers, Prediction, Setting, TAIL};
use inferometer_plan::work::Load;
use inferometer_text::Lang;

/// More loads than these have no tick of their own.
const MOST_TICKS: usize = 12;

/// An interval whose end is so many times its beginning is drawn by factors.
const WIDE: f64 = 10.0;

/// Settings that differ by their load alone.
struct Group<'a> {
    name: String,
    members: Vec<&'a Prediction>,
}

/// A metric of predictions: its mean, and its p99 where it has one.
struct Drawn {
    name: Text,
    unit: &'static str,
    metric: MeanMetric,
    objective: Option<SloMetric>,
    mean: fn(&Prediction) -> Option<f64>,
    p99: fn(&Prediction) -> Option<f64>,
}

const TOKENS: Drawn = Drawn {
    name: Text::OutputThroughput,
    unit: "tok/s",
    metric: MeanMetric::Throughput,
    objective: None,
    mean: |it| Some(it.output_tokens_per_s),
    p99: |_| None,
};
const TTFT: Drawn = Drawn {
    name: Text::Ttft,
    unit: "ms",
    metric: MeanMetric::Ttft,
    objective: Some(SloMetric::Ttft),
    mean: |it| Some(it.ttft_ms?.mean),
    p99: |it| Some(it.ttft_ms?.p99),
};
const TPOT: Drawn = Drawn {
    name: Text::Tpot,
    unit: "ms",
    metric: MeanMetric::Tpot,
    objective: Some(SloMetric::Tpot),
    mean: |it| Some(it.tpot_ms?.mean),
    p99: |it| Some(it.tpot_ms?.p99),
};
const E2E: Drawn = Drawn {
    name: Text::E2e,
    unit: "ms",
    metric: MeanMetric::E2e,
    objective: Some(SloMetric::E2e),
    mean: |it| Some(it.e2e_ms?.mean),
    p99: |it| Some(it.e2e_ms?.p99),
};

/// The figures of a question; none where no setting serves.
pub fn curves(answers: &Answers, objectives: &[Slo], lang: Lang) -> Vec<Figure> {
    let groups = groups(answers);
    if groups.is_empty() {
        return Vec::new();
    }
    vec![
        over_load(&groups, objectives, lang),
        over_throughput(&groups, objectives, lang),
    ]
}

fn groups(answers: &Answers) -> Vec<Group<'_>> {
    let devices = answers.settings.iter().map(|(setting, _)| &setting.device);
    let several = devices
        .clone()
        .any(|device| Some(device) != devices.clone().next());
    let engines = || answers.settings.iter().map(|(setting, _)| setting.engine);
    let several_engines = engines().any(|engine| Some(engine) != engines().next());
    let name = |setting: &Setting| {
        let device = several.then_some(setting.device.as_str());
        let engine = several_engines.then(|| setting.engine.word());
        let known = device.into_iter().chain(engine).map(str::to_owned);
        let all = known
            .chain([flags(setting)])
            .filter(|part| !part.is_empty());
        all.collect::<Vec<_>>().join(" ")
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    for answer in &answers.settings {
        let Some(prediction) = predicted(answer) else {
            continue;
        };
        let name = name(&answer.0);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.members.push(prediction),
            None => groups.push(Group {
                name,
                members: vec![prediction],
            }),
        }
    }
    groups
}

fn level(prediction: &Prediction) -> f64 {
    match prediction.work.load {
        Load::Closed(streams) => f64::from(streams),
        Load::Open(rate) => rate,
    }
}

/// The horizontal axis of a chart, and where a prediction lies on it.
struct Across {
    axis: Axis,
    at: fn(&Prediction) -> f64,
}

impl Drawn {
    /// A chart of it: of the mean, or of the p99 where that has an objective.
    fn panel(&self, groups: &[Group<'_>], objectives: &[Slo], x: &Across, lang: Lang) -> Panel {
        let own = objectives
            .iter()
            .filter(|slo| Some(slo.metric) == self.objective);
        let tails = own
            .clone()
            .filter(|slo| slo.scope == SloScope::Percentile(99.0));
        let tails: Vec<&Slo> = tails.collect();
        let of_latency = |p| statistic(self.name, p, lang);
        let (title, of, wider, limits) = match (self.objective, tails.is_empty()) {
            (None, _) => (self.name.text(lang).to_owned(), self.mean, 1.0, Vec::new()),
            (_, true) => {
                let limits = own.filter(|slo| slo.scope == SloScope::Mean).collect();
                (of_latency(None), self.mean, 1.0, limits)
            }
            (_, false) => (of_latency(Some("p99")), self.p99, TAIL, tails),
        };
        let series = self.series(groups, x.at, of, wider);
        let scale = if is_by_factors(&series) {
            Scale::Log
        } else {
            Scale::FromZero
        };
        let panel = Panel {
            title,
            x: x.axis.clone(),
            y: Axis::new("", self.unit, scale),
            series,
            marks: limits.into_iter().map(|slo| mark(slo, lang)).collect(),
            when_empty: Text::NoData.text(lang).to_owned(),
            ..Panel::default()
        };
        match self.objective {
            Some(_) => in_readable_time(panel),
            None => panel,
        }
    }

    fn series(
        &self,
        groups: &[Group<'_>],
        x: fn(&Prediction) -> f64,
        y: fn(&Prediction) -> Option<f64>,
        wider: f64,
    ) -> Vec<Series> {
        let each = groups.iter().enumerate().map(|(number, group)| {
            let samples = group.members.iter().map(|prediction| {
                let value = y(prediction);
                let interval = |value| prediction.interval(self.metric, value, wider);
                let sample = Sample::new(x(prediction), value).between(value.and_then(interval));
                if prediction.inside() {
                    sample
                } else {
                    sample.hollow()
                }
            });
            Series::new(
                group.name.clone(),
                Colour::Nth(number),
                Shape::Line(samples.collect()),
            )
        });
        each.collect()
    }
}

/// Whether an interval reaches so far that beside it the values themselves would lie at zero.
fn is_by_factors(series: &[Series]) -> bool {
    let samples = series.iter().flat_map(|series| match &series.shape {
        Shape::Line(samples) => samples.as_slice(),
        _ => &[],
    });
    let mut intervals = samples.filter_map(|sample| sample.interval);
    intervals.any(|[low, high]| low > 0.0 && high > WIDE * low)
}

fn mark(slo: &Slo, lang: Lang) -> Mark {
    objective_mark(slo.limit.0.as_secs_f64() * 1e3, slo.to_string(), lang)
}

fn over_load(groups: &[Group<'_>], objectives: &[Slo], lang: Lang) -> Figure {
    let members = || groups.iter().flat_map(|group| &group.members);
    let mut levels: Vec<f64> = members().map(|it| level(it)).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let open = members().any(|it| matches!(it.work.load, Load::Open(_)));
    let (title, unit) = if open {
        (Text::Rate, "req/s")
    } else {
        (Text::Concurrency, "")
    };
    let mut axis = Axis::new(title.text(lang), unit, Scale::Log);
    if levels.len() <= MOST_TICKS {
        axis.ticks_at = levels;
    }
    let x = Across { axis, at: level };
    let panels = [TOKENS, TTFT, TPOT].map(|drawn| drawn.panel(groups, objectives, &x, lang));
    Figure::new(
        "what-if-load",
        PlanText::OverLoad.text(lang),
        panels.into(),
        footnotes(groups, PlanText::Bands.text(lang).to_owned(), lang),
    )
}

fn over_throughput(groups: &[Group<'_>], objectives: &[Slo], lang: Lang) -> Figure {
    let x = Across {
        axis: Axis::new(Text::RequestThroughput.text(lang), "req/s", Scale::FromZero),
        at: |it| it.requests_per_s,
    };
    let panels = [TTFT, E2E].map(|drawn| drawn.panel(groups, objectives, &x, lang));
    Figure::new(
        "what-if-throughput-latency",
        Text::ThroughputLatency.text(lang),
        panels.into(),
        footnotes(groups, bands(groups, lang), lang),
    )
}

/// What the bands are where both axes are predicted.
fn bands(groups: &[Group<'_>], lang: Lang) -> String {
    let mut members = groups.iter().flat_map(|group| &group.members);
    let bound = members.find_map(|it| it.bound_inside(MeanMetric::Requests));
    let bound = bound.map_or("n/a".to_owned(), |bound| match bound {
        ..1.0 => format!("±{}", off_by(bound)),
        bound => off_by(bound),
    });
    PlanText::LatencyBands.with(lang, &[("bound", bound)])
}

fn footnotes(groups: &[Group<'_>], bands: String, lang: Lang) -> Vec<String> {
    let mut members = groups.iter().flat_map(|group| &group.members);
    let outside = members.any(|it| !it.inside());
    let hollow = outside.then(|| PlanText::HollowPoints.text(lang).to_owned());
    [bands].into_iter().chain(hollow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_many_times_their_beginning_are_drawn_by_factors() {
        let with = |interval| {
            let sample = Sample::new(1.0, Some(100.0)).between(Some(interval));
            vec![Series::new("", Colour::Nth(0), Shape::Line(vec![sample]))]
        };
        assert!(!is_by_factors(&with([70.0, 140.0])));
        assert!(is_by_factors(&with([9.0, 1_100.0])));
        assert!(!is_by_factors(&with([0.0, 1_100.0])));
    }
}
