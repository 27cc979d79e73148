//! Small files that appear whole or not at all.

use crate::error::StorageError;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes a file under another name and renames it, so that it is whole or not there.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<(), StorageError> {
    let path = folder.join(name);
    let partial = folder.join(format!("{name}.partial"));
    let written = File::create(&partial)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&partial, &path));
    written.map_err(|error| {
        // Half a file helps nobody, and on a full disk its space does.
        let _ = fs::remove_file(&partial);
        StorageError::io("write", &path, error)
    })
}
