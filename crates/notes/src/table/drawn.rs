//! Tables drawn with bars and rules: Markdown, ASCII and box drawing.

use super::header;
use super::text_table::{BARS, TextTable};
use crate::notes::Notes;

/// Adds the tables that begin in a line. Returns the last line of them.
pub(super) fn read(notes: &Notes<'_>, first: usize, tables: &mut Vec<TextTable>) -> Option<usize> {
    let is_row = |line: usize| !notes.is_taken(line) && is_table_line(notes, line);
    let mut at = first;
    let mut drawn = Drawn::default();
    let mut after_rule = false;
    while at < notes.lines.len() && is_row(at) {
        let text = notes.lines[at]
            .trim()
            .trim_start_matches("> ")
            .trim_start_matches('\u{feff}');
        let rule = is_rule(text);
        // One table ends with a rule, and the next begins with one.
        if rule && after_rule && !drawn.rows.is_empty() {
            break;
        }
        after_rule = rule;
        if rule {
            drawn.rules.push(drawn.rows.len());
        } else {
            drawn.lines.push(at);
            drawn.rows.push(cells(text));
        }
        at += 1;
    }
    let last = at.checked_sub(1).filter(|last| *last >= first)?;
    for (first, last, drawn) in drawn.apart(first, last) {
        let rows = drawn.with_one_header();
        if rows.len() >= 2 {
            tables.push(TextTable { first, last, rows });
        }
    }
    Some(last)
}

/// Rows, and before which of them a rule is drawn.
#[derive(Default)]
struct Drawn {
    rows: Vec<Vec<String>>,
    lines: Vec<usize>,
    rules: Vec<usize>,
}

impl Drawn {
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
        let Drawn { rows, rules, .. } = self;
        let has_digit = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit());
        let height = match rules.as_slice() {
            [0, end, ..]
                if (2..rows.len()).contains(end)
                    && !rows[..*end].iter().flatten().any(has_digit) =>
            {
                *end
            }
            _ => 1,
        };
        header::merged(rows, height)
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
    let is_ruled = |text: &&str| is_rule(text) && text.contains('|');
    let ruled = |line: usize| notes.lines.get(line).is_some_and(is_ruled);
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
        .map(|cell| {
            let cell = cell.replace("<br>", " ").replace("<br/>", " ");
            // The mark of a footnote, as Markdown writes it.
            let cell = cell.replace("\\*", "*");
            cell.trim().trim_matches('*').trim().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tables;
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
    fn a_header_of_two_lines_is_one() {
        let text = "┏━━━┳━━━┓\n┃   ┃ Avg ┃\n┃ c ┃ TTFT ┃\n┡━━━╇━━━┩\n│ 1 │ 2 │\n└───┴───┘";
        let found = tables(&Notes::new(text));
        assert_eq!(found[0].rows, [vec!["c", "Avg TTFT"], vec!["1", "2"]]);
    }

    #[test]
    fn two_rules_in_a_row_are_between_two_tables() {
        let one = "+---+---+\n| a | b |\n+---+---+\n| c | 1 |\n+---+---+\n";
        let found = tables(&Notes::new(&one.repeat(2)));
        let spans: Vec<_> = found.iter().map(|it| (it.first, it.last)).collect();
        assert_eq!(spans, [(0, 4), (5, 9)]);
        assert_eq!(found[1].rows, [vec!["a", "b"], vec!["c", "1"]]);
    }
}
