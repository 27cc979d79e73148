//! Signs between the parts of a sentence.

use super::Lang;
use crate::texts;

texts! {
    /// Signs between the parts of a sentence.
    pub enum PunctuationText {
        Comma => ", ", "，";
        Semicolon => "; ", "；";
        InBrackets => "{text} ({more})", "{text}（{more}）";
    }
}

impl PunctuationText {
    /// The parts with this sign between them.
    pub fn join<S: AsRef<str>>(self, lang: Lang, parts: &[S]) -> String {
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        parts.join(self.text(lang))
    }
}
