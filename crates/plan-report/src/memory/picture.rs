//! The parts of a card as a picture: drawn, or of signs.

use super::{PARTS, gib, name, part_text};
use inferometer_catalog::units::GIB;
use inferometer_message::PlanText as Text;
use inferometer_page::doc::{Cell, Column, Table};
use inferometer_page::figure::{
    Axis, Colour, Figure, Mark, MarkKind, On, Panel, Sample, Scale, Series, Shape,
};
use inferometer_page::text::width;
use inferometer_plan::memory::{Answer, Fit, Part};
use inferometer_text::Lang;

/// A stack for each answer, with the card's memory beside it.
pub fn stacks(answers: &[Answer], lang: Lang) -> Figure {
    let colour = |part| match part {
        Part::Weights => Colour::Nth(0),
        Part::Activations => Colour::Nth(1),
        Part::Graphs => Colour::Nth(3),
        Part::System => Colour::Nth(4),
        Part::KvCache => Colour::Nth(2),
        Part::Unused => Colour::Quiet,
    };
    let of = |part: Part| {
        let samples = answers.iter().enumerate();
        let samples = samples.map(|(place, answer)| Sample::new(place as f64, gib(answer, part)));
        Series::new(
            part_text(part).text(lang),
            colour(part),
            Shape::Stack(samples.collect()),
        )
    };
    let does_not_fit = answers.iter().filter(|answer| answer.fit != Fit::Fits);
    let notes =
        does_not_fit.map(|answer| format!("{}: {}", name(answer), Text::DoesNotFit.text(lang)));
    Figure::new(
        "memory",
        Text::Memory.text(lang),
        vec![Panel {
            x: Axis::of_names(
                Text::EngineOnDevice.text(lang),
                answers.iter().map(name).collect(),
            ),
            y: Axis::new("", Text::Gib.text(lang), Scale::FromZero),
            series: PARTS.map(of).into(),
            marks: edges(answers),
            ..Panel::default()
        }],
        notes.collect(),
    )
}

/// The memory of the cards beyond which a stack goes.
fn edges(answers: &[Answer]) -> Vec<Mark> {
    let beyond = answers.iter().filter(|answer| answer.fit != Fit::Fits);
    let mut cards: Vec<(&str, f64)> = beyond
        .map(|answer| (answer.device.as_str(), answer.total / GIB))
        .collect();
    cards.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(b.0)));
    cards.dedup();
    let mark = |(device, gib): (&str, f64)| {
        Mark::new(
            On::Y,
            gib,
            format!("{device} {gib:.1} GiB"),
            MarkKind::Objective,
        )
    };
    cards.into_iter().map(mark).collect()
}

/// Characters of a whole card, where names leave so many of a line, and at least.
const BAR: usize = 50;
const SHORTEST_BAR: usize = 20;
/// Characters of a line for a name and its bar: what a terminal of 80 columns leaves beside the
/// margin, the gap between them and the end of a card.
const LINE: usize = 75;
/// Where a card ends whose parts go beyond it.
const END: char = '|';

fn sign(part: Part) -> char {
    match part {
        Part::Weights => '█',
        Part::Activations => '▓',
        Part::Graphs => '▒',
        Part::System => '#',
        Part::KvCache => '=',
        Part::Unused => '·',
    }
}

fn used(answer: &Answer) -> f64 {
    answer.parts.iter().map(|(_, bytes)| bytes).sum()
}

/// Whether the parts are more than the card; a byte of rounding is nothing.
fn beyond(answer: &Answer) -> bool {
    used(answer) > answer.total + 1.0
}

pub(super) fn bars(answers: &[Answer], lang: Lang) -> Table {
    let longest = (answers.iter()).map(|answer| width(&name(answer))).max();
    let room = LINE.saturating_sub(longest.unwrap_or_default());
    let length = room.clamp(SHORTEST_BAR, BAR) as f64;
    let rows = answers.iter().map(|answer| {
        let scale = length / used(answer).max(answer.total);
        // Ends are rounded, not lengths, so that the bar has its length whatever its parts.
        let mut bar = String::new();
        let mut end = 0.0;
        for (part, bytes) in &answer.parts {
            end += bytes * scale;
            let missing = (end.round() as usize).saturating_sub(bar.chars().count());
            bar.extend(std::iter::repeat_n(sign(*part), missing));
        }
        if beyond(answer) {
            let end = (answer.total * scale).round() as usize;
            let place = bar.char_indices().nth(end);
            bar.insert(place.map_or(bar.len(), |(place, _)| place), END);
        }
        vec![Cell::text(name(answer)), Cell::text(bar)]
    });
    let mut legend: Vec<String> = PARTS
        .map(|part| format!("{} {}", sign(part), part_text(part).text(lang)))
        .into();
    if answers.iter().any(beyond) {
        legend.push(format!("{END} {}", Text::CardEnd.text(lang)));
    }
    Table {
        columns: vec![Column::wrapped(""), Column::left("")],
        rows: rows.collect(),
        footnotes: vec![legend.join("  ")],
    }
}
