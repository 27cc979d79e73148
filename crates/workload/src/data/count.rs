//! Tokens of rows, counted on all cores.

use super::row::{Picked, Row, RowContent, TurnTokens};
use crate::tokenizer::{CountCache, Tokenizer, count_all};
use std::sync::Arc;

/// Tokens of a row, as far as they have been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub prompt: Option<u32>,
    pub reference: Option<u32>,
}

/// Counts texts on all cores, or remembers what an earlier run has counted.
#[derive(Clone, Copy)]
pub struct Counter<'a> {
    pub tokenizer: &'a dyn Tokenizer,
    pub cache: Option<&'a CountCache>,
}

impl Counter<'_> {
    fn counts(self, texts: &[impl AsRef<str> + Sync]) -> Vec<u32> {
        match self.cache {
            Some(cache) => cache.counts(texts, self.tokenizer),
            None => count_all(texts, self.tokenizer),
        }
    }
}

/// Counts prompts and references of rows.
pub fn count_rows<'a>(rows: impl Iterator<Item = &'a Row>, counter: Counter<'_>) -> Vec<Counted> {
    let mut texts = Vec::new();
    let mut places = Vec::new();
    for row in rows {
        let prompt = texts.len();
        texts.push(row.content.prompt_text());
        let reference = reference_of(row).map(|reference| {
            texts.push(reference.into());
            texts.len() - 1
        });
        places.push((prompt, reference));
    }
    let counts = counter.counts(&texts);
    let counted = |(prompt, reference): (usize, Option<usize>)| Counted {
        prompt: counts.get(prompt).copied(),
        reference: reference.and_then(|place| counts.get(place).copied()),
    };
    places.into_iter().map(counted).collect()
}

fn reference_of(row: &Row) -> Option<&str> {
    match &row.content {
        RowContent::Turns(turns) => turns.first()?.answer.as_deref(),
        _ => row.reference.as_deref(),
    }
}

/// Fills in what is not known yet of rows that were taken.
pub fn complete_counts(rows: &mut [Picked], counter: Option<Counter<'_>>, counted: bool) {
    if let Some(counter) = counter {
        if !counted {
            let counts = count_rows(rows.iter().map(|picked| &picked.row), counter);
            for (picked, counted) in rows.iter_mut().zip(counts) {
                picked.prompt_tokens = counted.prompt;
                picked.reference_tokens = counted.reference;
            }
        }
        count_turns(rows, counter);
    }
    for picked in rows {
        if let RowContent::Lengths { input_tokens, .. } = picked.row.content {
            picked.prompt_tokens = Some(input_tokens);
        }
    }
}

fn count_turns(rows: &mut [Picked], counter: Counter<'_>) {
    let mut texts: Vec<Arc<str>> = Vec::new();
    for picked in rows.iter() {
        if let RowContent::Turns(turns) = &picked.row.content {
            for turn in turns.iter() {
                texts.push(turn.user.clone());
                texts.extend(turn.answer.clone());
            }
        }
    }
    if texts.is_empty() {
        return;
    }
    let mut counts = counter.counts(&texts).into_iter();
    for picked in rows {
        if let RowContent::Turns(turns) = &picked.row.content {
            let counted = turns.iter().map(|turn| TurnTokens {
                user: counts.next(),
                answer: turn.answer.as_ref().and_then(|_| counts.next()),
            });
            picked.turns = counted.collect();
        }
    }
}
