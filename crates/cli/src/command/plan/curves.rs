//! Predictions as curves: throughput and latency over the load, and latency over throughput, with
//! the intervals in which they lie in 9 of 10 cases.

use super::what_if::{flags, of};
use inferometer_core::message::Lang;
use inferometer_core::message::figures::FigureText as Text;
use inferometer_core::message::plan::PlanText;
use inferometer_core::slo::{Slo, SloMetric};
use inferometer_plan::observation::Load;
use inferometer_plan::predict::Metric;
use inferometer_plan::what_if::{Answers, Prediction, Setting};
use inferometer_report::figure::{
    Axis, Colour, Figure, Mark, MarkKind, On, Panel, Sample, Scale, Series, Shape,
};

/// More loads than these have no tick of their own.
const MOST_TICKS: usize = 12;

/// Settings that differ by their load alone.
struct Group<'a> {
    name: String,
    members: Vec<&'a Prediction>,
}

/// What is drawn of a prediction: a figure, and the metric whose interval it has.
type Drawn = (fn(&Prediction) -> Option<f64>, Metric);

const TOKENS: Drawn = (|it| Some(it.output_tokens_per_s), Metric::Throughput);
const TTFT: Drawn = (|it| Some(it.ttft_ms?.mean), Metric::Ttft);
const TPOT: Drawn = (|it| Some(it.tpot_ms?.mean), Metric::Tpot);
const E2E: Drawn = (|it| Some(it.e2e_ms?.mean), Metric::E2e);

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
    let name = |setting: &Setting| match (several, flags(setting)) {
        (true, flags) => format!("{} {flags}", setting.device).trim().to_owned(),
        (false, flags) => flags,
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    for answer in &answers.settings {
        let Some(prediction) = of(answer) else {
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

fn series(groups: &[Group<'_>], x: fn(&Prediction) -> f64, (y, metric): Drawn) -> Vec<Series> {
    let each = groups.iter().enumerate().map(|(number, group)| {
        let samples = group.members.iter().map(|prediction| {
            let value = y(prediction);
            let interval = value.and_then(|value| prediction.interval(metric, value, 1.0));
            Sample::new(x(prediction), value).between(interval)
        });
        Series {
            name: group.name.clone(),
            colour: Colour::Nth(number),
            shape: Shape::Line(samples.collect()),
        }
    });
    each.collect()
}

fn objective(objectives: &[Slo], metric: SloMetric, lang: Lang) -> Vec<Mark> {
    let those = objectives.iter().filter(|slo| slo.metric == metric);
    let mark = |slo: &Slo| Mark {
        on: On::Y,
        at: slo.limit.0.as_secs_f64() * 1e3,
        label: Text::Objective.with(lang, &[("objective", slo.to_string())]),
        kind: MarkKind::Objective,
    };
    those.map(mark).collect()
}

fn over_load(groups: &[Group<'_>], objectives: &[Slo], lang: Lang) -> Figure {
    let members = || groups.iter().flat_map(|group| &group.members);
    let mut levels: Vec<f64> = members().map(|it| level(it)).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let open = members().any(|it| matches!(it.work.load, Load::Open(_)));
    let (title, unit) = match open {
        true => (Text::Rate, "req/s"),
        false => (Text::Concurrency, ""),
    };
    let axis = || {
        let mut axis = Axis::new(title.text(lang), unit, Scale::Log);
        if levels.len() <= MOST_TICKS {
            axis.ticks_at = levels.clone();
        }
        axis
    };
    let panel = |name: Text, unit: &str, drawn: Drawn, marks: Vec<Mark>| Panel {
        x: axis(),
        y: Axis::new(name.text(lang), unit, Scale::FromZero),
        series: series(groups, level, drawn),
        marks,
        when_empty: Text::NoData.text(lang).to_owned(),
        ..Panel::default()
    };
    Figure {
        id: "what-if-load".to_owned(),
        title: PlanText::OverLoad.text(lang).to_owned(),
        panels: vec![
            panel(Text::OutputThroughput, "tok/s", TOKENS, Vec::new()),
            panel(
                Text::Ttft,
                "ms",
                TTFT,
                objective(objectives, SloMetric::Ttft, lang),
            ),
            panel(
                Text::Tpot,
                "ms",
                TPOT,
                objective(objectives, SloMetric::Tpot, lang),
            ),
        ],
        footnotes: vec![PlanText::Bands.text(lang).to_owned()],
        ..Figure::default()
    }
}

fn over_throughput(groups: &[Group<'_>], objectives: &[Slo], lang: Lang) -> Figure {
    let panel = |name: Text, drawn: Drawn, marks: Vec<Mark>| Panel {
        x: Axis::new(Text::RequestThroughput.text(lang), "req/s", Scale::FromZero),
        y: Axis::new(name.text(lang), "ms", Scale::FromZero),
        series: series(groups, |it| it.requests_per_s, drawn),
        marks,
        when_empty: Text::NoData.text(lang).to_owned(),
        ..Panel::default()
    };
    Figure {
        id: "what-if-throughput-latency".to_owned(),
        title: Text::ThroughputLatency.text(lang).to_owned(),
        panels: vec![
            panel(
                Text::Ttft,
                TTFT,
                objective(objectives, SloMetric::Ttft, lang),
            ),
            panel(Text::E2e, E2E, objective(objectives, SloMetric::E2e, lang)),
        ],
        footnotes: vec![PlanText::Bands.text(lang).to_owned()],
        ..Figure::default()
    }
}
