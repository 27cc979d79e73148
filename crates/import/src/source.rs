//! Results by path: a file of any known form, or a folder that a tool left.

use crate::conclude::conclude;
use crate::evalscope_database::{self, DatabaseError, MAGIC};
use crate::facts::DATE;
use crate::one_run;
use crate::read::read;
use crate::result::Imported;
use crate::store::Stored;
use encoding_rs::GB18030;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What is looked for, to say of a file in which nothing was found.
pub const LOOKED_FOR: &str = "vLLM or SGLang serving benchmark (text, JSON), EvalScope summary \
    (2024 text, today's tables, JSON and benchmark_data.db), MindIE or AISBench tables, MindIE CSV, \
    GuideLLM benchmarks (JSON, CSV, HTML, console), AIPerf or GenAI-Perf export (JSON, CSV) or table, length-grid log, \
    trial log, table by concurrency, rate, length or statistic (Markdown, CSV, TSV, HTML)";

/// How deep a tool's folder is gone through.
const DEEPEST: usize = 8;
/// Files of a folder that are looked at.
const MOST_FILES: usize = 2000;
/// Ends of names in a folder that may hold results.
const ENDS: [&str; 11] = [
    "json", "jsonl", "txt", "md", "log", "csv", "tsv", "out", "db", "html", "htm",
];

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("cannot read {}: {error}; give a file or a folder of results", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{} is larger than {} MiB, which no result is; give the file of results alone", path.display(), MOST_BYTES >> 20)]
    TooLarge { path: PathBuf },
    #[error("{} is empty", path.display())]
    Empty { path: PathBuf },
    /// Neither text nor a database.
    #[error("{} is not text (byte 0 at {at}); looked for: {LOOKED_FOR}", path.display())]
    Binary { path: PathBuf, at: usize },
    #[error("{}: {error}", path.display())]
    Database { path: PathBuf, error: DatabaseError },
    #[error("{} holds no result of a known form{hint}; looked for: {LOOKED_FOR}", path.display())]
    NothingFound { path: PathBuf, hint: &'static str },
}

impl SourceError {
    fn io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        SourceError::Io { path, error }
    }

    fn empty(path: &Path) -> Self {
        let path = path.to_owned();
        SourceError::Empty { path }
    }
}

/// All results of a file, or of the files of a folder.
pub fn read_path(path: &Path) -> Result<Imported, SourceError> {
    let about = fs::metadata(path).map_err(|error| SourceError::io(path, error))?;
    let mut imported = if about.is_dir() {
        read_folder(path)?
    } else {
        read_file(path)?
    };
    imported.number();
    Ok(imported)
}

fn read_file(path: &Path) -> Result<Imported, SourceError> {
    let bytes = bytes_of(path)?;
    if bytes.starts_with(MAGIC) {
        let read = evalscope_database::read(path).map_err(|error| SourceError::Database {
            path: path.to_owned(),
            error,
        })?;
        let mut results = vec![read.ok_or_else(|| SourceError::empty(path))?];
        conclude(&path.display().to_string(), &mut results);
        return Ok(Imported {
            results,
            ..Imported::default()
        });
    }
    let text = Text::of(path, bytes)?;
    let imported = read(&path.display().to_string(), &text.text);
    if imported.results.is_empty() {
        let (path, hint) = (path.to_owned(), text.hint);
        return Err(SourceError::NothingFound { path, hint });
    }
    Ok(imported)
}

/// More than any result has; databases are not read here, but for their beginning.
const MOST_BYTES: u64 = 1 << 30;

fn bytes_of(path: &Path) -> Result<Vec<u8>, SourceError> {
    let failed = |error| SourceError::io(path, error);
    let mut file = File::open(path).map_err(failed)?;
    let is_too_large = |length: u64| length > MOST_BYTES;
    let mut bytes = Vec::new();
    (file
        .by_ref()
        .take(MAGIC.len() as u64)
        .read_to_end(&mut bytes))
    .map_err(failed)?;
    if bytes.starts_with(MAGIC) {
        return Ok(bytes);
    }
    // The length of a pipe is known only when it has been read.
    let length = file.metadata().map_err(failed)?.len();
    if !is_too_large(length) {
        (file.take(MOST_BYTES).read_to_end(&mut bytes)).map_err(failed)?;
    }
    if is_too_large(length.max(bytes.len() as u64)) {
        let path = path.to_owned();
        return Err(SourceError::TooLarge { path });
    }
    Ok(bytes)
}

/// A file's content as text.
struct Text {
    text: String,
    hint: &'static str,
}

impl Text {
    fn of(path: &Path, bytes: Vec<u8>) -> Result<Self, SourceError> {
        let utf16 = |swap: fn([u8; 2]) -> u16, bytes: &[u8]| {
            let (units, _) = bytes.as_chunks::<2>();
            String::from_utf16_lossy(&units.iter().map(|&unit| swap(unit)).collect::<Vec<_>>())
        };
        let (text, hint) = match &bytes[..] {
            // What Windows redirects into a file.
            [0xFF, 0xFE, rest @ ..] => (utf16(u16::from_le_bytes, rest), ""),
            [0xFE, 0xFF, rest @ ..] => (utf16(u16::from_be_bytes, rest), ""),
            _ => {
                if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
                    let path = path.to_owned();
                    return Err(SourceError::Binary { path, at });
                }
                match String::from_utf8(bytes) {
                    Ok(text) => (text, ""),
                    Err(error) => in_chinese(error.as_bytes()),
                }
            }
        };
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Err(SourceError::empty(path));
        }
        Ok(Text { text, hint })
    }
}

/// What is not UTF-8 is most often notes of a Chinese system; else numbers and English labels
/// are the same in every code page.
fn in_chinese(bytes: &[u8]) -> (String, &'static str) {
    let decoded = GB18030.decode_without_bom_handling_and_without_replacement(bytes);
    match decoded {
        Some(text) => (text.into_owned(), ""),
        None => (
            String::from_utf8_lossy(bytes).into_owned(),
            " and is neither UTF-8 nor GB18030 (iconv -t UTF-8 converts other code pages)",
        ),
    }
}

/// Every result below a folder. Files that belong together are one result: EvalScope's summary
/// with its percentiles, MindIE's two tables, whatever else tells of the same run. Files of other
/// kinds are skipped.
fn read_folder(folder: &Path) -> Result<Imported, SourceError> {
    let mut files = Vec::new();
    collect(folder, 0, &mut files)?;
    if files.is_empty() {
        return Err(SourceError::empty(folder));
    }
    files.sort();
    let mut results = Vec::new();
    for together in grouped(&files) {
        let Some(first) = together.first() else {
            continue;
        };
        let imported = match together.as_slice() {
            [file] => read_file(file),
            several => read_joined(several),
        };
        match imported {
            Ok(imported) => results.extend(imported.results),
            Err(SourceError::Io { error, .. }) => return Err(SourceError::io(first, error)),
            Err(_) => {}
        }
    }
    let mut results = one_run::joined(results);
    // Files of several days are a history, whatever they are called.
    if results.iter().all(|found| found.facts.contains_key(DATE)) {
        results.sort_by(|a, b| a.facts.get(DATE).cmp(&b.facts.get(DATE)));
    }
    if results.is_empty() {
        let (path, hint) = (folder.to_owned(), "");
        return Err(SourceError::NothingFound { path, hint });
    }
    // Lines that were not read are of files that were not named.
    Ok(Imported {
        results,
        ..Imported::default()
    })
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), SourceError> {
    let content = fs::read_dir(folder).map_err(|error| SourceError::io(folder, error))?;
    for entry in content {
        let entry = entry.map_err(|error| SourceError::io(folder, error))?;
        let path = entry.path();
        // Links are not followed: they may lead in circles.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && Stored::is_at(&path) {
            // An import of what lies beside it.
            continue;
        }
        if kind.is_dir() && depth < DEEPEST {
            collect(&path, depth + 1, files)?;
        } else if kind.is_file() && files.len() < MOST_FILES {
            let end = path.extension().unwrap_or_default().to_string_lossy();
            if ENDS.contains(&end.to_lowercase().as_str()) {
                files.push(path);
            }
        }
    }
    Ok(())
}

/// Files in the order of reading; those of one result side by side.
fn grouped(files: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    let mut groups: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        let folder = file.parent().unwrap_or(Path::new("")).display().to_string();
        let name = file_name(file);
        let sibling = |other: &str| file.with_file_name(other).is_file();
        let key = match &*name {
            // The summary says all that the others do.
            "benchmark_data.db" | "benchmark_args.json" if sibling("benchmark_summary.json") => {
                continue;
            }
            "benchmark_args.json" => continue,
            "benchmark_summary.json" | "benchmark_percentile.json" => {
                format!("{folder}/benchmark_")
            }
            name => match mindie_stamp(name) {
                Some(stamp) => format!("{folder}/result_{stamp}"),
                None => format!("{folder}/{name}"),
            },
        };
        groups.entry(key).or_default().push(file.clone());
    }
    let mut groups: Vec<Vec<PathBuf>> = groups.into_values().collect();
    for group in &mut groups {
        // Percentiles complete the summary before them.
        group.sort_by_key(|file| (file_name(file).contains("percentile"), file.clone()));
    }
    groups
}

fn file_name(file: &Path) -> Cow<'_, str> {
    file.file_name().unwrap_or_default().to_string_lossy()
}

/// `result_perf_2025….csv` and `result_common_2025….csv` share their end.
fn mindie_stamp(name: &str) -> Option<&str> {
    let rest = name
        .strip_prefix("result_perf_")
        .or(name.strip_prefix("result_common_"))?;
    rest.strip_suffix(".csv")
}

fn read_joined(files: &[PathBuf]) -> Result<Imported, SourceError> {
    let mut joined = String::new();
    for file in files {
        let bytes = bytes_of(file)?;
        let text = Text::of(file, bytes)?.text;
        joined.push_str(text.trim_start_matches('\u{feff}').trim_end());
        joined.push_str("\n\n");
    }
    let name = |(at, file): (usize, &PathBuf)| match at {
        0 => file.display().to_string(),
        _ => file_name(file).into_owned(),
    };
    let names: Vec<String> = files.iter().enumerate().map(name).collect();
    Ok(read(&names.join(" + "), &joined))
}
