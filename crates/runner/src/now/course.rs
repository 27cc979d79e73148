//! A run while it goes on: what its records so far show, over time.

use inferometer_analysis::thinning::Thinning;
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::{Outcome, Record};
use inferometer_core::server::{EngineState, Sample};
use inferometer_core::units::Offset;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;

/// Parts of the time axis at most.
const MOST_PARTS: usize = 120;

/// The records of a run so far, in parts of equal time, warm-up and hold included.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Course {
    /// Seconds of each part.
    pub part_s: f64,
    pub parts: Vec<Part>,
    /// Parts of which all is known; of those after them more is still to be told.
    pub whole: usize,
    pub ok: u64,
    pub failed: u64,
    pub cut: u64,
    pub output_tokens: u64,
}

/// A part of the time: what ended in it, the tokens and first tokens that came.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    pub requests_per_s: f64,
    pub output_tokens_per_s: f64,
    pub failed: u64,
    /// Requests under way at its end.
    pub in_flight: u64,
    pub ttft_ms: Option<Middle>,
    pub tpot_ms: Option<Middle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Middle {
    pub p50: f64,
    pub p99: f64,
}

/// What the server and its devices said, each as a mean over the parts of a course; empty where
/// it never was said.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gauges {
    pub running: Vec<Option<f64>>,
    pub waiting: Vec<Option<f64>>,
    /// Share of the KV cache in use, 0 to 1.
    pub kv_use: Vec<Option<f64>>,
    /// Of all devices together.
    pub power_w: Vec<Option<f64>>,
}

impl Gauges {
    pub fn of(samples: &[Sample], course: &Course) -> Self {
        let gauge = |of: &dyn Fn(&Sample) -> Option<f64>| {
            let mut seen = vec![(0.0, 0_u32); course.parts.len()];
            for sample in samples {
                let place = place(sample.at, course.part_s);
                if let (Some(value), Some((sum, count))) = (of(sample), seen.get_mut(place)) {
                    *sum += value;
                    *count += 1;
                }
            }
            let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
            let values: Vec<Option<f64>> = seen.into_iter().map(mean).collect();
            if values.iter().all(Option::is_none) {
                Vec::new()
            } else {
                values
            }
        };
        let engine = |of: fn(&EngineState) -> Option<f64>| {
            gauge(&move |sample| sample.engine.as_ref().and_then(of))
        };
        Gauges {
            running: engine(|engine| engine.running),
            waiting: engine(|engine| engine.waiting),
            kv_use: engine(|engine| engine.kv_use),
            power_w: gauge(&|sample| {
                let powers = sample.devices.iter().filter_map(|device| device.power_w);
                powers.reduce(|sum, power| sum + power)
            }),
        }
    }
}

/// The records of a run, gathered as they end: a look at the course takes as long after a million
/// requests as after some thousands.
#[derive(Debug)]
pub struct Gathering {
    part_s: f64,
    parts: Vec<Gathered>,
    last_end: Offset,
    /// Requests that ended of late, or were sent of late: when.
    recent: VecDeque<[Offset; 2]>,
    ok: u64,
    failed: u64,
    cut: u64,
    output_tokens: u64,
}

impl Default for Gathering {
    fn default() -> Self {
        Gathering {
            part_s: 1.0,
            parts: Vec::new(),
            last_end: Offset::default(),
            recent: VecDeque::new(),
            ok: 0,
            failed: 0,
            cut: 0,
            output_tokens: 0,
        }
    }
}

/// What came in a part of the time.
#[derive(Debug, Default)]
struct Gathered {
    ok: u64,
    failed: u64,
    tokens: f64,
    sent: u64,
    ended: u64,
    ttft_ms: Share,
    tpot_ms: Share,
}

/// Times of which so many are kept as make a good 99th percentile.
#[derive(Debug, Default)]
struct Share {
    thinning: Thinning,
    kept: Vec<(u64, f64)>,
    /// As they were when they were last looked at.
    middle: Option<Option<Middle>>,
}

impl Share {
    const MOST: usize = 4_096;

    fn add(&mut self, index: u64, time: Option<Duration>) {
        let Some(time) = time.filter(|_| self.thinning.keeps(index)) else {
            return;
        };
        self.kept.push((index, time.as_secs_f64() * 1e3));
        self.middle = None;
        self.bound();
    }

    fn merge(&mut self, other: Self) {
        self.thinning = self.thinning.with(other.thinning);
        self.kept.extend(other.kept);
        self.kept.retain(|(index, _)| self.thinning.keeps(*index));
        self.middle = None;
        self.bound();
    }

    fn bound(&mut self) {
        while self.kept.len() > Self::MOST {
            self.thinning.halve();
            self.kept.retain(|(index, _)| self.thinning.keeps(*index));
        }
    }

    /// Its percentiles with those of requests under way.
    fn middle(&mut self, under_way: &[f64]) -> Option<Middle> {
        if let (Some(known), []) = (self.middle, under_way) {
            return known;
        }
        let kept = self.kept.iter().map(|(_, ms)| *ms);
        let found = middle(kept.chain(under_way.iter().copied()).collect());
        if under_way.is_empty() {
            self.middle = Some(found);
        }
        found
    }
}

impl Gathered {
    fn merge(&mut self, other: Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.tokens += other.tokens;
        self.sent += other.sent;
        self.ended += other.ended;
        self.ttft_ms.merge(other.ttft_ms);
        self.tpot_ms.merge(other.tpot_ms);
    }
}

/// What requests that have not ended add to a part.
#[derive(Clone, Default)]
struct UnderWay {
    sent: u64,
    tokens: f64,
    ttft_ms: Vec<f64>,
}

impl Gathering {
    /// Takes a request that ended.
    pub fn add(&mut self, record: &Record) {
        let Some(end) = record.end else {
            self.cut += 1;
            return;
        };
        self.last_end = self.last_end.max(end);
        let is_done = record.outcome == Outcome::Done;
        if let Some(sent) = record.sent {
            self.part(sent).sent += 1;
            self.part(end).ended += 1;
            self.recent.push_back([sent, end]);
        }
        if is_done {
            if let Some(first) = record.first_token() {
                let ttft = record.ttft();
                self.part(first).ttft_ms.add(record.index, ttft);
            }
            let tokens = record.output_tokens().unwrap_or_default();
            self.output_tokens += u64::from(tokens);
            self.part(record.last_token().unwrap_or(end));
            for (at, tokens) in spread(record, f64::from(tokens), self.part_s) {
                if let Some(part) = self.parts.get_mut(at) {
                    part.tokens += tokens;
                }
            }
        }
        let index = record.index;
        let part = self.part(end);
        match record.outcome {
            Outcome::Done => {
                part.ok += 1;
                part.tpot_ms.add(index, record.tpot());
                self.ok += 1;
            }
            Outcome::Cut | Outcome::Cancelled => self.cut += 1,
            Outcome::Failed(_) => {
                part.failed += 1;
                self.failed += 1;
            }
        }
    }

    /// The part of a moment. Where the axis grows beyond its parts, two become one.
    fn part(&mut self, at: Offset) -> &mut Gathered {
        while place(at, self.part_s) >= MOST_PARTS {
            self.part_s *= 2.0;
            let mut pairs = std::mem::take(&mut self.parts).into_iter();
            while let Some(mut first) = pairs.next() {
                if let Some(second) = pairs.next() {
                    first.merge(second);
                }
                self.parts.push(first);
            }
        }
        let at = place(at, self.part_s);
        while self.parts.len() <= at {
            self.parts.push(Gathered::default());
        }
        &mut self.parts[at]
    }

    /// The course until now, or to the last end where that is later, with the requests under way. Of
    /// requests that are sent after `told_until`, not all are known yet: how many are in flight is
    /// what it was then.
    pub fn course<'a>(
        &mut self,
        under_way: impl Iterator<Item = &'a Record> + Clone,
        now: Offset,
        told_until: Offset,
    ) -> Course {
        let last = now.max(self.last_end);
        if last > Offset::default() {
            self.part(last);
        }
        let in_flight = self.in_flight(under_way.clone(), told_until);
        let mut more = vec![UnderWay::default(); self.parts.len()];
        let mut sent_before = 0;
        for record in under_way {
            self.add_under_way(record, &mut more);
        }
        let part_s = self.part_s;
        let part = |(at, (gathered, more)): (usize, (&mut Gathered, UnderWay))| {
            sent_before += gathered.sent + more.sent;
            sent_before = sent_before.saturating_sub(gathered.ended);
            let is_told = (at + 1) as f64 * part_s <= told_until.as_duration().as_secs_f64();
            Part {
                requests_per_s: gathered.ok as f64 / part_s,
                output_tokens_per_s: (gathered.tokens + more.tokens) / part_s,
                failed: gathered.failed,
                in_flight: if is_told { sent_before } else { in_flight },
                ttft_ms: gathered.ttft_ms.middle(&more.ttft_ms),
                tpot_ms: gathered.tpot_ms.middle(&[]),
            }
        };
        let parts = self.parts.iter_mut().zip(more).enumerate().map(part);
        let parts: Vec<Part> = parts.collect();
        let told = told_until.as_duration().as_secs_f64() / part_s;
        Course {
            part_s,
            whole: (told as usize).clamp(1, parts.len().max(1)),
            parts,
            ok: self.ok,
            failed: self.failed,
            cut: self.cut,
            output_tokens: self.output_tokens,
        }
    }

    fn add_under_way(&self, record: &Record, more: &mut [UnderWay]) {
        if let Some(part) = (record.sent).and_then(|at| more.get_mut(place(at, self.part_s))) {
            part.sent += 1;
        }
        if let Some(first) = record.first_token()
            && let Some(part) = more.get_mut(place(first, self.part_s))
        {
            let ttft = record.ttft().map(|ttft| ttft.as_secs_f64() * 1e3);
            part.ttft_ms.extend(ttft);
        }
        for (at, tokens) in spread(record, record.chunks.len() as f64, self.part_s) {
            if let Some(part) = more.get_mut(at) {
                part.tokens += tokens;
            }
        }
    }

    /// Requests under way at a moment not long ago, earlier than which nobody asks again.
    pub fn in_flight<'a>(
        &mut self,
        under_way: impl Iterator<Item = &'a Record>,
        at: Offset,
    ) -> u64 {
        self.recent.retain(|[_, end]| *end > at);
        let ended_since = self.recent.iter().filter(|[sent, _]| *sent <= at).count();
        let under_way = under_way.filter(|it| it.sent.is_some_and(|sent| sent <= at));
        (ended_since + under_way.count()) as u64
    }
}

/// Tokens count where they came, evenly from the first to the last: so many in each part.
fn spread(record: &Record, tokens: f64, part_s: f64) -> impl Iterator<Item = (usize, f64)> {
    let seconds = |at: Offset| at.as_duration().as_secs_f64();
    let to = record.last_token().or(record.end);
    let ends = to.map(|to| (record.first_token().unwrap_or(to), to));
    ends.into_iter().flat_map(move |(from, to)| {
        let (from_s, to_s) = (seconds(from), seconds(to));
        let places = place(from, part_s)..=place(to, part_s);
        let whole = places.start() == places.end();
        places.map(move |at| {
            let begin = at as f64 * part_s;
            let inside = to_s.min(begin + part_s) - from_s.max(begin);
            let share = if whole { 1.0 } else { inside / (to_s - from_s) };
            (at, tokens * share)
        })
    })
}

/// The part that a moment lies in; the end of a part belongs to it.
fn place(at: Offset, part_s: f64) -> usize {
    let before = Offset(at.0.saturating_sub(1));
    (before.as_duration().as_secs_f64() / part_s) as usize
}

impl Course {
    /// The last part of which all is known.
    pub fn latest(&self) -> Option<&Part> {
        self.parts.iter().take(self.whole).next_back()
    }
}

fn middle(mut values: Vec<f64>) -> Option<Middle> {
    sort(&mut values);
    Some(Middle {
        p50: quantile(&values, 0.5)?,
        p99: quantile(&values, 0.99)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    const LATER: Offset = Offset(u64::MAX);

    /// Of records as a journal has them: those that ended, and those that have not.
    fn course(records: &[Record], now: Offset, told_until: Offset) -> Course {
        let mut gathering = Gathering::default();
        let has_ended = |record: &&Record| record.end.is_some();
        records
            .iter()
            .filter(has_ended)
            .for_each(|it| gathering.add(it));
        let under_way = records.iter().filter(|it| !has_ended(it));
        gathering.course(under_way, now, told_until)
    }

    #[test]
    fn tokens_and_first_tokens_count_where_they_came_and_the_newest_requests_not_at_all() {
        let at = |ms: u64| Offset::after(Duration::from_millis(ms));
        let mut done = Record {
            sent: Some(at(0)),
            end: Some(at(4_000)),
            outcome: Outcome::Done,
            ..Record::default()
        };
        done.chunks.at = (0..=40).map(|it| at(it * 100)).collect();
        done.retokenized = Some(400);
        let mut under_way = Record {
            sent: Some(at(500)),
            ..Record::default()
        };
        under_way.chunks.at = vec![at(1_100), at(1_200)];
        let newest = Record {
            sent: Some(at(3_300)),
            end: Some(at(3_400)),
            outcome: Outcome::Done,
            ..Record::default()
        };
        let seen = course(&[done, under_way, newest], at(4_000), at(2_500));
        let rates: Vec<f64> = seen.parts.iter().map(|it| it.output_tokens_per_s).collect();
        assert_eq!(rates, [100.0, 102.0, 100.0, 100.0]);
        let in_flight: Vec<u64> = seen.parts.iter().map(|it| it.in_flight).collect();
        assert_eq!(in_flight, [2, 2, 2, 2]);
        assert_eq!(seen.parts[1].ttft_ms.unwrap().p50, 600.0);
    }

    #[test]
    fn what_was_sent_and_has_not_ended_is_in_flight() {
        let sent = |from_ms: u64, end_ms: Option<u64>| Record {
            sent: Some(Offset::after(Duration::from_millis(from_ms))),
            end: end_ms.map(|ms| Offset::after(Duration::from_millis(ms))),
            ..Record::default()
        };
        let records = [sent(0, Some(1_000)), sent(500, None), sent(3_000, None)];
        let mut gathering = Gathering::default();
        gathering.add(&records[0]);
        let mut at = |ms: u64| {
            let at = Offset::after(Duration::from_millis(ms));
            gathering.in_flight(records[1..].iter(), at)
        };
        assert_eq!((at(800), at(2_000)), (2, 1));
    }

    #[test]
    fn each_part_has_what_ended_in_it_however_long_the_run() {
        let ended = |ms: u64, outcome: Outcome| Record {
            sent: Some(Offset::default()),
            end: Some(Offset::after(Duration::from_millis(ms))),
            outcome,
            ..Record::default()
        };
        let records = [
            ended(200, Outcome::Done),
            ended(900, Outcome::Done),
            ended(2_500, Outcome::Done),
            ended(2_600, Outcome::Cancelled),
        ];
        let seen = course(&records, Offset::default(), LATER);
        let rates: Vec<f64> = seen.parts.iter().map(|it| it.requests_per_s).collect();
        assert_eq!(rates, [2.0, 0.0, 1.0]);
        assert_eq!((seen.ok, seen.failed, seen.cut), (3, 0, 1));
        let in_flight: Vec<u64> = seen.parts.iter().map(|it| it.in_flight).collect();
        assert_eq!(in_flight, [2, 2, 0]);
        let long = [ended(500, Outcome::Done), ended(3_600_000, Outcome::Done)];
        let long = course(&long, Offset::default(), LATER);
        // An hour in parts that are as long as two of the parts before.
        assert_eq!((long.part_s, long.parts.len()), (32.0, 113));
        let ended = long.parts.iter().map(|it| it.requests_per_s * 32.0);
        let ended: Vec<f64> = ended.filter(|count| *count > 0.0).collect();
        assert_eq!((ended, long.ok), (vec![1.0, 1.0], 2));
        assert_eq!(course(&[], Offset::default(), LATER).parts, []);
    }

    #[test]
    fn a_course_is_the_same_whenever_it_was_looked_at_and_its_percentiles_rest_on_a_share() {
        let at = |ms: u64| Offset::after(Duration::from_millis(ms));
        let answer = |index: u64| {
            let sent = 10 * index;
            let mut answer = Record {
                index,
                sent: Some(at(sent)),
                end: Some(at(sent + 150)),
                outcome: Outcome::Done,
                ..Record::default()
            };
            let ttft = 50 + index.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 100;
            answer.chunks.at = vec![at(sent + ttft), at(sent + 150)];
            answer
        };
        // Five hundred seconds, so that parts become four as long.
        let records: Vec<Record> = (0..50_000).map(answer).collect();
        let (now, told) = (at(500_150), at(498_650));
        let whole = course(&records, now, told);
        let mut looked_at = Gathering::default();
        for (nth, record) in records.iter().enumerate() {
            looked_at.add(record);
            if nth % 7_000 == 0 {
                let now = record.end.unwrap();
                looked_at.course([].iter(), now, Offset(now.0.saturating_sub(1_500_000_000)));
            }
        }
        let looked_at = looked_at.course([].iter(), now, told);
        assert_eq!(looked_at.part_s, 8.0);
        let figures = |course: &Course| {
            let figures = |it: &Part| (it.requests_per_s, it.in_flight, it.ttft_ms, it.tpot_ms);
            Vec::from_iter(course.parts.iter().map(figures))
        };
        assert_eq!(figures(&looked_at), figures(&whole));
        let part = &whole.parts[20];
        assert_eq!((part.requests_per_s, part.in_flight), (100.0, 15));
        let ttft = part.ttft_ms.unwrap();
        assert!(
            (95.0..105.0).contains(&ttft.p50) && ttft.p99 > 140.0,
            "{ttft:?}"
        );
        let mut share = Share::default();
        for index in 0..100_000 {
            share.add(index, Some(Duration::from_millis(index % 1_000)));
        }
        assert!(share.kept.len() <= Share::MOST);
        let middle = share.middle(&[]).unwrap();
        assert!(
            (450.0..550.0).contains(&middle.p50) && middle.p99 > 970.0,
            "{middle:?}"
        );
    }

    #[test]
    fn a_server_that_fell_silent_still_has_requests_in_flight_and_no_throughput() {
        let at = |ms: u64| Offset::after(Duration::from_millis(ms));
        let unended = Record {
            sent: Some(at(100)),
            outcome: Outcome::Cut,
            ..Record::default()
        };
        let seen = course(&[unended], at(3_500), at(2_000));
        assert_eq!(seen.parts.len(), 4);
        let latest = seen.latest().unwrap();
        assert_eq!((latest.in_flight, latest.requests_per_s), (1, 0.0));
    }

    #[test]
    fn gauges_lie_on_the_time_axis_of_the_course_and_are_absent_where_nothing_was_said() {
        let said = |ms: u64, running: Option<f64>| Sample {
            at: Offset::after(Duration::from_millis(ms)),
            engine: Some(EngineState {
                running,
                ..EngineState::default()
            }),
            ..Sample::default()
        };
        let seen = course(&[], Offset::after(Duration::from_millis(2_500)), LATER);
        let samples = [
            said(100, Some(2.0)),
            said(900, Some(4.0)),
            said(2_100, Some(8.0)),
        ];
        let gauges = Gauges::of(&samples, &seen);
        assert_eq!(gauges.running, [Some(3.0), None, Some(8.0)]);
        assert_eq!((gauges.waiting, gauges.power_w), (vec![], vec![]));
    }
}
