//! What a request to `/v1/audio/transcriptions` asks for: a form with a sound, checked as vLLM would.

use serde_json::{Map, Value};

use crate::{
    completion_request::{Api, CompletionRequest, UsageAsked, finish},
    config::Config,
    fields::{check_model, count, flag},
    language::Language,
    media::{self, DECODER_PROMPT, MediaTokens},
    multipart,
    reply::ErrorReply,
};

/// A word of the decoder's prompt.
const INSTRUCTION: u32 = 5;

pub(crate) fn parse(
    content_type: &str,
    body: &[u8],
    config: &Config,
) -> Result<CompletionRequest, ErrorReply> {
    let parts = multipart::parts(content_type, body).map_err(ErrorReply::bad_request)?;
    let file = parts.iter().find(|part| part.name == "file");
    let file = file.ok_or_else(|| ErrorReply::bad_request("file: Field required"))?;
    if !file.is_file {
        return Err(ErrorReply::bad_request(
            "Expected 'file' to be a file-like object, not 'str'.",
        ));
    }
    let mut fields = Map::new();
    for part in parts.iter().filter(|part| !part.is_file) {
        let text = String::from_utf8_lossy(part.content);
        fields.insert(part.name.clone(), value_of(&part.name, &text));
    }
    let rejected = &config.faults.reject_fields;
    if let Some(field) = rejected.iter().find(|field| fields.contains_key(*field)) {
        return Err(ErrorReply::extra_field(field, &fields[field]));
    }
    check_model(&fields, config)?;
    let format = fields.get("response_format").and_then(Value::as_str);
    if !matches!(format, None | Some("json")) {
        return Err(ErrorReply::bad_request(
            "Currently only support response_format: `json`",
        ));
    }
    let stream = flag(&fields, "stream")?;
    let usage = UsageAsked {
        at_end: flag(&fields, "stream_include_usage")?,
        continuous: flag(&fields, "stream_continuous_usage_stats")?,
    };
    if (usage.at_end || usage.continuous) && !stream {
        return Err(ErrorReply::bad_request(
            "Stream options can only be defined when `stream=True`.",
        ));
    }
    let seconds = media::seconds_of(file.content)?;
    let media_tokens = MediaTokens::of_sound(seconds);
    let hint = fields.get("prompt").and_then(Value::as_str);
    let mut prompt = config.tokenizer.encode(hint.unwrap_or_default());
    prompt.extend(std::iter::repeat_n(INSTRUCTION, DECODER_PROMPT));
    prompt.extend(media::stand_in(file.content, media_tokens.all()));
    let prompt_tokens = u32::try_from(prompt.len()).unwrap_or(u32::MAX);
    let room = config.max_model_len.saturating_sub(prompt_tokens);
    if room == 0 {
        let most = config.max_model_len;
        return Err(ErrorReply::bad_request(format!(
            "This model's maximum context length is {most} tokens. However, a sound of {seconds} s \
             has {prompt_tokens}. Please reduce its length."
        )));
    }
    let limit = count(&fields, "max_completion_tokens")?.unwrap_or(room);
    let limit = limit.clamp(1, room);
    let output_tokens = media::said_in(seconds).min(limit);
    Ok(CompletionRequest {
        api: Api::Transcriptions,
        stream,
        usage,
        prompt_tokens,
        media_tokens,
        audio_s: Some(seconds.ceil() as u32),
        prompt: if config.engine.is_some() {
            prompt
        } else {
            Vec::new()
        },
        priority: 0,
        output_tokens,
        declines: None,
        language: Language::default(),
        finish: finish(output_tokens, limit),
        adapter: None,
        says: Vec::new(),
        calls: None,
        native: None,
    })
}

/// The text of a field as the value that it stands for.
fn value_of(name: &str, text: &str) -> Value {
    match name {
        "model" | "prompt" | "language" | "response_format" => text.into(),
        _ => match text.to_ascii_lowercase().as_str() {
            "true" => true.into(),
            "false" => false.into(),
            _ => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Finish;
    use crate::media::tests::wav;

    fn asked(fields: &[(&str, &str)], sound: &[u8]) -> Result<CompletionRequest, ErrorReply> {
        let mut body = Vec::new();
        for (name, text) in fields {
            let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(text.as_bytes());
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(
            b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n",
        );
        body.extend_from_slice(sound);
        body.extend_from_slice(b"\r\n--b--\r\n");
        let kind = "multipart/form-data; boundary=b";
        parse(kind, &body, &Config::default())
    }

    #[test]
    fn prompt_and_answer_are_as_long_as_the_sound() {
        let work = asked(&[("stream", "True")], &wav(80_000)).unwrap();
        assert_eq!((work.prompt_tokens, work.output_tokens), (504, 33));
        assert_eq!((work.stream, work.finish), (true, Finish::Stop));
        let hinted = asked(&[("prompt", "three more words")], &wav(80_000)).unwrap();
        assert_eq!(hinted.prompt_tokens, 507);
        let limited = asked(&[("max_completion_tokens", "7")], &wav(80_000)).unwrap();
        assert_eq!((limited.output_tokens, limited.finish), (7, Finish::Length));
        let usage = [("stream", "true"), ("stream_include_usage", "true")];
        assert!(asked(&usage, &wav(8)).unwrap().usage.at_end);
    }

    #[test]
    fn what_vllm_refuses_is_refused() {
        for (field, value, says) in [
            ("model", "other", "other"),
            ("stream_include_usage", "true", "stream=True"),
            ("response_format", "srt", "response_format"),
            ("stream", "perhaps", "stream"),
        ] {
            let refused = asked(&[(field, value)], &wav(8000)).unwrap_err().body;
            assert!(refused.contains(says), "{refused}");
        }
        let no_sound = asked(&[], b"no sound").unwrap_err().body;
        assert!(no_sound.contains("unsupported audio"), "{no_sound}");
        let long = asked(&[], &wav(8_000_000)).unwrap_err().body;
        assert!(long.contains("maximum context"), "{long}");
        let config = Config::default();
        let refused = |kind: &str, body: &[u8]| parse(kind, body, &config).unwrap_err().body;
        assert!(refused("application/json", b"{}").contains("boundary"));
        assert!(refused("multipart/form-data; boundary=b", b"--b--").contains("file"));
        let text = b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--b--";
        assert!(refused("multipart/form-data; boundary=b", text).contains("not 'str'"));
    }
}
