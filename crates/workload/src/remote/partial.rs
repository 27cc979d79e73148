//! A file under way: `NAME.part`, and beside it what is known about the whole.

use super::address::Remote;
use super::error::RemoteError;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes that are read at once.
pub(super) const PIECE: usize = 128 * 1024;

/// What is known about the whole file. Nothing in it is secret: the place that a redirect
/// led to is not, since hubs sign it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The address, for whoever looks into the cache.
    pub address: String,
    /// The strong ETag of whoever sent the bytes; without one nothing can be resumed.
    pub etag: Option<String>,
    pub total: Option<u64>,
    /// SHA-256 of the whole, in small hexadecimal digits.
    pub sha256: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resume {
    pub from: u64,
    /// The ETag that they came with.
    pub etag: String,
    /// What was known when they came.
    pub note: Note,
}

/// Files of a download under way. Whoever has one holds the lock.
pub(super) struct Partial {
    kept: PathBuf,
    part: PathBuf,
    note: PathBuf,
}

impl Partial {
    pub fn of(kept: &Path) -> Self {
        let beside = |suffix: &str| {
            let mut name = kept.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        Partial {
            kept: kept.to_owned(),
            part: beside(".part"),
            note: beside(".part.json"),
        }
    }

    pub fn len(&self) -> Result<u64, RemoteError> {
        match fs::metadata(&self.part) {
            Ok(metadata) => Ok(metadata.len()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(RemoteError::cache("read", &self.part, e)),
        }
    }

    /// A note that is missing or damaged only means to start anew.
    fn note(&self) -> Option<Note> {
        serde_json::from_slice(&fs::read(&self.note).ok()?).ok()
    }

    /// Bytes of the whole, where that is known.
    pub fn total(&self) -> Option<u64> {
        self.note()?.total
    }

    /// What is known about it, if all of it is there.
    pub fn whole(&self) -> Result<Option<Note>, RemoteError> {
        let len = self.len()?;
        Ok(self
            .note()
            .filter(|note| note.total == Some(len) && len > 0))
    }

    pub fn resumable(&self) -> Result<Option<Resume>, RemoteError> {
        let from = self.len()?;
        Ok(self.note().and_then(|note| {
            let etag = note.etag.clone()?;
            let sound = from > 0 && note.total.is_none_or(|total| from < total);
            sound.then_some(Resume { from, etag, note })
        }))
    }

    pub fn discard(&mut self) -> Result<(), RemoteError> {
        for path in [&self.note, &self.part] {
            delete(path)?;
        }
        Ok(())
    }

    /// Empties the file and notes what will come. The old note goes first and the new one comes
    /// last, so that a note never speaks of other bytes, whenever the process is killed.
    pub fn restart(&mut self, note: &Note) -> Result<(), RemoteError> {
        delete(&self.note)?;
        File::create(&self.part).map_err(|e| RemoteError::cache("create", &self.part, e))?;
        let text = serde_json::to_vec_pretty(note).map_err(io::Error::other);
        text.and_then(|text| fs::write(&self.note, text))
            .map_err(|e| RemoteError::cache("write", &self.note, e))
    }

    pub fn append(&self) -> Result<File, RemoteError> {
        File::options()
            .append(true)
            .open(&self.part)
            .map_err(|e| RemoteError::cache("open", &self.part, e))
    }

    pub fn write(&self, file: &mut File, bytes: &[u8]) -> Result<(), RemoteError> {
        file.write_all(bytes)
            .map_err(|e| RemoteError::cache("write", &self.part, e))
    }

    /// Checks what came and gives it its name.
    pub fn finish(mut self, remote: &Remote, note: &Note) -> Result<(), RemoteError> {
        if let Some(expected) = &note.sha256 {
            // Read back rather than hashed on the way: part of it may be from another call.
            let got = sha256(&self.part).map_err(|e| RemoteError::cache("read", &self.part, e))?;
            if got != *expected {
                self.discard()?;
                return Err(RemoteError::Checksum {
                    address: Box::new(remote.clone()),
                    expected: expected.clone(),
                    got,
                });
            }
        }
        // A name that survives a power cut must not survive its bytes.
        File::open(&self.part)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&self.part, &self.kept))
            .map_err(|e| RemoteError::cache("keep", &self.part, e))?;
        // It serves no more, and does no harm.
        let _ = fs::remove_file(&self.note);
        Ok(())
    }
}

/// Deletes a file, if there is one.
fn delete(path: &Path) -> Result<(), RemoteError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(RemoteError::cache("delete", path, e)),
        _ => Ok(()),
    }
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(hex(context.finish().as_ref())),
            Ok(read) => context.update(&piece[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
