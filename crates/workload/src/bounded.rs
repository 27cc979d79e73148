//! Files of the user that ought to be small.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The bytes of a file; absent if it has more than `most`, of which no more are read.
pub(crate) fn read_at_most(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= most))
}
