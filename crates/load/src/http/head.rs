//! Heads: rendering a request's, reading an answer's.

use super::body::BodyDecoder;

pub const LONGEST_HEAD: usize = 64 << 10;

const MOST_HEADERS: usize = 128;

#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub method: &'a str,
    /// Path, or whole URL when it goes to a proxy.
    pub path: &'a str,
    pub host: &'a str,
    pub headers: &'a [(String, String)],
}

impl Request<'_> {
    /// With a body of JSON, where there is one.
    pub fn render(&self, extra: &[(&str, &str)], body: Option<&[u8]>) -> Vec<u8> {
        self.render_as("application/json", extra, body)
    }

    /// With a body of this type.
    pub fn render_as(
        &self,
        content_type: &str,
        extra: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(512 + body.map_or(0, <[u8]>::len));
        let about = body.map(|body| (content_type, body.len()));
        self.render_head(&mut out, extra, about);
        out.extend_from_slice(body.unwrap_or_default());
        out
    }

    /// All but the body, which is of this type and to be this long.
    pub(crate) fn render_head(
        &self,
        out: &mut Vec<u8>,
        extra: &[(&str, &str)],
        body: Option<(&str, usize)>,
    ) {
        let mut line = |parts: &[&str]| {
            for part in parts {
                out.extend_from_slice(part.as_bytes());
            }
            out.extend_from_slice(b"\r\n");
        };
        line(&[self.method, " ", self.path, " HTTP/1.1"]);
        line(&["Host: ", self.host]);
        // Some gateways refuse requests without these.
        line(&["User-Agent: inferometer/", env!("CARGO_PKG_VERSION")]);
        line(&["Accept: */*"]);
        for (name, value) in self.headers {
            line(&[name, ": ", value]);
        }
        for (name, value) in extra {
            line(&[name, ": ", value]);
        }
        if let Some((content_type, length)) = body {
            line(&["Content-Type: ", content_type]);
            line(&["Content-Length: ", &length.to_string()]);
        }
        line(&[]);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// `Content-Type`, in lower case.
    pub content_type: String,
    pub location: Option<String>,
    /// `Server`, or LiteLLM, which says its name in a header of its own.
    pub server: Option<String>,
    pub keep_alive: bool,
    /// It has a `Content-Encoding`: the body is not plain.
    pub compressed: bool,
    /// Length of the head in bytes.
    pub length: usize,
    framing: FramingHeader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramingHeader {
    Length(u64),
    Chunked,
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    #[error("no HTTP answer: {0}")]
    NotHttp(String),
    #[error("an answer whose headers do not end")]
    TooLong,
}

impl Head {
    /// Reads a head from what has come so far; `None` if more must come.
    pub fn read(bytes: &[u8]) -> Result<Option<Head>, HeadError> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() > LONGEST_HEAD => {
                return Err(HeadError::TooLong);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(HeadError::NotHttp(error.to_string())),
        };
        let mut head = Head {
            status: response.code.unwrap_or_default(),
            content_type: String::new(),
            location: None,
            compressed: false,
            server: None,
            keep_alive: response.version == Some(1),
            length,
            framing: FramingHeader::None,
        };
        for header in response.headers.iter() {
            let value = String::from_utf8_lossy(header.value);
            let value = value.trim();
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-type") {
                head.content_type = value.to_ascii_lowercase();
            } else if is("location") {
                head.location = Some(value.to_owned());
            } else if is("content-encoding") {
                head.compressed = !value.eq_ignore_ascii_case("identity");
            } else if is("server") {
                head.server.get_or_insert_with(|| value.to_owned());
            } else if is("x-litellm-version") {
                head.server = Some(format!("LiteLLM {value}"));
            } else if is("connection") {
                if value.eq_ignore_ascii_case("close") {
                    head.keep_alive = false;
                } else if value.eq_ignore_ascii_case("keep-alive") {
                    head.keep_alive = true;
                }
            } else if is("transfer-encoding") {
                // Chunked wins over a length, as the standard says.
                if value.to_ascii_lowercase().ends_with("chunked") {
                    head.framing = FramingHeader::Chunked;
                }
            } else if is("content-length") && head.framing != FramingHeader::Chunked {
                let length = value
                    .parse()
                    .map_err(|_| HeadError::NotHttp(format!("Content-Length {value}")))?;
                // Whichever was taken, what follows the answer might be taken for the next one.
                if matches!(head.framing, FramingHeader::Length(other) if other != length) {
                    return Err(HeadError::NotHttp("two Content-Lengths".to_owned()));
                }
                head.framing = FramingHeader::Length(length);
            }
        }
        Ok(Some(head))
    }

    /// An answer that only announces the real one.
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status)
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn body(&self) -> BodyDecoder {
        match self.framing {
            _ if matches!(self.status, 204 | 304) => BodyDecoder::length(0),
            FramingHeader::Length(length) => BodyDecoder::length(length),
            FramingHeader::Chunked => BodyDecoder::chunked(),
            FramingHeader::None => BodyDecoder::UntilClose,
        }
    }

    pub fn is_event_stream(&self) -> bool {
        self.content_type.starts_with("text/event-stream")
    }

    /// A stream of JSON, a message in each line.
    pub fn is_lines(&self) -> bool {
        let lines = [
            "application/x-ndjson",
            "application/jsonl",
            "application/ndjson",
        ];
        lines.iter().any(|kind| self.content_type.starts_with(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\nrest";
        for end in 0..bytes.len() - 4 {
            assert_eq!(Head::read(&bytes[..end]).unwrap(), None);
        }
        let head = Head::read(bytes).unwrap().unwrap();
        assert_eq!((head.status, head.length), (200, bytes.len() - 4));
        assert!(head.is_event_stream() && head.keep_alive);
        assert!(!head.body().may_close());
    }

    #[test]
    fn http_1_0_and_close_end_the_connection() {
        let old = Head::read(b"HTTP/1.0 200 OK\r\n\r\n").unwrap().unwrap();
        assert!(!old.keep_alive && old.body().may_close());
        let close = Head::read(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            .unwrap()
            .unwrap();
        assert!(!close.keep_alive);
    }

    #[test]
    fn what_is_no_http_is_said_to_be_none() {
        assert!(matches!(
            Head::read(b"SSH-2.0-OpenSSH\r\n"),
            Err(HeadError::NotHttp(_))
        ));
        assert!(matches!(
            Head::read(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"),
            Err(HeadError::NotHttp(_))
        ));
    }

    #[test]
    fn an_answer_has_one_length() {
        let of = |lengths: [u32; 2]| {
            let [one, other] = lengths.map(|length| format!("Content-Length: {length}\r\n"));
            Head::read(format!("HTTP/1.1 200 OK\r\n{one}{other}\r\n").as_bytes())
        };
        assert!(of([5, 5]).is_ok());
        let two = of([5, 50]);
        assert!(matches!(two, Err(HeadError::NotHttp(_))), "{two:?}");
    }

    #[test]
    fn a_request_carries_its_length_and_headers() {
        let headers = [("X-A".to_owned(), "b".to_owned())];
        let request = Request {
            method: "POST",
            path: "/v1",
            host: "h:1",
            headers: &headers,
        };
        let text =
            String::from_utf8(request.render(&[("x-request-id", "7")], Some(b"{}"))).unwrap();
        let agent = concat!(
            "User-Agent: inferometer/",
            env!("CARGO_PKG_VERSION"),
            "\r\nAccept: */*\r\n"
        );
        assert_eq!(
            text.replace(agent, ""),
            "POST /v1 HTTP/1.1\r\nHost: h:1\r\nX-A: b\r\nx-request-id: 7\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        );
    }
}
