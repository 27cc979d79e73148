//! Answers that are not generated: errors, the list of models, and the heads of all answers.

use std::fmt::Write as _;

use inferometer_catalog::engine::EngineKind;
use serde_json::{Value, json};

use crate::{clock::unix_seconds, fault::Fault, http::Unreadable};

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// What vLLM tells of a request whose engine has died (seen with 0.32).
pub(crate) const ENGINE_DEAD: &str =
    "EngineCore encountered an issue. See stack trace (above) for the root cause.";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorReply {
    pub(crate) status: u16,
    /// JSON.
    pub(crate) body: String,
    /// One more header, where the status asks for it.
    pub(crate) header: Option<(&'static str, &'static str)>,
}

impl ErrorReply {
    fn openai(status: u16, kind: &str, param: Option<&str>, message: &str) -> ErrorReply {
        let body = json!({"error": {
            "message": message, "type": kind, "param": param, "code": status,
        }});
        ErrorReply::with_body(status, &body)
    }

    fn with_body(status: u16, body: &Value) -> ErrorReply {
        ErrorReply {
            status,
            body: body.to_string(),
            header: None,
        }
    }

    pub(crate) fn bad_request(message: impl AsRef<str>) -> ErrorReply {
        ErrorReply::openai(400, "BadRequestError", None, message.as_ref())
    }

    pub(crate) fn unknown_model(model: &str) -> ErrorReply {
        let message = format!("The model `{model}` does not exist.");
        ErrorReply::openai(404, "NotFoundError", Some("model"), &message)
    }

    pub(crate) fn unauthorized() -> ErrorReply {
        ErrorReply::with_body(401, &json!({"error": "Unauthorized"}))
    }

    /// As vLLM's web framework says it.
    pub(crate) fn not_found() -> ErrorReply {
        ErrorReply::with_body(404, &json!({"detail": "Not Found"}))
    }

    pub(crate) fn method_not_allowed(allowed: &'static str) -> ErrorReply {
        let body = json!({"detail": "Method Not Allowed"});
        let mut refusal = ErrorReply::with_body(405, &body);
        refusal.header = Some(("allow", allowed));
        refusal
    }

    /// As pydantic says it where extra fields are forbidden.
    pub(crate) fn extra_field(field: &str, input: &Value) -> ErrorReply {
        let body = json!({"detail": [{
            "type": "extra_forbidden", "loc": ["body", field],
            "msg": "Extra inputs are not permitted", "input": input,
        }]});
        ErrorReply::with_body(422, &body)
    }

    /// As OpenAI says it for its reasoning models.
    pub(crate) fn unsupported_max_tokens() -> ErrorReply {
        let body = json!({"error": {
            "message": "Unsupported parameter: 'max_tokens' is not supported with this model. \
                        Use 'max_completion_tokens' instead.",
            "type": "invalid_request_error", "param": "max_tokens",
            "code": "unsupported_parameter",
        }});
        ErrorReply::with_body(400, &body)
    }

    pub(crate) fn unreadable(reason: Unreadable) -> ErrorReply {
        match reason {
            Unreadable::Malformed(why) => ErrorReply::bad_request(why),
            Unreadable::HeadTooLarge => {
                let message = "the request head is larger than 64 KiB";
                ErrorReply::openai(413, "RequestEntityTooLarge", None, message)
            }
            Unreadable::BodyTooLarge => {
                let message = "the request body is larger than 64 MiB";
                ErrorReply::openai(413, "RequestEntityTooLarge", None, message)
            }
        }
    }

    pub(crate) fn internal(message: &str) -> ErrorReply {
        ErrorReply::openai(500, "InternalServerError", None, message)
    }

    pub(crate) fn engine_dead() -> ErrorReply {
        ErrorReply::internal(ENGINE_DEAD)
    }

    /// Of `/health`, while a dead engine's server is still up: by vLLM's source. Seen was 200,
    /// since the death had not yet been noticed, and then no server.
    pub(crate) fn unhealthy() -> ErrorReply {
        ErrorReply {
            status: 503,
            body: String::new(),
            header: None,
        }
    }

    /// The status that an engine gives it: what MindIE finds wrong with a body is 422.
    pub(crate) fn status_for(&self, kind: Option<EngineKind>) -> u16 {
        match (kind, self.status) {
            (Some(EngineKind::Mindie), 400) => 422,
            (_, status) => status,
        }
    }

    pub(crate) fn body_for(&self, kind: Option<EngineKind>) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let error = &body["error"];
        let Some(message) = error["message"].as_str().or(error.as_str()) else {
            return self.body.clone();
        };
        match kind {
            Some(EngineKind::Mindie) => {
                let kind = match self.status_for(Some(EngineKind::Mindie)) {
                    404 => "NotFoundError",
                    422 => "Input Validation Error",
                    424 => "Generation Error",
                    503 => "Service Unavailable",
                    400..=499 => "Bad Request",
                    _ => "Incomplete Generation",
                };
                json!({"error": message, "error_type": kind}).to_string()
            }
            Some(EngineKind::Sglang) => json!({
                "object": "error", "message": message, "type": error["type"],
                "param": error["param"], "code": self.status,
            })
            .to_string(),
            _ => self.body.clone(),
        }
    }

    pub(crate) fn injected(fault: Fault) -> ErrorReply {
        match fault {
            Fault::Error429 => {
                let message = "Rate limit reached for requests; try again in 1 s.";
                let mut reply = ErrorReply::openai(429, "RateLimitError", None, message);
                reply.header = Some(("retry-after", "1"));
                reply
            }
            Fault::Error503 => {
                let message = "The server is overloaded or not ready yet.";
                ErrorReply::openai(503, "ServiceUnavailableError", None, message)
            }
            _ => ErrorReply::engine_dead(),
        }
    }
}

/// As vLLM lists the one model that it serves.
pub(crate) fn model_list(model: &str, adapters: &[String], max_model_len: u32) -> String {
    let card = |name: &str, parent: Option<&str>| {
        json!({
            "id": name, "object": "model", "created": unix_seconds(),
            "owned_by": "inferometer-sim", "root": name, "parent": parent,
            "max_model_len": max_model_len,
        })
    };
    let adapters = adapters.iter().map(|name| card(name, Some(model)));
    let cards: Vec<Value> = std::iter::once(card(model, None)).chain(adapters).collect();
    json!({"object": "list", "data": cards}).to_string()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    Length(usize),
    Chunked,
    /// With the connection, as in HTTP/1.0.
    Close,
}

pub(crate) struct Head<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    pub(crate) body_end: BodyEnd,
    pub(crate) http10: bool,
    pub(crate) keep_alive: bool,
    pub(crate) request_id: Option<&'a str>,
    pub(crate) header: Option<(&'static str, &'static str)>,
}

impl<'a> Head<'a> {
    /// The head of an answer over HTTP/1.1 that leaves the connection open.
    pub(crate) fn new(status: u16, content_type: &'a str, body_end: BodyEnd) -> Head<'a> {
        Head {
            status,
            content_type,
            body_end,
            http10: false,
            keep_alive: true,
            request_id: None,
            header: None,
        }
    }

    pub(crate) fn render(&self) -> String {
        let version = if self.http10 { "HTTP/1.0" } else { "HTTP/1.1" };
        let reason = reason(self.status);
        let mut head = format!(
            "{version} {} {reason}\r\nserver: inferometer-sim\r\n",
            self.status
        );
        let mut add = |name: &str, value: &dyn std::fmt::Display| {
            write!(head, "{name}: {value}\r\n").expect("writing to a string cannot fail");
        };
        add("content-type", &self.content_type);
        if let Some(id) = self.request_id {
            add("x-request-id", &id);
        }
        if let Some((name, value)) = self.header {
            add(name, &value);
        }
        match self.body_end {
            BodyEnd::Length(length) => add("content-length", &length),
            BodyEnd::Chunked => add("transfer-encoding", &"chunked"),
            BodyEnd::Close => {}
        }
        match (self.keep_alive, self.http10) {
            (false, _) => add("connection", &"close"),
            (true, true) => add("connection", &"keep-alive"),
            (true, false) => {}
        }
        head.push_str("\r\n");
        head
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        422 => "Unprocessable Entity",
        424 => "Failed Dependency",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
