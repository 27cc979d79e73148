use super::*;
use inferometer_core::record::Outcome;
use std::fs;
use std::path::Path;

fn request(index: u64) -> Record {
    Record {
        id: format!("request {index}"),
        index,
        sent: Some(Offset(10)),
        streamed: true,
        ..Record::default()
    }
}

fn done(index: u64) -> Record {
    Record {
        outcome: Outcome::Done,
        ..request(index)
    }
}

fn chunks(at: &[u64]) -> Chunks {
    Chunks {
        at: at.iter().copied().map(Offset).collect(),
        tokens: None,
        same_read: vec![false; at.len()],
    }
}

fn written(folder: &Path, entries: &[Entry<'_>]) -> PathBuf {
    let path = folder.join("journal.jsonl");
    let mut writer = JournalWriter::create(&path, &Header::new(Some(5))).unwrap();
    for entry in entries {
        writer.append(entry).unwrap();
    }
    writer.flush().unwrap();
    path
}

fn read(path: &Path) -> (Vec<Record>, Damage) {
    let mut records = read_records(path).unwrap();
    let all = records.by_ref().map(Result::unwrap).collect();
    (all, records.damage())
}

fn progress(index: u64, at: &[u64]) -> Entry<'static> {
    Entry::Progress(Progress {
        index,
        chunks: chunks(at),
        output_chars: 3,
        ..Progress::default()
    })
}

#[test]
fn an_end_replaces_what_came_before_and_the_rest_is_cut_with_its_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let done = Record {
        chunks: chunks(&[20, 30, 40]),
        ..done(0)
    };
    let warmup = Record {
        stage: Stage::Warmup,
        ..done.clone()
    };
    let (first, second) = (request(0), request(1));
    let path = written(
        folder.path(),
        &[
            Entry::begin(&warmup),
            Entry::begin(&first),
            Entry::begin(&second),
            progress(0, &[20]),
            progress(1, &[21]),
            Entry::end(&warmup),
            progress(1, &[31, 41]),
            Entry::end(&done),
        ],
    );
    let cut = Record {
        chunks: chunks(&[21, 31, 41]),
        output_chars: 6,
        ..second
    };
    assert_eq!(read(&path), (vec![warmup, done, cut], Damage::default()));
    assert_eq!(read_records(&path).unwrap().planned(), Some(5));
}

#[test]
fn what_the_client_told_last_of_itself_holds() {
    let folder = tempfile::tempdir().unwrap();
    let pulse = |longest_ms: f64| ClientPulse {
        p99_ms: 1.0,
        longest_ms,
    };
    let done = done(0);
    let entries = [
        Entry::Client(pulse(2.0)),
        Entry::end(&done),
        Entry::Client(pulse(900.0)),
    ];
    let path = written(folder.path(), &entries);
    let mut records = read_records(&path).unwrap();
    assert_eq!(records.by_ref().count(), 1);
    assert_eq!(records.client(), Some(pulse(900.0)));
    assert_eq!(records.damage(), Damage::default());
}

#[test]
fn what_was_flushed_can_be_read_wherever_the_file_is_torn() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (request(0), request(1));
    let path = written(folder.path(), &[Entry::end(&first), Entry::end(&second)]);
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = (1..=whole.len())
        .filter(|&at| whole[at - 1] == b'\n')
        .collect();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (records, damage) = read(&path);
        // A line without its line feed is whole all the same.
        let lines = ends.iter().filter(|&&end| end <= length + 1).count();
        assert_eq!(records.len(), lines.saturating_sub(1), "{length} bytes");
        assert_eq!(damage.lines, 0);
    }
}

#[test]
fn damaged_lines_are_counted_and_the_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (request(0), request(1));
    let path = written(folder.path(), &[Entry::end(&first), Entry::end(&second)]);
    let whole = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&[u8]> = whole.lines().map(str::as_bytes).collect();
    lines[0] = b"{\"journal\":";
    lines.insert(2, b"\0\0\xff");
    lines.insert(3, b"{\"progress\":{\"index\":77}}");
    fs::write(&path, lines.join(&b'\n')).unwrap();
    let (records, damage) = read(&path);
    assert_eq!(records, [first, second]);
    assert_eq!(
        damage,
        Damage {
            lines: 3,
            torn_end: false
        }
    );
}

#[test]
fn a_flipped_bit_is_a_damaged_line_and_never_another_figure() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (done(0), done(1));
    let path = written(folder.path(), &[Entry::end(&first), Entry::end(&second)]);
    let whole = fs::read(&path).unwrap();
    let last = whole.len() - 1;
    for bit in (0..last * 8).step_by(7) {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, flipped).unwrap();
        let (records, damage) = read(&path);
        assert!(damage.lines > 0 || records.len() == 2, "bit {bit}");
        let known = |record: &Record| *record == first || *record == second;
        assert!(records.iter().all(known), "bit {bit}: {records:?}");
    }
}

#[test]
fn a_journal_of_a_version_without_checksums_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let entry = serde_json::to_string(&Entry::end(&done(0))).unwrap();
    fs::write(&path, format!("{{\"journal\":1,\"planned\":1}}\n{entry}\n")).unwrap();
    assert_eq!(read(&path), (vec![done(0)], Damage::default()));
}

#[test]
fn what_is_appended_while_reading_is_left_to_the_next_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let mut writer = JournalWriter::create(&path, &Header::new(None)).unwrap();
    let (begun, done) = (request(0), done(0));
    writer.append(&Entry::begin(&begun)).unwrap();
    writer.flush().unwrap();
    let mut records = read_records(&path).unwrap();
    assert_eq!(records.next().unwrap().unwrap(), begun);
    writer.append(&Entry::end(&done)).unwrap();
    writer.flush().unwrap();
    assert!(records.next().is_none(), "no request is given twice");
    assert_eq!(read(&path).0, [done]);
}

#[test]
fn a_journal_of_a_later_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    fs::write(&path, "{\"journal\":4}\n").unwrap();
    let message = read_records(&path).unwrap_err().to_string();
    assert!(message.contains("newer"), "{message}");
}

#[test]
fn a_running_journal_is_told_from_an_abandoned_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let writer = JournalWriter::create(&path, &Header::new(None)).unwrap();
    assert!(is_being_written(&path));
    drop(writer);
    assert!(!is_being_written(&path));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let full = Path::new("/dev/full");
    let file = File::options().write(true).open(full).unwrap();
    let mut writer = JournalWriter::over(full, file);
    writer.append(&Entry::end(&request(0))).unwrap();
    let message = writer.flush().unwrap_err().to_string();
    assert!(message.contains("no space left"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rest");
    writer.file = File::create_new(&path).unwrap();
    writer.flush().unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("request 0"));
}

#[test]
fn each_look_at_a_growing_journal_finds_what_ended_since_and_what_is_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    fs::write(&path, "{\"jour").unwrap();
    let mut growing = GrowingJournal::open(&path).unwrap();
    let ended = |growing: &mut GrowingJournal| {
        let mut ended = Vec::new();
        growing.each_new(|it| ended.push(it.index)).unwrap();
        let under_way = growing.under_way().map(|it| (it.index, it.chunks.len()));
        (ended, Vec::from_iter(under_way))
    };
    assert_eq!(ended(&mut growing), (vec![], vec![]));
    fs::remove_file(&path).unwrap();
    let mut writer = JournalWriter::create(&path, &Header::new(Some(5))).unwrap();
    let mut growing = GrowingJournal::open(&path).unwrap();
    assert_eq!(growing.planned(), Some(5));
    for entry in [
        Entry::end(&done(0)),
        Entry::begin(&request(1)),
        progress(1, &[20, 21]),
    ] {
        writer.append(&entry).unwrap();
    }
    writer.flush().unwrap();
    assert_eq!(ended(&mut growing), (vec![0], vec![(1, 2)]));
    // Half a line is one that is being written.
    let whole = fs::read(&path).unwrap();
    writer.append(&progress(1, &[22])).unwrap();
    writer.append(&Entry::end(&done(2))).unwrap();
    writer.flush().unwrap();
    let more = fs::read(&path).unwrap();
    let half = whole.len() + (more.len() - whole.len()) / 4;
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(half as u64).unwrap();
    assert_eq!(ended(&mut growing), (vec![], vec![(1, 2)]));
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(&more[half..])
        .unwrap();
    assert_eq!(ended(&mut growing), (vec![2], vec![(1, 3)]));
    assert_eq!(ended(&mut growing), (vec![], vec![(1, 3)]));
}

#[test]
fn a_journal_whose_writer_is_gone_is_not_being_written_whoever_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let writer = JournalWriter::create(&path, &Header::new(None)).unwrap();
    // As a child has it between its fork and its program.
    let open = writer.file.try_clone().unwrap();
    assert!(is_being_written(&path));
    drop(writer);
    assert!(!is_being_written(&path));
    drop(open);
}
