//! An answer: whole, or events that come as they arise.

use ring::digest::{SHA256, digest};
use std::io::{self, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    SeeOther,
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    TooMany,
    Failed,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::SeeOther => "303 See Other",
            Status::BadRequest => "400 Bad Request",
            Status::Unauthorized => "401 Unauthorized",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::TooMany => "503 Service Unavailable",
            Status::Failed => "500 Internal Server Error",
        }
    }
}

/// Server-sent events: each call waits for the next one and gives its data, of one line; absent at
/// the end.
pub type Events = Box<dyn FnMut() -> Option<String> + Send>;

pub struct Answer {
    pub status: Status,
    pub(crate) kind: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Whole(Vec<u8>),
    Events(Events),
}

impl Answer {
    fn whole(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Answer {
            status: Status::Ok,
            kind,
            headers: Vec::new(),
            body: Body::Whole(body.into()),
        }
    }

    /// A page of ours. Its own scripts may run, and no others: whatever got into it by a mistake
    /// has no hash.
    pub fn page(html: String) -> Self {
        let policy = policy(&html);
        Self::whole("text/html; charset=utf-8", html).with("Content-Security-Policy", policy)
    }

    pub fn json(text: String) -> Self {
        Self::whole("application/json", text)
    }

    pub fn text(status: Status, text: &str) -> Self {
        let answer = Self::whole("text/plain; charset=utf-8", format!("{text}\n"));
        Answer { status, ..answer }
    }

    /// Metrics in the text form that Prometheus scrapes.
    pub fn metrics(text: String) -> Self {
        Self::whole(
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text,
        )
    }

    pub fn events(events: Events) -> Self {
        Answer {
            body: Body::Events(events),
            ..Self::whole("text/event-stream", Vec::new())
        }
    }

    pub(crate) fn redirect(to: &str) -> Self {
        let answer = Self::text(Status::SeeOther, "see Location");
        answer.with("Location", to.to_owned())
    }

    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Writes the head, and the body unless only the head was asked for.
    pub(crate) fn write(self, head_only: bool, stream: &mut impl Write) -> io::Result<()> {
        let mut head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n",
            self.status.line(),
            self.kind
        );
        let has_policy = self
            .headers
            .iter()
            .any(|(name, _)| *name == "Content-Security-Policy");
        if !has_policy {
            head += "Content-Security-Policy: default-src 'none'\r\n";
        }
        for (name, value) in &self.headers {
            // A line end in a value would begin another header.
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            head += &format!("{name}: {value}\r\n");
        }
        match self.body {
            Body::Whole(body) => {
                head += &format!("Content-Length: {}\r\n\r\n", body.len());
                stream.write_all(head.as_bytes())?;
                if !head_only {
                    stream.write_all(&body)?;
                }
            }
            Body::Events(mut events) => {
                stream.write_all((head + "\r\n").as_bytes())?;
                while let Some(data) = events().filter(|_| !head_only) {
                    stream.write_all(format!("data: {data}\n\n").as_bytes())?;
                    stream.flush()?;
                }
            }
        }
        stream.flush()
    }
}

/// What a page may do: run the scripts that it holds by their hashes, and ask this server.
fn policy(html: &str) -> String {
    let mut scripts = String::new();
    for part in html.split("<script>").skip(1) {
        let Some((script, _)) = part.split_once("</script>") else {
            continue;
        };
        let hash = base64(digest(&SHA256, script.as_bytes()).as_ref());
        scripts += &format!(" 'sha256-{hash}'");
    }
    if scripts.is_empty() {
        scripts = " 'none'".to_owned();
    }
    format!(
        "default-src 'none'; script-src{scripts}; style-src 'unsafe-inline'; img-src data: blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk
            .iter()
            .fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * place) & 63) as usize]);
            text.push(if place > chunk.len() { '=' } else { letter });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(answer: Answer) -> String {
        let mut out = Vec::new();
        answer.write(false, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_the_scripts_of_a_page_may_run() {
        let page = written(Answer::page(
            "<script>1</script><p><script>2</script>".to_owned(),
        ));
        // Hashes of "1" and "2", as every browser computes them.
        assert!(
            page.contains("'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"),
            "{page}"
        );
        assert_eq!(page.matches("'sha256-").count(), 2);
        assert!(written(Answer::page("<p>".to_owned())).contains("script-src 'none'"));
        assert!(written(Answer::json("{}".to_owned())).contains("default-src 'none'"));
    }

    #[test]
    fn base64_is_padded_as_everywhere() {
        for (plain, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")] {
            assert_eq!(base64(plain.as_bytes()), expected);
        }
    }

    #[test]
    fn events_are_lines_of_data_and_headers_cannot_be_split() {
        let mut left = vec!["b", "a"];
        let events = written(Answer::events(Box::new(move || {
            left.pop().map(str::to_owned)
        })));
        assert!(
            events.ends_with("\r\n\r\ndata: a\n\ndata: b\n\n"),
            "{events}"
        );
        let split = written(Answer::redirect("/x\r\nSet-Cookie: a=b"));
        assert!(!split.contains("\r\nSet-Cookie"), "{split}");
    }
}
