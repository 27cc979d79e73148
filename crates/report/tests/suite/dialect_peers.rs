//! The dialects of AIPerf and GuideLLM against what these tools themselves made of the same
//! requests: their times and counts become records, and every metric must come out as theirs.

use inferometer_core::environment::{Ending, Environment};
use inferometer_core::options::Options;
use inferometer_core::record::{
    BareChunk, BareKind, Chunks, Failure, FailureClass, Outcome, Phase, Record, Usage,
};
use inferometer_core::scenario::Scenario;
use inferometer_core::units::Offset;
use inferometer_dialect::{Foreign, Source, json, text};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;

const ONLY_COUNT: &str = "the server's count is the only one";
const NOT_COUNTED: &str = "the server counts no tokens of a failure";

/// What the tool has and records do not: bytes and writes of a connection, and counts of a
/// tokenizer of its own beside the server's.
const AIPERF_ALONE: [(&str, &str); 14] = [
    ("http_req_blocked", "no request waits for a connection here"),
    ("http_req_dns_lookup", "names are looked up before the run"),
    ("http_req_sending", "the end of sending is not recorded"),
    ("http_req_waiting", "the end of sending is not recorded"),
    ("http_req_data_sent", "bytes are not recorded"),
    ("http_req_data_received", "bytes are not recorded"),
    ("http_req_chunks_sent", "writes are not recorded"),
    ("http_req_chunks_received", "reads are not recorded"),
    ("usage_prompt_tokens_diff_pct", ONLY_COUNT),
    ("usage_completion_tokens_diff_pct", ONLY_COUNT),
    ("usage_discrepancy_count", ONLY_COUNT),
    ("error_isl", NOT_COUNTED),
    ("total_error_isl", NOT_COUNTED),
    (
        "telemetry_data",
        "the server's devices are not in the records",
    ),
];

const OF_CONVERSATIONS: &str = "the tool states it for conversations alone";

/// What the tool has and records do not.
const GUIDELLM_ALONE: [(&str, &str); 8] = [
    ("text", "words are not counted"),
    ("image", "the tool states it for requests with images alone"),
    ("video", "the tool states it for requests with videos alone"),
    ("audio", "the tool states it for requests with sounds alone"),
    (
        "tool_call",
        "the tool states it for requests with tools alone",
    ),
    ("turns", OF_CONVERSATIONS),
    ("turn_predecessor_delay", OF_CONVERSATIONS),
    ("turn_scheduling_delay", OF_CONVERSATIONS),
];

struct Peer {
    /// What the tool said.
    metrics: Map<String, Value>,
    console: String,
    records: Vec<Record>,
    scenario: Scenario,
    ending: Ending,
}

impl Peer {
    fn read(name: &str) -> Value {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/dialect");
        let file = std::fs::read_to_string(format!("{folder}/{name}.json")).expect(name);
        serde_json::from_str(&file).expect(name)
    }

    fn new(found: &Value, records: Vec<Record>, measured_from: Offset) -> Self {
        let slo = if found["slos"].is_object() {
            "[objectives]\nslo = [\"ttft=40ms\", \"tpot=6ms\"]\n"
        } else {
            ""
        };
        let options = Options::from_toml(&format!("[load]\nconcurrency = 4\n{slo}"));
        Peer {
            metrics: found["metrics"].as_object().expect("metrics").clone(),
            console: found["console"].as_str().expect("a console").to_owned(),
            ending: Ending {
                planned: records.len() as u64,
                measured_from,
                ..Ending::default()
            },
            scenario: options.unwrap().resolve().unwrap(),
            records,
        }
    }

    fn told(&self, dialect: Foreign) -> (Value, String) {
        let environment = Environment::default();
        let source = Source {
            records: &self.records,
            scenario: &self.scenario,
            environment: &environment,
            ending: &self.ending,
            invalid: &[],
        };
        let own = serde_json::from_str(&json(dialect, &source).unwrap()).unwrap();
        (own, text(dialect, &source).unwrap())
    }
}

fn failed(at: Phase) -> Outcome {
    Outcome::Failed(Failure {
        phase: at,
        class: FailureClass::ServerError,
        detail: String::new(),
    })
}

fn chunks(at: Vec<Offset>) -> Chunks {
    Chunks {
        same_read: vec![false; at.len()],
        tokens: None,
        at,
    }
}

/// Nanoseconds of a number of milliseconds.
fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Nanoseconds since midnight.
fn of_day(time: &Value) -> u64 {
    let time = time
        .as_str()
        .expect("a time")
        .split_once('T')
        .expect("a date")
        .1;
    let parts = time.split(':').map(|part| part.parse::<f64>().unwrap());
    ns(parts.fold(0.0, |sum, part| sum * 60.0 + part) * 1e3)
}

fn aiperf_run(name: &str) -> Peer {
    let found = Peer::read(name);
    let day = 86_400 * 1_000_000_000;
    let origin = of_day(&found["start_time"]);
    let since = |at: &Value| Offset(at.as_u64().expect("ns") % day - origin);
    let requests = found["requests"].as_array().expect("requests");
    let mut records: Vec<Record> = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        let number = |key: &str| request[key].as_f64();
        let start = since(&request["start_ns"]);
        let mut record = Record {
            index: index as u64,
            sent: Some(start),
            streamed: true,
            end: Some(start),
            outcome: failed(Phase::Status),
            ..Record::default()
        };
        if request["failed"] == false {
            let connect = Duration::from_nanos(ns(number("http_req_connecting").unwrap()));
            record.connect = (number("http_req_connection_reused") == Some(0.0)).then_some(connect);
            let sent = Offset(start.0 + connect.as_nanos() as u64);
            let end = Offset(sent.0 + ns(number("http_req_duration").unwrap()));
            let received = ns(number("http_req_receiving").unwrap());
            let mut at = vec![Offset(start.0 + ns(number("time_to_first_token").unwrap()))];
            for gap in request["inter_chunk_latency"].as_array().expect("gaps") {
                at.push(Offset(at[at.len() - 1].0 + ns(gap.as_f64().unwrap())));
            }
            record.first_answer = at.first().copied();
            record.bare = vec![BareChunk {
                at: since(&request["end_ns"]),
                kind: BareKind::NoChoice,
            }];
            record.chunks = chunks(at);
            record.sent = Some(sent);
            record.end = Some(end);
            record.first_byte = Some(Offset(end.0 - received));
            record.outcome = Outcome::Done;
            record.output_tokens_asked = Some(12);
            record.usage = Some(Usage {
                input: number("input_sequence_length").map(|n| n as u32),
                output: number("output_sequence_length").map(|n| n as u32),
                cached: None,
            });
        } else if request["end_ns"] != request["start_ns"] {
            record.chunks = chunks(vec![since(&request["end_ns"])]);
            record.end = Some(since(&request["end_ns"]));
        }
        records.push(record);
    }
    // The tool's window ends a little after its last answer.
    let end = Offset(of_day(&found["end_time"]) - origin);
    let last = records.iter_mut().max_by_key(|record| record.end).unwrap();
    last.end = last.end.max(Some(end));
    // A window that begins at nought is one from the first request on.
    let begin = Offset(1);
    Peer::new(&found, records, begin)
}

/// Fails where a number of the tool's is not that of the dialect, but for a share.
fn assert_near(place: &str, theirs: &Value, ours: &Value, tolerance: f64) {
    match (theirs, ours) {
        (Value::Number(theirs), Value::Number(ours)) => {
            let (theirs, ours) = (theirs.as_f64().unwrap(), ours.as_f64().unwrap());
            let near = (theirs - ours).abs() <= tolerance * theirs.abs().max(1e-6);
            assert!(near, "{place}: {theirs}, and not {ours}");
        }
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, value) in theirs {
                let ours = ours.get(key).unwrap_or(&Value::Null);
                assert_near(&format!("{place}.{key}"), value, ours, tolerance);
            }
            let keys = |of: &Map<String, Value>| of.keys().cloned().collect::<BTreeSet<_>>();
            assert_eq!(keys(theirs), keys(ours), "{place}");
        }
        _ => assert_eq!(theirs, ours, "{place}"),
    }
}

#[test]
fn aiperfs_metrics_come_out_as_aiperf_has_them() {
    for name in ["aiperf-0.13.0", "aiperf-0.13.0-faults"] {
        let peer = aiperf_run(name);
        let (own, shown) = peer.told(Foreign::Aiperf);
        // A closed loop has no time at which a request was wanted.
        let of_schedules = ["credit_to_start_latency", "effective_latency"];
        for (key, theirs) in &peer.metrics {
            let left_out = AIPERF_ALONE.iter().any(|(left, _)| left == key);
            if left_out || of_schedules.contains(&key.as_str()) {
                assert!(own.get(key).is_none(), "{key} is computed");
                continue;
            }
            let ours = own.get(key).unwrap_or_else(|| panic!("{name} has {key}"));
            match key.as_str() {
                // Its last answer was made longer, to the end of the tool's window, which moves a
                // median by half of the way to its neighbour.
                "http_req_duration" | "http_req_total" | "http_req_receiving" => {
                    assert_near(key, &theirs["p50"], &ours["p50"], 2e-2);
                }
                // Its clock has steps of 256 ns, in which a curve may be at nought or far up.
                _ if key.starts_with("active_") || key.starts_with("effective_") => {
                    let (mut theirs, mut ours) = (theirs.clone(), ours.clone());
                    for extreme in ["min", "max"] {
                        theirs[extreme] = Value::Null;
                        ours[extreme] = Value::Null;
                    }
                    assert_near(key, &theirs, &ours, 3e-3);
                }
                _ => assert_near(key, theirs, ours, 1e-3),
            }
        }
        let unknown = own.as_object().unwrap().keys();
        // The load is no metric.
        let unknown: Vec<_> = unknown
            .filter(|key| !peer.metrics.contains_key(*key) && *key != "input_config")
            .collect();
        assert!(unknown.is_empty(), "{name} lacks {unknown:?}");
        assert!(peer.metrics.len() > 60, "{}", peer.metrics.len());
        // What no clock of the tool's has rounded is the same text.
        let (_, tables) = shown
            .split_once("LLM Metrics: Usage")
            .expect("the table of usage");
        let (tables, _) = tables.split_once("CLI Command").expect("a command");
        for line in tables.lines() {
            let line = line.trim();
            assert!(
                peer.console.lines().any(|own| own.trim() == line),
                "{name}: {line}"
            );
        }
    }
}

fn guidellm_run(name: &str) -> Peer {
    let found = Peer::read(name);
    let requests = found["requests"].as_array().expect("requests");
    let origin = 1_794_890_000.0;
    let records = requests.iter().enumerate().map(|(index, request)| {
        let at = |key: &str| {
            request[key]
                .as_f64()
                .map(|at| Offset(ns((at - origin) * 1e3)))
        };
        let count = |key: &str| request[key].as_u64().map(|count| count as usize);
        let done = request["status"] == "successful";
        // The tool knows the first and the last token, and spreads the others evenly.
        let tokens = count("token_iterations").unwrap_or(0);
        let mut texts = Vec::new();
        if let (Some(first), Some(last)) = (at("first_token_iteration"), at("last_token_iteration"))
        {
            let step = (last.0 - first.0) / (tokens as u64 - 1).max(1);
            texts.extend((0..tokens as u64 - 1).map(|n| Offset(first.0 + n * step)));
            texts.push(last);
        }
        let others = count("request_iterations").unwrap_or(0) - tokens;
        Record {
            index: index as u64,
            sent: at("request_start"),
            first_answer: at("first_output_token_iteration"),
            bare: vec![
                BareChunk {
                    at: at("request_start").expect("a start"),
                    kind: BareKind::NoChoice,
                };
                others
            ],
            chunks: chunks(texts),
            end: at("request_end").or(at("resolve_end")),
            streamed: true,
            outcome: if done {
                Outcome::Done
            } else {
                failed(Phase::Stream)
            },
            usage: done.then(|| Usage {
                input: count("prompt_tokens").map(|n| n as u32),
                output: count("output_tokens").map(|n| n as u32),
                cached: None,
            }),
            input_tokens_asked: count("prompt_tokens").map(|n| n as u32),
            ..Record::default()
        }
    });
    Peer::new(&found, records.collect(), Offset::default())
}

#[test]
fn guidellms_metrics_come_out_as_guidellm_has_them() {
    for name in ["guidellm-0.8.1", "guidellm-0.8.1-faults"] {
        let peer = guidellm_run(name);
        let (own, shown) = peer.told(Foreign::Guidellm);
        let own = &own["benchmarks"][0]["metrics"];
        for (key, theirs) in peer.metrics.iter().filter(|(_, value)| !value.is_null()) {
            // The tool has it of closed loops too, from the end of the request before.
            if key == "root_dispatch_delay" {
                continue;
            }
            // Its clock has steps of 240 ns, of which the highest rates are a few hundred, and
            // which decide what rate is the most frequent.
            let (mut theirs, mut ours) = (theirs.clone(), own[key].clone());
            let is_rate = key.ends_with("per_second");
            for (status, _) in theirs.clone().as_object().into_iter().flatten() {
                if is_rate {
                    theirs[status]["mode"] = Value::Null;
                    ours[status]["mode"] = Value::Null;
                }
            }
            let tolerance = if is_rate { 1e-2 } else { 1e-4 };
            assert_near(&format!("{name} {key}"), &theirs, &ours, tolerance);
        }
        let left: Vec<&str> = GUIDELLM_ALONE.iter().map(|(key, _)| *key).collect();
        let absent = peer.metrics.keys().filter(|key| own.get(*key).is_none());
        let of_schedules = [
            "request_dispatch_delay",
            "request_scheduled_latency",
            "root_dispatch_delay",
            "request_goodput",
        ];
        let lost: Vec<&String> = absent
            .filter(|key| !left.contains(&key.as_str()) && !of_schedules.contains(&key.as_str()))
            .collect();
        assert!(lost.is_empty(), "{name}: {lost:?}");
        // The first table has the time of day.
        let tables = shown.split("\n\n").skip(1);
        let tables: Vec<&str> = tables.map(str::trim_end).collect();
        assert_eq!(tables.len(), 3, "{shown}");
        for table in tables {
            assert!(
                peer.console.contains(table),
                "{name}:\n{table}\n{}",
                peer.console
            );
        }
    }
}
