//! A finished run with made-up records, as large as one likes, for `bench/fold`: closed loops of
//! 1,024 streams against a server of known speed, shared by some ranks, with a partition each.
//!
//!     synthetic_run FOLDER RECORDS RANKS TOKENS
//!
//! Answers have from half of TOKENS to one and a half times as many, a chunk each, as vLLM's: first
//! a message with the role alone, last one with the usage. One chunk in a hundred comes in a read
//! with the one before, one request in a thousand fails.

#![expect(clippy::print_stderr, reason = "a benchmark says what is wrong")]

use inferometer_core::environment::{Ending, Environment};
use inferometer_core::options::Options;
use inferometer_core::record::{
    BareChunk, BareKind, Chunks, Failure, FailureClass, Outcome, Phase, Record, Stage, Usage,
};
use inferometer_core::units::Offset;
use inferometer_store::error::StorageError;
use inferometer_store::parquet_file::RecordsWriter;
use inferometer_store::run_dir::RunDir;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::path::{Path, PathBuf};

const STREAMS: u64 = 1_024;
const MS: u64 = 1_000_000;
/// The first token comes after 20 to 60 ms, others after 4 to 6 ms.
const FIRST: [u64; 2] = [20 * MS, 40 * MS];
const NEXT: [u64; 2] = [4 * MS, 2 * MS];

/// A number that looks random and is always the same (SplitMix64).
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(mixed ^ (mixed >> 31)) * u128::from(limit.max(1))) >> 64) as u64
    }

    fn from(&mut self, [least, more]: [u64; 2]) -> u64 {
        least + self.below(more)
    }
}

struct Rank {
    rank: u64,
    ranks: u64,
    records: u64,
    tokens: u64,
    noise: Noise,
}

impl Rank {
    fn request(&mut self, nth: u64, sent: u64) -> Record {
        let index = nth * self.ranks + self.rank;
        let tokens = self.tokens / 2 + self.noise.below(self.tokens + 1);
        let mut at = sent + self.noise.from(FIRST);
        let first_byte = at - self.noise.below(MS);
        let chunks: Vec<Offset> = (0..tokens.max(1))
            .map(|_| {
                at += self.noise.from(NEXT);
                Offset(at)
            })
            .collect();
        let end = at + self.noise.below(MS);
        let fails = self.noise.below(1_000) == 0;
        let bare = |at, kind| BareChunk {
            at: Offset(at),
            kind,
        };
        let record = Record {
            id: format!("{:08x}-m{index}", 0x5eed_u32),
            index,
            rank: (self.ranks > 1).then_some(self.rank as u32),
            stage: if nth < STREAMS / self.ranks {
                Stage::Warmup
            } else {
                Stage::Measured
            },
            sent: Some(Offset(sent)),
            input_tokens_asked: Some(512),
            output_tokens_asked: Some(tokens as u32),
            output_exact: true,
            input_chars: 2_200 + self.noise.below(100),
            url: "http://127.0.0.1:8000/v1/chat/completions".to_owned(),
            streamed: true,
            ..Record::default()
        };
        if fails {
            return Record {
                first_byte: Some(Offset(first_byte)),
                end: Some(Offset(first_byte)),
                status: Some(503),
                outcome: Outcome::Failed(Failure {
                    phase: Phase::Status,
                    class: FailureClass::ServerError,
                    detail: "overloaded".to_owned(),
                }),
                ..record
            };
        }
        Record {
            first_byte: Some(Offset(first_byte)),
            first_answer: chunks.first().copied(),
            bare: vec![
                bare(first_byte, BareKind::Empty),
                bare(end, BareKind::NoChoice),
            ],
            chunks: Chunks {
                tokens: None,
                same_read: (0..chunks.len())
                    .map(|_| self.noise.below(100) == 0)
                    .collect(),
                at: chunks,
            },
            end: Some(Offset(end)),
            outcome: Outcome::Done,
            status: Some(200),
            usage: Some(Usage {
                input: Some(512),
                output: Some(tokens as u32),
                cached: None,
            }),
            finish: Some("length".to_owned()),
            model: Some("synthetic".to_owned()),
            output_chars: tokens * 4 + self.noise.below(8),
            ..record
        }
    }

    /// Writes the records in the order in which they end; returns when the last of them does.
    fn write(mut self, path: &Path) -> Result<u64, StorageError> {
        let mut writer = RecordsWriter::create(path)?;
        let streams = (STREAMS / self.ranks).clamp(1, self.records);
        let mut under_way = BinaryHeap::new();
        let ends = |record: &Record| Reverse((record.end, record.index));
        let mut flying = std::collections::HashMap::new();
        for nth in 0..streams {
            let record = self.request(nth, nth * 100 * MS / streams);
            under_way.push(ends(&record));
            flying.insert(record.index, record);
        }
        let (mut begun, mut last) = (streams, 0);
        while let Some(Reverse((end, index))) = under_way.pop() {
            let ended = flying.remove(&index);
            ended.iter().try_for_each(|record| writer.push(record))?;
            last = end.map_or(last, |end| end.0);
            if begun < self.records {
                let pause = self.noise.from([MS / 10, MS / 10]);
                let record = self.request(begun, last + pause);
                under_way.push(ends(&record));
                flying.insert(record.index, record);
                begun += 1;
            }
        }
        writer.finish()?;
        Ok(last)
    }
}

fn write(folder: PathBuf, records: u64, ranks: u64, tokens: u64) -> Result<(), Box<dyn Error>> {
    let options = format!("[load]\nconcurrency = {STREAMS}\nrequests = {records}\n");
    let directory = RunDir::create(folder)?;
    directory.write_scenario(&Options::from_toml(&options)?.resolve()?)?;
    directory.write_environment(&Environment::default())?;
    let files: Vec<PathBuf> = (0..ranks)
        .map(|rank| match ranks {
            1 => directory.parquet_path(),
            _ => (directory.path()).join(format!("records/rank={rank}/records.parquet")),
        })
        .collect();
    for file in &files {
        std::fs::create_dir_all(file.parent().unwrap_or(directory.path()))?;
    }
    let part = |rank: u64| Rank {
        rank,
        ranks,
        records: records / ranks,
        tokens,
        noise: Noise(rank),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut last = 0;
    let mine: Vec<(u64, &PathBuf)> = (0..).zip(&files).collect();
    for together in mine.chunks(cores) {
        let ends = std::thread::scope(|scope| {
            let writing = together
                .iter()
                .map(|&(rank, file)| scope.spawn(move || part(rank).write(file)));
            let writing: Vec<_> = writing.collect();
            let joined = writing.into_iter().map(|thread| thread.join());
            joined.collect::<Vec<_>>()
        });
        for end in ends {
            last = last.max(end.map_err(|_| "a thread panicked")??);
        }
    }
    directory.write_ending(&Ending {
        planned: (records / ranks - STREAMS / ranks) * ranks,
        measured_from: Offset(200 * MS),
        sending_ended: Offset(last.saturating_sub(200 * MS)),
        steady_window: true,
        ..Ending::default()
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|it: &String| it.parse().ok());
    let folder = arguments.first().map(PathBuf::from);
    let written = match (folder, number(1), number(2), number(3)) {
        (Some(folder), Some(records), Some(ranks @ 1..=STREAMS), Some(tokens)) => {
            write(folder, records, ranks, tokens)
        }
        _ => Err("usage: synthetic_run FOLDER RECORDS RANKS TOKENS".into()),
    };
    match written {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}
