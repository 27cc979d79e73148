//! Words that are one token each in every common vocabulary, where no tokenizer is known.
//!
//! Nothing but words and single spaces: punctuation would change the count.

use super::stretch::{Stretch, total};
use super::words::{self, SpacedWord, spaced_words};
use crate::Nonce;
use inferometer_core::seed::{Dimension, rng};
use rand::Rng;
use std::cell::RefCell;
use std::sync::Arc;

/// Words that one random number of 64 bits chooses.
const WORDS_PER_DRAW: u32 = u64::BITS / words::BITS;

thread_local! {
    /// Where a text is written before it is given away: whoever makes prompts makes many.
    static PAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Writes stretches of words after one another, the nonce inside the first.
pub(super) fn write(seed: u64, nonce: Option<Nonce>, stretches: &[Stretch]) -> Arc<str> {
    PAGE.with_borrow_mut(|page| {
        page.clear();
        page.reserve((1 + total(stretches).min(MOST_ROOM) as usize) * words::LONGEST);
        for (at, stretch) in stretches.iter().enumerate() {
            let mut left = stretch.tokens;
            if at == 0 {
                let room = stretch.room_for_nonce(stretches.len() == 1);
                for word in nonce.into_iter().flat_map(Nonce::words).take(room as usize) {
                    page.extend_from_slice(word.as_bytes());
                    page.push(b' ');
                    left -= 1;
                }
            }
            push_words(
                page,
                left,
                &mut rng(seed, Dimension::Words, stretch.source.index()),
            );
        }
        // The space behind the last word.
        page.pop();
        Arc::from(std::str::from_utf8(page).expect("words are of ASCII letters"))
    })
}

/// A wish for more tokens than this grows as it is fulfilled.
const MOST_ROOM: u32 = 1 << 20;

/// Every word is copied with what stands behind it in its slot, and the next one is written over
/// that: a copy of known length takes no call.
fn push_words(page: &mut Vec<u8>, count: u32, random: &mut impl Rng) {
    /// So many slots are cleared at once that they are still near when they are written.
    const AT_ONCE: u32 = 16 * WORDS_PER_DRAW;
    let words = spaced_words();
    let mut left = count;
    while left > 0 {
        let mut now = left.min(AT_ONCE);
        left -= now;
        let begin = page.len();
        page.resize(begin + now as usize * SpacedWord::SLOT, b' ');
        let room = &mut page[begin..];
        let mut written = 0;
        while now > 0 {
            let mut bits = random.next_u64();
            for _ in 0..now.min(WORDS_PER_DRAW) {
                let SpacedWord { letters, length } = &words[(bits % words::COUNT as u64) as usize];
                room[written..written + SpacedWord::SLOT].copy_from_slice(letters);
                written += usize::from(*length);
                bits >>= words::BITS;
            }
            now = now.saturating_sub(WORDS_PER_DRAW);
        }
        page.truncate(begin + written);
    }
}
