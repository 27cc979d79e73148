//! A finished run, sent to an OpenTelemetry collector.

use crate::support::{Crooked, Place, records};
use inferometer_core::trace_id::TraceId;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

fn count(within: &[u8], part: &[u8]) -> usize {
    within.windows(part.len()).filter(|it| *it == part).count()
}

/// Answers every POST with 200 and keeps it.
fn collector() -> (Crooked, Arc<Mutex<Vec<Vec<u8>>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let server = Crooked::start(move |mut stream| {
        let mut request = Vec::new();
        let mut part = [0; 65_536];
        loop {
            let read = stream.read(&mut part).unwrap_or(0);
            request.extend_from_slice(&part[..read]);
            let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
            let length = text.split("content-length: ").nth(1);
            let length = length.and_then(|it| it.split("\r\n").next()?.parse::<usize>().ok());
            let head = request.windows(4).position(|it| it == b"\r\n\r\n");
            let whole = head
                .zip(length)
                .is_some_and(|(head, length)| request.len() >= head + 4 + length);
            if whole || read == 0 {
                break;
            }
        }
        kept.lock().unwrap().push(request);
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    (server, heard)
}

#[test]
fn every_request_is_a_span_of_the_trace_that_its_server_was_told() {
    let place = Place::new();
    let (server, heard) = collector();
    let run = [
        "run",
        "--quiet",
        "--requests",
        "6",
        "--concurrency",
        "2",
        "--output-tokens",
        "3",
        "--out",
        "kept",
    ];
    let ended = place.run(&[&run[..], &["--otlp", &server.url()]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let heard = heard.lock().unwrap();
    let [traces, metrics] = heard.as_slice() else {
        panic!("{} messages", heard.len());
    };
    assert!(traces.starts_with(b"POST /v1/traces "));
    let records = records(&place.path("kept"));
    for record in &records {
        assert_eq!(
            count(traces, &TraceId::of_request(&record.id).to_bytes()),
            1,
            "{}",
            record.id
        );
    }
    assert_eq!(count(traces, b"inferometer.stage"), records.len());
    assert!(metrics.starts_with(b"POST /v1/metrics "));
    assert_eq!(
        count(metrics, b"gen_ai.client.operation.time_to_first_chunk"),
        1
    );
}

#[test]
fn a_collector_that_is_not_there_costs_no_measurement() {
    let place = Place::new();
    let run = [
        "run",
        "--quiet",
        "--requests",
        "4",
        "--output-tokens",
        "2",
        "--out",
        "kept",
    ];
    let ended = place.run(&[&run[..], &["--otlp", "http://127.0.0.1:9"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("warning: --otlp: traces were not taken"),
        "{}",
        ended.stderr
    );
    let again = place.run(&["report", "kept", "--otlp", "http://127.0.0.1:9"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    place
        .run(&["run", "--otlp", "localhost:4318"])
        .assert_refused(&["http://127.0.0.1:4318"]);
}
