//! An answer: whole, or events that come as they arise.

use ring::rand::{SecureRandom, SystemRandom};
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

    /// A page of ours, in which `<script>` is written by us alone: what others say is escaped.
    /// These scripts bear a word that is new in every answer, and no others run.
    pub fn page(html: &str) -> Self {
        let Some(nonce) = nonce() else {
            let text = "the system gives no random numbers";
            return Self::text(Status::Failed, text);
        };
        let html = html.replace("<script>", &format!("<script nonce=\"{nonce}\">"));
        let answer = Self::whole("text/html; charset=utf-8", html);
        answer.with("Content-Security-Policy", policy(&nonce))
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

    pub fn redirect(to: &str) -> Self {
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

/// What a page may do: run the scripts that bear the word of this answer, and ask this server.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; \
         img-src data: blob:; font-src data:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    )
}

/// A word that nobody can guess; absent where the system has no chance to give.
fn nonce() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
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
        let nonces = [(), ()].map(|()| {
            let page = written(Answer::page("<script>1</script><img onerror=x>"));
            let (_, rest) = page.split_once("script-src 'nonce-").unwrap();
            let (nonce, _) = rest.split_once('\'').unwrap();
            assert!(
                page.contains(&format!("<script nonce=\"{nonce}\">1</script>")),
                "{page}"
            );
            nonce.to_owned()
        });
        assert!(
            nonces[0].len() == 32 && nonces[0] != nonces[1],
            "{nonces:?}"
        );
        assert!(written(Answer::json("{}".to_owned())).contains("default-src 'none'"));
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
