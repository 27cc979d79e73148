//! What a prompt is in virtual time: tokens, as the simulated server counts them.

use inferometer_core::content::Content;
use inferometer_load::api;
use inferometer_sim::{media, prompt, word_ids};
use inferometer_workload::Sketch;
use serde_json::{Map, Value};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The tokens of a prompt. Words stand for them, unless the work has tokens.
pub fn asked(content: &Content) -> Vec<u32> {
    match content {
        Content::Text(text) => word_ids(text),
        Content::TokenIds(ids) => ids.to_vec(),
        Content::Messages(_) | Content::Body(_) | Content::Batch(_) => {
            counted(content).unwrap_or_default().0
        }
    }
}

/// How many images, sounds and videos a row has, and the tokens that stand for them.
pub fn media_of_row(content: &Content) -> (u32, u32) {
    match api::Prompt::from(content).media_count() {
        Some(count) => (count, counted(content).unwrap_or_default().1),
        None => (0, 0),
    }
}

/// Tokens of messages or of a body, and how many of them stand for media.
fn counted(content: &Content) -> Option<(Vec<u32>, u32)> {
    let body: Map<String, Value> = match content {
        Content::Messages(json) => {
            let messages: Value = serde_json::from_str(json).ok()?;
            Map::from_iter([("messages".to_owned(), messages)])
        }
        Content::Body(json) => serde_json::from_str(json).ok()?,
        Content::Text(_) | Content::TokenIds(_) | Content::Batch(_) => return None,
    };
    prompt::of_body(&body)
}

/// Tokens of a prompt that stand for a medium, as for the server.
pub fn tokens_of(sketch: &Sketch) -> u32 {
    match *sketch {
        Sketch::Image { size, .. } => media::of_pixels(size),
        Sketch::Video { clip, .. } => media::of_frames(clip.size, clip.frames),
        Sketch::Sound { seconds, .. } => media::of_seconds(f64::from(seconds)),
    }
}

/// How long the sounds last, where there are any.
pub fn seconds_of(sketches: &[Sketch]) -> Option<f64> {
    let seconds = |sketch: &Sketch| match sketch {
        Sketch::Sound { seconds, .. } => Some(f64::from(*seconds)),
        Sketch::Image { .. } | Sketch::Video { .. } => None,
    };
    let all = sketches.iter().filter_map(seconds);
    all.reduce(|sum, more| sum + more)
}

/// A place in an answer stands for a token.
pub fn hashed(token: &impl Hash) -> u32 {
    let mut hasher = DefaultHasher::new();
    token.hash(&mut hasher);
    hasher.finish() as u32
}
