//! The requests of a run, ordered by start, with the window that they span.

use super::RunContext;
use super::precision::Precision;
use super::tally::{Answer, Row, column, ms};
use crate::concurrency::{InFlight, UnderWay};
use crate::judge::{DriftEvidence, InFlightEvidence, StragglerEvidence, WaveEvidence};
use crate::statistics::{design_effect, rising_trend};
use crate::steady::{self, Course, Overload};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::scenario::{Hold, Shape, Stagger};
use inferometer_core::summary::Concurrency;
use inferometer_core::units::Offset;
use std::time::Duration;

/// Least span, in mean answers, in which requests under way can be judged. A second wave is sent
/// within one answer, so that in less a single pause of the client would pass for lost streams.
const LEAST_ANSWERS: f64 = 1.5;
/// Parts of that span: the work that is left shrinks inside it.
const IN_FLIGHT_BINS: usize = 500;

/// Parts of a run whose speeds are looked at for a trend.
const DRIFT_PARTS: usize = 10;

/// Fewest streams that can be told to send in waves, and fewest requests of each.
const LEAST_STREAMS_OF_A_WAVE: u32 = 4;
const LEAST_WAVES: usize = 3;
/// Part of a median answer's time that is about when a request is sent.
const PART_OF_A_WAVE: f64 = 0.1;

/// The requests of a run with their window.
pub(super) struct Run<'a> {
    pub(super) context: &'a RunContext<'a>,
    pub(super) rows: &'a [Row],
    /// Requests that are not measured while under way.
    unmeasured: &'a [UnderWay],
    /// Complete answers, ordered by start.
    pub(super) answers: Vec<&'a Answer>,
    /// From its opening to its close, or first send to last completion where the load was not
    /// steady by construction.
    pub(super) window: Option<(Offset, Offset)>,
    in_flight: InFlight,
    ttft: Vec<(Offset, f64)>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        context: &'a RunContext<'a>,
        rows: &'a [Row],
        unmeasured: &'a [UnderWay],
    ) -> Self {
        let answers: Vec<&Answer> = rows.iter().filter_map(|row| row.answer.as_ref()).collect();
        let from = rows.iter().filter_map(|row| row.sent.offset()).min();
        // What failed in the end was waited for as well: a server that hangs is not fast.
        let completed = answers.iter().map(|answer| answer.completed);
        let to = completed.chain(rows.iter().filter_map(|row| row.end.offset()));
        let to = to.max();
        let ending = context.ending;
        let window = if ending.steady_window {
            Some((ending.measured_from, ending.sending_ended))
        } else {
            from.zip(to)
        };
        let ttft = rows
            .iter()
            .filter_map(|row| Some((row.start.offset()?, row.answer.as_ref()?.ttft.ms()?)))
            .collect();
        Run {
            context,
            rows,
            unmeasured,
            window: window.filter(|(from, to)| from < to),
            in_flight: InFlight::sweep(
                rows.iter()
                    .filter_map(|row| row.under_way(row.sent.offset()))
                    .chain(unmeasured.iter().copied()),
            ),
            answers,
            ttft,
        }
    }

    /// The load was up to strength when the window opened, and went on when it closed.
    pub(super) fn is_steady(&self) -> bool {
        self.context.ending.steady_window
    }

    pub(super) fn window_s(&self) -> Option<f64> {
        self.window.map(|(from, to)| to.since(from).as_secs_f64())
    }

    fn configured(&self) -> Option<u32> {
        match self.context.scenario.load.shape {
            Shape::Closed { concurrency, .. } => Some(concurrency),
            Shape::Open {
                max_concurrency, ..
            }
            | Shape::Replay {
                max_concurrency, ..
            } => max_concurrency,
        }
    }

    pub(super) fn concurrency(&self) -> Concurrency {
        Concurrency {
            configured: self.configured(),
            mean: self
                .window
                .and_then(|(from, to)| self.in_flight.mean(from, to)),
            peak: self
                .window
                .and_then(|(from, to)| self.in_flight.peak(from, to)),
        }
    }

    fn last_sent(&self) -> Option<Offset> {
        self.rows.iter().filter_map(|row| row.sent.offset()).max()
    }

    /// When sending ended. A run that was killed could not say, so its last send must do.
    fn sending_ended(&self) -> Offset {
        let ending = self.context.ending;
        if ending.cause.is_without_ending() {
            self.last_sent().unwrap_or_default()
        } else {
            ending.sending_ended
        }
    }

    /// The course up to the drain: until sending ended, or until a closed loop began to thin
    /// out for good.
    pub(super) fn course(&self) -> Course<'_> {
        let (from, to) = self.window.unwrap_or_default();
        let mut ended = self.sending_ended().min(to);
        if let Shape::Closed { concurrency, .. } = self.context.scenario.load.shape {
            let full = (u64::from(concurrency) * 9).div_ceil(10);
            ended = ended.min(self.in_flight.last_at_least(full).unwrap_or(ended));
        }
        Course {
            from,
            sending_ended: ended,
            in_flight: &self.in_flight,
            ttft_ms: &self.ttft,
        }
    }

    /// Whether an open loop got more than the server could take. What waits at the user's cap
    /// has arrived, so it counts as under way here.
    pub(super) fn overload(&self, significance: f64) -> Option<Overload> {
        if let Shape::Closed { .. } = self.context.scenario.load.shape {
            return None;
        }
        let arrived = InFlight::sweep(
            self.rows
                .iter()
                .filter_map(|row| row.under_way(row.start.offset()))
                .chain(self.unmeasured.iter().copied()),
        );
        let last = self
            .rows
            .iter()
            .filter_map(|row| row.start.offset())
            .max()?;
        let course = Course {
            in_flight: &arrived,
            sending_ended: last,
            ..self.course()
        };
        steady::overload(&course, significance)
    }

    /// Whether the times per token moved in one direction. In a queue they follow it, up and down.
    pub(super) fn drift(&self, precision: &Precision, significance: f64) -> Option<DriftEvidence> {
        if precision.is_queued() {
            return None;
        }
        let tpot = column(&self.answers, |answer| answer.tpot.ms());
        let times = if tpot.is_empty() {
            column(&self.answers, |answer| answer.e2e.ms())
        } else {
            tpot
        };
        let parts: Vec<f64> = times
            .chunks_exact((times.len() / DRIFT_PARTS).max(1))
            .map(|part| part.iter().sum::<f64>() / part.len() as f64)
            .collect();
        let falling: Vec<f64> = parts.iter().map(|part| -part).collect();
        let moves = |parts: &[f64]| rising_trend(parts).is_some_and(|it| it.p_value < significance);
        let mean = |parts: &[f64]| parts.iter().sum::<f64>() / parts.len() as f64;
        let fifth = parts.len() / 5;
        (moves(&parts) || moves(&falling)).then(|| DriftEvidence {
            early_ms: mean(&parts[..fifth]),
            late_ms: mean(&parts[parts.len() - fifth..]),
        })
    }

    /// How a closed loop that was not held up to its end thinned out.
    pub(super) fn stragglers(&self) -> Option<StragglerEvidence> {
        let Shape::Closed { concurrency, .. } = self.context.scenario.load.shape else {
            return None;
        };
        let (from, to) = self
            .window
            .filter(|_| !self.is_steady() && concurrency > 1)?;
        let busy = self
            .in_flight
            .last_at_least(u64::from(concurrency.div_ceil(2)))?;
        // Streams that hang in requests which fail in the end are not at work either.
        let last_answer = self.answers.iter().map(|answer| answer.completed).max();
        let busy = busy.min(last_answer.unwrap_or(busy));
        let took = |row: &Row| Some(ms(row.end.offset()?.since(row.start.offset()?)));
        let mut e2e = column(&self.answers, |answer| answer.e2e.ms());
        sort(&mut e2e);
        Some(StragglerEvidence {
            idle_ms: ms(to.since(busy)),
            window_ms: ms(to.since(from)),
            slowest_ms: self.rows.iter().filter_map(took).reduce(f64::max)?,
            median_ms: quantile(&e2e, 0.5)?,
        })
    }

    pub(super) fn precision(&self) -> Precision {
        let requests = self.answers.len() as f64;
        let latencies = self.answers.iter().filter_map(|answer| answer.e2e.ms());
        let mean_s = latencies.sum::<f64>() / requests / 1e3;
        let is_open = !matches!(self.context.scenario.load.shape, Shape::Closed { .. });
        let ttft = || self.ttft.iter().map(|&(_, ms)| ms).collect::<Vec<f64>>();
        let squares = (self.answers.iter())
            .filter_map(|answer| Some((answer.e2e.ms()? / 1e3 - mean_s).powi(2)));
        let spread = squares.sum::<f64>() / requests / mean_s.powi(2);
        let ahead = match self.context.scenario.load.shape {
            Shape::Closed { concurrency, .. } => {
                f64::from(concurrency) * (spread - 1.0).max(0.0) / 2.0
            }
            Shape::Open { .. } | Shape::Replay { .. } => 0.0,
        };
        Precision {
            ahead,
            requests,
            waves: self.window_s().unwrap_or_default() / mean_s,
            is_open,
            effect: if is_open { design_effect(&ttft()) } else { 1.0 },
        }
    }

    /// Requests under way against those that a closed loop should have had: between the end
    /// of the staggered start and the last send, all streams that still have work are busy,
    /// so there should be as many as streams, or as requests that had not ended.
    pub(super) fn in_flight_evidence(&self) -> Option<InFlightEvidence> {
        let Shape::Closed {
            concurrency,
            stagger,
        } = self.context.scenario.load.shape
        else {
            return None;
        };
        if self.users_think() {
            return None;
        }
        let spread = match (self.context.ending.stagger_ns, stagger) {
            // The streams had all begun when the window opened.
            _ if self.is_steady() => Duration::ZERO,
            (Some(nanos), _) => Duration::from_nanos(nanos),
            (None, Stagger::Over(span)) => span.0,
            (None, Stagger::Auto | Stagger::None) => Duration::ZERO,
        };
        let from = self.window?.0 + spread;
        let sent = self.rows.iter().filter(|row| row.sent.is_some()).count() as u64;
        let all_sent = |count| sent >= count;
        let to = match self.context.scenario.load.extent.requests() {
            Some(count) if !all_sent(count) => self.sending_ended(),
            Some(_) => self.last_sent()?,
            None => self.sending_ended(),
        };
        let lengths = self.answers.iter().filter_map(|answer| answer.e2e.ms());
        let mean_ms = lengths.sum::<f64>() / self.answers.len() as f64;
        if to <= from || ms(to.since(from)) < mean_ms * LEAST_ANSWERS {
            return None;
        }
        // Each sweep is as large as the run, so one at a time.
        let bins = |sweep: InFlight| sweep.bins(from, to, IN_FLIGHT_BINS);
        let busy = bins(InFlight::sweep(
            self.rows
                .iter()
                .filter_map(|r| r.under_way(r.busy_from.offset()))
                .chain(self.unmeasured.iter().copied()),
        ));
        let left = bins(InFlight::sweep(
            self.rows
                .iter()
                .filter(|row| row.sent.is_some())
                .filter_map(|row| row.under_way(Some(from.min(row.sent.offset()?))))
                .chain(self.unmeasured.iter().copied()),
        ));
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let streams = f64::from(concurrency);
        let held = self.context.scenario.load.hold == Hold::Auto && self.is_steady();
        let expected = left
            .into_iter()
            .map(|left| if held { streams } else { left.min(streams) });
        Some(InFlightEvidence {
            seen: mean(busy),
            expected: mean(expected.collect()),
        })
    }

    /// A stream whose user thinks is idle by intention.
    fn users_think(&self) -> bool {
        let conversation = &self.context.scenario.work.conversation;
        (conversation.as_ref()).is_some_and(|conversation| !conversation.think.0.is_zero())
    }

    /// How the sends of a closed loop crowd, once the first wave is out, which has its own rule.
    /// Streams with answers of one length that once meet in a batch never part again.
    pub(super) fn wave_evidence(&self, median_ms: f64) -> Option<WaveEvidence> {
        let Shape::Closed { concurrency, .. } = self.context.scenario.load.shape else {
            return None;
        };
        if concurrency < LEAST_STREAMS_OF_A_WAVE || self.users_think() {
            return None;
        }
        let streams = concurrency as usize;
        let sent = |row: &Row| Some(ms(row.sent.offset()?.as_duration()));
        let mut sends: Vec<f64> = self.rows.iter().filter_map(sent).collect();
        sort(&mut sends);
        let first_wave = if self.is_steady() { 0 } else { streams };
        let sends = sends.get(first_wave..)?;
        if sends.len() < streams * LEAST_WAVES {
            return None;
        }
        let span_ms = median_ms * PART_OF_A_WAVE;
        let whole = sends.last()? - sends.first()?;
        if !(span_ms > 0.0 && whole > span_ms) {
            return None;
        }
        // Each send against those before it; every pair is a neighbour of both.
        let (mut pairs, mut first) = (0, 0);
        for (at, &sent) in sends.iter().enumerate() {
            while sent - sends[first] > span_ms / 2.0 {
                first += 1;
            }
            pairs += at - first;
        }
        Some(WaveEvidence {
            seen: 2.0 * pairs as f64 / sends.len() as f64,
            even: sends.len() as f64 * span_ms / whole,
            span_ms,
        })
    }
}
