//! The judgement: which doubts a run raises, from its summary and what the fold gathered.

mod doubt;
mod evidence;
#[cfg(test)]
mod tests;
pub mod texts;
mod wire;

pub use doubt::{BetweenPart, Doubt, Lateness, Reference, Spoiled};
pub use evidence::{
    DriftEvidence, Evidence, FirstTokenEvidence, InFlightEvidence, LengthEvidence, ModelEvidence,
    Place, Rounds, StallEvidence, StragglerEvidence, UsageBounds, UsageEvidence, UsageExample,
    WaveEvidence, WindowEvidence, WireEvidence,
};
pub use wire::delayed_ack;

use crate::context::RunContext;
use inferometer_core::doubt::Severity;
use inferometer_core::environment::{EndCause, Health};
use inferometer_core::quantile::quantile_by_rank;
use inferometer_core::record::{FailureClass, Phase, TokenSource};
use inferometer_core::scenario::{Extent, Shape, Stagger};
use inferometer_core::summary::{Distribution, Summary};
use inferometer_core::thresholds::Thresholds;
use inferometer_core::work::Conversation;

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
    let late = case.late_to_send();
    let busy = case.client_busy(late.is_some());
    let late = late.or_else(|| case.late_to_wake());
    let late = late.or_else(|| case.paused());
    [
        case.server_died(),
        case.interrupted(),
        case.missing_ranks(),
        case.clock_error(),
        case.late_rank(),
        case.lost_requests(),
        case.nothing_measured(),
        case.failures().or_else(|| case.unmeasured_failures()),
        case.other_model(),
        case.closed_connections().or_else(|| case.resent()),
        case.not_streamed(),
        case.delayed_ack(),
        case.shrunk_concurrency(),
        case.unfilled_streams(),
        late,
        busy,
        case.overload_drift_or_no_steady_state(),
        case.stragglers(),
        case.short_window(),
        case.implausible_usage(),
        case.output_lengths(),
        case.input_lengths(),
        case.warm_cache(),
        case.repeated_prompts(),
        case.all_at_once(),
        case.in_step(),
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

/// Least share of the client's time per token, or to the first, that is worth a word where it
/// arises between the engine and the client, and least time.
const BETWEEN_SHARE: f64 = 0.1;
const BETWEEN_MS: f64 = 1.0;
/// The same of the time to the first token, of which reading and tokenising the prompt is a part.
const BETWEEN_SHARE_OF_FIRST: f64 = 0.2;
/// Tokens in a chunk from which on servers merge them.
const MERGED: f64 = 1.2;
/// Fewest looks at the server that a mean of its own rests on.
const BETWEEN_SAMPLES: u64 = 3;

/// What stands between the engine and the client, once the server's own view is known. Where the
/// client itself was late, that is the reason.
pub fn front_end(summary: &Summary) -> Option<Doubt> {
    let server = summary.server.as_ref()?;
    let between = server
        .between
        .filter(|_| server.samples >= BETWEEN_SAMPLES)?;
    let own_ms = summary.client.pulse_p99_ms.unwrap_or_default();
    let part = |of: Option<Distribution>, between: Option<f64>, own_ms: f64, share: f64| {
        let (client_ms, between_ms) = (of?.mean, between? - own_ms);
        let matters = between_ms > BETWEEN_MS && between_ms > share * client_ms;
        matters.then_some(BetweenPart {
            client_ms,
            between_ms,
        })
    };
    // A late wake-up shifts all tokens of an answer, and so hardly their mean gap.
    let tpot = part(summary.latency.tpot_ms, between.tpot_ms, 0.0, BETWEEN_SHARE);
    let ttft = part(
        summary.latency.ttft_ms,
        between.ttft_ms,
        own_ms,
        BETWEEN_SHARE_OF_FIRST,
    );
    let latency = &summary.latency;
    let chunks = latency.inter_chunk_ms.zip(latency.tpot_ms);
    let tokens_per_chunk = chunks.map(|(chunks, tokens)| chunks.mean / tokens.mean);
    (tpot.is_some() || ttft.is_some()).then_some(Doubt::FrontEnd {
        tpot,
        ttft,
        tokens_per_chunk: tokens_per_chunk.filter(|tokens| *tokens > MERGED && tokens.is_finite()),
        cores: server.front_end_cores,
    })
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
        accounts.ok + accounts.failed + accounts.cut + accounts.cancelled
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
        let ranks = self.context.ending.ranks.iter();
        let lost: Vec<_> = ranks.filter(|rank| rank.lost.is_some()).cloned().collect();
        if !lost.is_empty() {
            return Some(Doubt::LostRanks(lost));
        }
        let cause = self.context.ending.cause;
        (!matches!(cause, EndCause::Complete | EndCause::Precise))
            .then_some(Doubt::Interrupted { cause })
    }

    fn missing_ranks(&self) -> Option<Doubt> {
        let ranks = self.context.environment.ranks.as_ref()?;
        (!ranks.missing.is_empty()).then(|| Doubt::MissingRanks {
            missing: ranks.missing.clone(),
            of: ranks.of,
        })
    }

    /// Arrivals of an open loop that several ranks share are as far from their schedule as their
    /// clocks are from each other, and no lag tells of it.
    fn clock_error(&self) -> Option<Doubt> {
        let open = !matches!(self.context.scenario.load.shape, Shape::Closed { .. });
        let ranks = self.context.environment.ranks.as_ref().filter(|_| open)?;
        let at_first = (ranks.others.iter()).map(|other| (other.rank, other.clock_error_ns));
        let at_last = self.context.ending.ranks.iter().filter_map(|rank| {
            let moved = rank.clock_moved_ns?.unsigned_abs();
            Some((rank.rank, moved.saturating_sub(rank.clock_error_ns?)))
        });
        let (rank, worst) = at_first.chain(at_last).max_by_key(|(_, error)| *error)?;
        let (error_ms, limit_ms) = (worst as f64 / 1e6, self.thresholds.lag_ms);
        (error_ms > limit_ms).then_some(Doubt::ClockError {
            rank,
            error_ms,
            limit_ms,
        })
    }

    /// One late client among several hides in the figures of all.
    fn late_rank(&self) -> Option<Doubt> {
        let limit_ms = self.thresholds.lag_ms;
        let ranks = self.context.ending.ranks.iter();
        let late = ranks.flat_map(|it| [(it.rank, it.lag_p99_ms), (it.rank, it.pulse_p99_ms)]);
        let late = late.filter_map(|(rank, p99_ms)| Some((rank, p99_ms?)));
        let (rank, p99_ms) = late.max_by(|one, other| one.1.total_cmp(&other.1))?;
        (p99_ms > limit_ms).then_some(Doubt::LateRank {
            rank,
            p99_ms,
            limit_ms,
        })
    }

    fn lost_requests(&self) -> Option<Doubt> {
        let accounts = self.summary.requests;
        let duplicates = self.evidence.duplicates;
        let lost = accounts.planned != self.ended() + accounts.unsent;
        // A number of requests that ends by itself has sent them all.
        let left = self.context.ending.cause == EndCause::Complete
            && matches!(self.context.scenario.load.extent, Extent::Requests(_))
            && self.server_died().is_none()
            && accounts.unsent > 0;
        (lost || left || duplicates > 0).then_some(Doubt::LostRequests {
            accounts,
            duplicates,
        })
    }

    fn nothing_measured(&self) -> Option<Doubt> {
        let most = self.most_frequent_failure();
        // That nobody answered is what a dead server is.
        let is_explained = most.is_none() && self.server_died().is_some();
        (self.summary.requests.ok == 0 && !is_explained).then_some(Doubt::NothingMeasured {
            accounts: self.summary.requests,
            most,
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

    /// The measured requests had another load beside them than was asked for.
    fn unmeasured_failures(&self) -> Option<Doubt> {
        let kinds = &self.evidence.unmeasured_failures;
        let failed = kinds.values().sum();
        let sent = self.summary.requests.warmup + self.summary.requests.hold;
        let most = kinds.iter().max_by_key(|(_, count)| **count);
        let many = failed as f64 > self.thresholds.failures_warn * sent as f64;
        many.then_some(Doubt::UnmeasuredFailures {
            failed,
            sent,
            most: most.map(|(&(phase, class), &count)| (phase, class, count)),
        })
    }

    fn resent(&self) -> Option<Doubt> {
        let (resent, sent) = (self.summary.requests.resent, self.evidence.sent);
        let many = resent as f64 > self.thresholds.resent_share * sent as f64;
        many.then_some(Doubt::Resent { resent, sent })
    }

    /// Where a fifth of the requests failed, that is the reason, and it is told already.
    fn shrunk_concurrency(&self) -> Option<Doubt> {
        let in_flight = self.evidence.in_flight?;
        let accounts = self.summary.requests;
        let few_failed =
            accounts.failed as f64 <= self.thresholds.failures_invalid * self.ended() as f64;
        let shrunk = in_flight.seen < self.thresholds.in_flight_share * in_flight.expected;
        let away: f64 = self.summary.outages.iter().map(|it| it.length_s).sum();
        let missing = 1.0 - in_flight.seen / in_flight.expected;
        // Streams that knock at a closed door are not the client's fault.
        let explains = away > missing / 2.0 * self.summary.window_s.unwrap_or(f64::INFINITY);
        (accounts.ok > 0 && few_failed && shrunk).then_some(Doubt::ShrunkConcurrency {
            configured: self.summary.concurrency.configured?,
            in_flight,
            away_s: explains.then_some(away),
        })
    }

    /// Whether the load ever was what its name says. Those who think are idle by intention, and
    /// a run that was cut short has its own doubt.
    fn unfilled_streams(&self) -> Option<Doubt> {
        let conversation = self.context.scenario.work.conversation.as_ref();
        let think = conversation.is_some_and(Conversation::idles);
        if think || self.interrupted().is_some() || self.summary.requests.ok == 0 {
            return None;
        }
        let Shape::Closed { concurrency, .. } = self.context.scenario.load.shape else {
            return None;
        };
        let (configured, peak) = (concurrency, self.summary.concurrency.peak?);
        let unfilled = (peak as f64) < self.thresholds.in_flight_share * f64::from(configured);
        unfilled.then_some(Doubt::UnfilledStreams {
            configured,
            peak,
            requests: self.ended(),
        })
    }

    fn late_to_send(&self) -> Option<Doubt> {
        let thresholds = self.thresholds;
        let p99_ms = self.summary.client.lag_p99_ms?;
        let by_ttft = self
            .summary
            .latency
            .ttft_ms
            .map(|ttft| (ttft.p50 * thresholds.lag_ttft_share).max(thresholds.lag_floor_ms));
        let limit_ms = by_ttft.unwrap_or(thresholds.lag_ms).min(thresholds.lag_ms);
        (p99_ms > limit_ms).then_some(Doubt::ClientLate {
            at: Lateness::Sending,
            p99_ms,
            limit_ms,
            spoils: None,
            severity: if p99_ms > limit_ms * thresholds.lag_invalid_factor {
                Severity::Invalid
            } else {
                Severity::Warn
            },
        })
    }

    /// What was received is stamped as late as the client was woken, so this makes a run invalid
    /// where it is much of the shortest time that is read off single stamps. In a closed loop the
    /// next request is sent as late as that, too, and no lag tells of it.
    fn late_to_wake(&self) -> Option<Doubt> {
        let thresholds = self.thresholds;
        let p99_ms = self.summary.client.pulse_p99_ms?;
        let limit_ms = thresholds.pulse_ms;
        let latency = &self.summary.latency;
        let spoiled = |name, found: Option<Distribution>| {
            let median_ms = found?.p50;
            Some(Spoiled { name, median_ms })
        };
        let spoils = spoiled("TTFT", latency.ttft_ms).or_else(|| spoiled("E2E", latency.e2e_ms));
        let much =
            spoils.is_some_and(|spoiled| p99_ms > spoiled.median_ms * thresholds.pulse_ttft_share);
        let closed = matches!(self.context.scenario.load.shape, Shape::Closed { .. });
        let invalid = p99_ms > limit_ms * thresholds.lag_invalid_factor && (much || closed);
        (p99_ms > limit_ms).then_some(Doubt::ClientLate {
            at: Lateness::Waking,
            p99_ms,
            limit_ms,
            spoils,
            severity: if invalid {
                Severity::Invalid
            } else {
                Severity::Warn
            },
        })
    }

    /// A stop of seconds that is too short a part of the run to move a percentile: the requests
    /// under way at that moment are wrong by it.
    fn paused(&self) -> Option<Doubt> {
        let longest_ms = self.summary.client.longest_pause_ms?;
        let limit_ms = self.thresholds.pause_ms;
        (longest_ms > limit_ms).then_some(Doubt::ClientPaused {
            longest_ms,
            limit_ms,
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

    /// A growing queue, or a server that changes, is the reason why nothing settles, so it is told
    /// alone.
    fn overload_drift_or_no_steady_state(&self) -> Option<Doubt> {
        if let Some(overload) = self.evidence.overload {
            return Some(Doubt::Overload(overload));
        }
        let ratio = self.thresholds.drift_ratio;
        let moved = |seen: &DriftEvidence| {
            let moved = seen.late_ms / seen.early_ms;
            moved >= ratio || moved <= 1.0 / ratio
        };
        if let Some(seen) = self.evidence.drift.filter(moved) {
            return Some(Doubt::Drift(seen));
        }
        if let Some(over_ms) = self.ramp_inside_ms() {
            return Some(Doubt::RampInside { over_ms });
        }
        let answers = self.summary.requests.ok;
        let expected = answers >= self.thresholds.steady_requests && !self.is_short_open_loop();
        (expected && self.summary.steady.is_none()).then_some(Doubt::NoSteadyState { answers })
    }

    /// Whether arrivals came for too few mean answers to tell a change from chance. All at once is
    /// another matter.
    fn is_short_open_loop(&self) -> bool {
        const LEAST_WAVES: f64 = 20.0;
        let Shape::Open { rate, .. } = self.context.scenario.load.shape else {
            return false;
        };
        let waves = self.evidence.window.map(|window| window.waves);
        rate.0.is_finite() && waves.is_some_and(|waves| waves < LEAST_WAVES)
    }

    /// How long the rate rose in the measured part, where that is more than a small part of it. A
    /// window opens after the ramp.
    fn ramp_inside_ms(&self) -> Option<f64> {
        const LEAST_PART: f64 = 0.05;
        let Shape::Open {
            ramp: Some(ramp), ..
        } = self.context.scenario.load.shape
        else {
            return None;
        };
        let ending = self.context.ending;
        let measured = ending.sending_ended.since(ending.measured_from);
        let over = ramp.over.0.min(measured);
        let is_long = over > measured.mul_f64(LEAST_PART);
        (!ending.steady_window && is_long).then_some(over.as_secs_f64() * 1e3)
    }

    fn stragglers(&self) -> Option<Doubt> {
        let seen = self.evidence.stragglers?;
        let long = seen.idle_ms > self.thresholds.straggler_share * seen.window_ms;
        // The last answers of any run end one after the other.
        (long && seen.idle_ms > seen.median_ms).then_some(Doubt::Stragglers(seen))
    }

    fn short_window(&self) -> Option<Doubt> {
        let window = self.evidence.window?;
        let short = window.waves < self.thresholds.window_waves;
        (short && self.summary.requests.ok > 0).then_some(Doubt::ShortWindow(window))
    }

    /// One count that cannot be true moves every figure that is made of tokens. Tokens that nobody
    /// saw may be hidden reasoning.
    fn implausible_usage(&self) -> Option<Doubt> {
        let seen = self.evidence.usage;
        let many = seen.unseen as f64 > self.thresholds.length_share * seen.counted as f64;
        (seen.impossible > 0 || many).then_some(Doubt::ImplausibleUsage(seen))
    }

    fn output_lengths(&self) -> Option<Doubt> {
        let lengths = &self.evidence.lengths;
        let exact = lengths.exact as f64;
        let mean_difference = lengths.exact_difference.value() / exact;
        let off_share = lengths.exact_off as f64 / exact;
        // Short answers differ by a whole token, which is much of them and means little.
        let differs =
            lengths.exact_off > 0 && mean_difference.max(off_share) > self.thresholds.length_share;
        differs.then_some(Doubt::OutputLengths {
            mean_difference,
            off: lengths.exact_off,
            exact: lengths.exact,
            by_server: lengths.cut_by_server * 2 > lengths.exact_off,
        })
    }

    fn output_capped(&self) -> Option<Doubt> {
        let lengths = &self.evidence.lengths;
        let (&tokens, &at) = lengths.at_limit.iter().max_by_key(|(_, count)| **count)?;
        // Nobody wanted less.
        let least = self.context.scenario.work.min_tokens;
        if least.is_some_and(|least| least >= tokens) {
            return None;
        }
        let most = at as f64 > self.thresholds.capped_share * lengths.free as f64;
        (most && lengths.free >= self.thresholds.capped_requests).then_some(Doubt::OutputCapped {
            tokens,
            at,
            of: lengths.free,
            by_server: lengths.cut_by_server * 2 > at,
        })
    }

    fn input_lengths(&self) -> Option<Doubt> {
        let lengths = &self.evidence.lengths;
        let thresholds = self.thresholds;
        let differences = &lengths.input_differences;
        let n = differences.values().sum();
        let at = |rank: u64| {
            let mut before = 0;
            let mut found = differences.iter().skip_while(|(_, times)| {
                before += **times;
                before <= rank
            });
            found
                .next()
                .map_or(0.0, |(&difference, _)| difference as f64)
        };
        let quantile = |p: f64| quantile_by_rank(n, at, p);
        let asked_mean = lengths.input_asked / n as f64;
        let ends = [quantile(0.05)?, quantile(0.95)?];
        let spread = ends[1] - ends[0];
        let varies = spread > thresholds.input_spread_tokens
            && spread > thresholds.length_share * asked_mean;
        // Lengths that are all the same cannot show a spread; then a template is only believed
        // if it is small.
        let [least, most] = lengths.input_asked_range?;
        let median = quantile(0.5)?.abs();
        let too_large = least == most
            && median > thresholds.template_tokens
            && median > thresholds.template_share * asked_mean;
        (varies || too_large).then_some(Doubt::InputLengths {
            differences: ends,
            asked_mean,
        })
    }

    fn warm_cache(&self) -> Option<Doubt> {
        if self.context.scenario.work.shares_beginnings() {
            return None;
        }
        let lengths = &self.evidence.lengths;
        let cached = lengths.cached_beyond_template;
        let warm = cached as f64 > self.thresholds.cache_share * lengths.cacheable as f64;
        (cached > 0 && warm).then_some(Doubt::WarmCache {
            cached,
            of: lengths.cacheable,
            synthetic: self.context.scenario.work.prompts.is_synthetic(),
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
            Shape::Replay { .. } => None,
            Shape::Closed {
                concurrency,
                stagger,
            } => {
                let together = match stagger {
                    Stagger::None => true,
                    Stagger::Over(span) => span.0.is_zero(),
                    // In a warm-up it is the first answers that are spread.
                    Stagger::Auto => {
                        !ending.cause.is_without_ending()
                            && !ending.steady_window
                            && unspread(ending.stagger_ns)
                    }
                };
                (together && concurrency > 1).then_some(Doubt::AllAtOnce {
                    streams: Some(concurrency),
                })
            }
        }
    }

    fn in_step(&self) -> Option<Doubt> {
        let waves = self.evidence.waves?;
        let together = waves.seen > self.thresholds.in_step_factor * waves.even;
        (together || waves.rounds.is_some()).then_some(Doubt::InStep(waves))
    }

    fn few_samples(&self) -> Option<Doubt> {
        let latency = &self.summary.latency;
        let samples = [latency.ttft_ms, latency.tpot_ms, latency.e2e_ms];
        let n = samples.iter().flatten().map(|found| found.n).min()?;
        let lacking = PRINTED_PERCENTILES
            .into_iter()
            .filter_map(|percent| {
                let (figure, requests) = latency.neediest(f64::from(percent))?;
                Some((percent, requests, figure))
            })
            .collect::<Vec<_>>();
        (!lacking.is_empty()).then_some(Doubt::FewSamples { n, lacking })
    }

    fn token_source(&self) -> Option<Doubt> {
        let retokenized = self.summary.tokens.source == TokenSource::Retokenized;
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
        let seen = self.evidence.stalls;
        let allowed = self.thresholds.stall_share * seen.requests as f64;
        (seen.stalled as f64 > allowed).then_some(Doubt::Stalls {
            seen,
            factor: self.thresholds.stall_factor,
            client_pause_ms: (seen.worst_ms)
                .and_then(|worst| self.summary.client.pause_behind(worst)),
        })
    }
}

/// Tail percentiles of the latency table.
const PRINTED_PERCENTILES: [u32; 3] = [90, 95, 99];
