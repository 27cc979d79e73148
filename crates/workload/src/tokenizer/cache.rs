//! Counts kept on disk, so that a data set is tokenized once.
//!
//! An entry is a file named after a hash of the texts and the tokenizer. It holds a header and
//! a little-endian `u32` for each text. An entry that is not whole is counted again, and a
//! folder that cannot be written costs time and nothing else.

use super::{Tokenizer, count_all};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: [u8; 8] = *b"IFMCOUNT";
/// Changes with the form of a file, and with any change in how a tokenizer cuts.
const VERSION: u32 = 1;
/// Magic, version, number of counts, key, checksum of the counts.
const HEADER_BYTES: usize = 8 + 4 + 8 + 16 + 8;
const EXTENSION: &str = "counts";
/// What the folder may hold before the oldest entries go.
const MOST_BYTES: u64 = 256 << 20;

/// Counts of tokens in a folder.
#[derive(Clone, Debug)]
pub struct CountCache {
    folder: PathBuf,
    most_bytes: u64,
}

impl CountCache {
    /// A cache in a folder, which is made when there is something to keep.
    pub fn at(folder: PathBuf) -> Self {
        CountCache {
            folder,
            most_bytes: MOST_BYTES,
        }
    }

    /// Whether this text was counted before with a tokenizer of this digest.
    pub(super) fn knows(&self, text: &str, digest: u64) -> bool {
        let key = key(&[text], digest);
        read(&self.file(key), key, 1).is_some()
    }

    /// The number of tokens of each text, from disk where the same texts were counted before.
    pub fn counts(&self, texts: &[impl AsRef<str> + Sync], tokenizer: &dyn Tokenizer) -> Vec<u32> {
        let key = key(texts, tokenizer.digest());
        let file = self.file(key);
        if let Some(counts) = read(&file, key, texts.len()) {
            return counts;
        }
        let counts = count_all(texts, tokenizer);
        // A cache that cannot be written is not a failure: the counts are known.
        if self.write(&file, key, &counts).is_ok() {
            let _ = self.prune(&file);
        }
        counts
    }

    fn file(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}.{EXTENSION}"))
    }

    /// Writes an entry that appears whole or not at all.
    fn write(&self, file: &Path, key: u128, counts: &[u32]) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.folder)?;
        // Named like an entry, so that what a killed process leaves behind is pruned, too.
        let unfinished = self.folder.join(format!(
            "{key:032x}-{}-{}.{EXTENSION}",
            process::id(),
            WRITTEN.fetch_add(1, Ordering::Relaxed)
        ));
        let written = File::create(&unfinished)
            .and_then(|mut out| out.write_all(&to_bytes(key, counts)))
            .and_then(|()| fs::rename(&unfinished, file));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// Removes the oldest entries, but never the given one, until the folder is small enough.
    fn prune(&self, newest: &Path) -> io::Result<()> {
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(&self.folder)?
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let path = entry.path();
                let metadata = entry.metadata().ok()?;
                let is_ours =
                    metadata.is_file() && path.extension().is_some_and(|it| it == EXTENSION);
                is_ours.then_some((metadata.modified().ok()?, metadata.len(), path))
            })
            .collect();
        entries.sort();
        let mut held: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in entries {
            if held <= self.most_bytes {
                break;
            }
            if path != newest && fs::remove_file(&path).is_ok() {
                held -= bytes;
            }
        }
        Ok(())
    }
}

/// Stands for the texts in their order and the tokenizer.
fn key(texts: &[impl AsRef<str>], digest: u64) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&digest.to_le_bytes());
    hash.update(&(texts.len() as u64).to_le_bytes());
    for text in texts {
        let text = text.as_ref();
        // Lengths, so that a text cut elsewhere is another key.
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.digest128()
}

fn header(key: u128, number: usize, counts: &[u8]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&(number as u64).to_le_bytes());
    header[20..36].copy_from_slice(&key.to_le_bytes());
    header[36..].copy_from_slice(&xxh3_64(counts).to_le_bytes());
    header
}

fn to_bytes(key: u128, counts: &[u32]) -> Vec<u8> {
    let body: Vec<u8> = counts
        .iter()
        .flat_map(|count| count.to_le_bytes())
        .collect();
    let mut bytes = header(key, counts.len(), &body).to_vec();
    bytes.extend(body);
    bytes
}

/// The counts of an entry; absent if there is none, or if it is anything but whole.
fn read(file: &Path, key: u128, number: usize) -> Option<Vec<u32>> {
    let expected = number.checked_mul(4)?.checked_add(HEADER_BYTES)?;
    let mut opened = File::open(file).ok()?;
    // The length is looked at first, so that a foreign file is never read into memory.
    let metadata = opened.metadata().ok()?;
    if !metadata.is_file() || metadata.len() != expected as u64 {
        return None;
    }
    let mut bytes = vec![0; expected];
    opened.read_exact(&mut bytes).ok()?;
    let (head, body) = bytes.split_at(HEADER_BYTES);
    let whole = head == header(key, number, body);
    whole.then(|| {
        body.chunks_exact(4)
            .map(|count| u32::from_le_bytes([count[0], count[1], count[2], count[3]]))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Counts characters, and how often it was asked to.
    struct Watched {
        digest: u64,
        asked: AtomicU64,
    }

    impl Watched {
        fn new(digest: u64) -> Self {
            Watched {
                digest,
                asked: AtomicU64::new(0),
            }
        }

        fn asked(&self) -> u64 {
            self.asked.swap(0, Ordering::Relaxed)
        }
    }

    impl Tokenizer for Watched {
        fn name(&self) -> &str {
            "watched"
        }

        fn encode(&self, text: &str) -> Vec<u32> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            text.chars().map(u32::from).collect()
        }

        fn digest(&self) -> u64 {
            self.digest
        }
    }

    fn entries(folder: &Path) -> Vec<PathBuf> {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("it can be listed").path())
            .collect();
        entries.sort();
        entries
    }

    #[test]
    fn the_same_texts_are_counted_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CountCache::at(folder.path().join("made/when/needed"));
        let tokenizer = Watched::new(1);
        let texts = ["one", "", "größer"];
        assert_eq!(cache.counts(&texts, &tokenizer), [3, 0, 6]);
        assert_eq!(tokenizer.asked(), 3);
        assert_eq!(cache.counts(&texts, &tokenizer), [3, 0, 6]);
        assert_eq!(tokenizer.asked(), 0);
        assert_eq!(entries(&folder.path().join("made/when/needed")).len(), 1);
    }

    #[test]
    fn other_texts_or_another_tokenizer_are_counted_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CountCache::at(folder.path().to_owned());
        let tokenizer = Watched::new(1);
        assert_eq!(cache.counts(&["ab", "c"], &tokenizer), [2, 1]);
        // The same characters, cut elsewhere.
        assert_eq!(cache.counts(&["a", "bc"], &tokenizer), [1, 2]);
        assert_eq!(cache.counts(&["abc"], &tokenizer), [3]);
        assert_eq!(tokenizer.asked(), 5);
        let other = Watched::new(2);
        assert_eq!(cache.counts(&["abc"], &other), [3]);
        assert_eq!(other.asked(), 1);
    }

    #[test]
    fn a_file_that_is_not_whole_is_counted_and_written_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CountCache::at(folder.path().to_owned());
        let tokenizer = Watched::new(1);
        let texts = ["one", "three"];
        cache.counts(&texts, &tokenizer);
        let file = entries(folder.path()).remove(0);
        let good = fs::read(&file).expect("an entry");

        let mut damages: Vec<Vec<u8>> = (0..good.len())
            .map(|place| {
                let mut damaged = good.clone();
                damaged[place] ^= 0x10;
                damaged
            })
            .collect();
        damages.extend((0..good.len()).map(|length| good[..length].to_vec()));
        damages.push([&good[..], b"more"].concat());
        for damaged in damages {
            tokenizer.asked();
            fs::write(&file, &damaged).expect("it can be written");
            assert_eq!(cache.counts(&texts, &tokenizer), [3, 5]);
            assert_eq!(tokenizer.asked(), 2);
            assert_eq!(fs::read(&file).expect("an entry"), good);
        }
        assert_eq!(entries(folder.path()), [file]);
    }

    #[test]
    fn a_folder_that_cannot_be_had_costs_only_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a file");
        fs::write(&file, "in the way").expect("it can be written");
        let tokenizer = Watched::new(1);
        let cache = CountCache::at(file);
        assert_eq!(cache.counts(&["abc"], &tokenizer), [3]);
        assert_eq!(cache.counts(&["abc"], &tokenizer), [3]);
        assert_eq!(tokenizer.asked(), 2);
    }

    #[test]
    fn the_oldest_entries_go_and_other_files_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CountCache {
            folder: folder.path().to_owned(),
            most_bytes: 2 * (HEADER_BYTES as u64 + 4),
        };
        let foreign = folder.path().join("notes.txt");
        fs::write(&foreign, vec![b'x'; 10_000]).expect("it can be written");
        let tokenizer = Watched::new(1);
        let now = SystemTime::now();
        for (text, age_s) in [("aaa", 30), ("bb", 20), ("c", 10)] {
            cache.counts(&[text], &tokenizer);
            let file = cache.file(key(&[text], tokenizer.digest()));
            File::options()
                .write(true)
                .open(file)
                .and_then(|file| file.set_modified(now - Duration::from_secs(age_s)))
                .expect("its time can be set");
        }
        tokenizer.asked();
        cache.counts(&["c"], &tokenizer);
        cache.counts(&["bb"], &tokenizer);
        assert_eq!(tokenizer.asked(), 0);
        cache.counts(&["aaa"], &tokenizer);
        assert_eq!(tokenizer.asked(), 1);
        assert!(foreign.exists());
    }
}
