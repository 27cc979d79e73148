//! Lengths of prompts and answers as users ask for them.

use crate::value::serde_as_text;
use rand::Rng;
use rand_distr::{Distribution as _, LogNormal, Normal, Uniform};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Lengths as users ask for them: a distribution, or the lengths that somebody measured.
#[derive(Clone, Debug, PartialEq)]
pub enum LengthSpec {
    Drawn(Distribution),
    /// `histogram(FILE)`: drawn from the file's lines `length,count`.
    Histogram(PathBuf),
}

impl LengthSpec {
    pub fn fixed(length: u32) -> Self {
        LengthSpec::Drawn(Distribution::Fixed(length))
    }

    /// The longest that can be drawn, where that is known and bounded.
    pub fn longest(&self) -> Option<u32> {
        match self {
            LengthSpec::Drawn(Distribution::Fixed(length) | Distribution::Uniform(_, length)) => {
                Some(*length)
            }
            LengthSpec::Drawn(_) | LengthSpec::Histogram(_) => None,
        }
    }
}

impl FromStr for LengthSpec {
    type Err = BadLength;

    fn from_str(text: &str) -> Result<Self, BadLength> {
        let file = text.trim().strip_prefix("histogram(");
        match file.and_then(|file| file.strip_suffix(')')) {
            Some("") => Err(BadLength(text.to_owned())),
            Some(file) => Ok(LengthSpec::Histogram(file.into())),
            None => text.parse().map(LengthSpec::Drawn),
        }
    }
}

impl fmt::Display for LengthSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LengthSpec::Drawn(distribution) => distribution.fmt(f),
            LengthSpec::Histogram(file) => write!(f, "histogram({})", file.display()),
        }
    }
}

serde_as_text!(LengthSpec);

/// `512`, `uniform(256,1024)`, `normal(512,100)` or `lognormal(512,300)`; the arguments of
/// the last two are mean and standard deviation of the length itself.
#[derive(Clone, Copy, Debug, PartialEq, strum::Display)]
pub enum Distribution {
    #[strum(to_string = "{0}")]
    Fixed(u32),
    /// Every length from the first to the second, both included, equally often.
    #[strum(to_string = "uniform({0},{1})")]
    Uniform(u32, u32),
    /// Mean and standard deviation; never below 1.
    #[strum(to_string = "normal({0},{1})")]
    Normal(f64, f64),
    /// Mean and standard deviation of a long-tailed length; never below 1.
    #[strum(to_string = "lognormal({0},{1})")]
    Lognormal(f64, f64),
}

/// Longest length that is taken: beyond it a typing error is more likely than a wish.
pub const LONGEST: u32 = 100_000_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a length; write a whole number from 1, uniform(MIN,MAX), normal(MEAN,STD), lognormal(MEAN,STD) or histogram(FILE)"
)]
pub struct BadLength(String);

impl Distribution {
    pub fn sample(self, rng: &mut impl Rng) -> u32 {
        let clamp = |length: f64| (length.round() as u32).clamp(1, LONGEST);
        match self {
            Distribution::Fixed(length) => length,
            Distribution::Uniform(min, max) => Uniform::new_inclusive(min, max)
                .expect("parsing checked that min <= max")
                .sample(rng),
            Distribution::Normal(mean, std) => clamp(
                Normal::new(mean, std)
                    .expect("parsing checked that both are finite")
                    .sample(rng),
            ),
            Distribution::Lognormal(mean, std) => {
                // From the moments of the length to those of its logarithm.
                let variance = (1.0 + (std / mean).powi(2)).ln();
                let location = mean.ln() - variance / 2.0;
                clamp(
                    LogNormal::new(location, variance.sqrt())
                        .expect("parsing checked that both are finite")
                        .sample(rng),
                )
            }
        }
    }

    /// What hardly any draw exceeds.
    pub fn almost_all(self) -> f64 {
        match self {
            Distribution::Fixed(length) | Distribution::Uniform(_, length) => f64::from(length),
            Distribution::Normal(mean, std) | Distribution::Lognormal(mean, std) => {
                mean + 2.5 * std
            }
        }
    }

    /// Expected length, for estimates of time and memory.
    pub fn mean(self) -> f64 {
        match self {
            Distribution::Fixed(length) => f64::from(length),
            Distribution::Uniform(min, max) => (f64::from(min) + f64::from(max)) / 2.0,
            Distribution::Normal(mean, _) | Distribution::Lognormal(mean, _) => mean,
        }
    }
}

impl FromStr for Distribution {
    type Err = BadLength;

    fn from_str(text: &str) -> Result<Self, BadLength> {
        let bad = || BadLength(text.to_owned());
        let whole = |word: &str| match word.trim().parse::<u32>() {
            Ok(length) if (1..=LONGEST).contains(&length) => Ok(length),
            _ => Err(bad()),
        };
        let real = |word: &str, least: f64| match word.trim().parse::<f64>() {
            Ok(number) if number >= least && number <= f64::from(LONGEST) => Ok(number),
            _ => Err(bad()),
        };
        let Some((name, arguments)) = text.trim().split_once('(') else {
            return whole(text).map(Distribution::Fixed);
        };
        let (first, second) = arguments
            .strip_suffix(')')
            .and_then(|arguments| arguments.split_once(','))
            .ok_or_else(bad)?;
        match name.trim() {
            "uniform" => {
                let (min, max) = (whole(first)?, whole(second)?);
                if min > max {
                    return Err(bad());
                }
                Ok(Distribution::Uniform(min, max))
            }
            "normal" => Ok(Distribution::Normal(real(first, 1.0)?, real(second, 0.0)?)),
            "lognormal" => Ok(Distribution::Lognormal(
                real(first, 1.0)?,
                real(second, 0.0)?,
            )),
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Dimension, rng};

    #[test]
    fn specs_read_back_as_written() {
        let texts = "512 uniform(256,1024) normal(512,100) lognormal(512,300.5) histogram(l.csv)";
        for text in texts.split(' ') {
            assert_eq!(text.parse::<LengthSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let texts = " 0 -3 uniform(9,3) normal(512) zipf(1,2) 1e9 histogram() normal(0,1)";
        for text in texts.split(' ') {
            assert!(text.parse::<LengthSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn samples_have_the_asked_mean_and_never_vanish() {
        for text in ["uniform(10,30)", "normal(20,30)", "lognormal(200,300)"] {
            let spec: Distribution = text.parse().unwrap();
            let lengths: Vec<f64> = (0..20_000)
                .map(|i| f64::from(spec.sample(&mut rng(7, Dimension::InputLength, i))))
                .collect();
            assert!(lengths.iter().all(|&length| length >= 1.0));
            let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
            // A normal that is cut at 1 has a higher mean than was asked.
            let apart = (mean / spec.mean() - 1.0).abs();
            let is_cut = text.starts_with("normal");
            assert!(apart < if is_cut { 0.35 } else { 0.05 }, "{text}: {mean}");
        }
    }
}
