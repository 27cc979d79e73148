//! The endpoints that can be measured, and what their answers consist of.

use crate::value::{BadValue, serde_as_text};

#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<Api>)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Api {
    /// Found from the URL and the server.
    #[default]
    Auto,
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
    /// `/v1/responses`.
    Responses,
    /// `/v1/messages`, Anthropic's.
    Messages,
    /// An engine's own: TGI's, MindIE's, llama.cpp's, Ollama's, Triton's or SGLang's, whichever is
    /// found.
    Generate,
    /// Any other JSON service, by a body and paths into its answers.
    Raw,
    /// `/v1/audio/transcriptions`: a sound in, its text out.
    Transcriptions,
    /// `/v1/embeddings`.
    Embeddings,
    /// `/v1/rerank`, or `/rerank` of TEI.
    Rerank,
    /// `/v1/score`, or `/score`.
    Score,
    /// `/classify`.
    Classify,
    /// `/pooling`.
    Pooling,
}

/// What an answer consists of, and so which metrics it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Tokens, one after the other.
    Tokens,
    /// A vector or a score for each item of the request, all at once: there is no first token.
    Items,
}

/// Ends of paths, and the API that each names; an end of another comes after it.
const PATHS: [(&str, Api); 17] = [
    ("/chat/completions", Api::Chat),
    ("/completions", Api::Completions),
    ("/responses", Api::Responses),
    ("/messages", Api::Messages),
    ("/generate_stream", Api::Generate),
    ("/api/generate", Api::Generate),
    ("/generate", Api::Generate),
    ("/infer", Api::Generate),
    ("/completion", Api::Generate),
    ("/api/chat", Api::Generate),
    ("/audio/transcriptions", Api::Transcriptions),
    ("/embeddings", Api::Embeddings),
    ("/rerank", Api::Rerank),
    ("/reranking", Api::Rerank),
    ("/score", Api::Score),
    ("/classify", Api::Classify),
    ("/pooling", Api::Pooling),
];

impl Api {
    /// Whether its requests are those of OpenAI's chat and completions, which know
    /// `stream_options` and two names of the limit.
    pub fn is_openai_completion(self) -> bool {
        matches!(self, Api::Chat | Api::Completions)
    }

    /// Whether a stream states its usage only where it is asked for.
    pub fn asks_for_usage(self) -> bool {
        self.is_openai_completion() || self == Api::Transcriptions
    }

    /// Whether an item of a request is held against a text that comes before all of them.
    pub fn has_query(self) -> bool {
        matches!(self, Api::Rerank | Api::Score)
    }

    pub fn answers(self) -> Answers {
        match self {
            Api::Auto
            | Api::Chat
            | Api::Completions
            | Api::Responses
            | Api::Messages
            | Api::Generate
            | Api::Raw
            | Api::Transcriptions => Answers::Tokens,
            Api::Embeddings | Api::Rerank | Api::Score | Api::Classify | Api::Pooling => {
                Answers::Items
            }
        }
    }

    /// The API that the path of a URL names.
    pub fn named_by(url: &str) -> Option<Api> {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_end_matches('/');
        let named = PATHS.iter().find(|(end, _)| path.ends_with(end));
        named.map(|(_, api)| *api)
    }
}

serde_as_text!(Api);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_the_api() {
        for (url, api) in [
            ("http://h:1/v1/chat/completions", Some(Api::Chat)),
            ("http://h:1/p/v1/completions/", Some(Api::Completions)),
            ("https://h/v1/embeddings?version=2", Some(Api::Embeddings)),
            (
                "http://h/v1/audio/transcriptions",
                Some(Api::Transcriptions),
            ),
            ("http://h/rerank", Some(Api::Rerank)),
            ("http://h/api/generate", Some(Api::Generate)),
            ("http://h:1025/infer", Some(Api::Generate)),
            ("http://h/v2/models/m/generate_stream", Some(Api::Generate)),
            ("http://h:1/v1", None),
            ("http://h:1", None),
        ] {
            assert_eq!(Api::named_by(url), api, "{url}");
        }
    }
}
