//! The number that a text concludes with.

/// What GSM8K writes before the result.
const RESULT: &str = "####";

/// The number after the last `####`, else the last of the text.
pub fn concluding(text: &str) -> Option<f64> {
    match text.rsplit_once(RESULT) {
        Some((_, result)) => numbers(result).next(),
        None => numbers(text).last(),
    }
}

/// Equal but for what decimals lose.
pub fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * one.abs().max(other.abs()).max(1.0)
}

/// Numbers in the order of the text. Commas between digits belong to them; a minus does unless a
/// word stands before it.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !bytes[at].is_ascii_digit() {
            at += 1;
        }
        let start = at;
        let mut digits = String::new();
        while at < bytes.len() {
            let next_is_digit = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            match bytes[at] {
                digit if digit.is_ascii_digit() => digits.push(char::from(digit)),
                b',' if next_is_digit && !digits.contains('.') => {}
                b'.' if next_is_digit && !digits.contains('.') => digits.push('.'),
                _ => break,
            }
            at += 1;
        }
        let before = |back: usize| start.checked_sub(back).map(|place| bytes[place]);
        let is_negative =
            before(1) == Some(b'-') && before(2).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let number: f64 = digits.parse().ok()?;
        Some(if is_negative { -number } else { number })
    })
}
