//! `/v1/audio/transcriptions`: a sound in, its text out. Streams come in two forms: vLLM's, whose
//! chunks are those of chat, and OpenAI's, whose events have a type.

use super::dialect::{AnswerText, BadMessage, Dialect, Message, Prompt, RequestOptions, object_of};
use super::multipart;
use super::prompt_text::push_text;
use super::wire::{MessageBuilder, error_message, parse, present, read, string, text, usage_of};
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use inferometer_core::medium::Medium;
use inferometer_core::record::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

pub(super) struct Transcriptions;

/// An event of OpenAI's, or a whole answer.
#[derive(Deserialize)]
struct RawEvent<T> {
    #[serde(rename = "type")]
    kind: Option<T>,
    choices: Option<T>,
    delta: Option<T>,
    text: Option<T>,
    duration: Option<T>,
    usage: Option<T>,
    error: Option<T>,
    message: Option<T>,
    detail: Option<T>,
}

/// What an answer has cost: tokens, or seconds of sound.
#[derive(Deserialize, Default)]
struct RawUsage<'a> {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    input_token_details: Option<InputDetails>,
    #[serde(borrow)]
    seconds: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct InputDetails {
    audio_tokens: Option<u32>,
}

impl Transcriptions {
    fn fields(
        options: &RequestOptions,
        prompt: &Prompt<'_>,
        limit: Option<u32>,
    ) -> Map<String, Value> {
        let mut fields = options.model_field();
        fields.insert("response_format".into(), "json".into());
        if options.stream {
            fields.insert("stream".into(), true.into());
        }
        // vLLM's names: those of `stream_options` cannot stand in a form.
        if options.stream && options.stream_usage {
            fields.insert("stream_include_usage".into(), true.into());
            if options.chunk_usage {
                fields.insert("stream_continuous_usage_stats".into(), true.into());
            }
        }
        let asked = [
            ("temperature", options.temperature.map(Value::from)),
            ("top_p", options.top_p.map(Value::from)),
            ("max_completion_tokens", limit.map(Value::from)),
        ];
        for (name, value) in asked {
            fields.extend(value.map(|value| (name.to_owned(), value)));
        }
        match prompt.content {
            Content::Text(text) if !text.is_empty() => {
                fields.insert("prompt".into(), (&**text).into());
            }
            // What else a row says is not for a server that only hears.
            Content::Body(object) => {
                let own = object_of(object).into_iter();
                fields.extend(own.filter(|(name, _)| name != "messages" && name != "prompt"));
            }
            _ => {}
        }
        fields.extend(options.extra.clone());
        fields
    }
}

impl Dialect for Transcriptions {
    fn api(&self) -> Api {
        Api::Transcriptions
    }

    fn path(&self, _options: &RequestOptions) -> Cow<'static, str> {
        "/audio/transcriptions".into()
    }

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> Vec<u8> {
        let fields = Self::fields(options, prompt, limit);
        let made = prompt.media.iter().find_map(Medium::as_sound);
        let in_row = match made {
            None => prompt.sounds_of_row(),
            _ => Vec::new(),
        };
        multipart::render(&fields, made.or(in_row.first()))
    }

    fn content_type(&self, body: &[u8]) -> Cow<'static, str> {
        multipart::content_type(body).into()
    }

    fn text(&self, json: &[u8]) -> AnswerText {
        let mut said = text(json, |choice, text| {
            push_text(&mut text.answer, &choice["delta"]["content"]);
        });
        let message: Value = serde_json::from_slice(json).unwrap_or_default();
        let own = match message["type"].as_str() {
            Some("transcript.text.delta") => &message["delta"],
            _ => &message["text"],
        };
        push_text(&mut said.answer, own);
        said
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        let event: RawEvent<&RawValue> = parse(json)?;
        if event.choices.is_some() {
            return read(json, |choice, found| {
                match choice.delta.as_ref().or(choice.message.as_ref()) {
                    Some(said) => found.answer(said.content),
                    None => Ok(()),
                }
            });
        }
        let said = [event.error, event.message, event.detail];
        if let Some(error) = said.into_iter().find_map(error_message) {
            return Ok(Message::failed(error));
        }
        let kind = string(event.kind).unwrap_or_default();
        let mut found = MessageBuilder::new(json);
        match &*kind {
            "transcript.text.delta" => {
                found.answer(event.delta)?;
                Ok(found.built())
            }
            "error" => Ok(Message::failed(String::from_utf8_lossy(json).into_owned())),
            // The end of a stream, with all of its text once more, or an answer in one piece.
            "transcript.text.done" | "" if event.text.is_some() => {
                found.answer(event.text)?;
                let is_end = !kind.is_empty();
                let usage = event.usage.map(RawValue::get);
                let counted: RawUsage<'_> =
                    (usage.and_then(|it| serde_json::from_str(it).ok())).unwrap_or_default();
                let seconds = event.duration.or(counted.seconds);
                Ok(Message {
                    only_text: None,
                    repeats: is_end,
                    finish: is_end.then(|| "stop".to_owned()),
                    usage: usage.map(|usage| tokens_of(usage, &counted)),
                    media_tokens: (counted.input_token_details).and_then(|it| it.audio_tokens),
                    audio_s: seconds.and_then(seconds_of),
                    ..found.built()
                })
            }
            // Segments repeat what deltas say.
            _ => Ok(Message {
                usage: present(event.usage).and_then(usage_of),
                ..Message::default()
            }),
        }
    }
}

/// Tokens under OpenAI's newer names, or under those of chat.
fn tokens_of(usage: &str, counted: &RawUsage<'_>) -> Usage {
    let older = usage_of(usage).unwrap_or_default();
    Usage {
        input: counted.input_tokens.or(older.input),
        output: counted.output_tokens.or(older.output),
        cached: older.cached,
    }
}

/// A number, which some write as a text.
fn seconds_of(raw: &RawValue) -> Option<f64> {
    let seconds: f64 = raw.get().trim_matches('"').parse().ok()?;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::decoder::Decoder;
    use inferometer_core::sound::Sound;
    use serde_json::json;

    fn message(json: &str) -> Message {
        Transcriptions.message(json.as_bytes()).unwrap()
    }

    fn body(options: &RequestOptions, prompt: &Prompt<'_>, limit: Option<u32>) -> String {
        String::from_utf8(Transcriptions.body(options, prompt, limit)).unwrap()
    }

    #[test]
    fn a_request_is_a_form_with_the_sound_and_what_is_asked_of_it() {
        let media = [Medium::Sound(Sound::new(&b"ID3 sound"[..]).unwrap())];
        let content = Content::Text("names: Ada".into());
        let prompt = Prompt {
            media: &media,
            ..Prompt::from(&content)
        };
        let options = RequestOptions {
            model: "whisper".into(),
            stream: true,
            stream_usage: true,
            temperature: Some(0.5),
            extra: json!({"language": "de", "response_format": "verbose_json"})
                .as_object()
                .unwrap()
                .clone(),
            ..RequestOptions::default()
        };
        let sent = body(&options, &prompt, Some(40));
        for (name, text) in [
            ("model", "whisper"),
            ("stream", "true"),
            ("stream_include_usage", "true"),
            ("temperature", "0.5"),
            ("language", "de"),
            ("response_format", "verbose_json"),
            ("prompt", "names: Ada"),
            ("max_completion_tokens", "40"),
        ] {
            assert!(
                sent.contains(&format!("name=\"{name}\"\r\n\r\n{text}\r\n")),
                "{sent}"
            );
        }
        assert!(sent.contains("\r\n\r\nID3 sound\r\n"), "{sent}");
        let plain = body(&RequestOptions::default(), &prompt, None);
        assert!(
            !plain.contains("stream") && !plain.contains("max_"),
            "{plain}"
        );
    }

    #[test]
    fn the_sound_of_a_row_is_the_file_and_its_words_are_not_sent() {
        use base64::Engine as _;
        let data = base64::engine::general_purpose::STANDARD.encode(b"ID3 sound of a row");
        let part = json!({"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}});
        let parts = json!([part, {"type": "text", "text": "what is said?"}]);
        let messages = json!([{"role": "user", "content": parts}]);
        let body_row = json!({"messages": messages, "language": "fr"});
        for (content, language) in [
            (Content::Messages(messages.to_string().into()), false),
            (Content::Body(body_row.to_string().into()), true),
        ] {
            let sent = body(&RequestOptions::default(), &Prompt::from(&content), None);
            assert!(sent.contains("\r\n\r\nID3 sound of a row\r\n"), "{sent}");
            assert!(!sent.contains("what is said"), "{sent}");
            assert_eq!(sent.contains("name=\"language\""), language);
        }
    }

    #[test]
    fn chunks_of_vllm_and_events_of_openai_are_text_and_ends() {
        let chunk = r#"{"id":"trsc-1","object":"transcription.chunk","created":1,"model":"w","choices":[{"delta":{"content":" and"}}]}"#;
        let read = message(chunk);
        assert_eq!((read.chars, read.model.as_deref()), (4, Some("w")));
        let last = r#"{"object":"transcription.chunk","choices":[{"delta":{"content":"."},"finish_reason":"stop"}]}"#;
        assert_eq!(message(last).finish.as_deref(), Some("stop"));
        let usage = r#"{"object":"transcription.chunk","choices":[],"usage":{"prompt_tokens":4,"total_tokens":9,"completion_tokens":5}}"#;
        assert_eq!(message(usage).usage.unwrap().output, Some(5));
        let delta = r#"{"type":"transcript.text.delta","delta":"Hello","logprobs":[]}"#;
        assert_eq!((message(delta).chars, message(delta).finish), (5, None));
        let done = r#"{"type":"transcript.text.done","text":"Hello","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":0,"audio_tokens":14},"output_tokens":2,"total_tokens":16}}"#;
        let end = message(done);
        assert!(end.repeats && end.finish.is_some());
        let counted = end.usage.unwrap();
        assert_eq!((counted.input, counted.output), (Some(14), Some(2)));
        assert_eq!(end.media_tokens, Some(14));
        let segment = r#"{"type":"transcript.text.segment","text":"Hello","id":"s"}"#;
        assert!(!message(segment).has_text());
        for (json, said) in [(chunk, " and"), (delta, "Hello"), (done, "Hello")] {
            assert_eq!(Transcriptions.text(json.as_bytes()).answer, said);
        }
    }

    #[test]
    fn whole_answers_have_a_text_and_may_say_how_long_the_sound_is() {
        let whole = message(r#"{"text":"Hi","usage":{"type":"duration","seconds":7}}"#);
        assert_eq!((whole.chars, whole.audio_s), (2, Some(7.0)));
        assert!(whole.has_choice && whole.finish.is_none() && !whole.repeats);
        let verbose = message(r#"{"task":"transcribe","duration":"6.4","text":"","segments":[]}"#);
        assert_eq!((verbose.has_choice, verbose.audio_s), (true, Some(6.4)));
        let older = r#"{"text":"a","usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
        assert_eq!(message(older).usage.unwrap().input, Some(3));
        for (json, said) in [
            (r#"{"error":{"message":"no","code":400}}"#, "no"),
            (r#"{"detail":"not a sound"}"#, "not a sound"),
        ] {
            assert_eq!(message(json).error.as_deref(), Some(said));
        }
        assert!(Transcriptions.message(b"Hi").is_err());
        assert!(!message("{}").has_choice);
    }

    #[test]
    fn the_quick_way_reads_the_same() {
        let mut decoder = Decoder::new(&Transcriptions);
        for text in ["one", "two", "t\\u0068ree"] {
            let json = format!(r#"{{"type":"transcript.text.delta","delta":"{text}"}}"#);
            let quick = decoder.decode(json.as_bytes()).unwrap();
            assert_eq!(quick.chars, message(&json).chars, "{text}");
        }
    }
}
