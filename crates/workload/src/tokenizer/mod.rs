//! Tokenizers: how many tokens a text has, and which.
//!
//! They work before a run, on threads of their own, and never where answers are received.

mod bytes;

pub use bytes::Bytes;

/// Counts and names the tokens of a text.
pub trait Tokenizer: Send + Sync {
    /// Name for people: `cl100k`, `bytes`, or the file.
    fn name(&self) -> &str;

    /// The tokens of a text, without any that a model adds around it.
    fn encode(&self, text: &str) -> Vec<u32>;

    /// The number of tokens of a text.
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
