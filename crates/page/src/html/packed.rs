//! What is too large to stand in the page as it is: packed here, unpacked by the browser.

use super::embedded;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;
use std::sync::LazyLock;

const LARGE: usize = 1 << 20;

/// The chart script; `assets/make-plotly` made it.
static LIBRARY: LazyLock<String> =
    LazyLock::new(|| STANDARD.encode(include_bytes!("../../assets/plotly.js.gz")));

pub(super) fn library() -> &'static str {
    &LIBRARY
}

/// The numbers as JSON, or packed where they are many.
pub(super) fn numbers(value: &Value) -> String {
    let text = value.to_string();
    if text.len() < LARGE {
        return embedded("numbers", value);
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let bytes = packed
        .write_all(text.as_bytes())
        .and_then(|()| packed.finish())
        .expect("memory takes any bytes");
    format!(
        "<script type=\"application/gzip\" id=\"numbers\">{}</script>\n",
        STANDARD.encode(bytes)
    )
}
