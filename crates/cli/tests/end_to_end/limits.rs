//! What this machine or a file cannot give is told in one line, and nothing is lost.

use crate::support::{Place, Sim, Started};
use inferometer_core::summary::Summary;
use std::process::Command;

/// More than any system gives to a thread, so that none can be started.
const NO_STACK: &str = "1125899906842624";

#[test]
fn a_client_that_gets_no_thread_says_so_and_does_not_panic() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let run = place.measure(&sim.url, &["--requests", "4", "--output-tokens", "4"]);
    let without_threads = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("RUST_MIN_STACK", NO_STACK);
        Started::new(command).wait()
    };
    let path = run.path.to_str().unwrap();
    for arguments in [
        &["run", &sim.url][..],
        &["report", path],
        &["compare", path, path],
        &["serve", ".", "--listen", "127.0.0.1:0"],
    ] {
        without_threads(arguments).assert_refused(&["no thread could be started", "ulimit -u"]);
    }
}

/// The same command under a limit of the shell.
fn limited(limit: &str, inner: &Command) -> Command {
    let mut outer = Command::new("sh");
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    outer.args(["-c", &script]).arg(inner.get_program());
    outer.args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer.current_dir(inner.get_current_dir().unwrap());
    outer
}

#[test]
fn a_limit_on_the_size_of_files_ends_a_run_as_a_full_disk_does() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let load = [
        "--requests",
        "100000",
        "--concurrency",
        "4",
        "--output-tokens",
        "32",
    ];
    let words = ["run", &sim.url, "--lang", "en", "--quiet", "--out", "run"];
    let inner = place.command([&words[..], &load].concat());
    let ended = Started::new(limited("ulimit -f 200", &inner)).wait();
    // Not killed by the signal that the system sends.
    ended.assert_refused(&["ulimit -f", "inferometer report"]);
    let kept = place.run(&["report", "run", "--lang", "en", "--format", "json"]);
    let summary: Summary = serde_json::from_str(&kept.stdout).unwrap();
    let accounts = summary.requests;
    assert!(accounts.ok > 0 && accounts.unsent > 0, "{accounts:?}");
    // Whoever finds it later hears why it ended.
    let mut doubts = summary.doubts.iter();
    let is_told = doubts.any(|doubt| doubt.text.contains("could not be written"));
    assert!(is_told, "{:?}", summary.doubts);
    let listed = place.run(&["runs", ".", "--lang", "en"]);
    assert!(listed.stdout.contains("no end"), "{listed:?}");
}

#[test]
fn numbers_that_no_machine_can_hold_are_refused_in_a_line() {
    let place = Place::new();
    let sweep = ["sweep", "http://127.0.0.1:1", "--concurrency", "1,2"];
    place
        .run(&[&sweep[..], &["--repeat", "1000000"]].concat())
        .assert_refused(&["--repeat 1000000", "at most"]);
    for (option, value) in [
        ("--concurrency", "2147483648"),
        ("--workers", "1000000"),
        ("--max-concurrency", "4000000000"),
    ] {
        place
            .run(&["run", "http://127.0.0.1:1", "--rate", "5", option, value])
            .assert_refused(&[option]);
    }
    let points = place.write(
        "points.csv",
        "concurrency,input_tokens,output_tokens,requests_per_s,ttft_ms,tpot_ms\n\
         1,512,128,1.7,27,4.4\n16,512,128,20,150,5\n2147483648,512,128,56,788,11.6\n",
    );
    let model = ["--model", "qwen2.5-7b", "--device", "h200"];
    let calibrate = ["plan", "calibrate", &points, "--force"];
    place
        .run(&[&calibrate[..], &model].concat())
        .assert_refused(&["2147483648 streams", "at most"]);
}
