//! Lengths drawn by seed: from a formula, from a histogram that somebody measured, or prompt
//! and answer together.

use crate::weighted::Weighted;
use inferometer_core::length::{Distribution, LONGEST, LengthSpec};
use inferometer_core::work::{LengthPair, LengthPairs};
use inferometer_text::user_file::read_at_most;
use rand::Rng;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum LengthError {
    #[error("cannot read the lengths in {path}: {source}; check the path and its permissions")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is longer than {} MiB, too long for lengths; give a file of lines {form}", TOO_LONG >> 20)]
    TooLong { path: PathBuf, form: &'static str },
    /// A line says something else.
    #[error(
        "line {line} of {path}: '{text}' is not {form}; give whole lengths from 1 to {LONGEST} and weights that are not negative"
    )]
    BadLine {
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        text: String,
        form: &'static str,
    },
    /// No line has a length that is ever drawn.
    #[error("{path} holds no length with a count above 0; give lines {form}")]
    Empty { path: PathBuf, form: &'static str },
    /// Pairs that were given one by one, without any or with impossible weights.
    #[error("no pair of lengths can be drawn; give INPUT:OUTPUT or INPUT:OUTPUT=WEIGHT")]
    NoPairs,
}

/// No file of lengths is longer, in bytes.
const TOO_LONG: u64 = 64 << 20;

#[derive(Clone, Debug)]
pub struct Sampler(Lengths);

#[derive(Clone, Debug)]
enum Lengths {
    Drawn(Distribution),
    Measured {
        lengths: Box<[u32]>,
        chances: Weighted,
    },
}

impl Sampler {
    /// Reads the histogram, if there is one.
    pub fn new(spec: &LengthSpec) -> Result<Self, LengthError> {
        match spec {
            LengthSpec::Drawn(distribution) => Ok(Sampler(Lengths::Drawn(*distribution))),
            LengthSpec::Histogram(path) => Self::measured(path),
        }
    }

    fn measured(path: &Path) -> Result<Self, LengthError> {
        const FORM: &str = "length,count";
        let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
        for row in rows(path, FORM)? {
            let (length, count) = match *row.numbers.as_slice() {
                [length] => (length, 1.0),
                [length, count] => (length, count),
                _ => return Err(row.bad(path, FORM)),
            };
            let length = whole(length).filter(|_| count >= 0.0);
            let length = length.ok_or_else(|| row.bad(path, FORM))?;
            *counts.entry(length).or_default() += count;
        }
        counts.retain(|_, count| *count > 0.0);
        let chances = Weighted::new(counts.values().copied()).ok_or(LengthError::Empty {
            path: path.to_owned(),
            form: FORM,
        })?;
        Ok(Sampler(Lengths::Measured {
            lengths: counts.into_keys().collect(),
            chances,
        }))
    }

    pub fn sample(&self, random: &mut impl Rng) -> u32 {
        match &self.0 {
            Lengths::Drawn(distribution) => distribution.sample(random),
            Lengths::Measured { lengths, chances } => lengths[chances.draw(random)],
        }
    }

    /// The shortest and the longest that can be drawn; absent if they have no bounds.
    pub fn bounds(&self) -> Option<(u32, u32)> {
        match &self.0 {
            Lengths::Drawn(Distribution::Fixed(length)) => Some((*length, *length)),
            Lengths::Drawn(Distribution::Uniform(shortest, longest)) => Some((*shortest, *longest)),
            Lengths::Drawn(_) => None,
            Lengths::Measured { lengths, .. } => Some((*lengths.first()?, *lengths.last()?)),
        }
    }
}

/// Draws the lengths of a prompt and of its answer together.
#[derive(Clone, Debug)]
pub struct PairSampler {
    pairs: Box<[LengthPair]>,
    chances: Weighted,
}

impl PairSampler {
    /// Reads the file, if there is one.
    pub fn new(spec: &LengthPairs) -> Result<Self, LengthError> {
        match spec {
            LengthPairs::Listed(pairs) => Self::of(pairs.clone()).ok_or(LengthError::NoPairs),
            LengthPairs::File(path) => Self::read(path),
        }
    }

    fn of(pairs: Vec<LengthPair>) -> Option<Self> {
        Some(PairSampler {
            chances: Weighted::new(pairs.iter().map(|pair| pair.weight))?,
            pairs: pairs.into(),
        })
    }

    fn read(path: &Path) -> Result<Self, LengthError> {
        const FORM: &str = "input,output[,weight]";
        let mut pairs = Vec::new();
        for row in rows(path, FORM)? {
            let (input, output, weight) = match *row.numbers.as_slice() {
                [input, output] => (input, output, 1.0),
                [input, output, weight] => (input, output, weight),
                _ => return Err(row.bad(path, FORM)),
            };
            let pair = whole(input).zip(whole(output));
            let (input, output) = pair
                .filter(|_| weight >= 0.0)
                .ok_or_else(|| row.bad(path, FORM))?;
            // A pair that never occurs is none.
            pairs.extend(LengthPair::new(input, output, weight));
        }
        Self::of(pairs).ok_or_else(|| LengthError::Empty {
            path: path.to_owned(),
            form: FORM,
        })
    }

    pub fn sample(&self, random: &mut impl Rng) -> LengthPair {
        self.pairs[self.chances.draw(random)]
    }

    /// The shortest and the longest prompt.
    pub fn input_bounds(&self) -> Option<(u32, u32)> {
        let inputs = || self.pairs.iter().map(|pair| pair.input);
        inputs().min().zip(inputs().max())
    }
}

struct Row {
    line: u64,
    text: String,
    numbers: Vec<f64>,
}

impl Row {
    fn bad(&self, path: &Path, form: &'static str) -> LengthError {
        LengthError::BadLine {
            path: path.to_owned(),
            line: self.line,
            text: self.text.clone(),
            form,
        }
    }
}

/// The lines of a file that hold numbers: without comments, blank lines and a heading.
fn rows(path: &Path, form: &'static str) -> Result<Vec<Row>, LengthError> {
    let text = read(path, form)?;
    let mut rows = Vec::new();
    let mut headed = false;
    for (line, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let words = text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = words
            .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
            .filter(|word| !word.is_empty())
            .collect();
        let Some(first) = words.first() else {
            continue;
        };
        if rows.is_empty() && !headed && first.starts_with(|c: char| c.is_alphabetic() || c == '"')
        {
            headed = true;
            continue;
        }
        let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
        let mut row = Row {
            line,
            text: shown(text),
            numbers: Vec::new(),
        };
        row.numbers = numbers.ok_or_else(|| row.bad(path, form))?;
        rows.push(row);
    }
    Ok(rows)
}

fn read(path: &Path, form: &'static str) -> Result<String, LengthError> {
    let path = path.to_owned();
    let bytes = match read_at_most(&path, TOO_LONG) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(LengthError::TooLong { path, form }),
        Err(source) => return Err(LengthError::Unreadable { path, source }),
    };
    // Bytes that are not text are not a number either; the line that holds them is named.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn shown(line: &str) -> String {
    const ENOUGH: usize = 40;
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    line.trim().chars().take(ENOUGH).map(printable).collect()
}

fn whole(number: f64) -> Option<u32> {
    let possible = number.fract() == 0.0 && (1.0..=f64::from(LONGEST)).contains(&number);
    possible.then_some(number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::file;
    use inferometer_core::seed::{Dimension, rng};

    fn histogram(content: &str) -> Result<Sampler, LengthError> {
        Sampler::new(&LengthSpec::Histogram(file(content).path().into()))
    }

    fn pairs(content: &str) -> Result<PairSampler, LengthError> {
        PairSampler::new(&LengthPairs::File(file(content).path().into()))
    }

    #[test]
    fn a_histogram_is_drawn_in_proportion_to_its_counts() {
        let written = "\u{feff}length,count\r\n# measured in May\r\n100,1\r\n\r\n200 3 # most\n";
        let sampler = histogram(written).unwrap();
        let draws = (0..20_000).map(|i| sampler.sample(&mut rng(1, Dimension::InputLength, i)));
        let long = draws.filter(|&length| length == 200).count();
        assert!((14_600..15_400).contains(&long), "{long}");
        assert_eq!(sampler.bounds(), Some((100, 200)));
    }

    #[test]
    fn bare_lengths_count_once_each_and_what_never_occurs_is_no_bound() {
        let sampler = histogram("7\n7\n9\n1000;0\n").unwrap();
        assert_eq!(sampler.bounds(), Some((7, 9)));
    }

    #[test]
    fn a_bad_line_is_named_with_the_remedy() {
        for (content, line) in [
            ("10,1\nten,1\n", 2),
            ("0,4\n", 1),
            ("length\nnumber\n", 2),
            ("5,1,1,1\n", 1),
            ("5,-1\n", 1),
            ("2.5,1\n", 1),
            ("1e12,1\n", 1),
            ("nan,1\n9,nan\n", 2),
        ] {
            let message = histogram(content).unwrap_err().to_string();
            let begin = format!("line {line} of /");
            assert!(message.starts_with(&begin), "{message}");
            assert!(message.contains("length,count"), "{message}");
        }
        for content in ["", "# nothing\n", "length,count\n", "5,0\n"] {
            assert!(matches!(histogram(content), Err(LengthError::Empty { .. })));
        }
        let absent = LengthSpec::Histogram("/nowhere/lengths.csv".into());
        let message = Sampler::new(&absent).unwrap_err().to_string();
        assert!(message.contains("/nowhere/lengths.csv"), "{message}");
    }

    #[test]
    fn pairs_belong_together_wherever_they_are_written() {
        let listed = PairSampler::new(&"512:128=3,4096:64".parse().unwrap()).unwrap();
        let read = pairs("input,output,weight\n512,128,3\n4096\t64\n").unwrap();
        for sampler in [listed, read] {
            let mut short = 0;
            for index in 0..20_000 {
                let pair = sampler.sample(&mut rng(1, Dimension::InputLength, index));
                assert!(matches!((pair.input, pair.output), (512, 128) | (4096, 64)));
                short += u32::from(pair.input == 512);
            }
            assert!((14_600..15_400).contains(&short), "{short}");
            assert_eq!(sampler.input_bounds(), Some((512, 4096)));
        }
    }

    #[test]
    fn bad_pairs_are_refused() {
        for content in ["512\n", "512,0\n", "512,1,-2\n", "1,2,3,4\n"] {
            let message = pairs(content).unwrap_err().to_string();
            assert!(message.contains("input,output[,weight]"), "{message}");
        }
        assert!(matches!(
            PairSampler::new(&LengthPairs::Listed(Vec::new())),
            Err(LengthError::NoPairs)
        ));
    }
}
