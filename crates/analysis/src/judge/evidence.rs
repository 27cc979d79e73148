//! What the fold gathers for the judgement and no report shows as a number.

use crate::steady::Overload;
use inferometer_core::record::{FailureClass, Phase, Record};
use inferometer_core::thresholds::Thresholds;
use inferometer_core::units::Offset;
use inferometer_statistics::ExactSum;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Records whose number in the schedule another has too.
    pub duplicates: u64,
    /// Requests under way against those expected; absent in an open loop or where it cannot
    /// be told.
    pub in_flight: Option<InFlightEvidence>,
    /// How the sends of a closed loop crowd; absent in an open one or where it cannot be told.
    pub waves: Option<WaveEvidence>,
    /// Length of a window that is steady by construction; absent for a run without one.
    pub window: Option<WindowEvidence>,
    /// How the server's speed moved in one direction; absent where it did not.
    pub drift: Option<DriftEvidence>,
    /// How a closed loop without a hold ended; absent for any other.
    pub stragglers: Option<StragglerEvidence>,
    /// Overload of an open loop.
    pub overload: Option<Overload>,
    /// How requests of the warm-up and of the hold failed.
    pub unmeasured_failures: BTreeMap<(Phase, FailureClass), u64>,
    pub sent: u64,
    /// Answers whose output tokens are not known.
    pub without_count: u64,
    /// Output tokens for each chunk.
    pub tokens_per_event: Option<f64>,
    pub lengths: LengthEvidence,
    pub usage: UsageEvidence,
    pub stalls: StallEvidence,
    pub wire: WireEvidence,
}

/// What connections and answers show of the way to the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WireEvidence {
    /// Answers that came as a stream.
    pub streamed: u64,
    /// Of these, the ones whose text came all at once.
    pub whole: u64,
    /// Of the others, those most of whose chunks came together with the one before.
    pub bunched: u64,
    /// When first tokens come; absent where too few connections were kept.
    pub first_token: Option<FirstTokenEvidence>,
    /// Models that the answers name.
    pub models: Vec<ModelEvidence>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstTokenEvidence {
    /// Quartiles of the time from the first byte to the first token on kept connections.
    pub gap_quartiles_ms: [f64; 2],
    /// Median TTFT on kept connections, from the moment of sending.
    pub kept_ms: f64,
    /// The same on fresh ones.
    pub fresh_ms: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEvidence {
    pub name: String,
    pub answers: u64,
}

/// Time-weighted means while all streams should have been busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InFlightEvidence {
    pub seen: f64,
    /// As many as there should have been.
    pub expected: f64,
}

/// How many other requests are sent about when one is: within a tenth of a median answer's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaveEvidence {
    /// That many, on average over the requests after the first wave.
    pub seen: f64,
    /// As many as there would be if they were sent evenly.
    pub even: f64,
    /// A tenth of a median answer's time.
    pub span_ms: f64,
    /// Those that wait for a place get it in rounds.
    pub rounds: Option<Rounds>,
}

/// How uneven the rounds are in which a server takes up requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// Of its requests, those in the busier half of a round.
    pub share: f64,
    pub round_ms: f64,
}

/// How long the window is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowEvidence {
    /// Its length in mean answers.
    pub waves: f64,
    /// By how much, as a share, throughput changes with the place of its edges; absent where
    /// nothing was received.
    pub off_by: Option<f64>,
}

/// Mean time per token, or per answer where tokens have none, in the first and the last fifth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftEvidence {
    pub early_ms: f64,
    pub late_ms: f64,
}

/// The end of a closed loop, when fewer than half of the streams still had work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StragglerEvidence {
    pub idle_ms: f64,
    pub window_ms: f64,
    pub slowest_ms: f64,
    pub median_ms: f64,
}

/// Requests with a long gap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StallEvidence {
    /// Requests with enough gaps to tell.
    pub requests: u64,
    pub stalled: u64,
    pub worst_ms: Option<f64>,
    /// Median gap of the request that had it.
    pub its_median_ms: Option<f64>,
    /// That request; of several with such a gap, the first.
    pub its_place: Place,
}

/// Lengths asked and received, over complete answers.
#[derive(Clone, Debug, Default)]
pub struct LengthEvidence {
    /// Answers that should have had an exact length, and whose length is known.
    pub exact: u64,
    /// Sum of |received − asked| / asked over these.
    pub exact_difference: ExactSum,
    /// Of these, not of the asked length.
    pub exact_off: u64,
    /// Answers that were free to end.
    pub free: u64,
    /// Of these, the ones that the limit ended, by their length.
    pub at_limit: BTreeMap<u32, u64>,
    /// Complete answers that a limit ended below what was asked for: one of the server's own.
    pub cut_by_server: u64,
    /// How often the prompt tokens that were received, less those asked, were so many.
    pub input_differences: BTreeMap<i64, u64>,
    /// Sum of the asked prompt tokens of these.
    pub input_asked: f64,
    /// Smallest and largest asked prompt length of these.
    pub input_asked_range: Option<[u32; 2]>,
    /// Prompt tokens found in the cache, where the server says so.
    pub cached: Option<u64>,
    /// The same without prompts that only shared a template.
    pub cached_beyond_template: u64,
    /// Prompt tokens of the answers for which the server said both.
    pub cacheable: u64,
}

/// The server's counts of output tokens against what else is known of its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageEvidence {
    /// Complete answers with a count.
    pub counted: u64,
    /// Beyond the limit that was asked for, or too few for the chunks or characters received.
    pub impossible: u64,
    /// Within the limit, but far more than the text can hold.
    pub unseen: u64,
    /// The first impossible count, else the first of tokens that nobody saw.
    pub example: Option<UsageExample>,
    /// Whether it is one of the latter, and its request.
    pub example_of: (bool, Place),
}

/// Where a request stands in the order in which requests ended: what is told of the first of many
/// does not depend on the order in which records come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    never_ended: bool,
    end: Option<Offset>,
    index: u64,
}

impl Place {
    pub(crate) fn of(record: &Record) -> Self {
        Place {
            never_ended: record.end.is_none(),
            end: record.end,
            index: record.index,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageExample {
    Output {
        tokens: u32,
        limit: Option<u64>,
        chunks: u64,
        chars: u64,
    },
    /// More of a prompt came from the cache than it had.
    Cached { cached: u32, prompt: u32 },
}

/// What a count can be, whatever the answer.
#[derive(Clone, Copy, Debug)]
pub struct UsageBounds {
    /// Largest context that the server states.
    pub context: Option<u64>,
    /// A computed answer has no text.
    pub has_text: bool,
}

/// Tokens of an answer beyond what any model takes in.
const MOST_TOKENS: u64 = 20_000_000;

/// Chunks and characters that an answer may have whatever its count: a greeting of a proxy.
const FREE_CHUNKS: f64 = 64.0;
const FREE_CHARS: f64 = 1_000.0;

impl UsageEvidence {
    /// Takes a complete answer.
    pub(crate) fn add(&mut self, record: &Record, bounds: UsageBounds, thresholds: &Thresholds) {
        let usage = record.usage.unwrap_or_default();
        if let Some((cached, prompt)) = usage.cached.zip(usage.input)
            && cached > prompt
        {
            self.impossible += 1;
            let example = UsageExample::Cached { cached, prompt };
            self.tell(example, (false, Place::of(record)));
        }
        let Some(tokens) = usage.output else {
            return;
        };
        self.counted += 1;
        let asked = record.output_tokens_asked.map(u64::from);
        let limit = asked.into_iter().chain(bounds.context).min();
        let (chunks, chars) = (record.chunks.len() as u64, record.output_chars);
        let example = UsageExample::Output {
            tokens,
            limit,
            chunks,
            chars,
        };
        let (count, seen) = (f64::from(tokens), chars as f64);
        let slack = thresholds.usage_slack_tokens;
        let most = limit.unwrap_or(MOST_TOKENS);
        let beyond = count > most as f64 + slack;
        let too_few = chunks as f64 > thresholds.usage_chunks_per_token * count + FREE_CHUNKS
            || seen > thresholds.usage_chars_per_token * count + FREE_CHARS;
        // Where the end of the sequence is ignored, tokens without text are usual, in chunks of
        // their own.
        let per_char = thresholds.usage_tokens_per_char;
        let unseen = bounds.has_text
            && count > per_char * seen + slack
            && (!record.output_exact && chars > 0 || count > per_char * chunks as f64 + slack);
        let textless = tokens == 0 && chars > 0;
        if beyond || too_few || textless {
            self.impossible += 1;
            self.tell(example, (false, Place::of(record)));
        } else if unseen {
            self.unseen += 1;
            self.tell(example, (true, Place::of(record)));
        }
    }

    fn tell(&mut self, example: UsageExample, of: (bool, Place)) {
        if self.example.is_none() || of < self.example_of {
            (self.example, self.example_of) = (Some(example), of);
        }
    }

    /// Takes what another part of the same run showed.
    pub(crate) fn merge(&mut self, other: Self) {
        self.counted += other.counted;
        self.impossible += other.impossible;
        self.unseen += other.unseen;
        if let Some(example) = other.example {
            self.tell(example, other.example_of);
        }
    }
}

impl StallEvidence {
    /// Takes a gap that is the longest of a request, and its median gap.
    pub(crate) fn tell(&mut self, gap_ms: f64, median_ms: f64, place: Place) {
        let is_worse = match self.worst_ms {
            None => true,
            Some(worst) if gap_ms == worst => place < self.its_place,
            Some(worst) => gap_ms > worst,
        };
        if is_worse {
            self.worst_ms = Some(gap_ms);
            self.its_median_ms = Some(median_ms);
            self.its_place = place;
        }
    }

    /// Takes what another part of the same run showed.
    pub(crate) fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.stalled += other.stalled;
        if let Some((worst, median)) = other.worst_ms.zip(other.its_median_ms) {
            self.tell(worst, median, other.its_place);
        }
    }
}

impl LengthEvidence {
    /// Takes a complete answer. A server that would not be told to ignore end-of-sequence does
    /// not make a wish for an exact length a limit.
    pub(crate) fn add(&mut self, record: &Record, exact: bool, thresholds: &Thresholds) {
        let asked = record.output_tokens_asked.unwrap_or(u32::MAX);
        let is_short = record.output_tokens().is_some_and(|got| got < asked);
        self.cut_by_server += u64::from(is_short && record.finish.as_deref() == Some("length"));
        if exact || record.output_exact {
            if let Some((asked, got)) = record.output_tokens_asked.zip(record.output_tokens()) {
                self.exact += 1;
                let difference =
                    (f64::from(got) - f64::from(asked)).abs() / f64::from(asked.max(1));
                self.exact_difference.add(difference);
                // One token more or less is the server's way to count end-of-sequence.
                let off = difference > thresholds.length_share && asked.abs_diff(got) > 1;
                self.exact_off += u64::from(off);
            }
        } else {
            self.free += 1;
            if let Some(got) = record.output_tokens()
                && record.finish.as_deref() == Some("length")
            {
                *self.at_limit.entry(got).or_default() += 1;
            }
        }
        if let Some((asked, got)) = record.input_tokens_asked.zip(record.input_tokens()) {
            let difference = i64::from(got) - i64::from(asked);
            *self.input_differences.entry(difference).or_default() += 1;
            self.input_asked += f64::from(asked);
            let [least, most] = self.input_asked_range.unwrap_or([asked, asked]);
            self.input_asked_range = Some([least.min(asked), most.max(asked)]);
        }
        let usage = record.usage.unwrap_or_default();
        // Some servers say it only of those of which something was cached.
        self.cacheable += u64::from(usage.input.or(usage.cached).unwrap_or_default());
        if let Some(cached) = usage.cached {
            self.cached = Some(self.cached.unwrap_or_default() + u64::from(cached));
            let input = usage.input.unwrap_or(cached);
            let template = thresholds
                .cached_template_tokens
                .max(f64::from(input) * thresholds.cache_share);
            // No template is half of a prompt, however short that is.
            let most = cached > 0 && u64::from(cached) * 2 >= u64::from(input);
            if most || f64::from(cached) > template {
                self.cached_beyond_template += u64::from(cached);
            }
        }
    }

    /// Takes what another part of the same run showed.
    pub(crate) fn merge(&mut self, other: Self) {
        self.exact += other.exact;
        self.exact_difference.merge(other.exact_difference);
        self.exact_off += other.exact_off;
        self.free += other.free;
        self.cut_by_server += other.cut_by_server;
        for (length, answers) in other.at_limit {
            *self.at_limit.entry(length).or_default() += answers;
        }
        for (difference, answers) in other.input_differences {
            *self.input_differences.entry(difference).or_default() += answers;
        }
        self.input_asked += other.input_asked;
        self.input_asked_range = match (self.input_asked_range, other.input_asked_range) {
            (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
            (range, others) => range.or(others),
        };
        if let Some(cached) = other.cached {
            *self.cached.get_or_insert(0) += cached;
        }
        self.cached_beyond_template += other.cached_beyond_template;
        self.cacheable += other.cacheable;
    }
}
