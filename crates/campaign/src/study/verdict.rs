//! What the last stage found: the pairs of the challenger and the default.

use super::confirmation::Challenge;
use super::goal::{Direction, Goal, Objective};
use super::last_stage::{DEFAULT, LEAST_GAIN, LastStage};
use super::series::{Series, log_figure, mean, squared_spread};
use super::started::{FreshStart, Started};
use super::trimming::Trimming;
use crate::trial::{Ending, Trial};
use inferometer_statistics::Difference;
use serde::{Deserialize, Serialize};

/// Chance to certify a gain that is not there.
const RISK: f64 = 0.05;

#[derive(Clone, Debug, PartialEq)]
pub struct StudyVerdict {
    pub finding: Finding,
    /// The better of the challenger and the default.
    pub winner: Option<u64>,
    /// The challenger against the default, whichever of them won.
    pub comparison: Option<Comparison>,
    /// Which of its flags the challenger needs.
    pub trimming: Option<Trimming>,
    /// The best few, where none of them held.
    pub refuted: Vec<Refuted>,
}

/// One of the best that was not valid or missed the goal in some fresh start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refuted {
    pub trial: u64,
    /// Its fresh starts.
    pub starts: usize,
    /// Those that were valid and met the goal.
    pub held: usize,
    /// Every objective against the default, where both were started with the same prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Finding {
    /// Certainly better than the default in some objective, and certainly worse in none.
    Better,
    /// Certainly better than the default in one objective and worse in another.
    TradeOff,
    /// The default misses the SLOs, and the best meets them.
    DefaultMisses,
    NoCertainGain,
    /// The default came first, and another may be as good.
    DefaultFirst,
    /// No other that meets the SLOs is better, in as many fresh starts of the default as of others.
    DefaultBest,
    /// Nothing but the default could be measured and met the SLOs.
    DefaultAlone,
    /// The default has no valid measurement to compare with.
    NoDefault,
    /// None of the best held in every fresh start.
    NoneHeld,
    /// The last stage is not done.
    Unconfirmed,
    /// No trial was measured and met the SLOs.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    pub trial: u64,
    /// One for each objective that can be compared, the first objective first.
    pub changes: Vec<Change>,
    /// The pairs of fresh starts that decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<StartPair>,
    /// What users feel, with and without: the mean over the pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigurePair>,
    /// In how many of these starts the streams sent in waves; absent where they never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_step: Option<StartsInStep>,
}

/// Starts whose streams sent in waves. Where these are of one side, or of both, what the sides differ
/// by is that of the rhythm, and other lengths may not show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartsInStep {
    pub trial: usize,
    pub default: usize,
}

/// A fresh start of the trial and one of the default, with the same prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartPair {
    /// The number of the start of the trial.
    pub trial: u64,
    /// The number of the start of the default.
    pub default: u64,
}

/// A figure of the trial and of the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigurePair {
    /// Its place in the summary.
    pub metric: String,
    pub trial: f64,
    pub default: f64,
}

/// Figures that are shown with and without, whatever the goal.
const SHOWN: [&str; 7] = [
    "throughput.output_tokens_per_s",
    "latency.ttft_ms.p50",
    "latency.ttft_ms.p99",
    "latency.tpot_ms.p50",
    "latency.tpot_ms.p99",
    "latency.e2e_ms.p50",
    "latency.e2e_ms.p99",
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Its place in the summary.
    pub metric: String,
    /// Relative change of the figure itself: -0.73 where it fell by 73 %.
    pub value: f64,
    /// Low end of its 95 % interval, corrected for the number of objectives.
    pub low: f64,
    pub high: f64,
    pub effect: ChangeEffect,
}

/// What a change means, as far as it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChangeEffect {
    /// The interval lies beyond the least gain worth a flag.
    Better,
    /// The same, the other way.
    Worse,
    Uncertain,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    /// Relative change in the wanted direction: 0.11 for 11 % better.
    pub value: f64,
    /// Low end of its 95 % interval.
    pub low: f64,
    pub high: f64,
    /// The interval lies above the least gain worth a flag, and the winner gave valid runs that
    /// met the SLOs in every repeat.
    pub certified: bool,
}

impl Change {
    pub fn gain(&self, direction: Direction) -> Gain {
        let (value, low, high) = match direction {
            Direction::Maximize => (self.value, self.low, self.high),
            Direction::Minimize => (-self.value, -self.high, -self.low),
        };
        Gain {
            value,
            low,
            high,
            certified: self.effect == ChangeEffect::Better,
        }
    }
}

impl LastStage {
    /// What the fresh starts show, and they alone. `is_over`: no more will be started, also where
    /// a newer version would start some.
    pub fn verdict(&self, trials: &[Trial], goal: &Goal, is_over: bool) -> StudyVerdict {
        let without_comparison = |finding, winner| StudyVerdict {
            finding,
            winner,
            comparison: None,
            trimming: None,
            refuted: Vec::new(),
        };
        let trials = &Started::of(trials);
        let candidates = self.candidates(trials, goal);
        let default = candidates.iter().find(|&&id| id == DEFAULT);
        let searched_default = trials.iter().find(|it| it.proposal.id == DEFAULT);
        let meets = |trial: &Trial| goal.violation(&trial.ending) <= 0.0;
        let default_met = default.is_some() && searched_default.is_some_and(meets);
        if candidates.iter().all(|&id| id == DEFAULT) {
            let finding = if default_met {
                Finding::DefaultAlone
            } else {
                Finding::Nothing
            };
            return without_comparison(finding, None);
        }
        if !is_over && self.next_of(trials, goal).is_some() {
            return without_comparison(Finding::Unconfirmed, None);
        }
        let repeated_default = Series::of(trials.repeated(DEFAULT), goal);
        let Some(challenge) = self.challenge(trials, goal) else {
            let is_matched = self.round_without_default(trials).is_none();
            let (finding, winner) = if default_met && repeated_default.holds() && is_matched {
                (Finding::DefaultBest, Some(DEFAULT))
            } else {
                (Finding::NoneHeld, None)
            };
            return StudyVerdict {
                refuted: self.refuted(trials, goal),
                ..without_comparison(finding, winner)
            };
        };
        if default.is_none() || !repeated_default.is_steady {
            return without_comparison(Finding::NoDefault, Some(challenge.trimmed.of));
        }
        let changes = self.changes(trials, goal, &challenge);
        let first = (changes.first().zip(goal.objectives.first()))
            .map(|(change, objective)| change.gain(objective.direction));
        let is_default_ahead = first.is_some_and(|gain| gain.value <= 0.0);
        let started = pairs(trials, &challenge);
        let comparison = (!changes.is_empty()).then(|| Comparison {
            trial: challenge.trimmed.of,
            changes,
            figures: figures(&started),
            in_step: in_step(&started),
            pairs: (started.iter())
                .map(|(own, default)| StartPair {
                    trial: own.proposal.id,
                    default: default.proposal.id,
                })
                .collect(),
        });
        if comparison.is_none() {
            return without_comparison(Finding::Unconfirmed, None);
        }
        let (finding, winner) = if !repeated_default.meets {
            (Finding::DefaultMisses, challenge.trimmed.of)
        } else if is_default_ahead {
            (against_winning_default(comparison.as_ref(), goal), DEFAULT)
        } else {
            (judged(comparison.as_ref()), challenge.trimmed.of)
        };
        StudyVerdict {
            finding,
            winner: Some(winner),
            comparison,
            trimming: Some(challenge.trimmed.trimming).filter(|it| !it.needed.is_empty()),
            refuted: Vec::new(),
        }
    }

    /// The best few in their fresh starts, each configuration once, and the default where it did
    /// not hold either.
    fn refuted(&self, trials: &Started<'_>, goal: &Goal) -> Vec<Refuted> {
        let holds = |id: u64| Series::of(trials.endings(id), goal).holds();
        let of = |trial: u64, changes: Vec<Change>| {
            let starts: Vec<&Ending> = trials.repeated(trial).collect();
            let held = (starts.iter()).filter(|it| Series::of([**it].into_iter(), goal).holds());
            Refuted {
                trial,
                held: held.count(),
                starts: starts.len(),
                changes,
            }
        };
        let mut found: Vec<Refuted> = Vec::new();
        for challenge in self.challenges(trials, goal) {
            let trial = if holds(challenge.whole) {
                challenge.trimmed.of
            } else {
                challenge.whole
            };
            let is_same = |other: &Refuted| trials.first(other.trial) == trials.first(trial);
            if !found.iter().any(is_same) {
                found.push(of(trial, self.changes(trials, goal, &challenge)));
            }
        }
        let default = of(DEFAULT, Vec::new());
        found.extend((default.held < default.starts).then_some(default));
        found
    }

    /// The change of every objective from the default to the challenger, by the differences
    /// within the rounds of both. Their number is that of the objectives, and the intervals are
    /// wide enough for all of them at once.
    fn changes(&self, trials: &Started<'_>, goal: &Goal, challenge: &Challenge) -> Vec<Change> {
        let level = 1.0 - RISK / goal.objectives.len().max(1) as f64;
        let log = |objective: &Objective, of, round| {
            log_figure(objective, trials.ending(FreshStart { of, round })?)
        };
        let of = |objective: &Objective| {
            let differences = challenge.rounds.clone().filter_map(|round| {
                Some(log(objective, challenge.trimmed.of, round)? - log(objective, DEFAULT, round)?)
            });
            change(objective, &differences.collect::<Vec<f64>>(), level)
        };
        goal.objectives.iter().filter_map(of).collect()
    }
}

/// The fresh starts of the challenger with those of the default.
fn pairs<'a>(trials: &Started<'a>, challenge: &Challenge) -> Vec<(&'a Trial, &'a Trial)> {
    let of = |of, round| trials.start(FreshStart { of, round });
    let rounds = challenge.rounds.clone();
    let pairs = rounds.filter_map(|round| of(challenge.trimmed.of, round).zip(of(DEFAULT, round)));
    pairs.collect()
}

fn in_step(pairs: &[(&Trial, &Trial)]) -> Option<StartsInStep> {
    let own = pairs.iter().filter(|(own, _)| own.ending.is_in_step());
    let default = (pairs.iter()).filter(|(_, default)| default.ending.is_in_step());
    let found = StartsInStep {
        trial: own.count(),
        default: default.count(),
    };
    (found.trial + found.default > 0).then_some(found)
}

/// The mean of each figure over the pairs that have it on both sides.
fn figures(pairs: &[(&Trial, &Trial)]) -> Vec<FigurePair> {
    let of = |path: &&str| {
        let figure = Objective {
            path: (*path).to_owned(),
            direction: Direction::Maximize,
        };
        let both = pairs
            .iter()
            .filter_map(|(own, default)| figure.of(&own.ending).zip(figure.of(&default.ending)));
        let (own, default): (Vec<f64>, Vec<f64>) = both.unzip();
        (!own.is_empty()).then(|| FigurePair {
            metric: figure.path,
            trial: mean(&own),
            default: mean(&default),
        })
    };
    SHOWN.iter().filter_map(of).collect()
}

fn judged(comparison: Option<&Comparison>) -> Finding {
    let has = |effect| {
        let changes = comparison.iter().flat_map(|it| &it.changes);
        changes.into_iter().any(|change| change.effect == effect)
    };
    match (has(ChangeEffect::Better), has(ChangeEffect::Worse)) {
        (true, true) => Finding::TradeOff,
        (true, false) => Finding::Better,
        (false, _) => Finding::NoCertainGain,
    }
}

/// Only what is certainly not better leaves the place to the default.
fn against_winning_default(other: Option<&Comparison>, goal: &Goal) -> Finding {
    let first = other.and_then(|other| other.changes.first());
    match (first, goal.objectives.first()) {
        (Some(_), _) if judged(other) == Finding::TradeOff => Finding::TradeOff,
        (Some(change), Some(objective)) if change.gain(objective.direction).high >= 0.0 => {
            Finding::DefaultFirst
        }
        _ => Finding::DefaultBest,
    }
}

/// The change of a figure, from the differences of its logarithm within each round.
fn change(objective: &Objective, differences: &[f64], level: f64) -> Option<Change> {
    let n = differences.len() as f64;
    if n < 2.0 {
        return None;
    }
    let variance = squared_spread(differences) / (n - 1.0);
    let difference = Difference {
        value: mean(differences),
        // Rounds that agree to the last digit still have some error.
        error: (variance / n).sqrt().max(1e-9),
        degrees: n - 1.0,
    };
    let [low, high] = difference.interval(level).map(f64::exp_m1);
    let wanted = match objective.direction {
        Direction::Maximize => [low, high],
        Direction::Minimize => [-high, -low],
    };
    Some(Change {
        metric: objective.path.clone(),
        value: difference.value.exp_m1(),
        low,
        high,
        effect: match wanted {
            [low, _] if low > LEAST_GAIN => ChangeEffect::Better,
            [_, high] if high < -LEAST_GAIN => ChangeEffect::Worse,
            _ => ChangeEffect::Uncertain,
        },
    })
}
