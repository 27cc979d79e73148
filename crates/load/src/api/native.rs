//! Engines' own endpoints for generation: TGI (and MindIE in its form), llama.cpp, Ollama,
//! Triton and SGLang. All take a plain prompt; each has its own names for everything.

use super::dialect::{
    AnswerText, BadMessage, Dialect, Message, Place, Prompt, RequestOptions, object_of,
};
use super::wire::{MessageBuilder, error_message, parse, present, string};
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use inferometer_core::record::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Whose endpoint it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Native {
    /// `/generate_stream`, or `/generate` for whole answers.
    Tgi,
    /// `/infer`, asked as TGI is; the last token's text is in that of the whole answer alone.
    Mindie,
    /// `/completion`.
    LlamaCpp,
    /// `/api/generate`.
    Ollama,
    /// `/api/chat`.
    OllamaChat,
    /// `/v2/models/MODEL/generate_stream`.
    Triton,
    /// `/generate`, whose messages repeat the text from the beginning.
    Sglang,
}

/// A message of any of them: each has its own names.
#[derive(Deserialize)]
struct RawMessage<T> {
    // TGI
    token: Option<RawToken<T>>,
    generated_text: Option<T>,
    details: Option<RawDetails<T>>,
    // llama.cpp
    content: Option<T>,
    stop: Option<bool>,
    stop_type: Option<T>,
    tokens_predicted: Option<u32>,
    tokens_evaluated: Option<u32>,
    // Ollama
    response: Option<T>,
    thinking: Option<T>,
    message: Option<T>,
    done: Option<bool>,
    done_reason: Option<T>,
    prompt_eval_count: Option<u32>,
    eval_count: Option<u32>,
    // Triton
    text_output: Option<T>,
    // SGLang
    text: Option<T>,
    meta_info: Option<MetaInfo>,
    // All
    model: Option<T>,
    error: Option<T>,
    detail: Option<T>,
}

#[derive(Deserialize)]
struct RawToken<T> {
    text: Option<T>,
    special: Option<bool>,
}

#[derive(Deserialize)]
struct RawDetails<T> {
    finish_reason: Option<T>,
    generated_tokens: Option<u32>,
    /// TGI's name for the prompt's tokens, and MindIE's.
    #[serde(alias = "prompt_tokens")]
    input_length: Option<u32>,
}

/// What Ollama's chat says.
#[derive(Deserialize)]
struct RawSaid<T> {
    content: Option<T>,
    thinking: Option<T>,
    tool_calls: Option<T>,
}

#[derive(Deserialize)]
struct MetaInfo {
    finish_reason: Option<Value>,
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
    cached_tokens: Option<u32>,
    /// Older versions say `total_retractions`.
    #[serde(alias = "total_retractions")]
    num_retractions: Option<u32>,
}

impl Native {
    /// The fields that ask for an answer to a prompt.
    fn fields(
        self,
        options: &RequestOptions,
        prompt: &Prompt<'_>,
        limit: Option<u32>,
    ) -> Map<String, Value> {
        let text = prompt.as_text();
        let ids = match prompt.content {
            Content::TokenIds(ids) => Some(Value::from(ids.to_vec())),
            _ => None,
        };
        let limit_as = |name| options.sampling(&[(name, limit.map(Value::from))]);
        let stream = options.stream;
        let fields = match self {
            Native::Tgi | Native::Mindie => {
                let mut parameters = limit_as("max_new_tokens");
                let exact = parameters.remove("ignore_eos");
                parameters.insert("details".into(), true.into());
                let mut fields =
                    json!({"inputs": text, "parameters": parameters, "stream": stream});
                if let Some(exact) = exact {
                    fields["ignore_eos"] = exact;
                }
                fields
            }
            Native::LlamaCpp => {
                let mut fields = limit_as("n_predict");
                fields.insert("prompt".into(), ids.unwrap_or(text.into()));
                fields.insert("stream".into(), stream.into());
                fields.into()
            }
            Native::Ollama => {
                json!({"prompt": text, "stream": stream, "options": limit_as("num_predict")})
            }
            Native::OllamaChat => {
                let mut messages = prompt.history_messages();
                match prompt.content {
                    Content::Messages(array) => messages.extend(super::dialect::array_of(array)),
                    _ => messages.push(json!({"role": "user", "content": prompt.own_text()})),
                }
                json!({"messages": messages, "stream": stream, "options": limit_as("num_predict")})
            }
            Native::Triton => {
                let mut fields = limit_as("max_tokens");
                fields.insert("text_input".into(), text.into());
                fields.insert("stream".into(), stream.into());
                fields.into()
            }
            Native::Sglang => {
                let mut fields = json!({
                    "sampling_params": limit_as("max_new_tokens"), "stream": stream,
                });
                match ids {
                    Some(ids) => fields["input_ids"] = ids,
                    None => fields["text"] = text.into(),
                }
                fields
            }
        };
        let mut body = match self {
            Native::Ollama | Native::OllamaChat => options.model_field(),
            _ => Map::new(),
        };
        if let Value::Object(fields) = fields {
            body.extend(fields);
        }
        body
    }
}

impl Dialect for Native {
    fn api(&self) -> Api {
        Api::Generate
    }

    fn path(&self, options: &RequestOptions) -> Cow<'static, str> {
        match self {
            Native::Tgi if options.stream => "/generate_stream".into(),
            Native::Tgi | Native::Sglang => "/generate".into(),
            Native::Mindie => "/infer".into(),
            Native::LlamaCpp => "/completion".into(),
            Native::Ollama => "/api/generate".into(),
            Native::OllamaChat => "/api/chat".into(),
            Native::Triton => {
                let verb = if options.stream {
                    "generate_stream"
                } else {
                    "generate"
                };
                format!("/v2/models/{}/{verb}", options.model).into()
            }
        }
    }

    fn place(&self) -> Place {
        Place::Root
    }

    /// Triton's streams just end.
    fn says_finish(&self) -> bool {
        *self != Native::Triton
    }

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8> {
        let own = match prompt.content {
            Content::Body(object) => object_of(object),
            _ => Map::new(),
        };
        options.merged(self.fields(options, prompt, limit), own)
    }

    fn text(&self, json: &[u8]) -> AnswerText {
        let mut text = AnswerText::default();
        let Ok(raw) = parse::<RawMessage<&RawValue>>(json) else {
            return text;
        };
        let push = |to: &mut String, raw| to.push_str(&string(raw).unwrap_or_default());
        match self {
            Native::Tgi | Native::Mindie => {
                let token = raw.token.as_ref().and_then(|token| token.text);
                push(&mut text.answer, token.or(raw.generated_text));
            }
            Native::LlamaCpp => push(&mut text.answer, raw.content),
            Native::Ollama => {
                push(&mut text.answer, raw.response);
                push(&mut text.aside, raw.thinking);
            }
            Native::OllamaChat => {
                if let Some(said) = said(&raw) {
                    push(&mut text.answer, said.content);
                    push(&mut text.aside, said.thinking);
                }
            }
            Native::Triton => push(&mut text.answer, raw.text_output),
            Native::Sglang => push(&mut text.answer, raw.text),
        }
        text
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        let raw: RawMessage<&RawValue> = parse(json)?;
        let said_wrong = match self {
            Native::OllamaChat => [raw.error, raw.detail, None],
            _ => [raw.error, raw.detail, raw.message],
        };
        if let Some(error) = said_wrong.into_iter().find_map(error_message) {
            return Ok(Message::failed(error));
        }
        let mut found = MessageBuilder::new(json);
        let (mut finish, mut usage, mut preemptions) = (None, None, None);
        let is_answer;
        let mut repeats = false;
        match self {
            Native::Tgi | Native::Mindie => {
                match &raw.token {
                    // The end of a sequence is a token without a text for anybody.
                    Some(token) if token.special == Some(true) => {}
                    Some(RawToken { text: None, .. }) if *self == Native::Mindie => {
                        found.answer(raw.generated_text)?;
                        repeats = present(raw.generated_text).is_some();
                    }
                    Some(token) => found.answer(token.text)?,
                    None => found.answer(raw.generated_text)?,
                }
                is_answer = raw.token.is_some() || raw.generated_text.is_some();
                finish = raw.details.as_ref().and_then(|it| string(it.finish_reason));
                usage = raw.details.as_ref().map(|details| Usage {
                    input: details.input_length,
                    output: details.generated_tokens,
                    cached: None,
                });
                if finish.is_none() && present(raw.generated_text).is_some() {
                    finish = Some("end".into());
                }
            }
            Native::LlamaCpp => {
                found.answer(raw.content)?;
                is_answer = raw.content.is_some();
                finish = string(raw.stop_type).filter(|_| raw.stop == Some(true));
                usage = raw.tokens_predicted.map(|output| Usage {
                    input: raw.tokens_evaluated,
                    output: Some(output),
                    cached: None,
                });
            }
            Native::Ollama | Native::OllamaChat => {
                if let Some(said) = said(&raw).filter(|_| *self == Native::OllamaChat) {
                    found.answer(said.content)?;
                    found.reasoning(said.thinking)?;
                    found.tool_calls(said.tool_calls)?;
                } else {
                    found.answer(raw.response)?;
                    found.reasoning(raw.thinking)?;
                }
                is_answer = raw.done.is_some();
                if raw.done == Some(true) {
                    finish = string(raw.done_reason).or(Some("stop".into()));
                    usage = Some(Usage {
                        input: raw.prompt_eval_count,
                        output: raw.eval_count,
                        cached: None,
                    });
                }
            }
            Native::Triton => {
                found.answer(raw.text_output)?;
                is_answer = raw.text_output.is_some();
            }
            Native::Sglang => {
                found.answer(raw.text)?;
                repeats = true;
                is_answer = raw.text.is_some() || raw.meta_info.is_some();
                if let Some(meta) = raw.meta_info {
                    finish = meta.finish_reason.as_ref().and_then(reason).map(Cow::Owned);
                    usage = Some(Usage {
                        input: meta.prompt_tokens,
                        output: meta.completion_tokens,
                        cached: meta.cached_tokens,
                    });
                    preemptions = meta.num_retractions;
                }
            }
        }
        let mut message = found.built();
        if finish.is_some() || usage.is_some() || repeats {
            message.only_text = None;
        }
        Ok(Message {
            has_choice: is_answer,
            finish: finish.map(Cow::into_owned),
            usage,
            preemptions,
            repeats,
            model: string(raw.model).map(Cow::into_owned),
            ..message
        })
    }
}

fn said<'a>(raw: &RawMessage<&'a RawValue>) -> Option<RawSaid<&'a RawValue>> {
    serde_json::from_str(present(raw.message)?).ok()
}

/// `"length"`, or `{"type": "length", "length": 16}`.
fn reason(finish: &Value) -> Option<String> {
    let word = finish.as_str().or(finish["type"].as_str())?;
    Some(word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(native: Native, json: &str) -> Message {
        native.message(json.as_bytes()).unwrap()
    }

    fn body(native: Native) -> Value {
        let options = RequestOptions {
            model: "m".into(),
            stream: true,
            ignore_eos: true,
            temperature: Some(0.5),
            ..RequestOptions::default()
        };
        let content = Content::Text("hi".into());
        let body = native.body(&options, &Prompt::from(&content), Some(7));
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn each_engine_is_asked_by_its_own_names() {
        for (native, expected) in [
            (
                Native::Tgi,
                json!({"inputs": "hi", "stream": true, "ignore_eos": true,
                    "parameters": {"max_new_tokens": 7, "details": true, "temperature": 0.5}}),
            ),
            (
                Native::LlamaCpp,
                json!({"prompt": "hi", "stream": true, "n_predict": 7, "ignore_eos": true,
                    "temperature": 0.5}),
            ),
            (
                Native::Ollama,
                json!({"model": "m", "prompt": "hi", "stream": true,
                    "options": {"num_predict": 7, "ignore_eos": true, "temperature": 0.5}}),
            ),
            (
                Native::Sglang,
                json!({"text": "hi", "stream": true, "sampling_params":
                    {"max_new_tokens": 7, "ignore_eos": true, "temperature": 0.5}}),
            ),
        ] {
            assert_eq!(body(native), expected, "{native:?}");
        }
        assert_eq!(body(Native::OllamaChat)["messages"][0]["content"], "hi");
        assert_eq!(body(Native::Triton)["text_input"], "hi");
    }

    #[test]
    fn each_engine_is_read_by_its_own_names() {
        let token = read(
            Native::Tgi,
            r#"{"index":1,"token":{"id":5,"text":" a","logprob":-1.0,"special":false},"generated_text":null,"details":null}"#,
        );
        assert_eq!(
            (token.chars, token.has_choice, token.finish),
            (2, true, None)
        );
        let last = read(
            Native::Tgi,
            r#"{"token":{"id":2,"text":"</s>","special":true},"generated_text":" a","details":{"finish_reason":"eos_token","generated_tokens":2,"input_length":4}}"#,
        );
        assert_eq!((last.chars, last.finish.as_deref()), (0, Some("eos_token")));
        let usage = last.usage.unwrap();
        assert_eq!((usage.input, usage.output), (Some(4), Some(2)));
        let chat = read(
            Native::OllamaChat,
            r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
        );
        assert!(chat.has_text() && !chat.has_answer);
        let done = read(
            Native::Ollama,
            r#"{"model":"m","response":"","done":true,"done_reason":"length","prompt_eval_count":3,"eval_count":9}"#,
        );
        assert_eq!(
            (done.finish.as_deref(), done.usage.unwrap().output),
            (Some("length"), Some(9))
        );
        let last = read(
            Native::Mindie,
            r#"{"prefill_time":null,"decode_time":9.5,"generated_text":"ab","details":{"finish_reason":"length","generated_tokens":2,"seed":null},"token":{"id":[5],"text":null}}"#,
        );
        assert!(last.repeats && last.chars == 2);
        assert_eq!(last.finish.as_deref(), Some("length"));
        assert_eq!(last.usage.unwrap().output, Some(2));
        let whole_so_far = read(
            Native::Sglang,
            r#"{"text":"ab","meta_info":{"finish_reason":{"type":"length","length":2},"prompt_tokens":3,"completion_tokens":2,"cached_tokens":1,"num_retractions":2}}"#,
        );
        assert!(whole_so_far.repeats);
        assert_eq!(whole_so_far.finish.as_deref(), Some("length"));
        assert_eq!(whole_so_far.preemptions, Some(2));
        let error = read(
            Native::Tgi,
            r#"{"error":"Model is overloaded","error_type":"overloaded"}"#,
        );
        assert_eq!(error.error.as_deref(), Some("Model is overloaded"));
    }
}
