//! The summary as JSON: the object that `summary.json` holds, and nothing else.

use inferometer_core::summary::Summary;

/// The summary, indented, with a line feed at its end.
pub fn render(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary)
        .expect("a summary has only text as keys, so it can always be written");
    text.push('\n');
    text
}
