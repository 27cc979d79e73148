//! Words that are one token each in every common vocabulary, where no tokenizer is known.
//!
//! Nothing but words and single spaces: punctuation would change the count.

use super::stretch::{Stretch, total};
use super::words::{self, words};
use crate::Nonce;
use inferometer_core::seed::{Dimension, rng};
use rand::Rng;

/// Words that one random number of 64 bits chooses.
const WORDS_PER_DRAW: u32 = u64::BITS / words::BITS;

/// Writes stretches of words after one another, the nonce inside the first.
pub(super) fn write(seed: u64, nonce: Option<Nonce>, stretches: &[Stretch]) -> String {
    let mut text = String::with_capacity(total(stretches) as usize * words::LONGEST);
    let mut push = |word| {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    };
    for (at, stretch) in stretches.iter().enumerate() {
        let mut left = stretch.tokens;
        if at == 0 {
            let room = stretch.room_for_nonce(stretches.len() == 1);
            for word in nonce.into_iter().flat_map(Nonce::words).take(room as usize) {
                push(word);
                left -= 1;
            }
        }
        let mut random = rng(seed, Dimension::Words, stretch.source.index());
        while left > 0 {
            let mut bits = random.next_u64();
            for _ in 0..left.min(WORDS_PER_DRAW) {
                push(words()[(bits % words::COUNT as u64) as usize]);
                bits >>= words::BITS;
            }
            left = left.saturating_sub(WORDS_PER_DRAW);
        }
    }
    text
}
