//! Where a server is: scheme, host, port and path prefix, from what the user typed.

use inferometer_text::secret::names_secret;
use std::fmt;

/// Stands in a shown query for a value that looks like a secret.
pub const REDACTED: &str = "REDACTED";

#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub tls: bool,
    /// Name or address, without brackets.
    pub host: String,
    pub port: u16,
    /// Path as given, without a slash at the end.
    pub path: String,
    /// What came after `?`; some gateways want a version there.
    pub query: Option<String>,
    /// `user:password` of the URL, a secret.
    pub credentials: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{url}' is not the address of a server: {why}; write http://HOST:PORT")]
pub struct UrlError {
    url: String,
    why: &'static str,
}

impl Target {
    /// Reads `http://host:8000/v1`, `https://host`, `host:8000`, `[::1]:8000` and the like.
    pub fn parse(text: &str) -> Result<Target, UrlError> {
        let bad = |why| UrlError {
            // A password must not come back in an error message.
            url: (text.rsplit_once('@').map_or(text, |(_, after)| after))
                .split('?')
                .next()
                .unwrap_or_default()
                .to_owned(),
            why,
        };
        let (scheme, rest) = text
            .trim()
            .split_once("://")
            .unwrap_or(("http", text.trim()));
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(bad("only http and https are supported")),
        };
        let (authority, path) = rest
            .find('/')
            .map_or((rest, ""), |slash| rest.split_at(slash));
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (
                path,
                Some(query.to_owned()).filter(|query| !query.is_empty()),
            ),
            None => (path, None),
        };
        let (credentials, authority) = match authority.rsplit_once('@') {
            Some((credentials, authority)) => (Some(percent_decoded(credentials)), authority),
            None => (None, authority),
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, port) = v6.split_once(']').ok_or_else(|| bad("']' is missing"))?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        let plausible =
            |c: char| !c.is_whitespace() && !c.is_control() && !"\"<>\\^`{|}".contains(c);
        let parts = [host, path, query.as_deref().unwrap_or_default()];
        if !parts.iter().all(|part| part.chars().all(plausible)) {
            return Err(bad("it has a character that no address has"));
        }
        let port = match port {
            None if tls => 443,
            None => 80,
            Some(port) => port
                .parse()
                .ok()
                .filter(|&port| port > 0)
                .ok_or_else(|| bad("the port is not a number from 1 to 65535"))?,
        };
        Ok(Target {
            tls,
            host: host.to_owned(),
            port,
            path: path.trim_end_matches('/').to_owned(),
            query,
            credentials,
        })
    }

    /// The `Host` header: with the port unless it is the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        match (self.tls, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// The address without path or secret.
    pub fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority())
    }

    /// A whole URL on this server, without a secret.
    pub fn url(&self, path: &str) -> String {
        let query = self
            .shown_query()
            .map_or(String::new(), |query| format!("?{query}"));
        format!("{}{path}{query}", self.origin())
    }

    /// A path as it is asked for, with the query.
    pub fn with_query(&self, path: &str) -> String {
        match &self.query {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        }
    }

    /// Values of the query that look like secrets.
    pub fn query_secrets(&self) -> impl Iterator<Item = &str> {
        let fields = self.query.iter().flat_map(|query| query.split('&'));
        fields
            .filter_map(|field| field.split_once('='))
            .filter(|(name, _)| names_secret(name))
            .map(|(_, value)| value)
    }

    fn shown_query(&self) -> Option<String> {
        let shown = |field: &str| match field.split_once('=') {
            Some((name, _)) if names_secret(name) => format!("{name}={REDACTED}"),
            _ => field.to_owned(),
        };
        Some(
            self.query
                .as_ref()?
                .split('&')
                .map(shown)
                .collect::<Vec<_>>()
                .join("&"),
        )
    }
}

/// `%40` and the like as the characters that they stand for.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = text
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url(&self.path))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_with_and_without_scheme_port_and_path() {
        for (text, shown) in [
            ("http://h:8000", "http://h:8000"),
            ("h:8000", "http://h:8000"),
            ("https://h/prefix/v1/", "https://h/prefix/v1"),
            ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
            ("localhost", "http://localhost"),
            ("http://h/v1?api-version=1#y", "http://h/v1?api-version=1"),
        ] {
            assert_eq!(Target::parse(text).unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn credentials_are_read_and_never_shown() {
        let target = Target::parse("http://user:secret@h:1/v1").unwrap();
        assert_eq!(target.credentials.as_deref(), Some("user:secret"));
        let coded = Target::parse("http://u%40x:p%3Aw@h").unwrap();
        assert_eq!(coded.credentials.as_deref(), Some("u@x:p:w"));
        let keyed = Target::parse("http://h/v1?api_key=abcd&v=1").unwrap();
        assert_eq!(keyed.to_string(), "http://h/v1?api_key=REDACTED&v=1");
        assert_eq!(
            keyed.with_query("/v1/models"),
            "/v1/models?api_key=abcd&v=1"
        );
        assert_eq!(keyed.query_secrets().collect::<Vec<_>>(), ["abcd"]);
        assert!(!format!("{target} {target:?}").contains("secret"));
        let error = Target::parse("http://user:secret@h:99999").unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn nonsense_is_refused_with_the_remedy() {
        for text in [
            "",
            "ftp://h",
            "http://",
            "http://h:0",
            "http://h:port",
            "http://[::1",
            "a b",
        ] {
            let message = Target::parse(text).unwrap_err().to_string();
            assert!(message.contains("http://HOST:PORT"), "{text}: {message}");
        }
    }
}
