//! Synthetic sounds: how many a request has, and how long they are.

use super::fields;
use crate::length::LengthSpec;
use crate::value::{BadValue, serde_as_text};
use std::fmt;
use std::str::FromStr;

/// `n=1,seconds=uniform(5,30)`.
#[derive(Clone, Debug, PartialEq)]
pub struct AudioSpec {
    /// Sounds of a request.
    pub count: LengthSpec,
    /// Length of each, in whole seconds.
    pub seconds: LengthSpec,
}

/// Most sounds of a request.
const MOST: u32 = 16;
/// Most seconds of all sounds of a request: an hour is more than 100 MB.
const LONGEST_S: u32 = 3600;
/// Length where nobody says it.
const USUAL_S: u32 = 10;

const TAKES: &str = "write n=1,seconds=uniform(5,30) (n from 1 to 16, seconds whole numbers, an hour in all at most)";

impl FromStr for AudioSpec {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(text, TAKES);
        let mut spec = AudioSpec {
            count: LengthSpec::fixed(1),
            seconds: LengthSpec::fixed(USUAL_S),
        };
        let given = fields(text);
        for (name, value) in &given {
            let field = match *name {
                "n" => &mut spec.count,
                "seconds" => &mut spec.seconds,
                _ => return Err(bad()),
            };
            *field = value.parse().map_err(|_| bad())?;
        }
        let [sounds, longest] = [&spec.count, &spec.seconds].map(LengthSpec::longest);
        let fits = |(sounds, longest): (u32, u32)| {
            sounds <= MOST && longest <= LONGEST_S && sounds * longest <= LONGEST_S
        };
        if given.is_empty() || !sounds.zip(longest).is_some_and(fits) {
            return Err(bad());
        }
        Ok(spec)
    }
}

impl fmt::Display for AudioSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={},seconds={}", self.count, self.seconds)
    }
}

serde_as_text!(AudioSpec);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_seconds_read_back_and_impossible_ones_are_refused() {
        for text in ["n=1,seconds=uniform(5,30)", "n=uniform(1,3),seconds=8"] {
            assert_eq!(text.parse::<AudioSpec>().unwrap().to_string(), text);
        }
        for (short, whole) in [
            ("2", "n=2,seconds=10"),
            ("seconds=30", "n=1,seconds=30"),
            ("n=3, seconds=4", "n=3,seconds=4"),
        ] {
            assert_eq!(short.parse::<AudioSpec>().unwrap().to_string(), whole);
        }
        let bad = " n=0 seconds=0 seconds=1.5 n=17,seconds=1 n=1,seconds=3601 n=8,seconds=600 \
                   n=1,seconds=normal(20,5) size=5";
        for bad in bad.split(' ') {
            assert!(bad.parse::<AudioSpec>().is_err(), "{bad}");
        }
    }
}
