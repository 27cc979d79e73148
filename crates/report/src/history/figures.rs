//! Each metric of a timeline over time, with what changed.

use super::{levels, name, signed, told_and_short, words_beyond};
use inferometer_campaign::history::{Change, History, MetricHistory, RunOfTimeline, Timeline};
use inferometer_chart::metric_name::{MetricUnit, metric_name, unit_of};
use inferometer_message::HistoryText;
use inferometer_page::figure::{
    Arrangement, Axis, Colour, Figure, Mark, MarkKind, On, Panel, Sample, Scale, Series, Shape,
};
use inferometer_store::run_dir::instant;
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeSet;

const HOUR_NS: f64 = 3.6e12;
/// Dates below a chart, so that each has its room.
const MOST_DATES: f64 = 7.0;
const DAY_HOURS: f64 = 24.0;

/// One figure for each timeline with several runs, below what is said of it: a panel for each metric
/// over one time axis.
pub fn figures(history: &History, lang: Lang) -> Vec<Figure> {
    let several = history.timelines.len() > 1;
    let (told, _) = told_and_short(history);
    let shown = told.into_iter().filter(|it| it.runs.len() > 1);
    shown
        .enumerate()
        .map(|(place, timeline)| {
            let title = if several {
                HistoryText::FigureOf.with(lang, &[("name", name(timeline))])
            } else {
                HistoryText::FigureTitle.text(lang).to_owned()
            };
            let id = match place {
                0 => "history".to_owned(),
                place => format!("history-{}", place + 1),
            };
            let panels = timeline.metrics.iter();
            Figure {
                arrangement: Arrangement::Stack,
                section: Some(name(timeline)),
                ..Figure::new(
                    id,
                    title,
                    panels.map(|it| panel(timeline, it, lang)).collect(),
                    Vec::new(),
                )
            }
        })
        .collect()
}

fn panel(timeline: &Timeline, history: &MetricHistory, lang: Lang) -> Panel {
    let (times, x) = times(timeline, lang);
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    let unit = match unit_of(history.metric) {
        MetricUnit::Time => "ms",
        MetricUnit::Sign(sign) => sign,
    };
    let levels = levels(history).into_iter().enumerate();
    let level = |(nth, ([first, last], value)): (usize, ([usize; 2], f64))| {
        let name = match nth {
            0 => HistoryText::Level.text(lang),
            _ => "",
        };
        let ends = [[at(first), value], [at(last), value]];
        Series::new(name, Colour::Quiet, Shape::Step(ends.to_vec()))
    };
    let mut series: Vec<Series> = levels.map(level).collect();
    let points = history.values.iter().enumerate();
    let points = points.map(|(place, value)| Sample::new(at(place), *value));
    series.push(Series::new(
        HistoryText::Measured.text(lang),
        Colour::Nth(0),
        Shape::Scatter(points.collect()),
    ));
    let mark = |change: &Change| {
        let middle = (at(change.between[0]) + at(change.between[1])) / 2.0;
        Mark::new(On::X, middle, signed(change.ratio), MarkKind::Knee)
    };
    let new = new_facts(timeline).into_iter();
    let new = new.map(|(place, text)| Mark::new(On::X, at(place), text, MarkKind::Reference));
    Panel {
        title: metric_name(history.metric, lang),
        x,
        y: Axis::new("", unit, Scale::FromZero),
        series,
        marks: history.changes.iter().map(mark).chain(new).collect(),
        ..Panel::default()
    }
}

/// Letters that a mark has room for.
const LONGEST_MARK: usize = 28;

/// What was new at a run, in the few words that a chart has room for: versions, the driver, and
/// what was added to or left out of the command.
fn new_facts(timeline: &Timeline) -> Vec<(usize, String)> {
    let mut command = "";
    let mut found = Vec::new();
    for (place, run) in timeline.runs.iter().enumerate() {
        let new = |name: &str| run.new_facts.get(name).map(String::as_str);
        let version = new("engine").or(new("server")).map(str::to_owned);
        let driver = new("driver").map(|it| format!("driver {it}"));
        let before = command;
        command = new("command").unwrap_or(before);
        let (added, gone) = (words_beyond(command, before), words_beyond(before, command));
        let flags = match (added.is_empty(), gone.is_empty()) {
            (true, true) => None,
            (true, false) => Some(format!("− {gone}")),
            (false, _) => Some(added),
        };
        let texts: Vec<String> = [version, driver, flags].into_iter().flatten().collect();
        if place > 0 && !texts.is_empty() {
            found.push((place, printable(&texts.join(", "), LONGEST_MARK)));
        }
    }
    found
}

/// Runs of which each has a tick; of more, round steps are whole numbers.
const MOST_NUMBERS: usize = 12;

/// When each run was, and the axis: dates, or their numbers where all lie within an hour.
fn times(timeline: &Timeline, lang: Lang) -> (Vec<f64>, Axis) {
    let began = timeline.runs.iter().map(|it| instant(&it.started));
    let began: Vec<Option<i128>> = began.collect();
    let first = began.iter().flatten().min().copied().unwrap_or_default();
    let hours = |began: &Option<i128>| began.map_or(0.0, |it| (it - first) as f64 / HOUR_NS);
    let hours: Vec<f64> = began.iter().map(hours).collect();
    let longest = hours.iter().copied().fold(0.0, f64::max);
    if longest <= 1.0 {
        let numbers = (1..=timeline.runs.len()).map(|it| it as f64);
        let numbers = Vec::from_iter(numbers);
        let mut axis = Axis::new(HistoryText::Numbers.text(lang), "", Scale::Linear);
        // There is no run between the first and the second.
        if numbers.len() <= MOST_NUMBERS {
            axis.ticks_at.clone_from(&numbers);
        }
        return (numbers, axis);
    }
    // Of RFC 3339: the year, the month and day, the minute.
    let part = |run: &RunOfTimeline, range: std::ops::Range<usize>| {
        run.started.get(range).unwrap_or_default().to_owned()
    };
    let years: BTreeSet<String> = timeline.runs.iter().map(|it| part(it, 0..4)).collect();
    let name = |run: &RunOfTimeline| match longest {
        longest if longest > DAY_HOURS => part(run, 5..10),
        _ => part(run, 11..16),
    };
    let mut axis = Axis::new(
        HistoryText::Dates.with(
            lang,
            &[(
                "year",
                Vec::from_iter(years).join(PunctuationText::Comma.text(lang)),
            )],
        ),
        "",
        Scale::Linear,
    );
    for (run, at) in timeline.runs.iter().zip(&hours) {
        let last = axis.ticks_at.last();
        let is_new = axis.tick_names.last() != Some(&name(run));
        if is_new && last.is_none_or(|last| at - last >= longest / MOST_DATES) {
            axis.ticks_at.push(*at);
            axis.tick_names.push(name(run));
        }
    }
    (hours, axis)
}
