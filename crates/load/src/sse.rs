//! An incremental parser for server-sent events.
//!
//! Takes the body in pieces of any size, split anywhere, and gives each event's data. An event
//! that lies in one piece is given without a copy; only what is split between pieces is kept.

use memchr::memchr2;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Longest line or event that is kept; a server that sends more is not sending events.
const LONGEST: usize = 64 << 20;
/// What the unfinished events of all streams may hold together: a thousand streams could each keep
/// to the limit of one and leave no memory to anybody.
const MOST_HELD: usize = 512 << 20;
/// Shorter ones are not counted.
const FREE: usize = 64 << 10;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// The part of [`MOST_HELD`] that one stream has taken.
#[derive(Debug)]
struct Share<'a> {
    held: &'a AtomicUsize,
    own: usize,
}

impl Share<'_> {
    /// Takes what this many bytes need; false if there is not as much.
    fn take(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.own);
        if bytes <= FREE || more == 0 {
            return true;
        }
        self.own += more;
        self.held.fetch_add(more, Relaxed) + more <= MOST_HELD
    }
}

impl Default for Share<'static> {
    fn default() -> Self {
        let (held, own) = (&HELD, 0);
        Share { held, own }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if self.own > 0 {
            self.held.fetch_sub(self.own, Relaxed);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    pub data: &'a [u8],
    pub name: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than 64 MiB, or unfinished ones of more than 512 MiB in all streams")]
pub struct TooLong;

/// How messages are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Framing {
    #[default]
    Events,
    /// A message in each line (NDJSON).
    Lines,
}

#[derive(Debug, Default)]
pub struct SseParser {
    framing: Framing,
    /// A line whose end has not come yet.
    line: Vec<u8>,
    /// Data of the event whose end has not come yet.
    data: Vec<u8>,
    /// The event has at least one `data:` line.
    has_data: bool,
    name: Option<String>,
    held: Share<'static>,
    /// The last piece ended in CR, so that a LF at the start of the next belongs to it.
    skip_line_feed: bool,
    /// The first line has been seen, so that a byte order mark is data.
    started: bool,
}

impl SseParser {
    /// For streams that have a message in each line in place of events.
    pub fn of_lines() -> Self {
        SseParser {
            framing: Framing::Lines,
            ..SseParser::default()
        }
    }

    /// Takes the next piece of the body and gives the events that it completes.
    pub fn feed(&mut self, piece: &[u8], mut give: impl FnMut(Event<'_>)) -> Result<(), TooLong> {
        let mut rest = piece;
        if self.skip_line_feed && !rest.is_empty() {
            self.skip_line_feed = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while !rest.is_empty() {
            if self.framing == Framing::Events
                && self.line.is_empty()
                && !self.has_data
                && self.name.is_none()
                && let Some((event, after)) = whole_event(rest)
            {
                self.started = true;
                give(event);
                rest = after;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.hold(rest.len())?;
                self.line.extend_from_slice(rest);
                return Ok(());
            };
            let (head, tail) = rest.split_at(end);
            rest = match tail {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.skip_line_feed = true;
                    &[]
                }
                _ => &tail[1..],
            };
            if self.line.is_empty() {
                self.take_line(head, &mut give)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(head);
                self.take_line(&line, &mut give)?;
                line.clear();
                self.line = line;
            }
        }
        Ok(())
    }

    /// The body is over. An event whose closing blank line is missing is given all the same:
    /// some servers end so, and whether the stream is complete is decided by its content.
    pub fn finish(&mut self, mut give: impl FnMut(Event<'_>)) -> Result<(), TooLong> {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.take_line(&line, &mut give)?;
        }
        self.dispatch(&mut give);
        Ok(())
    }

    /// Whether so much more may be kept.
    fn hold(&mut self, more: usize) -> Result<(), TooLong> {
        let all = self.line.len() + self.data.len() + more;
        if all <= LONGEST && self.held.take(all) {
            Ok(())
        } else {
            Err(TooLong)
        }
    }

    fn take_line(&mut self, line: &[u8], give: &mut impl FnMut(Event<'_>)) -> Result<(), TooLong> {
        let line = match (self.started, line) {
            (false, [0xEF, 0xBB, 0xBF, after @ ..]) => after,
            _ => line,
        };
        self.started = true;
        if self.framing == Framing::Lines {
            if !line.is_empty() {
                give(Event {
                    data: line,
                    name: None,
                });
            }
            return Ok(());
        }
        if line.is_empty() {
            self.dispatch(give);
            return Ok(());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                self.hold(value.len())?;
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = Some(String::from_utf8_lossy(value).into_owned()),
            // Comments (an empty field), id, retry and unknown fields say nothing about tokens.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, give: &mut impl FnMut(Event<'_>)) {
        if self.has_data {
            give(Event {
                data: &self.data,
                name: self.name.as_deref(),
            });
        }
        self.data.clear();
        self.has_data = false;
        self.name = None;
    }
}

/// The common case: `data: …` and a blank line, all in this piece.
fn whole_event(piece: &[u8]) -> Option<(Event<'_>, &[u8])> {
    let value = piece.strip_prefix(b"data:")?;
    let value = value.strip_prefix(b" ").unwrap_or(value);
    let end = memchr2(b'\n', b'\r', value)?;
    let after = match &value[end..] {
        [b'\n', b'\n', after @ ..] => after,
        [b'\r', b'\n', b'\r', b'\n', after @ ..] => after,
        _ => return None,
    };
    let event = Event {
        data: &value[..end],
        name: None,
    };
    Some((event, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_streams_together_hold_no_more_than_there_is_for_them() {
        let held = AtomicUsize::new(0);
        let share = || Share {
            held: &held,
            own: 0,
        };
        let (mut one, mut other) = (share(), share());
        assert!(one.take(MOST_HELD - FREE) && one.take(1));
        assert!(other.take(FREE), "what is short is free");
        assert!(!other.take(FREE + 1));
        drop((one, other));
        assert!(share().take(MOST_HELD));
        assert_eq!(held.into_inner(), 0, "all of it comes back");
    }

    /// All events of a body that comes in the given pieces.
    fn events(pieces: &[&[u8]]) -> Vec<(Vec<u8>, Option<String>)> {
        let mut parser = SseParser::default();
        let mut out = Vec::new();
        let mut keep = |event: Event<'_>| {
            out.push((event.data.to_vec(), event.name.map(str::to_owned)));
        };
        for piece in pieces {
            parser.feed(piece, &mut keep).unwrap();
        }
        parser.finish(&mut keep).unwrap();
        out
    }

    fn data(body: &str) -> Vec<String> {
        events(&[body.as_bytes()])
            .into_iter()
            .map(|(data, _)| String::from_utf8(data).unwrap())
            .collect()
    }

    #[test]
    fn events_end_at_a_blank_line_with_any_line_ending() {
        assert_eq!(data("data: a\n\ndata: b\n\n"), ["a", "b"]);
        assert_eq!(data("data: a\r\n\r\ndata: b\r\n\r\n"), ["a", "b"]);
        assert_eq!(data("data: a\r\rdata: b\r\r"), ["a", "b"]);
        assert_eq!(data("data: a\n\r\ndata: b\r\n\n"), ["a", "b"]);
    }

    #[test]
    fn the_space_after_the_colon_is_optional_and_only_one_is_dropped() {
        assert_eq!(data("data:a\n\ndata:  b\n\n"), ["a", " b"]);
    }

    #[test]
    fn data_lines_are_joined_and_other_lines_are_passed_over() {
        assert_eq!(
            data(": keepalive\n\nid: 7\nretry: 5\ndata: a\nfoo\ndata: b\n\n"),
            ["a\nb"]
        );
        assert_eq!(data("data\n\n"), [""]);
    }

    #[test]
    fn lines_are_messages_where_a_stream_is_of_lines() {
        let body = b"{\"a\":1}\n\n{\"b\":2}\r\n{\"c\":3}";
        for size in [1, 3, 100] {
            let mut parser = SseParser::of_lines();
            let mut got = Vec::new();
            let mut keep =
                |event: Event<'_>| got.push(String::from_utf8_lossy(event.data).into_owned());
            for piece in body.chunks(size) {
                parser.feed(piece, &mut keep).unwrap();
            }
            parser.finish(&mut keep).unwrap();
            assert_eq!(got, [r#"{"a":1}"#, r#"{"b":2}"#, r#"{"c":3}"#]);
        }
    }

    #[test]
    fn the_event_name_belongs_to_its_event_alone() {
        let got = events(&[b"event: error\ndata: x\n\ndata: y\n\n"]);
        assert_eq!(got[0].1.as_deref(), Some("error"));
        assert_eq!(got[1].1, None);
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_first_field() {
        assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
    }

    #[test]
    fn an_event_without_its_blank_line_is_given_at_the_end() {
        assert_eq!(data("data: a\n\ndata: b"), ["a", "b"]);
        assert_eq!(data("data: a\n\ndata: b\n"), ["a", "b"]);
    }

    #[test]
    fn a_name_without_data_is_no_event() {
        assert!(data("event: ping\n\n").is_empty());
    }

    /// A valid stream: any mixture of fields, comments and line endings.
    fn body() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            4 => "data: ?[ -~äöü中文🦀]{0,20}",
            1 => Just("data".to_owned()),
            1 => ": [a-z ]{0,8}",
            1 => "event: [a-z]{1,5}",
            1 => "id: [0-9]{1,3}",
            3 => Just(String::new()),
        ];
        let ending = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
        proptest::collection::vec((line, ending), 0..24).prop_map(|lines| {
            lines
                .into_iter()
                .map(|(line, ending)| line + ending)
                .collect()
        })
    }

    proptest! {
        #[test]
        fn any_split_of_any_stream_gives_the_same_events(
            body in body(),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let bytes = body.as_bytes();
            let whole = events(&[bytes]);
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.sort_unstable();
            let mut pieces = Vec::new();
            let mut begin = 0;
            for cut in at {
                pieces.push(&bytes[begin..cut]);
                begin = cut;
            }
            pieces.push(&bytes[begin..]);
            prop_assert_eq!(&events(&pieces), &whole);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(&events(&single), &whole);
        }

        #[test]
        fn no_bytes_whatever_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            events(&[&bytes]);
        }
    }
}
