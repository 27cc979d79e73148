//! A byte is a token: the last resort, where no tokenizer is known.

use super::Tokenizer;

#[derive(Clone, Copy, Debug, Default)]
pub struct Bytes;

impl Tokenizer for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len()).unwrap_or(u32::MAX)
    }

    fn digest(&self) -> u64 {
        0
    }
}
