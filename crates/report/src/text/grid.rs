//! Tables in columns.

use super::lines::{pad_left, pad_right, shorten, width, wrap};
use super::{INDENT, TextStyle, clean, paint, paint_tone};
use crate::doc::{Align, Cell, Fit, Number, Support, Table, Tone};

/// Blanks between columns, and where the page is too narrow for them.
const GAP: usize = 2;
const NARROW_GAP: usize = 1;

/// Narrowest a column of texts may become.
const NARROWEST_TEXT: usize = 8;

/// The table as lines; a heading stands before the titles of the columns. What is too wide for
/// the page goes below, with the names of the rows again.
pub(super) fn lines(table: &Table, heading: Option<&str>, style: TextStyle) -> Vec<String> {
    let cells: Vec<Vec<String>> = (table.rows.iter()).map(|row| shown(table, row)).collect();
    let layout = Layout::of(table, &cells, heading, style.width);
    let mut lines = Vec::new();
    for (place, band) in layout.bands.iter().enumerate() {
        let heading = heading.filter(|_| place == 0);
        if place > 0 {
            lines.push(String::new());
        }
        if let Some(titles) = titles(table, heading, &layout, band) {
            let titles = shorten(titles.trim_end(), style.width);
            lines.push(paint(style.paint, "1", &titles));
        }
        for (row, texts) in table.rows.iter().zip(&cells) {
            lines.extend(row_lines(table, row, texts, &layout, band, style));
        }
    }
    for footnote in &table.footnotes {
        for line in wrap(&clean(footnote), style.width.saturating_sub(INDENT)) {
            lines.push(format!("{:INDENT$}{line}", ""));
        }
    }
    lines
}

/// How a table lies on the page.
struct Layout {
    widths: Vec<usize>,
    gap: usize,
    /// Columns that stand side by side.
    bands: Vec<Vec<usize>>,
}

impl Layout {
    fn of(table: &Table, cells: &[Vec<String>], heading: Option<&str>, page: usize) -> Self {
        let natural = natural_widths(table, cells, heading);
        let (widths, gap) = fitted(table, natural.clone(), page);
        let all: Vec<usize> = (0..widths.len()).collect();
        if total(&widths, &all, gap) <= page {
            let bands = vec![all];
            return Layout { widths, gap, bands };
        }
        let mut widths = natural;
        let names = (table.columns.iter())
            .take_while(|column| column.align == Align::Left)
            .count()
            .max(1);
        for (column, about) in table.columns.iter().enumerate() {
            if about.fit == Fit::Wrap {
                widths[column] = widths[column].min((page / 3).max(NARROWEST_TEXT));
            }
        }
        // Names that leave no room for numbers stand once.
        let named: Vec<usize> = all[..names.min(all.len())].to_vec();
        let repeated = match total(&widths, &named, GAP) <= page / 2 {
            true => named.clone(),
            false => Vec::new(),
        };
        let mut bands = vec![named];
        for &column in &all[bands[0].len()..] {
            let band = bands.last_mut().expect("there is one");
            band.push(column);
            if total(&widths, band, GAP) > page && band.len() > repeated.len() + 1 {
                band.pop();
                let mut next = repeated.clone();
                next.push(column);
                bands.push(next);
            }
        }
        Layout {
            widths,
            gap: GAP,
            bands,
        }
    }
}

fn total(widths: &[usize], columns: &[usize], gap: usize) -> usize {
    let sum: usize = columns.iter().map(|&column| widths[column]).sum();
    INDENT + sum + columns.len().saturating_sub(1) * gap
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

/// What each column would take.
fn natural_widths(table: &Table, cells: &[Vec<String>], heading: Option<&str>) -> Vec<usize> {
    let columns = table.columns.iter().enumerate();
    columns
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
        .collect()
}

/// Widths that fit side by side, as far as texts can be broken, and the gap between columns.
fn fitted(table: &Table, mut widths: Vec<usize>, page: usize) -> (Vec<usize>, usize) {
    let all: Vec<usize> = (0..widths.len()).collect();
    let shrinks = |column: usize| table.columns[column].fit == Fit::Wrap;
    let narrow = total(&widths, &all, GAP) > page && total(&widths, &all, NARROW_GAP) <= page;
    let gap = match narrow && !all.iter().any(|&column| shrinks(column)) {
        true => NARROW_GAP,
        false => GAP,
    };
    while total(&widths, &all, gap) > page {
        let widest = (all.iter().copied())
            .filter(|&column| shrinks(column) && widths[column] > NARROWEST_TEXT)
            .max_by_key(|&column| widths[column]);
        match widest {
            Some(column) => widths[column] -= 1,
            None => break,
        }
    }
    (widths, gap)
}

fn titles(table: &Table, heading: Option<&str>, layout: &Layout, band: &[usize]) -> Option<String> {
    let titles = table.columns.iter().map(|column| clean(&column.title));
    let titles: Vec<String> = titles.collect();
    if heading.is_none() && titles.iter().all(String::is_empty) {
        return None;
    }
    let mut line = String::new();
    for (place, &column) in band.iter().enumerate() {
        let columns = layout.widths[column];
        if place == 0 {
            line = match heading {
                Some(heading) => pad_right(heading, INDENT + columns),
                None => " ".repeat(INDENT),
            };
            if heading.is_some() {
                continue;
            }
        } else {
            line.push_str(&" ".repeat(layout.gap));
        }
        let title = &titles[column];
        line.push_str(&match table.columns[column].align {
            Align::Left => pad_right(title, columns),
            Align::Right if column_has_star(table, column) => {
                pad_left(&format!("{title} "), columns)
            }
            Align::Right => pad_left(title, columns),
        });
    }
    Some(line)
}

fn row_lines(
    table: &Table,
    row: &[Cell],
    texts: &[String],
    layout: &Layout,
    band: &[usize],
    style: TextStyle,
) -> Vec<String> {
    let part = |column: usize| {
        let text = texts.get(column).map(String::as_str).unwrap_or_default();
        match table.columns[column].fit {
            Fit::Whole => vec![text.to_owned()],
            Fit::Wrap => wrap(text, layout.widths[column]),
        }
    };
    let broken: Vec<Vec<String>> = band.iter().map(|&column| part(column)).collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|place| {
            let mut line = " ".repeat(INDENT);
            for (index, (&column, parts)) in band.iter().zip(&broken).enumerate() {
                if index > 0 {
                    line.push_str(&" ".repeat(layout.gap));
                }
                let text = parts.get(place).map(String::as_str).unwrap_or_default();
                let padded = match table.columns[column].align {
                    Align::Left => pad_right(text, layout.widths[column]),
                    Align::Right => pad_left(text, layout.widths[column]),
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
    use super::*;
    use crate::doc::Column;

    #[test]
    fn a_table_too_wide_for_the_page_goes_on_below_with_its_names() {
        let titles = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];
        let mut columns = vec![Column::left("setting")];
        columns.extend(titles.map(Column::right));
        let row = |name: &str, value: &str| {
            let values = titles.map(|_| Cell::text(value));
            std::iter::once(Cell::text(name)).chain(values).collect()
        };
        let table = Table {
            columns,
            rows: vec![row("first", "123456"), row("second", "7")],
            footnotes: Vec::new(),
        };
        let style = TextStyle {
            width: 40,
            ..TextStyle::default()
        };
        let lines = lines(&table, None, style);
        assert!(lines.iter().all(|line| width(line) <= 40), "{lines:#?}");
        let text = lines.join("\n");
        assert!(titles.iter().all(|title| text.contains(title)), "{text}");
        assert_eq!(text.matches("123456").count(), titles.len());
        assert_eq!(
            text.matches("first").count(),
            text.matches("setting").count()
        );
    }
}
