//! Doubts with their data: what was seen, typed, before it is put into words.

use super::{InFlightEvidence, StallEvidence, WaveEvidence};
use crate::doubt::{DoubtCode, Severity};
use crate::environment::EndCause;
use crate::message::{Lang, doubts};
use crate::record::{FailureClass, Phase};
use crate::steady::Overload;
use crate::summary::{Accounts, StatedDoubt};

/// A doubt with what was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// The accounts do not add up, a request has two records, or a run that ended by itself
    /// left some unsent.
    LostRequests {
        /// The accounts.
        accounts: Accounts,
        /// Records too many.
        duplicates: u64,
    },
    /// Fewer requests under way than configured.
    ShrunkConcurrency {
        /// Configured streams.
        configured: u32,
        /// What was seen.
        in_flight: InFlightEvidence,
    },
    /// Too few requests to fill the streams.
    UnfilledStreams {
        /// Configured streams.
        configured: u32,
        /// Most requests that were under way at once.
        peak: u64,
        /// Requests of the run.
        requests: u64,
    },
    /// The client was late.
    ClientLate {
        /// At what.
        at: Lateness,
        /// 99th percentile of that.
        p99_ms: f64,
        /// What was allowed.
        limit_ms: f64,
        /// Ten times too late.
        severity: Severity,
    },
    /// The client was near its ceiling.
    ClientBusy {
        /// Share of the ceiling at the peak second, if that is the reason.
        ceiling_share: Option<f64>,
        /// CPU use of the busiest thread, if that is the reason.
        cpu_share: Option<f64>,
        /// Together with a late client, invalid.
        severity: Severity,
    },
    /// It did not end by itself.
    Interrupted {
        /// Why it ended.
        cause: EndCause,
    },
    /// Too many failures.
    Failures {
        /// Failed requests.
        failed: u64,
        /// All that ended.
        ended: u64,
        /// The most frequent kind and its number.
        most: Option<(Phase, FailureClass, u64)>,
        /// By their share.
        severity: Severity,
    },
    /// Kept connections were closed under many requests.
    Resent {
        /// Sent once more.
        resent: u64,
        /// Of so many.
        sent: u64,
    },
    /// Percentiles are printed that the sample cannot support.
    FewSamples {
        /// Smallest sample of the latency table.
        n: u64,
        /// Percentiles and the samples that they need.
        lacking: Vec<(u32, u64)>,
    },
    /// Answers have other lengths than asked.
    OutputLengths {
        /// Mean relative difference.
        mean_difference: f64,
        /// Answers off.
        off: u64,
        /// Answers with an exact length.
        exact: u64,
    },
    /// Most answers end at one length.
    OutputCapped {
        /// That length.
        tokens: u32,
        /// Answers that end there.
        at: u64,
        /// Of so many.
        of: u64,
    },
    /// Prompt counts differ by more than a constant.
    InputLengths {
        /// 5th and 95th percentile of the server's count minus ours.
        differences: [f64; 2],
        /// Mean length that was aimed at.
        asked_mean: f64,
    },
    /// The server gave no usage.
    TokenSource {
        /// Counts were made by us after the run.
        retokenized: bool,
        /// Answers without any count.
        without_count: u64,
    },
    /// Several tokens a chunk.
    ChunkNotToken {
        /// How many, where known.
        tokens_per_chunk: Option<f64>,
    },
    /// Prompts were in the server's cache.
    WarmCache {
        /// Cached prompt tokens.
        cached: u64,
        /// Of so many.
        of: u64,
    },
    /// The same prompts again and again.
    RepeatedPrompts {
        /// Distinct prompts.
        distinct: u64,
        /// Requests.
        requests: u64,
    },
    /// No steady state was found.
    NoSteadyState {
        /// Complete answers.
        answers: u64,
    },
    /// The queue grew.
    Overload(Overload),
    /// Long gaps inside answers.
    Stalls {
        /// What was seen.
        seen: StallEvidence,
        /// Largest gap over median gap that is a stall.
        factor: f64,
    },
    /// All requests started together.
    AllAtOnce {
        /// Streams of a closed loop; absent in an open one.
        streams: Option<u32>,
    },
    /// Streams of a closed loop send in waves.
    InStep(WaveEvidence),
    /// The server did not answer after the run.
    ServerDied {
        /// What was seen.
        seen: String,
    },
    /// No answer was complete.
    NothingMeasured {
        /// The accounts.
        accounts: Accounts,
        /// The most frequent failure.
        most: Option<(Phase, FailureClass, u64)>,
    },
}

/// What a client was late at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateness {
    /// To send what was due.
    Sending,
    /// To wake up, so that what it received is stamped late.
    Waking,
}

impl Doubt {
    /// Its code.
    pub fn code(&self) -> DoubtCode {
        match self {
            Doubt::LostRequests { .. } => DoubtCode::LostRequests,
            Doubt::ShrunkConcurrency { .. } => DoubtCode::ShrunkConcurrency,
            Doubt::UnfilledStreams { .. } => DoubtCode::UnfilledStreams,
            Doubt::ClientLate { .. } => DoubtCode::ClientLate,
            Doubt::ClientBusy { .. } => DoubtCode::ClientBusy,
            Doubt::Interrupted { .. } => DoubtCode::Interrupted,
            Doubt::Failures { .. } => DoubtCode::Failures,
            Doubt::Resent { .. } => DoubtCode::Resent,
            Doubt::FewSamples { .. } => DoubtCode::FewSamples,
            Doubt::OutputLengths { .. } => DoubtCode::OutputLengths,
            Doubt::OutputCapped { .. } => DoubtCode::OutputCapped,
            Doubt::InputLengths { .. } => DoubtCode::InputLengths,
            Doubt::TokenSource { .. } => DoubtCode::TokenSource,
            Doubt::ChunkNotToken { .. } => DoubtCode::ChunkNotToken,
            Doubt::WarmCache { .. } => DoubtCode::WarmCache,
            Doubt::RepeatedPrompts { .. } => DoubtCode::RepeatedPrompts,
            Doubt::NoSteadyState { .. } => DoubtCode::NoSteadyState,
            Doubt::Overload(_) => DoubtCode::Overload,
            Doubt::Stalls { .. } => DoubtCode::Stalls,
            Doubt::AllAtOnce { .. } => DoubtCode::AllAtOnce,
            Doubt::InStep(_) => DoubtCode::InStep,
            Doubt::ServerDied { .. } => DoubtCode::ServerDied,
            Doubt::NothingMeasured { .. } => DoubtCode::NothingMeasured,
        }
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Doubt::ClientLate { severity, .. }
            | Doubt::ClientBusy { severity, .. }
            | Doubt::Failures { severity, .. } => *severity,
            // That end is what the user asked for.
            Doubt::Interrupted {
                cause: EndCause::StopCondition,
            } => Severity::Note,
            Doubt::LostRequests { .. }
            | Doubt::ShrunkConcurrency { .. }
            | Doubt::Interrupted { .. }
            | Doubt::ServerDied { .. }
            | Doubt::NothingMeasured { .. } => Severity::Invalid,
            Doubt::UnfilledStreams { .. }
            | Doubt::Resent { .. }
            | Doubt::OutputLengths { .. }
            | Doubt::InputLengths { .. }
            | Doubt::WarmCache { .. }
            | Doubt::RepeatedPrompts { .. }
            | Doubt::NoSteadyState { .. }
            | Doubt::Overload(_) => Severity::Warn,
            Doubt::FewSamples { .. }
            | Doubt::OutputCapped { .. }
            | Doubt::TokenSource { .. }
            | Doubt::ChunkNotToken { .. }
            | Doubt::Stalls { .. }
            | Doubt::AllAtOnce { .. }
            | Doubt::InStep(_) => Severity::Note,
        }
    }

    /// In words.
    pub fn state(&self, lang: Lang) -> StatedDoubt {
        let (text, remedy) = doubts::words(self, lang);
        StatedDoubt {
            code: self.code(),
            severity: self.severity(),
            text,
            remedy,
        }
    }
}
