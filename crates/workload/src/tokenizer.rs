//! Tokenizers: how many tokens a text has, and which.
//!
//! They work before a run, on threads of their own, and never where answers are received.

mod bytes;
mod cache;
mod chat_template;
mod count_all;
mod hugging_face;
mod tiktoken;

pub use bytes::Bytes;
pub use cache::CountCache;
pub use count_all::count_all;
pub use hugging_face::HuggingFace;
pub use tiktoken::Tiktoken;

use inferometer_core::work::TokenizerName;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Counts and names the tokens of a text.
pub trait Tokenizer: Send + Sync {
    /// Name for people: `cl100k`, `bytes`, or the file.
    fn name(&self) -> &str;

    /// The tokens of a text, without any that a model adds around it.
    fn encode(&self, text: &str) -> Vec<u32>;

    fn count(&self, text: &str) -> u32 {
        u32::try_from(self.encode(text).len()).unwrap_or(u32::MAX)
    }

    /// Tokens that the model's chat template puts around a single message of a user; absent
    /// if there is no template.
    fn template_tokens(&self) -> Option<u32> {
        None
    }

    /// Stands for everything that decides how a text is cut: equal digests, equal counts.
    fn digest(&self) -> u64;
}

#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file is missing or cannot be read.
    #[error(
        "cannot read the tokenizer {path}: {source}; give a tokenizer.json, a model folder, cl100k, o200k or bytes"
    )]
    Unreadable { path: PathBuf, source: io::Error },
    /// A folder without the file that is needed.
    #[error(
        "{folder} holds no tokenizer.json; give a model folder that holds one, a tokenizer.json, cl100k, o200k or bytes"
    )]
    NoTokenizer { folder: PathBuf },
    /// A folder, or a file, of a tokenizer of another kind.
    #[error(
        "{path} is a SentencePiece tokenizer, which is not supported; convert it to a tokenizer.json (transformers: AutoTokenizer.from_pretrained(…).save_pretrained(…)) or use cl100k"
    )]
    SentencePiece {
        /// The `tokenizer.model`.
        path: PathBuf,
    },
    /// A file that stands for one that was not downloaded.
    #[error("{path} is a Git LFS pointer, not the file itself; fetch it with git lfs pull")]
    Pointer { path: PathBuf },
    /// A template that doubles its text or a list, and again.
    #[error(
        "the chat template in {folder} makes more than 256 MB of one short message, or takes more than 5 s for it; download it again, or give the tokenizer.json alone, in another folder"
    )]
    EndlessTemplate { folder: PathBuf },
    /// It cannot be stopped: the process must end soon.
    #[error(
        "{path} makes ever more of a short text, by its normalizer, its pattern or what it puts around a text; download it again or use cl100k"
    )]
    Endless { path: PathBuf },
    /// The file is not what it should be.
    #[error("{path} is not a usable tokenizer.json: {reason}; download it again or use cl100k")]
    Damaged { path: PathBuf, reason: String },
}

/// The number of tokens of each text, from disk where the same were counted before.
pub(crate) fn counts(
    texts: &[impl AsRef<str> + Sync],
    tokenizer: &dyn Tokenizer,
    cache: Option<&CountCache>,
) -> Vec<u32> {
    match cache {
        Some(cache) => cache.counts(texts, tokenizer),
        None => count_all(texts, tokenizer),
    }
}

/// A file that the cache knows is read when a text is not in the cache.
pub fn open(
    name: &TokenizerName,
    cache: Option<&CountCache>,
) -> Result<Arc<dyn Tokenizer>, TokenizerError> {
    Ok(match name {
        TokenizerName::Cl100k => Arc::new(Tiktoken::cl100k()),
        TokenizerName::O200k => Arc::new(Tiktoken::o200k()),
        TokenizerName::Bytes => Arc::new(Bytes),
        TokenizerName::At(place) => Arc::new(HuggingFace::open(place, cache)?),
    })
}
