//! SVG as text: a few elements, short numbers, and everything that others wrote escaped.

use super::surface::{Anchor, DOT_OPACITY, Extra, HALO, HEAVY, Paint, Segment, Surface, Words};
use inferometer_text::hostile;
use std::fmt::Write;

const LONGEST: usize = 400;

fn anchor_word(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "",
        Anchor::Middle => r#" text-anchor="middle""#,
        Anchor::End => r#" text-anchor="end""#,
    }
}

#[derive(Debug, Default)]
pub(super) struct Markup {
    pub(super) out: String,
}

impl Markup {
    pub(super) fn raw(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.out, "{element}").expect("a string takes whatever is written");
    }
}

impl Surface for Markup {
    fn text(&mut self, [x, y]: [f64; 2], words: Words<'_>, content: &str) {
        if content.is_empty() {
            return;
        }
        let extra = match words.extra {
            Extra::None => String::new(),
            Extra::Heavy => format!(r#" stroke="{}" stroke-width="{HEAVY}""#, words.fill),
            Extra::Halo(edge) => {
                format!(
                    r#" stroke="{edge}" stroke-width="{HALO}" stroke-linejoin="round" paint-order="stroke""#
                )
            }
            Extra::Turned(degrees) => format!(
                r#" transform="rotate({} {} {})""#,
                number(degrees),
                number(x),
                number(y)
            ),
        };
        self.element(format_args!(
            r#"<text x="{}" y="{}" font-size="{}" fill="{}"{}{extra}>{}</text>"#,
            number(x),
            number(y),
            number(words.size),
            words.fill,
            anchor_word(words.anchor),
            escape(content)
        ));
    }

    fn path(&mut self, path: &[Segment], paint: Paint<'_>) {
        if path.is_empty() {
            return;
        }
        let data: String = path.iter().map(data).collect();
        match paint {
            Paint::Line(stroke) => {
                let dash = stroke.dash.map_or_else(String::new, |[dash, gap]| {
                    format!(r#" stroke-dasharray="{dash} {gap}""#)
                });
                self.element(format_args!(
                    r#"<path d="{data}" fill="none" stroke="{}" stroke-width="{}" stroke-linejoin="round" stroke-linecap="round"{dash}/>"#,
                    stroke.colour,
                    number(stroke.width)
                ));
            }
            Paint::Filled { colour, opacity } => self.element(format_args!(
                r#"<path d="{data}" fill="{colour}"{}/>"#,
                opacity_of(opacity)
            )),
            Paint::Edged { inside, edge } => self.element(format_args!(
                r#"<path d="{data}" fill="{inside}" stroke="{edge}" stroke-width="1"/>"#
            )),
            Paint::Dots { colour, width } => self.element(format_args!(
                r#"<path d="{data}" fill="none" stroke="{colour}" stroke-opacity="{DOT_OPACITY}" stroke-width="{}" stroke-linecap="round"/>"#,
                number(width)
            )),
        }
    }

    fn rect(&mut self, [x, y, w, h]: [f64; 4], round: f64, fill: &str, opacity: f64) {
        let round = if round > 0.0 {
            format!(r#" rx="{}""#, number(round))
        } else {
            String::new()
        };
        self.element(format_args!(
            r#"<rect x="{}" y="{}" width="{}" height="{}"{round} fill="{fill}"{}/>"#,
            number(x),
            number(y),
            number(w.max(0.0)),
            number(h.max(0.0)),
            opacity_of(opacity)
        ));
    }
}

fn data(segment: &Segment) -> String {
    match *segment {
        Segment::Move([x, y]) => format!("M{} {}", number(x), number(y)),
        Segment::Line([x, y]) => format!("L{} {}", number(x), number(y)),
        Segment::Step([x, y]) => format!("H{}V{}", number(x), number(y)),
        Segment::Dot([x, y]) => format!("M{} {}h.01", number(x), number(y)),
        Segment::Circle {
            centre: [x, y],
            radius: r,
        } => format!(
            "M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z",
            number(x - r),
            number(y),
            d = number(2.0 * r)
        ),
        Segment::Close => "Z".to_owned(),
    }
}

fn opacity_of(opacity: f64) -> String {
    if opacity < 1.0 {
        format!(r#" fill-opacity="{opacity}""#)
    } else {
        String::new()
    }
}

/// A coordinate in a tenth of a pixel; what is not finite is the origin.
pub(super) fn number(value: f64) -> String {
    let value = if value.is_finite() {
        value.clamp(-1e6, 1e6)
    } else {
        0.0
    };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// As much of a text as is drawn, without what cannot be.
pub(in crate::figure) fn shown(text: &str) -> String {
    hostile::printable(text, LONGEST)
}

/// Text that can stand in an element or an attribute, whoever wrote it.
pub(super) fn escape(text: &str) -> String {
    hostile::escaped(&shown(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_others_is_only_text() {
        assert_eq!(
            escape(r#"<script>alert("x&y")</script>'"#),
            "&lt;script&gt;alert(&quot;x&amp;y&quot;)&lt;/script&gt;&#39;"
        );
        assert_eq!(
            escape("a\u{0}b\u{202E}c\u{FFFF}"),
            "a\u{FFFD}b\u{FFFD}c\u{FFFD}"
        );
    }

    #[test]
    fn coordinates_are_short_and_always_numbers() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(0.126), "0.13");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(f64::NAN), "0");
        assert_eq!(number(1e300), "1000000");
    }
}
