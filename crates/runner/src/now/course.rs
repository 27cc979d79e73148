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
    pub ok: u64,
    pub failed: u64,
    pub cut: u64,
    pub output_tokens: u64,
}

/// What ended in a part of the time.
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
    tokens: u64,
    begun: u64,
    ended: u64,
    ttft_ms: Vec<f64>,
    tpot_ms: Vec<f64>,
}

impl Course {
    /// The course until now, or to the last end where that is later.
    pub fn of(records: &[Record], now: Offset) -> Self {
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
            if let Some(sent) = record.sent
                && let Some(part) = parts.get_mut(course.place(sent).min(last))
            {
                part.begun += 1;
            }
            let Some(end) = record.end else { continue };
            let Some(part) = parts.get_mut(course.place(end).min(last)) else {
                continue;
            };
            part.ended += u64::from(record.sent.is_some());
            let tokens = u64::from(record.output_tokens().unwrap_or_default());
            match record.outcome {
                Outcome::Done => {
                    course.ok += 1;
                    course.output_tokens += tokens;
                    part.ok += 1;
                    part.tokens += tokens;
                    let ms = |span: std::time::Duration| span.as_secs_f64() * 1e3;
                    part.ttft_ms.extend(record.ttft().map(ms));
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
        course
    }

    /// The part that a moment lies in.
    fn place(&self, at: Offset) -> usize {
        (at.as_duration().as_secs_f64() / self.part_s) as usize
    }

    /// The last part that is over, since the last of all has only begun.
    pub fn latest(&self) -> Option<&Part> {
        let over = self.parts.len().saturating_sub(1).max(1);
        self.parts.iter().take(over).next_back()
    }
}

impl Gathered {
    fn part(self, seconds: f64, in_flight: u64) -> Part {
        Part {
            in_flight,
            requests_per_s: self.ok as f64 / seconds,
            output_tokens_per_s: self.tokens as f64 / seconds,
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
        let course = Course::of(&records, Offset::default());
        let rates: Vec<f64> = course.parts.iter().map(|it| it.requests_per_s).collect();
        assert_eq!(rates, [2.0, 0.0, 1.0]);
        assert_eq!((course.ok, course.failed, course.cut), (3, 0, 1));
        let in_flight: Vec<u64> = course.parts.iter().map(|it| it.in_flight).collect();
        assert_eq!(in_flight, [2, 2, 0]);
        let long = [ended(500, Outcome::Done), ended(3_600_000, Outcome::Done)];
        let long = Course::of(&long, Offset::default());
        assert_eq!((long.part_s, long.parts.len()), (30.0, MOST_PARTS));
        assert_eq!(
            long.parts.last().map(|it| it.requests_per_s * 30.0),
            Some(1.0)
        );
        assert_eq!(Course::of(&[], Offset::default()).parts, []);
    }

    #[test]
    fn a_server_that_fell_silent_still_has_requests_in_flight_and_no_throughput() {
        let at = |ms: u64| Offset::after(Duration::from_millis(ms));
        let unended = Record {
            sent: Some(at(100)),
            outcome: Outcome::Cut,
            ..Record::default()
        };
        let course = Course::of(&[unended], at(3_500));
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
        let course = Course::of(&[], Offset::after(Duration::from_millis(2_500)));
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
