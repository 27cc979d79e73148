//! Records as rows: the schema, and each field of a record in its column.
//!
//! Times are nanoseconds on the run's clock, `connect_ns` and `cap_wait_ns` are durations in
//! nanoseconds. Numbers above 2⁶³−1, which no run reaches, are stored as that.

use super::cells::{Cells, Column};
use inferometer_core::record::{
    BareChunk, Chunks, Failure, Outcome, PerToken, Record, Stage, TokenSource, Usage,
};
use inferometer_core::units::Offset;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use std::time::Duration;
use strum::VariantArray;

/// Name and version of the form.
pub const SCHEMA: &str = "inferometer.records/1";

/// Defines the table and the schema, with one field a column: its type in memory, and its
/// declaration before and after the name.
macro_rules! table {
    ($($name:ident: $type:ty = $kind:literal $rest:literal),+ $(,)?) => {
        pub(super) const MESSAGE: &str =
            concat!("message records {", $($kind, " ", stringify!($name), " ", $rest,)+ "}");

        /// A batch of rows, column by column.
        #[derive(Default)]
        pub(super) struct Table { $($name: Cells<$type>),+ }

        impl Table {
            pub(super) fn columns(&mut self) -> Vec<&mut dyn Column> {
                vec![$(&mut self.$name),+]
            }
        }
    };
}

// Lists have the standard three levels, so that every reader takes them as lists.
table! {
    id: ByteArrayType = "required binary" "(UTF8);",
    index: Int64Type = "required int64" ";",
    session: Int64Type = "optional int64" ";",
    turn: Int64Type = "optional int64" ";",
    due_ns: Int64Type = "optional int64" ";",
    sent_ns: Int64Type = "optional int64" ";",
    connect_ns: Int64Type = "optional int64" ";",
    first_byte_ns: Int64Type = "optional int64" ";",
    chunk_ns: Int64Type = "required group" "(LIST) { repeated group list { required int64 element; } }",
    chunk_tokens: Int32Type = "optional group" "(LIST) { repeated group list { required int32 element; } }",
    same_read: BoolType = "required group" "(LIST) { repeated group list { required boolean element; } }",
    end_ns: Int64Type = "optional int64" ";",
    outcome: ByteArrayType = "required binary" "(UTF8);",
    phase: ByteArrayType = "optional binary" "(UTF8);",
    class: ByteArrayType = "optional binary" "(UTF8);",
    status: Int64Type = "optional int64" ";",
    error: ByteArrayType = "optional binary" "(UTF8);",
    finish: ByteArrayType = "optional binary" "(UTF8);",
    input_tokens_asked: Int64Type = "optional int64" ";",
    input_tokens: Int64Type = "optional int64" ";",
    output_tokens_asked: Int64Type = "optional int64" ";",
    output_tokens: Int64Type = "optional int64" ";",
    token_source: ByteArrayType = "required binary" "(UTF8);",
    input_chars: Int64Type = "required int64" ";",
    output_chars: Int64Type = "required int64" ";",
    url: ByteArrayType = "required binary" "(UTF8);",
    warmup: BoolType = "required boolean" ";",
    cap_wait_ns: Int64Type = "optional int64" ";",
    first_answer_ns: Int64Type = "optional int64" ";",
    bare_ns: Int64Type = "required group" "(LIST) { repeated group list { required int64 element; } }",
    bare_kind: ByteArrayType = "required group" "(LIST) { repeated group list { required binary element (UTF8); } }",
    cached_tokens: Int64Type = "optional int64" ";",
    retokenized: Int64Type = "optional int64" ";",
    output_exact: BoolType = "required boolean" ";",
    resent: BoolType = "required boolean" ";",
    streamed: BoolType = "required boolean" ";",
    usage_given: BoolType = "required boolean" ";",
    refused: BoolType = "optional boolean" ";",
    stage: ByteArrayType = "optional binary" "(UTF8);",
    model: ByteArrayType = "optional binary" "(UTF8);",
    items_asked: Int64Type = "optional int64" ";",
    items: Int64Type = "optional int64" ";",
    score: DoubleType = "optional double" ";",
    differs_at: Int64Type = "optional int64" ";",
    model_asked: ByteArrayType = "optional binary" "(UTF8);",
    valid_json: BoolType = "optional boolean" ";",
    tool_calls: Int64Type = "optional int64" ";",
    valid_tool_calls: Int64Type = "optional int64" ";",
    media: Int64Type = "optional int64" ";",
    audio_ms: Int64Type = "optional int64" ";",
    upload_bytes: Int64Type = "optional int64" ";",
    media_tokens: Int64Type = "optional int64" ";",
    rank: Int64Type = "optional int64" ";",
    turns: Int64Type = "optional int64" ";",
    batch_size: Int32Type = "optional group" "(LIST) { repeated group list { required int32 element; } }",
    queue_wait_us: Int32Type = "optional group" "(LIST) { repeated group list { required int32 element; } }",
}

impl Table {
    /// Adds a record as the last row.
    pub(super) fn push(&mut self, record: &Record) {
        let usage = record.usage.unwrap_or_default();
        let failure = record.failure();
        self.id.push_text(&record.id);
        self.index.push_one(signed(record.index));
        self.session.push_maybe(record.session.map(signed));
        self.turn.push_maybe(record.turn.map(i64::from));
        self.due_ns.push_maybe(record.due.map(offset));
        self.sent_ns.push_maybe(record.sent.map(offset));
        self.connect_ns.push_maybe(record.connect.map(span));
        self.first_byte_ns.push_maybe(record.first_byte.map(offset));
        let chunks = &record.chunks;
        self.chunk_ns
            .push_many(chunks.at.iter().copied().map(offset));
        let tokens = chunks.tokens.as_ref();
        self.chunk_tokens
            .push_maybe_many(tokens.map(|tokens| tokens.iter().copied().map(small)));
        self.same_read.push_many(chunks.same_read.iter().copied());
        self.end_ns.push_maybe(record.end.map(offset));
        self.outcome.push_text(outcome_word(&record.outcome));
        self.phase
            .push_maybe_text(failure.map(|failure| failure.phase.into_str()));
        self.class
            .push_maybe_text(failure.map(|failure| failure.class.into_str()));
        self.status.push_maybe(record.status.map(i64::from));
        self.error
            .push_maybe_text(failure.map(|failure| failure.detail.as_str()));
        self.finish.push_maybe_text(record.finish.as_deref());
        self.input_tokens_asked
            .push_maybe(record.input_tokens_asked.map(i64::from));
        self.input_tokens.push_maybe(usage.input.map(i64::from));
        self.output_tokens_asked
            .push_maybe(record.output_tokens_asked.map(i64::from));
        self.output_tokens
            .push_maybe(record.output_tokens().map(i64::from));
        self.token_source
            .push_text(record.token_source().into_str());
        self.input_chars.push_one(signed(record.input_chars));
        self.output_chars.push_one(signed(record.output_chars));
        self.url.push_text(&record.url);
        self.warmup.push_one(record.stage == Stage::Warmup);
        self.cap_wait_ns.push_maybe(record.cap_wait.map(span));
        self.first_answer_ns
            .push_maybe(record.first_answer.map(offset));
        self.bare_ns
            .push_many(record.bare.iter().map(|bare| offset(bare.at)));
        self.bare_kind
            .push_many(record.bare.iter().map(|bare| text(bare.kind.into_str())));
        self.cached_tokens.push_maybe(usage.cached.map(i64::from));
        self.retokenized
            .push_maybe(record.retokenized.map(i64::from));
        self.output_exact.push_one(record.output_exact);
        self.resent.push_one(record.resent);
        self.streamed.push_one(record.streamed);
        self.usage_given.push_one(record.usage.is_some());
        self.refused.push_maybe(Some(record.refused));
        self.stage.push_maybe_text(Some(record.stage.into_str()));
        self.model.push_maybe_text(record.model.as_deref());
        self.items_asked
            .push_maybe(record.items_asked.map(i64::from));
        self.items.push_maybe(record.items.map(i64::from));
        self.score.push_maybe(record.score);
        self.differs_at.push_maybe(record.differs_at.map(signed));
        self.model_asked
            .push_maybe_text(record.model_asked.as_deref());
        self.valid_json.push_maybe(record.valid_json);
        self.tool_calls.push_maybe(record.tool_calls.map(i64::from));
        self.valid_tool_calls
            .push_maybe(record.valid_tool_calls.map(i64::from));
        self.media.push_maybe(record.media.map(i64::from));
        self.audio_ms.push_maybe(record.audio_ms.map(i64::from));
        self.upload_bytes
            .push_maybe(record.upload_bytes.map(signed));
        self.media_tokens
            .push_maybe(record.media_tokens.map(i64::from));
        self.rank.push_maybe(record.rank.map(i64::from));
        self.turns.push_maybe(record.turns.map(i64::from));
        let per_token = record.per_token.as_deref();
        self.batch_size
            .push_maybe_many(per_token.map(|it| it.batch_size.iter().copied().map(small)));
        self.queue_wait_us
            .push_maybe_many(per_token.map(|it| it.queue_wait_us.iter().copied().map(small)));
    }

    /// Lays the next row into a record, whose memory is used again.
    pub(super) fn take(&mut self, into: &mut Record) -> Result<()> {
        let output_tokens = take_number(&mut self.output_tokens)?;
        let source: TokenSource = word(self.token_source.see_one()?)?;
        let usage = Usage {
            input: take_number(&mut self.input_tokens)?,
            output: output_tokens.filter(|_| source == TokenSource::Usage),
            cached: take_number(&mut self.cached_tokens)?,
        };
        into.usage = self.usage_given.take_one()?.then_some(usage);
        into.stage = match (self.warmup.take_one()?, self.stage.see_maybe()?) {
            (_, Some(stage)) => word(stage)?,
            // Of a version that knew no hold.
            (true, None) => Stage::Warmup,
            (false, None) => Stage::Measured,
        };
        self.take_bare(into)?;
        self.take_outcome(into)?;
        self.take_chunks(into)?;
        self.take_per_token(into)?;
        if self.id.is_open() {
            put(&mut into.id, self.id.see_one()?)?;
        }
        if self.url.is_open() {
            put(&mut into.url, self.url.see_one()?)?;
        }
        put_maybe(&mut into.finish, self.finish.see_maybe()?)?;
        put_maybe(&mut into.model, self.model.see_maybe()?)?;
        put_maybe(&mut into.model_asked, self.model_asked.see_maybe()?)?;
        into.index = unsigned(self.index.take_one()?)?;
        into.session = take_number(&mut self.session)?;
        into.turn = take_number(&mut self.turn)?;
        into.turns = take_number(&mut self.turns)?;
        into.due = take_offset(&mut self.due_ns)?;
        into.cap_wait = take_offset(&mut self.cap_wait_ns)?.map(Offset::as_duration);
        into.connect = take_offset(&mut self.connect_ns)?.map(Offset::as_duration);
        into.sent = take_offset(&mut self.sent_ns)?;
        into.first_byte = take_offset(&mut self.first_byte_ns)?;
        into.first_answer = take_offset(&mut self.first_answer_ns)?;
        into.end = take_offset(&mut self.end_ns)?;
        into.status = take_number(&mut self.status)?;
        into.retokenized = take_number(&mut self.retokenized)?;
        into.input_tokens_asked = take_number(&mut self.input_tokens_asked)?;
        into.output_tokens_asked = take_number(&mut self.output_tokens_asked)?;
        into.output_exact = self.output_exact.take_one()?;
        into.resent = self.resent.take_one()?;
        into.refused = self.refused.take_maybe()?.unwrap_or(false);
        into.input_chars = unsigned(self.input_chars.take_one()?)?;
        into.output_chars = unsigned(self.output_chars.take_one()?)?;
        into.streamed = self.streamed.take_one()?;
        into.items_asked = take_number(&mut self.items_asked)?;
        into.items = take_number(&mut self.items)?;
        into.score = self.score.take_maybe()?;
        into.differs_at = take_number(&mut self.differs_at)?;
        into.valid_json = self.valid_json.take_maybe()?;
        into.tool_calls = take_number(&mut self.tool_calls)?;
        into.valid_tool_calls = take_number(&mut self.valid_tool_calls)?;
        into.media = take_number(&mut self.media)?;
        into.audio_ms = take_number(&mut self.audio_ms)?;
        into.upload_bytes = take_number(&mut self.upload_bytes)?;
        into.media_tokens = take_number(&mut self.media_tokens)?;
        into.rank = take_number(&mut self.rank)?;
        Ok(())
    }

    /// What whoever folds records never looks at.
    pub(super) fn unfolded(&self) -> [&'static str; 5] {
        ["id", "url", "rank", "batch_size", "queue_wait_us"]
    }

    fn take_outcome(&mut self, into: &mut Record) -> Result<()> {
        let outcome = self.outcome.see_one()?;
        let phase = self.phase.see_maybe()?;
        let class = self.class.see_maybe()?;
        let detail = self.error.see_maybe()?;
        into.outcome = match (outcome.data(), phase, class) {
            (b"done", _, _) => Outcome::Done,
            (b"cut", _, _) => Outcome::Cut,
            (b"cancelled", _, _) => Outcome::Cancelled,
            (b"failed", Some(phase), Some(class)) => Outcome::Failed(Failure {
                phase: word(phase)?,
                class: word(class)?,
                detail: detail.map(string).transpose()?.unwrap_or_default(),
            }),
            _ => return Err(unknown(outcome)),
        };
        Ok(())
    }

    fn take_bare(&mut self, into: &mut Record) -> Result<()> {
        let (times, kinds) = (self.bare_ns.see_many()?, self.bare_kind.see_many()?);
        into.bare.clear();
        for (&at, kind) in times.iter().zip(kinds) {
            into.bare.push(BareChunk {
                at: Offset(unsigned(at)?),
                kind: word(kind)?,
            });
        }
        Ok(())
    }

    fn take_per_token(&mut self, into: &mut Record) -> Result<()> {
        let batches = small_numbers(self.batch_size.see_maybe_many()?, None)?;
        let waits = small_numbers(self.queue_wait_us.see_maybe_many()?, None)?;
        let any = batches.is_some() || waits.is_some();
        into.per_token = any.then(|| {
            Box::new(PerToken {
                batch_size: batches.unwrap_or_default(),
                queue_wait_us: waits.unwrap_or_default(),
            })
        });
        Ok(())
    }

    fn take_chunks(&mut self, into: &mut Record) -> Result<()> {
        let Chunks {
            at,
            tokens,
            same_read,
        } = &mut into.chunks;
        at.clear();
        for &time in self.chunk_ns.see_many()? {
            at.push(Offset(unsigned(time)?));
        }
        *tokens = small_numbers(self.chunk_tokens.see_maybe_many()?, tokens.take())?;
        same_read.clear();
        same_read.extend_from_slice(self.same_read.see_many()?);
        Ok(())
    }
}

fn take_number<U: TryFrom<i64>>(column: &mut Cells<Int64Type>) -> Result<Option<U>> {
    column.take_maybe()?.map(unsigned).transpose()
}

/// Numbers that are there, in the memory of others.
fn small_numbers(numbers: Option<&[i32]>, room: Option<Vec<u32>>) -> Result<Option<Vec<u32>>> {
    let Some(numbers) = numbers else {
        return Ok(None);
    };
    let mut room = room.unwrap_or_default();
    room.clear();
    for &number in numbers {
        room.push(unsigned(number)?);
    }
    Ok(Some(room))
}

/// Replaces a text, unless it is the same: most say the same in row after row.
fn put(into: &mut String, bytes: &ByteArray) -> Result<()> {
    if into.as_bytes() != bytes.data() {
        into.clear();
        into.push_str(bytes.as_utf8()?);
    }
    Ok(())
}

fn put_maybe(into: &mut Option<String>, bytes: Option<&ByteArray>) -> Result<()> {
    match bytes {
        Some(bytes) => put(into.get_or_insert_default(), bytes),
        None => {
            *into = None;
            Ok(())
        }
    }
}

fn take_offset(column: &mut Cells<Int64Type>) -> Result<Option<Offset>> {
    Ok(take_number(column)?.map(Offset))
}

fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed(_) => "failed",
        Outcome::Cut => "cut",
        Outcome::Cancelled => "cancelled",
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn small(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn offset(at: Offset) -> i64 {
    signed(at.0)
}

fn span(span: Duration) -> i64 {
    offset(Offset::after(span))
}

fn text(text: &str) -> ByteArray {
    ByteArray::from(text)
}

fn unsigned<S: Copy + std::fmt::Display, U: TryFrom<S>>(number: S) -> Result<U> {
    U::try_from(number).map_err(|_| ParquetError::General(format!("{number} is out of range")))
}

fn string(bytes: &ByteArray) -> Result<String> {
    bytes.as_utf8().map(str::to_owned)
}

/// A word that one of our types has for a value.
fn word<T>(bytes: &ByteArray) -> Result<T>
where
    T: VariantArray + Copy + Into<&'static str>,
{
    let says = |value: &&T| Into::<&str>::into(**value).as_bytes() == bytes.data();
    let found = T::VARIANTS.iter().find(says).copied();
    found.ok_or_else(|| unknown(bytes))
}

fn unknown(bytes: &ByteArray) -> ParquetError {
    let shown = String::from_utf8_lossy(bytes.data());
    ParquetError::General(format!("'{}' has no meaning here", shown.escape_debug()))
}
