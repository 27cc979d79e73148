//! The fuzzer itself: every target survives its seeds and what was found before;
//! and what breaks a target is noticed, made small and told.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn fuzz(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inferometer-fuzz"));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    command.args(words).current_dir(root).output().unwrap()
}

#[test]
fn every_target_survives_its_seeds_and_what_broke_it_before() {
    let finds = tempfile::tempdir().unwrap();
    let ended = fuzz(&["--inputs", "0", "--finds", finds.path().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{said}");
    assert!(said.ends_with(" 0 finds\n"), "{said}");
    let reached = !said.contains(" 0% ");
    assert!(
        reached,
        "a target refuses all its seeds, so that nothing behind is tested:\n{said}"
    );
}

#[test]
fn a_panic_an_abort_and_an_absurd_allocation_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    for (input, word) in [
        ("panic", "it broke"),
        ("memory", "memory allocation of"),
        ("stack", "overflowed its stack"),
    ] {
        std::fs::write(&file, input).unwrap();
        let ended = fuzz(&["broken", "--file", file.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            !ended.status.success() && said.contains(word),
            "{input}: {said}"
        );
    }
    std::fs::write(&file, "nothing").unwrap();
    assert!(
        fuzz(&["broken", "--file", file.to_str().unwrap()])
            .status
            .success()
    );
}

#[test]
fn a_find_is_made_small_and_named_with_the_command_that_repeats_it() {
    let folder = tempfile::tempdir().unwrap();
    let ended = fuzz(&[
        "broken",
        "--inputs",
        "0",
        "--finds",
        folder.path().to_str().unwrap(),
    ]);
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let file = folder.path().join("broken-1");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "panic", "{said}");
    assert!(
        said.contains(&format!("--file {} broken", file.display())),
        "{said}"
    );
}
