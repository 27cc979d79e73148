//! Where a server's API is, and which models it lists.

use crate::api::{self, Dialect};
use crate::connect::Network;

#[derive(Clone)]
pub(super) struct Site {
    pub(super) network: Network,
    pub(super) url: String,
    /// Path of the API's base: `/v1` as a rule.
    pub(super) base: String,
    /// What comes before it.
    pub(super) prefix: String,
    pub(super) named: Option<&'static dyn Dialect>,
    pub(super) model_in_path: Option<String>,
    pub(super) models: Vec<ListedModel>,
    pub(super) models_said: String,
    /// Where an empty list of models came from.
    pub(super) empty_list: Option<String>,
    /// Status of a web page that came where the models should be listed.
    pub(super) page: Option<u16>,
    pub(super) software: Option<String>,
}

/// The base of a path, and the API that it names.
pub(super) fn split_path(path: &str) -> (String, Option<&'static dyn Dialect>) {
    if let Some((base, dialect)) = api::named_by(path) {
        return (base.to_owned(), Some(dialect));
    }
    (
        path.strip_suffix("/models").unwrap_or(path).to_owned(),
        None,
    )
}

/// A model of a server's list, with the context that it states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedModel {
    pub(super) name: String,
    pub(super) context: Option<u64>,
}

impl Site {
    pub(super) fn names(&self) -> Vec<String> {
        self.models.iter().map(|model| model.name.clone()).collect()
    }

    /// The context of a model, or of the first if the server does not list it: most serve one
    /// under any name.
    pub(super) fn context_of(&self, model: &str) -> Option<u64> {
        let named = self.models.iter().find(|listed| listed.name == model);
        named.or(self.models.first())?.context
    }
}

/// Where servers state the context of a model: vLLM and SGLang, Dynamo, LM Studio, OpenRouter,
/// LiteLLM, and llama.cpp, whose slots share what it was started with.
const CONTEXTS: [&str; 8] = [
    "/max_model_len",
    "/context_window",
    "/max_context_length",
    "/context_length",
    "/max_sequence_length",
    "/max_input_tokens",
    "/meta/n_ctx",
    "/meta/n_ctx_train",
];

/// The models of a list.
pub(super) fn read_models(body: &str) -> Option<Vec<ListedModel>> {
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    let list = value["data"].as_array().or(value["models"].as_array())?;
    let read = |model: &serde_json::Value| {
        let name = model["id"].as_str().or(model["name"].as_str())?;
        let stated = |path: &&str| model.pointer(path)?.as_u64().filter(|&most| most > 0);
        Some(ListedModel {
            name: name.to_owned(),
            context: CONTEXTS.iter().find_map(stated),
        })
    };
    Some(list.iter().filter_map(read).collect())
}

/// APIs of such servers that cannot be measured.
const UNSUPPORTED: [&str; 5] = [
    "/audio/speech",
    "/audio/translations",
    "/images/generations",
    "/images/edits",
    "/moderations",
];

/// The API that a path names, if it is one that cannot be measured.
pub(super) fn unsupported(path: &str) -> Option<&'static str> {
    let path = path.trim_end_matches('/');
    UNSUPPORTED.into_iter().find(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_name_the_api() {
        let name = |path| {
            let (base, named) = split_path(path);
            (base, named.map(Dialect::name))
        };
        assert_eq!(name("/v1/chat/completions"), ("/v1".into(), Some("chat")));
        assert_eq!(
            name("/p/v1/completions"),
            ("/p/v1".into(), Some("completions"))
        );
        assert_eq!(name("/p/v1"), ("/p/v1".into(), None));
        assert_eq!(name(""), (String::new(), None));
    }

    #[test]
    fn models_are_read_from_the_forms_that_servers_use() {
        let listed = |name: &str, context| ListedModel {
            name: name.to_owned(),
            context,
        };
        for (list, expected) in [
            (
                r#"{"data":[{"id":"a","max_model_len":4096},{"id":"b"}]}"#,
                vec![listed("a", Some(4096)), listed("b", None)],
            ),
            (
                r#"{"models":[{"name":"t"}],"data":[{"id":"tiny","owned_by":"llamacpp","meta":{"n_ctx_train":8192,"n_ctx":2048}}]}"#,
                vec![listed("tiny", Some(2048))],
            ),
            (
                r#"{"data":[{"id":"d","owned_by":"nvidia","context_window":1024}]}"#,
                vec![listed("d", Some(1024))],
            ),
            (
                r#"{"data":[{"id":"o","max_model_len":null,"context_length":32768}]}"#,
                vec![listed("o", Some(32768))],
            ),
            (r#"{"data":[]}"#, vec![]),
        ] {
            assert_eq!(read_models(list), Some(expected), "{list}");
        }
        assert_eq!(read_models("<html>"), None);
    }

    #[test]
    fn paths_of_other_apis_are_known() {
        let speech = unsupported("/v1/audio/speech/");
        assert_eq!(speech, Some("/audio/speech"));
        for path in ["/v1/chat/completions", "/v1", "", "/deep/gateway"] {
            assert_eq!(unsupported(path), None, "{path}");
        }
    }
}
