//! Tables: Markdown, ASCII and box drawing, and CSV of the kinds that are known.

use crate::notes::Notes;

/// Rows of cells.
pub(crate) struct Table {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Signs between cells.
pub(crate) const BARS: [char; 4] = ['|', '│', '┃', '║'];

/// All tables in lines that nobody has read.
pub(crate) fn tables(notes: &Notes<'_>) -> Vec<Table> {
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
        let mut drawn = Drawn::default();
        while at < notes.lines.len() && is_row(at) {
            let text = notes.lines[at]
                .trim()
                .trim_start_matches("> ")
                .trim_start_matches('\u{feff}');
            if csv {
                drawn.push(at, csv_cells(text));
            } else if is_rule(text) {
                drawn.rules.push(drawn.rows.len());
            } else {
                drawn.push(at, cells(text));
            }
            at += 1;
        }
        for (first, last, drawn) in drawn.apart(first, at - 1) {
            let rows = drawn.with_one_header();
            if rows.len() >= 2 {
                tables.push(Table { first, last, rows });
            }
        }
    }
    tables
}

/// Rows, and before which of them a rule is drawn.
#[derive(Default)]
struct Drawn {
    rows: Vec<Vec<String>>,
    /// The line of each row.
    lines: Vec<usize>,
    rules: Vec<usize>,
}

impl Drawn {
    fn push(&mut self, line: usize, row: Vec<String>) {
        self.lines.push(line);
        self.rows.push(row);
    }

    /// Tables that stand below each other without a line between: Markdown has one rule, under
    /// the header, so that each further one is under the header of another table.
    fn apart(mut self, first: usize, last: usize) -> Vec<(usize, usize, Drawn)> {
        let mut begins: Vec<usize> = match self.rules.as_slice() {
            [1, more @ ..] => more.iter().map(|at| at.saturating_sub(1)).collect(),
            _ => Vec::new(),
        };
        begins.dedup();
        // Rules between all rows are only lines.
        let mut ends = begins.iter().skip(1).copied().chain([self.rows.len()]);
        let whole = |begin: &usize| *begin >= 2 && ends.next().is_some_and(|end| end >= begin + 2);
        if !begins.iter().all(whole) {
            begins.clear();
        }
        let mut tables = Vec::new();
        let mut end = last;
        for header in begins.into_iter().rev() {
            let begin = self.lines[header];
            let below = Drawn {
                rows: self.rows.split_off(header),
                lines: self.lines.split_off(header),
                rules: vec![1],
            };
            tables.push((begin, end, below));
            end = begin - 1;
        }
        tables.push((first, end, self));
        tables.reverse();
        tables
    }

    /// A header of several lines between two rules as one: names that were too wide for their
    /// columns are broken.
    fn with_one_header(self) -> Vec<Vec<String>> {
        let Drawn {
            mut rows, rules, ..
        } = self;
        let broken = match rules.as_slice() {
            [0, end, ..] if (2..rows.len()).contains(end) => *end,
            _ => return rows,
        };
        let has_digit = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit());
        if rows[..broken].iter().flatten().any(has_digit) {
            return rows;
        }
        let body = rows.split_off(broken);
        let mut lines = rows.into_iter();
        let mut header = lines.next().unwrap_or_default();
        for line in lines {
            for (name, more) in header.iter_mut().zip(line) {
                if !name.is_empty() && !more.is_empty() {
                    name.push(' ');
                }
                name.push_str(&more);
            }
        }
        let mut rows = vec![header];
        rows.extend(body);
        rows
    }
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

fn cells(text: &str) -> Vec<String> {
    let inner = text.trim().strip_prefix(BARS).unwrap_or(text.trim());
    let inner = inner.strip_suffix(BARS).unwrap_or(inner);
    inner
        .split(BARS)
        .map(|cell| cell.trim().trim_matches('*').trim().to_owned())
        .collect()
}

/// Begin of a file that MindIE's, AIPerf's or GenAI-Perf's tool writes.
fn csv_header(text: &str) -> bool {
    let text = text
        .trim_start_matches('\u{feff}')
        .trim_start_matches(',')
        .replace('"', "")
        .to_lowercase();
    [
        "metric,average",
        "metric,avg",
        "metric,value",
        "common metric,value",
    ]
    .iter()
    .any(|begin| text.starts_with(begin))
}

/// Cells between commas; a comma in quotes is part of a number.
fn csv_cells(text: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("one is there").push(c),
        }
    }
    for cell in &mut cells {
        *cell = cell.trim().to_owned();
    }
    // An index column without a name.
    if cells
        .first()
        .is_some_and(|cell| cell.bytes().all(|b| b.is_ascii_digit()))
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
            "| a | 8 |\n|---|---|\n| b | 1 |\n|---|---|",
        ] {
            let notes = Notes::new(text);
            let tables = tables(&notes);
            assert_eq!(tables.len(), 1, "{text}");
            assert_eq!(tables[0].rows, [vec!["a", "8"], vec!["b", "1"]], "{text}");
        }
    }
    #[test]
    fn a_header_of_two_lines_is_one_and_quoted_commas_are_no_ends() {
        let text = "┏━━━┳━━━┓\n┃   ┃ Avg ┃\n┃ c ┃ TTFT ┃\n┡━━━╇━━━┩\n│ 1 │ 2 │\n└───┴───┘";
        let found = tables(&Notes::new(text));
        assert_eq!(found[0].rows, [vec!["c", "Avg TTFT"], vec!["1", "2"]]);
        let found = tables(&Notes::new("Metric,avg\nLatency,\"1,234.5\"\n"));
        assert_eq!(found[0].rows[1], ["Latency", "1,234.5"]);
    }
}
