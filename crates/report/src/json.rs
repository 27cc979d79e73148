//! Results as JSON: the object that a file of ours holds, and nothing else.

use serde::Serialize;

/// The object, indented, with a line feed at its end.
pub fn render(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .expect("our results have only text as keys, so they can always be written");
    text.push('\n');
    text
}
