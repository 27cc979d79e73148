//! The models that requests ask for, and how often each.

use crate::seed::{Dimension, rng};
use crate::value::{BadValue, serde_as_text};
use rand::RngExt;
use std::fmt;
use std::str::FromStr;

/// One model, or several by weight: `base=2,adapter-a=1` or `zipf(1.1):base,a,b`.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelMix {
    models: Vec<(String, f64)>,
    /// Weights that follow from the place in the list.
    exponent: Option<f64>,
}

impl ModelMix {
    pub fn one(model: impl Into<String>) -> Self {
        ModelMix {
            models: vec![(model.into(), 1.0)],
            exponent: None,
        }
    }

    /// The first, which is asked what the server understands.
    pub fn first(&self) -> &str {
        self.models.first().map_or("", |(name, _)| name)
    }

    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.models.iter().map(|(name, _)| name.as_str())
    }

    pub fn is_one(&self) -> bool {
        self.models.len() == 1
    }

    /// The place of the model that a session asks for, in all of its turns.
    pub fn of_session(&self, seed: u64, session: u64) -> usize {
        let total: f64 = self.models.iter().map(|(_, weight)| weight).sum();
        let mut point = rng(seed, Dimension::Model, session).random::<f64>() * total;
        let found = self.models.iter().position(|(_, weight)| {
            point -= weight;
            point < 0.0
        });
        found.unwrap_or(self.models.len().saturating_sub(1))
    }
}

const TAKES: &str =
    "name a model, several with their weights (base=2,adapter=1), or zipf(1.1):base,a,b";

impl FromStr for ModelMix {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(text, TAKES);
        let spread = text.trim().strip_prefix("zipf(");
        let (exponent, list) = match spread.and_then(|rest| rest.split_once("):")) {
            Some((exponent, list)) => {
                let exponent: f64 = exponent.trim().parse().map_err(|_| bad())?;
                if !(0.0..=10.0).contains(&exponent) {
                    return Err(bad());
                }
                (Some(exponent), list)
            }
            None => (None, text),
        };
        let mut models = Vec::new();
        for (place, piece) in list.split(',').map(str::trim).enumerate() {
            let weighted = piece.rsplit_once('=').filter(|_| exponent.is_none());
            let weighted = weighted.and_then(|(name, weight)| Some((name, weight.parse().ok()?)));
            let (name, weight) = match (weighted, exponent) {
                (Some((name, weight)), _) => (name.trim(), weight),
                (None, Some(exponent)) => (piece, (place as f64 + 1.0).powf(-exponent)),
                (None, None) => (piece, 1.0),
            };
            let is_new = models.iter().all(|(known, _)| known != name);
            if name.is_empty() || !(weight > 0.0 && weight <= 1e9) || !is_new {
                return Err(bad());
            }
            models.push((name.to_owned(), weight));
        }
        // The weight of a single model says nothing.
        if let [(_, weight)] = models.as_mut_slice() {
            *weight = 1.0;
        }
        Ok(ModelMix { models, exponent })
    }
}

impl fmt::Display for ModelMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        if let Some(exponent) = self.exponent {
            return write!(f, "zipf({exponent}):{}", names.join(","));
        }
        if self.is_one() {
            return f.write_str(self.first());
        }
        let weighted = self
            .models
            .iter()
            .map(|(name, weight)| format!("{name}={weight}"));
        f.write_str(&weighted.collect::<Vec<_>>().join(","))
    }
}

serde_as_text!(ModelMix);

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(text: &str) -> ModelMix {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_written_reads_back_and_a_name_alone_is_one_model() {
        for text in ["org/m:7b", "base=2,a=1,b=0.5", "zipf(1.1):base,a,b"] {
            assert_eq!(mix(text).to_string(), text);
        }
        assert_eq!(mix("a,b").to_string(), "a=1,b=1");
        assert_eq!(mix("m=latest"), ModelMix::one("m=latest"));
        for bad in " a=0,b=1 a=-1,b=2 a,,b a,a zipf(x):a,b zipf(-1):a".split(' ') {
            assert!(bad.parse::<ModelMix>().is_err(), "{bad}");
        }
    }

    #[test]
    fn models_are_asked_for_as_often_as_their_weights_say() {
        for (text, shares) in [
            ("a=2,b=1,c=1", [0.5, 0.25, 0.25]),
            ("zipf(1):a,b,c", [6.0 / 11.0, 3.0 / 11.0, 2.0 / 11.0]),
        ] {
            let mix = mix(text);
            let mut seen = [0.0_f64; 3];
            for session in 0..20_000 {
                seen[mix.of_session(7, session)] += 1.0 / 20_000.0;
            }
            for (seen, share) in seen.iter().zip(shares) {
                assert!((seen - share).abs() < 0.02, "{text}: {seen} {share}");
            }
        }
        assert_eq!(mix("a,b").of_session(1, 5), mix("a,b").of_session(1, 5));
    }
}
