//! Tables in lines, as other tools draw them.

use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

fn widths(heads: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    (heads.iter().enumerate())
        .map(|(column, head)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.width()).max();
            widest.unwrap_or(0).max(head.width())
        })
        .collect()
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
    let widths = widths(heads, rows);
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).zip(sides);
        let cells = cells.map(|((cell, &width), &side)| padded(cell, width, side));
        format!("│ {} │", cells.collect::<Vec<_>>().join(" │ "))
    };
    let rule = |left, middle: &str, right| {
        let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
        format!("{left}{}{right}", dashes.join(middle))
    };
    let mut lines = vec![rule("┌", "┬", "┐"), line(heads), rule("├", "┼", "┤")];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.push(rule("└", "┴", "┘"));
    lines.join("\n")
}

/// A box of ASCII signs, every column set to the right.
pub(super) fn ascii_box(heads: &[String], rows: &[Vec<String>]) -> String {
    let widths = widths(heads, rows);
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths);
        let cells = cells.map(|(cell, &width)| padded(cell, width, Side::Right));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    let rule = format!("+{}+", dashes.join("+"));
    let mut lines = vec![rule.clone(), line(heads), rule.clone()];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.push(rule);
    lines.join("\n")
}

/// A box with heavy lines around the heads and a title above, every column set to the right.
pub(super) fn heavy_head(title: &str, heads: &[String], rows: &[Vec<String>]) -> String {
    let widths = widths(heads, rows);
    let line = |cells: &[String], bar: &str| {
        let cells = cells.iter().zip(&widths);
        let cells = cells.map(|(cell, &width)| padded(cell, width, Side::Right));
        let cells = cells.collect::<Vec<_>>().join(&format!(" {bar} "));
        format!("{bar} {cells} {bar}\n")
    };
    let rule = |[left, dash, middle, right]: [&str; 4]| {
        let dashes = widths.iter().map(|width| dash.repeat(width + 2));
        format!("{left}{}{right}\n", dashes.collect::<Vec<_>>().join(middle))
    };
    let whole = widths.iter().map(|width| width + 3).sum::<usize>() + 1;
    let left = whole.saturating_sub(title.width()) / 2;
    let mut out = format!("{}{title}\n", " ".repeat(left));
    out.push_str(&rule(["┏", "━", "┳", "┓"]));
    out.push_str(&line(heads, "┃"));
    out.push_str(&rule(["┡", "━", "╇", "┩"]));
    for row in rows {
        out.push_str(&line(row, "│"));
    }
    out.push_str(&rule(["└", "─", "┴", "┘"]));
    out
}

/// The same with rules between its sections, no blank at its edges, and one column set to the
/// left.
pub(super) fn heavy_sections(
    title: &str,
    heads: &[String],
    sections: &[Vec<Vec<String>>],
    left_column: Option<usize>,
) -> String {
    let rows: Vec<Vec<String>> = sections.concat();
    let widths = widths(heads, &rows);
    let line = |cells: &[String], bar: &str| {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| {
            let side = if left_column == Some(column) {
                Side::Left
            } else {
                Side::Right
            };
            padded(cell, width, side)
        });
        let cells = cells.collect::<Vec<_>>().join(&format!(" {bar} "));
        format!("{bar}{cells}{bar}\n")
    };
    let last = widths.len().saturating_sub(1);
    let rule = |[left, dash, middle, right]: [&str; 4]| {
        let dashes = widths.iter().enumerate().map(|(column, width)| {
            let edges = usize::from(column == 0) + usize::from(column == last);
            dash.repeat(width + 2 - edges)
        });
        format!("{left}{}{right}\n", dashes.collect::<Vec<_>>().join(middle))
    };
    let whole = (widths.iter().sum::<usize>() + 3 * widths.len()).saturating_sub(1);
    let room = whole.saturating_sub(title.width());
    let (before, after) = (" ".repeat(room / 2), " ".repeat(room - room / 2));
    let mut out = format!("{before}{title}{after}\n");
    out.push_str(&rule(["┏", "━", "┳", "┓"]));
    out.push_str(&line(heads, "┃"));
    out.push_str(&rule(["┡", "━", "╇", "┩"]));
    for (at, section) in sections.iter().enumerate() {
        if at > 0 {
            out.push_str(&rule(["├", "─", "┼", "┤"]));
        }
        for row in section {
            out.push_str(&line(row, "│"));
        }
    }
    out.push_str(&rule(["└", "─", "┴", "┘"]));
    out
}
