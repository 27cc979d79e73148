//! Where a calibration may be trusted: the ranges that its points span.

use super::fit::Target;
use crate::flags::Flag;
use crate::observation::Load;
use crate::predict::Work;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The ranges that were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Envelope {
    /// Streams of closed loops.
    pub concurrency: Option<[f64; 2]>,
    /// Rates of open loops.
    pub rate: Option<[f64; 2]>,
    /// Mean prompt length.
    pub input_tokens: Option<[f64; 2]>,
    /// Mean answer length.
    pub output_tokens: Option<[f64; 2]>,
    /// Values of each flag that was given; an empty text stands for its default.
    pub flags: BTreeMap<String, BTreeSet<String>>,
}

/// Something that lies outside.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beyond {
    /// What.
    pub what: String,
    /// Its value.
    pub value: String,
    /// What was measured.
    pub measured: String,
    /// How far outside, in doublings.
    pub doublings: f64,
}

/// A range is trusted a quarter beyond its ends.
const MARGIN: f64 = 1.25;
/// Distance of a flag that was never varied, or that is no number.
const UNVARIED: f64 = 1.0;

impl Envelope {
    pub(super) fn of<'a>(targets: impl IntoIterator<Item = &'a Target<'a>>) -> Envelope {
        let targets: Vec<&Target<'_>> = targets.into_iter().collect();
        let mut envelope = Envelope::default();
        let names: BTreeSet<&str> = targets
            .iter()
            .flat_map(|target| &target.settled)
            .map(|(name, _)| name.as_str())
            .collect();
        for target in targets {
            match target.work.load {
                Load::Closed(streams) => widen(&mut envelope.concurrency, f64::from(streams)),
                Load::Open(rate) => widen(&mut envelope.rate, rate),
            }
            widen(&mut envelope.input_tokens, target.work.input.mean());
            widen(&mut envelope.output_tokens, target.work.output.mean());
            for name in &names {
                let values = envelope.flags.entry((*name).to_owned()).or_default();
                values.insert(value_of(&target.settled, name));
            }
        }
        envelope
    }

    /// What of a setting lies outside; nothing where it is inside. The flags are settled.
    pub fn beyond(&self, work: &Work, flags: &[Flag]) -> Vec<Beyond> {
        let mut all = Vec::new();
        match work.load {
            Load::Closed(streams) => {
                check(
                    &mut all,
                    "concurrency",
                    f64::from(streams),
                    self.concurrency,
                );
            }
            Load::Open(rate) => check(&mut all, "rate", rate, self.rate),
        }
        if let (Some(other), [unlike]) = (self.other_loads(work.load), all.as_mut_slice()) {
            unlike.measured = other;
        }
        check(
            &mut all,
            "input-tokens",
            work.input.mean(),
            self.input_tokens,
        );
        check(
            &mut all,
            "output-tokens",
            work.output.mean(),
            self.output_tokens,
        );
        let names = flags.iter().map(|(name, _)| name.as_str());
        let names: BTreeSet<&str> = names.chain(self.flags.keys().map(String::as_str)).collect();
        for name in names {
            let value = value_of(flags, name);
            let usual = BTreeSet::from([String::new()]);
            let measured = self.flags.get(name).unwrap_or(&usual);
            if measured.contains(&value) {
                continue;
            }
            let numbers: Vec<f64> = measured
                .iter()
                .filter_map(|text| text.parse().ok())
                .collect();
            let range = numbers.iter().fold(None, |range, &number| {
                let mut range = range;
                widen(&mut range, number);
                range
            });
            match (value.parse::<f64>(), range) {
                (Ok(number), Some([low, high])) if low < high => {
                    check(&mut all, name, number, range);
                }
                _ => all.push(Beyond {
                    what: name.to_owned(),
                    value,
                    measured: measured.iter().cloned().collect::<Vec<_>>().join(", "),
                    doublings: UNVARIED,
                }),
            }
        }
        all
    }
}

impl Envelope {
    /// What was measured of loads of the other kind, where none of this kind was.
    fn other_loads(&self, load: Load) -> Option<String> {
        let (own, name, other) = match load {
            Load::Closed(_) => (self.concurrency, "rate", self.rate),
            Load::Open(_) => (self.rate, "concurrency", self.concurrency),
        };
        let [low, high] = other.filter(|_| own.is_none())?;
        Some(format!("{name} {low}–{high}"))
    }
}

/// A flag's value; a switch's is `true`, an absent one's is empty.
fn value_of(flags: &[Flag], name: &str) -> String {
    let found = flags.iter().rev().find(|(known, _)| known == name);
    found.map_or(String::new(), |(_, value)| {
        value.clone().unwrap_or_else(|| "true".to_owned())
    })
}

fn widen(range: &mut Option<[f64; 2]>, value: f64) {
    let [low, high] = range.unwrap_or([value, value]);
    *range = Some([low.min(value), high.max(value)]);
}

fn check(all: &mut Vec<Beyond>, what: &str, value: f64, range: Option<[f64; 2]>) {
    let Some([low, high]) = range else {
        all.push(Beyond {
            what: what.to_owned(),
            value: value.to_string(),
            measured: String::new(),
            doublings: UNVARIED,
        });
        return;
    };
    if value >= low / MARGIN && value <= high * MARGIN {
        return;
    }
    let distance = if value < low {
        low / value
    } else {
        value / high
    };
    all.push(Beyond {
        what: what.to_owned(),
        value: value.to_string(),
        measured: format!("{low}–{high}"),
        doublings: distance.log2().max(0.0),
    });
}
