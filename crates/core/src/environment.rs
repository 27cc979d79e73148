//! What surrounds the records of a run: where it ran, what the server said of itself, how the
//! run ended. Stored as `environment.json` at the start and `ending.json` at the end.

use crate::note::Note;
use crate::units::Offset;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Known before the first request is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    pub inferometer: String,
    /// The command as it was typed, without secrets; empty where a run is a part of something else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<String>,
    /// Wall time of the beginning, RFC 3339.
    pub started: String,
    /// The run's origin on CLOCK_MONOTONIC, so that other logs can be laid beside it.
    pub origin_monotonic_ns: u64,
    /// Words that made the prompts of this run new; absent without `--cache-nonce`.
    pub nonce: Option<String>,
    /// Number of distinct prompts; absent if every prompt is new.
    pub distinct_prompts: Option<u64>,
    pub host: Host,
    /// What the preflight learned of the server.
    pub server: Probe,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<StartedEngine>,
    /// Token events a second that one worker of this client can take, as `doctor` found.
    pub ceiling_tokens_per_s: Option<f64>,
    pub workers: u32,
    /// The processes that shared the load, where there were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
    /// Things that were decided and that a reader should know, one sentence each.
    pub notes: Vec<Note>,
}

/// The processes that share a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ranks {
    /// How many there should be.
    pub of: u32,
    /// Those that did not come; the others carried their shares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u32>,
    /// Those that took part beside rank 0, whose host is the run's.
    pub others: Vec<RankHost>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankHost {
    pub rank: u32,
    /// Name of its host.
    pub name: String,
    pub host: Host,
    pub workers: u32,
    /// By how much its clock may be off from that of rank 0, on which all times are told: half
    /// of the shortest round trip.
    pub clock_error_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Operating system and its version.
    pub system: String,
    pub architecture: String,
    pub cpu: Option<String>,
    /// Cores that this process may use.
    pub cores: u32,
    pub open_files: Option<u64>,
}

/// An engine that was started for a measurement, and what it told of itself meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartedEngine {
    /// Which engine: `vllm`, `sglang`, `mindie`, `llama-server` or `custom`.
    pub name: String,
    pub version: Option<String>,
    /// Options of ours that say what the command does not, as in `--engine-stop …`, or the log
    /// by which a server that others started is known; without secrets.
    pub options: Vec<String>,
    /// The command, without secrets; empty where others started it.
    pub command: Vec<String>,
    /// The flags of it that a sweep or a study chose.
    pub flags: BTreeMap<String, String>,
    /// Cards that it takes, as its command or its file says.
    pub cards: Option<u64>,
    /// Seconds from the start to the first good answer.
    pub start_s: Option<f64>,
    /// Memory of the weights on one device.
    pub weights_gib: Option<f64>,
    /// Memory for the KV cache on one device.
    pub kv_gib: Option<f64>,
    /// Tokens that the KV cache holds.
    pub kv_tokens: Option<u64>,
    /// How many of the longest requests fit at once.
    pub max_concurrency: Option<f64>,
    /// The length that it serves.
    pub max_model_len: Option<u64>,
    /// Seconds of the graph capture.
    pub graphs_s: Option<f64>,
    pub log: PathBuf,
}

/// What the server understands, learned by the preflight and stored with the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probe {
    /// Whole address that requests are sent to, for each URL, without secrets.
    pub endpoints: Vec<String>,
    /// The API that is spoken: `chat` or `completions`.
    pub api: String,
    /// The model that is asked for.
    pub model: String,
    pub models: Vec<String>,
    /// `Server` header or version, as the server says it.
    pub software: Option<String>,
    /// Largest context that the server states.
    pub max_model_len: Option<u64>,
    pub stream_usage: bool,
    /// Usage can be had in every chunk, and is asked for because chunks hold several tokens.
    pub chunk_usage: bool,
    /// `ignore_eos` is taken.
    pub ignore_eos: Option<bool>,
    /// `min_tokens` is taken.
    pub min_tokens: Option<bool>,
    /// The name that the limit of output tokens has.
    pub limit_field: LimitField,
    /// Token ids are taken in place of text; absent where it was not asked.
    pub token_ids: Option<bool>,
    /// Latency of the preflight request.
    pub latency_ms: Option<f64>,
    /// Fields that the server refused and that are therefore not sent.
    pub refused_fields: Vec<String>,
}

impl Environment {
    /// Whether the simulated engine answered, started by us or by somebody.
    pub fn is_simulated(&self) -> bool {
        let told = self.server.software.as_deref();
        told.is_some_and(|it| it.starts_with("inferometer-sim"))
    }

    /// The engine and its version: as it was started, else as the server told, without the
    /// framework that carries it.
    pub fn engine_name(&self) -> Option<String> {
        match &self.engine {
            Some(engine) => {
                let version = engine.version.as_deref().unwrap_or_default();
                Some(format!("{} {version}", engine.name).trim_end().to_owned())
            }
            None => {
                let told = self.server.software.as_deref()?;
                Some(told.split(", ").next().unwrap_or(told).to_owned())
            }
        }
    }
}

/// Names of the limit of output tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum LimitField {
    #[default]
    #[strum(serialize = "max_tokens")]
    MaxTokens,
    #[strum(serialize = "max_completion_tokens")]
    MaxCompletionTokens,
}

/// Known when the run has ended. Without it, the run was killed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ending {
    pub cause: EndCause,
    /// Planned requests of the measured part, the unsent included.
    pub planned: u64,
    /// Of these, never started.
    pub unsent: u64,
    pub measured_from: Offset,
    /// When the last measured request had been sent or given up, or the time for it was over.
    pub sending_ended: Offset,
    /// The load began before `measured_from` and was up to strength then, so that throughput is
    /// what came between it and `sending_ended`. Runs of earlier versions had no such window.
    pub steady_window: bool,
    /// Spread of the first wave, if there was one.
    pub stagger_ns: Option<u64>,
    /// CPU use of each client thread over the measured part, from 0 to 1; the last is that of pages
    /// and of the view in the terminal, where somebody looked.
    pub thread_cpu_shares: Vec<f64>,
    /// How late the client was woken over the measured part, at the 99th percentile; absent
    /// where that was not looked at.
    pub pulse_p99_ms: Option<f64>,
    /// The latest of these wake-ups; absent in runs of earlier versions, too.
    pub longest_pause_ms: Option<f64>,
    /// The health probe after the measurement: what went wrong, if it did.
    pub health: Health,
    /// How the load went on each rank, where several shared it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankEnding>,
}

impl Ending {
    /// Measured requests that ranks had begun whose records are lost with them.
    pub fn lost_requests(&self) -> u64 {
        let lost = self.ranks.iter().filter(|rank| rank.lost.is_some());
        lost.map(|rank| rank.sent).sum()
    }
}

/// How the load went on one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankEnding {
    pub rank: u32,
    /// Measured requests that it began, as far as is known.
    pub sent: u64,
    /// Its own lag at the 99th percentile, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_p99_ms: Option<f64>,
    pub thread_cpu_shares: Vec<f64>,
    pub pulse_p99_ms: Option<f64>,
    pub longest_pause_ms: Option<f64>,
    /// How far its clock went away from that of rank 0 meanwhile, and by how much that may be
    /// wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_moved_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// Why its records are not here, if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum EndCause {
    /// All was sent and answered, or the time was over.
    #[default]
    Complete,
    Signal,
    /// A `--stop-when` condition came true.
    StopCondition,
    /// The result was known as well as `--until` asks.
    Precise,
    /// Nothing moved for too long, or a client thread died.
    Watchdog,
    /// The server could not be reached for as long as `--give-up-after`.
    ServerAway,
    /// A rank that shared the load was lost.
    RankLost,
    /// Its records could not be written any longer, as on a full disk.
    Unwritten,
    /// It was killed: nothing was written at the end.
    Killed,
    /// It goes on: there is no end yet.
    Running,
}

impl EndCause {
    /// What ends the run ends the sweep or search that it belongs to.
    pub fn is_of_all(self) -> bool {
        matches!(self, EndCause::Signal | EndCause::RankLost)
    }

    /// Nothing but this was written at its end, so that the records must tell what they can.
    pub fn is_without_ending(self) -> bool {
        use EndCause::{Killed, Running, Unwritten};
        matches!(self, Unwritten | Killed | Running)
    }
}

/// The server after the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    #[default]
    Unknown,
    Alive,
    /// It does not, and this is what was seen.
    Dead(String),
}
