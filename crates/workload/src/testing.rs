//! What tests of several modules need.

use crate::{Content, Prompt};
use std::io::Write;
use tempfile::NamedTempFile;

pub(crate) fn text(prompt: &Prompt) -> &str {
    match &prompt.content {
        Content::Text(text) => text,
        other => panic!("no text: {other:?}"),
    }
}

pub(crate) fn file(content: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content.as_ref()).unwrap();
    file
}
