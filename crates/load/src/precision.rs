//! How well the primary metric of a phase is known while it goes on, so that a point may end
//! as soon as it is known well enough.

use crate::live::Snapshot;
use inferometer_core::scenario::Until;
use inferometer_statistics::batch_means;
use std::time::Duration;

/// Parts of equal length that the phase is cut into. Each must be longer than a request takes,
/// or neighbours would share requests and the interval would come out too narrow.
const BATCHES: usize = 20;

/// Share of the phase, at its beginning, that is left out.
const UNSETTLED: f64 = 0.1;

/// Neighbours are never taken for more alike than this: of twenty parts no more can be told.
const MOST_ALIKE: f64 = 0.95;

/// Requests that must have ended in each part, on average.
const LEAST_PER_BATCH: u64 = 5;

/// Time between two looks: intervals do not change faster.
const LOOK_EVERY: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primary {
    TokenRate,
    Latency,
}

pub struct Precision {
    primary: Primary,
    samples: Vec<Moment>,
}

#[derive(Clone, Copy, Default)]
struct Moment {
    at: Duration,
    tokens: u64,
    ok: u64,
    latency_ns: u64,
}

impl Precision {
    pub fn new(primary: Primary) -> Self {
        Precision {
            primary,
            samples: vec![Moment::default()],
        }
    }

    /// Takes in the numbers of the phase after a time.
    pub fn see(&mut self, at: Duration, now: &Snapshot) {
        let last = self.samples.last().map_or(Duration::ZERO, |last| last.at);
        if at >= last + LOOK_EVERY {
            self.samples.push(Moment {
                at,
                tokens: now.tokens,
                ok: now.ok,
                latency_ns: now.latency_ns,
            });
        }
    }

    pub fn reaches(&self, Until(share): Until) -> bool {
        self.half_width().is_some_and(|half| half <= share)
    }

    /// Half of the 95 % interval, as a share of the mean; absent while nothing can be said.
    fn half_width(&self) -> Option<f64> {
        let last = self.samples.last()?;
        let from = last.at.mul_f64(UNSETTLED);
        let span = (last.at - from) / BATCHES as u32;
        let latency = Duration::from_nanos(last.latency_ns.checked_div(last.ok)?);
        if span < latency.max(LOOK_EVERY * 2) || last.ok < LEAST_PER_BATCH * BATCHES as u64 {
            return None;
        }
        let bounds: Vec<Moment> = (0..=BATCHES as u32)
            .map(|batch| self.at(from + span * batch))
            .collect();
        let values: Vec<f64> = (bounds.windows(2))
            .map(|pair| self.between(pair[0], pair[1]))
            .collect::<Option<_>>()?;
        let known = batch_means(&values, BATCHES)?;
        // Neighbours that are alike are less evidence than their number: a server whose speed
        // changed once is known when that hardly matters any more, one that drifts for ever never.
        let alike = known.correlation.clamp(0.0, MOST_ALIKE);
        let wider = ((1.0 + alike) / (1.0 - alike)).sqrt();
        (known.mean > 0.0).then(|| wider * (known.interval[1] - known.mean) / known.mean)
    }

    fn at(&self, time: Duration) -> Moment {
        let after = self.samples.partition_point(|moment| moment.at <= time);
        self.samples[after.saturating_sub(1)]
    }

    fn between(&self, from: Moment, to: Moment) -> Option<f64> {
        let seconds = (to.at - from.at).as_secs_f64();
        match self.primary {
            Primary::TokenRate => {
                // Answers that come whole have no tokens to count on the way.
                let done = match to.tokens {
                    0 => to.ok - from.ok,
                    _ => to.tokens - from.tokens,
                };
                (seconds > 0.0).then(|| done as f64 / seconds)
            }
            Primary::Latency => {
                let ended = to.ok - from.ok;
                (ended > 0).then(|| (to.latency_ns - from.latency_ns) as f64 / ended as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that ends `rate(t)` requests/s of 100 tokens and 200 ms, until the
    /// result is precise; the seconds that it took.
    fn seconds_until(share: f64, rate: impl Fn(u64) -> u64) -> Option<u64> {
        let mut precision = Precision::new(Primary::TokenRate);
        let mut now = Snapshot::default();
        (1..600u64).find(|second| {
            let ended = rate(*second);
            now.ok += ended;
            now.tokens += ended * 100;
            now.latency_ns += ended * 200_000_000;
            precision.see(Duration::from_secs(*second), &now);
            precision.reaches(Until(share))
        })
    }

    /// Noise without memory (splitmix64).
    fn noisy(second: u64) -> u64 {
        let mut x = second.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        50 + (x ^ (x >> 31)) % 100
    }

    #[test]
    fn a_steady_server_is_known_soon_and_a_noisy_one_later() {
        let steady = seconds_until(0.05, |_| 100).unwrap();
        let loose = seconds_until(0.15, noisy).unwrap();
        let strict = seconds_until(0.05, noisy).unwrap();
        assert!(
            steady < loose && loose < strict,
            "{steady} {loose} {strict}"
        );
    }

    #[test]
    fn a_server_that_gets_slower_and_slower_is_never_known() {
        assert_eq!(seconds_until(0.05, |second| 2000 / (second + 10)), None);
    }

    #[test]
    fn a_server_that_got_faster_once_is_known_when_that_hardly_matters() {
        let faster = |second: u64| if second < 15 { 70 } else { 100 };
        let coarse = seconds_until(0.2, faster).unwrap();
        let fine = seconds_until(0.05, faster).unwrap();
        assert!(coarse < 60 && coarse < fine, "{coarse} {fine}");
    }

    #[test]
    fn nothing_is_known_of_a_server_that_answers_nothing() {
        assert_eq!(seconds_until(0.5, |_| 0), None);
    }
}
