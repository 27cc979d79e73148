//! Tables in lines, as other tools draw them.

use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Left end, dash, crossing and right end of a rule.
type Rule = [&'static str; 4];

/// What a box is drawn with.
struct Frame {
    top: Rule,
    /// The bar between heads.
    head: &'static str,
    under_head: Rule,
    bar: &'static str,
    bottom: Rule,
    /// What stands between the outer bars and their cells.
    edge: &'static str,
}

const THIN: Frame = Frame {
    top: ["┌", "─", "┬", "┐"],
    head: "│",
    under_head: ["├", "─", "┼", "┤"],
    bar: "│",
    bottom: ["└", "─", "┴", "┘"],
    edge: " ",
};

const ASCII: Frame = Frame {
    top: ["+", "-", "+", "+"],
    head: "|",
    under_head: ["+", "-", "+", "+"],
    bar: "|",
    bottom: ["+", "-", "+", "+"],
    edge: " ",
};

/// Heavy lines around the heads.
const HEAVY: Frame = Frame {
    top: ["┏", "━", "┳", "┓"],
    head: "┃",
    under_head: ["┡", "━", "╇", "┩"],
    ..THIN
};

impl Frame {
    fn draw(&self, heads: &[String], sections: &[&[Vec<String>]], sides: &[Side]) -> String {
        let widths: Vec<usize> = (heads.iter().enumerate())
            .map(|(column, head)| {
                let cells = sections.iter().copied().flatten();
                let cells = cells.filter_map(|row| row.get(column));
                let widest = cells.map(|cell| cell.width()).max();
                widest.unwrap_or(0).max(head.width())
            })
            .collect();
        let rule = |[left, dash, middle, right]: Rule| {
            let dashes: Vec<String> = widths.iter().map(|width| dash.repeat(*width)).collect();
            let outer = dash.repeat(self.edge.len());
            let dashes = dashes.join(&format!("{dash}{middle}{dash}"));
            format!("{left}{outer}{dashes}{outer}{right}")
        };
        let line = |cells: &[String], bar: &str| {
            let cells = cells.iter().zip(&widths).zip(sides);
            let cells = cells.map(|((cell, &width), &side)| padded(cell, width, side));
            let cells = cells.collect::<Vec<_>>().join(&format!(" {bar} "));
            format!("{bar}{edge}{cells}{edge}{bar}", edge = self.edge)
        };
        let mut lines = vec![
            rule(self.top),
            line(heads, self.head),
            rule(self.under_head),
        ];
        for (at, section) in sections.iter().enumerate() {
            lines.extend((at > 0).then(|| rule(THIN.under_head)));
            lines.extend(section.iter().map(|row| line(row, self.bar)));
        }
        lines.push(rule(self.bottom));
        lines.join("\n")
    }
}

fn padded(cell: &str, width: usize, side: Side) -> String {
    let blank = " ".repeat(width.saturating_sub(cell.width()));
    match side {
        Side::Left => format!("{cell}{blank}"),
        Side::Right => format!("{blank}{cell}"),
    }
}

/// A box of thin lines with a rule under the heads.
pub(super) fn outline(heads: &[String], rows: &[Vec<String>], sides: &[Side]) -> String {
    THIN.draw(heads, &[rows], sides)
}

/// A box of ASCII signs, every column set to the right.
pub(super) fn ascii_box(heads: &[String], rows: &[Vec<String>]) -> String {
    ASCII.draw(heads, &[rows], &vec![Side::Right; heads.len()])
}

/// A box with heavy lines around the heads and a title above, every column set to the right.
pub(super) fn heavy_head(title: &str, heads: &[String], rows: &[Vec<String>]) -> String {
    let table = HEAVY.draw(heads, &[rows], &vec![Side::Right; heads.len()]);
    let room = table.lines().next().map_or(0, UnicodeWidthStr::width);
    let before = " ".repeat(room.saturating_sub(title.width()) / 2);
    format!("{before}{title}\n{table}\n")
}

/// The same with rules between its sections, no blank at its edges, and one column set to the
/// left.
pub(super) fn heavy_sections(
    title: &str,
    heads: &[String],
    sections: &[Vec<Vec<String>>],
    left_column: Option<usize>,
) -> String {
    let frame = Frame { edge: "", ..HEAVY };
    let sections: Vec<&[Vec<String>]> = sections.iter().map(Vec::as_slice).collect();
    let mut sides = vec![Side::Right; heads.len()];
    if let Some(side) = left_column.and_then(|column| sides.get_mut(column)) {
        *side = Side::Left;
    }
    let table = frame.draw(heads, &sections, &sides);
    let room = table.lines().next().map_or(0, UnicodeWidthStr::width);
    let room = room.saturating_sub(title.width());
    let (before, after) = (" ".repeat(room / 2), " ".repeat(room - room / 2));
    format!("{before}{title}{after}\n{table}\n")
}
