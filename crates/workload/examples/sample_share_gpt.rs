//! Writes a ShareGPT-like JSON array of a size and draws prompts from it:
//! `cargo run --release -p inferometer-workload --example sample_share_gpt -- FILE MEGABYTES [PROMPTS]`
//!
//! The file is left for another look; run it under `/usr/bin/time -v` to see the peak memory,
//! and with 0 megabytes to draw from a file that is there already.

#![allow(clippy::print_stdout)]

use inferometer_core::work::{DataSource, Window};
use inferometer_workload::data::Selection;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

const WORDS: [&str; 12] = [
    "river",
    "copper",
    "matrix",
    "window",
    "\\\"quoted\\\"",
    "garden,",
    "letter.\\n\\n",
    "signal",
    "你好",
    "{brace}",
    "[bracket]",
    "over\\\\under",
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, megabytes, wanted): (_, u64, u64) = match &arguments[..] {
        [path, megabytes] => (path, megabytes.parse()?, 1_000),
        [path, megabytes, wanted] => (path, megabytes.parse()?, wanted.parse()?),
        _ => return Err("give a file, its size in megabytes and the number of prompts".into()),
    };
    if megabytes > 0 {
        let begin = Instant::now();
        let rows = write(path.as_ref(), megabytes * 1_000_000)?;
        println!(
            "wrote {rows} rows in {:.1} s",
            begin.elapsed().as_secs_f64()
        );
    }
    let data = DataSource {
        location: path.clone(),
        format: None,
        field: None,
        filter: None,
        limit: None,
        shuffle: true,
        min_prompt: None,
        max_prompt: None,
        skip_bad: false,
        window: Window::default(),
    };
    let begin = Instant::now();
    let selected = Selection {
        data: &data,
        path: path.as_ref(),
        wanted: Some(wanted),
        seed: 1,
        tokenizer: None,
    }
    .run()?;
    println!(
        "drew {} of {} rows ({} unusable) in {:.2} s, the first from line {}",
        selected.rows.len(),
        selected.seen,
        selected.unusable,
        begin.elapsed().as_secs_f64(),
        selected.rows[0].line
    );
    Ok(())
}

/// Writes conversations of one to nine turns until the file is large enough.
fn write(path: &Path, bytes: u64) -> Result<u64, Box<dyn Error>> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut written, mut rows, mut state) = (0, 0, 1u64);
    let mut next = |limit: u64| {
        // A few lines of xorshift are random enough for text that no one reads.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let mut row = String::new();
    while written < bytes {
        row.clear();
        row.push_str(if rows == 0 { "[\n" } else { ",\n" });
        row.push_str(&format!(
            "  {{\"id\": \"talk_{rows}\", \"conversations\": ["
        ));
        for turn in 0..=next(9) {
            row.push_str(if turn == 0 { "" } else { ", " });
            let from = ["human", "gpt"][turn as usize % 2];
            row.push_str(&format!("{{\"from\": \"{from}\", \"value\": \""));
            for _ in 0..5 + next(250) {
                row.push_str(WORDS[next(12) as usize]);
                row.push(' ');
            }
            row.push_str("\"}");
        }
        row.push_str("]}");
        file.write_all(row.as_bytes())?;
        written += row.len() as u64;
        rows += 1;
    }
    file.write_all(b"\n]\n")?;
    file.flush()?;
    Ok(rows)
}
