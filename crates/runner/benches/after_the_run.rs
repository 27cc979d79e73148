//! From the last reply to the numbers: reading the journal, folding, gathering what pictures need
//! and writing the Parquet file in one pass, beside reading the journal and writing the file
//! alone. 24,000 answers of 256 tokens. Run with `cargo bench -p inferometer-runner`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use inferometer_analysis::context::RunContext;
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::options::Options;
use inferometer_core::record::{Chunks, Outcome, Record, Usage};
use inferometer_core::units::Offset;
use inferometer_runner::measure::read_and_seal;
use inferometer_store::journal::{Entry, Header};
use inferometer_store::run_dir::RunDir;
use inferometer_text::Lang;
use std::path::Path;
use std::time::Instant;

const ANSWERS: u64 = 24_000;
const TOKENS: u64 = 256;
const ROUNDS: usize = 5;

fn answer(index: u64) -> Record {
    let sent = index * 1_000_000;
    let at = |token: u64| Offset(sent + 50_000_000 + token * 10_000_000 + (index * token) % 9_999);
    let chunks: Vec<Offset> = (0..TOKENS).map(at).collect();
    Record {
        id: format!("bench-r{index}"),
        index,
        sent: Some(Offset(sent)),
        first_byte: chunks.first().copied(),
        first_answer: chunks.first().copied(),
        end: chunks.last().copied(),
        chunks: Chunks {
            tokens: Some(vec![1; chunks.len()]),
            same_read: vec![false; chunks.len()],
            at: chunks,
        },
        outcome: Outcome::Done,
        status: Some(200),
        usage: Some(Usage {
            input: Some(256),
            output: Some(TOKENS as u32),
            cached: None,
        }),
        url: "http://127.0.0.1:8000/v1/chat/completions".to_owned(),
        streamed: true,
        ..Record::default()
    }
}

/// A run whose journal is written, and nothing else.
fn ended(at: &Path) -> RunDir {
    let directory = RunDir::create(at).expect("a new folder");
    let mut journal = directory
        .start_journal(&Header::new(Some(ANSWERS)))
        .expect("a journal");
    for index in 0..ANSWERS {
        journal.append(&Entry::end(&answer(index))).expect("a line");
    }
    journal.flush().expect("all lines");
    directory
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "[load]\nconcurrency = 64\nrequests = 24000\n";
    let options = Options::from_toml(options).expect("options");
    let scenario = options.resolve().expect("a scenario");
    let ending = Ending {
        planned: ANSWERS,
        ..Ending::default()
    };
    let context = RunContext {
        scenario: &scenario,
        environment: &Environment::default(),
        ending: &ending,
        lang: Lang::En,
    };
    let (mut alone, mut whole) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for kind in ["alone", "whole"] {
            let directory = ended(&folder.path().join(format!("{kind}-{round}")));
            directory.write_scenario(&scenario).expect("a scenario");
            directory.write_ending(&ending).expect("an ending");
            let begun = Instant::now();
            if kind == "alone" {
                directory.seal().expect("a Parquet file");
                alone.push(begun.elapsed().as_secs_f64());
            } else {
                let reading = read_and_seal(&directory, &context).expect("a reading");
                let summary = reading.folded.summary(Lang::En);
                assert_eq!(summary.requests.ok, ANSWERS);
                whole.push(begun.elapsed().as_secs_f64());
            }
        }
    }
    for times in [&mut alone, &mut whole] {
        times.sort_by(f64::total_cmp);
    }
    let (alone, whole) = (alone[ROUNDS / 2], whole[ROUNDS / 2]);
    let ratio = whole / alone;
    println!("Parquet file alone {alone:.2} s, with all numbers {whole:.2} s: ratio {ratio:.2}");
}
