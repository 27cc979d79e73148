//! The bytes of events and answers, shaped as vLLM's.
//!
//! What stays the same within a request is rendered once; a token's event is then a few
//! copies, with no serializer on the way.

use serde_json::{Value, json};

use crate::{
    completion_request::Api,
    engine::Finish,
    fault::{Faults, Switch},
    language::Language,
    media::MediaTokens,
    native_answer::{AnswerContext, NativeOptions},
    random::RandomStream,
    reply::ENGINE_DEAD,
    token_event::{Channel, TokenEvent, Usage},
    tokenizer::{Piece, Tokenizer},
};

#[derive(Clone, Debug)]
pub(crate) struct AnswerTokens<'a> {
    draw: RandomStream,
    pieces: &'a [Piece],
    /// The text of the first token, if it is not that of its piece.
    opening: Option<&'static str>,
    /// What is said in place of the pieces' text, as it stands in JSON, over and over.
    words: &'a [String],
    said: usize,
}

impl<'a> AnswerTokens<'a> {
    pub(crate) fn new(
        draw: RandomStream,
        tokenizer: &'a Tokenizer,
        language: Language,
    ) -> AnswerTokens<'a> {
        AnswerTokens {
            draw,
            pieces: tokenizer.pieces(language),
            opening: None,
            words: &[],
            said: 0,
        }
    }

    pub(crate) fn opening(self, opening: Option<&'static str>) -> Self {
        AnswerTokens { opening, ..self }
    }

    pub(crate) fn saying(self, words: &'a [String]) -> Self {
        AnswerTokens { words, ..self }
    }

    /// Appends the next token's text; which it is.
    pub(crate) fn append(&mut self, out: &mut Vec<u8>) -> u32 {
        let piece = self.next();
        if !self.words.is_empty() {
            let word = &self.words[self.said % self.words.len()];
            self.said += 1;
            out.extend_from_slice(word.as_bytes());
            return piece.id;
        }
        let text = self.opening.take().unwrap_or(&piece.text);
        out.extend_from_slice(text.as_bytes());
        piece.id
    }

    /// The tokens of the whole answer: the same as [`Self::append`] gives.
    pub(crate) fn ids(mut self, count: u32) -> impl Iterator<Item = u32> {
        (0..count).map(move |_| self.next().id)
    }

    fn next(&mut self) -> &'a Piece {
        &self.pieces[self.draw.below(self.pieces.len() as u64) as usize]
    }
}

/// Renders the events of one request, without the empty line that ends an event.
pub(crate) struct Renderer<'a> {
    api: Api,
    prompt_tokens: u32,
    media_tokens: MediaTokens,
    /// `data: ` as the faults want it.
    data: &'static [u8],
    /// The common beginning of every chunk's JSON, up to the model.
    prefix: Vec<u8>,
    event_end: &'static [u8],
    /// MindIE's own form, in place of OpenAI's.
    native: Option<(&'a NativeOptions, AnswerContext<'a>)>,
}

impl<'a> Renderer<'a> {
    pub(crate) fn new(
        api: Api,
        request_id: &str,
        created_s: u64,
        model: &str,
        prompt_tokens: u32,
        faults: &Faults,
    ) -> Renderer<'a> {
        let id = Value::from(answer_id(api, request_id));
        let model = Value::from(model);
        let object = match api {
            Api::Chat => "chat.completion.chunk",
            Api::Completions => "text_completion",
            Api::Transcriptions => "transcription.chunk",
        };
        let prefix = format!(
            "{{\"id\":{id},\"object\":\"{object}\",\"created\":{created_s},\"model\":{model},"
        );
        Renderer {
            api,
            prompt_tokens,
            media_tokens: MediaTokens::default(),
            data: if faults.has(Switch::NoSpace) {
                b"data:"
            } else {
                b"data: "
            },
            prefix: prefix.into_bytes(),
            event_end: if faults.has(Switch::Crlf) {
                b"\r\n\r\n"
            } else {
                b"\n\n"
            },
            native: None,
        }
    }

    pub(crate) fn with_media(mut self, tokens: MediaTokens) -> Self {
        self.media_tokens = tokens;
        self
    }

    pub(crate) fn in_form(mut self, asked: &'a NativeOptions, context: AnswerContext<'a>) -> Self {
        self.event_end = asked.event_end();
        self.data = asked.event_start();
        self.native = Some((asked, context));
        self
    }

    pub(crate) fn event_end(&self) -> &'static [u8] {
        self.event_end
    }

    pub(crate) fn tokens(&self, out: &mut Vec<u8>, event: &TokenEvent<'_>) {
        if let (Some((asked, context)), Some(progress)) = (&self.native, &event.progress) {
            return asked.event(out, context, event, progress);
        }
        self.open(out);
        out.extend_from_slice(match (self.api, event.channel) {
            (Api::Completions, _) => b"\"choices\":[{\"index\":0,\"text\":\"",
            (Api::Transcriptions, _) => b"\"choices\":[{\"delta\":{\"content\":\"",
            (Api::Chat, Channel::Answer) => b"\"choices\":[{\"index\":0,\"delta\":{\"content\":\"",
            (Api::Chat, Channel::Reasoning) => {
                b"\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"".as_slice()
            }
            (Api::Chat, Channel::CallName) => {
                b"\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call-0\",\
                  \"type\":\"function\",\"function\":{\"name\":\""
            }
            (Api::Chat, Channel::CallArguments) => {
                b"\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\
                  \"function\":{\"arguments\":\""
            }
        });
        out.extend_from_slice(event.text);
        if self.api == Api::Transcriptions && event.finish.is_none() {
            // Only the last chunk has a finish at all.
            out.extend_from_slice(b"\"}}]");
            return self.close(out, event.usage);
        }
        out.extend_from_slice(match (self.api, event.channel) {
            (Api::Chat, Channel::CallName | Channel::CallArguments) => {
                b"\"}}]},\"logprobs\":null,\"finish_reason\":"
            }
            (Api::Chat, _) => b"\"},\"logprobs\":null,\"finish_reason\":",
            (Api::Transcriptions, _) => b"\"},\"finish_reason\":",
            (Api::Completions, _) => b"\",\"logprobs\":null,\"finish_reason\":".as_slice(),
        });
        out.extend_from_slice(match event.finish {
            None => b"null",
            Some(Finish::Stop) if event.channel == Channel::CallArguments => b"\"tool_calls\"",
            Some(Finish::Stop) => b"\"stop\"",
            Some(Finish::Length) => b"\"length\"".as_slice(),
        });
        out.extend_from_slice(match self.api {
            Api::Transcriptions => b",\"stop_reason\":null}]",
            _ => b",\"stop_reason\":null,\"token_ids\":null}]".as_slice(),
        });
        self.close(out, event.usage);
    }

    /// The chunk that only says who speaks.
    pub(crate) fn role(&self, out: &mut Vec<u8>, usage: Option<Usage<'_>>) {
        self.open(out);
        out.extend_from_slice(
            b"\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\
              \"logprobs\":null,\"finish_reason\":null}]",
        );
        self.close(out, usage);
    }

    /// The chunk that only tells usage.
    pub(crate) fn usage(&self, out: &mut Vec<u8>, usage: Usage<'_>) {
        self.open(out);
        out.extend_from_slice(b"\"choices\":[]");
        self.close(out, Some(usage));
    }

    /// An error as an event of a stream that began with 200.
    pub(crate) fn error(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.data);
        out.extend_from_slice(inband_error().to_string().as_bytes());
    }

    pub(crate) fn done(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.data);
        out.extend_from_slice(b"[DONE]");
    }

    fn open(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.data);
        out.extend_from_slice(&self.prefix);
    }

    fn close(&self, out: &mut Vec<u8>, usage: Option<Usage<'_>>) {
        if let Some(usage) = usage {
            out.extend_from_slice(b",\"usage\":");
            usage.write(out, self.prompt_tokens, self.media_tokens);
        }
        out.push(b'}');
    }
}

/// The id that clients see: vLLM puts the kind before the request's id.
fn answer_id(api: Api, request_id: &str) -> String {
    match api {
        Api::Chat => format!("chatcmpl-{request_id}"),
        Api::Completions => format!("cmpl-{request_id}"),
        Api::Transcriptions => format!("transcribe-{request_id}"),
    }
}

pub(crate) fn inband_error() -> Value {
    json!({"error": {
        "message": ENGINE_DEAD,
        "type": "InternalServerError", "param": null, "code": 500,
    }})
}

pub(crate) struct WholeAnswer<'a> {
    pub(crate) api: Api,
    pub(crate) request_id: &'a str,
    pub(crate) created_s: u64,
    pub(crate) model: &'a str,
    pub(crate) reasoning: Option<&'a str>,
    pub(crate) text: &'a str,
    /// The tool that is called with the text as its arguments.
    pub(crate) calls: Option<&'a str>,
    pub(crate) finish: Finish,
    pub(crate) media_tokens: MediaTokens,
    /// Seconds of the sound that was transcribed.
    pub(crate) audio_s: Option<u32>,
    /// Prompt tokens and the rest, where usage is reported.
    pub(crate) usage: Option<(u32, Usage<'a>)>,
}

impl WholeAnswer<'_> {
    pub(crate) fn render(&self) -> String {
        if self.api == Api::Transcriptions {
            let usage = self.usage.and(self.audio_s);
            let usage = usage.map(|seconds| json!({"type": "duration", "seconds": seconds}));
            return json!({"text": self.text, "usage": usage}).to_string();
        }
        let finish = self.finish;
        let (object, choice) = match self.api {
            Api::Chat if self.calls.is_some() => (
                "chat.completion",
                json!({
                    "index": 0,
                    "message": {
                        "role": "assistant", "content": null,
                        "tool_calls": [{
                            "id": "call-0", "type": "function",
                            "function": {"name": self.calls, "arguments": self.text},
                        }],
                    },
                    "logprobs": null, "finish_reason": "tool_calls", "stop_reason": null,
                }),
            ),
            Api::Chat => (
                "chat.completion",
                json!({
                    "index": 0,
                    "message": {
                        "role": "assistant", "reasoning_content": self.reasoning,
                        "content": self.text, "tool_calls": [],
                    },
                    "logprobs": null, "finish_reason": finish, "stop_reason": null,
                }),
            ),
            Api::Completions | Api::Transcriptions => (
                "text_completion",
                json!({
                    "index": 0, "text": self.text, "logprobs": null,
                    "finish_reason": finish, "stop_reason": null,
                }),
            ),
        };
        let mut answer = json!({
            "id": answer_id(self.api, self.request_id), "object": object,
            "created": self.created_s, "model": self.model, "choices": [choice],
        });
        if let Some((prompt, usage)) = self.usage {
            let output = usage.output;
            let mut details = (usage.cached > 0).then(|| json!({"cached_tokens": usage.cached}));
            for (name, tokens) in self.media_tokens.named() {
                let details = details.get_or_insert_with(|| json!({}));
                details[name] = tokens.into();
            }
            answer["usage"] = json!({
                "prompt_tokens": prompt, "total_tokens": prompt.saturating_add(output),
                "completion_tokens": output, "prompt_tokens_details": details,
            });
            if let Some(per_token) = usage.per_token {
                answer["usage"]["batch_size"] = json!(per_token.batch_size);
                answer["usage"]["queue_wait_time"] = json!(per_token.queue_wait_us);
            }
        }
        answer.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renderer(api: Api) -> Renderer<'static> {
        Renderer::new(api, "r\"1", 17, "m/x", 9, &Faults::default())
    }

    fn json_of(event: &[u8]) -> Value {
        let json = event.strip_prefix(b"data: ").expect("an event of data");
        serde_json::from_slice(json).expect("valid JSON")
    }

    #[test]
    fn every_chunk_is_valid_json_of_the_right_shape() {
        for api in [Api::Chat, Api::Completions, Api::Transcriptions] {
            for finish in [None, Some(Finish::Stop), Some(Finish::Length)] {
                for usage in [None, Some(Usage::of(4))] {
                    let mut out = Vec::new();
                    let event = TokenEvent {
                        text: b" time",
                        channel: Channel::Answer,
                        finish,
                        usage,
                        progress: None,
                    };
                    renderer(api).tokens(&mut out, &event);
                    let chunk = json_of(&out);
                    let choice = &chunk["choices"][0];
                    let (text, id) = match api {
                        Api::Chat => (&choice["delta"]["content"], "chatcmpl-r\"1"),
                        Api::Completions => (&choice["text"], "cmpl-r\"1"),
                        Api::Transcriptions => (&choice["delta"]["content"], "transcribe-r\"1"),
                    };
                    assert_eq!(text, " time");
                    assert_eq!(chunk["id"], id);
                    assert_eq!(chunk["model"], "m/x");
                    assert_eq!(choice["finish_reason"], json!(finish));
                    match usage {
                        None => assert!(chunk.get("usage").is_none()),
                        Some(_) => assert_eq!(chunk["usage"]["total_tokens"], 13),
                    }
                }
            }
        }
    }

    #[test]
    fn role_usage_and_error_events_are_valid_json() {
        let renderer = renderer(Api::Chat);
        let mut out = Vec::new();
        renderer.role(&mut out, None);
        let role = json_of(&out);
        assert_eq!(role["choices"][0]["delta"]["role"], "assistant");
        assert_eq!(role["choices"][0]["delta"]["content"], "");
        out.clear();
        renderer.usage(&mut out, Usage::of(5));
        let usage = json_of(&out);
        assert_eq!(usage["choices"], json!([]));
        assert_eq!(usage["usage"]["completion_tokens"], 5);
        out.clear();
        renderer.error(&mut out);
        assert_eq!(json_of(&out)["error"]["code"], 500);
    }
}
