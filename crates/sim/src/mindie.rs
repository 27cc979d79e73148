//! MindIE's own endpoints beside OpenAI's: what they are asked and how they answer.
//!
//! Forms and names are read from its published server (MindIE-LLM, `src/server/endpoint`); none
//! was seen running. Ours, for lack of a source: the refusal of a prompt that is too long, that of
//! an unknown model in a path, and `ignore_eos`, which the real one reads in vLLM's form alone but
//! which exact lengths need in all. Triton's token endpoint is not here.

mod answer;
mod endpoint;

pub(crate) use answer::{AnswerContext, MindieOptions};
pub(crate) use endpoint::{Endpoint, model_and_verb};
