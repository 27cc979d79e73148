//! The prompt of a request as tokens.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::{
    fields::wrong_type,
    media::MediaTokens,
    reply::ErrorReply,
    tokenizer::{OpensAnswer, Tokenizer, word_id},
};

/// Where words are tokens: opens a message, closes it, and ends the line with its role.
const MESSAGE_START: u32 = 1;
const MESSAGE_END: u32 = 2;
const LINE_END: u32 = 3;

/// The tokens of a chat or of a completion where words are tokens, those of its media at the end,
/// and how many these are; absent where a server would refuse it.
pub fn of_body(body: &Map<String, Value>) -> Option<(Vec<u32>, u32)> {
    static WORDS: LazyLock<Tokenizer> = LazyLock::new(Tokenizer::default);
    let ids = if body.contains_key("messages") {
        chat(&WORDS, body, OpensAnswer::Yes)
    } else {
        completion(&WORDS, body)
    };
    let (media, stand_ins) = MediaTokens::of_chat(body).ok()?;
    let mut ids = ids.ok()?;
    ids.extend(stand_ins);
    Some((ids, media.all()))
}

/// The tokens of a chat: by the model's template where there is one, the contents in a row where
/// there is none, and where words are tokens 4 per message beside its words and 3 for the answer.
pub(crate) fn chat(
    tokenizer: &Tokenizer,
    body: &Map<String, Value>,
    opens_answer: OpensAnswer,
) -> Result<Vec<u32>, ErrorReply> {
    let Some(messages) = body.get("messages") else {
        return Err(ErrorReply::bad_request("messages: field required"));
    };
    let messages = messages
        .as_array()
        .ok_or_else(|| wrong_type("messages", "an array"))?;
    if messages.is_empty() {
        return Err(ErrorReply::bad_request(
            "messages: at least one is required",
        ));
    }
    let contents: Vec<Vec<&str>> = messages.iter().map(texts).collect::<Result<_, _>>()?;
    if let Some(template) = tokenizer.template() {
        let text = template.render(messages, opens_answer);
        return Ok(tokenizer.encode(&text.map_err(ErrorReply::bad_request)?));
    }
    let mut ids = Vec::new();
    for (message, texts) in messages.iter().zip(contents) {
        let role = message.get("role").and_then(Value::as_str);
        if tokenizer.is_words() {
            open_message(&mut ids, role.unwrap_or("user"));
        }
        for text in texts {
            ids.extend(tokenizer.encode(text));
        }
        if tokenizer.is_words() {
            ids.push(MESSAGE_END);
        }
    }
    if tokenizer.is_words() && opens_answer == OpensAnswer::Yes {
        open_message(&mut ids, "assistant");
    }
    Ok(ids)
}

fn open_message(ids: &mut Vec<u32>, role: &str) {
    ids.extend([MESSAGE_START, word_id(role), LINE_END]);
}

fn texts(message: &Value) -> Result<Vec<&str>, ErrorReply> {
    match message.get("content") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            Ok(texts.collect())
        }
        Some(_) => Err(wrong_type("content", "a string or an array of parts")),
    }
}

pub(crate) fn completion(
    tokenizer: &Tokenizer,
    body: &Map<String, Value>,
) -> Result<Vec<u32>, ErrorReply> {
    let Some(prompt) = body.get("prompt") else {
        return Err(ErrorReply::bad_request("prompt: field required"));
    };
    one(tokenizer, prompt).ok_or_else(|| {
        ErrorReply::bad_request(
            "prompt must be one string or one array of token ids; batches are not supported",
        )
    })
}

fn one(tokenizer: &Tokenizer, prompt: &Value) -> Option<Vec<u32>> {
    match prompt {
        Value::String(text) => Some(tokenizer.encode(text)),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_u64) => {
            let ids = items.iter().filter_map(Value::as_u64);
            Some(ids.map(|id| id as u32).collect())
        }
        Value::Array(items) if items.len() == 1 => one(tokenizer, &items[0]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(messages: Value) -> Vec<u32> {
        let body = json!({"messages": messages});
        let body = body.as_object().unwrap();
        chat(&Tokenizer::default(), body, OpensAnswer::Yes).unwrap()
    }

    #[test]
    fn a_longer_chat_begins_with_the_shorter_one_and_its_answer() {
        let system = json!({"role": "system", "content": "be brief"});
        let user = json!({"role": "user", "content": "what is it"});
        let first = of(json!([system, user]));
        let answer = json!({"role": "assistant", "content": "a stone"});
        let second = of(json!([system, user, answer, {"role": "user", "content": "and now"}]));
        let answered = [first, vec![word_id("a"), word_id("stone"), MESSAGE_END]].concat();
        assert_eq!(second[..answered.len()], answered);
    }

    #[test]
    fn roles_and_words_tell_prompts_apart() {
        let said = |role: &str, text: &str| of(json!([{"role": role, "content": text}]));
        assert_ne!(said("user", "a"), said("system", "a"));
        assert_ne!(said("user", "a"), said("user", "b"));
    }
}
