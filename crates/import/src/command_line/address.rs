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
    let url = with_scheme(url.trim_end_matches('/'));
    let ends = [
        "/chat/completions",
        "/completions",
        "/generate_stream",
        "/generate",
    ];
    let end = ends.into_iter().find(|end| url.ends_with(end));
    let base = end.and_then(|end| url.strip_suffix(end)).unwrap_or(&url);
    translator.url = Some(base.strip_suffix("/v1").unwrap_or(base).to_owned());
    if let Some(end) = end {
        push_api(translator, end);
    }
}

pub(super) fn push_api(translator: &mut Translator, path: &str) {
    if path.ends_with("/chat/completions") {
        return translator.push("api", "chat");
    }
    translator.push("api", "completions");
    if !path.ends_with("/completions") {
        translator.differs(format!(
            "{path} is an engine's own API; here the same requests go to /v1/completions"
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
