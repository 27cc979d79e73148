//! How sure a run can be of its figures: whether it is long enough for an interval.
//!
//! A queue remembers for much longer than one request lasts, and the nearer a server is to its
//! limit, the longer. An open loop that is short beside that memory has seen one mood of the
//! queue, and no method can tell from it how the others are; so it states no interval, but how
//! many requests would do. What is asked for was found by trial: docs/accuracy-of-intervals.md.

use super::pool::Counted;
use crate::statistics::{Batches, design_effect};
use inferometer_core::quantile::{least_samples, sort};
use inferometer_core::summary::Distribution;

/// Fewest requests for an interval.
const LEAST_REQUESTS: f64 = 20.0;
/// Mean answers in a batch, where there are enough: shorter ones depend on each other.
const WAVES_OF_BATCH: f64 = 2.5;
/// Shortest window, in mean answers, from which a longer one is estimated.
const SHORTEST: f64 = 0.1;
/// Part of an answer's time that a window may lack to hold so many answers in a row.
const NEARLY: f64 = 0.05;
/// Mean latencies that an open loop must last …
const OPEN_WAVES: f64 = 40.0;
/// … and for what rests on waits, when these depend on each other, since queues that are rare must
/// be seen several times over.
const QUEUED_WAVES: f64 = 500.0;
/// Mean latencies that an open loop must last for the 99th percentile of waits: those beyond it
/// come together, when the server has a bad moment, and a few moments say little of the others.
const TAIL_WAVES: f64 = 100.0;
/// Values beyond the 95th percentile of which so many tell as much as one come together.
const TOGETHER: f64 = 1.5;
/// Where they do, how many is itself uncertain, and runs with a low estimate must not pass alone.
const TOGETHER_MARGIN: f64 = 1.3;
/// Times to first token of which so many tell as much as one depend on each other.
const QUEUED: f64 = 4.0;
/// Independent times to first token that an open loop must have seen.
const INDEPENDENT: f64 = 200.0;
/// Near its limit a server's latencies are those of its queue; how far they depend on each other is
/// then itself known by many of them only, and runs that happened to see a calm queue must not pass.
const NEAR_LIMIT: f64 = 40.0;
const INDEPENDENT_NEAR_LIMIT: f64 = 1000.0;

/// Largest share by which the start may move the rate of a closed loop.
const LARGEST_BIAS: f64 = 0.015;

/// What a figure rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestsOn {
    /// All requests alike.
    Requests,
    /// In an open loop on those that had to wait, which may be few.
    Waits,
}

/// What a run is long enough for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    pub(crate) requests: f64,
    /// Mean answers that follow each other in the window.
    pub(crate) waves: f64,
    /// Arrivals do not wait for answers.
    pub(crate) is_open: bool,
    /// How many times to first token tell as much as one independent one; 1 in a closed loop,
    /// whose queue cannot grow.
    pub(crate) effect: f64,
    /// Requests by which a closed loop runs ahead of its rate: streams that all begin anew answer
    /// short requests first, and the long ones are under way only later. By renewal theory, half of
    /// the squared coefficient of variation less one, for each stream.
    pub(crate) ahead: f64,
    /// How many requests stand behind each value of a sample.
    pub(crate) weight: f64,
}

/// How many of all values tell as much as one independent one, from those that are kept of them:
/// neighbours of a thinned series are that much further apart.
pub(super) fn effect_of_all(kept: &[f64], weight: f64) -> f64 {
    1.0 + (design_effect(kept) - 1.0) * weight
}

impl Precision {
    /// Intervals by batches, or how many requests they would need.
    pub(crate) fn batches(&self, rests_on: RestsOn) -> Result<Batches, u64> {
        let waves = match rests_on {
            _ if !self.is_open => Batches::LEAST as f64 - NEARLY,
            RestsOn::Waits if self.is_queued() => QUEUED_WAVES,
            RestsOn::Requests | RestsOn::Waits => OPEN_WAVES,
        };
        let independent = match rests_on {
            _ if !self.is_open => self.ahead / LARGEST_BIAS,
            RestsOn::Waits if self.is_near_limit() => INDEPENDENT_NEAR_LIMIT * self.effect,
            RestsOn::Requests | RestsOn::Waits => INDEPENDENT * self.effect,
        };
        // A window without length says nothing of how long it should be.
        let needed = (self.requests * waves / self.waves.max(SHORTEST))
            .max(independent)
            .max(LEAST_REQUESTS);
        if self.requests < needed {
            return Err(rounded_up(needed));
        }
        Ok(Batches::of(self.waves / WAVES_OF_BATCH))
    }

    /// Requests for an interval of the 99th percentile of `n` values.
    fn needed_for_tail(&self, rests_on: RestsOn, n: f64, effect: f64) -> f64 {
        let margin = if effect > TOGETHER {
            TOGETHER_MARGIN
        } else {
            1.0
        };
        let least = least_samples(99.0).unwrap_or_default() as f64;
        let independent = self.requests * least * effect * margin / n;
        let waits = self.is_open && rests_on == RestsOn::Waits;
        let long = self.requests * TAIL_WAVES / self.waves.max(SHORTEST);
        if waits {
            independent.max(long)
        } else {
            independent
        }
    }

    /// Waits depend on each other, so that the server's speed follows its queue.
    pub(crate) fn is_queued(&self) -> bool {
        self.effect >= QUEUED
    }

    fn is_near_limit(&self) -> bool {
        self.effect >= NEAR_LIMIT
    }

    /// A sample, in the order of its requests' starts, in numbers with its intervals. Where it is a
    /// share of `all`, the numbers are of all, the intervals of what the share shows, which is less.
    pub(crate) fn described(
        &self,
        values: &[f64],
        all: Option<&Counted>,
        rests_on: RestsOn,
    ) -> Option<Distribution> {
        // Half of the requests wait less than the median, whatever the others do.
        let [rests_on, usual] = if self.is_near_limit() {
            [RestsOn::Waits; 2]
        } else {
            [rests_on, RestsOn::Requests]
        };
        let mut sorted = values.to_vec();
        sort(&mut sorted);
        let mut found = match all {
            Some(all) => all.distribution()?,
            None => Distribution::of_sorted(&sorted)?,
        };
        let in_tail: Vec<f64> = (values.iter())
            .map(|&value| f64::from(u8::from(value > found.p95)))
            .collect();
        let (n, effect) = (found.n as f64, effect_of_all(&in_tail, self.weight));
        found.independent = Some((n / effect) as u64);
        let usual = self.batches(usual).ok();
        found.p50_interval = usual.and_then(|it| it.quantile(values, &sorted, 0.5));
        match self.batches(rests_on) {
            Err(needed) => found.requests_needed = Some(needed),
            Ok(batches) => {
                let least = found.min.min(0.0);
                let interval = batches.mean(values);
                found.mean_interval = interval.map(|[low, high]| [low.max(least), high]);
                let needed = self.needed_for_tail(rests_on, n, effect);
                if self.requests < needed {
                    found.requests_needed = Some(rounded_up(needed));
                } else {
                    found.p99_interval = batches.quantile(values, &sorted, 0.99);
                }
            }
        }
        if all.is_some() {
            let with = |value: f64| move |[low, high]: [f64; 2]| [low.min(value), high.max(value)];
            found.mean_interval = found.mean_interval.map(with(found.mean));
            found.p50_interval = found.p50_interval.map(with(found.p50));
            found.p99_interval = found.p99_interval.map(with(found.p99));
        }
        Some(found)
    }
}

/// Two digits are enough for what is an estimate.
fn rounded_up(requests: f64) -> u64 {
    let unit = 10f64.powf((requests.max(1.0).log10().floor() - 1.0).max(0.0));
    ((requests / unit).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(is_open: bool, requests: f64, waves: f64, effect: f64) -> Precision {
        Precision {
            requests,
            waves,
            is_open,
            effect,
            ahead: 0.0,
            weight: 1.0,
        }
    }

    #[test]
    fn answers_of_very_different_lengths_need_more_requests() {
        let wide = Precision {
            ahead: 36.0,
            ..run(false, 400.0, 16.0, 1.0)
        };
        assert_eq!(wide.batches(RestsOn::Requests), Err(2400));
    }

    #[test]
    fn a_closed_loop_needs_five_waves() {
        let waits = RestsOn::Waits;
        assert!(run(false, 160.0, 5.0, 1.0).batches(waits).is_ok());
        assert_eq!(run(false, 120.0, 3.75, 1.0).batches(waits), Err(160));
        assert_eq!(run(false, 10.0, 10.0, 1.0).batches(waits), Err(20));
    }

    #[test]
    fn a_tail_that_comes_together_needs_more() {
        let needed = |is_open, waves, rests_on, effect| {
            run(is_open, 1000.0, waves, 2.0).needed_for_tail(rests_on, 1000.0, effect)
        };
        assert_eq!(needed(false, 30.0, RestsOn::Waits, 1.0), 459.0);
        assert_eq!(needed(false, 30.0, RestsOn::Waits, 2.0), 918.0 * 1.3);
        assert_eq!(needed(true, 50.0, RestsOn::Requests, 1.0), 459.0);
        assert_eq!(needed(true, 50.0, RestsOn::Waits, 1.0), 2000.0);
    }

    #[test]
    fn an_open_loop_needs_what_its_queue_remembers() {
        let all = RestsOn::Requests;
        assert!(run(true, 1000.0, 43.0, 2.4).batches(all).is_ok());
        assert!(run(true, 1000.0, 43.0, 2.4).batches(RestsOn::Waits).is_ok());
        // Near its limit a thousand tell as much as eighteen.
        assert_eq!(run(true, 1000.0, 23.0, 56.7).batches(all), Err(12_000));
        assert_eq!(run(true, 1000.0, 20.0, 1.0).batches(all), Err(2000));
        // Rare queues: the mean of all requests is known long before that of the waits.
        // Its latencies are known much later than its throughput.
        let full = run(true, 30_000.0, 650.0, 120.0);
        assert!(full.batches(all).is_ok());
        assert_eq!(full.batches(RestsOn::Waits), Err(120_000));
        let rare = run(true, 2000.0, 59.0, 8.5);
        assert!(rare.batches(all).is_ok());
        assert_eq!(rare.batches(RestsOn::Waits), Err(17_000));
    }
}
