//! How sure a run can be of its figures: whether it is long enough for an interval.
//!
//! A queue remembers for much longer than one request lasts, and the nearer a server is to its
//! limit, the longer. An open loop that is short beside that memory has seen one mood of the
//! queue, and no method can tell from it how the others are; so it states no interval, but how
//! many requests would do. What is asked for was found by trial: docs/accuracy-of-intervals.md.
//!
//! A closed loop whose answers all last about as long remembers, too: its streams keep their places
//! to each other, and what the places of a run cost, no part of it shows ([`super::places`]).
//!
//! Arrivals that come in bursts, whose gaps have a squared coefficient of variation above 1, are as
//! uneven as so many times fewer requests would be: an open loop must last as many times longer.
//!
//! Where a few answers last many times as long as the others, those that are under way are mostly
//! such ones. Queues behind them last longer, and grow higher, by as much as these are longer than
//! the mean answer (1 + the squared coefficient of variation, as in renewal theory): what one queue
//! adds to the waits goes with the square of it, and so does the time after which a run has seen
//! enough of them. Other figures then have few and long batches, and reach further to the side
//! where these are skewed; no estimate of the queue's memory decides whether they are stated, since
//! it is low in just the runs that happened to see few long answers.

use super::pool::Counted;
use inferometer_core::quantile::{least_samples, quantile, sort};
use inferometer_core::summary::Distribution;
use inferometer_statistics::{Batches, design_effect};
use std::f64::consts::PI;

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
const TAIL_WAVES: f64 = 150.0;
/// Values beyond the 95th percentile of which so many tell as much as one come together.
const TOGETHER: f64 = 1.5;
/// Where they do, how many is itself uncertain, and runs with a low estimate must not pass alone.
const TOGETHER_MARGIN: f64 = 1.3;
/// Times to first token of which so many tell as much as one depend on each other. Half of the runs
/// of 3,000 requests at 0.7 of the limit are below, and hardly one at 0.8, where runs that are saw
/// none of the queues that make the mean.
const QUEUED: f64 = 3.5;
/// Independent times to first token that an open loop must have seen.
const INDEPENDENT: f64 = 200.0;
/// Near its limit a server's latencies are those of its queue; how far they depend on each other is
/// then itself known by many of them only, and runs that happened to see a calm queue must not pass.
const NEAR_LIMIT: f64 = 40.0;
const INDEPENDENT_NEAR_LIMIT: f64 = 1000.0;

/// Up to this `(1 + spread)²` of answers the numbers above hold.
const USUAL_STRETCH: f64 = 3.0;
/// Where queues add so many times as much, a few answers decide.
const LONG_TAILED: f64 = 2.0;
/// How much more the times of answers may differ than those of a sample do.
const UNSEEN_SPREAD: f64 = 1.5;
/// 95th percentile of the normal distribution.
const NORMAL_P95: f64 = 1.645;

/// Largest share by which the start may move the rate of a closed loop.
const LARGEST_BIAS: f64 = 0.015;

/// What a figure rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestsOn {
    /// All requests alike.
    Requests,
    /// In an open loop on those that had to wait, which may be few.
    Waits,
}

/// Values of requests in the order of their start.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub values: Vec<f64>,
    /// Where the stream of each stands in the round of a closed loop; empty where that is not known.
    pub places: Vec<u8>,
}

/// What a run is long enough for.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    pub requests: f64,
    /// Mean answers that follow each other in the window.
    pub waves: f64,
    /// Arrivals do not wait for answers.
    pub is_open: bool,
    /// How many times to first token tell as much as one independent one; 1 in a closed loop,
    /// whose queue cannot grow.
    pub effect: f64,
    /// How much answers differ in the time that they take ([`spread`]).
    pub spread: f64,
    /// Squared coefficient of variation of the gaps between arrivals, at least 1: those that come in
    /// bursts load the server as so many requests at once do.
    pub bunching: f64,
    /// Streams of a closed loop.
    pub streams: f64,
    /// Waves for which these keep their places ([`memory`]); 0 where no batch can be too short.
    pub memory: f64,
    /// How many requests stand behind each value of a sample.
    pub weight: f64,
}

/// How many of all values tell as much as one independent one, from those that are kept of them:
/// neighbours of a thinned series are that much further apart.
pub(super) fn effect_of_all(kept: &[f64], weight: f64) -> f64 {
    1.0 + (design_effect(kept) - 1.0) * weight
}

/// Squared coefficient of variation of answers' times. A sample seldom has the longest answers that
/// its others let expect, and one without them must not pass for one of even answers: where its
/// 95th percentile lies as far above the median as that of a log-normal distribution with more
/// spread, part of that is believed.
pub(super) fn spread(times: &[f64]) -> f64 {
    let n = times.len() as f64;
    let mean = times.iter().sum::<f64>() / n;
    let squares: f64 = times.iter().map(|time| (time / mean - 1.0).powi(2)).sum();
    let seen = squares / n;
    let mut sorted = times.to_vec();
    sort(&mut sorted);
    let at = |p| quantile(&sorted, p).unwrap_or(f64::NAN);
    let deviation = (at(0.95) / at(0.5)).ln() / NORMAL_P95;
    let log_normal = deviation.powi(2).exp_m1();
    seen.max(log_normal.min(seen * UNSEEN_SPREAD))
}

/// Waves after which the streams of a closed loop stand to each other as if drawn anew: each goes
/// its own way round by as much as its answers differ, as a random walk does.
pub(super) fn memory(spread: f64) -> f64 {
    1.0 / (2.0 * PI.powi(2) * spread)
}

impl Precision {
    /// Intervals by batches, or how many requests they would need.
    pub fn batches(&self, rests_on: RestsOn) -> Result<Batches<'static>, u64> {
        let waves = match rests_on {
            _ if !self.is_open => Batches::LEAST as f64 - NEARLY,
            RestsOn::Waits if self.is_queued() => QUEUED_WAVES * self.stretch() * self.bunching,
            RestsOn::Waits => OPEN_WAVES * self.stretch() * self.bunching,
            RestsOn::Requests => OPEN_WAVES * self.bunching,
        };
        let independent = match rests_on {
            _ if !self.is_open => self.ahead() / LARGEST_BIAS,
            RestsOn::Waits if self.is_near_limit() => INDEPENDENT_NEAR_LIMIT * self.effect,
            RestsOn::Requests if self.is_long_tailed() && !self.is_near_limit() => 0.0,
            RestsOn::Requests | RestsOn::Waits => INDEPENDENT * self.effect,
        };
        // A window without length says nothing of how long it should be.
        let needed = (self.requests * waves / self.waves.max(SHORTEST))
            .max(independent)
            .max(LEAST_REQUESTS);
        if self.requests < needed {
            return Err(rounded_up(needed));
        }
        if self.is_long_tailed() {
            return Ok(Batches::LONG_TAILED);
        }
        let batches = Batches::of(self.waves / self.memory.max(WAVES_OF_BATCH));
        // Waits are short but for a few queues, which most runs see too little of.
        let rests_on_queues = self.is_open && rests_on == RestsOn::Waits;
        Ok(if rests_on_queues {
            batches.skewed()
        } else {
            batches
        })
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
        let waves = match rests_on {
            _ if !self.is_open => 0.0,
            RestsOn::Waits => TAIL_WAVES.max(OPEN_WAVES * self.stretch()) * self.bunching,
            RestsOn::Requests if effect > TOGETHER => OPEN_WAVES * self.stretch(),
            RestsOn::Requests => 0.0,
        };
        independent.max(self.requests * waves / self.waves.max(SHORTEST))
    }

    /// How much longer than usual a run must be, since some answers are.
    fn stretch(&self) -> f64 {
        ((1.0 + self.spread).powi(2) / USUAL_STRETCH).max(1.0)
    }

    fn is_long_tailed(&self) -> bool {
        self.stretch() >= LONG_TAILED
    }

    /// Requests by which a closed loop runs ahead of its rate: streams that all begin anew answer
    /// short requests first, and the long ones are under way only later. By renewal theory, half of
    /// the squared coefficient of variation less one, for each stream.
    fn ahead(&self) -> f64 {
        self.streams * (self.spread - 1.0).max(0.0) / 2.0
    }

    /// Waits depend on each other, so that the server's speed follows its queue.
    pub fn is_queued(&self) -> bool {
        self.effect >= QUEUED
    }

    fn is_near_limit(&self) -> bool {
        self.effect >= NEAR_LIMIT
    }

    /// A sample, in the order of its requests' starts, in numbers with its intervals. Where it is a
    /// share of `all`, the numbers are of all, the intervals of what the share shows, which is less.
    pub fn described(
        &self,
        sample: &Sample,
        all: Option<&Counted>,
        rests_on: RestsOn,
    ) -> Option<Distribution> {
        let Sample { values, places } = sample;
        // Half of the requests wait less than the median, whatever the others do.
        let [rests_on, usual] = if self.is_near_limit() {
            [RestsOn::Waits; 2]
        } else {
            [rests_on, RestsOn::Requests]
        };
        let mut sorted = values.clone();
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
        let usual = self.batches(usual).ok().map(|it| it.grouped(places));
        found.p50_interval = usual.and_then(|it| it.quantile(values, &sorted, 0.5));
        match self.batches(rests_on) {
            Err(needed) => found.requests_needed = Some(needed),
            Ok(batches) => {
                let batches = batches.grouped(places);
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
    use inferometer_core::seed::{Dimension, rng};
    use rand_distr::{Distribution as _, StandardNormal};

    fn normal_values(n: usize, seed: u64) -> Vec<f64> {
        let mut random = rng(seed, Dimension::Words, 0);
        (0..n).map(|_| StandardNormal.sample(&mut random)).collect()
    }

    fn run(is_open: bool, requests: f64, waves: f64, effect: f64) -> Precision {
        Precision {
            requests,
            waves,
            is_open,
            effect,
            spread: 0.4,
            bunching: 1.0,
            streams: 32.0,
            memory: 0.0,
            weight: 1.0,
        }
    }

    #[test]
    fn answers_of_very_different_lengths_need_more_requests() {
        let wide = Precision {
            spread: 3.25,
            ..run(false, 400.0, 16.0, 1.0)
        };
        assert_eq!(wide.batches(RestsOn::Requests), Err(2400));
        let open = |effect| Precision {
            spread: 3.0,
            ..run(true, 3000.0, 120.0, effect)
        };
        // What rests on waits needs 16 / 3 times as long, and other tails that come together.
        assert_eq!(open(3.0).batches(RestsOn::Waits), Err(5400));
        assert_eq!(open(5.0).batches(RestsOn::Waits), Err(67_000));
        let tail = |effect| open(3.0).needed_for_tail(RestsOn::Requests, 3000.0, effect);
        assert_eq!((tail(1.0), tail(2.0).round()), (459.0, 5333.0));
        // The rest does not depend on what the queue seems to remember, short of the limit.
        for effect in [3.0, 30.0] {
            let found = open(effect).batches(RestsOn::Requests);
            assert_eq!(found, Ok(Batches::LONG_TAILED));
        }
        assert_eq!(open(50.0).batches(RestsOn::Requests), Err(10_000));
    }

    #[test]
    fn what_rests_on_waits_reaches_further_to_the_side_of_the_queues() {
        let open = run(true, 3000.0, 110.0, 3.0);
        let requests = open.batches(RestsOn::Requests).unwrap();
        assert_eq!(open.batches(RestsOn::Waits), Ok(requests.skewed()));
        assert_ne!(requests, requests.skewed());
        let closed = run(false, 3000.0, 110.0, 1.0);
        assert_eq!(closed.batches(RestsOn::Waits), Ok(requests));
        // The 99th percentile of such a run rests on a few queues.
        assert!(open.needed_for_tail(RestsOn::Waits, 3000.0, 1.0) > 3000.0);
    }

    #[test]
    fn a_sample_without_its_longest_answers_is_known_by_the_others() {
        let log_normal = |n: usize, deviation: f64| -> Vec<f64> {
            let drawn = normal_values(n, 3);
            drawn.iter().map(|it| (deviation * it).exp()).collect()
        };
        let answers = log_normal(2000, 1.27);
        let usual: Vec<f64> = answers.iter().copied().filter(|it| *it < 20.0).collect();
        assert!(usual.len() > 1950);
        let squares = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares = values.iter().map(|it| (it / mean - 1.0).powi(2));
            squares.sum::<f64>() / values.len() as f64
        };
        assert!((3.0..5.0).contains(&spread(&answers)));
        assert!(spread(&usual) > 1.3 * squares(&usual));
        // Of even answers nothing is made up.
        let even = log_normal(2000, 0.5);
        assert!((0.9..1.2).contains(&(spread(&even) / squares(&even))));
        assert_eq!(spread(&[3.0; 100]), 0.0);
    }

    #[test]
    fn streams_that_keep_their_places_have_few_and_long_batches() {
        let batches = |spread| {
            let loop_of = Precision {
                spread,
                memory: memory(spread),
                ..run(false, 1000.0, 30.0, 1.0)
            };
            loop_of.batches(RestsOn::Requests).unwrap().count()
        };
        // Answers of 58 to 62 tokens, of 45 to 75, and of log-normal length.
        assert_eq!([0.0012, 0.015, 0.4].map(batches), [5, 8, 10]);
        assert_eq!(batches(0.0), 5);
    }

    #[test]
    fn a_closed_loop_needs_five_waves() {
        let waits = RestsOn::Waits;
        assert!(run(false, 160.0, 5.0, 1.0).batches(waits).is_ok());
        assert_eq!(run(false, 120.0, 3.75, 1.0).batches(waits), Err(160));
        assert_eq!(run(false, 10.0, 10.0, 1.0).batches(waits), Err(20));
    }

    #[test]
    fn an_open_loop_whose_arrivals_come_in_bursts_needs_as_many_times_more() {
        let needed = |bunching, rests_on| {
            let bursts = Precision {
                bunching,
                ..run(true, 1000.0, 50.0, 2.0)
            };
            bursts.batches(rests_on).err()
        };
        for rests_on in [RestsOn::Requests, RestsOn::Waits] {
            assert_eq!(needed(1.0, rests_on), None);
            assert_eq!(needed(2.0, rests_on), Some(1600));
            assert_eq!(needed(4.0, rests_on), Some(3200));
        }
    }

    #[test]
    fn a_tail_that_comes_together_needs_more() {
        let needed = |is_open, waves, rests_on, effect| {
            run(is_open, 1000.0, waves, 2.0).needed_for_tail(rests_on, 1000.0, effect)
        };
        assert_eq!(needed(false, 30.0, RestsOn::Waits, 1.0), 459.0);
        assert_eq!(needed(false, 30.0, RestsOn::Waits, 2.0), 918.0 * 1.3);
        assert_eq!(needed(true, 50.0, RestsOn::Requests, 1.0), 459.0);
        assert_eq!(needed(true, 50.0, RestsOn::Waits, 1.0), 3000.0);
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
