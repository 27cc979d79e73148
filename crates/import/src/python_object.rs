//! Dictionaries as Python prints them, which scripts leave in logs: `{'a': 1.5, 'b': None}`.

use serde_json::{Map, Value};

/// Longer ones are not summaries.
const LONGEST: usize = 64 * 1024;

/// Reads the dictionary at the beginning of a text; with it, the bytes that were looked at.
pub(crate) fn read(text: &str) -> (Option<Map<String, Value>>, usize) {
    let mut json = String::new();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut depth = 0usize;
    let mut word = String::new();
    for (at, c) in text.char_indices() {
        if at > LONGEST {
            return (None, at);
        }
        if let Some(end) = quote {
            match c {
                _ if escaped => {
                    // `\'` is no escape of JSON.
                    if c != '\'' {
                        json.push('\\');
                    }
                    json.push(c);
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' if end == '\'' => json.push_str("\\\""),
                '\n' => return (None, at),
                c if c == end => {
                    json.push('"');
                    quote = None;
                }
                c => json.push(c),
            }
            continue;
        }
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_') {
            word.push(c);
            continue;
        }
        json.push_str(match word.as_str() {
            "True" => "true",
            "False" => "false",
            "None" | "nan" | "NaN" => "null",
            "inf" | "Infinity" => "\"inf\"",
            other => other,
        });
        word.clear();
        match c {
            '\'' | '"' => {
                json.push('"');
                quote = Some(c);
            }
            '{' | '[' => {
                depth += 1;
                json.push(c);
            }
            '}' | ']' => {
                json.push(c);
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return (serde_json::from_str(&json).ok(), at + c.len_utf8());
                }
            }
            c => json.push(c),
        }
    }
    (None, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_dictionary_is_read_to_its_end() {
        let text = "{'a': 1.5, 'b': None, 'c': True, 'd': {'e': \"it's\"}} and more";
        let (object, read) = read(text);
        let object = object.expect("it is a dictionary");
        assert_eq!(
            Value::Object(object),
            serde_json::json!({"a": 1.5, "b": null, "c": true, "d": {"e": "it's"}})
        );
        assert_eq!(&text[read..], " and more");
    }

    #[test]
    fn one_without_end_is_given_up() {
        assert_eq!(read("{'a': [1, 2").0, None);
        assert_eq!(read("{'a\n").0, None);
    }
}
