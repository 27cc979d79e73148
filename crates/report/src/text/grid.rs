//! Tables in columns.

use super::lines::{pad_left, pad_right, shorten, width, wrap};
use super::{INDENT, TextStyle, clean, paint, paint_tone};
use crate::doc::{Align, Cell, Fit, Number, Support, Table, Tone};

/// Blanks between columns, and where the page is too narrow for them.
const GAP: usize = 2;
const NARROW_GAP: usize = 1;

/// Columns that a broken title must save.
const WORTH_BREAKING: usize = 5;

/// Narrowest a column of texts may become.
const NARROWEST_TEXT: usize = 8;

/// The table as lines; a heading stands before the titles of the columns.
pub(super) fn lines(table: &Table, heading: Option<&str>, style: TextStyle) -> Vec<String> {
    let cells: Vec<Vec<String>> = (table.rows.iter()).map(|row| shown(table, row)).collect();
    let (widths, gap) = widths(table, &cells, heading, style.width);
    let mut lines = Vec::new();
    // A table that is wider than the page runs over it with its titles.
    let room = style.width.max(full_width(&widths, gap));
    for titles in titles(table, heading, &widths, gap) {
        let titles = shorten(titles.trim_end(), room);
        lines.push(paint(style.paint, "1", &titles));
    }
    for (row, texts) in table.rows.iter().zip(&cells) {
        lines.extend(row_lines(table, row, texts, &widths, gap, style));
    }
    for footnote in &table.footnotes {
        for line in wrap(&clean(footnote), style.width.saturating_sub(INDENT)) {
            lines.push(format!("{:INDENT$}{line}", ""));
        }
    }
    lines
}

/// A row's cells in words. Where a column has a starred number, the others get a blank, so
/// that digits stand under digits.
fn shown(table: &Table, row: &[Cell]) -> Vec<String> {
    (row.iter().enumerate())
        .map(|(column, cell)| {
            let right = (table.columns.get(column)).is_some_and(|at| at.align == Align::Right);
            let mut text = clean(&cell.shown());
            if right && !starred(cell) && column_has_star(table, column) {
                text.push(' ');
            }
            text
        })
        .collect()
}

fn starred(cell: &Cell) -> bool {
    matches!(
        cell,
        Cell::Number(Number {
            support: Support::TooFew,
            ..
        })
    )
}

fn column_has_star(table: &Table, column: usize) -> bool {
    (table.rows.iter()).any(|row| row.get(column).is_some_and(starred))
}

/// Widths of the columns, and the gap between them.
fn widths(
    table: &Table,
    cells: &[Vec<String>],
    heading: Option<&str>,
    page: usize,
) -> (Vec<usize>, usize) {
    let mut widths: Vec<usize> = (table.columns.iter().enumerate())
        .map(|(column, about)| {
            let texts = cells.iter().filter_map(|row| row.get(column));
            let widest = texts.map(|text| width(text)).max().unwrap_or(0);
            let star = usize::from(about.align == Align::Right && column_has_star(table, column));
            let title = width(&clean(&about.title)) + star;
            let heading = match (column, heading) {
                (0, Some(heading)) => width(heading).saturating_sub(INDENT),
                _ => 0,
            };
            widest.max(title).max(heading)
        })
        .collect();
    let total = full_width;
    let shrinks = |column: usize| table.columns[column].fit == Fit::Wrap;
    let narrow = total(&widths, GAP) > page && total(&widths, NARROW_GAP) <= page;
    let gap = match narrow && !(0..widths.len()).any(shrinks) {
        true => NARROW_GAP,
        false => GAP,
    };
    while total(&widths, gap) > page {
        let widest = (0..widths.len())
            .filter(|&column| shrinks(column) && widths[column] > NARROWEST_TEXT)
            .max_by_key(|&column| widths[column]);
        match widest {
            Some(column) => widths[column] -= 1,
            None => break,
        }
    }
    // Long titles over short cells are broken.
    let least = |column: usize| {
        let texts = cells.iter().filter_map(|row| row.get(column));
        let widest = texts.map(|text| width(text)).max().unwrap_or(0);
        let title = clean(&table.columns[column].title);
        let star = usize::from(column_has_star(table, column));
        let pieces = pieces(&title).into_iter().map(width);
        widest.max(pieces.max().unwrap_or(0) + star)
    };
    let floor = |column: usize| {
        let least = least(column);
        match widths[column].saturating_sub(least) >= WORTH_BREAKING {
            true => least,
            false => widths[column],
        }
    };
    let floors: Vec<usize> = match heading {
        None => (0..widths.len()).map(floor).collect(),
        Some(_) => widths.clone(),
    };
    while total(&widths, gap) > page {
        let spare = |column: usize| widths[column].saturating_sub(floors[column]);
        match (0..widths.len()).max_by_key(|&column| spare(column)) {
            Some(column) if spare(column) > 0 => widths[column] -= 1,
            _ => break,
        }
    }
    (widths, gap)
}

fn full_width(widths: &[usize], gap: usize) -> usize {
    INDENT + widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * gap
}

/// The pieces of a title between which it may be broken.
fn pieces(title: &str) -> Vec<&str> {
    let words = title.split_whitespace();
    words.flat_map(|word| word.split_inclusive('-')).collect()
}

/// A title in lines of a width.
fn broken(title: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if width(title) <= columns {
        return vec![title.to_owned()];
    }
    for piece in pieces(title) {
        let joint = match lines.last() {
            Some(line) if line.ends_with('-') => "",
            _ => " ",
        };
        match lines.last_mut() {
            Some(line) if width(line) + width(joint) + width(piece) <= columns => {
                line.push_str(joint);
                line.push_str(piece);
            }
            _ => lines.push(piece.to_owned()),
        }
    }
    lines
}

/// The titles of the columns, the last lines of all beside each other.
fn titles(table: &Table, heading: Option<&str>, widths: &[usize], gap: usize) -> Vec<String> {
    let titles = table.columns.iter().map(|column| clean(&column.title));
    let titles: Vec<Vec<String>> = (titles.zip(widths).enumerate())
        .map(|(column, (title, &columns))| {
            let star = usize::from(column_has_star(table, column));
            broken(&title, columns.saturating_sub(star))
        })
        .collect();
    let blank = |title: &Vec<String>| title.iter().all(String::is_empty);
    if heading.is_none() && titles.iter().all(blank) {
        return Vec::new();
    }
    let height = titles.iter().map(Vec::len).max().unwrap_or(1);
    let line = |place: usize| {
        let of = |title: &Vec<String>| {
            let own = place.checked_sub(height - title.len())?;
            title.get(own).cloned()
        };
        let first = widths.first().copied().unwrap_or(0);
        let mut line = match heading.filter(|_| place + 1 == height) {
            Some(heading) => pad_right(heading, INDENT + first),
            None => {
                let text = titles.first().filter(|_| heading.is_none()).and_then(of);
                let text = pad_right(&text.unwrap_or_default(), first);
                format!("{:INDENT$}{text}", "")
            }
        };
        for (column, title) in titles.iter().enumerate().skip(1) {
            let text = of(title).unwrap_or_default();
            line.push_str(&" ".repeat(gap));
            line.push_str(&match table.columns[column].align {
                Align::Left => pad_right(&text, widths[column]),
                Align::Right if column_has_star(table, column) => {
                    pad_left(&format!("{text} "), widths[column])
                }
                Align::Right => pad_left(&text, widths[column]),
            });
        }
        line
    };
    (0..height).map(line).collect()
}

fn row_lines(
    table: &Table,
    row: &[Cell],
    texts: &[String],
    widths: &[usize],
    gap: usize,
    style: TextStyle,
) -> Vec<String> {
    let broken: Vec<Vec<String>> = (texts.iter().zip(widths).enumerate())
        .map(
            |(column, (text, &columns))| match table.columns[column].fit {
                Fit::Whole => vec![text.clone()],
                Fit::Wrap => wrap(text, columns),
            },
        )
        .collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|place| {
            let mut line = " ".repeat(INDENT);
            for (column, parts) in broken.iter().enumerate() {
                if column > 0 {
                    line.push_str(&" ".repeat(gap));
                }
                let text = parts.get(place).map(String::as_str).unwrap_or_default();
                let padded = match table.columns[column].align {
                    Align::Left => pad_right(text, widths[column]),
                    Align::Right => pad_left(text, widths[column]),
                };
                let tone = match row.get(column) {
                    Some(Cell::Toned(_, tone)) => *tone,
                    _ => Tone::Plain,
                };
                line.push_str(&paint_tone(style.paint, tone, &padded));
            }
            line
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Paint;
    use super::*;
    use crate::doc::Column;

    #[test]
    fn long_titles_over_short_cells_are_broken_so_that_the_table_fits() {
        let names = [
            "enable-chunked-prefill",
            "max-num-batched-tokens",
            "TTFT p50",
        ];
        let table = Table {
            columns: names.map(Column::right).to_vec(),
            rows: vec![["true", "4096", "113"].map(Cell::text).to_vec()],
            footnotes: Vec::new(),
        };
        let style = TextStyle {
            width: 40,
            paint: Paint::Plain,
        };
        let lines = lines(&table, None, style);
        assert!(lines.iter().all(|line| width(line) <= 40), "{lines:#?}");
        let whole: String = lines.join(" ");
        for piece in [
            "enable-", "chunked-", "prefill", "batched-", "tokens", "p50",
        ] {
            assert!(whole.contains(piece), "{piece} is lost: {lines:#?}");
        }
        assert!(
            whole.contains("TTFT p50"),
            "a short title is whole: {lines:#?}"
        );
    }
}
