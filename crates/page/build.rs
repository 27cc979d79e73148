//! Packs the chart script that the `plotly` crate carries, once, so that a page costs no more
//! than a copy of it.

#![allow(clippy::print_stdout)] // Cargo listens there.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;

/// The chart library's own first line; a script for formulas comes after it.
const FIRST_LINE: &str = "/**\n* plotly.js";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let sources = plotly::Plot::offline_js_sources();
    let script = sources
        .find(FIRST_LINE)
        .map(|begin| &sources[begin..])
        .and_then(|rest| rest.split("</script>").next())
        .expect("the plotly crate carries its script between script tags");
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed
        .write_all(script.as_bytes())
        .expect("memory takes any bytes");
    let packed = packed.finish().expect("memory takes any bytes");
    let folder = std::env::var("OUT_DIR").expect("cargo names the folder");
    std::fs::write(Path::new(&folder).join("plotly.js.gz"), packed)
        .expect("cargo's folder can be written");
}
