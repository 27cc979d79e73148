//! A study that can be run.

use super::goal::Goal;
use super::last_stage::LastStage;
use crate::search::{Grid, Halving, Random, Searcher, Tpe};
use crate::space::{Point, Space, command_with};
use crate::trial::Level;
use inferometer_catalog::engine::{EngineKind, LaunchCommand, Version};
use inferometer_core::options::{ConnectionOptions, LoadOptions, WorkOptions};
use inferometer_core::units::Span;
use serde::Deserialize;
use std::path::PathBuf;

/// A study that can be run: its space is not empty, its goal has a direction, its budget an end.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    pub engine: Engine,
    pub space: Space,
    pub connection: ConnectionOptions,
    pub work: WorkOptions,
    /// How it is sent; the levels are in `levels`.
    pub load: LoadOptions,
    /// Load levels measured on each start: starting takes longer than measuring.
    pub levels: Vec<Level>,
    pub goal: Goal,
    pub budget: Budget,
    pub searcher: SearcherName,
    pub seed: u64,
    pub last_stage: LastStage,
    /// Flags of its space that the simulated engine does not act on, where that computes it.
    pub unmodelled: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    /// The command that the flags of a trial are added to.
    pub command: LaunchCommand,
    /// MindIE's configuration file, whose copy the keys of a trial are put into.
    pub config: Option<PathBuf>,
    /// The engine's version; absent: asked of the engine.
    pub version: Option<Version>,
    /// The measured URL, where it is not that of the command's port.
    pub url: Option<String>,
    /// How to stop what a wrapper started.
    pub stop: Option<String>,
    pub start_timeout: Span,
    /// What the user knows of the engine: `parallel <= 64`.
    pub rules: Vec<String>,
}

impl Engine {
    pub fn kind(&self) -> EngineKind {
        match self.config {
            Some(_) => EngineKind::Mindie,
            None => self.command.engine,
        }
    }

    pub fn command_with(&self, flags: &Point) -> LaunchCommand {
        command_with(&self.command, self.version, flags)
    }

    /// The command of a trial, ready to paste. MindIE's flags are in its file.
    pub fn command_line(&self, flags: &Point) -> String {
        match self.kind() {
            EngineKind::Mindie => self.command.to_string(),
            _ => self.command_with(flags).to_string(),
        }
    }
}

/// When a study ends, whichever comes first; the last stage comes on top.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub trials: u64,
    pub hours: Option<f64>,
}

impl Budget {
    /// Whether another trial may begin. Trials that a rule foresaw did not start anything.
    pub fn allows(&self, begun: u64, spent_hours: f64) -> bool {
        begun < self.trials && self.hours.is_none_or(|hours| spent_hours < hours)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum SearcherName {
    Grid,
    Random,
    Halving(Halving),
    Tpe,
    /// A program that speaks [`crate::search::external`].
    External(Vec<String>),
}

impl SearcherName {
    /// The searcher; absent for one outside of this program.
    pub fn searcher(&self) -> Option<Box<dyn Searcher>> {
        Some(match self {
            SearcherName::Grid => Box::new(Grid),
            SearcherName::Random => Box::new(Random),
            SearcherName::Halving(halving) => Box::new(halving.clone()),
            SearcherName::Tpe => Box::new(Tpe),
            SearcherName::External(_) => return None,
        })
    }
}
