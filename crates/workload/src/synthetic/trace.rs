//! Prompts for traces that tell only lengths and which blocks of their prompts are the same.

use super::error::SyntheticError;
use super::stretch::{Source, Stretch};
use super::writer::Writer;
use crate::tokenizer::Tokenizer;
use crate::{Nonce, Prompt, Prompts};
use inferometer_core::length::LONGEST;
use inferometer_core::work::{Follows, Language};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRow {
    pub input_tokens: u32,
    pub output_tokens: Option<u32>,
    /// Names of the blocks of its prompt, from the beginning: equal names, equal text. Empty
    /// where the trace does not tell.
    pub blocks: Arc<[u64]>,
    /// Tokens of each.
    pub block_tokens: u32,
    /// When it is sent, where it is part of a session.
    pub follows: Option<Follows>,
}

/// Text for the rows of a trace. A block has the same words wherever it occurs, so that a prefix
/// cache finds in the replay what it would have found in the original.
pub struct TracePrompts {
    rows: Box<[TraceRow]>,
    /// Where each session begins in the rows.
    begins: Box<[usize]>,
    writer: Writer,
}

impl TracePrompts {
    /// Text for `rows`. The words of the nonce are part of the first block.
    pub fn new(
        rows: Vec<TraceRow>,
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
            begins: (0..rows.len()).collect(),
            rows: rows.into(),
            writer: Writer::new(language, seed, nonce, tokenizer, as_token_ids, None)?,
        })
    }

    /// The same rows, of which those from one beginning to the next are a session.
    pub fn in_sessions(self, begins: Vec<usize>) -> Self {
        let begins = begins.into();
        TracePrompts { begins, ..self }
    }

    /// The rows of a session.
    fn session(&self, session: u64) -> &[TraceRow] {
        let place = (session % self.begins.len() as u64) as usize;
        let end = self.begins.get(place + 1).copied();
        &self.rows[self.begins[place]..end.unwrap_or(self.rows.len())]
    }

    /// A prompt of exactly the row's length, made of these blocks; the last is cut, and what goes
    /// beyond them is drawn by `index`.
    fn of_lengths(&self, index: u64, row: &TraceRow, blocks: &[u64]) -> Prompt {
        // Beyond that, the trace is wrong.
        let mut left = row.input_tokens.min(LONGEST);
        let mut stretches = Vec::with_capacity(blocks.len().min(1 << 16) + 1);
        for &block in blocks {
            if left == 0 {
                break;
            }
            let tokens = left.min(row.block_tokens.max(1));
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
    fn turns(&self, session: u64) -> u32 {
        u32::try_from(self.session(session).len()).unwrap_or(u32::MAX)
    }

    fn follows(&self, session: u64, turn: u32) -> Option<Follows> {
        self.session(session).get(turn as usize)?.follows.clone()
    }

    fn prompt(&self, session: u64, turn: u32) -> Prompt {
        let all = self.begins.len() as u64;
        let rows = self.session(session);
        let row = &rows[turn as usize % rows.len()];
        // Beyond the end of the trace its lengths come again, with other words: a warm-up must
        // not show the server what is measured afterwards.
        let cycle = session / all;
        let other: Vec<u64>;
        let blocks = match cycle {
            0 => &row.blocks[..],
            _ => {
                other = row
                    .blocks
                    .iter()
                    .map(|block| block ^ (cycle << 40))
                    .collect();
                &other
            }
        };
        Prompt {
            output_tokens: row.output_tokens,
            ..self.of_lengths(session ^ (u64::from(turn) << 40), row, blocks)
        }
    }

    fn output_tokens(&self, session: u64, turn: u32) -> Option<u32> {
        let rows = self.session(session);
        rows[turn as usize % rows.len()].output_tokens
    }

    fn distinct(&self) -> Option<u64> {
        Some(self.begins.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::text;
    use crate::tokenizer::{Bytes, Tiktoken};

    #[test]
    fn beyond_its_end_a_trace_has_the_same_lengths_and_other_words() {
        let rows = rows();
        let count = rows.len() as u64;
        let prompts = TracePrompts::new(rows, Language::En, 1, None, None, false).unwrap();
        for session in 0..count {
            let (first, again) = (
                prompts.prompt(session, 0),
                prompts.prompt(session + count, 0),
            );
            assert_eq!(first.input_tokens, again.input_tokens);
            assert_ne!(text(&first), text(&again));
        }
    }

    fn row(input_tokens: u32, blocks: &[u64]) -> TraceRow {
        TraceRow {
            input_tokens,
            output_tokens: Some(9),
            blocks: blocks.into(),
            block_tokens: 512,
            follows: None,
        }
    }

    fn rows() -> Vec<TraceRow> {
        vec![
            row(1_500, &[1, 2, 3]),
            row(1_100, &[1, 2, 4]),
            row(1_100, &[5, 2, 4]),
            row(40, &[]),
            row(40, &[]),
            row(700, &[1]),
            row(3, &[1]),
        ]
    }

    #[test]
    fn every_row_has_its_length_and_the_blocks_that_others_share() {
        let cl100k: Arc<dyn Tokenizer> = Arc::new(Tiktoken::cl100k());
        let bytes: Arc<dyn Tokenizer> = Arc::new(Bytes);
        for (tokenizer, language) in [
            (None, Language::En),
            (Some(cl100k.clone()), Language::En),
            (Some(cl100k.clone()), Language::Zh),
            (Some(bytes), Language::Zh),
        ] {
            let counter = tokenizer.clone().unwrap_or(cl100k.clone());
            let nonce = Some(Nonce::from_random(5));
            let prompts = TracePrompts::new(rows(), language, 1, nonce, tokenizer, false).unwrap();
            let made: Vec<Prompt> = (0..7).map(|index| prompts.prompt(index, 0)).collect();
            for (prompt, row) in made.iter().zip(rows()) {
                assert_eq!(prompt.input_tokens, Some(row.input_tokens));
                assert_eq!(counter.count(text(prompt)), row.input_tokens);
                assert_eq!(prompt.output_tokens, Some(9));
            }
            let ids: Vec<Vec<u32>> = made.iter().map(|p| counter.encode(text(p))).collect();
            let shared = |one: usize, other: usize| {
                let both = ids[one].iter().zip(&ids[other]);
                both.take_while(|(a, b)| a == b).count()
            };
            // Two blocks, one block, none but the nonce. A word may be the same by chance, and
            // in Chinese the last may merge with the next.
            let is_about = |found: usize, tokens: usize| found.abs_diff(tokens) < 8;
            assert!(is_about(shared(0, 1), 1_024), "{}", shared(0, 1));
            assert!(is_about(shared(0, 5), 512), "{}", shared(0, 5));
            assert!(shared(1, 2) < 40 && shared(3, 4) < 40);
        }
    }

    #[test]
    fn a_block_reads_the_same_after_whichever_it_stands() {
        let prompts = TracePrompts::new(rows(), Language::En, 1, None, None, false).unwrap();
        let (one, other) = (prompts.prompt(1, 0), prompts.prompt(2, 0));
        let second = |prompt: &Prompt| -> Vec<String> {
            let words = text(prompt).split(' ').skip(512);
            words.map(str::to_owned).collect()
        };
        assert_eq!(second(&one), second(&other));
    }

    #[test]
    fn turns_of_a_session_share_what_the_trace_says() {
        let rows = vec![row(512, &[1]), row(1_024, &[1, 2]), row(512, &[1])];
        let prompts = TracePrompts::new(rows, Language::En, 1, None, None, false);
        let prompts = prompts.unwrap().in_sessions(vec![0, 2]);
        assert_eq!((prompts.turns(0), prompts.turns(1)), (2, 1));
        assert_eq!(prompts.distinct(), Some(2));
        let said = |session, turn| text(&prompts.prompt(session, turn)).to_owned();
        assert!(said(0, 1).starts_with(&said(0, 0)));
        assert_eq!(said(1, 0), said(0, 0));
        assert_ne!(said(2, 0), said(0, 0));
    }

    #[test]
    fn a_trace_without_rows_is_refused() {
        let error = TracePrompts::new(Vec::new(), Language::En, 1, None, None, false).err();
        assert!(
            error
                .expect("it is refused")
                .to_string()
                .contains("no request")
        );
    }
}
