//! The steady state of a run, and whether an open loop was overloaded.
//!
//! Bins of throughput, requests under way and TTFT are truncated at the beginning by MSER-5;
//! the drain at the end is cut. That there is none is an answer.

use inferometer_core::units::Offset;
use inferometer_statistics::InFlight;
use inferometer_statistics::{Test, climbs, mser5, rising_trend};

const LONGEST_BIN_S: f64 = 1.0;
/// Fewest bins, by which short runs get shorter ones.
const LEAST_BINS: usize = 100;
/// Most bins, by which very long runs get longer ones.
const MOST_BINS: usize = 20_000;
/// Fewest bins with a TTFT for it to have a say.
const LEAST_TTFT_BINS: usize = 20;
/// Bins of the trend test: coarse, so that neighbours are nearly independent.
const TREND_BINS: usize = 20;
/// Fewest first tokens in the trend test.
const LEAST_TREND_VALUES: usize = 40;

/// What the search looks at.
pub struct Course<'a> {
    pub from: Offset,
    /// The load had gone on for a while by then: no queue is still filling.
    pub settled: bool,
    /// When sending ended: from there on requests only drain.
    pub sending_ended: Offset,
    pub in_flight: &'a InFlight,
    /// Moment of sending (or due) and TTFT in milliseconds, ordered by start.
    pub ttft_ms: &'a [(Offset, f64)],
}

/// The part of a run over which throughput, requests under way and TTFT have settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    pub from: Offset,
    pub to: Offset,
}

impl Steady {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.to.since(self.from).as_secs_f64()
    }
}

fn bin_count(seconds: f64) -> usize {
    ((seconds / LONGEST_BIN_S).ceil() as usize).clamp(LEAST_BINS, MOST_BINS)
}

/// Finds the steady state. `events` gives the number of token events in each of so many equal
/// parts of a span.
pub fn find(
    course: &Course<'_>,
    events: impl Fn(Offset, Offset, usize) -> Vec<f64>,
) -> Option<Steady> {
    let (from, to) = (course.from, course.sending_ended);
    let seconds = to.since(from).as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    let count = bin_count(seconds);
    let throughput = mser5(&events(from, to, count))?;
    let in_flight = mser5(&course.in_flight.bins(from, to, count))?;
    let ttft = ttft_cut(course, count)?;
    let cut = throughput.max(in_flight).max(ttft);
    let width = to.since(from) / u32::try_from(count).ok()?;
    Some(Steady {
        from: from + width * u32::try_from(cut).ok()?,
        to,
    })
}

/// Bins to cut so that TTFT has settled. Bins without a first token have no value and are left
/// out; with too few of them TTFT has no say.
fn ttft_cut(course: &Course<'_>, count: usize) -> Option<usize> {
    let bins = ttft_bins(course, course.from, course.sending_ended, count);
    let (indices, means): (Vec<usize>, Vec<f64>) = bins
        .iter()
        .enumerate()
        .filter_map(|(index, mean)| mean.map(|mean| (index, mean)))
        .unzip();
    if means.len() < LEAST_TTFT_BINS {
        return Some(0);
    }
    match mser5(&means)? {
        0 => Some(0),
        cut => indices.get(cut).copied(),
    }
}

/// Mean TTFT of the requests that started in each bin.
fn ttft_bins(course: &Course<'_>, from: Offset, to: Offset, count: usize) -> Vec<Option<f64>> {
    let width = to.since(from).as_secs_f64() / count as f64;
    let mut sums = vec![(0.0, 0u32); count];
    for &(start, ttft) in course.ttft_ms {
        if start < from || start >= to {
            continue;
        }
        let bin = ((start.since(from).as_secs_f64() / width) as usize).min(count - 1);
        sums[bin].0 += ttft;
        sums[bin].1 += 1;
    }
    sums.iter()
        .map(|&(sum, n)| (n > 0).then(|| sum / f64::from(n)))
        .collect()
}

/// Requests under way and TTFT both rose while arrivals went on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// Requests under way in the middle and at the end of sending.
    pub in_flight: [f64; 2],
    /// Mean TTFT there, in milliseconds.
    pub ttft_ms: [f64; 2],
}

/// Whether an open loop was overloaded: both series rise with significance, and requests under way
/// rise by more than a tenth and more than chance moves a queue near its limit, which wanders. The
/// first half of the arrivals is left out where it holds the filling of the queue.
pub fn overload(course: &Course<'_>, significance: f64) -> Option<Overload> {
    let begin = |to: Offset| {
        if course.settled {
            course.from
        } else {
            course.from + to.since(course.from) / 2
        }
    };
    let to = course.sending_ended;
    let from = begin(to);
    if to <= from {
        return None;
    }
    let in_flight = course.in_flight.bins(from, to, TREND_BINS);
    // What still waited when the run ended has no TTFT; that of the others ends before it.
    let to = course
        .ttft_ms
        .last()
        .map_or(to, |&(start, _)| start.min(to));
    let from = begin(to);
    if to <= from {
        return None;
    }
    let ttft: Vec<f64> = ttft_bins(course, from, to, TREND_BINS)
        .into_iter()
        .flatten()
        .collect();
    let inside = course
        .ttft_ms
        .iter()
        .filter(|(start, _)| *start >= from && *start < to)
        .count();
    let is_significant = |test: Option<Test>| test.is_some_and(|test| test.p_value < significance);
    let rises = |series: &[f64]| is_significant(rising_trend(series));
    if inside < LEAST_TREND_VALUES
        || !rises(&in_flight)
        || !rises(&ttft)
        || !is_significant(climbs(&in_flight))
    {
        return None;
    }
    let ends = |series: &[f64]| {
        let part = (series.len() / 5).max(1);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        [mean(&series[..part]), mean(&series[series.len() - part..])]
    };
    let [before, after] = ends(&in_flight);
    (after - before > before / 10.0).then(|| Overload {
        in_flight: [before, after],
        ttft_ms: ends(&ttft),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_statistics::UnderWay;
    use std::time::Duration;

    fn at(ms: u64) -> Offset {
        Offset::after(Duration::from_millis(ms))
    }

    /// `n` requests every 50 ms, the i-th taking `latency(i)` ms.
    fn course(n: u64, latency: impl Fn(u64) -> u64) -> (InFlight, Vec<(Offset, f64)>) {
        let requests = (0..n).map(|i| UnderWay {
            from: at(i * 50),
            to: Some(at(i * 50 + latency(i))),
        });
        let ttft = (0..n)
            .map(|i| (at(i * 50), latency(i) as f64 / 10.0))
            .collect();
        (InFlight::sweep(requests), ttft)
    }

    fn even(_: Offset, _: Offset, count: usize) -> Vec<f64> {
        vec![10.0; count]
    }

    #[test]
    fn a_run_that_settles_has_a_steady_state_without_its_beginning_and_drain() {
        let (in_flight, ttft_ms) = course(1000, |i| 400 + i * 7919 % 100);
        let course = Course {
            from: at(0),
            settled: false,
            sending_ended: at(50_000),
            in_flight: &in_flight,
            ttft_ms: &ttft_ms,
        };
        let steady = find(&course, even).unwrap();
        assert_eq!(steady.to, at(50_000));
        assert!(steady.seconds() > 25.0 && steady.seconds() < 50.0);
        assert_eq!(overload(&course, 0.01), None);
    }

    #[test]
    fn a_queue_that_grows_is_overload_and_never_steady() {
        let (in_flight, ttft_ms) = course(1000, |i| 400 + i * 20);
        let course = Course {
            from: at(0),
            settled: false,
            sending_ended: at(50_000),
            in_flight: &in_flight,
            ttft_ms: &ttft_ms,
        };
        assert_eq!(find(&course, even), None);
        let seen = overload(&course, 0.01).unwrap();
        assert!(seen.in_flight[1] > seen.in_flight[0]);
        assert!(seen.ttft_ms[1] > seen.ttft_ms[0]);
    }

    #[test]
    fn all_at_once_has_no_steady_state() {
        let (in_flight, ttft_ms) = course(100, |_| 400);
        let course = Course {
            from: at(0),
            settled: false,
            sending_ended: at(0),
            in_flight: &in_flight,
            ttft_ms: &ttft_ms,
        };
        assert_eq!(find(&course, even), None);
        assert_eq!(overload(&course, 0.01), None);
    }
}
