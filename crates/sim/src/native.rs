//! Endpoints beside OpenAI's chat and completions: what they are asked. MindIE has several of its
//! own; OpenAI's responses, Anthropic's messages, SGLang's, llama.cpp's and Ollama's are in the
//! forms that recorded servers and their documentation show.
//!
//! MindIE's forms and names are read from its published server (MindIE-LLM, `src/server/endpoint`); none
//! was seen running. Ours, for lack of a source: the refusal of a prompt that is too long, that of
//! an unknown model in a path, and `ignore_eos`, which the real one reads in vLLM's form alone but
//! which exact lengths need in all. Triton's token endpoint is not here.

use serde_json::{Map, Value, json};

use inferometer_catalog::engine::EngineKind;

use crate::native_answer::{Form, NativeOptions};
use crate::{
    completion_request::{Api, CompletionRequest, UsageAsked, answer, finish},
    config::Config,
    engine::Policy,
    fields::{check_model, count, flag, priority, token_ids, wrong_type},
    language::Language,
    media::MediaTokens,
    prompt,
    reply::ErrorReply,
    tokenizer::OpensAnswer,
    wish::Wish,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint<'a> {
    /// Absent where the body decides.
    form: Option<Form>,
    streams: Streams,
    model: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    Always,
    Never,
    AsAsked,
    UnlessRefused,
}

impl<'a> Endpoint<'a> {
    /// Without an engine, every form is served.
    pub(crate) fn of(path: &'a str, kind: Option<EngineKind>) -> Option<Endpoint<'a>> {
        let (form, streams, model) = match path {
            "/v1/responses" => (Some(Form::Responses), Streams::AsAsked, None),
            "/v1/messages" => (Some(Form::Messages), Streams::AsAsked, None),
            "/completion" => (Some(Form::LlamaCpp), Streams::AsAsked, None),
            "/api/generate" => (Some(Form::Ollama), Streams::UnlessRefused, None),
            "/api/chat" => (Some(Form::OllamaChat), Streams::UnlessRefused, None),
            "/infer" | "/infer_token" => (Some(Form::Native), Streams::AsAsked, None),
            "/" => (Some(Form::Tgi), Streams::AsAsked, None),
            "/generate" => (None, Streams::AsAsked, None),
            "/generate_stream" => (Some(Form::Tgi), Streams::Always, None),
            _ => {
                let (model, verb) = model_and_verb(path)?;
                let streams = match verb {
                    "generate" => Streams::Never,
                    "generate_stream" => Streams::Always,
                    _ => return None,
                };
                (Some(Form::Triton), streams, Some(model))
            }
        };
        let served = match (kind, form) {
            (None, _) => true,
            (Some(EngineKind::Mindie), form) => {
                form.is_none_or(|form| !form.is_chat() && !form.is_of_desktops())
            }
            (Some(EngineKind::Sglang), None) => true,
            (Some(_), form) => matches!(form, Some(Form::Responses | Form::Messages)),
        };
        served.then_some(Endpoint {
            form,
            streams,
            model,
        })
    }

    pub(crate) fn parse(
        self,
        body: &[u8],
        config: &Config,
        number: u64,
    ) -> Result<CompletionRequest, ErrorReply> {
        let body: Map<String, Value> = serde_json::from_slice(body).map_err(|_| {
            let message = match self.form {
                Some(_) => "Failed to parse request context to json",
                None => NEITHER,
            };
            ErrorReply::bad_request(message)
        })?;
        let form = match self.form {
            Some(form) => form,
            None if body.contains_key("prompt") => Form::Vllm,
            None if body.contains_key("inputs") => Form::Tgi,
            None if body.contains_key("text") || body.contains_key("input_ids") => Form::Sglang,
            None => return Err(ErrorReply::bad_request(NEITHER)),
        };
        if form.is_chat() || form.is_of_desktops() {
            check_model(&body, config)?;
        }
        if self.model.is_some_and(|model| model != config.model) {
            return Err(ErrorReply::bad_request("Model not found"));
        }
        let none = Map::new();
        let parameters = match form.parameters().map(|field| (field, body.get(field))) {
            None => &body,
            Some((_, None | Some(Value::Null))) => &none,
            Some((_, Some(Value::Object(parameters)))) => parameters,
            Some((field, _)) => return Err(wrong_type(field, "an object")),
        };
        let (text, mut prompt) = input(form, &body, config)?;
        if form == Form::Tgi
            && let Some(most) = count(parameters, "truncate")?
        {
            prompt.drain(..prompt.len().saturating_sub(most as usize));
        }
        let prompt_tokens = u32::try_from(prompt.len()).unwrap_or(u32::MAX);
        let most = config.max_model_len;
        if prompt_tokens >= most {
            // MindIE says it in words that depend on the version.
            return Err(ErrorReply::bad_request(format!(
                "the input has {prompt_tokens} tokens, and the maximum context length is {most} \
                 tokens with the answer"
            )));
        }
        let exact = flag(&body, "ignore_eos")? || flag(parameters, "ignore_eos")?;
        let limit = match limit(form, &body, parameters, config)? {
            Some(limit) => limit,
            // It ends where the answer does, which is known where a length is asked for.
            None if exact || Wish::in_body(&body).is_some() => most,
            None => Api::Chat.default_limit(),
        };
        let limit = limit.clamp(1, most - prompt_tokens);
        let (output_tokens, declines) = if exact {
            (limit, None)
        } else {
            answer(&body, config, number, limit, 0)
        };
        Ok(CompletionRequest {
            api: if form.is_chat() {
                Api::Chat
            } else {
                Api::Completions
            },
            stream: match (self.streams, form) {
                (Streams::Always, _) => true,
                (Streams::Never, _) => false,
                // With `inputs`, /generate has no stream; that is /generate_stream.
                (Streams::AsAsked, Form::Tgi) if self.form.is_none() => false,
                (Streams::AsAsked, _) => flag(&body, "stream")?,
                (Streams::UnlessRefused, _) => body.get("stream") != Some(&Value::Bool(false)),
            },
            usage: UsageAsked::default(),
            prompt_tokens,
            media_tokens: MediaTokens::default(),
            audio_s: None,
            says: Vec::new(),
            calls: None,
            adapter: None,
            prompt,
            priority: priority(parameters)?,
            output_tokens,
            declines,
            language: Language::of(&text),
            finish: finish(output_tokens, limit),
            native: Some(NativeOptions {
                form,
                details: flag(parameters, "details")?,
                seed: parameters.get("seed").and_then(Value::as_i64),
                prompt: text,
                id: body.get("id").and_then(Value::as_str).map(str::to_owned),
            }),
        })
    }
}

const NEITHER: &str = "{\"Error\": \"`inputs` or `prompt` must be necessary and data type must \
     be string. Additionally, the request body must be valid json\", \"error_type\": \
     \"validation\"}";

/// `/v2/models/MODEL[/versions/VERSION]/VERB`.
pub(crate) fn model_and_verb(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/v2/models/")?;
    let (model, rest) = rest.split_once('/')?;
    let verb = match rest.strip_prefix("versions/") {
        Some(version) => version.split_once('/')?.1,
        None => rest,
    };
    Some((model, verb))
}

fn input(
    form: Form,
    body: &Map<String, Value>,
    config: &Config,
) -> Result<(String, Vec<u32>), ErrorReply> {
    if form.is_chat() {
        let mut chat = body.clone();
        match body.get("input") {
            Some(Value::String(text)) if form == Form::Responses => {
                chat.insert(
                    "messages".into(),
                    json!([{"role": "user", "content": text}]),
                );
            }
            Some(messages) if form == Form::Responses => {
                chat.insert("messages".into(), messages.clone());
            }
            _ => {}
        }
        let ids = prompt::chat(&config.tokenizer, &chat, OpensAnswer::Yes)?;
        return Ok((String::new(), ids));
    }
    let (field, missing) = match form {
        Form::Native => ("inputs", "Not found inputs."),
        Form::Tgi => (
            "inputs",
            "Request should contain 'inputs' and the type should be string.",
        ),
        Form::Vllm => ("prompt", "Contains not prompt or prompt null"),
        Form::Triton => ("text_input", "The text_input not found"),
        Form::Sglang => ("text", "text: field required"),
        _ => ("prompt", "prompt: field required"),
    };
    let ids = match (form, body.get("input_id").or(body.get("input_ids"))) {
        (Form::Native | Form::Sglang, Some(Value::Array(ids))) => {
            let wrong = || ErrorReply::bad_request("Parameter input_id must be integer");
            Some(token_ids(ids).ok_or_else(wrong)?)
        }
        _ => None,
    };
    let (text, ids) = match (ids, body.get(field)) {
        (Some(ids), _) => (String::new(), ids),
        (None, Some(Value::String(text))) => (text.clone(), config.tokenizer.encode(text)),
        (None, None | Some(Value::Null)) => return Err(ErrorReply::bad_request(missing)),
        (None, Some(Value::Array(ids))) if form == Form::LlamaCpp => {
            let wrong = || wrong_type(field, "a text or token ids");
            (String::new(), token_ids(ids).ok_or_else(wrong)?)
        }
        (None, Some(_)) => {
            let message = format!("The type of {field} is abnormal");
            return Err(ErrorReply::bad_request(message));
        }
    };
    if ids.is_empty() {
        return Err(ErrorReply::bad_request(
            "Inputs token length must be in (0, 1048576], but got 0",
        ));
    }
    Ok((text, ids))
}

/// The most tokens of an answer. Where nobody asks: 20 in MindIE's forms, maxIterTimes in vLLM's,
/// 128 in SGLang's; the others have no limit then, nor where llama.cpp and Ollama are asked for a
/// negative one.
fn limit(
    form: Form,
    body: &Map<String, Value>,
    parameters: &Map<String, Value>,
    config: &Config,
) -> Result<Option<u32>, ErrorReply> {
    let policy = config.engine.as_ref().map(|setup| &setup.config.policy);
    let most = match policy {
        Some(Policy::Mindie(policy)) => policy.max_iter_times,
        _ => u32::MAX,
    };
    let asked = match form {
        Form::Vllm => count(parameters, "max_tokens")?.or(Some(most)),
        Form::Messages => {
            let required = || ErrorReply::bad_request("max_tokens: field required");
            Some(count(parameters, "max_tokens")?.ok_or_else(required)?)
        }
        Form::Responses => count(parameters, "max_output_tokens")?,
        Form::LlamaCpp => unless_negative(parameters, "n_predict")?,
        Form::Ollama | Form::OllamaChat => unless_negative(parameters, "num_predict")?,
        Form::Sglang => count(parameters, "max_new_tokens")?.or(Some(128)),
        // TensorRT-LLM's is beside the prompt.
        Form::Triton => count(parameters, "max_new_tokens")?
            .or(count(body, "max_tokens")?)
            .or(Some(20)),
        Form::Native | Form::Tgi => count(parameters, "max_new_tokens")?.or(Some(20)),
    };
    Ok(asked.map(|asked| asked.min(most)))
}

fn unless_negative(
    parameters: &Map<String, Value>,
    field: &str,
) -> Result<Option<u32>, ErrorReply> {
    match parameters.get(field).and_then(Value::as_i64) {
        Some(..0) => Ok(None),
        _ => count(parameters, field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(path: &str, body: Value) -> u32 {
        let endpoint = Endpoint::of(path, None).unwrap();
        let config = Config::default();
        let parsed = endpoint.parse(body.to_string().as_bytes(), &config, 0);
        parsed.unwrap().output_tokens
    }

    /// A body that asks for so many tokens at most, in the fields of the endpoint.
    fn asking(path: &str, prompt: &str, limit: Option<i64>) -> Value {
        let messages = json!([{"role": "user", "content": prompt}]);
        match path {
            "/api/chat" => json!({"messages": messages, "options": {"num_predict": limit}}),
            "/api/generate" => json!({"prompt": prompt, "options": {"num_predict": limit}}),
            "/completion" => json!({"prompt": prompt, "n_predict": limit}),
            "/generate" => json!({"text": prompt, "sampling_params": {"max_new_tokens": limit}}),
            _ => json!({"input": prompt, "max_output_tokens": limit}),
        }
    }

    const PATHS: &str = "/api/chat /api/generate /completion /generate /v1/responses";

    #[test]
    fn each_endpoint_keeps_the_limit_of_its_own_field() {
        for path in PATHS.split(' ') {
            let mut body = asking(path, "hello", Some(700));
            body["ignore_eos"] = true.into();
            assert_eq!(tokens(path, body), 700, "{path}");
        }
    }

    #[test]
    fn without_a_limit_an_answer_is_as_long_as_its_prompt_asks_but_for_sglang() {
        let prompt = "Continue. Write about 4000 characters.";
        for path in PATHS.split(' ') {
            let free = tokens(path, asking(path, prompt, None));
            match path {
                "/generate" => assert!(free <= 128, "{path}: {free}"),
                _ => assert!(free > 300, "{path}: {free}"),
            }
        }
        for path in ["/api/chat", "/api/generate", "/completion"] {
            let free = tokens(path, asking(path, prompt, Some(-1)));
            assert!(free > 300, "{path}: {free}");
        }
    }
}
