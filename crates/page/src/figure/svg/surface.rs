//! What a figure is drawn on: the few things that SVG and pixels can both do.

/// To which side of its place a text lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::figure) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::figure) struct Words<'a> {
    pub(in crate::figure) size: f64,
    pub(in crate::figure) fill: &'a str,
    pub(in crate::figure) anchor: Anchor,
    pub(in crate::figure) extra: Extra<'a>,
}

impl<'a> Words<'a> {
    pub(in crate::figure) fn plain(size: f64, fill: &'a str, anchor: Anchor) -> Self {
        Words {
            size,
            fill,
            anchor,
            extra: Extra::None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::figure) enum Extra<'a> {
    None,
    /// A little heavier: the embedded font has one weight.
    Heavy,
    /// An edge in the colour of the background, to be read over lines.
    Halo(&'a str),
    /// Turned by this many degrees about its place.
    Turned(f64),
}

/// Width by which a heavy text is thickened.
pub(in crate::figure) const HEAVY: f64 = 0.45;
pub(in crate::figure) const HALO: f64 = 3.0;

#[derive(Clone, Copy, Debug)]
pub(in crate::figure) struct Stroke<'a> {
    pub(in crate::figure) colour: &'a str,
    pub(in crate::figure) width: f64,
    /// Lengths of a dash and of the gap after it; absent for a whole line.
    pub(in crate::figure) dash: Option<[f64; 2]>,
}

impl<'a> Stroke<'a> {
    pub(in crate::figure) fn solid(colour: &'a str, width: f64) -> Self {
        Stroke {
            colour,
            width,
            dash: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::figure) enum Paint<'a> {
    /// A line with round ends and corners.
    Line(Stroke<'a>),
    Filled {
        colour: &'a str,
        opacity: f64,
    },
    /// A filling with a thin edge.
    Edged {
        inside: &'a str,
        edge: &'a str,
    },
    /// Round dots, a little transparent, so that crowds show by their density.
    Dots {
        colour: &'a str,
        width: f64,
    },
}

pub(in crate::figure) const DOT_OPACITY: f64 = 0.75;

#[derive(Clone, Copy, Debug)]
pub(in crate::figure) enum Segment {
    Move([f64; 2]),
    Line([f64; 2]),
    /// Across to this x, then up or down to this y.
    Step([f64; 2]),
    /// So short a line that only its round ends show.
    Dot([f64; 2]),
    Circle {
        centre: [f64; 2],
        radius: f64,
    },
    Close,
}

/// An open line through points.
pub(in crate::figure) fn joined(points: impl IntoIterator<Item = [f64; 2]>) -> Vec<Segment> {
    let segment = |(place, point)| match place {
        0 => Segment::Move(point),
        _ => Segment::Line(point),
    };
    points.into_iter().enumerate().map(segment).collect()
}

/// A line through points and back to the first.
pub(in crate::figure) fn closed(points: impl IntoIterator<Item = [f64; 2]>) -> Vec<Segment> {
    let mut path = joined(points);
    path.push(Segment::Close);
    path
}

pub(in crate::figure) trait Surface {
    fn text(&mut self, place: [f64; 2], words: Words<'_>, content: &str);

    fn path(&mut self, path: &[Segment], paint: Paint<'_>);

    /// A filled rectangle from its left, top, width and height, with corners of a radius.
    fn rect(&mut self, area: [f64; 4], round: f64, fill: &str, opacity: f64);

    fn line(&mut self, from: [f64; 2], to: [f64; 2], stroke: Stroke<'_>) {
        self.path(&joined([from, to]), Paint::Line(stroke));
    }
}
