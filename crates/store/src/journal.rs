//! The journal: the records of a run while it goes on, as JSON Lines that are only appended to.
//!
//! The first line is a [`Header`]; each further line is an [`Entry`]. Whatever was flushed
//! survives the death of this process, and a last line that was torn by it is no error. When
//! the run is over, `RunDir::seal` turns the journal into Parquet.

use crate::error::StorageError;
use crate::whole_file;
use inferometer_core::record::{BareChunk, Chunks, Outcome, Record, Stage};
use inferometer_core::summed_json::{SumCheck, end_object};
use inferometer_core::units::Offset;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The form of journals that this version writes and reads. From 2 on, lines have checksums; from 3
/// on, the client tells of itself.
const VERSION: u32 = 3;

/// Bytes that are collected before they are handed to the system.
const BUFFER: usize = 256 * 1024;
/// More than any record has.
const LONGEST_LINE: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the journal's form.
    #[serde(rename = "journal")]
    version: u32,
    /// Planned requests of the measured part, where their number is known beforehand.
    pub planned: Option<u64>,
}

impl Header {
    pub fn new(planned: Option<u64>) -> Self {
        Header {
            version: VERSION,
            planned,
        }
    }
}

/// What happened to a request, or how the client fares. A request is known by its index and whether
/// it is warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry<'a> {
    /// It began; the record as far as it is known.
    Begin(Cow<'a, Record>),
    /// What came since its last entry.
    Progress(Progress),
    /// It is over; replaces all its earlier entries.
    End(Cow<'a, Record>),
    /// How late the client was woken so far; the last one holds.
    Client(ClientPulse),
}

/// How late a process was woken since the window opened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientPulse {
    pub p99_ms: f64,
    pub longest_ms: f64,
}

impl<'a> Entry<'a> {
    /// `record` has begun.
    pub fn begin(record: &'a Record) -> Self {
        Entry::Begin(Cow::Borrowed(record))
    }

    /// `record` is complete.
    pub fn end(record: &'a Record) -> Self {
        Entry::End(Cow::Borrowed(record))
    }
}

/// What came since the last entry of a request. What is absent has not changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub index: u64,
    #[serde(alias = "warmup")]
    pub stage: Stage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Offset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Offset>,
    /// First token that is not reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_answer: Option<Offset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub chunks: Chunks,
    /// Messages without a token that were added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bare: Vec<BareChunk>,
    /// Characters of the answer that were added.
    pub output_chars: u64,
}

impl Progress {
    fn apply(self, record: &mut Record) {
        record.sent = self.sent.or(record.sent);
        record.first_byte = self.first_byte.or(record.first_byte);
        record.first_answer = self.first_answer.or(record.first_answer);
        record.status = self.status.or(record.status);
        record.chunks.at.extend(self.chunks.at);
        record.chunks.same_read.extend(self.chunks.same_read);
        if let Some(tokens) = self.chunks.tokens {
            let known = record.chunks.tokens.get_or_insert_default();
            known.extend(tokens);
        }
        record.bare.extend(self.bare);
        record.output_chars = record.output_chars.saturating_add(self.output_chars);
    }
}

#[derive(Debug)]
pub struct JournalWriter {
    path: PathBuf,
    file: File,
    /// Whole lines that the system has not yet taken, after `taken` bytes that it has.
    buffer: Vec<u8>,
    taken: usize,
}

impl JournalWriter {
    /// Begins a journal with its header; an existing file is an error. The journal is locked
    /// as long as the writer lives, so that a run that goes on can be told from a killed one.
    pub fn create(path: &Path, header: &Header) -> Result<Self, StorageError> {
        let file = File::create_new(path).map_err(|e| StorageError::io("create", path, e))?;
        // Some network file systems know no locks; the run is none the worse.
        let _ = file.try_lock();
        let mut writer = Self::over(path, file);
        writer.line(header)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Goes on in another file: for tests of what cannot be written.
    #[doc(hidden)]
    pub fn redirect(&mut self, file: File) {
        self.file = file;
    }

    fn over(path: &Path, file: File) -> Self {
        JournalWriter {
            path: path.to_owned(),
            file,
            buffer: Vec::with_capacity(BUFFER + BUFFER / 4),
            taken: 0,
        }
    }

    /// Appends an entry; it is safe after the next `flush`.
    pub fn append(&mut self, entry: &Entry<'_>) -> Result<(), StorageError> {
        self.line(entry)?;
        if self.buffer.len() < BUFFER {
            return Ok(());
        }
        self.flush()
    }

    /// Hands everything to the system. After an error, nothing is lost and the next flush
    /// continues where this one stopped.
    pub fn flush(&mut self) -> Result<(), StorageError> {
        while self.taken < self.buffer.len() {
            match self.file.write(&self.buffer[self.taken..]) {
                Ok(0) => return Err(self.failed(ErrorKind::WriteZero.into())),
                Ok(count) => self.taken += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        self.buffer.clear();
        self.taken = 0;
        Ok(())
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), StorageError> {
        let start = self.buffer.len();
        serde_json::to_writer(&mut self.buffer, value).map_err(|e| self.failed(e.into()))?;
        end_object(&mut self.buffer, start);
        Ok(())
    }

    fn failed(&self, error: io::Error) -> StorageError {
        StorageError::io("write", &self.path, error)
    }
}

impl Drop for JournalWriter {
    /// A last attempt; who wants to know whether it worked calls `flush`.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Whether a writer, in this process or another, has the journal open.
pub fn is_being_written(path: &Path) -> bool {
    let locked = |file: File| {
        matches!(
            file.try_lock_shared(),
            Err(std::fs::TryLockError::WouldBlock)
        )
    };
    whole_file::open(path).is_ok_and(locked)
}

/// Reads the records of a journal as it is now; that of a run that goes on as well.
pub fn read_records(path: &Path) -> Result<JournalRecords, StorageError> {
    let file = whole_file::open(path)?;
    // Only what is there now: a reader must not run after a writer that is as fast.
    let length = file
        .metadata()
        .map_err(|e| StorageError::io("read", path, e))?;
    let opened = file.take(length.len());
    let mut records = JournalRecords {
        path: path.to_owned(),
        lines: BufReader::with_capacity(BUFFER, opened),
        line: Vec::new(),
        check: SumCheck::default(),
        header: Header::new(None),
        client: None,
        open: BTreeMap::new(),
        damage: Damage::default(),
    };
    if records.read_line()?
        && let Some(header) = records.parse_line::<Header>()
    {
        if header.version > VERSION {
            return Err(StorageError::Newer {
                path: path.to_owned(),
                found: format!("journal {}", header.version),
                known: format!("journal {VERSION}"),
            });
        }
        records.header = header;
    }
    Ok(records)
}

/// What could not be read of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines that are no entry, or that continue a request whose beginning is lost.
    pub lines: u64,
    /// The last line was cut in the middle, as by a kill.
    pub torn_end: bool,
}

/// The records of a journal: first those that ended, in the order in which they did, then those
/// that did not, which are [`Outcome::Cut`]. Holds only the unended ones in memory.
#[derive(Debug)]
pub struct JournalRecords {
    path: PathBuf,
    lines: BufReader<io::Take<File>>,
    line: Vec<u8>,
    check: SumCheck,
    /// The first line; without a plan if it could not be read.
    pub header: Header,
    /// What the client told last of itself, as far as was read.
    pub client: Option<ClientPulse>,
    open: BTreeMap<(Stage, u64), Record>,
    /// What could not be read so far; the whole of it once the records are used up.
    pub damage: Damage,
}

impl JournalRecords {
    /// Reads the next line; false at the end of the file.
    fn read_line(&mut self) -> Result<bool, StorageError> {
        self.line.clear();
        // A longer one is read, and counted as damage, in pieces.
        let mut bounded = self.lines.by_ref().take(LONGEST_LINE);
        let count = bounded
            .read_until(b'\n', &mut self.line)
            .map_err(|e| StorageError::io("read", &self.path, e))?;
        Ok(count > 0)
    }

    /// The line as a value; a line that is none, or not as it was written, is counted.
    fn parse_line<T: serde::de::DeserializeOwned>(&mut self) -> Option<T> {
        let whole = self.line.ends_with(b"\n");
        let intact = self.check.passes(&mut self.line);
        let value = (intact.then(|| serde_json::from_slice(&self.line).ok())).flatten();
        if value.is_none() {
            if whole {
                self.damage.lines += 1
            } else {
                self.damage.torn_end = true
            }
        }
        value
    }

    fn next_record(&mut self) -> Result<Option<Record>, StorageError> {
        while self.read_line()? {
            let Some(entry) = self.parse_line::<Entry<'static>>() else {
                continue;
            };
            match entry {
                Entry::Begin(record) => {
                    let mut record = record.into_owned();
                    record.outcome = Outcome::Cut;
                    self.open.insert((record.stage, record.index), record);
                }
                Entry::Progress(progress) => {
                    match self.open.get_mut(&(progress.stage, progress.index)) {
                        Some(record) => progress.apply(record),
                        None => self.damage.lines += 1,
                    }
                }
                Entry::End(record) => {
                    self.open.remove(&(record.stage, record.index));
                    return Ok(Some(record.into_owned()));
                }
                Entry::Client(pulse) => self.client = Some(pulse),
            }
        }
        Ok(self.open.pop_first().map(|(_, record)| record))
    }
}

impl Iterator for JournalRecords {
    type Item = Result<Record, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        (all, records.damage)
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
        assert_eq!(read_records(&path).unwrap().header.planned, Some(5));
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
        assert_eq!(records.client, Some(pulse(900.0)));
        assert_eq!(records.damage, Damage::default());
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
}
