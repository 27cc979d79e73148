//! Decodes the messages of one stream, the fast way where messages repeat themselves.
//!
//! The chunks of a stream differ, as a rule, in one string: the token's text. So the decoder
//! keeps the bytes before and after that string. A message with the same bytes around a valid
//! string is the same JSON but for the text, and need not be parsed again. Whatever does not
//! fit is parsed in full, so the result is the same either way.

use super::dialect::{BadMessage, Dialect, Message};
use super::wire::string_chars;

/// Messages in a row that may miss the shape before it is given up for the stream.
const MISSES: u32 = 8;

pub struct Decoder {
    dialect: &'static dyn Dialect,
    shape: Shape,
    misses: u32,
}

#[derive(Default)]
struct Shape {
    /// Up to and with the quote that opens the text; empty if none is known.
    before: Vec<u8>,
    /// From the quote that closes the text.
    after: Vec<u8>,
    has_answer: bool,
}

impl Decoder {
    pub fn new(dialect: &'static dyn Dialect) -> Self {
        Decoder {
            dialect,
            shape: Shape::default(),
            misses: 0,
        }
    }

    /// Is as new, but for the memory that it has.
    pub(crate) fn forget(&mut self) {
        self.misses = 0;
        self.shape.before.clear();
        self.shape.after.clear();
    }

    pub fn decode(&mut self, json: &[u8]) -> Result<Message, BadMessage> {
        if let Some(chars) = self.shape.chars(json) {
            self.misses = 0;
            return Ok(Message {
                has_choice: true,
                chars,
                has_answer: self.shape.has_answer,
                ..Message::default()
            });
        }
        let message = self.dialect.message(json)?;
        if self.misses < MISSES
            && let Some(text) = message.only_text.clone()
        {
            self.misses += 1;
            self.shape.before.clear();
            self.shape.before.extend_from_slice(&json[..text.start]);
            self.shape.after.clear();
            self.shape.after.extend_from_slice(&json[text.end..]);
            self.shape.has_answer = message.has_answer;
        }
        Ok(message)
    }
}

impl Shape {
    /// Characters of the text, if the message has this shape and a text.
    fn chars(&self, json: &[u8]) -> Option<u64> {
        if self.before.is_empty() {
            return None;
        }
        let inside = json
            .strip_prefix(self.before.as_slice())?
            .strip_suffix(self.after.as_slice())?;
        // A raw control character is not JSON; a backslash at the end would escape the quote,
        // which `string_chars` sees as an unfinished escape.
        if inside.is_empty() || inside.iter().any(|&byte| byte < 0x20) {
            return None;
        }
        string_chars(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CHAT, COMPLETIONS};
    use super::*;
    use proptest::prelude::*;

    fn chunk(content: &str, finish: &str) -> String {
        format!(
            r#"{{"id":"x","choices":[{{"index":0,"delta":{{"content":{content}}},"finish_reason":{finish}}}]}}"#
        )
    }

    fn without_place(mut message: Message) -> Message {
        message.only_text = None;
        message
    }

    #[test]
    fn a_text_that_would_break_out_of_its_string_is_parsed_in_full() {
        let mut decoder = Decoder::new(CHAT);
        decoder.decode(chunk("\"a\"", "null").as_bytes()).unwrap();
        let tricky = chunk(r#""a","finish_reason":"b""#, "null");
        let slow = CHAT.message(tricky.as_bytes());
        assert_eq!(decoder.decode(tricky.as_bytes()).is_err(), slow.is_err());
        let escaped = chunk("\"a\\\"", "null");
        assert!(decoder.decode(escaped.as_bytes()).is_err());
        assert!(
            decoder
                .decode(chunk("\"a\nb\"", "null").as_bytes())
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn the_fast_way_and_the_slow_way_agree(
            texts in proptest::collection::vec((".{0,6}", prop::bool::weighted(0.1)), 1..20),
            chat in any::<bool>(),
        ) {
            let dialect = if chat { CHAT } else { COMPLETIONS };
            let mut decoder = Decoder::new(dialect);
            for (text, finished) in texts {
                let content = serde_json::to_string(&text).unwrap();
                let finish = if finished { "\"stop\"" } else { "null" };
                let json = if chat {
                    chunk(&content, finish)
                } else {
                    format!(r#"{{"choices":[{{"text":{content},"finish_reason":{finish}}}]}}"#)
                };
                let slow = dialect.message(json.as_bytes()).unwrap();
                let fast = decoder.decode(json.as_bytes()).unwrap();
                prop_assert_eq!(without_place(fast), without_place(slow));
            }
        }
    }
}
