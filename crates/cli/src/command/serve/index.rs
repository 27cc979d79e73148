//! What was read of the results of a folder, so that a list of thousands does not open each of
//! them again: in memory, and for the next start in a file of the user's cache.
//!
//! Only a cache. The file may be missing, damaged, of another version or not writable: then results
//! are read again, and nothing else changes.

use crate::command::runs::known;
use inferometer_report::runs::{KnownResult, RunState};
use inferometer_store::run_dir::modified;
use inferometer_store::stored::{Stored, newest_first, places};
use inferometer_store::whole_file;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long it is believed that a file is as it was written.
const CHECKED_FOR: Duration = Duration::from_secs(24 * 3600);

/// Files of a result that change when it does.
const CHANGING: [&str; 8] = [
    ".",
    "records/records.parquet",
    "summary.json",
    "ending.json",
    "trials.jsonl",
    "capacity.json",
    "probes.jsonl",
    "import.json",
];

/// The first line of the file: whose it is. Another version may read results otherwise.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    version: String,
    folder: PathBuf,
}

/// Every further line.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// Its path below the folder.
    place: PathBuf,
    /// When the files of the result were last changed.
    stamps: Vec<Option<i128>>,
    stored: Stored,
    known: KnownResult,
    /// When its files were last held against their hashes.
    checked: Option<SystemTime>,
}

impl Entry {
    fn read(folder: &Path, path: &Path) -> Option<Self> {
        // Before the files, so that a change meanwhile is seen the next time.
        let stamps = stamps(path);
        let stored = Stored::at(path)?;
        let place = path.strip_prefix(folder).ok()?.to_owned();
        Some(Entry {
            stamps,
            known: KnownResult {
                name: place.to_string_lossy().into_owned(),
                ..known(&stored)
            },
            place,
            stored,
            checked: None,
        })
    }
}

/// Reads results, many of them on all cores.
fn read_all(folder: &Path, paths: &[PathBuf]) -> HashMap<PathBuf, Entry> {
    /// So many are read in less time than a thread takes to start.
    const FEW: usize = 32;
    let read = |paths: &[PathBuf]| -> Vec<(PathBuf, Entry)> {
        let entries = paths.iter();
        let entries = entries.filter_map(|path| Some((path.clone(), Entry::read(folder, path)?)));
        entries.collect()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = paths.len().div_ceil(cores).max(FEW);
    std::thread::scope(|scope| {
        let shares = paths.chunks(share).map(|paths| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, move || read(paths));
            (thread, paths)
        });
        let shares: Vec<_> = shares.collect();
        let read = shares.into_iter().flat_map(|(thread, paths)| match thread {
            Ok(thread) => thread.join().unwrap_or_default(),
            Err(_) => read(paths),
        });
        read.collect()
    })
}

fn stamps(path: &Path) -> Vec<Option<i128>> {
    let files = CHANGING.iter().map(|name| modified(&path.join(name)));
    files.collect()
}

/// Writes what [`Index::unkept`] gave; it is no harm if that fails.
pub fn keep((file, text): (PathBuf, String)) {
    let place = file.parent().map(std::fs::create_dir_all);
    if matches!(place, Some(Ok(()))) {
        let _ = whole_file::replace(&file, text.as_bytes());
    }
}

pub struct Index {
    folder: PathBuf,
    head: Head,
    /// Where it is kept, on a host with a home.
    file: Option<PathBuf>,
    /// Read when the first list is asked for.
    entries: Option<HashMap<PathBuf, Entry>>,
    /// Results with an end that were read since the file was written.
    unkept: usize,
}

impl Index {
    /// The index of a folder, with what the last one left in the user's cache.
    pub fn of(folder: &Path, cache: Option<PathBuf>) -> Self {
        let head = Head {
            version: env!("VERSION_AND_COMMIT").to_owned(),
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
        };
        let mut hasher = DefaultHasher::new();
        head.folder.hash(&mut hasher);
        let name = format!("{:016x}.jsonl", hasher.finish());
        let file = cache.map(|cache| cache.join("lists").join(name));
        Index {
            entries: None,
            folder: folder.to_owned(),
            head,
            file,
            unkept: 0,
        }
    }

    /// All results of the folder, the newest first. A folder that vanishes has none.
    pub fn listed(&mut self) -> Vec<KnownResult> {
        let mut before = self.entries.take().unwrap_or_else(|| self.kept());
        let is_result = |path: &Path| before.contains_key(path) || Stored::is_at(path);
        let paths = places(&self.folder, is_result).unwrap_or_default();
        let (mut entries, mut unread) = (HashMap::new(), Vec::new());
        for path in paths {
            match before.remove(&path) {
                Some(entry) if entry.known.is_final() && entry.stamps == stamps(&path) => {
                    entries.insert(path, entry);
                }
                _ => unread.push(path),
            }
        }
        let read = read_all(&self.folder, &unread);
        self.unkept += read.values().filter(|it| it.known.is_final()).count();
        entries.extend(read);
        let stored = entries.values().map(|entry| entry.stored.clone()).collect();
        let listed = newest_first(stored).into_iter();
        let results = listed.map(|it| entries[&it.path].known.clone()).collect();
        self.entries = Some(entries);
        results
    }

    /// The newest result whose files were not held against their hashes of late; none while
    /// something is measured, which must not be disturbed.
    pub fn unchecked(&self) -> Option<PathBuf> {
        let entries = self.entries.iter().flat_map(HashMap::values);
        let is_old = |it: &&Entry| {
            let age = it.checked.map(|then| then.elapsed().unwrap_or_default());
            it.known.is_final() && age.is_none_or(|age| age > CHECKED_FOR)
        };
        if (entries.clone()).any(|it| it.known.state == RunState::Running) {
            return None;
        }
        let newest = entries.filter(is_old).max_by_key(|it| &it.known.started)?;
        Some(newest.stored.path.clone())
    }

    /// What that found: its files are as they were written.
    pub fn mark_whole(&mut self, path: &Path) {
        let Some(entry) = self.checked(path) else {
            return;
        };
        if entry.known.state == RunState::Damaged {
            // It was restored: it is read again.
            entry.stamps.clear();
        }
    }

    /// What that found: they are not.
    pub fn mark_damaged(&mut self, path: &Path) {
        if let Some(entry) = self.checked(path) {
            entry.known.mark_damaged();
        }
    }

    fn checked(&mut self, path: &Path) -> Option<&mut Entry> {
        let entry = self.entries.as_mut()?.get_mut(path)?;
        entry.checked = Some(SystemTime::now());
        self.unkept += 1;
        Some(entry)
    }

    /// The file to write for the next start and what it is to hold, if that is worth it: a long
    /// list is not written again for every new result.
    pub fn unkept(&mut self) -> Option<(PathBuf, String)> {
        let (file, entries) = (self.file.clone()?, self.entries.as_ref()?);
        if self.unkept <= entries.len() / 100 {
            return None;
        }
        let head = serde_json::to_string(&self.head).into_iter();
        let entries = entries.values().filter(|entry| entry.known.is_final());
        let entries = entries.filter_map(|entry| serde_json::to_string(entry).ok());
        let text = head.chain(entries).map(|line| line + "\n").collect();
        self.unkept = 0;
        Some((file, text))
    }

    /// What the last one has left; lines that cannot be read are left out.
    fn kept(&self) -> HashMap<PathBuf, Entry> {
        let read = || {
            let file = self.file.as_ref()?;
            let is_file = file.symlink_metadata().is_ok_and(|it| it.is_file());
            let mut lines = BufReader::new(is_file.then(|| File::open(file).ok())??).lines();
            let head: Head = serde_json::from_str(&lines.next()?.ok()?).ok()?;
            (head == self.head).then_some(lines)
        };
        let lines = read().into_iter().flatten().map_while(Result::ok);
        let entries = lines.filter_map(|line| serde_json::from_str::<Entry>(&line).ok());
        let entries = entries.map(|mut entry| {
            // The folder may be named in another way today.
            let path = self.folder.join(&entry.place);
            entry.stored.path.clone_from(&path);
            entry.known.path.clone_from(&path);
            (path, entry)
        });
        entries.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with imports, which need one file only.
    fn imports(folder: &Path, names: &[&str]) {
        for name in names {
            std::fs::create_dir_all(folder.join(name)).unwrap();
            std::fs::write(folder.join(name).join("import.json"), "{}").unwrap();
        }
    }

    fn names(index: &mut Index) -> Vec<String> {
        let mut names: Vec<String> = index.listed().into_iter().map(|it| it.name).collect();
        names.sort();
        names
    }

    /// What it has read is there at the next start.
    fn closed(mut index: Index) {
        index.listed();
        keep(index.unkept().unwrap());
    }

    fn lines(cache: &Path) -> Vec<String> {
        let files = std::fs::read_dir(cache.join("lists")).unwrap();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let text: String = texts.collect();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_was_read_is_not_read_again_at_the_next_start() {
        let place = tempfile::tempdir().unwrap();
        let (folder, cache) = (place.path().join("kept"), place.path().join("cache"));
        imports(&folder, &["a", "b"]);
        let open = || Index::of(&folder, Some(cache.clone()));
        closed(open());
        assert_eq!(lines(&cache).len(), 3);
        // What the file says is believed, as long as the result did not change.
        let mut index = open();
        let mut kept = index.kept();
        for entry in kept.values_mut() {
            entry.known.label = Some("from the file".to_owned());
        }
        (index.entries, index.unkept) = (Some(kept), 2);
        keep(index.unkept().unwrap());
        let labels = |index: &mut Index| -> Vec<Option<String>> {
            let listed = index.listed().into_iter();
            let mut found: Vec<_> = listed.map(|it| (it.name, it.label)).collect();
            found.sort();
            found.into_iter().map(|(_, label)| label).collect()
        };
        let kept = Some("from the file".to_owned());
        assert_eq!(labels(&mut open()), [kept.clone(), kept.clone()]);
        // One that changed, one that vanished and one that came.
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        let changed = File::options()
            .append(true)
            .open(folder.join("a/import.json"));
        changed.unwrap().set_modified(later).unwrap();
        assert_eq!(labels(&mut open()), [None, kept]);
        std::fs::remove_dir_all(folder.join("b")).unwrap();
        imports(&folder, &["c"]);
        assert_eq!(names(&mut open()), ["a", "c"]);
    }

    #[test]
    fn what_is_damaged_is_marked_and_read_again_once_it_is_restored() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("kept");
        std::fs::create_dir_all(folder.join("a")).unwrap();
        let import = serde_json::json!({
            "schema": "inferometer.import/1", "source": "notes.md",
            "imported": "2026-11-18T00:00:00Z", "results": [], "unread": [],
        });
        std::fs::write(folder.join("a/import.json"), import.to_string()).unwrap();
        let state = |index: &mut Index| index.listed()[0].state;
        let mut index = Index::of(&folder, None);
        assert_eq!(state(&mut index), RunState::Foreign);
        let path = index.unchecked().unwrap();
        index.mark_damaged(&path);
        assert_eq!(state(&mut index), RunState::Damaged);
        assert_eq!(index.unchecked(), None, "it was looked at just now");
        index.mark_whole(&path);
        assert_eq!(state(&mut index), RunState::Foreign);
    }

    #[test]
    fn a_file_that_is_damaged_or_of_another_version_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let (folder, cache) = (place.path().join("kept"), place.path().join("cache"));
        imports(&folder, &["a", "b"]);
        let open = || Index::of(&folder, Some(cache.clone()));
        closed(open());
        let file = open().file.unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        let other = whole.replacen("\"version\":\"", "\"version\":\"0", 1);
        for damaged in ["", "{", &whole[..whole.len() / 2], &other, "\0\n\n"] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(names(&mut open()), ["a", "b"]);
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert_eq!(names(&mut open()), ["a", "b"]);
        assert_eq!(names(&mut Index::of(&folder, None)), ["a", "b"]);
    }
}
