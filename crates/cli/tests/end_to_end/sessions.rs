//! Sessions of traces and logs: graphs that are replayed, and traces made from logs that share
//! what the log shared.

use crate::data::{assert_sound, fixture};
use crate::support::{Place, Run, Sim};
use serde_json::{Value, json};

const PLAIN: [&str; 6] = ["--warmup", "0", "--hold", "none", "--tokenizer", "cl100k"];

fn replayed(place: &Place, sim: &Sim, data: &str, more: &[&str]) -> Run {
    let mut options = vec!["--data", data];
    options.extend(PLAIN);
    options.extend(more);
    place.measure(&sim.url, &options)
}

#[test]
fn every_kind_of_session_is_replayed_to_its_end() {
    let (sim, place) = (Sim::start(&[]), Place::new());
    for (file, requests, more) in [
        ("trace.jsonl", 6, &[][..]),
        ("bailian.jsonl", 3, &[]),
        (
            "agentic.json",
            5,
            &["--concurrency", "1", "--requests", "5"],
        ),
        ("otel.jsonl", 2, &[]),
        ("litellm.jsonl", 2, &[]),
        ("vllm.log", 2, &["--speed", "100"]),
    ] {
        let run = replayed(&place, &sim, &fixture(file), more);
        assert_sound(&run);
        assert_eq!(run.summary.requests.ok, requests, "{file}");
    }
}

#[test]
fn turns_wait_for_what_the_trace_says_and_run_side_by_side() {
    let (sim, place) = (Sim::start(&[]), Place::new());
    let run = replayed(&place, &sim, &fixture("trace.jsonl"), &[]);
    let records = &run.records;
    let turn = |session: u64, turn: u32| {
        let is = |record: &&_| is_turn(record, session, turn);
        records.iter().find(is).expect("it was sent")
    };
    let ended = |session, number| turn(session, number).end.unwrap();
    // The second session: one, then two beside each other, then one that waits for both.
    for beside in [1, 2] {
        assert!(turn(1, beside).sent.unwrap() >= ended(1, 0));
        assert!(turn(1, 3).sent.unwrap() >= ended(1, beside));
    }
    assert!(turn(0, 1).sent.unwrap() >= ended(0, 0));
}

fn is_turn(record: &inferometer_core::record::Record, session: u64, turn: u32) -> bool {
    record.session == Some(session) && record.turn == Some(turn)
}

/// Conversations of four turns that begin alike, as a gateway logs them and as bodies.
fn conversations() -> (String, String) {
    let words = |first: usize, count: usize| -> String {
        const WORDS: [&str; 16] = [
            "river", "stone", "light", "house", "green", "paper", "water", "night", "tree",
            "story", "glass", "road", "wind", "bread", "cloud", "song",
        ];
        // Scattered, so that texts of different numbers share no beginning.
        let word = |n: usize| {
            let mixed = ((first as u64) << 32 | n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            WORDS[(mixed >> 60) as usize]
        };
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    };
    let (mut log, mut bodies) = (Vec::new(), Vec::new());
    for turn in 0..4 {
        for talk in 0..60 {
            let mut messages = vec![json!({"role": "system", "content": words(1, 150)})];
            for earlier in 0..turn {
                messages
                    .push(json!({"role": "user", "content": words(20 + talk * 9 + earlier, 60)}));
                messages.push(
                    json!({"role": "assistant", "content": words(90 + talk * 9 + earlier, 80)}),
                );
            }
            messages.push(json!({"role": "user", "content": words(20 + talk * 9 + turn, 60)}));
            let start = (turn * 10 + talk) as f64;
            log.push(json!({
                "call_type": "completion", "startTime": 1_731_823_200.0 + start,
                "endTime": 1_731_823_201.0 + start, "completion_tokens": 4, "messages": messages,
            }));
            bodies.push(json!({"messages": messages, "max_tokens": 4}));
        }
    }
    let lines = |rows: Vec<Value>| rows.iter().map(|row| format!("{row}\n")).collect();
    (lines(log), lines(bodies))
}

fn cached_share(run: &Run) -> f64 {
    let tokens = &run.summary.tokens;
    let cached = tokens.cached.expect("the simulated engine says it") as f64;
    cached / tokens.input.expect("and this") as f64
}

#[test]
fn a_trace_made_from_a_log_shares_what_the_log_shared_and_holds_no_text() {
    let place = Place::new();
    let (log, bodies) = conversations();
    let log = place.write("log.jsonl", log);
    let bodies = place.write("bodies.jsonl", bodies);
    let trace = place.path("trace.jsonl");
    let trace = trace.to_str().unwrap();
    let ended = place.run(&["data", &log, "--to", "trace", "--anonymise", "-o", trace]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let written = std::fs::read_to_string(trace).unwrap();
    assert!(
        !written.contains("river") && !written.contains("1731823"),
        "{written}"
    );
    assert_eq!(written.lines().count(), 240);
    // The preflight warms one row of the bodies, which many others outweigh.
    let one = ["--concurrency", "4", "--requests", "240"];
    let again = [&one[..], &["--think", "0s"]].concat();
    // Blocks are the same only where client and engine cut prompts into the same tokens; else both
    // round what is shared, each to its own blocks.
    for (tokenizer, bound) in [(&[][..], 0.02), (&["--tokenizer", "cl100k"], 0.01)] {
        let shares = [(bodies.as_str(), &one[..]), (trace, &again[..])].map(|(data, more)| {
            let options = ["--data", data, "--warmup", "0", "--hold", "none"];
            let options = [&options[..], more, tokenizer].concat();
            // Each meets an engine that knows nothing yet.
            let run = place.measure(&Sim::scheduled(tokenizer).url, &options);
            assert_eq!(run.summary.requests.ok, 240);
            cached_share(&run)
        });
        assert!(shares[0] > 0.3, "{shares:?}");
        assert!((shares[0] - shares[1]).abs() < bound, "{shares:?}");
    }
}

#[test]
fn circles_jumps_of_the_clock_and_text_that_should_not_be_written_are_one_line() {
    let place = Place::new();
    let row = |after: &str| {
        format!(
            r#"{{"timestamp":0,"session_id":1,"input_length":9,"output_length":3,"after":{after}}}"#
        )
    };
    let circle = place.write("circle.jsonl", format!("{}\n{}\n", row("[1]"), row("[0]")));
    let jump = place.write(
        "jump.jsonl",
        "{\"call_type\":\"completion\",\"startTime\":9000,\"prompt_tokens\":3,\"completion_tokens\":3}\n{\"call_type\":\"completion\",\"startTime\":100,\"prompt_tokens\":3,\"completion_tokens\":3}\n",
    );
    let openqa = fixture("openqa.jsonl");
    let cases = [
        (
            vec!["run", "http://127.0.0.1:9", "--data", &circle],
            "in a circle",
        ),
        (vec!["data", &circle, "--to", "trace"], "in a circle"),
        (
            vec!["run", "http://127.0.0.1:9", "--data", &jump],
            "goes back by 8900 s",
        ),
        (
            vec!["data", &openqa, "--to", "custom", "--anonymise"],
            "give --to trace",
        ),
        (
            vec!["data", &openqa, "--to", "trace"],
            "none has a time and lengths",
        ),
    ];
    for (arguments, said) in cases {
        let ended = place.run(&arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(said),
            "{arguments:?}: {}",
            ended.stderr
        );
        assert_eq!(
            ended.stderr.trim_end().lines().count(),
            1,
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn jobs_are_measured_judged_and_reported() {
    let (sim, place) = (Sim::scheduled(&[]), Place::new());
    let options = [
        "--turns",
        "3",
        "--think",
        "5ms",
        "--requests",
        "32",
        "--concurrency",
        "2",
        "--input-tokens",
        "64",
        "--output-tokens",
        "4",
        "--slo",
        "job=1h",
        "--slo",
        "job.p50=1us",
    ];
    let run = place.measure(&sim.url, &options);
    let sessions = run.summary.sessions.as_ref().expect("the work has turns");
    // Ten of three turns, and one that the number of requests cuts short.
    assert_eq!((sessions.complete, sessions.shortened), (10, 1));
    assert_eq!((sessions.began, sessions.cut), (10, 0));
    let answered: Vec<u64> = sessions.turns.iter().map(|turn| turn.ok).collect();
    assert_eq!(answered, [11, 11, 10]);
    let input = |turn: usize| sessions.turns[turn].input_tokens_mean.unwrap();
    assert!(input(0) < input(1) && input(1) < input(2));
    let cached = |turn: usize| sessions.turns[turn].cached_tokens_mean.unwrap();
    assert!(cached(2) > cached(1) && cached(1) > cached(0));
    // Two thoughts of five milliseconds are part of it.
    assert!(sessions.job.p50_ms.unwrap() > 10.0);
    assert!(sessions.per_hour.unwrap() > 0.0);
    let slo = run.summary.slo.as_ref().unwrap();
    assert_eq!(slo.jobs.unwrap().attainment, Some(1.0));
    assert_eq!(
        slo.objectives.iter().map(|it| it.met).collect::<Vec<_>>(),
        [Some(true), Some(false)]
    );
    assert_eq!(run.ended.code, Some(1));
    assert!(run.records.iter().all(|record| record.turns == Some(3)));
    let folder = run.path.to_str().unwrap();
    let text = place.run(&["report", folder, "--lang", "en"]).stdout;
    assert!(
        text.contains("By turn") && text.contains("100 % of sessions"),
        "{text}"
    );
}

/// Of a server with room for two or three of eight conversations of this length at a time.
const CROWDED: [&str; 12] = [
    "--turns",
    "2",
    "--think",
    "1ms",
    "--requests",
    "32",
    "--concurrency",
    "8",
    "--input-tokens",
    "256",
    "--output-tokens",
    "200",
];

fn assert_preempted_by_turn(run: &Run) {
    run.assert_all_ok(32);
    let of_turns: Vec<Option<u64>> = (run.summary.sessions.as_ref().unwrap().turns.iter())
        .map(|turn| turn.preempted)
        .collect();
    for (turn, told) in of_turns.iter().enumerate() {
        let thrown_back = |it: &&inferometer_core::record::Record| {
            it.turn == Some(turn as u32) && it.preemptions.unwrap() > 0
        };
        let counted = run.records.iter().filter(thrown_back).count();
        assert_eq!(*told, Some(counted as u64), "{of_turns:?}");
    }
    assert!(of_turns.iter().flatten().sum::<u64>() > 0, "{of_turns:?}");
    assert!(
        run.ended.stdout.contains("preempted"),
        "{}",
        run.ended.stdout
    );
}

#[test]
fn preempted_requests_are_counted_by_turn_where_the_engine_tells_of_each() {
    let engine = "--max-total-tokens 1500 --context-length 1024";
    let launch = "-- python -m sglang.launch_server --model-path qwen2.5-7b";
    let words: Vec<&str> = launch.split(' ').chain(engine.split(' ')).collect();
    let sim = Sim::scheduled(&words);
    let own = ["--api", "generate"];
    let run = Place::new().measure(&sim.url, &[&CROWDED[..], &own].concat());
    assert_preempted_by_turn(&run);
    let computed = "--sim-clock virtual -- vllm serve qwen2.5-7b --num-gpu-blocks-override 100 \
                    --max-model-len 1024";
    let computed: Vec<&str> = computed.split(' ').collect();
    let run = Place::new().measure("", &[&CROWDED[..], &computed].concat());
    assert_preempted_by_turn(&run);
}

#[test]
fn sessions_are_computed_in_virtual_time_as_they_are_served() {
    let place = Place::new();
    let options = [
        "--sim-clock",
        "virtual",
        "--turns",
        "3",
        "--think",
        "10s",
        "--requests",
        "60",
        "--concurrency",
        "4",
        "--input-tokens",
        "256",
        "--output-tokens",
        "32",
        "--no-cache-nonce",
    ];
    let run = place.measure("", &options);
    run.assert_all_ok(60);
    let sessions = run.summary.sessions.clone().expect("the work has turns");
    assert_eq!((sessions.complete, sessions.cut), (20, 0));
    let job = sessions.job.p50_ms.unwrap();
    assert!((20_000.0..40_000.0).contains(&job), "{job}");
    // The third turn begins with two prompts and two answers, which the engine keeps by blocks.
    let third = &sessions.turns[2];
    assert_eq!(third.input_tokens_mean, Some(3.0 * 256.0 + 2.0 * 32.0));
    let cached = third.cached_tokens_mean.unwrap();
    assert!((2.0 * 256.0..=576.0).contains(&cached), "{cached}");
    assert_eq!(place.measure("", &options).summary.sessions, Some(sessions));

    // A trace is replayed to its end, and its turns wait for what they waited for.
    let file = fixture("trace.jsonl");
    let run = place.measure("", &["--sim-clock", "virtual", "--data", &file]);
    run.assert_all_ok(6);
    let turn = |turn: u32| {
        let is = |record: &&_| is_turn(record, 1, turn);
        run.records.iter().find(is).expect("it was sent")
    };
    for beside in [1, 2] {
        assert!(turn(beside).sent >= turn(0).end && turn(3).sent >= turn(beside).end);
    }
}
