//! The table of a study, and the progress of its trials below it.

use super::table::Table;
use crate::progress::Progress;
use inferometer_runner::{Event, Observer};

pub struct StudyView<'a> {
    pub table: Table<'a>,
    pub progress: &'a mut Progress,
}

impl Observer for StudyView<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::StudyBegins { trials } => self.table.begin(trials, self.progress),
            Event::TrialEnded { trials } => {
                if let Some(trial) = trials.last() {
                    self.table.row(trial, trials, self.progress);
                }
            }
            other => self.progress.event(other),
        }
    }
}
