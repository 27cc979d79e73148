//! API dialects: path, body and event. Bytes in, values out, no I/O.

mod chat;
mod completions;
mod decoder;
mod dialect;
mod items;
mod messages;
mod multipart;
mod native;
mod prompt_text;
mod raw;
mod responses;
mod template;
mod transcriptions;
mod wire;

pub use decoder::Decoder;
pub use dialect::{AnswerText, BadMessage, Dialect, Message, Place, Prompt, RequestOptions};
pub use template::BodyTemplates;

use inferometer_core::api::Api;
use inferometer_core::raw_form::RawForm;
use items::Items;
use native::Native;

pub static CHAT: &dyn Dialect = &chat::Chat;

pub static COMPLETIONS: &dyn Dialect = &completions::Completions;

/// The forms of an API, in the order in which a server is asked for them.
pub fn forms(api: Api) -> &'static [&'static dyn Dialect] {
    match api {
        Api::Auto => &[&chat::Chat, &completions::Completions],
        Api::Chat => &[&chat::Chat],
        Api::Completions => &[&completions::Completions],
        Api::Responses => &[&responses::Responses],
        Api::Messages => &[&messages::Messages],
        // TGI also has /generate, which SGLang means otherwise.
        Api::Generate => &[
            &Native::Tgi,
            &Native::LlamaCpp,
            &Native::Ollama,
            &Native::OllamaChat,
            &Native::Triton,
            &Native::Sglang,
            &Native::Mindie,
        ],
        Api::Transcriptions => &[&transcriptions::Transcriptions],
        // Its form is the user's.
        Api::Raw => &[],
        Api::Embeddings => &[&Items {
            api: Api::Embeddings,
            path: "/embeddings",
            place: Place::Base,
            query: None,
            texts: "input",
        }],
        Api::Rerank => &[
            &Items {
                api: Api::Rerank,
                path: "/rerank",
                place: Place::Base,
                query: Some("query"),
                texts: "documents",
            },
            // Text Embeddings Inference.
            &Items {
                api: Api::Rerank,
                path: "/rerank",
                place: Place::Root,
                query: Some("query"),
                texts: "texts",
            },
        ],
        Api::Score => &[
            &Items {
                api: Api::Score,
                path: "/score",
                place: Place::Base,
                query: Some("text_1"),
                texts: "text_2",
            },
            // SGLang, which also wants `label_token_ids`.
            &Items {
                api: Api::Score,
                path: "/score",
                place: Place::Base,
                query: Some("query"),
                texts: "items",
            },
        ],
        Api::Classify => &[
            &Items {
                api: Api::Classify,
                path: "/classify",
                place: Place::Root,
                query: None,
                texts: "input",
            },
            // SGLang.
            &Items {
                api: Api::Classify,
                path: "/classify",
                place: Place::Root,
                query: None,
                texts: "text",
            },
            // Text Embeddings Inference.
            &Items {
                api: Api::Classify,
                path: "/predict",
                place: Place::Root,
                query: None,
                texts: "inputs",
            },
        ],
        Api::Pooling => &[&Items {
            api: Api::Pooling,
            path: "/pooling",
            place: Place::Root,
            query: None,
            texts: "input",
        }],
    }
}

/// The form that a user has given.
pub fn raw(form: &RawForm) -> &'static dyn Dialect {
    raw::Raw::dialect(form)
}

/// The form of an API that the path of a URL names, and the path before it.
pub fn named_by(path: &str) -> Option<(&str, &'static dyn Dialect)> {
    let api = Api::named_by(path)?;
    let path = path.trim_end_matches('/');
    let ends = |form: &'static dyn Dialect, stream| {
        let asked = RequestOptions {
            model: model_in(path).unwrap_or_default().to_owned(),
            stream,
            ..RequestOptions::default()
        };
        let before = path.strip_suffix(&*form.path(&asked))?;
        Some((before, form))
    };
    // Where engines share a path, it is that of the one which streams there; where one path ends
    // in another, the longer one is meant.
    [true, false].into_iter().find_map(|stream| {
        let named = forms(api).iter().filter_map(|&form| ends(form, stream));
        named.min_by_key(|(before, _)| before.len())
    })
}

/// The model that a path of Triton names.
pub fn model_in(path: &str) -> Option<&str> {
    path.split_once("/v2/models/")?.1.split('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_form_with_the_longest_end() {
        for (path, before, body) in [
            ("/v1/chat/completions", "/v1", "messages"),
            ("/p/v1/messages", "/p/v1", "max_tokens"),
            ("/generate_stream", "", "inputs"),
            ("/generate", "", "sampling_params"),
            ("/api/generate", "", "prompt"),
            ("/v2/models/m/generate_stream", "", "text_input"),
            ("/completion", "", "prompt"),
            ("/rerank", "", "documents"),
            ("/v1/audio/transcriptions", "/v1", "form-data"),
        ] {
            let (found, form) = named_by(path).unwrap();
            assert_eq!(found, before, "{path}");
            let content = inferometer_core::content::Content::Text("x".into());
            let written = form.body(&RequestOptions::default(), &(&content).into(), Some(1));
            let written = String::from_utf8(written).unwrap();
            assert!(written.contains(body), "{path}: {written}");
        }
        assert!(named_by("/v1").is_none());
    }
}
