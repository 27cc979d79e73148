//! `/v1/chat/completions`.

use super::dialect::{
    AnswerText, BadMessage, Dialect, Message, Prompt, RequestOptions, ToolCall, array_of, object_of,
};
use super::prompt_text::push_text;
use super::wire::{read, text};
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

pub(super) struct Chat;

impl Dialect for Chat {
    fn api(&self) -> Api {
        Api::Chat
    }

    fn path(&self, _options: &RequestOptions) -> Cow<'static, str> {
        "/chat/completions".into()
    }

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8> {
        let mut body = options.fields(limit);
        let mut messages = prompt.history_messages();
        let mut own = Map::new();
        match prompt.content {
            Content::Text(text) => messages.push(prompt.said(text)),
            Content::Messages(array) => {
                let mut own = array_of(array);
                prompt.add_media(&mut own);
                messages.extend(own);
            }
            // Chat takes neither; they are refused before they come here.
            Content::TokenIds(_) | Content::Batch(_) => {}
            Content::Body(object) => {
                own = object_of(object);
                if let Some(Value::Array(said)) = own.get_mut("messages") {
                    prompt.add_media(said);
                }
            }
        }
        if !own.contains_key("messages") {
            // A body for the other API: its prompt is what the user says.
            if let Some(Value::String(prompt)) = own.remove("prompt") {
                messages.push(json!({"role": "user", "content": prompt}));
            }
            body.insert("messages".into(), messages.into());
        }
        options.render(body, own)
    }

    fn text(&self, json: &[u8]) -> AnswerText {
        text(json, |choice, text| {
            let said = match &choice["delta"] {
                Value::Null => &choice["message"],
                delta => delta,
            };
            push_text(&mut text.answer, &said["content"]);
            push_text(&mut text.answer, &said["refusal"]);
            match &said["reasoning_content"] {
                Value::Null => push_text(&mut text.aside, &said["reasoning"]),
                reasoning => push_text(&mut text.aside, reasoning),
            }
            let calls = said["tool_calls"].as_array().into_iter().flatten();
            let calls = calls.map(|call| (call["index"].as_u64(), &call["function"]));
            for (index, function) in calls.chain([(None, &said["function_call"])]) {
                push_text(&mut text.aside, &function["name"]);
                push_text(&mut text.aside, &function["arguments"]);
                let [name, arguments] = ["name", "arguments"]
                    .map(|part| function[part].as_str().unwrap_or_default().to_owned());
                if !(name.is_empty() && arguments.is_empty()) {
                    text.calls.push(ToolCall {
                        index,
                        name,
                        arguments,
                    });
                }
            }
        })
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        read(json, |choice, found| {
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
