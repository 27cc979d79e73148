//! `SHA256SUMS`: hashes of the files that no longer change, so that a bit that flips on a disk
//! cannot change a figure unseen. `sha256sum -c SHA256SUMS` checks them as well.
//!
//! Folders of older versions have none, and are read without.

use crate::error::StorageError;
use crate::whole_file;
use ring::digest::{Context, SHA256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path};

const SUMS: &str = "SHA256SUMS";

/// Bytes that are hashed at once.
const PIECE: usize = 256 * 1024;

/// Hashes by the name of the file below its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<String, String>);

impl Sums {
    /// The hashes that a folder states; absent if it has none.
    pub fn of(folder: &Path) -> Result<Option<Self>, StorageError> {
        let path = folder.join(SUMS);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let text = String::from_utf8(whole_file::read(&path)?)
            .map_err(|_| StorageError::damaged(&path, "it is not UTF-8 text"))?;
        let pair = |line: &str| {
            let (sum, name) = line.split_once("  ")?;
            let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
            let mut parts = Path::new(name).components();
            let is_below = parts.all(|part| matches!(part, Component::Normal(_)));
            (is_sum && is_below).then(|| (name.to_owned(), sum.to_owned()))
        };
        let pairs: Option<BTreeMap<_, _>> = text.lines().map(pair).collect();
        match pairs {
            Some(pairs) => Ok(Some(Sums(pairs))),
            None => Err(StorageError::damaged(
                &path,
                "a line is not a SHA-256 and the name of a file",
            )),
        }
    }

    /// Hashes those of the files that are there, and stores the hashes.
    pub fn store(folder: &Path, names: &[&str]) -> Result<(), StorageError> {
        let mut sums = Sums::default();
        for name in names {
            let path = folder.join(name);
            if path.is_file() {
                sums.0.insert((*name).to_owned(), hash_of(&path)?);
            }
        }
        sums.write(folder)
    }

    /// Writes a file and, in a folder that states hashes, its hash. Whoever is killed in between
    /// leaves a file without a hash, never one with a wrong hash.
    pub fn write_file(folder: &Path, name: &str, text: &str) -> Result<(), StorageError> {
        let Some(mut sums) = Self::of(folder)? else {
            return whole_file::write(folder, name, text);
        };
        if sums.0.remove(name).is_some() {
            sums.write(folder)?;
        }
        whole_file::write(folder, name, text)?;
        sums.0.insert(name.to_owned(), hash(text.as_bytes()));
        sums.write(folder)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether the content of a file is what was written; true of a file without a hash.
    pub fn hold(&self, name: &str, content: &[u8]) -> bool {
        self.0.get(name).is_none_or(|sum| *sum == hash(content))
    }

    /// Whether a file that is written before all hashes has its own among them.
    pub fn require(&self, folder: &Path, name: &str) -> Result<(), StorageError> {
        if self.0.contains_key(name) {
            return Ok(());
        }
        let why = format!("it has no line for {name}");
        Err(StorageError::damaged(&folder.join(SUMS), why))
    }

    /// Reads a file of any size only to hash it.
    pub fn check(&self, folder: &Path, name: &str) -> Result<(), StorageError> {
        let path = folder.join(name);
        match self.0.get(name) {
            Some(sum) if *sum != hash_of(&path)? => Err(StorageError::Altered { path }),
            _ => Ok(()),
        }
    }

    fn write(&self, folder: &Path) -> Result<(), StorageError> {
        let lines = self.0.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
        whole_file::write(folder, SUMS, &lines.collect::<String>())
    }
}

fn hash(content: &[u8]) -> String {
    hex(ring::digest::digest(&SHA256, content).as_ref())
}

pub(crate) fn hash_of(path: &Path) -> Result<String, StorageError> {
    let failed = |error| StorageError::io("read", path, error);
    let mut file = whole_file::open(path)?;
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(hex(context.finish().as_ref())),
            Ok(count) => context.update(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
