//! The frame of a chart: where its plot lies, and where values are in it.

use super::super::font;
use super::super::{Axis, Limits, On, Panel, Scale, Tick, limits, ticks};

pub(super) const TICK: f64 = 11.0;
/// Widest label of a name on the vertical axis.
const WIDEST_NAME: f64 = 240.0;
/// Longest label of a name on the horizontal axis that is set aslant.
const LONGEST_ASLANT: f64 = 180.0;
/// Slope of such labels, in degrees.
pub(super) const ASLANT: f64 = -32.0;
/// Narrowest room of an upright letter-high label set aslant.
const NARROWEST_SLOT: f64 = 15.0;

/// Values along one axis to pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ruler {
    limits: Limits,
    log: bool,
    from: f64,
    to: f64,
}

impl Ruler {
    fn new(axis: &Axis, limits: Limits, from: f64, to: f64) -> Self {
        Ruler {
            limits,
            log: axis.scale == Scale::Log,
            from,
            to,
        }
    }

    /// The pixel of a value; absent where it has no place.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.log && value <= 0.0) {
            return None;
        }
        let place = |value: f64| if self.log { value.ln() } else { value };
        let (low, high) = (place(self.limits.low), place(self.limits.high));
        // Halves, so that the span of the widest limits is still a number.
        let share = (place(value) / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        Some(self.from + share.clamp(-0.01, 1.01) * (self.to - self.from))
    }

    /// Pixels between two neighbouring names.
    pub(super) fn slot(&self) -> f64 {
        ((self.to - self.from) / (self.limits.high - self.limits.low)).abs()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Margins {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// How names under the plot are set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NameStyle {
    Level,
    /// Aslant, every so many.
    Aslant(usize),
}

/// Whether values under the plot are written; in a stack only the last chart says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foot {
    Written,
    Left,
}

/// Where a plot lies and what its axes say.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    pub(super) names: NameStyle,
}

/// Ticks that a plot so high has room for.
fn y_room(height: f64) -> usize {
    ((height / 30.0) as usize).clamp(3, 9)
}

/// Room that a panel's labels need, in a box of this size, below a header of this height.
pub(super) fn margins(panel: &Panel, width: f64, height: f64, header: f64, foot: Foot) -> Margins {
    let y_labels = ticks(
        &panel.y,
        limits(panel, On::Y),
        y_room(height - header - 40.0),
    );
    let widest = y_labels
        .iter()
        .map(|tick| font::width(&shown_name(&tick.label), TICK))
        .fold(0.0, f64::max);
    let right = 14.0;
    let left = widest + 9.0;
    let left = left.max(overhang(panel, width - left - right, foot));
    let names = match (&panel.x.scale, foot) {
        (_, Foot::Left) => 4.0,
        (Scale::Category(names), _) => match name_style(names, width - left - right) {
            NameStyle::Level => 20.0,
            NameStyle::Aslant(_) => {
                let widths = names.iter().map(|name| font::width(name, TICK));
                let longest = widths.fold(0.0, f64::max).min(LONGEST_ASLANT);
                18.0 + longest * ASLANT.to_radians().sin().abs()
            }
        },
        _ => 20.0,
    };
    let title = if foot == Foot::Written && !panel.x.caption().is_empty() {
        18.0
    } else {
        0.0
    };
    Margins {
        left,
        right,
        top: header,
        bottom: names + title,
    }
}

/// How far names that are set aslant reach to the left of the plot.
fn overhang(panel: &Panel, width: f64, foot: Foot) -> f64 {
    let (Scale::Category(names), Foot::Written) = (&panel.x.scale, foot) else {
        return 0.0;
    };
    let NameStyle::Aslant(every) = name_style(names, width) else {
        return 0.0;
    };
    let slot = width / names.len() as f64;
    let reach = |(at, name): (usize, &String)| {
        let long = font::width(name, TICK).min(LONGEST_ASLANT);
        long * ASLANT.to_radians().cos() - slot * (at as f64 + 0.5)
    };
    let reaches = names.iter().enumerate().step_by(every).map(reach);
    reaches.fold(0.0, f64::max)
}

/// A name on the vertical axis as it is written.
pub(super) fn shown_name(name: &str) -> String {
    font::fit_ends(name, TICK, WIDEST_NAME)
}

/// A name on the horizontal axis set aslant, as it is written.
pub(super) fn aslant_name(name: &str) -> String {
    font::fit_ends(name, TICK, LONGEST_ASLANT)
}

fn name_style(names: &[String], width: f64) -> NameStyle {
    let slot = width / names.len().max(1) as f64;
    let fits = |name: &String| font::width(name, TICK) <= slot - 5.0;
    if names.iter().all(fits) {
        NameStyle::Level
    } else {
        NameStyle::Aslant((NARROWEST_SLOT / slot).ceil().max(1.0) as usize)
    }
}

impl Frame {
    /// The frame of a panel in the box `[x, y, width, height]`.
    pub(super) fn new(panel: &Panel, [x, y, width, height]: [f64; 4], margins: Margins) -> Self {
        let (left, right) = (x + margins.left, x + width - margins.right);
        let (top, bottom) = (y + margins.top, y + height - margins.bottom);
        let (x_limits, y_limits) = (limits(panel, On::X), limits(panel, On::Y));
        let x_room = ((right - left) / 64.0).clamp(2.0, 12.0) as usize;
        // The first name of a vertical axis is at its top.
        let y_ends = match panel.y.scale {
            Scale::Category(_) => (top, bottom),
            _ => (bottom, top),
        };
        Frame {
            left,
            right,
            top,
            bottom,
            x: Ruler::new(&panel.x, x_limits, left, right),
            y: Ruler::new(&panel.y, y_limits, y_ends.0, y_ends.1),
            x_ticks: ticks(&panel.x, x_limits, x_room),
            y_ticks: ticks(&panel.y, y_limits, y_room(bottom - top)),
            names: match &panel.x.scale {
                Scale::Category(names) => name_style(names, right - left),
                _ => NameStyle::Level,
            },
        }
    }

    /// The pixels of a point; absent where it has no place.
    pub(super) fn at(&self, x: f64, y: f64) -> Option<[f64; 2]> {
        Some([self.x.at(x)?, self.y.at(y)?])
    }

    /// The pixel of the value from which bars and areas rise.
    pub(super) fn ground(&self) -> f64 {
        if self.y.log {
            self.bottom
        } else {
            self.y
                .at(0.0)
                .unwrap_or(self.bottom)
                .clamp(self.top, self.bottom)
        }
    }
}

/// Boxes that are taken by words, so that others keep clear.
#[derive(Debug, Default)]
pub(super) struct Taken(Vec<[f64; 4]>);

impl Taken {
    /// Takes `[left, top, right, bottom]` if it is free.
    pub(super) fn take(&mut self, wanted: [f64; 4]) -> bool {
        let meets = |other: &[f64; 4]| {
            wanted[0] < other[2]
                && other[0] < wanted[2]
                && wanted[1] < other[3]
                && other[1] < wanted[3]
        };
        let free = !self.0.iter().any(meets);
        if free {
            self.0.push(wanted);
        }
        free
    }
}
