//! Every fault, as a client sees it and as the truth log tells it.

use std::time::{Duration, Instant};

use crate::support::{CHAT, COMPLETIONS, End, Sim, chat, with};
use serde_json::{Value, json};

fn finish(chunk: &Value) -> &Value {
    &chunk["choices"][0]["finish_reason"]
}

#[test]
fn error_statuses_come_with_a_body() {
    for (fault, status) in [("error500", 500), ("error503", 503), ("error429", 429)] {
        let sim = Sim::with_faults(fault);
        let mut client = sim.connect();
        let answer = client.post(CHAT, &chat(3));
        assert_eq!(answer.status, status);
        assert_eq!(answer.json()["error"]["code"], status);
        assert!(answer.json()["error"]["message"].is_string());
        assert_eq!(answer.header("retry-after").is_some(), status == 429);
        // The connection lives on, and other endpoints are spared.
        assert_eq!(client.ask("GET", "/health", &[], b"").status, 200);
        let truth = sim.stop();
        assert_eq!(truth.len(), 1);
        assert_eq!(truth[0].fault.as_deref(), Some(fault));
        assert!(truth[0].chunks.is_empty());
    }
}

#[test]
fn refuse_resets_the_connection() {
    let sim = Sim::with_faults("refuse");
    let answer = sim.post(CHAT, &chat(3));
    assert_eq!((answer.status, answer.end), (0, End::Reset));
    assert_eq!(sim.stop()[0].fault.as_deref(), Some("refuse"));
}

#[test]
fn slow_headers_delay_the_head() {
    let sim = Sim::with_faults("slow-headers(80ms)");
    let begun = Instant::now();
    let answer = sim.post(CHAT, &chat(3));
    assert!(begun.elapsed() >= Duration::from_millis(80));
    assert_eq!(answer.chunks().len(), 3);
    assert_eq!(sim.stop()[0].fault.as_deref(), Some("slow-headers"));
}

#[test]
fn an_inband_error_follows_some_tokens() {
    let sim = Sim::with_faults("inband-error");
    let answer = sim.post(CHAT, &chat(10));
    assert_eq!((answer.status, answer.end), (200, End::Proper));
    let chunks = answer.chunks();
    assert_eq!(chunks.len(), 6);
    assert_eq!(chunks[5]["error"]["code"], 500);
    assert!(chunks[..5].iter().all(|chunk| finish(chunk).is_null()));
    let truth = sim.stop();
    assert_eq!((truth[0].chunks.len(), truth[0].tokens()), (6, 5));
    assert_eq!(truth[0].fault.as_deref(), Some("inband-error"));
}

#[test]
fn cut_closes_within_an_event() {
    let sim = Sim::with_faults("cut");
    let answer = sim.post(CHAT, &chat(10));
    assert_eq!(answer.status, 200);
    assert_ne!(answer.end, End::Proper);
    let whole = answer.text().matches("\n\n").count();
    assert_eq!(whole, 5);
    assert!(!answer.text().ends_with("\n\n"));
    let truth = sim.stop();
    assert_eq!(truth[0].chunks.len(), 5);
    assert_eq!(truth[0].fault.as_deref(), Some("cut"));
}

#[test]
fn cut_clean_ends_the_body_without_a_finish() {
    let sim = Sim::with_faults("cut-clean");
    let answer = sim.post(CHAT, &chat(10));
    assert_eq!(answer.end, End::Proper);
    assert_eq!(answer.events().len(), 5);
    assert!(answer.chunks().iter().all(|chunk| finish(chunk).is_null()));
    assert_eq!(sim.stop()[0].fault.as_deref(), Some("cut-clean"));
}

#[test]
fn empty_answers_have_no_events() {
    let sim = Sim::with_faults("empty");
    let answer = sim.post(CHAT, &chat(10));
    assert_eq!((answer.status, answer.end), (200, End::Proper));
    assert!(answer.body.is_empty());
    assert_eq!(sim.stop()[0].fault.as_deref(), Some("empty"));
}

#[test]
fn stall_makes_one_long_gap() {
    let sim = Sim::with_faults("stall(100ms)");
    let answer = sim.post(CHAT, &chat(10));
    assert_eq!(answer.chunks().len(), 10);
    let truth = sim.stop();
    let gap = truth[0].chunks[5].0 - truth[0].chunks[4].0;
    assert!(truth[0].chunks[5].0 - truth[0].arrival >= 109_000_000);
    assert!(gap > 0);
    assert_eq!(truth[0].fault.as_deref(), Some("stall"));
}

#[test]
fn malformed_spoils_one_event() {
    let sim = Sim::with_faults("malformed");
    let answer = sim.post(CHAT, &chat(10));
    let events = answer.events();
    assert_eq!(events.len(), 11);
    let broken = events
        .iter()
        .filter(|event| serde_json::from_str::<Value>(event).is_err());
    // `[DONE]` is no JSON either.
    assert_eq!(broken.count(), 2);
    assert_eq!(sim.stop()[0].fault.as_deref(), Some("malformed"));
}

#[test]
fn close_ends_the_connection_after_the_answer() {
    let sim = Sim::with_faults("close");
    let mut client = sim.connect();
    let answer = client.post(CHAT, &chat(3));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.chunks().len(), 3);
    assert!(client.is_closed());
    assert_eq!(sim.stop()[0].fault.as_deref(), Some("close"));
}

#[test]
fn hang_never_answers() {
    let sim = Sim::with_faults("hang");
    let mut client = sim.connect();
    let body = chat(3).to_string();
    client.send(
        format!(
            "POST {CHAT} HTTP/1.1\r\nHost: sim\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
    assert!(client.is_silent_for(Duration::from_millis(100)));
    let truth = sim.stop();
    assert_eq!(truth[0].fault.as_deref(), Some("hang"));
    assert!(truth[0].chunks.is_empty());
}

#[test]
fn a_share_hits_its_part_and_the_same_requests_again() {
    let faulted = || -> Vec<bool> {
        let sim = Sim::with_faults("error500=30%");
        let mut client = sim.connect();
        (0..100)
            .map(|_| client.post(CHAT, &chat(1)).status == 500)
            .collect()
    };
    let first = faulted();
    assert_eq!(first, faulted());
    let hit = first.iter().filter(|hit| **hit).count();
    assert!((10..60).contains(&hit), "{hit}");
}

#[test]
fn role_first_comes_before_the_first_token() {
    let sim = Sim::with_faults("role-first");
    let chunks = sim.post(CHAT, &chat(3)).chunks();
    assert_eq!(chunks.len(), 4);
    let delta = json!({"role": "assistant", "content": ""});
    assert_eq!(chunks[0]["choices"][0]["delta"], delta);
    let truth = sim.stop();
    assert_eq!(truth[0].chunks[0].1, 0);
    assert!(truth[0].chunks[1].0 - truth[0].arrival >= 4_000_000);
}

#[test]
fn crlf_no_space_and_comments_change_the_lines() {
    let sim = Sim::with_faults("crlf,no-space,comments");
    let answer = sim.post(CHAT, &chat(2));
    let text = answer.text();
    assert!(
        text.starts_with(": keepalive\r\n\r\ndata:{\"id\""),
        "{text}"
    );
    assert!(text.ends_with("data:[DONE]\r\n\r\n"), "{text}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_eq!(text.matches("data:").count(), 3);
}

#[test]
fn no_done_leaves_out_the_last_event() {
    let sim = Sim::with_faults("no-done");
    let answer = sim.post(CHAT, &chat(3));
    assert_eq!(answer.end, End::Proper);
    assert_eq!(answer.events().len(), 3);
    assert_eq!(finish(&answer.chunks()[2]), "length");
}

#[test]
fn chunks_can_hold_several_tokens() {
    let sim = Sim::with_faults("tokens-per-chunk=4");
    let answer = sim.post(CHAT, &chat(10));
    let words = |chunk: &Value| {
        let text = chunk["choices"][0]["delta"]["content"].as_str();
        text.unwrap().split_whitespace().count()
    };
    let counts: Vec<_> = answer.chunks().iter().map(words).collect();
    assert_eq!(counts, [4, 4, 2]);
    let truth = sim.stop();
    let tokens: Vec<_> = truth[0].chunks.iter().map(|chunk| chunk.1).collect();
    assert_eq!(tokens, [4, 4, 2]);
}

#[test]
fn writes_can_hold_several_events() {
    let sim = Sim::with_faults("events-per-write=4");
    let answer = sim.post(CHAT, &chat(10));
    assert_eq!(answer.chunks().len(), 10);
    let truth = sim.stop();
    let stamps: Vec<_> = truth[0].chunks.iter().map(|chunk| chunk.0).collect();
    assert_eq!(stamps.len(), 10);
    for group in stamps.chunks(4) {
        assert!(group.iter().all(|stamp| *stamp == group[0]), "{stamps:?}");
    }
    truth[0].assert_ordered();
}

#[test]
fn split_writes_leave_the_content_alone() {
    let sim = Sim::with_faults("split-writes,role-first,events-per-write=3");
    let body = with(chat(10), "stream_options", json!({"include_usage": true}));
    let answer = sim.post(CHAT, &body);
    assert_eq!(answer.chunks().len(), 12);
    let truth = sim.stop();
    assert_eq!(truth[0].chunks.len(), 12);
    truth[0].assert_ordered();
}

#[test]
fn usage_comes_where_it_is_told_to() {
    let ask = |place: &str, body: Value| -> Vec<Option<u64>> {
        let sim = Sim::with_faults(place);
        let chunks = sim.post(CHAT, &body).chunks();
        let usage = |chunk: &Value| chunk["usage"]["completion_tokens"].as_u64();
        chunks.iter().map(usage).collect()
    };
    let asking = with(chat(3), "stream_options", json!({"include_usage": true}));
    assert_eq!(ask("usage=missing", asking), [None, None, None]);
    assert_eq!(ask("usage=finish", chat(3)), [None, None, Some(3)]);
    assert_eq!(ask("usage=own", chat(3)), [None, None, None, Some(3)]);
    assert_eq!(
        ask("usage=continuous", chat(3)),
        [Some(1), Some(2), Some(3), Some(3)]
    );
}

#[test]
fn reasoning_comes_first_and_apart() {
    let sim = Sim::with_faults("reasoning=3,tokens-per-chunk=2");
    let chunks = sim.post(CHAT, &chat(6)).chunks();
    let field = |chunk: &Value| {
        let delta = chunk["choices"][0]["delta"].as_object().unwrap();
        let (name, text) = delta.iter().next().unwrap();
        let words = text.as_str().unwrap().split_whitespace().count();
        (name.clone(), words)
    };
    let fields: Vec<_> = chunks.iter().map(field).collect();
    let reasoning = |words| ("reasoning_content".to_owned(), words);
    let content = |words| ("content".to_owned(), words);
    assert_eq!(fields, [reasoning(2), reasoning(1), content(2), content(1)]);
    let whole = sim
        .post(CHAT, &with(chat(6), "stream", json!(false)))
        .json();
    let message = &whole["choices"][0]["message"];
    for field in ["reasoning_content", "content"] {
        let text = message[field].as_str().unwrap();
        assert_eq!(text.split_whitespace().count(), 3, "{field}");
    }
}

#[test]
fn http10_ends_the_body_with_the_connection() {
    let sim = Sim::with_faults("http10");
    let mut client = sim.connect();
    let answer = client.post(CHAT, &chat(3));
    assert_eq!(answer.version, "HTTP/1.0");
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.chunks().len(), 3);
    assert!(client.is_closed());
    assert_eq!(sim.get("/v1/models").version, "HTTP/1.0");
}

#[test]
fn unwelcome_fields_are_refused() {
    let sim = Sim::with_faults("reject-field=ignore_eos,reject-field=min_tokens");
    let answer = sim.post(CHAT, &chat(3));
    assert_eq!(answer.status, 422);
    assert_eq!(answer.json()["detail"][0]["loc"][1], "ignore_eos");
    let body = json!({"prompt": "a", "max_tokens": 3});
    assert_eq!(sim.post(COMPLETIONS, &body).status, 200);
    let sim = Sim::with_faults("require-max-completion-tokens");
    let answer = sim.post(CHAT, &chat(3));
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["param"], "max_tokens");
    let body = json!({"messages": [{"content": "a"}], "max_completion_tokens": 3});
    assert_eq!(sim.post(CHAT, &body).status, 200);
}

#[test]
fn die_after_ends_the_server_and_what_it_was_doing() {
    let sim = Sim::with_faults("die-after=3,stall(3600s)=50%");
    // Of the first requests of this seed, some stall until the end and some are answered.
    let body = chat(4).to_string();
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: sim\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut clients: Vec<_> = (0..20).map(|_| sim.connect()).collect();
    for client in &mut clients {
        client.send_if_possible(request.as_bytes());
    }
    let address = sim.address;
    let truth = sim.wait();
    assert!(std::net::TcpStream::connect(address).is_err());
    let whole = truth.iter().filter(|line| line.tokens() == 4).count();
    assert!(whole >= 3, "{truth:?}");
    for client in &mut clients {
        let answer = client.answer();
        assert!(answer.end != End::Proper || answer.status == 200);
    }
}

#[test]
fn whole_answers_have_faults_too() {
    let body = || with(chat(10), "stream", json!(false));
    let ask = |fault: &str| Sim::with_faults(fault).post(CHAT, &body());
    assert_ne!(ask("cut").end, End::Proper);
    assert!(ask("empty").body.is_empty());
    assert!(ask("inband-error").json()["error"].is_object());
    let malformed = ask("malformed");
    assert_eq!(malformed.end, End::Proper);
    assert!(serde_json::from_slice::<Value>(&malformed.body).is_err());
    assert!(ask("usage=missing").json().get("usage").is_none());
}
