//! The rows of a file as it lies on disk: its lines, or the elements of a JSON array, one by
//! one and with the line where each begins. What they hold does not matter here.

use super::error::{Fault, LONGEST_ROW};
use memchr::{memchr, memchr_iter, memchr2};
use std::io::{self, BufRead};

/// How rows lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Lines,
    /// One row per line, except for line breaks within quotes.
    Csv,
    /// The elements of one JSON array.
    Array,
    /// JSON objects one after the other, over as many lines as they like.
    Objects,
}

#[derive(Debug, PartialEq, Eq)]
pub struct RawRow<'a> {
    /// Counted from 1.
    pub line: u64,
    /// Its text, without blanks around an element or a line break at its end.
    pub text: Result<&'a str, Fault>,
}

/// Rows of a stream, read one at a time.
#[derive(Debug)]
pub struct Rows<R> {
    source: R,
    shape: Shape,
    line: u64,
    held: Held,
    place: Place,
}

/// Where in a JSON array the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Before,
    /// Whether an element has been seen.
    Inside(bool),
    After,
    Done,
}

/// Bytes after which the end of a row is no longer looked for: a device, or a packed file of a few
/// kilobytes, may have none.
const LONGEST_SEARCH: u64 = 1 << 30;

/// The bytes of one row, none if it is too long.
#[derive(Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    too_long: bool,
    seen: u64,
}

impl Held {
    fn clear(&mut self) {
        self.bytes.clear();
        self.too_long = false;
        self.seen = 0;
    }

    fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        self.seen += piece.len() as u64;
        if self.seen > LONGEST_SEARCH {
            let gib = LONGEST_SEARCH >> 30;
            let why = format!("a row of it goes on for more than {gib} GiB");
            return Err(io::Error::other(why));
        }
        if self.too_long || self.bytes.len() + piece.len() > LONGEST_ROW {
            self.too_long = true;
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(piece);
        }
        Ok(())
    }

    fn text(&self) -> Result<&str, Fault> {
        if self.too_long {
            Err(Fault::TooLong)
        } else {
            std::str::from_utf8(&self.bytes).map_err(|_| Fault::NotText)
        }
    }

    fn is_blank(&self) -> bool {
        !self.too_long && self.bytes.trim_ascii().is_empty()
    }
}

impl<R: BufRead> Rows<R> {
    pub fn new(source: R, shape: Shape) -> Self {
        Rows {
            source,
            shape,
            line: 1,
            held: Held::default(),
            place: Place::Before,
        }
    }

    /// Nothing is left of a stream that cannot grow.
    pub(super) fn is_at_end(&self) -> bool
    where
        R: AsRef<[u8]>,
    {
        self.source.as_ref().is_empty()
    }

    /// The next row; none at the end. Blank lines are skipped.
    pub fn next_row(&mut self) -> io::Result<Option<RawRow<'_>>> {
        match self.shape {
            Shape::Lines | Shape::Csv => self.next_line(),
            Shape::Array => self.next_element(),
            Shape::Objects => self.next_object(),
        }
    }

    fn next_object(&mut self) -> io::Result<Option<RawRow<'_>>> {
        match self.skip_blanks()? {
            None => Ok(None),
            Some(b'{') if self.place != Place::Done => self.hold(Scan::end_of_object),
            // Whatever stands between objects is a bad row, and ends with its line.
            Some(_) => self.next_line(),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<RawRow<'_>>> {
        loop {
            self.skip_empty_lines()?;
            let line = self.line;
            if !self.hold_line()? {
                return Ok(None);
            }
            if self.held.is_blank() {
                continue;
            }
            if self.held.bytes.last() == Some(&b'\r') {
                self.held.bytes.pop();
            }
            let text = self.held.text();
            return Ok(Some(RawRow { line, text }));
        }
    }

    /// A packed file of a few kilobytes may hold a billion of them.
    fn skip_empty_lines(&mut self) -> io::Result<()> {
        loop {
            let piece = filled(&mut self.source)?;
            let other = piece.iter().position(|byte| !b"\r\n".contains(byte));
            let empty = &piece[..other.unwrap_or(piece.len())];
            let used = empty.len();
            self.line += memchr_iter(b'\n', empty).count() as u64;
            self.source.consume(used);
            if other.is_some() || used == 0 {
                return Ok(());
            }
        }
    }

    /// Reads to the next end of a row; false at the end of the file.
    fn hold_line(&mut self) -> io::Result<bool> {
        self.held.clear();
        let (mut any, mut quoted) = (false, false);
        loop {
            let piece = filled(&mut self.source)?;
            if piece.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = memchr(b'\n', piece);
            let text = &piece[..end.unwrap_or(piece.len())];
            self.held.push(text)?;
            if self.shape == Shape::Csv {
                quoted ^= memchr_iter(b'"', text).count() % 2 == 1;
            }
            let used = text.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                self.line += 1;
                if !quoted {
                    return Ok(true);
                }
                self.held.push(b"\n")?;
            }
        }
    }

    fn next_element(&mut self) -> io::Result<Option<RawRow<'_>>> {
        let first = self.skip_blanks()?;
        match (self.place, first) {
            (Place::Done, _) | (Place::Before | Place::After, None) => Ok(None),
            (Place::Before, Some(b'[')) => {
                self.source.consume(1);
                self.place = Place::Inside(false);
                self.next_element()
            }
            (Place::Before | Place::After, Some(_)) => Ok(Some(self.last_fault(Fault::AfterEnd))),
            (Place::Inside(_), None) => Ok(Some(self.last_fault(Fault::CutOff))),
            (Place::Inside(false), Some(b']')) => {
                self.source.consume(1);
                self.place = Place::After;
                self.next_element()
            }
            (Place::Inside(_), Some(_)) => self.hold(Scan::end_of_element),
        }
    }

    /// A fault after which nothing can be read.
    fn last_fault(&mut self, fault: Fault) -> RawRow<'_> {
        self.place = Place::Done;
        RawRow {
            line: self.line,
            text: Err(fault),
        }
    }

    /// Reads to where an element or an object ends.
    fn hold(
        &mut self,
        end_of: fn(&mut Scan, &[u8]) -> Option<usize>,
    ) -> io::Result<Option<RawRow<'_>>> {
        let line = self.line;
        self.held.clear();
        let mut scan = Scan::default();
        loop {
            let piece = filled(&mut self.source)?;
            if piece.is_empty() {
                self.place = Place::Done;
                let text = Err(Fault::CutOff);
                return Ok(Some(RawRow { line, text }));
            }
            let end = end_of(&mut scan, piece);
            let text = &piece[..end.unwrap_or(piece.len())];
            self.held.push(text)?;
            self.line += memchr_iter(b'\n', text).count() as u64;
            let closed = end.map(|end| piece.get(end) == Some(&b']'));
            let mark = self.shape == Shape::Array && end.is_some();
            let used = text.len() + usize::from(mark);
            self.source.consume(used);
            if let Some(closed) = closed {
                self.place = match (self.shape, closed) {
                    (Shape::Objects, _) => Place::Before,
                    (_, true) => Place::After,
                    (_, false) => Place::Inside(true),
                };
                let text = self.held.text().map(str::trim_ascii_end);
                return Ok(Some(RawRow { line, text }));
            }
        }
    }

    /// The next byte that is not a blank.
    fn skip_blanks(&mut self) -> io::Result<Option<u8>> {
        loop {
            let piece = filled(&mut self.source)?;
            if piece.is_empty() {
                return Ok(None);
            }
            let blanks = piece.len() - piece.trim_ascii_start().len();
            self.line += memchr_iter(b'\n', &piece[..blanks]).count() as u64;
            let first = piece.get(blanks).copied();
            self.source.consume(blanks);
            if first.is_some() {
                return Ok(first);
            }
        }
    }
}

/// Where an element of a JSON array ends, carried from one piece of it to the next. It knows
/// strings and depth, and leaves to the parser whether the element is sound.
#[derive(Debug, Default)]
struct Scan {
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl Scan {
    /// Behind the brace that closes an object.
    fn end_of_object(&mut self, piece: &[u8]) -> Option<usize> {
        self.end(piece, |depth, byte| depth == 1 && byte == b'}')
            .map(|end| end + 1)
    }

    /// At the comma or bracket that ends an element.
    fn end_of_element(&mut self, piece: &[u8]) -> Option<usize> {
        self.end(piece, |depth, byte| {
            depth == 0 && matches!(byte, b',' | b']')
        })
    }

    fn end(&mut self, piece: &[u8], ends: impl Fn(u64, u8) -> bool) -> Option<usize> {
        let mut at = 0;
        while at < piece.len() {
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                at += memchr2(b'"', b'\\', &piece[at..])?;
                self.escaped = piece[at] == b'\\';
                self.in_string = self.escaped;
            } else {
                match piece[at] {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    byte if ends(self.depth, byte) => return Some(at),
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }
}

fn filled(source: &mut impl BufRead) -> io::Result<&[u8]> {
    // Asked twice, since a borrow cannot be returned from within a loop.
    while let Err(error) = source.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    source.fill_buf()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;
    use std::io::Read as _;

    type Owned = (u64, Result<String, Fault>);

    fn read(bytes: &[u8], shape: Shape, buffer: usize) -> Vec<Owned> {
        let mut rows = Rows::new(BufReader::with_capacity(buffer, bytes), shape);
        let mut all = Vec::new();
        while let Some(row) = rows.next_row().unwrap() {
            all.push((row.line, row.text.map(str::to_owned)));
        }
        all
    }

    fn good(line: u64, text: &str) -> Owned {
        (line, Ok(text.to_owned()))
    }

    #[test]
    fn lines_keep_their_numbers_over_blank_ones_and_carriage_returns() {
        let rows = read(b"one\r\n\r\n  \t\n two \nthree", Shape::Lines, 3);
        assert_eq!(rows, [good(1, "one"), good(4, " two "), good(5, "three")]);
    }

    #[test]
    fn a_line_break_within_quotes_does_not_end_a_row_of_csv() {
        let rows = read(b"a,\"b\nc\"\nd,e\n", Shape::Csv, 2);
        assert_eq!(rows, [good(1, "a,\"b\nc\""), good(3, "d,e")]);
    }

    #[test]
    fn elements_know_the_line_where_they_begin() {
        let array = "\n[\n  {\"a\": \"x,]\\\"\\\\\",\n   \"b\": [1, {}]},\n\n  2 ,[3]\n]\n";
        let expected = [
            good(3, "{\"a\": \"x,]\\\"\\\\\",\n   \"b\": [1, {}]}"),
            good(6, "2"),
            good(6, "[3]"),
        ];
        for buffer in 1..9 {
            assert_eq!(read(array.as_bytes(), Shape::Array, buffer), expected);
        }
        assert_eq!(read(b"[ ]", Shape::Array, 1), []);
    }

    #[test]
    fn objects_lie_over_as_many_lines_as_they_like() {
        let text = "{\n \"a\": \"}{\",\n \"b\": [{}]\n}\n\n{\"c\": 1} {}\nstray {\n{\"d";
        let expected = [
            good(1, "{\n \"a\": \"}{\",\n \"b\": [{}]\n}"),
            good(6, "{\"c\": 1}"),
            good(6, "{}"),
            good(7, "stray {"),
            (8, Err(Fault::CutOff)),
        ];
        for buffer in 1..9 {
            assert_eq!(read(text.as_bytes(), Shape::Objects, buffer), expected);
        }
    }

    #[test]
    fn an_array_that_breaks_off_ends_in_a_bad_row_with_its_line() {
        for (array, line) in [
            ("[\n1,\n{\"a\": \"", 3),
            ("[\n1,\n{\"a\": 1}", 3),
            ("[\n1,\n\n", 4),
        ] {
            let rows = read(array.as_bytes(), Shape::Array, 4);
            assert_eq!(rows, [good(2, "1"), (line, Err(Fault::CutOff))]);
        }
    }

    #[test]
    fn what_follows_an_array_is_a_bad_row() {
        let rows = read(b"[1]\n[2]", Shape::Array, 4);
        assert_eq!(rows, [good(1, "1"), (2, Err(Fault::AfterEnd))]);
    }

    #[test]
    fn what_is_no_text_is_a_bad_row_and_its_neighbours_are_good() {
        let rows = read(b"one\nb\xffd\nthree\n", Shape::Lines, 8);
        assert_eq!(
            rows,
            [good(1, "one"), (2, Err(Fault::NotText)), good(3, "three")]
        );
    }

    #[test]
    fn a_row_that_is_too_long_is_passed_over_without_being_held() {
        let long = "x".repeat(LONGEST_ROW + 1);
        let lines = format!("one\n{long}\ntwo\n");
        let array = format!("[\"one\",\n\"{long}\",\n\"two\"]");
        for (text, shape) in [(lines, Shape::Lines), (array, Shape::Array)] {
            let mut rows = Rows::new(text.as_bytes(), shape);
            assert!(rows.next_row().unwrap().unwrap().text.is_ok());
            let row = rows.next_row().unwrap().unwrap();
            assert_eq!((row.line, row.text), (2, Err(Fault::TooLong)));
            assert!(rows.held.bytes.capacity() < LONGEST_ROW);
            assert_eq!(rows.next_row().unwrap().unwrap().line, 3);
        }
    }

    #[test]
    fn the_end_of_a_row_is_not_looked_for_without_end() {
        for (begin, shape) in [
            (&b"x"[..], Shape::Lines),
            (b"\"", Shape::Csv),
            (b"[\"", Shape::Array),
            (b"{\"", Shape::Objects),
        ] {
            let endless = io::BufReader::with_capacity(1 << 20, io::repeat(b'x'));
            let mut rows = Rows::new(begin.chain(endless), shape);
            let error = rows.next_row().unwrap_err().to_string();
            assert!(error.contains("more than 1 GiB"), "{error}");
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC*|[\"\\\\\\[\\]{},\n]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[\"\\\\a-c{}\\[\\],]{0,4}", inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn arrays_come_apart_as_a_parser_takes_them_apart(
            elements in prop::collection::vec(json(), 0..8),
            blanks in prop::collection::vec("[ \n\t\r]{0,3}", 20),
            pretty in any::<bool>(),
            buffer in 1usize..40,
        ) {
            let mut blanks = blanks.iter().cycle();
            let mut text = format!("{}[{}", blanks.next().unwrap(), blanks.next().unwrap());
            for (place, element) in elements.iter().enumerate() {
                let json = if pretty { format!("{element:#}") } else { element.to_string() };
                let comma = if place == 0 { "" } else { "," };
                text += &[comma, blanks.next().unwrap(), &json, blanks.next().unwrap()].concat();
            }
            text += "]";
            let rows = read(text.as_bytes(), Shape::Array, buffer);
            let values: Vec<serde_json::Value> = rows
                .iter()
                .map(|row| serde_json::from_str(row.1.as_ref().unwrap()).unwrap())
                .collect();
            prop_assert_eq!(values, elements);
        }

        #[test]
        fn rows_do_not_depend_on_how_the_stream_is_cut(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(&b"[]{}\",\\\n "[..])], 0..200),
            buffer in 1usize..40,
        ) {
            for shape in [Shape::Lines, Shape::Csv, Shape::Array, Shape::Objects] {
                prop_assert_eq!(read(&bytes, shape, buffer), read(&bytes, shape, 4096));
            }
        }
    }
}
