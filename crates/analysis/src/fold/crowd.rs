//! What is known of all measured requests of a run that has too many to be kept one by one: when
//! they were under way, how long they took, and what was done when.
//!
//! Counts are exact, percentiles within 0.02 % of their value ([`Counted`]), requests under way as
//! exact as a look every millisecond, or every 262,144th of a longer run. Intervals, trends and
//! pictures rest on the share of the requests that is still kept one by one ([`Thinning`]).

use super::pool::Counted;
use super::row::{Figure, Handled, Row, Value};
use crate::thinning::Thinning;
use inferometer_core::units::Offset;
use inferometer_statistics::{Accumulated, Timeline};
use inferometer_statistics::{InFlight, UnderWay};
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
    ttft: Counted,
    /// By figure; absent while it has been the TTFT in every request.
    figures: [Option<Counted>; Figure::VARIANTS.len()],
    /// What was completed when, in requests of all stages.
    pub(super) amounts: Amounts,
}

impl Default for Crowd {
    fn default() -> Self {
        Crowd {
            thinning: Thinning::default(),
            moments: Timeline::with_bins(MOST_MOMENTS),
            ttft: Counted::default(),
            figures: std::array::from_fn(|place| {
                let apart = !Figure::VARIANTS[place].is_usually_ttft();
                apart.then(Counted::default)
            }),
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
        for (figure, apart) in Figure::VARIANTS.iter().zip(&mut self.figures) {
            let value = figure.value(answer);
            if apart.is_none() && value == Value::Span(answer.ttft) {
                continue;
            }
            let counted = apart.get_or_insert_with(|| self.ttft.clone());
            match value {
                Value::Span(span) => counted.add_nanos(span.nanos().as_slice()),
                Value::Number(number) => number.into_iter().for_each(|it| counted.add(it, 1)),
            }
        }
        self.ttft.add_nanos(answer.ttft.nanos().as_slice());
    }

    /// A request that is not measured, but part of the load.
    pub(super) fn add_unmeasured(&mut self, request: UnderWay) {
        for begin in [Moment::Arrived, Moment::Busy, Moment::Sent] {
            self.see(begin, Some(request.from));
        }
        let end = request.to.map(|to| to.max(after(request.from)));
        self.see(Moment::Ended, end);
    }

    /// Takes what another part of the same run counted. Which of its requests are kept is up to
    /// whoever keeps them.
    pub(super) fn merge(&mut self, other: Crowd) {
        self.moments.merge(other.moments);
        for (apart, more) in self.figures.iter_mut().zip(&other.figures) {
            if apart.is_some() || more.is_some() {
                let counted = apart.get_or_insert_with(|| self.ttft.clone());
                counted.merge(more.as_ref().unwrap_or(&other.ttft));
            }
        }
        self.ttft.merge(&other.ttft);
        self.amounts.merge(other.amounts);
    }

    fn see(&mut self, moment: Moment, at: Option<Offset>) {
        if let Some(at) = at {
            self.moments.add(moment as usize, at);
        }
    }

    pub(super) fn figure(&self, figure: Figure) -> &Counted {
        (self.figures[figure as usize].as_ref()).unwrap_or(&self.ttft)
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

/// Amounts, each spread evenly over the time that its request counts over. Sums are of whole parts
/// of a request, so that they are the same in whatever order requests come, and whenever stretches
/// are joined.
#[derive(Clone, Debug, Default)]
pub(super) struct Amounts {
    /// How often the length of a stretch has doubled.
    doublings: u32,
    sums: Vec<Sums>,
    /// By how much more lies in a stretch, and all after it, than in the one before: what a request
    /// adds to those that it fills is entered where they begin and where they end.
    rises: Vec<Rises>,
    known: [bool; AMOUNTS],
}

type Sums = [u128; AMOUNTS];
type Rises = [i128; AMOUNTS];

/// Parts of a request's time by which it is spread.
const PARTS: u64 = 1 << 40;

impl Amounts {
    pub(super) fn add(&mut self, request: &Handled) {
        let from = request.counts_from.0;
        let to = request.to.0.max(from);
        // The finest stretches in which it begins and ends.
        let [begin, end] = [from, to].map(|at| at / FINEST);
        while end >> self.doublings >= MOST_AMOUNTS as u64 {
            self.widen();
        }
        let [first, last] = [begin, end].map(|at| (at >> self.doublings) as usize);
        if self.sums.len() <= last {
            self.sums.resize(last + 1, [0; AMOUNTS]);
            self.rises.resize(last + 1, [0; AMOUNTS]);
        }
        // Parts of the first of the finest stretches, of each that it fills, and of the last.
        let (head, each) = match end - begin {
            0 => (0, 0),
            _ => {
                let per_nano = PARTS as f64 / (to - from) as f64;
                let head = ((begin + 1) * FINEST - from) as f64 * per_nano;
                (head as u64, (FINEST as f64 * per_nano) as u64)
            }
        };
        let filled = |from: u64, to: u64| to.saturating_sub(from) * each;
        let tail = PARTS - (head + filled(begin + 1, end)).min(PARTS);
        let edge = |stretch: usize| (stretch as u64) << self.doublings;
        let in_first = if first == last {
            PARTS
        } else {
            head + filled(begin + 1, edge(first + 1))
        };
        let in_last = filled(edge(last), end) + tail;
        let in_each = each << self.doublings;
        let amounts: [u64; AMOUNTS] = std::array::from_fn(|place| {
            let amount = Amount::VARIANTS[place].of(request);
            self.known[place] |= amount.is_some();
            amount.unwrap_or_default()
        });
        let of = |parts: u64| amounts.map(|amount| u128::from(parts) * u128::from(amount));
        let add = |to: &mut Sums, more: Sums| {
            to.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        };
        add(&mut self.sums[first], of(in_first));
        if first < last {
            add(&mut self.sums[last], of(in_last));
        }
        if first + 1 < last {
            let risen = of(in_each).map(|more| more as i128);
            let begin = self.rises[first + 1].iter_mut();
            begin.zip(risen).for_each(|(rise, more)| *rise += more);
            let end = self.rises[last].iter_mut();
            end.zip(risen).for_each(|(rise, more)| *rise -= more);
        }
    }

    /// All that lies in each stretch.
    fn whole(&self) -> Vec<Sums> {
        let mut level: Rises = [0; AMOUNTS];
        let stretches = self.sums.iter().zip(&self.rises).map(|(sums, rises)| {
            std::array::from_fn(|place| {
                level[place] += rises[place];
                sums[place] + level[place].max(0) as u128
            })
        });
        stretches.collect()
    }

    fn widen(&mut self) {
        let sum =
            |pair: &[Sums]| std::array::from_fn(|amount| pair.iter().map(|bin| bin[amount]).sum());
        self.sums = self.whole().chunks(2).map(sum).collect();
        self.rises = vec![[0; AMOUNTS]; self.sums.len()];
        self.doublings += 1;
    }

    fn merge(&mut self, mut other: Amounts) {
        while self.doublings < other.doublings {
            self.widen();
        }
        while other.doublings < self.doublings {
            other.widen();
        }
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), [0; AMOUNTS]);
            self.rises.resize(other.sums.len(), [0; AMOUNTS]);
        }
        for (bin, more) in self.sums.iter_mut().zip(other.whole()) {
            for (sum, more) in bin.iter_mut().zip(more) {
                *sum += more;
            }
        }
        for (known, too) in self.known.iter_mut().zip(other.known) {
            *known |= too;
        }
    }

    /// What lies in each stretch, to ask for spans.
    pub(super) fn settled(&self) -> SettledAmounts {
        let parts = PARTS as f64;
        let sums = self.whole().into_iter();
        SettledAmounts {
            width: FINEST << self.doublings,
            sums: sums
                .map(|sums| sums.map(|sum| sum as f64 / parts))
                .collect(),
            known: self.known,
        }
    }
}

/// Amounts that take no more.
#[derive(Clone, Debug)]
pub(super) struct SettledAmounts {
    width: u64,
    sums: Vec<[f64; AMOUNTS]>,
    known: [bool; AMOUNTS],
}

impl SettledAmounts {
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
        assert!(amounts.sums.len() <= MOST_AMOUNTS);
        let amounts = amounts.settled();
        let output = |from, to| amounts.between(Amount::Output, at(from), at(to)).unwrap();
        assert!((output(0, 2_000_000) - 16.0).abs() < 1e-9);
        assert!((output(0, 250_000) - 2.0).abs() < 1e-3);
        assert!((output(400_000, 600_000) - 9.6).abs() < 1e-3);
        assert_eq!(amounts.between(Amount::Input, at(0), at(9)), None);
    }
}
