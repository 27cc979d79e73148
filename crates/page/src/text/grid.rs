//! Tables in columns.

use super::lines::{pad_left, pad_right, shorten, width, wrap};
use super::{INDENT, TextStyle, clean, paint, paint_tone};
use crate::doc::{Align, Cell, Column, Fit, Place, Table, Tone};

/// Blanks between columns, and where the page is too narrow for them.
const GAP: usize = 2;
const NARROW_GAP: usize = 1;

/// Columns that a broken title must save, and where the table would not fit otherwise.
const WORTH_BREAKING: usize = 5;
const LEAST_SAVED: usize = 2;

/// Title of a column of numbers of rows.
const NUMBERS: &str = "#";

/// Narrowest a column of short texts may become.
const NARROWEST_TEXT: usize = 8;

/// The table as lines; a heading stands before the titles of the columns. What is too wide for
/// the page goes below, with the names of the rows again.
pub(super) fn lines(table: &Table, heading: Option<&str>, style: TextStyle) -> Vec<String> {
    let cells = shown(table);
    let layout = Layout::of(table, &cells, heading, style.width);
    match layout.repeats {
        Names::Whole => set(table, &cells, &layout, heading, style),
        // Its rows have numbers of their own.
        Names::Cut if table.columns[0].title == NUMBERS => {
            set(table, &cells, &layout, heading, style)
        }
        Names::Cut => {
            let table = numbered(table);
            let cells = shown(&table);
            let layout = Layout::of(&table, &cells, heading, style.width);
            set(&table, &cells, &layout, heading, style)
        }
    }
}
/// The same with the numbers of the rows before their names.
fn numbered(table: &Table) -> Table {
    let mut table = table.clone();
    table.columns.insert(0, Column::key(NUMBERS));
    for (place, row) in table.rows.iter_mut().enumerate() {
        row.insert(0, Cell::count(place as u64 + 1));
    }
    table
}

fn set(
    table: &Table,
    cells: &[Vec<String>],
    layout: &Layout,
    heading: Option<&str>,
    style: TextStyle,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, band) in layout.bands.iter().enumerate() {
        let heading = heading.filter(|_| place == 0);
        if place > 0 {
            lines.push(String::new());
        }
        // A column that is wider than the page runs over it with its title.
        let room = style.width.max(total(&layout.widths, band, layout.gap));
        for titles in titles(table, heading, layout, band) {
            let titles = shorten(titles.trim_end(), room);
            lines.push(paint(style.paint, "1", &titles));
        }
        // Below the first part, a row of which nothing is told would be its name alone.
        let told = |texts: &[String]| {
            let mut own = band.iter().filter(|at| !layout.bands[0].contains(at));
            own.any(|at| texts.get(*at).is_some_and(|text| !text.trim().is_empty()))
        };
        let is_sparse = place > 0 && cells.iter().any(|texts| told(texts));
        for (row, texts) in table.rows.iter().zip(cells) {
            if !is_sparse || told(texts) {
                lines.extend(row_lines(table, row, texts, layout, band, style));
            }
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
    /// What the bands below the first repeat.
    repeats: Names,
}

/// What is repeated of the names of rows.
enum Names {
    /// All, or the table is not broken.
    Whole,
    /// The first alone: all would leave no room for numbers.
    Cut,
}

impl Layout {
    fn of(table: &Table, cells: &[Vec<String>], heading: Option<&str>, page: usize) -> Self {
        let natural = natural_widths(table, cells, heading);
        let all: Vec<usize> = (0..natural.len()).collect();
        // A last column of words may run over the page: nothing stands behind it.
        let counted = match table.columns.last() {
            Some(last)
                if last.align == Align::Left
                    && last.fit != Fit::Wrap
                    && last.place != Place::Everywhere =>
            {
                &all[..all.len() - 1]
            }
            _ => &all[..],
        };
        for saved in [WORTH_BREAKING, LEAST_SAVED] {
            let (widths, gap) = fitted(table, cells, heading, natural.clone(), page, saved);
            if total(&widths, counted, gap) <= page {
                return Layout {
                    widths,
                    gap,
                    bands: vec![all],
                    repeats: Names::Whole,
                };
            }
        }
        let wanted = natural.clone();
        let mut widths = natural;
        let tells_apart =
            |column: &&Column| column.align == Align::Left || column.place == Place::Everywhere;
        let names = table.columns.iter().take_while(tells_apart).count().max(1);
        for (column, about) in table.columns.iter().enumerate() {
            if about.fit == Fit::Wrap {
                let least = (page / 3).max(narrowest(cells, column, page));
                widths[column] = widths[column].min(least);
            }
        }
        // Names that leave no room for numbers stand once.
        let named: Vec<usize> = all[..names.min(all.len())].to_vec();
        let fits = total(&widths, &named, GAP) <= page / 2;
        let (repeats, repeated) = if fits {
            (Names::Whole, named.clone())
        } else {
            (Names::Cut, named[..1].to_vec())
        };
        let (marks, figures): (Vec<usize>, Vec<usize>) = (all.iter().skip(named.len()))
            .partition(|at| table.columns[**at].place == Place::Everywhere);
        let marked = total(&widths, &marks, GAP) - INDENT + marks.len().min(1) * GAP;
        let mut bands = vec![named];
        for column in figures {
            let band = bands.last_mut().expect("there is one");
            band.push(column);
            if total(&widths, band, GAP) + marked > page && band.len() > repeated.len() + 1 {
                band.pop();
                let mut next = repeated.clone();
                next.push(column);
                bands.push(next);
            }
        }
        bands.iter_mut().for_each(|band| band.extend(&marks));
        // Texts take the room that their band leaves, those in several what the fullest leaves.
        for column in all.iter().copied() {
            if table.columns[column].fit == Fit::Wrap {
                let own = bands.iter().filter(|band| band.contains(&column));
                let left = own.map(|band| page.saturating_sub(total(&widths, band, GAP)));
                widths[column] = wanted[column].min(widths[column] + left.min().unwrap_or(0));
            }
        }
        Layout {
            widths,
            gap: GAP,
            bands,
            repeats,
        }
    }
}

/// Narrowest a column of texts may become: no word is broken that fits into half of the page.
fn narrowest(cells: &[Vec<String>], column: usize, page: usize) -> usize {
    let texts = cells.iter().filter_map(|row| row.get(column));
    let words = texts.flat_map(|text| text.split(' ')).map(width);
    let longest = words.filter(|word| *word <= page / 2).max();
    longest.unwrap_or(0).max(NARROWEST_TEXT)
}

fn total(widths: &[usize], columns: &[usize], gap: usize) -> usize {
    let sum: usize = columns.iter().map(|&column| widths[column]).sum();
    INDENT + sum + columns.len().saturating_sub(1) * gap
}

/// The cells of all rows in words. Where a column has a starred number, the others get a blank, so
/// that digits stand under digits.
fn shown(table: &Table) -> Vec<Vec<String>> {
    let columns = table.columns.iter().enumerate();
    let starred: Vec<bool> = columns
        .map(|(column, about)| about.align == Align::Right && column_has_star(table, column))
        .collect();
    let of_cell = |(column, cell): (usize, &Cell)| {
        let mut text = clean(&cell.shown());
        if starred.get(column).is_some_and(|starred| *starred) && !cell.is_starred() {
            text.push(' ');
        }
        text
    };
    let rows = table.rows.iter();
    rows.map(|row| row.iter().enumerate().map(of_cell).collect())
        .collect()
}

fn column_has_star(table: &Table, column: usize) -> bool {
    (table.rows.iter()).any(|row| row.get(column).is_some_and(Cell::is_starred))
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

/// Widths that fit side by side, as far as texts can be broken, titles where that saves so many
/// columns, and the gap between columns.
fn fitted(
    table: &Table,
    cells: &[Vec<String>],
    heading: Option<&str>,
    mut widths: Vec<usize>,
    page: usize,
    saved: usize,
) -> (Vec<usize>, usize) {
    let all: Vec<usize> = (0..widths.len()).collect();
    let shrinks = |column: usize| table.columns[column].fit == Fit::Wrap;
    let narrow = total(&widths, &all, GAP) > page
        && (total(&widths, &all, NARROW_GAP) <= page || saved < WORTH_BREAKING);
    let gap = if narrow && !all.iter().any(|&column| shrinks(column)) {
        NARROW_GAP
    } else {
        GAP
    };
    while total(&widths, &all, gap) > page {
        let widest = (all.iter().copied())
            .filter(|&column| shrinks(column) && widths[column] > narrowest(cells, column, page))
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
        if widths[column].saturating_sub(least) >= saved {
            least
        } else {
            widths[column]
        }
    };
    let floors: Vec<usize> = match heading {
        None => all.iter().map(|&column| floor(column)).collect(),
        Some(_) => widths.clone(),
    };
    while total(&widths, &all, gap) > page {
        let spare = |column: usize| widths[column].saturating_sub(floors[column]);
        match all.iter().copied().max_by_key(|&column| spare(column)) {
            Some(column) if spare(column) > 0 => widths[column] -= 1,
            _ => break,
        }
    }
    (widths, gap)
}

/// The pieces of a title between which it may be broken.
fn pieces(title: &str) -> Vec<&str> {
    let words = title.split_whitespace();
    words.flat_map(|word| word.split_inclusive('-')).collect()
}

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

/// The titles of a band's columns, the last lines of all beside each other.
fn titles(table: &Table, heading: Option<&str>, layout: &Layout, band: &[usize]) -> Vec<String> {
    let title = |&column: &usize| {
        let star = usize::from(column_has_star(table, column));
        let title = clean(&table.columns[column].title);
        broken(&title, layout.widths[column].saturating_sub(star))
    };
    let titles: Vec<Vec<String>> = band.iter().map(title).collect();
    let blank = |title: &Vec<String>| title.iter().all(String::is_empty);
    if heading.is_none() && titles.iter().all(blank) {
        return Vec::new();
    }
    let height = titles.iter().map(Vec::len).max().unwrap_or(1);
    let line = |place: usize| {
        let mut line = " ".repeat(INDENT);
        for (index, (&column, title)) in band.iter().zip(&titles).enumerate() {
            let columns = layout.widths[column];
            if index > 0 {
                line.push_str(&" ".repeat(layout.gap));
            }
            let own = place.checked_sub(height - title.len());
            let text = own
                .and_then(|own| title.get(own))
                .map_or("", String::as_str);
            match (index, heading, table.columns[column].align) {
                (0, Some(heading), _) if place + 1 == height => {
                    line = pad_right(heading, INDENT + columns);
                }
                (0, Some(_), _) => line.push_str(&pad_right("", columns)),
                (0, None, _) | (_, _, Align::Left) => line.push_str(&pad_right(text, columns)),
                (_, _, Align::Right) if column_has_star(table, column) => {
                    line.push_str(&pad_left(&format!("{text} "), columns));
                }
                (_, _, Align::Right) => line.push_str(&pad_left(text, columns)),
            }
        }
        line
    };
    (0..height).map(line).collect()
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

    const TITLES: [&str; 6] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];

    fn on_page(table: &Table, most: usize) -> Vec<String> {
        let style = TextStyle {
            width: most,
            ..TextStyle::default()
        };
        let lines = lines(table, None, style);
        assert!(lines.iter().all(|line| width(line) <= most), "{lines:#?}");
        lines
    }

    /// Columns of numbers under the titles, between others.
    fn columns(before: &[Column], after: &[Column]) -> Vec<Column> {
        let numbers = TITLES.map(Column::right);
        [before, &numbers, after].concat()
    }

    fn row(before: &[&str], number: &str, after: &[&str]) -> Vec<Cell> {
        let cells = [before, &[number; TITLES.len()], after].concat();
        cells.into_iter().map(Cell::text).collect()
    }

    #[test]
    fn a_table_too_wide_for_the_page_goes_on_below_with_its_names() {
        let columns = columns(&[Column::left("setting")], &[]);
        let rows = vec![row(&["first"], "123456", &[]), row(&["second"], "7", &[])];
        let text = on_page(&Table::new(columns, rows), 40).join("\n");
        assert!(TITLES.iter().all(|title| text.contains(title)), "{text}");
        let times = |word: &str| text.matches(word).count();
        assert_eq!(times("123456"), TITLES.len());
        assert_eq!(times("first"), times("setting"));
    }

    #[test]
    fn a_row_of_which_a_later_part_tells_nothing_is_left_out_there() {
        let columns = columns(&[Column::left("setting")], &[]);
        let row = |name: &str, last: &str| {
            let mut cells = row(&[name], "123456", &[]);
            cells[TITLES.len()] = Cell::text(last);
            cells
        };
        let rows = vec![row("first", ""), row("second", "7654321"), row("third", "")];
        let lines = on_page(&Table::new(columns, rows), 50);
        let mut last = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.contains("zeta"));
        let (at, _) = last.next().unwrap();
        assert!(last.next().is_none(), "{lines:#?}");
        assert_eq!(lines.len(), at + 2, "{lines:#?}");
        assert!(lines[at + 1].contains("second"), "{lines:#?}");
    }

    #[test]
    fn a_broken_text_before_a_broken_table_leaves_room_for_the_fullest_part() {
        let columns = columns(&[Column::wrapped("flags")], &[Column::wrapped("envelope")]);
        let flags = "max-num-batched-tokens=2048 max-num-seqs=128 block-size=32";
        let rows = [flags, "max-num-seqs=64"].map(|flags| row(&[flags], "123,456", &["outside"]));
        let table = Table::new(columns, rows.to_vec());
        for page in [50, 60, 70, 80] {
            on_page(&table, page);
        }
    }

    #[test]
    fn all_keys_and_the_marks_stand_in_every_part_of_a_broken_table() {
        let columns = columns(&["in", "out"].map(Column::key), &[Column::mark()]);
        let row = |out: &str, mark: &str| row(&["512", out], "123456", &[mark]);
        let table = Table::new(columns, vec![row("64", ""), row("77", "INVALID")]);
        let lines = on_page(&table, 40);
        let parts = lines.iter().filter(|line| line.contains("out")).count();
        assert!(parts > 1, "{lines:#?}");
        let marked = |line: &&String| line.contains("512   77") && line.contains("INVALID");
        assert_eq!(lines.iter().filter(marked).count(), parts, "{lines:#?}");
    }

    #[test]
    fn a_mark_does_not_run_over_the_page_and_titles_are_broken_before_the_table_is() {
        let mut columns = vec![Column::key("load")];
        columns.extend(["TTFT p50", "TTFT p99", "TPOT p50"].map(Column::right));
        columns.push(Column::mark());
        let cells = ["16", "1,234", "5,678", "12.3", "SLO missed"].map(Cell::text);
        let table = Table::new(columns, vec![cells.to_vec()]);
        let lines = on_page(&table, 36);
        let rows = lines.iter().filter(|line| line.contains("5,678"));
        assert_eq!(rows.count(), 1, "{lines:#?}");
        assert_eq!(lines.len(), 3, "two lines of titles, one row: {lines:#?}");
    }

    #[test]
    fn rows_whose_names_are_too_long_to_repeat_have_numbers_in_every_part() {
        let mut columns = ["enable-chunked-prefill", "max-num-batched-tokens"]
            .map(Column::left)
            .to_vec();
        columns.extend(TITLES.map(Column::right));
        let row = |value: &str| {
            let mut cells = vec![Cell::text("true"), Cell::text(value)];
            cells.extend(TITLES.map(|title| Cell::text(format!("{title}{value}"))));
            cells
        };
        let table = Table::new(columns, vec![row("2048"), row("4096")]);
        let lines = on_page(&table, 60);
        let of = |row: &'static str| (lines.iter()).filter(move |line| line.contains(row));
        assert!(of("2048").count() > 1, "{lines:#?}");
        assert!(
            of("2048").all(|line| line.starts_with("  1  ")),
            "{lines:#?}"
        );
        assert!(
            of("4096").all(|line| line.starts_with("  2  ")),
            "{lines:#?}"
        );
    }

    #[test]
    fn long_titles_over_short_cells_are_broken_so_that_the_table_fits() {
        let names = [
            "enable-chunked-prefill",
            "max-num-batched-tokens",
            "TTFT p50",
        ];
        let table = Table::new(
            names.map(Column::right).to_vec(),
            vec![["true", "4096", "113"].map(Cell::text).to_vec()],
        );
        let lines = on_page(&table, 40);
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
