//! Labels of upright lines, above the plot, where they cover nothing.

use super::super::font;
use super::super::{Mark, On, Panel};
use super::frame::{Frame, Taken};

/// Size of the labels.
pub(super) const SIZE: f64 = 10.5;
/// Height of a row of them.
pub(super) const ROW: f64 = 14.0;
/// Most rows; a label that finds no room in them is left out.
const MOST_ROWS: usize = 5;
/// How far a label may reach beyond the plot, on either side.
const BEYOND: f64 = 16.0;
/// Room between two labels.
const GAP: f64 = 4.0;

/// A label and its place.
#[derive(Clone, Debug)]
pub(super) struct Head<'a> {
    pub(super) mark: &'a Mark,
    pub(super) label: String,
    /// Where its line is.
    pub(super) x: f64,
    /// Where its words begin.
    pub(super) left: f64,
    /// Rows between it and the plot.
    pub(super) row: usize,
}

/// The labels of a panel's upright lines, each in the lowest row where it meets no other label
/// and covers no line on its way up.
pub(super) fn heads<'a>(panel: &'a Panel, frame: &Frame) -> Vec<Head<'a>> {
    let named = panel.marks.iter().filter(|mark| mark.on == On::X);
    let mut waiting: Vec<(&Mark, f64)> = named
        .filter(|mark| !mark.label.is_empty() && !panel.is_empty())
        .filter_map(|mark| Some((mark, frame.x.at(mark.at)?)))
        .collect();
    waiting.sort_by(|a, b| a.1.total_cmp(&b.1));
    let widest = (frame.right - frame.left) * 0.7;
    let mut placed = Vec::new();
    for row in 0..MOST_ROWS {
        let mut taken = Taken::default();
        let lines: Vec<f64> = waiting.iter().map(|(_, x)| *x).collect();
        waiting.retain(|&(mark, x)| {
            let label = font::fit(&mark.label, SIZE, widest);
            let wide = font::width(&label, SIZE);
            let lefts = [x - wide / 2.0, x + 2.0 - wide, x - 2.0];
            let free = lefts.into_iter().find(|&left| {
                let right = left + wide;
                let covers = |line: &f64| *line != x && *line > left - GAP && *line < right + GAP;
                left >= frame.left - BEYOND
                    && right <= frame.right + BEYOND
                    && !lines.iter().any(covers)
                    && taken.take([left - GAP, 0.0, right + GAP, 1.0])
            });
            let Some(left) = free else { return true };
            placed.push(Head {
                mark,
                label,
                x,
                left,
                row,
            });
            false
        });
    }
    placed
}

/// The height of all rows.
pub(super) fn height(heads: &[Head<'_>]) -> f64 {
    let rows = heads.iter().map(|head| head.row + 1).max();
    rows.unwrap_or(0) as f64 * ROW
}
