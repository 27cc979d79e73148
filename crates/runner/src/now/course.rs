//! A run while it goes on: what its records so far show, over time.

use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::{Outcome, Record};
use inferometer_core::server::{EngineState, Sample};
use inferometer_core::units::Offset;
use serde::Serialize;

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
                let place = course.place(sample.at);
                if let (Some(value), Some((sum, count))) = (of(sample), seen.get_mut(place)) {
                    *sum += value;
                    *count += 1;
                }
            }
            let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
            let values: Vec<Option<f64>> = seen.into_iter().map(mean).collect();
            match values.iter().all(Option::is_none) {
                true => Vec::new(),
                false => values,
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

#[derive(Clone, Default)]
struct Gathered {
    ok: u64,
    failed: u64,
    tokens: f64,
    begun: u64,
    ended: u64,
    ttft_ms: Vec<f64>,
    tpot_ms: Vec<f64>,
}

impl Course {
    /// The course until now, or to the last end where that is later. Of requests that are sent after
    /// `told_until`, not all are known yet: how many are in flight is what it was then.
    pub fn of(records: &[Record], now: Offset, told_until: Offset) -> Self {
        let ends = records.iter().filter_map(|record| record.end);
        let last_s = ends.fold(now, Offset::max).as_duration().as_secs_f64();
        let part_s = (last_s / MOST_PARTS as f64).ceil().max(1.0);
        let count = (last_s / part_s).ceil() as usize;
        let mut parts =
            vec![Gathered::default(); count.clamp(usize::from(last_s > 0.0), MOST_PARTS)];
        let mut course = Course {
            part_s,
            ..Course::default()
        };
        let last = parts.len().saturating_sub(1);
        for record in records {
            let is_told = |at: &Offset| *at <= told_until;
            if let Some(sent) = record.sent.filter(is_told)
                && let Some(part) = parts.get_mut(course.place(sent).min(last))
            {
                part.begun += 1;
            }
            let is_good = record.end.is_none() || record.outcome == Outcome::Done;
            let ms = |span: std::time::Duration| span.as_secs_f64() * 1e3;
            if let Some(first) = record.first_token().filter(|_| is_good)
                && let Some(part) = parts.get_mut(course.place(first).min(last))
            {
                part.ttft_ms.extend(record.ttft().map(ms));
            }
            if is_good {
                course.spread_tokens(record, &mut parts);
            }
            let Some(end) = record.end else { continue };
            let Some(part) = parts.get_mut(course.place(end).min(last)) else {
                continue;
            };
            part.ended += u64::from(record.sent.is_some_and(|it| is_told(&it)) && is_told(&end));
            match record.outcome {
                Outcome::Done => {
                    course.ok += 1;
                    course.output_tokens += u64::from(record.output_tokens().unwrap_or_default());
                    part.ok += 1;
                    part.tpot_ms.extend(record.tpot().map(ms));
                }
                Outcome::Cut | Outcome::Cancelled => course.cut += 1,
                Outcome::Failed(_) => {
                    course.failed += 1;
                    part.failed += 1;
                }
            }
        }
        let mut in_flight = 0_u64;
        let part = |gathered: Gathered| {
            in_flight = (in_flight + gathered.begun).saturating_sub(gathered.ended);
            gathered.part(part_s, in_flight)
        };
        course.parts = parts.into_iter().map(part).collect();
        let told = told_until.as_duration().as_secs_f64() / part_s;
        course.whole = (told as usize).clamp(1, course.parts.len().max(1));
        course
    }

    /// Tokens count where they came, evenly from the first to the last; of an answer under way as
    /// many as it has chunks.
    fn spread_tokens(&self, record: &Record, parts: &mut [Gathered]) {
        let tokens = match record.end {
            Some(_) => record.output_tokens().map(f64::from).unwrap_or_default(),
            None => record.chunks.len() as f64,
        };
        let Some(to) = record.last_token().or(record.end) else {
            return;
        };
        let from = record.first_token().unwrap_or(to);
        let last = parts.len().saturating_sub(1);
        let seconds = |at: Offset| at.as_duration().as_secs_f64();
        let (from_s, to_s) = (seconds(from), seconds(to));
        let places = self.place(from).min(last)..=self.place(to).min(last);
        let whole = places.start() == places.end();
        for place in places {
            let begin = place as f64 * self.part_s;
            let inside = to_s.min(begin + self.part_s) - from_s.max(begin);
            let share = if whole { 1.0 } else { inside / (to_s - from_s) };
            if let Some(part) = parts.get_mut(place) {
                part.tokens += tokens * share;
            }
        }
    }

    /// The part that a moment lies in.
    fn place(&self, at: Offset) -> usize {
        (at.as_duration().as_secs_f64() / self.part_s) as usize
    }

    /// The last part of which all is known.
    pub fn latest(&self) -> Option<&Part> {
        self.parts.iter().take(self.whole).next_back()
    }
}

impl Gathered {
    fn part(self, seconds: f64, in_flight: u64) -> Part {
        Part {
            in_flight,
            requests_per_s: self.ok as f64 / seconds,
            output_tokens_per_s: self.tokens / seconds,
            failed: self.failed,
            ttft_ms: middle(self.ttft_ms),
            tpot_ms: middle(self.tpot_ms),
        }
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
    use std::time::Duration;

    const LATER: Offset = Offset(u64::MAX);

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
        let course = Course::of(&[done, under_way, newest], at(4_000), at(2_500));
        let rates: Vec<f64> = course
            .parts
            .iter()
            .map(|it| it.output_tokens_per_s)
            .collect();
        assert_eq!(rates, [100.0, 102.0, 100.0, 100.0]);
        let in_flight: Vec<u64> = course.parts.iter().map(|it| it.in_flight).collect();
        assert_eq!(in_flight, [2, 2, 2, 2]);
        assert_eq!(course.parts[1].ttft_ms.unwrap().p50, 600.0);
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
        let course = Course::of(&records, Offset::default(), LATER);
        let rates: Vec<f64> = course.parts.iter().map(|it| it.requests_per_s).collect();
        assert_eq!(rates, [2.0, 0.0, 1.0]);
        assert_eq!((course.ok, course.failed, course.cut), (3, 0, 1));
        let in_flight: Vec<u64> = course.parts.iter().map(|it| it.in_flight).collect();
        assert_eq!(in_flight, [2, 2, 0]);
        let long = [ended(500, Outcome::Done), ended(3_600_000, Outcome::Done)];
        let long = Course::of(&long, Offset::default(), LATER);
        assert_eq!((long.part_s, long.parts.len()), (30.0, MOST_PARTS));
        assert_eq!(
            long.parts.last().map(|it| it.requests_per_s * 30.0),
            Some(1.0)
        );
        assert_eq!(Course::of(&[], Offset::default(), LATER).parts, []);
    }

    #[test]
    fn a_server_that_fell_silent_still_has_requests_in_flight_and_no_throughput() {
        let at = |ms: u64| Offset::after(Duration::from_millis(ms));
        let unended = Record {
            sent: Some(at(100)),
            outcome: Outcome::Cut,
            ..Record::default()
        };
        let course = Course::of(&[unended], at(3_500), at(2_000));
        assert_eq!(course.parts.len(), 4);
        let latest = course.latest().unwrap();
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
        let course = Course::of(&[], Offset::after(Duration::from_millis(2_500)), LATER);
        let samples = [
            said(100, Some(2.0)),
            said(900, Some(4.0)),
            said(2_100, Some(8.0)),
        ];
        let gauges = Gauges::of(&samples, &course);
        assert_eq!(gauges.running, [Some(3.0), None, Some(8.0)]);
        assert_eq!((gauges.waiting, gauges.power_w), (vec![], vec![]));
    }
}
