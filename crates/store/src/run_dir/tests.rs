//! Tests of the run directory.

use super::*;
use crate::journal::{Entry, Progress};
use crate::stored::latest;
use crate::verify::{Integrity, Verified, verify};
use inferometer_core::record::{Chunks, Outcome, Stage};
use inferometer_core::units::Offset;

const SETTINGS: &str = "
[run]
label = 'night'
[connection]
url = ['http://localhost:8000']
[load]
requests = 9
";

fn scenario() -> Scenario {
    let mut options = Options::from_toml(SETTINGS).unwrap();
    options.connection.header = Some(vec!["X-Tenant=secret".parse().unwrap()]);
    options.resolve().unwrap()
}

fn request(index: u64, outcome: Outcome) -> Record {
    Record {
        id: index.to_string(),
        index,
        sent: Some(Offset(1_000 + index)),
        outcome,
        ..Record::default()
    }
}

/// A run with two complete requests, one under way and one of warm-up.
fn begun(folder: &Path, planned: Option<u64>) -> RunDir {
    let run = RunDir::create(folder).unwrap();
    run.write_scenario(&scenario()).unwrap();
    run.write_environment(&Environment {
        started: "2026-11-15T02:30:00Z".into(),
        ..Environment::default()
    })
    .unwrap();
    let mut journal = run.start_journal(&Header::new(planned)).unwrap();
    let warmup = Record {
        stage: Stage::Warmup,
        sent: Some(Offset(5)),
        ..request(0, Outcome::Done)
    };
    journal.append(&Entry::end(&warmup)).unwrap();
    for index in 0..3 {
        journal
            .append(&Entry::begin(&request(index, Outcome::Cut)))
            .unwrap();
    }
    for index in 0..2 {
        let done = request(index, Outcome::Done);
        journal.append(&Entry::end(&done)).unwrap();
    }
    let progress = Progress {
        index: 2,
        chunks: Chunks {
            at: vec![Offset(2_000)],
            tokens: None,
            same_read: vec![false],
        },
        ..Progress::default()
    };
    journal.append(&Entry::Progress(progress)).unwrap();
    journal.flush().unwrap();
    run
}

fn begun_here() -> (tempfile::TempDir, RunDir) {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path(), Some(8));
    (folder, run)
}

fn summary() -> Summary {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/run-v1");
    RunDir::open(fixture).unwrap().summary().unwrap()
}

fn all(run: &RunDir) -> Vec<Record> {
    run.records().unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_folder_that_holds_something_is_not_taken_for_a_new_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/run");
    let run = RunDir::create(&path).unwrap();
    run.write_scenario(&scenario()).unwrap();
    let message = RunDir::create(&path).unwrap_err().to_string();
    assert!(message.contains("--out"), "{message}");
    assert!(RunDir::open(&path).is_ok());
    let message = RunDir::open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("not a run directory"), "{message}");
}

#[test]
fn the_stored_settings_describe_the_run_and_hold_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(folder.path()).unwrap();
    run.write_scenario(&scenario()).unwrap();
    assert_eq!(run.scenario().unwrap(), scenario());
    let text = fs::read_to_string(folder.path().join(SCENARIO)).unwrap();
    assert!(text.starts_with("# ") && text.contains("--config FILE"));
    assert!(text.contains("X-Tenant") && !text.contains("secret"));
}

#[test]
fn a_run_that_goes_on_is_told_from_a_killed_one() {
    let (_folder, run) = begun_here();
    let journal = fs::File::open(run.journal_path()).unwrap();
    journal.lock().unwrap();
    assert_eq!(run.ending().unwrap().cause, EndCause::Running);
    drop(journal);
    assert_eq!(run.ending().unwrap().cause, EndCause::Killed);
}

#[test]
fn a_killed_run_is_read_and_accounted_for() {
    let (_folder, run) = begun_here();
    let ending = run.ending().unwrap();
    assert_eq!(ending.cause, EndCause::Killed);
    assert_eq!((ending.planned, ending.unsent), (8, 5));
    assert_eq!(ending.measured_from, Offset(1_000));
    assert_eq!(ending.sending_ended, Offset(1_002));
    let records = all(&run);
    assert_eq!(records.len(), 4);
    assert_eq!(records[3].outcome, Outcome::Cut);
    assert_eq!(records[3].chunks.at, [Offset(2_000)]);
    let without_plan = tempfile::tempdir().unwrap();
    let ending = begun(without_plan.path(), None).ending().unwrap();
    assert_eq!(ending.planned, 9, "as the settings say");
    assert_eq!(ending.unsent, 6, "as the settings say");
}

#[test]
fn sealing_changes_the_file_and_not_the_records() {
    let (folder, run) = begun_here();
    let (records, ending) = (all(&run), run.ending().unwrap());
    run.seal().unwrap();
    run.seal().unwrap();
    assert!(!run.journal_path().exists());
    assert_eq!(all(&run), records);
    assert_eq!(run.ending().unwrap(), ending);
    let left: Vec<_> = fs::read_dir(folder.path().join(RECORDS)).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing partial stays");
}

#[test]
fn sealing_keeps_the_ending_that_is_stored() {
    let (_folder, run) = begun_here();
    let ending = Ending {
        planned: 8,
        thread_cpu_shares: vec![0.25],
        ..Ending::default()
    };
    run.write_ending(&ending).unwrap();
    run.seal().unwrap();
    assert_eq!(run.ending().unwrap(), ending);
}

#[test]
fn a_run_that_never_sent_has_no_records_and_an_ending() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(folder.path()).unwrap();
    run.write_scenario(&scenario()).unwrap();
    assert_eq!(all(&run), []);
    let ending = run.ending().unwrap();
    assert_eq!((ending.planned, ending.unsent), (9, 9));
}

#[test]
fn runs_are_listed_newest_first_and_a_damaged_one_with_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, started: &str| {
        let run = begun(&folder.path().join(name), Some(3));
        run.write_environment(&Environment {
            started: started.into(),
            ..Environment::default()
        })
        .unwrap();
        run
    };
    run("a", "2026-11-15T02:00:00+02:00");
    run("b", "2026-11-15T01:00:00Z");
    let damaged = run("c", "2026-11-15T02:00:00Z");
    fs::write(damaged.path().join(ENDING), "{\"cause\": ").unwrap();
    fs::create_dir(folder.path().join("no run")).unwrap();
    fs::write(folder.path().join("no folder"), "").unwrap();
    let runs = list(folder.path()).unwrap();
    let names: Vec<_> = runs
        .iter()
        .map(|run| run.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["c", "b", "a"]);
    assert!(runs[0].error.as_deref().unwrap().contains("ending.json"));
    assert_eq!(runs[1].error, None);
    assert_eq!(latest(folder.path()).unwrap().path, runs[1].path);
}

#[test]
fn a_run_that_goes_on_is_not_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(folder.path().join("run")).unwrap();
    run.write_scenario(&scenario()).unwrap();
    let _journal = run.start_journal(&Header::new(None)).unwrap();
    let message = run.seal().unwrap_err().to_string();
    assert!(message.contains("still goes on"), "{message}");
}

#[test]
fn a_folder_without_runs_says_how_to_make_one() {
    let missing = Path::new("/no/such/folder");
    assert_eq!(list(missing).unwrap(), []);
    let message = latest(missing).unwrap_err().to_string();
    assert!(message.contains("inferometer run"), "{message}");
}

#[cfg(unix)]
#[test]
fn what_stands_in_place_of_a_file_of_a_run_is_refused_by_name() {
    let (folder, run) = begun_here();
    run.seal().unwrap();
    let parquet = run.parquet_path();
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&parquet, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &parquet).unwrap();
    let message = run.records().map(drop).unwrap_err().to_string();
    assert!(message.contains("not a regular file"), "{message}");
    fs::remove_file(&parquet).unwrap();
    // A pipe without a writer would be waited for without end.
    let made = std::process::Command::new("mkfifo").arg(&parquet).status();
    if made.is_ok_and(|status| status.success()) {
        let message = run.records().map(drop).unwrap_err().to_string();
        assert!(message.contains("not a regular file"), "{message}");
    }
}

#[test]
fn no_flipped_bit_of_a_sealed_run_passes_unseen() {
    let (folder, run) = begun_here();
    run.seal().unwrap();
    run.write_summary(&summary()).unwrap();
    let reads = |run: &RunDir| -> Result<(), StorageError> {
        run.scenario()?;
        run.environment()?;
        run.ending()?;
        run.summary()?;
        run.records()?.try_for_each(|record| record.map(drop))
    };
    reads(&run).unwrap();
    for name in HASHED {
        let path = folder.path().join(name);
        let Ok(written) = fs::read(&path) else {
            let optional = [SAMPLES, SPANS, TEXTS, INVALID];
            assert!(optional.contains(&name), "{name} is missing");
            continue;
        };
        for at in (0..written.len()).step_by(written.len().div_ceil(300)) {
            let mut flipped = written.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(&path, flipped).unwrap();
            let message = reads(&run).unwrap_err().to_string();
            assert!(message.contains(name), "byte {at} of {name}: {message}");
        }
        fs::write(&path, written).unwrap();
    }
    let sums = folder.path().join("SHA256SUMS");
    let written = fs::read(&sums).unwrap();
    for at in 0..written.len() {
        let mut flipped = written.clone();
        flipped[at] ^= 1 << (at % 7);
        fs::write(&sums, flipped).unwrap();
        let found = verify(folder.path());
        assert!(
            matches!(found[0].state, Integrity::Damaged(_)),
            "byte {at} of SHA256SUMS: {found:?}"
        );
    }
    let text = String::from_utf8(written.clone()).unwrap();
    for name in [PARQUET, SCENARIO, ENVIRONMENT] {
        let others = text.lines().filter(|line| !line.ends_with(name));
        let others: String = others.map(|line| line.to_owned() + "\n").collect();
        fs::write(&sums, others).unwrap();
        let message = reads(&run).unwrap_err().to_string();
        let told = format!("has no line for {name}");
        assert!(message.contains(&told), "{message}");
        assert!(matches!(
            verify(folder.path())[0].state,
            Integrity::Damaged(_)
        ));
    }
    assert!(!run.lacks_hashes());
    fs::remove_file(&sums).unwrap();
    assert!(run.lacks_hashes());
    fs::write(&sums, written).unwrap();
    reads(&run).unwrap();
}

#[test]
fn what_is_written_after_the_seal_is_hashed_anew() {
    let (folder, run) = begun_here();
    run.seal().unwrap();
    let ending = Ending {
        planned: 8,
        ..Ending::default()
    };
    run.write_ending(&ending).unwrap();
    run.write_summary(&summary()).unwrap();
    assert_eq!(run.ending().unwrap(), ending);
    let found = verify(folder.path());
    assert!(
        matches!(
            found[..],
            [Verified {
                state: Integrity::Intact { files: 5 },
                ..
            }]
        ),
        "{found:?}"
    );
}

#[test]
fn a_run_without_hashes_is_read_as_before() {
    let (folder, run) = begun_here();
    run.seal().unwrap();
    let records = all(&run);
    fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
    assert_eq!(all(&run), records);
    let found = verify(folder.path());
    assert!(matches!(found[0].state, Integrity::Unhashed), "{found:?}");
    let empty = tempfile::tempdir().unwrap();
    assert!(verify(empty.path()).is_empty());
}

#[test]
fn a_seal_that_was_killed_gets_its_hashes_later() {
    let (folder, run) = begun_here();
    let journal = fs::read(run.journal_path()).unwrap();
    run.seal().unwrap();
    fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
    fs::write(run.journal_path(), journal).unwrap();
    run.seal().unwrap();
    assert!(!run.journal_path().exists());
    let found = verify(folder.path());
    assert!(
        matches!(found[0].state, Integrity::Intact { .. }),
        "{found:?}"
    );
}

#[test]
fn records_of_several_ranks_are_read_in_the_order_in_which_they_ended() {
    let folder = tempfile::tempdir().unwrap();
    let ended = |index: u64, rank: u32, end: Option<u64>| Record {
        index,
        rank: Some(rank),
        end: end.map(Offset),
        ..Record::default()
    };
    // What another rank recorded, as it is sent.
    let other = RunDir::create(folder.path().join("other")).unwrap();
    let mut writer = RecordsWriter::create(&other.parquet_path()).unwrap();
    for record in [
        ended(1, 1, Some(20)),
        ended(3, 1, Some(40)),
        ended(5, 1, None),
    ] {
        writer.push(&record).unwrap();
    }
    writer.finish().unwrap();
    let sent = fs::read(other.parquet_path()).unwrap();

    let run = RunDir::create(folder.path().join("run")).unwrap();
    run.write_scenario(&Options::default().resolve().unwrap())
        .unwrap();
    let mut journal = run.start_journal(&Header::new(Some(6))).unwrap();
    for record in [
        ended(0, 0, Some(10)),
        ended(2, 0, Some(30)),
        ended(4, 0, Some(50)),
    ] {
        journal.append(&Entry::end(&record)).unwrap();
    }
    drop(journal);
    let mut torn = run.receive(2).unwrap();
    torn.push(&sent[..9]).unwrap();
    drop(torn);
    assert_eq!(run.ranks(), [0], "what did not come whole leaves nothing");
    let mut received = run.receive(1).unwrap();
    sent.chunks(7)
        .for_each(|piece| received.push(piece).unwrap());
    received.finish().unwrap();

    let order = || -> Vec<u64> {
        let records = run.records().unwrap();
        records.map(|record| record.unwrap().index).collect()
    };
    assert_eq!(order(), [0, 1, 2, 3, 4, 5]);
    run.seal().unwrap();
    assert_eq!(order(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(run.ranks(), [0, 1]);
    assert!(run.parquet_path().ends_with("rank=0/records.parquet"));
    assert!(!run.journal_path().exists());
    let sums = fs::read_to_string(run.path().join("SHA256SUMS")).unwrap();
    assert!(sums.contains("records/rank=0/records.parquet"), "{sums}");
    assert!(sums.contains("records/rank=1/records.parquet"), "{sums}");
    // A partition that is gone is missed.
    fs::remove_file(run.path().join("records/rank=1/records.parquet")).unwrap();
    assert!(run.records().is_err());
}

#[test]
fn parts_hold_each_record_once_and_a_file_that_was_altered_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(folder.path().join("run")).unwrap();
    run.write_scenario(&Options::default().resolve().unwrap())
        .unwrap();
    let header = Header::new(Some(4));
    drop(run.start_journal(&header).unwrap());
    assert!(run.parts(2).unwrap().is_none(), "they are in a journal");
    fs::remove_file(run.journal_path()).unwrap();
    let (groups, rows) = ([3u64, 1, 2], 20_000);
    let mut next = 0u64;
    for (rank, groups) in (0u32..).zip(groups) {
        let path = run.path().join(super::ranks::file(rank));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = RecordsWriter::create(&path).unwrap();
        for _ in 0..groups * rows {
            let record = Record {
                index: next,
                rank: Some(rank),
                end: Some(Offset(next)),
                ..Record::default()
            };
            writer.push(&record).unwrap();
            next += 1;
        }
        writer.finish().unwrap();
    }
    // Parts are of whole row groups.
    for (count, parts) in [(1, 1), (2, 2), (4, 3), (100, 6)] {
        let found = run.parts(count).unwrap().unwrap();
        assert_eq!(found.records, next);
        assert_eq!(found.parts.len(), parts);
        let mut seen = Vec::new();
        for part in &found.parts {
            part.each(|record| seen.push(record.index)).unwrap();
        }
        assert!(seen.into_iter().eq(0..next), "{count} parts");
        assert!(found.checks.is_empty(), "nothing says what they should be");
    }
    let names: Vec<String> = (0..3).map(super::ranks::file).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Sums::store(run.path(), &names).unwrap();
    let found = run.parts(2).unwrap().unwrap();
    assert_eq!(found.checks.len(), 3);
    assert!(found.checks.iter().all(|file| file.check().is_ok()));
    let altered = run.path().join(names[1]);
    let mut bytes = fs::read(&altered).unwrap();
    bytes[99] ^= 1;
    fs::write(&altered, &bytes).unwrap();
    let found = run.parts(2).unwrap().unwrap();
    let told: Vec<bool> = found
        .checks
        .iter()
        .map(|file| file.check().is_ok())
        .collect();
    assert_eq!(told, [true, false, true]);
    // Not even its end can be read any more.
    fs::write(&altered, &bytes[..99]).unwrap();
    let error = run.parts(2).err();
    assert!(
        matches!(error, Some(StorageError::Altered { .. })),
        "{error:?}"
    );
}
