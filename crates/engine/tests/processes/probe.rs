//! Questions to installed engines, on scripts that answer as those do, or do not.

use crate::stand_in::{eventually, launcher, lives, pids};
use inferometer_catalog::engine::LaunchCommand;
use inferometer_engine::{Installed, Interview, SUPERVISOR_WORD, Supervisor, probe};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// Asks the script as if it were the vLLM of a command with a flag that no table knows.
fn ask(folder: &Path, script: &str, limit: Duration) -> (Installed, Vec<String>) {
    let path = folder.join("vllm");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let line = format!("{} serve m --brand-new-flag 3", path.display());
    let command = LaunchCommand::parse_line(&line).unwrap();
    let mut waited_for = Vec::new();
    let mut interview = Interview {
        supervisor: &Supervisor {
            program: launcher(),
            arguments: vec![SUPERVISOR_WORD.into()],
        },
        version: None,
        limit,
        waiting: &mut |question, _| waited_for.push(question.to_owned()),
    };
    let installed = probe(&command, &[], &mut interview);
    (installed, waited_for)
}

#[test]
fn an_installed_engine_is_asked_for_its_version_and_for_unknown_flags() {
    let folder = tempfile::tempdir().unwrap();
    let script = "case \"$*\" in\n --version) echo 0.99.0;;\n *--help=all) echo '-a -b --model --port --brand-new-flag N --max-num-seqs';;\nesac";
    let (installed, _) = ask(folder.path(), script, Duration::from_secs(60));
    assert_eq!(installed.version, "0.99.0".parse().ok());
    assert!(installed.help.unwrap().knows("--brand-new-flag"));
    assert_eq!(installed.unanswered, None);
}

#[test]
fn an_engine_that_hangs_is_asked_once_and_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("pids");
    let script = format!(
        "trap '' TERM; echo $$ >> {0}; setsid sleep 600 & echo $! >> {0}; wait; sleep 600",
        list.display()
    );
    let (installed, waited_for) = ask(folder.path(), &script, Duration::from_secs(2));
    let question = installed.unanswered.unwrap();
    assert!(question.ends_with("vllm --version"), "{question}");
    assert!(waited_for.contains(&question), "{waited_for:?}");
    let family = pids(&list);
    assert_eq!(family.len(), 2, "it was asked once");
    assert!(eventually(|| !family.iter().any(|pid| lives(*pid))));
}

#[test]
fn an_answer_counts_though_a_child_of_the_engine_holds_its_output_open() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("pids");
    let script = format!(
        "case \"$*\" in --version) sleep 600 & echo $! >> {}; echo 0.99.0;; esac",
        list.display()
    );
    let (installed, _) = ask(folder.path(), &script, Duration::from_secs(60));
    assert_eq!(installed.version, "0.99.0".parse().ok());
    let child = pids(&list)[0];
    assert!(eventually(|| !lives(child)));
}
