//! The table of fuzz targets: for each what it reads, where mutation begins, and how it is fed.
//!
//! A target must come back, whatever the bytes: by a result or by an error, in bounded time and
//! memory. Some also compare two ways of reading the same, and panic where they differ.

mod data;
mod engine;
mod import;
mod options;
mod store;
mod tokenizer;
mod wire;

use crate::seeds;
use std::fs;
use std::path::{Path, PathBuf};

pub struct Target {
    pub name: &'static str,
    pub reads: &'static str,
    seeds: fn() -> Vec<Vec<u8>>,
    /// Feeds it; whether it was taken for what it should be, rather than refused.
    pub run: fn(&[u8], &Scratch) -> bool,
    /// Address space beyond that of the process when it begins to feed.
    pub most_growth: u64,
}

impl Target {
    /// At least one.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut all = (self.seeds)();
        all.extend(seeds::kept(self.name));
        all
    }

    pub fn named(name: &str) -> Option<&'static Target> {
        let mut all = TARGETS.iter().chain([&BROKEN]);
        all.find(|target| target.name == name)
    }
}

/// A folder for targets that read files.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Writes a file, in place of one of the same name.
    pub fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        if let Some(folder) = path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        fs::write(&path, content).expect("the scratch folder takes files");
        path
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Exit code of a process that refused an input rightly and can only end now, as the program does.
pub const SPENT: u8 = 4;

/// Far more than any input of these lengths may ask for.
const MOST_GROWTH: u64 = 512 << 20;
/// For code that watches its own memory: what grew between two of its looks.
const WATCHED_GROWTH: u64 = 4 << 30;

const fn last(bounds: &[u64]) -> u64 {
    bounds[bounds.len() - 1]
}

macro_rules! targets {
    ($($name:literal, $reads:literal, $seeds:expr, $run:path $(, $growth:ident)?;)*) => {
        &[$(Target {
            name: $name,
            reads: $reads,
            seeds: || $seeds,
            run: $run,
            most_growth: last(&[MOST_GROWTH $(, $growth)?]),
        }),*]
    };
}

#[rustfmt::skip]
pub const TARGETS: &[Target] = targets! {
    "sse", "server-sent events, whole and in pieces", wire::events(), wire::sse;
    "http", "head and body of an answer", seeds::files("fixtures/sse", &[".txt"]), wire::http;
    "answer", "a whole answer of each API, whole and in pieces", wire::answers(), wire::answer;
    "form", "a form with a sound, as the simulated server reads it", wire::sound_forms(), wire::form;
    "listing", "what an object store lists", wire::listings(), wire::listing;
    "data", "data sets, in the format found and in another", data::sets(), data::read;
    "data-packed", "data sets in gzip and zstd", seeds::files("fixtures/data", &[".gz", ".zst"]), data::read;
    "lengths", "files of lengths", data::lengths(), data::read_lengths;
    "import-json", "other tools' JSON", seeds::files("fixtures/import", &[".json", ".jsonl"]), import::read;
    "import-table", "Markdown, CSV, HTML of results", import::tables(), import::read;
    "import-text", "other tools' consoles and logs", seeds::files("fixtures/import", &[".txt", ".log"]), import::read;
    "import-database", "EvalScope's database", seeds::files("fixtures/import", &[".db"]), import::read;
    "from", "other tools' command lines", seeds::lines("crates/translate/src/command_lines.txt"), import::command_line;
    "journal", "a journal, its summary and every dialect", store::journals(), store::journal;
    "parquet", "a file of records", seeds::files("fixtures/run-v1", &[".parquet"]), store::parquet;
    "stored", "the other files of run and sweep folders", store::forms(), store::stored;
    "trials", "the log of a study, and of a search for capacity", store::trials(), store::read_trials;
    "scenario", "options in TOML", options::scenarios(), options::scenario;
    "values", "values of single options", options::values(), options::value;
    "study", "study files", options::studies(), options::study;
    "calibration", "timing and calibration files", options::calibrations(), options::calibration;
    "engine-log", "engines' logs", engine::logs(), engine::log;
    "metrics", "/metrics", seeds::files("fixtures/engine", &["metrics.txt"]), engine::metrics;
    "config-json", "a model's config.json, and the start of an engine with it", engine::model_configs(), engine::model_config;
    "mindie-config", "MindIE's config.json", engine::mindie_configs(), engine::mindie_config;
    "engine-command", "engines' command lines", engine::commands(), engine::command;
    "devices", "nvidia-smi, npu-smi, --help, safetensors", engine::device_texts(), engine::devices;
    "tokenizer", "tokenizer.json", tokenizer::files(), tokenizer::open, WATCHED_GROWTH;
    "chat-template", "chat templates", tokenizer::templates(), tokenizer::render, WATCHED_GROWTH;
};

/// Breaks in every way, to test who watches.
const BROKEN: Target = Target {
    name: "broken",
    reads: "",
    seeds: || {
        vec![
            b"so far, so good".to_vec(),
            b"at the third step panic sets in".to_vec(),
        ]
    },
    run: |input, _| {
        fn deep(level: u64) -> u64 {
            std::hint::black_box([level; 100])[0] + if level == 0 { 0 } else { deep(level + 1) }
        }
        let says = |word: &str| {
            input
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        };
        assert!(!says("panic"), "it broke");
        if says("memory") {
            std::hint::black_box(vec![1_u8; 4 << 30]);
        }
        if says("stack") {
            deep(1);
        }
        true
    },
    most_growth: MOST_GROWTH,
};
