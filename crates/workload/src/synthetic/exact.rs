//! Text of an exact number of tokens in a tokenizer.
//!
//! A draft is composed of words whose counts are known, and counted as a whole. Where neighbours
//! merge into fewer tokens than they have alone, or split into more, the end is adjusted until
//! the count is right. With a tokenizer that separates words, as nearly all do for English, the
//! first count confirms the draft. Where texts of all words, of thousands of neighbours and of every
//! beginning show that they add up, no draft is counted: counting costs many times what writing
//! does, and has to keep up with the requests. Those texts are the same in every run, so that a
//! run whose counts are kept on disk need not even read its tokenizer.

use super::draft::{Draft, Piece};
use super::stretch::{Stretch, total};
use super::vocabulary::{Counter, Draw, Place, Vocabulary, chosen};
use super::words;
use crate::Nonce;
use crate::tokenizer::{CountCache, Tokenizer};
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::work::Language;
use rand::Rng;
use std::cell::RefCell;
use std::sync::Arc;

pub(super) struct Exact {
    tokenizer: Arc<dyn Tokenizer>,
    vocabulary: Vocabulary,
    /// Of the vocabulary.
    longest: Option<u32>,
    /// The words that begin a run's prompts.
    nonce: Vec<Piece>,
    as_token_ids: bool,
    /// Tokens that a text has for each that its pieces have.
    scale: f64,
    /// A text has as many tokens as its pieces.
    adds_up: bool,
    /// So have texts of all words beside each other: a text of words need not be counted.
    words_add_up: bool,
}

pub(super) struct Written {
    pub(super) text: Arc<str>,
    /// Where they were asked for.
    pub(super) ids: Option<Vec<u32>>,
    pub(super) tokens: u32,
}

struct Counted {
    tokens: u32,
    ids: Option<Vec<u32>>,
}

/// How a goal was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filled {
    /// With words and signs, as many tokens as asked.
    Exactly,
    /// With letters that may merge into a word, or not quite.
    Nearly,
}

/// Corrections of many words at once. Each leaves a small part of the error of the one before.
const CORRECTIONS: usize = 6;

/// Corrections by a letter or a sign.
const TOUCHES: usize = 64;

/// Short endings of which nearly every tokenizer can make any small number of tokens.
const FILLERS: [&str; 8] = ["s", "e", "。", ".", " a", "的", "1", "!"];

thread_local! {
    /// The memory of the last draft: whoever makes prompts makes many.
    static SPARE: RefCell<Draft> = RefCell::default();
}

impl Exact {
    pub(super) fn new(
        language: Language,
        nonce: Option<Nonce>,
        tokenizer: Arc<dyn Tokenizer>,
        as_token_ids: bool,
        cache: Option<&CountCache>,
    ) -> Self {
        let given = Arc::clone(&tokenizer);
        let counter = Counter {
            tokenizer: &*given,
            cache,
        };
        let vocabulary = Vocabulary::new(language, counter);
        let mut exact = Exact {
            longest: vocabulary.longest(),
            vocabulary,
            tokenizer,
            nonce: Vec::new(),
            as_token_ids,
            scale: 1.0,
            adds_up: true,
            words_add_up: false,
        };
        exact.calibrate(counter);
        if let Some(nonce) = nonce {
            exact.begin_with(nonce, counter);
        }
        exact
    }

    /// Learns from samples how far the counts of pieces add up, and from a text of all words
    /// whether they always do.
    fn calibrate(&mut self, counter: Counter<'_>) {
        const SAMPLES: u64 = 8;
        let sample = |number| {
            const TOKENS: u32 = 4_000;
            let mut draft = Draft::default().with_room(TOKENS);
            let mut random = rng(0, Dimension::Words, number);
            self.extend(&mut draft, TOKENS, Place::Text, true, &mut random);
            draft
        };
        let mut drafts: Vec<Draft> = (0..SAMPLES).map(sample).collect();
        drafts.push(self.all_words());
        let counts = counted(&drafts, counter);
        let (found, expected) = counts[0];
        self.adds_up = found == expected;
        self.scale = (f64::from(found) / f64::from(expected.max(1))).clamp(0.05, 20.0);
        self.words_add_up = counts.iter().all(|(found, expected)| found == expected);
    }

    /// Makes texts begin with the words of a nonce. All beginnings are counted, and not only this
    /// one, so that the next run finds its own among them.
    fn begin_with(&mut self, nonce: Nonce, counter: Counter<'_>) {
        let words = words::words();
        let first = counter.pieces("", words.iter().map(|word| word.to_string()));
        let later = counter.pieces("It is", words.iter().map(|word| format!(" {word}")));
        let opening = |places: [usize; Nonce::WORDS]| {
            let of = |(at, place): (usize, usize)| {
                if at == 0 {
                    &first[place]
                } else {
                    &later[place]
                }
            };
            places.into_iter().enumerate().map(of).cloned().collect()
        };
        let mut random = rng(0, Dimension::Words, 0);
        let mut drafts = Vec::new();
        for word in 0..words::COUNT {
            self.nonce = opening(std::array::from_fn(|at| (word + at) % words::COUNT));
            let mut draft = Draft::default();
            self.open(&mut draft, u32::MAX);
            self.extend(&mut draft, 4, Place::Sentence, true, &mut random);
            drafts.push(draft);
        }
        let counts = counted(&drafts, counter);
        self.words_add_up &= counts.iter().all(|(found, expected)| found == expected);
        self.nonce = opening(nonce.places());
    }

    /// Every word: at the beginning of a sentence with and without a stop before it, behind a
    /// word, before and behind a comma.
    fn all_words(&self) -> Draft {
        let Vocabulary { stop, comma, .. } = &self.vocabulary;
        let mut draft = Draft::default();
        let [begins, goes_on] = [Place::Sentence, Place::Inside].map(|at| self.vocabulary.at(at));
        let mut before = goes_on.iter().next();
        for (number, (begin, word)) in begins.iter().zip(goes_on.iter()).enumerate() {
            let neighbours = [begin, word, comma].into_iter().chain(before);
            let end = [word, stop].into_iter().take(1 + number % 2);
            neighbours.chain(end).for_each(|piece| draft.push(piece));
            before = Some(word);
        }
        draft
    }

    /// Writes stretches after one another. The text has as many tokens as they have together;
    /// every stretch but the last reads the same in whatever text it stands.
    pub(super) fn write(&self, seed: u64, with_nonce: bool, stretches: &[Stretch]) -> Written {
        let total = total(stretches);
        let counts = !self.words_add_up || self.as_token_ids;
        let mut draft = SPARE.take().with_room(total);
        let mut filled = Filled::Nearly;
        if !counts {
            draft = draft.without_pieces();
            (filled, _) = self.compose(&mut draft, seed, with_nonce, stretches);
        }
        let mut counted = Counted {
            tokens: total,
            ids: None,
        };
        if filled == Filled::Nearly {
            draft = draft.with_room(total);
            let (_, mut random) = self.compose(&mut draft, seed, with_nonce, stretches);
            counted = self.settle(&mut draft, total, &mut random);
        }
        if let Some(ids) = &mut counted.ids
            && ids.len() > total as usize
        {
            ids.truncate(total as usize);
            counted.tokens = total;
        }
        let text = draft.text().into();
        SPARE.set(draft);
        Written {
            text,
            ids: counted.ids,
            tokens: counted.tokens,
        }
    }

    /// Composes the stretches; with it, what is left of the last one's random numbers.
    fn compose(
        &self,
        draft: &mut Draft,
        seed: u64,
        with_nonce: bool,
        stretches: &[Stretch],
    ) -> (Filled, impl Rng + use<>) {
        let mut random = rng(seed, Dimension::Words, 0);
        let mut all = Filled::Exactly;
        for (at, stretch) in stretches.iter().enumerate() {
            let is_last = at + 1 == stretches.len();
            let mut part = Draft::default();
            let own = if is_last { &mut *draft } else { &mut part };
            let mut place = if at == 0 {
                Place::Text
            } else {
                Place::Sentence
            };
            let mut goal = stretch.tokens;
            if at == 0 && with_nonce {
                goal -= self.open(own, stretch.room_for_nonce(is_last));
                place = if own.is_empty() {
                    place
                } else {
                    Place::Sentence
                };
            }
            random = rng(seed, Dimension::Words, stretch.source.index());
            // A sign at its end keeps what follows from merging into the last word.
            let with_stop = is_last || !self.adds_up;
            let goal = self.scaled(goal);
            if self.extend(own, goal, place, with_stop, &mut random) == Filled::Nearly {
                all = Filled::Nearly;
            }
            if !is_last {
                if !self.adds_up {
                    self.settle(&mut part, stretch.tokens, &mut random);
                }
                draft.append(part);
            }
        }
        (all, random)
    }

    /// Begins with as many words of the nonce as there is room for, and says their tokens.
    fn open(&self, draft: &mut Draft, room: u32) -> u32 {
        let mut used = 0;
        for piece in &self.nonce {
            if piece.tokens > room - used {
                break;
            }
            used += piece.tokens;
            draft.push(piece);
        }
        let comma = &self.vocabulary.comma;
        if used > 0 && !self.vocabulary.has_spaces() && comma.tokens <= room - used {
            used += comma.tokens;
            draft.push(comma);
        }
        used
    }

    /// Tokens of the pieces that make a text of this many tokens.
    fn scaled(&self, tokens: u32) -> u32 {
        match tokens {
            0 => 0,
            _ if self.adds_up => tokens,
            _ => ((f64::from(tokens) / self.scale).round() as u32).max(1),
        }
    }

    /// Adds pieces of `goal` tokens, as sentences.
    fn extend(
        &self,
        draft: &mut Draft,
        goal: u32,
        mut place: Place,
        with_stop: bool,
        random: &mut impl Rng,
    ) -> Filled {
        let Vocabulary {
            stop,
            comma,
            letter,
            ..
        } = &self.vocabulary;
        let with_stop = with_stop && goal > 2 * stop.tokens;
        let mut left = goal;
        // Words until the sentence is over.
        let mut sentence = sentence_length(random);
        loop {
            let room = if with_stop { left - stop.tokens } else { left };
            if sentence == 0 && room > stop.tokens + 1 {
                draft.push(stop);
                left -= stop.tokens;
                place = Place::Sentence;
                sentence = sentence_length(random);
                continue;
            }
            if draft.has_no_pieces()
                && sentence > 0
                && let Some(longest) = self.longest
                && room > sentence.saturating_mul(longest) + comma.tokens + 1
            {
                left -= (self.vocabulary).push_words(draft, place, sentence, random);
                place = Place::Inside;
                sentence = 0;
                continue;
            }
            let draw = Draw::new(random);
            let words = self.vocabulary.at(place);
            let Some(tokens) = words.add_one(draft, draw, room, random) else {
                break;
            };
            left -= tokens;
            place = Place::Inside;
            sentence = sentence.saturating_sub(1);
            let room = room - tokens;
            let pauses = draw.pauses(self.vocabulary.comma_every);
            if pauses && sentence > 0 && room > comma.tokens + 1 {
                draft.push(comma);
                left -= comma.tokens;
            }
        }
        let at_end = if with_stop { stop.tokens } else { 0 };
        let filled = if left == at_end {
            Filled::Exactly
        } else {
            Filled::Nearly
        };
        // What is too little for a word goes into the last one.
        if with_stop || !draft.is_empty() {
            while left >= at_end + letter.tokens {
                draft.push(letter);
                left -= letter.tokens;
            }
        }
        if with_stop {
            draft.push(stop);
        }
        filled
    }

    /// Adjusts the end until the text has `target` tokens, or as nearly as can be had.
    fn settle(&self, draft: &mut Draft, target: u32, random: &mut impl Rng) -> Counted {
        let mut counted = self.count(draft.text());
        for _ in 0..CORRECTIONS {
            let stop = &self.vocabulary.stop;
            let wrong = self.scaled(counted.tokens.abs_diff(target));
            if counted.tokens == target {
                return counted;
            } else if counted.tokens < target {
                let stopped = draft.pop_if(stop);
                let tokens = wrong.saturating_add(if stopped { stop.tokens } else { 0 });
                self.resume(draft, tokens, stopped, random);
            } else {
                let mut gone = 0;
                while gone < wrong
                    && let Some(tokens) = draft.pop()
                {
                    gone += tokens;
                }
                if gone > wrong {
                    self.resume(draft, gone - wrong, false, random);
                }
            }
            let before = counted.tokens;
            counted = self.count(draft.text());
            if counted.tokens == before {
                // No word is small enough.
                break;
            }
        }
        self.touch_up(draft, counted, target)
    }

    fn resume(&self, draft: &mut Draft, tokens: u32, with_stop: bool, random: &mut impl Rng) {
        let place = if draft.is_empty() {
            Place::Text
        } else {
            Place::Inside
        };
        self.extend(draft, tokens, place, with_stop, random);
    }

    /// The last resort: takes pieces back until the text is short enough, then adds letters and
    /// signs one by one.
    fn touch_up(&self, draft: &mut Draft, mut counted: Counted, target: u32) -> Counted {
        let mut touches = 0;
        while counted.tokens > target && touches < TOUCHES && draft.pop().is_some() {
            counted = self.count(draft.text());
            touches += 1;
        }
        let mut refused = 0;
        while counted.tokens < target && touches < TOUCHES && refused < FILLERS.len() {
            draft.push_text(FILLERS[refused], 1);
            let longer = self.count(draft.text());
            touches += 1;
            if longer.tokens > target {
                draft.pop();
                refused += 1;
            } else {
                counted = longer;
            }
        }
        counted
    }

    fn count(&self, text: &str) -> Counted {
        if !self.as_token_ids {
            return Counted {
                tokens: self.tokenizer.count(text),
                ids: None,
            };
        }
        let ids = self.tokenizer.encode(text);
        Counted {
            tokens: u32::try_from(ids.len()).unwrap_or(u32::MAX),
            ids: Some(ids),
        }
    }
}

/// What drafts have, and what their pieces have together.
fn counted(drafts: &[Draft], counter: Counter<'_>) -> Vec<(u32, u32)> {
    let texts: Vec<String> = drafts.iter().map(|draft| draft.text().to_owned()).collect();
    let expected = drafts.iter().map(Draft::tokens);
    counter.counts(&texts).into_iter().zip(expected).collect()
}

fn sentence_length(random: &mut impl Rng) -> u32 {
    const SHORTEST: u32 = 5;
    const LENGTHS: usize = 11;
    SHORTEST + chosen(random.next_u32(), LENGTHS) as u32
}
