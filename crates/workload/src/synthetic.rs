//! Prompts of a known number of tokens, made of words that are one token each in every common
//! vocabulary (`--input-tokens SPEC`).
//!
//! Nothing but words and single spaces: punctuation would change the count. With a nonce, every
//! prompt begins with the run's own words, so that a prefix cache that an earlier run filled
//! does not answer for the server; they count inside the asked length.

use crate::words::{self, words};
use crate::{Content, Nonce, Prompt, Prompts};
use inferometer_core::length::Distribution;
use inferometer_core::seed::{Dimension, rng};
use rand::Rng;

/// Words drawn by seed and index.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    spec: Distribution,
    seed: u64,
    nonce: Option<Nonce>,
}

/// Words that one random number of 64 bits chooses.
const WORDS_A_DRAW: u32 = u64::BITS / words::BITS;

impl Synthetic {
    /// Prompts of lengths drawn from `spec`, beginning with the words of the nonce.
    pub fn new(spec: Distribution, seed: u64, nonce: Option<Nonce>) -> Self {
        Synthetic { spec, seed, nonce }
    }

    /// Words that differ between prompts of a length.
    fn body(&self, length: u32) -> u32 {
        let nonce = self.nonce.map_or(0, |_| Nonce::WORDS as u32);
        length.saturating_sub(nonce)
    }

    fn text(&self, length: u32, index: u64) -> String {
        let words = words();
        // A space before each word; that of the first is left out at the end.
        let mut text = String::with_capacity(length as usize * words::LONGEST);
        let nonce = self.nonce.into_iter().flat_map(Nonce::words);
        for word in nonce.take(length as usize) {
            text.push(' ');
            text.push_str(word);
        }
        let mut random = rng(self.seed, Dimension::Words, index);
        let mut left = self.body(length);
        while left > 0 {
            let mut bits = random.next_u64();
            for _ in 0..left.min(WORDS_A_DRAW) {
                text.push(' ');
                text.push_str(words[(bits % words::COUNT as u64) as usize]);
                bits >>= words::BITS;
            }
            left = left.saturating_sub(WORDS_A_DRAW);
        }
        text
    }
}

impl Prompts for Synthetic {
    fn prompt(&self, index: u64, _turn: u32) -> Prompt {
        let length = self
            .spec
            .sample(&mut rng(self.seed, Dimension::InputLength, index));
        let spaced = self.text(length, index);
        let text = spaced.strip_prefix(' ').unwrap_or(&spaced);
        Prompt {
            chars: text.len() as u64,
            content: Content::Text(text.into()),
            input_tokens: Some(length),
            output_tokens: None,
        }
    }

    /// Random words are practically never the same twice, unless there are too few of them.
    fn distinct(&self) -> Option<u64> {
        /// With four random words, a run would need a million requests to repeat one.
        const PLENTY: u32 = 4;
        let (Distribution::Fixed(longest) | Distribution::Uniform(_, longest)) = self.spec else {
            return None;
        };
        let body = self.body(longest);
        if body >= PLENTY {
            return None;
        }
        let shortest = match self.spec {
            Distribution::Uniform(shortest, _) => shortest,
            _ => longest,
        };
        let of_length = |length| (words::COUNT as u64).pow(self.body(length));
        Some((shortest..=longest).map(of_length).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn nonce() -> Nonce {
        Nonce::from_random(0x0123_4567_89ab_cdef)
    }

    #[test]
    fn a_prompt_has_exactly_the_asked_words_and_single_spaces() {
        for length in [1, 2, 3, 4, 5, 6, 7, 12, 13, 256, 4096] {
            for nonce in [None, Some(nonce())] {
                let prompt = Synthetic::new(Distribution::Fixed(length), 1, nonce).prompt(5);
                assert_eq!(prompt.text.split(' ').count(), length as usize);
                assert!(prompt.text.split(' ').all(|word| words().contains(&word)));
                assert_eq!(prompt.input_tokens, Some(length));
                assert_eq!(prompt.chars, prompt.text.chars().count() as u64);
            }
        }
    }

    #[test]
    fn lengths_are_drawn_and_stated() {
        let prompts = Synthetic::new(Distribution::Uniform(5, 500), 1, None);
        let lengths: HashSet<Option<u32>> = (0..100)
            .map(|index| prompts.prompt(index))
            .inspect(|prompt| {
                let words = prompt.text.split(' ').count() as u32;
                assert_eq!(prompt.input_tokens, Some(words));
            })
            .map(|prompt| prompt.input_tokens)
            .collect();
        assert!(lengths.len() > 50);
    }

    #[test]
    fn seed_and_nonce_repeat_a_prompt_and_each_changes_it() {
        let make = |seed, nonce| Synthetic::new(Distribution::Fixed(64), seed, nonce).prompt(3);
        assert_eq!(make(1, Some(nonce())), make(1, Some(nonce())));
        assert_ne!(make(1, None), make(2, None));
        assert_ne!(make(1, None), make(1, Some(nonce())));
        let other = Some(Nonce::from_random(1));
        assert_ne!(make(1, other), make(1, Some(nonce())));
    }

    #[test]
    fn the_words_of_a_seed_never_change() {
        // Stored scenarios name only the seed: their prompts must come out the same for ever.
        let prompt = Synthetic::new(Distribution::Fixed(8), 42, None).prompt(7);
        assert_eq!(
            &*prompt.text,
            "blank hole first manager though mouse current express"
        );
    }

    #[test]
    fn the_nonce_begins_every_prompt_and_fits_into_short_ones() {
        let words = nonce().to_string();
        for index in 0..50 {
            let prompt = Synthetic::new(Distribution::Fixed(16), 1, Some(nonce())).prompt(index);
            assert!(prompt.text.starts_with(&words));
        }
        let short = Synthetic::new(Distribution::Fixed(2), 1, Some(nonce())).prompt(0);
        assert!(words.starts_with(&*short.text));
    }

    #[test]
    fn prompts_differ_within_their_first_block_of_cache() {
        let prompts = Synthetic::new(Distribution::Fixed(64), 1, Some(nonce()));
        let heads: HashSet<String> = (0..20_000)
            .map(|index| {
                let text = prompts.prompt(index).text;
                text.split(' ').take(16).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(heads.len(), 20_000);
        assert_eq!(prompts.distinct(), None);
    }

    #[test]
    fn too_few_words_are_said_to_repeat() {
        let distinct = |spec: Distribution, nonce| Synthetic::new(spec, 1, nonce).distinct();
        assert_eq!(distinct(Distribution::Fixed(1), None), Some(1024));
        assert_eq!(distinct(Distribution::Fixed(4), Some(nonce())), Some(1));
        assert_eq!(
            distinct(Distribution::Uniform(1, 2), None),
            Some(1024 + 1024 * 1024)
        );
        assert_eq!(distinct(Distribution::Fixed(256), None), None);
    }
}
