//! What each flag is worth between the default and the best: by pairs of trials that differ in it
//! alone, by what the best lost without it, and by what is left of the gain. What only changed
//! together with others is not guessed, unless a model can be trusted.

use super::super::definition::Study;
use super::super::goal::Direction;
use super::super::last_stage::{DEFAULT, LEAST_GAIN};
use super::super::series::log_figure;
use super::super::started::{Started, resolved};
use super::super::trimming::{NeededFlag, Trimming};
use super::backgrounds::Seen;
use super::pairs::{Flag, Group, Levels, Run, levels};
use super::{Effect, Importance, Spread, backgrounds, direction, highest, modelled};
use crate::search::Observation;
use crate::space::{Dimension, Point, Value};
use crate::trial::{Origin, Trial};

/// A model that predicts this share of the trials that it has not seen can be trusted.
const TRUSTED: f64 = 0.8;
/// What single starts may differ by where nothing was started twice.
const UNREPEATED: f64 = 0.02;

/// What the importance of flags is asked of.
pub(in super::super) struct Evidence<'a> {
    pub(in super::super) trials: &'a [Trial],
    /// The trial that is set against the default.
    pub(in super::super) best: u64,
    /// Its gain in the first objective as a logarithm, larger is better, where pairs measured it.
    pub(in super::super) gain: Option<f64>,
    pub(in super::super) trimming: Option<&'a Trimming>,
    /// Searched trials, for a model of what pairs do not tell.
    pub(in super::super) past: &'a [Observation],
    pub(in super::super) noise: Option<f64>,
}

/// A flag with what is known of it so far.
struct Line {
    found: Importance,
    /// What the best has of its gain from this flag, as a logarithm; absent while it is not known.
    part: Option<f64>,
    /// What pairs alone say of it.
    seen: (Effect, Option<Value>),
}

impl Study {
    /// The flags by what they are worth against the default; absent where that was not measured.
    pub(in super::super) fn worth_of_flags(
        &self,
        evidence: &Evidence<'_>,
    ) -> Option<Vec<Importance>> {
        let started = Started::of(evidence.trials);
        let default = started.by_id(DEFAULT)?;
        let best = started.by_id(evidence.best)?;
        let defaults = &default.proposal.point;
        let runs = self.runs(&started);
        let of = |point: &Point| {
            let searched = runs.iter().filter(|run| run.group == SEARCHED);
            let mut same = searched.filter(|run| run.point.same(point));
            same.next().map(|run| run.log)
        };
        let at_best = resolved(&best.proposal);
        if at_best.same(defaults) {
            return None;
        }
        let measured = of(&at_best)
            .zip(of(defaults))
            .map(|(best, default)| best - default);
        let total = evidence.gain.or(measured)?;
        let whole = evidence.trimming.and_then(|it| started.by_id(it.of));
        let unnoticed = if total.abs() < LEAST_GAIN {
            LEAST_GAIN
        } else {
            (self.last_stage).tolerance(&started, &self.goal, whole.unwrap_or(best))
        };
        let towards = self.goal.objectives.first().map(|it| it.direction);
        let met = self.met_values(&started);
        let dimensions = self.space.dimensions().iter();
        let pairs = levels(&self.space, &runs, defaults, unnoticed);
        let mut lines: Vec<Line> = (dimensions.zip(&pairs))
            .map(|(dimension, (flag, levels))| {
                let asked = Asked {
                    dimension,
                    flag,
                    levels,
                    runs: &runs,
                    default: defaults.get(&dimension.name),
                    best: at_best.get(&dimension.name),
                    met: &met,
                    unnoticed,
                    towards,
                    default_misses: self.goal.violation(&default.ending) > 0.0,
                };
                let is_varied = runs.iter().any(|run| {
                    let value = run.point.get(&dimension.name);
                    value.zip(asked.default).is_none_or(|(a, b)| !a.same(b))
                });
                asked.line(evidence.trimming, is_varied)
            })
            .collect();
        self.share_the_rest(&mut lines, total, unnoticed, evidence);
        let gain = |line: &Line| line.part.unwrap_or(0.0).max(0.0);
        let all: f64 = lines.iter().map(gain).sum();
        let mut found: Vec<Importance> = (lines.into_iter())
            .map(|line| Importance {
                share: if all > 0.0 { gain(&line) / all } else { 0.0 },
                gain: line.part.map(|part| match towards {
                    Some(Direction::Minimize) => -(-part).exp_m1(),
                    _ => part.exp_m1(),
                }),
                ..line.found
            })
            .collect();
        found.sort_by(|a, b| {
            b.share
                .total_cmp(&a.share)
                .then_with(|| a.flag.cmp(&b.flag))
        });
        Some(found)
    }

    /// What pairs of trials show of each flag by itself, where there is nothing to hold the best
    /// against.
    pub(in super::super) fn seen_in_pairs(
        &self,
        trials: &[Trial],
        best: Option<u64>,
        computed: bool,
    ) -> Vec<Importance> {
        let started = Started::of(trials);
        let default = started.by_id(DEFAULT).map(|it| &it.proposal.point);
        let best = best.and_then(|best| started.by_id(best));
        let at_best = best.map(|best| resolved(&best.proposal));
        let runs = self.runs(&started);
        let first = self.goal.objectives.first();
        let noise = self
            .last_stage
            .selection_noise(&started, &self.goal, |ending| log_figure(first?, ending));
        let repeats = trials
            .iter()
            .filter(|it| it.proposal.origin.confirms().is_some());
        let unnoticed = if repeats.count() > 0 {
            LEAST_GAIN.max(noise * std::f64::consts::SQRT_2)
        } else if computed {
            LEAST_GAIN
        } else {
            UNREPEATED
        };
        let met = self.met_values(&started);
        let pairs = levels(&self.space, &runs, &Point::default(), unnoticed);
        let lines =
            (self.space.dimensions().iter().zip(&pairs)).map(|(dimension, (flag, levels))| {
                let asked = Asked {
                    dimension,
                    flag,
                    levels,
                    runs: &runs,
                    default: default.and_then(|it| it.get(&dimension.name)),
                    best: at_best.as_ref().and_then(|it| it.get(&dimension.name)),
                    met: &met,
                    unnoticed,
                    towards: first.map(|it| it.direction),
                    default_misses: false,
                };
                let (effect, best_at) = asked.seen();
                asked.said(effect, best_at, None).found
            });
        lines.collect()
    }

    /// What no pair tells of is the rest of the gain, where it is that of one flag; a model's word
    /// for several, if it can be trusted; otherwise nobody can say.
    fn share_the_rest(
        &self,
        lines: &mut [Line],
        total: f64,
        unnoticed: f64,
        evidence: &Evidence<'_>,
    ) {
        let known: f64 = lines.iter().filter_map(|line| line.part).sum();
        let open: Vec<usize> = (0..lines.len())
            .filter(|&at| matches!(lines[at].found.effect, Effect::Confounded | Effect::Needed))
            .filter(|&at| lines[at].part.is_none())
            .collect();
        if let [only] = open[..] {
            let line = &mut lines[only];
            let rest = total - known;
            line.part = Some(rest).map(|rest| if rest > unnoticed { rest } else { 0.0 });
            if line.found.effect == Effect::Confounded {
                if rest > unnoticed {
                    line.found.effect = Effect::Choice
                } else {
                    (line.found.effect, line.found.best_at) = line.seen.clone()
                }
            }
            return;
        }
        let model = modelled(
            &self.space,
            evidence.past,
            evidence.noise,
            self.seed,
            TRUSTED,
        );
        let names: Vec<String> = (open.iter())
            .map(|&at| lines[at].found.flag.clone())
            .collect();
        for at in open {
            let line = &mut lines[at];
            let said = model.iter().find(|it| it.flag == line.found.flag);
            let is_said = |it: &&Importance| {
                let effects = [Effect::Rises, Effect::Falls, Effect::Mixed, Effect::Choice];
                it.changed_with.is_empty() && effects.contains(&it.effect)
            };
            let is_confounded = line.found.effect == Effect::Confounded;
            match said.filter(is_said).filter(|_| is_confounded) {
                Some(said) => {
                    let spread = line.found.spread.take();
                    line.found = Importance {
                        spread,
                        ..said.clone()
                    };
                    line.part = said.gain.map(f64::ln_1p);
                }
                None => {
                    let others = names.iter().filter(|name| **name != line.found.flag);
                    line.found.changed_with = others.cloned().collect();
                    line.found.best_at = None;
                }
            }
        }
    }

    /// Every valid measurement of the first objective, with what it ran with.
    fn runs(&self, started: &Started<'_>) -> Vec<Run> {
        let Some(objective) = self.goal.objectives.first() else {
            return Vec::new();
        };
        let run = |trial: &Trial| {
            let (of, group) = match trial.proposal.origin {
                Origin::Confirm { of, round } => (of, of_round(round?)),
                Origin::Trim { .. } => (trial.proposal.id, of_round(0)),
                _ => (trial.proposal.id, SEARCHED),
            };
            let log = log_figure(objective, &trial.ending)?;
            Some(Run {
                group,
                point: resolved(&started.by_id(of)?.proposal),
                log: match objective.direction {
                    Direction::Maximize => log,
                    Direction::Minimize => -log,
                },
            })
        };
        started.iter().filter_map(run).collect()
    }

    /// What was run with and met the SLOs.
    fn met_values(&self, started: &Started<'_>) -> Vec<Point> {
        let met = started.iter().filter(|trial| {
            let is_measured = !trial.ending.measurements.is_empty();
            is_measured && self.goal.violation(&trial.ending) <= 0.0
        });
        met.map(|trial| resolved(&trial.proposal)).collect()
    }
}

/// Searched trials saw the same prompts, and those of each round of the last stage.
const SEARCHED: usize = 0;

fn of_round(round: usize) -> usize {
    SEARCHED + 1 + round
}

struct Asked<'a> {
    dimension: &'a Dimension,
    flag: &'a Flag<'a>,
    levels: &'a Levels,
    runs: &'a [Run],
    default: Option<&'a Value>,
    best: Option<&'a Value>,
    met: &'a [Point],
    unnoticed: f64,
    towards: Option<Direction>,
    /// The default misses the SLOs, which the best needs its flags for.
    default_misses: bool,
}

impl Asked<'_> {
    fn line(&self, trimming: Option<&Trimming>, is_varied: bool) -> Line {
        let name = &self.dimension.name;
        let needed = trimming.and_then(|it| it.needed.iter().find(|it| it.flag == *name));
        if let Some(needed) = needed {
            return self.needed(needed);
        }
        let is_left_out = trimming.is_some_and(|it| it.left_out.0.contains_key(name));
        let is_same = match (self.default, self.best) {
            (Some(default), Some(best)) => default.same(best),
            (default, best) => default.is_some() == best.is_some(),
        };
        if !is_varied {
            return self.said(Effect::NotVaried, None, Some(0.0));
        }
        if is_left_out || is_same {
            return self.unused();
        }
        let anchored = &self.levels.anchored;
        let worth = self.best.and_then(|it| anchored.worth_of(it, self.flag));
        match worth {
            None => self.said(Effect::Confounded, self.best.cloned(), None),
            Some(worth) if worth > self.unnoticed => {
                let (effect, best_at) = self.direction(anchored);
                self.said(effect, best_at, Some(worth))
            }
            Some(_) => self.unused(),
        }
    }

    /// A flag that the best does without, or that gains it nothing.
    fn unused(&self) -> Line {
        let (effect, best_at) = self.seen();
        self.said(effect, best_at, Some(0.0))
    }

    /// What pairs show of the flag, whatever the best does with it.
    fn seen(&self) -> (Effect, Option<Value>) {
        let widest = self.levels.widest();
        if self.levels.pairs == 0 {
            return (Effect::Unclear, None);
        }
        if widest.range() <= self.unnoticed {
            // What is none on the whole may be one beside some values of other flags.
            let alone = self.levels.alone.as_ref().map_or(0.0, Group::range);
            let effect = match self.beside() {
                Some(seen) if !seen.beside.0.is_empty() => Effect::OnlyBeside,
                Some(_) => Effect::Mixed,
                None if alone > self.unnoticed => Effect::Mixed,
                None => Effect::None,
            };
            return (effect, None);
        }
        let default = self.default.and_then(|it| widest.worth_of(it, self.flag));
        let met = self.met(widest);
        let top = met.iter().map(|(_, worth)| *worth).reduce(f64::max);
        match default.zip(top) {
            Some((default, top)) if default >= top - self.unnoticed => {
                (Effect::DefaultBest, self.default.cloned())
            }
            _ => self.direction(widest),
        }
    }

    /// What the flag does beside some values of others, where it does nothing on the whole.
    fn beside(&self) -> Option<Seen> {
        let is_level = self.levels.widest().range() <= self.unnoticed;
        is_level
            .then(|| backgrounds::seen(&self.dimension.name, self.runs, self.unnoticed))
            .flatten()
    }

    /// How the first objective changes where it is better by so much, as a logarithm.
    fn change(&self, gain: f64) -> f64 {
        match self.towards {
            Some(Direction::Minimize) => (-gain).exp_m1(),
            _ => gain.exp_m1(),
        }
    }

    /// From the worst level that pairs know to the best.
    fn spread(&self) -> Option<Spread> {
        if let Some(seen) = self.beside() {
            return Some(Spread {
                change: self.change(seen.gain),
                worst: seen.worst,
                best: seen.best,
            });
        }
        let widest = self.levels.alone.as_ref()?;
        let worth = || widest.0.iter().map(|(_, worth)| *worth);
        let ends = worth().reduce(f64::min).zip(worth().reduce(f64::max));
        // Of several that are worth the same: the default's, or that of the best.
        let at = |end: f64| {
            let alike = widest.0.iter();
            let alike = alike.filter(|(_, worth)| (worth - end).abs() <= self.unnoticed);
            let alike: Vec<&Value> = alike.flat_map(|(values, _)| values).collect();
            let known = [self.default, self.best].into_iter().flatten();
            let mut known = known.filter(|it| alike.iter().any(|value| value.same(it)));
            known.next().or(alike.first().copied()).cloned()
        };
        let (worst, best) = ends.map(|(worst, best)| (at(worst), at(best)))?;
        (widest.range() > self.unnoticed).then_some(Spread {
            worst: worst?,
            best: best?,
            change: self.change(widest.range()),
        })
    }

    fn needed(&self, needed: &NeededFlag) -> Line {
        let lost = needed.without.map(|change| match self.towards {
            Some(Direction::Minimize) => change.ln_1p(),
            _ => -change.ln_1p(),
        });
        // The only flag that is left was not left out.
        if lost.is_none() && !needed.fails_without {
            let effect = if self.default_misses {
                Effect::Needed
            } else {
                Effect::Confounded
            };
            return self.said(effect, Some(needed.value.clone()), None);
        }
        let is_seen = lost.is_some_and(|lost| lost > self.unnoticed) && !needed.misses_without;
        let effect = if is_seen {
            self.direction(&self.levels.anchored).0
        } else {
            Effect::Needed
        };
        let lost = lost.map(|lost| lost.max(0.0));
        self.said(effect, Some(needed.value.clone()), lost)
    }

    /// The values of some levels that met the SLOs, or all where nothing did.
    fn met(&self, group: &Group) -> Vec<(Value, f64)> {
        let is_met = |value: &Value| {
            let mut met = self.met.iter();
            self.met.is_empty()
                || met.any(|point| {
                    let own = point.get(&self.dimension.name);
                    own.is_some_and(|it| it.same(value))
                })
        };
        let each = group.0.iter().flat_map(|(values, worth)| {
            let met = values.iter().filter(|value| is_met(value));
            met.map(|value| (value.clone(), *worth))
        });
        each.collect()
    }

    /// Which way the levels go that met the SLOs, and the best of them.
    fn direction(&self, group: &Group) -> (Effect, Option<Value>) {
        let mut levels = self.met(group);
        // A default such as -1 for "by itself" has no place among the numbers.
        levels.retain(|(value, _)| self.dimension.domain.contains(value));
        let number = |value: &Value| value.number().unwrap_or(0.0);
        let is_ordered = !self.dimension.domain.is_unordered() && levels.len() > 1;
        if is_ordered {
            levels.sort_by(|(a, _), (b, _)| number(a).total_cmp(&number(b)));
        }
        let curve: Vec<f64> = levels.iter().map(|(_, worth)| *worth).collect();
        let (effect, top) = if is_ordered {
            direction(&curve)
        } else {
            (Effect::Choice, highest(&curve))
        };
        let Some(top) = top else {
            return (effect, self.best.cloned());
        };
        // Of several that are as good, that of the best.
        let own = self.best.and_then(|it| group.worth_of(it, self.flag));
        let is_top = own.is_some_and(|own| own >= curve[top] - self.unnoticed);
        let best_at = self.best.filter(|_| is_top).unwrap_or(&levels[top].0);
        (effect, Some(best_at.clone()))
    }

    fn said(&self, effect: Effect, best_at: Option<Value>, part: Option<f64>) -> Line {
        let beside = self
            .beside()
            .filter(|_| effect == Effect::OnlyBeside)
            .map(|it| it.beside);
        Line {
            found: Importance {
                beside,
                flag: self.dimension.name.clone(),
                share: 0.0,
                effect,
                best_at,
                changed_with: Vec::new(),
                gain: None,
                spread: self.spread(),
            },
            part,
            seen: self.seen(),
        }
    }
}
