//! What is sent: prompts by index and seed, and the lengths of their answers.
//!
//! A source of prompts is one file that implements [`Prompts`] and one arm in [`Opening::open`].

mod continuation;
pub mod data;
mod fixed;
mod length_sampler;
mod media;
mod nonce;
mod open;
mod output;
pub mod remote;
pub mod survey;
mod synthetic;
#[cfg(test)]
mod testing;
pub mod tokenizer;
mod weighted;

pub use continuation::{ContinuationError, Continued, Pieces};
pub use fixed::Fixed;
pub use length_sampler::{LengthError, PairSampler, Sampler};
pub use media::{Clip, Media, Sketch, mp4, png, wav};
pub use nonce::{BadNonce, Nonce};
pub use open::{Opening, Workload, WorkloadError};
pub use output::OutputLengths;
pub use synthetic::{Synthetic, SyntheticError, TracePrompts, TraceRow};

pub use inferometer_core::content::Content;

use inferometer_core::work::Follows;
use std::sync::Arc;

/// Prompts by session and turn. The same place gives the same prompt, whoever asks and in any
/// order.
pub trait Prompts: Send + Sync {
    /// Turns of a session; 1 where the work is not a conversation.
    fn turns(&self, _session: u64) -> u32 {
        1
    }

    /// When a turn is sent, where the work says it; absent: each after the one before.
    fn follows(&self, _session: u64, _turn: u32) -> Option<Follows> {
        None
    }

    /// What the user says in a turn of a session, both counted from 0.
    fn prompt(&self, session: u64, turn: u32) -> Prompt;

    /// The tokens of its answer, where the work says so; cheap where that is known without it.
    fn output_tokens(&self, session: u64, turn: u32) -> Option<u32> {
        self.prompt(session, turn).output_tokens
    }

    /// The answer that the data hold for that turn.
    fn answer(&self, _session: u64, _turn: u32) -> Option<Arc<str>> {
        None
    }

    /// What a right answer to that turn says.
    fn expected(&self, session: u64, turn: u32) -> Option<Arc<str>> {
        self.answer(session, turn)
    }

    /// Number of distinct sessions; absent if every number has its own.
    fn distinct(&self) -> Option<u64>;
}

/// One prompt and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub content: Content,
    /// Its length in tokens, where it was made to have one or was counted.
    pub input_tokens: Option<u32>,
    pub chars: u64,
    /// Output tokens to ask for, where the work says so.
    pub output_tokens: Option<u32>,
}

impl Prompt {
    /// A text of which nothing else is known.
    fn of_text(text: Arc<str>) -> Self {
        Prompt {
            chars: text.chars().count() as u64,
            content: Content::Text(text),
            input_tokens: None,
            output_tokens: None,
        }
    }
}
