//! Which flags matter, and which way. Where there is a default to compare with, by what each flag
//! is worth against it (`anchored`); otherwise a small forest of regression trees learns the
//! objective from the trials, and each flag is worth the variance that it explains by itself.

mod anchored;
mod backgrounds;
mod forest;
mod pairs;

pub(super) use anchored::Evidence;

use crate::search::Observation;
use crate::space::{Coordinate, Point, Space, Value};
use forest::{Forest, Row, partings};
use serde::{Deserialize, Serialize};

/// Trials without which no forest says anything.
const LEAST_TRIALS: usize = 8;
/// A forest that predicts less than this share of the trials that it has not seen learned noise.
const LEAST_PREDICTED: f64 = 0.25;
/// Flags whose best splits of the trials correlate by more than this cannot be told apart.
const TOGETHER: f64 = 0.8;
/// Flags that explain less than this share do nothing that could be told from chance.
const NOTHING: f64 = 0.005;
/// A curve that rises or falls by less than this share of its range is level.
const LEVEL: f64 = 0.8;
/// Levels within this share of a curve's range are as good as each other.
const NEAR: f64 = 0.02;
/// A curve that moves by fewer standard deviations of fresh starts than this shows nothing.
const NOTICED: f64 = 2.0;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Importance {
    pub flag: String,
    /// Share of what all flags by themselves explain, from 0 to 1.
    pub share: f64,
    /// Relative gain of the first objective with this flag against without it, where all other
    /// flags of the best stay and that is known. Gains of flags that work together do not add up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// What trials show that differ in this flag alone, whatever the best; absent where they show
    /// no difference, or there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    pub effect: Effect,
    /// The values of other flags that it has its effect beside, and beside no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Point>,
    /// The value at which the objective is best, all else alike; absent without an effect.
    pub best_at: Option<Value>,
    /// Flags that changed together with it, so that the trials cannot tell which of them matters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_with: Vec<String>,
}

impl Importance {
    /// Of a flag that the simulated engine does not act on nothing is told.
    pub(super) fn unmodelled(flag: &str) -> Self {
        Importance {
            flag: flag.to_owned(),
            share: 0.0,
            gain: None,
            spread: None,
            effect: Effect::NotModelled,
            beside: None,
            best_at: None,
            changed_with: Vec::new(),
        }
    }
}

/// From the worst value of a flag that was seen to the best, all else alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    pub worst: Value,
    pub best: Value,
    /// Relative change of the first objective: 0.77 where it grew by 77 %.
    pub change: f64,
}

/// Which way a flag moves the objective, towards better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Effect {
    Rises,
    Falls,
    /// Best in between, or without a direction.
    Mixed,
    /// One of several words is best, or on or off.
    Choice,
    None,
    /// The trials differ by more than chance, and not in a way that tells which flag it was.
    Unclear,
    /// It had one value in all trials that count.
    NotVaried,
    /// It had one value in all trials that could be measured; with others the engine did not serve.
    NeverServed,
    /// The simulated engine accepts it and does not act on it.
    NotModelled,
    /// The best keeps the default's value, and others are worse.
    DefaultBest,
    /// Without it the best does not serve, or misses its limits.
    Needed,
    /// It changed only together with others.
    Confounded,
    /// None on the whole, and one beside some values of other flags.
    OnlyBeside,
}

/// The trials that met the SLOs, where [`importance`] leaves out others for them.
pub fn asked_of_met(past: &[Observation]) -> Option<usize> {
    let measured = past.iter().filter(|it| it.measured().is_some()).count();
    let met = past.iter().filter(|it| it.meets_slos()).count();
    (met >= LEAST_TRIALS && measured > met).then_some(met)
}

/// The flags by importance, the most important first; empty with too few trials. Trials that met
/// the SLOs count; where they are too few, the others too, as worse than any of them by how far
/// they missed. `noise` is the
/// standard deviation of the objective's logarithm between fresh starts, where it is known.
pub fn importance(
    space: &Space,
    past: &[Observation],
    noise: Option<f64>,
    seed: u64,
) -> Vec<Importance> {
    modelled(space, past, noise, seed, LEAST_PREDICTED)
}

/// The same by a forest that must predict a share of the trials that it has not seen.
fn modelled(
    space: &Space,
    past: &[Observation],
    noise: Option<f64>,
    seed: u64,
    least_predicted: f64,
) -> Vec<Importance> {
    let rows_of = |worth: &dyn Fn(f64, f64) -> Option<f64>| -> Vec<Row> {
        let row = |observation: &Observation| {
            let (objectives, violation) = observation.measured()?;
            Some(Row {
                at: numbers(&space.coordinates(&observation.point)?),
                value: worth(*objectives.first()?, violation)?,
            })
        };
        past.iter().filter_map(row).collect()
    };
    let mut rows = rows_of(&|objective, violation| (violation <= 0.0).then_some(objective));
    if rows.len() < LEAST_TRIALS {
        let least = rows.iter().map(|row| row.value).reduce(f64::min);
        let least = least.unwrap_or(0.0);
        let step = least.abs().max(1.0);
        rows = rows_of(&|objective, violation| {
            if violation <= 0.0 {
                Some(objective)
            } else {
                Some(least - step * violation)
            }
        });
    }
    if rows.len() < LEAST_TRIALS {
        return Vec::new();
    }
    let usual = rows.iter().map(|row| row.value.abs()).sum::<f64>() / rows.len() as f64;
    let mut unnoticed = NOTICED * noise.unwrap_or(0.0) * usual;
    let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    let differ = range(&values) > unnoticed;
    let mut forest = Forest::grow(space, &rows, seed);
    let mut in_ranks = false;
    let mut is_blind = forest.predicted_share(&rows) < least_predicted;
    if is_blind && differ {
        // One trial that is far off hides what the others show.
        for (row, rank) in rows.iter_mut().zip(ranks(&values)) {
            row.value = rank;
        }
        unnoticed = 0.0;
        in_ranks = true;
        forest = Forest::grow(space, &rows, seed);
        is_blind = forest.predicted_share(&rows) < least_predicted;
    }
    let curves: Vec<(Vec<Value>, Vec<f64>)> = (0..space.dimensions().len())
        .map(|flag| curve(space, &forest, &rows, flag))
        .collect();
    let variances: Vec<f64> = (curves.iter())
        .map(|(_, curve)| {
            if range(curve) > unnoticed && !is_blind {
                variance(curve)
            } else {
                0.0
            }
        })
        .collect();
    let total: f64 = variances.iter().sum();
    let shares: Vec<f64> = (variances.iter())
        .map(|variance| if total > 0.0 { variance / total } else { 0.0 })
        .collect();
    let partings = partings(space, &rows);
    let changed_with = |flag: usize| -> Vec<String> {
        let matters = |flag: usize| shares[flag] >= NOTHING;
        let is_like = |other: usize| match (&partings[flag], &partings[other]) {
            (Some(own), Some(others)) => correlation(own, others).abs() > TOGETHER,
            _ => false,
        };
        (0..shares.len())
            .filter(|&other| other != flag && matters(flag) && matters(other) && is_like(other))
            .map(|other| space.dimensions()[other].name.clone())
            .collect()
    };
    // What is better the smaller it is, down to where the SLOs are missed, has no direction.
    let missed: Vec<Vec<f64>> = (past.iter())
        .filter(|it| it.measured().is_some_and(|(_, violation)| violation > 0.0))
        .filter_map(|it| Some(numbers(&space.coordinates(&it.point)?)))
        .collect();
    let missed_beyond = |flag: usize, towards: Effect| {
        let met = rows.iter().map(|row| row.at[flag]);
        let mut missed = missed.iter().map(|at| at[flag]);
        match towards {
            Effect::Rises => {
                let most = met.fold(f64::NEG_INFINITY, f64::max);
                missed.any(|at| at > most)
            }
            Effect::Falls => {
                let least = met.fold(f64::INFINITY, f64::min);
                missed.any(|at| at < least)
            }
            _ => false,
        }
    };
    let is_varied = |flag: usize| rows.iter().any(|row| row.at[flag] != rows[0].at[flag]);
    let mut found: Vec<Importance> = (space.dimensions().iter().zip(curves).enumerate())
        .map(|(flag, (dimension, (values, curve)))| {
            let share = shares[flag];
            let (effect, best) = match (share < NOTHING, dimension.domain.is_unordered()) {
                _ if !is_varied(flag) => (Effect::NotVaried, None),
                _ if is_blind && differ => (Effect::Unclear, None),
                (true, _) => (Effect::None, None),
                (false, true) => (Effect::Choice, highest(&curve)),
                (false, false) => match direction(&curve) {
                    (towards, best) if missed_beyond(flag, towards) => (Effect::Mixed, best),
                    found => found,
                },
            };
            let is_seen = share >= NOTHING && !in_ranks && usual > 0.0;
            Importance {
                flag: dimension.name.clone(),
                share,
                spread: None,
                gain: is_seen.then(|| range(&curve) / usual),
                effect,
                beside: None,
                best_at: best.map(|best| values[best].clone()),
                changed_with: changed_with(flag),
            }
        })
        .collect();
    found.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then_with(|| a.flag.cmp(&b.flag))
    });
    found
}

/// Ranks from 0 on, ties sharing the middle of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let ties = values.iter().filter(|other| *other == value).count() as f64;
        below + (ties - 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn numbers(coordinates: &[Coordinate]) -> Vec<f64> {
    let number = |coordinate: &Coordinate| match coordinate {
        Coordinate::Ordered(share) => *share,
        Coordinate::Category(place) => *place as f64,
    };
    coordinates.iter().map(number).collect()
}

/// The mean prediction at each level of a flag that the trials reach to, over the other flags as
/// they were tried.
fn curve(space: &Space, forest: &Forest, rows: &[Row], flag: usize) -> (Vec<Value>, Vec<f64>) {
    let domain = &space.dimensions()[flag].domain;
    let tried = || rows.iter().map(|row| row.at[flag]);
    let (least, most) = (
        tried().fold(f64::INFINITY, f64::min),
        tried().fold(f64::NEG_INFINITY, f64::max),
    );
    let number = |level: &Value| domain.coordinate(level).map(|at| numbers(&[at])[0]);
    let is_known = |level: &Value| {
        number(level).is_some_and(|at| {
            if domain.is_unordered() {
                tried().any(|tried| tried == at)
            } else {
                (least..=most).contains(&at)
            }
        })
    };
    let levels: Vec<Value> = domain.levels().into_iter().filter(is_known).collect();
    let mean_at = |level: &Value| {
        let set = number(level).unwrap_or_default();
        let predicted = rows.iter().map(|row| {
            let mut at = row.at.clone();
            at[flag] = set;
            forest.predict(&at)
        });
        predicted.sum::<f64>() / rows.len() as f64
    };
    let curve = levels.iter().map(mean_at).collect();
    (levels, curve)
}

/// Of two partings of the same trials: 1 for the same, -1 for the same with sides exchanged.
fn correlation(a: &[bool], b: &[bool]) -> f64 {
    let share = |holds: &dyn Fn(bool, bool) -> bool| {
        let count = a.iter().zip(b).filter(|(a, b)| holds(**a, **b)).count();
        count as f64 / a.len() as f64
    };
    let (in_a, in_b) = (share(&|a, _| a), share(&|_, b| b));
    let both = share(&|a, b| a && b);
    (both - in_a * in_b) / (in_a * (1.0 - in_a) * in_b * (1.0 - in_b)).sqrt()
}

fn variance(curve: &[f64]) -> f64 {
    let mean = curve.iter().sum::<f64>() / curve.len() as f64;
    let squares = curve.iter().map(|value| (value - mean).powi(2));
    squares.sum::<f64>() / curve.len() as f64
}

fn range(curve: &[f64]) -> f64 {
    let most = curve.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = curve.iter().copied().fold(f64::INFINITY, f64::min);
    (most - least).max(0.0)
}

fn highest(curve: &[f64]) -> Option<usize> {
    (0..curve.len()).max_by(|&a, &b| curve[a].total_cmp(&curve[b]))
}

/// Which way a curve goes and where it is best: a direction only where it ends there.
fn direction(curve: &[f64]) -> (Effect, Option<usize>) {
    let steps = || curve.windows(2).map(|pair| pair[1] - pair[0]);
    let up: f64 = steps().map(|step| step.max(0.0)).sum();
    let down: f64 = steps().map(|step| (-step).max(0.0)).sum();
    let best = highest(curve);
    let near = NEAR * range(curve);
    let is_best = |at: usize| best.is_some_and(|best| curve[at] >= curve[best] - near);
    let last = curve.len().saturating_sub(1);
    match up + down {
        all if all > 0.0 && up / all >= LEVEL && is_best(last) => (Effect::Rises, Some(last)),
        all if all > 0.0 && down / all >= LEVEL && is_best(0) => (Effect::Falls, Some(0)),
        _ => (Effect::Mixed, best),
    }
}
