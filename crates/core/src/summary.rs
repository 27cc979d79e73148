//! The summary: metrics folded from records, as `summary.json` holds them.
//!
//! A number that is not known is `null`, never 0.

mod column;
mod cost;
mod latency;
mod objectives;
mod sessions;

pub use column::{BadColumn, Quantity, SummaryColumn, SummaryColumns};
pub use cost::CostResult;
pub use latency::{Distribution, Latencies};
pub use objectives::{ObjectiveResult, SloOutcome, SloResult};
pub use sessions::{JobAttainment, JobTimes, SessionResult, TurnResult};

use crate::doubt::{DoubtCode, Severity};
use crate::record::{FailureClass, Phase, TokenSource};
use crate::server::ServerSummary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How an INVALID run is marked in forms that have no word for it: a key of JSON with the codes of
/// its doubts, or the beginning of a line.
pub const INVALID_KEY: &str = "inferometer_invalid";
pub const INVALID_LINE: &str = "inferometer: INVALID";

/// Name and version of the summary's form.
pub const SCHEMA: &str = "inferometer.summary/1";

/// The tag that says how many cards served a run.
pub const CARDS: &str = "cards";

/// Everything that a report says about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// `inferometer.summary/1`.
    pub schema: String,
    pub label: Option<String>,
    /// Facts given by the user, and `cards` where the launch command says how many there are.
    pub tags: BTreeMap<String, String>,
    /// No doubt is severe enough to make the run invalid.
    pub valid: bool,
    /// Reasons to distrust the run, the worst first.
    pub doubts: Vec<StatedDoubt>,
    pub requests: Accounts,
    /// Length of the window.
    pub window_s: Option<f64>,
    /// Where throughput is counted; absent in runs of earlier versions.
    #[serde(default)]
    pub window: Option<WindowSpan>,
    /// Length of the steady state, where one was found.
    pub steady_s: Option<f64>,
    pub throughput: Throughput,
    pub steady: Option<SteadyThroughput>,
    pub concurrency: Concurrency,
    /// Latencies in milliseconds.
    pub latency: Latencies,
    /// Tokens a second as one user gets them.
    #[serde(default)]
    pub speed: Speed,
    /// Token totals and where they come from.
    pub tokens: Tokens,
    /// Vectors or scores in complete answers, where answers consist of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Failures by phase and class, the most frequent first.
    pub failures: Vec<FailureCount>,
    /// Times in which the server could not be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// Objectives, where any were given.
    pub slo: Option<SloResult>,
    pub client: Client,
    /// The server's own view, where it was asked.
    #[serde(default)]
    pub server: Option<ServerSummary>,
    /// Change over a long run, in ten parts of equal time (`--soak`).
    pub drift: Option<Vec<DriftPart>>,
    /// Asked and actual lengths, where a template asked for them in words.
    #[serde(default)]
    pub continuation: Option<ContinuationResult>,
    /// Images, sounds and videos of requests, where they had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaResult>,
    /// Whether answers have the form that was asked for: JSON, calls of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<StructuredResult>,
    /// Each model, where requests ask for several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelResult>,
    /// What it costs, where a price is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostResult>,
    /// Whole sessions and their turns, where the work has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionResult>,
    /// How good the answers are, where they were checked (`--check`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
}

/// Media of the requests with a complete answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediaResult {
    /// Requests that had any.
    pub requests: u64,
    /// Images, sounds and videos.
    pub parts: u64,
    /// Bytes of the bodies of these requests; absent in virtual time, which sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_bytes: Option<u64>,
    /// Prompt tokens that stand for media; absent where the server does not count them apart.
    pub media_tokens: Option<u64>,
    /// Seconds of sound, where the length of any is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_s: Option<f64>,
    /// Real-time factor of each request: its latency over the length of its sounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtf: Option<Distribution>,
}

/// Complete answers to requests that asked for JSON or offered tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StructuredResult {
    /// Answers that were to be JSON.
    pub json_asked: u64,
    /// Share of them that are JSON as the schema allows it; any JSON where there is no schema.
    pub valid_json: Option<f64>,
    /// 95 % interval of `valid_json`.
    pub valid_json_interval: Option<[f64; 2]>,
    /// Answers to requests that offered tools.
    pub tools_offered: u64,
    /// Of those, answers that call one.
    pub with_calls: u64,
    pub tool_calls: u64,
    /// Share of calls that name an offered tool with arguments that it takes.
    pub valid_tool_calls: Option<f64>,
    /// 95 % interval of `valid_tool_calls`.
    pub valid_tool_calls_interval: Option<[f64; 2]>,
}

/// The measured requests that asked for one model of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelResult {
    pub model: String,
    pub ok: u64,
    pub failed: u64,
    /// Output tokens of its complete answers.
    pub output_tokens: Option<u64>,
    /// Mean prompt tokens, as the server counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens_mean: Option<f64>,
    /// Of these, the ones that it had in its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens_mean: Option<f64>,
    /// Complete answers whose request the engine preempted, where it says so of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<u64>,
    pub ttft_p50_ms: Option<f64>,
    pub ttft_p99_ms: Option<f64>,
    pub tpot_p50_ms: Option<f64>,
    pub e2e_p50_ms: Option<f64>,
    pub e2e_p99_ms: Option<f64>,
    /// Time to first token of its very first request, the warm-up included, where that is far
    /// above its later ones: the model, or an adapter, was loaded then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_ttft_ms: Option<f64>,
}

/// How good complete answers are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckResult {
    /// As given: `gsm8k`.
    pub check: String,
    /// Mean score, from 0 to 1; of `same-as` the share of identical answers.
    pub score: Option<f64>,
    /// 95 % interval of `score`, as if each different prompt were a draw of its own.
    pub score_interval: Option<[f64; 2]>,
    pub checked: u64,
    /// Complete answers that could not be checked: nothing is expected of them.
    pub unchecked: u64,
    /// Of `same-as`: median number of characters before the first that differs, over the answers
    /// that differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs_at_p50: Option<f64>,
}

/// A time in which the server could not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outage {
    /// First refusal, in seconds since the measured part began.
    pub start_s: f64,
    /// Until the server answered again; to the last refusal where it did not.
    pub length_s: f64,
    /// Requests that found nobody.
    pub requests: u64,
    /// The server was there again before the run ended.
    pub ended: bool,
}

/// The measured window, in seconds on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowSpan {
    pub start_s: f64,
    pub end_s: f64,
    /// It opened on a load that was up to strength, and throughput is what was completed and
    /// received inside. Otherwise it reaches from the first send to the last completion.
    pub steady_by_construction: bool,
}

/// Answers to a template that asks for so many characters, which nothing enforces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContinuationResult {
    /// Characters that were asked for.
    pub asked_chars: u32,
    /// Mean characters of complete answers.
    pub chars_mean: Option<f64>,
    /// Mean tokens of complete answers.
    pub tokens_mean: Option<f64>,
    /// Answers that open like a refusal.
    pub refused: u64,
    /// Answers of less than a tenth of what was asked.
    pub very_short: u64,
    /// Characters of the template, which each prompt has beside its piece of text.
    pub template_chars: Option<u64>,
    pub template_tokens: Option<u32>,
    /// Complete answers by their actual length.
    pub groups: Vec<ContinuationGroup>,
}

/// Answers of about one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContinuationGroup {
    /// Least length, as a share of the asked characters.
    pub from_share: f64,
    /// Lengths are below this share; absent for the last group.
    pub to_share: Option<f64>,
    pub answers: u64,
    pub chars_mean: Option<f64>,
    pub tokens_mean: Option<f64>,
    /// Mean of their output tokens over end-to-end latency.
    pub tokens_per_s_mean: Option<f64>,
    /// Mean of their end-to-end latency.
    pub e2e_mean_ms: Option<f64>,
}

/// Doubts by which figures are of fewer requests or of other work than was asked for, or not those of
/// a server as it usually runs.
const OF_OTHER_WORK: [DoubtCode; 6] = [
    DoubtCode::DoubtedByAuthor,
    DoubtCode::Failures,
    DoubtCode::LostRequests,
    DoubtCode::OutputLengths,
    DoubtCode::ImplausibleUsage,
    DoubtCode::ServerDied,
];

/// Whether failures are so few that they decide nothing: one in a thousand at most.
pub fn is_next_to_none(failed: u64, all: u64) -> bool {
    failed.saturating_mul(1_000) <= all
}

impl Summary {
    /// Whether it may be called the best of several: it did the work that the others did, but for
    /// failures that are next to none.
    pub fn can_win(&self) -> bool {
        self.did_the_work() && !self.fails_more_than_a_few()
    }

    /// Whether its streams sent in waves: what it did is that of a phase that the same load may run
    /// without.
    pub fn is_in_step(&self) -> bool {
        (self.doubts.iter()).any(|doubt| doubt.code == DoubtCode::InStep)
    }

    /// Whether more requests failed than next to none.
    pub fn fails_more_than_a_few(&self) -> bool {
        let requests = &self.requests;
        !is_next_to_none(requests.failed, requests.ok + requests.failed)
    }

    /// Whether it is valid and did the work that was asked for, but for failures so few that they
    /// raise no doubt.
    pub fn did_the_work(&self) -> bool {
        let spoils = |doubt: &StatedDoubt| {
            doubt.severity > Severity::Note && OF_OTHER_WORK.contains(&doubt.code)
        };
        self.valid && !self.doubts.iter().any(spoils)
    }

    /// Whether it is invalid by what the server did, not by how it was measured.
    pub fn server_failed(&self) -> bool {
        let codes = [
            DoubtCode::Failures,
            DoubtCode::ServerDied,
            DoubtCode::NothingMeasured,
        ];
        let doubts = self.doubts.iter();
        let mut grave = doubts.filter(|it| it.severity == Severity::Invalid);
        grave.any(|doubt| codes.contains(&doubt.code))
    }

    /// Cards that served it, where that is stated.
    pub fn cards(&self) -> Option<f64> {
        let cards: f64 = self.tags.get(CARDS)?.trim().parse().ok()?;
        (cards.is_finite() && cards >= 1.0).then_some(cards)
    }

    /// Output tokens a second of one card.
    pub fn output_tokens_per_s_per_card(&self) -> Option<f64> {
        Some(self.throughput.output_tokens_per_s? / self.cards()?)
    }
}

/// A doubt in the run's language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatedDoubt {
    pub code: DoubtCode,
    pub severity: Severity,
    pub text: String,
    pub remedy: String,
}

/// planned = ok + failed + cut + cancelled + unsent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accounts {
    pub planned: u64,
    pub ok: u64,
    pub failed: u64,
    /// Under way when the run ended.
    pub cut: u64,
    pub unsent: u64,
    /// Given up by the client by intention.
    #[serde(default)]
    pub cancelled: u64,
    /// Of those that were sent: sent once more, because the server had closed the connection.
    #[serde(default)]
    pub resent: u64,
    /// Of those that were sent: on a new connection.
    #[serde(default)]
    pub connected: u64,
    /// Sent before the measured window opened; not among the planned.
    #[serde(default)]
    pub warmup: u64,
    /// Sent to keep up the load until the last measured request had ended; likewise.
    #[serde(default)]
    pub hold: u64,
}

impl Accounts {
    /// Planned requests of which nothing is known: nobody can say that they did not fail.
    pub fn missing(&self) -> u64 {
        let known = [self.ok, self.failed, self.cut, self.cancelled, self.unsent];
        let known = known.into_iter().fold(0, u64::saturating_add);
        self.planned.saturating_sub(known)
    }
}

/// Work done a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    pub requests_per_s: Option<f64>,
    /// Prompt tokens of complete answers.
    pub input_tokens_per_s: Option<f64>,
    pub output_tokens_per_s: Option<f64>,
    pub total_tokens_per_s: Option<f64>,
    /// Vectors or scores a second, where answers consist of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items_per_s: Option<f64>,
    /// Seconds of sound a second, where requests carry sounds of known length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_s_per_s: Option<f64>,
    pub input_chars_per_s: Option<f64>,
    pub output_chars_per_s: Option<f64>,
    /// 95 % interval of `requests_per_s`.
    pub requests_per_s_interval: Option<[f64; 2]>,
    /// 95 % interval of `output_tokens_per_s`.
    pub output_tokens_per_s_interval: Option<[f64; 2]>,
    /// 95 % interval of `items_per_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items_per_s_interval: Option<[f64; 2]>,
    /// 95 % interval of `audio_s_per_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_s_per_s_interval: Option<[f64; 2]>,
    /// Requests with which a run like this could state intervals, where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_needed: Option<u64>,
}

/// Work done a second in the steady state, by events inside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyThroughput {
    pub requests_per_s: Option<f64>,
    pub output_tokens_per_s: Option<f64>,
    /// Begin and end on the run's clock, in seconds.
    pub span_s: [f64; 2],
}

/// Requests under way, by an exact sweep over their begins and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Concurrency {
    /// Streams of a closed loop, or the cap of an open one.
    pub configured: Option<u32>,
    pub mean: Option<f64>,
    pub peak: Option<u64>,
}

/// Tokens a second as one user gets them, over complete answers. High values are good, so the
/// low end of these samples is the bad one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Speed {
    /// Output tokens over end-to-end latency, for each answer.
    pub per_user_tokens_per_s: Option<Distribution>,
    /// 1 / TPOT, for each answer.
    pub decode_tokens_per_s: Option<Distribution>,
}

/// Token totals over complete answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tokens {
    /// Prompt tokens, as the server counts.
    pub input: Option<u64>,
    pub output: Option<u64>,
    /// Where the output count comes from.
    pub source: TokenSource,
    /// Prompt tokens that the server had in its cache, where it says so.
    pub cached: Option<u64>,
    /// Mean of the prompt lengths that were aimed at.
    pub input_asked_mean: Option<f64>,
    /// Mean prompt length, as the server counts.
    pub input_mean: Option<f64>,
    pub output_asked_mean: Option<f64>,
    pub output_mean: Option<f64>,
    /// Characters of the answers for each of their tokens.
    #[serde(default)]
    pub chars_per_token: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureCount {
    pub phase: Phase,
    pub class: FailureClass,
    pub count: u64,
    /// HTTP status of the sample.
    pub status: Option<u16>,
    pub sample: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Client {
    /// CPU use of the busiest client thread, from 0 to 1.
    pub cpu_share: Option<f64>,
    /// 99th percentile of the client's own lateness.
    pub lag_p99_ms: Option<f64>,
    /// How late it was woken at the 99th percentile, whatever it waited for.
    pub pulse_p99_ms: Option<f64>,
    /// The longest time for which it did not run although it should have.
    pub longest_pause_ms: Option<f64>,
    /// Token events a second that this host can take, as `doctor` found.
    pub ceiling_tokens_per_s: Option<f64>,
    /// Share of that ceiling that the run needed at its peak second.
    pub ceiling_share: Option<f64>,
}

impl Client {
    /// Its own longest pause, where a gap between chunks may be nothing else.
    pub fn pause_behind(&self, gap_ms: f64) -> Option<f64> {
        self.longest_pause_ms.filter(|pause| 2.0 * pause >= gap_ms)
    }
}

/// One tenth of a soak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftPart {
    /// Begin, in seconds from the first send.
    pub from_s: f64,
    /// Requests that ended in it.
    pub ok: u64,
    pub failed: u64,
    /// Output tokens a second.
    pub output_tokens_per_s: Option<f64>,
    /// Median time to first token.
    pub ttft_p50_ms: Option<f64>,
}
