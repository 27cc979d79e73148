//! From what went wrong to a failure with its phase and class.

use inferometer_core::record::{Failure, FailureClass, Phase};
use std::io;

pub fn failure(phase: Phase, class: FailureClass, detail: impl Into<String>) -> Failure {
    Failure {
        phase,
        class,
        detail: detail.into(),
    }
}

pub fn of_io(phase: Phase, error: &io::Error) -> Failure {
    use io::ErrorKind::*;
    let class = match error.kind() {
        ConnectionRefused => FailureClass::Refused,
        ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof | NotConnected => {
            FailureClass::Disconnected
        }
        TimedOut => FailureClass::ConnectTimeout,
        InvalidData => FailureClass::TlsFailed,
        _ => FailureClass::Network,
    };
    let phase = match class {
        FailureClass::ConnectTimeout => Phase::Timeout,
        _ => phase,
    };
    failure(phase, class, error.to_string())
}

pub fn of_status(status: u16, body: &str) -> Failure {
    let class = match status {
        401 | 403 | 407 => FailureClass::Unauthorized,
        404 | 405 => FailureClass::NotFound,
        429 => FailureClass::RateLimited,
        300..=399 => FailureClass::Redirected,
        400..=500 if speaks_of_context(body) => FailureClass::ContextExceeded,
        400..=499 => FailureClass::BadRequest,
        _ => FailureClass::ServerError,
    };
    failure(Phase::Status, class, body)
}

/// Engines say in many words that a prompt is too long.
pub fn speaks_of_context(body: &str) -> bool {
    const WORDS: [&str; 14] = [
        "context length",
        "context_length_exceeded",
        "context size",
        "exceed_context_size",
        "maximum context",
        "max_model_len",
        "max_seq_len",
        "maximum input length",
        "maximum input ids length",
        "maxinputtokenlen",
        "longer than the maximum",
        "too long",
        "too large to process",
        "inputs tokens",
    ];
    let body = body.to_ascii_lowercase().replace('`', "");
    WORDS.iter().any(|words| body.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_beyond_the_context_is_told_from_other_bad_requests() {
        let body = r#"{"error":{"message":"This model's maximum context length is 4096 tokens."}}"#;
        assert_eq!(of_status(400, body).class, FailureClass::ContextExceeded);
        let mindie = "This model's maximum input ids length cannot be greater than 2559,the input ids length is 2757";
        assert_eq!(of_status(400, mindie).class, FailureClass::ContextExceeded);
        assert_eq!(of_status(400, "{}").class, FailureClass::BadRequest);
        assert_eq!(of_status(503, "loading").class, FailureClass::ServerError);
        assert_eq!(of_status(307, "").class, FailureClass::Redirected);
    }
}
