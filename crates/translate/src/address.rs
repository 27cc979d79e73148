//! Where requests go: a base address and the API that a path names.

use super::translator::Translator;

/// The address from `--base-url`, or from `--host` and `--port`.
pub(super) fn push_host(translator: &mut Translator, usual_port: u16) {
    let base = translator.value("base-url|server-url");
    let host = translator.value("host").filter(|host| host != "0.0.0.0");
    let host = host.as_deref().unwrap_or("localhost");
    let port = translator.value_or("port", &usual_port.to_string());
    translator.url = Some(match base {
        Some(base) => with_scheme(base.trim_end_matches('/')),
        None => with_scheme(&format!("{host}:{port}")),
    });
}

pub(super) fn push_endpoint(translator: &mut Translator, url: &str) {
    translator.url = Some(base_of(url));
    if let Some(end) = end_of(url.trim_end_matches('/')) {
        push_api(translator, end);
    }
}

/// The address of a server, without the path of an API.
pub(super) fn base_of(url: &str) -> String {
    let url = with_scheme(url.trim_end_matches('/'));
    let base = end_of(&url).and_then(|end| url.strip_suffix(end));
    let base = base.unwrap_or(&url);
    base.strip_suffix("/v1").unwrap_or(base).to_owned()
}

/// The path of a known API at the end of an address.
fn end_of(url: &str) -> Option<&'static str> {
    let mut ends = ENDS.iter().map(|(end, _)| *end);
    ends.find(|end| url.ends_with(end))
}

/// Ends of paths, and the API that is asked there.
const ENDS: [(&str, &str); 15] = [
    ("/chat/completions", "chat"),
    ("/completions", "completions"),
    ("/responses", "responses"),
    ("/messages", "messages"),
    ("/generate_stream", "generate"),
    ("/generate", "generate"),
    ("/completion", "generate"),
    ("/audio/transcriptions", "transcriptions"),
    ("/embeddings", "embeddings"),
    ("/embed", "embeddings"),
    ("/rerank", "rerank"),
    ("/score", "score"),
    ("/classify", "classify"),
    ("/pooling", "pooling"),
    ("/api/chat", "generate"),
];

/// What comes before the end of a path that is an API's, and which API that is.
pub(super) fn before_end(path: &str) -> Option<(&str, &'static str)> {
    let before = |&(end, api): &(&str, &'static str)| Some((path.strip_suffix(end)?, api));
    ENDS.iter().find_map(before)
}

/// Which API a path is of; completions where nobody knows it.
pub(super) fn api_of(path: &str) -> &'static str {
    before_end(path).map_or("completions", |(_, api)| api)
}

/// Whether the answers of an API are vectors or scores, so that nothing about tokens goes with it.
pub(super) fn answers_with_items(api: &str) -> bool {
    ["embeddings", "rerank", "score", "classify", "pooling"].contains(&api)
}

pub(super) fn push_api(translator: &mut Translator, path: &str) {
    if path.ends_with("/audio/translations") {
        translator.push("api", "transcriptions");
        return translator.lacks(format!(
            "{path} is not measured here; the same sounds go to /v1/audio/transcriptions"
        ));
    }
    translator.push("api", api_of(path));
    if before_end(path).is_none() {
        translator.differs(format!(
            "{path} is not an API that is known here; the same requests go to /v1/completions"
        ));
    }
}

fn with_scheme(address: &str) -> String {
    if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    }
}
