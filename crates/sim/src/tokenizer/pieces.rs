//! The texts of which answers are made: each a token of the tokenizer, and still the same token
//! beside any other, so that whoever counts the tokens of an answer's text finds as many.

use super::words::SEVERAL_SIGNS;
use super::{Cutter, word_id};

/// How many an answer is drawn from.
const ENOUGH: usize = 32;
/// Tokens of the vocabulary that are tried where the words below do not suffice.
const MOST_TRIED: u32 = 20_000;
const FEW: usize = 8;

/// Words that are a token each in most vocabularies.
const WORDS: [&str; ENOUGH] = [
    " time", " light", " river", " stone", " house", " green", " small", " under", " which",
    " water", " music", " paper", " seven", " north", " the", " of", " and", " to", " in", " a",
    " is", " that", " window", " garden", " morning", " quickly", " almost", " never", " between",
    " engine", " number", " answer",
];

/// Chinese signs that are a token each in most vocabularies. None begins a word of
/// [`SEVERAL_SIGNS`], with which they make answers of about three signs for two tokens.
const SIGNS: [&str; SEVERAL_SIGNS.len()] = [
    "的", "了", "是", "在", "和", "有", "就", "人", "不", "也", "很", "都", "说", "要", "去", "，",
];

/// The text of a token; none needs escaping in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: Box<str>,
    pub(crate) id: u32,
}

/// The pieces for a tokenizer; never none.
pub(super) fn of(cutter: &Cutter) -> Vec<Piece> {
    let words = || {
        WORDS.map(|word| Piece {
            text: word.into(),
            id: word_id(word.trim_start()),
        })
    };
    if matches!(cutter, Cutter::Words) {
        return words().into();
    }
    let mut chosen = Vec::new();
    for word in WORDS {
        choose(cutter, &mut chosen, word);
    }
    if chosen.len() < FEW {
        for id in 0..cutter.size().min(MOST_TRIED) {
            let text = cutter.decode(&[id]);
            // Where blanks part words, a piece needs one before it.
            if !choose(cutter, &mut chosen, &text) {
                choose(cutter, &mut chosen, &format!(" {text}"));
            }
            if chosen.len() >= ENOUGH {
                break;
            }
        }
    }
    if chosen.is_empty() {
        // A vocabulary without a single such token: its counts will differ.
        return words().into();
    }
    chosen
}

/// The pieces of Chinese answers; none where the vocabulary has hardly any.
pub(super) fn chinese(cutter: &Cutter) -> Option<Vec<Piece>> {
    let all = SEVERAL_SIGNS.into_iter().chain(SIGNS);
    let mut chosen = Vec::new();
    for word in all {
        choose(cutter, &mut chosen, word);
    }
    (chosen.len() >= FEW).then_some(chosen)
}

/// Takes a text that is one token alone and beside each that was taken, itself included.
fn choose(cutter: &Cutter, chosen: &mut Vec<Piece>, text: &str) -> bool {
    let escaped = |c: char| c.is_control() || matches!(c, '"' | '\\' | '\u{fffd}');
    let [id] = cutter.encode(text)[..] else {
        return false;
    };
    if text.trim().is_empty() || text.contains(escaped) {
        return false;
    }
    let piece = Piece {
        text: text.into(),
        id,
    };
    let stays = |first: &Piece, second: &Piece| {
        cutter.encode(&format!("{}{}", first.text, second.text)) == [first.id, second.id]
    };
    let beside = |other: &Piece| other.id != id && stays(other, &piece) && stays(&piece, other);
    if !stays(&piece, &piece) || !chosen.iter().all(beside) {
        return false;
    }
    chosen.push(piece);
    true
}
