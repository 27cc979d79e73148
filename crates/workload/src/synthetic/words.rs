//! The lists of words that synthetic prompts and nonces are made of.

use std::sync::LazyLock;

/// Number of plain words: a power of two, so that ten random bits choose one and none is
/// favoured.
pub(crate) const COUNT: usize = 1 << BITS;

/// Random bits that choose a plain word.
pub(crate) const BITS: u32 = 10;

/// The longest plain word and the space before it.
pub(crate) const LONGEST: usize = 9;

static WORDS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| include_str!("words_en.txt").lines().collect());

/// Words that are one token each in every common vocabulary, in the order of the file, which is
/// alphabetical.
pub(crate) fn words() -> &'static [&'static str; COUNT] {
    WORDS
        .as_slice()
        .try_into()
        .expect("a test counts the words of the file")
}

/// A plain word and the space behind it, in a slot of fixed size.
pub(crate) struct SpacedWord {
    pub(crate) letters: [u8; SpacedWord::SLOT],
    /// With the space.
    pub(crate) length: u8,
}

impl SpacedWord {
    pub(crate) const SLOT: usize = 16;
}

static SPACED: LazyLock<Box<[SpacedWord; COUNT]>> = LazyLock::new(|| {
    let spaced = words().iter().map(|word| {
        let mut letters = [b' '; SpacedWord::SLOT];
        letters[..word.len()].copy_from_slice(word.as_bytes());
        SpacedWord {
            letters,
            length: word.len() as u8 + 1,
        }
    });
    let spaced: Box<[SpacedWord]> = spaced.collect();
    spaced.try_into().ok().expect("as many as there are words")
});

/// The plain words in the same order, ready to be copied.
pub(crate) fn spaced_words() -> &'static [SpacedWord; COUNT] {
    &SPACED
}

/// English words for a tokenizer that is known: the plain ones and many more.
pub(crate) fn english() -> impl Iterator<Item = &'static str> {
    words()
        .iter()
        .copied()
        .chain(include_str!("words_en_rich.txt").split_ascii_whitespace())
}

/// Chinese words of one to four characters.
pub(crate) fn chinese() -> impl Iterator<Item = &'static str> {
    include_str!("words_zh.txt").split_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_list_is_what_the_code_relies_on() {
        let words = words();
        assert!(
            words.is_sorted_by(|a, b| a < b),
            "sorted and without repetition"
        );
        for word in words {
            assert!(word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
            assert!((3..LONGEST).contains(&word.len()), "{word}");
        }
    }

    #[test]
    fn english_words_are_many_lower_case_and_different() {
        let mut seen = HashSet::new();
        for word in english() {
            assert!(word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
            assert!(seen.insert(word), "{word} is there twice");
        }
        assert!(seen.len() > 2_000, "{}", seen.len());
    }

    #[test]
    fn chinese_words_are_many_short_and_different() {
        let mut seen = HashSet::new();
        for word in chinese() {
            let han = |c| ('\u{4e00}'..='\u{9fff}').contains(&c);
            assert!(word.chars().all(han), "{word}");
            assert!((1..=4).contains(&word.chars().count()), "{word}");
            assert!(seen.insert(word), "{word} is there twice");
        }
        assert!(seen.len() > 1_200, "{}", seen.len());
    }
}
