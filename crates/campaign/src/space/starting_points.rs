//! Where a search begins: the default, and settings that are known to do well somewhere.

use super::definition::Space;
use super::rules::{Admission, Rules};
use super::value::{Point, Value};

/// What each known flag is set to where many requests, or where fast answers, are wanted.
const LEANINGS: &[(&str, Lean, Lean)] = &[
    ("max-num-seqs", Lean::Share(1.0), Lean::Share(0.5)),
    (
        "max-num-batched-tokens",
        Lean::Share(0.85),
        Lean::Share(0.5),
    ),
    ("gpu-memory-utilization", Lean::Share(1.0), Lean::Share(1.0)),
    ("enable-prefix-caching", Lean::On, Lean::On),
    ("enable-chunked-prefill", Lean::On, Lean::On),
    ("enforce-eager", Lean::Off, Lean::Off),
    ("kv-cache-dtype", Lean::Word("fp8"), Lean::Word("auto")),
    ("max-running-requests", Lean::Share(1.0), Lean::Share(0.5)),
    ("chunked-prefill-size", Lean::Share(0.85), Lean::Share(0.5)),
    ("mem-fraction-static", Lean::Share(0.9), Lean::Share(0.9)),
    ("schedule-policy", Lean::Word("lpm"), Lean::Word("fcfs")),
    ("disable-radix-cache", Lean::Off, Lean::Off),
    (
        "BackendConfig.ScheduleConfig.maxBatchSize",
        Lean::Share(0.9),
        Lean::Share(0.5),
    ),
    (
        "BackendConfig.ScheduleConfig.maxPrefillBatchSize",
        Lean::Share(0.9),
        Lean::Share(0.5),
    ),
    (
        "BackendConfig.ScheduleConfig.maxPrefillTokens",
        Lean::Share(0.9),
        Lean::Share(0.5),
    ),
    ("parallel", Lean::Share(0.9), Lean::Share(0.5)),
];

#[derive(Clone, Copy)]
enum Lean {
    /// A share of the range, on its own scale.
    Share(f64),
    On,
    Off,
    Word(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub struct StartingPoint {
    /// `throughput` or `latency`.
    pub name: &'static str,
    /// The point, legal and in the space.
    pub point: Point,
}

/// The presets to try after the default: one for throughput, one for latency; none where nothing
/// is known of any flag. Flags of which nothing is known keep the engine's default, or the middle
/// of their range; a preset that the engine refuses, or that is the default itself, is left out.
pub fn starting_points(space: &Space, rules: &dyn Rules) -> Vec<StartingPoint> {
    let is_known = |name: &str| LEANINGS.iter().any(|(flag, ..)| *flag == name);
    if !(space.dimensions().iter()).any(|dimension| is_known(&dimension.name)) {
        return Vec::new();
    }
    let defaults = rules.defaults(space);
    let mut found: Vec<StartingPoint> = Vec::new();
    for (name, which) in [("throughput", 0), ("latency", 1)] {
        let point = (space.dimensions().iter())
            .map(|dimension| {
                let known = LEANINGS.iter().find(|(flag, ..)| *flag == dimension.name);
                let lean = known.map(|(_, throughput, latency)| [throughput, latency][which]);
                let wanted = match lean {
                    Some(Lean::Share(share)) => Some(dimension.domain.nearest(*share)),
                    Some(Lean::On) => Some(Value::Bool(true)),
                    Some(Lean::Off) => Some(Value::Bool(false)),
                    Some(Lean::Word(word)) => Some(Value::Text((*word).to_owned())),
                    None => None,
                };
                let value = (wanted.into_iter())
                    .chain(defaults.get(&dimension.name).cloned())
                    .find(|value| dimension.domain.contains(value))
                    .unwrap_or_else(|| dimension.domain.nearest(0.5));
                (dimension.name.as_str(), value)
            })
            .collect();
        let admitted: Admission = rules.admit(space, point);
        if let Some(point) = admitted.point()
            && !point.same(&defaults)
            && !found.iter().any(|start| start.point.same(&point))
        {
            found.push(StartingPoint { name, point });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::{Domain, NoRules, PRESETS, Spacing};
    use super::*;

    #[test]
    fn the_presets_of_every_engine_open_inside_its_space() {
        for preset in PRESETS {
            let space = Space::new(preset.dimensions(), Vec::new()).unwrap();
            let found = starting_points(&space, &NoRules);
            assert!(!found.is_empty(), "{}", preset.name);
            for start in found {
                assert!(
                    space.contains(&start.point),
                    "{} {}",
                    preset.name,
                    start.point
                );
            }
        }
    }

    #[test]
    fn a_space_of_unknown_flags_has_no_preset() {
        let domain = Domain::int(0, 10, Spacing::Linear(None)).unwrap();
        let space = Space::new(vec![("x", domain).into()], Vec::new()).unwrap();
        assert_eq!(starting_points(&space, &NoRules), []);
    }
}
