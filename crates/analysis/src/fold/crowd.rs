//! What is known of all measured requests of a run that has too many to be kept one by one: when
//! they were under way, how long they took, and what was done when.
//!
//! Counts are exact, percentiles within 0.02 % of their value ([`Counted`]), requests under way as
//! exact as a look every millisecond, or every 262,144th of a longer run. Intervals, trends and
//! pictures rest on the share of the requests that is still kept one by one ([`Thinning`]).

use super::pool::Counted;
use super::row::{Figure, Handled, Row};
use crate::concurrency::{InFlight, UnderWay};
use crate::thinning::Thinning;
use crate::timeline::{Accumulated, Timeline};
use inferometer_core::units::Offset;
use strum::VariantArray as _;

/// Most stretches of time by which moments, and amounts, are counted.
const MOST_MOMENTS: usize = 1 << 18;
const MOST_AMOUNTS: usize = 1 << 16;
/// First length of a stretch of amounts, in nanoseconds.
const FINEST: u64 = 1_000_000;

/// Moments in the life of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub(super) enum Moment {
    Arrived,
    Busy,
    Sent,
    Ended,
    Completed,
    Failed,
}

const MOMENTS: usize = Moment::VARIANTS.len();

#[derive(Clone, Debug)]
pub(super) struct Crowd {
    pub(super) thinning: Thinning,
    moments: Timeline<MOMENTS>,
    figures: Vec<Counted>,
    /// What was completed when, in requests of all stages.
    pub(super) amounts: Amounts,
}

impl Default for Crowd {
    fn default() -> Self {
        Crowd {
            thinning: Thinning::default(),
            moments: Timeline::with_bins(MOST_MOMENTS),
            figures: vec![Counted::default(); Figure::VARIANTS.len()],
            amounts: Amounts::default(),
        }
    }
}

impl Crowd {
    pub(super) fn add(&mut self, row: &Row) {
        if let Some(sent) = row.sent.offset() {
            self.see(Moment::Sent, Some(sent));
            self.see(Moment::Arrived, row.start.or(row.sent).offset());
            self.see(Moment::Busy, row.busy_from.or(row.sent).offset());
            let end = row.end.offset().map(|end| end.max(after(sent)));
            self.see(Moment::Ended, end);
        }
        if row.failed {
            self.see(Moment::Failed, row.end.or(row.start).offset());
        }
        let Some(answer) = &row.answer else { return };
        self.see(Moment::Completed, Some(answer.completed));
        for (figure, counted) in Figure::VARIANTS.iter().zip(&mut self.figures) {
            if let Some(value) = figure.of(answer) {
                counted.add(value, 1);
            }
        }
    }

    /// A request that is not measured, but part of the load.
    pub(super) fn add_unmeasured(&mut self, request: UnderWay) {
        for begin in [Moment::Arrived, Moment::Busy, Moment::Sent] {
            self.see(begin, Some(request.from));
        }
        let end = request.to.map(|to| to.max(after(request.from)));
        self.see(Moment::Ended, end);
    }

    fn see(&mut self, moment: Moment, at: Option<Offset>) {
        if let Some(at) = at {
            self.moments.add(moment as usize, at);
        }
    }

    pub(super) fn figure(&self, figure: Figure) -> &Counted {
        &self.figures[figure as usize]
    }

    pub(super) fn in_flight_since(&self, begin: Moment) -> InFlight {
        self.moments
            .in_flight(begin as usize, Moment::Ended as usize)
    }

    /// Requests that had not ended, of all that were ever sent.
    pub(super) fn left(&self) -> InFlight {
        let [sent, ended] = [Moment::Sent, Moment::Ended].map(|moment| moment as usize);
        self.moments.unended(sent, ended)
    }

    pub(super) fn moments(&self, moment: Moment) -> Accumulated {
        self.moments.accumulate(moment as usize)
    }
}

/// A request without any length still was under way.
fn after(begin: Offset) -> Offset {
    Offset(begin.0.saturating_add(1))
}

/// What a request counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub(super) enum Amount {
    Requests,
    Input,
    Output,
    Items,
    AudioMs,
    InputChars,
    OutputChars,
}

const AMOUNTS: usize = Amount::VARIANTS.len();

impl Amount {
    pub(super) fn of(self, request: &Handled) -> Option<u64> {
        match self {
            Amount::Requests => Some(1),
            Amount::Input => request.input.map(u64::from),
            Amount::Output => request.output.map(u64::from),
            Amount::Items => request.items.map(u64::from),
            Amount::AudioMs => request.audio_ms.map(u64::from),
            Amount::InputChars => Some(request.input_chars),
            Amount::OutputChars => Some(request.output_chars),
        }
    }
}

/// Amounts, each spread evenly over the time that its request counts over.
#[derive(Clone, Debug)]
pub(super) struct Amounts {
    width: u64,
    sums: Vec<[f64; AMOUNTS]>,
    known: [bool; AMOUNTS],
}

impl Default for Amounts {
    fn default() -> Self {
        Amounts {
            width: FINEST,
            sums: Vec::new(),
            known: [false; AMOUNTS],
        }
    }
}

impl Amounts {
    pub(super) fn add(&mut self, request: &Handled) {
        let from = request.counts_from.0;
        let to = request.to.0.max(from);
        while to / self.width >= MOST_AMOUNTS as u64 {
            let sum = |pair: &[[f64; AMOUNTS]]| {
                std::array::from_fn(|amount| pair.iter().map(|bin| bin[amount]).sum())
            };
            self.sums = self.sums.chunks(2).map(sum).collect();
            self.width *= 2;
        }
        let [first, last] = [from, to].map(|at| (at / self.width) as usize);
        if self.sums.len() <= last {
            self.sums.resize(last + 1, [0.0; AMOUNTS]);
        }
        let amounts: [_; AMOUNTS] =
            std::array::from_fn(|place| Amount::VARIANTS[place].of(request));
        for (known, amount) in self.known.iter_mut().zip(amounts) {
            *known |= amount.is_some();
        }
        for bin in first..=last {
            let begin = from.max(bin as u64 * self.width);
            let end = to.min((bin as u64 + 1).saturating_mul(self.width));
            let share = if to > from {
                (end - begin) as f64 / (to - from) as f64
            } else {
                1.0
            };
            for (sum, amount) in self.sums[bin].iter_mut().zip(amounts) {
                *sum += share * amount.unwrap_or_default() as f64;
            }
        }
    }

    /// The amount between two moments; absent where it is not known of any request.
    pub(super) fn between(&self, amount: Amount, from: Offset, to: Offset) -> Option<f64> {
        let [from, to] = [from, to].map(|at| at.0 as f64 / self.width as f64);
        let first = from as usize;
        let touched = self.sums.iter().enumerate().skip(first);
        let sum = touched
            .take_while(|(bin, _)| (*bin as f64) < to)
            .map(|(bin, sums)| {
                let inside = to.min(bin as f64 + 1.0) - from.max(bin as f64);
                inside * sums[amount as usize]
            })
            .sum();
        self.known[amount as usize].then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::units::Slim;

    #[test]
    fn amounts_lie_where_their_requests_were_under_way() {
        let request = |from_ms: u64, to_ms: u64| Handled {
            from: Offset(from_ms * 1_000_000),
            counts_from: Offset(from_ms * 1_000_000),
            first_token: Slim::default(),
            after_opening: None,
            to: Offset(to_ms * 1_000_000),
            complete: true,
            input: None,
            output: Some(8),
            items: None,
            audio_ms: None,
            input_chars: 3,
            output_chars: 30,
        };
        let mut amounts = Amounts::default();
        // Far beyond what bins of a millisecond could hold.
        amounts.add(&request(0, 1_000_000));
        amounts.add(&request(500_000, 500_000));
        let at = |ms: u64| Offset(ms * 1_000_000);
        let output = |from, to| amounts.between(Amount::Output, at(from), at(to)).unwrap();
        assert!(amounts.sums.len() <= MOST_AMOUNTS);
        assert!((output(0, 2_000_000) - 16.0).abs() < 1e-9);
        assert!((output(0, 250_000) - 2.0).abs() < 1e-3);
        assert!((output(400_000, 600_000) - 9.6).abs() < 1e-3);
        assert_eq!(amounts.between(Amount::Input, at(0), at(9)), None);
    }
}
