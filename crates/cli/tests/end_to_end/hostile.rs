//! What a server says is shown, but never obeyed.

use crate::support::{Crooked, Place, Sim, answer};
use std::sync::atomic::{AtomicU32, Ordering};

/// Colours the terminal, goes back to the beginning of the line and turns the text around.
const HOSTILE: &str = "\u{1b}[31m\u{1b}]0;title\u{7}over\rwritten\u{202e}";

fn assert_harmless(text: &str) {
    let harmful = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(harmful), "{text:?}");
}

#[test]
fn escapes_in_names_and_errors_do_not_reach_the_terminal() {
    let place = Place::new();
    let answered = AtomicU32::new(0);
    let model = serde_json::json!({"data": [{"id": format!("model{HOSTILE}")}]}).to_string();
    let server = Crooked::answering(move |head| {
        if head.starts_with("GET") {
            return answer("200 OK", "application/json", &model);
        }
        match answered.fetch_add(1, Ordering::SeqCst) {
            0 => answer(
                "200 OK",
                "application/json",
                r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#,
            ),
            _ => answer("500 Oh", "text/plain", HOSTILE),
        }
    });
    let run = place.measure(
        &server.url(),
        &[
            "--requests",
            "3",
            "--concurrency",
            "1",
            "--output-tokens",
            "4",
        ],
    );
    assert_eq!((run.ended.code, run.summary.requests.failed), (Some(1), 3));
    assert!(
        run.ended.stdout.contains("model") && run.ended.stdout.contains("written"),
        "{}",
        run.ended.stdout
    );
    assert_harmless(&run.ended.stdout);
    let vllm = place.run(&["report", run.path.to_str().unwrap(), "--dialect", "vllm"]);
    assert_harmless(&vllm.stdout);
    let csv = place.run(&[
        "report",
        run.path.to_str().unwrap(),
        "--format",
        "csv",
        "-o",
        "-",
    ]);
    assert_harmless(&csv.stdout.replace("\r\n", "\n"));
    assert_harmless(
        &place
            .run(&["runs", place.path("").to_str().unwrap()])
            .stdout,
    );

    let refusing = Crooked::answering(|_| answer("401 No", "text/plain", HOSTILE));
    let refused = place.run(&["run", &refusing.url(), "--lang", "en"]);
    refused.assert_refused(&["401"]);
    assert_harmless(&refused.stderr);
}

#[test]
fn an_endless_head_or_error_does_not_fill_the_memory() {
    let place = Place::new();
    let endless = Crooked::start(|mut stream| {
        use std::io::Write;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        let line = "X-Long: ".to_owned() + &"x".repeat(1 << 16) + "\r\n";
        for _ in 0..512 {
            if stream.write_all(line.as_bytes()).is_err() {
                return;
            }
        }
    });
    let refused = place.run(&["run", &endless.url(), "--lang", "en"]);
    refused.assert_refused(&[]);
}

#[test]
fn a_field_of_the_users_own_that_the_server_refuses_ends_the_run_with_the_servers_words() {
    let place = Place::new();
    let sim = Sim::with_faults("reject-field=guided_choice");
    let extra = r#"{"guided_choice": ["a"]}"#;
    let refused = place.run(&["run", &sim.url, "--lang", "en", "--extra", extra]);
    refused.assert_refused(&["422", "guided_choice", "--extra"]);
}
