//! Who may ask: this machine alone, or whoever knows the token.

use crate::answer::{Answer, Status};
use crate::request::{Method, Request};
use std::fmt::Write as _;

const COOKIE: &str = "inferometer_token";
/// A header that no page of another site can send without asking first, which is never granted.
const OWN_HEADER: &str = "x-inferometer";

#[derive(Clone, Debug)]
pub enum Access {
    /// Requests to a name of this machine. Others are pages of elsewhere that had their name
    /// resolved to this address.
    Loopback,
    Token(String),
}

impl Access {
    /// The refusal of a request, or the way to its page; absent where it may be answered.
    pub(crate) fn refusal(&self, request: &Request) -> Option<Answer> {
        if request.method == Method::Post && !is_own(request) {
            let text = "this page may not do that: it is not served here";
            return Some(Answer::text(Status::Forbidden, text));
        }
        match self {
            Access::Loopback if is_local(request.header("host")) => None,
            Access::Loopback => Some(Answer::text(
                Status::Forbidden,
                "open it as http://127.0.0.1 or http://localhost; other names need a token\n\
                 请以 http://127.0.0.1 或 http://localhost 打开；其他主机名需要令牌",
            )),
            Access::Token(token) => {
                let bearer = request.header("authorization");
                let bearer = bearer.and_then(|it| it.strip_prefix("Bearer "));
                let known = [bearer, request.cookie(COOKIE)];
                if known.into_iter().flatten().any(|it| same(it, token)) {
                    return None;
                }
                let given = request.query.get("token");
                if given.is_some_and(|given| same(given, token)) {
                    return Some(entered(request, token));
                }
                let text = "a token is needed: open the address with ?token=…, or send Authorization: Bearer …\n\
                            需要令牌：请打开带 ?token=… 的地址，或发送 Authorization: Bearer …";
                Some(Answer::text(Status::Unauthorized, text))
            }
        }
    }
}

/// The token goes into a cookie and out of the address, which histories and screens show.
fn entered(request: &Request, token: &str) -> Answer {
    let mut to = String::new();
    for part in &request.path {
        let _ = write!(to, "/{}", encoded(part));
    }
    if to.is_empty() {
        to.push('/');
    }
    let rest = request.query.iter().filter(|(name, _)| *name != "token");
    for (nth, (name, value)) in rest.enumerate() {
        let sign = if nth == 0 { '?' } else { '&' };
        let _ = write!(to, "{sign}{}={}", encoded(name), encoded(value));
    }
    let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/");
    Answer::redirect(&to).with("Set-Cookie", cookie)
}

/// A text as part of an address.
pub fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Whether a page of this server asks, rather than one of elsewhere in the same browser.
fn is_own(request: &Request) -> bool {
    let origin = request.header("origin");
    let origin = origin.map(|it| {
        it.trim_start_matches("http://")
            .trim_start_matches("https://")
    });
    request.header(OWN_HEADER).is_some() && (origin.is_none() || origin == request.header("host"))
}

fn is_local(host: Option<&str>) -> bool {
    let Some(host) = host else {
        return false;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    matches!(name, Some("localhost" | "127.0.0.1" | "::1"))
}

/// Compares in a time that tells nothing of where two texts differ.
fn same(given: &str, token: &str) -> bool {
    let differing = given
        .bytes()
        .zip(token.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && std::hint::black_box(differing) == 0
}

/// Whether a text can be a token: letters that need no quoting in a cookie or an address, and
/// enough of them.
pub fn is_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.len() >= 16 && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(head: &str) -> Request {
        Request::read(&mut format!("{head}\r\n\r\n").as_bytes()).unwrap()
    }

    fn status(access: &Access, head: &str) -> Option<Status> {
        access.refusal(&request(head)).map(|answer| answer.status)
    }

    #[test]
    fn without_a_token_only_names_of_this_machine_are_served() {
        let open = Access::Loopback;
        for host in [
            "localhost",
            "localhost:7470",
            "127.0.0.1:7470",
            "[::1]:7470",
        ] {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}");
            assert_eq!(status(&open, &head), None);
        }
        for head in [
            "GET / HTTP/1.1\r\nHost: evil.example:7470",
            "GET / HTTP/1.1\r\nHost: localhost.evil.example",
            "GET / HTTP/1.1",
        ] {
            assert_eq!(status(&open, head), Some(Status::Forbidden), "{head}");
        }
    }

    #[test]
    fn a_token_is_asked_for_taken_and_kept_out_of_the_address() {
        let access = Access::Token("abcdefgh-01234567".to_owned());
        let ask = |more: &str| status(&access, &format!("GET {more}"));
        assert_eq!(ask("/ HTTP/1.1\r\nHost: x"), Some(Status::Unauthorized));
        assert_eq!(
            ask("/?token=abcdefgh-01234568 HTTP/1.1"),
            Some(Status::Unauthorized)
        );
        assert_eq!(ask("/?token=abcdefgh HTTP/1.1"), Some(Status::Unauthorized));
        assert_eq!(
            ask("/ HTTP/1.1\r\nAuthorization: Bearer abcdefgh-01234567"),
            None
        );
        assert_eq!(
            ask("/ HTTP/1.1\r\nCookie: inferometer_token=abcdefgh-01234567"),
            None
        );
        let entered = access
            .refusal(&request(
                "GET /runs/a%2Fb?token=abcdefgh-01234567&n=1 HTTP/1.1",
            ))
            .unwrap();
        assert_eq!(entered.status, Status::SeeOther);
        let header = |name: &str| {
            let found = entered.headers.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(header("Location"), Some("/runs/a%2Fb?n=1"));
        assert!(
            header("Set-Cookie")
                .unwrap()
                .contains("HttpOnly; SameSite=Strict")
        );
    }

    #[test]
    fn another_site_cannot_send_orders() {
        let post = "POST /api/runs/a/end HTTP/1.1\r\nHost: localhost:1";
        let open = Access::Loopback;
        assert_eq!(status(&open, post), Some(Status::Forbidden));
        let own = format!("{post}\r\nX-Inferometer: 1\r\nOrigin: http://localhost:1");
        assert_eq!(status(&open, &own), None);
        let other = format!("{post}\r\nX-Inferometer: 1\r\nOrigin: http://evil.example");
        assert_eq!(status(&open, &other), Some(Status::Forbidden));
    }

    #[test]
    fn a_token_is_long_and_plain() {
        assert!(is_token("0123456789abcdef"));
        for bad in [
            "",
            "short",
            "0123456789abcde f",
            "0123456789abcde;",
            "0123456789abcd\u{e9}",
        ] {
            assert!(!is_token(bad), "{bad}");
        }
    }
}
