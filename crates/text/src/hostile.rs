//! Text that a server sent is hostile: made printable and short, and rid of secrets before
//! it reaches a file, a terminal or a page.

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

/// Characters that change the direction or the visibility of the text around them.
fn reorders(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

/// Secrets of this run, known so that they can be kept out of everything that is written.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

/// Shorter values would blot out ordinary text.
const SHORTEST_SECRET: usize = 4;

impl Secrets {
    /// Adds a value that must never be written.
    pub fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() >= SHORTEST_SECRET && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_owned());
            // The longest first, so that a secret inside another leaves no remainder.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    pub fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret, "[redacted]")
        })
    }

    /// A server's text as it may be kept: redacted, printable, short.
    pub fn keep(&self, text: &str) -> String {
        printable(&self.redact(text), KEPT_CHARS)
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
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

    #[test]
    fn a_key_that_the_server_repeats_is_blotted_out() {
        let mut secrets = Secrets::default();
        secrets.add("sk-abcdef");
        secrets.add("sk-abcdef-long");
        let kept = secrets.keep("Incorrect API key provided: sk-abcdef-long.");
        assert_eq!(kept, "Incorrect API key provided: [redacted].");
        assert!(!format!("{secrets:?}").contains("sk-"));
    }
}
