//! The same text each time (`--prompt TEXT`).

use crate::{Prompt, Prompts};

/// One prompt for all requests.
#[derive(Clone, Debug)]
pub struct Fixed(Prompt);

impl Fixed {
    pub fn new(text: &str) -> Self {
        Fixed(Prompt::of_text(text.into()))
    }
}

impl Prompts for Fixed {
    fn prompt(&self, _session: u64, _turn: u32) -> Prompt {
        self.0.clone()
    }

    fn distinct(&self) -> Option<u64> {
        Some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_not_bytes_and_tokens_are_not_guessed() {
        let prompt = Fixed::new("你好, world").prompt(9, 0);
        assert_eq!(prompt.chars, 9);
        assert_eq!(prompt.input_tokens, None);
    }
}
