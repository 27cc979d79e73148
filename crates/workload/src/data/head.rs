//! The beginning of a file, and what it says about how rows lie in it.

use super::error::LONGEST_ROW;
use super::object::Object;
use super::rows::{RawRow, Rows, Shape};
use std::io::{self, BufRead, Read};

/// How rows lie in a file that begins with `head`. A line that is an array of messages is a row
/// of its own; any other array is one of rows.
pub fn shape_of(head: &[u8]) -> Shape {
    let inside = match head.trim_ascii_start() {
        [b'[', inside @ ..] => inside.trim_ascii_start(),
        head @ [b'{', ..] if is_spread(head) => return Shape::Objects,
        _ => return Shape::Lines,
    };
    match inside.first() {
        Some(b'{') if is_message(head) => Shape::Lines,
        Some(b'{' | b'[' | b'"' | b']') | None => Shape::Array,
        Some(_) => Shape::Lines,
    }
}

/// An object goes on after its first line, as programs write it for people.
fn is_spread(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.len() < head.len() && matches!(line.trim_ascii_end().last(), Some(b'{' | b'[' | b','))
}

fn is_message(head: &[u8]) -> bool {
    let mut rows = Rows::new(head, Shape::Array);
    let Ok(Some(RawRow { text: Ok(text), .. })) = rows.next_row() else {
        return false;
    };
    Object::parse(text).is_ok_and(|message| message.get("role").is_some())
}

/// The beginning of a stream, long enough to hold its first row, and longer if that is cheap.
pub fn head_of(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    const LEAST: usize = 64 << 10;
    let mut head = Vec::new();
    loop {
        let more = head.len().max(LEAST) as u64;
        let read = source.by_ref().take(more).read_to_end(&mut head)?;
        let ended = (read as u64) < more;
        let mut rows = Rows::new(&head[..], shape_of(&head));
        let whole = rows.next_row()?.is_some() && !rows.is_at_end();
        if whole || ended || head.len() > LONGEST_ROW {
            return Ok(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn an_array_of_messages_is_a_row_and_other_arrays_hold_rows() {
        for (head, shape) in [
            (
                "[{\"role\": \"user\", \"content\": \"a\"}]\n[",
                Shape::Lines,
            ),
            (" \n[ {\"question\": \"a\"}]", Shape::Array),
            ("[\"a\", \"b\"]", Shape::Array),
            ("[[{\"role\": \"user\"}]]", Shape::Array),
            ("[]", Shape::Array),
            ("[INST] a text", Shape::Lines),
            ("{\"a\": []}", Shape::Lines),
            ("{\n  \"a\": []\n}\n", Shape::Objects),
            ("a text", Shape::Lines),
            ("", Shape::Lines),
        ] {
            assert_eq!(shape_of(head.as_bytes()), shape, "{head}");
        }
    }

    #[test]
    fn a_head_holds_the_first_row_however_long_and_never_more_than_is_bearable() {
        let long = format!("[{{\"a\": \"{}\"}}, 2]", "x".repeat(300_000));
        let head = head_of(&mut long.as_bytes()).unwrap();
        let mut rows = Rows::new(&head[..], shape_of(&head));
        assert_eq!(
            rows.next_row().unwrap().unwrap().text.unwrap().len(),
            300_009
        );
        let endless = io::repeat(b'x').take(LONGEST_ROW as u64 * 8);
        let head = head_of(&mut BufReader::new(endless)).unwrap();
        assert!(head.len() <= 4 * LONGEST_ROW);
    }
}
