//! Parts of a document as HTML, every text escaped.

use super::escape::escaped;
use super::glossary::Glossary;
use super::texts::ControlText;
use crate::doc::{
    Align, Bar, Block, Cell, Column, Command, Follow, Note, Number, Pair, Table, Tone, Unit,
    Verdict,
};
use crate::number;
use inferometer_text::Lang;

/// English and Chinese, of which the page shows one; what is the same stands once.
pub(super) fn both(tag: &str, [en, zh]: &[String; 2]) -> String {
    if en == zh {
        en.clone()
    } else {
        format!("<{tag} lang=\"en\">{en}</{tag}><{tag} lang=\"zh\">{zh}</{tag}>")
    }
}

pub(super) fn section(
    heading: Option<&str>,
    blocks: &[Block],
    glossary: &Glossary,
    lang: Lang,
) -> String {
    if blocks.is_empty() {
        return String::new();
    }
    let heading = match heading {
        Some(heading) => format!("<h2>{}</h2>\n", escaped(heading)),
        None => String::new(),
    };
    let blocks: String = (blocks.iter())
        .map(|it| block(it, glossary, lang))
        .collect();
    format!("<section>\n{heading}{blocks}</section>\n")
}

fn block(block: &Block, glossary: &Glossary, lang: Lang) -> String {
    match block {
        Block::Verdict(it) => verdict(it),
        Block::Paragraph(text) => format!("<p>{}</p>\n", escaped(text)),
        Block::Pairs(it) => pairs(it, glossary),
        Block::Table(it) => table(it, glossary, lang),
        Block::Notes(it) => {
            let notes: String = it.iter().map(note).collect();
            format!("<ul class=\"notes\">\n{notes}</ul>\n")
        }
        Block::Command(it) => command(it, lang),
        Block::Histogram(bars) => histogram(bars),
        Block::Quotes(quotes) => {
            let lines = quotes.iter();
            let lines: String = lines
                .map(|quote| format!("<li><code>{}</code></li>\n", escaped(quote)))
                .collect();
            format!("<ul>\n{lines}</ul>\n")
        }
    }
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Caution => "caution",
        Tone::Bad => "bad",
    }
}

fn verdict(verdict: &Verdict) -> String {
    let rest = if verdict.rest.is_empty() {
        String::new()
    } else {
        format!(" <span>({})</span>", escaped(&verdict.rest))
    };
    format!(
        "<p class=\"verdict {}\"><strong>{}</strong> {}{rest}</p>\n",
        tone(verdict.tone),
        escaped(&verdict.word),
        escaped(&verdict.reason)
    )
}

fn pairs(pairs: &[Pair], glossary: &Glossary) -> String {
    let rows = pairs.iter().map(|pair| {
        format!(
            "<dt>{}</dt><dd>{}</dd>\n",
            glossary.explained(&pair.key),
            escaped(&pair.value)
        )
    });
    format!("<dl>\n{}</dl>\n", rows.collect::<String>())
}

fn note(note: &Note) -> String {
    let text = if note.text.is_empty() {
        String::new()
    } else {
        format!(" {}", escaped(&note.text))
    };
    let follow = match &note.follow {
        Some(Follow::Remedy(remedy)) => format!("<p class=\"remedy\">{}</p>", escaped(remedy)),
        Some(Follow::Quote(quote)) => format!("<pre>{}</pre>", escaped(quote)),
        None => String::new(),
    };
    // A subject without a text is a sentence, not the name of one.
    let subject = match text.as_str() {
        "" => escaped(&note.subject),
        _ => format!("<code>{}</code>", escaped(&note.subject)),
    };
    let line = format!("<strong>{}</strong> {subject}{text}", escaped(&note.tag));
    // One line each; what to do about it is behind it.
    let class = tone(note.tone);
    let content = if follow.is_empty() {
        line
    } else {
        format!("<details><summary class=\"{class}\">{line}</summary>{follow}</details>")
    };
    format!("<li class=\"{class}\">{content}</li>\n")
}

fn command(command: &Command, lang: Lang) -> String {
    // A number stands beside its command, words above it.
    let (above, beside) = match command.caption.as_str() {
        "" => (String::new(), String::new()),
        caption if caption.chars().count() <= NUMBER => {
            (String::new(), format!("<span>{}</span>", escaped(caption)))
        }
        caption => (format!("<p>{}</p>\n", escaped(caption)), String::new()),
    };
    format!(
        "{above}<div class=\"command\">{beside}<pre>{}</pre>\
         <button type=\"button\" data-copy=\"command\">{}</button></div>\n",
        escaped(&command.words.join(" ")),
        ControlText::Copy.text(lang)
    )
}

fn histogram(bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let rows = bars.iter().zip(Bar::ranges(bars)).map(|(bar, range)| {
        let share = 100.0 * bar.count as f64 / most as f64;
        format!(
            "<dt>{range}</dt><dd><span class=\"bar\" style=\"width:{share:.1}%\"></span> {}</dd>\n",
            number::count(bar.count)
        )
    });
    format!(
        "<dl class=\"histogram\">\n{}</dl>\n",
        rows.collect::<String>()
    )
}

fn table(table: &Table, glossary: &Glossary, lang: Lang) -> String {
    let head: String = (table.columns.iter().enumerate())
        .map(|(place, column)| {
            format!(
                "<th{}{} aria-sort=\"none\" tabindex=\"0\">{}</th>",
                side(column),
                unit(table, place),
                glossary.explained(&column.title)
            )
        })
        .collect();
    let rows: String = (table.rows.iter())
        .map(|cells| {
            let cells = table.columns.iter().zip(cells).enumerate();
            let cells: String = cells
                .map(|(place, (column, it))| cell(it, column, place, glossary))
                .collect();
            format!("<tr>{cells}</tr>\n")
        })
        .collect();
    let notes: String = (table.footnotes.iter())
        .map(|note| format!("<p class=\"note\">{}</p>\n", escaped(note)))
        .collect();
    let tall = if table.rows.len() > TALL { " tall" } else { "" };
    format!(
        "<div class=\"table\"><div class=\"scroll{tall}\"><table>\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n<p class=\"tools\">\
         <button type=\"button\" data-copy=\"markdown\">{}</button> \
         <button type=\"button\" data-copy=\"csv\">{}</button></p>{notes}</div>\n",
        ControlText::CopyMarkdown.text(lang),
        ControlText::CopyCsv.text(lang)
    )
}

/// The unit of a column's numbers, for whoever copies them bare.
fn unit(table: &Table, place: usize) -> String {
    let units = table.rows.iter().filter_map(|row| match row.get(place)? {
        Cell::Number(number) | Cell::Range(number, _) => Some(match number.unit {
            Unit::Seconds => Unit::Milliseconds,
            unit => unit,
        }),
        _ => None,
    });
    let mut units = units.map(Unit::sign);
    let first = units.next().unwrap_or_default();
    if !first.is_empty() && units.all(|unit| unit == first) {
        format!(" data-unit=\"{first}\"")
    } else {
        String::new()
    }
}

fn side(column: &Column) -> &'static str {
    match column.align {
        Align::Left => "",
        Align::Right => " class=\"right\"",
    }
}

fn cell(cell: &Cell, column: &Column, place: usize, glossary: &Glossary) -> String {
    let shown = match cell {
        Cell::Toned(text, it) => {
            format!("<span class=\"{}\">{}</span>", tone(*it), escaped(text))
        }
        Cell::Text(text) if place == 0 => glossary.explained(text),
        Cell::Absent => format!("<span class=\"absent\">{}</span>", number::ABSENT),
        cell => escaped(&cell.shown()),
    };
    // Times sort by one unit, whatever they are shown in.
    let value = |number: &Number| match number.unit {
        Unit::Seconds => 1e3 * number.value,
        _ => number.value,
    };
    let value = match cell {
        Cell::Number(number) => format!(" data-value=\"{}\"", value(number)),
        Cell::Range(low, high) => format!(
            " data-value=\"{}\" data-high=\"{}\"",
            value(low),
            value(high)
        ),
        _ => String::new(),
    };
    let long = match cell.shown().chars().count() {
        LONG.. => " data-long",
        WORDY.. => " data-words",
        _ => "",
    };
    format!("<td{}{value}{long}>{shown}</td>", side(column))
}

/// Rows up to which a table is shown whole.
const TALL: usize = 40;

/// Characters from which on a cell is broken into lines.
const LONG: usize = 49;

/// Characters from which on a cell may be broken where the table would be too wide.
const WORDY: usize = 25;

/// Characters of a caption that is the number of a command.
const NUMBER: usize = 4;
