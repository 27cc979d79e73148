//! Tests of the Parquet file: everything comes back, and other programs can read it.

use super::*;
use inferometer_core::record::{
    BareChunk, BareKind, Chunks, Failure, FailureClass, Outcome, PerToken, Phase, Stage, Usage,
};
use inferometer_core::units::Offset;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::process::Command;
use std::time::Duration;
use strum::VariantArray as _;

fn written(folder: &Path, records: &[Record]) -> PathBuf {
    let path = folder.join("records.parquet");
    let mut writer = RecordsWriter::create(&path).unwrap();
    for record in records {
        writer.push(record).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn read(path: &Path) -> Vec<Record> {
    read_records(path).unwrap().map(Result::unwrap).collect()
}

fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..5_000_000_000, 0..=i64::MAX as u64]
}

fn offset() -> impl Strategy<Value = Offset> {
    nanos().prop_map(Offset)
}

fn span() -> impl Strategy<Value = Duration> {
    nanos().prop_map(Duration::from_nanos)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let failure = (
        select(Phase::VARIANTS),
        select(FailureClass::VARIANTS),
        any::<String>(),
    );
    prop_oneof![
        Just(Outcome::Done),
        Just(Outcome::Cut),
        Just(Outcome::Cancelled),
        failure.prop_map(|(phase, class, detail)| Outcome::Failed(Failure {
            phase,
            class,
            detail
        })),
    ]
}

fn chunks() -> impl Strategy<Value = Chunks> {
    let tokens = option::of(vec(0..=i32::MAX as u32, 0..20));
    (vec(offset(), 0..20), tokens, vec(any::<bool>(), 0..20)).prop_map(|(at, tokens, same_read)| {
        Chunks {
            at,
            tokens,
            same_read,
        }
    })
}

fn bare() -> impl Strategy<Value = Vec<BareChunk>> {
    let one = (offset(), select(BareKind::VARIANTS)).prop_map(|(at, kind)| BareChunk { at, kind });
    vec(one, 0..4)
}

fn usage() -> impl Strategy<Value = Usage> {
    let part = || option::of(any::<u32>());
    (part(), part(), part()).prop_map(|(input, output, cached)| Usage {
        input,
        output,
        cached,
    })
}

prop_compose! {
    fn per_token()(
        batch_size in vec(0..=i32::MAX as u32, 0..4),
        queue_wait_us in vec(0..=i32::MAX as u32, 0..4),
    ) -> PerToken {
        PerToken { batch_size, queue_wait_us }
    }
}

prop_compose! {
    fn record()(
        (id, url, index, session, turn, turns, stage) in (
            any::<String>(), any::<String>(), nanos(), option::of(nanos()),
            option::of(any::<u32>()), option::of(any::<u32>()), select(Stage::VARIANTS),
        ),
        (due, cap_wait, connect, sent, first_byte, first_answer, end) in (
            option::of(offset()), option::of(span()), option::of(span()), option::of(offset()),
            option::of(offset()), option::of(offset()), option::of(offset()),
        ),
        (chunks, bare, outcome, status) in
            (chunks(), bare(), outcome(), option::of(any::<u16>())),
        (usage, retokenized, finish, model) in (
            option::of(usage()), option::of(any::<u32>()), option::of(any::<String>()),
            option::of(any::<String>()),
        ),
        (input_tokens_asked, output_tokens_asked, output_exact, items_asked, items) in (
            option::of(any::<u32>()), option::of(any::<u32>()), any::<bool>(),
            option::of(any::<u32>()), option::of(any::<u32>()),
        ),
        (input_chars, output_chars, streamed, resent, refused) in
            (nanos(), nanos(), any::<bool>(), any::<bool>(), any::<bool>()),
        (score, differs_at, model_asked) in
            (option::of(0.0..1.0), option::of(nanos()), option::of(any::<String>())),
        (valid_json, tool_calls, valid_tool_calls) in
            (option::of(any::<bool>()), option::of(any::<u32>()), option::of(any::<u32>())),
        (media, audio_ms, upload_bytes, media_tokens, rank) in
            (option::of(any::<u32>()), option::of(any::<u32>()), option::of(nanos()), option::of(any::<u32>()), option::of(any::<u32>())),
        (preemptions, per_token) in (option::of(any::<u32>()), option::of(per_token())),
    ) -> Record {
        Record {
            id, index, session, turn, turns, stage, due, cap_wait, connect, sent, first_byte, chunks,
            first_answer, bare, end, outcome, status, usage, retokenized, finish, model,
            input_tokens_asked, output_tokens_asked, output_exact, input_chars, output_chars,
            url, streamed, resent, refused, items_asked, items, score, differs_at, model_asked,
            valid_json, tool_calls, valid_tool_calls, media, audio_ms, upload_bytes,
            media_tokens, rank, preemptions,
            per_token: per_token.map(Box::new),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_record_comes_back_the_same(records in vec(record(), 0..12)) {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), &records);
        prop_assert_eq!(read_records(&path).unwrap().total(), records.len() as u64);
        prop_assert_eq!(read(&path), records);
    }

    /// One record lies over the one before.
    #[test]
    fn a_fold_sees_all_that_it_looks_at(records in vec(record(), 0..12)) {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), &records);
        let mut seen = Vec::new();
        let file = RecordsFile::open(&path).unwrap();
        file.each(0..file.groups(), |record| seen.push(record.clone())).unwrap();
        // Messages without a token matter where one of them ends its answer.
        let ends = |bare: &BareChunk| bare.kind == BareKind::Finish;
        let any_ends = records.iter().any(|record| record.bare.iter().any(ends));
        let looked_at = |record: &Record| Record {
            id: String::new(),
            url: String::new(),
            rank: None,
            per_token: None,
            bare: record.bare.iter().copied().filter(|_| any_ends).collect(),
            ..record.clone()
        };
        let expected: Vec<Record> = records.iter().map(looked_at).collect();
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn any_record_survives_the_journal(record in record()) {
        let json = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }
}

fn streamed(index: u64, chunks: u64) -> Record {
    let begin = index * 1_000_000;
    Record {
        id: format!("run-{index:08}"),
        index,
        sent: Some(Offset(begin)),
        chunks: Chunks {
            at: (0..chunks)
                .map(|n| Offset(begin + n * 20_000_123))
                .collect(),
            tokens: None,
            same_read: vec![false; chunks as usize],
        },
        outcome: Outcome::Done,
        usage: Some(Usage {
            input: Some(256),
            output: Some(chunks as u32),
            cached: None,
        }),
        url: "http://localhost:8000/v1/completions".to_owned(),
        streamed: true,
        ..Record::default()
    }
}

#[test]
fn many_records_go_into_several_row_groups_and_come_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.parquet");
    let count = GROUP_ROWS as u64 * 2 + BATCH_ROWS as u64 + 17;
    let mut writer = RecordsWriter::create(&path).unwrap();
    for index in 0..count {
        writer.push(&streamed(index, index % 5)).unwrap();
    }
    assert!(!path.exists(), "not before it is complete");
    writer.finish().unwrap();
    let mut records = read_records(&path).unwrap();
    assert_eq!(records.found.groups(), 3);
    for index in 0..count {
        let record = records.next().unwrap().unwrap();
        assert_eq!(record, streamed(index, index % 5));
    }
    assert!(records.next().is_none());
}

#[test]
fn long_answers_end_a_row_group_early() {
    let folder = tempfile::tempdir().unwrap();
    let record = streamed(0, 1_000_000);
    let path = written(folder.path(), &vec![record.clone(); 5]);
    let mut records = read_records(&path).unwrap();
    assert_eq!(records.found.groups(), 2);
    assert!(records.all(|found| found.unwrap() == record));
}

#[test]
fn what_is_given_up_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = RecordsWriter::create(&folder.path().join("records.parquet")).unwrap();
    writer.push(&streamed(0, 3)).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_damaged_file_is_an_error_wherever_the_damage_is() {
    let folder = tempfile::tempdir().unwrap();
    let records: Vec<Record> = (0..50).map(|index| streamed(index, 40)).collect();
    let path = written(folder.path(), &records);
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(&path, &bytes).unwrap();
        // It may be noticed, or change a value; it must not panic or go on for ever.
        if let Ok(records) = read_records(&path) {
            let found = records.take(1_000).take_while(Result::is_ok).count();
            assert!(found < 1_000);
        }
    }
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let message = read_records(&path).err().unwrap().to_string();
    assert!(message.contains("cannot be understood"), "{message}");
}

/// A record in which every column has a value, and one in which none has that can be absent.
fn full_and_bare() -> [Record; 2] {
    let full = Record {
        session: Some(4),
        turn: Some(2),
        turns: Some(3),
        stage: Stage::Warmup,
        due: Some(Offset(1_000)),
        cap_wait: Some(Duration::from_nanos(7)),
        connect: Some(Duration::from_nanos(8)),
        first_byte: Some(Offset(3_000)),
        chunks: Chunks {
            at: vec![Offset(3_000), Offset(4_000), Offset(4_000)],
            tokens: Some(vec![1, 2, 1]),
            same_read: vec![false, false, true],
        },
        first_answer: Some(Offset(4_000)),
        bare: vec![BareChunk {
            at: Offset(2_500),
            kind: BareKind::Empty,
        }],
        end: Some(Offset(5_000)),
        outcome: Outcome::Failed(Failure {
            phase: Phase::Stream,
            class: FailureClass::InBandError,
            detail: "显存不足 \"oom\"".to_owned(),
        }),
        status: Some(200),
        retokenized: Some(5),
        finish: Some("length".to_owned()),
        input_tokens_asked: Some(256),
        output_tokens_asked: Some(4),
        output_exact: true,
        items_asked: Some(3),
        items: Some(2),
        score: Some(0.5),
        differs_at: Some(7),
        model_asked: Some("m-lora".into()),
        valid_json: Some(true),
        tool_calls: Some(2),
        valid_tool_calls: Some(1),
        media: Some(2),
        audio_ms: Some(12_500),
        upload_bytes: Some(700_000),
        media_tokens: Some(722),
        rank: Some(3),
        preemptions: Some(2),
        per_token: Some(Box::new(PerToken {
            batch_size: vec![1, 8],
            queue_wait_us: vec![250, 0],
        })),
        input_chars: 1_300,
        output_chars: 12,
        ..streamed(0, 3)
    };
    let bare = Record {
        id: "empty".to_owned(),
        index: 1,
        ..Record::default()
    };
    [full, bare]
}

/// Runs a script on the file with the Python that has the package, or says that it cannot.
fn with_python(package: &str, script: &str) {
    let python = inferometer_testing::python();
    let run = |script: &str, path: &Path| {
        let mut command = Command::new(&python);
        command.arg("-c").arg(script).arg(path).output()
    };
    let there = run(&format!("import {package}"), Path::new(""));
    if !there.is_ok_and(|output| output.status.success()) {
        inferometer_testing::skipped(&format!("{python} cannot import {package}"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &full_and_bare());
    let output = run(script, &path).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{package}: {said}");
}

#[test]
fn duckdb_reads_every_column() {
    with_python("duckdb", include_str!("tests/duckdb.py"));
}

#[test]
fn pandas_reads_every_column() {
    with_python("pandas, pyarrow", include_str!("tests/pandas.py"));
}

#[test]
fn polars_reads_every_column() {
    with_python("polars", include_str!("tests/polars.py"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (path, partial) = (folder.path().join("r"), folder.path().join("r.partial"));
    let message = match RecordsWriter::over(&path, partial, full) {
        Ok(mut writer) => {
            writer.push(&streamed(0, 5)).unwrap();
            writer.finish().unwrap_err().to_string()
        }
        Err(error) => error.to_string(),
    };
    assert!(message.contains("no space left"), "{message}");
    assert!(!path.exists());
}
