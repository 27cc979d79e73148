//! Writes prompts out of stretches, by words or exactly by a tokenizer.

use super::error::SyntheticError;
use super::exact::Exact;
use super::plain;
use super::stretch::{Stretch, total};
use crate::tokenizer::{CountCache, Tokenizer};
use crate::{Content, Nonce, Prompt};
use inferometer_core::work::Language;
use std::sync::Arc;

pub(super) struct Writer {
    seed: u64,
    nonce: Option<Nonce>,
    exact: Option<Box<Exact>>,
}

impl Writer {
    pub(super) fn new(
        language: Language,
        seed: u64,
        nonce: Option<Nonce>,
        tokenizer: Option<Arc<dyn Tokenizer>>,
        as_token_ids: bool,
        counts: Option<&CountCache>,
    ) -> Result<Self, SyntheticError> {
        let exact = match tokenizer {
            Some(tokenizer) => Some(Box::new(Exact::new(
                language,
                nonce,
                tokenizer,
                as_token_ids,
                counts,
            ))),
            None if as_token_ids => return Err(SyntheticError::IdsWithoutTokenizer),
            None if language != Language::En => {
                return Err(SyntheticError::LanguageWithoutTokenizer(language));
            }
            None => None,
        };
        Ok(Writer { seed, nonce, exact })
    }

    pub(super) fn nonce(&self) -> Option<Nonce> {
        self.nonce
    }

    /// Words are one token each, and few enough to be counted.
    pub(super) fn is_plain(&self) -> bool {
        self.exact.is_none()
    }

    /// Writes one prompt; `opens` is false for later turns of a conversation, whose
    /// history already begins with the nonce.
    pub(super) fn prompt(&self, opens: bool, stretches: &[Stretch]) -> Prompt {
        let Some(exact) = &self.exact else {
            let text = plain::write(self.seed, self.nonce.filter(|_| opens), stretches);
            return Prompt {
                chars: text.len() as u64,
                content: Content::Text(text),
                input_tokens: Some(total(stretches)),
                output_tokens: None,
            };
        };
        let written = exact.write(self.seed, opens, stretches);
        Prompt {
            chars: written.text.chars().count() as u64,
            content: match written.ids {
                Some(ids) => Content::TokenIds(ids.into()),
                None => Content::Text(written.text),
            },
            input_tokens: Some(written.tokens),
            output_tokens: None,
        }
    }
}
