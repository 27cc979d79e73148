//! EvalScope's `benchmark_data.db`: one row of the table `result` per request, folded as
//! EvalScope folds it.
//!
//! The column `response_messages` holds a pickle, which runs code when it is opened; it is never
//! read, and neither is the prompt.

use crate::builder::ResultBuilder;
use crate::label::Sample;
use crate::label::Stat;
use crate::quantity::count;
use crate::result::{ImportedResult, Tool};
use crate::summary::Spread;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde_json::Value;
use std::path::Path;

/// First bytes of every SQLite file.
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

const RANKS: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// Columns that are read; those that a version lacks are taken as unknown.
const COLUMNS: [&str; 9] = [
    "start_time",
    "completed_time",
    "success",
    "latency",
    "first_chunk_latency",
    "prompt_tokens",
    "completion_tokens",
    "time_per_output_token",
    "is_stream",
];

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("SQLite cannot read it: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("it has no table 'result' with the columns success and latency, as EvalScope writes")]
    NotEvalscope,
    #[error("reading it takes more steps than its size explains; it may be damaged")]
    Endless,
    #[error("{0} beside it is not a regular file")]
    OddNeighbour(String),
}

/// Steps of SQLite after which a file is given up, and those for each of its bytes. A request of
/// EvalScope takes some thirty, and hundreds of bytes; pages that name each other make a tree of a
/// few kilobytes that has more rows than anybody could count.
const MOST_STEPS: u64 = 10_000_000;
const STEPS_PER_BYTE: u64 = 10;
const LOOK_EVERY: i32 = 10_000;

pub(crate) fn read(path: &Path) -> Result<Option<ImportedResult>, DatabaseError> {
    neighbours_are_files(path)?;
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    let length = std::fs::metadata(path).map_or(0, |about| about.len());
    let most = MOST_STEPS.saturating_add(length.saturating_mul(STEPS_PER_BYTE));
    let mut steps = 0;
    let is_too_long = move || {
        steps += LOOK_EVERY as u64;
        steps > most
    };
    connection.progress_handler(LOOK_EVERY, Some(is_too_long))?;
    read_table(&connection, path).map_err(|error| match error {
        DatabaseError::Sqlite(error)
            if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) =>
        {
            DatabaseError::Endless
        }
        error => error,
    })
}

/// SQLite itself opens what an unfinished writer left beside the file, and would wait for a pipe.
fn neighbours_are_files(path: &Path) -> Result<(), DatabaseError> {
    for end in ["-wal", "-shm", "-journal"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(end);
        if std::fs::symlink_metadata(&beside).is_ok_and(|about| !about.is_file()) {
            let name = beside.to_string_lossy().into_owned();
            return Err(DatabaseError::OddNeighbour(name));
        }
    }
    Ok(())
}

fn read_table(
    connection: &Connection,
    path: &Path,
) -> Result<Option<ImportedResult>, DatabaseError> {
    // Views and triggers of a stranger's file do nothing here.
    connection.pragma_update(None, "trusted_schema", false)?;
    // A view may compute without end; EvalScope writes a table.
    let mut kind = connection.prepare(
        "SELECT 1 FROM sqlite_schema WHERE name = 'result' AND type = 'table' AND rootpage > 0",
    )?;
    if !kind.exists([])? {
        return Err(DatabaseError::NotEvalscope);
    }
    let present = columns(connection)?;
    let has = |name: &str| present.iter().any(|column| column == name);
    if !(has("success") && has("latency")) {
        return Err(DatabaseError::NotEvalscope);
    }
    let selected = COLUMNS.map(|name| {
        if has(name) {
            format!("CAST({name} AS REAL)")
        } else {
            "NULL".to_owned()
        }
    });
    let mut statement =
        connection.prepare(&format!("SELECT {} FROM result", selected.join(", ")))?;
    let mut rows = statement.query([])?;
    // With this column came the other rule for percentiles.
    let mut requests = Requests {
        nearest_rank: has("request_id"),
        ..Requests::default()
    };
    while let Some(row) = rows.next()? {
        let mut values = [None; COLUMNS.len()];
        for (at, value) in values.iter_mut().enumerate() {
            let read: Option<f64> = row.get(at)?;
            *value = read.filter(|value| value.is_finite());
        }
        requests.add(values);
    }
    Ok((requests.ok + requests.failed > 0).then(|| requests.finish(path)))
}

fn columns(connection: &Connection) -> Result<Vec<String>, DatabaseError> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info('result')")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

#[derive(Default)]
struct Requests {
    nearest_rank: bool,
    ok: u64,
    failed: u64,
    begin: Option<f64>,
    end: Option<f64>,
    latency: Vec<f64>,
    /// Time to first token and time per token, of streams and of whole answers.
    first: [Vec<f64>; 2],
    per_token: [Vec<f64>; 2],
    input: Vec<f64>,
    output: Vec<f64>,
}

impl Requests {
    fn add(&mut self, values: [Option<f64>; COLUMNS.len()]) {
        let [
            start,
            completed,
            success,
            latency,
            first,
            input,
            output,
            per_token,
            stream,
        ] = values;
        self.begin = self.begin.into_iter().chain(start).reduce(f64::min);
        self.end = self.end.into_iter().chain(completed).reduce(f64::max);
        if success != Some(1.0) {
            self.failed += 1;
            return;
        }
        self.ok += 1;
        // A version that does not say it streams by default.
        let whole = usize::from(stream == Some(0.0));
        self.latency.extend(latency.map(|seconds| seconds * 1e3));
        self.first[whole].extend(first.map(|seconds| seconds * 1e3));
        self.per_token[whole].extend(per_token.map(|seconds| seconds * 1e3));
        self.input.extend(input);
        self.output.extend(output);
    }

    fn finish(self, path: &Path) -> ImportedResult {
        let mut builder = ResultBuilder::default();
        let summary = &mut builder.summary;
        summary.requests.ok = Some(self.ok);
        summary.requests.failed = Some(self.failed);
        let window = self.end.zip(self.begin).map(|(end, begin)| end - begin);
        summary.window_s = window.filter(|seconds| *seconds > 0.0);
        let total = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum());
        summary.tokens.input = total(&self.input).and_then(count);
        summary.tokens.output = total(&self.output).and_then(count);
        // EvalScope leaves whole answers out of these where there are streams.
        let of_streams =
            |[streams, whole]: [Vec<f64>; 2]| if streams.is_empty() { whole } else { streams };
        for (sample, values) in [
            (Sample::E2e, self.latency),
            (Sample::Ttft, of_streams(self.first)),
            (Sample::Tpot, of_streams(self.per_token)),
            (Sample::InputLength, self.input),
            (Sample::OutputLength, self.output),
        ] {
            builder.put(sample, spread(values, self.nearest_rank));
        }
        let load = RunSettings::beside(path);
        if let Some(parallel) = load.parallel {
            builder.summary.concurrency.configured = Some(parallel);
            builder.point.insert("concurrency".into(), parallel.into());
        }
        if let Some(rate) = load.rate {
            builder.point.insert("rate".into(), rate.into());
        }
        builder.summary.requests.planned = load.number;
        let mut found = builder.finish(Tool::Evalscope, (0, 0));
        if let Some(model) = &load.model {
            found.is_of_model(model);
        }
        found.label = load.model;
        found
    }
}

/// A sample as EvalScope sees it, not interpolated: the value at rank ⌈n·p⌉, and before that at
/// ⌊n·p⌋ + 1.
fn spread(mut values: Vec<f64>, nearest_rank: bool) -> Spread {
    values.sort_by(f64::total_cmp);
    let mut spread = Spread::default();
    let (Some(min), Some(max)) = (values.first().copied(), values.last().copied()) else {
        return spread;
    };
    let n = values.len();
    spread.n = Some(n as u64);
    spread.set(Stat::Mean, values.iter().sum::<f64>() / n as f64);
    spread.set(Stat::Min, min);
    spread.set(Stat::Max, max);
    for rank in RANKS {
        let place = n as f64 * rank / 100.0;
        let at = if nearest_rank {
            (place.ceil() as usize).saturating_sub(1)
        } else {
            place as usize
        };
        if let Some(value) = values.get(at) {
            spread.set(Stat::Percentile(rank), *value);
        }
    }
    spread
}

/// What the files beside a database say: the benchmark's own arguments, and the name of its folder.
#[derive(Default)]
struct RunSettings {
    parallel: Option<u64>,
    number: Option<u64>,
    rate: Option<f64>,
    model: Option<String>,
}

/// A regular file of at most 1 MiB: what lies in a stranger's folder may be a pipe.
fn small_text(path: &Path) -> Option<String> {
    let about = std::fs::symlink_metadata(path).ok()?;
    let is_small = about.is_file() && about.len() <= 1 << 20;
    is_small.then(|| std::fs::read_to_string(path).ok())?
}

impl RunSettings {
    fn beside(path: &Path) -> Self {
        let folder = path.parent();
        let arguments = folder
            .and_then(|folder| small_text(&folder.join("benchmark_args.json")))
            .and_then(|text| serde_json::from_str::<Value>(&text).ok())
            .unwrap_or_default();
        // `parallel_8_number_100`: the arguments hold the whole list, the folder this one.
        let name = folder.and_then(Path::file_name).unwrap_or_default();
        let name = name.to_string_lossy();
        let after = |word: &str| -> Option<u64> {
            let rest = name.split(word).nth(1)?;
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            rest.get(..digits)?.parse().ok()
        };
        let single = |key: &str| match &arguments[key] {
            Value::Array(list) if list.len() == 1 => list[0].as_f64(),
            value => value.as_f64(),
        };
        let model = arguments["model_id"]
            .as_str()
            .or(arguments["model"].as_str());
        RunSettings {
            parallel: after("parallel_").or(single("parallel").and_then(count)),
            // A run that ends after a time sends as many as it can.
            number: (after("number_").or(single("number").and_then(count)))
                .filter(|_| single("duration").is_none_or(|seconds| seconds <= 0.0)),
            rate: single("rate").filter(|rate| *rate > 0.0),
            model: model.map(|model| inferometer_text::hostile::printable(model, 200)),
        }
    }
}
