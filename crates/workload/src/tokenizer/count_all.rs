//! Counts on all cores.

use super::Tokenizer;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Texts that a thread takes at once, at most: few enough that none ends long after the others.
const MOST_AT_ONCE: usize = 64;

/// The number of tokens of each text, in the order of the texts, counted on all cores.
pub fn count_all(texts: &[impl AsRef<str> + Sync], tokenizer: &dyn Tokenizer) -> Vec<u32> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let at_once = (texts.len() / (threads * 8)).clamp(1, MOST_AT_ONCE);
    let threads = threads.min(texts.len().div_ceil(at_once));

    let mut counts = vec![0; texts.len()];
    let work = Mutex::new(texts.chunks(at_once).zip(counts.chunks_mut(at_once)));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).next();
    let count = || {
        while let Some((texts, counts)) = take() {
            for (text, count) in texts.iter().zip(counts) {
                *count = tokenizer.count(text.as_ref());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where no thread can be had, those that there are do the work.
            let _ = thread::Builder::new().spawn_scoped(scope, count);
        }
        count();
    });
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::Bytes;

    #[test]
    fn counts_keep_the_order_of_the_texts() {
        for number in [0, 1, 2, 63, 64, 65, 5_000] {
            let texts: Vec<String> = (0..number).map(|place| "x".repeat(place % 97)).collect();
            let expected: Vec<u32> = (0..number as u32).map(|place| place % 97).collect();
            assert_eq!(count_all(&texts, &Bytes), expected);
        }
    }
}
