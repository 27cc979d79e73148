//! What a dialect is asked for and what it answers.

use super::prompt_text::flattened;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inferometer_core::api::{Answers, Api};
use inferometer_core::content::{Content, Exchange};
use inferometer_core::environment::LimitField;
use inferometer_core::medium::Medium;
use inferometer_core::record::{PerToken, Usage};
use inferometer_core::sound::Sound;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::ops::Range;

/// What to ask for, apart from the prompt and the limit: the same for every request of a run.
#[derive(Clone, Debug, Default)]
pub struct RequestOptions {
    pub model: String,
    pub stream: bool,
    pub stream_usage: bool,
    pub chunk_usage: bool,
    pub ignore_eos: bool,
    pub min_tokens: Option<u32>,
    pub limit_field: LimitField,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub stop: Vec<String>,
    /// Further fields, which win over all others.
    pub extra: Map<String, Value>,
}

impl RequestOptions {
    /// Names the model, where the server has told of one.
    pub(super) fn model_field(&self) -> Map<String, Value> {
        let mut body = Map::new();
        if !self.model.is_empty() {
            body.insert("model".into(), self.model.as_str().into());
        }
        body
    }

    pub(super) fn fields(&self, limit: Option<u32>) -> Map<String, Value> {
        let mut body = self.model_field();
        body.insert("stream".into(), self.stream.into());
        if self.stream && self.stream_usage {
            let mut options = Map::new();
            options.insert("include_usage".into(), true.into());
            if self.chunk_usage {
                options.insert("continuous_usage_stats".into(), true.into());
            }
            body.insert("stream_options".into(), options.into());
        }
        let limit = limit.map(Value::from);
        body.extend(self.sampling(&[(self.limit_field.into_str(), limit)]));
        body
    }

    /// Whether an answer may not be as long as answers must be at least: the first ones of a
    /// warm-up are not.
    pub(super) fn is_shortened(&self, limit: Option<u32>) -> bool {
        let both = limit.zip(self.min_tokens);
        both.is_some_and(|(limit, least)| limit < least)
    }

    /// How the answer is drawn, with its limit under the name that the API has for it.
    pub(super) fn sampling(&self, limit: &[(&str, Option<Value>)]) -> Map<String, Value> {
        let stop = Some(&self.stop).filter(|stop| !stop.is_empty());
        let most = limit.iter().find_map(|(_, limit)| limit.as_ref()?.as_u64());
        let least = self.min_tokens.map(u64::from);
        let least = least.map(|least| most.map_or(least, |most| least.min(most)));
        let asked = [
            ("ignore_eos", self.ignore_eos.then_some(Value::Bool(true))),
            ("min_tokens", least.map(Value::from)),
            ("temperature", self.temperature.map(Value::from)),
            ("top_p", self.top_p.map(Value::from)),
            ("stop", stop.map(|stop| stop.clone().into())),
        ];
        let asked = asked.into_iter().chain(limit.iter().cloned());
        asked
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }

    /// The body: ours, then what the work says of its own, then what the user said.
    pub(super) fn merged(&self, mut body: Map<String, Value>, own: Map<String, Value>) -> Vec<u8> {
        body.extend(own);
        body.extend(self.extra.clone());
        serde_json::to_vec(&body).expect("a map of JSON values is always JSON")
    }

    /// The same for chat and completions, where rows have a limit and a wish of their own.
    pub(super) fn render(&self, mut body: Map<String, Value>, own: Map<String, Value>) -> Vec<u8> {
        // One limit, and options of a stream only where there is one.
        if own.contains_key("max_tokens") || own.contains_key("max_completion_tokens") {
            body.remove(self.limit_field.into_str());
        }
        if own.get("stream").is_some_and(|stream| stream != true) {
            body.remove("stream_options");
        }
        self.merged(body, own)
    }
}

/// What a request says: the turns before it, and its own content.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    pub history: &'a [Exchange],
    pub content: &'a Content,
    /// What goes with a text.
    pub media: &'a [Medium],
}

impl Prompt<'_> {
    /// History and content as messages, and what a body of the work holds beside them. Token ids
    /// and batches are refused before they come here.
    pub(super) fn as_messages(&self) -> (Vec<Value>, Map<String, Value>) {
        let mut messages = self.history_messages();
        let mut own = Map::new();
        match self.content {
            Content::Text(text) => messages.push(json!({"role": "user", "content": &**text})),
            Content::Messages(array) => messages.extend(array_of(array)),
            Content::Body(object) => {
                own = object_of(object);
                match (own.remove("messages"), own.remove("prompt")) {
                    (Some(Value::Array(more)), _) => messages.extend(more),
                    (_, Some(text)) => messages.push(json!({"role": "user", "content": text})),
                    _ => {}
                }
            }
            Content::TokenIds(_) | Content::Batch(_) => {}
        }
        (messages, own)
    }

    /// Images, sounds and videos; absent where it has none.
    pub fn media_count(&self) -> Option<u32> {
        const PARTS: [&str; 4] = [
            "\"image_url\"",
            "\"input_audio\"",
            "\"audio_url\"",
            "\"video_url\"",
        ];
        let in_rows = match self.content {
            // Each part has its kind as its type and as its field.
            Content::Messages(json) | Content::Body(json) => PARTS
                .iter()
                .map(|part| json.matches(part).count().div_ceil(2))
                .sum(),
            Content::Text(_) | Content::TokenIds(_) | Content::Batch(_) => 0,
        };
        let all = u32::try_from(self.media.len() + in_rows).unwrap_or(u32::MAX);
        (all > 0).then_some(all)
    }

    /// Milliseconds of its sounds; absent where it has none, and where the length of one is not
    /// known.
    pub fn audio_ms(&self) -> Option<u32> {
        let in_row = self.sounds_of_row();
        let made = self.media.iter().filter_map(Medium::as_sound);
        let all: Vec<&Sound> = made.chain(&in_row).collect();
        let elsewhere = match self.content {
            Content::Messages(json) | Content::Body(json) => json.contains("\"audio_url\""),
            Content::Text(_) | Content::TokenIds(_) | Content::Batch(_) => false,
        };
        if all.is_empty() || elsewhere {
            return None;
        }
        let lengths = all.iter().map(|sound| sound.millis);
        lengths.sum()
    }

    /// The sounds that a row holds as base64.
    pub(super) fn sounds_of_row(&self) -> Vec<Sound> {
        fn gather(value: &Value, into: &mut Vec<Sound>) {
            match value {
                Value::Array(all) => all.iter().for_each(|it| gather(it, into)),
                Value::Object(fields) => match fields.get("input_audio") {
                    Some(held) => {
                        let bytes = held["data"].as_str().map(|data| STANDARD.decode(data));
                        into.extend(bytes.and_then(Result::ok).and_then(Sound::new));
                    }
                    None => fields.values().for_each(|it| gather(it, into)),
                },
                _ => {}
            }
        }
        let mut found = Vec::new();
        match self.content {
            Content::Messages(json) | Content::Body(json) if json.contains("\"input_audio\"") => {
                gather(&serde_json::from_str(json).unwrap_or_default(), &mut found);
            }
            _ => {}
        }
        found
    }

    /// Its media as parts of a message.
    fn media_parts(&self) -> Vec<Value> {
        let part = |medium: &Medium| match medium {
            Medium::Image(url) => json!({"type": "image_url", "image_url": {"url": &**url}}),
            Medium::Video(url) => json!({"type": "video_url", "video_url": {"url": &**url}}),
            Medium::Sound(sound) => {
                let data = STANDARD.encode(&sound.bytes);
                let held = json!({"data": data, "format": sound.kind.into_str()});
                json!({"type": "input_audio", "input_audio": held})
            }
        };
        self.media.iter().map(part).collect()
    }

    /// A text and its media as one message.
    pub(super) fn said(&self, text: &str) -> Value {
        let mut parts = self.media_parts();
        if parts.is_empty() {
            return json!({"role": "user", "content": text});
        }
        parts.push(json!({"type": "text", "text": text}));
        json!({"role": "user", "content": parts})
    }

    /// Puts its media before what the user says last.
    pub(super) fn add_media(&self, messages: &mut [Value]) {
        let mut parts = self.media_parts();
        let by_user = |message: &&mut Value| message["role"] == "user";
        let Some(last) = messages.iter_mut().rev().find(by_user) else {
            return;
        };
        if parts.is_empty() {
            return;
        }
        match last["content"].take() {
            Value::Array(own) => parts.extend(own),
            own => parts.push(json!({"type": "text", "text": own})),
        }
        last["content"] = parts.into();
    }

    /// What was said before, as messages of a chat.
    pub(super) fn history_messages(&self) -> Vec<Value> {
        let said = |exchange: &Exchange| {
            [
                json!({"role": "user", "content": &*exchange.user}),
                json!({"role": "assistant", "content": &*exchange.assistant}),
            ]
        };
        self.history.iter().flat_map(said).collect()
    }

    /// A conversation without a template: what was said, one after the other.
    pub(super) fn as_text(&self) -> String {
        let mut prompt = String::new();
        for exchange in self.history {
            for said in [&exchange.user, &exchange.assistant] {
                prompt.push_str(said);
                prompt.push_str("\n\n");
            }
        }
        prompt + &self.own_text()
    }

    /// The text of its content alone.
    pub(super) fn own_text(&self) -> Cow<'_, str> {
        match self.content {
            Content::Text(text) => Cow::Borrowed(text),
            Content::Messages(array) => flattened(&array_of(array)).into(),
            Content::Body(object) => match object_of(object).get("messages") {
                Some(Value::Array(messages)) => flattened(messages).into(),
                _ => "".into(),
            },
            Content::TokenIds(_) | Content::Batch(_) => "".into(),
        }
    }

    /// Whether a stream is asked for: as the run does, unless the work has its own wish.
    pub fn streams(&self, options: &RequestOptions) -> bool {
        let own = match self.content {
            Content::Body(object) => object_of(object).get("stream").cloned(),
            _ => None,
        };
        let extra = options.extra.get("stream").cloned();
        let wish = extra.or(own).and_then(|stream| stream.as_bool());
        wish.unwrap_or(options.stream)
    }
}

impl<'a> From<&'a Content> for Prompt<'a> {
    fn from(content: &'a Content) -> Self {
        Prompt {
            history: &[],
            content,
            media: &[],
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerText {
    /// What the user is told.
    pub answer: String,
    /// What the model said besides: reasoning and calls of tools.
    pub aside: String,
    /// Calls of tools, which are also part of what was said besides.
    pub calls: Vec<ToolCall>,
}

/// A call of a tool, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// Its place among the calls of the answer, where the message says so.
    pub index: Option<u64>,
    pub name: String,
    pub arguments: String,
}

impl AnswerText {
    pub fn append(&mut self, more: &AnswerText) {
        self.answer.push_str(&more.answer);
        self.aside.push_str(&more.aside);
        for part in &more.calls {
            let begun = match part.index {
                Some(_) => self.calls.iter_mut().find(|call| call.index == part.index),
                None if part.name.is_empty() => self.calls.last_mut(),
                None => None,
            };
            match begun {
                Some(call) => {
                    call.name.push_str(&part.name);
                    call.arguments.push_str(&part.arguments);
                }
                None => self.calls.push(part.clone()),
            }
        }
    }
}

/// What the path of an API lies below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `/v1`, as a rule.
    Base,
    /// What comes before it.
    Root,
}

pub trait Dialect: Send + Sync {
    fn api(&self) -> Api;

    /// Its name: `chat`, `completions`, …
    fn name(&self) -> &'static str {
        self.api().into_str()
    }

    /// Its path below its place.
    fn path(&self, options: &RequestOptions) -> Cow<'static, str>;

    /// Headers that it wants beside those that are given.
    fn headers(&self, _given: &[(String, String)]) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Whether a complete stream says at its end that it is one.
    fn says_finish(&self) -> bool {
        true
    }

    fn place(&self) -> Place {
        Place::Base
    }

    /// Whether a request asks for a stream.
    fn streams(&self, options: &RequestOptions, prompt: &Prompt<'_>) -> bool {
        self.api().answers() == Answers::Tokens && prompt.streams(options)
    }

    /// Items that a request asks for, where its answer consists of them.
    fn items_asked(&self, _options: &RequestOptions, _prompt: &Prompt<'_>) -> Option<u32> {
        None
    }

    /// The body that asks for an answer to a prompt, after what was said before.
    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8>;

    /// What the head of a request says of such a body.
    fn content_type(&self, _body: &[u8]) -> Cow<'static, str> {
        "application/json".into()
    }

    /// The text of a message, for those who need more than its length.
    fn text(&self, _json: &[u8]) -> AnswerText {
        AnswerText::default()
    }

    /// One message of a stream, or a whole answer.
    fn message(&self, json: &[u8]) -> Result<Message, BadMessage>;
}

/// What a message of a stream, or a whole answer, says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    pub has_choice: bool,
    /// Characters of text: answer, reasoning and tool calls.
    pub chars: u64,
    /// Some of the text is not reasoning.
    pub has_answer: bool,
    pub finish: Option<String>,
    /// The text is that of the whole answer so far, and not what is new of it.
    pub repeats: bool,
    /// Vectors or scores of an answer that consists of them.
    pub items: Option<u32>,
    /// The model that answers, as it says itself.
    pub model: Option<String>,
    pub usage: Option<Usage>,
    /// Prompt tokens that stand for images and the like.
    pub media_tokens: Option<u32>,
    /// Seconds of the sound, as the server says.
    pub audio_s: Option<f64>,
    pub per_token: Option<Box<PerToken>>,
    /// How often the engine threw the request back.
    pub preemptions: Option<u32>,
    pub error: Option<String>,
    /// Where in the bytes the only text is (between its quotes), if the rest of the message
    /// says nothing but that it is text: then the next message likely differs only there.
    pub only_text: Option<Range<usize>>,
}

impl Message {
    pub fn failed(error: String) -> Self {
        Message {
            error: Some(error),
            ..Message::default()
        }
    }

    pub fn has_text(&self) -> bool {
        self.chars > 0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadMessage(pub String);

/// The elements of a JSON array; it was checked when the work was read.
pub(super) fn array_of(json: &str) -> Vec<Value> {
    serde_json::from_str(json).unwrap_or_default()
}

/// The fields of a JSON object; it was checked when the work was read.
pub(super) fn object_of(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap_or_default()
}
