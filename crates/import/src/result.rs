//! What an import finds.

use crate::assumption::Assumption;
use crate::doubt::{RepeatedNumber, StatedImportDoubt, ToldFailures};
use crate::failure_words::is_out_of_memory;
use crate::summary::ImportedSummary;
use crate::unread::UnreadReason;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Name and version of the form that `import --format json` prints.
pub const SCHEMA: &str = "inferometer.import/1";

/// Where a result comes from; its numbers are as this tool defines them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Tool {
    /// vLLM's serving benchmark of 2023: total time, throughput, average latencies.
    #[serde(rename = "vllm-2023")]
    #[strum(serialize = "vllm-2023")]
    Vllm2023,
    /// vLLM's serving benchmark since 2024, text or JSON.
    Vllm,
    /// SGLang's serving benchmark, text or JSONL.
    Sglang,
    /// EvalScope's summary block of 2024.
    #[serde(rename = "evalscope-2024")]
    #[strum(serialize = "evalscope-2024")]
    Evalscope2024,
    /// EvalScope's tables and JSON files of today.
    Evalscope,
    /// MindIE's benchmark tool, console tables or CSV.
    Mindie,
    /// GuideLLM's `benchmarks.json`.
    Guidellm,
    /// AIPerf's and GenAI-Perf's exports and console tables.
    Aiperf,
    Aisbench,
    /// The log of an input length × output length study.
    GridLog,
    /// Launch commands with a JSON summary or a start error.
    TrialLog,
    /// A table with one column, or one row, for each concurrency.
    #[default]
    MarkdownTable,
}

impl Tool {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedResult {
    /// Whose definition the numbers follow.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub tool: Tool,
    /// Its place among all results of what was read, from 1, whichever of them are shown.
    #[serde(default)]
    pub number: u64,
    /// File that it was read from, as it was named.
    pub file: String,
    /// First and last line, from 1.
    pub lines: (u64, u64),
    /// Its name: the nearest heading that says more than a load, or the model.
    pub label: Option<String>,
    /// Headings that it stands under, the outermost first; those that only name a load left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub section: Vec<String>,
    /// The heading right above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// What the headings, and of its model it itself, say of it: `engine`, `card`, `model`, `data`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// The load: `concurrency`, `rate` (a number or `"inf"`), `input_chars`, `ask_chars` …
    pub point: BTreeMap<String, Value>,
    /// Launch command of the server above it; absent where several results follow one command.
    pub command: Option<String>,
    pub client_command: Option<String>,
    /// Flags of `command`; `None` if not known.
    pub flags: Option<BTreeMap<String, Value>>,
    /// What the engine ran with where `command` is silent, by the defaults of its version;
    /// `None` where that version is not known.
    #[serde(default)]
    pub defaults: Option<EngineDefaults>,
    /// Device memory in use, where the notes give a reading.
    pub device_memory_gib: Option<f64>,
    /// The numbers; absent for a start that was refused.
    pub summary: Option<ImportedSummary>,
    /// Why there are none: what the engine said to a start that was refused, or, with a load in
    /// `point`, when it ran out of memory or refused that load.
    pub error: Option<String>,
    /// Values of `summary` that were not printed but follow from others by division.
    pub derived: Vec<Cow<'static, str>>,
    /// What had to be assumed to read it, such as a unit that was not written.
    pub assumed: Vec<Assumption>,
    /// Names of its numbers that could not be read; of JSON, paths of keys, where `*` is any.
    #[serde(default)]
    pub unread: Vec<String>,
    /// Why, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unread_because: BTreeMap<String, UnreadReason>,
    /// Numbers that it gives twice with different values.
    #[serde(default)]
    pub twice: Vec<RepeatedNumber>,
    /// What lines beside it say of requests that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_failures: Option<ToldFailures>,
    /// The remark that it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_void: Option<String>,
    /// The remark by which the author of the notes doubts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_doubtful: Option<String>,
    /// Its table or its heading calls it a repeat of another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub said_again: bool,
    /// Reasons to distrust it, the worst first.
    pub doubts: Vec<StatedImportDoubt>,
}

impl ImportedResult {
    /// Notes the model that it names itself.
    pub(crate) fn is_of_model(&mut self, model: &str) {
        let model = inferometer_text::hostile::printable(model, 200);
        self.facts.insert("model".to_owned(), model);
    }

    /// Notes something that it was not read from, and why.
    pub(crate) fn is_without(&mut self, name: String, reason: UnreadReason) {
        if !self.unread.contains(&name) {
            self.unread.push(name.clone());
            self.unread_because.insert(name, reason);
        }
    }

    pub(crate) fn new(tool: Tool, lines: (usize, usize)) -> Self {
        ImportedResult {
            tool,
            lines: (lines.0 as u64 + 1, lines.1 as u64 + 1),
            ..ImportedResult::default()
        }
    }

    /// Whether a server that had started ran out of memory at the load of this result.
    pub fn is_out_of_memory_under_load(&self) -> bool {
        let is_said = self.error.as_deref().is_some_and(is_out_of_memory);
        is_said && !self.point.is_empty()
    }

    /// The point by which it meets others: streams at no limit of the rate are a closed loop,
    /// whether the source says so or not.
    pub fn load_point(&self) -> BTreeMap<String, Value> {
        let mut point = self.point.clone();
        if point.contains_key("concurrency") && point.get("rate") == Some(&"inf".into()) {
            point.remove("rate");
        }
        point
    }

    /// First and last line, from 0.
    pub(crate) fn span(&self) -> (usize, usize) {
        let index = |line: u64| usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        (index(self.lines.0), index(self.lines.1))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineDefaults {
    /// The engine's version whose defaults these are.
    pub version: String,
    /// How that version is known: `given`, `command`, `flags` or `date`.
    pub by: String,
    pub flags: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The first heading of a file of notes.
    pub title: Option<String>,
    pub results: Vec<ImportedResult>,
    /// Spans of lines that look like results and could not be read.
    pub unread: Vec<(u64, u64)>,
}

impl Imported {
    /// Gives each result its number.
    pub(crate) fn number(&mut self) {
        for (number, found) in (1..).zip(&mut self.results) {
            found.number = number;
        }
    }
}

impl Imported {
    pub fn to_json(&self) -> Value {
        serde_json::json!({ "schema": SCHEMA, "results": self.results, "unread": self.unread })
    }
}
