//! Words that make the prompts of a run new, so that no cache of the server knows them.

use crate::synthetic::words::{self, words};
use std::fmt;
use std::str::FromStr;

/// Forty random bits, written as four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce([u16; Nonce::WORDS]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a nonce; write four words as environment.json holds them")]
pub struct BadNonce(String);

impl Nonce {
    pub const WORDS: usize = 4;

    /// The nonce of a random number, of which the lower forty bits count.
    pub fn from_random(random: u64) -> Self {
        Nonce(std::array::from_fn(|place| {
            let bits = random >> (place as u32 * words::BITS);
            (bits % words::COUNT as u64) as u16
        }))
    }

    /// The places of its words among all.
    pub(crate) fn places(self) -> [usize; Nonce::WORDS] {
        self.0.map(usize::from)
    }

    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        self.0.into_iter().map(|at| words()[usize::from(at)])
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, word) in self.words().enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(f, "{space}{word}")?;
        }
        Ok(())
    }
}

impl FromStr for Nonce {
    type Err = BadNonce;

    fn from_str(text: &str) -> Result<Self, BadNonce> {
        let found: Option<Vec<u16>> = text
            .split_whitespace()
            .map(|word| words().binary_search(&word).ok().map(|at| at as u16))
            .collect();
        found
            .and_then(|found| found.try_into().ok())
            .map(Nonce)
            .ok_or_else(|| BadNonce(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_nonce_reads_back_the_same() {
        for random in [0, 1, 0x1234_5678_9abc_def0, u64::MAX] {
            let nonce = Nonce::from_random(random);
            assert_eq!(nonce.to_string().parse::<Nonce>().unwrap(), nonce);
        }
    }

    #[test]
    fn forty_bits_make_different_nonces() {
        assert_ne!(Nonce::from_random(0), Nonce::from_random(1 << 39));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "about above",
            "about above accept xyzzy",
            "about about about about about",
        ] {
            assert!(text.parse::<Nonce>().is_err(), "{text}");
        }
    }
}
