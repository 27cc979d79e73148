//! The list of words that synthetic prompts and nonces are made of.

use std::sync::LazyLock;

/// Number of words: a power of two, so that ten random bits choose one and none is favoured.
pub(crate) const COUNT: usize = 1 << BITS;

/// Random bits that choose a word.
pub(crate) const BITS: u32 = 10;

/// The longest word and the space before it.
pub(crate) const LONGEST: usize = 9;

static WORDS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| include_str!("words_en.txt").lines().collect());

/// The words in the order of the file, which is alphabetical.
pub(crate) fn words() -> &'static [&'static str; COUNT] {
    WORDS
        .as_slice()
        .try_into()
        .expect("a test counts the words of the file")
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
