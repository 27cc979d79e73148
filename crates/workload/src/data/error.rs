//! Why a data set cannot be had, and what is wrong with a row.

use super::media_kind::MediaKind;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file cannot be opened, or not to its end.
    #[error(
        "cannot read the data of {path}: {source}; check the path, its permissions and that the file is whole"
    )]
    Unreadable {
        path: PathBuf,
        /// What the system or the unpacker says.
        source: io::Error,
    },
    /// A row is bad and bad rows are not to be skipped.
    #[error(
        "line {line} of {path} is a bad row: {fault}; correct it, or go on without such rows with --skip-bad"
    )]
    BadRow {
        path: PathBuf,
        /// The line where the row begins, counted from 1.
        line: u64,
        fault: Fault,
    },
    /// JSON in which nothing looks like a prompt.
    #[error(
        "cannot tell what holds the prompt in {path}: its rows have {keys}; name the field with --field {likely}, or the format with --data-format"
    )]
    UnknownKeys {
        path: PathBuf,
        /// The fields of the first row.
        keys: String,
        /// The one that may be meant.
        likely: String,
    },
    /// A row names a file that is not there, or that is not what it should be.
    #[error(
        "line {line} names the {kind} {path}, which cannot be sent: {why}; paths are meant from the folder of the data"
    )]
    NoMedia {
        line: u64,
        kind: MediaKind,
        path: PathBuf,
        why: io::Error,
    },
    #[error(
        "line {line} has {count} sounds, and --api transcriptions sends one with each request; name a file in the column audio, or choose rows with --filter or --limit"
    )]
    NotOneSound { line: u64, count: usize },
    #[error(
        "line {line} names its sound by a URL, which --api transcriptions cannot send; download it, and name the file"
    )]
    SoundElsewhere { line: u64 },
    #[error("{path} is empty; give a file with at least one row")]
    Empty { path: PathBuf },
    /// There are rows, but none is left to send.
    #[error("no row of {path} can be used: of {seen}, {why}; choose other limits, or other data")]
    NothingLeft {
        path: PathBuf,
        /// Rows that were looked at.
        seen: u64,
        /// How many fell to what.
        why: String,
    },
    /// Tokens are asked for and nothing can count them.
    #[error("{asked} counts tokens; name a tokenizer, such as --tokenizer cl100k")]
    NoTokenizer { asked: String },
    /// Shuffling would undo the times of a trace.
    #[error("{path} is a trace, which is replayed in its order; leave out --shuffle")]
    ShuffledTrace { path: PathBuf },
    /// Requests of a session that wait for each other.
    #[error(
        "{path} has a session whose requests wait for each other in a circle, that of line {line} among them; each must wait for earlier ones only"
    )]
    Circle {
        path: PathBuf,
        /// The line where one of them begins.
        line: u64,
    },
    /// More rows than can be held, all of which are to be put into another order.
    #[error(
        "{path} is too large to be shuffled as a whole; take its first rows with --limit, or leave out --shuffle"
    )]
    TooLargeToShuffle { path: PathBuf },
    #[error(
        "{path} is read as a text to be cut into pieces; say how long with --max-prompt, such as 512 or 2000chars"
    )]
    NoPieceLength { path: PathBuf },
    #[error("line {line} of {path} is not UTF-8 text; convert the file to UTF-8 (see iconv)")]
    NotText {
        path: PathBuf,
        /// The first bad line, counted from 1.
        line: u64,
    },
    #[error(
        "line {line} of the data holds lengths and no prompt; a trace cannot be mixed with prompts"
    )]
    LengthsOnly {
        /// The line where the row begins.
        line: u64,
    },
}

impl DataError {
    pub(super) fn unreadable(path: &Path, source: io::Error) -> Self {
        DataError::Unreadable {
            path: path.to_owned(),
            source,
        }
    }
}

/// Bytes of rows that are kept at most.
pub(super) const KEPT_BYTES: usize = 512 << 20;
/// Longest row that is held in memory, in bytes.
pub const LONGEST_ROW: usize = 32 << 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Longer than what is held in memory.
    #[error("it is longer than {} MiB", LONGEST_ROW >> 20)]
    TooLong,
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("the file ends in the middle of it")]
    CutOff,
    /// Something follows a JSON array.
    #[error("it comes after the end of the JSON array")]
    AfterEnd,
    /// Not JSON, or not of the right form.
    #[error("its JSON does not fit: {0}")]
    Json(String),
    #[error("it has no field '{field}' but {found}; see --field")]
    NoField { field: String, found: String },
    #[error("its field '{field}' should be {wanted}")]
    WrongType { field: String, wanted: &'static str },
    /// JSON that is neither messages nor a request.
    #[error("it holds neither messages nor a prompt but {found}; see --field")]
    NoPrompt { found: String },
    #[error("the header has no column '{0}'")]
    NoColumn(&'static str),
    /// A row with fewer fields than the header.
    #[error("it has no value in column '{0}'")]
    NoValue(&'static str),
    /// A time that cannot be read.
    #[error("'{0}' is not a time")]
    NoTime(String),
    /// A trace that goes back in time.
    #[error("it is earlier than the row before; sort the trace")]
    Backwards,
    #[error("its prompt has no tokens")]
    NoTokens,
    /// A log that goes back by more than requests overtake each other.
    #[error(
        "the log goes back by {seconds} s here: a clock was set, or logs were put together; sort it, or cut it there"
    )]
    ClockJump { seconds: u64 },
    #[error("it ends before it begins: a clock was set meanwhile")]
    EndsBeforeStart,
}

/// Names of fields for a message: printable, and not too many.
pub(super) fn listed<'a>(keys: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let mut names: Vec<String> = keys
        .take(SHOWN + 1)
        .map(|key| format!("'{}'", inferometer_text::hostile::printable(key, 40)))
        .collect();
    if names.is_empty() {
        return "no fields".to_owned();
    }
    if names.len() > SHOWN {
        names[SHOWN] = "…".to_owned();
    }
    names.join(", ")
}
