//! Requests under way at each moment, exactly, by a sweep over their begins and ends.

use inferometer_core::units::Offset;

/// From sent to the end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    pub from: Offset,
    /// Over; absent if it was still under way at the end of the run.
    pub to: Option<Offset>,
}

/// The number of requests under way as a step function of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InFlight {
    /// Moments at which the number changes, in order, with the number from then on.
    steps: Vec<(u64, u64)>,
}

impl InFlight {
    /// Sweeps over begins and ends. An end at the moment of a begin comes first, so that a
    /// stream that sends again at once is never counted twice.
    pub fn sweep(requests: impl IntoIterator<Item = UnderWay>) -> Self {
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        for request in requests {
            // A request without any length still was under way: keep its begin before its end.
            let from = request.from.0;
            begins.push(from);
            ends.extend(request.to.map(|to| to.0.max(from.saturating_add(1))));
        }
        begins.sort_unstable();
        ends.sort_unstable();
        let mut steps: Vec<(u64, u64)> = Vec::with_capacity(begins.len() + ends.len());
        let (mut begins, mut ends) = (begins.into_iter().peekable(), ends.into_iter().peekable());
        let mut number = 0u64;
        loop {
            let end = ends.next_if(|end| begins.peek().is_none_or(|begin| end <= begin));
            let at = match end {
                Some(end) => {
                    number = number.saturating_sub(1);
                    end
                }
                None => {
                    let Some(begin) = begins.next() else { break };
                    number += 1;
                    begin
                }
            };
            match steps.last_mut() {
                // Begins after ends of one moment: the highest number of the moment is the last.
                Some((last, value)) if *last == at => *value = number,
                _ => steps.push((at, number)),
            }
        }
        InFlight { steps }
    }

    /// The number at the end of each of many short stretches of equal length, which tells of a long
    /// run what the sweep over all its requests would. `changes` are the begins and ends in each.
    pub fn sampled(width: u64, changes: impl Iterator<Item = [u64; 2]>) -> Self {
        let mut number = 0u64;
        let steps = changes.zip(1..).map(|([begins, ends], edge)| {
            number = (number + begins).saturating_sub(ends);
            (width.saturating_mul(edge), number)
        });
        InFlight {
            steps: steps.collect(),
        }
    }

    /// Time-weighted mean inside a window; absent if the window has no length.
    pub fn mean(&self, from: Offset, to: Offset) -> Option<f64> {
        self.bins(from, to, 1).first().copied()
    }

    /// Largest number at one time inside a window; absent if nothing was ever sent.
    pub fn peak(&self, from: Offset, to: Offset) -> Option<u64> {
        if self.steps.is_empty() || to < from {
            return None;
        }
        let first = self.steps.partition_point(|step| step.0 <= from.0);
        let at_begin = first.checked_sub(1).map_or(0, |index| self.steps[index].1);
        let inside = self.steps[first..]
            .iter()
            .take_while(|step| step.0 <= to.0)
            .map(|step| step.1);
        Some(inside.fold(at_begin, u64::max))
    }

    /// The last moment at which at least `number` were under way.
    pub fn last_at_least(&self, number: u64) -> Option<Offset> {
        let last = self.steps.iter().rposition(|step| step.1 >= number)?;
        let until = self.steps.get(last + 1).unwrap_or(&self.steps[last]);
        Some(Offset(until.0))
    }

    /// Time-weighted means in `count` parts of equal length; none if the window has no length.
    pub fn bins(&self, from: Offset, to: Offset, count: usize) -> Vec<f64> {
        if to <= from || count == 0 {
            return Vec::new();
        }
        let width = (to.0 - from.0) as f64 / count as f64;
        let mut bins = vec![0.0; count];
        let mut index = self.steps.partition_point(|step| step.0 <= from.0);
        let mut number = index
            .checked_sub(1)
            .map_or(0, |before| self.steps[before].1);
        let mut at = 0.0;
        while at < width * count as f64 {
            let next = self
                .steps
                .get(index)
                .map_or(f64::INFINITY, |step| (step.0.saturating_sub(from.0)) as f64);
            let until = next.min(width * count as f64);
            spread(&mut bins, width, at, until, number as f64);
            at = until;
            match self.steps.get(index) {
                Some(step) => number = step.1,
                None => break,
            }
            index += 1;
        }
        bins
    }
}

/// Adds a number that holds from `from` to `to` to the means of the bins that it touches.
fn spread(bins: &mut [f64], width: f64, from: f64, to: f64, number: f64) {
    if to <= from || number == 0.0 {
        return;
    }
    let last = bins.len() - 1;
    let first = ((from / width) as usize).min(last);
    for (index, bin) in bins.iter_mut().enumerate().skip(first) {
        let begin = index as f64 * width;
        if begin >= to {
            break;
        }
        let end = begin + width;
        *bin += number * (to.min(end) - from.max(begin)).max(0.0) / width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn under_way(from: u64, to: u64) -> UnderWay {
        UnderWay {
            from: Offset(from),
            to: Some(Offset(to)),
        }
    }

    #[test]
    fn mean_and_peak_are_exact() {
        let sweep = InFlight::sweep([under_way(0, 100), under_way(50, 100), under_way(60, 70)]);
        assert_eq!(sweep.peak(Offset(0), Offset(100)), Some(3));
        let mean = sweep.mean(Offset(0), Offset(100)).unwrap();
        assert!((mean - 1.6).abs() < 1e-9, "{mean}");
        let bins = sweep.bins(Offset(0), Offset(100), 2);
        assert!((bins[0] - 1.0).abs() < 1e-9 && (bins[1] - 2.2).abs() < 1e-9);
        assert_eq!(sweep.last_at_least(3), Some(Offset(70)));
        assert_eq!(sweep.last_at_least(4), None);
    }

    #[test]
    fn a_stream_that_sends_again_at_once_counts_once() {
        let sweep = InFlight::sweep((0..10).map(|i| under_way(i * 10, i * 10 + 10)));
        assert_eq!(sweep.peak(Offset(0), Offset(100)), Some(1));
        let mean = sweep.mean(Offset(0), Offset(100)).unwrap();
        assert!((mean - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_request_that_never_ended_is_under_way_to_the_end_of_the_window() {
        let sweep = InFlight::sweep([UnderWay {
            from: Offset(20),
            to: None,
        }]);
        let mean = sweep.mean(Offset(0), Offset(100)).unwrap();
        assert!((mean - 0.8).abs() < 1e-9);
    }

    #[test]
    fn a_window_without_length_has_no_mean() {
        assert_eq!(InFlight::default().mean(Offset(5), Offset(5)), None);
        assert_eq!(InFlight::default().peak(Offset(0), Offset(5)), None);
    }

    proptest! {
        #[test]
        fn the_mean_is_the_sum_of_lengths_over_the_window(
            spans in proptest::collection::vec((0u64..1000, 1u64..500), 1..40),
            parts in 1usize..9,
        ) {
            let total: u64 = spans.iter().map(|span| span.1).sum();
            let sweep = InFlight::sweep(spans.iter().map(|&(from, len)| under_way(from, from + len)));
            let bins = sweep.bins(Offset(0), Offset(2000), parts);
            let mean = bins.iter().sum::<f64>() / parts as f64;
            prop_assert!((mean - total as f64 / 2000.0).abs() < 1e-6);
        }
    }
}
