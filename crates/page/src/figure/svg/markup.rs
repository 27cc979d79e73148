//! SVG as text: a few elements, short numbers, and everything that others wrote escaped.

use inferometer_text::hostile;
use std::fmt::Write;

/// Longest text that is written.
const LONGEST: usize = 400;

/// To which side of its place a text lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn word(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    pub(super) size: f64,
    pub(super) fill: &'a str,
    pub(super) anchor: Anchor,
    pub(super) extra: Extra<'a>,
}

/// What sets a text off.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extra<'a> {
    None,
    /// A little heavier: the embedded font has one weight.
    Heavy,
    /// An edge in the colour of the background, to be read over lines.
    Halo(&'a str),
    /// Turned by so many degrees about its place.
    Turned(f64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke<'a> {
    pub(super) colour: &'a str,
    pub(super) width: f64,
    /// Lengths of dashes and gaps; empty for a whole line.
    pub(super) dash: &'a str,
}

impl<'a> Stroke<'a> {
    pub(super) fn solid(colour: &'a str, width: f64) -> Self {
        Stroke {
            colour,
            width,
            dash: "",
        }
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

    pub(super) fn text(&mut self, [x, y]: [f64; 2], words: Words<'_>, content: &str) {
        if content.is_empty() {
            return;
        }
        let extra = match words.extra {
            Extra::None => String::new(),
            Extra::Heavy => format!(r#" stroke="{}" stroke-width="0.45""#, words.fill),
            Extra::Halo(edge) => {
                format!(
                    r#" stroke="{edge}" stroke-width="3" stroke-linejoin="round" paint-order="stroke""#
                )
            }
            Extra::Turned(degrees) => format!(
                r#" transform="rotate({} {} {})""#,
                number(degrees),
                number(x),
                number(y)
            ),
        };
        let anchor = match words.anchor {
            Anchor::Start => String::new(),
            other => format!(r#" text-anchor="{}""#, other.word()),
        };
        self.element(format_args!(
            r#"<text x="{}" y="{}" font-size="{}" fill="{}"{anchor}{extra}>{}</text>"#,
            number(x),
            number(y),
            number(words.size),
            words.fill,
            escape(content)
        ));
    }

    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], stroke: Stroke<'_>) {
        self.path(
            &format!(
                "M{} {}L{} {}",
                number(from[0]),
                number(from[1]),
                number(to[0]),
                number(to[1])
            ),
            stroke,
        );
    }

    /// An open path without a filling.
    pub(super) fn path(&mut self, data: &str, stroke: Stroke<'_>) {
        if data.is_empty() {
            return;
        }
        let dash = match stroke.dash {
            "" => String::new(),
            dash => format!(r#" stroke-dasharray="{dash}""#),
        };
        self.element(format_args!(
            r#"<path d="{data}" fill="none" stroke="{}" stroke-width="{}" stroke-linejoin="round" stroke-linecap="round"{dash}/>"#,
            stroke.colour,
            number(stroke.width)
        ));
    }

    pub(super) fn fill(&mut self, data: &str, colour: &str, opacity: f64) {
        if !data.is_empty() {
            let opacity = opacity_of(opacity);
            self.element(format_args!(
                r#"<path d="{data}" fill="{colour}"{opacity}/>"#
            ));
        }
    }

    pub(super) fn rect(&mut self, [x, y, w, h]: [f64; 4], round: f64, fill: &str, opacity: f64) {
        let round = match round > 0.0 {
            true => format!(r#" rx="{}""#, number(round)),
            false => String::new(),
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

    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.out, "{element}").expect("a string takes whatever is written");
    }
}

fn opacity_of(opacity: f64) -> String {
    match opacity < 1.0 {
        true => format!(r#" fill-opacity="{opacity}""#),
        false => String::new(),
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

/// Text that can stand in an element or an attribute, whoever wrote it.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in hostile::printable(text, LONGEST).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // These two are no characters of XML.
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
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
