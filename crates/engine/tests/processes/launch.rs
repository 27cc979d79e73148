//! Starting and stopping, on shell scripts that behave as engines do.

use crate::stand_in::{eventually, lives, pids, script, serve};
use inferometer_catalog::engine::{EngineKind, FailureClass};
use inferometer_engine::{
    DeviceTool, Failure, Launch, LeftoverState, MemoryAfter, Readiness, Running, StartError,
    StartProgress, leftovers,
};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::time::Duration;

const READY: &str = "echo 'INFO:     Application startup complete.'";

fn start(launch: &Launch) -> Result<Running, StartError> {
    launch.start(&mut |_| ControlFlow::Continue(()))
}

fn failure(launch: &Launch) -> Failure {
    match start(launch) {
        Err(StartError::Failed(failure)) => *failure,
        other => panic!("{other:?}"),
    }
}

fn fixture(name: &str) -> String {
    format!(
        "{}/../../fixtures/engine/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[test]
fn an_engine_is_started_told_of_and_stopped_politely() {
    let folder = tempfile::tempdir().unwrap();
    let log = fixture("vllm/start-cpu.log");
    let launch = script(folder.path(), &format!("cat '{log}'; exec sleep 600"));
    let mut seen = Vec::new();
    let running = launch
        .start(&mut |progress| {
            seen.push(progress.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(
        matches!(seen.first(), Some(StartProgress::Spawned { .. })),
        "{seen:?}"
    );
    assert!(
        matches!(seen.last(), Some(StartProgress::Ready { .. })),
        "{seen:?}"
    );
    assert_eq!(running.facts().kv_tokens, Some(1_048_576));
    assert!(running.facts().start_s.is_some());
    let pid = running.pid().unwrap();
    let registry = launch.registry.as_ref().unwrap();
    assert_eq!(leftovers(registry)[0].state, LeftoverState::InUse);
    let stopped = running.stop();
    assert!(!stopped.killed && stopped.remaining == 0, "{stopped:?}");
    assert!(!lives(pid));
    assert!(leftovers(registry).is_empty());
}

#[test]
fn an_engine_that_does_not_listen_is_killed_with_all_its_descendants() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("pids");
    let list_path = list.display();
    // One child in the group, one that leaves it, all deaf.
    let engine = format!(
        "trap '' INT TERM; echo $$ >> {list_path}; sleep 600 & echo $! >> {list_path}; \
         setsid sleep 600 & echo $! >> {list_path}; {READY}; while :; do sleep 1; done"
    );
    let mut launch = script(folder.path(), &engine);
    launch.timeouts.stop = Duration::from_millis(300);
    let running = start(&launch).unwrap();
    let family = pids(&list);
    assert_eq!(family.len(), 3);
    assert!(family.iter().all(|pid| lives(*pid)));
    let stopped = running.stop();
    assert!(stopped.killed && stopped.remaining == 0, "{stopped:?}");
    // Not even their zombies are left.
    let is_there = |pid: &i32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(!family.iter().any(is_there), "{family:?}");
}

#[test]
fn failures_are_told_apart_with_their_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let cat = |name: &str, code: i32| format!("tail -n +4 '{}'; exit {code}", fixture(name));
    let oom = "echo 'Model loading took 12.37 GiB memory and 3.0 seconds'; \
               echo 'ValueError: No available memory for the cache blocks.' >&2; exit 1";
    let loading = "echo 'Starting to load model'; \
                   echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB'; exit 1";
    let cases = [
        (
            cat("vllm/refused-unknown-flag.txt", 2),
            FailureClass::IllegalFlags,
            "unrecognized arguments",
        ),
        (
            cat("vllm/refused-port-taken.txt", 1),
            FailureClass::PortTaken,
            "Address already in use",
        ),
        (
            oom.to_owned(),
            FailureClass::NoRoomForKvCache,
            "No available memory",
        ),
        (
            loading.to_owned(),
            FailureClass::OutOfMemoryLoading,
            "CUDA out of memory",
        ),
        (
            "echo dying; kill -SEGV $$".to_owned(),
            FailureClass::Crash,
            "signal 11",
        ),
        (
            "no-such-engine serve".to_owned(),
            FailureClass::MissingBinary,
            "not found",
        ),
    ];
    for (index, (engine, class, evidence)) in cases.into_iter().enumerate() {
        let place = folder.path().join(index.to_string());
        let failed = failure(&script(&place, &engine));
        assert_eq!(failed.class, class, "{failed:?}");
        let text = failed.evidence.join("\n");
        assert!(text.contains(evidence), "{evidence}: {text}");
        assert!(failed.log.as_ref().is_some_and(|log| log.exists()));
    }
}

#[test]
fn a_missing_program_and_a_taken_port_are_known_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = script(folder.path(), "");
    launch.words = vec!["/no/such/vllm".into()];
    let failed = failure(&launch);
    assert_eq!(failed.class, FailureClass::MissingBinary);
    assert!(failed.to_string().contains("/no/such/vllm"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut launch = script(folder.path(), READY);
    launch.url = format!("http://{}", listener.local_addr().unwrap());
    assert_eq!(failure(&launch).class, FailureClass::PortTaken);
}

#[test]
fn an_engine_that_is_never_ready_hangs_or_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut silent = script(folder.path(), "echo loading; exec sleep 600");
    silent.timeouts.silence = Duration::from_millis(500);
    let failed = failure(&silent);
    assert_eq!(failed.class, FailureClass::Hang);
    assert!(
        failed.evidence.iter().any(|line| line == "loading"),
        "{failed:?}"
    );
    let mut busy = script(folder.path(), "while :; do echo loading; sleep 0.1; done");
    busy.timeouts.ready = Duration::from_secs(1);
    assert_eq!(failure(&busy).class, FailureClass::Timeout);
}

#[test]
fn a_start_can_be_broken_off_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let launch = script(folder.path(), "exec sleep 600");
    let mut started = None;
    let broken = launch.start(&mut |progress| match progress {
        StartProgress::Spawned { pid } => {
            started = Some(*pid);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(broken, Err(StartError::Interrupted)), "{broken:?}");
    assert!(eventually(|| !lives(started.unwrap())));
}

#[test]
fn a_death_in_mid_run_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("die");
    let engine = format!(
        "{READY}; while [ ! -e {} ]; do sleep 0.05; done; echo 'CUDA out of memory.'; exit 1",
        flag.display()
    );
    let mut running = start(&script(folder.path(), &engine)).unwrap();
    assert_eq!(running.died(), None);
    std::fs::write(&flag, "").unwrap();
    let mut died = None;
    assert!(eventually(|| {
        died = running.died();
        died.is_some()
    }));
    assert_eq!(died.unwrap().class, FailureClass::OutOfMemoryUnderLoad);
    assert_eq!(running.stop().remaining, 0);
}

#[test]
fn an_engine_is_ready_when_its_server_answers_200() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = script(folder.path(), "echo up; exec sleep 600");
    launch.ready.line = None;
    launch.ready.probes = vec!["/health".into()];
    let address = launch.url.trim_start_matches("http://").to_owned();
    let asked = std::sync::atomic::AtomicU32::new(0);
    let mut answer = Some(move |_: &str| {
        let before = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        (if before < 2 { 503 } else { 200 }, String::new())
    });
    let mut waits = 0;
    let running = launch
        .start(&mut |progress| {
            match progress {
                StartProgress::Spawned { .. } => {
                    serve(TcpListener::bind(&address).unwrap(), answer.take().unwrap());
                }
                StartProgress::Waiting { .. } => waits += 1,
                StartProgress::Ready { .. } => {}
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(waits >= 2, "503 is not ready");
    assert!(!running.stop().killed);
}

/// A start command that ends at once, as `docker run -d` does. What it started answers until
/// there is a file `stopped`.
fn detached(folder: &std::path::Path, stop: &str) -> (Launch, Running) {
    let mut launch = script(folder, "true");
    let wrapper = ["env", "PLACE={port}"].map(str::to_owned);
    launch.words.splice(0..0, wrapper);
    launch.stop = Some(["sh", "-c", stop].map(str::to_owned).to_vec());
    launch.place(4242);
    assert_eq!(launch.words[1], "PLACE=4242");
    launch.ready.line = None;
    launch.ready.probes = vec!["/health".into()];
    let address = launch.url.trim_start_matches("http://").to_owned();
    let mark = folder.join("stopped");
    let running = launch
        .start(&mut |progress| {
            if matches!(progress, StartProgress::Spawned { .. }) {
                let mark = mark.clone();
                serve(TcpListener::bind(&address).unwrap(), move |_| {
                    (if mark.exists() { 503 } else { 200 }, String::new())
                });
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    (launch, running)
}

#[test]
fn a_wrapped_engine_outlives_its_client_and_is_stopped_by_its_own_command() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("stopped");
    let (launch, mut running) = detached(folder.path(), &format!("touch {}", mark.display()));
    assert_eq!(running.died(), None);
    let stopped = running.stop();
    assert!(stopped.reached && mark.exists(), "{stopped:?}");
    assert!(!stopped.answers, "{stopped:?}");
    assert!(leftovers(launch.registry.as_ref().unwrap()).is_empty());
}

#[test]
fn a_wrapped_engine_that_survives_its_stop_command_is_noticed_and_named_while_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (launch, running) = detached(folder.path(), "true");
    let stopped = running.stop();
    assert!(stopped.reached && stopped.answers, "{stopped:?}");
    let registry = launch.registry.as_ref().unwrap();
    let found = leftovers(registry);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].state, LeftoverState::Answers);
    assert!(found[0].to_string().contains(&launch.url), "{}", found[0]);
    std::fs::write(folder.path().join("stopped"), "").unwrap();
    assert!(leftovers(registry).is_empty());
}

/// An engine whose log says nothing, and whose server answers `ready` on the paths that only a
/// warm one answers.
fn silent_sglang(folder: &std::path::Path, ready: u16) -> Result<Running, StartError> {
    let mut launch = script(folder, "exec sleep 600");
    launch.engine = EngineKind::Sglang;
    launch.ready = Readiness::of(EngineKind::Sglang);
    launch.timeouts.ready = Duration::from_secs(if ready == 200 { 120 } else { 2 });
    let address = launch.url.trim_start_matches("http://").to_owned();
    launch.start(&mut |progress| {
        if matches!(progress, StartProgress::Spawned { .. }) {
            let listener = TcpListener::bind(&address).unwrap();
            serve(listener, move |path| match path {
                "/health" => (200, String::new()),
                _ => (ready, String::new()),
            });
        }
        ControlFlow::Continue(())
    })
}

#[test]
fn an_engine_with_a_silent_log_is_ready_when_it_generates() {
    let folder = tempfile::tempdir().unwrap();
    let running = silent_sglang(folder.path(), 200).unwrap();
    assert!(!running.stop().killed);
    // That it is there is not enough; the message says what was waited for.
    let Err(StartError::Failed(failed)) = silent_sglang(folder.path(), 503) else {
        panic!("it answered nothing but /health");
    };
    assert_eq!(failed.class, FailureClass::Timeout);
    let text = failed.to_string();
    assert!(text.contains("/health_generate"), "{text}");
    assert!(text.contains("fired up and ready to roll"), "{text}");
}

#[test]
fn a_wrapped_engine_that_cannot_be_reached_is_named_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let (launch, running) = detached(folder.path(), "echo no route to host; exit 1");
    assert!(!running.stop().reached);
    let found = leftovers(launch.registry.as_ref().unwrap());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].state, LeftoverState::Unreached);
    assert!(found[0].to_string().contains("no route"), "{}", found[0]);
}

#[test]
fn a_stop_waits_until_the_devices_memory_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let card = folder.path().join("card");
    let used = |mib: u32| {
        format!(
            "echo '0, Card, 0, {mib}, 81920, 50, 30' > {}",
            card.display()
        )
    };
    let shown = format!("cat {}", card.display());
    let tool = DeviceTool::NvidiaSmi(["sh", "-c", &shown].map(str::to_owned).to_vec());
    for (after, is_back) in [(100, true), (40_000, false)] {
        std::fs::write(&card, "0, Card, 0, 4, 81920, 50, 30\n").unwrap();
        let engine = format!(
            "trap \"{}; exit 0\" TERM; {}; {READY}; while :; do sleep 0.05; done",
            used(after),
            used(70_000)
        );
        let mut launch = script(folder.path(), &engine);
        // The last engine's words would count as this one's.
        launch.log = folder.path().join(format!("engine-{after}.log"));
        launch.devices = Some(tool.clone());
        launch.timeouts.memory = if is_back {
            Duration::from_secs(60)
        } else {
            Duration::from_millis(300)
        };
        let stopped = start(&launch).unwrap().stop();
        match stopped.memory {
            MemoryAfter::Back => assert!(is_back, "{stopped:?}"),
            MemoryAfter::Held { mib } => assert!(!is_back && mib > 39_000.0, "{stopped:?}"),
            MemoryAfter::NotAsked => panic!("{stopped:?}"),
        }
    }
}
