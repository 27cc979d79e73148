//! The table that grows while a study goes on, with the time left.

use crate::progress::Progress;
use inferometer_campaign::study::Study;
use inferometer_campaign::trial::{Origin, State, Trial};
use inferometer_message::ProgressText;
use inferometer_page::number::clock;
use inferometer_page::text::{pad_left, pad_right};
use inferometer_runner::now::study_time_left;
use inferometer_text::Lang;

const WIDEST: usize = 60;

/// The view of a study under way, on standard error.
pub struct Table<'a> {
    study: &'a Study,
    quiet: bool,
    lang: Lang,
}

impl<'a> Table<'a> {
    pub fn new(study: &'a Study, quiet: bool, lang: Lang) -> Self {
        Table { study, quiet, lang }
    }

    /// The head, and what was found done.
    pub fn begin(&self, trials: &[Trial], progress: &Progress) {
        if self.quiet {
            return;
        }
        let last_stage = &self.study.last_stage;
        let flags = self.study.space.dimensions().len();
        let (trials_at_most, most) = (self.study.budget.trials, last_stage.most_starts(flags));
        let plan = [
            ("trials", trials_at_most.to_string()),
            ("starts", last_stage.starts(flags).to_string()),
            ("most", most.to_string()),
            (
                "all",
                trials_at_most.saturating_add(most as u64).to_string(),
            ),
        ];
        progress.keep(&ProgressText::StudyPlan.with(self.lang, &plan));
        if !trials.is_empty() {
            let count = [("count", trials.len().to_string())];
            progress.keep(&ProgressText::StudyGoesOn.with(self.lang, &count));
        }
        let objective = &self.study.goal.objectives[0].path;
        let name = objective.rsplit('.').next().unwrap_or(objective);
        let word = |text: ProgressText| text.text(self.lang);
        let head = format!(
            "{}  {} {name:>20}  {} {}",
            pad_left(word(ProgressText::Trial), 7),
            pad_right(word(ProgressText::Why), 12),
            pad_right(word(ProgressText::State), 10),
            word(ProgressText::Flags)
        );
        progress.keep(&head);
    }

    pub fn row(&self, trial: &Trial, trials: &[Trial], progress: &Progress) {
        if self.quiet {
            return;
        }
        let lang = self.lang;
        let why = match &trial.proposal.origin {
            Origin::Default => ProgressText::Default.text(lang).to_owned(),
            Origin::Preset(name) => name.clone(),
            Origin::Search => ProgressText::Search.text(lang).to_owned(),
            Origin::Confirm { of, .. } => ProgressText::Again.with(lang, &[("of", of.to_string())]),
            Origin::Trim { of } => ProgressText::PartOf.with(lang, &[("of", of.to_string())]),
        };
        let ending = &trial.ending;
        let figure = self.study.goal.objectives[0].of(ending);
        let figure = figure.map_or("n/a".to_owned(), |figure| format!("{figure:.2}"));
        let missed = ending.state == State::Done && self.study.goal.violation(ending) > 0.0;
        let state = match (ending.state, &ending.class) {
            (State::Done, _) if !ending.is_valid() => ProgressText::Invalid,
            (State::Done, _) if missed => ProgressText::SloMissed,
            (State::Done, _) => ProgressText::Done,
            (State::Refused, _) => ProgressText::Refused,
            (State::Crashed, _) => ProgressText::Crashed,
            (State::Timeout, _) => ProgressText::Timeout,
            (State::Stopped, _) => ProgressText::Stopped,
        };
        let class = match (&ending.class, ending.failed_requests()) {
            (Some(class), _) => format!("  ({class})"),
            (None, Some(failed @ 1..)) => {
                let count = [("count", failed.to_string())];
                format!("  ({})", ProgressText::RequestsFailed.with(lang, &count))
            }
            (None, _) => String::new(),
        };
        let flags: String = changed(trial).chars().take(WIDEST).collect();
        // The number of the report; the plan above says how many there are.
        let place = trial.proposal.id;
        progress.keep(&format!(
            "{place:>7}  {} {figure:>20}  {} {flags}{class}{}",
            pad_right(&why, 12),
            pad_right(state.text(lang), 10),
            self.time_left(trials)
        ));
    }

    fn time_left(&self, trials: &[Trial]) -> String {
        study_time_left(self.study, trials).map_or_else(String::new, |left| {
            let time = [("time", clock(left))];
            format!("  {}", ProgressText::TimeLeft.with(self.lang, &time))
        })
    }
}

/// The flags that change what the engine does by itself; keys of a file go by their last part.
fn changed(trial: &Trial) -> String {
    let implied = trial.proposal.implied.as_ref();
    let is_implied = |name: &str| implied.is_some_and(|implied| implied.contains(name));
    let flags = trial.proposal.flags.0.iter();
    let flags = flags.filter(|(name, _)| !is_implied(name));
    let flags = flags.map(|(name, value)| {
        let last = name.rsplit('.').next().unwrap_or(name);
        format!("{last}={value}")
    });
    flags.collect::<Vec<String>>().join(" ")
}
