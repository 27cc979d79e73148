//! What is kept of each record while they stream by: scalars, never the record itself.

use super::checked::{Checked, Structured};
use super::crowd::Crowd;
use super::models::Models;
use super::outages::Contacts;
use super::pool::Pool;
pub(super) use super::row::{Answer, CountsOver, Figure, Handled, Row, column, ms};
pub(super) use super::totals::{Sum, Totals, Verdicts};
use super::wire::WireTally;
use crate::context::RunContext;
use crate::judge::{LengthEvidence, Place, StallEvidence, UsageBounds, UsageEvidence};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::{FailureClass, Outcome, Phase, Record, Stage, TokenSource};
use inferometer_core::scenario::SimClock;
use inferometer_core::slo::{Slo, SloScope};
use inferometer_core::summary::{FailureCount, MediaResult};
use inferometer_core::thresholds::Thresholds;
use inferometer_core::units::{Offset, Slim};
use inferometer_core::work::{Output, PromptSource};
use inferometer_statistics::Timeline;
use inferometer_statistics::UnderWay;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything that streams by, folded.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    slos: Vec<Slo>,
    /// Answers should have the asked length, whether the server could be told so or not.
    exact: bool,
    /// Lengths come from the data.
    from_work: bool,
    thresholds: Thresholds,
    usage_bounds: UsageBounds,
    counts_over: CountsOver,
    opening: Offset,
    /// Requests that are kept one by one; beyond, a share of them is.
    most_kept: usize,
    pub(super) rows: Vec<Row>,
    /// What is known of all, where only a share is kept.
    pub(super) crowd: Option<Box<Crowd>>,
    pub(super) totals: Totals,
    /// Complete answers of all stages, where the load was steady by construction; in a crowd,
    /// only those that were cut while they held the load.
    pub(super) handled: Vec<Handled>,
    /// Those that are not measured while under way.
    pub(super) unmeasured: Vec<UnderWay>,
    pub(super) warmup: u64,
    pub(super) hold: u64,
    pub(super) unmeasured_failures: BTreeMap<(Phase, FailureClass), u64>,
    pub(super) cut: u64,
    pub(super) cancelled: u64,
    /// Sent once more on a new connection.
    pub(super) resent: u64,
    /// With the request that the sample is of: the first.
    pub(super) failures: BTreeMap<(Phase, FailureClass), (Place, FailureCount)>,
    pub(super) lag: Pool,
    pub(super) cap_wait: Pool,
    pub(super) connect: Pool,
    pub(super) timeline: Timeline<1>,
    pub(super) chunk_gaps: Pool,
    /// Only once it differs from `chunk_gaps`.
    token_gaps: Option<Pool>,
    /// Gaps of one record, in nanoseconds; its memory is used again.
    gaps: Vec<u64>,
    /// The tokens of every chunk of every answer are known.
    pub(super) per_token: bool,
    pub(super) reasoned: bool,
    pub(super) input_chars: u64,
    pub(super) output_chars: u64,
    pub(super) input_asked: Sum,
    pub(super) output_asked: Sum,
    pub(super) lengths: LengthEvidence,
    pub(super) usage: UsageEvidence,
    pub(super) contacts: Contacts,
    pub(super) models: Models,
    pub(super) media: Option<MediaResult>,
    pub(super) structured: Structured,
    pub(super) checked: Checked,
    pub(super) stalls: StallEvidence,
    pub(super) wire: WireTally,
    /// How requests met each request objective, and all of them.
    pub(super) objectives: Vec<Verdicts>,
    pub(super) together: Verdicts,
}

impl Tally {
    /// Of each of `most_kept` requests all is kept that a figure may rest on; of more, a share.
    pub(super) fn new(context: &RunContext<'_>, most_kept: usize) -> Self {
        let scenario = context.scenario;
        let thresholds = scenario.objectives.thresholds.clone();
        let slos = scenario.objectives.slos.iter();
        let slos = slos.filter(|slo| slo.scope == SloScope::Request);
        let slos: Vec<Slo> = slos.cloned().collect();
        Tally {
            objectives: vec![Verdicts::default(); slos.len()],
            slos,
            exact: scenario.work.wants_exact_lengths(),
            from_work: scenario.work.output == Output::FromWork,
            counts_over: CountsOver::of(&scenario.load.shape),
            opening: context.ending.measured_from,
            thresholds,
            usage_bounds: UsageBounds {
                context: context.environment.server.max_model_len,
                has_text: scenario.connection.sim_clock != SimClock::Virtual,
            },
            most_kept: if keeps_all(context) {
                usize::MAX
            } else {
                most_kept
            },
            rows: Vec::new(),
            crowd: None,
            totals: Totals::default(),
            handled: Vec::new(),
            unmeasured: Vec::new(),
            warmup: 0,
            hold: 0,
            unmeasured_failures: BTreeMap::new(),
            cut: 0,
            cancelled: 0,
            resent: 0,
            failures: BTreeMap::new(),
            lag: Pool::default(),
            cap_wait: Pool::default(),
            connect: Pool::default(),
            timeline: Timeline::default(),
            chunk_gaps: Pool::default(),
            token_gaps: None,
            gaps: Vec::new(),
            per_token: true,
            reasoned: false,
            input_chars: 0,
            output_chars: 0,
            input_asked: Sum::default(),
            output_asked: Sum::default(),
            lengths: LengthEvidence::default(),
            usage: UsageEvidence::default(),
            contacts: Contacts::default(),
            models: Models::default(),
            media: None,
            structured: Structured::default(),
            checked: Checked::default(),
            stalls: StallEvidence::default(),
            wire: WireTally::default(),
            together: Verdicts::default(),
        }
    }

    /// Counts times by class from the first on.
    pub(super) fn count_times(&mut self) {
        for pool in [
            &mut self.lag,
            &mut self.cap_wait,
            &mut self.connect,
            &mut self.chunk_gaps,
        ] {
            pool.count();
        }
    }

    /// Takes a record. One that is not measured counts as load only.
    pub(super) fn add(&mut self, record: &Record) {
        match (
            Handled::of(record, self.counts_over, self.opening),
            &mut self.crowd,
        ) {
            (Some(handled), Some(crowd)) if handled.complete => crowd.amounts.add(&handled),
            (handled, _) => self.handled.extend(handled),
        }
        self.wire.add(record);
        self.contacts.add(record);
        self.models.add(record);
        match record.stage {
            Stage::Measured => {}
            Stage::Warmup => self.warmup += 1,
            Stage::Hold => self.hold += 1,
        }
        if !record.is_measured() {
            if let Some(failure) = record.failure() {
                let kind = (failure.phase, failure.class);
                *self.unmeasured_failures.entry(kind).or_default() += 1;
            }
            self.timeline.add_all(0, &record.chunks.at);
            let over = record.outcome != Outcome::Cut;
            let under_way = record.sent.map(|from| UnderWay {
                from,
                to: record.end.filter(|_| over),
            });
            match (under_way, &mut self.crowd) {
                (Some(under_way), Some(crowd)) => crowd.add_unmeasured(under_way),
                (under_way, _) => self.unmeasured.extend(under_way),
            }
            self.bound();
            return;
        }
        self.lag.extend_span(record.lag());
        self.connect.extend_span(record.connect);
        if record.sent.is_some() {
            self.cap_wait.extend_span(record.cap_wait);
        }
        self.timeline.add_all(0, &record.chunks.at);
        let good = self.add_objectives(record);
        self.resent += u64::from(record.resent);
        let answer = record.is_done().then(|| self.answer(record)).flatten();
        if let Some(failure) = record.failure() {
            let place = Place::of(record);
            let sample = || FailureCount {
                phase: failure.phase,
                class: failure.class,
                count: 0,
                status: record.status,
                sample: failure.detail.clone(),
            };
            let kind = self.failures.entry((failure.phase, failure.class));
            let (first, kind) = kind.or_insert_with(|| (place, sample()));
            if place < *first {
                *first = place;
                *kind = FailureCount {
                    count: kind.count,
                    ..sample()
                };
            }
            kind.count += 1;
        } else if record.outcome == Outcome::Cancelled {
            self.cancelled += 1;
        } else if answer.is_none() {
            self.cut += 1;
        }
        let failed = record.failure().is_some();
        let over = failed || answer.is_some() || record.outcome == Outcome::Cancelled;
        let row = Row {
            index: record.index,
            start: record.start().into(),
            sent: record.sent.into(),
            busy_from: record
                .sent
                .map(|sent| sent - record.connect.unwrap_or_default())
                .into(),
            end: record
                .end
                .or_else(|| record.completed().filter(|_| over))
                .or(record.sent.filter(|_| over))
                .into(),
            failed,
            good,
            answer,
        };
        self.totals.add(&row);
        if let Some(crowd) = &mut self.crowd {
            crowd.add(&row);
            if !crowd.thinning.keeps(row.index) {
                return;
            }
        }
        self.rows.push(row);
        self.bound();
    }

    /// Keeps no more than may be kept: from then on, all are counted and a share is kept.
    fn bound(&mut self) {
        if self.rows.len() + self.unmeasured.len() <= self.most_kept {
            return;
        }
        self.count_all();
        if let Some(crowd) = &mut self.crowd {
            while self.rows.len() > self.most_kept {
                crowd.thinning.halve();
                self.rows.retain(|row| crowd.thinning.keeps(row.index));
            }
        }
    }

    fn count_all(&mut self) {
        let crowd = self.crowd.get_or_insert_with(|| {
            let mut crowd = Box::new(Crowd::default());
            self.rows.iter().for_each(|row| crowd.add(row));
            crowd
        });
        for request in self.unmeasured.drain(..) {
            crowd.add_unmeasured(request);
        }
        for complete in self.handled.extract_if(.., |request| request.complete) {
            crowd.amounts.add(&complete);
        }
    }

    /// Takes what another part of the same run holds: the same as if its records had come here, in
    /// whatever order.
    pub(super) fn merge(&mut self, mut other: Self) {
        if self.crowd.is_some() || other.crowd.is_some() {
            self.count_all();
            other.count_all();
        }
        self.rows.append(&mut other.rows);
        self.handled.append(&mut other.handled);
        self.unmeasured.append(&mut other.unmeasured);
        if let (Some(crowd), Some(more)) = (&mut self.crowd, other.crowd) {
            crowd.thinning = crowd.thinning.with(more.thinning);
            crowd.merge(*more);
            self.rows.retain(|row| crowd.thinning.keeps(row.index));
        }
        self.bound();
        self.totals.merge(other.totals);
        self.warmup += other.warmup;
        self.hold += other.hold;
        for (kind, count) in other.unmeasured_failures {
            *self.unmeasured_failures.entry(kind).or_default() += count;
        }
        self.cut += other.cut;
        self.cancelled += other.cancelled;
        self.resent += other.resent;
        for (kind, (place, failure)) in other.failures {
            let (first, kept) = (self.failures.entry(kind)).or_insert_with(|| {
                (
                    place,
                    FailureCount {
                        count: 0,
                        ..failure.clone()
                    },
                )
            });
            let count = kept.count + failure.count;
            if place < *first {
                (*first, *kept) = (place, failure);
            }
            kept.count = count;
        }
        self.lag.merge(other.lag);
        self.cap_wait.merge(other.cap_wait);
        self.connect.merge(other.connect);
        self.timeline.merge(other.timeline);
        // Where tokens are not told apart from chunks yet, their gaps are those of the chunks.
        if self.token_gaps.is_some() || other.token_gaps.is_some() {
            let mut gaps = (self.token_gaps.take()).unwrap_or_else(|| self.chunk_gaps.clone());
            gaps.merge(other.token_gaps.unwrap_or_else(|| other.chunk_gaps.clone()));
            self.token_gaps = Some(gaps);
        }
        self.chunk_gaps.merge(other.chunk_gaps);
        self.per_token &= other.per_token;
        self.reasoned |= other.reasoned;
        self.input_chars = self.input_chars.saturating_add(other.input_chars);
        self.output_chars = self.output_chars.saturating_add(other.output_chars);
        self.input_asked.merge(other.input_asked);
        self.output_asked.merge(other.output_asked);
        self.lengths.merge(other.lengths);
        self.usage.merge(other.usage);
        self.contacts.merge(other.contacts);
        self.models.merge(other.models);
        if let Some(more) = other.media {
            let media = self.media.get_or_insert_default();
            media.requests += more.requests;
            media.parts += more.parts;
            if let Some(bytes) = more.upload_bytes {
                let all = media.upload_bytes.get_or_insert(0);
                *all = all.saturating_add(bytes);
            }
            if let Some(tokens) = more.media_tokens {
                *media.media_tokens.get_or_insert(0) += tokens;
            }
        }
        self.structured.merge(other.structured);
        self.checked.merge(other.checked);
        self.stalls.merge(other.stalls);
        self.wire.merge(other.wire);
        for (verdicts, more) in self.objectives.iter_mut().zip(other.objectives) {
            verdicts.merge(more);
        }
        self.together.merge(other.together);
    }

    fn add_objectives(&mut self, record: &Record) -> Option<bool> {
        if self.slos.is_empty() {
            return None;
        }
        let verdicts = self.slos.iter().zip(&mut self.objectives);
        let good = together(verdicts.map(|(slo, objective)| {
            let verdict = slo.verdict(record);
            objective.add(verdict);
            verdict
        }));
        self.together.add(good);
        good
    }

    /// The data say how long the answer is meant to be; where they are silent, the limit stands
    /// for no wish.
    fn states_length(&self, record: &Record) -> bool {
        self.from_work && record.output_tokens_asked != Some(Output::UNSAID)
    }

    /// The scalars of a complete answer; absent only if its end is not known.
    fn answer(&mut self, record: &Record) -> Option<Answer> {
        let completed = record.completed().or(record.end)?;
        // Stored by whoever: no sum may overflow.
        self.input_chars = self.input_chars.saturating_add(record.input_chars);
        self.output_chars = self.output_chars.saturating_add(record.output_chars);
        self.input_asked.add(record.input_tokens_asked);
        self.output_asked.add(record.output_tokens_asked);
        let exact = self.exact || self.states_length(record);
        self.lengths.add(record, exact, &self.thresholds);
        self.usage.add(record, self.usage_bounds, &self.thresholds);
        if let Some(parts) = record.media {
            let media = self.media.get_or_insert_default();
            media.requests += 1;
            media.parts += u64::from(parts);
            if let Some(bytes) = record.upload_bytes {
                let all = media.upload_bytes.get_or_insert(0);
                *all = all.saturating_add(bytes);
            }
            if let Some(tokens) = record.media_tokens {
                *media.media_tokens.get_or_insert(0) += u64::from(tokens);
            }
        }
        let streamed = record.streamed;
        let time = |span: Option<Duration>| Slim::from(span.filter(|_| streamed));
        let mut gaps = GapSums::default();
        if streamed {
            gaps = self.add_gaps(record);
            self.reasoned |= record.first_answer != record.first_token();
        } else {
            self.timeline.add(0, completed);
        }
        self.structured.add(record);
        self.checked.add(record);
        self.totals.retokenized |= record.token_source() == TokenSource::Retokenized;
        Some(Answer {
            completed,
            ttft: time(record.ttft()),
            ttft_from_sent: time(record.ttft_from_sent()),
            first_answer: time(record.first_answer()),
            second_token: time(record.second_token()),
            tpot: time(record.tpot()),
            max_gap: gaps.largest,
            e2e: record.start().map(|start| completed.since(start)).into(),
            input: record.input_tokens(),
            output: record.output_tokens(),
            items: record.items,
            audio_ms: record.audio_ms,
            output_chars: record.output_chars,
            refused: record.refused,
            events: if streamed {
                record.chunks.len() as u32
            } else {
                1
            },
            chunk_gaps: gaps.chunks,
            token_gaps: gaps.tokens,
        })
    }

    /// Adds the gaps of a stream to both pools.
    fn add_gaps(&mut self, record: &Record) -> GapSums {
        let mut gaps = std::mem::take(&mut self.gaps);
        gaps.clear();
        gaps.extend(record.gap_nanos());
        let (mut whole, mut least, mut most) = (0u64, u64::MAX, 0);
        for &gap in &gaps {
            whole = whole.saturating_add(gap);
            least = least.min(gap);
            most = most.max(gap);
        }
        let tokens = record
            .chunks
            .tokens
            .as_deref()
            .filter(|tokens| tokens.len() == record.chunks.len());
        self.per_token &= tokens.is_some() || a_token_a_chunk(record);
        // The two pools part at the first chunk that does not hold one token.
        let weighted = tokens.filter(|tokens| tokens.iter().skip(1).any(|&k| k != 1));
        if weighted.is_some() && self.token_gaps.is_none() {
            self.token_gaps = Some(self.chunk_gaps.clone());
        }
        let chunk_sum = (whole as f64 / 1e6, gaps.len() as u32);
        self.chunk_gaps.add_nanos(&gaps);
        let mut token_sum = chunk_sum;
        if let Some(pool) = &mut self.token_gaps {
            match weighted {
                None => pool.add_nanos(&gaps),
                Some(tokens) => {
                    token_sum = (0.0, 0);
                    for (gap, k) in per_token(&gaps, &tokens[1..]) {
                        pool.add(gap, k);
                        token_sum.0 += gap * f64::from(k);
                        token_sum.1 = token_sum.1.saturating_add(k);
                    }
                }
            }
        }
        let largest = (!gaps.is_empty()).then(|| Duration::from_nanos(most));
        self.stalls
            .add(record, &gaps, [least, most], &self.thresholds);
        self.gaps = gaps;
        GapSums {
            chunks: chunk_sum,
            tokens: token_sum,
            largest: largest.into(),
        }
    }

    /// Gaps between tokens, where known.
    pub(super) fn token_gaps(&mut self) -> Option<Pool> {
        self.token_gaps.take().filter(|_| self.per_token)
    }
}

/// What is kept of the gaps of one stream: sum, in milliseconds, and number of those between chunks
/// and between tokens.
#[derive(Clone, Copy, Debug, Default)]
struct GapSums {
    chunks: (f64, u32),
    tokens: (f64, u32),
    largest: Slim,
}

/// Answers to a template are told one by one.
pub(super) fn keeps_all(context: &RunContext<'_>) -> bool {
    let prompts = &context.scenario.work.prompts;
    matches!(prompts, PromptSource::Continuation(_))
}

/// Each gap shared by the tokens that ended it; a chunk without a whole token passes its time
/// on to the next.
fn per_token(gaps: &[u64], tokens: &[u32]) -> Vec<(f64, u32)> {
    let mut waiting = 0.0;
    let shared = gaps.iter().zip(tokens).filter_map(|(&gap, &k)| {
        waiting += gap as f64 / 1e6;
        (k > 0).then(|| (std::mem::take(&mut waiting) / f64::from(k), k))
    });
    shared.collect()
}

/// As many chunks as tokens; an end-of-sequence token has no text and so no chunk.
fn a_token_a_chunk(record: &Record) -> bool {
    let chunks = record.chunks.len() as u64;
    record.output_tokens().is_some_and(|tokens| {
        let tokens = u64::from(tokens);
        chunks == tokens || chunks + 1 == tokens
    })
}

impl StallEvidence {
    /// Takes the gaps of a stream, with the least and the most of them. Chunks of one read have no
    /// gap between them that a server made, and would draw the median of a stream in bursts to
    /// nought.
    fn add(
        &mut self,
        record: &Record,
        gaps: &[u64],
        [least, most]: [u64; 2],
        thresholds: &Thresholds,
    ) {
        let together = record.chunks.same_read.get(1..).unwrap_or_default();
        let pairs = gaps.iter().zip(together);
        let unmade = match least {
            0 => pairs
                .filter(|&(&gap, &together)| gap == 0 && together)
                .count(),
            _ => 0,
        };
        if gaps.len() - unmade < thresholds.stall_gaps {
            return;
        }
        self.requests += 1;
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let largest = ms(most);
        if largest < thresholds.stall_floor_ms {
            return;
        }
        let mut sorted: Vec<f64> = gaps.iter().copied().map(ms).collect();
        sort(&mut sorted);
        // Those of one read are the shortest.
        let sorted = &sorted[unmade..];
        let median = quantile(sorted, 0.5).unwrap_or_default();
        if largest >= thresholds.stall_factor * median {
            self.stalled += 1;
            self.tell(largest, median, Place::of(record));
        }
    }
}

/// One miss decides; otherwise all must be known, and there must be one.
pub(super) fn together(verdicts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    // All are looked at: whoever asks may count them.
    verdicts.reduce(|one, other| match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (None, _) | (_, None) => None,
        (Some(true), Some(true)) => Some(true),
    })?
}
