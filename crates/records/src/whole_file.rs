//! Files that appear whole or not at all, and files of strangers, which may be no files.

use crate::error::StorageError;
use crate::form;
use inferometer_core::summed_json::{SumCheck, end_object};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Writes a small file of a folder.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<(), StorageError> {
    replace(&folder.join(name), text.as_bytes())
}

/// Writes an object as a small file with a checksum.
pub fn write_summed(folder: &Path, name: &str, value: &impl Serialize) -> Result<(), StorageError> {
    let path = folder.join(name);
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| StorageError::io("write", &path, error.into()))?;
    end_object(&mut text, 0);
    replace(&path, &text)
}

/// Reads such a file, or one of a version that wrote no checksum.
pub fn read_summed<T: DeserializeOwned>(path: &Path) -> Result<T, StorageError> {
    checked(path).map(|(value, _)| value)
}

/// Reads such a file only to find damage; whether it has a checksum.
pub fn verify(path: &Path) -> Result<bool, StorageError> {
    checked::<IgnoredAny>(path).map(|(_, check)| check.is_summed())
}

fn checked<T: DeserializeOwned>(path: &Path) -> Result<(T, SumCheck), StorageError> {
    let mut text = read(path)?;
    let mut check = SumCheck::default();
    if !check.passes(&mut text) {
        return Err(StorageError::damaged(path, "its checksum is wrong"));
    }
    form::check(path, &text)?;
    let value = serde_json::from_slice(&text);
    Ok((value.map_err(|e| StorageError::damaged(path, e))?, check))
}

/// The same as `write`, before a load that need not wait for the disk: the file is whole for whoever reads it,
/// and a moment later safe from a failure of the machine.
pub fn write_early(folder: &Path, name: &str, text: &str) -> Result<(), StorageError> {
    let file = place(&folder.join(name), |mut file| {
        file.write_all(text.as_bytes()).map(|()| file)
    })?;
    // Where there is no thread to be had, the system writes it when it likes.
    let _ = std::thread::Builder::new().spawn(move || file.sync_all());
    Ok(())
}

/// Writes a file beside its place and renames it. It is whole or not there, and a link that stands
/// in its place is replaced, never followed.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), StorageError> {
    place(path, |file| fill(file, content))
}

fn place<T>(path: &Path, fill: impl FnOnce(File) -> io::Result<T>) -> Result<T, StorageError> {
    let partial = partial(path);
    let written = fresh(&partial).and_then(|file| {
        let filled = fill(file)?;
        fs::rename(&partial, path).map(|()| filled)
    });
    written.map_err(|error| {
        // Half a file helps nobody, and on a full disk its space does.
        let _ = fs::remove_file(&partial);
        StorageError::io("write", path, error)
    })
}

/// Writes where the user said: a link is followed, and a device or a pipe is written to.
pub fn write_as_told(path: &Path, content: &[u8]) -> Result<(), StorageError> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            fs::write(path, content).map_err(|e| StorageError::io("write", path, e))
        }
        Ok(_) => replace(
            &path.canonicalize().unwrap_or_else(|_| path.to_owned()),
            content,
        ),
        Err(_) => replace(path, content),
    }
}

/// The name of a file until it is complete.
pub fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// A new file in place of whatever has its name.
pub fn fresh(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => File::create_new(path),
    }
}

fn fill(mut file: File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    file.sync_all()
}

/// Opens a file to read it. What is no regular file is refused: a pipe would be waited for, and a
/// link may lead anywhere.
pub fn open(path: &Path) -> Result<File, StorageError> {
    let failed = |error| StorageError::io("read", path, error);
    if !fs::symlink_metadata(path).map_err(failed)?.is_file() {
        return Err(StorageError::damaged(path, "it is not a regular file"));
    }
    File::open(path).map_err(failed)
}

/// More than any file has that is read at once: imports of 40,000 results have 100 MB.
const MOST_BYTES: u64 = 256 << 20;

/// What a file holds that is read at once, of at most 256 MiB.
pub fn read(path: &Path) -> Result<Vec<u8>, StorageError> {
    let file = open(path)?;
    // With its length in sight it is read at once, not in pieces that double.
    let length = file.metadata().map_or(0, |about| about.len());
    let mut bytes = Vec::with_capacity(length.min(MOST_BYTES) as usize + 1);
    let mut bounded = file.take(MOST_BYTES + 1);
    (bounded.read_to_end(&mut bytes)).map_err(|error| StorageError::io("read", path, error))?;
    if bytes.len() as u64 > MOST_BYTES {
        let most = format!("it is larger than {} MiB", MOST_BYTES >> 20);
        return Err(StorageError::damaged(path, most));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_said_with_its_remedy() {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let error = fill(full(), b"text").unwrap_err();
        let message = StorageError::io("write", Path::new("a"), error).to_string();
        assert!(message.contains("no space left"), "{message}");
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        replace(&path, b"old").unwrap();
        fs::create_dir(partial(&path)).unwrap();
        assert!(replace(&path, b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_unless_the_user_named_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["secret", "told"] {
            fs::write(at(name), "old").unwrap();
        }
        std::os::unix::fs::symlink(at("secret"), at("page")).unwrap();
        std::os::unix::fs::symlink(at("secret"), at("page.partial")).unwrap();
        replace(&at("page"), b"new").unwrap();
        assert_eq!(fs::read(at("secret")).unwrap(), b"old");
        assert!(!at("page").is_symlink());
        std::os::unix::fs::symlink(at("told"), at("link")).unwrap();
        write_as_told(&at("link"), b"new").unwrap();
        assert_eq!(fs::read(at("told")).unwrap(), b"new");
        assert!(at("link").is_symlink());
        write_as_told(Path::new("/dev/null"), b"new").unwrap();
    }
}
