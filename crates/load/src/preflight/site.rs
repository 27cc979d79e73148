//! Where a server's API is, and which models it lists.

use crate::api::{CHAT, COMPLETIONS, Dialect};
use crate::connect::Network;

pub(super) struct Site {
    pub(super) network: Network,
    pub(super) url: String,
    /// Path of the API's base: `/v1` as a rule.
    pub(super) base: String,
    /// What comes before it.
    pub(super) prefix: String,
    pub(super) named: Option<&'static dyn Dialect>,
    pub(super) models: Vec<String>,
    pub(super) max_model_len: Option<u64>,
    pub(super) models_said: String,
    /// Status of a web page that came where the models should be listed.
    pub(super) page: Option<u16>,
    pub(super) software: Option<String>,
}

/// The base of a path, and the API that it names.
pub(super) fn split_path(path: &str) -> (String, Option<&'static dyn Dialect>) {
    for dialect in [CHAT, COMPLETIONS] {
        if let Some(base) = path.strip_suffix(dialect.path()) {
            return (base.to_owned(), Some(dialect));
        }
    }
    (
        path.strip_suffix("/models").unwrap_or(path).to_owned(),
        None,
    )
}

/// The names in a list of models, and the context of the first.
pub(super) fn read_models(body: &str) -> Option<(Vec<String>, Option<u64>)> {
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    let list = value["data"].as_array().or(value["models"].as_array())?;
    let names = list
        .iter()
        .filter_map(|model| model["id"].as_str().or(model["name"].as_str()))
        .map(str::to_owned)
        .collect();
    let longest = list
        .first()
        .and_then(|model| model["max_model_len"].as_u64());
    Some((names, longest))
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
        let vllm = r#"{"data":[{"id":"a","max_model_len":4096},{"id":"b"}]}"#;
        assert_eq!(
            read_models(vllm),
            Some((vec!["a".into(), "b".into()], Some(4096)))
        );
        assert_eq!(read_models(r#"{"data":[]}"#), Some((vec![], None)));
        assert_eq!(read_models("<html>"), None);
    }
}
