//! Whole sessions, as those see them who wait for a job to be done, and their turns.

use super::pool::Pool;
use super::tally::{Sum, ms};
use super::treatment::{Treatment, tells_cached};
use crate::context::RunContext;
use crate::thinning::{MOST_KEPT, Thinning};
use inferometer_core::lifetimes::{End, Lifetimes};
use inferometer_core::record::{Outcome, Record, Stage};
use inferometer_core::slo::{Slo, SloScope};
use inferometer_core::summary::{JobAttainment, JobTimes, SessionResult, TurnResult};
use inferometer_core::units::Offset;
use inferometer_statistics::ExactSum;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Turns that are told one by one.
const SINGLE_TURNS: u32 = 8;

/// Sessions while their requests stream by.
#[derive(Clone, Debug)]
pub(super) struct Sessions {
    /// Inside it answers count; absent where the load was not steady by construction.
    window: Option<RangeInclusive<Offset>>,
    sending_ended: Offset,
    /// Requests of the measured part, where they are limited.
    most_requests: Option<u64>,
    /// By number, those of the warm-up apart, which are counted from 0 as well.
    under_way: BTreeMap<(Stage, u64), Session>,
    thinning: Thinning,
    /// How long each lasted that counts; an endless one had a failure.
    jobs: Vec<(u64, f64, End)>,
    complete: u64,
    failed: u64,
    cut: u64,
    shortened: u64,
    turns_of_complete: u64,
    mean: Pool,
    /// Sessions inside the window, by the share of their turns.
    inside: ExactSum,
    turns: BTreeMap<u32, Turns>,
    /// The server counts what it has in its cache.
    tells_cached: bool,
}

#[derive(Clone, Debug, Default)]
struct Session {
    turns: u32,
    /// Of its first turn.
    began: Option<(Stage, Offset)>,
    first_index: u64,
    seen: u32,
    answered: u32,
    answered_inside: u32,
    failed: bool,
    last: Offset,
}

#[derive(Clone, Debug, Default)]
struct Turns {
    last: u32,
    ok: u64,
    failed: u64,
    ttft: Pool,
    e2e: Pool,
    treatment: Treatment,
    output: Sum,
}

/// Sessions of a run, and how long they last.
pub(super) struct FoundSessions {
    pub(super) result: SessionResult,
    /// Of those without a failure.
    lifetimes: Lifetimes,
    /// Of all: those with a failure last for ever.
    with_failed: Lifetimes,
}

impl Sessions {
    pub(super) fn new(context: &RunContext<'_>) -> Self {
        let ending = context.ending;
        let window = ending.measured_from..=ending.sending_ended;
        Sessions {
            window: ending.steady_window.then_some(window),
            sending_ended: ending.sending_ended,
            most_requests: context.scenario.load.extent.requests(),
            under_way: BTreeMap::new(),
            thinning: Thinning::default(),
            jobs: Vec::new(),
            complete: 0,
            failed: 0,
            cut: 0,
            shortened: 0,
            turns_of_complete: 0,
            mean: Pool::default(),
            inside: ExactSum::default(),
            turns: BTreeMap::new(),
            tells_cached: false,
        }
    }

    pub(super) fn add(&mut self, record: &Record) {
        let (Some(number), Some(turn), Some(turns)) = (record.session, record.turn, record.turns)
        else {
            return;
        };
        self.tells_cached |= tells_cached(record);
        if record.is_measured() {
            let turn = turn.saturating_add(1);
            self.turns
                .entry(first_with(turn))
                .or_default()
                .add(turn, record);
        }
        let is_inside = record.is_done() && self.is_inside(record);
        let part = match record.stage {
            Stage::Warmup => Stage::Warmup,
            Stage::Measured | Stage::Hold => Stage::Measured,
        };
        let session = self.under_way.entry((part, number)).or_default();
        session.turns = turns.max(1);
        session.seen += 1;
        session.answered += u32::from(record.is_done());
        session.answered_inside += u32::from(is_inside);
        session.failed |= matches!(record.outcome, Outcome::Failed(_) | Outcome::Cancelled);
        let over = record.completed().or(record.end).or(record.start());
        session.last = session.last.max(over.unwrap_or_default());
        if turn == 0 {
            session.began = record.start().map(|start| (record.stage, start));
            session.first_index = record.index;
        }
        if session.seen == session.turns
            && let Some(session) = self.under_way.remove(&(part, number))
        {
            self.close(number, session);
        }
    }

    /// Answered inside the window.
    fn is_inside(&self, record: &Record) -> bool {
        match (record.completed().or(record.end), &self.window) {
            (Some(at), Some(window)) => window.contains(&at),
            _ => record.is_measured(),
        }
    }

    /// A session of which no more will come.
    fn close(&mut self, number: u64, session: Session) {
        if !session.failed {
            let share = f64::from(session.answered_inside) / f64::from(session.turns);
            self.inside.add(share);
        }
        let Some((Stage::Measured, began)) = session.began else {
            return;
        };
        let end = session.first_index.saturating_add(session.turns.into());
        if self.most_requests.is_some_and(|requests| end > requests) {
            self.shortened += 1;
            return;
        }
        let (lasted, end) = if session.failed {
            self.failed += 1;
            (f64::INFINITY, End::Unseen)
        } else if session.answered == session.turns {
            let lasted = ms(session.last.since(began));
            self.complete += 1;
            self.turns_of_complete += u64::from(session.turns);
            self.mean.add(lasted, 1);
            (lasted, End::Over)
        } else {
            self.cut += 1;
            // It was watched for as long as anything was sent.
            let watched = session.last.max(self.sending_ended);
            (ms(watched.since(began)), End::Unseen)
        };
        if self.thinning.keeps(number) {
            self.jobs.push((number, lasted, end));
        }
        self.bound();
    }

    fn bound(&mut self) {
        while self.jobs.len() > MOST_KEPT {
            self.thinning.halve();
            self.jobs
                .retain(|&(number, ..)| self.thinning.keeps(number));
        }
    }

    /// Takes what another part of the same run holds. A session may have turns in both.
    pub(super) fn merge(&mut self, other: Self) {
        self.complete += other.complete;
        self.failed += other.failed;
        self.cut += other.cut;
        self.shortened += other.shortened;
        self.turns_of_complete += other.turns_of_complete;
        self.mean.merge(other.mean);
        self.inside.merge(other.inside);
        for (first, turns) in other.turns {
            self.turns.entry(first).or_default().merge(turns);
        }
        self.tells_cached |= other.tells_cached;
        self.thinning = self.thinning.with(other.thinning);
        self.jobs.extend(other.jobs);
        self.jobs
            .retain(|&(number, ..)| self.thinning.keeps(number));
        self.bound();
        for (key, more) in other.under_way {
            let session = self.under_way.entry(key).or_default();
            session.merge(more);
            if session.seen >= session.turns
                && let Some(session) = self.under_way.remove(&key)
            {
                self.close(key.1, session);
            }
        }
    }

    /// Absent where the work has no sessions.
    pub(super) fn finish(
        mut self,
        context: &RunContext<'_>,
        window_s: Option<f64>,
    ) -> Option<FoundSessions> {
        // Of a run that goes on it was not known when its records were added.
        self.sending_ended = context.ending.sending_ended;
        for ((_, number), session) in std::mem::take(&mut self.under_way) {
            self.close(number, session);
        }
        if self.turns.is_empty() {
            return None;
        }
        let times = |keep: fn(f64) -> bool| {
            let jobs = self.jobs.iter().filter(|(_, lasted, _)| keep(*lasted));
            Lifetimes::new(jobs.map(|&(_, lasted, end)| (lasted, end)).collect())
        };
        let lifetimes = times(f64::is_finite);
        let complete = self.mean.into_ordered().distribution();
        let turns = self.turns.into_iter();
        let result = SessionResult {
            began: self.complete + self.failed + self.cut,
            complete: self.complete,
            failed: self.failed,
            cut: self.cut,
            shortened: self.shortened,
            per_hour: (window_s.filter(|seconds| *seconds > 0.0))
                .map(|seconds| self.inside.value() * 3600.0 / seconds),
            turns_mean: (self.complete > 0)
                .then(|| self.turns_of_complete as f64 / self.complete as f64),
            job: JobTimes {
                mean_ms: complete
                    .filter(|_| self.cut == 0)
                    .map(|complete| complete.mean),
                p50_ms: lifetimes.quantile(0.5),
                p90_ms: lifetimes.quantile(0.9),
                p99_ms: lifetimes.quantile(0.99),
                max_ms: complete.map(|complete| complete.max),
            },
            turns: turns
                .map(|(first, turns)| turns.result(first, self.tells_cached))
                .collect(),
        };
        Some(FoundSessions {
            result,
            lifetimes,
            with_failed: times(|_| true),
        })
    }
}

impl FoundSessions {
    /// A percentile (from 0 to 1) of how long sessions take or, without one, the mean, in
    /// milliseconds.
    pub(super) fn time(&self, p: Option<f64>) -> Option<f64> {
        match p {
            Some(p) => self.lifetimes.quantile(p),
            None => self.result.job.mean_ms,
        }
    }

    /// Share of sessions that are complete within the limit of an objective.
    pub(super) fn share(&self, slo: &Slo) -> Option<f64> {
        self.with_failed.share_within(ms(slo.limit.0))
    }

    /// How the objectives for every session were met together: the strictest decides.
    pub(super) fn attainment(&self, slos: &[Slo]) -> Option<JobAttainment> {
        let of_sessions = slos.iter().filter(|slo| slo.scope == SloScope::Session);
        let strictest = of_sessions.min_by_key(|slo| slo.limit.0)?;
        let good = self.lifetimes.share_within(ms(strictest.limit.0));
        Some(JobAttainment {
            sessions: self.result.began,
            attainment: self.share(strictest),
            goodput_per_hour: (self.result.per_hour.zip(good)).map(|(all, share)| all * share),
        })
    }
}

/// The first of the turns that are told together with one, counted from 1.
fn first_with(turn: u32) -> u32 {
    match turn {
        0..=SINGLE_TURNS => turn,
        _ => turn.checked_next_power_of_two().unwrap_or(u32::MAX) / 2 + 1,
    }
}

impl Session {
    fn merge(&mut self, other: Self) {
        self.turns = self.turns.max(other.turns);
        if other.began.is_some() {
            (self.began, self.first_index) = (other.began, other.first_index);
        }
        self.seen += other.seen;
        self.answered += other.answered;
        self.answered_inside += other.answered_inside;
        self.failed |= other.failed;
        self.last = self.last.max(other.last);
    }
}

impl Turns {
    fn merge(&mut self, other: Self) {
        self.last = self.last.max(other.last);
        self.ok += other.ok;
        self.failed += other.failed;
        self.ttft.merge(other.ttft);
        self.e2e.merge(other.e2e);
        self.treatment.merge(other.treatment);
        self.output.merge(other.output);
    }

    fn add(&mut self, turn: u32, record: &Record) {
        self.last = self.last.max(turn);
        self.failed += u64::from(record.failure().is_some());
        if !record.is_done() {
            return;
        }
        self.ok += 1;
        let streamed = |span| Some(span).filter(|_| record.streamed);
        self.ttft.extend(record.ttft().and_then(streamed).map(ms));
        self.e2e.extend(record.e2e().map(ms));
        self.treatment.add(record);
        self.output.add(record.output_tokens());
    }

    fn result(self, first: u32, tells_cached: bool) -> TurnResult {
        let [ttft, e2e] = [self.ttft, self.e2e].map(Pool::into_ordered);
        TurnResult {
            first,
            last: self.last,
            ok: self.ok,
            failed: self.failed,
            ttft_p50_ms: ttft.quantile(0.5),
            ttft_p99_ms: ttft.quantile(0.99),
            e2e_p50_ms: e2e.quantile(0.5),
            e2e_p99_ms: e2e.quantile(0.99),
            input_tokens_mean: self.treatment.input_mean(),
            cached_tokens_mean: self.treatment.cached_mean(tells_cached),
            output_tokens_mean: self.output.mean(),
            preempted: self.treatment.preempted(),
        }
    }
}
