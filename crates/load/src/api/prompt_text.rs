//! What messages and their parts say, as one text.

use serde_json::Value;

/// What messages say, one after the other.
pub(super) fn flattened(messages: &[Value]) -> String {
    let mut prompt = String::new();
    for message in messages {
        if !prompt.is_empty() {
            prompt.push_str("\n\n");
        }
        push_text(&mut prompt, &message["content"]);
    }
    prompt
}

/// Adds a text: a string, or a list of parts.
pub(super) fn push_text(to: &mut String, value: &Value) {
    match value {
        Value::String(text) => to.push_str(text),
        Value::Array(parts) => {
            for part in parts {
                to.push_str(part["text"].as_str().or(part.as_str()).unwrap_or_default());
            }
        }
        _ => {}
    }
}
