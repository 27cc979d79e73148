//! Words as tokens: each has an id that never changes.
//!
//! Ids matter where prompts share a beginning (the prefix cache) and to `/tokenize`. An id is
//! a hash of its word, so no vocabulary is kept, except for what `/detokenize` needs.

use std::collections::HashMap;

/// Most words that a [`Vocabulary`] learns.
const MOST_WORDS: usize = 1 << 17;

/// Below this are tokens that are no words.
const FIRST_WORD: u32 = 16;

/// Chinese words that are a token each, as in most vocabularies; of other words each sign is one.
pub(super) const SEVERAL_SIGNS: [&str; 16] = [
    "河流", "石头", "窗户", "花园", "早晨", "音乐", "报纸", "北方", "引擎", "蓝色", "桌子", "雨水",
    "灯光", "山谷", "邻居", "火车",
];

/// The words of a text: what spaces part, and of a script that has no spaces each sign or
/// well-known word.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let end = if rest.is_ascii() {
                // By far the most words, and told without a look at each sign.
                rest.len()
            } else if is_word_by_itself(first) {
                let known = SEVERAL_SIGNS.iter().find(|word| rest.starts_with(**word));
                known.map_or(first.len_utf8(), |word| word.len())
            } else {
                rest.find(is_word_by_itself).unwrap_or(rest.len())
            };
            let (word, left) = rest.split_at(end);
            rest = left;
            Some(word)
        })
    })
}

/// The tokens of the words of a text, as a server without a tokenizer counts them.
pub fn word_ids(text: &str) -> Vec<u32> {
    words(text).map(word_id).collect()
}

/// Chinese and Japanese signs, their punctuation, and Korean syllables.
fn is_word_by_itself(sign: char) -> bool {
    matches!(sign,
        '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// The token of a word; `<|5|>` is the token 5.
pub(crate) fn word_id(word: &str) -> u32 {
    let number = word
        .strip_prefix("<|")
        .and_then(|rest| rest.strip_suffix("|>"));
    if let Some(id) = number.and_then(|number| number.parse().ok()) {
        return id;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in word.as_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let folded = (hash ^ (hash >> 32)) as u32 & 0x7fff_ffff;
    folded.max(FIRST_WORD)
}

/// The words of tokens that were seen.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary(HashMap<u32, Box<str>>);

impl Vocabulary {
    /// Remembers the words of a text, as long as there is room.
    pub(crate) fn learn(&mut self, text: &str) {
        for word in words(text) {
            if self.0.len() >= MOST_WORDS {
                return;
            }
            // A long word is worth less than the room that it takes.
            if word.len() <= 256 {
                self.0.entry(word_id(word)).or_insert_with(|| word.into());
            }
        }
    }

    /// The word of a token, or how to write the token.
    pub(crate) fn word(&self, id: u32) -> String {
        let known = self.0.get(&id);
        known.map_or_else(|| format!("<|{id}|>"), |word| word.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_without_spaces_has_a_word_a_sign() {
        let cut = |text| words(text).collect::<Vec<_>>();
        assert_eq!(cut("green  house"), ["green", "house"]);
        assert_eq!(
            cut("首字 TTFT时延。ok"),
            ["首", "字", "TTFT", "时", "延", "。", "ok"]
        );
        assert_eq!(cut("山谷的引 擎"), ["山谷", "的", "引", "擎"]);
        assert_eq!(cut(" "), [""; 0]);
    }

    #[test]
    fn tokens_come_back_as_their_words_or_as_themselves() {
        let mut vocabulary = Vocabulary::default();
        vocabulary.learn("green house");
        assert_eq!(vocabulary.word(word_id("house")), "house");
        for id in [0, 2, 12_345, u32::MAX] {
            assert_eq!(word_id(&vocabulary.word(id)), id);
        }
    }
}
