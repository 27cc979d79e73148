//! Where requests go: a base address and the API that a path names.

use super::Draft;
use super::given::Given;

/// Sets the address from `--base-url`, or from `--host` and `--port`.
pub(super) fn of_host(given: &mut Given, draft: &mut Draft, port: u64) {
    let base = given.value(&["base-url", "server-url"]);
    let host = given.value(&["host"]);
    let own_port = given.value(&["port"]);
    draft.url = Some(match base {
        Some(base) => with_scheme(base.trim_end_matches('/')),
        None => {
            let host = host.unwrap_or_else(|| "localhost".to_owned());
            let host = if host == "0.0.0.0" {
                "localhost".to_owned()
            } else {
                host
            };
            let port = own_port.unwrap_or_else(|| port.to_string());
            with_scheme(&format!("{host}:{port}"))
        }
    });
}

/// Sets address and API from the address of an endpoint.
pub(super) fn of_endpoint(draft: &mut Draft, url: &str) {
    let url = with_scheme(url.trim_end_matches('/'));
    let ends = [
        ("/chat/completions", Some("chat")),
        ("/completions", Some("completions")),
        ("/generate_stream", None),
        ("/generate", None),
    ];
    for (end, api) in ends {
        if let Some(base) = url.strip_suffix(end) {
            let base = base.strip_suffix("/v1").unwrap_or(base);
            draft.url = Some(base.to_owned());
            match api {
                Some(api) => draft.push("api", api),
                None => native(draft, end),
            }
            return;
        }
    }
    draft.url = Some(url.strip_suffix("/v1").map(str::to_owned).unwrap_or(url));
}

/// Sets the API from the path of an endpoint.
pub(super) fn api_of_path(draft: &mut Draft, path: &str) {
    match path {
        path if path.ends_with("/chat/completions") => draft.push("api", "chat"),
        path if path.ends_with("/completions") => draft.push("api", "completions"),
        path => native(draft, path),
    }
}

fn native(draft: &mut Draft, path: &str) {
    draft.push("api", "completions");
    draft.differs(format!(
        "{path} is an engine's own API; the same is asked of /v1/completions"
    ));
}

fn with_scheme(address: &str) -> String {
    match address.contains("://") {
        true => address.to_owned(),
        false => format!("http://{address}"),
    }
}
