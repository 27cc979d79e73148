//! The judgement: which doubts a run raises, from its summary and what the fold gathered.

mod evidence;
#[cfg(test)]
mod tests;

pub use evidence::{Evidence, InFlightEvidence, LengthEvidence, StallEvidence};

use crate::doubt::{DoubtCode, Severity};
use crate::environment::{EndCause, Health};
use crate::fold::RunContext;
use crate::message::{Lang, doubts};
use crate::quantile::{least_samples, quantile, sort};
use crate::record::{FailureClass, Phase};
use crate::scenario::{Shape, Stagger};
use crate::steady::Overload;
use crate::summary::{Accounts, Distribution, StatedDoubt, Summary};

/// From where on a sight becomes a doubt. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// Lag p99 of a late client, in milliseconds.
    pub lag_ms: f64,
    /// The same as a share of the median TTFT.
    pub lag_ttft_share: f64,
    /// Least lag that counts by the share: timers are no better.
    pub lag_floor_ms: f64,
    /// How many times its limit makes a late client's run invalid.
    pub lag_invalid_factor: f64,
    /// Share of the client's ceiling.
    pub ceiling_share: f64,
    /// CPU use of a client thread.
    pub thread_cpu_share: f64,
    /// Requests under way as a share of those expected.
    pub in_flight_share: f64,
    /// Share of failures that warns.
    pub failures_warn: f64,
    /// Share of failures that makes the run invalid.
    pub failures_invalid: f64,
    /// Difference of lengths received and asked.
    pub length_share: f64,
    /// Share of answers that end at one length.
    pub capped_share: f64,
    /// Fewest answers for such a share.
    pub capped_requests: u64,
    /// Prompt tokens that a chat template may add or share.
    pub template_tokens: f64,
    /// Share of the prompt that it may add.
    pub template_share: f64,
    /// Spread of prompt lengths that two tokenizers may have by chance, in tokens.
    pub input_spread_tokens: f64,
    /// Prompt tokens found in the cache.
    pub cache_share: f64,
    /// Distinct prompts as a share of requests.
    pub distinct_share: f64,
    /// Largest gap of a request over its median gap.
    pub stall_factor: f64,
    /// Least gap that is a stall, in milliseconds: shorter ones nobody sees.
    pub stall_floor_ms: f64,
    /// Fewest gaps of a request with a stall.
    pub stall_gaps: usize,
    /// Share of requests with a stall.
    pub stall_share: f64,
    /// Probability below which a trend is one.
    pub significance: f64,
    /// Fewest answers from which a steady state is expected.
    pub steady_requests: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            lag_ms: 5.0,
            lag_ttft_share: 0.05,
            lag_floor_ms: 0.5,
            lag_invalid_factor: 10.0,
            ceiling_share: 0.7,
            thread_cpu_share: 0.9,
            in_flight_share: 0.8,
            failures_warn: 0.01,
            failures_invalid: 0.2,
            length_share: 0.05,
            capped_share: 0.5,
            capped_requests: 10,
            template_tokens: 64.0,
            template_share: 0.2,
            input_spread_tokens: 8.0,
            cache_share: 0.05,
            distinct_share: 0.1,
            stall_factor: 20.0,
            stall_floor_ms: 50.0,
            stall_gaps: 10,
            stall_share: 0.01,
            significance: 0.01,
            steady_requests: 50,
        }
    }
}

/// A doubt with what was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// The accounts do not add up, or a request has two records.
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
    /// The client sent late.
    ClientLate {
        /// 99th percentile of the lag.
        lag_p99_ms: f64,
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
    Stalls(StallEvidence),
    /// All requests started together.
    AllAtOnce {
        /// Streams of a closed loop; absent in an open one.
        streams: Option<u32>,
    },
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

impl Doubt {
    /// Its code.
    pub fn code(&self) -> DoubtCode {
        match self {
            Doubt::LostRequests { .. } => DoubtCode::LostRequests,
            Doubt::ShrunkConcurrency { .. } => DoubtCode::ShrunkConcurrency,
            Doubt::ClientLate { .. } => DoubtCode::ClientLate,
            Doubt::ClientBusy { .. } => DoubtCode::ClientBusy,
            Doubt::Interrupted { .. } => DoubtCode::Interrupted,
            Doubt::Failures { .. } => DoubtCode::Failures,
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
            Doubt::Stalls(_) => DoubtCode::Stalls,
            Doubt::AllAtOnce { .. } => DoubtCode::AllAtOnce,
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
            Doubt::OutputLengths { .. }
            | Doubt::InputLengths { .. }
            | Doubt::WarmCache { .. }
            | Doubt::RepeatedPrompts { .. }
            | Doubt::NoSteadyState { .. }
            | Doubt::Overload(_) => Severity::Warn,
            Doubt::FewSamples { .. }
            | Doubt::OutputCapped { .. }
            | Doubt::TokenSource { .. }
            | Doubt::ChunkNotToken { .. }
            | Doubt::Stalls(_)
            | Doubt::AllAtOnce { .. } => Severity::Note,
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

/// Every doubt that a run raises.
pub fn judge(
    context: &RunContext<'_>,
    thresholds: &Thresholds,
    summary: &Summary,
    evidence: &Evidence,
) -> Vec<Doubt> {
    let case = Case {
        context,
        thresholds,
        summary,
        evidence,
    };
    let late = case.client_late();
    let busy = case.client_busy(late.is_some());
    [
        case.server_died(),
        case.interrupted(),
        case.lost_requests(),
        case.nothing_measured(),
        case.failures(),
        case.shrunk_concurrency(),
        late,
        busy,
        case.overload_or_no_steady_state(),
        case.output_lengths(),
        case.input_lengths(),
        case.warm_cache(),
        case.repeated_prompts(),
        case.all_at_once(),
        case.few_samples(),
        case.output_capped(),
        case.token_source(),
        case.chunk_not_token(),
        case.stalls(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// One run before the judge.
struct Case<'a> {
    context: &'a RunContext<'a>,
    thresholds: &'a Thresholds,
    summary: &'a Summary,
    evidence: &'a Evidence,
}

impl Case<'_> {
    fn ended(&self) -> u64 {
        let accounts = self.summary.requests;
        accounts.ok + accounts.failed + accounts.cut
    }

    fn most_frequent_failure(&self) -> Option<(Phase, FailureClass, u64)> {
        let kind = self.summary.failures.first()?;
        Some((kind.phase, kind.class, kind.count))
    }

    fn server_died(&self) -> Option<Doubt> {
        match &self.context.ending.health {
            Health::Dead(seen) => Some(Doubt::ServerDied { seen: seen.clone() }),
            Health::Unknown | Health::Alive => None,
        }
    }

    fn interrupted(&self) -> Option<Doubt> {
        let cause = self.context.ending.cause;
        (cause != EndCause::Complete).then_some(Doubt::Interrupted { cause })
    }

    fn lost_requests(&self) -> Option<Doubt> {
        let accounts = self.summary.requests;
        let duplicates = self.evidence.duplicates;
        let lost = accounts.planned != self.ended() + accounts.unsent;
        (lost || duplicates > 0).then_some(Doubt::LostRequests {
            accounts,
            duplicates,
        })
    }

    fn nothing_measured(&self) -> Option<Doubt> {
        (self.summary.requests.ok == 0).then(|| Doubt::NothingMeasured {
            accounts: self.summary.requests,
            most: self.most_frequent_failure(),
        })
    }

    fn failures(&self) -> Option<Doubt> {
        let (failed, ended) = (self.summary.requests.failed, self.ended());
        let share = failed as f64 / ended as f64;
        let severity = if share > self.thresholds.failures_invalid {
            Severity::Invalid
        } else if share > self.thresholds.failures_warn {
            Severity::Warn
        } else {
            return None;
        };
        (failed > 0).then(|| Doubt::Failures {
            failed,
            ended,
            most: self.most_frequent_failure(),
            severity,
        })
    }

    /// Where a fifth of the requests failed, that is the reason, and it is told already.
    fn shrunk_concurrency(&self) -> Option<Doubt> {
        let in_flight = self.evidence.in_flight?;
        let accounts = self.summary.requests;
        let few_failed =
            accounts.failed as f64 <= self.thresholds.failures_invalid * self.ended() as f64;
        let shrunk = in_flight.seen < self.thresholds.in_flight_share * in_flight.expected;
        (accounts.ok > 0 && few_failed && shrunk).then_some(Doubt::ShrunkConcurrency {
            configured: self.summary.concurrency.configured?,
            in_flight,
        })
    }

    fn client_late(&self) -> Option<Doubt> {
        let thresholds = self.thresholds;
        let lag_p99_ms = self.summary.client.lag_p99_ms?;
        let by_ttft = self
            .summary
            .latency
            .ttft_ms
            .map(|ttft| (ttft.p50 * thresholds.lag_ttft_share).max(thresholds.lag_floor_ms));
        let limit_ms = by_ttft.unwrap_or(thresholds.lag_ms).min(thresholds.lag_ms);
        (lag_p99_ms > limit_ms).then(|| Doubt::ClientLate {
            lag_p99_ms,
            limit_ms,
            severity: if lag_p99_ms > limit_ms * thresholds.lag_invalid_factor {
                Severity::Invalid
            } else {
                Severity::Warn
            },
        })
    }

    fn client_busy(&self, late: bool) -> Option<Doubt> {
        let client = self.summary.client;
        let over = |share: Option<f64>, limit: f64| share.filter(|&share| share > limit);
        let ceiling_share = over(client.ceiling_share, self.thresholds.ceiling_share);
        let cpu_share = over(client.cpu_share, self.thresholds.thread_cpu_share);
        (ceiling_share.is_some() || cpu_share.is_some()).then_some(Doubt::ClientBusy {
            ceiling_share,
            cpu_share,
            severity: if late {
                Severity::Invalid
            } else {
                Severity::Warn
            },
        })
    }

    /// A growing queue is the reason why nothing settles, so it is told alone.
    fn overload_or_no_steady_state(&self) -> Option<Doubt> {
        if let Some(overload) = self.evidence.overload {
            return Some(Doubt::Overload(overload));
        }
        let answers = self.summary.requests.ok;
        let expected = answers >= self.thresholds.steady_requests;
        (expected && self.summary.steady.is_none()).then_some(Doubt::NoSteadyState { answers })
    }

    fn output_lengths(&self) -> Option<Doubt> {
        let lengths = &self.evidence.lengths;
        let exact = lengths.exact as f64;
        let mean_difference = lengths.exact_difference / exact;
        let off_share = lengths.exact_off as f64 / exact;
        // Short answers differ by a whole token, which is much of them and means little.
        let differs =
            lengths.exact_off > 0 && mean_difference.max(off_share) > self.thresholds.length_share;
        differs.then_some(Doubt::OutputLengths {
            mean_difference,
            off: lengths.exact_off,
            exact: lengths.exact,
        })
    }

    fn output_capped(&self) -> Option<Doubt> {
        let lengths = &self.evidence.lengths;
        let (&tokens, &at) = lengths.at_limit.iter().max_by_key(|(_, count)| **count)?;
        let most = at as f64 > self.thresholds.capped_share * lengths.free as f64;
        (most && lengths.free >= self.thresholds.capped_requests).then_some(Doubt::OutputCapped {
            tokens,
            at,
            of: lengths.free,
        })
    }

    fn input_lengths(&self) -> Option<Doubt> {
        let lengths = &self.evidence.lengths;
        let thresholds = self.thresholds;
        let mut differences = lengths.input_differences.clone();
        sort(&mut differences);
        let asked_mean = lengths.input_asked / differences.len() as f64;
        let ends = [quantile(&differences, 0.05)?, quantile(&differences, 0.95)?];
        let spread = ends[1] - ends[0];
        let varies = spread > thresholds.input_spread_tokens
            && spread > thresholds.length_share * asked_mean;
        // Lengths that are all the same cannot show a spread; then a template is only believed
        // if it is small.
        let [least, most] = lengths.input_asked_range?;
        let median = quantile(&differences, 0.5)?.abs();
        let too_large = least == most
            && median > thresholds.template_tokens
            && median > thresholds.template_share * asked_mean;
        (varies || too_large).then_some(Doubt::InputLengths {
            differences: ends,
            asked_mean,
        })
    }

    fn warm_cache(&self) -> Option<Doubt> {
        let lengths = &self.evidence.lengths;
        let cached = lengths.cached_beyond_template;
        let warm = cached as f64 > self.thresholds.cache_share * lengths.cacheable as f64;
        (cached > 0 && warm).then_some(Doubt::WarmCache {
            cached,
            of: lengths.cacheable,
        })
    }

    fn repeated_prompts(&self) -> Option<Doubt> {
        let distinct = self.context.environment.distinct_prompts?;
        let requests = self.ended();
        let repeated = (distinct as f64) < self.thresholds.distinct_share * requests as f64;
        repeated.then_some(Doubt::RepeatedPrompts { distinct, requests })
    }

    /// By what was asked, and by what was done: `auto` cannot spread a first wave whose
    /// latency no warm-up has shown.
    fn all_at_once(&self) -> Option<Doubt> {
        let unspread = |nanos: Option<u64>| nanos.unwrap_or_default() == 0;
        let ending = self.context.ending;
        match self.context.scenario.load.shape {
            Shape::Open { rate, .. } => rate
                .is_infinite()
                .then_some(Doubt::AllAtOnce { streams: None }),
            Shape::Closed {
                concurrency,
                stagger,
            } => {
                let together = match stagger {
                    Stagger::None => true,
                    Stagger::Over(span) => span.0.is_zero(),
                    Stagger::Auto => {
                        ending.cause != EndCause::Killed && unspread(ending.stagger_ns)
                    }
                };
                (together && concurrency > 1).then_some(Doubt::AllAtOnce {
                    streams: Some(concurrency),
                })
            }
        }
    }

    fn few_samples(&self) -> Option<Doubt> {
        let latency = &self.summary.latency;
        let size = |found: Option<Distribution>| found.map(|found| found.n);
        let sizes = [latency.ttft_ms, latency.tpot_ms, latency.e2e_ms].map(size);
        let n = sizes.into_iter().flatten().min()?;
        let lacking: Vec<(u32, u64)> = PRINTED_PERCENTILES
            .into_iter()
            .filter_map(|percent| Some((percent, least_samples(f64::from(percent))?)))
            .filter(|&(_, least)| n < least)
            .collect();
        (!lacking.is_empty()).then_some(Doubt::FewSamples { n, lacking })
    }

    fn token_source(&self) -> Option<Doubt> {
        let retokenized = self.summary.tokens.source == crate::record::TokenSource::Retokenized;
        let without_count = self.evidence.without_count;
        (retokenized || without_count > 0).then_some(Doubt::TokenSource {
            retokenized,
            without_count,
        })
    }

    fn chunk_not_token(&self) -> Option<Doubt> {
        let latency = &self.summary.latency;
        let unknown = latency.inter_chunk_ms.is_some() && !latency.itl_is_per_token;
        unknown.then_some(Doubt::ChunkNotToken {
            tokens_per_chunk: self.evidence.tokens_per_event,
        })
    }

    fn stalls(&self) -> Option<Doubt> {
        let stalls = self.evidence.stalls;
        let share = self.thresholds.stall_share * stalls.requests as f64;
        (stalls.stalled as f64 > share).then_some(Doubt::Stalls(stalls))
    }
}

/// Tail percentiles of the latency table.
const PRINTED_PERCENTILES: [u32; 3] = [90, 95, 99];
