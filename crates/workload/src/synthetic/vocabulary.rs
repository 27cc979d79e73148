//! What each word of a language costs in a tokenizer, counted once when a generator is built.

use super::words;
use crate::tokenizer::Tokenizer;
use inferometer_core::work::Language;
use rand::Rng;

/// A piece of text and what it adds to a text's tokens where it usually stands.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) text: Box<str>,
    pub(super) tokens: u32,
}

impl Piece {
    /// Counts `text` behind `before`, since some tokenizers add a token to the beginning of
    /// every text, and since nothing may be free: a text of free pieces would never be full.
    pub(super) fn counted(tokenizer: &dyn Tokenizer, before: &str, text: String) -> Self {
        let alone = tokenizer.count(before);
        let both = tokenizer.count(&format!("{before}{text}"));
        Piece {
            tokens: both.saturating_sub(alone).max(1),
            text: text.into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the very first.
    Text,
    Sentence,
    Inside,
}

/// The words of a language, as they are written in each place.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary {
    first: Pieces,
    /// Absent where words look the same wherever they stand.
    later: Option<(Pieces, Pieces)>,
    pub(super) comma: Piece,
    pub(super) stop: Piece,
    pub(super) letter: Piece,
    /// One word in this many is followed by a comma.
    pub(super) comma_every: u32,
}

impl Vocabulary {
    pub(super) fn new(language: Language, tokenizer: &dyn Tokenizer) -> Self {
        let piece = |before: &str, text: String| Piece::counted(tokenizer, before, text);
        match language {
            Language::En => Vocabulary {
                first: Pieces::of(words::english().map(|word| piece("", capital(word)))),
                later: Some((
                    Pieces::of(
                        words::english().map(|word| piece("It is.", format!(" {}", capital(word)))),
                    ),
                    Pieces::of(words::english().map(|word| piece("It is", format!(" {word}")))),
                )),
                comma: piece("It is", ",".to_owned()),
                stop: piece("It is", ".".to_owned()),
                letter: piece("It is", "s".to_owned()),
                comma_every: 12,
            },
            Language::Zh => Vocabulary {
                first: Pieces::of(words::chinese().map(|word| piece("，", word.to_owned()))),
                later: None,
                comma: piece("今天", "，".to_owned()),
                stop: piece("今天", "。".to_owned()),
                letter: piece("今天", "的".to_owned()),
                comma_every: 5,
            },
        }
    }

    /// Words are kept apart by spaces.
    pub(super) fn has_spaces(&self) -> bool {
        self.later.is_some()
    }

    /// The words as they are written in a place.
    pub(super) fn at(&self, place: Place) -> &Pieces {
        match (&self.later, place) {
            (Some((sentence, _)), Place::Sentence) => sentence,
            (Some((_, inside)), Place::Inside) => inside,
            _ => &self.first,
        }
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[derive(Clone, Debug)]
pub(super) struct Pieces {
    all: Box<[Piece]>,
    /// Places in `all` of the words of one token, of two, and so on.
    by_tokens: Vec<Vec<u32>>,
}

impl Pieces {
    fn of(pieces: impl Iterator<Item = Piece>) -> Self {
        /// Longer words do not help when a text is nearly full.
        const GROUPS: usize = 64;
        let all: Box<[Piece]> = pieces.collect();
        let mut by_tokens = vec![Vec::new(); GROUPS];
        for (at, piece) in (0..).zip(&all) {
            if let Some(group) = by_tokens.get_mut(piece.tokens as usize - 1) {
                group.push(at);
            }
        }
        Pieces { all, by_tokens }
    }

    /// Any word that `choice` falls on, or, if that one has too many tokens, one that fills
    /// what is left as well as any can. Absent if all have too many.
    pub(super) fn draw(&self, choice: u32, most: u32, random: &mut impl Rng) -> Option<&Piece> {
        let piece = self.all.get(chosen(choice, self.all.len()))?;
        if piece.tokens <= most {
            return Some(piece);
        }
        let fitting = self.by_tokens.iter().take(most as usize);
        let group = fitting.rev().find(|group| !group.is_empty())?;
        let at = group[chosen(random.next_u32(), group.len())];
        self.all.get(at as usize)
    }
}

/// One of `count` things, each equally often.
pub(super) fn chosen(choice: u32, count: usize) -> usize {
    ((u64::from(choice) * count as u64) >> u32::BITS) as usize
}
