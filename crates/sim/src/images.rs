//! Images of a chat: how many tokens they are, by the size that their bytes state.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use crate::reply::ErrorReply;

/// Stands for a patch of an image.
pub(crate) const TOKEN: u32 = 4;
/// Pixels of a side that make a token, as in Qwen2-VL.
const PATCH: u32 = 28;
/// Tokens of an image that is somewhere else.
const ELSEWHERE: u32 = 256;
/// Characters of base64 that hold the head of a PNG.
const HEAD: usize = 32;

/// Tokens of all images of a body.
pub(crate) fn tokens(body: &Map<String, Value>) -> Result<u32, ErrorReply> {
    let messages = body.get("messages").and_then(Value::as_array);
    let contents = messages
        .into_iter()
        .flatten()
        .map(|message| &message["content"]);
    let parts = contents.filter_map(Value::as_array).flatten();
    let urls = parts.filter_map(|part| part["image_url"]["url"].as_str());
    urls.map(of_url).sum()
}

fn of_url(url: &str) -> Result<u32, ErrorReply> {
    let Some(data) = url.strip_prefix("data:image/png;base64,") else {
        if url.starts_with("http") || url.starts_with("data:") {
            return Ok(ELSEWHERE);
        }
        return Err(ErrorReply::bad_request("image_url: neither http nor data"));
    };
    let head = data.get(..HEAD).and_then(|head| STANDARD.decode(head).ok());
    let side = |at: usize| {
        let bytes = head.as_ref()?.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let is_png = head
        .as_ref()
        .is_some_and(|head| head.starts_with(b"\x89PNG"));
    match side(16).zip(side(20)).filter(|_| is_png) {
        Some((width, height)) => Ok(width.div_ceil(PATCH) * height.div_ceil(PATCH)),
        None => Err(ErrorReply::bad_request("cannot identify image file")),
    }
}
