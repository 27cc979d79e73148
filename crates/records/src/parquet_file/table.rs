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
    preemptions: Int64Type = "optional int64" ";",
    batch_size: Int32Type = "optional group" "(LIST) { repeated group list { required int32 element; } }",
    queue_wait_us: Int32Type = "optional group" "(LIST) { repeated group list { required int32 element; } }",
}

/// Columns that are a field of the record as it is: how they are written, and how read.
macro_rules! plain_columns {
    (
        number $($number:ident)+, numbers $($numbers:ident)+, flag $($flag:ident)+,
        text $($text:ident)+, texts $($texts:ident)+,
        offsets $($offset:ident = $at:ident)+, spans $($span:ident = $time:ident)+
    ) => {
        impl Table {
            fn push_plain(&mut self, record: &Record) {
                $(self.$number.push_one(signed(record.$number));)+
                $(self.$numbers.push_maybe(record.$numbers.map(|it| signed(it.into())));)+
                $(self.$flag.push_one(record.$flag);)+
                $(self.$text.push_text(&record.$text);)+
                $(self.$texts.push_maybe_text(record.$texts.as_deref());)+
                $(self.$offset.push_maybe(record.$at.map(offset));)+
                $(self.$span.push_maybe(record.$time.map(span));)+
            }

            fn take_plain(&mut self, into: &mut [Record]) -> Result<()> {
                $(lay_number(&mut self.$number, into, |to| &mut to.$number)?;)+
                $(lay_numbers(&mut self.$numbers, into, |to| &mut to.$numbers)?;)+
                $(lay_flag(&mut self.$flag, into, |to| &mut to.$flag)?;)+
                $(self.$text.lay_ones(into, |to, text| put(&mut to.$text, text))?;)+
                $(self.$texts.lay_maybes(into, |to, text| put_maybe(&mut to.$texts, text))?;)+
                $(lay_offsets(&mut self.$offset, into, |to| &mut to.$at)?;)+
                $(lay_spans(&mut self.$span, into, |to| &mut to.$time)?;)+
                Ok(())
            }
        }
    };
}

plain_columns! {
    number index input_chars output_chars,
    numbers session turn turns status retokenized input_tokens_asked output_tokens_asked
        items_asked items differs_at tool_calls valid_tool_calls media audio_ms upload_bytes
        media_tokens rank preemptions,
    flag output_exact resent streamed,
    text id url,
    texts finish model model_asked,
    offsets due_ns = due sent_ns = sent first_byte_ns = first_byte
        first_answer_ns = first_answer end_ns = end,
    spans cap_wait_ns = cap_wait connect_ns = connect
}

impl Table {
    /// Adds a record as the last row.
    pub(super) fn push(&mut self, record: &Record) {
        let usage = record.usage.unwrap_or_default();
        let failure = record.failure();
        self.push_plain(record);
        let chunks = &record.chunks;
        self.chunk_ns
            .push_many(chunks.at.iter().copied().map(offset));
        let tokens = chunks.tokens.as_ref();
        self.chunk_tokens
            .push_maybe_many(tokens.map(|tokens| tokens.iter().copied().map(small)));
        self.same_read.push_many(chunks.same_read.iter().copied());
        self.outcome.push_text(outcome_word(&record.outcome));
        self.phase
            .push_maybe_text(failure.map(|failure| failure.phase.into_str()));
        self.class
            .push_maybe_text(failure.map(|failure| failure.class.into_str()));
        self.error
            .push_maybe_text(failure.map(|failure| failure.detail.as_str()));
        self.input_tokens.push_maybe(usage.input.map(i64::from));
        self.output_tokens
            .push_maybe(record.output_tokens().map(i64::from));
        self.token_source
            .push_text(record.token_source().into_str());
        self.warmup.push_one(record.stage == Stage::Warmup);
        self.bare_ns
            .push_many(record.bare.iter().map(|bare| offset(bare.at)));
        self.bare_kind
            .push_many(record.bare.iter().map(|bare| text(bare.kind.into_str())));
        self.cached_tokens.push_maybe(usage.cached.map(i64::from));
        self.usage_given.push_one(record.usage.is_some());
        self.refused.push_maybe(Some(record.refused));
        self.stage.push_maybe_text(Some(record.stage.into_str()));
        self.score.push_maybe(record.score);
        self.valid_json.push_maybe(record.valid_json);
        let per_token = record.per_token.as_deref();
        self.batch_size
            .push_maybe_many(per_token.map(|it| it.batch_size.iter().copied().map(small)));
        self.queue_wait_us
            .push_maybe_many(per_token.map(|it| it.queue_wait_us.iter().copied().map(small)));
    }

    /// Lays the next rows into as many records, whose memory is used again: column by column, and
    /// those that were left out not at all.
    pub(super) fn take(&mut self, into: &mut [Record]) -> Result<()> {
        for record in into.iter_mut() {
            self.take_usage(record)?;
            self.take_stage(record)?;
            self.take_outcome(record)?;
            self.take_chunks(record)?;
        }
        if !self.bare_ns.is_left_out() {
            into.iter_mut().try_for_each(|to| self.take_bare(to))?;
        }
        if !(self.batch_size.is_left_out() && self.queue_wait_us.is_left_out()) {
            into.iter_mut().try_for_each(|to| self.take_per_token(to))?;
        }
        self.take_plain(into)?;
        self.refused.lay_maybes(into, |to, refused| {
            to.refused = refused.is_some_and(|&refused| refused);
            Ok(())
        })?;
        self.score.lay_maybes(into, |to, score| {
            to.score = score.copied();
            Ok(())
        })?;
        self.valid_json.lay_maybes(into, |to, valid| {
            to.valid_json = valid.copied();
            Ok(())
        })
    }

    /// What whoever folds records never looks at.
    pub(super) const UNFOLDED: [&str; 5] = ["id", "url", "rank", "batch_size", "queue_wait_us"];

    fn take_usage(&mut self, into: &mut Record) -> Result<()> {
        let given = *self.usage_given.see_one()?;
        let source: TokenSource = if self.token_source.is_left_out() {
            TokenSource::Usage
        } else {
            word(self.token_source.see_one()?)?
        };
        let usage = Usage {
            input: number(self.input_tokens.see_maybe()?)?,
            output: number(self.output_tokens.see_maybe()?)?,
            cached: number(self.cached_tokens.see_maybe()?)?,
        };
        into.usage = given.then_some(Usage {
            output: usage.output.filter(|_| source == TokenSource::Usage),
            ..usage
        });
        Ok(())
    }

    fn take_stage(&mut self, into: &mut Record) -> Result<()> {
        into.stage = match (*self.warmup.see_one()?, self.stage.see_maybe()?) {
            (_, Some(stage)) => word(stage)?,
            // Of a version that knew no hold.
            (true, None) => Stage::Warmup,
            (false, None) => Stage::Measured,
        };
        Ok(())
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
        let times = self.chunk_ns.see_many()?;
        if let Some(&before) = times.iter().find(|&&time| time < 0) {
            return Err(out_of_range(before));
        }
        at.clear();
        at.extend(times.iter().map(|&time| Offset(time.unsigned_abs())));
        if !self.chunk_tokens.is_left_out() {
            *tokens = small_numbers(self.chunk_tokens.see_maybe_many()?, tokens.take())?;
        }
        same_read.clear();
        same_read.extend_from_slice(self.same_read.see_many()?);
        Ok(())
    }
}

type Numbers = Cells<Int64Type>;

fn lay_number(
    column: &mut Numbers,
    into: &mut [Record],
    field: impl Fn(&mut Record) -> &mut u64,
) -> Result<()> {
    column.lay_ones(into, |record, &value| {
        *field(record) = unsigned(value)?;
        Ok(())
    })
}

fn lay_numbers<U: TryFrom<i64>>(
    column: &mut Numbers,
    into: &mut [Record],
    field: impl Fn(&mut Record) -> &mut Option<U>,
) -> Result<()> {
    column.lay_maybes(into, |record, value| {
        *field(record) = number(value)?;
        Ok(())
    })
}

fn lay_offsets(
    column: &mut Numbers,
    into: &mut [Record],
    field: impl Fn(&mut Record) -> &mut Option<Offset>,
) -> Result<()> {
    column.lay_maybes(into, |record, value| {
        *field(record) = number(value)?.map(Offset);
        Ok(())
    })
}

fn lay_spans(
    column: &mut Numbers,
    into: &mut [Record],
    field: impl Fn(&mut Record) -> &mut Option<Duration>,
) -> Result<()> {
    column.lay_maybes(into, |record, value| {
        *field(record) = number(value)?.map(Duration::from_nanos);
        Ok(())
    })
}

fn lay_flag(
    column: &mut Cells<BoolType>,
    into: &mut [Record],
    field: impl Fn(&mut Record) -> &mut bool,
) -> Result<()> {
    column.lay_ones(into, |record, &value| {
        *field(record) = value;
        Ok(())
    })
}

fn number<U: TryFrom<i64>>(value: Option<&i64>) -> Result<Option<U>> {
    value.copied().map(unsigned).transpose()
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
    U::try_from(number).map_err(|_| out_of_range(number))
}

fn out_of_range(number: impl std::fmt::Display) -> ParquetError {
    ParquetError::General(format!("{number} is out of range"))
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
