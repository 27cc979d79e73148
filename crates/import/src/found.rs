//! What an import finds.

use crate::assumption::Assumption;
use crate::doubt::ImportDoubt;
use crate::summary::ImportedSummary;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Name and version of the form that `import --format json` prints.
pub const SCHEMA: &str = "inferometer.import/1";

/// Where a result comes from; its numbers are as this tool defines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// vLLM's serving benchmark of 2023: total time, throughput, average latencies.
    Vllm2023,
    /// vLLM's serving benchmark since 2024, text or JSON.
    Vllm,
    /// SGLang's serving benchmark, text or JSONL.
    Sglang,
    /// EvalScope's summary block of 2024.
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
    MarkdownTable,
}

impl Tool {
    /// All tools, in the order of the manual.
    pub const ALL: [Tool; 12] = [
        Tool::Vllm2023,
        Tool::Vllm,
        Tool::Sglang,
        Tool::Evalscope2024,
        Tool::Evalscope,
        Tool::Mindie,
        Tool::Guidellm,
        Tool::Aiperf,
        Tool::Aisbench,
        Tool::GridLog,
        Tool::TrialLog,
        Tool::MarkdownTable,
    ];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Vllm2023 => "vllm-2023",
            Tool::Vllm => "vllm",
            Tool::Sglang => "sglang",
            Tool::Evalscope2024 => "evalscope-2024",
            Tool::Evalscope => "evalscope",
            Tool::Mindie => "mindie",
            Tool::Guidellm => "guidellm",
            Tool::Aiperf => "aiperf",
            Tool::Aisbench => "aisbench",
            Tool::GridLog => "grid-log",
            Tool::TrialLog => "trial-log",
            Tool::MarkdownTable => "markdown-table",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name);
        tool.ok_or_else(|| serde::de::Error::custom(format!("'{name}' is no tool known here")))
    }
}

/// One result of another tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// Whose definition the numbers follow.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub tool: Tool,
    /// File that it was read from, as it was named.
    pub file: String,
    /// First and last line, from 1.
    pub lines: (u64, u64),
    /// Heading above it, or the model's name.
    pub label: Option<String>,
    /// The load: `concurrency`, `rate` (a number or `"inf"`), `input_chars`, `ask_chars` …
    pub point: BTreeMap<String, Value>,
    /// Launch command of the server above it; absent where several results follow one command.
    pub command: Option<String>,
    /// Command of the benchmark itself above it.
    pub client_command: Option<String>,
    /// Flags of `command`; `None` if not known.
    pub flags: Option<BTreeMap<String, Value>>,
    /// What the engine ran with where `command` is silent, by the defaults of its version;
    /// `None` where that version is not known.
    #[serde(default)]
    pub defaults: Option<Defaults>,
    /// Device memory in use, where the notes give a reading.
    pub device_memory_gib: Option<f64>,
    /// The numbers; absent for a start that was refused.
    pub summary: Option<ImportedSummary>,
    /// Why the server did not start.
    pub error: Option<String>,
    /// Values of `summary` that were not printed but follow from others by division.
    pub derived: Vec<Cow<'static, str>>,
    /// What had to be assumed to read it, such as a unit that was not written.
    pub assumed: Vec<Assumption>,
    /// Names of its numbers that could not be read.
    #[serde(default)]
    pub unread: Vec<String>,
    /// Numbers that it gives twice, and not the same.
    #[serde(default)]
    pub twice: Vec<Twice>,
    /// Reasons to distrust it, the worst first.
    pub doubts: Vec<ImportDoubt>,
}

impl Found {
    pub(crate) fn new(tool: Tool, lines: (usize, usize)) -> Self {
        Found {
            tool,
            file: String::new(),
            lines: (lines.0 as u64 + 1, lines.1 as u64 + 1),
            label: None,
            point: BTreeMap::new(),
            command: None,
            client_command: None,
            flags: None,
            defaults: None,
            device_memory_gib: None,
            summary: None,
            error: None,
            derived: Vec::new(),
            assumed: Vec::new(),
            unread: Vec::new(),
            twice: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// First and last line, from 0.
    pub(crate) fn span(&self) -> (usize, usize) {
        let index = |line: u64| usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        (index(self.lines.0), index(self.lines.1))
    }
}

/// A number that a result gives again under another name or with another value; the first
/// stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Twice {
    /// The name of the second.
    pub name: String,
    /// The first, in the unit of a summary.
    pub kept: f64,
    /// The second.
    pub passed_over: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Defaults {
    /// The engine's version whose defaults these are.
    pub version: String,
    /// How that version is known: `given`, `command`, `flags` or `date`.
    pub by: String,
    pub flags: BTreeMap<String, Value>,
}

/// All results of a text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    pub results: Vec<Found>,
    /// Spans of lines that look like results and could not be read.
    pub unread: Vec<(u64, u64)>,
}

impl Imported {
    /// The object that `import --format json` prints.
    pub fn to_json(&self) -> Value {
        serde_json::json!({ "schema": SCHEMA, "results": self.results, "unread": self.unread })
    }
}
