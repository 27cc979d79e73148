//! The Markdown renderer: a document for notes, merge requests and wikis, in the dialect of
//! GitHub and GitLab.
//!
//! Text of servers is hostile: whatever Markdown or HTML would take for markup is escaped, and
//! nothing can end its line, its cell or its fence.

use crate::doc::{Align, Bar, Block, Cell, Command, Doc, Follow, Note, Section, Table, Tone};
use crate::number;
use inferometer_text::hostile;

/// The document as Markdown, with a line feed at its end.
pub fn render(doc: &Doc) -> String {
    let sections = doc.sections.iter();
    let parts: Vec<String> = sections.flat_map(section).collect();
    parts.join("\n")
}

/// The parts of a section, each of which ends with a line feed.
fn section(section: &Section) -> Vec<String> {
    let heading = (section.heading.as_deref())
        .filter(|_| !section.blocks.is_empty())
        .map(|heading| format!("## {}\n", escaped(heading)));
    let blocks = section.blocks.iter().map(block);
    heading.into_iter().chain(blocks).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Verdict(verdict) => {
            let rest = if verdict.rest.is_empty() {
                String::new()
            } else {
                format!(" ({})", escaped(&verdict.rest))
            };
            let (word, reason) = (escaped(&verdict.word), escaped(&verdict.reason));
            format!("**{word}** {reason}{rest}\n")
        }
        Block::Paragraph(text) => format!("{}\n", line(text)),
        Block::Pairs(pairs) => pairs
            .iter()
            .map(|pair| format!("- **{}:** {}\n", escaped(&pair.key), escaped(&pair.value)))
            .collect(),
        Block::Table(table) => drawn(table),
        Block::Notes(notes) => notes.iter().map(note).collect(),
        Block::Command(command) => fenced(command),
        Block::Histogram(bars) => histogram(bars),
        Block::Quotes(quotes) => quotes
            .iter()
            .map(|quote| format!("- {}\n", code(quote)))
            .collect(),
    }
}

fn drawn(table: &Table) -> String {
    let titles = table.columns.iter().map(|column| escaped(&column.title));
    let rules = table.columns.iter().map(|column| match column.align {
        Align::Left => ":--".to_owned(),
        Align::Right => "--:".to_owned(),
    });
    let mut out = row(titles) + &row(rules);
    for cells in &table.rows {
        out.push_str(&row(cells.iter().map(cell)));
    }
    for footnote in &table.footnotes {
        out.push_str(&format!("\n{}\n", line(footnote)));
    }
    out
}

fn cell(cell: &Cell) -> String {
    let text = escaped(&cell.shown());
    match cell {
        Cell::Toned(_, Tone::Bad) => format!("**{text}**"),
        _ => text,
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

fn histogram(bars: &[Bar]) -> String {
    let rows = (bars.iter().zip(Bar::ranges(bars)))
        .map(|(bar, range)| row([range, number::count(bar.count)].into_iter()));
    format!("|  |  |\n| --: | --: |\n{}", rows.collect::<String>())
}

fn note(note: &Note) -> String {
    let tag = escaped(&note.tag);
    let subject = code(&note.subject);
    let text = if note.text.is_empty() {
        String::new()
    } else {
        format!(": {}", escaped(&note.text))
    };
    let follow = match &note.follow {
        Some(Follow::Remedy(remedy)) => format!("  - → {}\n", escaped(remedy)),
        Some(Follow::Quote(quote)) => format!("  - {}\n", code(quote)),
        None => String::new(),
    };
    format!("- **{tag}** {subject}{text}\n{follow}")
}

/// A command to copy: one line, so that any shell takes it.
fn fenced(command: &Command) -> String {
    let words: Vec<String> = command.words.iter().map(|word| clean(word)).collect();
    let line = words.join(" ");
    let fence = "`".repeat(longest_ticks(&line).max(2) + 1);
    let caption = match command.caption.as_str() {
        "" => String::new(),
        caption => format!("{}\n\n", escaped(caption)),
    };
    format!("{caption}{fence}sh\n{line}\n{fence}\n")
}

/// Somebody else's words as they are; never inside a table, where a bar would end the cell.
fn code(text: &str) -> String {
    let text = clean(text);
    if text.trim().is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_ticks(&text) + 1);
    // A blank keeps the ticks of the text and of the markup apart.
    let blank = if text.contains('`') { " " } else { "" };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

fn longest_ticks(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// A text on one line without anything that could move the cursor or hide.
fn clean(text: &str) -> String {
    let text = hostile::printable(text, usize::MAX);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text that begins a line: what would make it a heading or a list is escaped too.
fn line(text: &str) -> String {
    let text = escaped(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        Some('#' | '+' | '-' | '=') if digits == 0 => format!("\\{text}"),
        _ => text,
    }
}

/// A text whose every sign stands for itself.
fn escaped(text: &str) -> String {
    let text = clean(text);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let inside_word =
            before.is_alphanumeric() && rest.peek().is_some_and(|after| after.is_alphanumeric());
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Inside a word it is only itself, and names full of escapes are hard to read.
            '_' if inside_word => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::Column;

    fn one(block: Block) -> String {
        render(&Doc {
            sections: vec![Section::plain([block])],
        })
    }

    #[test]
    fn signs_of_markdown_and_html_stand_for_themselves() {
        assert_eq!(escaped("a|b `c` *d* <e>"), r"a\|b \`c\` \*d\* &lt;e&gt;");
        assert_eq!(escaped("max_num_seqs _x_"), r"max_num_seqs \_x\_");
        assert_eq!(escaped("a\nb\n\n c"), "a b c");
        assert_eq!(line("1. first"), r"1\. first");
        assert_eq!(line("- x"), r"\- x");
        assert_eq!(line("12 %"), "12 %");
    }

    #[test]
    fn no_text_ends_its_cell_or_its_fence() {
        let table = Table {
            columns: vec![Column::left("a|b"), Column::right("n")],
            rows: vec![vec![Cell::text("x|\n| y | z"), Cell::count(1_234)]],
            footnotes: vec!["* few".to_owned()],
        };
        assert_eq!(
            one(Block::Table(table)),
            "| a\\|b | n |\n| :-- | --: |\n| x\\| \\| y \\| z | 1,234 |\n\n\\* few\n"
        );
        let command = Command {
            caption: "Repeat".to_owned(),
            words: vec!["run".to_owned(), "'```\n# x'".to_owned()],
        };
        assert_eq!(
            one(Block::Command(command)),
            "Repeat\n\n````sh\nrun '``` # x'\n````\n"
        );
    }

    #[test]
    fn quotes_hold_any_number_of_backticks_and_no_html() {
        assert_eq!(code("a`b``c"), "``` a`b``c ```");
        assert_eq!(code("<script>"), "`<script>`");
        assert_eq!(code(" \n"), "");
    }
}
