//! One chart: header, grid, axes, shaded parts, series, lines through it.

use super::super::font;
use super::super::theme::Look;
use super::super::{Mark, MarkKind, On, Panel, Scale, Shape, Tick, heat_ends};
use super::frame::{ASLANT, Foot, Frame, Margins, NameStyle, TICK, Taken, aslant_name, shown_name};
use super::heads::{self, Head, heads};
use super::legend::{self, Entry};
use super::shapes::{self, Canvas, heat_share};
use super::surface::{Anchor, Extra, Stroke, Surface, Words};
use crate::number;

/// Size of a panel's title.
const TITLE: f64 = 14.0;

fn tick_words(look: &Look, anchor: Anchor) -> Words<'_> {
    Words::plain(TICK, look.muted, anchor)
}

/// What a panel says above its plot.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The panel's own legend, where the sheet has none.
    pub(super) legend: Vec<Entry>,
}

impl Header {
    /// Its height above a plot in a box of this width.
    pub(super) fn height(&self, panel: &Panel, width: f64) -> f64 {
        let title = if panel.title.is_empty() { 0.0 } else { 22.0 };
        let caption = if has_caption(panel) { 16.0 } else { 0.0 };
        title + legend::height(&self.legend, width) + caption + 10.0
    }
}

/// The vertical axis has a line of its own, unless it is only a unit and can follow the title.
fn has_caption(panel: &Panel) -> bool {
    !panel.y.title.is_empty()
        || heat_of(panel).is_some()
        || (panel.title.is_empty() && !panel.y.unit.is_empty())
}

fn heat_of(panel: &Panel) -> Option<[f64; 2]> {
    panel.series.iter().find_map(|series| match &series.shape {
        Shape::Heat(cells, shared) => shared.or_else(|| heat_ends(cells)),
        _ => None,
    })
}

/// Draws a panel in the box `[x, y, width, height]`.
pub(super) fn draw(
    surface: &mut dyn Surface,
    panel: &Panel,
    header: &Header,
    area: [f64; 4],
    margins: Margins,
    foot: Foot,
    look: &Look,
) {
    let frame = Frame::new(panel, area, margins);
    let heads = heads(panel, &frame);
    draw_header(
        surface,
        panel,
        header,
        area,
        &frame,
        heads::height(&heads),
        look,
    );
    if panel.is_empty() {
        let plot = [
            frame.left,
            frame.top,
            frame.right - frame.left,
            frame.bottom - frame.top,
        ];
        surface.rect(plot, 4.0, look.grid, 0.5);
        let middle = [
            (frame.left + frame.right) / 2.0,
            (frame.top + frame.bottom) / 2.0,
        ];
        let text = font::fit(&panel.when_empty, 12.0, frame.right - frame.left - 12.0);
        surface.text(
            middle,
            Words::plain(12.0, look.muted, Anchor::Middle),
            &text,
        );
        return;
    }
    draw_shades(surface, panel, &frame, look);
    draw_y_axis(surface, panel, &frame, look);
    draw_x_axis(surface, panel, &frame, foot, look);
    let mut canvas = Canvas {
        frame: &frame,
        look,
        taken: Taken::default(),
    };
    for mark in &panel.marks {
        draw_mark_line(surface, mark, &frame, look);
        reserve_mark(mark, &mut canvas);
    }
    for head in &heads {
        let base = head_base(head, &frame);
        let right = head.left + font::width(&head.label, heads::SIZE);
        canvas
            .taken
            .take([head.left, base - heads::SIZE, right, base + 3.0]);
    }
    shapes::draw(surface, &panel.series, &mut canvas);
    for head in &heads {
        draw_head(surface, head, &frame, look);
    }
    let mut taken = Taken::default();
    for mark in panel.marks.iter().filter(|mark| mark.on == On::Y) {
        draw_flat_label(surface, mark, panel, &frame, &mut taken, look);
    }
}

fn draw_header(
    surface: &mut dyn Surface,
    panel: &Panel,
    header: &Header,
    [x, y, width, _]: [f64; 4],
    frame: &Frame,
    heads: f64,
    look: &Look,
) {
    let mut below = y;
    if !panel.title.is_empty() {
        let title = Words {
            extra: Extra::Heavy,
            ..Words::plain(TITLE, look.text, Anchor::Start)
        };
        let shown = font::fit(&panel.title, TITLE, width - 60.0);
        surface.text([x, y + TITLE], title, &shown);
        below += 22.0;
        if !has_caption(panel) {
            let after = x + font::width(&shown, TITLE) + 8.0;
            let unit = tick_words(look, Anchor::Start);
            surface.text([after, y + TITLE], unit, &panel.y.unit);
        }
    }
    legend::draw(surface, &header.legend, [x, below], width, look);
    let base = frame.top - 9.0 - heads;
    if has_caption(panel) {
        let caption = font::fit(&panel.y.caption(), TICK, width * 0.6);
        surface.text([x, base], tick_words(look, Anchor::Start), &caption);
    }
    if let Some(ends) = heat_of(panel) {
        draw_heat_key(surface, ends, [frame.right, base], look);
    }
}

/// The colours of a heat map with its least and largest value.
fn draw_heat_key(surface: &mut dyn Surface, ends: [f64; 2], [right, base]: [f64; 2], look: &Look) {
    let high = number::brief(ends[1]);
    let edge = right - font::width(&high, TICK) - 6.0;
    surface.text([right, base], tick_words(look, Anchor::End), &high);
    let steps = 24;
    let step = 4.0;
    let left = edge - step * f64::from(steps);
    for at in 0..steps {
        let share = f64::from(at) / f64::from(steps - 1);
        let (fill, _) = look.of_heat(heat_share(ends[0] + share * (ends[1] - ends[0]), ends));
        surface.rect(
            [left + step * f64::from(at), base - 9.0, step + 0.2, 9.0],
            0.0,
            &fill,
            1.0,
        );
    }
    let label = number::brief(ends[0]);
    surface.text([left - 6.0, base], tick_words(look, Anchor::End), &label);
}

fn draw_shades(surface: &mut dyn Surface, panel: &Panel, frame: &Frame, look: &Look) {
    for shade in &panel.shades {
        let (Some(from), Some(to)) = (frame.x.at(shade.from), frame.x.at(shade.to)) else {
            continue;
        };
        let (from, to) = (from.max(frame.left), to.min(frame.right));
        let height = frame.bottom - frame.top;
        let part = [from, frame.top, to - from, height];
        surface.rect(part, 0.0, look.shade, look.shade_strength);
        // Edges, so that a narrow part shows.
        for edge in [from, to - 1.0] {
            let line = [edge, frame.top, 1.0, height];
            surface.rect(line, 0.0, look.shade, 2.0 * look.shade_strength);
        }
        if font::width(&shade.label, 10.0) < to - from - 12.0 {
            let place = [(from + to) / 2.0, frame.top - 4.0];
            surface.text(
                place,
                Words::plain(10.0, look.muted, Anchor::Middle),
                &shade.label,
            );
        }
    }
}

fn draw_y_axis(surface: &mut dyn Surface, panel: &Panel, frame: &Frame, look: &Look) {
    let names = matches!(panel.y.scale, Scale::Category(_));
    let heat = heat_of(panel).is_some();
    let skip = if names {
        (12.0 / frame.y.slot()).ceil().max(1.0) as usize
    } else {
        1
    };
    for tick in frame.y_ticks.iter().step_by(skip) {
        let Some(y) = frame.y.at(tick.at) else {
            continue;
        };
        if !heat {
            surface.line(
                [frame.left, y],
                [frame.right, y],
                Stroke::solid(look.grid, 1.0),
            );
        }
        let label = shown_name(&tick.label);
        let place = [frame.left - 7.0, y + 4.0];
        surface.text(place, tick_words(look, Anchor::End), &label);
    }
}

fn draw_x_axis(surface: &mut dyn Surface, panel: &Panel, frame: &Frame, foot: Foot, look: &Look) {
    if heat_of(panel).is_none() {
        let axis = Stroke::solid(look.axis, 1.2);
        surface.line(
            [frame.left, frame.bottom],
            [frame.right, frame.bottom],
            axis,
        );
    }
    let names = matches!(panel.x.scale, Scale::Category(_));
    let every = match frame.names {
        NameStyle::Aslant(every) => every,
        NameStyle::Level => 1,
    };
    let half = |tick: &Tick| font::width(&tick.label, TICK) / 2.0;
    // The last level of a ladder is worth more than the one before it.
    let last = frame.x_ticks.last().and_then(|tick| {
        let x = frame.x.at(tick.at)?;
        Some((tick.at, x - half(tick) - 6.0))
    });
    let mut free_from = f64::NEG_INFINITY;
    for tick in frame.x_ticks.iter().step_by(every) {
        let Some(x) = frame.x.at(tick.at) else {
            continue;
        };
        if !names {
            let end = [x, frame.bottom + 4.0];
            surface.line([x, frame.bottom], end, Stroke::solid(look.axis, 1.0));
        }
        if foot == Foot::Left {
            continue;
        }
        if frame.names != NameStyle::Level {
            let aslant = Words {
                extra: Extra::Turned(ASLANT),
                ..tick_words(look, Anchor::End)
            };
            surface.text(
                [x + 4.0, frame.bottom + 14.0],
                aslant,
                &aslant_name(&tick.label),
            );
            continue;
        }
        let half = half(tick);
        let leaves_room = last.is_none_or(|(at, left)| tick.at == at || x + half <= left);
        if x - half >= free_from && leaves_room {
            let place = [x, frame.bottom + 17.0];
            surface.text(place, tick_words(look, Anchor::Middle), &tick.label);
            free_from = x + half + 6.0;
        }
    }
    if foot == Foot::Written {
        let below = match frame.names {
            NameStyle::Level => 34.0,
            NameStyle::Aslant(_) => 32.0 + aslant_depth(frame),
        };
        let place = [(frame.left + frame.right) / 2.0, frame.bottom + below];
        let caption = font::fit(&panel.x.caption(), TICK, frame.right - frame.left);
        surface.text(place, tick_words(look, Anchor::Middle), &caption);
    }
}

/// How far names that are set aslant reach down.
fn aslant_depth(frame: &Frame) -> f64 {
    let labels = frame.x_ticks.iter().map(|tick| aslant_name(&tick.label));
    let longest = labels
        .map(|label| font::width(&label, TICK))
        .fold(0.0, f64::max);
    longest * ASLANT.to_radians().sin().abs()
}

fn draw_mark_line(surface: &mut dyn Surface, mark: &Mark, frame: &Frame, look: &Look) {
    let stroke = Stroke {
        colour: look.of_mark(mark.kind),
        width: if mark.kind == MarkKind::Percentile {
            1.0
        } else {
            1.4
        },
        dash: (mark.kind != MarkKind::Reference).then_some([5.0, 4.0]),
    };
    let ends = match mark.on {
        On::X => (frame.x.at(mark.at)).map(|x| [[x, frame.top], [x, frame.bottom]]),
        On::Y => (frame.y.at(mark.at)).map(|y| [[frame.left, y], [frame.right, y]]),
    };
    if let Some([from, to]) = ends {
        surface.line(from, to, stroke);
    }
}

/// Keeps the words of points and bars off the label of a flat line.
fn reserve_mark(mark: &Mark, canvas: &mut Canvas<'_>) {
    if mark.on == On::Y
        && let Some(y) = canvas.frame.y.at(mark.at)
    {
        let wide = font::width(&mark.label, heads::SIZE);
        let left = canvas.frame.left;
        canvas
            .taken
            .take([left, y - 15.0, left + wide + 4.0, y + 1.0]);
    }
}

/// The colour of a line's words.
fn label_colour<'a>(mark: &Mark, look: &'a Look) -> &'a str {
    match mark.kind {
        MarkKind::Percentile | MarkKind::Reference => look.text,
        kind => look.of_mark(kind),
    }
}

fn head_base(head: &Head<'_>, frame: &Frame) -> f64 {
    frame.top - 4.0 - head.row as f64 * heads::ROW
}

/// The label of an upright line above the plot, and the line up to it.
fn draw_head(surface: &mut dyn Surface, head: &Head<'_>, frame: &Frame, look: &Look) {
    let base = head_base(head, frame);
    if head.row > 0 {
        let stem = Stroke::solid(look.of_mark(head.mark.kind), 0.8);
        surface.line([head.x, frame.top], [head.x, base + 2.0], stem);
    }
    let words = Words::plain(heads::SIZE, label_colour(head.mark, look), Anchor::Start);
    surface.text([head.left, base], words, &head.label);
}

/// The label of a flat line, on the left: latency rises to the right, so that its limit is free
/// there. Where points lie under it, it goes to another side of the line.
fn draw_flat_label(
    surface: &mut dyn Surface,
    mark: &Mark,
    panel: &Panel,
    frame: &Frame,
    taken: &mut Taken,
    look: &Look,
) {
    let Some(y) = frame.y.at(mark.at) else { return };
    let label = font::fit(&mark.label, heads::SIZE, (frame.right - frame.left) * 0.7);
    let wide = font::width(&label, heads::SIZE);
    let samples = panel.series.iter().flat_map(|it| it.shape.samples().iter());
    let points: Vec<[f64; 2]> = samples
        .filter_map(|sample| frame.at(sample.x, sample.y?))
        .collect();
    let (above, below) = (y - 5.0, y + 13.0);
    let (left, right) = (frame.left + 4.0, frame.right - 4.0 - wide);
    let places = [[left, above], [left, below], [right, above], [right, below]];
    let inside = |[_, base]: &[f64; 2]| base - 10.0 >= frame.top && base + 2.0 <= frame.bottom;
    let is_free = |[x, base]: &[f64; 2]| {
        // As far as the sign of a point reaches.
        let across = (x - 4.0)..(x + wide + 4.0);
        let upright = (base - 14.0)..(base + 6.0);
        !(points.iter()).any(|[px, py]| across.contains(px) && upright.contains(py))
    };
    let places = || places.into_iter().filter(inside);
    let Some([left, place]) = places().find(is_free).or_else(|| places().next()) else {
        return;
    };
    if taken.take([left, place - 10.0, left + wide, place + 2.0]) {
        let words = Words {
            extra: Extra::Halo(look.background),
            ..Words::plain(heads::SIZE, label_colour(mark, look), Anchor::Start)
        };
        surface.text([left, place], words, &label);
    }
}
