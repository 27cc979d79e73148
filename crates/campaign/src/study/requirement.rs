//! A figure of the summary that a study must not give up for speed: `check.score>=0.7`.

use crate::trial::{Ending, Measurement};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Its place in the summary: `check.score`.
    pub path: String,
    pub bound: Bound,
    pub limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    AtLeast,
    AtMost,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a requirement; write a place of summary.json, >= or <= and a number, as in check.score>=0.7"
)]
pub struct BadRequirement(String);

impl FromStr for Requirement {
    type Err = BadRequirement;

    fn from_str(text: &str) -> Result<Self, BadRequirement> {
        let bad = || BadRequirement(text.to_owned());
        let signs = [(">=", Bound::AtLeast), ("<=", Bound::AtMost)];
        let parts = signs
            .iter()
            .find_map(|(sign, bound)| Some((text.split_once(sign)?, *bound)));
        let ((path, limit), bound) = parts.ok_or_else(bad)?;
        let limit = limit.trim().parse().ok().filter(|it: &f64| it.is_finite());
        let path = path.trim().to_owned();
        if path.is_empty() {
            return Err(bad());
        }
        Ok(Requirement {
            path,
            bound,
            limit: limit.ok_or_else(bad)?,
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.bound {
            Bound::AtLeast => ">=",
            Bound::AtMost => "<=",
        };
        write!(f, "{}{sign}{}", self.path, self.limit)
    }
}

inferometer_core::serde_as_text!(Requirement);

impl Requirement {
    /// Its figure at the load level that is furthest from it.
    pub(super) fn worst(&self, ending: &Ending) -> Option<f64> {
        let figures = ending.measurements.iter().map(|it| it.figure(&self.path));
        let figures: Option<Vec<f64>> = figures.collect();
        figures?.into_iter().reduce(match self.bound {
            Bound::AtLeast => f64::min,
            Bound::AtMost => f64::max,
        })
    }

    /// By how much it is missed, as a share of its limit; 0 where it is met, absent where its
    /// figure is not known.
    pub(super) fn missed(&self, measurement: &Measurement) -> Option<f64> {
        let figure = measurement.figure(&self.path)?;
        let beyond = match self.bound {
            Bound::AtLeast => self.limit - figure,
            Bound::AtMost => figure - self.limit,
        };
        let size = if self.limit == 0.0 {
            1.0
        } else {
            self.limit.abs()
        };
        Some(beyond.max(0.0) / size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_read_back_as_written_and_nonsense_is_refused() {
        for text in ["check.score>=0.7", "server.energy.watts<=700"] {
            assert_eq!(text.parse::<Requirement>().unwrap().to_string(), text);
        }
        for text in ["check.score", "check.score=0.7", ">=1", "check.score>=high"] {
            let refused = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(refused.contains("check.score>=0.7"), "{refused}");
        }
    }
}
