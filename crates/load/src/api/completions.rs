//! `/v1/completions`.

use super::wire::{Choice, Found, read};
use super::{Ask, BadMessage, Dialect, Message};

pub(super) struct Completions;

impl Dialect for Completions {
    fn name(&self) -> &'static str {
        "completions"
    }

    fn path(&self) -> &'static str {
        "/completions"
    }

    fn body(&self, ask: &Ask, prompt: &str, limit: Option<u32>) -> Vec<u8> {
        let mut body = ask.fields(limit);
        body.insert("prompt".into(), prompt.into());
        ask.render(body)
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        read(json, |choice: &Choice<'_>, found: &mut Found| {
            found.answer(choice.text)
        })
    }
}
