//! Ticks at round numbers, and the fewest digits that tell them apart.

use super::{Axis, Limits, Scale};
use crate::number;

/// A place on an axis and its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub at: f64,
    /// Its words; empty for one that only carries a line.
    pub label: String,
}

const COUNT_IN_THOUSANDS: f64 = 10_000.0;
/// Longest fraction that is written in full.
const LONGEST_LEVEL: usize = 6;
/// More levels than this get round numbers instead.
const MOST_LEVELS: usize = 64;

/// Ticks of an axis, about as many as `room` says.
pub fn ticks(axis: &Axis, limits: Limits, room: usize) -> Vec<Tick> {
    if let Scale::Category(names) = &axis.scale {
        let named = names.iter().enumerate();
        return named
            .map(|(place, name)| Tick {
                at: place as f64,
                label: name.clone(),
            })
            .collect();
    }
    let levels = &axis.ticks_at;
    let inside = |at: &f64| *at >= limits.low && *at <= limits.high;
    if !levels.is_empty() && levels.len() <= MOST_LEVELS {
        let levels = levels.iter().enumerate().filter(|(_, at)| inside(at));
        return levels
            .map(|(nth, &at)| Tick {
                at,
                label: match axis.tick_names.get(nth) {
                    Some(name) => name.clone(),
                    None => level_label(at),
                },
            })
            .collect();
    }
    let at = match axis.scale {
        Scale::Log => by_ratio(limits, room),
        _ => evenly(limits, room),
    };
    let at: Vec<f64> = at.into_iter().filter(inside).collect();
    let step = at
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .filter(|&step| step > 0.0)
        .fold(f64::INFINITY, f64::min);
    let largest = at.iter().fold(0.0f64, |most, at| most.max(at.abs()));
    at.iter()
        .map(|&at| Tick {
            at,
            label: match axis.scale {
                Scale::Log => tick_label(at, at / 10.0, at),
                _ => tick_label(at, step, largest),
            },
        })
        .collect()
}

/// A level as it was given, unless that is long.
fn level_label(at: f64) -> String {
    let given = at.to_string();
    if at.fract() != 0.0 && given.len() <= LONGEST_LEVEL {
        given
    } else {
        number::whole_or_brief(at)
    }
}

/// A number with as many digits as the step to the next needs; in thousands or millions where
/// the axis reaches that far.
pub fn tick_label(value: f64, step: f64, largest: f64) -> String {
    let (factor, sign) = match largest {
        size if size >= 1e10 || (size < 1e-4 && size > 0.0) => return in_powers(value),
        size if size >= 1e7 => (1e6, "M"),
        size if size >= COUNT_IN_THOUSANDS => (1e3, "k"),
        _ => (1.0, ""),
    };
    if value == 0.0 {
        return "0".to_owned();
    }
    let shown = value / factor;
    let decimals = (0..6)
        .find(|&decimals| {
            let unit = 10f64.powi(-decimals);
            let off = |number: f64| (number / unit - (number / unit).round()).abs() * unit;
            let fine = (step / factor).abs().min(shown.abs()) * 0.02;
            off(shown) <= fine
        })
        .unwrap_or(6);
    format!("{}{sign}", number::grouped(shown, decimals as usize))
}

/// A number of many zeros, without what arithmetic leaves at its end.
fn in_powers(value: f64) -> String {
    let short: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    format!("{short:e}")
}

/// Round numbers at equal steps of 1, 2 or 5 times a power of ten.
fn evenly(limits: Limits, room: usize) -> Vec<f64> {
    let span = limits.high - limits.low;
    let rough = span / room.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= rough * 0.85)
        .unwrap_or(10.0 * power);
    let first = (limits.low / step - 1e-9).ceil();
    let count = ((limits.high / step + 1e-9).floor() - first).clamp(0.0, 100.0) as usize;
    (0..=count)
        .map(|index| (first + index as f64) * step)
        .collect()
}

/// Powers of ten, with what lies between as far as there is room.
fn by_ratio(limits: Limits, room: usize) -> Vec<f64> {
    let decades = (limits.high / limits.low).log10();
    let from = limits.low.log10().floor() as i32;
    let to = limits.high.log10().ceil() as i32;
    let of = |factors: &[f64], every: i32| -> Vec<f64> {
        let powers = (from..=to).filter(|power| power.rem_euclid(every) == 0);
        powers
            .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
            .filter(|at| *at >= limits.low && *at <= limits.high)
            .collect()
    };
    if decades < 0.7 {
        let round = evenly(limits, room);
        return round.into_iter().filter(|&at| at > 0.0).collect();
    }
    let between: [&[f64]; 2] = [&[1.0, 2.0, 5.0], &[1.0, 3.0]];
    for factors in between {
        let fine = of(factors, 1);
        if fine.len() <= room.max(3) {
            return fine;
        }
    }
    let every = (decades / room.max(1) as f64).ceil().max(1.0) as i32;
    of(&[1.0], every)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, low: f64, high: f64, room: usize) -> Vec<String> {
        let axis = Axis::new("", "", scale);
        let ticks = ticks(&axis, Limits { low, high }, room);
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn steps_are_round_and_large_numbers_are_short() {
        assert_eq!(
            labels(Scale::FromZero, 0.0, 104.0, 5),
            ["0", "20", "40", "60", "80", "100"]
        );
        assert_eq!(
            labels(Scale::FromZero, 0.0, 0.31, 4),
            ["0", "0.1", "0.2", "0.3"]
        );
        assert_eq!(
            labels(Scale::FromZero, 0.0, 42_000.0, 5),
            ["0", "10k", "20k", "30k", "40k"]
        );
        assert_eq!(
            labels(Scale::FromZero, 0.0, 5_200.0, 6),
            ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]
        );
    }

    #[test]
    fn ratios_get_powers_of_ten_or_steps_between() {
        assert_eq!(
            labels(Scale::Log, 0.9, 110.0, 8),
            ["1", "2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(
            labels(Scale::Log, 0.01, 1e5, 5),
            ["0.01", "1", "100", "10k"]
        );
    }

    #[test]
    fn tiny_numbers_have_no_more_digits_than_their_step() {
        assert_eq!(
            labels(Scale::FromZero, 0.0, 4.2e-14, 4),
            ["0e0", "1e-14", "2e-14", "3e-14", "4e-14"]
        );
    }

    #[test]
    fn extreme_spans_have_few_ticks_and_never_hang() {
        for (low, high) in [
            (0.0, 1e300),
            (-1e300, 1e300),
            (1e-300, 2e-300),
            (1e9, 1e9 + 1e-6),
        ] {
            assert!(labels(Scale::Linear, low, high, 6).len() <= 101);
        }
        assert!(labels(Scale::Log, 1e-12, 1e300, 6).len() <= 101);
    }

    #[test]
    fn the_levels_of_a_ladder_are_its_ticks() {
        let axis = Axis {
            ticks_at: vec![1.0, 8.0, 64.0],
            ..Axis::new("", "", Scale::Log)
        };
        let limits = Limits {
            low: 0.9,
            high: 70.0,
        };
        let at: Vec<f64> = ticks(&axis, limits, 3).iter().map(|tick| tick.at).collect();
        assert_eq!(at, [1.0, 8.0, 64.0]);
    }
}
