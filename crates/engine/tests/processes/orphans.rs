//! No orphans: what becomes of an engine whose tuner is killed.

use crate::stand_in::{eventually, launcher, lives, pids, script};
use inferometer_engine::{Leftover, LeftoverState, leftovers};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A tuner with an engine of three deaf processes, one of which left the group; returns when
/// the engine is up.
fn tuner(folder: &Path) -> (Child, Vec<i32>) {
    let list = folder.join("pids");
    let engine = format!(
        "trap '' INT TERM; echo $$ >> {0}; sleep 600 & echo $! >> {0}; \
         setsid sleep 600 & echo $! >> {0}; echo ready now; while :; do sleep 1; done",
        list.display()
    );
    let mut child = Command::new(launcher())
        .args(["--hold", "600", "--line", "ready now", "--port"])
        .arg(inferometer_engine::free_port().unwrap().to_string())
        .arg("--log")
        .arg(folder.join("engine.log"))
        .arg("--registry")
        .arg(folder)
        .args(["--", "sh", "-c", &engine])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "holding"));
    let family = pids(&list);
    assert_eq!(family.len(), 3);
    assert!(family.iter().all(|pid| lives(*pid)));
    (child, family)
}

#[test]
fn the_engine_ends_with_a_tuner_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut tuner, family) = tuner(folder.path());
    tuner.kill().unwrap();
    tuner.wait().unwrap();
    assert!(
        eventually(|| !family.iter().any(|pid| lives(*pid))),
        "{family:?}"
    );
    assert!(eventually(|| leftovers(folder.path()).is_empty()));
}

#[test]
fn an_engine_whose_supervisor_was_killed_too_is_found_and_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (mut tuner, family) = tuner(folder.path());
    let entry = std::fs::read_dir(folder.path())
        .unwrap()
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .find_map(|name| {
            Some(
                name.strip_prefix("engine-")?
                    .strip_suffix(".json")?
                    .to_owned(),
            )
        })
        .unwrap();
    // The tuner is held still, so that nobody is left to end the engine.
    let signal = |word: &str, pid: &str| {
        let sent = Command::new("kill").args([word, pid]).status().unwrap();
        assert!(sent.success());
    };
    signal("-STOP", &tuner.id().to_string());
    signal("-KILL", &entry);
    tuner.kill().unwrap();
    tuner.wait().unwrap();
    // A signal is sent when `kill` returns; its receiver may take a while to be gone.
    let is_orphaned = |engine: &Leftover| engine.state == LeftoverState::Orphaned;
    assert!(eventually(|| leftovers(folder.path())
        .iter()
        .all(is_orphaned)));
    let found = leftovers(folder.path());
    assert_eq!(found.len(), 1);
    assert!(is_orphaned(&found[0]));
    // What the user is told to do about it works.
    let remedy = format!("kill -9 -{}", family[0]);
    assert!(found[0].to_string().contains(&remedy), "{}", found[0]);
    let sent = Command::new("sh").args(["-c", &remedy]).status().unwrap();
    assert!(sent.success());
    assert!(eventually(|| leftovers(folder.path()).is_empty()));
    // The one that left the group is out of reach without a supervisor.
    let _ = Command::new("kill")
        .args(["-KILL", &family[2].to_string()])
        .status();
}

#[test]
fn an_engine_whose_supervisor_alone_was_killed_is_ended_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("pids");
    let engine = format!(
        "trap '' INT TERM; echo $PPID >> {0}; echo $$ >> {0}; \
         echo Application startup complete.; while :; do sleep 1; done",
        list.display()
    );
    let launch = script(folder.path(), &engine);
    let mut running = launch.start(&mut |_| ControlFlow::Continue(())).unwrap();
    let [supervisor, engine] = pids(&list)[..] else {
        panic!("two processes");
    };
    assert!(!running.has_ended() && lives(engine));
    let killed = Command::new("kill")
        .args(["-KILL", &supervisor.to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let mut died = None;
    assert!(eventually(|| {
        died = running.died();
        died.is_some()
    }));
    assert!(!lives(engine));
    let failure = died.unwrap();
    assert!(failure.to_string().contains("supervisor died"), "{failure}");
}
