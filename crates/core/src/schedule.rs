//! The schedule of an open loop: every arrival, computed from the seed before the first byte
//! is sent. *When* to send is data, never control flow.
//!
//! Gaps are drawn at unit rate and then mapped through the inverse of the accumulated rate,
//! so that constant, Poisson and gamma arrivals, with and without a ramp, are one formula.
//! Nothing is rescaled to hit a total.

use crate::scenario::{Arrival, Extent, Ramp, RampCurve, Rate};
use crate::seed::{Dimension, rng};
use crate::units::Offset;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Gamma};
use std::time::Duration;

/// Most arrivals of a schedule, which is held in memory.
pub const MOST_ARRIVALS: u64 = 100_000_000;

/// Due times from the beginning of the measured part, in order.
pub fn arrivals(
    rate: Rate,
    arrival: Arrival,
    ramp: Option<Ramp>,
    extent: Extent,
    seed: u64,
) -> Vec<Offset> {
    let most = extent.requests().unwrap_or(u64::MAX).min(MOST_ARRIVALS);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let end = extent.duration().map(|span| Offset::after(span.0));
    Arrivals::new(rate, arrival, ramp, seed, Part::Measured)
        .take(most)
        .take_while(|due| end.is_none_or(|end| *due < end))
        .collect()
}

/// Which arrivals: those before the window and those from its opening on are drawn apart, so
/// that the measured ones do not depend on how long the warm-up takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Warmup,
    Measured,
}

/// Due times without an end, in order; all are 0 at an infinite rate.
pub struct Arrivals {
    rate: Rate,
    ramp: Option<Ramp>,
    gaps: UnitGaps,
    accumulated: f64,
    last: Offset,
}

impl Arrivals {
    pub fn new(rate: Rate, arrival: Arrival, ramp: Option<Ramp>, seed: u64, part: Part) -> Self {
        let stream = match part {
            Part::Measured => 0,
            Part::Warmup => 1,
        };
        Arrivals {
            rate,
            ramp,
            gaps: UnitGaps::new(arrival, rng(seed, Dimension::Arrival, stream)),
            accumulated: 0.0,
            last: Offset::default(),
        }
    }
}

impl Iterator for Arrivals {
    type Item = Offset;

    fn next(&mut self) -> Option<Offset> {
        if self.rate.is_infinite() {
            return Some(Offset(0));
        }
        self.accumulated += self.gaps.next_gap();
        let seconds = time_of(self.accumulated, self.rate.0, self.ramp);
        // Beyond the clock's end nothing is due.
        let span = Duration::try_from_secs_f64(seconds).ok()?;
        // Rounding on a ramp of years must not turn the order around.
        self.last = Offset::after(span).max(self.last);
        Some(self.last)
    }
}

/// Gaps of mean 1.
struct UnitGaps {
    arrival: Arrival,
    gamma: Option<Gamma<f64>>,
    rng: ChaCha8Rng,
    first: bool,
}

impl UnitGaps {
    fn new(arrival: Arrival, rng: ChaCha8Rng) -> Self {
        let gamma = match arrival {
            Arrival::Gamma(shape) => {
                Some(Gamma::new(shape, 1.0 / shape).expect("options checked the burstiness"))
            }
            Arrival::Constant | Arrival::Poisson => None,
        };
        UnitGaps {
            arrival,
            gamma,
            rng,
            first: true,
        }
    }

    fn next_gap(&mut self) -> f64 {
        let first = std::mem::replace(&mut self.first, false);
        match (self.arrival, &self.gamma) {
            // An even rhythm begins on the first beat.
            (Arrival::Constant, _) => f64::from(u8::from(!first)),
            (Arrival::Gamma(_), Some(gamma)) => gamma.sample(&mut self.rng),
            (Arrival::Poisson | Arrival::Gamma(_), _) => Exp1.sample(&mut self.rng),
        }
    }
}

/// The time, in seconds, at which `accumulated` arrivals are expected.
fn time_of(accumulated: f64, rate: f64, ramp: Option<Ramp>) -> f64 {
    let Some(Ramp { curve, from, over }) = ramp else {
        return accumulated / rate;
    };
    let over = over.0.as_secs_f64();
    if over == 0.0 || from == rate {
        return accumulated / rate;
    }
    let growth = (rate / from).ln();
    let in_ramp = match curve {
        RampCurve::Linear => (from + rate) / 2.0 * over,
        RampCurve::Exponential => (rate - from) / growth * over,
    };
    if accumulated >= in_ramp {
        return over + (accumulated - in_ramp) / rate;
    }
    match curve {
        RampCurve::Linear => {
            // from·t + slope·t²/2 = accumulated, in the form that does not cancel.
            let slope = (rate - from) / over;
            let root = (from * from + 2.0 * slope * accumulated).max(0.0).sqrt();
            2.0 * accumulated / (from + root)
        }
        RampCurve::Exponential => over / growth * (accumulated * growth / (from * over)).ln_1p(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::scenario::Shape;
    use crate::units::Span;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn options_that_are_accepted_have_a_schedule_in_order(
            rate in -8.0..11.0f64,
            burstiness in proptest::option::of(-5.0..8.0f64),
            ramp in proptest::option::of((any::<bool>(), -8.0..11.0f64, 0u64..3_000_000_000_000_000_000)),
            requests in 1u64..200,
            duration in proptest::option::of(1u64..3_000_000_000_000_000_000),
            seed: u64,
        ) {
            let mut toml = format!("[load]\nrate = {:e}\nrequests = {requests}\n", 10f64.powf(rate));
            if let Some(shape) = burstiness {
                toml += &format!("burstiness = {:e}\n", 10f64.powf(shape));
            }
            if let Some((linear, from, over)) = ramp {
                let curve = if linear { "linear" } else { "exponential" };
                let from = 10f64.powf(from);
                toml += &format!("ramp = '{curve}'\nramp-from = {from:e}\nramp-over = '{over}ns'\n");
            }
            if let Some(duration) = duration {
                toml += &format!("duration = '{duration}ns'\n");
            }
            let Ok(scenario) = Options::from_toml(&toml).unwrap().resolve() else {
                return Ok(());
            };
            if let Shape::Open { rate, arrival, ramp, .. } = scenario.load.shape {
                let due = arrivals(rate, arrival, ramp, scenario.load.extent, seed);
                prop_assert!(due.len() as u64 <= requests && due.is_sorted(), "{toml}");
            }
        }
    }

    fn seconds(due: &[Offset]) -> Vec<f64> {
        due.iter()
            .map(|at| at.as_duration().as_secs_f64())
            .collect()
    }

    fn plan(rate: f64, arrival: Arrival, requests: u64, seed: u64) -> Vec<f64> {
        let extent = Extent::Requests(requests);
        seconds(&arrivals(Rate(rate), arrival, None, extent, seed))
    }

    #[test]
    fn constant_arrivals_are_evenly_spaced_from_zero() {
        assert_eq!(plan(4.0, Arrival::Constant, 4, 0), [0.0, 0.25, 0.5, 0.75]);
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals_and_another_seed_others() {
        let drawn = |seed| plan(5.0, Arrival::Poisson, 50, seed);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn poisson_and_gamma_gaps_have_the_asked_mean_and_spread() {
        for (arrival, variation) in [
            (Arrival::Poisson, 1.0),
            (Arrival::Gamma(0.25), 2.0),
            (Arrival::Gamma(4.0), 0.5),
        ] {
            let times = plan(10.0, arrival, 20_000, 3);
            let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance =
                gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            assert!((mean * 10.0 - 1.0).abs() < 0.06, "{arrival:?}: mean {mean}");
            assert!(
                (variance.sqrt() / mean / variation - 1.0).abs() < 0.08,
                "{arrival:?}"
            );
        }
    }

    #[test]
    fn a_duration_ends_the_arrivals_and_an_infinite_rate_has_them_all_at_once() {
        let extent = Extent::Duration(Span(Duration::from_secs(2)));
        let due = arrivals(Rate(10.0), Arrival::Constant, None, extent, 0);
        assert_eq!(due.len(), 20);
        assert_eq!(plan(f64::INFINITY, Arrival::Poisson, 3, 0), [0.0; 3]);
    }

    #[test]
    fn ramps_rise_from_the_first_rate_to_the_last() {
        for curve in [RampCurve::Linear, RampCurve::Exponential] {
            let ramp = Ramp {
                curve,
                from: 2.0,
                over: Span(Duration::from_secs(10)),
            };
            let extent = Extent::Requests(400);
            let due = arrivals(Rate(20.0), Arrival::Constant, Some(ramp), extent, 0);
            let times = seconds(&due);
            let rate_at = |begin: f64, end: f64| {
                times.iter().filter(|&&t| t >= begin && t < end).count() as f64 / (end - begin)
            };
            assert!(times.is_sorted());
            assert!(
                (rate_at(0.0, 1.0) - 2.5).abs() < 1.1,
                "{curve}: {}",
                rate_at(0.0, 1.0)
            );
            assert!((rate_at(11.0, 15.0) - 20.0).abs() < 0.5, "{curve}");
            let middle = rate_at(4.5, 5.5);
            let expected = match curve {
                RampCurve::Linear => 11.0,
                RampCurve::Exponential => 40f64.sqrt(),
            };
            assert!((middle - expected).abs() < 1.1, "{curve}: {middle}");
        }
    }
}
