//! The step log: what every step was made of.

use serde::{Deserialize, Serialize};

use super::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// When it began, ns since the engine's start.
    pub at_ns: Nanos,
    /// How long it takes, ns.
    pub duration_ns: Nanos,
    pub batch: u32,
    /// Prompt tokens, those computed again after a preemption included.
    pub prefill_tokens: u32,
    pub decode_tokens: u32,
    /// Sequences in the batch, those without a part in this step included.
    pub running: u32,
    pub waiting: u32,
    pub blocks_used: u32,
    pub preemptions: u32,
}
