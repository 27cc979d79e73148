//! A search for a capacity, on servers that are up.

use super::driver::{SearchDriver, USUAL_TURNS};
use super::journal::Journal;
use super::objectives::{Tier, Watched};
use super::over::{Over, levels};
use crate::error::RunnerError;
use crate::keys::options_without_secrets;
use crate::observer::Observer;
use crate::servers::Servers;
use crate::session::Session;
use inferometer_campaign::capacity::stored::{
    Capacity, JOURNAL_SCHEMA, SCHEMA, SearchPlan, TierCapacity,
};
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
    /// The command as it was typed.
    pub typed: Vec<String>,
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
            typed: Vec::new(),
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

    /// The folder of the search: a new one, or that of the same search, which then goes on.
    pub fn begin(&self, folder: &Path) -> Result<Journal, RunnerError> {
        let plan = SearchPlan {
            schema: JOURNAL_SCHEMA.to_owned(),
            options: options_without_secrets(self.options.clone())?,
            search: self.repeat.clone(),
        };
        Journal::open(folder, plan)
    }

    /// Searches, and keeps the answer and its probes in the folder.
    pub fn find(
        self,
        journal: Journal,
        control: Control,
        servers: &mut Servers,
        session: &Session,
        observer: &mut dyn Observer,
    ) -> Result<Capacity, RunnerError> {
        let found = Capacity {
            schema: SCHEMA.to_owned(),
            label: self.options.run.label.clone(),
            sim_clock: self.options.connection.sim_clock.unwrap_or_default(),
            over: self.over.word().to_owned(),
            answer: TierCapacity::default(),
            requests_spent: 0,
            confirmed: None,
            repeat: self.repeat,
            typed: self.typed,
            tiers: Vec::new(),
            probes: Vec::new(),
        };
        let driver = SearchDriver {
            options: self.options,
            over: self.over,
            watched: self.watched,
            turns: USUAL_TURNS,
            journal,
            control,
            servers,
            session,
            lines: Vec::new(),
            confirmed: Vec::new(),
            found,
        };
        driver.search(self.search, observer)
    }
}
