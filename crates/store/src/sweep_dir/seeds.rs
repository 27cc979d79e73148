//! Seeds as readers take them: points that differ in the seed alone are repeats of one.

use super::{PlannedPoint, SweepPlan, Visited};
use inferometer_core::point::Point;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;

const SEED: &str = "seed";

impl SweepPlan {
    /// The plan and what was visited, with a point for each setting and its seeds as repeats. A
    /// seed is no setting: what it changes is chance. Where settings have other seeds each, as
    /// lists side by side may have, both stay as they are.
    pub fn with_seeds_as_repeats<'a>(
        &'a self,
        visited: &'a [Visited],
    ) -> (Cow<'a, SweepPlan>, Cow<'a, [Visited]>) {
        match self.seeds_of_each() {
            Some(seeds) => {
                let (plan, visited) = self.repeated(seeds, visited);
                (Cow::Owned(plan), Cow::Owned(visited))
            }
            None => (Cow::Borrowed(self), Cow::Borrowed(visited)),
        }
    }

    /// The seed of a repeat, where seeds are the repeats.
    pub fn seed_of(&self, repeat: u32) -> Option<u64> {
        let is_each = usize::try_from(self.repeat) == Ok(self.seeds.len());
        let seed = self.seeds.get(usize::try_from(repeat).ok()?);
        seed.copied().filter(|_| is_each)
    }

    /// The seeds that every setting was measured with; absent where there is no such list.
    fn seeds_of_each(&self) -> Option<Vec<u64>> {
        if !self.axes.iter().any(|axis| axis == SEED) {
            return None;
        }
        let mut settings: HashMap<String, Vec<u64>> = HashMap::new();
        for planned in &self.points {
            let seed = seed(planned)?;
            settings
                .entry(setting(planned).key())
                .or_default()
                .push(seed);
        }
        let first = settings.get(&setting(self.points.first()?).key())?.clone();
        let is_each = first.len() > 1 && settings.values().all(|seeds| *seeds == first);
        is_each.then_some(first)
    }

    fn repeated(&self, seeds: Vec<u64>, visited: &[Visited]) -> (SweepPlan, Vec<Visited>) {
        // Of each point the setting that it is a repeat of, and the number of its first repeat.
        let mut points: Vec<PlannedPoint> = Vec::new();
        let mut places: Vec<(usize, u32)> = Vec::new();
        for planned in &self.points {
            let point = setting(planned);
            let known = points.iter().position(|other| other.point == point);
            let at = known.unwrap_or(points.len());
            if known.is_none() {
                points.push(PlannedPoint {
                    point,
                    ..planned.clone()
                });
            }
            let earlier = places.iter().filter(|(other, _)| *other == at).count() as u32;
            places.push((at, earlier * self.repeat.max(1)));
        }
        let by_id: HashMap<&str, (usize, u32)> = (self.points.iter().zip(&places))
            .map(|(planned, place)| (planned.id.as_str(), *place))
            .collect();
        let repeat_of = |one: &Visited| {
            let mut one = one.clone();
            if let Some((point, first)) = by_id.get(one.trial.id.as_str()) {
                one.trial.id.clone_from(&points[*point].id);
                one.trial.repeat += first;
            }
            one
        };
        let visited = visited.iter().map(repeat_of).collect();
        let visit = |(point, repeat): &(usize, u32)| {
            let (setting, first) = places.get(*point)?;
            Some((*setting, first + repeat))
        };
        let plan = SweepPlan {
            axes: self
                .axes
                .iter()
                .filter(|axis| *axis != SEED)
                .cloned()
                .collect(),
            repeat: self.repeat.max(1) * seeds.len() as u32,
            visits: self.visits.iter().filter_map(visit).collect(),
            points,
            seeds,
            ..self.clone()
        };
        (plan, visited)
    }
}

/// What a point is without its seed.
fn setting(planned: &PlannedPoint) -> Point {
    let mut point = planned.point.clone();
    point.0.remove(SEED);
    point
}

fn seed(planned: &PlannedPoint) -> Option<u64> {
    match planned.point.0.get(SEED)? {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}
