//! Stalls: gaps between the tokens of one answer that are far longer than its others.

use super::division::prompt_tokens;
use super::summary::Course;
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::Record;
use inferometer_core::server::Sample;
use inferometer_core::units::Offset;
use std::time::Duration;

/// A gap this many times what its tokens usually take is a stall.
const STALL_RATIO: f64 = 2.5;

/// Shorter excesses are the scheduler of the host as likely as the engine.
const LEAST_EXCESS: Duration = Duration::from_millis(2);

/// The first token of the intruder is written in the step that ends the stall, but may be read
/// a little later.
const SAME_STEP: Duration = Duration::from_millis(2);

/// Tokens that arrive this close together were written together: by one step, or by a server
/// that was late.
const TOGETHER: Duration = Duration::from_micros(300);

/// A stall in which everybody was silent for less than this share befell this answer alone. The
/// tokens of one step arrive over some milliseconds, so that moments alone would not tell.
const ALL_SILENT: f64 = 0.5;

/// What happened around the answers of a run.
pub(super) struct Surroundings<'a> {
    /// Arrivals of all requests' first tokens, sorted, each with the time for which its prompt
    /// was worked on, where the server tells.
    prefills: Vec<(Offset, Option<Duration>)>,
    longest_prefill: Duration,
    /// Moments at which tokens of any answer arrived, sorted.
    moments: Vec<Offset>,
    samples: &'a [Sample],
}

impl<'a> Surroundings<'a> {
    /// Those of all records; `prefill` is the server's own mean, where it says so.
    pub fn of(records: &[Record], samples: &'a [Sample], prefill: Option<Duration>) -> Self {
        let lengths: Vec<f64> = records.iter().filter_map(prompt_tokens).collect();
        let mean_length = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        let prefill_of = |record: &Record| {
            let length = prompt_tokens(record).filter(|_| mean_length > 0.0);
            let times = length.map_or(1.0, |tokens| tokens / mean_length);
            // Nobody is worked on before being sent.
            let limit = record.ttft_from_sent()?.as_secs_f64();
            let seconds = (prefill?.as_secs_f64() * times).min(limit);
            Some(Duration::from_secs_f64(seconds))
        };
        let mut prefills: Vec<(Offset, Option<Duration>)> = records
            .iter()
            .filter_map(|it| Some((it.first_token()?, prefill_of(it))))
            .collect();
        prefills.sort_unstable();
        let mut moments: Vec<Offset> = records
            .iter()
            .flat_map(|record| record.chunks.at.iter().copied())
            .collect();
        moments.sort_unstable();
        moments.dedup_by(|later, earlier| later.since(*earlier) < TOGETHER);
        Surroundings {
            longest_prefill: prefills
                .iter()
                .filter_map(|it| it.1)
                .max()
                .unwrap_or_default(),
            prefills,
            moments,
            samples,
        }
    }

    /// Did other answers go on between two tokens of this one?
    fn others_go_on(&self, from: Offset, to: Offset) -> bool {
        let after = self.moments.partition_point(|at| *at <= from);
        let between = self.moments[after..].iter().copied();
        let mut last = from;
        let mut silence = Duration::ZERO;
        for at in between.take_while(|at| *at < to).chain([to]) {
            silence = silence.max(at.since(last));
            last = at;
        }
        silence.as_secs_f64() < ALL_SILENT * to.since(from).as_secs_f64()
    }

    /// For how long of that time prompts were worked on: all of it where a first token ends it
    /// and nothing else is known.
    fn prefilling(&self, from: Offset, to: Offset) -> Duration {
        let next = self.prefills.partition_point(|(first, _)| *first <= from);
        let last = to + SAME_STEP.max(self.longest_prefill);
        let share = |(first, prefill): &(Offset, Option<Duration>)| match prefill {
            // From the begin of the prefill, or of the stall, to the end of either.
            Some(prefill) => {
                let before = first.since(from).saturating_sub(*prefill);
                (*first).min(to).since(from).saturating_sub(before)
            }
            None if *first <= to + SAME_STEP => to.since(from),
            None => Duration::ZERO,
        };
        self.prefills[next..]
            .iter()
            .take_while(|(first, _)| *first <= last)
            .map(share)
            .sum()
    }

    /// Did the server throw a request back, between the looks around that time?
    fn preempts(&self, from: Offset, to: Offset) -> bool {
        Course::new(self.samples, from, to)
            .growth(|state| state.preemptions)
            .is_some_and(|count| count > 0.0)
    }
}

/// Time that one answer lost in stalls, by what happened meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stalls {
    pub count: u64,
    pub longest: Duration,
    /// Another request's prompt was worked on.
    pub interference: Duration,
    pub interfered: u64,
    /// The server threw a request back, and other answers went on.
    pub preemption: Duration,
    pub preempted: u64,
    /// Nothing that we know of.
    pub unknown: Duration,
}

impl Stalls {
    pub fn of(record: &Record, around: &Surroundings<'_>) -> Self {
        let pauses = pauses(record);
        let mut paces: Vec<f64> = pauses
            .iter()
            .flat_map(|pause| std::iter::repeat_n(pause.pace(), pause.tokens as usize))
            .collect();
        sort(&mut paces);
        let Some(usual) = quantile(&paces, 0.5) else {
            return Stalls::default();
        };
        let mut stalls = Stalls::default();
        for Pause { from, to, tokens } in pauses {
            let gap = to.since(from);
            let expected = usual * f64::from(tokens);
            let excess = gap.saturating_sub(Duration::from_secs_f64(expected));
            if gap.as_secs_f64() < STALL_RATIO * expected || excess < LEAST_EXCESS {
                continue;
            }
            stalls.count += 1;
            stalls.longest = stalls.longest.max(gap);
            // A prompt that is worked on stops everybody; who is thrown back stops alone.
            let alone = around.others_go_on(from, to);
            if alone && around.preempts(from, to) {
                stalls.preemption += excess;
                stalls.preempted += 1;
                continue;
            }
            let worked_on = if alone {
                Duration::ZERO
            } else {
                around.prefilling(from, to).min(excess)
            };
            stalls.interference += worked_on;
            stalls.interfered += u64::from(worked_on > Duration::ZERO);
            stalls.unknown += excess - worked_on;
        }
        stalls
    }

    pub fn lost(&self) -> Duration {
        self.interference + self.preemption + self.unknown
    }
}

/// The time before tokens that arrived together.
struct Pause {
    from: Offset,
    to: Offset,
    tokens: u32,
}

impl Pause {
    fn pace(&self) -> f64 {
        self.to.since(self.from).as_secs_f64() / f64::from(self.tokens)
    }
}

/// Tokens that came with the first one took no time of their own.
fn pauses(record: &Record) -> Vec<Pause> {
    let mut pauses: Vec<Pause> = Vec::new();
    for pair in record.chunks.at.windows(2) {
        if pair[1].since(pair[0]) >= TOGETHER {
            pauses.push(Pause {
                from: pair[0],
                to: pair[1],
                tokens: 1,
            });
        } else if let Some(last) = pauses.last_mut() {
            last.tokens += 1;
        }
    }
    pauses
}
