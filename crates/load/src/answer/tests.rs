use super::*;
use crate::api::CHAT;

/// The record of an answer that comes in the given pieces, one a millisecond.
fn read<P: AsRef<[u8]>>(pieces: &[P]) -> (Record, AnswerProgress) {
    let mut record = Record {
        streamed: true,
        ..Record::default()
    };
    let mut reader = AnswerReader::new(CHAT);
    let mut progress = AnswerProgress::More;
    for (i, piece) in pieces.iter().enumerate() {
        progress = reader.take(piece.as_ref(), at(i as u64 + 1), &mut record);
        if matches!(progress, AnswerProgress::Over { .. }) {
            break;
        }
    }
    if !matches!(progress, AnswerProgress::Over { .. }) {
        reader.close(at(pieces.len() as u64 + 1), &mut record);
    }
    (record, progress)
}

fn at(millis: u64) -> Offset {
    Offset(millis * 1_000_000)
}

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

fn token(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

fn class(record: &Record) -> Option<FailureClass> {
    record.failure().map(|failure| failure.class)
}

#[test]
fn the_first_token_is_the_first_chunk_with_text_and_not_the_role() {
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    let (record, _) = read(&[
        HEAD,
        role,
        &token("a"),
        &token("b"),
        FINISH,
        "data: [DONE]\n\n",
    ]);
    assert_eq!(record.first_token(), Some(at(3)));
    assert_eq!(record.chunks.len(), 2);
    assert_eq!(record.bare.len(), 2);
    assert!(record.is_done());
}

#[test]
fn chunks_of_one_read_share_its_time_and_say_so() {
    let both = token("a") + &token("b");
    let (record, _) = read(&[HEAD, &both, &token("c"), FINISH]);
    assert_eq!(record.chunks.at, [at(2), at(2), at(3)]);
    assert_eq!(record.chunks.same_read, [false, true, false]);
}

#[test]
fn a_stream_may_end_with_a_finish_and_without_done() {
    let (record, _) = read(&[HEAD, &token("a"), FINISH]);
    assert!(record.is_done());
}

#[test]
fn streams_that_look_like_success_but_are_none_have_their_own_class() {
    let (cut, _) = read(&[HEAD, &token("a")]);
    assert_eq!(class(&cut), Some(FailureClass::CutStream));
    let (empty, _) = read(&[HEAD]);
    assert_eq!(class(&empty), Some(FailureClass::EmptyStream));
    let (empty_done, _) = read(&[HEAD, "data: [DONE]\n\n"]);
    assert_eq!(class(&empty_done), Some(FailureClass::EmptyStream));
    let error = "data: {\"error\":{\"message\":\"boom\"}}\n\n";
    let (in_band, _) = read(&[HEAD, &token("a"), error, &token("b"), "data: [DONE]\n\n"]);
    assert_eq!(class(&in_band), Some(FailureClass::InBandError));
    assert_eq!(in_band.failure().unwrap().detail, "boom");
    let (bad, _) = read(&[HEAD, &token("a"), "data: {oops\n\n", FINISH]);
    assert_eq!(class(&bad), Some(FailureClass::BadStream));
}

#[test]
fn a_chunked_body_that_breaks_off_is_cut_even_after_tokens() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let (record, _) = read(&[head, &chunk(&token("a"))]);
    assert_eq!(class(&record), Some(FailureClass::CutStream));
    assert_eq!(record.failure().unwrap().phase, Phase::Truncated);
    let (whole, progress) = read(&[head, &chunk(&token("a")), &chunk(FINISH), "0\r\n\r\n"]);
    assert!(whole.is_done());
    assert_eq!(progress, AnswerProgress::Over { reusable: true });
}

#[test]
fn a_whole_answer_to_a_request_for_a_stream_has_no_first_token() {
    let body = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}"#;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let (record, progress) = read(&[&head, body]);
    assert!(record.is_done() && !record.streamed);
    assert_eq!((record.ttft(), record.output_tokens()), (None, Some(2)));
    assert_eq!(progress, AnswerProgress::Over { reusable: true });
}

#[test]
fn an_error_status_keeps_the_body_and_what_is_no_http_is_a_bad_stream() {
    let (record, _) = read(&["HTTP/1.1 503 No\r\nContent-Length: 7\r\n\r\n", "loading"]);
    assert_eq!(class(&record), Some(FailureClass::ServerError));
    assert_eq!(record.failure().unwrap().detail, "loading");
    let (noise, _) = read(&["220 mail.example ESMTP\r\n"]);
    assert_eq!(class(&noise), Some(FailureClass::BadStream));
    let (nothing, _) = read::<&str>(&[]);
    assert_eq!(class(&nothing), Some(FailureClass::Disconnected));
}

#[test]
fn counts_per_chunk_are_kept_only_if_every_chunk_has_one() {
    let counted = |text: &str, count: u32| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}],\"usage\":{{\"completion_tokens\":{count}}}}}\n\n"
        )
    };
    let (record, _) = read(&[HEAD, &counted("a", 1), &counted("b", 4), FINISH]);
    assert_eq!(record.chunks.tokens, Some(vec![1, 3]));
    let (record, _) = read(&[HEAD, &token("a"), &counted("b", 4), FINISH]);
    assert_eq!(record.chunks.tokens, None);
}

#[test]
fn an_interim_answer_is_passed_over() {
    let (record, _) = read(&["HTTP/1.1 100 Continue\r\n\r\n", HEAD, &token("a"), FINISH]);
    assert_eq!(record.status, Some(200));
    assert!(record.is_done());
}

#[test]
fn a_compressed_answer_is_named_as_such() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n";
    let (record, _) = read(&[head, "\u{1f}binary"]);
    let failure = record.failure().unwrap();
    assert_eq!(failure.class, FailureClass::BadStream);
    assert!(failure.detail.contains("gzip"), "{}", failure.detail);
}

#[test]
fn a_compressed_answer_that_does_not_say_so_is_named_all_the_same() {
    for kind in ["text/event-stream", "application/json"] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let body = b"5\r\n\x1f\x8b\x08\x00\x00\r\n0\r\n\r\n";
        let (record, _) = read(&[head.as_bytes(), &body[..]]);
        let failure = record.failure().unwrap();
        assert_eq!(failure.class, FailureClass::BadStream, "{kind}");
        assert!(failure.detail.contains("gzip"), "{}", failure.detail);
    }
}
