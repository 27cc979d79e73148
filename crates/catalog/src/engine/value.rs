//! Values of flags, read as the engines read them (Python's `int`, `float`, `json.loads`).

use serde::{Deserialize, Serialize};

/// How a flag's value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Present or absent, no value.
    Enable,
    /// `--x` or `--no-x`.
    Switch,
    Int,
    /// A whole number or `None`.
    OptionalInt,
    /// A whole number, also as `8k` (8000) or `8K` (8192).
    HumanInt,
    /// The same, or `None`.
    OptionalHumanInt,
    /// The same, or `auto`.
    HumanIntOrAuto,
    Float,
    /// A number or `None`.
    OptionalFloat,
    Text,
    OptionalText,
    Json,
    /// JSON whose errors are worded as for optional values.
    ParsedJson,
    /// JSON or `None`.
    OptionalJson,
    List,
}

impl Kind {
    pub fn takes_value(self) -> bool {
        !matches!(self, Self::Enable | Self::Switch)
    }

    /// Is it a number, so that a range makes sense?
    pub fn is_number(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Int | OptionalInt
                | HumanInt
                | OptionalHumanInt
                | HumanIntOrAuto
                | Float
                | OptionalFloat
        )
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Python's `None`.
    Null,
    Bool(bool),
    /// A whole number; -1 stands for `auto` where that is allowed.
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<String>),
    Json(serde_json::Value),
}

impl Value {
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// The whole number, where it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The text, where it is one word.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads one value. The error is what argparse prints behind `argument --x: `.
///
/// Texts seen by running vLLM 0.32 with bad values.
pub fn read(kind: Kind, text: &str) -> Result<Value, String> {
    use Kind::*;
    if matches!(
        kind,
        OptionalInt | OptionalHumanInt | OptionalFloat | OptionalJson
    ) && (text.is_empty() || text == "None")
    {
        return Ok(Value::Null);
    }
    let invalid = |reader: &str| format!("invalid {reader} value: {}", quote(text));
    let cannot = |class: &str| format!("Value {text} cannot be converted to {class}.");
    match kind {
        Int => (int(text).map(Value::Int)).ok_or_else(|| invalid("int")),
        OptionalInt => (int(text).map(Value::Int)).ok_or_else(|| cannot("<class 'int'>")),
        HumanInt => human_int(text, "human_readable_int").map(Value::Int),
        OptionalHumanInt => (human_int(text, "").map(Value::Int))
            .map_err(|_| cannot("<function human_readable_int>")),
        HumanIntOrAuto if ["-1", "auto"].contains(&&*text.trim().to_ascii_lowercase()) => {
            Ok(Value::Int(-1))
        }
        HumanIntOrAuto => human_int(text, "human_readable_int_or_auto").map(Value::Int),
        Float => (float(text).map(Value::Float)).ok_or_else(|| invalid("float")),
        OptionalFloat => (float(text).map(Value::Float)).ok_or_else(|| cannot("<class 'float'>")),
        Json => (serde_json::from_str(text).map(Value::Json)).map_err(|_| invalid("loads")),
        ParsedJson | OptionalJson => {
            (serde_json::from_str(text).map(Value::Json)).map_err(|_| cannot("<function loads>"))
        }
        Text | OptionalText => Ok(Value::Text(text.to_owned())),
        List => Ok(Value::List(vec![text.to_owned()])),
        Enable | Switch => (boolean(text).map(Value::Bool))
            .ok_or_else(|| format!("Invalid boolean value: {text}. Expected 'true' or 'false'.")),
    }
}

/// On or off, however people write it in a list of values for a switch.
pub fn switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// `true` and `false` as the flags of 2024 took them.
pub fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Python's `int()`: blanks around, a sign, single underscores between digits.
fn int(text: &str) -> Option<i64> {
    number(text)
}

/// Python's `float()`, without its spellings of infinity.
fn float(text: &str) -> Option<f64> {
    number(text).filter(|number: &f64| number.is_finite())
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    if text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return None;
    }
    text.replace('_', "").parse().ok()
}

fn human_int(text: &str, reader: &str) -> Result<i64, String> {
    let invalid = || format!("invalid {reader} value: {}", quote(text));
    let trimmed = text.trim();
    let Some(suffix) = trimmed
        .chars()
        .next_back()
        .filter(char::is_ascii_alphabetic)
    else {
        return int(trimmed).ok_or_else(invalid);
    };
    let number = &trimmed[..trimmed.len() - 1];
    let plain = number
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        && number.matches('.').count() <= 1;
    if !plain {
        return Err(invalid());
    }
    let power = match suffix.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => return Err(invalid()),
    };
    if suffix.is_ascii_lowercase() {
        let scaled = number.parse::<f64>().map_err(|_| invalid())? * 1000_f64.powi(power);
        // Python's int() has no upper limit; ours is that of any real machine.
        return if scaled < i64::MAX as f64 {
            Ok(scaled as i64)
        } else {
            Err(invalid())
        };
    }
    let whole: i64 = if number.contains('.') {
        return Err(format!(
            "Decimals are not allowed with binary suffixes like {suffix}. Did you mean to use \
             {number}{} instead?",
            suffix.to_ascii_lowercase()
        ));
    } else {
        number.parse().map_err(|_| invalid())?
    };
    whole
        .checked_mul(1024_i64.pow(power as u32))
        .ok_or_else(invalid)
}

/// Python's `repr` of a string.
pub fn quote(text: &str) -> String {
    let mark = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::from(mark);
    for character in text.chars() {
        match character {
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other if other == mark => quoted.extend(['\\', other]),
            other => quoted.push(other),
        }
    }
    quoted.push(mark);
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        for (text, number) in [
            ("8k", 8000),
            ("16K", 16384),
            ("1M", 1 << 20),
            ("25.6k", 25600),
            ("8192", 8192),
            (" 1_000 ", 1000),
        ] {
            assert_eq!(read(Kind::HumanInt, text), Ok(Value::Int(number)), "{text}");
        }
        assert_eq!(read(Kind::HumanIntOrAuto, "auto"), Ok(Value::Int(-1)));
        assert_eq!(
            read(Kind::HumanInt, "1.5K").unwrap_err(),
            "Decimals are not allowed with binary suffixes like K. Did you mean to use 1.5k instead?"
        );
    }

    #[test]
    fn bad_values_are_refused_in_the_engines_words() {
        for (kind, text, said) in [
            (Kind::Int, "abc", "invalid int value: 'abc'"),
            (Kind::Float, "x", "invalid float value: 'x'"),
            (
                Kind::HumanInt,
                "many",
                "invalid human_readable_int value: 'many'",
            ),
        ] {
            assert_eq!(read(kind, text).unwrap_err(), said);
        }
        assert_eq!(quote("it's"), "\"it's\"");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            use Kind::*;
            for kind in [
                Enable, Switch, Int, OptionalInt, HumanInt, OptionalHumanInt, HumanIntOrAuto,
                Float, OptionalFloat, Text, OptionalText, Json, List,
            ] {
                let _ = read(kind, &text);
            }
        }
    }
}
