//! `tune` with real processes in an engine's place.

use crate::support::{Ended, Place, Started, until};
use crate::tune::{json, of_state, proposals, tune, words};
use rustix::process::Signal;
use std::net::TcpListener;

/// A real process in an engine's place: the simulated engine as a server.
pub fn stand_in(space: &str, more: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_inferometer");
    format!(
        r#"
[engine]
command = "{binary} sim --listen 127.0.0.1:{{port}} -- vllm serve qwen2.5-7b --max-model-len 2048"
{more}
[space]
{space}
[work]
input-tokens = "8"
output-tokens = "4"
[load]
concurrency = [2]
requests = 4
warmup = "0"
[goal]
maximize = "throughput.output_tokens_per_s"
threshold = ["in-flight-share=0"]
[budget]
trials = 3
[last-stage]
best = 1
repeats = 2
"#
    )
}

/// Processes whose command line names this folder or the stand-in's port of this study.
fn engines_of(place: &Place) -> Vec<String> {
    let marker = place.path("").to_str().unwrap().to_owned();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| {
            std::fs::read(entry.path().join("environ"))
                .ok()
                .zip(std::fs::read(entry.path().join("cmdline")).ok())
        })
        .filter(|(environ, _)| String::from_utf8_lossy(environ).contains(&marker))
        .map(|(_, line)| String::from_utf8_lossy(&line).replace('\0', " "))
        .collect()
}

#[test]
fn real_engines_are_started_measured_and_stopped_and_none_is_left() {
    let place = Place::new();
    let study = stand_in("max-num-seqs = { choice = [1, 8, 64] }", "");
    let ended = tune(&place, &study, &["--quiet", "--format", "json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = json(&ended);
    assert_eq!(of_state(&found, "done").len(), 3 + 4, "{found}");
    assert!(place.path("tuned/trials/000/engine.log").is_file());
    assert_eq!(engines_of(&place), Vec::<String>::new());
}

#[test]
fn an_engine_that_never_answers_is_a_timeout_and_a_missing_one_ends_the_study() {
    let place = Place::new();
    let study = stand_in("max-num-seqs = { choice = [1] }", "start-timeout = \"2s\"");
    let study = study.replace(" sim --listen", " sim --startup hang --listen");
    let ended = tune(&place, &study, &["--quiet", "--format", "json"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let found = json(&ended);
    assert_eq!(of_state(&found, "timeout").len(), 2, "{found}");
    assert_eq!(found["trials"][0]["class"], "timeout");
    assert_eq!(engines_of(&place), Vec::<String>::new());
    let study = study.replace(env!("CARGO_BIN_EXE_inferometer"), "/no/such/program");
    let missing = tune(&Place::new(), &study, &["--quiet"]);
    assert_eq!(missing.code, Some(2));
    assert!(
        missing.stderr.contains("missing-binary"),
        "{}",
        missing.stderr
    );
}

#[test]
fn an_interrupted_study_stops_its_engine_and_keeps_what_it_has() {
    let place = Place::new();
    let study = stand_in("max-num-seqs = { choice = [1, 8] }", "");
    let study = study.replace("--listen", "--startup hang --listen");
    let file = place.write("study.toml", &study);
    let started = Started::new(place.command(words(&file, &["--quiet"])));
    until("an engine", || {
        place
            .path("tuned/trials/000/engine.log")
            .is_file()
            .then_some(())
    });
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(proposals(&place).len(), 1);
    assert_eq!(engines_of(&place), Vec::<String>::new());
}

#[test]
fn a_killed_study_leaves_no_engine_behind_even_while_that_starts() {
    let place = Place::new();
    let study = stand_in("max-num-seqs = { choice = [1, 8] }", "");
    let study = study.replace("--listen", "--startup hang --listen");
    let file = place.write("study.toml", &study);
    let started = Started::new(place.command(words(&file, &["--quiet"])));
    until("an engine", || {
        (!engines_of(&place).is_empty() && place.path("tuned/trials/000/engine.log").is_file())
            .then_some(())
    });
    started.signal(Signal::KILL);
    started.wait();
    until("the end of all engines", || {
        engines_of(&place).is_empty().then_some(())
    });
}

#[test]
fn an_engine_that_dies_in_mid_trial_is_a_crash_with_its_class_and_the_study_goes_on() {
    let place = Place::new();
    let study = stand_in("max-num-seqs = { choice = [1, 8] }", "");
    let study = study
        .replace("--listen", "--faults oom-after=20 --listen")
        .replace("requests = 4", "requests = 60")
        .replace("[work]", "[connection]\nrequest-timeout = \"5s\"\n[work]");
    let ended = tune(&place, &study, &["--quiet", "--format", "json"]);
    let found = json(&ended);
    let crashed = of_state(&found, "crashed");
    assert_eq!(crashed.len(), 3, "{found}");
    for trial in crashed {
        assert_eq!(trial["class"], "out-of-memory-under-load", "{trial}");
        assert!(trial["evidence"].is_string(), "{trial}");
    }
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(engines_of(&place), Vec::<String>::new());
}

#[test]
fn a_port_in_use_ends_the_study_with_its_class() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let study = stand_in("max-num-seqs = { choice = [1, 8] }", "");
    let url = format!("url = \"http://127.0.0.1:{port}\"\n[space]");
    let study = study.replace("{port}", &port).replace("[space]", &url);
    let ended = tune(&place, &study, &["--quiet"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("port") && ended.stderr.contains("mend that"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_race_on_live_engines_measures_the_short_rungs_first() {
    let place = Place::new();
    let study = stand_in("max-num-seqs = { choice = [1, 8] }", "");
    let study = study.replace(
        "[last-stage]",
        "[search]\nsearcher = \"halving\"\nrungs = [\"1s\", \"2s\"]\n[last-stage]",
    );
    let ended = tune(&place, &study, &["--quiet", "--format", "json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let rungs = place.files("tuned/trials/001");
    let rungs: Vec<&str> = rungs.iter().filter_map(|file| file.to_str()).collect();
    assert!(
        rungs.iter().any(|file| file.contains("rung-0")),
        "{rungs:?}"
    );
}

#[test]
fn a_faster_setting_that_spoils_the_answers_loses_to_a_score() {
    let place = Place::new();
    let binary = env!("CARGO_BIN_EXE_inferometer");
    // It repeats the question, which holds the answer; with 64 sequences it says something else.
    let engine = place.script(
        "engine",
        &format!(
            "case \"$*\" in *max-num-seqs*64*) ;; *) right='--faults echo' ;; esac\n\
             exec {binary} sim $right \"$@\""
        ),
    );
    let row = |n: u32| format!("{{\"question\": \"1 and {n} is {n}\", \"answer\": \"{n}\"}}\n");
    let data = place.write("sums.jsonl", (0..40).map(row).collect::<String>());
    let study = stand_in("max-num-seqs = { choice = [2, 64] }", "")
        .replace(&format!("{binary} sim"), &engine)
        .replace("2048\"", "2048 --max-num-seqs 1\"")
        .replace(
            "input-tokens = \"8\"\noutput-tokens = \"4\"",
            &format!("data = \"{data}\""),
        )
        .replace("[2]\nrequests = 4", "[8]\nrequests = 32")
        .replace(
            "threshold =",
            "check = \"gsm8k\"\nrequire = [\"check.score>=0.9\"]\nthreshold =",
        );
    let ended = tune(&place, &study, &["--quiet", "--format", "json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = json(&ended);
    assert_eq!(
        found["best"]["flags"]["max-num-seqs"], 2,
        "{}",
        found["best"]
    );
    let scores: Vec<f64> = (place.files("tuned/trials").iter())
        .filter(|file| file.ends_with("summary.json"))
        .map(|file| {
            let summary = std::fs::read_to_string(file).unwrap();
            let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
            summary["check"]["score"].as_f64().unwrap()
        })
        .collect();
    assert!(scores.contains(&0.0) && scores.contains(&1.0), "{scores:?}");
}

/// A tool that shows two devices, in place of the driver's.
fn two_devices(place: &Place) -> String {
    let rows = "0, NVIDIA A100-SXM4-80GB, 0, 10, 81920, 60, 30\n1, NVIDIA A100-SXM4-80GB, 0, 10, 81920, 60, 30";
    place.script("nvidia-smi", &format!("cat <<'ROWS'\n{rows}\nROWS"));
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", place.path("bin").display())
}

#[test]
fn trials_in_parallel_have_devices_of_their_own() {
    let place = Place::new();
    let path = two_devices(&place);
    let study = stand_in("max-num-seqs = { choice = [1, 2, 4, 8, 16, 32] }", "");
    let seen = place.path("seen");
    let binary = env!("CARGO_BIN_EXE_inferometer");
    let script = format!(
        "echo \"$CUDA_VISIBLE_DEVICES\" >> {}\nexec {binary} \"$@\"",
        seen.display()
    );
    let engine = place.script("engine", &script);
    let study = study
        .replace(&format!("\"{binary} sim"), &format!("\"{engine} sim"))
        .replace("trials = 3", "trials = 6");
    let file = place.write("study.toml", &study);
    let run_on = |devices: Option<&str>, more: &[&str]| -> Ended {
        let mut command = place.command(words(&file, more));
        command.env("PATH", &path);
        match devices {
            Some(devices) => command.env("CUDA_VISIBLE_DEVICES", devices),
            None => command.env_remove("CUDA_VISIBLE_DEVICES"),
        };
        Started::new(command).wait()
    };
    let run = |more: &[&str]| run_on(None, more);
    // Devices that the user does not have are not taken.
    let fewer = run_on(Some("1"), &["--quiet", "--parallel", "2"]);
    assert_eq!(fewer.code, Some(2), "{}", fewer.stderr);
    assert!(fewer.stderr.contains("shows 1"), "{}", fewer.stderr);
    let ended = run(&["--quiet", "--format", "json", "--parallel", "2"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = json(&ended);
    assert_eq!(of_state(&found, "done").len(), 6 + 4, "{found}");
    let seen = std::fs::read_to_string(seen).unwrap();
    let used = |device: &str| seen.lines().filter(|line| *line == device).count();
    assert!(used("0") >= 1 && used("1") >= 1, "{seen}");
    let many = run(&["--quiet", "--parallel", "3"]);
    assert_eq!(many.code, Some(2));
    assert!(
        many.stderr.contains("3 devices") && many.stderr.contains("shows 2"),
        "{}",
        many.stderr
    );
    let replicas = study.replace("--max-model-len", "--data-parallel-size 2 --max-model-len");
    place.write("study.toml", &replicas);
    let two_each = run(&["--quiet", "--parallel", "2"]);
    assert_eq!(two_each.code, Some(2));
    assert!(
        two_each.stderr.contains("4 devices, 2 for each trial"),
        "{}",
        two_each.stderr
    );
}

#[test]
fn a_disk_without_room_ends_the_study_in_one_line_and_it_can_go_on() {
    let place = Place::new();
    let study = stand_in("max-num-seqs = { choice = [1, 8] }", "");
    let file = place.write("study.toml", &study);
    let mut limited = std::process::Command::new("sh");
    let whole = place.command(words(&file, &["--quiet"]));
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"]);
    limited.arg(whole.get_program()).args(whole.get_args());
    limited.envs(
        whole
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    limited.current_dir(place.path(""));
    let ended = Started::new(limited).wait();
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert_eq!(ended.stderr.trim().lines().count(), 1, "{}", ended.stderr);
    assert_eq!(engines_of(&place), Vec::<String>::new());
    let again = place.run(&words(&file, &["--quiet"]));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn a_key_in_the_command_is_used_and_never_stored() {
    let place = Place::new();
    let study = stand_in("max-num-seqs = { choice = [1, 8] }", "");
    let secret = "sk-never-stored-41";
    let study = study
        .replace(
            "--max-model-len 2048",
            &format!("--max-model-len 2048 --api-key {secret}"),
        )
        .replace("[work]", "[connection]\napi-key-file = \"key\"\n[work]");
    place.write("key", secret);
    let ended = tune(&place, &study, &["--quiet"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stdout.contains(secret), "{}", ended.stdout);
    for file in place.files("tuned") {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes
            .windows(secret.len())
            .any(|it| it == secret.as_bytes());
        assert!(!found, "{}", file.display());
    }
    let url = study.replace("api-key-file = \"key\"", "url = [\"http://h:1\"]");
    tune(&place, &url, &["--quiet"]).assert_refused(&["[engine] url"]);
}

#[test]
fn rules_of_the_user_hold_before_anything_is_started() {
    let place = Place::new();
    let study = stand_in(
        "max-num-seqs = { choice = [1, 8, 64] }",
        "rules = [\"max-num-seqs <= 8\"]",
    );
    let found = json(&tune(&place, &study, &["--quiet", "--format", "json"]));
    let trials = found["trials"].as_array().unwrap();
    let most = trials
        .iter()
        .filter_map(|trial| trial["flags"]["max-num-seqs"].as_i64())
        .max();
    assert_eq!(most, Some(8), "{found}");
    let bad = study.replace("max-num-seqs <= 8", "few sequences");
    tune(&Place::new(), &bad, &["--quiet"]).assert_refused(&["[engine] rules", "few sequences"]);
    let hidden = "[engine]\ncommand = \"sh -c './server --port {port}'\"\n[space]\n\
        threads = { choice = [1, 2] }\n[goal]\nmaximize = \"throughput.output_tokens_per_s\"\n\
        [budget]\ntrials = 2\n[load]\nconcurrency = 2\nrequests = 4\n";
    tune(&Place::new(), hidden, &["--quiet"]).assert_refused(&["sh -c", "command itself"]);
}
