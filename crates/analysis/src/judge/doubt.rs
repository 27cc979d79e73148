//! Doubts with their data: what was seen, typed, before it is put into words.

use super::{
    DriftEvidence, InFlightEvidence, StallEvidence, StragglerEvidence, UsageEvidence, WaveEvidence,
    WindowEvidence,
};
use crate::steady::Overload;
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::{EndCause, RankEnding};
use inferometer_core::record::{FailureClass, Phase};
use inferometer_core::summary::{Accounts, StatedDoubt};
use inferometer_text::Lang;

/// No server takes longer prompts than this many tokens.
const LONGEST_PROMPT: f64 = 1e7;

/// A doubt with what was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// The accounts do not add up, a request has two records, or a run that ended by itself
    /// left some unsent.
    LostRequests {
        accounts: Accounts,
        duplicates: u64,
    },
    /// Fewer requests under way than configured.
    ShrunkConcurrency {
        configured: u32,
        in_flight: InFlightEvidence,
        /// How long the server was out of reach, where that explains it.
        away_s: Option<f64>,
    },
    /// Too few requests to fill the streams.
    UnfilledStreams {
        configured: u32,
        /// Most requests that were under way at once.
        peak: u64,
        requests: u64,
    },
    ClientLate {
        at: Lateness,
        p99_ms: f64,
        limit_ms: f64,
        /// Median of what lateness in waking spoils; absent in sending.
        spoils: Option<Spoiled>,
        severity: Severity,
    },
    /// The client stood still once, which percentiles do not show.
    ClientPaused {
        longest_ms: f64,
        limit_ms: f64,
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
        cause: EndCause,
    },
    /// Ranks that shared the load are gone, and their records with them.
    LostRanks(Vec<RankEnding>),
    /// The others carried the shares of those that did not come.
    MissingRanks {
        missing: Vec<u32>,
        of: u32,
    },
    /// The rank that was later than all others, to send or to be woken.
    LateRank {
        rank: u32,
        p99_ms: f64,
        limit_ms: f64,
    },
    /// The clock of a rank may be off from that of rank 0 by this much.
    ClockError {
        rank: u32,
        error_ms: f64,
        limit_ms: f64,
    },
    Failures {
        failed: u64,
        ended: u64,
        most: Option<(Phase, FailureClass, u64)>,
        severity: Severity,
    },
    UnmeasuredFailures {
        failed: u64,
        sent: u64,
        most: Option<(Phase, FailureClass, u64)>,
    },
    /// Kept connections were closed under many requests.
    Resent {
        resent: u64,
        /// Of so many.
        sent: u64,
    },
    /// The server closes the connection after each answer.
    ClosedConnections {
        /// Requests on a new connection.
        connected: u64,
        sent: u64,
        resent: u64,
    },
    /// Most chunks of most answers came together with the one before.
    Bunched {
        bunched: u64,
        /// Streamed answers.
        of: u64,
    },
    /// Answers that should have been streamed came whole.
    NotStreamed {
        whole: u64,
        /// Of so many.
        of: u64,
    },
    /// Another model may have answered than was asked for.
    OtherModel {
        asked: String,
        /// The server's list, if the model is not in it; else empty.
        listed: Vec<String>,
        /// What answers name instead, how many do, and of how many.
        answered: Option<(String, u64, u64)>,
    },
    /// The server holds first tokens back until the client's delayed acknowledgement.
    DelayedAck {
        kept_ms: f64,
        reference: Reference,
    },
    /// Percentiles are printed that the sample cannot support.
    FewSamples {
        /// Smallest sample of the latency table.
        n: u64,
        /// Percentiles and the requests that they take: more than samples where answers share
        /// their fate; and the figure that takes so many.
        lacking: Vec<(u32, u64, &'static str)>,
    },
    /// The server's token counts cannot be true, or nobody saw what they count.
    ImplausibleUsage(UsageEvidence),
    /// Answers have other lengths than asked.
    OutputLengths {
        mean_difference: f64,
        off: u64,
        /// Answers with an exact length.
        exact: u64,
        /// A limit of the server ended them.
        by_server: bool,
    },
    /// Most answers end at one length.
    OutputCapped {
        tokens: u32,
        at: u64,
        /// Of so many.
        of: u64,
        /// A limit of the server ended them, not that of the requests.
        by_server: bool,
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
    ChunkNotToken {
        /// How many, where known.
        tokens_per_chunk: Option<f64>,
    },
    /// Prompts were in the server's cache.
    WarmCache {
        cached: u64,
        /// Of so many.
        of: u64,
        /// Prompts are made, and can be made anew.
        synthetic: bool,
    },
    /// The same prompts again and again.
    RepeatedPrompts {
        distinct: u64,
        requests: u64,
    },
    NoSteadyState {
        answers: u64,
    },
    /// The rate that was asked for rose inside the measured part.
    RampInside {
        over_ms: f64,
    },
    /// The server became slower or faster while it was measured.
    Drift(DriftEvidence),
    /// A few slow answers kept most streams idle at the end.
    Stragglers(StragglerEvidence),
    Overload(Overload),
    /// The measured window holds too few answers in a row.
    ShortWindow(WindowEvidence),
    Stalls {
        seen: StallEvidence,
        /// Largest gap over median gap that is a stall.
        factor: f64,
        /// The client's own longest pause, where it may be the longest of these.
        client_pause_ms: Option<f64>,
    },
    AllAtOnce {
        /// Streams of a closed loop; absent in an open one.
        streams: Option<u32>,
    },
    /// Streams of a closed loop send in waves.
    InStep(WaveEvidence),
    /// Time that arises between the engine and the client.
    FrontEnd {
        tpot: Option<BetweenPart>,
        ttft: Option<BetweenPart>,
        /// Tokens in a chunk on average, where they are more than one.
        tokens_per_chunk: Option<f64>,
        /// Cores that the API server's process used, where it says so.
        cores: Option<f64>,
    },
    /// The server did not answer after the run.
    ServerDied {
        seen: String,
    },
    NothingMeasured {
        accounts: Accounts,
        most: Option<(Phase, FailureClass, u64)>,
    },
}

/// Part of a mean time on the client's clock that the engine's own does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenPart {
    pub client_ms: f64,
    pub between_ms: f64,
}

/// What a first token on a kept connection is held against, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reference {
    /// Median TTFT on fresh connections.
    Fresh(f64),
    /// Mean TTFT by the server's own metrics.
    Server(f64),
}

/// What a client was late at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateness {
    /// To send what was due.
    Sending,
    /// To wake up, so that what it received is stamped late.
    Waking,
}

/// A quantity that is stamped late by a client that wakes late, with its median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spoiled {
    pub name: &'static str,
    pub median_ms: f64,
}

impl Doubt {
    pub fn code(&self) -> DoubtCode {
        match self {
            Doubt::LostRequests { .. } => DoubtCode::LostRequests,
            Doubt::ShrunkConcurrency { .. } => DoubtCode::ShrunkConcurrency,
            Doubt::UnfilledStreams { .. } => DoubtCode::UnfilledStreams,
            Doubt::ClientLate { .. } | Doubt::ClientPaused { .. } | Doubt::LateRank { .. } => {
                DoubtCode::ClientLate
            }
            Doubt::ClientBusy { .. } => DoubtCode::ClientBusy,
            Doubt::Interrupted { .. } | Doubt::LostRanks(_) => DoubtCode::Interrupted,
            Doubt::MissingRanks { .. } => DoubtCode::MissingRanks,
            Doubt::ClockError { .. } => DoubtCode::ClockError,
            Doubt::Failures { .. } => DoubtCode::Failures,
            Doubt::UnmeasuredFailures { .. } => DoubtCode::UnmeasuredFailures,
            Doubt::Resent { .. } => DoubtCode::Resent,
            Doubt::ClosedConnections { .. } => DoubtCode::ClosedConnections,
            Doubt::NotStreamed { .. } | Doubt::Bunched { .. } => DoubtCode::NotStreamed,
            Doubt::OtherModel { .. } => DoubtCode::OtherModel,
            Doubt::DelayedAck { .. } => DoubtCode::DelayedAck,
            Doubt::FewSamples { .. } => DoubtCode::FewSamples,
            Doubt::ImplausibleUsage(_) => DoubtCode::ImplausibleUsage,
            Doubt::OutputLengths { .. } => DoubtCode::OutputLengths,
            Doubt::OutputCapped { .. } => DoubtCode::OutputCapped,
            Doubt::InputLengths { .. } => DoubtCode::InputLengths,
            Doubt::TokenSource { .. } => DoubtCode::TokenSource,
            Doubt::ChunkNotToken { .. } => DoubtCode::ChunkNotToken,
            Doubt::WarmCache { .. } => DoubtCode::WarmCache,
            Doubt::RepeatedPrompts { .. } => DoubtCode::RepeatedPrompts,
            Doubt::NoSteadyState { .. } | Doubt::RampInside { .. } => DoubtCode::NoSteadyState,
            Doubt::Drift(_) => DoubtCode::Drift,
            Doubt::Stragglers(_) => DoubtCode::Stragglers,
            Doubt::Overload(_) => DoubtCode::Overload,
            Doubt::ShortWindow(_) => DoubtCode::ShortWindow,
            Doubt::Stalls { .. } => DoubtCode::Stalls,
            Doubt::AllAtOnce { .. } => DoubtCode::AllAtOnce,
            Doubt::InStep(_) => DoubtCode::InStep,
            Doubt::FrontEnd { .. } => DoubtCode::FrontEnd,
            Doubt::ServerDied { .. } => DoubtCode::ServerDied,
            Doubt::NothingMeasured { .. } => DoubtCode::NothingMeasured,
        }
    }

    pub fn severity(&self) -> Severity {
        match self {
            Doubt::ClientLate { severity, .. }
            | Doubt::ClientBusy { severity, .. }
            | Doubt::Failures { severity, .. } => *severity,
            Doubt::ImplausibleUsage(seen) if seen.impossible > 0 => Severity::Invalid,
            Doubt::InputLengths { differences, .. } if differences[1] > LONGEST_PROMPT => {
                Severity::Invalid
            }
            // That end is what the user asked for.
            Doubt::Interrupted {
                cause: EndCause::StopCondition,
            } => Severity::Note,
            Doubt::LostRequests { .. }
            | Doubt::ShrunkConcurrency { .. }
            | Doubt::Interrupted { .. }
            | Doubt::LostRanks(_)
            | Doubt::ServerDied { .. }
            | Doubt::NothingMeasured { .. } => Severity::Invalid,
            Doubt::UnfilledStreams { .. }
            | Doubt::MissingRanks { .. }
            | Doubt::LateRank { .. }
            | Doubt::ClockError { .. }
            | Doubt::ClientPaused { .. }
            | Doubt::UnmeasuredFailures { .. }
            | Doubt::Resent { .. }
            | Doubt::NotStreamed { .. }
            | Doubt::Bunched { .. }
            | Doubt::OtherModel { .. }
            | Doubt::DelayedAck { .. }
            | Doubt::ImplausibleUsage(_)
            | Doubt::OutputLengths { .. }
            | Doubt::InputLengths { .. }
            | Doubt::WarmCache { .. }
            | Doubt::RepeatedPrompts { .. }
            | Doubt::NoSteadyState { .. }
            | Doubt::RampInside { .. }
            | Doubt::Drift(_)
            | Doubt::Stragglers(_)
            | Doubt::ShortWindow(_)
            | Doubt::Overload(_) => Severity::Warn,
            Doubt::FewSamples { .. }
            | Doubt::ClosedConnections { .. }
            | Doubt::OutputCapped { .. }
            | Doubt::TokenSource { .. }
            | Doubt::ChunkNotToken { .. }
            | Doubt::Stalls { .. }
            | Doubt::AllAtOnce { .. }
            | Doubt::FrontEnd { .. }
            | Doubt::InStep(_) => Severity::Note,
        }
    }

    pub fn state(&self, lang: Lang) -> StatedDoubt {
        let (text, remedy) = super::texts::words(self, lang);
        StatedDoubt {
            code: self.code(),
            severity: self.severity(),
            text,
            remedy,
        }
    }
}
