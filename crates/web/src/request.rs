//! The head of a request: its method, path, query and the headers that matter here.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// Bytes of a head; browsers send one or two thousand.
const LONGEST_HEAD: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;
/// Time for a whole head: whoever sends byte by byte would hold a thread for ever.
const HEAD_TIME: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Head,
    Post,
}

/// A request without its body, which is never read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    /// Parts of the path between slashes, decoded; empty for the root.
    pub path: Vec<String>,
    pub query: BTreeMap<String, String>,
    /// By lower-case name; of several the last.
    headers: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadRequest {
    /// The connection ended, or was silent too long.
    Gone,
    Malformed,
    TooLong,
    OtherMethod,
}

impl Request {
    pub(crate) fn read(stream: &mut impl Read) -> Result<Self, BadRequest> {
        let began = Instant::now();
        let mut head = Vec::new();
        let mut piece = [0; 2048];
        loop {
            let count = match stream.read(&mut piece) {
                Ok(0) => return Err(BadRequest::Gone),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Err(BadRequest::Gone),
            };
            head.extend_from_slice(&piece[..count]);
            if let Some(request) = Self::parse(&head)? {
                return Ok(request);
            }
            if head.len() > LONGEST_HEAD {
                return Err(BadRequest::TooLong);
            }
            if began.elapsed() > HEAD_TIME {
                return Err(BadRequest::Gone);
            }
        }
    }

    /// The request of a head; absent while it is incomplete.
    fn parse(head: &[u8]) -> Result<Option<Self>, BadRequest> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(BadRequest::TooLong),
            Err(_) => return Err(BadRequest::Malformed),
        }
        let method = match parsed.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            Some("POST") => Method::Post,
            _ => return Err(BadRequest::OtherMethod),
        };
        let target = parsed.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parts = path.split('/').filter(|part| !part.is_empty());
        let path: Option<Vec<String>> = parts.map(|part| decoded(part, Space::Literal)).collect();
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name, Space::Plus)?, decoded(value, Space::Plus)?))
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query: Option<BTreeMap<String, String>> = pairs.map(pair).collect();
        let header = |header: &httparse::Header<'_>| {
            let value = String::from_utf8_lossy(header.value).trim().to_owned();
            (header.name.to_ascii_lowercase(), value)
        };
        Ok(Some(Request {
            method,
            path: path.ok_or(BadRequest::Malformed)?,
            query: query.ok_or(BadRequest::Malformed)?,
            headers: parsed.headers.iter().map(header).collect(),
        }))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn cookie(&self, name: &str) -> Option<&str> {
        let all = self.header("cookie")?.split(';');
        let mut named = all.filter_map(|pair| pair.trim().split_once('='));
        named.find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    /// A plus is a plus.
    Literal,
    /// A plus is a space, as forms write it.
    Plus,
}

/// Percent signs resolved; absent where that is no UTF-8 text or has control characters.
fn decoded(text: &str, space: Space) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(16 * high + low).ok()?
            }
            b'+' if space == Space::Plus => b' ',
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> Result<Request, BadRequest> {
        Request::read(&mut head.as_bytes())
    }

    #[test]
    fn paths_queries_and_cookies_are_decoded() {
        let head = "GET /runs/a%20b+c/..%2fx?token=q%26r&ids=a,b&n=1+2 HTTP/1.1\r\nHost: localhost:1\r\nCookie: a=1; token=zz\r\n\r\n";
        let request = read(head).unwrap();
        assert_eq!(request.path, ["runs", "a b+c", "../x"]);
        assert_eq!(request.query["token"], "q&r");
        assert_eq!(request.query["n"], "1 2");
        assert_eq!(request.header("host"), Some("localhost:1"));
        assert_eq!(request.cookie("token"), Some("zz"));
        assert_eq!(request.cookie("other"), None);
    }

    #[test]
    fn what_is_no_request_is_refused_without_harm() {
        for (head, expected) in [
            ("", BadRequest::Gone),
            ("GET / HTTP/1.1\r\nHost: x", BadRequest::Gone),
            ("GET\r\n\r\n", BadRequest::Malformed),
            ("\u{16}\u{3}\u{1} tls\r\n\r\n", BadRequest::Malformed),
            ("GET /%zz HTTP/1.1\r\n\r\n", BadRequest::Malformed),
            ("GET /%00 HTTP/1.1\r\n\r\n", BadRequest::Malformed),
            ("GET /%ff HTTP/1.1\r\n\r\n", BadRequest::Malformed),
            ("DELETE / HTTP/1.1\r\n\r\n", BadRequest::OtherMethod),
        ] {
            assert_eq!(read(head), Err(expected), "{head:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(40_000));
        assert_eq!(read(&long), Err(BadRequest::TooLong));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100));
        assert_eq!(read(&many), Err(BadRequest::TooLong));
    }
}
