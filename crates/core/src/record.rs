//! The record: facts about one request, failed and cut-off ones included.
//!
//! Every metric, ours and every dialect's, is derived from records alone, so a record keeps
//! what was seen and concludes nothing.

mod failure;

pub use failure::{Failure, FailureClass, Phase};

use crate::sparse::{Sparse, sparse};
use crate::units::Offset;
use serde::{Deserialize, Serialize};
use std::time::Duration;

sparse! {
    /// One request, from its planned time to its end. As JSON it leaves out what is absent: journals
    /// are written while requests are.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Record {
        /// The `x-request-id` that was sent; the simulator's truth log carries the same.
        pub id: String,
        /// Number in the schedule; with the seed it determines the prompt.
        pub index: u64,
        /// The conversation that the request belongs to.
        pub session: Option<u64>,
        /// Its turn in that conversation.
        pub turn: Option<u32>,
        /// Turns of the whole conversation, whether they were all sent or not.
        pub turns: Option<u32>,
        /// The rank that sent it, where several shared the load.
        pub rank: Option<u32>,
        /// The part of the load that it belongs to; only measured ones are in a metric of requests.
        #[serde(alias = "warmup")]
        pub stage: Stage,
        /// When the schedule wanted it sent; absent in a closed loop.
        pub due: Option<Offset>,
        /// Wait at a cap that the user set (`--max-concurrency`); absent without a cap.
        #[serde(rename = "cap_wait_ns", with = "nanos")]
        pub cap_wait: Option<Duration>,
        /// Time to connect (and for TLS); absent when an open connection was used.
        #[serde(rename = "connect_ns", with = "nanos")]
        pub connect: Option<Duration>,
        /// When the first byte went to the kernel on a ready connection.
        pub sent: Option<Offset>,
        /// When the first byte of the answer was read.
        pub first_byte: Option<Offset>,
        /// Chunks that carry a token, in order of arrival.
        pub chunks: Chunks,
        /// First token that is not reasoning.
        pub first_answer: Option<Offset>,
        /// Messages of the stream that carry no token.
        pub bare: Vec<BareChunk>,
        /// When the answer, or the attempt, was over.
        pub end: Option<Offset>,
        pub outcome: Outcome,
        /// HTTP status, once there was one.
        pub status: Option<u16>,
        /// Token counts as the server said them.
        pub usage: Option<Usage>,
        /// Output tokens counted by us from the text after the run, where the server said none.
        pub retokenized: Option<u32>,
        /// Why the server stopped, in its own word (`length`, `stop`, …).
        pub finish: Option<String>,
        /// The model that answered, as the answer itself says.
        pub model: Option<String>,
        /// The model that was asked for, where the requests of a run ask for several.
        pub model_asked: Option<String>,
        /// Prompt tokens that were aimed at.
        pub input_tokens_asked: Option<u32>,
        /// Output tokens that were asked for: an exact length where `output_exact`, else a limit.
        pub output_tokens_asked: Option<u32>,
        /// The server was told to ignore end-of-sequence, so asked and received should agree.
        pub output_exact: bool,
        /// Texts of the request, where each has an item of its own in the answer.
        pub items_asked: Option<u32>,
        /// Vectors or scores in the answer.
        pub items: Option<u32>,
        pub input_chars: u64,
        /// Characters of the answer, reasoning and tool calls included.
        pub output_chars: u64,
        pub url: String,
        /// Whether a stream was asked for.
        pub streamed: bool,
        /// The server had closed the kept connection without a word, so the request went out once
        /// more, on a new one; `sent` is the second time.
        pub resent: bool,
        /// The answer opens like a refusal; told only where its text was looked at.
        pub refused: bool,
        /// Images, sounds and videos of the request; absent where it has none.
        pub media: Option<u32>,
        /// Milliseconds of the request's sounds together; absent where it has none, and where the
        /// length of one is not known.
        pub audio_ms: Option<u32>,
        /// Bytes of the body of a request with media.
        pub upload_bytes: Option<u64>,
        /// Prompt tokens that stand for media, where the server counts them apart.
        pub media_tokens: Option<u32>,
        /// How good the answer is by `--check`, from 0 to 1; absent where it was not checked.
        pub score: Option<f64>,
        /// Characters before the first that differs from the answer of the run that it is compared
        /// with; absent where they are the same.
        pub differs_at: Option<u64>,
        /// The answer is JSON as the request wanted it; absent where it wanted none.
        pub valid_json: Option<bool>,
        /// Calls of tools in the answer; absent where the request offered no tool.
        pub tool_calls: Option<u32>,
        /// Those of them that name a tool of the request with arguments that it takes.
        pub valid_tool_calls: Option<u32>,
        /// How often the engine took the memory of this request for others and computed it again,
        /// where it says so: SGLang's own endpoint does, and the engine in virtual time.
        pub preemptions: Option<u32>,
        /// What the server said of each output token; few servers do, MindIE with
        /// `MINDIE_LLM_BENCHMARK_ENABLE=1` among them.
        pub per_token: Option<Box<PerToken>>,
    }
}

/// What a server says of each output token, in order. The first one is that of the prefill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PerToken {
    /// Sequences in the batch that made it.
    pub batch_size: Vec<u32>,
    /// Microseconds in the queue before it.
    pub queue_wait_us: Vec<u32>,
}

/// Parts of one continuous load. The measured window opens on a server that is already under
/// load, and closes on one that still is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case", try_from = "StageOrFlag")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Stage {
    /// Sent before the window opened.
    Warmup,
    /// Sent inside the window.
    #[default]
    Measured,
    /// Sent to keep the server busy until the last measured request has ended.
    Hold,
}

impl Sparse for Stage {
    fn is_left_out(&self) -> bool {
        *self == Stage::Measured
    }
}

impl Sparse for Chunks {}
impl Sparse for Outcome {}

/// Earlier records have a flag, `warmup`, in place of the stage.
#[derive(Deserialize)]
#[serde(untagged)]
enum StageOrFlag {
    Flag(bool),
    Word(String),
}

impl TryFrom<StageOrFlag> for Stage {
    type Error = strum::ParseError;

    fn try_from(read: StageOrFlag) -> Result<Stage, strum::ParseError> {
        match read {
            StageOrFlag::Flag(true) => Ok(Stage::Warmup),
            StageOrFlag::Flag(false) => Ok(Stage::Measured),
            StageOrFlag::Word(word) => word.parse(),
        }
    }
}

/// Arrival of the chunks that carry tokens, as parallel columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chunks {
    /// Time of the socket read that completed the chunk.
    pub at: Vec<Offset>,
    /// Tokens in the chunk, where the server says so per chunk.
    pub tokens: Option<Vec<u32>>,
    /// The chunk came in the same read as the one before it (of any kind), so that the two
    /// cannot be told apart in time.
    pub same_read: Vec<bool>,
}

impl Chunks {
    pub fn len(&self) -> usize {
        self.at.len()
    }

    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }
}

/// A message of the stream without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BareChunk {
    pub at: Offset,
    pub kind: BareKind,
}

/// Kinds of messages without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum BareKind {
    /// Has a choice, but no text: role only, or empty.
    Empty,
    /// Has a choice with a finish reason and no text.
    Finish,
    /// Has no choice: usage, or something else that is no answer.
    NoChoice,
}

/// Token counts as the server reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: Option<u32>,
    pub output: Option<u32>,
    /// Prompt tokens found in the prefix cache.
    pub cached: Option<u32>,
}

/// How a request ended. Every planned request ends in exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Done,
    /// Went wrong; failures are data.
    Failed(Failure),
    /// Given up by the client by intention (`--cancel`).
    Cancelled,
    /// Still under way when the run ended; counted, never dropped.
    #[default]
    Cut,
}

/// Where the number of output tokens comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum TokenSource {
    Usage,
    /// Our tokenizer, applied to the text after the run.
    Retokenized,
    /// Nothing says so; the number is absent.
    None,
}

impl Record {
    #[inline]
    pub fn is_measured(&self) -> bool {
        self.stage == Stage::Measured
    }

    #[inline]
    pub fn is_done(&self) -> bool {
        matches!(self.outcome, Outcome::Done)
    }

    /// What went wrong, if something did.
    #[inline]
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure),
            Outcome::Done | Outcome::Cut | Outcome::Cancelled => None,
        }
    }

    /// There was nobody to answer: no connection, one that was closed before a byte of the answer
    /// came, or a gateway that has nobody behind it.
    #[inline]
    pub fn found_nobody(&self) -> bool {
        let Some(failure) = self.failure() else {
            return false;
        };
        let is_lost = || {
            matches!(failure.phase, Phase::Resolve | Phase::Connect)
                || failure.class == FailureClass::Disconnected
        };
        matches!(self.status, Some(502..=504)) || self.first_byte.is_none() && is_lost()
    }

    /// It found nobody, or nobody who would take it now.
    pub fn was_turned_away(&self) -> bool {
        self.found_nobody() || self.status == Some(429) && self.failure().is_some()
    }

    /// The moment from which latency is felt: `due` where a schedule exists, so that a late
    /// client cannot hide a slow server, else `sent`.
    #[inline]
    pub fn start(&self) -> Option<Offset> {
        self.due.or(self.sent)
    }

    #[inline]
    pub fn first_token(&self) -> Option<Offset> {
        self.chunks.at.first().copied()
    }

    #[inline]
    pub fn last_token(&self) -> Option<Offset> {
        self.chunks.at.last().copied()
    }

    /// Time to first token; `None` if no token ever came or no stream was asked for.
    #[inline]
    pub fn ttft(&self) -> Option<Duration> {
        Some(self.first_token()?.since(self.start()?))
    }

    /// Time to the first token from the moment of sending, whatever the schedule said.
    #[inline]
    pub fn ttft_from_sent(&self) -> Option<Duration> {
        Some(self.first_token()?.since(self.sent?))
    }

    /// Time to the first token that is not reasoning.
    #[inline]
    pub fn first_answer(&self) -> Option<Duration> {
        Some(self.first_answer?.since(self.start()?))
    }

    /// Gap between the first two token-bearing chunks.
    #[inline]
    pub fn second_token(&self) -> Option<Duration> {
        Some(self.chunks.at.get(1)?.since(*self.chunks.at.first()?))
    }

    /// Output tokens: the server's count, else ours after the run, else unknown. Never the
    /// requested length, never the number of chunks.
    #[inline]
    pub fn output_tokens(&self) -> Option<u32> {
        self.usage
            .and_then(|usage| usage.output)
            .or(self.retokenized)
    }

    /// Where `output_tokens` comes from.
    #[inline]
    pub fn token_source(&self) -> TokenSource {
        match (self.usage.and_then(|usage| usage.output), self.retokenized) {
            (Some(_), _) => TokenSource::Usage,
            (None, Some(_)) => TokenSource::Retokenized,
            (None, None) => TokenSource::None,
        }
    }

    /// Prompt tokens: the server's count only.
    #[inline]
    pub fn input_tokens(&self) -> Option<u32> {
        self.usage.and_then(|usage| usage.input)
    }

    /// Time per output token after the first; absent for a single token, and for tokens that
    /// all came in one read: nobody saw the time between them.
    #[inline]
    pub fn tpot(&self) -> Option<Duration> {
        let gaps = self
            .output_tokens()?
            .checked_sub(1)
            .filter(|&gaps| gaps > 0)?;
        let decode = (self.last_token()?.0).saturating_sub(self.first_token()?.0);
        (decode > 0).then(|| Duration::from_nanos(decode / u64::from(gaps)))
    }

    /// Gaps between consecutive token-bearing chunks.
    pub fn gaps(&self) -> impl Iterator<Item = Duration> + '_ {
        self.chunks.at.windows(2).map(|pair| pair[1].since(pair[0]))
    }

    /// The same in nanoseconds.
    #[inline]
    pub fn gap_nanos(&self) -> impl Iterator<Item = u64> + '_ {
        let pairs = self.chunks.at.windows(2);
        pairs.map(|pair| pair[1].0.saturating_sub(pair[0].0))
    }

    /// The largest gap: a stall that no percentile over tokens shows.
    pub fn max_gap(&self) -> Option<Duration> {
        self.gap_nanos().max().map(Duration::from_nanos)
    }

    /// The moment at which the answer was complete for its reader: the last token or the
    /// finishing chunk, whichever came later; without a stream, the end of the body.
    #[inline]
    pub fn completed(&self) -> Option<Offset> {
        if !self.streamed {
            return self.end;
        }
        let finish = self
            .bare
            .iter()
            .filter(|chunk| chunk.kind == BareKind::Finish)
            .map(|chunk| chunk.at)
            .next_back();
        self.last_token().max(finish)
    }

    /// Latency from due (or sent) to the complete answer.
    pub fn e2e(&self) -> Option<Duration> {
        Some(self.completed()?.since(self.start()?))
    }

    /// Real-time factor: latency over the length of the sounds. Below 1 the answer is there before
    /// the sounds could have been heard.
    pub fn real_time_factor(&self) -> Option<f64> {
        let heard = self.audio_ms.filter(|&millis| millis > 0)?;
        Some(self.e2e()?.as_secs_f64() * 1e3 / f64::from(heard))
    }

    /// How late *we* were: neither the user's cap nor the connection. A large value condemns
    /// the run, not the server. Absent in a closed loop.
    pub fn lag(&self) -> Option<Duration> {
        let late = self.sent?.since(self.due?);
        let excused = self.cap_wait.unwrap_or_default() + self.connect.unwrap_or_default();
        Some(late.saturating_sub(excused))
    }
}

/// `Option<Duration>` as nanoseconds.
mod nanos {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        span.map(|span| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
            .serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray;

    fn ms(millis: u64) -> Offset {
        Offset::after(Duration::from_millis(millis))
    }

    fn span(millis: u64) -> Option<Duration> {
        Some(Duration::from_millis(millis))
    }

    fn streamed(due: Option<u64>, sent: u64, tokens: &[u64]) -> Record {
        Record {
            due: due.map(ms),
            sent: Some(ms(sent)),
            chunks: Chunks {
                at: tokens.iter().copied().map(ms).collect(),
                tokens: None,
                same_read: vec![false; tokens.len()],
            },
            streamed: true,
            outcome: Outcome::Done,
            usage: Some(Usage {
                output: Some(tokens.len() as u32),
                ..Usage::default()
            }),
            ..Record::default()
        }
    }

    #[test]
    fn ttft_counts_from_due_where_a_schedule_exists_and_from_sent_otherwise() {
        assert_eq!(streamed(Some(10), 30, &[100]).ttft(), span(90));
        assert_eq!(streamed(None, 30, &[100]).ttft(), span(70));
        assert_eq!(streamed(None, 30, &[]).ttft(), None);
    }

    #[test]
    fn tpot_is_absent_for_one_token_and_when_the_count_is_unknown() {
        assert_eq!(streamed(None, 0, &[100]).tpot(), None);
        let mut record = streamed(None, 0, &[100, 120, 160]);
        assert_eq!(record.tpot(), span(30));
        record.usage = None;
        assert_eq!(record.tpot(), None);
        assert_eq!(streamed(None, 0, &[100; 9]).tpot(), None);
    }

    #[test]
    fn lag_leaves_out_the_cap_and_the_connection() {
        let mut record = streamed(Some(10), 110, &[200]);
        (record.cap_wait, record.connect) = (span(80), span(15));
        assert_eq!(record.lag(), span(5));
    }

    #[test]
    fn an_answer_is_complete_at_its_finishing_chunk_but_not_at_its_usage() {
        let mut record = streamed(None, 0, &[100, 120]);
        let bare = |millis, kind| BareChunk {
            at: ms(millis),
            kind,
        };
        record.bare = vec![bare(130, BareKind::Finish), bare(140, BareKind::NoChoice)];
        assert_eq!(record.e2e(), span(130));
    }

    #[test]
    fn the_real_time_factor_is_latency_over_the_length_of_the_sounds() {
        let mut record = streamed(None, 0, &[100, 500]);
        assert_eq!(record.real_time_factor(), None);
        record.audio_ms = Some(10_000);
        assert_eq!(record.real_time_factor(), Some(0.05));
        record.audio_ms = Some(0);
        assert_eq!(record.real_time_factor(), None);
    }

    #[test]
    fn words_and_serde_agree() {
        for class in FailureClass::VARIANTS {
            let json = serde_json::to_string(class).unwrap();
            assert_eq!(json, format!("\"{class}\""));
            assert_eq!(class.into_str().parse(), Ok(*class));
        }
        for phase in Phase::VARIANTS {
            assert_eq!(
                serde_json::to_string(phase).unwrap(),
                format!("\"{phase}\"")
            );
        }
    }
}
