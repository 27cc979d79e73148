//! Doubts: typed reasons to distrust a run. Each says what was seen and what to do.

use crate::record::words;
use serde::{Deserialize, Serialize};

/// How much a doubt matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Note,
    /// The numbers may mislead.
    Warn,
    Invalid,
}

words!(Severity { Note => "note", Warn => "warn", Invalid => "invalid" });

/// Kinds of doubt that a single run can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtCode {
    /// planned ≠ ok + failed + cut + unsent.
    LostRequests,
    /// Fewer requests under way than configured.
    ShrunkConcurrency,
    /// Too few requests to fill the streams.
    UnfilledStreams,
    ClientLate,
    /// The client was near its ceiling.
    ClientBusy,
    /// Ended by signal, crash or watchdog.
    Interrupted,
    Failures,
    /// Many requests had to be sent again.
    Resent,
    /// A printed percentile lacks its least sample.
    FewSamples,
    /// Answers have other lengths than asked.
    OutputLengths,
    /// Most answers end at one value.
    OutputCapped,
    /// Our prompt counts and the server's differ by more than a constant.
    InputLengths,
    /// The server gave no usage.
    TokenSource,
    ChunkNotToken,
    /// The server found prompts in its cache.
    WarmCache,
    /// The same prompts again and again.
    RepeatedPrompts,
    /// No steady state was found.
    NoSteadyState,
    /// In-flight and TTFT both rise.
    Overload,
    Stalls,
    AllAtOnce,
    /// Streams of a closed loop send in waves.
    InStep,
    /// The server did not answer after the run.
    ServerDied,
    /// Every request failed, or none ended: there is nothing to measure.
    NothingMeasured,
}

words!(DoubtCode {
    LostRequests => "lost-requests",
    ShrunkConcurrency => "shrunk-concurrency",
    UnfilledStreams => "unfilled-streams",
    ClientLate => "client-late",
    ClientBusy => "client-busy",
    Interrupted => "interrupted",
    Failures => "failures",
    Resent => "resent",
    FewSamples => "few-samples",
    OutputLengths => "output-lengths",
    OutputCapped => "output-capped",
    InputLengths => "input-lengths",
    TokenSource => "token-source",
    ChunkNotToken => "chunk-not-token",
    WarmCache => "warm-cache",
    RepeatedPrompts => "repeated-prompts",
    NoSteadyState => "no-steady-state",
    Overload => "overload",
    Stalls => "stalls",
    AllAtOnce => "all-at-once",
    InStep => "in-step",
    ServerDied => "server-died",
    NothingMeasured => "nothing-measured",
});
