//! Data sets that are elsewhere: on a hub or at a URL.
//!
//! A file is downloaded once into a cache, one folder per URL, and used from there without asking
//! the network again. It appears under its name only when it is whole and checked; until then it
//! is `NAME.part`, and the next call goes on where the last ended.

mod address;
mod error;
mod file;
mod partial;
#[cfg(test)]
mod tests;

pub use address::{AddressError, HubFile, Location, Remote, WebFile};
pub use error::RemoteError;

use file::{Answer, RemoteFile, Reply};
use inferometer_fetch::{HubAccess, Timeouts};
use partial::{Note, PIECE, Partial};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for a server, and how often to try again.
#[derive(Clone, Debug)]
pub struct DownloadPatience {
    /// For the name, and again for the connection.
    pub connect: Duration,
    /// For the next bytes.
    pub read: Duration,
    /// Times that a download which broke off is taken up again in one call.
    pub retries: u32,
    /// Pause before that, doubled each time.
    pub pause: Duration,
}

impl Default for DownloadPatience {
    fn default() -> Self {
        DownloadPatience {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(60),
            retries: 3,
            pause: Duration::from_secs(1),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownloadProgress {
    /// Another process downloads the same file; it is waited for.
    Waiting,
    Received {
        /// Bytes on disk, those of earlier calls included.
        bytes: u64,
        /// Bytes of the whole, where the server says.
        total: Option<u64>,
    },
}

#[derive(Clone, Debug)]
pub struct Fetcher {
    /// Folder of what was downloaded.
    pub cache: PathBuf,
    pub hubs: HubAccess,
    pub patience: DownloadPatience,
}

impl Fetcher {
    pub fn new(cache: impl Into<PathBuf>, hubs: HubAccess) -> Self {
        Fetcher {
            cache: cache.into(),
            hubs,
            patience: DownloadPatience::default(),
        }
    }

    /// The file as a path of this machine. What was downloaded before is not asked for again.
    pub fn fetch(
        &self,
        location: &Location,
        progress: &mut dyn FnMut(DownloadProgress),
    ) -> Result<PathBuf, RemoteError> {
        let remote = match location {
            Location::Local(path) => return Ok(path.clone()),
            Location::Remote(remote) => remote,
        };
        let kept = self.kept_at(remote)?;
        if kept.is_file() {
            return Ok(kept);
        }
        let folder = kept.parent().unwrap_or(&self.cache);
        fs::create_dir_all(folder).map_err(|e| RemoteError::cache("create", folder, e))?;
        let _lock = lock(&folder.join(".lock"), progress)?;
        // Whoever held the lock may have brought it.
        if !kept.is_file() {
            self.download(remote, Partial::of(&kept), progress)?;
        }
        Ok(kept)
    }

    /// Where a file is kept once it is whole.
    fn kept_at(&self, remote: &Remote) -> Result<PathBuf, RemoteError> {
        let url = remote.url(&self.hubs.endpoints)?.to_string();
        let hash = ring::digest::digest(&ring::digest::SHA256, url.as_bytes());
        let folder = &partial::hex(hash.as_ref())[..32];
        Ok(self.cache.join(folder).join(remote.file_name()))
    }

    fn download(
        &self,
        remote: &Remote,
        mut partial: Partial,
        progress: &mut dyn FnMut(DownloadProgress),
    ) -> Result<(), RemoteError> {
        let timeouts = Timeouts {
            connect: self.patience.connect,
            read: self.patience.read,
            whole: None,
        };
        let file = RemoteFile::new(remote, &self.hubs, timeouts)?;
        let mut retries = 0;
        let note = loop {
            // It may have been whole when an earlier call was killed.
            if let Some(note) = partial.whole()? {
                break note;
            }
            let reason = match file.ask(partial.resumable()?.as_ref()) {
                Ok(Reply::Stale) => {
                    partial.discard()?;
                    continue;
                }
                Ok(Reply::Whole(answer)) => {
                    partial.restart(&answer.note)?;
                    receive(remote, answer, &mut partial, progress)?
                }
                Ok(Reply::Rest(answer)) => receive(remote, answer, &mut partial, progress)?,
                // At first this is an answer in itself; later the network has gone away.
                Err(RemoteError::Unreachable { reason, .. }) if retries > 0 => Err(reason),
                Err(error) => return Err(error),
            };
            match reason {
                Ok(note) => break note,
                Err(reason) if retries == self.patience.retries => {
                    return Err(RemoteError::BrokeOff {
                        address: Box::new(remote.clone()),
                        received: partial.len()?,
                        total: partial.total(),
                        reason,
                    });
                }
                Err(_) => {
                    std::thread::sleep(self.patience.pause.saturating_mul(1 << retries.min(10)));
                    retries += 1;
                }
            }
        };
        partial.finish(remote, &note)
    }
}

/// One download at a time for each file. The system drops the lock with its process, so that it
/// cannot go stale.
fn lock(path: &Path, progress: &mut dyn FnMut(DownloadProgress)) -> Result<File, RemoteError> {
    let failed = |e| RemoteError::cache("lock", path, e);
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress(DownloadProgress::Waiting);
            file.lock().map_err(failed)?;
        }
        Err(TryLockError::Error(e)) => return Err(failed(e)),
    }
    Ok(file)
}

/// Appends a body to what is there. The inner error is why it broke off.
fn receive(
    remote: &Remote,
    mut answer: Answer,
    partial: &mut Partial,
    progress: &mut dyn FnMut(DownloadProgress),
) -> Result<Result<Note, String>, RemoteError> {
    let total = answer.note.total;
    let mut file = partial.append()?;
    let mut bytes = partial.len()?;
    progress(DownloadProgress::Received { bytes, total });
    let mut piece = vec![0; PIECE];
    loop {
        let read = match answer.body.read(&mut piece) {
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Ok(Err(inferometer_fetch::reason(&e))),
        };
        if read == 0 {
            break;
        }
        bytes = bytes.saturating_add(read as u64);
        if let Some(expected) = total.filter(|total| bytes > *total) {
            partial.discard()?;
            return Err(RemoteError::Length {
                address: Box::new(remote.clone()),
                expected,
                got: bytes,
            });
        }
        partial.write(&mut file, &piece[..read])?;
        progress(DownloadProgress::Received { bytes, total });
    }
    Ok(match total {
        Some(total) if bytes < total => Err("the connection was closed".to_owned()),
        _ => Ok(answer.note),
    })
}
