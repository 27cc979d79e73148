//! Series as they are drawn in a frame.

use super::super::font;
use super::super::rgb::Rgb;
use super::super::theme::Look;
use super::super::{Cell, Colour, Fill, Range, Sample, Series, Shape, heat_ends};
use super::frame::{Frame, Taken};
use super::surface::{Anchor, Extra, Paint, Segment, Stroke, Surface, Words, closed, joined};
use crate::number as numbers;
use std::collections::HashMap;

const LINE: f64 = 2.0;
/// More points than these have no markers on their line.
const MOST_MARKERS: usize = 32;
/// More points than these are dots.
const CROWD: usize = 100;
/// Size of words beside points and on bars.
const SMALL: f64 = 10.0;
/// Size of numbers on bars that have little room.
const SMALLEST: f64 = 8.5;
const WIDEST_STACK: f64 = 96.0;
/// Share of a name's room that bars take.
const BARS: f64 = 0.78;
const WIDEST_BAR: f64 = 56.0;

/// What drawing needs beside the series.
pub(super) struct Canvas<'a> {
    pub(super) frame: &'a Frame,
    pub(super) look: &'a Look,
    pub(super) taken: Taken,
}

pub(super) fn draw(surface: &mut dyn Surface, series: &[Series], canvas: &mut Canvas<'_>) {
    let groups = series
        .iter()
        .filter(|series| matches!(series.shape, Shape::Bars(_)))
        .count();
    let mut group = 0;
    let size = bar_numbers(series, groups, canvas.frame);
    let mut ground = HashMap::new();
    for series in series {
        let colour = canvas.look.of(series.colour);
        match &series.shape {
            Shape::Line(samples) => line(surface, samples, series.colour, canvas),
            Shape::Step(points) => step(surface, points, colour, canvas.frame),
            Shape::Area(samples) => area(surface, samples, colour, canvas.frame),
            Shape::Scatter(samples) => scatter(surface, samples, series.colour, canvas),
            Shape::Bars(samples) => {
                bars(surface, samples, colour, [group, groups], size, canvas);
                group += 1;
            }
            Shape::Stack(samples) => stack(surface, samples, colour, &mut ground, canvas),
            Shape::Words(samples) => words(surface, samples, canvas),
            Shape::Ranges(ranges) => draw_ranges(surface, ranges, colour, canvas.frame),
            Shape::Heat(cells, shared) => heat(surface, cells, *shared, canvas),
        }
    }
    let labelled: Vec<&Sample> = (series.iter())
        .filter(|it| matches!(it.shape, Shape::Line(_) | Shape::Scatter(_)))
        .flat_map(|series| series.shape.samples())
        .filter(|sample| sample.label.is_some())
        .collect();
    // Words keep off every point, whichever series it belongs to.
    for sample in &labelled {
        if let Some([x, y]) = sample.y.and_then(|y| canvas.frame.at(sample.x, y)) {
            canvas.taken.take([x - 3.0, y - 3.0, x + 3.0, y + 3.0]);
        }
    }
    labels(surface, &labelled, canvas);
}

/// Runs of points without a gap, in pixels.
fn runs<'a>(samples: &'a [Sample], frame: &Frame) -> Vec<Vec<([f64; 2], &'a Sample)>> {
    let mut runs = vec![Vec::new()];
    for sample in samples {
        let place = sample.y.and_then(|y| frame.at(sample.x, y));
        match (place, runs.last_mut()) {
            (Some(place), Some(run)) => run.push((place, sample)),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn line(surface: &mut dyn Surface, samples: &[Sample], colour: Colour, canvas: &Canvas<'_>) {
    let (frame, hex) = (canvas.frame, canvas.look.of(colour));
    let markers = samples.len() <= MOST_MARKERS;
    for run in runs(samples, frame) {
        band(surface, &run, hex, frame);
        let stroke = Stroke {
            colour: hex,
            width: if markers { LINE } else { 1.3 },
            dash: dash(colour),
        };
        if run.len() > 1 {
            let points = run.iter().map(|(place, _)| *place);
            surface.path(&joined(points), Paint::Line(stroke));
        }
        if markers || run.len() == 1 {
            for (place, sample) in &run {
                let look = canvas.look;
                match sample.fill {
                    Fill::Solid => marker(surface, *place, colour, look, 3.6),
                    Fill::Hollow => {
                        let outline = [look.background, look.of(colour)];
                        painted(surface, *place, colour, outline, 3.6);
                    }
                }
            }
        }
    }
}

/// The palette again, told apart by dashes.
pub(super) fn dash(colour: Colour) -> Option<[f64; 2]> {
    match colour {
        Colour::Nth(number) if number >= 8 => Some([6.0, 4.0]),
        _ => None,
    }
}

/// The interval of each point: a band along a line, a bar at a lone point.
fn band(surface: &mut dyn Surface, run: &[([f64; 2], &Sample)], colour: &str, frame: &Frame) {
    let ends = |sample: &Sample| {
        let [low, high] = sample.interval?;
        Some([frame.y.at(low)?, frame.y.at(high)?])
    };
    for part in run.split(|(_, sample)| ends(sample).is_none()) {
        let edges: Vec<(f64, [f64; 2])> = part
            .iter()
            .filter_map(|(place, sample)| Some((place[0], ends(sample)?)))
            .collect();
        if let [(x, [low, high])] = edges[..] {
            whisker(surface, x, [low, high], colour);
            continue;
        }
        let upper = edges.iter().map(|(x, [_, high])| [*x, *high]);
        let lower = edges.iter().rev().map(|(x, [low, _])| [*x, *low]);
        let opacity = 0.16;
        surface.path(
            &joined(upper.chain(lower)),
            Paint::Filled { colour, opacity },
        );
    }
}

fn whisker(surface: &mut dyn Surface, x: f64, [low, high]: [f64; 2], colour: &str) {
    let stroke = Stroke::solid(colour, 1.2);
    surface.line([x, low], [x, high], stroke);
    for y in [low, high] {
        surface.line([x - 3.0, y], [x + 3.0, y], stroke);
    }
}

/// A point; its form follows the number of the series, so that colour is not all.
pub(super) fn marker(
    surface: &mut dyn Surface,
    [x, y]: [f64; 2],
    colour: Colour,
    look: &Look,
    r: f64,
) {
    let solid = [look.of(colour), look.background];
    painted(surface, [x, y], colour, solid, r);
}

/// The form of a series in other paint: `[inside, edge]`.
fn painted(surface: &mut dyn Surface, [x, y]: [f64; 2], colour: Colour, paint: [&str; 2], r: f64) {
    let form = match colour {
        Colour::Nth(number) => number % 4,
        Colour::Good | Colour::Quiet => 0,
        Colour::Bad => 3,
    };
    let path = match form {
        0 => vec![Segment::Circle {
            centre: [x, y],
            radius: r,
        }],
        1 => {
            let s = r * 0.9;
            closed([
                [x - s, y - s],
                [x + s, y - s],
                [x + s, y + s],
                [x - s, y + s],
            ])
        }
        2 => closed([
            [x, y - r * 1.15],
            [x + r * 1.1, y + r * 0.85],
            [x - r * 1.1, y + r * 0.85],
        ]),
        _ => closed([
            [x, y - r * 1.25],
            [x + r * 1.25, y],
            [x, y + r * 1.25],
            [x - r * 1.25, y],
        ]),
    };
    let [inside, edge] = paint;
    surface.path(&path, Paint::Edged { inside, edge });
}

fn step(surface: &mut dyn Surface, points: &[[f64; 2]], colour: &str, frame: &Frame) {
    let places = points.iter().filter_map(|[x, y]| frame.at(*x, *y));
    let segment = |(number, place)| match number {
        0 => Segment::Move(place),
        _ => Segment::Step(place),
    };
    let path: Vec<Segment> = places.enumerate().map(segment).collect();
    surface.path(&path, Paint::Line(Stroke::solid(colour, 1.8)));
}

fn area(surface: &mut dyn Surface, samples: &[Sample], colour: &str, frame: &Frame) {
    let ground = frame.ground();
    for run in runs(samples, frame) {
        let (first, last) = (run[0].0, run[run.len() - 1].0);
        let outline = run.iter().map(|(place, _)| *place);
        let filled = outline
            .clone()
            .chain([[last[0], ground], [first[0], ground]]);
        let opacity = 0.18;
        surface.path(&joined(filled), Paint::Filled { colour, opacity });
        let stroke = Stroke::solid(colour, 1.4);
        surface.path(&joined(outline), Paint::Line(stroke));
    }
}

fn scatter(surface: &mut dyn Surface, samples: &[Sample], colour: Colour, canvas: &Canvas<'_>) {
    let places = samples
        .iter()
        .filter_map(|sample| canvas.frame.at(sample.x, sample.y?));
    let places: Vec<[f64; 2]> = places.collect();
    if is_crowd(samples, colour) {
        dots(surface, &places, canvas.look.of(colour), 3.6);
        return;
    }
    for place in places {
        marker(surface, place, colour, canvas.look, 3.6);
    }
}

/// So many points that a form for each would hide more than it tells.
pub(super) fn is_crowd(samples: &[Sample], colour: Colour) -> bool {
    let drawn = samples.iter().filter(|sample| sample.y.is_some());
    colour != Colour::Bad && drawn.count() > CROWD
}

/// Dots of one path: small files, and crowds show by their density.
pub(super) fn dots(surface: &mut dyn Surface, places: &[[f64; 2]], colour: &str, width: f64) {
    let path: Vec<Segment> = places.iter().map(|place| Segment::Dot(*place)).collect();
    surface.path(&path, Paint::Dots { colour, width });
}

/// Width of one of so many bars side by side.
fn bar_width(groups: usize, frame: &Frame) -> f64 {
    (frame.x.slot() * BARS / groups.max(1) as f64).min(WIDEST_BAR)
}

/// The size of numbers on bars: one at which all fit, so that no bar looks special; absent where
/// there is none.
fn bar_numbers(series: &[Series], groups: usize, frame: &Frame) -> Option<f64> {
    let width = bar_width(groups, frame) + 1.0;
    let labels: Vec<String> = (series.iter())
        .filter(|series| matches!(series.shape, Shape::Bars(_)))
        .flat_map(|series| series.shape.samples())
        .filter_map(|sample| Some(numbers::brief(sample.y?)))
        .collect();
    let fit = |size: &f64| (labels.iter()).all(|label| font::width(label, *size) <= width);
    [SMALL, SMALLEST].into_iter().find(fit)
}

fn bars(
    surface: &mut dyn Surface,
    samples: &[Sample],
    colour: &str,
    [group, groups]: [usize; 2],
    size: Option<f64>,
    canvas: &mut Canvas<'_>,
) {
    let frame = canvas.frame;
    let width = bar_width(groups, frame);
    let gap = if width > 6.0 { 1.5 } else { 0.0 };
    for sample in samples {
        let Some([middle, top]) = sample.y.and_then(|y| frame.at(sample.x, y)) else {
            continue;
        };
        let left = middle - width * groups as f64 / 2.0 + width * group as f64;
        let ground = frame.ground();
        let height = (ground - top)
            .abs()
            .max(if sample.y == Some(0.0) { 0.0 } else { 1.0 });
        let corner = if width > 8.0 { 2.0 } else { 0.0 };
        surface.rect(
            [left + gap / 2.0, top.min(ground), width - gap, height],
            corner,
            colour,
            1.0,
        );
        let centre = left + width / 2.0;
        let mut above = top;
        if let Some([low, high]) = sample.interval
            && let (Some(low), Some(high)) = (frame.y.at(low), frame.y.at(high))
        {
            whisker(surface, centre, [low, high], canvas.look.text);
            above = above.min(high);
        }
        let Some(size) = size else { continue };
        let label = numbers::brief(sample.y.unwrap_or_default());
        let wide = font::width(&label, size);
        let own = [
            centre - wide / 2.0,
            above - 14.0,
            centre + wide / 2.0,
            above - 3.0,
        ];
        if canvas.taken.take(own) {
            let words = Words::plain(size, canvas.look.muted, Anchor::Middle);
            surface.text([centre, above - 4.0], words, &label);
        }
    }
}

/// A part of each bar upon those before it; `ground` holds what they reach.
fn stack(
    surface: &mut dyn Surface,
    samples: &[Sample],
    colour: &str,
    ground: &mut HashMap<u64, f64>,
    canvas: &Canvas<'_>,
) {
    let frame = canvas.frame;
    let width = (frame.x.slot() * BARS).min(WIDEST_STACK);
    for sample in samples {
        let Some(value) = sample.y else { continue };
        let below = ground.entry(sample.x.to_bits()).or_insert(0.0);
        let (from, to) = (*below, *below + value);
        *below = to;
        let (Some([middle, foot]), Some(top)) = (frame.at(sample.x, from), frame.y.at(to)) else {
            continue;
        };
        let height = foot - top;
        let part = [middle - width / 2.0, top, width, height];
        surface.rect(part, 0.0, colour, 1.0);
        let label = numbers::brief(value);
        let fits = font::width(&label, SMALL) <= width - 4.0 && height >= SMALL + 2.0;
        if fits {
            let fill = Rgb::of(colour).words();
            let place = [middle, (foot + top) / 2.0 + 3.5];
            surface.text(place, small(fill, Anchor::Middle), &label);
        }
    }
}

fn words(surface: &mut dyn Surface, samples: &[Sample], canvas: &Canvas<'_>) {
    for sample in samples {
        let place = sample.y.and_then(|y| canvas.frame.at(sample.x, y));
        if let (Some([x, y]), Some(label)) = (place, &sample.label) {
            let label = font::fit(label, SMALL, 120.0);
            let words = Words {
                extra: Extra::Halo(canvas.look.background),
                ..small(canvas.look.muted, Anchor::Middle)
            };
            surface.text([x, y + 3.5], words, &label);
        }
    }
}

fn small(fill: &str, anchor: Anchor) -> Words<'_> {
    Words::plain(SMALL, fill, anchor)
}

fn draw_ranges(surface: &mut dyn Surface, ranges: &[Range], colour: &str, frame: &Frame) {
    for range in ranges {
        let Some([x, y]) = frame.at(range.value, range.row as f64) else {
            continue;
        };
        if let Some([low, high]) = range.interval
            && let (Some(low), Some(high)) = (frame.x.at(low), frame.x.at(high))
        {
            let stroke = Stroke::solid(colour, 1.8);
            surface.line([low, y], [high, y], stroke);
            for x in [low, high] {
                surface.line([x, y - 3.5], [x, y + 3.5], stroke);
            }
        }
        surface.rect([x - 4.0, y - 4.0, 8.0, 8.0], 1.0, colour, 1.0);
    }
}

/// Where a value lies between the ends, of which a small difference stays small: colours span
/// at least a fifth of the largest value.
pub(super) fn heat_share(value: f64, [low, high]: [f64; 2]) -> f64 {
    let span = (high - low).max(0.2 * high.abs()).max(f64::MIN_POSITIVE);
    let middle = low / 2.0 + high / 2.0;
    0.5 + (value - middle) / span
}

fn heat(surface: &mut dyn Surface, cells: &[Cell], shared: Option<[f64; 2]>, canvas: &Canvas<'_>) {
    let frame = canvas.frame;
    let (width, height) = (frame.x.slot(), frame.y.slot());
    let gap = if width.min(height) > 12.0 { 2.0 } else { 0.0 };
    let ends = shared.or_else(|| heat_ends(cells)).unwrap_or([0.0, 1.0]);
    for cell in cells {
        let Some([x, y]) = frame.at(cell.column as f64, cell.row as f64) else {
            continue;
        };
        let shape = [
            x - (width - gap) / 2.0,
            y - (height - gap) / 2.0,
            width - gap,
            height - gap,
        ];
        let (fill, words) = match cell.value {
            Some(value) => canvas.look.of_heat(heat_share(value, ends)),
            None => (canvas.look.grid.to_owned(), canvas.look.muted),
        };
        surface.rect(shape, if gap > 0.0 { 3.0 } else { 0.0 }, &fill, 1.0);
        let size = 12.0;
        if font::width(&cell.label, size) <= width - 8.0 && height >= size + 4.0 {
            let words = Words::plain(size, words, Anchor::Middle);
            surface.text([x, y + 4.0], words, &cell.label);
        }
    }
}

/// Words beside points, where they find room.
fn labels(surface: &mut dyn Surface, samples: &[&Sample], canvas: &mut Canvas<'_>) {
    for sample in samples {
        let Some(label) = &sample.label else { continue };
        let Some([x, y]) = sample.y.and_then(|y| canvas.frame.at(sample.x, y)) else {
            continue;
        };
        let label = font::fit(label, SMALL, 120.0);
        let wide = font::width(&label, SMALL);
        let places = [
            (x, y - 8.0, Anchor::Middle, x - wide / 2.0),
            (x + 8.0, y + 3.5, Anchor::Start, x + 8.0),
            (x, y + 16.0, Anchor::Middle, x - wide / 2.0),
            (x - 8.0, y + 3.5, Anchor::End, x - 8.0 - wide),
        ];
        let free = places.into_iter().find(|&(_, y, _, left)| {
            let inside = left >= canvas.frame.left
                && left + wide <= canvas.frame.right + 8.0
                && y <= canvas.frame.bottom - 2.0;
            inside
                && canvas
                    .taken
                    .take([left - 2.0, y - 10.0, left + wide + 2.0, y + 2.0])
        });
        if let Some((x, y, anchor, _)) = free {
            let words = Words {
                extra: Extra::Halo(canvas.look.background),
                ..small(canvas.look.muted, anchor)
            };
            surface.text([x, y], words, &label);
        }
    }
}
