//! A model's chat template: the text that a server makes of messages.

use std::time::Duration;
use std::{fs, path::Path, sync::Arc};

use inferometer_guard::{Most, bounded, guarded};
use jiff::civil;
use minijinja::{Environment, Error, ErrorKind, context, syntax::SyntaxConfig, value::Value};
use minijinja_contrib::pycompat;
use serde_json::{Map, Value as Json, json};

/// Steps for each message after which a template is given up. Real ones take some thousands.
const MOST_STEPS: u64 = 1_000_000;
/// Memory after which it is refused: a few steps suffice to double a text beyond all bounds.
const MOST_BYTES: u64 = 256 << 20;
/// Time after which it is refused: one step may go through a list that was doubled many times.
/// Real ones take milliseconds.
pub(super) const MOST_TIME: Duration = Duration::from_secs(5);
/// Real tags have some hundred bytes; with some thousand the stack of a thread may not suffice.
const LONGEST_TAG: usize = 2_000;

/// More than such a file has.
const LARGEST_FILE: u64 = 64 << 20;

/// A regular file of a bearable size; a pipe would be waited for.
fn read(path: &Path) -> Option<Vec<u8>> {
    let about = fs::metadata(path).ok()?;
    let is_bearable = about.is_file() && about.len() <= LARGEST_FILE;
    is_bearable.then(|| fs::read(path).ok())?
}

pub(crate) struct ChatTemplate {
    source: String,
    /// `bos_token` and its like.
    named: Vec<(String, String)>,
}

impl ChatTemplate {
    /// The template in a model's folder: the file, else the key of its configuration.
    pub(super) fn in_folder(folder: &Path) -> Option<ChatTemplate> {
        let config = read(&folder.join("tokenizer_config.json"));
        let config =
            config.and_then(|bytes| serde_json::from_slice::<Map<String, Json>>(&bytes).ok());
        let config = config.unwrap_or_default();
        let source = read(&folder.join("chat_template.jinja"));
        let source = source.and_then(|bytes| String::from_utf8(bytes).ok());
        let source = source.or_else(|| match config.get("chat_template")? {
            Json::String(source) => Some(source.clone()),
            Json::Array(several) => {
                let is_default = |one: &&Json| one["name"] == "default" || several.len() == 1;
                let chosen = several.iter().find(is_default)?;
                Some(chosen["template"].as_str()?.to_owned())
            }
            _ => None,
        })?;
        if longest_tag(&source) > LONGEST_TAG {
            return None;
        }
        let tokens = config.iter().filter(|(name, _)| name.ends_with("_token"));
        let named = tokens.filter_map(|(name, token)| {
            let text = token.as_str().or_else(|| token["content"].as_str())?;
            Some((name.clone(), text.to_owned()))
        });
        Some(ChatTemplate {
            named: named.collect(),
            source: without_training_marks(&source),
        })
    }

    /// Whether a short message stays a text of bounded length, made in bounded time.
    pub(super) fn is_bounded(self: &Arc<Self>, most_time: Duration) -> bool {
        let template = Arc::clone(self);
        let most = Most {
            bytes: MOST_BYTES,
            time: most_time,
        };
        let rendered = bounded(most, move || {
            let message = json!({"role": "user", "content": "Hello"});
            let _ = template.render(&[message], OpensAnswer::Yes);
        });
        rendered.is_ok()
    }

    /// The text of messages, or what the template says against them. Templates of models that
    /// also see want contents as lists of parts; those show by leaving a plain text out.
    pub(crate) fn render(
        &self,
        messages: &[Json],
        opens_answer: OpensAnswer,
    ) -> Result<String, String> {
        let plain: Vec<Json> = messages.iter().map(with_plain_content).collect();
        let last = plain.last().and_then(|message| message["content"].as_str());
        let holds = |text: &String| text.contains(last.unwrap_or_default().trim());
        let first = self.render_as(&plain, opens_answer);
        if let Ok(text) = &first
            && holds(text)
        {
            return first;
        }
        let parted: Vec<Json> = messages.iter().map(with_parted_content).collect();
        match self.render_as(&parted, opens_answer) {
            Ok(text) if holds(&text) => Ok(text),
            _ => first,
        }
    }

    fn render_as(&self, messages: &[Json], opens_answer: OpensAnswer) -> Result<String, String> {
        let rendered = || -> Result<String, Error> {
            let mut environment = Environment::new();
            let blocks = SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()?;
            environment.set_syntax(blocks);
            environment.set_fuel(Some(MOST_STEPS * messages.len().max(1) as u64));
            environment.set_unknown_method_callback(pycompat::unknown_method_callback);
            environment.add_function("raise_exception", |message: String| {
                Err::<Value, _>(Error::new(ErrorKind::InvalidOperation, message))
            });
            environment.add_function("strftime_now", strftime_now);
            for (name, token) in &self.named {
                environment.add_global(name.clone(), token.as_str());
            }
            let template = environment.template_from_str(&self.source)?;
            template.render(context! {
                messages => messages.iter().map(value).collect::<Vec<_>>(),
                add_generation_prompt => opens_answer == OpensAnswer::Yes,
                tools => Value::from(()),
                documents => Value::from(()),
            })
        };
        guarded(rendered)?.map_err(|error| error.to_string())
    }
}

/// Whether the text ends with what invites the model to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpensAnswer {
    Yes,
    No,
}

/// A day like any other, so that counts are the same tomorrow; the client has the same.
fn strftime_now(format: String) -> Result<String, Error> {
    let day = civil::date(2026, 1, 15).at(12, 30, 15, 0);
    jiff::fmt::strtime::format(format, day)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::from(whole),
            (None, broken) => Value::from(broken.unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(value).collect::<Vec<_>>()),
        Json::Object(fields) => Value::from_pairs(
            fields
                .iter()
                .map(|(name, field)| (name.as_str(), value(field))),
        ),
    }
}

fn with_plain_content(message: &Json) -> Json {
    let mut message = message.clone();
    if let Some(parts) = message["content"].as_array() {
        let texts: Vec<&str> = parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect();
        message["content"] = json!(texts.join("\n"));
    }
    message
}

fn with_parted_content(message: &Json) -> Json {
    let mut message = message.clone();
    if let Some(text) = message["content"].as_str() {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    message
}

/// Some templates mark the model's words for training with a tag that only one library knows.
fn without_training_marks(source: &str) -> String {
    let mut out = source.to_owned();
    for (mark, plain) in [("generation", "if true"), ("endgeneration", "endif")] {
        for (open, close) in [
            ("{%- ", " -%}"),
            ("{%- ", " %}"),
            ("{% ", " -%}"),
            ("{% ", " %}"),
        ] {
            out = out.replace(
                &format!("{open}{mark}{close}"),
                &format!("{open}{plain}{close}"),
            );
        }
    }
    out
}

/// Bytes of code in the longest tag, without texts: as deep as that the library's parser and
/// compiler may call themselves.
fn longest_tag(source: &str) -> usize {
    let bytes = source.as_bytes();
    let (mut longest, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        if bytes[at] != b'{' || !matches!(bytes[at + 1], b'{' | b'%') {
            at += 1;
            continue;
        }
        at += 2;
        let (mut code, mut braces, mut quote) = (0, 0, None);
        while at < bytes.len() {
            match (bytes[at], quote) {
                (b'\\', Some(_)) => at += 1,
                (byte, Some(open)) if byte == open => quote = None,
                (_, Some(_)) => {}
                (byte @ (b'"' | b'\''), None) => quote = Some(byte),
                (b'{', None) => braces += 1,
                (b'}', None) if braces > 0 => braces -= 1,
                (b'}', None) => break,
                (_, None) => code += 1,
            }
            at += 1;
        }
        longest = longest.max(code);
    }
    longest
}
