//! SVG of a figure: words stay words, and no font is needed but the reader's own.
//!
//! The layout is measured with the embedded font, so that it holds in PNG to the pixel and in
//! a browser with another font nearly so.

mod frame;
mod heads;
mod legend;
mod markup;
mod plot;
mod shapes;
pub(super) mod surface;

use super::font::{self, FAMILIES};
use super::theme::{Look, Theme};
use super::{Arrangement, Figure, Panel, Scale, Shape, names};
use frame::{Foot, Frame, Margins};
pub(super) use markup::shown;
use markup::{Markup, escape, number};
use plot::Header;
use surface::{Anchor, Extra, Surface, Words};

const EDGE: f64 = 26.0;
const BETWEEN: [f64; 2] = [34.0, 26.0];
const TITLE: f64 = 20.0;
const FOOTNOTE: f64 = 11.0;
const FOOTNOTE_LINE: f64 = 16.0;
/// Highest chart of names, however many there are.
const HIGHEST: f64 = 4_000.0;

pub fn render(figure: &Figure, theme: Theme) -> String {
    let figure = &names::of_drawing(figure);
    let sheet = Sheet::new(figure);
    let mut markup = Markup::default();
    markup.raw(&format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" font-family="{FAMILIES}">"#,
        w = number(sheet.width),
        h = number(sheet.height),
    ));
    markup.raw(&format!("<title>{}</title>", escape(&figure.title)));
    sheet.draw(&mut markup, theme.look());
    markup.raw("</svg>");
    markup.out
}

struct Placed<'a> {
    panel: &'a Panel,
    header: Header,
    area: [f64; 4],
    margins: Margins,
    foot: Foot,
}

pub(super) struct Sheet<'a> {
    figure: &'a Figure,
    legend: Vec<legend::Entry>,
    placed: Vec<Placed<'a>>,
    footnotes: Vec<String>,
    width: f64,
    height: f64,
}

fn columns(figure: &Figure) -> usize {
    match (figure.arrangement, figure.panels.len()) {
        (Arrangement::Stack, _) | (_, 0 | 1) => 1,
        (_, 2 | 4) => 2,
        (_, 7 | 8) => 4,
        _ => 3,
    }
}

fn panel_width(figure: &Figure) -> f64 {
    match columns(figure) {
        1 => 860.0,
        2 => 530.0,
        3 => 380.0,
        _ => 330.0,
    }
}

/// Height of a panel: that of its sheet, or what its names need.
fn panel_height(figure: &Figure, panel: &Panel) -> f64 {
    let usual = match (figure.arrangement, columns(figure)) {
        (Arrangement::Stack, _) => 168.0,
        (_, 1) => 430.0,
        (_, 2) => 310.0,
        _ => 270.0,
    };
    let Scale::Category(names) = &panel.y.scale else {
        return usual;
    };
    let heat = panel
        .series
        .iter()
        .any(|series| matches!(series.shape, Shape::Heat(..)));
    let row = if heat { 36.0 } else { 25.0 };
    (names.len() as f64 * row + 90.0).clamp(130.0, HIGHEST)
}

impl<'a> Sheet<'a> {
    pub(super) fn new(figure: &'a Figure) -> Self {
        let columns = columns(figure);
        let each = panel_width(figure);
        let width = 2.0 * EDGE + each * columns as f64 + BETWEEN[0] * (columns - 1) as f64;
        let inside = width - 2.0 * EDGE;
        let shared = legend::of_sheet(figure);
        let own = shared.is_none();
        let legend = shared.unwrap_or_default();
        let mut top = EDGE;
        if !figure.title.is_empty() {
            top += TITLE + 14.0;
        }
        let legend_height = legend::height(&legend, inside);
        top += if legend_height > 0.0 {
            legend_height + 10.0
        } else {
            0.0
        };
        let mut placed = Vec::new();
        let last = figure.panels.len().saturating_sub(1);
        for (row, panels) in figure.panels.chunks(columns).enumerate() {
            let heights = panels.iter().map(|panel| panel_height(figure, panel));
            let mut height = heights.fold(0.0, f64::max);
            let ends = row * columns + panels.len() > last;
            let foot = match (figure.arrangement, ends) {
                (Arrangement::Stack, false) => Foot::Left,
                _ => Foot::Written,
            };
            if figure.arrangement == Arrangement::Stack && ends {
                height += 36.0;
            }
            for (column, panel) in panels.iter().enumerate() {
                let header = Header {
                    legend: if own {
                        legend::of_panel(panel)
                    } else {
                        Vec::new()
                    },
                };
                let x = EDGE + column as f64 * (each + BETWEEN[0]);
                let above = header.height(panel, each);
                placed.push(Placed {
                    panel,
                    margins: frame::margins(panel, each, height, above, foot),
                    header,
                    area: [x, top, each, height],
                    foot,
                });
            }
            top += height + BETWEEN[1];
        }
        align(&mut placed, columns);
        top -= if placed.is_empty() { 0.0 } else { BETWEEN[1] };
        let wrapped = figure.footnotes.iter();
        let footnotes: Vec<String> = wrapped
            .flat_map(|note| font::wrap(note, FOOTNOTE, inside))
            .collect();
        let notes = footnotes.len() as f64 * FOOTNOTE_LINE;
        let height = top + if notes > 0.0 { notes + 14.0 } else { 0.0 } + EDGE;
        Sheet {
            figure,
            legend,
            placed,
            footnotes,
            width,
            height,
        }
    }

    pub(super) fn size(&self) -> [f64; 2] {
        [self.width, self.height]
    }

    pub(super) fn draw(&self, surface: &mut dyn Surface, look: &Look) {
        let whole = [0.0, 0.0, self.width, self.height];
        surface.rect(whole, 0.0, look.background, 1.0);
        let mut top = EDGE;
        let inside = self.width - 2.0 * EDGE;
        if !self.figure.title.is_empty() {
            let words = Words {
                extra: Extra::Heavy,
                ..Words::plain(TITLE, look.text, Anchor::Start)
            };
            let title = font::fit(&self.figure.title, TITLE, inside);
            surface.text([EDGE, top + TITLE - 3.0], words, &title);
            top += TITLE + 14.0;
        }
        legend::draw(surface, &self.legend, [EDGE, top], inside, look);
        for place in &self.placed {
            plot::draw(
                surface,
                place.panel,
                &place.header,
                place.area,
                place.margins,
                place.foot,
                look,
            );
        }
        let words = Words::plain(FOOTNOTE, look.muted, Anchor::Start);
        let first = self.height - EDGE - (self.footnotes.len() as f64 - 1.0) * FOOTNOTE_LINE;
        for (line, note) in self.footnotes.iter().enumerate() {
            surface.text([EDGE, first + line as f64 * FOOTNOTE_LINE], words, note);
        }
    }
}

/// Plots of one column begin at one line, those of one row at one height and end at one. Room
/// for the labels of upright lines is known once the columns are.
fn align(placed: &mut [Placed<'_>], columns: usize) {
    for column in 0..columns {
        let of_column = || (column..placed.len()).step_by(columns);
        let left = of_column()
            .map(|at| placed[at].margins.left)
            .fold(0.0, f64::max);
        for at in of_column() {
            placed[at].margins.left = left;
        }
    }
    for place in placed.iter_mut() {
        let frame = Frame::new(place.panel, place.area, place.margins);
        place.margins.top += heads::height(&heads::heads(place.panel, &frame));
    }
    for row in placed.chunks_mut(columns) {
        let top = row
            .iter()
            .map(|place| place.margins.top)
            .fold(0.0, f64::max);
        let bottom = row
            .iter()
            .map(|place| place.margins.bottom)
            .fold(0.0, f64::max);
        for place in row {
            place.margins.top = top;
            place.margins.bottom = bottom;
        }
    }
}
