//! Folders that somebody else made: nothing is read or written through links, and nothing that is
//! no file is waited for.

use crate::support::{Place, Sim};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const FEW: [&str; 4] = ["--requests", "4", "--output-tokens", "4"];

fn pipe_at(path: &Path) {
    let _ = std::fs::remove_file(path);
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_page_replaces_a_link_and_an_index_does_not_copy_what_a_link_leads_to() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let run = place.measure(&sim.url, &FEW);
    let secret = place.write("secret", "a secret of mine");
    let page = run.path.join("report.html");
    std::fs::remove_file(&page).unwrap();
    symlink(&secret, &page).unwrap();
    let path = run.path.to_str().unwrap();
    let index = place.run(&["report", path, "-o", "site"]);
    assert_eq!(index.code, Some(0), "{index:?}");
    for file in place.files("site") {
        let copied = std::fs::read(&file).unwrap();
        assert!(!copied.starts_with(b"a secret"), "{}", file.display());
    }
    let ended = place.run(&["report", path, "--format", "html"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(std::fs::read(&secret).unwrap(), b"a secret of mine");
    assert!(!page.is_symlink() && page.is_file());
}

#[test]
fn pictures_are_not_written_where_a_link_leads() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let run = place.measure(&sim.url, &FEW);
    let mine = place.path("mine");
    std::fs::create_dir(&mine).unwrap();
    symlink(&mine, run.path.join("figures")).unwrap();
    let path = run.path.to_str().unwrap();
    let ended = place.run(&["report", path, "--format", "svg"]);
    ended.assert_refused(&["figures is a link", "-o"]);
    assert_eq!(std::fs::read_dir(&mine).unwrap().count(), 0);
}

/// Files of a run, and of a killed one.
const FILES: [&str; 7] = [
    "scenario.toml",
    "environment.json",
    "ending.json",
    "summary.json",
    "SHA256SUMS",
    "records/records.parquet",
    "records/journal.jsonl",
];

#[test]
fn whatever_lies_in_place_of_a_file_every_command_ends() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let run = place.measure(&sim.url, &FEW);
    let runs = run.path.parent().unwrap().to_str().unwrap();
    let path = run.path.to_str().unwrap();
    for name in FILES {
        let file = run.path.join(name);
        let kept = std::fs::read(&file).ok();
        for huge in [false, true] {
            if huge {
                let _ = std::fs::remove_file(&file);
                let file = std::fs::File::create(&file).unwrap();
                file.set_len(300 << 20).unwrap();
            } else {
                pipe_at(&file);
            }
            for words in [
                &["report", path][..],
                &["verify", path],
                &["compare", path, path],
                &["history", runs],
                &["runs", runs],
            ] {
                let ended = place.run(words);
                assert!(
                    ended.code.is_some_and(|code| code <= 2),
                    "{name}: {ended:?}"
                );
            }
            std::fs::remove_file(&file).unwrap();
        }
        if let Some(kept) = kept {
            std::fs::write(&file, kept).unwrap();
        }
    }
}

#[test]
fn what_is_too_large_to_import_is_refused() {
    let place = Place::new();
    let huge = std::fs::File::create(place.path("huge.json")).unwrap();
    huge.set_len(2 << 30).unwrap();
    let ended = place.run(&["import", "huge.json", "--lang", "en"]);
    ended.assert_refused(&["huge.json", "larger than 1024 MiB"]);
}

#[test]
fn a_device_without_end_in_place_of_a_small_file_is_refused() {
    let place = Place::new();
    let card = ["--model", "qwen2.5-7b", "--device", "h200"];
    for words in [
        &["run", "--config", "/dev/zero"][..],
        &["run", "--api-key-file", "/dev/zero"],
        &["run", "https://127.0.0.1:1", "--ca", "/dev/zero"],
        &["tune", "/dev/zero"],
        &["serve", ".", "--token-file", "/dev/zero"],
        &[&["plan", "calibrate", "/dev/zero"][..], &card].concat(),
        &[
            "plan",
            "memory",
            "--mindie-config",
            "/dev/zero",
            "--device",
            "910b4",
        ],
    ] {
        place.run(words).assert_refused(&["/dev/zero", "more than"]);
    }
    for words in [
        &["data", "/dev/zero"][..],
        &[
            "data",
            "/dev/urandom",
            "--data-format",
            "line",
            "--skip-bad",
        ],
        &["run", "--data", "/dev/zero", "--sim-clock", "virtual"],
    ] {
        place.run(words).assert_refused(&["/dev/", "is a device"]);
    }
}

#[test]
fn pipes_in_the_folder_of_a_model_are_not_waited_for() {
    let place = Place::new();
    let folder = crate::tokenizer::model_folder(&place);
    for name in [
        "tokenizer_config.json",
        "chat_template.jinja",
        "config.json",
    ] {
        pipe_at(&place.path("model").join(name));
    }
    // A template that cannot be read is none.
    let run = ["run", "--sim-clock", "virtual", "--requests", "2"];
    let run = place.run(&[&run[..], &["--no-html", "--tokenizer", &folder]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let words = ["plan", "memory", "--model", &folder, "--device", "h200"];
    place
        .run(&words)
        .assert_refused(&["config.json", "not a regular file"]);
    let sim = ["sim", "--until-stdin-closes", "--tokenizer", &folder];
    let sim = place.run(&[&sim[..], &["--listen", "127.0.0.1:0"]].concat());
    assert_eq!(sim.code, Some(0), "{sim:?}");
}

#[test]
fn pipes_in_place_of_files_are_not_waited_for() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    for name in [
        "environment.json",
        "ending.json",
        "SHA256SUMS",
        "records/records.parquet",
    ] {
        let run = place.measure(&sim.url, &FEW);
        pipe_at(&run.path.join(name));
        let path = run.path.to_str().unwrap();
        place
            .run(&["report", path, "--lang", "en"])
            .assert_refused(&[name, "not a regular file"]);
        let verified = place.run(&["verify", path, "--lang", "en"]);
        assert_eq!(verified.code, Some(1), "{verified:?}");
        assert!(verified.stdout.contains("DAMAGED"), "{verified:?}");
    }
    let words = [
        "sweep",
        &sim.url,
        "--quiet",
        "--out",
        "grid",
        "--input-tokens",
        "16",
    ];
    place.run(&[&words[..], &FEW, &["--concurrency", "1,2"]].concat());
    pipe_at(&place.path("grid/trials.jsonl"));
    place
        .run(&["report", "grid", "--lang", "en"])
        .assert_refused(&["trials.jsonl", "not a regular file"]);
}
