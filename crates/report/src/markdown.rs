//! The Markdown renderer: a document to paste into notes.

use crate::doc::{Align, Block, Cell, Doc, Follow, Section, Table};
use inferometer_core::hostile::printable;

/// The document as Markdown, with a line feed at its end.
pub fn render(doc: &Doc) -> String {
    let sections = doc
        .sections
        .iter()
        .filter(|section| !section.blocks.is_empty());
    let sections: Vec<String> = sections.map(section).collect();
    sections.join("\n") + "\n"
}

fn section(section: &Section) -> String {
    let mut parts = Vec::new();
    if let Some(heading) = &section.heading {
        parts.push(format!("### {}\n", plain(heading)));
    }
    parts.extend(section.blocks.iter().map(block));
    parts.join("\n")
}

fn block(block: &Block) -> String {
    let items =
        |items: Vec<String>| -> String { items.iter().map(|item| format!("- {item}\n")).collect() };
    match block {
        Block::Verdict(verdict) => {
            let rest = match verdict.rest.is_empty() {
                true => String::new(),
                false => format!(" · {}", plain(&verdict.rest)),
            };
            format!(
                "**{}** {}{rest}\n",
                plain(&verdict.word),
                plain(&verdict.reason)
            )
        }
        Block::Paragraph(text) => plain(text) + "\n",
        Block::Pairs(pairs) => items(
            (pairs.iter())
                .map(|pair| format!("{}: {}", plain(&pair.key), plain(&pair.value)))
                .collect(),
        ),
        Block::Table(table) => self::table(table),
        Block::Notes(notes) => items(
            (notes.iter())
                .map(|note| {
                    let follow = match &note.follow {
                        Some(Follow::Remedy(text) | Follow::Quote(text)) => text.as_str(),
                        None => "",
                    };
                    let parts = [&note.tag, &note.subject, &note.text].map(String::as_str);
                    let parts = parts.into_iter().chain([follow]);
                    let parts: Vec<String> =
                        parts.filter(|part| !part.is_empty()).map(plain).collect();
                    parts.join(" · ")
                })
                .collect(),
        ),
        Block::Command(command) => format!("```sh\n{}\n```\n", command.words.join(" ")),
        Block::Histogram(bars) => items(
            (bars.iter())
                .map(|bar| format!("{}–{}: {}", bar.from, bar.to, bar.count))
                .collect(),
        ),
        Block::Quotes(lines) => items(lines.iter().map(|line| plain(line)).collect()),
    }
}

fn table(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = row(table
        .columns
        .iter()
        .map(|column| plain(&column.title))
        .collect());
    let rule = table.columns.iter().map(|column| match column.align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    });
    out.push_str(&row(rule.collect()));
    for cells in &table.rows {
        out.push_str(&row(cells
            .iter()
            .map(Cell::shown)
            .map(|cell| plain(cell.trim()))
            .collect()));
    }
    for footnote in &table.footnotes {
        out.push_str(&format!("\n{}\n", plain(footnote)));
    }
    out
}

/// A text that is nothing but text: it opens no table, no tag and no emphasis.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in printable(text, usize::MAX).chars() {
        if matches!(
            character,
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' | '#'
        ) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::{Column, Pair, Verdict};

    #[test]
    fn a_table_keeps_its_cells_whatever_they_hold() {
        let doc = Doc {
            sections: vec![Section::headed(
                "At | 8",
                vec![
                    Block::Verdict(Verdict {
                        word: "SAME".into(),
                        tone: crate::doc::Tone::Good,
                        reason: "by 1 %".into(),
                        rest: String::new(),
                    }),
                    Block::Pairs(vec![Pair::new("A", "<b>run</b>")]),
                    Block::Table(Table {
                        columns: vec![Column::left("name"), Column::right("n")],
                        rows: vec![vec![Cell::text("a|b\n*c*"), Cell::count(1200)]],
                        footnotes: vec!["a note".into()],
                    }),
                ],
            )],
        };
        let text = render(&doc);
        assert!(text.starts_with("### At \\| 8\n"), "{text}");
        assert!(text.contains("**SAME** by 1 %\n"), "{text}");
        assert!(text.contains("- A: \\<b\\>run\\</b\\>\n"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 3, "{text}");
        assert_eq!(rows[1], "| --- | ---: |");
        assert!(
            rows[2].starts_with("| a\\|b") && rows[2].ends_with("| 1,200 |"),
            "{text}"
        );
    }
}
