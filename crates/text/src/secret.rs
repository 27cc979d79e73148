//! Keys, passwords and the like are kept out of everything that is written, whoever wrote the text:
//! a server that repeats a key, a command that holds one, a note that somebody imports.

use crate::hostile::{KEPT_CHARS, printable};
use serde_json::{Map, Value};
use std::ops::Range;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Secrets of this run, known so that they can be kept out of everything that is written: in
/// lower case, each in every form in which a server may repeat it.
#[derive(Clone, Default)]
pub struct Secrets {
    forms: Vec<String>,
    /// The secrets themselves, in lower case.
    plain: Vec<String>,
}

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
            if !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
        let plain = secret.to_ascii_lowercase();
        if !self.plain.contains(&plain) {
            self.plain.push(plain);
        }
        // The longest first, so that a secret inside another leaves no remainder.
        for secrets in [&mut self.forms, &mut self.plain] {
            secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    pub fn redact(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        // Lower case of ASCII keeps every byte in its place.
        let mut lower = text.to_ascii_lowercase();
        let mut text = text.to_owned();
        let mut blot_out = |range: Range<usize>, lower: &mut String| {
            lower.replace_range(range.clone(), &"\0".repeat(REDACTED.len()));
            text.replace_range(range, REDACTED);
        };
        for secret in &self.forms {
            while let Some(at) = lower.find(secret.as_str()) {
                blot_out(at..at + secret.len(), &mut lower);
            }
        }
        for secret in &self.plain {
            while let Some(range) = partly_encoded(&lower, secret) {
                blot_out(range, &mut lower);
            }
        }
        text
    }

    /// A server's text as it may be kept: redacted, printable, short.
    pub fn keep(&self, text: &str) -> String {
        printable(&self.redact(text), KEPT_CHARS)
    }
}

/// Where a secret stands of which each byte is written in a way of its own: plain, as URLs, JSON or
/// HTML write it. Both are in lower case.
fn partly_encoded(text: &str, secret: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let first = secret.as_bytes()[0];
    let begins = |byte: u8| byte == first || matches!(byte, b'%' | b'\\' | b'&' | b'+');
    let starts = (0..bytes.len()).filter(|at| begins(bytes[*at]));
    let mut found = starts.filter_map(|start| {
        let mut at = start;
        for byte in secret.bytes() {
            at += spelled(&bytes[at..], byte)?;
        }
        Some(start..at)
    });
    // Bytes of a character that is not ASCII are never written by themselves.
    found.find(|range| text.is_char_boundary(range.start) && text.is_char_boundary(range.end))
}

/// Of how many bytes the spelling of a byte is that begins here.
fn spelled(rest: &[u8], byte: u8) -> Option<usize> {
    if rest.first() == Some(&byte) {
        return Some(1);
    }
    let hex = format!("{byte:02x}");
    let escapes = rest.iter().take_while(|it| **it == b'\\').count();
    let escaped = |form: &str| {
        (escapes > 0 && rest[escapes..].starts_with(form.as_bytes())).then(|| escapes + form.len())
    };
    let plain = |form: &str| rest.starts_with(form.as_bytes()).then_some(form.len());
    let named = match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'"' => "&quot;",
        b'\'' => "&apos;",
        b'/' => "&sol;",
        b'+' => "&plus;",
        b'=' => "&equals;",
        b' ' => "+",
        _ => "&#",
    };
    (escapes > 0 && rest.get(escapes) == Some(&byte))
        .then_some(escapes + 1)
        .or_else(|| escaped(&format!("u00{hex}")))
        .or_else(|| escaped(&format!("x{hex}")))
        .or_else(|| plain(&format!("%{hex}")))
        .or_else(|| plain(&format!("%25{hex}")))
        .or_else(|| plain(&format!("&#{byte};")))
        .or_else(|| plain(&format!("&#x{byte:x};")))
        .or_else(|| plain(named).filter(|_| named != "&#"))
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
    /// Too short to be looked for inside longer words.
    const WORDS: [&str; 4] = ["dsn", "jwt", "pat", "sas"];
    const ENDINGS: [&str; 17] = [
        "key",
        "token",
        "secret",
        "password",
        "passphrase",
        "passwd",
        "pass",
        "pwd",
        "pw",
        "auth",
        "authorization",
        "bearer",
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
    let last_word = name.rsplit(|c: char| !c.is_ascii_alphabetic()).next();
    let is_word = last_word.is_some_and(|word| WORDS.contains(&word));
    is_word || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Texts of an object that are secrets: all below a name that says so, and what speaks for itself,
/// as a URL with a password or `Bearer KEY`.
pub fn json_secrets(object: &mut Map<String, Value>) -> Vec<&mut String> {
    fn below(value: &mut Value, is_named: bool) -> Vec<&mut String> {
        match value {
            Value::String(text) if is_named || is_secret(text) => vec![text],
            Value::Object(inner) => {
                let named = |name: &str| is_named || names_secret(name);
                let members = inner.iter_mut();
                members
                    .flat_map(|(name, it)| below(it, named(name)))
                    .collect()
            }
            Value::Array(list) => (list.iter_mut())
                .flat_map(|it| below(it, is_named))
                .collect(),
            _ => Vec::new(),
        }
    }
    let members = object.iter_mut();
    members
        .flat_map(|(name, value)| below(value, names_secret(name)))
        .collect()
}

fn is_secret(text: &str) -> bool {
    let has_scheme = ["bearer ", "basic "].iter().any(|scheme| {
        let begins = text.get(..scheme.len());
        begins.is_some_and(|it| it.eq_ignore_ascii_case(scheme))
    });
    let is_one_word = text.split_whitespace().count() == 2;
    text == REDACTED || has_scheme && is_one_word || !credentials(text).is_empty()
}

/// The secrets of an object that is a word of a command, as in `--extra '{…}'`.
fn secrets_in_json(word: &str) -> Vec<String> {
    let Some(start) = word.find('{') else {
        return Vec::new();
    };
    let object = serde_json::from_str::<Map<String, Value>>(&word[start..]);
    let mut object = object.unwrap_or_default();
    let found = json_secrets(&mut object);
    found.into_iter().map(std::mem::take).collect()
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
        found.extend(secrets_in_json(word));
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
        write!(f, "Secrets({})", self.plain.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_which_only_some_signs_are_encoded_is_found() {
        let mut secrets = Secrets::default();
        secrets.add("sk-Sec/ret+Abc98");
        for told in [
            "sk-Sec/ret%2BAbc98",
            "sk-Sec%2Fret+Abc98",
            "SK-SEC%2fret%2bABC98",
            "sk-Sec&#x2F;ret&#43;Abc98",
            r"sk-Sec\u002fret+Abc98",
            r"sk-Sec\\/ret\u002bAbc98",
            "sk-Sec%252Fret&plus;Abc98",
        ] {
            let kept = secrets.redact(&format!("key {told}, 潮 100%"));
            assert_eq!(kept, format!("key {REDACTED}, 潮 100%"), "{told}");
        }
        let harmless = "sk-Sec/ret-Abc98 %2F潮 & \\";
        assert_eq!(secrets.redact(harmless), harmless);
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
    fn an_object_holds_no_secret_in_any_place() {
        let text = r#"{
            "passphrase": "SECRET-1", "bearer": "SECRET-2", "note": "Bearer SECRET-3",
            "credentials": {"x": "SECRET-4", "list": ["SECRET-5", {"y": "SECRET-6"}]},
            "dsn": "postgres://u:SECRET-7@host/d", "db": "postgres://u:SECRET-8@host/d",
            "github_pat": "SECRET-9", "inner": [{"api_key": "SECRET-10"}],
            "stop": ["basic bearer of news"], "model": "compat", "top_k": 3
        }"#;
        let words = ["--extra".to_owned(), text.to_owned()];
        let kept = without_secrets(&words).join(" ");
        assert!(!kept.contains("SECRET"), "{kept}");
        let mut object: Map<String, Value> = serde_json::from_str(text).unwrap();
        for secret in json_secrets(&mut object) {
            REDACTED.clone_into(secret);
        }
        let kept = serde_json::to_string(&object).unwrap();
        assert!(!kept.contains("SECRET"), "{kept}");
        for harmless in ["basic bearer of news", "compat", "top_k"] {
            assert!(kept.contains(harmless), "{kept}");
        }
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
