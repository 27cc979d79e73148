//! A text as lines, and which of them have been read.

use std::borrow::Cow;
use std::collections::BTreeMap;

pub struct Notes<'a> {
    pub lines: Vec<&'a str>,
    /// Byte at which each line begins.
    pub starts: Vec<usize>,
    taken: Vec<bool>,
    /// Spans of lines that are a result's and cannot be read.
    pub failed: Vec<(usize, usize)>,
    /// Tables of loads or lengths whose cells nobody knows, unless another reader takes them.
    pub unknown: Vec<(usize, usize)>,
    /// What lines above tables that were read together say beside the names of their metrics.
    pub captions: BTreeMap<usize, String>,
    /// Lines of fenced text without a result, once the results are known.
    pub code: Vec<bool>,
}

impl<'a> Notes<'a> {
    pub fn new(text: &'a str) -> Self {
        let (mut lines, mut starts, mut at) = (Vec::new(), Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            starts.push(at);
            at += line.len();
            lines.push(line.trim_end_matches(['\n', '\r']));
        }
        let taken = vec![false; lines.len()];
        Notes {
            lines,
            starts,
            taken,
            failed: Vec::new(),
            unknown: Vec::new(),
            captions: BTreeMap::new(),
            code: Vec::new(),
        }
    }

    pub fn line_of(&self, byte: usize) -> usize {
        self.starts
            .partition_point(|start| *start <= byte)
            .saturating_sub(1)
    }

    pub fn take(&mut self, (first, last): (usize, usize)) {
        let end = (last + 1).min(self.taken.len());
        if let Some(span) = self.taken.get_mut(first..end) {
            span.fill(true);
        }
    }

    /// Takes lines of a result that cannot be read.
    pub fn fail(&mut self, lines: (usize, usize)) {
        self.take(lines);
        self.failed.push(lines);
    }

    pub fn is_taken(&self, line: usize) -> bool {
        self.taken.get(line).copied().unwrap_or(true)
    }

    /// A line without quote marks, bullets and what a logger puts in front.
    pub fn bare(&self, line: usize) -> &'a str {
        self.lines.get(line).map_or("", |text| bare(text))
    }
}

/// Letters and digits of full width as plain ones, and the signs inside such numbers: `３．５％`.
pub fn plain_width(text: &str) -> Cow<'_, str> {
    let is_wide = |c: char| matches!(c, '\u{ff0c}' | '\u{ff0e}' | '\u{ff05}' | '０'..='９' | 'Ａ'..='Ｚ' | 'ａ'..='ｚ');
    if !text.contains(is_wide) {
        return Cow::Borrowed(text);
    }
    let chars: Vec<char> = text.chars().collect();
    let is_digit = |at: Option<usize>| {
        let c = at.and_then(|at| chars.get(at));
        c.is_some_and(|c| c.is_ascii_digit() || ('０'..='９').contains(c))
    };
    let plain = chars.iter().enumerate().map(|(at, &c)| match c {
        // Between digits alone: elsewhere it is punctuation.
        '，' | '．' if !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))) => c,
        // Forms of full width stand in the order of ASCII.
        c if is_wide(c) => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    });
    Cow::Owned(plain.collect())
}

/// Takes off quote marks, bullets and what a logger puts in front.
pub fn bare(text: &str) -> &str {
    let mut text = text.trim().trim_start_matches('\u{feff}').trim_start();
    loop {
        let mut marks = ["> ", "- ", "* ", "+ ", "• ", "· ", "(EngineCore)"].iter();
        let shorter = marks.find_map(|mark| text.strip_prefix(mark));
        match shorter.or_else(|| log_tag(text)) {
            Some(shorter) if shorter.len() < text.len() => text = shorter.trim_start(),
            _ => return text,
        }
    }
}

/// Cuts `[…]` off the front, a date, or a level with its colon.
fn log_tag(text: &str) -> Option<&str> {
    if let Some(inner) = text.strip_prefix('[') {
        let (tag, rest) = inner.split_once(']')?;
        return (tag.len() <= 48 && !tag.contains('[')).then_some(rest);
    }
    let first = text.split(' ').next()?;
    let is_stamp = first.len() >= 8
        && first.as_bytes().first().is_some_and(u8::is_ascii_digit)
        && first
            .bytes()
            .all(|b| b.is_ascii_digit() || b"-:.,/T+Z".contains(&b))
        && (first.matches('-').count() == 2 || first.matches(':').count() == 2);
    let is_level = matches!(
        first.trim_end_matches(':'),
        "INFO" | "WARNING" | "DEBUG" | "ERROR" | "WARN" | "|"
    );
    // A line `-` + one of these words is a logger's separator.
    let is_joint = first == "-" || first == "|";
    let rest = &text[first.len()..];
    ((is_stamp || is_level || (is_joint && !rest.contains('|'))) && !rest.trim().is_empty())
        .then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_logger_puts_in_front_is_cut_off() {
        for text in [
            "[2031-01-02 03:04:05,678][46][INFO] duration: 12",
            "2031-01-02 03:04:05,678 - INFO - duration: 12",
            "> - duration: 12",
            "INFO: duration: 12",
            "duration: 12",
        ] {
            assert_eq!(bare(text), "duration: 12", "{text}");
        }
    }

    #[test]
    fn a_byte_is_found_in_its_line() {
        let notes = Notes::new("ab\nc\r\n\nd");
        assert_eq!(notes.lines, ["ab", "c", "", "d"]);
        assert_eq!([0, 2, 3, 7].map(|byte| notes.line_of(byte)), [0, 0, 1, 3]);
    }
}
