//! What a study found, as `inferometer tune --format json` prints it.

use super::definition::Study;
use super::goal::Direction;
use super::importance::{Effect, Evidence, Importance, asked_of_met, importance};
use super::last_stage::DEFAULT;
use super::observations::observations;
use super::series::Series;
use super::started::Started;
use super::trimming::Trimming;
use super::verdict::{Comparison, Finding, Gain, Refuted};
use crate::search::{Observation, dominates, ranking};
use crate::space::{Point, Value};
use crate::trial::{Bed, Measurement, Origin, State, Trial, TrialLog};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeSet;

pub const SCHEMA: &str = "inferometer.study/1";

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyResult {
    /// `inferometer.study/1`.
    pub schema: &'static str,
    /// Nothing was started: the trials were computed on the simulated engine, so that no gain is
    /// certified.
    pub computed: bool,
    /// Where it ran; studies of earlier versions do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bed: Option<Bed>,
    /// The values that the searched flags have by themselves, as far as they are known.
    pub defaults: Point,
    /// Every trial, in the order of their ids.
    pub trials: Vec<TrialRow>,
    /// The best configuration: by the last stage, or by its one trial while there is none.
    pub best: Option<Best>,
    pub finding: Finding,
    /// The best against the default in the first objective; absent without a last stage, or where
    /// the default is best.
    pub gain: Option<Gain>,
    /// Where the default is the best: the best other against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<Gain>,
    /// Every objective of one of these two against the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Which of its flags the best needs, of the trial that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimming: Option<Trimming>,
    /// The best few in their fresh starts, where none of them held in all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<Refuted>,
    /// Trials that no other beats in every objective, where there are several.
    pub pareto: Vec<u64>,
    /// The flags, the most important first.
    pub importance: Vec<Importance>,
    /// Trials that met the SLOs, where the importance is of those alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance_of_met: Option<usize>,
    /// Failed trials by class and reason, the most frequent first.
    pub failures: Vec<FailureCount>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialRow {
    pub id: u64,
    pub origin: Origin,
    /// The flags that were added to the command.
    pub flags: Point,
    /// Those of them that say what the engine does by itself beside the others, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implied: Option<BTreeSet<String>>,
    pub state: State,
    pub class: Option<String>,
    /// The engine's words about it, or about the point that this one was moved from.
    pub evidence: Option<String>,
    pub objective: Option<f64>,
    /// All objectives, where there are several.
    pub objectives: Vec<Option<f64>>,
    /// The figure of each SLO at the load level that is furthest from it: milliseconds, or the
    /// share of requests that meet it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slo_figures: Vec<Option<f64>>,
    /// By how much the SLOs were missed; 0 where they were met, absent where nothing was measured.
    pub violation: Option<f64>,
    /// Whether its runs may be trusted; absent where nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_requests: Option<u64>,
    pub device_memory_gib: Option<f64>,
    /// The summary of the first load level.
    pub summary: Option<Json>,
    /// All load levels, where there are several.
    pub levels: Vec<Measurement>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Best {
    pub trial: u64,
    pub flags: Point,
    pub command: String,
    /// Fresh starts in the last stage decided; otherwise it is the best of noisy trials.
    pub confirmed: bool,
    pub standing: Standing,
}

/// How sure it is that the best is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Standing {
    /// Fresh starts decided for it.
    Decided,
    /// It came first in fresh starts, and whether it gains anything is not certain.
    Uncertain,
    /// The best of single trials; no fresh starts confirmed it.
    SeenOnce,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureCount {
    pub class: String,
    pub count: usize,
    /// The engine's words about the first of them; others differ in their numbers at most.
    pub words: Option<String>,
}

impl Study {
    /// What a log says, which knows more than its trials. `computed`: what the trials say of
    /// themselves, where the log does not.
    pub fn result_of(&self, log: &TrialLog, computed: bool) -> StudyResult {
        let bed = log.header.bed.as_ref();
        let computed = bed.map_or(computed, |bed| bed.computed);
        let is_over = log.complete;
        StudyResult {
            bed: bed.cloned(),
            ..self.found(&log.trials, computed, is_over)
        }
    }

    /// `computed`: the trials are of the simulated engine in virtual time.
    pub fn result(&self, trials: &[Trial], computed: bool) -> StudyResult {
        self.found(trials, computed, false)
    }

    fn found(&self, trials: &[Trial], computed: bool, is_over: bool) -> StudyResult {
        let mut ordered: Vec<&Trial> = trials.iter().collect();
        ordered.sort_by_key(|trial| trial.proposal.id);
        let verdict = self.last_stage.verdict(trials, &self.goal, is_over);
        let observed = observations(trials, &self.goal);
        let searched: Vec<&Trial> = trials.iter().filter(|it| it.is_searched()).collect();
        let ranked = ranking(&observed).into_iter();
        let met = ranked.filter(|&at| observed[at].meets_slos());
        let met: Vec<u64> = met.map(|at| searched[at].proposal.id).collect();
        // One that no fresh start refuted, nor one of its like, if there is any.
        let started = Started::of(trials);
        let holds = |id: u64| Series::of(started.endings(id), &self.goal).holds();
        let repeated = trials.iter().filter_map(|it| it.proposal.origin.confirms());
        let fallen = repeated.filter(|&id| !holds(id));
        let fallen: Vec<&Trial> = fallen.filter_map(|id| started.by_id(id)).collect();
        let is_refuted = |id: u64| {
            let own = started.by_id(id);
            let is_alike =
                |own: &Trial, other: &Trial| self.goal.is_alike(&own.ending, &other.ending);
            own.is_some_and(|own| fallen.iter().any(|other| is_alike(own, other)))
        };
        let default_fails = (started.by_id(DEFAULT)).is_some_and(|it| it.ending.class.is_some());
        let unconfirmed = met.iter().find(|id| holds(**id) && !is_refuted(**id));
        let unconfirmed = unconfirmed.or(met.first()).copied();
        let best = verdict.winner.or(unconfirmed).and_then(|id| {
            let trial = trials.iter().find(|trial| trial.proposal.id == id)?;
            Some(Best {
                trial: id,
                flags: trial.proposal.flags.clone(),
                command: self.engine.command_line(&trial.proposal.flags),
                confirmed: verdict.winner.is_some(),
                standing: match verdict.finding {
                    _ if verdict.winner.is_none() => Standing::SeenOnce,
                    // Nothing is to be gained on a default that does not serve.
                    Finding::NoDefault if !default_fails => Standing::Uncertain,
                    Finding::NoCertainGain => Standing::Uncertain,
                    _ => Standing::Decided,
                },
            })
        });
        let first = (verdict.comparison.as_ref()).and_then(|comparison| {
            let direction = self.goal.objectives.first()?.direction;
            let gain = comparison.changes.first()?.gain(direction);
            Some(Gain {
                certified: gain.certified && !computed,
                ..gain
            })
        });
        let is_winner = |comparison: &Comparison| Some(comparison.trial) == verdict.winner;
        let (gain, runner_up) = if verdict.comparison.as_ref().is_some_and(is_winner) {
            (first, None)
        } else {
            (None, first)
        };
        // What was not measured properly says nothing about the flags.
        let trusted: Vec<Observation> = (searched.iter().zip(&observed))
            .filter(|(trial, _)| trial.ending.is_valid())
            .map(|(_, observation)| observation.clone())
            .collect();
        let noise = self.last_stage.noise(trials, &self.goal);
        let rival = verdict.comparison.as_ref().map(|it| it.trial);
        let rival = rival.or(verdict.winner).or(unconfirmed);
        let change = verdict
            .comparison
            .as_ref()
            .and_then(|it| it.changes.first());
        let changed = change.zip(self.goal.objectives.first());
        let changed = changed.map(|(change, objective)| match objective.direction {
            Direction::Maximize => change.value.ln_1p(),
            Direction::Minimize => -change.value.ln_1p(),
        });
        let worth = rival.and_then(|rival| {
            self.worth_of_flags(&Evidence {
                trials,
                best: rival,
                gain: changed,
                trimming: verdict.trimming.as_ref(),
                past: &trusted,
                noise,
            })
        });
        let is_anchored = worth.is_some();
        let worth = worth.unwrap_or_else(|| {
            let seen = self.seen_in_pairs(trials, rival, computed);
            let model = importance(&self.space, &trusted, noise, self.seed);
            by_pairs(seen, model)
        });
        let is_modelled = !is_anchored && worth.iter().any(|line| line.share > 0.0);
        let importance_of_met = asked_of_met(&trusted).filter(|_| is_modelled);
        StudyResult {
            schema: SCHEMA,
            computed,
            bed: None,
            defaults: (ordered.first())
                .map(|trial| trial.proposal.point.clone())
                .unwrap_or_default(),
            trials: ordered.iter().map(|trial| self.row(trial)).collect(),
            best,
            finding: match verdict.finding {
                Finding::DefaultAlone if !is_over && !self.is_searched(&searched) => {
                    Finding::Unconfirmed
                }
                finding => finding,
            },
            gain,
            runner_up,
            comparison: verdict.comparison,
            trimming: verdict.trimming,
            refuted: verdict.refuted,
            pareto: self.pareto(
                &searched,
                &observed,
                verdict.winner.and_then(|id| started.by_id(id)),
            ),
            importance: self.importance(worth, &observed),
            importance_of_met,
            failures: failures(trials),
        }
    }

    /// The flags by importance. Of flags that the simulated engine does not act on nothing is
    /// concluded, and of values that never ran neither.
    fn importance(&self, mut found: Vec<Importance>, observed: &[Observation]) -> Vec<Importance> {
        if found.is_empty() {
            return found;
        }
        let is_told = |name: &String| found.iter().any(|line| line.flag == *name);
        let set_aside = self.unmodelled.iter().filter(|name| !is_told(name));
        let set_aside: Vec<Importance> =
            set_aside.map(|name| Importance::unmodelled(name)).collect();
        found.extend(set_aside);
        for line in &mut found {
            let measured = |it: &&Observation| it.measured().is_some();
            let ran: Vec<Option<&Value>> = (observed.iter().filter(measured))
                .map(|it| it.point.get(&line.flag))
                .collect();
            let failed = observed.iter().filter(|it| it.measured().is_none());
            let mut failed = failed.map(|it| it.point.get(&line.flag));
            let is_one = ran.iter().all(|it| *it == ran[0]);
            if self.unmodelled.contains(&line.flag) {
                *line = Importance::unmodelled(&line.flag);
            } else if line.effect == Effect::NotVaried && !is_one {
                // Others were measured, and missed the SLOs.
                line.effect = Effect::Needed;
            } else if line.effect == Effect::NotVaried && failed.any(|it| !ran.contains(&it)) {
                line.effect = Effect::NeverServed;
            }
        }
        let total: f64 = found.iter().map(|line| line.share).sum();
        if total > 0.0 {
            found.iter_mut().for_each(|line| line.share /= total);
        }
        found.sort_by(|a, b| b.share.total_cmp(&a.share));
        found
    }

    /// Whether the search came to its end, by its budget or its space.
    fn is_searched(&self, searched: &[&Trial]) -> bool {
        let seconds: f64 = (searched.iter())
            .filter_map(|trial| trial.ending.total_s)
            .sum();
        let tried = searched.len();
        !self.budget.allows(tried as u64, seconds / 3600.0)
            || self.space.grid().take(tried + 1).count() <= tried
    }

    fn row(&self, trial: &Trial) -> TrialRow {
        let ending = &trial.ending;
        let objectives: Vec<Option<f64>> = self
            .goal
            .objectives
            .iter()
            .map(|objective| objective.of(ending))
            .collect();
        let measured = !ending.measurements.is_empty();
        TrialRow {
            id: trial.proposal.id,
            origin: trial.proposal.origin.clone(),
            flags: trial.proposal.flags.clone(),
            implied: trial.proposal.implied.clone(),
            state: ending.state,
            class: ending.class.clone(),
            evidence: ending
                .evidence
                .clone()
                .or_else(|| trial.proposal.repaired.clone()),
            objective: objectives.first().copied().flatten(),
            objectives,
            slo_figures: self.goal.slo_figures(ending),
            violation: measured.then(|| self.goal.violation(ending)),
            valid: measured.then(|| ending.is_valid()),
            failed_requests: ending.failed_requests(),
            device_memory_gib: ending.device_memory_gib,
            summary: ending
                .measurements
                .first()
                .map(|measurement| measurement.summary.clone()),
            levels: match ending.measurements.len() {
                0 | 1 => Vec::new(),
                _ => ending.measurements.clone(),
            },
        }
    }

    /// The best of the last stage stands among the searched trials, though it is a part of one.
    fn pareto(
        &self,
        searched: &[&Trial],
        observed: &[Observation],
        winner: Option<&Trial>,
    ) -> Vec<u64> {
        let good: Vec<(u64, &[f64])> = (searched.iter().zip(observed))
            .filter(|(_, observation)| observation.meets_slos())
            .filter_map(|(trial, observation)| Some((trial.proposal.id, observation.measured()?.0)))
            .collect();
        if self.goal.objectives.len() < 2 {
            return Vec::new();
        }
        let beaten = |own: &[f64]| good.iter().any(|(_, other)| dominates(other, own));
        let mut front: Vec<u64> = (good.iter())
            .filter(|(_, own)| !beaten(own))
            .map(|(id, _)| *id)
            .collect();
        let winner = winner.filter(|it| !front.contains(&it.proposal.id));
        let objectives = winner.and_then(|it| self.goal.objectives_of(&it.ending));
        let is_beaten = objectives.is_none_or(|own| beaten(&own));
        front.extend(winner.filter(|_| !is_beaten).map(|it| it.proposal.id));
        front.sort_unstable();
        front
    }
}

/// What pairs show, and of flags that no pair tells of what a model says. Shares are of what pairs
/// show, where they tell of all flags, else the model's.
fn by_pairs(seen: Vec<Importance>, model: Vec<Importance>) -> Vec<Importance> {
    let size = |line: &Importance| {
        line.spread
            .as_ref()
            .map_or(0.0, |it| it.change.ln_1p().abs())
    };
    let all: f64 = seen.iter().map(size).sum();
    let said = |line: &Importance| model.iter().find(|it| it.flag == line.flag);
    let is_open = |line: &Importance| {
        let is_one = said(line).is_some_and(|it| it.effect == Effect::NotVaried);
        line.effect == Effect::Unclear && !is_one
    };
    let is_told = !seen.iter().any(is_open);
    if all == 0.0 && model.is_empty() {
        return model;
    }
    let merged = seen.iter().map(|line| {
        let modelled = said(line).cloned();
        let modelled = modelled.map(|it| Importance { gain: None, ..it });
        let share = if is_told && all > 0.0 {
            size(line) / all
        } else {
            said(line).map_or(0.0, |it| it.share)
        };
        match modelled {
            Some(modelled) if line.effect == Effect::Unclear => Importance { share, ..modelled },
            _ => Importance {
                share,
                ..line.clone()
            },
        }
    });
    merged.collect()
}

/// Failures of one class whose words differ in nothing but numbers are one.
fn failures(trials: &[Trial]) -> Vec<FailureCount> {
    let mut found: Vec<(String, FailureCount)> = Vec::new();
    let mut ordered: Vec<&Trial> = trials.iter().collect();
    ordered.sort_by_key(|trial| trial.proposal.id);
    for ending in ordered.iter().map(|trial| &trial.ending) {
        let Some(class) = &ending.class else {
            continue;
        };
        let words = ending.evidence.clone();
        let rule = without_numbers(words.as_deref().unwrap_or_default());
        let is_same =
            |(other, count): &&mut (String, FailureCount)| *other == rule && count.class == *class;
        match found.iter_mut().find(is_same) {
            Some((_, known)) => known.count += 1,
            None => found.push((
                rule,
                FailureCount {
                    class: class.clone(),
                    count: 1,
                    words,
                },
            )),
        }
    }
    let mut found: Vec<FailureCount> = found.into_iter().map(|(_, count)| count).collect();
    found.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    found
}

/// What a sentence says, whatever its numbers.
fn without_numbers(words: &str) -> String {
    let mut kept = String::new();
    for character in words.chars() {
        let is_part = character.is_ascii_digit() || (character == '.' && kept.ends_with('#'));
        match is_part {
            true if kept.ends_with('#') => {}
            true => kept.push('#'),
            false => kept.push(character),
        }
    }
    kept
}
