//! Pieces of text to continue: given ones, or cut from an embedded text.

use super::ContinuationError;
use crate::tokenizer::Tokenizer;
use inferometer_core::work::{self, Language, PromptLength, Template};
use std::borrow::Cow;
use std::sync::Arc;

pub struct Pieces(Kind);

enum Kind {
    Given(Vec<Arc<str>>),
    Embedded(Circle),
}

impl Pieces {
    /// These, in order, and again from the first.
    pub fn given(pieces: Vec<Arc<str>>) -> Result<Self, ContinuationError> {
        if pieces.is_empty() {
            Err(ContinuationError::NoPieces)
        } else {
            Ok(Pieces(Kind::Given(pieces)))
        }
    }

    /// Cut from a text of ours, in the language of the template, or in English for a template
    /// of the user's.
    pub fn embedded(
        spec: &work::Continuation,
        tokenizer: Option<&Arc<dyn Tokenizer>>,
    ) -> Result<Self, ContinuationError> {
        let text = match &spec.template {
            Template::Embedded(Language::Zh) => include_str!("text_zh.txt"),
            Template::Embedded(Language::En) | Template::File(_) => include_str!("text_en.txt"),
        };
        let length = match (spec.piece, tokenizer) {
            (PromptLength::Chars(chars), _) => Length::Chars(chars as usize),
            (PromptLength::Tokens(tokens), Some(counter)) => {
                Length::Tokens(tokens, Arc::clone(counter))
            }
            (PromptLength::Tokens(tokens), None) => {
                return Err(ContinuationError::TokensWithoutTokenizer(tokens));
            }
        };
        Ok(Pieces(Kind::Embedded(Circle {
            chars: text.trim_end().chars().chain(['\n']).collect(),
            length,
        })))
    }

    /// Piece number `index`.
    pub(super) fn at(&self, index: u64) -> Cow<'_, str> {
        match &self.0 {
            Kind::Given(pieces) => {
                let at = index % pieces.len() as u64;
                Cow::Borrowed(&pieces[at as usize])
            }
            Kind::Embedded(circle) => Cow::Owned(circle.piece(index)),
        }
    }

    /// Pieces until they come again.
    pub(super) fn distinct(&self) -> u64 {
        match &self.0 {
            Kind::Given(pieces) => pieces.len() as u64,
            Kind::Embedded(circle) => circle.chars.len() as u64,
        }
    }
}

/// A text whose end is followed by its beginning, so that a piece can begin anywhere and have
/// any length.
struct Circle {
    chars: Vec<char>,
    length: Length,
}

enum Length {
    Chars(usize),
    Tokens(u32, Arc<dyn Tokenizer>),
}

impl Circle {
    fn piece(&self, index: u64) -> String {
        /// Far from the piece before; a prime, so that every place has its turn.
        const STRIDE: u64 = 3_571;
        let all = self.chars.len() as u64;
        let begin = (index % all * STRIDE % all) as usize;
        match &self.length {
            Length::Chars(chars) => self.cut(begin, *chars),
            Length::Tokens(tokens, counter) => self.cut_tokens(begin, *tokens, &**counter),
        }
    }

    fn cut(&self, begin: usize, chars: usize) -> String {
        self.chars.iter().cycle().skip(begin).take(chars).collect()
    }

    /// The longest piece that has no more tokens.
    fn cut_tokens(&self, begin: usize, tokens: u32, counter: &dyn Tokenizer) -> String {
        let fits = |chars| counter.count(&self.cut(begin, chars)) <= tokens;
        let (mut enough, mut too_many) = (0, tokens as usize + 1);
        // No more than a few characters to a token, unless a tokenizer is very odd.
        while too_many < tokens as usize * 16 && fits(too_many) {
            enough = too_many;
            too_many *= 2;
        }
        while enough + 1 < too_many {
            let middle = enough.midpoint(too_many);
            if fits(middle) {
                enough = middle
            } else {
                too_many = middle
            }
        }
        self.cut(begin, enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_texts_are_long_and_every_place_in_them_is_used() {
        for language in [Language::En, Language::Zh] {
            let spec = work::Continuation {
                location: None,
                piece: PromptLength::Chars(50),
                ask_chars: 1,
                template: Template::Embedded(language),
            };
            let pieces = Pieces::embedded(&spec, None).unwrap();
            let Kind::Embedded(circle) = &pieces.0 else {
                panic!("they are embedded");
            };
            assert!(circle.chars.len() > 5_000, "{}", circle.chars.len());
            assert_ne!(circle.chars.len() % 3_571, 0);
            let begins: std::collections::HashSet<String> = (0..pieces.distinct())
                .map(|index| pieces.at(index).into_owned())
                .collect();
            assert_eq!(begins.len(), circle.chars.len());
        }
    }
}
