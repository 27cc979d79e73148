//! A search for a capacity, on servers that are up.

use super::driver::SearchDriver;
use super::objectives::{Tier, Watched};
use super::over::{Over, levels};
use crate::error::{Context as _, RunnerError};
use crate::observer::Observer;
use crate::servers::Servers;
use crate::session::Session;
use inferometer_campaign::capacity::stored::{Capacity, FILE, SCHEMA};
use inferometer_campaign::capacity::{Search, Settings};
use inferometer_core::options::Options;
use inferometer_core::slo::Slo;
use inferometer_load::instrument::Control;
use std::path::Path;

/// Most requests of a search.
pub const USUAL_BUDGET: u64 = 100_000;
/// How far the ends of the interval may be from the answer, where many settings are compared.
const STUDY_TOLERANCE: f64 = 0.08;
/// Most requests for each of these.
const STUDY_BUDGET: u64 = 30_000;

pub struct CapacitySearch {
    pub options: Options,
    over: Over,
    watched: Watched,
    search: Search,
    /// What was typed beside the work, to repeat the search.
    pub repeat: Vec<String>,
}

impl CapacitySearch {
    /// The capacity of every tier; the settings lack only their targets.
    pub fn new(
        options: Options,
        over: Over,
        tiers: &[Tier],
        settings: Settings,
    ) -> Result<CapacitySearch, RunnerError> {
        let watched = Watched::of(tiers, options.objectives.attainment)?;
        let search = Search::new(Settings {
            targets: watched.targets(),
            ..settings
        })?;
        Ok(CapacitySearch {
            options,
            over,
            watched,
            search,
            repeat: Vec::new(),
        })
    }

    /// The highest rate at which these objectives hold, as a study asks for one trial after the
    /// other: less exactly, and sooner.
    pub fn rate(mut options: Options, slos: &[Slo]) -> Result<CapacitySearch, RunnerError> {
        let over = Over::Rate;
        let tier = Tier {
            name: "slo".to_owned(),
            slos: slos.to_vec(),
        };
        options.objectives.slo = Some(slos.to_vec());
        let settings = Settings {
            tolerance: STUDY_TOLERANCE,
            budget: STUDY_BUDGET,
            ..levels(over, None, None, None)
        };
        CapacitySearch::new(options, over, &[tier], settings)
    }

    /// Searches, and keeps the answer and its probes in `out`.
    pub fn find(
        self,
        out: &Path,
        control: Control,
        servers: &mut Servers,
        session: &Session,
        observer: &mut dyn Observer,
    ) -> Result<Capacity, RunnerError> {
        let label = self.options.run.label.clone();
        let clock = self.options.connection.sim_clock.unwrap_or_default();
        let mut driver = SearchDriver {
            options: self.options,
            over: self.over,
            watched: self.watched,
            out: out.to_owned(),
            control,
            servers,
            session,
            lines: Vec::new(),
            confirmed: Vec::new(),
        };
        let (answers, spent) = driver.search(self.search, observer)?;
        // Each tier has long runs; the last at the level that the first tier goes by is shown.
        let level = answers[0].long_run.map(|run| run.level);
        let mut runs = driver.confirmed.into_iter().rev();
        let confirmed = runs.find(|(at, _)| Some(*at) == level);
        let found = Capacity {
            schema: SCHEMA.to_owned(),
            label,
            sim_clock: clock,
            over: self.over.word().to_owned(),
            answer: answers[0].clone(),
            requests_spent: spent,
            confirmed: confirmed.map(|(_, summary)| summary),
            repeat: self.repeat,
            tiers: match answers.len() {
                1 => Vec::new(),
                _ => answers,
            },
            probes: driver.lines,
        };
        std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
        let file = out.join(FILE);
        std::fs::write(&file, serde_json::to_string_pretty(&found)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(found)
    }
}
