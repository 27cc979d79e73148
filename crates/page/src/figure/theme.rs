//! Light and dark: which colours the meanings of a figure have.

use super::rgb::Rgb;
use super::{Colour, MarkKind};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white, for print and notes.
    #[default]
    Light,
    /// Light on dark, for slides.
    Dark,
}

/// The colours of a theme as `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Look {
    pub background: &'static str,
    pub text: &'static str,
    pub muted: &'static str,
    pub grid: &'static str,
    /// The line under the data.
    pub axis: &'static str,
    pub shade: &'static str,
    /// How much of it covers what is behind.
    pub shade_strength: f64,
    pub knee: &'static str,
    /// Series by their number; distinct for colour-blind readers too (after Okabe and Ito).
    pub palette: [&'static str; 8],
    pub good: &'static str,
    pub bad: &'static str,
    /// Cells of heat maps from the least to the largest value.
    pub heat: [&'static str; 5],
}

const LIGHT: Look = Look {
    background: "#ffffff",
    text: "#1f2328",
    muted: "#59636e",
    grid: "#e7eaee",
    axis: "#9aa4af",
    shade: "#0072b2",
    shade_strength: 0.11,
    knee: "#9a6700",
    palette: [
        "#0072b2", "#d55e00", "#009e73", "#b65a94", "#e69f00", "#4aa3df", "#6b4fa0", "#7a7f87",
    ],
    good: "#009e73",
    bad: "#c8381e",
    heat: ["#f1f6fb", "#b5d4ec", "#66a8d8", "#1f74b4", "#0b3d6e"],
};

const DARK: Look = Look {
    background: "#11161d",
    text: "#e9eef4",
    muted: "#9aa5b1",
    grid: "#262e38",
    axis: "#56616d",
    shade: "#4aa8e8",
    shade_strength: 0.17,
    knee: "#f0bb4e",
    palette: [
        "#4aa8e8", "#f2854a", "#2cc295", "#dd92c0", "#f0bb4e", "#a3d6f7", "#a48ee0", "#a7afb9",
    ],
    good: "#2cc295",
    bad: "#ff6f59",
    heat: ["#16222f", "#1c4668", "#2a78ad", "#5fb2e6", "#c9e7fb"],
};

impl Theme {
    pub fn look(self) -> &'static Look {
        match self {
            Theme::Light => &LIGHT,
            Theme::Dark => &DARK,
        }
    }
}

impl Look {
    pub fn of(&self, colour: Colour) -> &'static str {
        match colour {
            Colour::Nth(number) => self.palette[number % self.palette.len()],
            Colour::Good => self.good,
            Colour::Bad => self.bad,
            Colour::Quiet => self.axis,
        }
    }

    /// The colour of a line through the chart.
    pub fn of_mark(&self, kind: MarkKind) -> &'static str {
        match kind {
            MarkKind::Objective => self.bad,
            MarkKind::Capacity => self.good,
            MarkKind::Knee => self.knee,
            MarkKind::Percentile | MarkKind::Reference => self.muted,
        }
    }

    /// The colour of a heat map's value, given as its share of the way from the least to the
    /// largest, and that of words on it.
    pub fn of_heat(&self, share: f64) -> (String, &'static str) {
        let place = share.clamp(0.0, 1.0) * (self.heat.len() - 1) as f64;
        let below = (place.floor() as usize).min(self.heat.len() - 2);
        let mixed =
            Rgb::of(self.heat[below]).towards(Rgb::of(self.heat[below + 1]), place - below as f64);
        (mixed.hex(), mixed.words())
    }
}
