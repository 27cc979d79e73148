//! Keys, passwords and the like are kept out of everything that is written, whoever wrote the text:
//! a server that repeats a key, a command that holds one, a note that somebody imports.

use crate::hostile::{KEPT_CHARS, printable};
use std::ops::Range;

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
        let each = |form: fn(u8) -> String| secret.bytes().map(form).collect::<String>();
        let json = secret.replace('\\', "\\\\").replace('"', "\\\"");
        let forms = [
            secret.to_owned(),
            in_url.replace("%20", "+"),
            in_url.replace('%', "%25"),
            in_url,
            each(|byte| format!("%{byte:02x}")),
            each(|byte| format!("{byte:02x}")),
            each(|byte| format!("\\x{byte:02x}")),
            each(|byte| format!("\\u{byte:04x}")),
            each(|byte| format!("\\\\u{byte:04x}")),
            each(|byte| format!("&#{byte};")),
            each(|byte| format!("&#x{byte:x};")),
            json.replace('/', "\\/"),
            json.replace('/', "\\\\/"),
            json.replace('/', "\\\\\\/"),
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
    blotted_out(text, &credentials(text))
}

/// Where URLs in a text have a user's name with a password.
fn credentials(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("://") {
        from += at + 3;
        let end = text[from..].find(|c: char| c.is_whitespace() || "/?#\"'`,;".contains(c));
        let end = end.map_or(text.len(), |end| from + end);
        match text[from..end].rsplit_once('@') {
            Some((user, _)) if user.contains(':') => found.push(from..from + user.len()),
            _ => {}
        }
    }
    found
}

/// Whether something of this name is a secret, as `HF_TOKEN`, `--api-key` or `key2`.
pub fn names_secret(name: &str) -> bool {
    const ENDINGS: [&str; 15] = [
        "key",
        "token",
        "secret",
        "password",
        "passwd",
        "pass",
        "pwd",
        "pw",
        "auth",
        "authorization",
        "credential",
        "credentials",
        "cookie",
        "sig",
        "signature",
    ];
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    // Its end is enough: a name may be as long as a stranger's text.
    let end = name.floor_char_boundary(name.len().saturating_sub(16));
    let name = name[end..].to_ascii_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The words of a command as they may be stored: without keys, passwords and the like, also inside
/// a whole command in one word, as behind `ssh host` or `sh -c`.
pub fn without_secrets(words: &[String]) -> Vec<String> {
    // What is a secret in one place is one in every other.
    let mut known = Secrets::default();
    for secret in command_secrets(words) {
        known.add(&secret);
    }
    let found = words.iter().zip(secrets_in(words));
    found
        .map(|(word, secrets)| known.redact(&without_credentials(&blotted_out(word, &secrets))))
        .collect()
}

/// The keys, passwords and the like that the words of a command hold.
pub fn command_secrets(words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (word, secrets) in words.iter().zip(secrets_in(words)) {
        found.extend(secrets.into_iter().map(|range| word[range].to_owned()));
        for range in credentials(word) {
            let (_, password) = word[range.clone()].split_once(':').unwrap_or_default();
            found.extend([word[range].to_owned(), password.to_owned()]);
        }
    }
    found
}

fn blotted_out(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = text.to_owned();
    for range in ranges.iter().rev() {
        out.replace_range(range.clone(), REDACTED);
    }
    out
}

/// Where each word of a command holds secrets.
fn secrets_in(words: &[String]) -> Vec<Vec<Range<usize>>> {
    let mut after_name = false;
    (words.iter())
        .map(|word| secrets_in_word(word, &mut after_name))
        .collect()
}

/// `after_name`: the word before was the name of a secret, and then: this one is.
fn secrets_in_word(word: &str, after_name: &mut bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while from < word.len() {
        let rest = &word[from..];
        let space = rest.len() - rest.trim_start().len();
        from += space;
        let part = &word[from..];
        let end = part.find(char::is_whitespace).unwrap_or(part.len());
        // What a name has inside is looked at by itself.
        let is_object = part.starts_with(['{', '[']);
        let is_value = std::mem::take(after_name) && !part.starts_with("--") && !is_object;
        // `Authorization: Bearer KEY`.
        let is_scheme = ["bearer", "basic"].contains(&part[..end].to_ascii_lowercase().as_str());
        if is_value && is_scheme && end < part.len() {
            *after_name = true;
            from += end;
            continue;
        }
        let value = if is_value {
            Some(from)
        } else {
            value_of_name(word, from..from + end)
        };
        let Some(at) = value else {
            let name = part[..end].trim_matches(['"', '\'']);
            *after_name = match name.strip_suffix(':') {
                Some(name) => names_secret(name.trim_matches(['"', '\''])),
                None => name.starts_with('-') && !name.contains('=') && names_secret(name),
            };
            from += end;
            continue;
        };
        let value = value_at(word, at);
        from = value.end;
        found.push(value);
    }
    found.retain(|range| !range.is_empty());
    found
}

/// Where the value of a secret begins that is named in this part of a text, as in `NAME=VALUE` or
/// `{"name":"VALUE"}`.
fn value_of_name(text: &str, part: Range<usize>) -> Option<usize> {
    let marks = text[part.clone()].match_indices(['=', ':']);
    let mut values = marks.filter_map(|(at, _)| {
        let at = part.start + at;
        let name = text[part.start..at].trim_end_matches(['"', '\'']);
        let named = names_secret(name) && at + 1 < part.end;
        (named && !text[at..].starts_with("://")).then_some(at + 1)
    });
    values.next()
}

/// The value that begins at a place: to its closing quote, or to the next space.
fn value_at(text: &str, at: usize) -> Range<usize> {
    let rest = &text[at..];
    for quote in ['"', '\''] {
        let inside = rest.strip_prefix(quote);
        if let Some(end) = inside.and_then(|inside| inside.find(quote)) {
            return at + 1..at + 1 + end;
        }
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let end = rest[..end]
        .trim_end_matches(['"', '\'', ';', ',', '}', ')', ']'])
        .len();
    at..at + end
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
    fn a_key_that_the_server_repeats_is_blotted_out() {
        let mut secrets = Secrets::default();
        secrets.add("sk-abcdef");
        secrets.add("sk-abcdef-long");
        let kept = secrets.keep("Incorrect API key provided: sk-abcdef-long.");
        assert_eq!(kept, "Incorrect API key provided: [redacted].");
        assert!(!format!("{secrets:?}").contains("sk-"));
    }

    #[test]
    fn a_secret_inside_an_object_whose_name_sounds_like_one_is_found() {
        let words = [
            "--extra".to_owned(),
            r#"{"auth": {"api_key": "sk-4711"}, "top_k": 3}"#.to_owned(),
        ];
        let kept = without_secrets(&words).join(" ");
        assert!(!kept.contains("4711") && kept.contains("top_k"), "{kept}");
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
    fn secrets_of_a_command_are_found_wherever_they_stand() {
        let words = [
            "HF_TOKEN=abc",
            "vllm",
            "--api-key",
            "abc",
            "--max-num-batched-tokens",
            "512",
            "DB_PASS=abc 'MY_PWD=abc' serve --api-key=abc --hf-token abc http://u:abc@h x",
            "export DB_PASS='abc abc'; exec serve --password \"abc abc\" y",
            r#"{"api_key":"abc","seed":1}"#,
            r#"{"hf_token": "abc", "seed": 2}"#,
            "-H",
            "Authorization: Bearer abc",
            "--served-model-name",
            "m",
        ]
        .map(str::to_owned);
        let kept = without_secrets(&words).join(" ");
        assert!(!kept.contains("abc"), "{kept}");
        for part in [
            "--max-num-batched-tokens 512",
            " x ",
            "; exec serve --password",
            " y ",
            r#","seed":1}"#,
            r#""seed": 2}"#,
            "Authorization: Bearer ",
            "--served-model-name m",
        ] {
            assert!(kept.contains(part), "{part}: {kept}");
        }
        let mut known = command_secrets(&words);
        known.sort();
        known.dedup();
        assert_eq!(known, ["abc", "abc abc", "u:abc"]);
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
