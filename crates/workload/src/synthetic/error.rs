//! Why synthetic prompts cannot be made.

use crate::length_sampler::LengthError;
use inferometer_core::work::Language;

/// More prefix groups are refused: no cache holds as many.
pub(super) const MOST_GROUPS: u32 = 10_000_000;

#[derive(Debug, thiserror::Error)]
pub enum SyntheticError {
    #[error(transparent)]
    Length(#[from] LengthError),
    /// Words of this language have no length that is the same for all tokenizers.
    #[error(
        "words in {0} have a known length only with a tokenizer; give --tokenizer FILE, DIR, cl100k, o200k or bytes"
    )]
    LanguageWithoutTokenizer(Language),
    /// Ids without a tokenizer that names them.
    #[error(
        "--as-token-ids needs the model's tokenizer; give --tokenizer with its tokenizer.json or folder"
    )]
    IdsWithoutTokenizer,
    /// No prompt is longer than the shared beginning.
    #[error(
        "--prefix-tokens {prefix} leaves no room in prompts of at most {longest} tokens; give a shorter prefix or longer --input-tokens"
    )]
    PrefixTooLong {
        /// Tokens of the shared beginning.
        prefix: u32,
        /// Tokens of the longest prompt.
        longest: u32,
    },
    #[error("--prefix-groups {0} is impossible; give a number from 1 to {MOST_GROUPS}")]
    Groups(u32),
    #[error("the trace holds no request; give one with at least one row, or a wider window")]
    NoRows,
}
