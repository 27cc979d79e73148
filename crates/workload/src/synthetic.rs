//! Prompts of a known number of tokens (`--input-tokens SPEC`).
//!
//! Without a tokenizer they are made of words that are one token each in every common
//! vocabulary; with one, of sentences that have exactly the asked number of its tokens.
//!
//! With a nonce, every prompt begins with the run's own words, so that a prefix cache that an
//! earlier run filled does not answer for the server. A shared prefix follows them. Both count
//! inside the asked length, and the nonce inside the prefix, since all prompts of a run share
//! it. A drawn length that has no room for the prefix and a token after it is made so long that
//! it has; the prompt states the length that it really got.

mod draft;
mod error;
mod exact;
mod plain;
mod prefix;
mod stretch;
mod trace;
mod vocabulary;
pub(crate) mod words;
mod writer;

pub use error::SyntheticError;
pub use trace::{TracePrompts, TraceRow};

use crate::length_sampler::{LengthError, PairSampler, Sampler};
use crate::tokenizer::{CountCache, Tokenizer};
use crate::{Nonce, Prompt, Prompts};
use inferometer_core::length::LengthSpec;
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::work::{self, PrefixLength, SyntheticLengths};
use prefix::Groups;
use std::sync::Arc;
use stretch::{Source, Stretch};
use writer::Writer;

/// Words drawn by seed and index.
pub struct Synthetic {
    seed: u64,
    lengths: Lengths,
    groups: Option<Groups>,
    turns: Option<Sampler>,
    writer: Writer,
}

enum Lengths {
    Input(Sampler),
    Pairs(PairSampler),
}

impl Lengths {
    fn new(spec: &SyntheticLengths) -> Result<Self, LengthError> {
        Ok(match spec {
            SyntheticLengths::Input(spec) => Lengths::Input(Sampler::new(spec)?),
            SyntheticLengths::Pairs(spec) => Lengths::Pairs(PairSampler::new(spec)?),
        })
    }

    /// Tokens of a prompt, and of its answer where both belong together.
    fn draw(&self, seed: u64, index: u64) -> (u32, Option<u32>) {
        let mut random = rng(seed, Dimension::InputLength, index);
        match self {
            Lengths::Input(sampler) => (sampler.sample(&mut random), None),
            Lengths::Pairs(sampler) => {
                let pair = sampler.sample(&mut random);
                (pair.input, Some(pair.output))
            }
        }
    }

    fn bounds(&self) -> Option<(u32, u32)> {
        match self {
            Lengths::Input(sampler) => sampler.bounds(),
            Lengths::Pairs(sampler) => sampler.input_bounds(),
        }
    }
}

impl Synthetic {
    /// Prompts as `spec` says, beginning with the words of the nonce, of an exact length in the
    /// tokenizer where there is one.
    pub fn new(
        spec: &work::Synthetic,
        seed: u64,
        nonce: Option<Nonce>,
        tokenizer: Option<Arc<dyn Tokenizer>>,
        as_token_ids: bool,
    ) -> Result<Self, SyntheticError> {
        Self::with_counts(spec, seed, nonce, tokenizer, as_token_ids, None)
    }

    /// With counts of its words that are kept from run to run.
    pub fn with_counts(
        spec: &work::Synthetic,
        seed: u64,
        nonce: Option<Nonce>,
        tokenizer: Option<Arc<dyn Tokenizer>>,
        as_token_ids: bool,
        counts: Option<&CountCache>,
    ) -> Result<Self, SyntheticError> {
        let lengths = Lengths::new(&spec.lengths)?;
        if let Some((_, longest)) = lengths.bounds()
            && let Some(PrefixLength::Tokens(prefix)) = spec.prefix.map(|prefix| prefix.length)
            && longest <= prefix
        {
            return Err(SyntheticError::PrefixTooLong { prefix, longest });
        }
        Ok(Synthetic {
            seed,
            lengths,
            groups: spec.prefix.map(Groups::new).transpose()?,
            turns: None,
            writer: Writer::new(spec.language, seed, nonce, tokenizer, as_token_ids, counts)?,
        })
    }

    /// Makes conversations of `turns` turns. Later turns begin with neither nonce nor prefix,
    /// since the history before them does.
    pub fn with_turns(mut self, turns: &LengthSpec) -> Result<Self, SyntheticError> {
        self.turns = Some(Sampler::new(turns)?);
        Ok(self)
    }

    /// Tokens of a turn, and of its answer where both belong together.
    fn draw(&self, session: u64, turn: u32) -> (u32, Option<u32>) {
        let index = match turn {
            0 => session,
            _ => Source::Turn(session, turn).index(),
        };
        self.lengths.draw(self.seed, index)
    }

    fn stretches(&self, session: u64, length: u32) -> Vec<Stretch> {
        let source = Source::Prompt(session);
        let Some(groups) = &self.groups else {
            return vec![Stretch {
                source,
                tokens: length,
            }];
        };
        let (shared, own) = groups.cut(length);
        let group = Source::Group(groups.of(self.seed, session));
        [(group, shared), (source, own)]
            .into_iter()
            .filter(|&(_, tokens)| tokens > 0)
            .map(|(source, tokens)| Stretch { source, tokens })
            .collect()
    }
}

impl Prompts for Synthetic {
    fn turns(&self, session: u64) -> u32 {
        let random = &mut rng(self.seed, Dimension::Turns, session);
        (self.turns.as_ref()).map_or(1, |turns| turns.sample(random).max(1))
    }

    fn prompt(&self, session: u64, turn: u32) -> Prompt {
        let (tokens, output_tokens) = self.draw(session, turn);
        let prompt = if turn == 0 {
            self.writer.prompt(true, &self.stretches(session, tokens))
        } else {
            let source = Source::Turn(session, turn);
            self.writer.prompt(false, &[Stretch { source, tokens }])
        };
        Prompt {
            output_tokens,
            ..prompt
        }
    }

    fn output_tokens(&self, session: u64, turn: u32) -> Option<u32> {
        self.draw(session, turn).1
    }

    /// Random words are practically never the same twice, unless there are too few of them.
    fn distinct(&self) -> Option<u64> {
        /// With four random words, a run would need a million requests to repeat one.
        const PLENTY: u32 = 4;
        if !self.writer.is_plain() || self.turns.is_some() {
            return None;
        }
        let (shortest, longest) = self.lengths.bounds()?;
        let own = |length: u32| match &self.groups {
            Some(groups) => groups.cut(length).1,
            None => length.saturating_sub(self.writer.nonce().map_or(0, |_| Nonce::WORDS as u32)),
        };
        if own(longest) >= PLENTY {
            return None;
        }
        let texts = |own: u32| (words::COUNT as u64).pow(own);
        Some(match &self.groups {
            // Lengths that have no room for the prefix become one.
            Some(groups) => {
                let each: u64 = (own(shortest)..=own(longest)).map(texts).sum();
                each * u64::from(groups.count())
            }
            None => (shortest..=longest).map(|length| texts(own(length))).sum(),
        })
    }
}

#[cfg(test)]
mod tests;
