//! Values that options take: numbers with a bound, and words.

use crate::length::LengthSpec;
use crate::value::BadValue;
use crate::work::DataFormat;
use serde::{Deserialize, Serialize};

/// A whole number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "u64")]
pub struct Count(pub u64);

impl std::str::FromStr for Count {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        BadValue::unless(text, "give a whole number from 1", |&count| count > 0).map(Count)
    }
}

impl TryFrom<i64> for Count {
    type Error = BadValue;
    fn try_from(count: i64) -> Result<Self, BadValue> {
        count.to_string().parse()
    }
}

impl From<Count> for u64 {
    fn from(count: Count) -> u64 {
        count.0
    }
}

/// A number above 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Positive(pub f64);

impl std::str::FromStr for Positive {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let is_positive = |number: &f64| number.is_finite() && *number > 0.0;
        BadValue::unless(text, "give a number above 0", is_positive).map(Positive)
    }
}

impl TryFrom<f64> for Positive {
    type Error = BadValue;
    fn try_from(number: f64) -> Result<Self, BadValue> {
        number.to_string().parse()
    }
}

impl From<Positive> for f64 {
    fn from(number: Positive) -> f64 {
        number.0
    }
}

/// Spacing of arrivals by name; its parameter is `burstiness`.
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<ArrivalName>)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalName {
    Constant,
    Poisson,
    Gamma,
}

crate::value::serde_as_text!(ArrivalName);

/// The format of a data set by name, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatName(pub Option<DataFormat>);

impl std::str::FromStr for FormatName {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "auto" => Ok(FormatName(None)),
            name => (name.parse().map(|format| FormatName(Some(format))))
                .map_err(|bad: BadValue| bad.or("auto")),
        }
    }
}

impl std::fmt::Display for FormatName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.map_or("auto", |format| format.into_str()))
    }
}

crate::value::serde_as_text!(FormatName);

/// Length of answers: a length, `data` or `free`.
#[derive(Clone, Debug, PartialEq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum OutputSpec {
    #[strum(to_string = "{0}")]
    Tokens(LengthSpec),
    Data,
    Free,
}

impl std::str::FromStr for OutputSpec {
    type Err = crate::length::BadLength;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "data" => Ok(OutputSpec::Data),
            "free" => Ok(OutputSpec::Free),
            spec => spec.parse().map(OutputSpec::Tokens),
        }
    }
}

crate::value::serde_as_text!(OutputSpec);
