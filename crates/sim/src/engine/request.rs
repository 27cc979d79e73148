//! What goes into the engine and what comes out.

use serde::Serialize;
use thiserror::Error;

use super::{Nanos, blocks::block_hashes};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the caller; unique among the requests under way.
    pub id: u64,
    pub prompt_tokens: u32,
    pub output_tokens: u32,
    /// Hash of each full block from the beginning of the prompt, each covering all before it
    /// (see [`block_hashes`]); may go on into the answer where that is known. Without hashes
    /// the request shares nothing.
    pub hashes: Vec<u64>,
    /// Lower runs first, where the policy is by priority.
    pub priority: i32,
    /// Whether the answer ends by itself after `output_tokens`, or by its limit.
    pub stops: bool,
}

impl Request {
    /// A request that shares nothing with any other.
    pub fn new(id: u64, prompt_tokens: u32, output_tokens: u32) -> Request {
        Request {
            id,
            prompt_tokens,
            output_tokens,
            ..Request::default()
        }
    }

    /// A request with a known prompt, whose blocks may be found in the prefix cache.
    pub fn with_prompt(id: u64, prompt: &[u32], output_tokens: u32, block_size: u32) -> Request {
        Request {
            hashes: block_hashes(prompt, block_size),
            ..Request::new(
                id,
                u32::try_from(prompt.len()).unwrap_or(u32::MAX),
                output_tokens,
            )
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rejection {
    #[error("the prompt has {prompt} tokens and the engine takes {most} with their answer")]
    TooLong { prompt: u32, most: u32 },
    /// In MindIE's words.
    #[error(
        "This model's maximum input ids length cannot be greater than {most},the input ids length is {prompt}"
    )]
    InputTooLong { prompt: u32, most: u32 },
    /// No step can hold the prompt whole, and it may not be cut.
    #[error("the prompt has {prompt} tokens and a prefill takes {most}")]
    TooLongForStep { prompt: u32, most: u32 },
    #[error("the request needs {needed} blocks of the KV cache, which has {blocks}")]
    TooLargeForCache { needed: u32, blocks: u32 },
    #[error(
        "the request has {prompt} prompt tokens and asks for {output}; both must be at least 1"
    )]
    Empty { prompt: u32, output: u32 },
    #[error("the engine is dead")]
    Dead,
    #[error("a request with the id {id} is under way")]
    Duplicate { id: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    Stop,
    /// By its limit, or the engine's.
    Length,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub request: u64,
    /// When: for what leaves the server, the moment it leaves.
    pub at: Nanos,
    pub kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Left the queue for the first time.
    Started {
        /// Tokens of its prompt found in the prefix cache.
        cached_tokens: u32,
        /// When an API server set about it.
        accepted_at: Nanos,
        /// When the scheduler first saw it.
        queued_at: Nanos,
    },
    /// The engine has made tokens; the front end has them now.
    Made { tokens: u32 },
    /// A chunk leaves the server.
    Tokens {
        count: u32,
        /// Sequences in the batch that made the last of them.
        batch: u32,
        /// When an API server took the first and the last of them from the engine.
        picked_up: [Nanos; 2],
    },
    /// Its blocks were taken; it will be computed again.
    Preempted,
    /// Its last chunk has left.
    Finished { finish: Finish, preemptions: u32 },
}
