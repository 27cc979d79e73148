//! Results of object stores, brought into the user's cache: what is wanted of them, and of that
//! only what is not there yet in the size and version of the listing. Readers then read a folder
//! like any other.
//!
//! Beside `files`, which is laid out as the stores are, `versions` has the version of each file.

use crate::error::RunnerError;
use crate::session::Session;
use crate::upload::open;
use inferometer_bucket::{Bucket, BucketError, Location, Object, Patience};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a store is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
/// Objects that are read at once: most are small, and each takes a way there and back.
const AT_ONCE: usize = 8;
/// A stranger's bucket must not fill the disk.
const MOST_BYTES: u64 = 64 << 30;

/// How often a place is listed that others write to meanwhile.
const MOST_TRIES: usize = 5;

const STORES: &str = "stores";

/// What of a result is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Settings, summaries and lists: no records, nothing that the server said.
    Figures,
    /// All but reports, which are made again.
    All,
}

impl Wanted {
    fn takes(self, name: &str) -> bool {
        let file = name.rsplit('/').next().unwrap_or_default();
        let is_report = file.starts_with("report.") || is_picture(file);
        let is_hidden = file.starts_with('.');
        let mut folders = name.split('/').rev().skip(1);
        let is_bulk = folders.any(|folder| ["records", "server"].contains(&folder));
        let is_unwanted = is_bulk && self == Wanted::Figures;
        !(is_report || is_hidden || is_unwanted)
    }
}

fn is_picture(file: &str) -> bool {
    [".svg", ".png"].iter().any(|ending| file.ends_with(ending))
}

/// The folder with what is at a place; an error where nothing is. A sweep may still be uploaded
/// meanwhile: what changed since it was listed is listed again.
pub fn fetch(place: &Location, wanted: Wanted, session: &Session) -> Result<PathBuf, RunnerError> {
    let bucket = open(place, session, None, Patience::silent(PATIENCE))?;
    let has_changed = |error: &RunnerError| match error {
        RunnerError::Other(cause) => {
            (cause.downcast_ref::<BucketError>()).is_some_and(BucketError::is_change)
        }
        _ => false,
    };
    for _ in 1..MOST_TRIES {
        match fetch_once(place, wanted, &bucket, session) {
            Err(error) if has_changed(&error) => {}
            other => return other,
        }
    }
    fetch_once(place, wanted, &bucket, session)
}

fn fetch_once(
    place: &Location,
    wanted: Wanted,
    bucket: &Bucket,
    session: &Session,
) -> Result<PathBuf, RunnerError> {
    let folders = Folders::of(place, bucket.host(), session)?;
    let there = bucket.list().map_err(RunnerError::other)?;
    if there.is_empty() {
        return Err(RunnerError::Message(format!(
            "{place} holds nothing; check the path, or list what is above it with `inferometer runs`"
        )));
    }
    folders.forget_others(&there);
    let taken: Vec<&Object> = (there.iter())
        .filter(|object| wanted.takes(&object.key))
        .collect();
    let missing: Vec<&Object> = (taken.into_iter())
        .filter(|object| !folders.has(object))
        .collect();
    let bytes: u64 = missing.iter().map(|object| object.bytes).sum();
    if bytes > MOST_BYTES {
        return Err(RunnerError::Message(format!(
            "{place} has {} GiB to read, more than {}; name a result further below, or copy it here with the store's own program",
            bytes >> 30,
            MOST_BYTES >> 30
        )));
    }
    folders.read(bucket, &missing)?;
    fs::create_dir_all(&folders.files).map_err(RunnerError::other)?;
    Ok(folders.files)
}

/// The address of what lies in the cache; absent for any other path.
pub fn address(path: &Path, session: &Session) -> Option<String> {
    let root = session.cache_folder()?.join(STORES).join("files");
    let mut parts = path.strip_prefix(root).ok()?.components();
    let mut part = || match parts.next()? {
        Component::Normal(part) => part.to_str(),
        _ => None,
    };
    let (scheme, _host, bucket) = (part()?, part()?, part()?);
    let rest: Vec<&str> = std::iter::from_fn(part).collect();
    let slash = if rest.is_empty() { "" } else { "/" };
    Some(format!("{scheme}://{bucket}{slash}{}", rest.join("/")))
}

/// Where a place lies in the cache.
struct Folders {
    files: PathBuf,
    versions: PathBuf,
}

impl Folders {
    fn of(place: &Location, host: &str, session: &Session) -> Result<Self, RunnerError> {
        let cache = session.cache_folder().ok_or_else(|| {
            RunnerError::Message(
                "there is no place for what is read from stores; set HOME or XDG_CACHE_HOME".into(),
            )
        })?;
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
        let host: String = (host.chars())
            .map(|c| if plain(c) { c } else { '_' })
            .collect();
        let below = Path::new(place.scheme.word())
            .join(host)
            .join(&place.bucket)
            .join(place.key("").trim_end_matches('/'));
        let stores = cache.join(STORES);
        Ok(Folders {
            files: stores.join("files").join(&below),
            versions: stores.join("versions").join(&below),
        })
    }

    fn has(&self, object: &Object) -> bool {
        let file = fs::symlink_metadata(self.files.join(&object.key));
        file.is_ok_and(|file| file.is_file() && file.len() == object.bytes)
            && fs::read_to_string(self.versions.join(&object.key))
                .is_ok_and(|known| known == object.etag)
    }

    /// Removes what the store no longer has: a result must not be mixed from two.
    fn forget_others(&self, there: &[Object]) {
        let names: BTreeSet<PathBuf> = there
            .iter()
            .map(|object| self.files.join(&object.key))
            .collect();
        let mut folders = vec![self.files.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if !names.contains(&path) {
                    let _ = fs::remove_file(path);
                }
            }
        }
    }

    fn read(&self, bucket: &Bucket, objects: &[&Object]) -> Result<(), RunnerError> {
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<RunnerError>> = Mutex::new(None);
        let is_failed = || failed.lock().is_ok_and(|failed| failed.is_some());
        let work = || {
            while !is_failed()
                && let Some(object) = objects.get(next.fetch_add(1, Ordering::Relaxed))
            {
                if let Err(error) = self.read_one(bucket, object)
                    && let Ok(mut failed) = failed.lock()
                {
                    failed.get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..AT_ONCE.min(objects.len()) {
                scope.spawn(work);
            }
            work();
        });
        match failed.into_inner() {
            Ok(None) => Ok(()),
            Ok(Some(error)) => Err(error),
            Err(_) => Err(RunnerError::Message("a thread that reads broke off".into())),
        }
    }

    /// The version is written after the file, and removed before it: one that was cut off in
    /// between is read again.
    fn read_one(&self, bucket: &Bucket, object: &Object) -> Result<(), RunnerError> {
        let (file, version) = (
            self.files.join(&object.key),
            self.versions.join(&object.key),
        );
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| {
                RunnerError::other(BucketError::File {
                    action: "write",
                    path,
                    source,
                })
            }
        };
        for path in [&file, &version] {
            let folder = path.parent().unwrap_or(path);
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        let _ = fs::remove_file(&version);
        let _ = fs::remove_file(&file);
        bucket.get(object, &file).map_err(RunnerError::other)?;
        fs::write(&version, &object.etag).map_err(failed(&version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_text::Lang;

    #[test]
    fn figures_need_no_records_and_nothing_needs_reports() {
        let taken = |wanted: Wanted| {
            let names = [
                "summary.json",
                "points/a/scenario.toml",
                "points/a/records/rank=0/records.parquet",
                "server/samples.jsonl",
                "report.html",
                "points/a/ttft.svg",
                ".inferometer-write-test",
            ];
            names
                .into_iter()
                .filter(move |name| wanted.takes(name))
                .count()
        };
        assert_eq!((taken(Wanted::Figures), taken(Wanted::All)), (2, 4));
    }

    #[test]
    fn what_lies_in_the_cache_is_called_by_its_address() {
        let variables = [("XDG_CACHE_HOME".to_owned(), "/c".to_owned())];
        let session = Session {
            lang: Lang::En,
            program: PathBuf::new(),
            variables: variables.into_iter().collect(),
        };
        let place: Location = "s3://lab/a/b".parse().unwrap();
        let folders = Folders::of(&place, "127.0.0.1:9000", &session).unwrap();
        assert_eq!(
            folders.files,
            Path::new("/c/inferometer/stores/files/s3/127.0.0.1_9000/lab/a/b")
        );
        let found = address(&folders.files.join("points/x"), &session);
        assert_eq!(found.as_deref(), Some("s3://lab/a/b/points/x"));
        assert_eq!(address(Path::new("/c/elsewhere"), &session), None);
    }
}
