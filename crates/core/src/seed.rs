//! Randomness that can be repeated: one generator for each dimension and index, so that
//! changing the arrivals does not change the prompts.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What the randomness is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Dimension {
    /// Times of arrival.
    Arrival = 1,
    /// Lengths of prompts.
    InputLength = 2,
    /// Lengths of answers.
    OutputLength = 3,
    /// Words of prompts.
    Words = 4,
    /// Resampling for intervals.
    Bootstrap = 5,
    /// Order and choice of the rows of a data set.
    Shuffle = 6,
    /// Turns of conversations.
    Turns = 7,
    /// Which prompts share a beginning.
    PrefixGroup = 8,
    /// Which settings a search tries.
    Search = 9,
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
