//! Reading HTTP/1.1 requests: bytes in, requests out, no I/O.
//!
//! Written for this crate and not shared with the client on purpose (see the crate's head).

const MAX_HEAD: usize = 64 << 10;
const MAX_BODY: usize = 64 << 20;
/// The longest line that gives the size of a body chunk, extensions included.
const MAX_CHUNK_LINE: usize = 4 << 10;

/// Why a request cannot be read. The connection is of no use afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Malformed(&'static str),
    HeadTooLarge,
    BodyTooLarge,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// HTTP/1.0 clients get a body that ends with the connection.
    pub(crate) http10: bool,
    pub(crate) keep_alive: bool,
    pub(crate) request_id: Option<String>,
    pub(crate) traceparent: Option<String>,
    pub(crate) authorization: Option<String>,
    /// Empty where none is given.
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadProgress {
    More,
    /// More bytes are needed, and the client waits for `100 Continue` before sending them.
    /// Said once per request.
    Continue,
    Done(Request),
}

/// Takes bytes as they come and yields requests. Holds no memory between requests.
#[derive(Debug, Default)]
pub(crate) struct RequestReader {
    /// Append received bytes here.
    pub(crate) buf: Vec<u8>,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// Reading the head; the end was not found before this offset.
    Head {
        searched: usize,
    },
    Sized {
        request: Request,
        length: usize,
    },
    Chunked {
        request: Request,
        part: Part,
    },
}

#[derive(Clone, Copy, Debug)]
enum Part {
    SizeLine,
    Data { left: usize },
    DataEnd,
    Trailer { taken: usize },
}

enum Framing {
    Sized(usize),
    Chunked,
}

impl RequestReader {
    /// Whether no part of a request has been read.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle) && self.buf.is_empty()
    }

    pub(crate) fn advance(&mut self) -> Result<ReadProgress, Unreadable> {
        loop {
            match std::mem::take(&mut self.state) {
                State::Idle => {
                    // Empty lines before a request are to be ignored (RFC 9112, 2.2).
                    let blank = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
                    let skip = self.buf.iter().take_while(blank).count();
                    self.buf.drain(..skip);
                    if self.buf.is_empty() {
                        return Ok(ReadProgress::More);
                    }
                    self.state = State::Head { searched: 0 };
                }
                State::Head { searched } => {
                    let Some(end) = head_end(&self.buf, searched) else {
                        if self.buf.len() > MAX_HEAD {
                            return Err(Unreadable::HeadTooLarge);
                        }
                        let searched = self.buf.len().saturating_sub(3);
                        self.state = State::Head { searched };
                        return Ok(ReadProgress::More);
                    };
                    if end > MAX_HEAD {
                        return Err(Unreadable::HeadTooLarge);
                    }
                    let head = parse_head(&self.buf[..end])?;
                    self.buf.drain(..end);
                    self.state = match head.framing {
                        Framing::Sized(length) => State::Sized {
                            request: head.request,
                            length,
                        },
                        Framing::Chunked => State::Chunked {
                            request: head.request,
                            part: Part::SizeLine,
                        },
                    };
                    if head.wants_continue && self.buf.is_empty() {
                        return Ok(ReadProgress::Continue);
                    }
                }
                State::Sized {
                    mut request,
                    length,
                } => {
                    if self.buf.len() < length {
                        self.state = State::Sized { request, length };
                        return Ok(ReadProgress::More);
                    }
                    let rest = self.buf.split_off(length);
                    request.body = std::mem::replace(&mut self.buf, rest);
                    return Ok(ReadProgress::Done(request));
                }
                State::Chunked { mut request, part } => {
                    let mut taken = 0;
                    let next = dechunk(&self.buf, &mut taken, part, &mut request.body)?;
                    self.buf.drain(..taken);
                    let Some(part) = next else {
                        return Ok(ReadProgress::Done(request));
                    };
                    self.state = State::Chunked { request, part };
                    return Ok(ReadProgress::More);
                }
            }
        }
    }
}

/// Where the head ends, its empty line included.
fn head_end(buf: &[u8], from: usize) -> Option<usize> {
    let tail = buf.get(from..)?;
    let at = tail.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(from + at + 4)
}

struct Head {
    request: Request,
    framing: Framing,
    wants_continue: bool,
}

fn parse_head(head: &[u8]) -> Result<Head, Unreadable> {
    let bad = Unreadable::Malformed;
    let head = std::str::from_utf8(head).map_err(|_| bad("the request head is not UTF-8"))?;
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let line = lines.next().unwrap_or_default();
    let parts: Vec<&str> = line.split(' ').collect();
    let &[method, target, version] = parts.as_slice() else {
        return Err(bad("the request line is not `METHOD TARGET VERSION`"));
    };
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(bad("the method is not a word"));
    }
    let http10 = match version {
        "HTTP/1.1" => false,
        "HTTP/1.0" => true,
        _ => return Err(bad("the version is neither HTTP/1.1 nor HTTP/1.0")),
    };
    let mut request = Request {
        method: method.to_owned(),
        path: path_of(target).ok_or(bad("the target is not a path"))?,
        http10,
        keep_alive: !http10,
        ..Request::default()
    };
    let mut length = None;
    let mut chunked = false;
    let mut wants_continue = false;
    let mut hosts = 0;
    for line in lines {
        let (name, value) = line
            .split_once(':')
            .ok_or(bad("a header line has no colon"))?;
        if name.is_empty() || name.contains([' ', '\t']) {
            return Err(bad("a header name is empty or holds a space"));
        }
        let value = value.trim_matches([' ', '\t']);
        if value.contains(['\r', '\n', '\0']) {
            return Err(bad("a header value holds a control character"));
        }
        match name.to_ascii_lowercase().as_str() {
            "host" => hosts += 1,
            "content-length" => {
                let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                let value: Option<usize> = if digits { value.parse().ok() } else { None };
                let value = value.ok_or(bad("content-length is not a number"))?;
                if length.replace(value).is_some_and(|other| other != value) {
                    return Err(bad("two different content-lengths"));
                }
            }
            "transfer-encoding" => {
                if !value.eq_ignore_ascii_case("chunked") {
                    return Err(bad("transfer-encoding is not chunked"));
                }
                chunked = true;
            }
            "connection" => {
                for token in value.split(',').map(str::trim) {
                    if token.eq_ignore_ascii_case("close") {
                        request.keep_alive = false;
                    } else if token.eq_ignore_ascii_case("keep-alive") {
                        request.keep_alive = true;
                    }
                }
            }
            "expect" => wants_continue = value.eq_ignore_ascii_case("100-continue"),
            "x-request-id" => request.request_id = Some(value.to_owned()),
            "traceparent" => request.traceparent = Some(value.to_owned()),
            "authorization" => request.authorization = Some(value.to_owned()),
            "content-type" => request.content_type = value.to_owned(),
            _ => {}
        }
    }
    if hosts == 0 && !http10 {
        return Err(bad("no host header"));
    }
    let framing = match (length, chunked) {
        (Some(_), true) => return Err(bad("both content-length and transfer-encoding")),
        (_, true) => Framing::Chunked,
        (Some(length), false) if length > MAX_BODY => return Err(Unreadable::BodyTooLarge),
        (length, false) => Framing::Sized(length.unwrap_or(0)),
    };
    let has_body = !matches!(framing, Framing::Sized(0));
    Ok(Head {
        request,
        framing,
        wants_continue: wants_continue && has_body,
    })
}

/// The path of a target in origin form, or in the absolute form that proxies send.
fn path_of(target: &str) -> Option<String> {
    let target = target.split(['?', '#']).next()?;
    if target.starts_with('/') {
        return Some(target.to_owned());
    }
    let rest = target.strip_prefix("http://")?;
    Some(rest.find('/').map_or("/", |at| &rest[at..]).to_owned())
}

/// Takes what it can of a chunked body from `buf[*at..]`; `None` once the body has ended.
fn dechunk(
    buf: &[u8],
    at: &mut usize,
    mut part: Part,
    body: &mut Vec<u8>,
) -> Result<Option<Part>, Unreadable> {
    let bad = Unreadable::Malformed;
    loop {
        let rest = &buf[*at..];
        part = match part {
            Part::SizeLine => {
                let Some(line) = take_line(rest, MAX_CHUNK_LINE)
                    .map_err(|()| bad("the line with a chunk's size is too long"))?
                else {
                    return Ok(Some(part));
                };
                *at += line.len() + 2;
                let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
                let size = hex(digits.trim_ascii()).ok_or(bad("a chunk's size is not hex"))?;
                if size > MAX_BODY - body.len() {
                    return Err(Unreadable::BodyTooLarge);
                }
                match size {
                    0 => Part::Trailer { taken: 0 },
                    left => Part::Data { left },
                }
            }
            Part::Data { left } => {
                let take = left.min(rest.len());
                body.extend_from_slice(&rest[..take]);
                *at += take;
                if take < left {
                    return Ok(Some(Part::Data { left: left - take }));
                }
                Part::DataEnd
            }
            Part::DataEnd => {
                if rest.len() < 2 {
                    return Ok(Some(part));
                }
                if &rest[..2] != b"\r\n" {
                    return Err(bad("a chunk is longer than it said"));
                }
                *at += 2;
                Part::SizeLine
            }
            Part::Trailer { taken } => {
                let Some(line) =
                    take_line(rest, MAX_HEAD - taken).map_err(|()| Unreadable::HeadTooLarge)?
                else {
                    return Ok(Some(part));
                };
                *at += line.len() + 2;
                if line.is_empty() {
                    return Ok(None);
                }
                let taken = (taken + line.len() + 2).min(MAX_HEAD);
                Part::Trailer { taken }
            }
        }
    }
}

/// A line without its CRLF; `None` while it is incomplete, `Err` if it passes the limit.
fn take_line(bytes: &[u8], limit: usize) -> Result<Option<&[u8]>, ()> {
    match bytes.windows(2).position(|two| two == b"\r\n") {
        Some(end) if end <= limit => Ok(Some(&bytes[..end])),
        None if bytes.len() <= limit => Ok(None),
        _ => Err(()),
    }
}

fn hex(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.iter().try_fold(0, |sum, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        Some(sum * 16 + digit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<ReadProgress, Unreadable> {
        let mut reader = RequestReader::default();
        reader.buf.extend_from_slice(bytes);
        reader.advance()
    }

    fn done(bytes: &[u8]) -> Request {
        match read(bytes) {
            Ok(ReadProgress::Done(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    const POST: &[u8] = b"POST /v1/completions?x=1 HTTP/1.1\r\nHost: a\r\nX-Request-ID: r1\r\n\
        Authorization: Bearer k\r\ncontent-length: 5\r\n\r\nhello";
    const CHUNKED: &[u8] = b"POST / HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
        3;ext=1\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn a_sized_request_is_read() {
        let request = done(POST);
        assert_eq!(request.method, "POST");
        assert_eq!(request.path, "/v1/completions");
        assert_eq!(request.request_id.as_deref(), Some("r1"));
        assert_eq!(request.authorization.as_deref(), Some("Bearer k"));
        assert_eq!(request.body, b"hello");
        assert!(request.keep_alive && !request.http10);
    }

    #[test]
    fn requests_come_out_the_same_however_the_bytes_are_split() {
        for whole in [POST, CHUNKED] {
            let expected = done(whole);
            for step in [1, 2, 3, 7, 30] {
                let mut reader = RequestReader::default();
                let mut got = None;
                for piece in whole.chunks(step) {
                    assert!(got.is_none(), "done before the end");
                    reader.buf.extend_from_slice(piece);
                    if let ReadProgress::Done(request) = reader.advance().unwrap() {
                        got = Some(request);
                    }
                }
                assert_eq!(got.as_ref(), Some(&expected));
                assert!(reader.is_idle());
            }
        }
        assert_eq!(done(CHUNKED).body, b"hello");
    }

    #[test]
    fn a_second_request_in_the_buffer_is_kept() {
        for first in [POST, CHUNKED] {
            let mut reader = RequestReader::default();
            reader.buf.extend_from_slice(first);
            reader.buf.extend_from_slice(b"\r\n");
            reader.buf.extend_from_slice(POST);
            assert!(matches!(reader.advance(), Ok(ReadProgress::Done(_))));
            assert!(matches!(reader.advance(), Ok(ReadProgress::Done(_))));
            assert_eq!(reader.advance(), Ok(ReadProgress::More));
            assert!(reader.is_idle());
        }
    }

    #[test]
    fn connection_headers_decide_on_keep_alive() {
        let ask = |version: &str, header: &str| {
            let text = format!("GET / {version}\r\nHost: a\r\n{header}\r\n");
            done(text.as_bytes()).keep_alive
        };
        assert!(ask("HTTP/1.1", ""));
        assert!(!ask("HTTP/1.1", "Connection: TE, Close\r\n"));
        assert!(!ask("HTTP/1.0", ""));
        assert!(ask("HTTP/1.0", "Connection: keep-alive\r\n"));
    }

    #[test]
    fn continue_is_asked_for_once() {
        let head = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\
            Content-Length: 2\r\n\r\n";
        let mut reader = RequestReader::default();
        reader.buf.extend_from_slice(head);
        assert_eq!(reader.advance(), Ok(ReadProgress::Continue));
        assert_eq!(reader.advance(), Ok(ReadProgress::More));
        reader.buf.extend_from_slice(b"ok");
        assert!(matches!(reader.advance(), Ok(ReadProgress::Done(_))));
    }

    #[test]
    fn malformed_requests_are_refused() {
        for text in [
            "GET /\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
            "GET x HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        ] {
            let got = read(text.as_bytes());
            assert!(
                matches!(got, Err(Unreadable::Malformed(_))),
                "{text}: {got:?}"
            );
        }
    }

    #[test]
    fn sizes_are_limited() {
        let long = vec![b'a'; MAX_HEAD + 1];
        assert_eq!(read(&long), Err(Unreadable::HeadTooLarge));
        let body = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 67108865\r\n\r\n";
        assert_eq!(read(body), Err(Unreadable::BodyTooLarge));
        let chunked =
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4000001\r\n";
        assert_eq!(read(chunked), Err(Unreadable::BodyTooLarge));
    }
}
