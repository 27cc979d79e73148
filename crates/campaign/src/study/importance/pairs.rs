//! What each flag does by itself: pairs of trials that saw the same prompts and differ in one
//! flag. Flags that do nothing in such pairs are then seen through, so that trials that differ in
//! them too are pairs of another flag.

use crate::space::{Point, Space, Value};
use std::collections::BTreeMap;

/// Runs that are compared with each other; more would take long and tell no more.
const MOST_RUNS: usize = 400;
/// Sweeps that settle the levels of a flag.
const SWEEPS: usize = 100;

/// A measured start.
#[derive(Clone, Debug)]
pub(in super::super) struct Run {
    /// Runs of one group saw the same prompts.
    pub(in super::super) group: usize,
    /// The values that it ran with, as far as they are known.
    pub(in super::super) point: Point,
    /// The logarithm of the objective, larger is better.
    pub(in super::super) log: f64,
}

/// What pairs say of one flag.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Levels {
    /// Levels that pairs connect with the anchor's, which is worth nothing.
    pub(in super::super) anchored: Group,
    /// Levels that pairs connect with each other only, by what they are worth against one of them.
    apart: Vec<Group>,
    /// Pairs that this rests on.
    pub(in super::super) pairs: usize,
    /// The levels that differ the most in pairs of trials that are alike in all other flags.
    pub(in super::super) alone: Option<Group>,
}

/// Levels of a flag by what they are worth against one of them; levels that cannot be told apart
/// share one entry.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Group(pub(in super::super) Vec<(Vec<Value>, f64)>);

impl Levels {
    /// The levels that differ the most.
    pub(in super::super) fn widest(&self) -> &Group {
        let all = self.apart.iter().chain([&self.anchored]);
        let widest = all.max_by(|a, b| a.range().total_cmp(&b.range()));
        widest.unwrap_or(&self.anchored)
    }
}

impl Group {
    /// What a level is worth; absent where no pairs lead there.
    pub(in super::super) fn worth_of(&self, value: &Value, flag: &Flag<'_>) -> Option<f64> {
        let holds = |values: &Vec<Value>| flag.is_among(value, values);
        let found = self.0.iter().find(|(values, _)| holds(values));
        found.map(|(_, worth)| *worth)
    }

    pub(in super::super) fn range(&self) -> f64 {
        let worth: Vec<f64> = self.0.iter().map(|(_, worth)| *worth).collect();
        super::range(&worth)
    }
}

/// A flag of the space and what of its values makes no difference.
pub(in super::super) struct Flag<'a> {
    name: &'a str,
    is_ordered: bool,
    /// Values that are worth the same; of numbers all between them too.
    alike: Vec<Vec<Value>>,
}

impl Flag<'_> {
    /// Whether a value is one of several that are worth the same.
    fn is_among(&self, value: &Value, values: &[Value]) -> bool {
        if values.iter().any(|one| one.same(value)) {
            return true;
        }
        let numbers = || values.iter().filter_map(Value::number);
        let (least, most) = (numbers().reduce(f64::min), numbers().reduce(f64::max));
        match (value.number(), least, most) {
            (Some(number), Some(least), Some(most)) if self.is_ordered => {
                (least..=most).contains(&number)
            }
            _ => false,
        }
    }

    /// The values that are worth the same as this one.
    fn level(&self, value: &Value) -> Vec<Value> {
        let found = self.alike.iter().find(|it| self.is_among(value, it));
        found.cloned().unwrap_or_else(|| vec![value.clone()])
    }

    /// Whether two runs have other values of it.
    fn is_changed(&self, a: &Run, b: &Run) -> bool {
        match (a.point.get(self.name), b.point.get(self.name)) {
            (Some(a), Some(b)) => !a.same(b),
            (a, b) => a.is_some() != b.is_some(),
        }
    }

    /// Whether they have values of it that are not known to be worth the same.
    fn differs(&self, a: &Run, b: &Run) -> bool {
        let is_alike = |values: &Vec<Value>| {
            let is_among = |run: &Run| {
                let value = run.point.get(self.name);
                value.is_some_and(|value| self.is_among(value, values))
            };
            is_among(a) && is_among(b)
        };
        self.is_changed(a, b) && !self.alike.iter().any(is_alike)
    }
}

/// All pairs of runs between two values of a flag.
struct Step {
    from: Value,
    to: Value,
    /// What they gain on average.
    gain: f64,
    /// The root of their mean square: what is up in one and down in another makes a difference.
    size: f64,
    count: usize,
}

#[derive(Default)]
struct Steps(BTreeMap<(String, String), Step>);

impl Steps {
    fn list(&self) -> Vec<&Step> {
        self.0.values().collect()
    }

    fn add(&mut self, from: &Value, to: &Value, gain: f64) {
        let names = (from.to_string(), to.to_string());
        let (names, from, to, gain) = if names.0 <= names.1 {
            (names, from, to, gain)
        } else {
            ((names.1, names.0), to, from, -gain)
        };
        let step = self.0.entry(names).or_insert_with(|| Step {
            from: from.clone(),
            to: to.clone(),
            gain: 0.0,
            size: 0.0,
            count: 0,
        });
        let before = step.count as f64;
        step.count += 1;
        let all = step.count as f64;
        step.gain = (step.gain * before + gain) / all;
        step.size = ((step.size.powi(2) * before + gain.powi(2)) / all).sqrt();
    }
}

/// What pairs say of every flag of a space, against a point of it. Differences up to `unnoticed`
/// count as none.
pub(in super::super) fn levels<'a>(
    space: &'a Space,
    runs: &[Run],
    anchor: &Point,
    unnoticed: f64,
) -> Vec<(Flag<'a>, Levels)> {
    let runs = &runs[runs.len().saturating_sub(MOST_RUNS)..];
    let mut flags: Vec<Flag<'a>> = (space.dimensions().iter())
        .map(|dimension| Flag {
            name: &dimension.name,
            is_ordered: !dimension.domain.is_unordered(),
            alike: Vec::new(),
        })
        .collect();
    let mut steps = steps(&flags, runs);
    let alone: Vec<Group> = (flags.iter().zip(&steps))
        .map(|(flag, steps)| {
            let levels = settled(flag, &steps.list(), anchor.get(flag.name));
            levels.widest().clone()
        })
        .collect();
    let mut known = 0;
    loop {
        for (flag, steps) in flags.iter_mut().zip(&steps) {
            flag.alike = alike(flag, &steps.list(), unnoticed);
        }
        let mut further = self::steps(&flags, runs);
        // What showed that flags do nothing stays, though it is now a pair of none of them.
        for (further, earlier) in further.iter_mut().zip(&mut steps) {
            for (values, step) in std::mem::take(&mut earlier.0) {
                further.0.entry(values).or_insert(step);
            }
        }
        let count = |steps: &[Steps]| steps.iter().map(|it| it.0.len()).sum::<usize>();
        let is_settled = count(&further) == known;
        known = count(&further);
        steps = further;
        if is_settled {
            break;
        }
    }
    let found = flags.into_iter().zip(steps).zip(alone);
    let found = found.map(|((flag, steps), alone)| {
        let mut levels = settled(&flag, &steps.list(), anchor.get(flag.name));
        levels.alone = Some(alone).filter(|alone| alone.0.len() > 1);
        (flag, levels)
    });
    found.collect()
}

/// The pairs of every flag.
fn steps(flags: &[Flag<'_>], runs: &[Run]) -> Vec<Steps> {
    let mut found: Vec<Steps> = flags.iter().map(|_| Steps::default()).collect();
    for (at, a) in runs.iter().enumerate() {
        for b in runs[at + 1..].iter().filter(|b| b.group == a.group) {
            let differ = (0..flags.len()).filter(|&flag| flags[flag].differs(a, b));
            // Where all that differs does nothing, a single flag has shown so once more.
            let written = (0..flags.len()).filter(|&flag| flags[flag].is_changed(a, b));
            let Some(flag) = only(differ).or_else(|| only(written)) else {
                continue;
            };
            let name = flags[flag].name;
            if let (Some(from), Some(to)) = (a.point.get(name), b.point.get(name)) {
                found[flag].add(from, to, b.log - a.log);
            }
        }
    }
    found
}

/// The one of several, if it is one.
fn only(mut several: impl Iterator<Item = usize>) -> Option<usize> {
    let first = several.next()?;
    several.next().is_none().then_some(first)
}

/// Values between which no pair shows a difference.
fn alike(flag: &Flag<'_>, steps: &[&Step], unnoticed: f64) -> Vec<Vec<Value>> {
    let is_null = |step: &Step| step.size <= unnoticed;
    let mut groups: Vec<Vec<Value>> = Vec::new();
    for step in steps.iter().filter(|step| is_null(step)) {
        let mut joined = vec![step.from.clone(), step.to.clone()];
        let touches = |group: &Vec<Value>, joined: &[Value]| {
            let mut values = group.iter();
            values.any(|value| flag.is_among(value, joined))
                || joined.iter().any(|value| flag.is_among(value, group))
        };
        let (touched, mut apart): (Vec<_>, Vec<_>) =
            groups.drain(..).partition(|group| touches(group, &joined));
        for value in touched.iter().flatten() {
            if !joined.iter().any(|one| one.same(value)) {
                joined.push(value.clone());
            }
        }
        // Nothing between them may make a difference.
        let contradicts = |step: &&Step| {
            !is_null(step) && flag.is_among(&step.from, &joined) && flag.is_among(&step.to, &joined)
        };
        if steps.iter().any(contradicts) {
            apart.extend(touched)
        } else {
            apart.push(joined)
        }
        groups = apart;
    }
    groups
}

/// What the levels of a flag are worth against that of the anchor.
fn settled(flag: &Flag<'_>, steps: &[&Step], anchor: Option<&Value>) -> Levels {
    let mut levels: Vec<Vec<Value>> = Vec::new();
    let mut place = |value: &Value| {
        let known =
            |levels: &[Vec<Value>]| levels.iter().position(|level| flag.is_among(value, level));
        known(&levels).unwrap_or_else(|| {
            levels.push(flag.level(value));
            levels.len() - 1
        })
    };
    if let Some(anchor) = anchor {
        place(anchor);
    }
    let ends: Vec<(usize, usize, &Step)> = (steps.iter())
        .map(|step| (place(&step.from), place(&step.to), *step))
        .filter(|(from, to, _)| from != to)
        .collect();
    let mut found = Levels {
        pairs: steps.iter().map(|step| step.count).sum(),
        ..Levels::default()
    };
    let mut is_known = vec![false; levels.len()];
    while let Some(first) = is_known.iter().position(|is_known| !is_known) {
        let worth = against(first, levels.len(), &ends);
        let known = (worth.iter().enumerate()).filter_map(|(at, worth)| Some((at, (*worth)?)));
        let group = Group(
            known
                .map(|(at, worth)| (levels[at].clone(), worth))
                .collect(),
        );
        for (is_known, worth) in is_known.iter_mut().zip(&worth) {
            *is_known |= worth.is_some();
        }
        match (first, anchor) {
            (0, Some(_)) => found.anchored = group,
            _ => found.apart.push(group),
        }
    }
    found
}

/// What levels are worth against the first of some that pairs connect; absent for all others.
fn against(first: usize, levels: usize, ends: &[(usize, usize, &Step)]) -> Vec<Option<f64>> {
    let mut worth: Vec<Option<f64>> = vec![None; levels];
    worth[first] = Some(0.0);
    for _ in 0..SWEEPS {
        for level in (0..levels).filter(|&level| level != first) {
            let (mut sum, mut count) = (0.0, 0.0);
            for &(from, to, step) in ends {
                let seen = match level {
                    _ if to == level => worth[from].map(|worth| worth + step.gain),
                    _ if from == level => worth[to].map(|worth| worth - step.gain),
                    _ => None,
                };
                let weight = step.count as f64;
                sum += seen.unwrap_or(0.0) * weight;
                count += seen.map_or(0.0, |_| weight);
            }
            if count > 0.0 {
                worth[level] = Some(sum / count);
            }
        }
    }
    worth
}
