//! The measured window of a continuous load: when it opens. A pure rule, so that a real run and
//! one in virtual time follow the same.

use crate::length::LengthSpec;
use crate::scenario::{Load, Shape, Stagger, Warmup};
use crate::work::Conversation;
use std::time::Duration;

/// What the load must have done before the window opens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opening {
    /// Requests that must have ended: each stream has had its first answer, or as many as a mean
    /// session has: sessions then end as often as later.
    ended: u64,
    /// Least time: a warm-up by time, the spread of the streams, the rise of the rate.
    elapsed: Duration,
    /// An open loop must have held its rate for a mean latency.
    for_a_latency: bool,
    /// Turns of a long session, and the pause between two: as long as the first sessions have
    /// not had their last turns, fewer arrive than will.
    turns: f64,
    think: Duration,
    /// Requests after which there is no more waiting: a server that falls behind for good has
    /// no mean latency.
    most_sent: u64,
}

impl Opening {
    /// Absent for a load that has no window: one without a warm-up, a burst, a trace. Of turns
    /// and pauses of sessions that only the data knows, nothing is expected.
    pub fn of(load: &Load, talk: Option<&Conversation>) -> Option<Opening> {
        if load.warmup.is_none() {
            return None;
        }
        let (requests, time) = match load.warmup {
            Warmup::Requests(count) => (count, Duration::ZERO),
            Warmup::Time(span) => (1, span.0),
        };
        let turns = talk.and_then(|talk| match talk.turns {
            Some(LengthSpec::Drawn(turns)) => Some(turns),
            Some(LengthSpec::Histogram(_)) | None => None,
        });
        let think = talk.and_then(|talk| talk.think);
        let think = think.map_or(Duration::ZERO, |think| think.0);
        let extent = load.extent;
        let planned = extent.requests().unwrap_or(u64::MAX);
        match load.shape {
            Shape::Closed {
                concurrency,
                stagger,
            } => {
                let streams = u64::from(concurrency);
                let mean = turns.map_or(1.0, |turns| turns.mean().max(1.0));
                let sessions = (streams as f64 * mean).ceil() as u64;
                Some(Opening {
                    ended: requests.max(sessions.min(planned.max(streams))),
                    elapsed: match stagger {
                        Stagger::Over(span) => time.max(span.0),
                        Stagger::Auto => time.max(think),
                        Stagger::None => time,
                    },
                    for_a_latency: false,
                    turns: 1.0,
                    think: Duration::ZERO,
                    most_sent: u64::MAX,
                })
            }
            Shape::Open { rate, ramp, .. } if !rate.is_infinite() => {
                let rise = ramp.map_or(Duration::ZERO, |ramp| ramp.over.0);
                let in_time = extent.duration().map(|span| rate.0 * span.0.as_secs_f64());
                let planned = planned.min(in_time.map_or(u64::MAX, |count| count as u64));
                Some(Opening {
                    ended: requests,
                    elapsed: time.max(rise),
                    for_a_latency: true,
                    turns: turns.map_or(1.0, |turns| turns.almost_all().max(1.0)),
                    think,
                    most_sent: requests.max(planned),
                })
            }
            Shape::Open { .. } | Shape::Replay { .. } => None,
        }
    }

    /// How long a rate must have been held.
    fn settled_after(&self, latency: Duration) -> Duration {
        let pauses = self.think.as_secs_f64() * (self.turns - 1.0);
        let session = latency.as_secs_f64() * self.turns + pauses;
        Duration::try_from_secs_f64(session).unwrap_or(Duration::MAX)
    }

    /// Requests that must have ended, at least.
    pub fn warmup_requests(&self) -> u64 {
        self.ended
    }

    /// Time until it opens, at the pace so far; absent while nothing has ended.
    pub fn time_left(&self, elapsed: Duration, ended: u64) -> Option<Duration> {
        let share = self.ended.saturating_sub(ended) as f64 / ended as f64;
        let by_count = Duration::try_from_secs_f64(elapsed.as_secs_f64() * share);
        Some(by_count.ok()?.max(self.elapsed.saturating_sub(elapsed)))
    }

    pub fn is_due(&self, load: &LoadSoFar) -> bool {
        if load.elapsed < self.elapsed {
            return false;
        }
        if load.sent >= self.most_sent && load.ended > 0 {
            return true;
        }
        let settled = |latency| load.elapsed >= self.settled_after(latency);
        let held = !self.for_a_latency || load.mean_latency().is_some_and(settled);
        load.ended >= self.ended && held
    }
}

/// The load since it began, told from time to time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadSoFar {
    elapsed: Duration,
    sent: u64,
    ended: u64,
    /// Time under way of all requests together, in seconds.
    under_way_s: f64,
}

impl LoadSoFar {
    pub fn advance(&mut self, elapsed: Duration, sent: u64, ended: u64) {
        let passed = elapsed.saturating_sub(self.elapsed).as_secs_f64();
        self.under_way_s += self.sent.saturating_sub(self.ended) as f64 * passed;
        (self.elapsed, self.sent, self.ended) = (elapsed.max(self.elapsed), sent, ended);
    }

    /// Those still under way are counted in: the first to end are the short ones.
    fn mean_latency(&self) -> Option<Duration> {
        let mean = self.under_way_s / self.ended as f64;
        Duration::try_from_secs_f64(mean)
            .ok()
            .filter(|_| self.ended > 0)
    }
}

/// The first number that neither the measured requests of an open loop have nor those that hold
/// its load: those of the warm-up begin here.
pub fn numbers_after_open(requests: u64) -> u64 {
    requests + 64 + requests / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn opening(toml: &str) -> Option<Opening> {
        let toml = format!("[load]\n{toml}");
        let scenario = Options::from_toml(&toml).unwrap().resolve().unwrap();
        Opening::of(&scenario.load, None)
    }

    fn so_far(seconds: f64, sent: u64, ended: u64) -> LoadSoFar {
        let mut load = LoadSoFar::default();
        load.advance(Duration::from_secs_f64(seconds), sent, ended);
        load
    }

    #[test]
    fn a_closed_loop_opens_when_every_stream_has_had_an_answer() {
        let opening = opening("concurrency = 8\nwarmup = 2").unwrap();
        assert!(!opening.is_due(&so_far(9.0, 14, 7)));
        assert!(opening.is_due(&so_far(1.0, 16, 8)));
    }

    #[test]
    fn the_time_until_it_opens_follows_the_pace_and_the_least_time() {
        let opening = opening("concurrency = 8\nwarmup = '5s'").unwrap();
        let seconds = Duration::from_secs;
        assert_eq!(opening.time_left(seconds(1), 0), None);
        assert_eq!(opening.time_left(seconds(2), 4), Some(seconds(3)));
        assert_eq!(opening.time_left(seconds(6), 2), Some(seconds(18)));
        assert_eq!(opening.time_left(seconds(7), 9), Some(seconds(0)));
    }

    #[test]
    fn a_warm_up_by_time_lasts_that_long_and_until_every_stream_has_had_an_answer() {
        let opening = opening("concurrency = 8\nwarmup = '5s'").unwrap();
        assert!(!opening.is_due(&so_far(4.9, 100, 92)));
        assert!(!opening.is_due(&so_far(6.0, 8, 0)));
        assert!(opening.is_due(&so_far(5.0, 16, 8)));
    }

    #[test]
    fn an_open_loop_opens_when_the_rate_was_held_for_a_mean_latency() {
        let opening = opening("rate = 100\nrequests = 5000").unwrap();
        // Answers take 2 s: a hundred under way at once until the first ends.
        let mut load = LoadSoFar::default();
        let mut opened = None;
        for tick in 1..=500u64 {
            let at = tick as f64 / 100.0;
            load.advance(Duration::from_secs_f64(at), tick, tick.saturating_sub(200));
            if opened.is_none() && opening.is_due(&load) {
                opened = Some(at);
            }
        }
        let opened = opened.unwrap();
        assert!((2.0..4.0).contains(&opened), "{opened}");
    }

    #[test]
    fn a_rate_of_sessions_is_held_once_a_session_has_passed() {
        let toml = "[load]\nrate = 1\nrequests = 6000\n[work]\nturns = '6'\nthink = '30s'";
        let scenario = Options::from_toml(toml).unwrap().resolve().unwrap();
        let talk = scenario.work.conversation.as_ref();
        let single = Opening::of(&scenario.load, None).unwrap();
        let opening = Opening::of(&scenario.load, talk).unwrap();
        // Answers of 2 s: a session lasts 162.
        let after = |seconds: f64| {
            let mut load = LoadSoFar::default();
            for tick in 1..=(10.0 * seconds) as u64 {
                let at = Duration::from_millis(100 * tick);
                load.advance(at, tick, tick.saturating_sub(20));
            }
            load
        };
        assert!(single.is_due(&after(8.0)));
        assert!(!opening.is_due(&after(150.0)));
        assert!(opening.is_due(&after(180.0)));
    }

    #[test]
    fn sessions_that_differ_are_waited_for_up_to_the_long_ones() {
        let toml =
            "[load]\nrate = 1\nrequests = 6000\n[work]\nturns = 'uniform(2,10)'\nthink = '30s'";
        let scenario = Options::from_toml(toml).unwrap().resolve().unwrap();
        let opening = Opening::of(&scenario.load, scenario.work.conversation.as_ref()).unwrap();
        let settled = opening.settled_after(Duration::from_secs(2));
        assert_eq!(settled, Duration::from_secs(10 * 2 + 9 * 30));
    }

    #[test]
    fn streams_of_sessions_have_had_a_session_each_unless_few_requests_are_planned() {
        let ended = |requests: u32| {
            let toml = format!(
                "[load]\nconcurrency = 32\nrequests = {requests}\n[work]\nturns = 'uniform(2,10)'\nthink = '3s'"
            );
            let scenario = Options::from_toml(&toml).unwrap().resolve().unwrap();
            let talk = scenario.work.conversation.as_ref();
            Opening::of(&scenario.load, talk).unwrap().warmup_requests()
        };
        assert_eq!([ended(600), ended(100), ended(10)], [192, 100, 32]);
    }

    #[test]
    fn a_server_that_falls_behind_for_good_does_not_keep_the_window_shut() {
        let opening = opening("rate = 100\nrequests = 500").unwrap();
        let mut load = LoadSoFar::default();
        for tick in 1..=500u64 {
            load.advance(Duration::from_millis(tick * 10), tick, tick / 50);
        }
        assert!(opening.is_due(&load));
    }

    #[test]
    fn bursts_and_loads_without_a_warm_up_have_no_window() {
        assert_eq!(opening("concurrency = 8\nwarmup = 'none'"), None);
        assert_eq!(opening("rate = 'inf'\nrequests = 10"), None);
    }
}
