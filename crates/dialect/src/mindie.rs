//! The two tables of MindIE's `benchmark` tool.
//!
//! - `DecodeTime` pools every gap of every answer; its `SLO_P90` is the 90th percentile of each
//!   answer's mean gap. In the other rows `SLO_P90` is P90.
//! - An answer of one token has a `LastDecodeTime` of 0 and no `MaxDecodeTime`.
//! - `GeneratedTokenSpeed` is tokens over `GenerateTime`, of each answer.
//! - `lpct` is Σ first-token time / Σ input tokens.
//! - `PrefillBatchsize` is the batch of each answer's first token, `DecoderBatchsize` and
//!   `QueueWaitTime` pool what the server says of every later and of every token; these two have
//!   no `SLO_P90`.
//! - Rows that only the engine or the tool's own process knows, and did not tell, are `/`.

use crate::object::Object;
use crate::outline::ascii_box;
use crate::python::{Real, mean, rounded};
use crate::{DialectError, Source, input_tokens, millis, start, successes};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::Record;
use inferometer_core::work::PromptSource;
use std::time::Duration;

/// A run in the tool's numbers: cells of its two tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Name, then the eight columns.
    performance: Vec<(&'static str, [String; 8])>,
    common: Vec<(&'static str, String)>,
}

const COLUMNS: [&str; 8] = ["average", "max", "min", "P75", "P90", "SLO_P90", "P99", "N"];

/// The run's numbers as the tool would have had them.
pub fn measure(source: &Source<'_>) -> Result<Numbers, DialectError> {
    let records = source.measured();
    let done = successes(&records, "mindie")?;
    Ok(Numbers {
        performance: performance(&done),
        common: common(source, &records, &done),
    })
}

/// How a row's numbers are printed.
#[derive(Clone, Copy)]
enum Kind {
    /// Measured, with a unit.
    Measured(&'static str),
    /// Counted, with a unit: extremes are whole numbers.
    Counted(&'static str),
}

impl Kind {
    fn unit(self, text: impl std::fmt::Display) -> String {
        match self {
            Kind::Measured("") | Kind::Counted("") => text.to_string(),
            Kind::Measured(unit) | Kind::Counted(unit) => format!("{text} {unit}"),
        }
    }

    fn value(self, value: f64) -> String {
        self.unit(Real(rounded(value, 4)))
    }

    /// A value that was seen and not computed.
    fn seen(self, value: f64) -> String {
        match self {
            Kind::Counted(_) => self.unit(value as u64),
            // Python's whole 0 of an answer without a second token.
            Kind::Measured(_) if value == 0.0 => self.unit(0),
            Kind::Measured(_) => self.value(value),
        }
    }
}

fn performance(done: &[&Record]) -> Vec<(&'static str, [String; 8])> {
    let n = done.len().to_string();
    let ms = Kind::Measured("ms");
    let gaps = |record: &Record| record.gaps().map(millis).collect::<Vec<f64>>();
    let first = done.iter().map(|record| millis(first_token(record)));
    let pooled = done.iter().flat_map(|record| gaps(record));
    let last = done.iter().map(|r| gaps(r).last().copied().unwrap_or(0.0));
    let largest = done.iter().filter_map(|record| record.max_gap());
    let whole = done.iter().map(|record| millis(generate_time(record)));
    let counts = |count: fn(&Record) -> u64| done.iter().map(|r| count(r) as f64).collect();
    let speed = done.iter().filter_map(|record| {
        let seconds = generate_time(record).as_secs_f64();
        (seconds > 0.0).then(|| output(record) as f64 / seconds)
    });
    let means = done.iter().map(|record| gaps(record));
    let means = means
        .filter(|gaps| !gaps.is_empty())
        .map(|gaps| mean(&gaps));
    let row = |name, kind, sample: Vec<f64>| (name, cells(kind, sample, &n));
    let mut decode = cells(ms, pooled.collect(), &n);
    let mut means: Vec<f64> = means.collect();
    sort(&mut means);
    decode[5] = quantile(&means, 0.9).map_or(ms.unit("/"), |value| ms.value(value));
    let chars = done.iter().map(|record| record.output_chars);
    let chars = chars.fold(0, u64::saturating_add);
    let tokens: u64 = done.iter().map(|record| output(record)).sum();
    let pooled_cells = |kind: Kind, sample| {
        let mut cells = cells(kind, sample, &n);
        cells[5] = kind.unit("/");
        cells
    };
    let told = || done.iter().filter_map(|record| record.per_token.as_deref());
    let sizes = told().map(|told| told.batch_size.split_first());
    let prefills = sizes.clone().flatten().map(|(&prefill, _)| prefill.into());
    let prefills = prefills.collect();
    let decodes = sizes.flatten().flat_map(|(_, decodes)| decodes);
    let decodes = decodes.map(|&batch| batch.into()).collect();
    let waits = told().flat_map(|told| &told.queue_wait_us);
    let waits = waits.map(|&wait| wait.into()).collect();
    vec![
        row("FirstTokenTime", ms, first.collect()),
        ("DecodeTime", decode),
        row("LastDecodeTime", ms, last.collect()),
        row("MaxDecodeTime", ms, largest.map(millis).collect()),
        row("GenerateTime", ms, whole.collect()),
        row("InputTokens", Kind::Counted(""), counts(input)),
        row("GeneratedTokens", Kind::Counted(""), counts(output)),
        row(
            "GeneratedTokenSpeed",
            Kind::Measured("token/s"),
            speed.collect(),
        ),
        // Without any text, as in virtual time, characters are not known.
        match chars {
            0 => ("GeneratedCharacters", unknown(Kind::Counted(""), &n)),
            _ => row(
                "GeneratedCharacters",
                Kind::Counted(""),
                counts(|record| record.output_chars),
            ),
        },
        ("Tokenizer", unknown(ms, &n)),
        ("Detokenizer", unknown(ms, &n)),
        ("CharactersPerToken", {
            let mut cells = unknown(Kind::Counted(""), &n);
            if tokens > 0 && chars > 0 {
                cells[0] = Kind::Measured("").value(chars as f64 / tokens as f64);
            }
            cells
        }),
        ("PostProcessingTime", unknown(ms, &n)),
        ("ForwardTime", unknown(ms, &n)),
        row("PrefillBatchsize", Kind::Counted(""), prefills),
        ("DecoderBatchsize", pooled_cells(Kind::Counted(""), decodes)),
        ("QueueWaitTime", pooled_cells(Kind::Counted("μs"), waits)),
    ]
}

fn unknown(kind: Kind, n: &str) -> [String; 8] {
    let mut cells = std::array::from_fn(|_| kind.unit("/"));
    cells[7] = n.to_owned();
    cells
}

fn cells(kind: Kind, mut sample: Vec<f64>, n: &str) -> [String; 8] {
    sort(&mut sample);
    let (Some(&least), Some(&most)) = (sample.first(), sample.last()) else {
        return unknown(kind, n);
    };
    let at = |share| quantile(&sample, share).map_or(kind.unit("/"), |value| kind.value(value));
    [
        kind.value(mean(&sample)),
        kind.seen(most),
        kind.seen(least),
        at(0.75),
        at(0.9),
        at(0.9),
        at(0.99),
        n.to_owned(),
    ]
}

/// To the first token; without a stream, the whole time.
fn first_token(record: &Record) -> Duration {
    match record.first_token() {
        Some(first) => first.since(start(record)),
        None => generate_time(record),
    }
}

fn generate_time(record: &Record) -> Duration {
    let start = start(record);
    record.completed().unwrap_or(start).since(start)
}

fn input(record: &Record) -> u64 {
    u64::from(input_tokens(record))
}

fn output(record: &Record) -> u64 {
    u64::from(record.output_tokens().unwrap_or(0))
}

fn common(
    source: &Source<'_>,
    records: &[&Record],
    done: &[&Record],
) -> Vec<(&'static str, String)> {
    let elapsed = source.duration(records).as_secs_f64();
    let rate = |amount: f64| rounded(if elapsed > 0.0 { amount / elapsed } else { 0.0 }, 4);
    let tokens: u64 = done.iter().map(|record| output(record)).sum();
    let inputs: u64 = done.iter().map(|record| input(record)).sum();
    let waited: f64 = (done.iter())
        .map(|record| millis(first_token(record)))
        .sum();
    let planned = source.ending.planned.max(records.len() as u64);
    let share = |count: usize, of: u64| {
        let percent = count as f64 * 100.0 / of.max(1) as f64;
        format!("{}%", Real(rounded(percent, 2)))
    };
    let total = records.len() as u64;
    let end = records.iter().filter_map(|record| record.end).max();
    let now = source.wall_time(end.unwrap_or_default());
    let concurrency = source.max_concurrency();
    let speed = rate(tokens as f64);
    let failed = records.len() - done.len();
    let data = match &source.scenario.work.prompts {
        PromptSource::Data(data) => data.location.clone(),
        PromptSource::Synthetic(_) | PromptSource::Text(_) | PromptSource::Continuation(_) => {
            "/".to_owned()
        }
    };
    vec![
        ("CurrentTime", now.strftime("%Y-%m-%d %H:%M:%S").to_string()),
        ("TimeElapsed", format!("{} s", Real(rounded(elapsed, 4)))),
        ("DataSource", data),
        ("Failed", format!("{failed}( {} )", share(failed, total))),
        (
            "Returned",
            format!("{}( {} )", done.len(), share(done.len(), total)),
        ),
        (
            "Total",
            format!("{total}[ {} ]", share(records.len(), planned)),
        ),
        (
            "Concurrency",
            concurrency.map_or("/".to_owned(), |streams| streams.to_string()),
        ),
        ("ModelName", source.model()),
        (
            "lpct",
            match inputs {
                0 => "/ ms".to_owned(),
                inputs => format!("{} ms", Real(rounded(waited / inputs as f64, 4))),
            },
        ),
        (
            "Throughput",
            format!("{} req/s", Real(rate(done.len() as f64))),
        ),
        ("GenerateSpeed", format!("{} token/s", Real(speed))),
        (
            "GenerateSpeedPerClient",
            match concurrency.filter(|&streams| streams > 0) {
                Some(streams) => {
                    let each = rate(tokens as f64 / f64::from(streams));
                    format!("{} token/s", Real(each))
                }
                None => "/ token/s".to_owned(),
            },
        ),
        ("accuracy", "/".to_owned()),
    ]
}

impl Numbers {
    /// Both tables with their sentences.
    pub fn text(&self) -> String {
        let mut heads = vec!["Metric".to_owned()];
        heads.extend(COLUMNS.map(str::to_owned));
        let rows: Vec<Vec<String>> = (self.performance.iter())
            .map(|(name, cells)| {
                let mut row = vec![(*name).to_owned()];
                row.extend(cells.iter().cloned());
                row
            })
            .collect();
        let common: Vec<Vec<String>> = (self.common.iter())
            .map(|(name, value)| vec![(*name).to_owned(), printable(value)])
            .collect();
        format!(
            "The BenchMark test performance metric result is:\n{}\n\
             The BenchMark test common metric result is:\n{}\n",
            ascii_box(&heads, &rows),
            ascii_box(&["Common Metric", "Value"].map(str::to_owned), &common)
        )
    }

    /// The same cells by name: the tool itself writes them as CSV.
    pub fn json(&self) -> String {
        let rows = self.performance.iter().map(|(name, cells)| {
            let pairs = COLUMNS.iter().zip(cells);
            let pairs = pairs.map(|(column, cell)| (*column, cell.clone().into()));
            (*name, Object::from_pairs(pairs))
        });
        let mut performance = Object::default();
        for (name, row) in rows {
            performance.nest(name, row);
        }
        let pairs = self.common.iter();
        let common = Object::from_pairs(pairs.map(|(name, value)| (*name, value.clone().into())));
        let mut object = Object::default();
        object.nest("performance", performance);
        object.nest("common", common);
        object.finished()
    }
}

/// A model's name is the server's word.
fn printable(text: &str) -> String {
    inferometer_text::hostile::printable(text, 200).replace('|', "¦")
}
