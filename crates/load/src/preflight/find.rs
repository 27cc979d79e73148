//! Where a server's API is, and which models it lists.

use super::explain::is_page;
use super::{PreflightError, Scout};
use crate::api::{CHAT, COMPLETIONS, Dialect};
use crate::connect::Network;
use crate::plain::get;
use crate::setup::Way;
use inferometer_text::hostile::printable;

/// A server and where its API is.
pub(super) struct Site {
    pub(super) network: Network,
    pub(super) url: String,
    /// Path of the API's base: `/v1` as a rule.
    pub(super) base: String,
    /// What comes before it.
    pub(super) prefix: String,
    /// The path names an API.
    pub(super) named: Option<&'static dyn Dialect>,
    pub(super) models: Vec<String>,
    pub(super) max_model_len: Option<u64>,
    pub(super) models_said: String,
    /// Status of a web page that came where the models should be listed.
    pub(super) page: Option<u16>,
    pub(super) software: Option<String>,
}

impl Scout {
    /// Finds the base path of a server, and its models.
    pub(super) async fn find_site(&self, place: usize) -> Result<Site, PreflightError> {
        let target = &self.wish.targets[place];
        let (base, named) = split_path(&target.path);
        let mut site = Site {
            network: self.wish.networks[place].clone(),
            url: target.to_string(),
            prefix: base.strip_suffix("/v1").unwrap_or(&base).to_owned(),
            base: base.clone(),
            named,
            models: Vec::new(),
            max_model_len: None,
            models_said: String::new(),
            page: None,
            software: None,
        };
        let versioned = |base: &str| {
            let last = base.rsplit('/').next().unwrap_or_default();
            last.starts_with('v') && last[1..].chars().all(|c| c.is_ascii_digit()) && last.len() > 1
        };
        // A path that names the API, or its version, is taken as it is.
        let candidates = match named.is_some() || versioned(&base) {
            true => vec![base],
            false => vec![format!("{base}/v1"), base],
        };
        site.base = candidates[0].clone();
        for candidate in &candidates {
            let path = format!("{candidate}/models");
            let way = Way::new(site.network.clone(), &path, self.wish.headers.clone());
            let reply = get(&way, &way.path, self.wish.timeouts)
                .await
                .map_err(|failure| self.unreachable(&site.url, &failure))?;
            if site.software.is_none() {
                site.software = reply.server.as_deref().map(|text| printable(text, 80));
            }
            self.check_access(&way.url, &reply)?;
            site.models_said = format!("{path}: status {}", reply.status);
            site.page = is_page(&reply.body).then_some(reply.status);
            if reply.status == 200
                && let Some((models, longest)) = read_models(&reply.body)
            {
                site.base = candidate.clone();
                site.models = models;
                site.max_model_len = longest;
                break;
            }
        }
        Ok(site)
    }
}

/// The base of a path, and the API that it names.
fn split_path(path: &str) -> (String, Option<&'static dyn Dialect>) {
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
fn read_models(body: &str) -> Option<(Vec<String>, Option<u64>)> {
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
