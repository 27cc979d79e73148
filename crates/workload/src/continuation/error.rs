//! Why a text cannot be continued.

use std::io;
use std::path::PathBuf;

/// Longest template that is read, in bytes.
pub(super) const LONGEST_TEMPLATE: u64 = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ContinuationError {
    #[error("cannot read --template {path}: {source}; check the path and its permissions")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("--template {path} is longer than {} MiB; give a file with a few lines of text", LONGEST_TEMPLATE >> 20)]
    TooLong { path: PathBuf },
    #[error("--template {path} is not UTF-8 text; convert the file to UTF-8 (see iconv)")]
    NotText { path: PathBuf },
    /// The template lacks a place to fill.
    #[error(
        "--template {path} does not contain {placeholder}; write it where {stands} should stand"
    )]
    Missing {
        path: PathBuf,
        placeholder: &'static str,
        stands: &'static str,
    },
    #[error(
        "pieces of {0} tokens need a tokenizer; give --tokenizer FILE, DIR, cl100k, o200k or bytes, or their length in characters such as {0}chars"
    )]
    TokensWithoutTokenizer(u32),
    #[error("there is no text to continue; give a text file that is not empty")]
    NoPieces,
}
