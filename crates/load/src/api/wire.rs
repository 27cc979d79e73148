//! The JSON that servers send, read leniently and without a copy: what engines leave out, set to
//! null or spell in their own way is not an error; what is not JSON is.

use super::dialect::{AnswerText, BadMessage, Message};
use inferometer_core::record::{PerToken, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Fields are read as they stand, borrowed as `&RawValue`.
#[derive(Deserialize)]
struct RawMessage<T> {
    choices: Option<Vec<Choice<T>>>,
    model: Option<T>,
    usage: Option<T>,
    error: Option<T>,
    object: Option<T>,
    message: Option<T>,
    detail: Option<T>,
}

/// An answer that consists of items; servers have them under several names.
#[derive(Deserialize)]
struct RawItems<T> {
    data: Option<Vec<IgnoredAny>>,
    results: Option<Vec<IgnoredAny>>,
    scores: Option<Vec<IgnoredAny>>,
    model: Option<T>,
    usage: Option<T>,
    error: Option<T>,
    object: Option<T>,
    message: Option<T>,
    detail: Option<T>,
}

#[derive(Deserialize)]
pub(super) struct Choice<T> {
    pub delta: Option<Delta<T>>,
    pub message: Option<Delta<T>>,
    pub text: Option<T>,
    finish_reason: Option<T>,
}

#[derive(Deserialize)]
pub(super) struct Delta<T> {
    pub content: Option<T>,
    pub reasoning_content: Option<T>,
    pub reasoning: Option<T>,
    pub refusal: Option<T>,
    pub tool_calls: Option<T>,
    pub function_call: Option<T>,
}

pub(super) struct MessageBuilder {
    message: Message,
    /// Start of the JSON, to tell where in it a text lies.
    base: usize,
    texts: u32,
}

impl MessageBuilder {
    pub fn new(json: &[u8]) -> Self {
        MessageBuilder {
            message: Message::default(),
            base: json.as_ptr() as usize,
            texts: 0,
        }
    }

    /// The message, where the only thing that it can be is an answer's part.
    pub fn built(mut self) -> Message {
        if self.texts != 1 {
            self.message.only_text = None;
        }
        self.message.has_choice = true;
        self.message
    }

    /// AnswerText of the answer: a string, or a list of parts.
    pub fn answer(&mut self, text: Option<&RawValue>) -> Result<(), BadMessage> {
        let chars = self.text(text)?;
        self.message.has_answer |= chars > 0;
        Ok(())
    }

    pub fn reasoning(&mut self, text: Option<&RawValue>) -> Result<(), BadMessage> {
        self.text(text).map(|_| ())
    }

    /// Calls of tools: names and arguments are tokens too.
    pub fn tool_calls(&mut self, calls: Option<&RawValue>) -> Result<(), BadMessage> {
        let Some(calls) = present(calls) else {
            return Ok(());
        };
        let calls: Vec<Value> = serde_json::from_str(calls).unwrap_or_default();
        for call in &calls {
            self.call(&call["function"]);
        }
        Ok(())
    }

    /// The older form of a single call.
    pub fn tool_call(&mut self, call: Option<&RawValue>) -> Result<(), BadMessage> {
        if let Some(call) = call.and_then(|call| serde_json::from_str::<Value>(call.get()).ok()) {
            self.call(&call);
        }
        Ok(())
    }

    /// A tool's name and its arguments.
    pub fn call(&mut self, function: &Value) {
        for part in [&function["name"], &function["arguments"]] {
            let chars = part.as_str().map_or(0, |text| text.chars().count() as u64);
            if chars > 0 {
                self.message.chars += chars;
                self.message.has_answer = true;
                self.texts += 2; // Never "only text": a call differs in more than one place.
            }
        }
    }

    fn text(&mut self, text: Option<&RawValue>) -> Result<u64, BadMessage> {
        let Some(text) = present(text) else {
            return Ok(0);
        };
        let chars = match text.as_bytes()[0] {
            b'"' => {
                let inside = &text[1..text.len() - 1];
                let chars = string_chars(inside.as_bytes())
                    .ok_or_else(|| BadMessage(format!("a text with a bad escape: {inside}")))?;
                if chars > 0 {
                    let begin = inside.as_ptr() as usize - self.base;
                    self.message.only_text = Some(begin..begin + inside.len());
                    self.texts += 1;
                }
                chars
            }
            b'[' => {
                let parts: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
                self.texts += 2;
                parts
                    .iter()
                    .filter_map(|part| part["text"].as_str().or(part.as_str()))
                    .map(|text| text.chars().count() as u64)
                    .sum()
            }
            _ => 0,
        };
        self.message.chars += chars;
        Ok(chars)
    }
}

/// `null` counts as absent.
pub(super) fn present(raw: Option<&RawValue>) -> Option<&str> {
    raw.map(RawValue::get).filter(|&raw| raw != "null")
}

/// Reads an answer that consists of items: an object that lists them, or the bare list.
pub(super) fn read_items(json: &[u8]) -> Result<Message, BadMessage> {
    let text = utf8(json)?;
    let bad = |error: serde_json::Error| not_known(&error, text);
    if text.trim_start().starts_with('[') {
        let items: Vec<IgnoredAny> = serde_json::from_str(text).map_err(bad)?;
        return Ok(with_items(items.len()));
    }
    let raw: RawItems<&RawValue> = serde_json::from_str(text).map_err(bad)?;
    let items = raw.data.or(raw.results).or(raw.scores);
    let said = [raw.error, raw.object, raw.message, raw.detail];
    if let Some(error) = error_of(said, items.is_some(), text) {
        return Ok(Message::failed(error));
    }
    Ok(Message {
        model: present(raw.model).and_then(|name| serde_json::from_str(name).ok()),
        // Some servers count the output tokens of what has none.
        usage: present(raw.usage).and_then(usage_of).map(|usage| Usage {
            output: None,
            ..usage
        }),
        ..with_items(items.map_or(0, |items| items.len()))
    })
}

/// JSON of a known form.
pub(super) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, BadMessage> {
    let text = utf8(json)?;
    serde_json::from_str(text).map_err(|error| not_known(&error, text))
}

/// A string that is there.
pub(super) fn string(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let inside = present(raw)?.strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        return serde_json::from_str(raw?.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inside))
}

/// What an error says: a text, or the message of an object.
pub(super) fn error_message(raw: Option<&RawValue>) -> Option<String> {
    let raw = present(raw).filter(|&raw| raw != "false")?;
    match serde_json::from_str(raw).ok()? {
        Value::String(text) => Some(text),
        value => Some(match value["message"].as_str() {
            Some(message) => message.to_owned(),
            None => raw.to_owned(),
        }),
    }
}

/// What a message says of an error in the places where nearly all services have it.
pub(super) fn error_in(message: &Value) -> Option<String> {
    let places = ["error", "detail", "message"];
    let said = places.iter().map(|place| &message[*place]);
    said.filter(|said| !said.is_null() && **said != false)
        .map(|said| match said["message"].as_str().or(said.as_str()) {
            Some(text) => text.to_owned(),
            None => said.to_string(),
        })
        .next()
}

fn with_items(items: usize) -> Message {
    Message {
        has_choice: items > 0,
        items: u32::try_from(items).ok(),
        ..Message::default()
    }
}

fn utf8(json: &[u8]) -> Result<&str, BadMessage> {
    std::str::from_utf8(json).map_err(|_| BadMessage("text that is not UTF-8".into()))
}

fn not_known(error: &serde_json::Error, text: &str) -> BadMessage {
    BadMessage(format!(
        "not a JSON object of a known form ({error}): {text}"
    ))
}

/// Reads a message; `visit` knows where a choice has its text.
pub(super) fn read(
    json: &[u8],
    visit: impl Fn(&Choice<&RawValue>, &mut MessageBuilder) -> Result<(), BadMessage>,
) -> Result<Message, BadMessage> {
    let text = utf8(json)?;
    if text.trim() == "null" {
        return Ok(Message::default());
    }
    let raw: RawMessage<&RawValue> =
        serde_json::from_str(text).map_err(|error| not_known(&error, text))?;
    let said = [raw.error, raw.object, raw.message, raw.detail];
    let answers = raw.choices.is_some() || raw.usage.is_some();
    if let Some(error) = error_of(said, answers, text) {
        return Ok(Message::failed(error));
    }
    let mut found = MessageBuilder::new(json);
    for choice in raw.choices.iter().flatten() {
        found.message.has_choice = true;
        visit(choice, &mut found)?;
        if let Some(reason) = present(choice.finish_reason) {
            found.message.finish = Some(reason.trim_matches('"').to_owned());
        }
    }
    found.message.model = present(raw.model).and_then(|name| serde_json::from_str(name).ok());
    let usage = present(raw.usage);
    found.message.usage = usage.and_then(usage_of);
    found.message.media_tokens = usage.and_then(media_tokens_of);
    found.message.per_token = usage.and_then(per_token_of);
    if found.texts != 1 || found.message.finish.is_some() || usage.is_some() {
        found.message.only_text = None;
    }
    Ok(found.message)
}

/// The text of a message that was found to have one; `visit` knows where a choice has it.
pub(super) fn text(json: &[u8], visit: impl Fn(&Value, &mut AnswerText)) -> AnswerText {
    let mut text = AnswerText::default();
    let message: Value = serde_json::from_slice(json).unwrap_or_default();
    for choice in message["choices"].as_array().into_iter().flatten() {
        visit(choice, &mut text);
    }
    text
}

/// The message of an error, in any of the forms that engines use.
fn error_of(said: [Option<&RawValue>; 4], answers: bool, whole: &str) -> Option<String> {
    let [error, object, message, detail] = said;
    if let Some(error) = error_message(error) {
        return Some(error);
    }
    if answers {
        return None;
    }
    if object.is_some_and(|object| object.get() == "\"error\"") {
        return error_message(message).or_else(|| Some(whole.to_owned()));
    }
    error_message(detail).or_else(|| error_message(message))
}

#[derive(Deserialize)]
struct RawUsage<T> {
    prompt_tokens: Option<T>,
    completion_tokens: Option<T>,
    prompt_tokens_details: Option<T>,
    cached_tokens: Option<T>,
}

/// Token counts: absent, null and fractional numbers are all met in the wild. An impossible one is
/// kept as the nearest that can be kept, so that it is doubted.
pub(super) fn usage_of(raw: &str) -> Option<Usage> {
    let usage: RawUsage<&RawValue> = serde_json::from_str(raw).ok()?;
    let count = |count: Option<&RawValue>| {
        let number: f64 = count?.get().parse().ok()?;
        Some(number as u32)
    };
    let details: Option<RawUsage<&RawValue>> =
        present(usage.prompt_tokens_details).and_then(|it| serde_json::from_str(it).ok());
    Some(Usage {
        input: count(usage.prompt_tokens),
        output: count(usage.completion_tokens),
        cached: details.and_then(|details| count(details.cached_tokens)),
    })
}

/// Prompt tokens of media, which servers count under several names.
fn media_tokens_of(usage: &str) -> Option<u32> {
    if !usage.contains("_tokens_details") {
        return None;
    }
    let usage: Value = serde_json::from_str(usage).ok()?;
    let details = &usage["prompt_tokens_details"];
    let names = [
        "image_tokens",
        "audio_tokens",
        "video_tokens",
        "multimodal_tokens",
    ];
    let counts = names.iter().filter_map(|name| details[*name].as_u64());
    let all: Option<u64> = counts.fold(None, |sum, count| Some(sum.unwrap_or(0) + count));
    u32::try_from(all?).ok()
}

/// What MindIE says of each token. Its numbers are small; a larger one is kept as the largest.
fn per_token_of(usage: &str) -> Option<Box<PerToken>> {
    #[derive(Deserialize)]
    struct RawPerToken {
        batch_size: Vec<u64>,
        #[serde(default)]
        queue_wait_time: Vec<u64>,
    }
    if !usage.contains("\"batch_size\"") {
        return None;
    }
    let raw: RawPerToken = serde_json::from_str(usage).ok()?;
    let small = |numbers: Vec<u64>| {
        let numbers = numbers.into_iter();
        numbers.map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    Some(Box::new(PerToken {
        batch_size: small(raw.batch_size).collect(),
        queue_wait_us: small(raw.queue_wait_time).collect(),
    }))
}

/// Characters of the inside of a JSON string, or `None` if it is not one.
pub(super) fn string_chars(inside: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(inside).ok()?;
    if memchr::memchr2(b'\\', b'"', inside).is_none() {
        return Some(text.chars().count() as u64);
    }
    let mut chars = 0;
    let mut bytes = text.chars();
    while let Some(c) = bytes.next() {
        chars += 1;
        match c {
            '"' => return None,
            '\\' => match bytes.next()? {
                '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {}
                'u' => {
                    let mut unit = 0;
                    for _ in 0..4 {
                        unit = unit << 4 | bytes.next()?.to_digit(16)?;
                    }
                    // The second half of a surrogate pair is not a character of its own.
                    if (0xDC00..0xE000).contains(&unit) {
                        chars -= 1;
                    }
                }
                _ => return None,
            },
            _ => {}
        }
    }
    Some(chars)
}

#[cfg(test)]
mod tests {
    use super::super::{CHAT, COMPLETIONS};
    use super::*;

    fn chat(json: &str) -> Message {
        CHAT.message(json.as_bytes()).unwrap()
    }

    #[test]
    fn role_only_empty_and_usage_only_messages_carry_no_token() {
        for json in [
            r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#,
            r#"{"choices":[{"delta":{"role":"assistant"}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
            "null",
        ] {
            assert!(!chat(json).has_text(), "{json}");
        }
    }

    #[test]
    fn content_reasoning_and_tool_calls_carry_tokens() {
        let content = chat(r#"{"choices":[{"delta":{"content":" the"}}]}"#);
        assert!(content.has_text() && content.has_answer);
        for field in ["reasoning", "reasoning_content"] {
            let json = format!(r#"{{"choices":[{{"delta":{{"{field}":"hm"}}}}]}}"#);
            let message = chat(&json);
            assert!(message.has_text() && !message.has_answer, "{field}");
        }
        let call = chat(
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a"}}]}}]}"#,
        );
        assert_eq!(
            (call.chars, call.has_answer, call.only_text),
            (4, true, None)
        );
    }

    #[test]
    fn usage_is_taken_from_any_message_and_may_be_null_or_partial() {
        let message = chat(
            r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":7,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":3}}}"#,
        );
        let usage = message.usage.unwrap();
        assert_eq!(
            (usage.input, usage.output, usage.cached),
            (Some(7), Some(1), Some(3))
        );
        assert_eq!(chat(r#"{"choices":[],"usage":null}"#).usage, None);
        let partial =
            chat(r#"{"choices":[],"usage":{"prompt_tokens":7,"prompt_tokens_details":null}}"#);
        assert_eq!(partial.usage.unwrap().output, None);
    }

    #[test]
    fn what_mindie_says_of_each_token_is_taken_and_nonsense_is_not() {
        let chat = |told: &str| {
            let usage = format!(r#"{{"completion_tokens":3{told}}}"#);
            let message = chat(&format!(r#"{{"choices":[],"usage":{usage}}}"#));
            assert_eq!(message.usage.unwrap().output, Some(3), "{told}");
            message.per_token.map(|told| *told)
        };
        let both = r#","batch_size":[1,8,99999999999],"queue_wait_time":[5318,0,0]"#;
        let told = PerToken {
            batch_size: vec![1, 8, u32::MAX],
            queue_wait_us: vec![5318, 0, 0],
        };
        assert_eq!(chat(both), Some(told));
        for nonsense in ["", r#","batch_size":7"#, r#","batch_size":[-1,"x"]"#] {
            assert_eq!(chat(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn errors_are_found_in_every_form_that_engines_use() {
        for (json, said) in [
            (r#"{"error":{"message":"bad","code":400}}"#, "bad"),
            (r#"{"error":"bad","error_type":"x"}"#, "bad"),
            (r#"{"object":"error","message":"bad","code":400}"#, "bad"),
            (r#"{"message":"bad","type":"x","code":400}"#, "bad"),
            (r#"{"detail":"bad"}"#, "bad"),
            (r#"{"error":{"code":7}}"#, r#"{"code":7}"#),
        ] {
            assert_eq!(chat(json).error.as_deref(), Some(said), "{json}");
        }
        assert_eq!(
            chat(r#"{"error":null,"choices":[{"delta":{"content":"a"}}]}"#).error,
            None
        );
    }

    #[test]
    fn whole_answers_are_read_by_the_same_rules() {
        let answer = chat(
            r#"{"choices":[{"message":{"role":"assistant","content":"héllo"},"finish_reason":"length"}],"usage":{"completion_tokens":2}}"#,
        );
        assert_eq!(
            (answer.chars, answer.finish.as_deref()),
            (5, Some("length"))
        );
        let text = COMPLETIONS
            .message(br#"{"choices":[{"text":"a\n\ud83e\udd80"}]}"#)
            .unwrap();
        assert_eq!(text.chars, 3);
    }

    #[test]
    fn what_is_no_json_is_an_error_and_never_a_panic() {
        for json in [
            &b"{"[..],
            b"[1,2]",
            b"\"x\"",
            b"\xff\xfe",
            b"{\"choices\":5}",
            b"",
        ] {
            assert!(CHAT.message(json).is_err(), "{json:?}");
        }
    }
}
