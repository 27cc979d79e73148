//! Tables: Markdown, ASCII and box drawing, and CSV of the kinds that are known.

use crate::notes::Notes;

/// Rows of cells.
pub(crate) struct Table<'a> {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) rows: Vec<Vec<&'a str>>,
}

const BARS: [char; 4] = ['|', '│', '┃', '║'];

/// All tables in lines that nobody has read.
pub(crate) fn tables<'a>(notes: &Notes<'a>) -> Vec<Table<'a>> {
    let mut tables = Vec::new();
    let mut at = 0;
    while at < notes.lines.len() {
        let csv = csv_header(notes.lines[at]);
        let is_row = |line: usize| -> bool {
            !notes.is_taken(line)
                && if csv {
                    notes.lines[line].contains(',')
                } else {
                    is_table_line(notes, line)
                }
        };
        if !is_row(at) {
            at += 1;
            continue;
        }
        let first = at;
        let mut rows = Vec::new();
        while at < notes.lines.len() && is_row(at) {
            let text = notes.lines[at]
                .trim()
                .trim_start_matches("> ")
                .trim_start_matches('\u{feff}');
            if csv {
                rows.push(csv_cells(text));
            } else if !is_rule(text) {
                rows.push(cells(text));
            }
            at += 1;
        }
        if rows.len() >= 2 {
            tables.push(Table {
                first,
                last: at - 1,
                rows,
            });
        }
    }
    tables
}

fn is_table_line(notes: &Notes<'_>, line: usize) -> bool {
    let text = notes.lines[line].trim().trim_start_matches("> ");
    if text.starts_with(BARS) {
        return true;
    }
    if text.starts_with([
        '┌', '├', '└', '╒', '╞', '╘', '╔', '╠', '╚', '┏', '┣', '┡', '┗', '+',
    ]) && is_rule(text)
    {
        return true;
    }
    // Markdown without outer bars, known by the rule under its header.
    let ruled = |line: usize| {
        notes
            .lines
            .get(line)
            .is_some_and(|text| is_rule(text) && text.contains('|'))
    };
    text.contains('|')
        && (ruled(line)
            || ruled(line + 1)
            || (1..=64).any(|up| {
                line >= up
                    && ruled(line - up)
                    && (line - up..line).all(|l| notes.lines[l].contains('|'))
            }))
}

/// A line of dashes and corners.
fn is_rule(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text.contains(['-', '=', '─', '━', '═'])
        && text.chars().all(|c| {
            matches!(
                c,
                '-' | '=' | '+' | ':' | '|' | ' ' | '\u{2500}'..='\u{257f}'
            )
        })
}

fn cells(text: &str) -> Vec<&str> {
    let inner = text.trim().strip_prefix(BARS).unwrap_or(text.trim());
    let inner = inner.strip_suffix(BARS).unwrap_or(inner);
    inner
        .split(BARS)
        .map(|cell| cell.trim().trim_matches('*').trim())
        .collect()
}

/// Begin of a file that MindIE's tool writes.
fn csv_header(text: &str) -> bool {
    let text = text
        .trim_start_matches('\u{feff}')
        .trim_start_matches(',')
        .replace('"', "")
        .to_lowercase();
    text.starts_with("metric,average") || text.starts_with("common metric,value")
}

fn csv_cells(text: &str) -> Vec<&str> {
    let mut cells: Vec<&str> = text
        .split(',')
        .map(|cell| cell.trim().trim_matches('"').trim())
        .collect();
    // An index column without a name.
    if cells
        .first()
        .is_some_and(|cell| cell.is_empty() || cell.bytes().all(|b| b.is_ascii_digit()))
    {
        cells.remove(0);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_all_drawings_have_the_same_cells() {
        for text in [
            "| a | 8 |\n| --- | ---: |\n| b | 1 |",
            "+---+---+\n| a | 8 |\n+---+---+\n| b | 1 |\n+---+---+",
            "┌───┬───┐\n│ a │ 8 │\n├───┼───┤\n│ b │ 1 │\n└───┴───┘",
            "a | 8\n--- | ---\nb | 1",
        ] {
            let notes = Notes::new(text);
            let tables = tables(&notes);
            assert_eq!(tables.len(), 1, "{text}");
            assert_eq!(tables[0].rows, [vec!["a", "8"], vec!["b", "1"]], "{text}");
        }
    }
}
