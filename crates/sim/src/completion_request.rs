//! What a request for a completion asks for: its JSON body, checked as vLLM would.

use serde_json::{Map, Value};

use crate::{
    config::Config,
    engine::Finish,
    fault::Switch,
    fields::{check_model, count, flag, priority, wrong_type},
    language::Language,
    media::MediaTokens,
    native_answer::NativeOptions,
    prompt,
    random::{Purpose, RandomStream},
    reply::ErrorReply,
    structured::{self, Structured, escaped, pieces},
    tokenizer::OpensAnswer,
    wish::Wish,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Completions,
    Transcriptions,
}

impl Api {
    /// The limit where the client gives none.
    pub(crate) fn default_limit(self) -> u32 {
        match self {
            Api::Chat => 128,
            Api::Completions => 16,
            // As many as Whisper's decoder can say.
            Api::Transcriptions => 448,
        }
    }
}

/// The usage that the client asks for in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsageAsked {
    pub(crate) at_end: bool,
    pub(crate) continuous: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompletionRequest {
    pub(crate) api: Api,
    pub(crate) stream: bool,
    pub(crate) usage: UsageAsked,
    pub(crate) prompt_tokens: u32,
    /// Those of them that stand for images and sounds.
    pub(crate) media_tokens: MediaTokens,
    /// Seconds of the sound, rounded up, where one is transcribed.
    pub(crate) audio_s: Option<u32>,
    /// The prompt itself, where an engine computes it.
    pub(crate) prompt: Vec<u32>,
    /// Lower runs first, where the engine goes by it.
    pub(crate) priority: i32,
    pub(crate) output_tokens: u32,
    /// What an answer opens with that declines what the prompt asks for.
    pub(crate) declines: Option<&'static str>,
    /// What the answer is written in.
    pub(crate) language: Language,
    pub(crate) finish: Finish,
    /// The adapter that it names.
    pub(crate) adapter: Option<String>,
    /// What the answer says token by token, as it stands in JSON; empty: words of its own.
    pub(crate) says: Vec<String>,
    /// The tool that the answer calls; then the first token is its name.
    pub(crate) calls: Option<String>,
    /// Set where it came to one of MindIE's own endpoints.
    pub(crate) native: Option<NativeOptions>,
}

impl CompletionRequest {
    /// Reads and checks a body. `number` counts the requests in order of arrival; together
    /// with the seed it decides where generation stops by itself.
    pub(crate) fn parse(
        api: Api,
        body: &[u8],
        config: &Config,
        number: u64,
    ) -> Result<CompletionRequest, ErrorReply> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| ErrorReply::bad_request(format!("the body is not JSON: {error}")))?;
        let Value::Object(body) = body else {
            return Err(ErrorReply::bad_request("the body is not a JSON object"));
        };
        let rejected = &config.faults.reject_fields;
        if let Some(field) = rejected.iter().find(|field| body.contains_key(*field)) {
            return Err(ErrorReply::extra_field(field, &body[field]));
        }
        check_model(&body, config)?;
        if count(&body, "n")?.is_some_and(|n| n != 1) {
            return Err(ErrorReply::bad_request("n other than 1 is not supported"));
        }
        let tokenizer = &config.tokenizer;
        let mut prompt = match api {
            Api::Chat => prompt::chat(tokenizer, &body, OpensAnswer::Yes)?,
            Api::Completions | Api::Transcriptions => prompt::completion(tokenizer, &body)?,
        };
        let (media_tokens, stand_ins) = MediaTokens::of_chat(&body)?;
        prompt.extend(stand_ins);
        if let Some(most) = truncation(&body, config.max_model_len)? {
            // The end of a prompt says what is asked for.
            prompt.drain(..prompt.len().saturating_sub(most as usize));
        }
        let prompt_tokens = u32::try_from(prompt.len()).unwrap_or(u32::MAX);
        let (limit, asked) = output_limit(api, &body, config, prompt_tokens)?;
        check_context(api, config.max_model_len, prompt_tokens, asked)?;
        let least = count(&body, "min_tokens")?.unwrap_or(0);
        if least > limit {
            return Err(ErrorReply::bad_request(format!(
                "min_tokens must be less than or equal to max_tokens={limit}, got {least}."
            )));
        }
        let structured = structured::asked(&body).filter(|_| api == Api::Chat);
        let is_structured = structured.is_some();
        let (calls, says) = match structured {
            Some(Structured { tool, json }) => {
                let name = tool.iter().map(|name| escaped(name));
                (tool.clone(), name.chain(pieces(&json)).collect())
            }
            None if config.faults.has(Switch::Echo) => (None, echo(&body)),
            None => (None, Vec::new()),
        };
        let exact = flag(&body, "ignore_eos")?;
        let (output_tokens, declines) = if exact && !is_structured {
            (limit, None)
        } else if !says.is_empty() {
            let tokens = u32::try_from(says.len()).unwrap_or(u32::MAX);
            (tokens.clamp(least.max(1), limit), None)
        } else {
            answer(&body, config, number, limit, least)
        };
        let options = match body.get("stream_options") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(options)) => options.clone(),
            Some(_) => return Err(wrong_type("stream_options", "an object")),
        };
        Ok(CompletionRequest {
            api,
            stream: flag(&body, "stream")?,
            usage: UsageAsked {
                at_end: flag(&options, "include_usage")?,
                continuous: flag(&options, "continuous_usage_stats")?,
            },
            prompt_tokens,
            media_tokens,
            audio_s: None,
            prompt: if config.engine.is_some() {
                prompt
            } else {
                Vec::new()
            },
            priority: priority(&body)?,
            output_tokens,
            declines,
            language: Language::of_body(&body),
            finish: finish(output_tokens, limit),
            says,
            calls,
            adapter: adapter(&body, config),
            native: None,
        })
    }
}

fn adapter(body: &Map<String, Value>, config: &Config) -> Option<String> {
    let model = body.get("model")?.as_str()?;
    (model != config.model).then(|| model.to_owned())
}

/// The words of the last message, or of the prompt.
fn echo(body: &Map<String, Value>) -> Vec<String> {
    let last = body.get("messages").and_then(|all| all.as_array()?.last());
    let said = match last.and_then(|message| message.get("content")) {
        Some(Value::Array(parts)) => parts.iter().find_map(|part| part.get("text")?.as_str()),
        Some(content) => content.as_str(),
        None => body.get("prompt").and_then(Value::as_str),
    };
    let words = said.unwrap_or_default().split_whitespace();
    let parted = words.enumerate().map(|(place, word)| match place {
        0 => escaped(word),
        _ => format!(" {}", escaped(word)),
    });
    parted.collect()
}

/// Where generation stops by itself: where the prompt asks for a length, about there.
pub(crate) fn answer(
    body: &Map<String, Value>,
    config: &Config,
    number: u64,
    limit: u32,
    least: u32,
) -> (u32, Option<&'static str>) {
    match Wish::in_body(body) {
        Some(wish) => {
            let granted = wish.granted(&config.tokenizer, config.seed, number);
            (granted.tokens.clamp(least.max(1), limit), granted.declines)
        }
        None => (length(config, number, limit, least), None),
    }
}

/// From a quarter of the limit on.
fn length(config: &Config, number: u64, limit: u32, least: u32) -> u32 {
    let low = limit.div_ceil(4).max(least);
    let mut draw = RandomStream::new(config.seed, number, Purpose::Length);
    let more = draw.below(u64::from(limit - low) + 1);
    low + u32::try_from(more).expect("drawn below a u32")
}

pub(crate) fn finish(output_tokens: u32, limit: u32) -> Finish {
    if output_tokens == limit {
        Finish::Length
    } else {
        Finish::Stop
    }
}

/// The limit that holds, and the one that the client gave.
fn output_limit(
    api: Api,
    body: &Map<String, Value>,
    config: &Config,
    prompt_tokens: u32,
) -> Result<(u32, Option<u32>), ErrorReply> {
    let old = count(body, "max_tokens")?;
    if old.is_some() && config.faults.has(Switch::RequireMaxCompletionTokens) {
        return Err(ErrorReply::unsupported_max_tokens());
    }
    let asked = match api {
        Api::Chat => count(body, "max_completion_tokens")?.or(old),
        Api::Completions | Api::Transcriptions => old.or(count(body, "max_completion_tokens")?),
    };
    if asked == Some(0) {
        return Err(ErrorReply::bad_request(
            "max_tokens must be at least 1, got 0.",
        ));
    }
    let room = config.max_model_len.saturating_sub(prompt_tokens).max(1);
    // A chat without a limit ends where the answer does, which is known where a length is asked for.
    let ends_itself = !flag(body, "ignore_eos")? && Wish::in_body(body).is_some();
    let usual = match api {
        Api::Chat if ends_itself => room,
        _ => api.default_limit().min(room),
    };
    Ok((asked.unwrap_or(usual), asked))
}

fn check_context(api: Api, most: u32, prompt: u32, asked: Option<u32>) -> Result<(), ErrorReply> {
    let output = asked.unwrap_or(1);
    let total = u64::from(prompt) + u64::from(output);
    if total <= u64::from(most) {
        return Ok(());
    }
    let part = match api {
        Api::Chat => "messages",
        Api::Completions | Api::Transcriptions => "prompt",
    };
    Err(ErrorReply::bad_request(format!(
        "This model's maximum context length is {most} tokens. However, you requested {total} \
         tokens ({prompt} in the {part}, {output} in the completion). Please reduce the length \
         of the {part} or completion."
    )))
}

/// vLLM's `truncate_prompt_tokens`; −1 is what the model takes.
fn truncation(body: &Map<String, Value>, most: u32) -> Result<Option<u32>, ErrorReply> {
    match body.get("truncate_prompt_tokens").and_then(Value::as_i64) {
        Some(-1) => Ok(Some(most.saturating_sub(1))),
        _ => count(body, "truncate_prompt_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(api: Api, body: Value) -> Result<CompletionRequest, ErrorReply> {
        let config = Config::default();
        CompletionRequest::parse(api, body.to_string().as_bytes(), &config, 0)
    }

    fn message(result: Result<CompletionRequest, ErrorReply>) -> String {
        result.unwrap_err().body
    }

    #[test]
    fn an_answer_is_about_as_long_as_its_prompt_asks() {
        let tokens = |asked: u32| {
            let prompt = format!("Continue. Write about {asked} characters.");
            let body =
                json!({"max_tokens": 4096, "messages": [{"role": "user", "content": prompt}]})
                    .to_string();
            let config = Config::default();
            let parse =
                |number| CompletionRequest::parse(Api::Chat, body.as_bytes(), &config, number);
            let all: Vec<u32> = (0..40).map(|it| parse(it).unwrap().output_tokens).collect();
            all.iter().sum::<u32>()
        };
        assert!(tokens(2_000) > 4 * tokens(200) && tokens(200) > 40);
    }

    #[test]
    fn a_chat_without_a_limit_ends_where_its_answer_does() {
        let asking =
            json!([{"role": "user", "content": "请续写大约2000个字。山谷里住着一位老人。"}]);
        let work = parse(Api::Chat, json!({"messages": asking})).unwrap();
        assert!(work.output_tokens > 500, "{}", work.output_tokens);
        assert_eq!(work.language, Language::Chinese);
        let exact = json!({"messages": asking, "ignore_eos": true});
        assert_eq!(parse(Api::Chat, exact).unwrap().output_tokens, 128);
    }

    #[test]
    fn prompts_are_counted_in_words_or_ids() {
        let tokens = |prompt: Value| {
            let body = json!({"prompt": prompt, "ignore_eos": true});
            parse(Api::Completions, body).unwrap().prompt_tokens
        };
        assert_eq!(tokens(json!("one two  three\nfour")), 4);
        assert_eq!(tokens(json!([1, 2, 3])), 3);
        assert_eq!(tokens(json!(["one two"])), 2);
        assert_eq!(tokens(json!([[5, 6]])), 2);
    }

    #[test]
    fn chats_count_all_contents_and_the_template() {
        let body = json!({"messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "say it now"}]},
        ]});
        let work = parse(Api::Chat, body).unwrap();
        assert_eq!(work.prompt_tokens, 2 + 3 + 2 * 4 + 3);
    }

    #[test]
    fn lengths_are_exact_where_asked_and_below_the_limit_otherwise() {
        let exact = json!({"prompt": "a", "max_tokens": 40, "ignore_eos": true});
        let work = parse(Api::Completions, exact).unwrap();
        assert_eq!((work.output_tokens, work.finish), (40, Finish::Length));
        let least = json!({"prompt": "a", "max_tokens": 40, "min_tokens": 40});
        assert_eq!(parse(Api::Completions, least).unwrap().output_tokens, 40);

        let free = json!({"prompt": "a", "max_tokens": 40}).to_string();
        let config = Config::default();
        let mut stops = 0;
        for number in 0..200 {
            let work = CompletionRequest::parse(Api::Completions, free.as_bytes(), &config, number)
                .unwrap();
            assert!((10..=40).contains(&work.output_tokens));
            assert_eq!(work.finish == Finish::Length, work.output_tokens == 40);
            stops += u32::from(work.finish == Finish::Stop);
        }
        assert!(stops > 100);
    }

    #[test]
    fn limits_have_defaults_and_two_names() {
        let chat = |mut body: Value| {
            body["messages"] = json!([{"content": "a"}]);
            body["ignore_eos"] = true.into();
            parse(Api::Chat, body).unwrap().output_tokens
        };
        assert_eq!(chat(json!({})), 128);
        assert_eq!(chat(json!({"max_tokens": 5})), 5);
        let both = json!({"max_tokens": 5, "max_completion_tokens": 6});
        assert_eq!(chat(both), 6);
        let plain = json!({"prompt": "a", "ignore_eos": true});
        assert_eq!(parse(Api::Completions, plain).unwrap().output_tokens, 16);
    }

    #[test]
    fn too_long_a_request_is_refused_in_vllms_words() {
        let body = json!({"prompt": "a b c", "max_tokens": 32_768});
        let text = message(parse(Api::Completions, body));
        let said = "This model's maximum context length is 32768 tokens. However, you requested \
                    32771 tokens (3 in the prompt, 32768 in the completion).";
        assert!(text.contains(said), "{text}");
    }

    #[test]
    fn wrong_bodies_are_refused() {
        let config = Config::default();
        let prompts =
            ["5", r#"["a", "b"]"#, "[]"].map(|prompt| format!(r#"{{"prompt": {prompt}}}"#));
        let more = [
            r#""max_tokens": 0"#,
            r#""max_tokens": -1"#,
            r#""max_tokens": 2, "min_tokens": 3"#,
            r#""stream": "yes""#,
            r#""n": 2"#,
        ];
        let more = more.map(|more| format!(r#"{{"prompt": "a", {more}}}"#));
        let bodies = prompts.iter().chain(&more).map(String::as_str);
        for body in bodies.chain(["", "{", "[]", "{}"]) {
            let refusal = CompletionRequest::parse(Api::Completions, body.as_bytes(), &config, 0);
            assert_eq!(refusal.unwrap_err().status, 400, "{body}");
        }
        let other = json!({"prompt": "a", "model": "other"});
        assert_eq!(parse(Api::Completions, other).unwrap_err().status, 404);
        let empty = parse(Api::Chat, json!({"messages": []}));
        assert_eq!(empty.unwrap_err().status, 400);
    }

    #[test]
    fn fields_can_be_made_unwelcome() {
        let faults = "reject-field=ignore_eos,require-max-completion-tokens";
        let config = Config {
            faults: faults.parse().unwrap(),
            ..Config::default()
        };
        for (field, value, status) in [
            ("ignore_eos", json!(true), Some(422)),
            ("max_tokens", json!(5), Some(400)),
            ("max_completion_tokens", json!(5), None),
        ] {
            let body = json!({"messages": [{"role": "user", "content": "a"}], field: value});
            let body = body.to_string();
            let parsed = CompletionRequest::parse(Api::Chat, body.as_bytes(), &config, 0);
            assert_eq!(
                parsed.err().map(|refusal| refusal.status),
                status,
                "{field}"
            );
        }
    }
}
