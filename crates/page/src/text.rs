//! The plain-text renderer: a document in so many columns, for terminals and files.
//!
//! Text of servers is hostile, so everything is made printable here, where nothing can be
//! forgotten.

mod bars;
mod grid;
mod lines;

pub use lines::{broken, pad_left, pad_right, shorten, width, wrap};

use crate::doc::{Block, Command, Doc, Follow, Note, Pair, Section, Tone, Verdict};
use inferometer_text::hostile;

/// How the text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Columns of the page; less than 40 is taken as 40.
    pub width: usize,
    pub paint: Paint,
}

impl Default for TextStyle {
    fn default() -> Self {
        TextStyle {
            width: 80,
            paint: Paint::Plain,
        }
    }
}

/// Whether a terminal shows the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// No escape sequences: files, pipes, `NO_COLOR`.
    #[default]
    Plain,
    /// Bold and colours by ANSI escape sequences.
    Ansi,
}

/// Narrower pages cannot hold a table.
const NARROWEST: usize = 40;

/// Columns by which the content of a section is set in.
const INDENT: usize = 2;

/// Lines of a server's words that are shown.
const QUOTED_LINES: usize = 3;

/// The document as text, with a line feed at its end.
pub fn render(doc: &Doc, style: TextStyle) -> String {
    let mut page = Page {
        style: TextStyle {
            width: style.width.max(NARROWEST),
            ..style
        },
        key_width: key_width(doc),
        out: String::new(),
    };
    for section in &doc.sections {
        page.section(section);
    }
    page.out
}

/// One width for the keys of the whole document, so that facts stand under each other.
fn key_width(doc: &Doc) -> usize {
    let keys = |block: &Block| match block {
        Block::Pairs(pairs) => pairs.iter().map(|pair| width(&pair.key)).max(),
        Block::Command(command) => Some(width(&command.caption)),
        Block::Verdict(_)
        | Block::Paragraph(_)
        | Block::Table(_)
        | Block::Notes(_)
        | Block::Histogram(_)
        | Block::Quotes(_) => None,
    };
    let blocks = doc.sections.iter().flat_map(|section| &section.blocks);
    blocks.filter_map(keys).max().unwrap_or(0)
}

/// A text without anything that could move the cursor or hide.
fn clean(text: &str) -> String {
    hostile::printable(text, usize::MAX)
}

struct Page {
    style: TextStyle,
    key_width: usize,
    out: String,
}

impl Page {
    fn section(&mut self, section: &Section) {
        if section.blocks.is_empty() {
            return;
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        let mut heading = section.heading.as_deref().map(clean);
        if !shares_heading(section)
            && let Some(heading) = heading.take()
        {
            let painted = self.bold(&shorten(&heading, self.style.width));
            self.line(&painted);
        }
        for (place, block) in section.blocks.iter().enumerate() {
            let before = place
                .checked_sub(1)
                .and_then(|place| section.blocks.get(place));
            if before.is_some_and(|before| stands_apart(before, block)) {
                self.out.push('\n');
            }
            match block {
                Block::Verdict(verdict) => self.verdict(verdict),
                Block::Paragraph(text) => self.wrapped("", "", &clean(text)),
                Block::Pairs(pairs) => self.pairs(pairs),
                // The heading shares a line with the titles of the columns.
                Block::Table(table) => {
                    let lines = grid::lines(table, heading.take().as_deref(), self.style);
                    lines.iter().for_each(|line| self.line(line));
                }
                Block::Notes(notes) => self.notes(notes),
                Block::Command(command) => self.command(command),
                Block::Histogram(bars) => {
                    let lines = bars::lines(bars, self.style.width.saturating_sub(INDENT));
                    (lines.iter()).for_each(|line| self.line(&format!("{:INDENT$}{line}", "")));
                }
                Block::Quotes(quotes) => {
                    for quote in quotes {
                        let line = shorten(&clean(quote), self.room(""));
                        self.line(&format!("{:INDENT$}{line}", ""));
                    }
                }
            }
        }
    }

    /// The word, then its reason, on as many lines as that takes.
    fn verdict(&mut self, verdict: &Verdict) {
        let word = clean(&verdict.word);
        let mut said = clean(&verdict.reason);
        if !verdict.rest.is_empty() {
            said.push_str(&format!(" ({})", clean(&verdict.rest)));
        }
        let indent = width(&word) + 2;
        let lines = wrap(said.trim(), self.style.width.saturating_sub(indent));
        let mut lead = format!("{}  ", self.paint(verdict.tone, &word));
        for line in lines
            .iter()
            .map(String::as_str)
            .chain(lines.is_empty().then_some(""))
        {
            self.line(format!("{lead}{line}").trim_end());
            lead = " ".repeat(indent);
        }
    }

    fn pairs(&mut self, pairs: &[Pair]) {
        for pair in pairs {
            let key = pad_right(&clean(&pair.key), self.key_width);
            self.wrapped(&format!("{key}  "), "", &clean(&pair.value));
        }
    }

    fn command(&mut self, command: &Command) {
        let lead = format!("{}  ", pad_right(&clean(&command.caption), self.key_width));
        let room = self.room(&lead).saturating_sub(2);
        let mut lines: Vec<String> = Vec::new();
        for word in &command.words {
            let word = clean(word);
            match lines.last_mut() {
                Some(line) if width(line) + 1 + width(&word) <= room => {
                    line.push(' ');
                    line.push_str(&word);
                }
                Some(_) => lines.push(format!("  {word}")),
                None => lines.push(word),
            }
        }
        let last = lines.len().saturating_sub(1);
        for (place, line) in lines.iter().enumerate() {
            let lead = match place {
                0 => lead.clone(),
                _ => " ".repeat(width(&lead)),
            };
            let end = if place < last { " \\" } else { "" };
            self.line(&format!("{:INDENT$}{lead}{line}{end}", ""));
        }
    }

    fn notes(&mut self, notes: &[Note]) {
        let tags = notes.iter().map(|note| width(&clean(&note.tag))).max();
        let tag_width = tags.unwrap_or(0);
        for note in notes {
            let tag = clean(&note.tag);
            let tag = if tag.starts_with(|c: char| c.is_ascii_digit()) {
                pad_left(&tag, tag_width)
            } else {
                pad_right(&tag, tag_width)
            };
            let subject = clean(&note.subject);
            let text = if note.text.is_empty() {
                subject.clone()
            } else {
                format!("{subject}: {}", clean(&note.text))
            };
            let lead = format!("{}  ", self.paint(note.tone, &tag));
            let blank = " ".repeat(tag_width + 2);
            self.hung(&lead, &blank, &wrap(&text, self.room(&blank)));
            match &note.follow {
                Some(Follow::Remedy(remedy)) => {
                    let lines = wrap(&clean(remedy), self.room(&blank).saturating_sub(2));
                    self.hung(&format!("{blank}→ "), &format!("{blank}  "), &lines);
                }
                Some(Follow::Quote(quote)) => {
                    let room = self.room(&blank);
                    let mut lines = wrap(&clean(quote), room);
                    if lines.len() > QUOTED_LINES {
                        lines.truncate(QUOTED_LINES);
                        if let Some(last) = lines.last_mut() {
                            *last = shorten(&format!("{last} …"), room);
                            if !last.ends_with('…') {
                                last.push('…');
                            }
                        }
                    }
                    self.hung(&blank, &blank, &lines);
                }
                None => {}
            }
        }
    }

    /// Columns that are left after the indentation and a lead.
    fn room(&self, lead: &str) -> usize {
        self.style.width.saturating_sub(INDENT + width(lead))
    }

    /// A text over as many lines as it needs, each after the first as far in as the first.
    fn wrapped(&mut self, lead: &str, end: &str, text: &str) {
        let blank = " ".repeat(width(lead));
        let lines = wrap(&format!("{text}{end}"), self.room(lead));
        self.hung(lead, &blank, &lines);
    }

    fn hung(&mut self, lead: &str, blank: &str, lines: &[String]) {
        for (place, line) in lines.iter().enumerate() {
            let lead = if place == 0 { lead } else { blank };
            self.line(&format!("{:INDENT$}{lead}{line}", ""));
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn bold(&self, text: &str) -> String {
        paint(self.style.paint, "1", text)
    }

    fn paint(&self, tone: Tone, text: &str) -> String {
        paint_tone(self.style.paint, tone, text)
    }
}

/// A table whose first column has no title takes the heading of its section in its place.
fn shares_heading(section: &Section) -> bool {
    match section.blocks.first() {
        Some(Block::Table(table)) => {
            (table.columns.first()).is_some_and(|column| column.title.is_empty())
        }
        _ => false,
    }
}

/// Whether a blank line belongs between two blocks of a section.
fn stands_apart(before: &Block, block: &Block) -> bool {
    !matches!(
        (before, block),
        (Block::Pairs(_), Block::Pairs(_) | Block::Command(_))
            | (Block::Paragraph(_), Block::Histogram(_))
            | (Block::Notes(_), Block::Paragraph(_))
    )
}

fn paint_tone(paint_with: Paint, tone: Tone, text: &str) -> String {
    match tone {
        Tone::Plain => text.to_owned(),
        Tone::Good => paint(paint_with, "1;32", text),
        Tone::Caution => paint(paint_with, "33", text),
        Tone::Bad => paint(paint_with, "1;31", text),
    }
}

fn paint(paint: Paint, code: &str, text: &str) -> String {
    match paint {
        Paint::Plain => text.to_owned(),
        Paint::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    }
}
