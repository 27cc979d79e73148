//! What is sent: prompts by index and seed, and the lengths of their answers.
//!
//! A source of prompts is one file that implements [`Prompts`] and one line in [`open`].

mod fixed;
mod lines;
mod nonce;
mod output;
mod synthetic;
mod words;

pub use fixed::Fixed;
pub use lines::Lines;
pub use nonce::{BadNonce, Nonce};
pub use output::OutputLengths;
pub use synthetic::Synthetic;

use inferometer_core::scenario::PromptSource;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Prompts by index. The same index gives the same prompt, whoever asks and in any order.
pub trait Prompts: Send + Sync {
    /// The prompt of request `index`.
    fn prompt(&self, index: u64) -> Prompt;

    /// Number of distinct prompts; absent if every index has its own.
    fn distinct(&self) -> Option<u64>;
}

/// One prompt and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What is sent.
    pub text: Arc<str>,
    /// Its length in tokens, where it was made to have one.
    pub input_tokens: Option<u32>,
    /// Its length in characters.
    pub chars: u64,
    /// Output tokens to ask for, where the data says so.
    pub output_tokens: Option<u32>,
}

impl Prompt {
    /// A text of which nothing else is known.
    fn of_text(text: Arc<str>) -> Self {
        Prompt {
            chars: text.chars().count() as u64,
            text,
            input_tokens: None,
            output_tokens: None,
        }
    }
}

/// Why prompts cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The file cannot be read.
    #[error(
        "cannot read the prompts of --data {path}: {source}; check the path and its permissions"
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is not text.
    #[error("line {line} of {path} is not UTF-8 text; convert the file to UTF-8 (see iconv)")]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first bad line, counted from 1.
        line: u64,
    },
    /// The file holds no prompt.
    #[error("{path} holds no prompt; give a file with at least one line of text")]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// Opens a source of prompts. The nonce makes synthetic prompts new and leaves others alone.
pub fn open(
    source: &PromptSource,
    seed: u64,
    nonce: Option<Nonce>,
) -> Result<Box<dyn Prompts>, WorkloadError> {
    Ok(match source {
        PromptSource::Text(text) => Box::new(Fixed::new(text)),
        PromptSource::Lines(path) => Box::new(Lines::open(path)?),
        PromptSource::Synthetic(spec) => Box::new(Synthetic::new(*spec, seed, nonce)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::length::LengthSpec;

    #[test]
    fn every_source_opens_to_its_prompts() {
        let text = open(&PromptSource::Text("Hello".into()), 0, None).unwrap();
        assert_eq!(&*text.prompt(3).text, "Hello");
        let words = open(&PromptSource::Synthetic(LengthSpec::Fixed(7)), 0, None).unwrap();
        assert_eq!(words.prompt(3).input_tokens, Some(7));
        let missing = open(&PromptSource::Lines("/no/such/file".into()), 0, None);
        let message = missing.err().unwrap().to_string();
        assert!(message.contains("/no/such/file"), "{message}");
    }
}
