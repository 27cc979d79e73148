//! Prompts as tokens: words stand for them, and each word has an id that never changes.
//!
//! Ids matter where prompts share a beginning (the prefix cache) and to `/tokenize`. An id is
//! a hash of its word, so no vocabulary is kept, except for what `/detokenize` needs.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::reply::Refusal;

/// Most words that a [`Vocabulary`] learns.
const MOST_WORDS: usize = 1 << 17;

/// Opens a message, closes it, and ends the line with its role.
const MESSAGE_START: u32 = 1;
const MESSAGE_END: u32 = 2;
const LINE_END: u32 = 3;
/// Below this are tokens that are no words.
const FIRST_WORD: u32 = 16;

/// The tokens of a prompt: counted always, kept where somebody needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    count: u32,
    ids: Option<Vec<u32>>,
}

impl Prompt {
    pub(crate) fn counted() -> Prompt {
        Prompt::default()
    }

    pub(crate) fn kept() -> Prompt {
        Prompt {
            count: 0,
            ids: Some(Vec::new()),
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The tokens; none where they are only counted.
    pub(crate) fn into_ids(self) -> Vec<u32> {
        self.ids.unwrap_or_default()
    }

    fn push(&mut self, id: u32) {
        self.count = self.count.saturating_add(1);
        if let Some(ids) = &mut self.ids {
            ids.push(id);
        }
    }

    fn text(&mut self, text: &str) {
        for word in text.split_whitespace() {
            let id = if self.ids.is_some() { word_id(word) } else { 0 };
            self.push(id);
        }
    }

    /// A chat by its template: 4 tokens a message beside its words, 3 to open the answer.
    pub(crate) fn messages(&mut self, body: &Map<String, Value>) -> Result<(), Refusal> {
        let Some(messages) = body.get("messages") else {
            return Err(Refusal::bad_request("messages: field required"));
        };
        let messages = messages
            .as_array()
            .ok_or_else(|| wrong_type("messages", "an array"))?;
        if messages.is_empty() {
            return Err(Refusal::bad_request("messages: at least one is required"));
        }
        for message in messages {
            let role = message.get("role").and_then(Value::as_str);
            self.open_message(role.unwrap_or("user"));
            match message.get("content") {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => self.text(text),
                Some(Value::Array(parts)) => {
                    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                    texts.for_each(|text| self.text(text));
                }
                Some(_) => return Err(wrong_type("content", "a string or an array of parts")),
            }
            self.push(MESSAGE_END);
        }
        Ok(())
    }

    /// What invites the model to answer.
    pub(crate) fn open_answer(&mut self) {
        self.open_message("assistant");
    }

    fn open_message(&mut self, role: &str) {
        self.push(MESSAGE_START);
        self.push(word_id(role));
        self.push(LINE_END);
    }

    /// The one prompt of a completion.
    pub(crate) fn completion(&mut self, body: &Map<String, Value>) -> Result<(), Refusal> {
        let Some(prompt) = body.get("prompt") else {
            return Err(Refusal::bad_request("prompt: field required"));
        };
        self.one_prompt(prompt).ok_or_else(|| {
            Refusal::bad_request(
                "prompt must be one string or one array of token ids; batches are not supported",
            )
        })
    }

    fn one_prompt(&mut self, prompt: &Value) -> Option<()> {
        match prompt {
            Value::String(text) => self.text(text),
            Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_u64) => {
                u32::try_from(items.len()).ok()?;
                let ids = items.iter().filter_map(Value::as_u64);
                ids.for_each(|id| self.push(id as u32));
            }
            Value::Array(items) if items.len() == 1 => self.one_prompt(&items[0])?,
            _ => return None,
        }
        Some(())
    }
}

fn wrong_type(field: &str, expected: &str) -> Refusal {
    Refusal::bad_request(format!("{field}: should be {expected}"))
}

/// The token of a word; `<|5|>` is the token 5.
pub(crate) fn word_id(word: &str) -> u32 {
    let number = word
        .strip_prefix("<|")
        .and_then(|rest| rest.strip_suffix("|>"));
    if let Some(id) = number.and_then(|number| number.parse().ok()) {
        return id;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in word.as_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let folded = (hash ^ (hash >> 32)) as u32 & 0x7fff_ffff;
    folded.max(FIRST_WORD)
}

/// The words of tokens that were seen.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary(HashMap<u32, Box<str>>);

impl Vocabulary {
    /// Remembers the words of a text, as long as there is room.
    pub(crate) fn learn(&mut self, text: &str) {
        for word in text.split_whitespace() {
            if self.0.len() >= MOST_WORDS {
                return;
            }
            // A long word is worth less than the room that it takes.
            if word.len() <= 256 {
                self.0.entry(word_id(word)).or_insert_with(|| word.into());
            }
        }
    }

    /// The word of a token, or how to write the token.
    pub(crate) fn word(&self, id: u32) -> String {
        let known = self.0.get(&id);
        known.map_or_else(|| format!("<|{id}|>"), |word| word.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chat(messages: Value) -> Vec<u32> {
        let body = json!({"messages": messages});
        let mut prompt = Prompt::kept();
        prompt.messages(body.as_object().unwrap()).unwrap();
        prompt.open_answer();
        assert_eq!(prompt.count() as usize, prompt.ids.as_ref().unwrap().len());
        prompt.into_ids()
    }

    #[test]
    fn a_longer_chat_begins_with_the_shorter_one_and_its_answer() {
        let system = json!({"role": "system", "content": "be brief"});
        let user = json!({"role": "user", "content": "what is it"});
        let first = chat(json!([system, user]));
        let answer = json!({"role": "assistant", "content": "a stone"});
        let second = chat(json!([system, user, answer, {"role": "user", "content": "and now"}]));
        let answered = [first, vec![word_id("a"), word_id("stone"), MESSAGE_END]].concat();
        assert_eq!(second[..answered.len()], answered);
    }

    #[test]
    fn roles_and_words_tell_prompts_apart() {
        let of = |role: &str, text: &str| chat(json!([{"role": role, "content": text}]));
        assert_ne!(of("user", "a"), of("system", "a"));
        assert_ne!(of("user", "a"), of("user", "b"));
    }

    #[test]
    fn tokens_come_back_as_their_words_or_as_themselves() {
        let mut vocabulary = Vocabulary::default();
        vocabulary.learn("green house");
        assert_eq!(vocabulary.word(word_id("house")), "house");
        for id in [0, 2, 12_345, u32::MAX] {
            assert_eq!(word_id(&vocabulary.word(id)), id);
        }
    }
}
