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

/// Counts pieces behind the same text, since some tokenizers add a token to the beginning of
/// every text.
pub(super) struct Behind<'a> {
    tokenizer: &'a dyn Tokenizer,
    before: &'a str,
    alone: u32,
}

impl<'a> Behind<'a> {
    pub(super) fn new(tokenizer: &'a dyn Tokenizer, before: &'a str) -> Self {
        Behind {
            tokenizer,
            before,
            alone: tokenizer.count(before),
        }
    }

    /// No piece is free: a text of free pieces would never be full.
    pub(super) fn piece(&self, text: String) -> Piece {
        let both = self.tokenizer.count(&format!("{}{text}", self.before));
        Piece {
            tokens: both.saturating_sub(self.alone).max(1),
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
        let behind = |before| Behind::new(tokenizer, before);
        match language {
            Language::En => {
                let [first, sentence, inside] = ["", "It is.", "It is"].map(behind);
                let words = words::english;
                Vocabulary {
                    first: Pieces::of(words().map(|word| first.piece(capital(word)))),
                    later: Some((
                        Pieces::of(
                            words().map(|word| sentence.piece(format!(" {}", capital(word)))),
                        ),
                        Pieces::of(words().map(|word| inside.piece(format!(" {word}")))),
                    )),
                    comma: inside.piece(",".to_owned()),
                    stop: inside.piece(".".to_owned()),
                    letter: inside.piece("s".to_owned()),
                    comma_every: 12,
                }
            }
            Language::Zh => {
                let [word, sign] = ["，", "今天"].map(behind);
                Vocabulary {
                    first: Pieces::of(words::chinese().map(|text| word.piece(text.to_owned()))),
                    later: None,
                    comma: sign.piece("，".to_owned()),
                    stop: sign.piece("。".to_owned()),
                    letter: sign.piece("的".to_owned()),
                    comma_every: 5,
                }
            }
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

    pub(super) fn iter(&self) -> impl Iterator<Item = &Piece> {
        self.all.iter()
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
