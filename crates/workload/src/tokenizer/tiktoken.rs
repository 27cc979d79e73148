//! OpenAI's vocabularies, embedded. Each is unpacked when it is first asked for.

use super::Tokenizer;
use tiktoken::{CoreBpe, get_encoding};

const EMBEDDED: &str = "the features of the dependency name both vocabularies";

/// One of OpenAI's vocabularies. What looks like a special token is ordinary text to it.
pub struct Tiktoken {
    name: &'static str,
    /// The vocabularies are fixed, so a number chosen once stands for each.
    digest: u64,
    encoder: &'static CoreBpe,
}

impl Tiktoken {
    /// `cl100k_base`, of GPT-3.5 and GPT-4.
    pub fn cl100k() -> Self {
        Tiktoken {
            name: "cl100k",
            digest: 0x636c_3130_306b_0001,
            encoder: get_encoding("cl100k_base").expect(EMBEDDED),
        }
    }

    /// `o200k_base`, of GPT-4o and later.
    pub fn o200k() -> Self {
        Tiktoken {
            name: "o200k",
            digest: 0x6f32_3030_6b00_0001,
            encoder: get_encoding("o200k_base").expect(EMBEDDED),
        }
    }
}

impl Tokenizer for Tiktoken {
    fn name(&self) -> &str {
        self.name
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        self.encoder.encode(text)
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(self.encoder.count(text)).unwrap_or(u32::MAX)
    }

    fn digest(&self) -> u64 {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_texts_have_the_tokens_that_openai_gives_them() {
        let cl100k = Tiktoken::cl100k();
        assert_eq!(cl100k.encode("hello world"), [15339, 1917]);
        assert_eq!(
            cl100k.encode("tiktoken is great!"),
            [83, 1609, 5963, 374, 2294, 0]
        );
        let o200k = Tiktoken::o200k();
        assert_eq!(o200k.encode("hello world"), [24912, 2375]);
        assert_eq!(cl100k.count(""), 0);
        assert_eq!(o200k.count(""), 0);
    }

    #[test]
    fn special_tokens_in_a_text_are_text() {
        assert!(Tiktoken::cl100k().count("<|endoftext|>") > 1);
    }

    proptest! {
        #[test]
        fn a_count_is_the_number_of_tokens(text in any::<String>(), spaces in "[ \t\r\n]{0,9}") {
            let text = format!("{spaces}{text}{spaces}{text}");
            for tokenizer in [Tiktoken::cl100k(), Tiktoken::o200k()] {
                prop_assert_eq!(tokenizer.count(&text) as usize, tokenizer.encode(&text).len());
            }
        }
    }
}
