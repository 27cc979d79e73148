//! A load point, planned before the first byte is sent.

use crate::{host, work};
use inferometer_core::first_wave::FirstWave;
use inferometer_core::record::Stage;
use inferometer_core::scenario::{Extent, Hold, Scenario, Shape, Stagger, Warmup};
use inferometer_core::schedule::{Arrivals, MOST_ARRIVALS, Part};
use inferometer_core::units::Offset;
use inferometer_core::window::{Opening, numbers_after_open};
use inferometer_load::instrument::{LoadPlan, Rhythm, Schedule, Share};
use inferometer_load::setup::WARMUP_SESSION;
use inferometer_workload::Workload;
use std::sync::Arc;
use std::time::Duration;

/// The load, planned before the first byte is sent.
pub struct Planned {
    /// The streams of a closed loop are not spread yet.
    pub rhythm: Rhythm,
    /// How they will be.
    pub stagger: Stagger,
    /// Measured requests, where they are known.
    pub requests: Option<u64>,
    /// When the window opens; absent for a load without one.
    pub opening: Option<Opening>,
    pub hold: Hold,
    /// Between two turns of a session.
    pub think: Option<Duration>,
    /// Prompts that the work has, where it has an end.
    pub distinct: Option<u64>,
}

impl Planned {
    /// The first session that neither the measured requests nor those that hold the load use.
    pub fn spare_session(&self) -> u64 {
        let Some(count) = self.requests else {
            return WARMUP_SESSION;
        };
        match self.rhythm {
            _ if self.hold == Hold::None => count,
            Rhythm::Closed { streams, .. } => count + self.held(count, u64::from(streams)),
            Rhythm::Open { .. } => numbers_after_open(count),
        }
    }

    /// Sessions for those that hold a closed load: plenty, but where the work has just enough of
    /// them, the warm-up must not begin it anew and find its prompts in the server's cache.
    fn held(&self, count: u64, streams: u64) -> u64 {
        let (plenty, least, for_warmup) = (4 * streams, streams, 2 * streams);
        let Some(spare) = self.distinct.map(|distinct| distinct.saturating_sub(count)) else {
            return plenty;
        };
        match spare.checked_sub(for_warmup) {
            Some(left) if left >= least => left.min(plenty),
            _ => plenty,
        }
    }

    /// What the streams begin with in the warm-up, where it is the lengths of their first answers
    /// that spread them.
    pub fn first_wave(&self, scenario: &Scenario, workload: &Workload) -> Option<FirstWave> {
        let Rhythm::Closed { streams, .. } = self.rhythm else {
            return None;
        };
        if self.stagger != Stagger::Auto || self.opening.is_none() {
            return None;
        }
        let (streams, from) = (u64::from(streams), self.spare_session());
        // A conversation cannot be begun in its middle.
        if scenario.work.conversation.is_some() {
            return Some(FirstWave::of_own_sessions(streams));
        }
        // The rest of the warm-up is to find sessions too that are not measured.
        let spare = workload.distinct().map_or(u64::MAX, |distinct| {
            distinct.saturating_sub(from + 2 * streams)
        });
        let tokens = |session| workload.output_tokens(from + session, 0);
        Some(FirstWave::new(streams, spare, tokens))
    }

    /// Time over which the streams of a closed loop begin, where it is time that spreads them:
    /// `auto` without a warm-up takes the latency that one request had on its own, and with one the
    /// pause between turns, in which all would else fall silent together.
    pub fn stagger(&self, alone: Option<Duration>) -> Option<Duration> {
        let Rhythm::Closed { streams, .. } = self.rhythm else {
            return None;
        };
        match self.stagger {
            Stagger::Auto if self.opening.is_none() => alone,
            Stagger::Auto => self.think,
            Stagger::None => None,
            Stagger::Over(span) => Some(span.0),
        }
        .filter(|_| streams > 1)
    }
}

pub fn planned(scenario: &Scenario, workload: &Workload) -> Planned {
    let load = &scenario.load;
    let talk = scenario.work.conversation.as_ref();
    let opening = Opening::of(load, talk);
    let plan = |rhythm, requests| Planned {
        rhythm,
        stagger: Stagger::None,
        requests,
        opening,
        hold: load.hold,
        think: talk.and_then(|talk| talk.think).map(|think| think.0),
        distinct: workload.distinct(),
    };
    match load.shape {
        Shape::Closed {
            concurrency,
            stagger,
        } => {
            let rhythm = Rhythm::Closed {
                streams: concurrency,
                spread: Duration::ZERO,
            };
            Planned {
                stagger,
                ..plan(rhythm, load.extent.requests())
            }
        }
        Shape::Open {
            rate,
            arrival,
            ramp,
            max_concurrency,
        } => {
            let seed = scenario.seed;
            let schedule = move |ramp, part: Part, until: Option<Duration>| -> Schedule {
                Arc::new(move || {
                    let due = Arrivals::new(rate, arrival, ramp, seed, part);
                    let end = until.map(Offset::after);
                    Box::new(due.take_while(move |due| end.is_none_or(|end| *due < end)))
                })
            };
            let until = load.extent.duration().map(|span| span.0);
            // A rise of the rate is part of the warm-up, where there is one.
            let in_window = ramp.filter(|_| opening.is_none());
            let talks = scenario.work.conversation.is_some();
            let counted = schedule(in_window, Part::Measured, until);
            let requests = match (load.extent, talks) {
                (Extent::Requests(count), _) => Some(count),
                // Turns that time cuts off were never planned.
                (_, true) => None,
                (extent, false) => {
                    let most = extent.requests().unwrap_or(MOST_ARRIVALS);
                    let most = usize::try_from(most).unwrap_or(usize::MAX);
                    Some(counted().take(most).count() as u64)
                }
            };
            let rhythm = Rhythm::Open {
                warmup: schedule(ramp, Part::Warmup, None),
                measured: match load.hold {
                    Hold::None => counted,
                    Hold::Auto => schedule(in_window, Part::Measured, None),
                },
                cap: max_concurrency,
            };
            plan(rhythm, requests)
        }
        Shape::Replay {
            speed,
            max_concurrency,
        } => {
            let times = workload.arrivals.as_deref().unwrap_or_default();
            let due: Arc<[Offset]> = work::replay(times, speed, load.extent).into();
            let talks = scenario.work.conversation.is_some();
            let requests = match (load.extent, talks) {
                (Extent::Requests(_), true) => load.extent.requests(),
                (_, true) => None,
                (_, false) => Some(due.len() as u64),
            };
            let rhythm = Rhythm::Open {
                warmup: Arc::new(|| Box::new(std::iter::empty())),
                measured: Arc::new(move || {
                    let due = Arc::clone(&due);
                    Box::new((0..due.len()).map(move |index| due[index]))
                }),
                cap: max_concurrency,
            };
            plan(rhythm, requests)
        }
    }
}

/// A few requests that wake the server before a load that has no window, such as a burst or a
/// trace.
pub fn wake_up(scenario: &Scenario) -> Option<LoadPlan> {
    let load = &scenario.load;
    if load.warmup.is_none() || Opening::of(load, None).is_some() {
        return None;
    }
    let (requests, duration) = match load.warmup {
        Warmup::Requests(count) => (Some(count), None),
        Warmup::Time(span) => (None, Some(span.0)),
    };
    let streams = match load.shape {
        Shape::Closed { concurrency, .. } => concurrency,
        Shape::Open {
            max_concurrency, ..
        }
        | Shape::Replay {
            max_concurrency, ..
        } => max_concurrency.unwrap_or(8).min(8),
    };
    let streams = requests.map_or(streams, |count| {
        streams.min(u32::try_from(count).unwrap_or(u32::MAX))
    });
    Some(LoadPlan {
        rhythm: Rhythm::Closed {
            streams,
            spread: Duration::ZERO,
        },
        opening: None,
        stage: Stage::Warmup,
        requests,
        duration,
        hold: Hold::None,
        drain: None,
    })
}

/// Most requests that can be under way at once.
pub fn most_streams(scenario: &Scenario) -> u64 {
    match &scenario.load.shape {
        Shape::Closed { concurrency, .. } => u64::from(*concurrency),
        Shape::Open {
            max_concurrency: Some(cap),
            ..
        }
        | Shape::Replay {
            max_concurrency: Some(cap),
            ..
        } => u64::from(*cap),
        // Without a cap nobody knows; a rate that keeps a thousand under way is a guess.
        Shape::Open { rate, .. } if rate.is_infinite() => {
            scenario.load.extent.requests().unwrap_or(1024)
        }
        Shape::Open { .. } | Shape::Replay { .. } => 1024,
    }
}

/// One thread for each 256 streams, at most one per core: more threads than the load needs only
/// take the cores from the server on the same host.
pub fn default_workers(scenario: &Scenario, share: Share) -> u32 {
    let streams = match &scenario.load.shape {
        Shape::Open {
            rate,
            max_concurrency: None,
            ..
        } if !rate.is_infinite() => rate.0 as u64,
        _ => most_streams(scenario),
    };
    u32::try_from(share.of_places(streams).div_ceil(256))
        .unwrap_or(u32::MAX)
        .clamp(1, host::cores())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(streams: u32, requests: u64, distinct: Option<u64>) -> Planned {
        Planned {
            rhythm: Rhythm::Closed {
                streams,
                spread: Duration::ZERO,
            },
            stagger: Stagger::Auto,
            requests: Some(requests),
            opening: None,
            hold: Hold::Auto,
            think: None,
            distinct,
        }
    }

    #[test]
    fn a_warm_up_does_not_begin_the_rows_anew_where_there_are_enough_of_them() {
        assert_eq!(closed(192, 1_920, None).spare_session(), 1_920 + 4 * 192);
        assert_eq!(
            closed(192, 1_920, Some(9_000)).spare_session(),
            1_920 + 4 * 192
        );
        // One answer of each stream to hold the load, two to warm up: just enough.
        let tight = closed(192, 1_920, Some(2_500)).spare_session();
        assert!(tight >= 1_920 + 192 && tight + 2 * 192 <= 2_500, "{tight}");
        // There is no way without sending some twice.
        assert_eq!(
            closed(192, 1_920, Some(2_000)).spare_session(),
            1_920 + 4 * 192
        );
    }
}
