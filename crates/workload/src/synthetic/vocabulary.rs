//! What each word of a language costs in a tokenizer, counted once when a generator is built.

use super::draft::{Draft, Piece, Slot};
use super::words;
use crate::tokenizer::{CountCache, Tokenizer, counts};
use inferometer_core::work::Language;
use rand::Rng;

/// Counts texts, from disk where the same were counted before.
#[derive(Clone, Copy)]
pub(super) struct Counter<'a> {
    pub(super) tokenizer: &'a dyn Tokenizer,
    pub(super) cache: Option<&'a CountCache>,
}

impl Counter<'_> {
    pub(super) fn counts(&self, texts: &[String]) -> Vec<u32> {
        counts(texts, self.tokenizer, self.cache)
    }

    /// Counts pieces behind a text, since some tokenizers add a token to the beginning of every
    /// text. No piece is free: a text of free pieces would never be full.
    pub(super) fn pieces(&self, before: &str, texts: impl Iterator<Item = String>) -> Vec<Piece> {
        let mut whole = vec![before.to_owned()];
        whole.extend(texts.map(|text| format!("{before}{text}")));
        let counts = self.counts(&whole);
        let alone = counts[0];
        let pieces = whole.iter().zip(counts).skip(1).map(|(text, both)| {
            let text = text[before.len()..].to_owned();
            Piece {
                text: text.into(),
                tokens: both.saturating_sub(alone).max(1),
            }
        });
        pieces.collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the very first.
    Text,
    Sentence,
    Inside,
}

/// A random number that says which word comes next and whether a comma follows it.
#[derive(Clone, Copy)]
pub(super) struct Draw(u32);

impl Draw {
    const PAUSE_BITS: u32 = 12;

    pub(super) fn new(random: &mut impl Rng) -> Self {
        Draw(random.next_u32())
    }

    fn word(self, count: usize) -> usize {
        let bits = u64::from(self.0 >> Self::PAUSE_BITS);
        ((bits * count as u64) >> (u32::BITS - Self::PAUSE_BITS)) as usize
    }

    /// Of one word in so many.
    pub(super) fn pauses(self, every: u32) -> bool {
        let bits = self.0 & ((1 << Self::PAUSE_BITS) - 1);
        (bits * every) >> Self::PAUSE_BITS == 0
    }
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
    pub(super) fn new(language: Language, counter: Counter<'_>) -> Self {
        let pieces = |before: &str, texts: &mut dyn Iterator<Item = String>| {
            Pieces::of(counter.pieces(before, texts))
        };
        let (first, later, before, signs, comma_every) = match language {
            Language::En => {
                let words = words::english;
                let first = pieces("", &mut words().map(capital));
                let sentence = &mut words().map(|word| format!(" {}", capital(word)));
                let inside = &mut words().map(|word| format!(" {word}"));
                let later = (pieces("It is.", sentence), pieces("It is", inside));
                (first, Some(later), "It is", [",", ".", "s"], 12)
            }
            Language::Zh => {
                let first = pieces("，", &mut words::chinese().map(str::to_owned));
                (first, None, "今天", ["，", "。", "的"], 5)
            }
        };
        let [comma, stop, letter] = counter
            .pieces(before, signs.into_iter().map(str::to_owned))
            .try_into()
            .expect("a piece for each sign");
        Vocabulary {
            first,
            later,
            comma,
            stop,
            letter,
            comma_every,
        }
    }

    /// Words are kept apart by spaces.
    pub(super) fn has_spaces(&self) -> bool {
        self.later.is_some()
    }

    /// The most tokens that a word and a comma behind it have in any place, where all are short
    /// enough to be copied.
    pub(super) fn longest(&self) -> Option<u32> {
        let later = self.later.iter().flat_map(|(first, later)| [first, later]);
        let mut places = later.chain([&self.first]);
        let longest = places.try_fold(0, |longest, pieces| Some(pieces.longest?.max(longest)))?;
        (Slot::of(&self.comma).length() > 0).then_some(longest + self.comma.tokens)
    }

    /// Adds words and the commas between them, where there is room for the longest, and says their
    /// tokens.
    pub(super) fn push_words(
        &self,
        draft: &mut Draft,
        place: Place,
        count: u32,
        random: &mut impl Rng,
    ) -> u32 {
        let comma = Slot::of(&self.comma);
        let mut tokens = 0;
        let mut slots = &*self.at(place).slots;
        draft.push_slots(2 * count as usize, |page| {
            for left in (0..count).rev() {
                let draw = Draw::new(random);
                let word = &slots[draw.word(slots.len())];
                page.write(word, true);
                let pauses = left > 0 && draw.pauses(self.comma_every);
                page.write(&comma, pauses);
                tokens += word.tokens() + if pauses { comma.tokens() } else { 0 };
                slots = &self.at(Place::Inside).slots;
            }
        });
        tokens
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
    /// The same, as far as they are short.
    slots: Box<[Slot]>,
    /// Places in `all` of the words of one token, of two, and so on.
    by_tokens: Vec<Vec<u32>>,
    /// The most tokens of a word, if all are short.
    longest: Option<u32>,
}

impl Pieces {
    fn of(pieces: Vec<Piece>) -> Self {
        /// Longer words do not help when a text is nearly full.
        const GROUPS: usize = 64;
        let all: Box<[Piece]> = pieces.into();
        let mut by_tokens = vec![Vec::new(); GROUPS];
        for (at, piece) in (0..).zip(&all) {
            if let Some(group) = by_tokens.get_mut(piece.tokens as usize - 1) {
                group.push(at);
            }
        }
        let slots: Box<[Slot]> = all.iter().map(Slot::of).collect();
        let tokens = |slot: &Slot| (slot.length() > 0).then_some(slot.tokens());
        let longest = slots
            .iter()
            .map(tokens)
            .try_fold(0, |longest, tokens| Some(tokens?.max(longest)));
        Pieces {
            slots,
            all,
            by_tokens,
            longest,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Piece> {
        self.all.iter()
    }

    /// Adds the word that `draw` falls on, or, if that one has more than `most` tokens, one that
    /// fills what is left as well as any can, and says its tokens. Absent if all have too many.
    pub(super) fn add_one(
        &self,
        draft: &mut Draft,
        draw: Draw,
        most: u32,
        random: &mut impl Rng,
    ) -> Option<u32> {
        let place = draw.word(self.all.len());
        let slot = self.slots.get(place)?;
        if slot.length() > 0 && slot.tokens() <= most {
            draft.push_slot(slot);
            return Some(slot.tokens());
        }
        let mut piece = self.all.get(place)?;
        if piece.tokens > most {
            let fitting = self.by_tokens.iter().take(most as usize);
            let group = fitting.rev().find(|group| !group.is_empty())?;
            piece = self
                .all
                .get(group[chosen(random.next_u32(), group.len())] as usize)?;
        }
        draft.push(piece);
        Some(piece.tokens)
    }
}

/// One of `count` things, each equally often.
pub(super) fn chosen(choice: u32, count: usize) -> usize {
    ((u64::from(choice) * count as u64) >> u32::BITS) as usize
}
