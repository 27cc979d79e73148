//! The survey of `data`: what a data set holds, how long its prompts are, and what is wrong
//! with it.

use inferometer_core::quantile::quantile_by_rank;
use inferometer_core::work::DataFormat;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Name and version of the survey's form.
pub const SCHEMA: &str = "inferometer.data/1";

/// What a look through a data set found. What is not known is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Survey {
    /// `inferometer.data/1`.
    pub schema: String,
    /// The file, as the user named it.
    pub location: String,
    /// Its format, given or found.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub format: DataFormat,
    pub format_given: bool,
    pub packing: Packing,
    /// What became of its rows.
    pub rows: RowCounts,
    /// Reading ended before the end of the file, because no more was asked for.
    pub partial: bool,
    pub bad_rows: Vec<BadLine>,
    /// Who counted tokens; absent for a trace, which states its lengths.
    pub tokenizer: Option<String>,
    /// The user chose that tokenizer.
    pub tokenizer_given: bool,
    /// Characters of prompts; absent for a trace. Every turn of a conversation is a prompt.
    pub prompt_chars: Option<Lengths>,
    pub prompt_tokens: Option<Lengths>,
    /// Tokens of the answers in the data, or that the data ask for.
    pub output_tokens: Option<Lengths>,
    pub turns: Option<Lengths>,
    pub arrivals: Option<Arrivals>,
    /// The first prompts, made printable and short.
    pub first_prompts: Vec<String>,
}

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// seen = usable + unusable + bad + those that fell to a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowCounts {
    pub seen: u64,
    /// That a run could send.
    pub usable: u64,
    /// Sound, but without a prompt, or without an answer where one is needed.
    pub unusable: u64,
    /// Could not be read.
    pub bad: u64,
    /// Prompts below `--min-prompt`.
    pub too_short: u64,
    /// Prompts above `--max-prompt`.
    pub too_long: u64,
    /// Rows against `--filter`.
    pub by_filter: u64,
}

/// A row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BadLine {
    /// The line where it begins, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// Arrivals of a trace, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrivals {
    /// From the first to the last.
    pub span_s: f64,
    /// Gaps in that span, a second.
    pub per_s: Option<f64>,
    /// Standard deviation of the gaps over their mean: 1 for Poisson arrivals, more for bursts.
    pub gap_variation: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lengths {
    pub n: u64,
    pub mean: f64,
    pub min: u64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: u64,
    /// The histogram: bins side by side, of equal width or of equal ratio.
    pub bins: Vec<Bin>,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bin {
    pub from: u64,
    pub to: u64,
    pub count: u64,
}

/// Bins of a histogram, at most.
const BINS: u64 = 12;
/// From these ratios of the largest to the smallest and to the middle length on, bins have equal
/// ratios: lengths are wide apart, and most are in the lower part.
const WIDE: u64 = 20;
const SKEWED: f64 = 5.0;

/// Lengths that are being counted. Only different lengths take memory, and there can be few of
/// them: so many different texts of lengths 1, 2, 3 … have a total size of their square.
#[derive(Clone, Debug, Default)]
pub struct LengthCounts(HashMap<u64, u64>);

impl LengthCounts {
    pub fn add(&mut self, length: u64) {
        *self.0.entry(length).or_default() += 1;
    }

    /// What was counted; absent if that is nothing.
    pub fn lengths(&self) -> Option<Lengths> {
        let mut counts: Vec<(u64, u64)> = self.0.iter().map(|(&at, &n)| (at, n)).collect();
        counts.sort_unstable();
        let (min, max) = (counts.first()?.0, counts.last()?.0);
        // How many there are up to and with each length.
        let ends: Vec<u64> = counts
            .iter()
            .scan(0, |total, (_, count)| {
                *total += count;
                Some(*total)
            })
            .collect();
        let n = *ends.last()?;
        let at = |rank: u64| {
            let place = ends.partition_point(|&end| end <= rank);
            counts.get(place).map_or(max, |(length, _)| *length) as f64
        };
        let quantile = |p| quantile_by_rank(n, at, p);
        let sum: f64 = counts.iter().map(|&(at, n)| at as f64 * n as f64).sum();
        Some(Lengths {
            n,
            mean: sum / n as f64,
            min,
            p50: quantile(0.5)?,
            p90: quantile(0.9)?,
            p99: quantile(0.99)?,
            max,
            bins: bins(&counts, max as f64 >= SKEWED * quantile(0.5)?),
        })
    }
}

/// The histogram of sorted lengths.
fn bins(counts: &[(u64, u64)], skewed: bool) -> Vec<Bin> {
    let (Some(&(min, _)), Some(&(max, _))) = (counts.first(), counts.last()) else {
        return Vec::new();
    };
    let mut bins: Vec<Bin> = begins(min, max, skewed)
        .into_iter()
        .map(|from| Bin {
            from,
            to: max,
            count: 0,
        })
        .collect();
    for place in 1..bins.len() {
        bins[place - 1].to = bins[place].from - 1;
    }
    if let Some(first) = bins.first_mut() {
        first.from = min;
    }
    for &(length, count) in counts {
        let place = bins.partition_point(|bin| bin.from <= length);
        if let Some(bin) = place.checked_sub(1).and_then(|place| bins.get_mut(place)) {
            bin.count += count;
        }
    }
    bins
}

/// Where bins begin: at round numbers, so that two pictures can be compared.
fn begins(min: u64, max: u64, skewed: bool) -> Vec<u64> {
    if max - min < BINS {
        return (min..=max).collect();
    }
    if skewed && max / min.max(1) >= WIDE {
        // 1, 2, 5, 10 … where the spread allows, else only powers.
        for (steps, factor) in [(&[1, 2, 5][..], 10), (&[1][..], 10), (&[1][..], 1000)] {
            let begins = round_steps(steps, factor, min, max);
            if begins.len() as u64 <= BINS {
                return begins;
            }
        }
    }
    let least = (max - min) / BINS + 1;
    let width = [1, 2, 5]
        .into_iter()
        .flat_map(|step| (0..20).map(move |power| 10u64.saturating_pow(power).saturating_mul(step)))
        .filter(|width| *width >= least && max / width - min / width < BINS)
        .min()
        .unwrap_or(max - min + 1);
    let first = min / width;
    (first..=max / width).map(|place| place * width).collect()
}

/// Round numbers from the last one that is not above `min` to the last that is not above `max`.
fn round_steps(steps: &[u64], factor: u64, min: u64, max: u64) -> Vec<u64> {
    let mut all = vec![0];
    let mut power = 1u64;
    while power <= max {
        all.extend(steps.iter().map(|step| step.saturating_mul(power)));
        power = match power.checked_mul(factor) {
            Some(power) => power,
            None => break,
        };
    }
    all.retain(|&begin| begin <= max);
    let first = all.partition_point(|&begin| begin <= min).saturating_sub(1);
    all.split_off(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(lengths: &[u64]) -> Lengths {
        let mut counts = LengthCounts::default();
        lengths.iter().for_each(|&length| counts.add(length));
        counts.lengths().unwrap()
    }

    fn begins_of(lengths: &[u64]) -> Vec<u64> {
        counted(lengths).bins.iter().map(|bin| bin.from).collect()
    }

    #[test]
    fn numbers_are_those_of_all_lengths() {
        let lengths = counted(&[4, 1, 3, 2, 100]);
        assert_eq!((lengths.n, lengths.min, lengths.max), (5, 1, 100));
        assert_eq!((lengths.mean, lengths.p50), (22.0, 3.0));
        // Between the fourth and the fifth of five: 4 + 0.6 × 96.
        assert!((lengths.p90 - 61.6).abs() < 1e-9);
        assert_eq!(LengthCounts::default().lengths(), None);
    }

    #[test]
    fn bins_begin_at_round_numbers_and_follow_the_spread() {
        assert_eq!(begins_of(&[3, 5]), [3, 4, 5]);
        assert_eq!(begins_of(&[512]), [512]);
        assert_eq!(
            begins_of(&[110, 190]),
            [110, 120, 130, 140, 150, 160, 170, 180, 190]
        );
        assert_eq!(begins_of(&[7, 8, 900]), [7, 10, 20, 50, 100, 200, 500]);
        assert_eq!(begins_of(&[0, 9, 3_000_000]).len(), 8);
        assert_eq!(begins_of(&[9, 1_000, 2_100])[..3], [9, 200, 400]);
    }

    proptest! {
        #[test]
        fn every_length_is_in_one_bin(lengths in prop::collection::vec(
            prop_oneof![0u64..50, 0u64..100_000, any::<u64>()], 1..40)) {
            let found = counted(&lengths);
            prop_assert!(found.bins.len() as u64 <= BINS + 1);
            prop_assert_eq!(found.bins.iter().map(|bin| bin.count).sum::<u64>(), found.n);
            for pair in found.bins.windows(2) {
                prop_assert_eq!(pair[0].to + 1, pair[1].from);
            }
        }
    }
}
