//! What is asked of a store, and the headers by which it knows who asks.

pub(crate) mod azure;
pub(crate) mod s3;

use inferometer_fetch::Method;
use inferometer_fetch::url::encoded;

/// A request before it is signed.
pub(crate) struct Ask<'a> {
    pub method: Method,
    /// Of the URL: escaped, with a slash at its beginning.
    pub path: String,
    /// Names and values, not escaped.
    pub query: Vec<(&'static str, String)>,
    /// Beside those that a signature needs; names in lower case.
    pub headers: Vec<(&'static str, String)>,
    pub body: &'a [u8],
}

impl Ask<'_> {
    /// The query in the order of its names, escaped.
    pub fn query_text(&self) -> String {
        let pairs = self.query.iter();
        let mut pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        pairs.sort();
        pairs.join("&")
    }
}

/// A key as a part of a path: every segment escaped.
pub(crate) fn escaped_key(key: &str) -> String {
    let segments: Vec<String> = key.split('/').map(encoded).collect();
    segments.join("/")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
