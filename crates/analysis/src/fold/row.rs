//! The scalars that are kept of one request.

use inferometer_core::record::{Record, Stage};
use inferometer_core::scenario::Shape;
use inferometer_core::units::{Offset, Slim};
use inferometer_statistics::UnderWay;
use std::time::Duration;

pub(super) fn ms(span: Duration) -> f64 {
    // Nearly all fit, and are converted much faster.
    match u64::try_from(span.as_nanos()) {
        Ok(nanos) => nanos as f64 / 1e6,
        Err(_) => span.as_nanos() as f64 / 1e6,
    }
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) index: u64,
    pub(super) start: Slim,
    pub(super) sent: Slim,
    /// Sent, or the begin of the connection that it needed.
    pub(super) busy_from: Slim,
    /// Over; absent if it was cut.
    pub(super) end: Slim,
    pub(super) failed: bool,
    /// Whether it met every objective for a request; absent if that cannot be told.
    pub(super) good: Option<bool>,
    pub(super) answer: Option<Answer>,
}

impl Row {
    pub(super) fn under_way(&self, from: Option<Offset>) -> Option<UnderWay> {
        Some(UnderWay {
            from: from?,
            to: self.end.offset(),
        })
    }
}

/// The time over which a request counts, at the edges of a window in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountsOver {
    /// From its sending: the streams of a closed loop may send in waves, and the edges of the
    /// window then fall into the pause before the first tokens or not.
    Whole,
    /// From its first token: where arrivals do not wait for answers a queue may grow, and what
    /// waits in it was not received. An answer that came whole counts when it came.
    Answer,
}

impl CountsOver {
    pub(super) fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Closed { .. } => CountsOver::Whole,
            Shape::Open { .. } | Shape::Replay { .. } => CountsOver::Answer,
        }
    }
}

/// An answer of any stage, as the window counts it: complete, or cut while it held the load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handled {
    pub(super) from: Offset,
    /// Where the time begins over which it counts.
    pub(super) counts_from: Offset,
    pub(super) first_token: Slim,
    /// Of what came in parts, the share that came after the window had opened.
    pub(super) after_opening: Option<f32>,
    pub(super) to: Offset,
    pub(super) complete: bool,
    pub(super) input: Option<u32>,
    pub(super) output: Option<u32>,
    pub(super) items: Option<u32>,
    pub(super) audio_ms: Option<u32>,
    pub(super) input_chars: u64,
    pub(super) output_chars: u64,
}

impl Handled {
    pub(super) fn of(record: &Record, over: CountsOver, opening: Offset) -> Option<Self> {
        let complete = record.is_done();
        let held = record.stage == Stage::Hold && record.failure().is_none();
        let from = record.sent?;
        let to =
            (record.completed().or(record.end).or(record.sent)).filter(|_| complete || held)?;
        let received = &record.chunks.at;
        // Nearly all came later.
        let before = match received.first() {
            Some(&first) if first < opening => received.partition_point(|&at| at < opening),
            _ => 0,
        };
        Some(Handled {
            from,
            counts_from: match over {
                CountsOver::Whole => from,
                CountsOver::Answer => received.first().map_or(to, |&first| first.min(to)),
            },
            first_token: received.first().copied().into(),
            after_opening: (!received.is_empty())
                .then(|| (received.len() - before) as f32 / received.len() as f32),
            to,
            complete,
            input: record.input_tokens(),
            output: record.output_tokens(),
            items: record.items.or(record.items_asked.filter(|_| held)),
            audio_ms: record.audio_ms,
            input_chars: record.input_chars,
            output_chars: record.output_chars,
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) completed: Offset,
    pub(super) ttft: Slim,
    pub(super) ttft_from_sent: Slim,
    pub(super) first_answer: Slim,
    pub(super) second_token: Slim,
    pub(super) tpot: Slim,
    pub(super) max_gap: Slim,
    pub(super) e2e: Slim,
    pub(super) input: Option<u32>,
    pub(super) output: Option<u32>,
    pub(super) items: Option<u32>,
    pub(super) audio_ms: Option<u32>,
    pub(super) output_chars: u64,
    pub(super) refused: bool,
    /// Token-bearing chunks, or one for an answer that came whole.
    pub(super) events: u32,
    /// Sum and number of the gaps between chunks.
    pub(super) chunk_gaps: (f64, u32),
    /// Sum and number of the gaps between tokens, as far as known.
    pub(super) token_gaps: (f64, u32),
}

/// A figure of an answer that is told as a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub(super) enum Figure {
    Ttft,
    TtftFromSent,
    FirstAnswer,
    SecondToken,
    Tpot,
    MaxGap,
    E2e,
    /// Output tokens per second of a request's whole time.
    PerUser,
    /// Tokens per second after the first.
    Decode,
    /// A request's whole time over that of its sounds.
    RealTimeFactor,
}

impl Figure {
    /// It is in a closed loop, from the moment of sending, and where models do not reason, to the
    /// first answer.
    pub(super) fn is_usually_ttft(self) -> bool {
        matches!(
            self,
            Figure::Ttft | Figure::TtftFromSent | Figure::FirstAnswer
        )
    }

    #[inline]
    pub(super) fn value(self, answer: &Answer) -> Value {
        let per_s = |tokens: f64, ms: f64| (ms > 0.0).then(|| tokens * 1e3 / ms);
        match self {
            Figure::Ttft => Value::Span(answer.ttft),
            Figure::TtftFromSent => Value::Span(answer.ttft_from_sent),
            Figure::FirstAnswer => Value::Span(answer.first_answer),
            Figure::SecondToken => Value::Span(answer.second_token),
            Figure::Tpot => Value::Span(answer.tpot),
            Figure::MaxGap => Value::Span(answer.max_gap),
            Figure::E2e => Value::Span(answer.e2e),
            Figure::PerUser => Value::Number(
                (answer.output.zip(answer.e2e.ms()))
                    .and_then(|(tokens, ms)| per_s(f64::from(tokens), ms)),
            ),
            Figure::Decode => Value::Number(answer.tpot.ms().and_then(|ms| per_s(1.0, ms))),
            Figure::RealTimeFactor => {
                let heard = answer.audio_ms.filter(|&millis| millis > 0);
                let pair = answer.e2e.ms().zip(heard);
                Value::Number(pair.map(|(ms, heard)| ms / f64::from(heard)))
            }
        }
    }

    /// In milliseconds, per second, or a share.
    pub(super) fn of(self, answer: &Answer) -> Option<f64> {
        match self.value(answer) {
            Value::Span(span) => span.ms(),
            Value::Number(number) => number,
        }
    }
}

/// What a figure is of one answer, as exact as it is known; either may be absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Span(Slim),
    /// Per second, or a share.
    Number(Option<f64>),
}

/// The known values of a figure, in the order of the answers.
pub(super) fn column(answers: &[&Answer], figure: Figure) -> Vec<f64> {
    (answers.iter().filter_map(|answer| figure.of(answer))).collect()
}
