//! MindIE's own endpoints beside OpenAI's: what they are asked and how they answer.
//!
//! Forms and names are read from its published server (MindIE-LLM, `src/server/endpoint`); none
//! was seen running. Ours, for lack of a source: the refusal of a prompt that is too long, that of
//! an unknown model in a path, and `ignore_eos`, which the real one reads in vLLM's form alone but
//! which exact lengths need in all. Triton's token endpoint is not here.

use serde_json::{Map, Value};

use crate::mindie_answer::{Form, MindieOptions};
use crate::{
    completion_request::{Api, CompletionRequest, UsageAsked, answer, finish},
    config::Config,
    engine::Policy,
    fields::{count, flag, priority, token_ids},
    reply::ErrorReply,
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
}

impl<'a> Endpoint<'a> {
    pub(crate) fn of(path: &'a str) -> Option<Endpoint<'a>> {
        let (form, streams, model) = match path {
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
        Some(Endpoint {
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
        let form = match (self.form, body.contains_key("prompt")) {
            (Some(form), _) => form,
            (None, true) => Form::Vllm,
            (None, false) if body.contains_key("inputs") => Form::Tgi,
            (None, false) => return Err(ErrorReply::bad_request(NEITHER)),
        };
        if self.model.is_some_and(|model| model != config.model) {
            return Err(ErrorReply::bad_request("Model not found"));
        }
        let none = Map::new();
        let parameters = match (form, body.get("parameters")) {
            (Form::Vllm, _) => &body,
            (_, None | Some(Value::Null)) => &none,
            (_, Some(Value::Object(parameters))) => parameters,
            _ => return Err(ErrorReply::bad_request("parameters: should be an object")),
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
            // The source says it elsewhere, in words that depend on the version.
            return Err(ErrorReply::bad_request(format!(
                "the input has {prompt_tokens} tokens and the model takes {most} with the answer"
            )));
        }
        let limit = limit(form, parameters, config)?.clamp(1, most - prompt_tokens);
        let (output_tokens, declines) = if flag(&body, "ignore_eos")? {
            (limit, None)
        } else {
            answer(&body, config, number, limit, 0)
        };
        Ok(CompletionRequest {
            api: Api::Completions,
            stream: match (self.streams, form) {
                (Streams::Always, _) => true,
                (Streams::Never, _) => false,
                // With `inputs`, /generate has no stream; that is /generate_stream.
                (Streams::AsAsked, Form::Tgi) if self.form.is_none() => false,
                (Streams::AsAsked, _) => flag(&body, "stream")?,
            },
            usage: UsageAsked::default(),
            prompt_tokens,
            prompt,
            priority: priority(parameters)?,
            output_tokens,
            declines,
            finish: finish(output_tokens, limit),
            mindie: Some(MindieOptions {
                form,
                details: flag(parameters, "details")?,
                seed: parameters.get("seed").and_then(Value::as_i64),
                prompt: text.to_owned(),
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

fn input<'a>(
    form: Form,
    body: &'a Map<String, Value>,
    config: &Config,
) -> Result<(&'a str, Vec<u32>), ErrorReply> {
    let (field, missing) = match form {
        Form::Native => ("inputs", "Not found inputs."),
        Form::Tgi => (
            "inputs",
            "Request should contain 'inputs' and the type should be string.",
        ),
        Form::Vllm => ("prompt", "Contains not prompt or prompt null"),
        Form::Triton => ("text_input", "The text_input not found"),
    };
    let ids = match (form, body.get("input_id")) {
        (Form::Native, Some(Value::Array(ids))) => {
            let wrong = || ErrorReply::bad_request("Parameter input_id must be integer");
            Some(token_ids(ids).ok_or_else(wrong)?)
        }
        _ => None,
    };
    let (text, ids) = match (ids, body.get(field)) {
        (Some(ids), _) => ("", ids),
        (None, Some(Value::String(text))) => (text.as_str(), config.tokenizer.encode(text)),
        (None, None | Some(Value::Null)) => return Err(ErrorReply::bad_request(missing)),
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

/// The most tokens of an answer, where nobody asks: 20, or maxIterTimes in vLLM's form.
fn limit(form: Form, parameters: &Map<String, Value>, config: &Config) -> Result<u32, ErrorReply> {
    let policy = config.engine.as_ref().map(|setup| &setup.config.policy);
    let most = match policy {
        Some(Policy::Mindie(policy)) => policy.max_iter_times,
        _ => u32::MAX,
    };
    let asked = match form {
        Form::Vllm => count(parameters, "max_tokens")?.unwrap_or(most),
        _ => count(parameters, "max_new_tokens")?.unwrap_or(20),
    };
    Ok(asked.min(most))
}
