//! `/v1/chat/completions`.

use super::wire::{Choice, Found, read};
use super::{Ask, BadMessage, Dialect, Message};
use serde_json::json;

pub(super) struct Chat;

impl Dialect for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn body(&self, ask: &Ask, prompt: &str, limit: Option<u32>) -> Vec<u8> {
        let mut body = ask.fields(limit);
        body.insert(
            "messages".into(),
            json!([{"role": "user", "content": prompt}]),
        );
        ask.render(body)
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        read(json, |choice: &Choice<'_>, found: &mut Found| {
            // A stream has `delta`, a whole answer `message`.
            let Some(said) = choice.delta.as_ref().or(choice.message.as_ref()) else {
                return Ok(());
            };
            found.answer(said.content)?;
            found.answer(said.refusal)?;
            found.reasoning(said.reasoning_content)?;
            if said.reasoning_content.is_none() {
                found.reasoning(said.reasoning)?;
            }
            found.tool_calls(said.tool_calls)?;
            found.tool_call(said.function_call)
        })
    }
}
