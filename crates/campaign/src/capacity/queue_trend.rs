//! Overload: requests under way and TTFT both rise, so that no length of probe would settle.

use super::queue_memory::least_run;
use inferometer_statistics::rising_trend;

/// Fewest requests that show a trend.
const LEAST_REQUESTS: usize = 128;
/// Bins of the later half of a probe.
const BINS: usize = 8;
/// How unlikely a trend must be by chance. Bins of a queue depend on each other, so this is
/// stricter than it would be for independent ones.
const CHANCE: f64 = 1e-3;
/// How much both must have grown over the later half. A queue that grows evenly doubles.
const GROWTH: f64 = 1.6;
/// Waves of requests that an idle server takes to fill, when both rise anyway.
const FILLING_WAVES: usize = 6;

/// What is seen of the queue, in the order of sending.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct QueueTrend {
    in_flight: Vec<f64>,
    ttft: Vec<f64>,
    /// Requests that were sent before the first had ended.
    first_wave: Option<usize>,
    most_in_flight: u64,
}

impl QueueTrend {
    /// A request without a first token has an endless TTFT.
    pub(super) fn observe(&mut self, in_flight: u64, ttft_s: Option<f64>) {
        let order = self.in_flight.len();
        if self.first_wave.is_none() && in_flight <= order as u64 {
            self.first_wave = Some(order);
        }
        self.most_in_flight = self.most_in_flight.max(in_flight);
        self.in_flight.push(in_flight as f64);
        self.ttft.push(ttft_s.unwrap_or(f64::INFINITY));
    }

    pub(super) fn first_wave(&self) -> Option<usize> {
        self.first_wave
    }

    pub(super) fn most_in_flight(&self) -> u64 {
        self.most_in_flight
    }

    /// Least requests of a run with this queue, by the last `counted` of them. `arrivals` are
    /// the rate, in an open loop, and the TTFT of an idle server.
    pub(super) fn least_run(&self, counted: u64, arrivals: Option<(f64, f64)>) -> f64 {
        let from = self.ttft.len().saturating_sub(counted as usize);
        let answered = self.ttft[from..].iter().copied();
        let answered: Vec<f64> = answered.filter(|ttft| ttft.is_finite()).collect();
        let mean = answered.iter().sum::<f64>() / answered.len().max(1) as f64;
        let waiting = arrivals.map(|(rate, idle_ttft_s)| rate * (mean - idle_ttft_s));
        least_run(&self.in_flight[from..], &answered, waiting)
    }

    pub(super) fn median_ttft_s(&self) -> Option<f64> {
        let mut sorted = self.ttft.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied();
        median.filter(|ttft| ttft.is_finite())
    }

    pub(super) fn is_overloaded(&self) -> bool {
        let n = self.in_flight.len();
        let filled = |wave| n >= FILLING_WAVES * wave;
        n >= LEAST_REQUESTS
            && self.first_wave.is_some_and(filled)
            && rises(&self.in_flight[n / 2..])
            && rises(&self.ttft[n / 2..])
    }
}

fn rises(values: &[f64]) -> bool {
    let bins: Vec<f64> = (values.chunks_exact(values.len() / BINS))
        .take(BINS)
        .map(|bin| bin.iter().sum::<f64>() / bin.len() as f64)
        .collect();
    bins[BINS - 1] >= GROWTH * bins[0]
        && rising_trend(&bins).is_some_and(|trend| trend.p_value < CHANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(n: u64, of: impl Fn(u64) -> (u64, f64)) -> QueueTrend {
        let mut trend = QueueTrend::default();
        for order in 0..n {
            let (in_flight, ttft) = of(order);
            trend.observe(in_flight.min(order + 1), Some(ttft));
        }
        trend
    }

    #[test]
    fn a_queue_that_grows_is_overload_and_one_that_fills_or_swings_is_not() {
        assert!(trend(600, |k| (4 + k / 3, 0.1 + k as f64 / 50.0)).is_overloaded());
        let filling = trend(600, |k| (k.min(150), 0.1 + k.min(150) as f64 / 100.0));
        assert!(!filling.is_overloaded());
        let swinging = trend(600, |k| (20 + k % 40, 0.1 + (k % 40) as f64 / 50.0));
        assert!(!swinging.is_overloaded());
    }

    #[test]
    fn in_a_closed_loop_nothing_grows_but_the_first_wave() {
        let closed = trend(600, |k| (32, 0.1 + k as f64 / 50.0));
        assert_eq!(closed.first_wave(), Some(32));
        assert!(!closed.is_overloaded());
    }
}
