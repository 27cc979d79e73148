//! How fast data sets are read: traces in rows, a large JSON array in bytes.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use inferometer_workload::data::{Manner, Opened, Rows, Shape};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

fn main() {
    divan::main();
}

const TRACE_ROWS: usize = 100_000;

fn on_disk(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("room on the disk");
    file
}

fn read_all(path: &Path) -> usize {
    let mut opened = Opened::open(path, None, Manner::default()).expect("the file is there");
    let mut sound = 0;
    while let Some(row) = opened.next_row().expect("the file is whole") {
        sound += usize::from(row.reading.is_ok());
    }
    sound
}

fn trace(bencher: Bencher, text: &str) {
    let file = on_disk(text);
    bencher
        .counter(ItemsCount::new(TRACE_ROWS))
        .bench(|| assert_eq!(read_all(file.path()), TRACE_ROWS));
}

#[divan::bench]
fn mooncake(bencher: Bencher) {
    let mut text = String::new();
    for row in 0..TRACE_ROWS {
        let ids: Vec<String> = (0..10)
            .map(|id| (row * 7 + id * 1013).to_string())
            .collect();
        let _ = writeln!(
            text,
            r#"{{"timestamp": {}, "input_length": {}, "output_length": {}, "hash_ids": [{}]}}"#,
            row * 152,
            4000 + row % 1000,
            1 + row % 400,
            ids.join(", ")
        );
    }
    trace(bencher, &text);
}

#[divan::bench]
fn azure(bencher: Bencher) {
    let mut text = "TIMESTAMP,ContextTokens,GeneratedTokens\n".to_owned();
    for row in 0..TRACE_ROWS {
        let (minute, second) = (row / 60_000, row / 1000 % 60);
        let _ = writeln!(
            text,
            "2023-11-16 18:{minute:02}:{second:02}.{:03}0900,{},{}",
            row % 1000,
            1 + row % 4000,
            1 + row % 400
        );
    }
    trace(bencher, &text);
}

#[divan::bench]
fn burst_gpt(bencher: Bencher) {
    let mut text =
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
            .to_owned();
    for row in 0..TRACE_ROWS {
        let _ = writeln!(text, "{row}.5,{},3.25,ChatGPT,472,18,490,API log", row % 90);
    }
    trace(bencher, &text);
}

/// Rows of a conversation with as many escapes as code and quotes bring with them.
fn conversations() -> String {
    let said = r#"{"from": "human", "value": "Why does \"cargo\" say so?\n\n    let a = 1;\n"}, {"from": "gpt", "value": "It means what it says, and a little more than that.\n"}"#;
    let row = format!(
        r#"{{"id": "x", "conversations": [{}]}}"#,
        vec![said; 20].join(", ")
    );
    format!("[{}]", vec![row; 4_000].join(",\n"))
}

#[divan::bench]
fn array_scan(bencher: Bencher) {
    let text = conversations();
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut rows = Rows::new(text.as_bytes(), Shape::Array);
        let mut count = 0;
        while let Some(row) = rows.next_row().expect("memory is readable") {
            count += usize::from(row.text.is_ok());
        }
        assert_eq!(count, 4_000);
    });
}

#[divan::bench]
fn share_gpt(bencher: Bencher) {
    let text = conversations();
    let file = on_disk(&text);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| assert_eq!(read_all(file.path()), 4_000));
}
