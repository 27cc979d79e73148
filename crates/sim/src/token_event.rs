//! What one event of a streamed answer tells, whatever the form in which it is written.

use std::{io::Write as _, time::Duration};

use serde_json::json;

use crate::{engine::Finish, media::MediaTokens};

/// The field of a chunk that holds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Answer,
    /// `delta.reasoning_content` of a chat.
    Reasoning,
    /// The name of a tool that is called.
    CallName,
    /// Its arguments, piece by piece.
    CallArguments,
}

pub(crate) struct TokenEvent<'a> {
    /// Free of characters that JSON escapes.
    pub(crate) text: &'a [u8],
    pub(crate) channel: Channel,
    pub(crate) finish: Option<Finish>,
    /// Where the chunk tells usage.
    pub(crate) usage: Option<Usage<'a>>,
    /// Where the form of the answer wants it.
    pub(crate) progress: Option<AnswerProgress<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerProgress<'a> {
    pub(crate) ids: &'a [u32],
    /// The text so far, the event's included.
    pub(crate) so_far: &'a [u8],
    pub(crate) generated: u32,
    /// Since the event before it, or since the request came.
    pub(crate) took: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage<'a> {
    pub(crate) output: u32,
    /// Prompt tokens found in the prefix cache, where there were any.
    pub(crate) cached: u32,
    /// How often the engine threw the request back.
    pub(crate) preemptions: u32,
    pub(crate) per_token: Option<&'a PerToken>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PerToken {
    /// Sequences in the batch that made it.
    pub(crate) batch_size: Vec<u32>,
    /// Microseconds in the queue before it.
    pub(crate) queue_wait_us: Vec<u64>,
}

impl Usage<'_> {
    /// Output tokens, and nothing else to tell.
    pub(crate) fn of(output: u32) -> Usage<'static> {
        Usage {
            output,
            cached: 0,
            preemptions: 0,
            per_token: None,
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>, prompt: u32, media: MediaTokens) {
        let output = self.output;
        let total = prompt.saturating_add(output);
        put(
            out,
            format_args!(
                "{{\"prompt_tokens\":{prompt},\"total_tokens\":{total},\
                 \"completion_tokens\":{output}"
            ),
        );
        let cached = self.cached;
        if cached > 0 || media.all() > 0 {
            put(
                out,
                format_args!(",\"prompt_tokens_details\":{{\"cached_tokens\":{cached}"),
            );
            for (name, tokens) in media.named() {
                put(out, format_args!(",\"{name}\":{tokens}"));
            }
            out.push(b'}');
        }
        if let Some(per_token) = self.per_token {
            let sizes = json!(per_token.batch_size);
            let waits = json!(per_token.queue_wait_us);
            put(
                out,
                format_args!(",\"batch_size\":{sizes},\"queue_wait_time\":{waits}"),
            );
        }
        out.push(b'}');
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to memory cannot fail");
}
