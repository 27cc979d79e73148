//! The table that grows while a study goes on, with the time left.

use crate::progress::{Progress, clock};
use inferometer_campaign::study::Study;
use inferometer_campaign::trial::{Origin, State, Trial};
use std::time::Duration;

const WIDEST: usize = 60;

/// The view of a study under way, on standard error.
pub struct Table<'a> {
    study: &'a Study,
    quiet: bool,
}

impl<'a> Table<'a> {
    pub fn new(study: &'a Study, quiet: bool) -> Self {
        Table { study, quiet }
    }

    /// The head, and what was found done.
    pub fn begin(&self, trials: &[Trial], progress: &Progress) {
        if self.quiet {
            return;
        }
        if !trials.is_empty() {
            progress.keep(&format!("going on: {} trials are there", trials.len()));
        }
        let objective = &self.study.goal.objectives[0].path;
        let name = objective.rsplit('.').next().unwrap_or(objective);
        let head = format!(
            "{:>7}  {:<12} {:>20}  {:<10} flags",
            "trial", "why", name, "state"
        );
        progress.keep(&head);
    }

    pub fn row(&self, trial: &Trial, trials: &[Trial], progress: &Progress) {
        if self.quiet {
            return;
        }
        let why = match &trial.proposal.origin {
            Origin::Default => "default".to_owned(),
            Origin::Preset(name) => name.clone(),
            Origin::Search => "search".to_owned(),
            Origin::Confirm { of, .. } => format!("again {of}"),
            Origin::Trim { of } => format!("part of {of}"),
        };
        let ending = &trial.ending;
        let figure = self.study.goal.objectives[0].of(ending);
        let figure = figure.map_or("n/a".to_owned(), |figure| format!("{figure:.2}"));
        let missed = ending.state == State::Done && self.study.goal.violation(ending) > 0.0;
        let state = match (ending.state, &ending.class) {
            (State::Done, _) if !ending.is_valid() => "invalid",
            (State::Done, _) if missed => "SLO missed",
            (State::Done, _) => "done",
            (State::Refused, _) => "refused",
            (State::Crashed, _) => "crashed",
            (State::Timeout, _) => "timeout",
            (State::Stopped, _) => "stopped",
        };
        let class = match (&ending.class, ending.failed_requests()) {
            (Some(class), _) => format!("  ({class})"),
            (None, Some(failed @ 1..)) => format!("  ({failed} requests failed)"),
            (None, _) => String::new(),
        };
        let flags: String = trial.proposal.flags.to_string();
        let flags: String = flags.chars().take(WIDEST).collect();
        let searched = trials.iter().filter(|trial| trial.is_searched());
        let place = match trial.proposal.origin {
            Origin::Confirm { .. } | Origin::Trim { .. } => trial.proposal.id.to_string(),
            _ => format!("{}/{}", searched.count(), self.study.budget.trials),
        };
        progress.keep(&format!(
            "{place:>7}  {why:<12} {figure:>20}  {state:<10} {flags}{class}{}",
            self.left(trials)
        ));
    }

    /// Time left, at the pace so far: the trials of the budget, then the last stage.
    fn left(&self, trials: &[Trial]) -> String {
        let times = trials.iter().filter_map(|trial| trial.ending.total_s);
        let mean = times.sum::<f64>() / trials.len().max(1) as f64;
        let confirmed = |trial: &&Trial| !trial.is_searched();
        let repeats = trials.iter().filter(confirmed).count();
        let searched = trials.len() - repeats;
        let all = self
            .study
            .last_stage
            .starts(self.study.space.dimensions().len());
        let searching = match repeats {
            0 => (self.study.budget.trials as usize).saturating_sub(searched),
            _ => 0,
        };
        match searching + all.saturating_sub(repeats) {
            0 => String::new(),
            left => {
                let seconds = (mean * left as f64).min(1e9);
                format!("  {} left", clock(Duration::from_secs_f64(seconds)))
            }
        }
    }
}
