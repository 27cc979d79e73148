//! The simulated engine behind real command lines: what they refuse, what they log, and that
//! their flags show in what is measured.

use crate::support::{Ended, Place, Run, Sim};

/// An engine with a scheduler, on a free port.
fn engine(options: &[&str], command: &[&str]) -> Sim {
    Sim::scheduled(&[options, &["--"], command].concat())
}

fn refused(place: &Place, command: &str) -> Ended {
    let mut words = vec!["sim", "--"];
    words.extend(command.split(' '));
    place.run(&words)
}

#[test]
fn a_command_that_the_engine_refuses_gets_its_words_and_its_status() {
    let place = Place::new();
    let few = "vllm serve qwen2.5-7b --max-num-batched-tokens 64 --max-num-seqs 128";
    let ended = refused(&place, few);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let words = "max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (128)";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);

    let unknown = refused(&place, "vllm serve qwen2.5-7b --max-nmu-seqs 4");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown.stderr.contains("unrecognized arguments"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn a_model_that_does_not_fit_ends_the_start_as_it_does_on_the_card() {
    let place = Place::new();
    let words = [
        "sim",
        "--device",
        "t4",
        "--",
        "vllm",
        "serve",
        "qwen2.5-32b",
    ];
    let ended = place.run(&words);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("out of memory"), "{}", ended.stderr);
    assert!(ended.stderr.contains("Engine core initialization failed"));
    assert_eq!(ended.stdout, "");
}

#[test]
fn what_nobody_knows_is_told_in_one_line() {
    let place = Place::new();
    for (words, remedy) in [
        (&["sim", "--device", "abacus"][..], "a100-80g"),
        (&["sim", "--model", "qwen2.5-8b"], "qwen2.5-7b"),
        (&["sim", "--as-version", "new"], "--as-version"),
        (&["sim", "--ttft", "1s", "--steps", "f"], "scheduler"),
        (&["sim", "--mindie-config", "nowhere.json"], "nowhere.json"),
        (&["run", "--sim-device", "abacus"], "a100-80g"),
    ] {
        let ended = place.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        assert!(ended.stderr.contains(remedy), "{words:?}: {}", ended.stderr);
    }
}

#[test]
fn every_flag_is_said_to_have_an_effect_or_none() {
    let place = Place::new();
    let ended = place.run(&["sim", "--explain-flags"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (acts, without) = ended.stdout.split_once("without effect").unwrap();
    assert!(acts.contains("max-num-seqs") && acts.contains("block-size"));
    assert!(without.contains("uvicorn-log-level"), "{without}");
}

#[test]
fn the_embedded_engine_is_measured_where_no_server_is_named() {
    let place = Place::new();
    let options = [
        "--requests",
        "16",
        "--output-tokens",
        "16",
        "--sim-device",
        "h200",
    ];
    let run = place.measure("", &options);
    assert_eq!(run.summary.requests.ok, 16);
    let again = std::fs::read_to_string(run.path.join("scenario.toml")).unwrap();
    assert!(again.contains("sim-device = \"h200\""), "{again}");
}

/// Sixteen requests of eight streams.
fn measured(sim: &Sim, place: &Place) -> Run {
    let options = "--concurrency 8 --requests 16 --warmup 0 --input-tokens 64 --output-tokens 16";
    let options: Vec<&str> = options.split(' ').collect();
    place.measure(&sim.url, &options)
}

#[test]
fn fewer_sequences_at_once_show_in_throughput_and_in_the_time_to_the_first_token() {
    let place = Place::new();
    let one = engine(&[], &["vllm", "serve", "qwen2-0.5b", "--max-num-seqs", "1"]);
    let many = engine(&[], &["vllm", "serve", "qwen2-0.5b", "--max-num-seqs", "8"]);
    let (one, many) = (measured(&one, &place), measured(&many, &place));
    let speed = |run: &Run| run.summary.throughput.requests_per_s.unwrap();
    assert!(
        speed(&many) > 2.0 * speed(&one),
        "{} {}",
        speed(&many),
        speed(&one)
    );
    let wait = |run: &Run| run.summary.latency.ttft_ms.unwrap().p50;
    assert!(
        wait(&one) > 2.0 * wait(&many),
        "{} {}",
        wait(&one),
        wait(&many)
    );
}

#[test]
fn an_engine_out_of_memory_under_load_dies_in_its_words_and_with_its_status() {
    let place = Place::new();
    let log = place.path("log");
    let file = std::fs::File::create(&log).unwrap();
    let command = [
        "--faults",
        "oom-after=4",
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
    ];
    let sim = Sim::scheduled_with(&command, |command| {
        command.stderr(file);
    });
    let run = place.measure(
        &sim.url,
        &["--requests", "12", "--concurrency", "2", "--warmup", "0"],
    );
    let accounts = run.summary.requests;
    assert!(accounts.failed > 0 && accounts.ok < 12, "{accounts:?}");
    assert_eq!(sim.ended(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("CUDA out of memory."), "{log}");
    assert!(log.contains("EngineDeadError"), "{log}");
}

#[test]
fn prompts_of_workers_of_their_own_travel_over_their_link_before_the_first_token() {
    let place = Place::new();
    let sim = Sim::scheduled(&[
        "--device",
        "h100",
        "--prefill",
        "vllm serve qwen2-0.5b",
        "--workers",
        "2:1",
        "--link",
        "0.01",
        "--",
        "vllm",
        "serve",
        "qwen2-0.5b",
    ]);
    let load = ["--concurrency", "2", "--requests", "6", "--warmup", "0"];
    let lengths = ["--input-tokens", "400", "--output-tokens", "4"];
    let run = place.measure(&sim.url, &[&load[..], &lengths].concat());
    run.assert_all_ok(6);
    // 12 KiB of keys and values for each of 400 tokens, at 10 MB/s.
    let ttft = run.summary.latency.ttft_ms.expect("all were streamed");
    assert!(ttft.min > 400.0, "{}", ttft.min);
}
