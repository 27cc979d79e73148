//! Engines that are started by their command: measured, watched, stopped; refused, crashed and
//! left behind by nobody. The simulated engine stands in for the real one, as a process.

use crate::support::{Ended, Place, Run, Sim, Started, until};
use inferometer_core::environment::{EndCause, Health};
use inferometer_store::run_dir::RunDir;
use rustix::process::Signal;
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

/// The command of an engine that is simulated.
fn engine<'a>(options: &[&'a str], flags: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["--", env!("CARGO_BIN_EXE_inferometer"), "sim"];
    words.extend(["--listen", "127.0.0.1:{port}"]);
    words.extend(options);
    words.extend(["--", "vllm", "serve", "qwen2.5-7b"]);
    words.extend(flags);
    words
}

fn words<'a>(command: &'a str, options: &[&'a str], engine: &[&'a str]) -> Vec<&'a str> {
    let fixed = [command, "--lang", "en", "--quiet", "--out", "out"];
    let work = ["--input-tokens", "16", "--output-tokens"];
    [&fixed[..], &work, options, engine].concat()
}

fn run(place: &Place, options: &[&str], engine: &[&str]) -> Ended {
    place.run(&words("run", options, engine))
}

/// The address of the server that a run measures.
fn address(run: &Path) -> Option<String> {
    let environment = RunDir::open(run).ok()?.environment().ok()?;
    let endpoint = environment.server.endpoints.first()?.clone();
    let rest = endpoint.strip_prefix("http://")?;
    Some(rest.split('/').next()?.to_owned())
}

#[test]
fn the_password_of_an_engines_address_is_stored_nowhere() {
    let place = Place::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let secret = "never-stored-pw-17";
    let url = format!("http://user:{secret}@127.0.0.1:{port}");
    let listen = format!("127.0.0.1:{port}");
    let command: Vec<&str> = (engine(&[], &[]).into_iter())
        .map(|word| {
            if word == "127.0.0.1:{port}" {
                &listen
            } else {
                word
            }
        })
        .collect();
    let options = ["8", "--requests", "4", "--engine-url", &url];
    let ended = run(&place, &options, &command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret));
    for file in place.files("out") {
        let bytes = std::fs::read(&file).unwrap();
        let mut windows = bytes.windows(secret.len());
        assert!(
            !windows.any(|it| it == secret.as_bytes()),
            "{}",
            file.display()
        );
    }
}

#[test]
fn an_engine_is_started_watched_measured_and_stopped() {
    let place = Place::new();
    let options = ["64", "--requests", "8", "--concurrency", "2"];
    let ended = run(&place, &options, &engine(&[], &["--max-num-seqs", "64"]));
    let run = Run::read(ended, place.path("out"));
    run.assert_all_ok(8);
    let environment = RunDir::open(&run.path).unwrap().environment().unwrap();
    let started = environment.engine.unwrap();
    assert_eq!(started.name, "vllm");
    assert!(started.kv_tokens.unwrap() > 0 && started.start_s.unwrap() > 0.0);
    assert!(started.command.contains(&"--max-num-seqs".to_owned()));
    let log = std::fs::read_to_string(place.path("out/server/engine.log")).unwrap();
    assert!(log.contains("KV cache"), "{log}");
    let address = address(&run.path).unwrap();
    assert!(
        TcpStream::connect(&address).is_err(),
        "{address} is still up"
    );

    let server = run.summary.server.as_ref().unwrap();
    assert!(
        server.samples > 0 && server.running.unwrap().max >= 1.0,
        "{server:?}"
    );
    let report = place.run(&["report", "out", "--lang", "en"]).stdout;
    for said in ["Engine", "ready after", "Running", "-- "] {
        assert!(report.contains(said), "'{said}' is missing in: {report}");
    }
    let again = place.run(&["report", "out", "--format", "json"]).stdout;
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["server"]["samples"], server.samples);
}

#[test]
fn a_server_is_not_watched_where_that_is_not_wanted() {
    let place = Place::new();
    let options = ["32", "--requests", "4", "--server-metrics", "off"];
    let ended = run(&place, &options, &engine(&[], &[]));
    let run = Run::read(ended, place.path("out"));
    assert_eq!(run.summary.server, None);
    assert!(!place.path("out/server/samples.jsonl").exists());
}

#[test]
fn what_the_engine_would_refuse_is_refused_in_its_words_and_not_started() {
    let place = Place::new();
    let flags = ["--max-num-batched-tokens", "64", "--max-num-seqs", "128"];
    let ended = run(&place, &["4"], &engine(&[], &flags));
    ended.assert_refused(&["must be greater than or equal to max_num_seqs (128)"]);
    assert!(!place.path("out/server/engine.log").exists());
}

#[test]
fn a_failed_start_is_told_with_its_class_and_its_log() {
    let place = Place::new();
    let sim = env!("CARGO_BIN_EXE_inferometer");
    let large = [
        "--",
        sim,
        "sim",
        "--listen",
        "127.0.0.1:{port}",
        "--device",
        "t4",
    ];
    let large = [&large[..], &["--", "vllm", "serve", "qwen2.5-32b"]].concat();
    run(&place, &["4"], &large).assert_refused(&["out-of-memory", "engine.log"]);

    let crash = [
        "--",
        "sh",
        "-c",
        "echo the engine is sad >&2; exit 3",
        "{port}",
    ];
    run(&place, &["4"], &crash).assert_refused(&["(crash)", "engine-2.log"]);

    let missing = ["--", "no-such-engine", "--port", "{port}"];
    run(&place, &["4"], &missing).assert_refused(&["missing-binary", "no-such-engine"]);

    let silent = ["--", "sleep", "60", "{port}"];
    let options = ["4", "--engine-timeout", "500ms"];
    run(&place, &options, &silent).assert_refused(&["not ready"]);
}

#[test]
fn contradictory_commands_are_refused() {
    let place = Place::new();
    let command = engine(&[], &[]);
    run(&place, &["4", "http://127.0.0.1:1"], &command).assert_refused(&["--engine-url"]);
    run(&place, &["4"], &["--", "my-server"]).assert_refused(&["{port}", "--engine-url"]);
    run(&place, &["4", "--engine-timeout", "1m"], &[]).assert_refused(&["after --"]);
    let sweep = words("sweep", &["4", "--engine-flag", "max-num-seqs=1,2"], &[]);
    place.run(&sweep).assert_refused(&["after --"]);
}

#[test]
fn a_port_that_is_taken_is_told_before_the_start() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let sim = env!("CARGO_BIN_EXE_inferometer");
    let command = [
        "--",
        sim,
        "sim",
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
        "--port",
        &port,
    ];
    run(&place, &["4"], &command).assert_refused(&["port-taken", &port]);
}

#[test]
fn a_killed_run_leaves_no_engine_behind() {
    let place = Place::new();
    let options = ["64", "--requests", "100000"];
    let started = Started::new(place.command(words("run", &options, &engine(&[], &[]))));
    let address = until("the server's address", || address(&place.path("out")));
    until("the engine", || TcpStream::connect(&address).ok());
    started.signal(Signal::KILL);
    drop(started);
    until("the end of the engine", || {
        TcpStream::connect(&address).err()
    });
}

#[test]
fn a_killed_run_leaves_no_question_to_the_engine_behind() {
    let place = Place::new();
    let asked = place.path("asked");
    let hanging = format!(
        "echo $$ > {0}.part; mv {0}.part {0}; sleep 600",
        asked.display()
    );
    let vllm = place.script("vllm", &hanging);
    let command = ["--", &vllm, "serve", "m", "--port", "{port}"];
    let started = Started::new(place.command(words("run", &["4"], &command)));
    let pid = until("the question", || std::fs::read_to_string(&asked).ok());
    let process = Path::new("/proc").join(pid.trim());
    assert!(process.exists());
    started.signal(Signal::KILL);
    drop(started);
    until("its end", || (!process.exists()).then_some(()));
}

#[test]
fn a_sweep_in_which_every_point_is_refused_cannot_run() {
    let place = Place::new();
    let options = ["4", "--engine-flag", "max-nun-seqs=1,2"];
    let ended = place.run(&words("sweep", &options, &engine(&[], &[])));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let said = ended.stderr.lines().last().unwrap();
    assert!(said.contains("did you mean --max-num-seqs"), "{said}");
}

#[test]
fn an_engine_that_dies_under_load_makes_the_run_invalid_and_says_why() {
    let place = Place::new();
    let options = ["16", "--requests", "60", "--request-timeout", "5s"];
    let dying = engine(&["--faults", "oom-after=20"], &[]);
    let ended = run(&place, &options, &dying);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let run = RunDir::open(place.path("out")).unwrap();
    let ending = serde_json::to_string(&run.ending().unwrap()).unwrap();
    assert!(ending.contains("out-of-memory-under-load"), "{ending}");
    assert!(!run.summary().unwrap().valid);
}

#[test]
fn a_measurement_ends_with_the_engine_that_is_measured() {
    let place = Place::new();
    let options = ["16", "--duration", "10m", "--concurrency", "2"];
    let dying = engine(&["--faults", "oom-after=20"], &[]);
    let ended = run(&place, &options, &dying);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let ending = RunDir::open(place.path("out")).unwrap().ending().unwrap();
    assert_eq!(ending.cause, EndCause::Watchdog, "{ending:?}");
    assert!(matches!(ending.health, Health::Dead(_)), "{ending:?}");
}

#[test]
fn a_sweep_over_flags_restarts_where_they_change_and_skips_what_would_be_refused() {
    let place = Place::new();
    let flags = "max-num-batched-tokens=64,512,2048";
    let options = ["4", "--engine-flag", flags, "--concurrency", "1,2"];
    let options = [&options[..], &["--requests", "4", "--format", "json"]].concat();
    let engine = engine(&[], &["--max-num-seqs", "128"]);
    let ended = place.run(&words("sweep", &options, &engine));
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    let points = result["points"].as_array().unwrap();
    assert_eq!(points.len(), 6, "{ended:?}");
    for point in points {
        let is_legal = point["point"]["max-num-batched-tokens"] != 64;
        let state = if is_legal { "done" } else { "skipped" };
        assert_eq!(point["state"], state, "{point}");
        let reason = point["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.contains("must be greater"), !is_legal, "{point}");
    }
    assert_eq!(place.files("out/server").len(), 2);
    // The verdict does not speak for points that the engine refused.
    for (lang, said) in [
        ("en", "2 of 6 refused by the engine"),
        ("zh", "6 个中有 2 个被引擎拒绝"),
    ] {
        let report = place.run(&["report", "out", "--lang", lang]).stdout;
        assert!(report.contains(said), "{report}");
        let refuses = report.contains("would refuse this command");
        assert_eq!(refuses, lang == "en", "{report}");
        let list = place.run(&["runs", ".", "--lang", lang]).stdout;
        assert!(list.contains(said), "{list}");
    }
}

#[test]
fn a_configuration_that_crashes_is_a_failed_point_that_is_tried_once() {
    let place = Place::new();
    let flags = "gpu-memory-utilization=0.05,0.9";
    let options = ["4", "--engine-flag", flags, "--concurrency", "1,2"];
    let options = [&options[..], &["--requests", "4", "--format", "json"]].concat();
    let ended = place.run(&words("sweep", &options, &engine(&[], &[])));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    for point in result["points"].as_array().unwrap() {
        let is_large = point["point"]["gpu-memory-utilization"] == 0.9;
        assert_eq!(point["state"] == "done", is_large, "{point}");
        assert_eq!(point["class"].is_null(), is_large, "{point}");
    }
    assert_eq!(place.files("out/server").len(), 2);
}

#[test]
fn a_sweep_over_flags_is_computed_in_virtual_time_without_an_engine() {
    let place = Place::new();
    let options = [
        "32",
        "--sim-clock",
        "virtual",
        "--engine-flag",
        "max-num-seqs=4,64",
        "--engine-flag",
        "max-num-batched-tokens=max(256, max-num-seqs*8)",
        "--concurrency",
        "32",
        "--requests",
        "128",
    ];
    let command = ["--", "vllm", "serve", "qwen2.5-7b"];
    let ended = place.run(&words("sweep", &options, &command));
    let said: Vec<&str> = ended.stdout.split_whitespace().collect();
    assert!(
        said.join(" ")
            .contains("max-num-batched-tokens changes only together with max-num-seqs"),
        "{ended:?}"
    );
    let json = place.run(&["report", "out", "--format", "json"]).stdout;
    let result: Value = serde_json::from_str(&json).unwrap();
    let rate = |point: usize| {
        let throughput = &result["points"][point]["summary"]["throughput"];
        throughput["output_tokens_per_s"].as_f64().unwrap()
    };
    assert!(rate(1) > 2.0 * rate(0), "{} {}", rate(0), rate(1));
}

#[test]
fn the_log_of_a_running_server_tells_of_it() {
    let place = Place::new();
    let log = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/engine/vllm/start-cpu.log"
    );
    let sim = Sim::start(&[]);
    let url = sim.url.as_str();
    let measured = |log: &str, out: &str| {
        let load = ["--requests", "2", "--output-tokens", "4", "--out", out];
        let words = [
            &["run", url, "--engine-log", log, "--lang", "en"],
            &load[..],
        ]
        .concat();
        place.run(&words)
    };
    let ended = measured(log, "out");
    assert!(ended.stdout.contains("1,048,576"), "{}", ended.stdout);
    let empty = place.write("empty.log", "nothing\n");
    measured(&empty, "empty").assert_refused(&["empty.log", "the engine's start"]);
    measured("none.log", "none").assert_refused(&["none.log"]);
}

/// The commands of all engines that were started for the runs below a folder.
fn commands(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(commands(&path));
        } else if path.ends_with("environment.json") {
            let environment = RunDir::open(folder).unwrap().environment().unwrap();
            found.push(environment.engine.unwrap().command.join(" "));
        }
    }
    found
}

#[test]
fn a_switch_is_swept_on_and_off_and_nothing_between() {
    let place = Place::new();
    let sweep = |values: &str| {
        let flag = format!("enable-prefix-caching={values}");
        let options = ["4", "--requests", "4", "--engine-flag", &flag];
        place.run(&words("sweep", &options, &engine(&[], &[])))
    };
    sweep("on,maybe").assert_refused(&["'maybe' says neither"]);
    assert!(!place.path("out").exists());
    let ended = sweep("on,off");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let started = commands(&place.path("out"));
    let with = |flag: &str| started.iter().filter(|one| one.contains(flag)).count();
    assert_eq!(with(" --enable-prefix-caching"), 1, "{started:?}");
    assert_eq!(with(" --no-enable-prefix-caching"), 1, "{started:?}");
}
