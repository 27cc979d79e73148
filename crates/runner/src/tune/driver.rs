//! The loop of a study: propose, run, write down; then the last stage.

use super::external_searcher::ExternalSearcher;
use super::journal::Journal;
use super::test_bed::{Slot, TestBed};
use super::trial::{Job, Outcome};
use crate::error::{Context as _, RunnerError, bail};
use crate::observer::{Event, Observer};
use inferometer_campaign::search::{Prior, Searcher};
use inferometer_campaign::space::Rules;
use inferometer_campaign::study::{SearcherName, Study};
use inferometer_campaign::trial::{Ending, Origin, Proposal, State, Trial};
use inferometer_catalog::engine::FailureClass;
use inferometer_core::seed::repeat_seed;
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::Scope;

/// Trials in a row that failed alike before the study gives up.
const HOPELESS: usize = 5;

/// Makes an observer for a thread of its own.
pub type NewObserver<'a> = dyn Fn() -> Box<dyn Observer + Send> + Sync + 'a;

pub struct StudyDriver<'a> {
    pub study: &'a Study,
    pub bed: &'a TestBed,
    pub rules: &'a dyn Rules,
    /// What is expected of the candidates beforehand.
    pub prior: Option<Prior>,
    /// Shares of the host, one for each trial at once.
    pub slots: Vec<Slot>,
    pub controls: Vec<Control>,
    /// Is told that the user wants to leave, and of nothing else.
    pub leave: Control,
    pub folder: PathBuf,
    /// What happened so far.
    pub journal: Journal,
    pub trial_observer: &'a NewObserver<'a>,
    /// Of an external searcher.
    pub searcher_observer: &'a NewObserver<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// There was nothing more to do.
    Complete,
    /// The user wants to leave.
    Interrupted,
}

enum Chooser {
    Internal(Box<dyn Searcher>),
    External(Box<ExternalSearcher>),
}

impl Chooser {
    fn searcher(&self) -> &dyn Searcher {
        match self {
            Chooser::Internal(searcher) => searcher.as_ref(),
            Chooser::External(searcher) => searcher.as_ref(),
        }
    }

    fn trouble(&self) -> Option<RunnerError> {
        match self {
            Chooser::Internal(_) => None,
            Chooser::External(searcher) => searcher.trouble(),
        }
    }
}

impl<'a> StudyDriver<'a> {
    /// Goes on from what is written to the end of the study.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Finish, RunnerError> {
        let chooser = self.chooser()?;
        observer.event(Event::StudyBegins {
            trials: &self.journal.trials,
        });
        self.search(&chooser, observer)?;
        if self.interrupted() {
            return Ok(Finish::Interrupted);
        }
        self.confirm(observer)?;
        if self.interrupted() {
            return Ok(Finish::Interrupted);
        }
        self.journal.complete()?;
        Ok(Finish::Complete)
    }

    fn chooser(&self) -> Result<Chooser, RunnerError> {
        if let SearcherName::External(words) = &self.study.searcher {
            let log = self.folder.join("searcher.log");
            let observer = (self.searcher_observer)();
            let searcher =
                ExternalSearcher::start(words, self.study, &log, observer, self.leave.clone())?;
            return Ok(Chooser::External(Box::new(searcher)));
        }
        if let Some(prior) = &self.prior {
            return Ok(Chooser::Internal(Box::new(prior.clone())));
        }
        let searcher = self.study.searcher.searcher();
        Ok(Chooser::Internal(
            searcher.context("a searcher of this program")?,
        ))
    }

    fn interrupted(&self) -> bool {
        self.leave.state() != Stop::Go
    }

    /// Trials until the budget is spent or nothing is left to try.
    fn search(
        &mut self,
        chooser: &Chooser,
        observer: &mut dyn Observer,
    ) -> Result<(), RunnerError> {
        let mut again: Vec<Proposal> = (self.journal.pending.iter())
            .filter(|proposal| proposal.origin.is_searched())
            .cloned()
            .collect();
        again.reverse();
        let mut free: Vec<usize> = (0..self.slots.len()).rev().collect();
        let (sender, ended) = channel();
        let slots = self.slots.clone();
        std::thread::scope(|scope| {
            let mut exhausted = false;
            loop {
                while let Some(&slot) = free.last()
                    && !exhausted
                    && !self.interrupted()
                {
                    let Some(proposal) = self.next(chooser, &mut again)? else {
                        exhausted = true;
                        break;
                    };
                    free.pop();
                    let job = self.job(proposal, slot, &slots);
                    spawn(scope, slot, job, (self.trial_observer)(), sender.clone());
                }
                if free.len() == slots.len() {
                    return Ok(());
                }
                let (slot, proposal, outcome) = ended.recv().context("a trial ended")?;
                free.push(slot);
                self.keep(proposal, outcome, observer)
                    // Those that still run are asked to end before the scope waits for them.
                    .inspect_err(|_| self.controls.iter().for_each(Control::interrupt))?;
            }
        })
    }

    /// The next trial: one that a kill cut off, or a new one within the budget.
    fn next(
        &mut self,
        chooser: &Chooser,
        again: &mut Vec<Proposal>,
    ) -> Result<Option<Proposal>, RunnerError> {
        if let Some(proposal) = again.pop() {
            return Ok(Some(proposal));
        }
        if !self.study.budget.allows(self.begun(), self.spent_hours()) {
            return Ok(None);
        }
        let proposal = self.study.propose(
            chooser.searcher(),
            self.rules,
            &self.journal.trials,
            &self.journal.pending,
            self.journal.next_id(),
        );
        if let Some(error) = chooser.trouble() {
            return Err(error);
        }
        if let Some(proposal) = &proposal {
            self.journal.propose(proposal)?;
        }
        Ok(proposal)
    }

    fn begun(&self) -> u64 {
        let ended = self.journal.trials.iter().map(|trial| &trial.proposal);
        let all = ended.chain(&self.journal.pending);
        all.filter(|proposal| proposal.origin.is_searched()).count() as u64
    }

    fn spent_hours(&self) -> f64 {
        let trials = self.journal.trials.iter();
        let seconds: f64 = trials.filter_map(|trial| trial.ending.total_s).sum();
        seconds / 3600.0 / self.slots.len() as f64
    }

    /// The fresh starts of the last stage, one after the other.
    fn confirm(&mut self, observer: &mut dyn Observer) -> Result<(), RunnerError> {
        while !self.interrupted() {
            let Some(proposal) = self.next_confirmation()? else {
                return Ok(());
            };
            let (sender, ended) = channel();
            let job = self.job(proposal, 0, &self.slots);
            let quiet = (self.trial_observer)();
            std::thread::scope(|scope| spawn(scope, 0, job, quiet, sender));
            let (_, proposal, outcome) = ended.recv().context("a trial ended")?;
            self.keep(proposal, outcome, observer)?;
        }
        Ok(())
    }

    fn next_confirmation(&mut self) -> Result<Option<Proposal>, RunnerError> {
        let cut = |proposal: &&Proposal| !proposal.origin.is_searched();
        if let Some(proposal) = self.journal.pending.iter().find(cut) {
            return Ok(Some(proposal.clone()));
        }
        let next_id = self.journal.next_id();
        let trials = &self.journal.trials;
        let proposal = self.study.confirm(self.rules, trials, next_id);
        if let Some(proposal) = &proposal {
            self.journal.propose(proposal)?;
        }
        Ok(proposal)
    }

    fn job<'j>(&self, proposal: Proposal, slot: usize, slots: &'j [Slot]) -> Job<'j>
    where
        'a: 'j,
    {
        let trials = self.journal.trials.iter();
        let rungs = trials.flat_map(|trial| &trial.ending.rungs);
        Job {
            study: self.study,
            bed: self.bed,
            slot: &slots[slot],
            seed: self.seed(&proposal),
            rivals: rungs.copied().collect(),
            folder: self.folder.join(format!("trials/{:03}", proposal.id)),
            control: self.controls[slot].clone(),
            proposal,
        }
    }

    /// All searched trials see the same work; each round of the last stage has its own, and what
    /// is left of a trial is compared with its first round.
    fn seed(&self, proposal: &Proposal) -> u64 {
        let round = match proposal.origin {
            Origin::Confirm { round, .. } => round.unwrap_or(0),
            Origin::Trim { .. } => 0,
            Origin::Default | Origin::Preset(_) | Origin::Search => return self.study.seed,
        };
        repeat_seed(self.study.seed, 1 + round as u32)
    }

    /// Writes down what became of a trial.
    fn keep(
        &mut self,
        proposal: Proposal,
        outcome: Outcome,
        observer: &mut dyn Observer,
    ) -> Result<(), RunnerError> {
        let ending = match outcome {
            Outcome::Interrupted => return Ok(()),
            Outcome::Hopeless(error) => return Err(error),
            Outcome::Ended(ending) => *ending,
        };
        self.check_start(&ending)?;
        self.check_objective(&proposal, &ending)?;
        self.journal.end(proposal, ending)?;
        observer.event(Event::TrialEnded {
            trials: &self.journal.trials,
        });
        self.check_hope()
    }

    /// While nothing was ever measured, some failures are not those of a trial's flags: the
    /// study stops, and the trial is run again once that is mended.
    fn check_start(&self, ending: &Ending) -> Result<(), RunnerError> {
        let trials = &self.journal.trials;
        if trials.iter().any(|trial| trial.ending.state == State::Done) {
            return Ok(());
        }
        let outer = [
            FailureClass::MissingBinary,
            FailureClass::MissingModel,
            FailureClass::PortTaken,
        ];
        let class = ending.class.as_deref().unwrap_or_default();
        if outer.iter().any(|outer| outer.word() == class) {
            bail!(
                "the engine cannot be started ({class}): {}; mend that and run the same command again",
                ending.evidence.as_deref().unwrap_or("it said nothing")
            );
        }
        Ok(())
    }

    /// A goal that the default does not have, no trial will have.
    fn check_objective(&self, proposal: &Proposal, ending: &Ending) -> Result<(), RunnerError> {
        if proposal.origin != Origin::Default || ending.state != State::Done {
            return Ok(());
        }
        let lacking = |path: &String| {
            let level = ending.measurements.iter();
            level
                .map(|measurement| measurement.figure(path))
                .any(|figure| figure.is_none())
        };
        let paths = self
            .study
            .goal
            .objectives
            .iter()
            .map(|objective| &objective.path);
        match paths.into_iter().find(|path| lacking(path)) {
            Some(path) if !path.starts_with("value") && !path.starts_with("confirmed") => bail!(
                "[goal] the default configuration has no figure '{path}'; give a place of summary.json, such as throughput.output_tokens_per_s or latency.ttft_ms.p99"
            ),
            _ => Ok(()),
        }
    }

    /// Many failures in a row with the same words are not the flags' fault.
    fn check_hope(&self) -> Result<(), RunnerError> {
        let trials = &self.journal.trials;
        let measured = trials.iter().any(|trial| trial.ending.state == State::Done);
        let tail = &trials[trials.len().saturating_sub(HOPELESS)..];
        let Some(last) = tail.last().filter(|_| tail.len() == HOPELESS && !measured) else {
            return Ok(());
        };
        let alike = |trial: &Trial| {
            trial.ending.class == last.ending.class && trial.ending.evidence == last.ending.evidence
        };
        if tail.iter().all(alike) {
            let ending = &last.ending;
            bail!(
                "giving up: {HOPELESS} trials in a row ended alike, and none was measured ({}): {}",
                ending.class.as_deref().unwrap_or("no class"),
                (ending.evidence.as_deref()).unwrap_or("the engine said nothing")
            );
        }
        Ok(())
    }
}

/// Runs a trial on a thread of its own, which says which slot is free again.
fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    slot: usize,
    job: Job<'scope>,
    mut observer: Box<dyn Observer + Send>,
    done: Sender<(usize, Proposal, Outcome)>,
) {
    scope.spawn(move || {
        let proposal = job.proposal.clone();
        let outcome = job.run(observer.as_mut());
        observer.event(Event::Measured);
        let _ = done.send((slot, proposal, outcome));
    });
}
