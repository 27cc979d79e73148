//! The null server.

use crate::support;
use std::{
    net::SocketAddr,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::support::{CHAT, COMPLETIONS, Client, chat};
use inferometer_sim::{
    SimError,
    null::{NullConfig, NullServer},
};
use serde_json::json;

struct Null {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), SimError>>,
}

impl Null {
    fn start(config: NullConfig) -> Null {
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = NullServer::bind(any_port, config).expect("a free port");
        let address = server.local_addr();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(&flag));
        Null {
            address,
            stop,
            thread,
        }
    }

    fn stop(self) {
        self.stop.store(true, Relaxed);
        self.thread.join().expect("no panic").expect("served well");
    }
}

#[test]
fn answers_hold_exactly_the_tokens_asked_for() {
    for events_per_write in [1, 16] {
        let null = Null::start(NullConfig {
            events_per_write: NonZeroU32::new(events_per_write).unwrap(),
            ..NullConfig::default()
        });
        let mut client = Client::connect(null.address);
        for tokens in [1, 15, 16, 17, 40] {
            let answer = client.post(CHAT, &chat(tokens));
            let chunks = answer.chunks();
            assert_eq!(chunks.len(), tokens as usize + 1);
            assert_eq!(answer.events().last(), Some(&"[DONE]"));
            let last = &chunks[tokens as usize - 1];
            assert_eq!(last["choices"][0]["finish_reason"], "length");
            assert_eq!(
                chunks[tokens as usize]["usage"]["completion_tokens"],
                tokens
            );
            // A chunk of the body for each event: tokens, usage, done.
            assert_eq!(answer.chunk_sizes.len(), tokens as usize + 2);
        }
        let answer = client.post(COMPLETIONS, &json!({"prompt": "a", "max_tokens": 2}));
        assert!(answer.chunks()[0]["choices"][0]["text"].is_string());
        assert_eq!(client.ask("GET", "/health", &[], b"").status, 200);
        let models = client.ask("GET", "/v1/models", &[], b"").json();
        assert_eq!(models["data"][0]["id"], "null");
        null.stop();
    }
}

#[test]
fn a_gap_keeps_the_beat_and_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let null = Null::start(NullConfig {
        gap: Some(Duration::from_millis(2)),
        events_per_write: NonZeroU32::new(2).unwrap(),
        truth: Some(folder.path().join("truth.jsonl")),
        ..NullConfig::default()
    });
    let body = chat(10).to_string();
    let headers = [("x-request-id", "n1")];
    let mut client = Client::connect(null.address);
    let answer = client.ask("POST", CHAT, &headers, body.as_bytes());
    assert_eq!(answer.header("x-request-id"), Some("n1"));
    assert_eq!(answer.chunks().len(), 11);
    // Stops although a connection is open.
    null.stop();
    let truth = support::read_truth(&folder);
    assert_eq!(truth.len(), 1);
    assert_eq!(truth[0].id, "n1");
    assert_eq!(truth[0].tokens(), 10);
    assert_eq!(truth[0].chunks.len(), 11);
    truth[0].assert_ordered();
    for (index, chunk) in truth[0].chunks[..10].iter().enumerate() {
        let due = 2_000_000 * (index as u64 / 2);
        assert!(chunk.0 - truth[0].arrival >= due, "event {index}");
    }
}
