//! Numbers as tools and people write them, with their units.

use serde_json::{Value, json};

/// What a number counts, as far as its unit says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Hours,
    Minutes,
    Seconds,
    Millis,
    Micros,
    Nanos,
    RequestsPerSecond,
    TokensPerSecond,
    CharsPerSecond,
    Bytes,
    Times,
    Percent,
    /// Tokens, requests, pieces: a count with a word behind it.
    Count,
}

impl Unit {
    /// Milliseconds in one of this unit; `None` if it is not a time.
    pub fn in_ms(self) -> Option<f64> {
        match self {
            Unit::Hours => Some(3_600_000.0),
            Unit::Minutes => Some(60_000.0),
            Unit::Seconds => Some(1000.0),
            Unit::Millis => Some(1.0),
            Unit::Micros => Some(1e-3),
            Unit::Nanos => Some(1e-6),
            _ => None,
        }
    }

    /// The unit of a word such as `ms`, `token/s` or `秒`.
    pub fn of_word(word: &str) -> Option<Unit> {
        let word = word.trim().trim_end_matches('.').to_lowercase();
        Some(match word.as_str() {
            "h" | "hour" | "hours" | "小时" => Unit::Hours,
            "min" | "mins" | "minute" | "minutes" | "分钟" | "分" => Unit::Minutes,
            "s" | "sec" | "secs" | "second" | "seconds" | "秒" => Unit::Seconds,
            "ms" | "msec" | "millisecond" | "milliseconds" | "毫秒" => Unit::Millis,
            // The Greek letter, the micro sign and the ASCII stand-in.
            "μs" | "µs" | "us" | "微秒" => Unit::Micros,
            "ns" | "纳秒" => Unit::Nanos,
            "req/s" | "reqs/s" | "request/s" | "requests/s" | "requests/sec" | "rps" | "qps"
            | "requests/second" | "请求/秒" | "个/秒" | "次/秒" | "req/sec" => {
                Unit::RequestsPerSecond
            }
            "tok/s" | "toks/s" | "token/s" | "tokens/s" | "tokens/sec" | "tokens/second"
            | "tps" | "词元/秒" | "token/秒" | "tokens/秒" | "t/s" | "tok/sec" | "tok/秒" => {
                Unit::TokensPerSecond
            }
            "chars/s" | "char/s" | "chars/sec" | "characters/s" | "字/秒" | "字/s" | "字符/秒"
            | "字符/s" => Unit::CharsPerSecond,
            "g" | "gb" | "gib" | "mb" | "mib" | "tb" | "tib" => Unit::Bytes,
            "x" | "×" | "倍" => Unit::Times,
            "%" => Unit::Percent,
            "tokens" | "token" | "requests" | "request" | "reqs" | "个" | "次" | "条" | "路"
            | "卡" | "张" | "词元" | "字" | "字符" | "chars" => Unit::Count,
            _ => return None,
        })
    }
}

/// A number with what was written behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    pub value: f64,
    pub unit: Option<Unit>,
    /// Share in brackets behind it: `8792[ 99.5% ]`.
    pub share: Option<f64>,
    /// Half of the last written digit: how far rounding can have moved it.
    pub rounding: f64,
}

impl Quantity {
    /// A number without unit, known to the last bit.
    pub fn exact(value: f64) -> Self {
        Quantity {
            value,
            unit: None,
            share: None,
            rounding: 0.0,
        }
    }
}

/// Changes the unit without digits that the source does not have: 3.2461 s is 3246.1 ms.
pub fn convert(value: f64, factor: f64) -> f64 {
    let product = value * factor;
    if factor == 1.0 {
        value
    } else {
        format!("{product:.14e}").parse().unwrap_or(product)
    }
}

pub fn finite(value: Option<&Value>) -> Option<f64> {
    value
        .and_then(Value::as_f64)
        .filter(|value| value.is_finite())
}

/// A count as an integer; absent if it is not a count.
pub fn count(value: f64) -> Option<u64> {
    (0.0..9e15).contains(&value).then_some(value.round() as u64)
}

/// A JSON number, an integer where it is one.
pub fn number(value: f64) -> Value {
    if value == f64::INFINITY {
        return json!("inf");
    }
    if value.fract() == 0.0 && value.abs() < 9e15 {
        json!(value as i64)
    } else {
        json!(value)
    }
}

/// Reads `64.7768 ms`, `1,234`, `0( 0.0% )`, `**3.2**`; nothing else may stand beside it.
pub fn quantity(text: &str) -> Option<Quantity> {
    let text = text
        .trim()
        .trim_matches(|c| matches!(c, '*' | '`' | '"' | ',' | ' ' | '_' | '↑' | '↓'))
        .trim_start_matches(['≈', '~', '约']);
    let (value, rounding, rest) = leading_number(text)?;
    let (factor, rest) = thousands(rest);
    let rest = without_deviation(rest.trim());
    let mut quantity = Quantity {
        value: convert(value, factor),
        unit: None,
        share: None,
        rounding: rounding * factor,
    };
    if rest.is_empty() {
        return Some(quantity);
    }
    if let Some(unit) = Unit::of_word(rest) {
        quantity.unit = Some(unit);
        return Some(quantity);
    }
    if let Some(seconds) = seconds_behind_minutes(rest) {
        quantity.value = 60.0 * value + seconds;
        quantity.unit = Some(Unit::Seconds);
        return Some(quantity);
    }
    let inner = rest
        .strip_prefix(['(', '[', '（'])?
        .strip_suffix([')', ']', '）'])?
        .trim();
    if let Some(percent) = inner.strip_suffix('%') {
        let (share, _, left) = leading_number(percent.trim())?;
        if left.trim().is_empty() {
            quantity.share = Some(share / 100.0);
            return Some(quantity);
        }
    }
    quantity.unit = Some(Unit::of_word(inner)?);
    Some(quantity)
}

/// `m12s` behind the minutes.
fn seconds_behind_minutes(rest: &str) -> Option<f64> {
    let marks = ["min", "m", "分"];
    let rest = marks.iter().find_map(|mark| rest.strip_prefix(mark))?;
    let (seconds, _, rest) = leading_number(rest.trim())?;
    let is_second = Unit::of_word(rest) == Some(Unit::Seconds);
    (is_second && (0.0..60.0).contains(&seconds)).then_some(seconds)
}

/// `1.2k tok/s`, `1.5万`.
fn thousands(rest: &str) -> (f64, &str) {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    let scaled = [("k", 1e3), ("K", 1e3), ("万", 1e4)];
    let mut scaled = scaled.into_iter();
    let found = scaled.find_map(|(sign, factor)| {
        let rest = rest.strip_prefix(sign).filter(|rest| ends(rest))?;
        Some((factor, rest))
    });
    found.unwrap_or((1.0, rest))
}

/// `±0.1 s` is only a unit here.
fn without_deviation(rest: &str) -> &str {
    let deviation = rest.strip_prefix('±').or(rest.strip_prefix("+/-"));
    match deviation.and_then(|text| leading_number(text.trim())) {
        Some((_, _, rest)) => rest.trim(),
        None => rest,
    }
}

/// Reads a rate, which may have no limit: `inf`.
pub fn rate(text: &str) -> Option<Quantity> {
    let word = text.trim().trim_matches(['*', '`', '"']).to_lowercase();
    match word.as_str() {
        "inf" | "infinity" | "∞" => Some(Quantity::exact(f64::INFINITY)),
        _ => quantity(text),
    }
}

/// The number at the beginning of a text, half its last digit, and the rest.
pub fn leading_number(text: &str) -> Option<(f64, f64, &str)> {
    let bytes = text.as_bytes();
    let mut end = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let (mut digits, mut decimals, mut dot) = (0usize, 0i32, false);
    let mut plain = String::from(&text[..end]);
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                decimals += i32::from(dot);
                plain.push(char::from(byte));
            }
            b'.' if !dot => {
                dot = true;
                plain.push('.');
            }
            // A comma is a thousands separator only in front of three digits, and behind 0 none.
            b',' if digits > 0
                && !dot
                && !plain.starts_with('0')
                && bytes
                    .get(end + 1..end + 4)
                    .is_some_and(|b| b.iter().all(u8::is_ascii_digit))
                && !bytes.get(end + 4).is_some_and(u8::is_ascii_digit) => {}
            _ => break,
        }
        end += 1;
    }
    if digits == 0 {
        return None;
    }
    let mut exponent = 0i32;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let length = bytes[end + 1 + sign..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        if (1..=3).contains(&length) {
            let written = &text[end + 1..end + 1 + sign + length];
            exponent = written.parse().unwrap_or(0);
            plain.push('e');
            plain.push_str(written);
            end += 1 + sign + length;
        }
    }
    let value: f64 = plain.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    Some((
        value,
        0.5 * 10f64.powi(exponent.saturating_sub(decimals)),
        &text[end..],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<(f64, Option<Unit>)> {
        quantity(text).map(|q| (q.value, q.unit))
    }

    #[test]
    fn units_behind_a_number_are_read() {
        assert_eq!(value(" 12.5 ms"), Some((12.5, Some(Unit::Millis))));
        assert_eq!(value("7 μs"), Some((7.0, Some(Unit::Micros))));
        assert_eq!(value("1,234,567"), Some((1_234_567.0, None)));
        assert_eq!(value("**3.5**"), Some((3.5, None)));
        assert_eq!(value("3 (秒)"), Some((3.0, Some(Unit::Seconds))));
        assert_eq!(quantity("40[ 80.0% ]").and_then(|q| q.share), Some(0.8));
    }

    #[test]
    fn thousands_deviations_and_arrows_are_read() {
        let rate = Some(Unit::TokensPerSecond);
        assert_eq!(value("0.74k token/s"), Some((740.0, rate)));
        assert_eq!(value("1.21K"), Some((1210.0, None)));
        assert_eq!(value("1.5万"), Some((15_000.0, None)));
        assert_eq!(value("1.2±0.1 s"), Some((1.2, Some(Unit::Seconds))));
        assert_eq!(value("150↑"), Some((150.0, None)));
        assert_eq!(value("1m12s"), Some((72.0, Some(Unit::Seconds))));
        assert_eq!(value("2分30秒"), Some((150.0, Some(Unit::Seconds))));
        assert_eq!(value("62G"), Some((62.0, Some(Unit::Bytes))));
    }

    #[test]
    fn prose_and_blanks_are_no_numbers() {
        for text in [
            "",
            "/",
            "-",
            "N/A",
            "8 cards of the old kind",
            "nan",
            "v2",
            "12:30:01",
            "0,021",
            ">100",
            "5 km",
        ] {
            assert_eq!(quantity(text), None, "{text}");
        }
    }
}
