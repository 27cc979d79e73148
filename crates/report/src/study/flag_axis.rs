//! The values of a flag as places on an axis.

use inferometer_campaign::space::Value;
use inferometer_campaign::study::TrialRow;
use inferometer_page::figure::{Axis, Scale};
use inferometer_page::number;

/// Most values that have a tick each.
const FEW_VALUES: usize = 7;
/// Values further apart than this ratio are drawn by their logarithm.
const WIDE: f64 = 20.0;

/// The values of one flag as places on an axis.
pub(super) enum FlagAxis {
    Numbers {
        low: f64,
        high: f64,
        by_ratio: bool,
        few: Vec<f64>,
    },
    Words(Vec<String>),
}

impl FlagAxis {
    /// The axis of a flag, by the values that it had.
    pub fn of<'a>(flag: &str, trials: impl Iterator<Item = &'a TrialRow>) -> FlagAxis {
        let values: Vec<&Value> = trials.filter_map(|trial| trial.flags.get(flag)).collect();
        let numbers: Vec<f64> = values.iter().filter_map(|it| it.number()).collect();
        match ends(&numbers).filter(|_| numbers.len() == values.len()) {
            Some((low, high)) => FlagAxis::Numbers {
                low,
                high,
                by_ratio: low > 0.0 && high / low > WIDE,
                few: few(numbers),
            },
            None => {
                let mut words: Vec<String> = values.iter().map(|it| it.to_string()).collect();
                words.sort();
                words.dedup();
                FlagAxis::Words(words)
            }
        }
    }

    pub fn axis(&self) -> Axis {
        match self {
            FlagAxis::Numbers { by_ratio, few, .. } => {
                let scale = if *by_ratio { Scale::Log } else { Scale::Linear };
                Axis {
                    ticks_at: few.clone(),
                    ..Axis::new("", "", scale)
                }
            }
            FlagAxis::Words(words) => Axis::of_names("", words.clone()),
        }
    }

    /// Where a value lies on it.
    pub fn place(&self, value: &Value) -> Option<f64> {
        match self {
            FlagAxis::Numbers { .. } => value.number(),
            FlagAxis::Words(words) => {
                let word = value.to_string();
                Some(words.iter().position(|known| *known == word)? as f64)
            }
        }
    }

    /// From 0 at the least value to 1 at the greatest.
    pub fn share(&self, value: &Value) -> Option<f64> {
        let place = self.place(value)?;
        let (low, high, place) = match self {
            FlagAxis::Numbers {
                low,
                high,
                by_ratio: true,
                ..
            } => (low.ln(), high.ln(), place.ln()),
            FlagAxis::Numbers { low, high, .. } => (*low, *high, place),
            FlagAxis::Words(words) => (0.0, words.len().saturating_sub(1) as f64, place),
        };
        Some(share_of_range(place, low, high))
    }

    /// What lies at the foot and at the top.
    pub fn span(&self) -> [String; 2] {
        match self {
            FlagAxis::Numbers { low, high, .. } => {
                [low, high].map(|end| number::whole_or_brief(*end))
            }
            FlagAxis::Words(words) => {
                let word = |word: Option<&String>| word.cloned().unwrap_or_default();
                [word(words.first()), word(words.last())]
            }
        }
    }
}

/// Each value once, or none where they are many.
fn few(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    if numbers.len() > FEW_VALUES {
        return Vec::new();
    }
    numbers
}

/// The least and the greatest value.
pub(super) fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().min_by(f64::total_cmp)?;
    let high = values.iter().copied().max_by(f64::total_cmp)?;
    Some((low, high))
}

/// From 0 at the low end of a range to 1 at its high end; a half where it has no width.
pub(super) fn share_of_range(value: f64, low: f64, high: f64) -> f64 {
    if high > low {
        (value - low) / (high - low)
    } else {
        0.5
    }
}
