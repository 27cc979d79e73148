//! A run while it goes on: what its records so far show, over time.

use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::{Outcome, Record};
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
    pub ttft_ms: Option<Middle>,
    pub tpot_ms: Option<Middle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Middle {
    pub p50: f64,
    pub p99: f64,
}

#[derive(Clone, Default)]
struct Gathered {
    ok: u64,
    failed: u64,
    tokens: u64,
    ttft_ms: Vec<f64>,
    tpot_ms: Vec<f64>,
}

impl Course {
    pub fn of(records: &[Record]) -> Self {
        let ends = records.iter().filter_map(|record| record.end);
        let last_s = ends
            .map(|end| end.as_duration().as_secs_f64())
            .fold(0.0, f64::max);
        let part_s = (last_s / MOST_PARTS as f64).ceil().max(1.0);
        let count = (last_s / part_s).ceil() as usize;
        let mut parts =
            vec![Gathered::default(); count.clamp(usize::from(last_s > 0.0), MOST_PARTS)];
        let mut course = Course {
            part_s,
            ..Course::default()
        };
        for record in records {
            let Some(end) = record.end else { continue };
            let place = (end.as_duration().as_secs_f64() / part_s) as usize;
            let last = parts.len().saturating_sub(1);
            let Some(part) = parts.get_mut(place.min(last)) else {
                continue;
            };
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
        course.parts = parts.into_iter().map(|it| it.part(part_s)).collect();
        course
    }
}

impl Gathered {
    fn part(self, seconds: f64) -> Part {
        Part {
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
    use inferometer_core::units::Offset;
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
        let course = Course::of(&records);
        let rates: Vec<f64> = course.parts.iter().map(|it| it.requests_per_s).collect();
        assert_eq!(rates, [2.0, 0.0, 1.0]);
        assert_eq!((course.ok, course.failed, course.cut), (3, 0, 1));
        let long = Course::of(&[ended(500, Outcome::Done), ended(3_600_000, Outcome::Done)]);
        assert_eq!((long.part_s, long.parts.len()), (30.0, MOST_PARTS));
        assert_eq!(
            long.parts.last().map(|it| it.requests_per_s * 30.0),
            Some(1.0)
        );
        assert_eq!(Course::of(&[]).parts, []);
    }
}
