//! The run directory: everything that is kept of one run.
//!
//! | file | holds | written |
//! | --- | --- | --- |
//! | `scenario.toml` | the settings, resolved and without secrets | at the start |
//! | `environment.json` | host, versions, what the server said of itself | at the start |
//! | `records/journal.jsonl` | records so far | while running |
//! | `records/records.parquet` | all records | at the end, in place of the journal |
//! | `records/rank=N/records.parquet` | the same by rank, where several shared the load | at the end |
//! | `records/texts.jsonl` | prompts and answers, with `--keep-text` | at the end |
//! | `records/invalid.jsonl` | answers that are not of the form that was asked for | at the end |
//! | `server/samples.jsonl` | the server's own view, where it was watched | while running |
//! | `server/spans.jsonl` | the server's own traces of requests, where it was asked for them | while running |
//! | `ending.json` | why and when it ended | at the end |
//! | `summary.json` | the metrics | at the end; reports fold the records anew and leave it alone |
//! | `SHA256SUMS` | hashes of all these files, which every reader checks | at the end |
//!
//! Small files appear whole or not at all. A run without `ending.json` was killed, or goes on,
//! and can be read all the same.

mod list;
mod parts;
mod ranks;
mod unended;

pub(crate) use list::folders;
pub use list::{ListedRun, instant, list, modified};
pub use parts::{FileCheck, Parts, RecordsPart};
pub use ranks::{ReceivedRecords, Records};
pub use unended::Unended;

pub use crate::error::StorageError;
use crate::journal::{self, Header, JournalWriter};
use crate::parquet_file::RecordsWriter;
use crate::sums::Sums;
use crate::whole_file;
use crate::{samples_file, spans_file};
use inferometer_core::environment::{EndCause, Ending, Environment};
use inferometer_core::options::Options;
use inferometer_core::record::Record;
use inferometer_core::scenario::Scenario;
use inferometer_core::server::{Sample, Spans};
use inferometer_core::summary::Summary;
use inferometer_core::value::Tag;
use inferometer_core::window::Opening;
use inferometer_records::form;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

const SCENARIO: &str = "scenario.toml";
const ENVIRONMENT: &str = "environment.json";
const ENDING: &str = "ending.json";
pub(crate) const SUMMARY: &str = "summary.json";
const RECORDS: &str = "records";
const JOURNAL: &str = "records/journal.jsonl";
const PARQUET: &str = "records/records.parquet";
const ANSWERS: &str = "records/answers.jsonl";
const TEXTS: &str = "records/texts.jsonl";
const INVALID: &str = "records/invalid.jsonl";
const SERVER: &str = "server";
const SAMPLES: &str = "server/samples.jsonl";
const SPANS: &str = "server/spans.jsonl";

/// The name that room for the ending has for a moment.
const ROOM: &str = "ending.room";
/// Some blocks of any file system.
const ROOM_BYTES: usize = 16 * 1024;

/// What no longer changes once the records are sealed.
const HASHED: [&str; 9] = [
    SCENARIO,
    ENVIRONMENT,
    PARQUET,
    TEXTS,
    INVALID,
    SAMPLES,
    SPANS,
    ENDING,
    SUMMARY,
];

const SCENARIO_HEAD: &str = "\
# The settings of this run. To repeat it: inferometer run --config FILE
# Values of headers and API keys are not stored.

";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes a new run directory, and the folders above it. An empty folder is taken, or one with
    /// nothing but the log of an engine that was started for the run; any other is refused.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, StorageError> {
        let path = path.into();
        fs::create_dir_all(&path).map_err(|e| StorageError::io("create", &path, e))?;
        Self::check(&path)?;
        let records = path.join(RECORDS);
        fs::create_dir(&records).map_err(|e| StorageError::io("create", &records, e))?;
        Ok(RunDir { path })
    }

    /// Whether `create` would take this path, before anything is done for the run.
    pub fn check(path: &Path) -> Result<(), StorageError> {
        let is_server =
            |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == SERVER);
        let empty = match fs::read_dir(path) {
            Ok(mut content) => content.all(is_server),
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(StorageError::io("read", path, error)),
        };
        if empty {
            Ok(())
        } else {
            Err(StorageError::NotEmpty {
                path: path.to_owned(),
            })
        }
    }

    /// Whether a folder has the settings of a run.
    pub fn is_at(path: &Path) -> bool {
        path.join(SCENARIO).is_file()
    }

    /// Opens an existing run directory.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StorageError> {
        let path = path.into();
        if !Self::is_at(&path) {
            return Err(StorageError::NotARun { path });
        }
        let run = RunDir { path };
        let folders = run.ranks().into_iter().map(ranks::folder);
        for folder in [RECORDS.to_owned(), SERVER.to_owned()]
            .into_iter()
            .chain(folders)
        {
            let folder = run.path.join(folder);
            if folder.is_symlink() {
                return Err(StorageError::damaged(&folder, "it is a link"));
            }
        }
        Ok(run)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write_scenario(&self, scenario: &Scenario) -> Result<(), StorageError> {
        let text = scenario.options().to_toml();
        whole_file::write_early(&self.path, SCENARIO, &format!("{SCENARIO_HEAD}{text}"))
    }

    /// The settings as they are stored, to be layered and resolved.
    pub fn options(&self) -> Result<Options, StorageError> {
        let path = self.path.join(SCENARIO);
        Options::from_toml(&self.read_text(SCENARIO)?).map_err(|e| StorageError::damaged(&path, e))
    }

    /// The settings, to describe the run. The values of its headers are not known, so to repeat
    /// it, layer what the user gives over [`RunDir::options`] and resolve that.
    pub fn scenario(&self) -> Result<Scenario, StorageError> {
        let mut options = self.options()?;
        let names = options.connection.header_names.take().unwrap_or_default();
        let headers = names.into_iter().map(|key| Tag {
            key,
            value: String::new(),
        });
        options.connection.header = Some(headers.collect());
        let scenario = options.resolve();
        scenario.map_err(|e| StorageError::damaged(&self.path.join(SCENARIO), e))
    }

    /// Stores what was known before the first request.
    pub fn write_environment(&self, environment: &Environment) -> Result<(), StorageError> {
        whole_file::write_early(
            &self.path,
            ENVIRONMENT,
            &self.json(ENVIRONMENT, environment)?,
        )
    }

    /// What was known before the first request.
    pub fn environment(&self) -> Result<Environment, StorageError> {
        self.read_json(ENVIRONMENT)
    }

    pub fn write_ending(&self, ending: &Ending) -> Result<(), StorageError> {
        self.write_json(ENDING, ending)
    }

    /// Room on the disk for the ending of a run whose records fill it: a file without a name, which
    /// goes with whoever holds it.
    pub fn keep_room(&self) -> Option<File> {
        let path = self.path.join(ROOM);
        let mut file = whole_file::fresh(&path).ok()?;
        let filled = file.write_all(&[0; ROOM_BYTES]);
        let removed = fs::remove_file(&path);
        filled.and(removed).ok().map(|()| file)
    }

    /// Stores that the records could not be written to their end, beside what they tell.
    pub fn write_unwritten(&self) -> Result<(), StorageError> {
        self.write_ending(&Ending {
            cause: EndCause::Unwritten,
            ..self.killed()?
        })
    }

    /// How the run ended. Where nothing is stored it was killed (or goes on), and the ending is
    /// made from the records that there are.
    pub fn ending(&self) -> Result<Ending, StorageError> {
        match self.stored_ending()? {
            Some(ending) => Ok(ending),
            None => self.killed(),
        }
    }

    pub fn stored_ending(&self) -> Result<Option<Ending>, StorageError> {
        if self.path.join(ENDING).exists() {
            return self.read_json(ENDING).map(Some);
        }
        Ok(None)
    }

    pub fn is_running(&self) -> bool {
        journal::is_being_written(&self.journal_path())
    }

    /// Whether it was sealed and has no hashes: by an older version, or they were removed.
    pub fn lacks_hashes(&self) -> bool {
        let sealed = self.parquet_path().exists() && !self.journal_path().exists();
        sealed && matches!(Sums::of(&self.path), Ok(None))
    }

    pub fn write_summary(&self, summary: &Summary) -> Result<(), StorageError> {
        self.write_json(SUMMARY, summary)
    }

    /// The metrics as they were last stored.
    pub fn summary(&self) -> Result<Summary, StorageError> {
        self.read_json(SUMMARY)
    }

    pub fn start_journal(&self, header: &Header) -> Result<JournalWriter, StorageError> {
        JournalWriter::create(&self.journal_path(), header)
    }

    /// Where the records are while the run goes on.
    pub fn journal_path(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    /// Where the records are when it is over; where several ranks shared the load, those of rank 0.
    pub fn parquet_path(&self) -> PathBuf {
        self.path.join(self.parquet_name())
    }

    fn parquet_name(&self) -> String {
        if self.ranks().is_empty() {
            PARQUET.to_owned()
        } else {
            ranks::file(0)
        }
    }

    /// Where answers wait to be checked; the file goes when the run is over.
    pub fn answers_path(&self) -> PathBuf {
        self.path.join(ANSWERS)
    }

    /// Where prompts and answers are kept.
    pub fn texts_path(&self) -> PathBuf {
        self.path.join(TEXTS)
    }

    /// Where answers are kept that are not of the form that was asked for.
    pub fn invalid_path(&self) -> PathBuf {
        self.path.join(INVALID)
    }

    /// The folder of what the server said: samples, its log.
    pub fn server_path(&self) -> PathBuf {
        self.path.join(SERVER)
    }

    /// Where the samples of the server are.
    pub fn samples_path(&self) -> PathBuf {
        self.path.join(SAMPLES)
    }

    /// The samples of the server in order of their time; none if it was not watched.
    pub fn samples(&self) -> Result<Vec<Sample>, StorageError> {
        let path = self.samples_path();
        if !path.exists() {
            return Ok(Vec::new());
        }
        self.check_hash(SAMPLES)?;
        samples_file::read_samples(&path)
    }

    /// Where the server's traces of requests are.
    pub fn spans_path(&self) -> PathBuf {
        self.path.join(SPANS)
    }

    /// What the server's traces say of single requests; nothing if they were not asked for.
    pub fn spans(&self) -> Result<Spans, StorageError> {
        let path = self.spans_path();
        if !path.exists() {
            return Ok(Spans::default());
        }
        self.check_hash(SPANS)?;
        spans_file::read_spans(&path)
    }

    /// Turns the journal into Parquet and removes it; a run that is sealed already stays as it
    /// is. A killed run gets its ending stored first, since the plan is in the journal.
    pub fn seal(&self) -> Result<(), StorageError> {
        let Some(mut seal) = self.begin_seal()? else {
            return Ok(());
        };
        for record in self.records()? {
            seal.push(&record?)?;
        }
        seal.finish()
    }

    /// Begins to seal, for a caller that reads the records anyway and hands each one on; absent
    /// if the run is sealed already. The journal's writer must be gone, or this is an error.
    pub fn begin_seal(&self) -> Result<Option<Seal>, StorageError> {
        let journal = self.journal_path();
        if !journal.exists() {
            return Ok(None);
        }
        if self.is_running() {
            let path = self.path.clone();
            return Err(StorageError::StillRunning { path });
        }
        let parquet = self.parquet_path();
        if parquet.exists() {
            self.complete_seal()?;
            return Ok(None);
        }
        if self.stored_ending()?.is_none() {
            self.write_ending(&self.killed()?)?;
        }
        // What other ranks recorded is written again with what was found out since.
        let others = self.ranks().into_iter().filter(|&rank| rank > 0);
        let others = others.map(|rank| {
            let writer = RecordsWriter::create(&self.path.join(ranks::file(rank)))?;
            Ok((rank, writer))
        });
        Ok(Some(Seal {
            writer: RecordsWriter::create(&parquet)?,
            others: others.collect::<Result<_, StorageError>>()?,
            run: self.clone(),
        }))
    }

    /// The hashes come before the journal goes, so that whoever finds the journal knows that they
    /// may be missing.
    fn complete_seal(&self) -> Result<(), StorageError> {
        let files: Vec<String> = self.ranks().into_iter().map(ranks::file).collect();
        let names = HASHED.into_iter().chain(files.iter().map(String::as_str));
        Sums::store(&self.path, &names.collect::<Vec<_>>())?;
        let journal = self.journal_path();
        fs::remove_file(&journal).map_err(|e| StorageError::io("remove", &journal, e))
    }

    /// The ending of a run that could not write one.
    fn killed(&self) -> Result<Ending, StorageError> {
        let mut records = self.records()?;
        let extent = self.scenario()?.load.extent;
        let planned = records.planned().or(extent.requests());
        let mut unended = Unended::default();
        for record in &mut records {
            unended.add(&record?);
        }
        let cause = if self.is_running() {
            EndCause::Running
        } else {
            EndCause::Killed
        };
        Ok(Ending {
            steady_window: self.has_window()?,
            ..unended.ending(cause, planned, records.client())
        })
    }

    /// Whether the load was steady by construction. Runs of versions without a window do not name
    /// a hold.
    pub fn has_window(&self) -> Result<bool, StorageError> {
        let opening = Opening::of(&self.scenario()?.load, None);
        Ok(opening.is_some() && self.options()?.load.hold.is_some())
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), StorageError> {
        Sums::write_file(&self.path, name, &self.json(name, value)?)
    }

    fn json(&self, name: &str, value: &impl Serialize) -> Result<String, StorageError> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|e| StorageError::io("write", &self.path.join(name), e.into()))?;
        Ok(text + "\n")
    }

    fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, StorageError> {
        let path = self.path.join(name);
        let text = self.read_text(name)?;
        form::check(&path, text.as_bytes())?;
        serde_json::from_str(&text).map_err(|e| StorageError::damaged(&path, e))
    }

    fn read_text(&self, name: &str) -> Result<String, StorageError> {
        let path = self.path.join(name);
        let bytes = whole_file::read(&path)?;
        if self
            .sums(name)?
            .is_some_and(|sums| !sums.hold(name, &bytes))
        {
            return Err(StorageError::Altered { path });
        }
        String::from_utf8(bytes).map_err(|_| StorageError::damaged(&path, "it is not UTF-8 text"))
    }

    fn check_hash(&self, name: &str) -> Result<(), StorageError> {
        match self.sums(name)? {
            Some(sums) => sums.check(&self.path, name),
            None => Ok(()),
        }
    }

    /// The hashes, that of this file among them: a name that is damaged must not excuse its file.
    /// What is written after the seal may have none, where the process died then.
    fn sums(&self, name: &str) -> Result<Option<Sums>, StorageError> {
        let sums = Sums::of(&self.path)?;
        if let Some(sums) = sums.as_ref().filter(|_| ![ENDING, SUMMARY].contains(&name)) {
            sums.require(&self.path, name)?;
        }
        Ok(sums)
    }
}

/// A journal on its way to Parquet.
pub struct Seal {
    writer: RecordsWriter,
    /// Those of other ranks that shared the load.
    others: BTreeMap<u32, RecordsWriter>,
    run: RunDir,
}

impl Seal {
    pub fn push(&mut self, record: &Record) -> Result<(), StorageError> {
        let other = record.rank.and_then(|rank| self.others.get_mut(&rank));
        other.unwrap_or(&mut self.writer).push(record)
    }

    /// All records were pushed: the journal goes.
    pub fn finish(self) -> Result<(), StorageError> {
        self.others
            .into_values()
            .try_for_each(RecordsWriter::finish)?;
        self.writer.finish()?;
        self.run.complete_seal()
    }
}

#[cfg(test)]
mod tests;
