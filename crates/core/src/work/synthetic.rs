//! Prompts that are made: of drawn words in wanted lengths, or of pieces of a text.

use super::PromptLength;
use crate::length::{Distribution, LONGEST, LengthSpec};
use crate::value::BadValue;
use crate::value::serde_as_text;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The length-grid study: a text in pieces, and a template that asks for so many characters.
#[derive(Clone, Debug, PartialEq)]
pub struct Continuation {
    /// The text: a file, or an address as in [`super::DataSource::location`]; absent: an embedded text.
    pub location: Option<String>,
    pub piece: PromptLength,
    /// Characters to ask for, in words.
    pub ask_chars: u32,
    /// What goes around a piece.
    pub template: Template,
}

/// What goes around a piece of text: it names `{text}` and `{num_completion}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    Embedded(Language),
    File(PathBuf),
}

impl FromStr for Template {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "" => Err(BadValue::new(text, "give en, zh or a file")),
            word => Ok((word.parse().map(Template::Embedded))
                .unwrap_or_else(|_| Template::File(word.into()))),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Template::Embedded(language) => language.fmt(f),
            Template::File(file) => file.display().fmt(f),
        }
    }
}

serde_as_text!(Template);

#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<Language>)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    En,
    Zh,
}
serde_as_text!(Language);

/// Words of a known number of tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    pub lengths: SyntheticLengths,
    pub language: Language,
    /// Beginnings that several prompts share.
    pub prefix: Option<Prefix>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SyntheticLengths {
    Input(LengthSpec),
    /// Of prompts and their answers together.
    Pairs(LengthPairs),
}

/// Lengths of prompt and answer that belong together: `512:128`, `512:128=3,4096:64=1` with
/// weights, or a file of lines `input,output[,weight]`.
#[derive(Clone, Debug, PartialEq)]
pub enum LengthPairs {
    Listed(Vec<LengthPair>),
    File(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthPair {
    pub input: u32,
    pub output: u32,
    /// How often, relative to the others.
    pub weight: f64,
}

impl LengthPair {
    /// A pair whose numbers are possible.
    pub fn new(input: u32, output: u32, weight: f64) -> Option<Self> {
        let possible = (1..=LONGEST).contains(&input)
            && (1..=LONGEST).contains(&output)
            && weight.is_finite()
            && weight > 0.0;
        possible.then_some(LengthPair {
            input,
            output,
            weight,
        })
    }
}

impl FromStr for LengthPair {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let read = || {
            let (pair, weight) = text.split_once('=').unwrap_or((text, "1"));
            let (input, output) = pair.split_once(':')?;
            LengthPair::new(
                input.trim().parse().ok()?,
                output.trim().parse().ok()?,
                weight.trim().parse().ok()?,
            )
        };
        read().ok_or_else(|| {
            BadValue::new(text, "write INPUT:OUTPUT or INPUT:OUTPUT=WEIGHT, or a file")
        })
    }
}

impl FromStr for LengthPairs {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let trimmed = text.trim();
        if trimmed.starts_with(|c: char| c.is_ascii_digit()) && trimmed.contains(':') {
            let pairs = trimmed.split(',').map(str::parse);
            pairs.collect::<Result<_, _>>().map(LengthPairs::Listed)
        } else if trimmed.is_empty() {
            Err(BadValue::new(text, "write INPUT:OUTPUT, or a file"))
        } else {
            Ok(LengthPairs::File(trimmed.into()))
        }
    }
}

impl fmt::Display for LengthPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = match self {
            LengthPairs::Listed(pairs) => pairs,
            LengthPairs::File(file) => return file.display().fmt(f),
        };
        for (place, pair) in pairs.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", pair.input, pair.output)?;
            if pair.weight != 1.0 {
                write!(f, "={}", pair.weight)?;
            }
        }
        Ok(())
    }
}

serde_as_text!(LengthPairs);

/// Beginnings that several prompts share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    pub length: PrefixLength,
    pub groups: u32,
    /// How often each is used.
    pub spread: PrefixSpread,
}

/// Length of a shared beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PrefixLength {
    Tokens(u32),
    /// As a share of each prompt, from 0 to 1: the cache-hit share that is aimed at.
    Share(f64),
}

/// How often each shared beginning is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum PrefixSpread {
    #[default]
    Uniform,
    /// The n-th one in proportion to n to the power of minus this.
    #[strum(to_string = "zipf({0})")]
    Zipf(f64),
}

impl FromStr for PrefixSpread {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let exponent = |word: &str| word.parse().ok().filter(|s| (0.0..=10.0).contains(s));
        match text.trim() {
            "uniform" => Ok(PrefixSpread::Uniform),
            "zipf" => Ok(PrefixSpread::Zipf(1.0)),
            other => other
                .strip_prefix("zipf(")
                .and_then(|rest| rest.strip_suffix(')'))
                .and_then(exponent)
                .map(PrefixSpread::Zipf)
                .ok_or_else(|| BadValue::new(text, "choose uniform, zipf or zipf(EXPONENT)")),
        }
    }
}

serde_as_text!(PrefixSpread);

/// Lengths as services of a kind have them.
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<Preset>)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Short questions, answers of a page.
    Chat,
    /// Long retrieved context, a short answer.
    Rag,
    /// A text in, a label out.
    Classifier,
    /// A text in, about as much out.
    Rewrite,
    /// Much code as context, some code out.
    Code,
}
serde_as_text!(Preset);

impl Preset {
    /// Lengths of prompts and of answers.
    pub fn lengths(self) -> (LengthSpec, LengthSpec) {
        use Distribution::{Lognormal, Uniform};
        let (input, output) = match self {
            Preset::Chat => (Lognormal(350.0, 350.0), Lognormal(250.0, 200.0)),
            Preset::Rag => (Lognormal(3000.0, 1500.0), Lognormal(200.0, 120.0)),
            Preset::Classifier => (Lognormal(600.0, 400.0), Uniform(4, 8)),
            Preset::Rewrite => (Lognormal(800.0, 400.0), Lognormal(800.0, 400.0)),
            Preset::Code => (Lognormal(2000.0, 1800.0), Lognormal(300.0, 250.0)),
        };
        (LengthSpec::Drawn(input), LengthSpec::Drawn(output))
    }
}
