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
        let before = received.partition_point(|&at| at < opening);
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

    /// In milliseconds, per second, or a share.
    pub(super) fn of(self, answer: &Answer) -> Option<f64> {
        let per_s = |tokens: f64, ms: f64| (ms > 0.0).then(|| tokens * 1e3 / ms);
        match self {
            Figure::Ttft => answer.ttft.ms(),
            Figure::TtftFromSent => answer.ttft_from_sent.ms(),
            Figure::FirstAnswer => answer.first_answer.ms(),
            Figure::SecondToken => answer.second_token.ms(),
            Figure::Tpot => answer.tpot.ms(),
            Figure::MaxGap => answer.max_gap.ms(),
            Figure::E2e => answer.e2e.ms(),
            Figure::PerUser => per_s(f64::from(answer.output?), answer.e2e.ms()?),
            Figure::Decode => per_s(1.0, answer.tpot.ms()?),
            Figure::RealTimeFactor => {
                let heard = answer.audio_ms.filter(|&millis| millis > 0)?;
                Some(answer.e2e.ms()? / f64::from(heard))
            }
        }
    }
}

/// The known values of a figure, in the order of the answers.
pub(super) fn column(answers: &[&Answer], figure: Figure) -> Vec<f64> {
    (answers.iter().filter_map(|answer| figure.of(answer))).collect()
}
