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

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Secrets of this run, known so that they can be kept out of everything that is written: in
/// lower case, each in every form in which a server may repeat it.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

/// Shorter values would blot out ordinary text.
const SHORTEST_SECRET: usize = 4;
/// The same for the middle of a value in base64, of which the ends depend on what is beside it.
const SHORTEST_BASE64: usize = 8;

impl Secrets {
    /// Adds a value that must never be written, whatever its case, plain, as JSON or a URL writes
    /// it, or in base64, alone or inside a longer value.
    pub fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() < SHORTEST_SECRET {
            return;
        }
        let in_url = |byte: u8| match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02x}"),
        };
        let in_url: String = secret.bytes().map(in_url).collect();
        let json = secret.replace('\\', "\\\\").replace('"', "\\\"");
        let forms = [
            secret.to_owned(),
            in_url.replace("%20", "+"),
            in_url,
            json.replace('/', "\\/"),
            json.replace('/', "\\u002f"),
            json,
        ];
        let base64 = (0..3).map(|offset| base64_inside(secret.as_bytes(), offset));
        let base64 = base64.filter(|form| form.len() >= SHORTEST_BASE64);
        let url_safe = |form: String| [form.replace('+', "-").replace('/', "_"), form];
        for form in forms.into_iter().chain(base64.flat_map(url_safe)) {
            let form = form.to_ascii_lowercase();
            if !self.0.contains(&form) {
                self.0.push(form);
            }
        }
        // The longest first, so that a secret inside another leaves no remainder.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn redact(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        // Lower case of ASCII keeps every byte in its place.
        let mut lower = text.to_ascii_lowercase();
        let mut text = text.to_owned();
        for secret in &self.0 {
            while let Some(at) = lower.find(secret.as_str()) {
                let range = at..at + secret.len();
                lower.replace_range(range.clone(), &"\0".repeat(REDACTED.len()));
                text.replace_range(range, REDACTED);
            }
        }
        text
    }

    /// A server's text as it may be kept: redacted, printable, short.
    pub fn keep(&self, text: &str) -> String {
        printable(&self.redact(text), KEPT_CHARS)
    }
}

/// The characters of base64 that are the same whatever stands around a value that begins `offset`
/// bytes after a group of three.
fn base64_inside(value: &[u8], offset: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| value[at / 8] >> (7 - at % 8) & 1;
    let skipped = (6 - offset * 8 % 6) % 6;
    let sextets = (value.len() * 8).saturating_sub(skipped) / 6;
    let sextet = |number: usize| {
        let bits = (0..6).map(|place| bit(skipped + number * 6 + place));
        bits.fold(0, |sum, bit| sum << 1 | bit)
    };
    (0..sextets)
        .map(|number| char::from(ALPHABET[usize::from(sextet(number))]))
        .collect()
}

/// A text in which no URL has a user's password.
pub fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"'`,;".contains(c));
        let (authority, behind) = after.split_at(end.unwrap_or(after.len()));
        match authority.rsplit_once('@') {
            Some((user, host)) if user.contains(':') => {
                out.push_str(REDACTED);
                out.push('@');
                out.push_str(host);
            }
            _ => out.push_str(authority),
        }
        rest = behind;
    }
    out + rest
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

    #[test]
    fn a_key_is_blotted_out_in_every_form_in_which_a_server_may_repeat_it() {
        let mut secrets = Secrets::default();
        let key = "Sk-a/b+c\"d éf123";
        secrets.add(key);
        for said in [
            "SK-A/B+C\"D éF123",
            r#"Sk-a\/b+c\"d éf123"#,
            r#"Sk-a\u002Fb+c\"d éf123"#,
            "Sk-a%2Fb%2Bc%22d%20%C3%A9f123",
            "Sk-a%2fb%2bc%22d+%c3%a9f123",
            // echo -n "$key" | base64, and with `u:` and `user:` before it.
            "U2stYS9iK2MiZCDDqWYxMjM=",
            "dTpTay1hL2IrYyJkIMOpZjEyMw==",
            "dXNlcjpTay1hL2IrYyJkIMOpZjEyMw==",
            "dXNlcjpTay1hL2IrYyJkIMOpZjEyMw",
        ] {
            let kept = secrets.redact(&format!("key {said} is wrong"));
            assert!(kept.contains(REDACTED), "{kept}");
            for part in ["a/b", "2fb", "c%22", "ZjEy", "IrYyJk", "YS9iK2"] {
                assert!(!kept.contains(part), "{said}: {kept}");
            }
        }
        assert_eq!(secrets.redact("nothing of it"), "nothing of it");
        let mut marker = Secrets::default();
        marker.add("redacted");
        assert_eq!(marker.redact("redacted"), REDACTED, "and ends");
    }

    #[test]
    fn passwords_in_urls_are_left_out_wherever_they_stand() {
        let text = "curl http://u:p@w@h:1/v1 'https://t:s@h' http://h/a@b x://user@h";
        assert_eq!(
            without_credentials(text),
            "curl http://[redacted]@h:1/v1 'https://[redacted]@h' http://h/a@b x://user@h"
        );
    }
}
