//! Figures: what a chart shows, without how it is drawn. One composition, many renderers.
//!
//! [`svg`] and [`png`] draw what others compose. Numbers in a figure are finite, and what was left
//! out is said in a footnote.

pub mod font;
mod limits;
pub mod names;
pub mod png;
mod rgb;
pub mod svg;
pub mod theme;
pub mod thin;
mod ticks;
pub mod time_unit;

pub use limits::{Limits, limits};
pub use ticks::{Tick, tick_label, ticks};
pub use time_unit::in_readable_time;

/// A chart, or a sheet of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Stable name for files and anchors: `timeline`.
    pub id: String,
    pub title: String,
    pub panels: Vec<Panel>,
    pub arrangement: Arrangement,
    /// What a reader must know: points left out, series thinned.
    pub footnotes: Vec<String>,
    /// Heading of the section of its report below which it stands; absent for one that stands with
    /// the others.
    pub section: Option<String>,
}

impl Figure {
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        panels: Vec<Panel>,
        footnotes: Vec<String>,
    ) -> Self {
        Figure {
            id: id.into(),
            title: title.into(),
            panels,
            arrangement: Arrangement::Grid,
            footnotes,
            section: None,
        }
    }

    /// The figure without panels that show nothing; absent where all do.
    pub fn worth_showing(mut self) -> Option<Self> {
        self.panels.retain(|panel| !panel.is_trivial());
        let shows = !self.panels.iter().all(Panel::is_empty);
        shows.then_some(self)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// Side by side, as many as fit.
    #[default]
    Grid,
    /// One above the other, for charts over one common axis.
    Stack,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Heading; may be empty.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// What is drawn, the first at the back.
    pub series: Vec<Series>,
    /// Lines through the chart with a label.
    pub marks: Vec<Mark>,
    /// Parts of the horizontal axis that are shaded.
    pub shades: Vec<Shade>,
    /// What stands in a chart that has nothing to draw.
    pub when_empty: String,
}

impl Panel {
    /// Its heat maps, each with the title of the panel.
    fn heat(&self) -> impl Iterator<Item = (&str, &[Cell])> {
        self.series.iter().filter_map(|series| match &series.shape {
            Shape::Heat(cells, _) => Some((self.title.as_str(), cells.as_slice())),
            _ => None,
        })
    }

    /// There is no value in any series.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.shape.is_empty())
    }

    /// It has values and shows nothing that a number would not: a heat map of one cell, curves or
    /// dots that are all at one place of the axis, above each other, or that never leave 0.
    fn is_trivial(&self) -> bool {
        let shapes = || self.series.iter().map(|series| &series.shape);
        let heat = shapes().map(|shape| match shape {
            Shape::Heat(cells, _) => Some(cells.iter().filter(|cell| cell.value.is_some()).count()),
            _ => None,
        });
        if let Some(cells) = heat
            .sum::<Option<usize>>()
            .filter(|_| !self.series.is_empty())
        {
            return cells == 1;
        }
        let curves = shapes().all(|shape| matches!(shape, Shape::Line(_) | Shape::Scatter(_)));
        let samples = || {
            shapes()
                .flat_map(Shape::samples)
                .filter(|it| it.y.is_some())
        };
        let mut places = samples().map(|sample| sample.x);
        let first = places.next();
        let at_one_place = samples().count() > 1 && places.all(|place| Some(place) == first);
        let never_leave = !self.is_empty() && samples().all(|sample| sample.y == Some(0.0));
        curves && (at_one_place || never_leave)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it measures; may be empty.
    pub title: String,
    /// Sign of the unit; may be empty.
    pub unit: String,
    pub scale: Scale,
    /// Values that must be inside, beside those of the series.
    pub bounds: Option<[f64; 2]>,
    /// Values that have a tick, as the levels of a ladder; empty: round numbers.
    pub ticks_at: Vec<f64>,
    /// What is written at these, such as dates; empty: the values.
    pub tick_names: Vec<String>,
}

impl Axis {
    pub fn new(title: impl Into<String>, unit: &str, scale: Scale) -> Self {
        Axis {
            title: title.into(),
            unit: unit.to_owned(),
            scale,
            ..Axis::default()
        }
    }

    pub fn of_names(title: impl Into<String>, names: Vec<String>) -> Self {
        Axis::new(title, "", Scale::Category(names))
    }

    /// Title and unit in one.
    pub fn caption(&self) -> String {
        match (self.title.is_empty(), self.unit.is_empty()) {
            (false, false) => format!("{} ({})", self.title, self.unit),
            (false, true) => self.title.clone(),
            (true, _) => self.unit.clone(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scale {
    /// Evenly, from zero.
    #[default]
    FromZero,
    /// Evenly, from the least value.
    Linear,
    /// By ratio; values that are not above zero have no place.
    Log,
    /// Names at 0, 1, 2, …; on a vertical axis the first is at the top.
    Category(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend; an empty one has no entry.
    pub name: String,
    pub colour: Colour,
    pub shape: Shape,
}

impl Series {
    pub fn new(name: impl Into<String>, colour: Colour, shape: Shape) -> Self {
        Series {
            name: name.into(),
            colour,
            shape,
        }
    }
}

/// Colours by meaning; a theme says which they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colour {
    /// One of the palette; series of one number are the same thing in every chart of a figure.
    Nth(usize),
    Good,
    Bad,
    Quiet,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Points joined by a line that breaks where a value is absent.
    Line(Vec<Sample>),
    /// A value that holds until the next: `[x, y]`.
    Step(Vec<[f64; 2]>),
    /// A line filled down to the axis.
    Area(Vec<Sample>),
    Scatter(Vec<Sample>),
    /// Bars over names, beside those of the panel's other series.
    Bars(Vec<Sample>),
    /// Bars over names, each upon those of the series before it.
    Stack(Vec<Sample>),
    /// Labels alone, at their places.
    Words(Vec<Sample>),
    /// Values along the horizontal axis with intervals, one above the other.
    Ranges(Vec<Range>),
    /// Coloured cells over two axes of names.
    /// With the least and the largest value of the colours, where maps share them.
    Heat(Vec<Cell>, Option<[f64; 2]>),
}

impl Shape {
    pub fn is_empty(&self) -> bool {
        match self {
            Shape::Step(points) => points.is_empty(),
            Shape::Ranges(ranges) => ranges.is_empty(),
            Shape::Heat(cells, _) => cells.iter().all(|cell| cell.value.is_none()),
            shape => shape.samples().iter().all(|sample| sample.y.is_none()),
        }
    }

    /// Its values, where they are samples.
    pub fn samples(&self) -> &[Sample] {
        match self {
            Shape::Line(samples)
            | Shape::Area(samples)
            | Shape::Scatter(samples)
            | Shape::Bars(samples)
            | Shape::Stack(samples)
            | Shape::Words(samples) => samples,
            Shape::Step(_) | Shape::Ranges(_) | Shape::Heat(..) => &[],
        }
    }
}

/// Least and largest value of the cells of a heat map.
pub(crate) fn heat_ends(cells: &[Cell]) -> Option<[f64; 2]> {
    let values = || cells.iter().filter_map(|cell| cell.value);
    Some([values().reduce(f64::min)?, values().reduce(f64::max)?])
}

/// Gives heat maps of one title the same colours for the same values: side by side, dark has one
/// meaning.
pub fn share_colours(figures: &mut [Figure]) {
    let mut ends: Vec<(String, [f64; 2])> = Vec::new();
    let panels = figures.iter().flat_map(|figure| &figure.panels);
    for (title, cells) in panels.flat_map(Panel::heat) {
        let Some([low, high]) = heat_ends(cells) else {
            continue;
        };
        match ends.iter_mut().find(|(known, _)| known == title) {
            Some((_, ends)) => *ends = [ends[0].min(low), ends[1].max(high)],
            None => ends.push((title.to_owned(), [low, high])),
        }
    }
    for panel in figures.iter_mut().flat_map(|figure| &mut figure.panels) {
        let shared = ends.iter().find(|(title, _)| *title == panel.title);
        for series in &mut panel.series {
            if let Shape::Heat(_, own) = &mut series.shape {
                *own = shared.map(|(_, ends)| *ends);
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub x: f64,
    /// The value; absent where there is none.
    pub y: Option<f64>,
    pub interval: Option<[f64; 2]>,
    /// A word beside the point.
    pub label: Option<String>,
    pub fill: Fill,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    #[default]
    Solid,
    /// Not at all: an outline, for what is less sure.
    Hollow,
}

impl Sample {
    /// A bare point; what is not finite is absent.
    pub fn new(x: f64, y: Option<f64>) -> Self {
        Sample {
            x,
            y: y.filter(|y| y.is_finite()),
            interval: None,
            label: None,
            fill: Fill::Solid,
        }
    }

    /// The same as an outline.
    pub fn hollow(self) -> Self {
        Sample {
            fill: Fill::Hollow,
            ..self
        }
    }

    pub fn between(self, interval: Option<[f64; 2]>) -> Self {
        let finite = |ends: &[f64; 2]| ends.iter().all(|end| end.is_finite());
        Sample {
            interval: interval.filter(finite),
            ..self
        }
    }

    pub fn labelled(self, label: impl Into<String>) -> Self {
        Sample {
            label: Some(label.into()),
            ..self
        }
    }
}

/// A value with its interval along the horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    pub value: f64,
    pub interval: Option<[f64; 2]>,
    /// Height: number of its name on the vertical axis.
    pub row: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Number of its name on the horizontal axis.
    pub column: usize,
    /// Number of its name on the vertical axis.
    pub row: usize,
    /// The value; absent where it was not measured.
    pub value: Option<f64>,
    /// What stands in the cell.
    pub label: String,
}

/// A line through the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub on: On,
    pub at: f64,
    pub label: String,
    pub kind: MarkKind,
}

impl Mark {
    pub fn new(on: On, at: f64, label: impl Into<String>, kind: MarkKind) -> Self {
        Mark {
            on,
            at,
            label: label.into(),
            kind,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The horizontal axis: the line is upright.
    X,
    /// The vertical axis: the line lies flat.
    Y,
}

/// What a line through the chart is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    Objective,
    Knee,
    /// The highest load that meets the objectives.
    Capacity,
    Percentile,
    /// No difference, or another value to compare with.
    Reference,
}

/// A part of the horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Shade {
    pub from: f64,
    pub to: f64,
    pub label: String,
}
