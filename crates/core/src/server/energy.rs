//! Power of the cards over the measured part, and what a token of it costs.

use super::{DeviceState, Sample};
use crate::units::Offset;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Power between two samples that lie further apart is not known.
const LONGEST_GAP: Duration = Duration::from_secs(5);

/// Least share of the measured part in which power must be known before anything is divided by
/// it.
pub const LEAST_COVERAGE: f64 = 0.5;

/// Energy of the cards that worked while it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergySummary {
    /// Their numbers, as the driver's tool has them. Cards that stood idle all the time are left
    /// out.
    pub cards: Vec<u32>,
    /// Share of the measured part in which the power of all of them was sampled.
    pub coverage: f64,
    /// Mean power of all of them together.
    pub watts: f64,
    /// Absent, as the others, where `coverage` is below one half.
    pub joules_per_output_token: Option<f64>,
    pub joules_per_request: Option<f64>,
    /// Of a vector or score, where answers consist of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules_per_item: Option<f64>,
    /// Output tokens per joule: tokens per second and watt.
    pub output_tokens_per_joule: Option<f64>,
}

/// What was done in a second, where it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct DonePerSecond {
    pub requests: Option<f64>,
    pub output_tokens: Option<f64>,
    pub items: Option<f64>,
}

impl EnergySummary {
    /// Mean power from `from` to `to`, by straight lines between samples; absent where no card
    /// that worked tells its power.
    pub fn of(samples: &[Sample], from: Offset, to: Offset) -> Option<Self> {
        let mut cards: BTreeMap<u32, Vec<(Offset, &DeviceState)>> = BTreeMap::new();
        for sample in samples {
            for device in &sample.devices {
                cards
                    .entry(device.index)
                    .or_default()
                    .push((sample.at, device));
            }
        }
        cards.retain(|_, seen| {
            let inside = seen.iter().filter(|(at, _)| (from..=to).contains(at));
            let mut busy = inside.map(|(_, device)| device.busy);
            busy.any(|busy| busy.is_none_or(|share| share > 0.0))
        });
        let known = cards
            .values()
            .map(|seen| mean_power(seen, from, to))
            .collect::<Option<Vec<_>>>()?;
        let coverage = known.iter().map(|(_, share)| *share).reduce(f64::min)?;
        Some(EnergySummary {
            cards: cards.into_keys().collect(),
            coverage,
            watts: known.iter().map(|(watts, _)| watts).sum(),
            ..EnergySummary::default()
        })
    }

    /// The same with what was done by it.
    pub fn beside(mut self, done: DonePerSecond) -> Self {
        let known = self.coverage >= LEAST_COVERAGE && self.watts > 0.0;
        let each = |rate: Option<f64>| rate.filter(|rate| known && *rate > 0.0);
        let joules = |rate: Option<f64>| each(rate).map(|rate| self.watts / rate);
        self.joules_per_request = joules(done.requests);
        self.joules_per_output_token = joules(done.output_tokens);
        self.joules_per_item = joules(done.items);
        self.output_tokens_per_joule = each(done.output_tokens).map(|rate| rate / self.watts);
        self
    }
}

/// Mean power of one card in watts, and the share of the time in which it is known.
fn mean_power(seen: &[(Offset, &DeviceState)], from: Offset, to: Offset) -> Option<(f64, f64)> {
    let watts = (seen.iter()).filter_map(|(at, device)| Some((*at, device.power_w?)));
    let watts: Vec<(Offset, f64)> = watts.filter(|(_, watts)| watts.is_finite()).collect();
    let (mut joules, mut seconds) = (0.0, 0.0);
    for pair in watts.windows(2) {
        let [(begin, first), (end, last)] = [pair[0], pair[1]];
        let whole = end.since(begin);
        let (cut_begin, cut_end) = (begin.max(from), end.min(to));
        if whole > LONGEST_GAP || cut_begin >= cut_end {
            continue;
        }
        let at = |moment: Offset| {
            let part = moment.since(begin).as_secs_f64() / whole.as_secs_f64();
            first + part * (last - first)
        };
        let lasts = cut_end.since(cut_begin).as_secs_f64();
        joules += (at(cut_begin) + at(cut_end)) / 2.0 * lasts;
        seconds += lasts;
    }
    let all = to.since(from).as_secs_f64();
    (seconds > 0.0 && all > 0.0).then(|| (joules / seconds, seconds / all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: u64) -> Offset {
        Offset::after(Duration::from_secs(at))
    }

    fn sample(at: u64, cards: &[(f64, f64)]) -> Sample {
        let card = |(index, &(busy, watts)): (usize, &(f64, f64))| DeviceState {
            index: index as u32,
            busy: Some(busy),
            power_w: Some(watts),
            ..DeviceState::default()
        };
        Sample {
            at: second(at),
            devices: cards.iter().enumerate().map(card).collect(),
            ..Sample::default()
        }
    }

    #[test]
    fn power_is_that_of_the_cards_that_worked_inside_the_window() {
        // It rises from 100 to 500 W in ten seconds; the second card stands idle.
        let samples: Vec<Sample> = (0..=10)
            .map(|at| sample(at, &[(0.9, 100.0 + 40.0 * at as f64), (0.0, 60.0)]))
            .collect();
        let energy = EnergySummary::of(&samples, second(2), second(6)).unwrap();
        assert_eq!(energy.cards, [0]);
        assert!((energy.watts - 260.0).abs() < 1e-9 && (energy.coverage - 1.0).abs() < 1e-9);
        let done = DonePerSecond {
            output_tokens: Some(520.0),
            requests: Some(2.0),
            items: None,
        };
        let energy = energy.beside(done);
        assert_eq!(energy.joules_per_output_token, Some(0.5));
        assert_eq!(energy.output_tokens_per_joule, Some(2.0));
        assert_eq!(energy.joules_per_request, Some(130.0));
        assert_eq!(energy.joules_per_item, None);
    }

    #[test]
    fn what_was_not_sampled_is_told_and_nothing_is_divided_by_a_guess() {
        let busy = |at| sample(at, &[(1.0, 300.0)]);
        let samples = [busy(0), busy(1), busy(2), busy(20), busy(21)];
        let energy = EnergySummary::of(&samples, second(0), second(20)).unwrap();
        assert!((energy.coverage - 0.1).abs() < 1e-9);
        let done = DonePerSecond {
            output_tokens: Some(100.0),
            ..DonePerSecond::default()
        };
        assert_eq!(energy.beside(done).joules_per_output_token, None);
        let idle = [sample(0, &[(0.0, 60.0)]), sample(1, &[(0.0, 60.0)])];
        assert_eq!(EnergySummary::of(&idle, second(0), second(1)), None);
        assert_eq!(EnergySummary::of(&[busy(1)], second(0), second(2)), None);
    }
}
