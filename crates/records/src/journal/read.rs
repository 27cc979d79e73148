//! Records from a journal: all that there are, or, as it grows, those that are new.

use super::{ClientPulse, Entry, Header, VERSION};
use crate::error::StorageError;
use crate::growing_lines::GrowingLines;
use crate::summed_lines::value;
use inferometer_core::record::{Outcome, Record, Stage};
use inferometer_core::summed_json::SumCheck;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// More than any record has.
const LONGEST_LINE: u64 = 64 << 20;

/// What could not be read of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines that are no entry, or that continue a request whose beginning is lost.
    pub lines: u64,
    /// The last line was cut in the middle, as by a kill.
    pub torn_end: bool,
}

/// What the entries of a journal said up to a place. Holds only the unended requests in memory.
#[derive(Debug)]
struct Entries {
    path: PathBuf,
    lines: GrowingLines,
    check: SumCheck,
    /// The first line, once it is there; without a plan if it could not be read.
    header: Option<Header>,
    client: Option<ClientPulse>,
    open: BTreeMap<(Stage, u64), Record>,
    damage: Damage,
}

impl Entries {
    fn open(path: &Path) -> Result<Self, StorageError> {
        let mut entries = Entries {
            path: path.to_owned(),
            lines: GrowingLines::open(path, LONGEST_LINE)?,
            check: SumCheck::default(),
            header: None,
            client: None,
            open: BTreeMap::new(),
            damage: Damage::default(),
        };
        entries.read_header()?;
        Ok(entries)
    }

    fn read_header(&mut self) -> Result<(), StorageError> {
        if self.header.is_some() {
            return Ok(());
        }
        let Some(line) = self.lines.next()? else {
            return Ok(());
        };
        let header = value::<Header>(&mut self.check, line);
        self.damage.lines += u64::from(header.is_none());
        let header = header.unwrap_or(Header::new(None));
        if header.version > VERSION {
            return Err(StorageError::Newer {
                path: self.path.clone(),
                found: format!("journal {}", header.version),
                known: format!("journal {VERSION}"),
            });
        }
        self.header = Some(header);
        Ok(())
    }

    fn planned(&self) -> Option<u64> {
        self.header.as_ref()?.planned
    }

    /// The next record that ended, of lines that are whole.
    fn ended(&mut self) -> Result<Option<Record>, StorageError> {
        self.read_header()?;
        while let Some(line) = self.lines.next()? {
            let Some(entry) = value(&mut self.check, line) else {
                self.damage.lines += 1;
                continue;
            };
            if let Some(record) = self.take(entry) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// That of a last line without its line feed, which may be the header.
    fn torn(&mut self) -> Option<Record> {
        let line = self.lines.rest()?;
        if self.header.is_none() {
            self.header = value(&mut self.check, line);
            self.damage.torn_end |= self.header.is_none();
            return None;
        }
        let entry = value(&mut self.check, line);
        self.damage.torn_end |= entry.is_none();
        self.take(entry?)
    }

    /// Takes an entry; the record that it ends.
    fn take(&mut self, entry: Entry<'static>) -> Option<Record> {
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
                return Some(record.into_owned());
            }
            Entry::Client(pulse) => self.client = Some(pulse),
        }
        None
    }
}

/// Reads the records of a journal as it is now; that of a run that goes on as well.
pub fn read_records(path: &Path) -> Result<JournalRecords, StorageError> {
    Ok(JournalRecords(Entries::open(path)?))
}

/// The records of a journal: first those that ended, in the order in which they did, then those
/// that did not, which are [`Outcome::Cut`].
#[derive(Debug)]
pub struct JournalRecords(Entries);

impl JournalRecords {
    /// Planned requests, where the header says so.
    pub fn planned(&self) -> Option<u64> {
        self.0.planned()
    }

    /// What the client told last of itself, as far as was read.
    pub fn client(&self) -> Option<ClientPulse> {
        self.0.client
    }

    /// What could not be read so far; the whole of it once the records are used up.
    pub fn damage(&self) -> Damage {
        self.0.damage
    }
}

impl Iterator for JournalRecords {
    type Item = Result<Record, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.ended() {
            Ok(None) => {}
            ended => return ended.transpose(),
        }
        let last = (self.0.torn()).or_else(|| self.0.open.pop_first().map(|(_, record)| record));
        last.map(Ok)
    }
}

/// The journal of a run that goes on, read as it grows.
#[derive(Debug)]
pub struct GrowingJournal(Entries);

impl GrowingJournal {
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        Ok(GrowingJournal(Entries::open(path)?))
    }

    /// Hands on the records that ended since the last look, or since the beginning.
    pub fn each_new(&mut self, mut see: impl FnMut(&Record)) -> Result<(), StorageError> {
        self.0.lines.grow()?;
        while let Some(record) = self.0.ended()? {
            see(&record);
        }
        Ok(())
    }

    /// Whether this is the file at a path, and not one that was there before it; also once there is
    /// none any more.
    pub fn is_at(&self, path: &Path) -> bool {
        self.0.lines.is_at(path)
    }

    /// Requests that have begun, as far as is told of them.
    pub fn under_way(&self) -> impl Iterator<Item = &Record> + Clone {
        self.0.open.values()
    }

    /// Planned requests, where the header says so.
    pub fn planned(&self) -> Option<u64> {
        self.0.planned()
    }

    /// What the client told last of itself.
    pub fn client(&self) -> Option<ClientPulse> {
        self.0.client
    }
}
