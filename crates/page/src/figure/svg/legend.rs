//! Which colour is which.

use super::super::font;
use super::super::theme::Look;
use super::super::{Colour, Figure, Panel, Shape};
use super::shapes;
use super::surface::{Anchor, Stroke, Surface, Words};

const SIZE: f64 = 12.0;
const LINE: f64 = 20.0;
/// Room of the sign before a name.
const SIGN: f64 = 26.0;
const GAP: f64 = 20.0;
const LONGEST: f64 = 320.0;

/// A name and how it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    name: String,
    colour: Colour,
    sign: Sign,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    Line,
    /// Points that have the form of their series.
    Marker,
    /// Points so many that all are round.
    Dot,
    Block,
}

pub(super) fn of_panel(panel: &Panel) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for series in panel.series.iter().filter(|series| !series.name.is_empty()) {
        let entry = Entry {
            name: series.name.clone(),
            colour: series.colour,
            sign: match series.shape {
                Shape::Line(_) | Shape::Step(_) => Sign::Line,
                Shape::Scatter(ref samples) => {
                    if shapes::is_crowd(samples, series.colour) {
                        Sign::Dot
                    } else {
                        Sign::Marker
                    }
                }
                Shape::Area(_)
                | Shape::Bars(_)
                | Shape::Stack(_)
                | Shape::Words(_)
                | Shape::Ranges(_)
                | Shape::Heat(..) => Sign::Block,
            },
        };
        let known = |other: &Entry| other.name == entry.name && other.colour == entry.colour;
        if !entries.iter().any(known) {
            entries.push(entry);
        }
    }
    entries
}

/// The legend of the whole sheet; absent if a colour means different things in its charts.
pub(super) fn of_sheet(figure: &Figure) -> Option<Vec<Entry>> {
    let mut all: Vec<Entry> = Vec::new();
    for entry in figure.panels.iter().flat_map(of_panel) {
        match all.iter().find(|other| other.colour == entry.colour) {
            Some(other) if other.name != entry.name => return None,
            Some(_) => {}
            None => all.push(entry),
        }
    }
    Some(all)
}

/// Places of the entries: `[x, line]` for each.
fn places(entries: &[Entry], width: f64) -> Vec<[f64; 2]> {
    let mut places = Vec::new();
    let (mut x, mut line) = (0.0, 0.0);
    for entry in entries {
        let own = SIGN + font::width(&shown(&entry.name, width), SIZE);
        if x > 0.0 && x + own > width {
            x = 0.0;
            line += 1.0;
        }
        places.push([x, line]);
        x += own + GAP;
    }
    places
}

fn shown(name: &str, width: f64) -> String {
    font::fit(name, SIZE, LONGEST.min(width - SIGN))
}

pub(super) fn height(entries: &[Entry], width: f64) -> f64 {
    let lines = places(entries, width)
        .last()
        .map_or(0.0, |place| place[1] + 1.0);
    lines * LINE
}

/// Draws a legend with its upper left at a place.
pub(super) fn draw(
    surface: &mut dyn Surface,
    entries: &[Entry],
    [x, y]: [f64; 2],
    width: f64,
    look: &Look,
) {
    for (entry, [right, line]) in entries.iter().zip(places(entries, width)) {
        let (x, middle) = (x + right, y + line * LINE + LINE / 2.0);
        let colour = look.of(entry.colour);
        match entry.sign {
            Sign::Line => {
                let stroke = Stroke {
                    dash: shapes::dash(entry.colour),
                    ..Stroke::solid(colour, 2.0)
                };
                surface.line([x + 1.0, middle], [x + 19.0, middle], stroke);
                shapes::marker(surface, [x + 10.0, middle], entry.colour, look, 3.6);
            }
            Sign::Marker => shapes::marker(surface, [x + 10.0, middle], entry.colour, look, 4.0),
            Sign::Dot => shapes::dots(surface, &[[x + 10.0, middle]], colour, 7.0),
            Sign::Block => surface.rect([x + 5.0, middle - 5.5, 11.0, 11.0], 2.0, colour, 1.0),
        }
        let words = Words::plain(SIZE, look.text, Anchor::Start);
        surface.text([x + SIGN, middle + 4.2], words, &shown(&entry.name, width));
    }
}
