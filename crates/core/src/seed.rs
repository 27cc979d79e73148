//! Randomness that can be repeated: one generator for each dimension and index, so that
//! changing the arrivals does not change the prompts.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What the randomness is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Dimension {
    Arrival = 1,
    InputLength = 2,
    OutputLength = 3,
    Words = 4,
    Bootstrap = 5,
    /// Order and choice of the rows of a data set.
    Shuffle = 6,
    Turns = 7,
    /// Which prompts share a beginning.
    PrefixGroup = 8,
    /// Which settings a search tries.
    Search = 9,
    Repeat = 10,
    /// Which of several models a session asks for.
    Model = 11,
    Images = 12,
    /// Which requests are given up.
    Cancel = 13,
    Audio = 14,
    Video = 15,
}

/// The generator of item `index` in a dimension. Equal arguments, equal numbers, on every
/// host and in every version of this program.
pub fn rng(seed: u64, dimension: Dimension, index: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(dimension as u64).to_le_bytes());
    key[16..24].copy_from_slice(&index.to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// The seed of a repeat of a measurement, counted from 0, which keeps the seed itself. Repeats
/// with one seed would be copies: they differ in what was sent, and those of the same number on
/// two servers do not. It fits a JSON number and a TOML integer.
pub fn repeat_seed(seed: u64, repeat: u32) -> u64 {
    match repeat {
        0 => seed,
        _ => rng(seed, Dimension::Repeat, u64::from(repeat)).random::<u64>() >> 11,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_repeat_has_a_seed_of_its_own_and_the_first_keeps_the_seed() {
        let seeds: Vec<u64> = (0..3)
            .flat_map(|seed| (0..100).map(move |repeat| repeat_seed(seed, repeat)))
            .collect();
        assert_eq!((seeds[0], seeds[100]), (0, 1));
        assert_eq!(BTreeSet::from_iter(&seeds).len(), seeds.len());
        assert!(seeds.iter().all(|&seed| seed < 1 << 53));
        assert_eq!(repeat_seed(1, 7), seeds[107]);
    }
}
