//! Reads one answer from the bytes of the socket into a record. No I/O: bytes and their time
//! in, facts out.

#[cfg(test)]
mod tests;

use crate::api::{AnswerText, Decoder, Dialect, Message};
use crate::failure::{failure, of_status};
use crate::http::{BodyDecoder, Head};
use crate::sse::{Event, SseParser};
use inferometer_core::record::{
    BareChunk, BareKind, Failure, FailureClass, Outcome, Phase, Record, Usage,
};
use inferometer_core::units::Offset;
use inferometer_text::hostile::printable;

/// Longest body that is kept whole: an answer without a stream, or an error.
const LONGEST_BODY: usize = 64 << 20;

const LONGEST_ERROR: usize = 16 << 10;

/// Chunks that room is made for at once: beyond, it costs little to make more when they come.
const MOST_EXPECTED: u32 = 64;

/// Interim answers (1xx) before the real one.
const MOST_INTERIM: u32 = 32;

/// Characters of a model's name.
const LONGEST_NAME: usize = 200;

const COMPRESSED: &str = "the answer is compressed (Content-Encoding: gzip or the like), which nobody asked for; switch that off in the server or in the proxy before it";
/// What a compressed body begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerProgress {
    More,
    /// An interim answer was passed over; what follows it has been kept.
    Interim,
    /// `[DONE]` has come, but not the end of the body.
    Ending,
    /// The answer is over and its outcome is in the record.
    Over {
        reusable: bool,
    },
}

pub struct AnswerReader {
    dialect: &'static dyn Dialect,
    decoder: Decoder,
    part: Part,
    /// Number of the current read, and of the read that completed the last message.
    read: u64,
    last_message_read: u64,
    /// Output tokens by the last message that said so, for counts per chunk.
    tokens_so_far: Option<u32>,
    /// Every token-bearing chunk came with a count.
    counts_known: bool,
    done_marker: bool,
    body_began: bool,
    interim: u32,
    trouble: Option<Failure>,
    /// The text so far, if somebody needs it.
    kept: Option<AnswerText>,
}

enum Part {
    Head(Vec<u8>),
    Body {
        head: Head,
        frame: BodyDecoder,
        content: Content,
    },
}

enum Content {
    Events(SseParser),
    /// Whole answer or error, kept until it ends.
    Whole(Vec<u8>),
}

impl AnswerReader {
    pub fn new(dialect: &'static dyn Dialect) -> Self {
        AnswerReader::with_decoder(dialect, Decoder::new(dialect))
    }

    /// With a decoder that has forgotten what it decoded before.
    pub(crate) fn with_decoder(dialect: &'static dyn Dialect, decoder: Decoder) -> Self {
        AnswerReader {
            dialect,
            kept: None,
            decoder,
            part: Part::Head(Vec::new()),
            read: 0,
            last_message_read: 0,
            tokens_so_far: None,
            counts_known: true,
            done_marker: false,
            body_began: false,
            interim: 0,
            trouble: None,
        }
    }

    pub fn keeping_text(mut self) -> Self {
        self.kept = Some(AnswerText::default());
        self
    }

    pub(crate) fn into_parts(self) -> (Option<AnswerText>, Decoder) {
        (self.kept, self.decoder)
    }

    pub fn take(&mut self, piece: &[u8], now: Offset, record: &mut Record) -> AnswerProgress {
        self.read += 1;
        record.first_byte.get_or_insert(now);
        let mut progress = self.take_piece(piece, now, record);
        while progress == AnswerProgress::Interim {
            progress = match &self.part {
                Part::Head(kept) if kept.is_empty() => AnswerProgress::More,
                _ => self.take_piece(&[], now, record),
            };
        }
        progress
    }

    fn take_piece(&mut self, piece: &[u8], now: Offset, record: &mut Record) -> AnswerProgress {
        let kept = match &mut self.part {
            Part::Body { .. } => return self.take_body(piece, now, record),
            Part::Head(kept) => std::mem::take(kept),
        };
        // As a rule the whole head comes in one read, and nothing need be kept.
        let whole = if kept.is_empty() {
            std::borrow::Cow::Borrowed(piece)
        } else {
            std::borrow::Cow::Owned([&kept, piece].concat())
        };
        match Head::read(&whole) {
            Ok(Some(head)) => self.take_head(head, &whole, now, record),
            Ok(None) => {
                self.part = Part::Head(whole.into_owned());
                AnswerProgress::More
            }
            Err(error) => self.not_http(&error.to_string(), now, record),
        }
    }

    fn take_head(
        &mut self,
        head: Head,
        bytes: &[u8],
        now: Offset,
        record: &mut Record,
    ) -> AnswerProgress {
        let rest = &bytes[head.length..];
        if head.is_interim() {
            self.interim += 1;
            if self.interim > MOST_INTERIM {
                return self.not_http("interim answers (1xx) without end", now, record);
            }
            // The real head follows, often in the same read; `take` goes on from there.
            self.part = Part::Head(rest.to_vec());
            return AnswerProgress::Interim;
        }
        record.status = Some(head.status);
        let streams = head.is_success() && (head.is_event_stream() || head.is_lines());
        // A server that answers whole where a stream was asked has no first token to time.
        record.streamed &= streams || !head.is_success();
        let content = if streams {
            let expected = record.output_tokens_asked.unwrap_or_default();
            let expected = expected.min(MOST_EXPECTED) as usize;
            record.chunks.at.reserve_exact(expected);
            record.chunks.same_read.reserve_exact(expected);
            Content::Events(if head.is_lines() {
                SseParser::of_lines()
            } else {
                SseParser::default()
            })
        } else {
            Content::Whole(Vec::new())
        };
        if head.compressed && head.is_success() {
            self.bad_stream(COMPRESSED.to_owned());
        }
        let frame = head.body();
        self.part = Part::Body {
            head,
            frame,
            content,
        };
        self.take_body(rest, now, record)
    }

    fn take_body(&mut self, piece: &[u8], now: Offset, record: &mut Record) -> AnswerProgress {
        // Taken out so that the parsers and `self` can be borrowed side by side.
        let mut part = std::mem::replace(&mut self.part, Part::Head(Vec::new()));
        let Part::Body {
            head,
            frame,
            content,
        } = &mut part
        else {
            return self.not_http("a body without a head", now, record);
        };
        let used = frame.decode(piece, |data| {
            // Some proxies compress and do not say so.
            if !std::mem::replace(&mut self.body_began, true) && data.starts_with(&GZIP) {
                self.bad_stream(COMPRESSED.to_owned());
            }
            match content {
                Content::Events(parser) => {
                    let fed = parser.feed(data, |event| self.take_event(event, now, record));
                    if let Err(error) = fed {
                        self.bad_stream(error.to_string());
                    }
                }
                Content::Whole(body) => {
                    let longest = if head.is_success() {
                        LONGEST_BODY
                    } else {
                        LONGEST_ERROR
                    };
                    let room = longest.saturating_sub(body.len()).min(data.len());
                    body.extend_from_slice(&data[..room]);
                }
            }
        });
        let used = used.unwrap_or_else(|error| {
            self.bad_stream(error.to_string());
            piece.len()
        });
        let clean = used == piece.len();
        let progress = if frame.is_done() || self.trouble.is_some() {
            let reusable = head.keep_alive && clean && self.trouble.is_none();
            self.conclude(&mut part, now, record);
            AnswerProgress::Over { reusable }
        } else if self.done_marker {
            AnswerProgress::Ending
        } else {
            AnswerProgress::More
        };
        self.part = part;
        progress
    }

    /// The connection was closed by the other side, or given up after `[DONE]`.
    pub fn close(&mut self, now: Offset, record: &mut Record) {
        let mut part = std::mem::replace(&mut self.part, Part::Head(Vec::new()));
        match &part {
            Part::Head(kept) => {
                let detail = match kept.len() {
                    0 => "the server closed the connection without an answer",
                    _ => "the server closed the connection inside the headers",
                };
                let failure = failure(Phase::Status, FailureClass::Disconnected, detail);
                finish(record, now, Outcome::Failed(failure));
            }
            Part::Body { frame, .. } => {
                if !frame.may_close() && !self.done_marker {
                    self.trouble.get_or_insert_with(|| {
                        failure(
                            Phase::Truncated,
                            FailureClass::CutStream,
                            "the connection was closed inside the answer",
                        )
                    });
                }
                self.conclude(&mut part, now, record);
            }
        }
        self.part = part;
    }

    fn take_event(&mut self, event: Event<'_>, now: Offset, record: &mut Record) {
        if self.trouble.is_some() || self.done_marker {
            return;
        }
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return;
        }
        if data == b"[DONE]" {
            self.done_marker = true;
            return;
        }
        match self.decoder.decode(data) {
            Ok(message) if message.error.is_some() || event.name == Some("error") => {
                let whole = || String::from_utf8_lossy(data).into_owned();
                let said = message.error.unwrap_or_else(whole);
                self.trouble = Some(failure(Phase::Stream, FailureClass::InBandError, said));
            }
            Ok(message) => {
                if let Some(kept) = self.kept.as_mut().filter(|_| message.has_text()) {
                    if message.repeats {
                        *kept = AnswerText::default();
                    }
                    kept.append(&self.dialect.text(data));
                }
                self.take_message(message, now, record);
            }
            Err(error) => self.bad_stream(error.to_string()),
        }
    }

    fn take_message(&mut self, mut message: Message, now: Offset, record: &mut Record) {
        if message.repeats {
            message.chars = message.chars.saturating_sub(record.output_chars);
        }
        let same_read = std::mem::replace(&mut self.last_message_read, self.read) == self.read;
        let counted = message.usage.and_then(|usage| usage.output);
        if message.has_text() {
            record.output_chars += message.chars;
            record.chunks.at.push(now);
            record.chunks.same_read.push(same_read);
            if message.has_answer {
                record.first_answer.get_or_insert(now);
            }
            self.count_tokens(counted, record);
        } else {
            let kind = match (message.has_choice, &message.finish) {
                (true, Some(_)) => BareKind::Finish,
                (true, None) => BareKind::Empty,
                (false, _) => BareKind::NoChoice,
            };
            record.bare.push(BareChunk { at: now, kind });
        }
        take_facts(message, record);
    }

    /// Tokens of a chunk, from the counts that servers give per chunk when asked.
    fn count_tokens(&mut self, counted: Option<u32>, record: &mut Record) {
        let Some(counted) = counted.filter(|_| self.counts_known) else {
            self.counts_known = false;
            record.chunks.tokens = None;
            return;
        };
        let before = self.tokens_so_far.replace(counted).unwrap_or(0);
        record
            .chunks
            .tokens
            .get_or_insert_default()
            .push(counted.saturating_sub(before));
    }

    fn bad_stream(&mut self, detail: String) {
        self.trouble
            .get_or_insert_with(|| failure(Phase::Stream, FailureClass::BadStream, detail));
    }

    fn not_http(&mut self, detail: &str, now: Offset, record: &mut Record) -> AnswerProgress {
        let failure = failure(Phase::Status, FailureClass::BadStream, detail);
        finish(record, now, Outcome::Failed(failure));
        AnswerProgress::Over { reusable: false }
    }

    /// The body is over: decides how the request ended.
    fn conclude(&mut self, part: &mut Part, now: Offset, record: &mut Record) {
        let Part::Body { head, content, .. } = part else {
            return;
        };
        match content {
            Content::Events(parser) => {
                let fed = parser.finish(|event| self.take_event(event, now, record));
                if let Err(error) = fed {
                    self.bad_stream(error.to_string());
                }
                let trouble = self.trouble.take().or_else(|| self.incomplete(record));
                finish(record, now, trouble.map_or(Outcome::Done, Outcome::Failed));
            }
            Content::Whole(body) => {
                let outcome = match (self.trouble.take(), head.is_success()) {
                    (Some(trouble), _) => Outcome::Failed(trouble),
                    (None, true) => self.take_whole(body, record),
                    (None, false) => {
                        let mut said = String::from_utf8_lossy(body).trim().to_owned();
                        if let Some(location) = &head.location {
                            said = format!("redirected to {location} {said}");
                        }
                        Outcome::Failed(of_status(head.status, &said))
                    }
                };
                finish(record, now, outcome);
            }
        }
    }

    /// What a stream that ended without trouble still lacks.
    fn incomplete(&self, record: &Record) -> Option<Failure> {
        let says_so = self.done_marker || !self.dialect.says_finish();
        if record.finish.is_some() || (says_so && !record.chunks.is_empty()) {
            return None;
        }
        Some(if record.chunks.is_empty() {
            failure(
                Phase::Stream,
                FailureClass::EmptyStream,
                "status 200, and a stream without a token or a finish",
            )
        } else {
            failure(
                Phase::Truncated,
                FailureClass::CutStream,
                "the stream ended without a finish reason or [DONE]",
            )
        })
    }

    fn take_whole(&mut self, body: &[u8], record: &mut Record) -> Outcome {
        let bad = |detail: String| {
            Outcome::Failed(failure(Phase::Stream, FailureClass::BadStream, detail))
        };
        match self.decoder.decode(body.trim_ascii()) {
            Err(error) => bad(error.to_string()),
            Ok(Message {
                error: Some(said), ..
            }) => Outcome::Failed(failure(Phase::Stream, FailureClass::InBandError, said)),
            Ok(message) if !message.has_choice => Outcome::Failed(failure(
                Phase::Stream,
                FailureClass::EmptyStream,
                match message.items {
                    Some(_) => "status 200, and an answer without an item",
                    None => "status 200, and an answer without a choice",
                },
            )),
            Ok(message) if message.items.is_some() && message.items < record.items_asked => {
                let [items, asked] =
                    [message.items, record.items_asked].map(Option::unwrap_or_default);
                bad(format!("an answer with {items} items to {asked} texts"))
            }
            Ok(message) => {
                if let Some(kept) = &mut self.kept {
                    kept.append(&self.dialect.text(body));
                }
                record.output_chars = message.chars;
                record.items = message.items;
                take_facts(message, record);
                Outcome::Done
            }
        }
    }
}

/// Facts that may come with any message; the last one wins, but for the model, which stays.
fn take_facts(message: Message, record: &mut Record) {
    if record.model.is_none() {
        record.model = message.model.map(|name| printable(&name, LONGEST_NAME));
    }
    record.audio_ms = (record.audio_ms).or(message.audio_s.map(|s| (s * 1e3).round() as u32));
    record.media_tokens = message.media_tokens.or(record.media_tokens);
    record.preemptions = message.preemptions.or(record.preemptions);
    if message.per_token.is_some() {
        record.per_token = message.per_token;
    }
    if let Some(finish) = message.finish {
        record.finish = Some(printable(&finish, 40));
    }
    if let Some(new) = message.usage {
        let old = record.usage.unwrap_or_default();
        record.usage = Some(Usage {
            input: new.input.or(old.input),
            output: new.output.or(old.output),
            cached: new.cached.or(old.cached),
        });
    }
}

fn finish(record: &mut Record, now: Offset, outcome: Outcome) {
    record.end = Some(now);
    record.outcome = outcome;
}
