//! Runs that do not come to their end by themselves keep what they have.

use crate::support::{Place, Run, Sim, Started, records, until};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::record::{Outcome, Record, Stage};
use inferometer_core::summary::Summary;
use inferometer_store::run_dir::RunDir;
use rustix::process::Signal;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The measured requests that the journal of a run under way knows of.
fn recorded(path: &Path) -> Option<Vec<Record>> {
    let records = RunDir::open(path).ok()?.records().ok()?;
    let known = records.filter_map(Result::ok);
    Some(known.filter(|record| record.is_measured()).collect())
}

/// Waits until the journal knows of at least this many measured requests.
fn until_recorded(path: &Path, least: usize) {
    until("the journal", || {
        (recorded(path)?.len() >= least).then_some(())
    });
}

/// Waits until at least this many of them ended that long before the last one did.
fn until_ended(path: &Path, least: usize, before: Duration) {
    until("later answers", || {
        let ends: Vec<_> = recorded(path)?.iter().filter_map(|it| it.end).collect();
        let last = ends.iter().max()?;
        let early = ends.iter().filter(|end| **end + before <= *last);
        (early.count() >= least).then_some(())
    });
}

/// The folded summary of a stored run, with the exit code of `report`.
fn reported(place: &Place, path: &Path) -> (Option<i32>, Summary) {
    let ended = place.run(&[
        "report",
        path.to_str().unwrap(),
        "--lang",
        "en",
        "--format",
        "json",
    ]);
    (
        ended.code,
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}")),
    )
}

fn assert_interrupted(summary: &Summary) {
    assert!(!summary.valid);
    let doubt = summary
        .doubts
        .iter()
        .find(|doubt| doubt.code == DoubtCode::Interrupted)
        .unwrap();
    assert_eq!(doubt.severity, Severity::Invalid);
    let all = summary.requests;
    assert_eq!(
        all.planned,
        all.ok + all.failed + all.cut + all.unsent,
        "{all:?}"
    );
}

#[test]
fn the_first_interrupt_lets_answers_come_and_keeps_the_results() {
    let place = Place::new();
    // Without a URL, so that the embedded server has to outlive the interrupt.
    let out = place.path("run");
    let options = [
        "run",
        "--lang",
        "en",
        "--out",
        "run",
        "--requests",
        "100000",
        "--concurrency",
        "4",
        "--output-tokens",
        "8",
    ];
    let started = Started::new(place.command(options));
    until_recorded(&out, 8);
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stdout.starts_with("INVALID"), "{}", ended.stdout);
    let run = Run::read(ended, out);
    assert_interrupted(&run.summary);
    let all = run.summary.requests;
    assert!(all.ok >= 4 && all.unsent > 0, "{all:?}");
    assert_eq!(
        (all.failed, all.cut),
        (0, 0),
        "answers under way were waited for"
    );
    let (code, again) = reported(&place, &run.path);
    assert_eq!((code, again.requests), (Some(1), all));
}

#[test]
fn the_second_interrupt_leaves_at_once_and_counts_what_was_cut() {
    let place = Place::new();
    // An answer takes three minutes.
    let sim = Sim::start(&["--itl", "100ms"]);
    let options = [
        "--concurrency",
        "3",
        "--requests",
        "10",
        "--warmup",
        "0",
        "--stagger",
        "none",
        "--output-tokens",
        "1800",
    ];
    // Two kinds of signal: two of one kind may reach the process as one. The last is that of a
    // limit of CPU time, `ulimit -t`.
    let kinds = [Signal::INT, Signal::TERM, Signal::XCPU];
    for (first, second) in kinds.into_iter().zip(kinds.into_iter().cycle().skip(1)) {
        let (started, out) = place.start(&sim.url, &options);
        until_recorded(&out, 3);
        started.signal(first);
        started.signal(second);
        let told = Instant::now();
        let run = Run::read(started.wait(), out);
        assert!(told.elapsed() < Duration::from_secs(60));
        assert_eq!(run.ended.code, Some(130));
        assert_interrupted(&run.summary);
        let all = run.summary.requests;
        assert_eq!((all.cut, all.unsent), (3, 7));
    }
}

/// Starts a load of short answers, and then freezes the server: it takes connections, and says
/// nothing more.
fn frozen(place: &Place, options: &[&str]) -> (Sim, Started, std::path::PathBuf) {
    let sim = Sim::start(&[]);
    let load = "--concurrency 2 --requests 100000 --output-tokens 4 --warmup 0";
    let load: Vec<&str> = load.split(' ').collect();
    let (started, out) = place.start(&sim.url, &[&load[..], options].concat());
    until_recorded(&out, 3);
    sim.signal(Signal::STOP);
    (sim, started, out)
}

#[test]
fn a_server_that_falls_silent_ends_the_run_and_not_each_request_after_its_limit() {
    let place = Place::new();
    let limits = ["--read-timeout", "1s", "--give-up-after", "1s"];
    let (_sim, started, out) = frozen(&place, &limits);
    let run = Run::read(started.wait(), out);
    assert_eq!(run.ended.code, Some(1), "{:?}", run.ended);
    assert_interrupted(&run.summary);
    assert!(run.doubts(DoubtCode::ServerDied));
    let all = run.summary.requests;
    assert!(all.ok >= 1 && all.failed >= 2, "{all:?}");
    // A hundred thousand limits of a second would be half a day.
    assert!(all.unsent > 90_000, "{all:?}");
}

#[test]
fn the_second_interrupt_leaves_a_silent_server_without_asking_how_it_is() {
    let place = Place::new();
    let (_sim, started, out) = frozen(&place, &[]);
    started.signal(Signal::INT);
    started.signal(Signal::TERM);
    let run = Run::read(started.wait(), out);
    assert_eq!(run.ended.code, Some(130));
    assert_interrupted(&run.summary);
    assert!(!run.doubts(DoubtCode::ServerDied), "{:?}", run.ended);
}

#[test]
fn after_the_first_interrupt_one_line_says_what_is_waited_for_and_how_to_leave() {
    let place = Place::new();
    // Answers take four seconds: many times as long as it takes to hear of the interrupt.
    let sim = Sim::start(&["--itl", "40ms"]);
    let words = ["run", &sim.url, "--lang", "en", "--out", "run"];
    let load = [
        "--requests",
        "10",
        "--concurrency",
        "3",
        "--stagger",
        "none",
    ];
    let long = ["--warmup", "0", "--output-tokens", "100"];
    let started = Started::new(place.command([&words[..], &load, &long].concat()));
    until_recorded(&place.path("run"), 3);
    started.signal(Signal::INT);
    let ended = started.wait();
    let told: Vec<&str> = (ended.stderr.lines())
        .filter(|line| line.contains("Ctrl-C again leaves at once"))
        .collect();
    assert_eq!(told.len(), 1, "{}", ended.stderr);
    assert!(told[0].contains("waiting for 3 answers"), "{told:?}");
}

#[test]
fn a_closed_terminal_is_an_interrupt_unless_it_is_to_be_ignored() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    // Whoever started this test may have the signal ignored.
    let start = |before: &[&str], out: &str, load: &[&str]| {
        let run = ["run", &sim.url, "--lang", "en", "--quiet", "--out", out];
        let inner = place.command([&run, load].concat());
        let mut outer = std::process::Command::new(before[0]);
        outer.args(&before[1..]).arg(inner.get_program());
        outer.args(inner.get_args());
        outer.current_dir(inner.get_current_dir().unwrap());
        Started::new(outer)
    };
    let heeding = ["env", "--default-signal=HUP"];
    let load = ["--requests", "100000", "--concurrency", "2"];
    let started = start(&heeding, "heeding", &load);
    until_recorded(&place.path("heeding"), 8);
    started.signal(Signal::HUP);
    let run = Run::read(started.wait(), place.path("heeding"));
    assert_eq!(run.ended.code, Some(130));
    assert_interrupted(&run.summary);
    assert!(run.summary.requests.ok >= 6, "{:?}", run.summary.requests);

    // As `nohup` starts a program.
    let ignoring = ["env", "--ignore-signal=HUP"];
    let load = "--duration 2s --concurrency 2 --output-tokens 4";
    let load: Vec<&str> = load.split(' ').collect();
    let started = start(&ignoring, "ignoring", &load);
    until_recorded(&place.path("ignoring"), 4);
    started.signal(Signal::HUP);
    let run = Run::read(started.wait(), place.path("ignoring"));
    assert!(!run.doubts(DoubtCode::Interrupted), "{:?}", run.ended);
}

/// Waits until the journal has a request of this stage that answers.
fn until_stage(path: &Path, stage: Stage) {
    until("the stage", || {
        let mut records = RunDir::open(path).ok()?.records().ok()?;
        let answers = |record: &Record| record.stage == stage && !record.chunks.is_empty();
        records
            .any(|record| record.is_ok_and(|record| answers(&record)))
            .then_some(())
    });
}

#[test]
fn an_interrupt_in_the_warm_up_leaves_every_planned_request_unsent() {
    let place = Place::new();
    let sim = Sim::start(&["--itl", "100ms"]);
    let load = ["--concurrency", "3", "--requests", "10"];
    let long = ["--output-tokens", "1800"];
    let (started, out) = place.start(&sim.url, &[&load[..], &long].concat());
    until_stage(&out, Stage::Warmup);
    started.signal(Signal::INT);
    let run = Run::read(started.wait(), out);
    assert_eq!(run.ended.code, Some(130));
    assert_interrupted(&run.summary);
    let all = run.summary.requests;
    assert_eq!(
        (all.planned, all.unsent, all.warmup),
        (10, 10, 3),
        "{all:?}"
    );
    assert!(run.warmup.iter().all(|r| r.outcome == Outcome::Cut));
}

#[test]
fn an_interrupt_in_the_hold_waits_for_the_measured_answers_alone() {
    let place = Place::new();
    // Measured answers follow each other on one stream; the other stream then holds the load.
    let sim = Sim::start(&["--ttft", "100ms", "--itl", "100ms"]);
    let load = ["--concurrency", "4", "--requests", "5", "--stagger", "none"];
    let long = ["--output-tokens", "30"];
    let (started, out) = place.start(&sim.url, &[&load[..], &long].concat());
    until_stage(&out, Stage::Hold);
    started.signal(Signal::INT);
    let run = Run::read(started.wait(), out);
    let all = run.summary.requests;
    assert_eq!((all.planned, all.ok, all.unsent), (5, 5, 0), "{all:?}");
    assert!(!run.hold.is_empty());
}

#[test]
fn an_interrupt_before_anything_is_measured_leaves_nothing_behind() {
    let place = Place::new();
    let held = std::sync::Mutex::new(Vec::new());
    let (said, heard) = std::sync::mpsc::channel();
    let silent = crate::support::Crooked::start(move |stream| {
        held.lock().unwrap().push(stream);
        let _ = said.send(());
    });
    let (started, out) = place.start(&silent.url(), &[]);
    heard.recv_timeout(Duration::from_secs(60)).unwrap();
    started.signal(Signal::INT);
    assert_eq!(started.wait().code, Some(130));
    assert!(!out.exists());
}

#[test]
fn a_killed_run_can_be_read_and_holds_all_but_its_last_second() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "30ms", "--itl", "10ms"]);
    let (started, out) = place.start(
        &sim.url,
        &[
            "--concurrency",
            "4",
            "--requests",
            "5000",
            "--output-tokens",
            "uniform(2,40)",
        ],
    );
    until_ended(&out, 8, Duration::from_millis(1500));
    // How late the client was woken is not lost with its end.
    until("the client tells of itself", || {
        let journal = std::fs::read_to_string(out.join("records/journal.jsonl")).ok()?;
        journal.contains("{\"client\":").then_some(())
    });
    let killed_ns = {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    };
    started.signal(Signal::KILL);
    assert_eq!(started.wait().code, None);
    assert!(out.join("records/journal.jsonl").exists() && !out.join("ending.json").exists());

    let stored: HashMap<String, _> = records(&out)
        .into_iter()
        .map(|record| (record.id.clone(), record))
        .collect();
    let truth = sim.truth();
    let mut complete = 0;
    for (id, real) in truth.iter().filter(|(id, _)| id.as_str() != "preflight") {
        if real.end_ns + 1_000_000_000 < killed_ns {
            complete += 1;
            let record = stored
                .get(id)
                .unwrap_or_else(|| panic!("{id} ended in time and is lost"));
            assert!(record.is_done(), "{id}: {:?}", record.outcome);
            assert_eq!(
                record.chunks.len(),
                real.chunks.iter().filter(|chunk| chunk.1 > 0).count()
            );
        }
    }
    assert!(complete >= 8, "{complete}");
    for record in stored.values() {
        assert!(truth.contains_key(&record.id));
        assert!(record.is_done() || record.outcome == Outcome::Cut);
    }

    let text = place.run(&["report", out.to_str().unwrap(), "--lang", "en"]);
    assert_eq!(text.code, Some(1));
    assert!(
        text.stdout.starts_with("INVALID") && text.stdout.contains("interrupted"),
        "{}",
        text.stdout
    );
    let (code, summary) = reported(&place, &out);
    assert_eq!(code, Some(1));
    assert_interrupted(&summary);
    assert_eq!(summary.requests.planned, 5000);
    assert!(summary.client.longest_pause_ms.is_some());
    let listed = place.run(&["runs", place.path("").to_str().unwrap()]);
    assert!(listed.stdout.contains("run-1"), "{listed:?}");
    let vllm = place.run(&["report", out.to_str().unwrap(), "--dialect", "vllm"]);
    assert!(vllm.stdout.contains("Successful requests"), "{vllm:?}");

    let verify = || place.run(&["verify", out.to_str().unwrap(), "--lang", "en"]);
    assert_eq!(verify().code, Some(0), "{:?}", verify());
    let journal = out.join("records/journal.jsonl");
    let mut rotten = std::fs::read(&journal).unwrap();
    let second = rotten.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    rotten[second + 40] ^= 1;
    std::fs::write(&journal, rotten).unwrap();
    let text = place.run(&["report", out.to_str().unwrap(), "--lang", "en"]);
    let told = "unreadable journal lines left out: 1";
    assert!(text.stdout.contains(told), "{}", text.stdout);
    let damaged = verify();
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    assert!(damaged.stdout.contains("journal.jsonl"), "{damaged:?}");
}

#[test]
fn a_run_under_way_can_be_looked_at_and_is_not_disturbed() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let (started, out) = place.start(
        &sim.url,
        &[
            "--concurrency",
            "2",
            "--duration",
            "2s",
            "--output-tokens",
            "4",
        ],
    );
    until_recorded(&out, 6);
    let (_, summary) = reported(&place, &out);
    assert!(summary.requests.ok > 0);
    assert_eq!(
        place.run(&["runs", place.path("").to_str().unwrap()]).code,
        Some(0)
    );
    let run = Run::read(started.wait(), out);
    assert_eq!(run.ended.code, Some(0), "{:?}", run.ended);
    assert!(!run.doubts(DoubtCode::Interrupted));
}

#[test]
fn a_killed_run_leaves_no_embedded_server_behind() {
    let place = Place::new();
    let options = [
        "run",
        "--lang",
        "en",
        "--out",
        "run",
        "--requests",
        "100000",
        "--output-tokens",
        "8",
    ];
    let started = Started::new(place.command(options));
    until_recorded(&place.path("run"), 1);
    let endpoint = RunDir::open(place.path("run"))
        .unwrap()
        .environment()
        .unwrap()
        .server
        .endpoints[0]
        .clone();
    let address = endpoint
        .strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    assert!(std::net::TcpStream::connect(&address).is_ok());
    started.signal(Signal::KILL);
    started.wait();
    until("the end of the server", || {
        std::net::TcpStream::connect(&address)
            .is_err()
            .then_some(())
    });
}

#[test]
fn a_computed_search_that_is_interrupted_says_how_it_goes_on() {
    let place = Place::new();
    let options = [
        "capacity",
        "--sim-clock",
        "virtual",
        "--slo",
        "ttft.p99=500ms",
        "--budget",
        "90000000",
        "--tolerance",
        "0.1",
        "--out",
        "search",
        "--lang",
        "en",
    ];
    let started = Started::new(place.command(options));
    let probes = place.path("search/probes.jsonl");
    until("a probe", || {
        let known = std::fs::read_to_string(&probes).ok()?;
        (known.lines().count() > 1).then_some(())
    });
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended.stderr.contains("--out search goes on"),
        "{}",
        ended.stderr
    );
}
