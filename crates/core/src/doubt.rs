//! Doubts: typed reasons to distrust a run. Each says what was seen and what to do.

use serde::{Deserialize, Serialize};

/// How much a doubt matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Severity {
    Note,
    /// The numbers may mislead.
    Warn,
    Invalid,
}

/// Kinds of doubt that a single run can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum DoubtCode {
    /// planned ≠ ok + failed + cut + cancelled + unsent.
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
    /// Fewer ranks than asked for carried the load.
    MissingRanks,
    /// Clocks of ranks could not be compared well enough for the arrivals that they share.
    ClockError,
    Failures,
    /// Requests of the warm-up or of the hold failed, though the measured ones did not.
    UnmeasuredFailures,
    /// Many requests had to be sent again.
    Resent,
    /// The server closes the connection after each answer.
    ClosedConnections,
    /// Answers that should have been streamed came whole.
    NotStreamed,
    /// Another model may have answered than was asked for.
    OtherModel,
    /// First tokens wait for the client's delayed acknowledgement.
    DelayedAck,
    /// A printed percentile lacks its least sample.
    FewSamples,
    /// Answers have other lengths than asked.
    OutputLengths,
    /// Most answers end at one value.
    OutputCapped,
    /// The server's token counts cannot be true.
    ImplausibleUsage,
    /// Our prompt counts and the server's differ by more than a constant.
    InputLengths,
    /// The server gave no usage.
    TokenSource,
    ChunkNotToken,
    /// The server found prompts in its cache.
    WarmCache,
    /// The same prompts again and again.
    RepeatedPrompts,
    NoSteadyState,
    /// The server became slower or faster while it was measured.
    Drift,
    /// A few slow answers kept most streams idle at the end.
    Stragglers,
    /// In-flight and TTFT both rise.
    Overload,
    /// The measured window holds fewer than three answers in a row.
    ShortWindow,
    Stalls,
    AllAtOnce,
    /// Streams of a closed loop send in waves.
    InStep,
    /// Much of the time arises between the engine and the client.
    FrontEnd,
    /// The server did not answer after the run.
    ServerDied,
    /// The author of the notes that it is from says that he does not trust it.
    DoubtedByAuthor,
    /// Every request failed, or none ended: there is nothing to measure.
    NothingMeasured,
}
