//! PNG of a figure, drawn with the embedded font: no font of the system is used.

use super::rgb::Rgb;
use super::svg::surface::{
    Anchor, DOT_OPACITY, Extra, HALO, HEAVY, Paint, Segment, Surface, Words,
};
use super::svg::{Sheet, shown};
use super::theme::Theme;
use super::{Figure, font};
use tiny_skia::{
    FillRule, LineCap, LineJoin, Path, PathBuilder, Pixmap, Rect, Shader, Stroke, StrokeDash,
    Transform,
};

/// Pixels of the picture for each of the layout.
pub const SCALE: f32 = 2.0;
/// Longest side of a picture in pixels; larger figures are drawn smaller.
const LONGEST: f32 = 16_000.0;
/// How far a curve's handles reach along the tangent to make a quarter of a circle.
const QUARTER: f32 = 0.552_285;

#[derive(Debug, thiserror::Error)]
#[error("the figure '{id}' cannot be drawn as PNG ({reason}); write it as SVG")]
pub struct PngError {
    id: String,
    reason: String,
}

pub fn render(figure: &Figure, theme: Theme) -> Result<Vec<u8>, PngError> {
    let error = |reason: String| PngError {
        id: figure.id.clone(),
        reason,
    };
    let figure = &super::names::of_drawing(figure);
    let sheet = Sheet::new(figure);
    let [width, height] = sheet.size().map(|side| side as f32);
    let scale = SCALE.min(LONGEST / width.max(height));
    let side = |length: f32| (length * scale).ceil() as u32;
    let picture =
        Pixmap::new(side(width), side(height)).ok_or_else(|| error("it has no size".to_owned()))?;
    let mut pixels = Pixels {
        picture,
        enlarged: Transform::from_scale(scale, scale),
    };
    sheet.draw(&mut pixels, theme.look());
    let encoded = pixels.picture.encode_png();
    encoded.map_err(|why| error(why.to_string()))
}

struct Pixels {
    picture: Pixmap,
    enlarged: Transform,
}

fn ink(colour: &str, opacity: f64) -> tiny_skia::Paint<'static> {
    let [red, green, blue] = Rgb::of(colour).0.map(|part| part as u8);
    let mut colour = tiny_skia::Color::from_rgba8(red, green, blue, 255);
    colour.apply_opacity(opacity as f32);
    tiny_skia::Paint {
        shader: Shader::SolidColor(colour),
        anti_alias: true,
        ..tiny_skia::Paint::default()
    }
}

impl Pixels {
    fn fill(&mut self, path: &Path, ink: &tiny_skia::Paint<'_>, turned: Transform) {
        let place = self.enlarged.pre_concat(turned);
        self.picture
            .fill_path(path, ink, FillRule::Winding, place, None);
    }

    fn stroke(
        &mut self,
        path: &Path,
        ink: &tiny_skia::Paint<'_>,
        stroke: &Stroke,
        turned: Transform,
    ) {
        let place = self.enlarged.pre_concat(turned);
        self.picture.stroke_path(path, ink, stroke, place, None);
    }
}

impl Surface for Pixels {
    fn text(&mut self, [x, y]: [f64; 2], words: Words<'_>, content: &str) {
        let content = shown(content);
        let left = match words.anchor {
            Anchor::Start => x,
            Anchor::Middle => x - font::width(&content, words.size) / 2.0,
            Anchor::End => x - font::width(&content, words.size),
        };
        let Some(outline) = outline(&content, [left, y], words.size) else {
            return;
        };
        let turned = match words.extra {
            Extra::Turned(degrees) => Transform::from_rotate_at(degrees as f32, x as f32, y as f32),
            _ => Transform::identity(),
        };
        let edge = match words.extra {
            Extra::Heavy => Some((words.fill, HEAVY, LineJoin::Miter)),
            Extra::Halo(colour) => Some((colour, HALO, LineJoin::Round)),
            Extra::None | Extra::Turned(_) => None,
        };
        if let Some((colour, width, line_join)) = edge {
            let stroke = Stroke {
                width: width as f32,
                line_join,
                ..Stroke::default()
            };
            self.stroke(&outline, &ink(colour, 1.0), &stroke, turned);
        }
        self.fill(&outline, &ink(words.fill, 1.0), turned);
    }

    fn path(&mut self, path: &[Segment], paint: Paint<'_>) {
        let Some(path) = joined(path) else { return };
        let stay = Transform::identity();
        let round = Stroke {
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            ..Stroke::default()
        };
        match paint {
            Paint::Line(line) => {
                let dash = line.dash.map(|dash| dash.map(|part| part as f32).to_vec());
                let stroke = Stroke {
                    width: line.width as f32,
                    dash: dash.and_then(|dash| StrokeDash::new(dash, 0.0)),
                    ..round
                };
                self.stroke(&path, &ink(line.colour, 1.0), &stroke, stay);
            }
            Paint::Filled { colour, opacity } => self.fill(&path, &ink(colour, opacity), stay),
            Paint::Edged { inside, edge } => {
                self.fill(&path, &ink(inside, 1.0), stay);
                self.stroke(&path, &ink(edge, 1.0), &Stroke::default(), stay);
            }
            Paint::Dots { colour, width } => {
                let stroke = Stroke {
                    width: width as f32,
                    ..round
                };
                self.stroke(&path, &ink(colour, DOT_OPACITY), &stroke, stay);
            }
        }
    }

    fn rect(&mut self, area: [f64; 4], round: f64, fill: &str, opacity: f64) {
        let [x, y, width, height] = area.map(|side| side as f32);
        let Some(area) = Rect::from_xywh(x, y, width, height) else {
            return;
        };
        let round = (round as f32).min(width / 2.0).min(height / 2.0);
        let path = if round > 0.0 {
            rounded(area, round)
        } else {
            Some(PathBuilder::from_rect(area))
        };
        if let Some(path) = path {
            self.fill(&path, &ink(fill, opacity), Transform::identity());
        }
    }
}

fn joined(path: &[Segment]) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for segment in path {
        match *segment {
            Segment::Move([x, y]) => builder.move_to(x as f32, y as f32),
            Segment::Line([x, y]) => builder.line_to(x as f32, y as f32),
            Segment::Step([x, y]) => {
                let from = builder.last_point().map_or(y as f32, |point| point.y);
                builder.line_to(x as f32, from);
                builder.line_to(x as f32, y as f32);
            }
            Segment::Dot([x, y]) => {
                builder.move_to(x as f32, y as f32);
                builder.line_to(x as f32 + 0.01, y as f32);
            }
            Segment::Circle {
                centre: [x, y],
                radius,
            } => builder.push_circle(x as f32, y as f32, radius as f32),
            Segment::Close => builder.close(),
        }
    }
    builder.finish()
}

fn rounded(area: Rect, round: f32) -> Option<Path> {
    let (left, top, right, bottom) = (area.left(), area.top(), area.right(), area.bottom());
    let handle = round * (1.0 - QUARTER);
    let mut path = PathBuilder::new();
    path.move_to(left + round, top);
    path.line_to(right - round, top);
    path.cubic_to(right - handle, top, right, top + handle, right, top + round);
    path.line_to(right, bottom - round);
    path.cubic_to(
        right,
        bottom - handle,
        right - handle,
        bottom,
        right - round,
        bottom,
    );
    path.line_to(left + round, bottom);
    path.cubic_to(
        left + handle,
        bottom,
        left,
        bottom - handle,
        left,
        bottom - round,
    );
    path.line_to(left, top + round);
    path.cubic_to(left, top + handle, left + handle, top, left + round, top);
    path.close();
    path.finish()
}

/// The outlines of a text whose baseline begins at a place.
fn outline(text: &str, [x, y]: [f64; 2], size: f64) -> Option<Path> {
    let mut pen = Pen {
        path: PathBuilder::new(),
        origin: [x as f32, y as f32],
        scale: (size / font::units_per_em()) as f32,
    };
    let mut at = x;
    for c in text.chars() {
        pen.origin[0] = at as f32;
        font::outline(c, &mut pen);
        at += font::width(c.encode_utf8(&mut [0; 4]), size);
    }
    pen.path.finish()
}

/// Puts a glyph, whose y goes up, where the text stands.
struct Pen {
    path: PathBuilder,
    origin: [f32; 2],
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> [f32; 2] {
        let [left, base] = self.origin;
        [left + x * self.scale, base - y * self.scale]
    }
}

impl ttf_parser::OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let [x, y] = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let [x, y] = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ([x1, y1], [x, y]) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ([x1, y1], [x2, y2], [x, y]) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
