//! How endpoints beside OpenAI's chat and completions answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    engine::Finish,
    reply::EVENT_STREAM,
    token_event::{AnswerProgress, Channel, TokenEvent, Usage},
};

/// Whose API an endpoint imitates.
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
    /// `/generate` with `text`: each message repeats the text from the beginning.
    Sglang,
    /// `/completion`.
    LlamaCpp,
    /// `/api/generate`.
    Ollama,
    /// `/api/chat`.
    OllamaChat,
    /// `/v1/responses`.
    Responses,
    /// `/v1/messages`.
    Messages,
}

impl Form {
    /// Takes messages, and may think.
    pub(crate) fn is_chat(self) -> bool {
        matches!(self, Form::OllamaChat | Form::Responses | Form::Messages)
    }

    /// Of servers for one's own desk, which no engine here is.
    pub(crate) fn is_of_desktops(self) -> bool {
        matches!(self, Form::LlamaCpp | Form::Ollama | Form::OllamaChat)
    }

    /// The field that holds the limit and the like, where they are not beside the prompt.
    pub(crate) fn parameters(self) -> Option<&'static str> {
        match self {
            Form::Native | Form::Tgi | Form::Triton => Some("parameters"),
            Form::Sglang => Some("sampling_params"),
            Form::Ollama | Form::OllamaChat => Some("options"),
            Form::Vllm | Form::LlamaCpp | Form::Responses | Form::Messages => None,
        }
    }
}

/// What a request to one of these endpoints asks for, beyond what all requests do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NativeOptions {
    pub(crate) form: Form,
    pub(crate) details: bool,
    pub(crate) seed: Option<i64>,
    /// vLLM's old endpoint repeats the prompt before the answer.
    pub(crate) prompt: String,
    pub(crate) id: Option<String>,
}

impl NativeOptions {
    pub(crate) fn event_end(&self) -> &'static [u8] {
        match self.form {
            Form::Vllm => b"\0",
            Form::Ollama | Form::OllamaChat => b"\n",
            _ => b"\n\n",
        }
    }

    pub(crate) fn event_start(&self) -> &'static [u8] {
        match self.form {
            Form::Vllm | Form::Ollama | Form::OllamaChat => b"",
            Form::Triton => b"data:",
            _ => b"data: ",
        }
    }

    pub(crate) fn content_type(&self) -> &'static str {
        match self.form {
            Form::Ollama | Form::OllamaChat => "application/x-ndjson",
            _ => EVENT_STREAM,
        }
    }

    /// Whether a stream ends with `[DONE]`.
    pub(crate) fn says_done(&self) -> bool {
        self.form == Form::Sglang
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
        context: &AnswerContext<'_>,
        event: &TokenEvent<'_>,
        progress: &AnswerProgress<'_>,
    ) {
        let text = String::from_utf8_lossy(event.text);
        let so_far = String::from_utf8_lossy(progress.so_far);
        let ms = |took: Duration| took.as_micros() as f64 / 1000.0;
        let (prefill, decode) = if progress.generated as usize == progress.ids.len() {
            (Some(ms(progress.took)), None)
        } else {
            (None, Some(ms(progress.took)))
        };
        if let Form::Responses | Form::Messages = self.form {
            return self.typed_events(out, context, event, progress);
        }
        let details = |finish| {
            self.details.then(|| {
                json!({"finish_reason": NativeOptions::reason(finish),
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
                    details["prompt_tokens"] = json!(context.prompt_tokens);
                }
                json!({
                    "token": {"id": progress.ids, "text": text, "logprob": null, "special": null},
                    "generated_text": finish.map(|_| &so_far), "details": details,
                })
            }
            (Form::Vllm, _) => json!({"text": [text]}),
            (Form::Triton, finish) => {
                let mut answer = self.triton(context, &text, progress.generated, finish);
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
            (Form::Sglang, finish) => {
                let usage = event.usage.unwrap_or(Usage::of(progress.generated));
                self.sglang(context, &so_far, usage, finish)
            }
            (Form::LlamaCpp, finish) => self.llama_cpp(context, &text, progress.generated, finish),
            (Form::Ollama | Form::OllamaChat, finish) => {
                let reasons = event.channel == Channel::Reasoning;
                let (thinking, answer) = if reasons { (&*text, "") } else { ("", &*text) };
                self.ollama(
                    context,
                    (Some(thinking), answer),
                    progress.generated,
                    finish,
                )
            }
            (Form::Responses | Form::Messages, _) => return,
        };
        out.extend_from_slice(self.event_start());
        out.extend_from_slice(event.to_string().as_bytes());
    }

    pub(crate) fn whole(
        &self,
        context: &AnswerContext<'_>,
        (reasoning, text): (Option<&str>, &str),
        ids: &[u32],
        finish: Finish,
        usage: Usage<'_>,
    ) -> String {
        let reason = NativeOptions::reason(finish);
        let token = |id: &u32| json!({"id": id, "logprob": null, "special": null, "text": null});
        let answer = match self.form {
            Form::Vllm => json!({"text": [format!("{} {text}", self.prompt)]}),
            Form::Triton => {
                let mut answer = self.triton(context, text, usage.output, Some(finish));
                if let Some(per_token) = usage.per_token.filter(|_| self.details) {
                    answer["details"]["batch_size"] = json!(per_token.batch_size);
                    answer["details"]["queue_wait_time"] = json!(per_token.queue_wait_us);
                }
                answer
            }
            Form::Sglang => self.sglang(context, text, usage, Some(finish)),
            Form::LlamaCpp => self.llama_cpp(context, text, usage.output, Some(finish)),
            Form::Ollama | Form::OllamaChat => {
                self.ollama(context, (reasoning, text), usage.output, Some(finish))
            }
            Form::Responses => {
                let mut response = self.response(context, finish, usage);
                let mut output = Vec::new();
                if let Some(reasoning) = reasoning {
                    let content = json!([{"type": "reasoning_text", "text": reasoning}]);
                    output.push(json!({"type": "reasoning", "summary": [], "content": content}));
                }
                output.push(
                    json!({"type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}),
                );
                response["output"] = output.into();
                response
            }
            Form::Messages => {
                let mut content = Vec::new();
                if let Some(reasoning) = reasoning {
                    content.push(json!({"type": "thinking", "thinking": reasoning}));
                }
                content.push(json!({"type": "text", "text": text}));
                json!({
                    "id": context.request_id, "type": "message", "role": "assistant",
                    "model": context.model, "content": content, "stop_sequence": null,
                    "stop_reason": stop_reason(finish), "usage": self.anthropic(context, usage),
                })
            }
            Form::Native | Form::Tgi if !self.details => json!({"generated_text": text}),
            Form::Native => json!({"generated_text": text, "details": {
                "finish_reason": reason, "generated_tokens": usage.output,
                "generated_token_ids": ids, "seed": self.seed,
            }}),
            Form::Tgi => json!({"generated_text": text, "details": {
                "prompt_tokens": context.prompt_tokens, "finish_reason": reason,
                "generated_tokens": usage.output, "prefill": [], "seed": self.seed,
                "tokens": ids.iter().map(token).collect::<Vec<_>>(),
            }}),
        };
        answer.to_string()
    }

    fn sglang(
        &self,
        context: &AnswerContext<'_>,
        so_far: &str,
        usage: Usage<'_>,
        finish: Option<Finish>,
    ) -> Value {
        let finish = finish.map(|finish| match finish {
            Finish::Stop => json!({"type": "stop", "matched": 2}),
            Finish::Length => json!({"type": "length", "length": usage.output}),
        });
        json!({"text": so_far, "meta_info": {
            "id": context.request_id, "finish_reason": finish, "cached_tokens": usage.cached,
            "prompt_tokens": context.prompt_tokens, "completion_tokens": usage.output,
            "num_retractions": usage.preemptions,
        }})
    }

    fn llama_cpp(
        &self,
        context: &AnswerContext<'_>,
        text: &str,
        generated: u32,
        finish: Option<Finish>,
    ) -> Value {
        let mut message = json!({
            "index": 0, "content": text, "stop": finish.is_some(),
            "tokens_predicted": generated, "tokens_evaluated": context.prompt_tokens,
        });
        if let Some(finish) = finish {
            message["model"] = context.model.into();
            message["stop_type"] = match finish {
                Finish::Stop => "eos".into(),
                Finish::Length => "limit".into(),
            };
        }
        message
    }

    fn ollama(
        &self,
        context: &AnswerContext<'_>,
        (thinking, answer): (Option<&str>, &str),
        generated: u32,
        finish: Option<Finish>,
    ) -> Value {
        let mut message = json!({"model": context.model, "done": finish.is_some()});
        let thinking = thinking.filter(|text| !text.is_empty());
        if self.form == Form::OllamaChat {
            message["message"] = json!({"role": "assistant", "content": answer});
            if let Some(thinking) = thinking {
                message["message"]["thinking"] = thinking.into();
            }
        } else {
            message["response"] = answer.into();
        }
        if let Some(finish) = finish {
            message["done_reason"] = json!(finish);
            message["prompt_eval_count"] = context.prompt_tokens.into();
            message["eval_count"] = generated.into();
        }
        message
    }

    /// What OpenAI's responses say when they end.
    fn response(&self, context: &AnswerContext<'_>, finish: Finish, usage: Usage<'_>) -> Value {
        let (status, why) = match finish {
            Finish::Stop => ("completed", Value::Null),
            Finish::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
        };
        json!({
            "id": context.request_id, "object": "response", "model": context.model,
            "status": status, "incomplete_details": why,
            "usage": {
                "input_tokens": context.prompt_tokens, "output_tokens": usage.output,
                "total_tokens": context.prompt_tokens.saturating_add(usage.output),
                "input_tokens_details": {"cached_tokens": usage.cached},
            },
        })
    }

    /// Anthropic counts what was cached apart from the rest of the input.
    fn anthropic(&self, context: &AnswerContext<'_>, usage: Usage<'_>) -> Value {
        let input = context.prompt_tokens.saturating_sub(usage.cached);
        json!({"input_tokens": input, "cache_read_input_tokens": usage.cached,
               "output_tokens": usage.output})
    }

    /// The events that one step brings: the beginning before the first, the end after the last.
    fn typed_events(
        &self,
        out: &mut Vec<u8>,
        context: &AnswerContext<'_>,
        event: &TokenEvent<'_>,
        progress: &AnswerProgress<'_>,
    ) {
        let text = String::from_utf8_lossy(event.text);
        let reasons = event.channel == Channel::Reasoning;
        let first = progress.generated as usize == progress.ids.len();
        let usage = event.usage.unwrap_or(Usage::of(progress.generated));
        let mut events = Vec::new();
        if self.form == Form::Responses {
            let started = json!({"id": context.request_id, "object": "response",
                "model": context.model, "status": "in_progress", "output": []});
            if first {
                events.push(("response.created", json!({"response": started})));
                events.push(("response.in_progress", json!({"response": started})));
            }
            let delta = if reasons {
                "response.reasoning_text.delta"
            } else {
                "response.output_text.delta"
            };
            events.push((
                delta,
                json!({"delta": text, "item_id": "item", "output_index": 0}),
            ));
            if let Some(finish) = event.finish {
                let response = self.response(context, finish, usage);
                let ended = match finish {
                    Finish::Stop => "response.completed",
                    Finish::Length => "response.incomplete",
                };
                events.push((ended, json!({"response": response})));
            }
        } else {
            if first {
                let usage = self.anthropic(context, Usage { output: 0, ..usage });
                let message = json!({"id": context.request_id, "type": "message",
                    "role": "assistant", "model": context.model, "content": [],
                    "stop_reason": null, "usage": usage});
                let block = json!({"type": "text", "text": ""});
                events.push(("message_start", json!({"message": message})));
                events.push((
                    "content_block_start",
                    json!({"index": 0, "content_block": block}),
                ));
            }
            let delta = if reasons {
                json!({"type": "thinking_delta", "thinking": text})
            } else {
                json!({"type": "text_delta", "text": text})
            };
            events.push(("content_block_delta", json!({"index": 0, "delta": delta})));
            if let Some(finish) = event.finish {
                let usage = self.anthropic(context, usage);
                let delta = json!({"stop_reason": stop_reason(finish), "stop_sequence": null});
                events.push(("content_block_stop", json!({"index": 0})));
                events.push(("message_delta", json!({"delta": delta, "usage": usage})));
                events.push(("message_stop", json!({})));
            }
        }
        for (place, (kind, mut event)) in events.into_iter().enumerate() {
            event["type"] = kind.into();
            let between = if place > 0 { "\n\n" } else { "" };
            out.extend_from_slice(format!("{between}event: {kind}\ndata: {event}").as_bytes());
        }
    }

    fn triton(
        &self,
        context: &AnswerContext<'_>,
        text: &str,
        generated: u32,
        finish: Option<Finish>,
    ) -> Value {
        let mut answer = json!({
            "id": self.id.as_deref().unwrap_or(context.request_id), "model_name": context.model,
            "model_version": null, "text_output": text,
        });
        if self.details {
            answer["details"] = json!({
                "generated_tokens": generated, "first_token_cost": null, "decode_cost": null,
            });
            if let Some(finish) = finish {
                answer["details"]["finish_reason"] = json!(NativeOptions::reason(finish));
            }
        }
        answer
    }
}

/// Anthropic's word for why an answer ended.
fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
    }
}

/// What answers repeat of the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerContext<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) model: &'a str,
    pub(crate) prompt_tokens: u32,
}
