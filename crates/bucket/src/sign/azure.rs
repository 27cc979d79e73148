//! Azure's shared keys, and its shared access signatures, which are made elsewhere.

use super::Ask;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ring::hmac::{HMAC_SHA256, Key, sign as hmac};

/// The interface that is spoken; it knows all that is asked here since 2019.
const VERSION: &str = "2020-10-02";

/// Never shown.
pub(crate) enum AzureKeys {
    /// The key of an account, decoded.
    Shared { account: String, key: Vec<u8> },
    /// A query that grants access, without `?`.
    Token(String),
}

impl AzureKeys {
    /// All headers of a request, those that sign it among them.
    pub fn signed(&self, ask: &Ask<'_>, host: &str, now: Timestamp) -> Vec<(&'static str, String)> {
        let time = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let mut headers = ask.headers.clone();
        headers.push(("x-ms-date", time));
        headers.push(("x-ms-version", VERSION.to_owned()));
        headers.sort();
        if let AzureKeys::Shared { account, key } = self {
            let text = to_sign(account, ask, &headers);
            let signature = hmac(&Key::new(HMAC_SHA256, key), text.as_bytes());
            let signature = STANDARD.encode(signature);
            headers.push(("authorization", format!("SharedKey {account}:{signature}")));
        }
        headers.push(("host", host.to_owned()));
        headers
    }
}

/// Method, the usual headers by their place, those of Azure by their name, path and query.
fn to_sign(account: &str, ask: &Ask<'_>, headers: &[(&'static str, String)]) -> String {
    let length = match ask.body.len() {
        0 => String::new(),
        length => length.to_string(),
    };
    let of = |name: &str| {
        let mut found = headers.iter().filter(|(known, _)| *known == name);
        found.next().map_or("", |(_, value)| value.as_str())
    };
    // Encoding, language, length, MD5, type, date, four conditions, range.
    let usual = [
        "",
        "",
        &length,
        "",
        of("content-type"),
        "",
        "",
        "",
        "",
        "",
        "",
    ];
    let own = headers.iter().filter(|(name, _)| name.starts_with("x-ms-"));
    let own: String = own
        .map(|(name, value)| format!("{name}:{value}\n"))
        .collect();
    let mut query = ask.query.clone();
    query.sort();
    let query: String = (query.iter())
        .map(|(name, value)| format!("\n{name}:{value}"))
        .collect();
    format!(
        "{}\n{}\n{own}/{account}{}{query}",
        ask.method.word(),
        usual.join("\n"),
        ask.path
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_fetch::Method;

    /// What is expected was computed by the published steps with Python's `hmac`.
    #[test]
    fn requests_are_signed_as_the_specification_says() {
        let now: Timestamp = "2026-11-17T16:00:05Z".parse().unwrap();
        let ask = Ask {
            method: Method::Put,
            path: "/lab/run%3D1/a.json".into(),
            query: vec![("comp", "block".into()), ("blockid", "MDAwMQ==".into())],
            headers: vec![
                ("content-type", "application/json".into()),
                ("x-ms-blob-type", "BlockBlob".into()),
            ],
            body: b"{}",
        };
        let keys = AzureKeys::Shared {
            account: "lab1".into(),
            key: b"a key of the test".to_vec(),
        };
        let headers = keys.signed(&ask, "h", now);
        assert!(headers.contains(&("x-ms-date", "Tue, 17 Nov 2026 16:00:05 GMT".into())));
        let expected = "SharedKey lab1:wlO8Mx1OKxbYgNeSBq+HJBZBVgOyCRzwgrGPhYNcsTM=";
        assert!(
            headers.contains(&("authorization", expected.into())),
            "{headers:?}"
        );
        let token = AzureKeys::Token("sv=1&sig=x".into()).signed(&ask, "h", now);
        assert!(token.iter().all(|(name, _)| *name != "authorization"));
    }
}
