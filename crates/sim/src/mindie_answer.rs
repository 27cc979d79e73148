//! How MindIE's own endpoints answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    engine::Finish,
    token_event::{AnswerProgress, TokenEvent, Usage},
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
}

/// What a request to one of these endpoints asks for, beyond what all requests do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MindieOptions {
    pub(crate) form: Form,
    pub(crate) details: bool,
    pub(crate) seed: Option<i64>,
    /// vLLM's old endpoint repeats the prompt before the answer.
    pub(crate) prompt: String,
    pub(crate) id: Option<String>,
}

impl MindieOptions {
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
        let details = |finish| {
            self.details.then(|| {
                json!({"finish_reason": MindieOptions::reason(finish),
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
        };
        out.extend_from_slice(self.event_start());
        out.extend_from_slice(event.to_string().as_bytes());
    }

    pub(crate) fn whole(
        &self,
        context: &AnswerContext<'_>,
        text: &str,
        ids: &[u32],
        finish: Finish,
        usage: Usage<'_>,
    ) -> String {
        let reason = MindieOptions::reason(finish);
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
                answer["details"]["finish_reason"] = json!(MindieOptions::reason(finish));
            }
        }
        answer
    }
}

/// What answers repeat of the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerContext<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) model: &'a str,
    pub(crate) prompt_tokens: u32,
}
