//! What is sent: lengths, beginnings, turns and times as they were asked for.

use crate::data::{assert_sound, fixture};
use crate::support::{Crooked, Place, Run, Sim};
use inferometer_core::record::Record;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server that keeps every request body and answers each with two tokens.
struct Listener {
    server: Crooked,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Listener {
    fn start() -> Listener {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&heard);
        let server = Crooked::start(move |stream| {
            if let Some(body) = Self::serve(stream) {
                keeps.lock().unwrap().push(body);
            }
        });
        Listener { server, heard }
    }

    fn serve(mut stream: TcpStream) -> Option<Value> {
        let mut head = String::new();
        let mut lines = BufReader::new(stream.try_clone().ok()?);
        while lines.read_line(&mut head).is_ok_and(|read| read > 2) {}
        let length = head.lines().find_map(|line| {
            let line = line.to_ascii_lowercase();
            line.strip_prefix("content-length:")?.trim().parse().ok()
        });
        let mut body = vec![0; length.unwrap_or(0)];
        lines.read_exact(&mut body).ok()?;
        let body: Option<Value> = serde_json::from_slice(&body).ok();
        let (kind, text) = match &body {
            None => ("application/json", r#"{"data":[{"id":"ears"}]}"#.to_owned()),
            Some(body) => {
                let choice = match body.get("messages") {
                    Some(_) => r#"{"index":0,"delta":{"content":"yes "}}"#,
                    None => r#"{"index":0,"text":"yes "}"#,
                };
                let end = choice.replacen("}}", "},\"finish_reason\":\"length\"}", 1);
                let end = if end == choice {
                    choice.replacen('}', ",\"finish_reason\":\"length\"}", 1)
                } else {
                    end
                };
                let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
                let events = format!(
                    "data: {{\"choices\":[{choice}]}}\n\ndata: {{\"choices\":[{end}]}}\n\ndata: {usage}\n\ndata: [DONE]\n\n"
                );
                ("text/event-stream", events)
            }
        };
        let _ = stream.write_all(crate::support::answer("200 OK", kind, &text).as_bytes());
        body
    }

    fn measure(&self, requests: usize, options: &[&str]) -> Run {
        self.heard.lock().unwrap().clear();
        let count = requests.to_string();
        let fixed = ["--concurrency", "1", "--warmup", "0", "--requests", &count];
        let run = Place::new().measure(&self.server.url(), &[&fixed[..], options].concat());
        run.assert_all_ok(requests as u64);
        run
    }

    /// The same, for the measured prompts.
    fn prompts(&self, requests: usize, options: &[&str]) -> Vec<Value> {
        let run = self.measure(requests, options);
        let heard = self.heard.lock().unwrap();
        // What comes before is the preflight, what comes after the look at its health.
        let measured = run
            .records
            .iter()
            .map(|record| record.input_chars)
            .collect::<Vec<_>>();
        let prompts: Vec<Value> = heard.iter().map(prompt_of).collect();
        let matching = |window: &&[Value]| {
            (window.iter().zip(&measured)).all(|(prompt, chars)| {
                prompt
                    .as_str()
                    .is_none_or(|text| text.chars().count() as u64 == *chars)
            })
        };
        let found = prompts.windows(requests).rfind(matching);
        found.expect("what is recorded was sent").to_vec()
    }
}

fn prompt_of(body: &Value) -> Value {
    match body["messages"]
        .as_array()
        .and_then(|messages| messages.last())
    {
        Some(message) => message["content"].clone(),
        None => body["prompt"].clone(),
    }
}

fn text(prompt: &Value) -> &str {
    prompt.as_str().unwrap()
}

/// Characters that two texts begin with.
fn shared(one: &str, other: &str) -> usize {
    one.chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count()
}

fn asked(run: &Run) -> Vec<(u32, u32)> {
    let lengths = |record: &Record| {
        (
            record.input_tokens_asked.unwrap(),
            record.output_tokens_asked.unwrap(),
        )
    };
    run.records.iter().map(lengths).collect()
}

#[test]
fn pairs_of_lengths_are_sent_as_pairs() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let options = [
        "--length-pairs",
        "12:3=2,30:5=1",
        "--requests",
        "40",
        "--tokenizer",
        "cl100k",
    ];
    let run = place.measure(&sim.url, &options);
    assert_sound(&run);
    let pairs = asked(&run);
    assert!(
        pairs.iter().all(|pair| [(12, 3), (30, 5)].contains(pair)),
        "{pairs:?}"
    );
    assert!(pairs.contains(&(12, 3)) && pairs.contains(&(30, 5)));
    let file = place.write("pairs.csv", "7,2\n");
    let run = place.measure(&sim.url, &["--length-pairs", &file, "--requests", "3"]);
    assert_eq!(asked(&run), [(7, 2); 3]);
}

#[test]
fn a_preset_draws_lengths_as_such_services_have_them() {
    let sim = Sim::start(&["--itl", "100us"]);
    let run = Place::new().measure(&sim.url, &["--workload", "classifier", "--requests", "20"]);
    assert_sound(&run);
    let lengths = asked(&run);
    assert!(
        lengths.iter().all(|(_, output)| (4..=8).contains(output)),
        "{lengths:?}"
    );
    assert!(lengths.iter().any(|pair| pair.0 != lengths[0].0));
}

#[test]
fn prompts_of_a_group_begin_alike_and_others_do_not() {
    let listener = Listener::start();
    let options = [
        "--input-tokens",
        "60",
        "--prefix-tokens",
        "40",
        "--prefix-groups",
        "2",
    ];
    let prompts = listener.prompts(12, &[&options[..], &["--tokenizer", "cl100k"]].concat());
    let shortest = prompts
        .iter()
        .map(|prompt| text(prompt).len())
        .min()
        .unwrap();
    let alike = |other: &&Value| shared(text(&prompts[0]), text(other)) > shortest / 3;
    let group = prompts.iter().filter(alike).count();
    assert!((1..12).contains(&group), "{group} of 12 begin alike");
    let others: Vec<&Value> = prompts.iter().filter(|other| !alike(other)).collect();
    for other in &others {
        assert!(shared(text(others[0]), text(other)) > shortest / 3);
    }
    let half = [
        "--input-tokens",
        "60",
        "--cache-hit",
        "0.5",
        "--tokenizer",
        "cl100k",
    ];
    let prompts = listener.prompts(4, &half);
    for other in &prompts[1..] {
        let (first, other) = (text(&prompts[0]), text(other));
        let share = shared(first, other) as f64 / first.len() as f64;
        assert!((0.3..0.7).contains(&share), "{share}");
    }
}

#[test]
fn prompts_are_new_in_each_run_unless_they_are_to_repeat() {
    let listener = Listener::start();
    let new = || listener.prompts(2, &["--input-tokens", "40"]);
    let (one, two) = (new(), new());
    assert!(shared(text(&one[0]), text(&two[0])) < 40, "{one:?} {two:?}");
    let same = || listener.prompts(2, &["--input-tokens", "40", "--no-cache-nonce"]);
    assert_eq!(same(), same());
}

#[test]
fn token_ids_are_sent_in_place_of_text() {
    let listener = Listener::start();
    let options = [
        "--as-token-ids",
        "--tokenizer",
        "cl100k",
        "--api",
        "completions",
    ];
    let prompts = listener.prompts(3, &[&options[..], &["--input-tokens", "25"]].concat());
    for prompt in &prompts {
        let ids = prompt.as_array().unwrap();
        assert_eq!(ids.len(), 25);
        assert!(
            ids.iter()
                .all(|id| id.as_u64().is_some_and(|id| id < 100_300))
        );
    }
}

#[test]
fn chinese_prompts_have_the_asked_length_too() {
    let listener = Listener::start();
    let options = [
        "--text",
        "zh",
        "--tokenizer",
        "cl100k",
        "--input-tokens",
        "80",
    ];
    let tokenizer = inferometer_workload::tokenizer::Tiktoken::cl100k();
    for prompt in listener.prompts(3, &options) {
        use inferometer_workload::tokenizer::Tokenizer;
        assert_eq!(tokenizer.count(text(&prompt)), 80);
        assert!(
            text(&prompt)
                .chars()
                .any(|c| ('\u{4e00}'..'\u{9fff}').contains(&c))
        );
    }
}

#[test]
fn a_template_asks_in_words_and_answers_are_told_by_their_actual_length() {
    let listener = Listener::start();
    let template = "--template";
    let place = Place::new();
    let file = place.write("ask.txt", "Go on for {num_completion} letters:\n{text}\n");
    let options = [template, &file, "--input-chars", "50", "--ask-chars", "321"];
    for prompt in listener.prompts(3, &options) {
        let text = text(&prompt);
        assert!(text.starts_with("Go on for 321 letters:\n"), "{text}");
        assert_eq!(text.chars().count(), "Go on for 321 letters:\n".len() + 50);
    }
    let sim = Sim::start(&[]);
    let options = [
        "--template",
        "zh",
        "--input-chars",
        "50",
        "--ask-chars",
        "2000",
    ];
    let more = [
        "--max-tokens",
        "8",
        "--requests",
        "6",
        "--tokenizer",
        "cl100k",
    ];
    let run = place.measure(&sim.url, &[options, more].concat());
    assert_sound(&run);
    let found = run.summary.continuation.as_ref().unwrap();
    assert_eq!((found.asked_chars, found.very_short), (2000, 6));
    assert_eq!(found.groups[0].answers, 6);
    assert!(found.template_tokens.is_some_and(|tokens| tokens > 10));
    for words in [
        "Answers by actual length",
        "2,000 characters, in words",
        "Template",
    ] {
        assert!(run.ended.stdout.contains(words), "{}", run.ended.stdout);
    }
}

#[test]
fn the_log_of_the_grid_study_is_written_from_a_run() {
    let sim = Sim::start(&["--ttft", "400ms"]);
    let place = Place::new();
    let options = [
        "--input-chars",
        "50",
        "--ask-chars",
        "60",
        "--max-tokens",
        "4",
    ];
    let load = ["--concurrency", "1", "--requests", "3", "--warmup", "0"];
    let run = place.measure(&sim.url, &[&options[..], &load].concat());
    let path = run.path.to_str().unwrap();
    let log = place.run(&["report", path, "--dialect", "grid-log"]);
    assert_eq!(log.stdout.lines().count(), 17, "{log:?}");
    for words in [
        "[261][INFO] chunk_size: 50, generate_size: 60",
        "[243][INFO] 总测试文本块数目: 3",
        "[53][INFO] n-request: 3",
        "[55][INFO] tokens-speed-per-request/second(终端用户视角): ",
    ] {
        assert!(log.stdout.contains(words), "{}", log.stdout);
    }
    let json = place.run(&["report", path, "--dialect", "grid-log", "--format", "json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let tokens = run.summary.tokens.output.unwrap();
    assert_eq!(json["total completion tokens"], tokens);
}

/// Time of each record's due moment after the first one's.
fn since_first(run: &Run) -> Vec<Duration> {
    let due: Vec<_> = run
        .records
        .iter()
        .map(|record| record.due.unwrap())
        .collect();
    due.iter().map(|at| at.since(due[0])).collect()
}

#[test]
fn a_trace_is_replayed_on_its_own_clock() {
    let sim = Sim::start(&["--itl", "100us"]);
    let place = Place::new();
    let data = fixture("mooncake.jsonl");
    let run = place.measure(
        &sim.url,
        &["--data", &data, "--speed", "24", "--warmup", "0"],
    );
    assert_sound(&run);
    assert_eq!(asked(&run), [(1100, 52), (600, 9), (2048, 300), (17, 4)]);
    let at = [0, 0, 3_000, 6_000].map(|ms| Duration::from_millis(ms).div_f64(24.0));
    assert_eq!(since_first(&run), at);
    // The second is at 4.314579 s, the third at 60 s.
    let azure = fixture("azure.csv");
    let whole = place.measure(
        &sim.url,
        &["--data", &azure, "--speed", "100", "--warmup", "0"],
    );
    let at = [0, 4_314_579_000, 60_000_000_000].map(|ns| Duration::from_nanos(ns).div_f64(100.0));
    assert_eq!(since_first(&whole), at);
    assert_eq!(asked(&whole), [(374, 44), (396, 109), (879, 55)]);
}

#[test]
fn a_window_takes_part_of_a_trace() {
    let sim = Sim::start(&["--itl", "100us"]);
    let place = Place::new();
    let data = fixture("mooncake.jsonl");
    let fixed = ["--data", &data, "--speed", "20", "--warmup", "0"];
    let late = place.measure(&sim.url, &[&fixed[..], &["--from", "2s"]].concat());
    assert_eq!(asked(&late), [(2048, 300), (17, 4)]);
    assert_eq!(since_first(&late)[1], Duration::from_millis(150));
    let middle = ["--from", "2s", "--for", "2s"];
    let middle = place.measure(&sim.url, &[&fixed[..], &middle].concat());
    assert_eq!(asked(&middle), [(2048, 300)]);
    let past = ["run", &sim.url, "--data", &data, "--from", "2h"];
    place.run(&past).assert_refused(&["outside the window"]);
}

#[test]
fn lengths_of_a_trace_can_be_sent_at_other_times() {
    let sim = Sim::start(&["--itl", "100us"]);
    let data = fixture("azure.csv");
    let options = [
        "--data",
        &data,
        "--concurrency",
        "2",
        "--requests",
        "3",
        "--warmup",
        "0",
    ];
    let run = Place::new().measure(&sim.url, &options);
    assert_sound(&run);
    assert!(run.records.iter().all(|record| record.due.is_none()));
    assert!(
        run.notes
            .iter()
            .any(|note| note.contains("only the lengths of the trace"))
    );
}

#[test]
fn the_next_turn_is_due_when_the_user_has_thought() {
    let sim = Sim::start(&[]);
    let data = fixture("conversations.jsonl");
    let options = [
        "--data",
        &data,
        "--data-format",
        "conversations",
        "--think",
        "30ms",
    ];
    let load = ["--concurrency", "1", "--requests", "8", "--warmup", "0"];
    let exact = ["--ignore-eos"];
    let run = Place::new().measure(&sim.url, &[&options[..], &load, &exact].concat());
    assert_sound(&run);
    let turns: Vec<_> = (run.records.iter())
        .map(|record| (record.session.unwrap(), record.turn.unwrap()))
        .collect();
    // Three turns and one, again and again.
    let shape: Vec<u32> = turns.iter().map(|(_, turn)| *turn).collect();
    assert_eq!(shape, [0, 1, 2, 0, 0, 1, 2, 0]);
    for pair in run.records.windows(2) {
        if pair[0].session == pair[1].session {
            let thought = pair[0].end.unwrap() + Duration::from_millis(30);
            assert_eq!(pair[1].due, Some(thought));
            assert!(pair[1].sent.unwrap() >= thought);
        }
    }
}

#[test]
fn a_conversation_carries_its_history() {
    let listener = Listener::start();
    let data = fixture("conversations.jsonl");
    let fixed = [
        "--data",
        &data,
        "--data-format",
        "conversations",
        "--max-tokens",
        "2",
    ];
    for (history, said) in [
        ("server", "yes yes "),
        ("data", "Then try one about compasses."),
    ] {
        listener.measure(3, &[&fixed[..], &["--history", history]].concat());
        let heard = listener.heard.lock().unwrap();
        let third = (heard.iter()).find_map(|body| {
            let messages = body["messages"].as_array()?;
            (messages.last()?["content"] == "I will take it.").then_some(messages)
        });
        let messages = third.expect("the third turn was sent");
        let users = messages
            .iter()
            .filter(|message| message["role"] == "user")
            .count();
        assert_eq!(users, 3, "{messages:?}");
        let answers = messages
            .iter()
            .filter(|message| message["role"] == "assistant");
        assert_eq!(answers.clone().count(), 2);
        assert!(
            answers.clone().any(|message| message["content"] == said),
            "{messages:?}"
        );
    }
}
