//! Files that a user names and that ought to be small: settings, studies, keys, certificates. They
//! may be pipes, as `<(…)` makes them; a device without end must not fill the memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// More than any such file has.
const MOST: u64 = 64 << 20;

/// The bytes of a file; absent if it has more than `most`, of which no more are read.
pub fn read_at_most(path: impl AsRef<Path>, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= most))
}

pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let why = "it has more than 64 MiB, which no such file has";
    read_at_most(path, MOST)?.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, why))
}

pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let text = String::from_utf8(read(path)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}
