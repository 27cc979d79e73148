//! MindIE's own endpoints beside OpenAI's: what they are asked and how they answer.
//!
//! Forms and names are read from its published server (MindIE-LLM, `src/server/endpoint`); none
//! was seen running. Ours, for lack of a source: the refusal of a prompt that is too long, that of
//! an unknown model in a path, and `ignore_eos`, which the real one reads in vLLM's form alone but
//! which exact lengths need in all. Triton's token endpoint is not here.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::{
    config::Config,
    engine::Policy,
    render::{Progress, TokenEvent, Usage},
    reply::Refusal,
    work::{Api, Finish, UsageAsked, Work, count, flag, length, priority},
};

/// Whose form an endpoint has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `/infer`, `/infer_token`.
    Native,
    /// `/`, `/generate` with `inputs`, `/generate_stream`.
    Tgi,
    /// `/generate` with `prompt`.
    Vllm,
    /// `/v2/models/MODEL/generate`, `/v2/models/MODEL/generate_stream`.
    Triton,
}

/// Which endpoint a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint<'a> {
    /// Absent where the body decides.
    form: Option<Form>,
    streams: Streams,
    /// The model in the path.
    model: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    Always,
    Never,
    AsAsked,
}

/// What such a request asks for, beyond what all do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) form: Form,
    details: bool,
    seed: Option<i64>,
    /// vLLM's old endpoint repeats the prompt before the answer.
    prompt: String,
    id: Option<String>,
}

impl<'a> Endpoint<'a> {
    /// The endpoint of a path.
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

    /// Reads and checks a body.
    pub(crate) fn parse(self, body: &[u8], config: &Config, number: u64) -> Result<Work, Refusal> {
        let body: Map<String, Value> = serde_json::from_slice(body).map_err(|_| {
            let message = match self.form {
                Some(_) => "Failed to parse request context to json",
                None => NEITHER,
            };
            Refusal::bad_request(message)
        })?;
        let form = match (self.form, body.contains_key("prompt")) {
            (Some(form), _) => form,
            (None, true) => Form::Vllm,
            (None, false) if body.contains_key("inputs") => Form::Tgi,
            (None, false) => return Err(Refusal::bad_request(NEITHER)),
        };
        if self.model.is_some_and(|model| model != config.model) {
            return Err(Refusal::bad_request("Model not found"));
        }
        let none = Map::new();
        let parameters = match (form, body.get("parameters")) {
            (Form::Vllm, _) => &body,
            (_, None | Some(Value::Null)) => &none,
            (_, Some(Value::Object(parameters))) => parameters,
            _ => return Err(Refusal::bad_request("parameters: should be an object")),
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
            return Err(Refusal::bad_request(format!(
                "the input has {prompt_tokens} tokens and the model takes {most} with the answer"
            )));
        }
        let limit = limit(form, parameters, config)?.clamp(1, most - prompt_tokens);
        let output_tokens = match flag(&body, "ignore_eos")? {
            true => limit,
            false => length(config, number, limit, 0),
        };
        Ok(Work {
            api: Api::Completions,
            stream: match (self.streams, form) {
                (Streams::Always, _) => true,
                (Streams::Never, _) => false,
                // With `inputs`, /generate has no stream; that is /generate_stream.
                (Streams::AsAsked, Form::Tgi) if self.form.is_none() => false,
                (Streams::AsAsked, _) => flag(&body, "stream")?,
            },
            usage: UsageAsked {
                at_end: false,
                continuous: false,
            },
            prompt_tokens,
            prompt,
            priority: priority(parameters)?,
            output_tokens,
            finish: match output_tokens == limit {
                true => Finish::Length,
                false => Finish::Stop,
            },
            mindie: Some(Asked {
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
) -> Result<(&'a str, Vec<u32>), Refusal> {
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
            let id = |id: &Value| u32::try_from(id.as_u64()?).ok();
            let ids: Option<Vec<u32>> = ids.iter().map(id).collect();
            let wrong = || Refusal::bad_request("Parameter input_id must be integer");
            Some(ids.ok_or_else(wrong)?)
        }
        _ => None,
    };
    let (text, ids) = match (ids, body.get(field)) {
        (Some(ids), _) => ("", ids),
        (None, Some(Value::String(text))) => (text.as_str(), config.tokenizer.encode(text)),
        (None, None | Some(Value::Null)) => return Err(Refusal::bad_request(missing)),
        (None, Some(_)) => {
            let message = format!("The type of {field} is abnormal");
            return Err(Refusal::bad_request(message));
        }
    };
    if ids.is_empty() {
        return Err(Refusal::bad_request(
            "Inputs token length must be in (0, 1048576], but got 0",
        ));
    }
    Ok((text, ids))
}

/// The most tokens of an answer, where nobody asks: 20, or maxIterTimes in vLLM's form.
fn limit(form: Form, parameters: &Map<String, Value>, config: &Config) -> Result<u32, Refusal> {
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

impl Asked {
    pub(crate) fn event_end(&self) -> &'static [u8] {
        match self.form {
            Form::Vllm => b"\0",
            _ => b"\n\n",
        }
    }

    fn event_start(&self) -> &'static [u8] {
        match self.form {
            Form::Native | Form::Tgi => b"data: ",
            Form::Vllm => b"",
            Form::Triton => b"data:",
        }
    }

    fn reason(finish: Finish) -> &'static str {
        match finish {
            Finish::Stop => "eos_token",
            Finish::Length => "length",
        }
    }

    pub(crate) fn event(
        &self,
        out: &mut Vec<u8>,
        told: &Told<'_>,
        event: &TokenEvent<'_>,
        progress: &Progress<'_>,
    ) {
        let text = String::from_utf8_lossy(event.text);
        let so_far = String::from_utf8_lossy(progress.so_far);
        let ms = |took: Duration| took.as_micros() as f64 / 1000.0;
        let (prefill, decode) = match progress.generated as usize == progress.ids.len() {
            true => (Some(ms(progress.took)), None),
            false => (None, Some(ms(progress.took))),
        };
        let details = |finish| {
            self.details.then(|| {
                json!({"finish_reason": Asked::reason(finish),
                       "generated_tokens": progress.generated, "seed": self.seed})
            })
        };
        let event = match (self.form, event.finish) {
            (Form::Native, None) => json!({
                "prefill_time": prefill, "decode_time": decode,
                "token": {"id": progress.ids, "text": text},
            }),
            (Form::Native, Some(finish)) => json!({
                "prefill_time": prefill, "decode_time": decode, "generated_text": so_far,
                "details": details(finish), "token": {"id": progress.ids, "text": null},
            }),
            (Form::Tgi, finish) => {
                let mut details = finish.and_then(details);
                if let Some(details) = &mut details {
                    details["prompt_tokens"] = json!(told.prompt_tokens);
                }
                json!({
                    "token": {"id": progress.ids, "text": text, "logprob": null, "special": null},
                    "generated_text": finish.map(|_| &so_far), "details": details,
                })
            }
            (Form::Vllm, _) => json!({"text": [text]}),
            (Form::Triton, finish) => {
                let mut answer = self.triton(told, &text, progress.generated, finish);
                if self.details {
                    let last = event.usage.and_then(|usage| usage.per_token);
                    answer["details"]["batch_size"] =
                        json!(last.and_then(|it| it.batch_size.last()));
                    answer["details"]["queue_wait_time"] =
                        json!(last.and_then(|it| it.queue_wait_us.last()));
                    answer["prefill_time"] = json!(prefill);
                    answer["decode_time"] = json!(decode);
                }
                answer
            }
        };
        out.extend_from_slice(self.event_start());
        out.extend_from_slice(event.to_string().as_bytes());
    }

    /// The answer to a request that does not stream.
    pub(crate) fn whole(
        &self,
        told: &Told<'_>,
        text: &str,
        ids: &[u32],
        finish: Finish,
        usage: Usage<'_>,
    ) -> String {
        let reason = Asked::reason(finish);
        let token = |id: &u32| json!({"id": id, "logprob": null, "special": null, "text": null});
        let answer = match self.form {
            Form::Vllm => json!({"text": [format!("{} {text}", self.prompt)]}),
            Form::Triton => {
                let mut answer = self.triton(told, text, usage.output, Some(finish));
                if let Some(per_token) = usage.per_token.filter(|_| self.details) {
                    answer["details"]["batch_size"] = json!(per_token.batch_size);
                    answer["details"]["queue_wait_time"] = json!(per_token.queue_wait_us);
                }
                answer
            }
            Form::Native | Form::Tgi if !self.details => json!({"generated_text": text}),
            Form::Native => json!({"generated_text": text, "details": {
                "finish_reason": reason, "generated_tokens": usage.output,
                "generated_token_ids": ids, "seed": self.seed,
            }}),
            Form::Tgi => json!({"generated_text": text, "details": {
                "prompt_tokens": told.prompt_tokens, "finish_reason": reason,
                "generated_tokens": usage.output, "prefill": [], "seed": self.seed,
                "tokens": ids.iter().map(token).collect::<Vec<_>>(),
            }}),
        };
        answer.to_string()
    }

    fn triton(&self, told: &Told<'_>, text: &str, generated: u32, finish: Option<Finish>) -> Value {
        let mut answer = json!({
            "id": self.id.as_deref().unwrap_or(told.request_id), "model_name": told.model,
            "model_version": null, "text_output": text,
        });
        if self.details {
            answer["details"] = json!({
                "generated_tokens": generated, "first_token_cost": null, "decode_cost": null,
            });
            if let Some(finish) = finish {
                answer["details"]["finish_reason"] = json!(Asked::reason(finish));
            }
        }
        answer
    }
}

/// What answers tell of the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) model: &'a str,
    pub(crate) prompt_tokens: u32,
}
