//! Results on their way to an object store: what is finished while more is measured, the rest when
//! all is over. The folder here comes first and stays; `upload.json` in it says what the store has.

use crate::error::RunnerError;
use crate::session::Session;
use inferometer_bucket::{Bucket, Keys, Location, Object, Patience, Written};
use inferometer_fetch::Secret;
use inferometer_store::copies::{UploadLog, UploadedFile, files, finished_runs, heads};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a store is waited for before a measurement begins: what is wrong is told soon.
const AT_THE_START: Duration = Duration::from_secs(3);
/// The same when it is over.
pub const AT_THE_END: Duration = Duration::from_secs(30);
/// Between two looks for what is finished.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// Between two writes of the log, which may be long.
const BETWEEN_WRITES: Duration = Duration::from_secs(2);

/// Written and removed again, to know that writing is allowed.
const WRITE_TEST: &str = ".inferometer-write-test";

/// Opens a place with the keys of the environment.
pub fn open(
    place: &Location,
    session: &Session,
    proxy: Option<&str>,
    patience: Patience,
) -> Result<Bucket, RunnerError> {
    let variables = |name: &str| session.variable(name).map(str::to_owned);
    let keys = Keys::find(place, &variables).map_err(RunnerError::other)?;
    let proxy = proxy.or_else(|| session.variable("INFEROMETER_PROXY"));
    let proxy = proxy.map(Secret::new);
    Bucket::open(place.clone(), keys, proxy.as_ref(), patience).map_err(RunnerError::other)
}

/// A result and its place in a store.
pub struct Upload {
    folder: PathBuf,
    bucket: Bucket,
    log: UploadLog,
    /// Runs that are there, and the files by which progress is known, as they were carried.
    runs: BTreeSet<String>,
    heads: BTreeMap<String, Vec<u8>>,
    written: Instant,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    pub files: usize,
    pub bytes: u64,
    /// Files that were there already.
    pub known: usize,
}

impl Upload {
    /// Prepares one, and makes sure that the store would take it: it is there, writing is allowed,
    /// and nothing lies there but what this folder put there before.
    pub fn prepare(
        folder: &Path,
        place: &Location,
        session: &Session,
        proxy: Option<&str>,
    ) -> Result<Self, RunnerError> {
        let patience = Patience::silent(AT_THE_START);
        let bucket = open(place, session, proxy, patience)?;
        let url = place.to_string();
        let log = UploadLog::of(folder).map_err(RunnerError::other)?;
        let log = log.filter(|log| log.url == url);
        let there = bucket.list().map_err(RunnerError::other)?;
        let is_foreign = |object: &&Object| object.key != WRITE_TEST;
        if log.is_none()
            && let Some(object) = there.iter().find(is_foreign)
        {
            return Err(RunnerError::Message(format!(
                "{url} already holds objects, such as {}; choose another place, or remove them",
                inferometer_text::hostile::printable(&object.key, 100)
            )));
        }
        let tried = bucket.put(WRITE_TEST, b"inferometer may write here\n");
        tried.map_err(RunnerError::other)?;
        // Whoever may write need not be allowed to remove; readers pass over it.
        let _ = bucket.delete(WRITE_TEST);
        Ok(Upload {
            folder: folder.to_owned(),
            bucket,
            log: log.unwrap_or_else(|| UploadLog::new(&url)),
            runs: BTreeSet::new(),
            heads: BTreeMap::new(),
            written: Instant::now(),
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn place(&self) -> &Location {
        self.bucket.place()
    }

    /// Notes in the folder where it goes, so that it can be taken up.
    pub fn note(&self) -> Result<(), RunnerError> {
        self.log.write(&self.folder).map_err(RunnerError::other)
    }

    /// Carries what is finished, from now on until it is told to end.
    pub fn start(mut self) -> Result<Uploading, RunnerError> {
        let (end, ended) = channel::<()>();
        let thread = std::thread::Builder::new().name("upload".into());
        let thread = thread.spawn(move || {
            // What does not work now is tried again at the next look.
            self.bucket.patience = Patience::silent(Duration::ZERO);
            while ended.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
                let _ = self.carry_finished();
            }
            self
        });
        Ok(Uploading {
            end,
            thread: thread.map_err(RunnerError::other)?,
        })
    }

    /// Runs that are over, then the files that name them, as they were before these were looked
    /// for: whatever is named there is there.
    fn carry_finished(&mut self) -> Result<(), RunnerError> {
        let heads = heads(&self.folder).map_err(RunnerError::other)?;
        for run in finished_runs(&self.folder).map_err(RunnerError::other)? {
            if self.runs.contains(&run) {
                continue;
            }
            for file in files(&self.folder.join(&run)).map_err(RunnerError::other)? {
                self.carry(&format!("{run}/{file}"))?;
            }
            self.note()?;
            self.runs.insert(run);
        }
        for (name, content) in heads {
            if self.heads.get(&name) != Some(&content) {
                let written = self.bucket.put(&name, &content);
                self.keep(&name, written.map_err(RunnerError::other)?);
                self.note()?;
                self.heads.insert(name, content);
            }
        }
        Ok(())
    }

    /// Carries all that is not there yet, or is no longer the same.
    pub fn finish(&mut self, patience: Patience) -> Result<Uploaded, RunnerError> {
        self.bucket.patience = patience;
        self.note()?;
        let there = self.bucket.list().map_err(RunnerError::other)?;
        let there: BTreeMap<String, String> = (there.into_iter())
            .map(|object| (object.key, object.etag))
            .collect();
        let mut done = Uploaded::default();
        let carried = self.carry_all(&there, &mut done);
        // Also what came before it broke off.
        self.note()?;
        carried.map(|()| done)
    }

    fn carry_all(
        &mut self,
        there: &BTreeMap<String, String>,
        done: &mut Uploaded,
    ) -> Result<(), RunnerError> {
        for name in files(&self.folder).map_err(RunnerError::other)? {
            let known = self.log.files.get(&name);
            let is_there = known.is_some_and(|known| there.get(&name) == Some(&known.etag));
            if is_there
                && self
                    .log
                    .has(&self.folder, &name)
                    .map_err(RunnerError::other)?
            {
                done.known += 1;
                continue;
            }
            done.bytes += self.carry(&name)?;
            done.files += 1;
            if self.written.elapsed() > BETWEEN_WRITES {
                self.note()?;
                self.written = Instant::now();
            }
        }
        Ok(())
    }

    fn carry(&mut self, name: &str) -> Result<u64, RunnerError> {
        let written = self.bucket.put_file(name, &self.folder.join(name));
        let written = written.map_err(RunnerError::other)?;
        let bytes = written.bytes;
        self.keep(name, written);
        Ok(bytes)
    }

    fn keep(&mut self, name: &str, written: Written) {
        let file = UploadedFile {
            bytes: written.bytes,
            sha256: written.sha256,
            etag: written.etag,
        };
        self.log.files.insert(name.to_owned(), file);
    }
}

/// An upload beside a measurement.
pub struct Uploading {
    end: Sender<()>,
    thread: JoinHandle<Upload>,
}

impl Uploading {
    /// Nothing more is measured; what is being carried is waited for.
    pub fn end(self) -> Upload {
        drop(self.end);
        match self.thread.join() {
            Ok(upload) => upload,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
