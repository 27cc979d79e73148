//! The requests of a run, ordered by start, with the window that they span.

use super::RunContext;
use super::crowd::{Crowd, Moment};
use super::places::{Turn, places};
use super::pool::Ordered;
use super::precision::{Precision, RestsOn, Sample, effect_of_all, memory, spread};
use super::rounds::rounds;
use super::tally::{Answer, Figure, Row, Tally, Totals, column, ms};
use crate::judge::{DriftEvidence, InFlightEvidence, StragglerEvidence, WaveEvidence};
use crate::steady::{self, Course, Overload};
use inferometer_core::quantile::sort;
use inferometer_core::scenario::{Arrival, Hold, Shape, Stagger};
use inferometer_core::summary::{Concurrency, Distribution};
use inferometer_core::units::Offset;
use inferometer_core::work::Conversation;
use inferometer_statistics::rising_trend;
use inferometer_statistics::{InFlight, UnderWay};
use std::time::Duration;

/// Least span, in mean answers, in which requests under way can be judged. A second wave is sent
/// within one answer, so that in less a single pause of the client would pass for lost streams.
const LEAST_ANSWERS: f64 = 1.5;
/// Parts of that span: the work that is left shrinks inside it.
const IN_FLIGHT_BINS: usize = 500;

/// Parts of a run whose speeds are looked at for a trend.
const DRIFT_PARTS: usize = 10;
/// Ratio of times that needs no long run to be told.
const LARGE_DRIFT: f64 = 2.0;

/// Fewest streams that can be told to send in waves, and fewest requests of each.
const LEAST_STREAMS_OF_A_WAVE: u32 = 4;
const LEAST_WAVES: usize = 3;
/// Part of a median answer's time that is about when a request is sent.
const PART_OF_A_WAVE: f64 = 0.1;

/// The requests of a run with their window.
pub(super) struct Run<'a> {
    pub(super) context: &'a RunContext<'a>,
    pub(super) totals: &'a Totals,
    pub(super) crowd: Option<&'a Crowd>,
    /// Those that are kept one by one: all, unless there is a crowd.
    pub(super) rows: &'a [Row],
    /// Requests that are not measured while under way.
    unmeasured: &'a [UnderWay],
    /// Complete answers among the rows, ordered by start.
    pub(super) answers: Vec<&'a Answer>,
    /// From its opening to its close, or first send to last completion where the load was not
    /// steady by construction.
    pub(super) window: Option<(Offset, Offset)>,
    in_flight: InFlight,
    ttft: Vec<(Offset, f64)>,
    /// Of each answer, the part of the round in which its stream stands to the others; empty where
    /// there is none.
    pub(super) places: Vec<u8>,
}

impl<'a> Run<'a> {
    pub(super) fn new(context: &'a RunContext<'a>, tally: &'a Tally) -> Self {
        let (rows, totals) = (&tally.rows[..], &tally.totals);
        let answers: Vec<&Answer> = rows.iter().filter_map(|row| row.answer.as_ref()).collect();
        let ending = context.ending;
        let window = if ending.steady_window {
            Some((ending.measured_from, ending.sending_ended))
        } else {
            // What failed in the end was waited for as well: a server that hangs is not fast.
            totals.first_sent.zip(totals.last_over)
        };
        let ttft = rows
            .iter()
            .filter_map(|row| Some((row.start.offset()?, row.answer.as_ref()?.ttft.ms()?)))
            .collect();
        let mut run = Run {
            context,
            totals,
            crowd: tally.crowd.as_deref(),
            rows,
            unmeasured: &tally.unmeasured,
            window: window.filter(|(from, to)| from < to),
            in_flight: InFlight::default(),
            answers,
            ttft,
            places: Vec::new(),
        };
        run.in_flight = run.in_flight_since(Moment::Sent);
        run.places = run.places_of_answers().unwrap_or_default();
        run
    }

    fn places_of_answers(&self) -> Option<Vec<u8>> {
        let Shape::Closed { concurrency, .. } = self.context.scenario.load.shape else {
            return None;
        };
        if self.crowd.is_some() || self.users_think() {
            return None;
        }
        let turn = |from: Option<Offset>, to: Option<Offset>, measured| {
            let from = from?;
            let to = to.map_or(from, |to| to.max(from));
            Some(Turn { from, to, measured })
        };
        let measured = self.rows.iter().enumerate();
        let measured = measured
            .filter_map(|(number, row)| turn(row.sent.offset(), row.end.offset(), Some(number)));
        let others = self.unmeasured.iter();
        let others = others.filter_map(|other| turn(Some(other.from), other.to, None));
        let turns = measured.chain(others).collect();
        let of_rows = places(turns, concurrency as usize, self.rows.len())?;
        let answered = self.rows.iter().zip(of_rows);
        let answered = answered.filter(|(row, _)| row.answer.is_some());
        Some(answered.map(|(_, place)| place).collect())
    }

    /// How many requests each one that is kept stands for.
    pub(super) fn weight(&self) -> f64 {
        self.crowd.map_or(1.0, |crowd| crowd.thinning.weight())
    }

    fn in_flight_since(&self, begin: Moment) -> InFlight {
        if let Some(crowd) = self.crowd {
            return crowd.in_flight_since(begin);
        }
        let from = |row: &Row| match begin {
            Moment::Arrived => row.start,
            Moment::Busy => row.busy_from,
            _ => row.sent,
        };
        let measured = (self.rows.iter()).filter_map(|row| row.under_way(from(row).offset()));
        InFlight::sweep(measured.chain(self.unmeasured.iter().copied()))
    }

    /// Requests that had not ended, as if all that were sent had begun at one moment.
    fn left_since(&self, from: Offset) -> InFlight {
        if let Some(crowd) = self.crowd {
            return crowd.left();
        }
        let left =
            (self.rows.iter()).filter_map(|row| row.under_way(Some(from.min(row.sent.offset()?))));
        InFlight::sweep(left.chain(self.unmeasured.iter().copied()))
    }

    /// A figure over all answers.
    pub(super) fn ordered(&self, figure: Figure) -> Ordered {
        match self.crowd {
            Some(crowd) => Ordered::Counted(crowd.figure(figure).clone()),
            None => {
                let mut values = column(&self.answers, figure);
                sort(&mut values);
                Ordered::Exact(values)
            }
        }
    }

    /// The same with its intervals.
    pub(super) fn described(
        &self,
        figure: Figure,
        rests_on: RestsOn,
        precision: &Precision,
    ) -> Option<Distribution> {
        let all = self.crowd.map(|crowd| crowd.figure(figure));
        let with_place = self.answers.iter().zip(&self.places);
        let with_place = with_place.filter(|(answer, _)| figure.of(answer).is_some());
        let sample = Sample {
            values: column(&self.answers, figure),
            places: with_place.map(|(_, place)| *place).collect(),
        };
        precision.described(&sample, all, rests_on)
    }

    /// Moments of a kind for which `inside` holds, of those in a span of time.
    pub(super) fn count(
        &self,
        moment: Moment,
        [from, to]: [Offset; 2],
        inside: impl Fn(Offset) -> bool,
    ) -> u64 {
        if let Some(crowd) = self.crowd {
            return crowd.moments(moment).between(from, to).round() as u64;
        }
        let at = |row: &Row| match moment {
            Moment::Failed => row.end.or(row.start).offset().filter(|_| row.failed),
            _ => row.answer.as_ref().map(|answer| answer.completed),
        };
        let moments = self.rows.iter().filter_map(at);
        moments.filter(|&at| inside(at)).count() as u64
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

    /// When sending ended. A run that was killed could not say, so its last send must do.
    fn sending_ended(&self) -> Offset {
        let ending = self.context.ending;
        if ending.cause.is_without_ending() {
            self.totals.last_sent.unwrap_or_default()
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
            settled: self.is_steady(),
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
        let arrived = self.in_flight_since(Moment::Arrived);
        let last = self.totals.last_arrived?;
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
        let tpot = column(&self.answers, Figure::Tpot);
        let times = if tpot.is_empty() {
            column(&self.answers, Figure::E2e)
        } else {
            tpot
        };
        let parts: Vec<f64> = times
            .chunks_exact((times.len() / DRIFT_PARTS).max(1))
            .map(|part| part.iter().sum::<f64>() / part.len() as f64)
            .collect();
        let falling: Vec<f64> = parts.iter().map(|part| -part).collect();
        // One significance for both directions.
        let moves =
            |parts: &[f64]| rising_trend(parts).is_some_and(|it| it.p_value < significance / 2.0);
        let mean = |parts: &[f64]| parts.iter().sum::<f64>() / parts.len() as f64;
        let fifth = parts.len() / 5;
        let found = DriftEvidence {
            early_ms: mean(&parts[..fifth]),
            late_ms: mean(&parts[parts.len() - fifth..]),
        };
        // Parts shorter than an answer share the requests under way, and move together by chance:
        // only a large change shows there.
        let is_large = (found.late_ms / found.early_ms).ln().abs() > LARGE_DRIFT.ln();
        let is_told = is_large || precision.waves >= DRIFT_PARTS as f64;
        (is_told && (moves(&parts) || moves(&falling))).then_some(found)
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
        let busy = busy.min(self.totals.last_completed.unwrap_or(busy));
        let (idle_ms, slowest_ms) = (ms(to.since(busy)), self.totals.slowest_ms?);
        // What lasts longer than any request is not the wait for one: the server was away.
        if idle_ms > slowest_ms {
            return None;
        }
        Some(StragglerEvidence {
            idle_ms,
            window_ms: ms(to.since(from)),
            slowest_ms,
            median_ms: self.ordered(Figure::E2e).quantile(0.5)?,
        })
    }

    pub(super) fn precision(&self) -> Precision {
        let times: Vec<f64> = (self.answers.iter())
            .filter_map(|answer| answer.e2e.ms())
            .collect();
        let mean_s = times.iter().sum::<f64>() / self.answers.len() as f64 / 1e3;
        let streams = match self.context.scenario.load.shape {
            Shape::Closed { concurrency, .. } => Some(concurrency),
            Shape::Open { .. } | Shape::Replay { .. } => None,
        };
        let spread = spread(&times);
        // Of a burst the start and the end are unlike the rest, which fewer batches would take for
        // noise.
        let keeps_places = streams.is_some_and(|streams| streams > 1) && self.is_steady();
        let ttft = || self.ttft.iter().map(|&(_, ms)| ms).collect::<Vec<f64>>();
        Precision {
            requests: self.totals.answers as f64,
            waves: self.window_s().unwrap_or_default() / mean_s,
            is_open: streams.is_none(),
            effect: match streams {
                None => effect_of_all(&ttft(), self.weight()),
                Some(_) => 1.0,
            },
            spread,
            bunching: match self.context.scenario.load.shape {
                Shape::Open {
                    arrival: Arrival::Gamma(burstiness),
                    ..
                } => burstiness.recip().max(1.0),
                _ => 1.0,
            },
            streams: f64::from(streams.unwrap_or_default()),
            memory: if keeps_places { memory(spread) } else { 0.0 },
            weight: self.weight(),
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
        let all_sent = |count| self.totals.sent >= count;
        let to = match self.context.scenario.load.extent.requests() {
            Some(count) if !all_sent(count) => self.sending_ended(),
            Some(_) => self.totals.last_sent?,
            None => self.sending_ended(),
        };
        let lengths = self.answers.iter().filter_map(|answer| answer.e2e.ms());
        let mean_ms = lengths.sum::<f64>() / self.answers.len() as f64;
        if to <= from || ms(to.since(from)) < mean_ms * LEAST_ANSWERS {
            return None;
        }
        // Each sweep is as large as the run, so one at a time.
        let bins = |sweep: InFlight| sweep.bins(from, to, IN_FLIGHT_BINS);
        let busy = bins(self.in_flight_since(Moment::Busy));
        let left = bins(self.left_since(from));
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
        (conversation.as_ref()).is_some_and(Conversation::idles)
    }

    /// How the sends of a closed loop crowd, once the first wave is out, which has its own rule.
    /// Streams with answers of one length that once meet in a batch never part again.
    pub(super) fn wave_evidence(&self, median_ms: f64, waited_ms: f64) -> Option<WaveEvidence> {
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
        let weight = self.weight();
        let kept = (streams as f64 / weight) as usize;
        let first_wave = if self.is_steady() { 0 } else { kept };
        let sends = sends.get(first_wave..)?;
        if sends.len() < kept * LEAST_WAVES {
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
            seen: 2.0 * weight * pairs as f64 / sends.len() as f64,
            even: weight * sends.len() as f64 * span_ms / whole,
            span_ms,
            rounds: rounds(sends, median_ms - waited_ms, waited_ms),
        })
    }
}
