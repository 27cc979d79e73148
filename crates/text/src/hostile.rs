//! Text that a server sent is hostile: made printable and short before it reaches a file, a
//! terminal or a page. `secret` takes keys out of it.

/// Longest text of a server that is kept with a record.
pub const KEPT_CHARS: usize = 2_000;

/// The text with control characters, terminal escapes and direction marks replaced, and cut
/// to `limit` characters.
pub fn printable(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    for (count, c) in text.chars().enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        out.push(match c {
            '\n' | '\t' => ' ',
            c if c.is_control() || reorders(c) => '\u{FFFD}',
            c => c,
        });
    }
    out
}

/// Text that can stand in an element or an attribute of HTML or XML, whoever wrote it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // These two are no characters of XML.
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

/// Characters that change the direction or the visibility of the text around them.
fn reorders(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_direction_marks_do_not_reach_the_terminal() {
        let text = printable("a\u{1b}[31mred\r\nb\u{202e}c\0", 100);
        assert!(!text.contains(['\u{1b}', '\r', '\n', '\u{202e}', '\0']));
        assert!(text.contains("red"));
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(printable("长文本很长", 2), "长文…");
    }
}
