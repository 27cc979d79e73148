//! What a dialect is asked for and what it answers.

use inferometer_core::content::{Content, Exchange};
use inferometer_core::environment::LimitField;
use inferometer_core::record::Usage;
use serde_json::{Map, Value};
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
    pub(super) fn fields(&self, limit: Option<u32>) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("model".into(), self.model.as_str().into());
        body.insert("stream".into(), self.stream.into());
        if self.stream && self.stream_usage {
            let mut options = Map::new();
            options.insert("include_usage".into(), true.into());
            if self.chunk_usage {
                options.insert("continuous_usage_stats".into(), true.into());
            }
            body.insert("stream_options".into(), options.into());
        }
        let stop = Some(&self.stop).filter(|stop| !stop.is_empty());
        let asked = [
            ("ignore_eos", self.ignore_eos.then_some(Value::Bool(true))),
            ("min_tokens", self.min_tokens.map(Value::from)),
            (self.limit_field.into_str(), limit.map(Value::from)),
            ("temperature", self.temperature.map(Value::from)),
            ("top_p", self.top_p.map(Value::from)),
            ("stop", stop.map(|stop| stop.clone().into())),
        ];
        let asked = asked.into_iter();
        body.extend(asked.filter_map(|(name, value)| Some((name.to_owned(), value?))));
        body
    }

    /// The body: ours, then what the work says of its own, then what the user said.
    pub(super) fn render(&self, mut body: Map<String, Value>, own: Map<String, Value>) -> Vec<u8> {
        // One limit, and options of a stream only where there is one.
        if own.contains_key("max_tokens") || own.contains_key("max_completion_tokens") {
            body.remove(self.limit_field.into_str());
        }
        if own.get("stream").is_some_and(|stream| stream != true) {
            body.remove("stream_options");
        }
        body.extend(own);
        body.extend(self.extra.clone());
        serde_json::to_vec(&body).expect("a map of JSON values is always JSON")
    }
}

/// What a request says: the turns before it, and its own content.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    pub history: &'a [Exchange],
    pub content: &'a Content,
}

impl Prompt<'_> {
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
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerText {
    /// What the user is told.
    pub answer: String,
    /// What the model said besides: reasoning and calls of tools.
    pub aside: String,
}

impl AnswerText {
    pub fn append(&mut self, more: &AnswerText) {
        self.answer.push_str(&more.answer);
        self.aside.push_str(&more.aside);
    }
}

pub trait Dialect: Send + Sync {
    /// Its name: `chat` or `completions`.
    fn name(&self) -> &'static str;

    /// Its path below the base (`/v1`).
    fn path(&self) -> &'static str;

    /// The body that asks for an answer to a prompt, after what was said before.
    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8>;

    /// The text of a message, for those who need more than its length.
    fn text(&self, json: &[u8]) -> AnswerText;

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
    /// The model that answers, as it says itself.
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub error: Option<String>,
    /// Where in the bytes the only text is (between its quotes), if the rest of the message
    /// says nothing but that it is text: then the next message likely differs only there.
    pub only_text: Option<Range<usize>>,
}

impl Message {
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
