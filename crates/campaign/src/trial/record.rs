//! What was proposed, and what came of it.

use crate::search::RungFigure;
use crate::space::Point;
use inferometer_core::doubt::DoubtCode;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// What is to be started. Stored before it is, so that a killed study knows what it was at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proposal {
    /// Counts from 0, the default configuration.
    pub id: u64,
    pub origin: Origin,
    /// The flags that are added to the command; none for the default.
    pub flags: Point,
    /// The values of the searched flags as the searcher sees them: those of `flags`, or the
    /// engine's own where that is known.
    pub point: Point,
    /// Those of `flags` that say what the engine does by itself beside the others; absent where
    /// that is not known, as in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implied: Option<BTreeSet<String>>,
    /// The engine's words about the point that this one was moved from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Origin {
    Default,
    Preset(String),
    Search,
    /// A fresh start of an earlier trial, for the last stage.
    Confirm {
        of: u64,
        /// Fresh starts of one round saw the same prompts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        round: Option<usize>,
    },
    /// An earlier trial with fewer flags, to see which of them its gain needs.
    Trim {
        of: u64,
    },
}

impl Origin {
    /// The trial that this is a fresh start of.
    pub fn confirms(&self) -> Option<u64> {
        match self {
            Origin::Confirm { of, .. } => Some(*of),
            Origin::Default | Origin::Preset(_) | Origin::Search | Origin::Trim { .. } => None,
        }
    }

    /// Whether the search chose it; the last stage chose the others.
    pub fn is_searched(&self) -> bool {
        matches!(self, Origin::Default | Origin::Preset(_) | Origin::Search)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum State {
    #[default]
    Done,
    Refused,
    /// The engine did not start, or died.
    Crashed,
    /// It took longer than was allowed.
    Timeout,
    /// Given up early: others were better.
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    #[serde(flatten)]
    pub proposal: Proposal,
    #[serde(flatten)]
    pub ending: Ending,
}

impl Trial {
    pub fn is_searched(&self) -> bool {
        self.proposal.origin.is_searched()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ending {
    pub state: State,
    /// The class of a failure, by the catalogue's word: `no-room-for-kv-cache`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The line of the engine's log that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// One for each load level, in the order in which they were measured on this one start.
    #[serde(default)]
    pub measurements: Vec<Measurement>,
    /// What it had at the rungs of a race.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<RungFigure>,
    /// Device memory in use while serving.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_memory_gib: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// Time of the whole trial, the start included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_s: Option<f64>,
}

impl Ending {
    pub fn done(measurements: Vec<Measurement>) -> Self {
        Ending {
            measurements,
            ..Self::of(State::Done)
        }
    }

    /// Given up at a rung, with what was measured by then.
    pub fn stopped(measurements: Vec<Measurement>) -> Self {
        Ending {
            measurements,
            ..Self::of(State::Stopped)
        }
    }

    pub fn failed(state: State, class: &str, evidence: Option<String>) -> Self {
        Ending {
            class: Some(class.to_owned()),
            evidence,
            ..Self::of(state)
        }
    }

    pub fn is_valid(&self) -> bool {
        self.measurements.iter().all(Measurement::is_valid)
    }

    /// At some load level streams sent in waves.
    pub fn is_in_step(&self) -> bool {
        self.measurements.iter().any(Measurement::is_in_step)
    }

    /// Requests that failed at all load levels together, where that is known.
    pub fn failed_requests(&self) -> Option<u64> {
        let known = self.measurements.iter();
        known
            .filter_map(Measurement::failed_requests)
            .reduce(|a, b| a.saturating_add(b))
    }

    fn of(state: State) -> Self {
        Ending {
            state,
            ..Ending::default()
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    pub load: Level,
    /// `summary.json`'s object, or that of a capacity search.
    pub summary: Json,
    /// How long it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Level {
    Concurrency(u32),
    Capacity,
}

impl Measurement {
    /// A number by its path in the summary: `throughput.output_tokens_per_s`.
    pub fn figure(&self, path: &str) -> Option<f64> {
        let found = path
            .split('.')
            .try_fold(&self.summary, |json, key| json.get(key));
        found?.as_f64().filter(|number| number.is_finite())
    }

    /// Whether it may be trusted, by the run's own verdict.
    pub fn is_valid(&self) -> bool {
        self.run().get("valid") != Some(&Json::Bool(false))
    }

    fn is_in_step(&self) -> bool {
        let doubts = self.run().get("doubts").and_then(Json::as_array);
        let mut codes = doubts.into_iter().flatten().map(|doubt| &doubt["code"]);
        codes.any(|code| code == DoubtCode::InStep.into_str())
    }

    pub fn failed_requests(&self) -> Option<u64> {
        self.run().pointer("/requests/failed")?.as_u64()
    }

    /// The run itself; of a capacity the one that confirmed it.
    pub(crate) fn run(&self) -> &Json {
        match self.load {
            Level::Concurrency(_) => &self.summary,
            Level::Capacity => &self.summary["confirmed"],
        }
    }
}
