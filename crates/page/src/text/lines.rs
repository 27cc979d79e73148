//! Lines of a known width, where a wide character takes two columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    // Character by character, as it is cut; clusters of emoji then count too wide, never too
    // narrow.
    text.chars()
        .map(char_width)
        .sum::<usize>()
        .max(text.width())
}

fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The text with blanks up to a width.
pub fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text with blanks before it up to a width.
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text cut to a width, with `…` where something is missing.
pub fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = prefix(text, columns.saturating_sub(1)).to_owned();
    out.truncate(out.trim_end().len());
    if columns > 0 {
        out.push('…');
    }
    out
}

/// The longest beginning of a text that fits.
fn prefix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += char_width(c);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// The text in lines of at most so many columns. Lines break at blanks and beside wide
/// characters; a word that is longer than a line breaks after punctuation, or where it must.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut blank = false;
    for atom in atoms(text) {
        if atom == " " {
            blank = !line.is_empty();
            continue;
        }
        let gap = usize::from(blank);
        if width(&line) + gap + width(atom) <= columns {
            if blank {
                line.push(' ');
            }
            line.push_str(atom);
        } else {
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            let mut rest = atom;
            while width(rest) > columns {
                let (head, tail) = split_word(rest, columns);
                lines.push(head.to_owned());
                rest = tail;
            }
            line.push_str(rest);
        }
        blank = false;
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// A line in several where there are fewer columns, those that follow indented.
pub fn broken(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    wrap(line, columns.saturating_sub(2)).join("\n  ")
}

/// Pieces between which a line may break: words, single blanks and single wide characters. A
/// sign that closes stays with what it closes, one that opens with what it opens.
fn atoms(text: &str) -> Vec<&str> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Option<char> = None;
    for (at, c) in text.char_indices() {
        if let Some(before) = before
            && may_break(before, c, &text[at + c.len_utf8()..])
        {
            ends.push(at);
        }
        before = Some(c);
    }
    ends.push(text.len());
    let mut start = 0;
    (ends.into_iter())
        .map(|end| &text[std::mem::replace(&mut start, end)..end])
        .filter(|atom| !atom.is_empty())
        .collect()
}

/// Whether a line may break between two characters, with what follows them.
fn may_break(before: char, after: char, rest: &str) -> bool {
    // A per cent sign stays with its number.
    match (before, after) {
        (' ', '%') => false,
        (_, ' ') if rest.starts_with('%') => false,
        (' ', _) | (_, ' ') => true,
        (before, _) if "（「《“".contains(before) => false,
        (_, after) if "，。；：、）」》”！？".contains(after) => false,
        (before, after) => char_width(before) > 1 || char_width(after) > 1,
    }
}

/// A word that is too long, split after punctuation in the second half of the line, else at
/// its end.
fn split_word(word: &str, columns: usize) -> (&str, &str) {
    let most = prefix(word, columns);
    let most = if most.is_empty() {
        // A single character that is wider than the line still has to go somewhere.
        &word[..word.chars().next().map_or(0, char::len_utf8)]
    } else {
        most
    };
    let at = most
        .rfind(['/', '-', '_', '.', ',', ';', '&', '?', '='])
        .map(|at| at + 1)
        .filter(|&at| at > most.len() / 2)
        .unwrap_or(most.len());
    word.split_at(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_broken_to_the_columns_of_a_terminal() {
        let line = "probes: 3; look back on them with: inferometer history watched";
        assert_eq!(broken(line, 80), line);
        let narrow = broken(line, 40);
        assert!(narrow.lines().all(|part| part.len() <= 40), "{narrow}");
        assert_eq!(narrow.replace("\n  ", " "), line);
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        assert_eq!(width("模型 a"), 6);
        assert_eq!(pad_right("模", 4), "模  ");
        assert_eq!(shorten("模型很大", 5), "模型…");
    }

    #[test]
    fn lines_break_at_blanks_and_between_wide_characters() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("错误：模型", 6), ["错误：", "模型"]);
        assert_eq!(wrap("平均，峰值", 4), ["平", "均，", "峰值"]);
        assert_eq!(wrap("输入（要求）", 6), ["输入", "（要", "求）"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("about 99 %", 8), ["about", "99 %"]);
    }

    #[test]
    fn a_long_word_breaks_after_punctuation() {
        assert_eq!(wrap("runs/2026-aaaaaaa", 10), ["runs/2026-", "aaaaaaa"]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_letter_is_lost(text in "[a-z模，（/ %\u{301}-]{0,80}", columns in 2usize..30) {
            let lines = wrap(&text, columns);
            for line in &lines {
                prop_assert!(width(line) <= columns, "{line}");
            }
            let letters = |text: &str| text.chars().filter(|&c| c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
