//! What a well-behaved simulated engine answers.

use crate::support;
use std::time::{Duration, Instant};

use crate::support::{CHAT, COMPLETIONS, Client, End, Sim, chat, quick, with};
use inferometer_sim::Config;
use serde_json::json;

#[test]
fn a_chat_streams_one_chunk_per_token_and_ends_with_done() {
    let sim = Sim::with_faults("");
    let answer = sim.post(CHAT, &chat(20));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.end, End::Proper);
    assert!(
        answer
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"))
    );
    assert_eq!(answer.events().last(), Some(&"[DONE]"));
    let chunks = answer.chunks();
    assert_eq!(chunks.len(), 20);
    for (index, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert_eq!(chunk["model"], "sim");
        let choice = &chunk["choices"][0];
        let text = choice["delta"]["content"].as_str().unwrap();
        assert!(text.starts_with(' ') && text.len() > 1);
        let finish = if index == 19 {
            json!("length")
        } else {
            json!(null)
        };
        assert_eq!(choice["finish_reason"], finish);
        assert!(chunk.get("usage").is_none());
    }
    // One event per HTTP chunk, and the end.
    assert_eq!(answer.chunk_sizes.len(), 21);
}

#[test]
fn completions_stream_text_and_usage_where_asked() {
    let sim = Sim::with_faults("");
    let body = json!({
        "model": "sim", "prompt": "a b c d", "max_tokens": 5, "ignore_eos": true,
        "stream": true, "stream_options": {"include_usage": true},
    });
    let chunks = sim.post(COMPLETIONS, &body).chunks();
    assert_eq!(chunks.len(), 6);
    assert_eq!(chunks[0]["object"], "text_completion");
    assert!(chunks[0]["choices"][0]["text"].is_string());
    assert_eq!(chunks[4]["choices"][0]["finish_reason"], "length");
    assert_eq!(chunks[5]["choices"], json!([]));
    let usage = json!({"prompt_tokens": 4, "total_tokens": 9, "completion_tokens": 5});
    assert_eq!(chunks[5]["usage"], usage);

    let body = with(
        body,
        "stream_options",
        json!({"include_usage": true, "continuous_usage_stats": true}),
    );
    let chunks = sim.post(COMPLETIONS, &body).chunks();
    let counts: Vec<_> = chunks
        .iter()
        .map(|chunk| chunk["usage"]["completion_tokens"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [1, 2, 3, 4, 5, 5]);
}

#[test]
fn whole_answers_hold_the_text_and_usage_and_wait_for_the_last_token() {
    let sim = Sim::with_faults("");
    let body = with(chat(30), "stream", json!(false));
    let begun = Instant::now();
    let answer = sim.post(CHAT, &body);
    assert!(begun.elapsed() >= Duration::from_millis(4 + 29));
    let whole = answer.json();
    assert_eq!(whole["object"], "chat.completion");
    let content = whole["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(content.split_whitespace().count(), 30);
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
    assert_eq!(whole["usage"]["completion_tokens"], 30);
    assert_eq!(whole["usage"]["prompt_tokens"], 3 + 4 + 3);

    let body = json!({"prompt": "x", "max_tokens": 3, "ignore_eos": true});
    let whole = sim.post(COMPLETIONS, &body).json();
    let text = whole["choices"][0]["text"].as_str().unwrap();
    assert_eq!(text.split_whitespace().count(), 3);
}

#[test]
fn streamed_and_whole_answers_of_one_seed_stop_where_the_seed_says() {
    let lengths = || -> Vec<usize> {
        let sim = Sim::start(Config { seed: 5, ..quick() });
        let mut client = sim.connect();
        let body = with(chat(12), "ignore_eos", json!(false));
        (0..10)
            .map(|_| client.post(CHAT, &body).chunks().len())
            .collect()
    };
    let first = lengths();
    assert_eq!(first, lengths());
    assert!(first.iter().all(|length| (3..=12).contains(length)));
    assert!(first.iter().any(|length| *length < 12));
}

#[test]
fn the_truth_log_holds_every_event_in_order() {
    let sim = Sim::with_faults("role-first");
    let body = with(chat(8), "stream_options", json!({"include_usage": true}));
    let bytes = body.to_string();
    let headers = [("X-Request-Id", "mine-1")];
    let answer = sim.connect().ask("POST", CHAT, &headers, bytes.as_bytes());
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
    assert_eq!(answer.chunks()[3]["id"], "chatcmpl-mine-1");
    let other = sim.post(CHAT, &chat(2));
    let own_id = other.header("x-request-id").unwrap().to_owned();
    let whole = sim.post(CHAT, &with(chat(6), "stream", json!(false)));
    assert_eq!(whole.status, 200);
    let bad = sim.post(CHAT, &json!({"messages": 1}));
    assert_eq!(bad.status, 400);

    let truth = sim.stop();
    assert_eq!(truth.len(), 4);
    for line in &truth {
        line.assert_ordered();
        assert_eq!(line.fault, None);
    }
    let tokens: Vec<u64> = truth[0].chunks.iter().map(|chunk| chunk.1).collect();
    assert_eq!(truth[0].id, "mine-1");
    assert_eq!(tokens, [0, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(truth[1].id, own_id);
    assert_eq!(truth[2].chunks.len(), 1);
    assert_eq!(truth[2].tokens(), 6);
    assert!(truth[3].chunks.is_empty());
}

#[test]
fn tokens_never_come_before_they_are_due() {
    let sim = Sim::with_faults("");
    sim.post(CHAT, &chat(50));
    let truth = sim.stop();
    for (index, (written, _)) in truth[0].chunks.iter().enumerate() {
        let due = 4_000_000 + 1_000_000 * index as u64;
        // The arrival is stamped an instant before the schedule begins.
        assert!(written - truth[0].arrival >= due, "token {index}");
    }
}

#[test]
fn a_connection_serves_many_requests_and_any_framing() {
    let sim = Sim::with_faults("");
    let mut client = sim.connect();
    for _ in 0..3 {
        assert_eq!(client.post(CHAT, &chat(3)).chunks().len(), 3);
        assert_eq!(client.ask("GET", "/health", &[], b"").status, 200);
    }
    let body = chat(4).to_string();
    let (front, back) = body.split_at(20);
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: sim\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{front}\r\n{:x}\r\n{back}\r\n0\r\n\r\n",
        front.len(),
        back.len()
    );
    client.send(request.as_bytes());
    assert_eq!(client.answer().chunks().len(), 4);
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: sim\r\nExpect: 100-continue\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    client.send(request.as_bytes());
    let mut interim = String::new();
    while !interim.ends_with("\r\n\r\n") {
        interim.push_str(&client.raw_line());
    }
    assert!(interim.starts_with("HTTP/1.1 100 "));
    client.send(body.as_bytes());
    assert_eq!(client.answer().chunks().len(), 4);
    let answer = client.ask("GET", "/health", &[("Connection", "close")], b"");
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn an_old_client_gets_a_body_that_ends_with_the_connection() {
    let sim = Sim::with_faults("");
    let body = chat(3).to_string();
    let mut client = sim.connect();
    let request = format!(
        "POST {CHAT} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    client.send(request.as_bytes());
    let answer = client.answer();
    assert_eq!(answer.version, "HTTP/1.0");
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.chunks().len(), 3);
}

#[test]
fn the_small_endpoints_answer() {
    let sim = Sim::with_faults("");
    let models = sim.get("/v1/models").json();
    assert_eq!(models["data"][0]["id"], "sim");
    assert_eq!(models["data"][0]["max_model_len"], 32_768);
    assert_eq!(sim.get("/health").status, 200);
    assert!(sim.get("/version").json()["version"].is_string());
    sim.post(CHAT, &chat(7));
    let metrics = sim.get("/metrics");
    let text = metrics.text();
    let labels = "{engine=\"0\",model_name=\"sim\"}";
    for line in [
        format!("vllm:generation_tokens_total{labels} 7"),
        format!("vllm:prompt_tokens_total{labels} 10"),
        format!("vllm:num_requests_running{labels} 0"),
        format!("vllm:time_to_first_token_seconds_count{labels} 1"),
    ] {
        assert!(text.lines().any(|have| have == line), "{line} in {text}");
    }
}

#[test]
fn wrong_requests_get_errors_that_say_why() {
    let sim = Sim::with_faults("");
    let kind = |answer: support::Answer| (answer.status, answer.json()["error"].clone());

    let (status, error) = kind(sim.post(CHAT, &with(chat(2), "model", json!("x"))));
    assert_eq!(status, 404);
    let expected = json!({
        "message": "The model `x` does not exist.", "type": "NotFoundError",
        "param": "model", "code": 404,
    });
    assert_eq!(error, expected);
    let (status, error) = kind(sim.post(CHAT, &chat(40_000)));
    assert_eq!((status, &error["type"]), (400, &json!("BadRequestError")));
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("This model's maximum context length is 32768 tokens."));
    assert_eq!(
        kind(sim.connect().ask("POST", CHAT, &[], b"{nonsense")).0,
        400
    );
    assert_eq!(kind(sim.get("/nowhere")).0, 404);
    let wrong_method = sim.get(CHAT);
    assert_eq!(wrong_method.header("allow"), Some("POST"));
    assert_eq!(kind(wrong_method).0, 405);

    // The same connection goes on after an error in a body.
    let mut client = sim.connect();
    assert_eq!(client.ask("POST", CHAT, &[], b"{").status, 400);
    assert_eq!(client.post(CHAT, &chat(2)).status, 200);

    let mut client = sim.connect();
    client.send(b"NONSENSE\r\n\r\n");
    assert_eq!(kind(client.answer()).0, 400);
    assert!(client.is_closed());
    let mut client = sim.connect();
    client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n");
    assert_eq!(kind(client.answer()).0, 413);
}

#[test]
fn a_key_and_a_prefix_are_required_where_configured() {
    let sim = Sim::start(Config {
        api_key: Some("secret".to_owned()),
        path_prefix: Some("/team".to_owned()),
        ..quick()
    });
    let path = format!("/team{CHAT}");
    let answer = sim.post(&path, &chat(2));
    assert_eq!(
        (answer.status, answer.json()),
        (401, json!({"error": "Unauthorized"}))
    );
    assert_eq!(sim.get("/team/v1/models").status, 401);
    assert_eq!(sim.get("/team/health").status, 200);
    assert_eq!(sim.get("/health").status, 404);
    let key = [("Authorization", "Bearer secret")];
    let body = chat(2).to_string();
    let ask = |path: &str| {
        sim.connect()
            .ask("POST", path, &key, body.as_bytes())
            .status
    };
    assert_eq!(ask(&path), 200);
    assert_eq!(ask(CHAT), 404);
}

#[test]
fn many_streams_run_at_once() {
    let sim = Sim::start(Config {
        ttft: Duration::from_millis(200),
        ..quick()
    });
    let mut clients: Vec<Client> = (0..200).map(|_| sim.connect()).collect();
    let body = chat(10).to_string();
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: sim\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for client in &mut clients {
        client.send(request.as_bytes());
    }
    for client in &mut clients {
        assert_eq!(client.answer().chunks().len(), 10);
    }
    drop(clients);
    let truth = sim.stop();
    assert_eq!(truth.len(), 200);
    assert!(truth.iter().all(|line| line.tokens() == 10));
}

#[test]
fn a_client_that_leaves_is_noticed_and_logged() {
    let sim = Sim::start(Config {
        ttft: Duration::from_secs(3600),
        ..quick()
    });
    let body = chat(10).to_string();
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: sim\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut client = sim.connect();
    client.send(request.as_bytes());
    assert!(client.raw_line().starts_with("HTTP/1.1 200"));
    drop(client);
    let aborted = "finished_reason=\"abort\"} 1";
    while !sim.get("/metrics").text().contains(aborted) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Another one is still waiting when the server ends.
    let mut client = sim.connect();
    client.send(request.as_bytes());
    assert!(client.raw_line().starts_with("HTTP/1.1 200"));
    let truth = sim.stop();
    assert_eq!(truth.len(), 2);
    assert!(
        truth
            .iter()
            .all(|line| line.chunks.is_empty() && line.fault.is_none())
    );
}
