//! Labels of upright lines, above the plot, where they cover nothing.

use super::super::font;
use super::super::{Mark, On, Panel};
use super::frame::{Frame, Taken};

pub(super) const SIZE: f64 = 10.5;
/// Height of a row of them.
pub(super) const ROW: f64 = 14.0;
/// Most rows; a label that finds no room in them is left out.
const MOST_ROWS: usize = 5;
/// How far a label may reach beyond the plot, on either side.
const BEYOND: f64 = 16.0;
const GAP: f64 = 4.0;

#[derive(Clone, Debug)]
pub(super) struct Head<'a> {
    pub(super) mark: &'a Mark,
    pub(super) label: String,
    pub(super) x: f64,
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
    let mut placed = Vec::new();
    for row in 0..MOST_ROWS {
        let before = placed.len();
        let mut taken = Taken::default();
        let lines: Vec<f64> = waiting.iter().map(|(_, x)| *x).collect();
        waiting.retain(
            |&(mark, x)| match head(mark, x, row, &lines, frame, &mut taken) {
                Some(head) => {
                    placed.push(head);
                    false
                }
                None => true,
            },
        );
        // Lines on one place would keep each other waiting.
        if placed.len() == before
            && let Some(&(mark, x)) = waiting.first()
        {
            waiting.remove(0);
            placed.extend(head(mark, x, row, &[], frame, &mut taken));
        }
    }
    placed
}

/// A label in a row: over its line, or to one side of it.
fn head<'a>(
    mark: &'a Mark,
    x: f64,
    row: usize,
    lines: &[f64],
    frame: &Frame,
    taken: &mut Taken,
) -> Option<Head<'a>> {
    let label = font::fit(&mark.label, SIZE, (frame.right - frame.left) * 0.7);
    let wide = font::width(&label, SIZE);
    let left = [x - wide / 2.0, x + 0.5 - wide, x - 0.5]
        .into_iter()
        .find(|&left| {
            let right = left + wide;
            let covers = |line: &f64| *line != x && *line > left && *line < right;
            left >= frame.left - BEYOND
                && right <= frame.right + BEYOND
                && !lines.iter().any(covers)
                && taken.take([left - GAP, 0.0, right + GAP, 1.0])
        })?;
    Some(Head {
        mark,
        label,
        x,
        left,
        row,
    })
}

pub(super) fn height(heads: &[Head<'_>]) -> f64 {
    let rows = heads.iter().map(|head| head.row + 1).max();
    rows.unwrap_or(0) as f64 * ROW
}

#[cfg(test)]
mod tests {
    use super::super::super::{Axis, Colour, MarkKind, Sample, Scale, Series, Shape};
    use super::super::frame::{Foot, margins};
    use super::*;

    fn panel(marks: &[(f64, &str)]) -> Panel {
        let samples = [0.0, 100.0].map(|x| Sample::new(x, Some(x)));
        Panel {
            x: Axis::new("", "", Scale::FromZero),
            series: vec![Series::new("", Colour::Nth(0), Shape::Line(samples.into()))],
            marks: (marks.iter())
                .map(|&(at, label)| Mark::new(On::X, at, label, MarkKind::Capacity))
                .collect(),
            ..Panel::default()
        }
    }

    fn frame(panel: &Panel) -> Frame {
        let margins = margins(panel, 400.0, 300.0, 20.0, Foot::Written);
        Frame::new(panel, [0.0, 0.0, 400.0, 300.0], margins)
    }

    #[test]
    fn labels_of_close_lines_cover_neither_each_other_nor_a_line_on_its_way_up() {
        let close = [
            (20.0, "capacity 20.0"),
            (20.5, "batch: 20.5"),
            (21.0, "relaxed: 21.0"),
            (99.0, "at the edge"),
        ];
        let panel = panel(&close);
        let frame = frame(&panel);
        let heads = heads(&panel, &frame);
        assert_eq!(heads.len(), close.len());
        for (place, a) in heads.iter().enumerate() {
            let a_right = a.left + font::width(&a.label, SIZE);
            assert!(a.left >= -BEYOND && a_right <= frame.right + BEYOND);
            for b in &heads[place + 1..] {
                let b_right = b.left + font::width(&b.label, SIZE);
                let apart = a_right <= b.left || b_right <= a.left;
                assert!(a.row != b.row || apart, "{} on {}", a.label, b.label);
                let (low, high, right) = if a.row < b.row {
                    (a, b, a_right)
                } else {
                    (b, a, b_right)
                };
                let crossed = high.x > low.left && high.x < right;
                assert!(
                    a.row == b.row || !crossed,
                    "{} by {}",
                    low.label,
                    high.label
                );
            }
        }
        assert!(height(&heads) <= 3.0 * ROW);
    }

    #[test]
    fn lines_on_one_place_at_the_edge_have_their_labels_one_above_the_other() {
        let panel = panel(&[
            (1.0, "p50 9.89 ms"),
            (1.0, "p90 9.89 ms"),
            (1.5, "p99 11 ms"),
        ]);
        let frame = frame(&panel);
        let heads = heads(&panel, &frame);
        let mut rows: Vec<usize> = heads.iter().map(|head| head.row).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!((heads.len(), rows.len()), (3, 3));
    }

    #[test]
    fn a_panel_without_upright_lines_keeps_its_height() {
        let panel = panel(&[]);
        let frame = frame(&panel);
        assert_eq!(height(&heads(&panel, &frame)), 0.0);
    }
}
