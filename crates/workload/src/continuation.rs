//! The length-grid study: a piece of text in a template that asks to continue it with a number of
//! characters (`--input-chars N --ask-chars N`).

mod error;
mod pieces;
mod template;

pub use error::ContinuationError;
pub use pieces::Pieces;

use crate::tokenizer::Tokenizer;
use crate::{Content, Prompt, Prompts};
use inferometer_core::work;
use std::sync::Arc;
use template::Form;

/// Pieces of text, each in the template.
pub struct Continued {
    pieces: Pieces,
    form: Form,
    tokenizer: Option<Arc<dyn Tokenizer>>,
}

impl Continued {
    /// Asks to continue each piece as `spec` says. With a tokenizer, prompts are counted.
    pub fn new(
        spec: &work::Continuation,
        pieces: Pieces,
        tokenizer: Option<Arc<dyn Tokenizer>>,
    ) -> Result<Self, ContinuationError> {
        Ok(Continued {
            pieces,
            form: Form::open(&spec.template, spec.ask_chars)?,
            tokenizer,
        })
    }

    /// Characters of a prompt that are not those of its piece.
    pub fn template_chars(&self) -> u64 {
        self.form.filled("").chars().count() as u64
    }

    /// Tokens of the template without a piece; absent without a tokenizer.
    pub fn template_tokens(&self) -> Option<u32> {
        let tokenizer = self.tokenizer.as_ref()?;
        Some(tokenizer.count(&self.form.filled("")))
    }
}

impl Prompts for Continued {
    fn prompt(&self, session: u64, _turn: u32) -> Prompt {
        let text = self.form.filled(&self.pieces.at(session));
        Prompt {
            input_tokens: (self.tokenizer.as_ref()).map(|tokenizer| tokenizer.count(&text)),
            chars: text.chars().count() as u64,
            content: Content::Text(text.into()),
            output_tokens: None,
        }
    }

    fn output_tokens(&self, _session: u64, _turn: u32) -> Option<u32> {
        None
    }

    fn distinct(&self) -> Option<u64> {
        Some(self.pieces.distinct())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{file, text};
    use crate::tokenizer::Bytes;
    use inferometer_core::work::{Language, PromptLength, Template};
    use std::collections::HashSet;

    fn spec(piece: PromptLength, template: Template) -> work::Continuation {
        work::Continuation {
            location: None,
            piece,
            ask_chars: 300,
            template,
        }
    }

    #[test]
    fn every_prompt_has_its_piece_the_number_and_the_stated_length() {
        for language in [Language::En, Language::Zh] {
            for length in [1, 100, 20_000] {
                let spec = spec(PromptLength::Chars(length), Template::Embedded(language));
                let pieces = Pieces::embedded(&spec, None).unwrap();
                let prompts = Continued::new(&spec, pieces, None).unwrap();
                let prompt = prompts.prompt(3, 0);
                assert_eq!(prompt.chars, u64::from(length) + prompts.template_chars());
                assert_eq!(prompt.chars, text(&prompt).chars().count() as u64);
                assert!(text(&prompt).contains("300"));
                assert_eq!(
                    (prompt.input_tokens, prompts.template_tokens()),
                    (None, None)
                );
            }
        }
    }

    #[test]
    fn pieces_of_the_embedded_text_differ() {
        let spec = spec(PromptLength::Chars(200), Template::Embedded(Language::Zh));
        let pieces = Pieces::embedded(&spec, None).unwrap();
        let prompts = Continued::new(&spec, pieces, None).unwrap();
        let texts: HashSet<String> = (0..1_000)
            .map(|index| text(&prompts.prompt(index, 0)).to_owned())
            .collect();
        assert_eq!(texts.len(), 1_000);
        assert!(prompts.distinct().unwrap() >= 1_000);
    }

    #[test]
    fn pieces_of_tokens_have_no_more_than_asked_and_nearly_as_many() {
        let bytes: Arc<dyn Tokenizer> = Arc::new(Bytes);
        for language in [Language::En, Language::Zh] {
            let spec = spec(PromptLength::Tokens(1_000), Template::Embedded(language));
            let pieces = Pieces::embedded(&spec, Some(&bytes)).unwrap();
            let prompts = Continued::new(&spec, pieces, Some(bytes.clone())).unwrap();
            let template = prompts.template_tokens().unwrap();
            for index in 0..20 {
                let tokens = prompts.prompt(index, 0).input_tokens.unwrap() - template;
                assert!((997..=1_000).contains(&tokens), "{tokens}");
            }
            let refused = Pieces::embedded(&spec, None).err().unwrap().to_string();
            assert!(refused.contains("--tokenizer"), "{refused}");
        }
    }

    #[test]
    fn given_pieces_go_into_the_users_template_in_order_and_are_never_templates_themselves() {
        let file = file(b"{num_completion} more: {text} ({num_completion}) {other}\n");
        let template = Template::File(file.path().into());
        let spec = spec(PromptLength::Chars(9), template);
        let pieces = Pieces::given(vec!["one".into(), "{text}{num_completion}".into()]).unwrap();
        let prompts = Continued::new(&spec, pieces, None).unwrap();
        assert_eq!(text(&prompts.prompt(0, 0)), "300 more: one (300) {other}");
        assert_eq!(
            text(&prompts.prompt(3, 0)),
            "300 more: {text}{num_completion} (300) {other}"
        );
        assert_eq!(prompts.template_chars(), 24);
        assert_eq!(prompts.distinct(), Some(2));
    }

    #[test]
    fn a_template_that_lacks_a_place_is_refused_by_its_name() {
        for (content, missing) in [
            (&b"continue {text}"[..], "{num_completion}"),
            (b"{num_completion}", "{text}"),
            (b"", "{text}"),
        ] {
            let file = file(content);
            let spec = spec(PromptLength::Chars(9), Template::File(file.path().into()));
            let pieces = Pieces::given(vec!["one".into()]).unwrap();
            let message = Continued::new(&spec, pieces, None)
                .err()
                .unwrap()
                .to_string();
            assert!(message.contains(missing), "{message}");
            assert!(message.contains(file.path().to_str().unwrap()), "{message}");
        }
        assert!(Pieces::given(Vec::new()).is_err());
    }
}
