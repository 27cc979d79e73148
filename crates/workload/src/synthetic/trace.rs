//! Prompts for traces that tell only lengths and which blocks of their prompts are the same.

use super::SyntheticError;
use super::writer::{Source, Stretch, Writer};
use crate::tokenizer::Tokenizer;
use crate::{Nonce, Prompt, Prompts};
use inferometer_core::length::LONGEST;
use inferometer_core::work::Language;
use std::sync::Arc;

/// One request of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// Tokens of its prompt.
    pub input_tokens: u32,
    /// Tokens of its answer.
    pub output_tokens: Option<u32>,
    /// Names of the blocks of its prompt, from the beginning: equal names, equal text. Empty
    /// where the trace does not tell.
    pub blocks: Box<[u64]>,
}

/// Text for the rows of a trace. A block has the same words wherever it occurs, so that a prefix
/// cache finds in the replay what it would have found in the original.
pub struct TracePrompts {
    rows: Box<[TraceRow]>,
    block_tokens: u32,
    writer: Writer,
}

impl TracePrompts {
    /// Tokens of a block in Mooncake's traces.
    pub const MOONCAKE_BLOCK: u32 = 512;

    /// Text for `rows`, in blocks of `block_tokens`. The words of the nonce are part of the
    /// first block.
    pub fn new(
        rows: Vec<TraceRow>,
        block_tokens: u32,
        language: Language,
        seed: u64,
        nonce: Option<Nonce>,
        tokenizer: Option<Arc<dyn Tokenizer>>,
        as_token_ids: bool,
    ) -> Result<Self, SyntheticError> {
        if rows.is_empty() {
            return Err(SyntheticError::NoRows);
        }
        Ok(TracePrompts {
            rows: rows.into(),
            block_tokens: block_tokens.max(1),
            writer: Writer::new(language, seed, nonce, tokenizer, as_token_ids)?,
        })
    }

    /// A prompt of exactly `input_tokens`, made of these blocks; the last is cut, and what goes
    /// beyond them is drawn by `index`.
    pub fn of_lengths(&self, index: u64, input_tokens: u32, blocks: &[u64]) -> Prompt {
        // Beyond that, the trace is wrong.
        let mut left = input_tokens.min(LONGEST);
        let mut stretches = Vec::with_capacity(blocks.len().min(1 << 16) + 1);
        for &block in blocks {
            if left == 0 {
                break;
            }
            let tokens = left.min(self.block_tokens);
            left -= tokens;
            let source = Source::Block(block);
            stretches.push(Stretch { source, tokens });
        }
        if left > 0 {
            let source = Source::Prompt(index);
            stretches.push(Stretch {
                source,
                tokens: left,
            });
        }
        self.writer.prompt(true, &stretches)
    }
}

impl Prompts for TracePrompts {
    fn prompt(&self, session: u64, _turn: u32) -> Prompt {
        let at = session % self.rows.len() as u64;
        let row = &self.rows[at as usize];
        Prompt {
            output_tokens: row.output_tokens,
            ..self.of_lengths(at, row.input_tokens, &row.blocks)
        }
    }

    fn distinct(&self) -> Option<u64> {
        Some(self.rows.len() as u64)
    }
}
