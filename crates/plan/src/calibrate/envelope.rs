//! Where a calibration may be trusted: the ranges that its points span.

use super::fit::Target;
use crate::flags::Flag;
use crate::means::Means;
use crate::work::{Load, Work, brief};
use inferometer_catalog::device::Device;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    pub concurrency: Option<[f64; 2]>,
    pub rate: Option<[f64; 2]>,
    pub input_tokens: Option<[f64; 2]>,
    pub output_tokens: Option<[f64; 2]>,
    /// Values of each flag that was given; an empty text stands for its default. Absent where no
    /// flag lies outside.
    pub flags: Option<BTreeMap<String, BTreeSet<String>>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extrapolation {
    pub what: String,
    pub value: String,
    pub measured: String,
    /// How far outside, in doublings.
    pub doublings: f64,
}

/// A range is trusted a quarter beyond its ends.
const MARGIN: f64 = 1.25;
/// Least distance of what was never varied; all of it for what is not a number.
const UNVARIED: f64 = 1.0;
/// What the card of another maker adds.
const OTHER_MAKER: f64 = 2.0;

impl Envelope {
    pub(super) fn of<'a>(targets: impl IntoIterator<Item = &'a Target<'a>>) -> Envelope {
        let targets: Vec<&Target<'_>> = targets.into_iter().collect();
        let mut flags: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut envelope = Envelope::default();
        let settled = targets.iter().flat_map(|target| &target.settled);
        let names: BTreeSet<&str> = settled.map(|(name, _)| name.as_str()).collect();
        for target in targets {
            match target.work.load {
                // More streams than requests were never busy.
                Load::Closed(streams) => {
                    let busy = streams.min(target.work.requests);
                    widen(&mut envelope.concurrency, f64::from(busy));
                }
                Load::Open(rate) => widen(&mut envelope.rate, rate),
            }
            widen(&mut envelope.input_tokens, target.work.input.mean());
            widen(&mut envelope.output_tokens, target.work.output.mean());
            for name in &names {
                let values = flags.entry((*name).to_owned()).or_default();
                values.insert(value_of(&target.settled, name));
            }
        }
        Envelope {
            flags: Some(flags),
            ..envelope
        }
    }

    /// What of a setting lies outside; nothing where it is inside. The flags are settled, and
    /// the figures are what is predicted there.
    pub fn beyond(&self, work: &Work, flags: &[Flag], predicted: &Means) -> Vec<Extrapolation> {
        // A load of a kind that was not measured goes by what it comes to in the other.
        let load = match (work.load, self.concurrency, self.rate) {
            (Load::Closed(streams), None, Some(rates)) => {
                let asked = ("concurrency", streams.into());
                Some(other_load(asked, ("rate", rates), predicted.requests_per_s))
            }
            (Load::Closed(streams), range, _) => outside("concurrency", streams.into(), range),
            // How arrivals wait for each other follows from the engine's speed, which was measured;
            // fewer at once wait no longer than the fewest that were.
            (Load::Open(_), Some(streams), None) => {
                let in_flight = predicted.in_flight();
                in_flight.and_then(|busy| {
                    outside("concurrency", busy.max(streams[0]).round(), Some(streams))
                })
            }
            (Load::Open(rate), _, range) => outside("rate", rate, range),
        };
        let lengths = [
            outside("input-tokens", work.input.mean(), self.input_tokens),
            outside("output-tokens", work.output.mean(), self.output_tokens),
        ];
        let mut beyond: Vec<Extrapolation> = load
            .into_iter()
            .chain(lengths.into_iter().flatten())
            .collect();
        if let Some(known) = &self.flags {
            let names = flags.iter().map(|(name, _)| name.as_str());
            let names: BTreeSet<&str> = names.chain(known.keys().map(String::as_str)).collect();
            let outside = |name| Self::flag_outside(known, name, &value_of(flags, name));
            beyond.extend(names.into_iter().filter_map(outside));
        }
        beyond
    }

    fn flag_outside(
        known: &BTreeMap<String, BTreeSet<String>>,
        name: &str,
        value: &str,
    ) -> Option<Extrapolation> {
        let usual = BTreeSet::from([String::new()]);
        let measured = known.get(name).unwrap_or(&usual);
        if measured.contains(value) {
            return None;
        }
        let number = |text: &str| match text {
            "" => usual_number(name),
            text => text.parse::<f64>().ok(),
        };
        let mut range = None;
        for known in measured.iter().filter_map(|text| number(text)) {
            widen(&mut range, known);
        }
        if let (Some(number), Some([low, high])) = (number(value), range) {
            let beyond = outside(name, number, range)?;
            let varied = low < high;
            let least = if varied { 0.0 } else { UNVARIED };
            return Some(Extrapolation {
                doublings: beyond.doublings.max(least),
                ..beyond
            });
        }
        let measured: Vec<&str> = measured.iter().map(String::as_str).collect();
        let measured = measured.join(", ");
        Some(Extrapolation::new(name, value, measured, UNVARIED))
    }
}

impl Extrapolation {
    fn new(what: &str, value: &str, measured: String, doublings: f64) -> Extrapolation {
        Extrapolation {
            what: what.to_owned(),
            value: value.to_owned(),
            measured,
            doublings,
        }
    }

    /// Another card than the measured one: the further its speed is from it, the less the
    /// factors of the calibration say, and other makers' kernels are others altogether.
    pub fn card(measured: &Device, asked: &Device) -> Extrapolation {
        let apart = |a: f64, b: f64| (a / b).log2().abs();
        let bandwidth = apart(asked.bandwidth(), measured.bandwidth());
        let arithmetic = apart(asked.half_tflops, measured.half_tflops);
        let mut doublings = UNVARIED + bandwidth.max(arithmetic);
        if asked.kind != measured.kind {
            doublings += OTHER_MAKER;
        }
        Extrapolation::new("device", &asked.name, measured.name.clone(), doublings)
    }
}

/// What a flag that is not given comes to, where that is the same for all models and cards.
fn usual_number(name: &str) -> Option<f64> {
    let parallel = [
        "tensor-parallel-size",
        "pipeline-parallel-size",
        "data-parallel-size",
        "tp-size",
        "pp-size",
        "dp-size",
        "worldSize",
    ];
    parallel.contains(&name).then_some(1.0)
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

/// A load of a kind that was not measured, by what it comes to in the kind that was.
fn other_load(
    (what, value): (&str, f64),
    (name, range): (&str, [f64; 2]),
    comes_to: Option<f64>,
) -> Extrapolation {
    let beyond = comes_to.and_then(|comes_to| outside(name, comes_to, Some(range)));
    let doublings = UNVARIED + beyond.map_or(0.0, |beyond| beyond.doublings);
    let measured = format!("{name} {}", span(range));
    Extrapolation::new(what, &brief(value), measured, doublings)
}

fn outside(what: &str, value: f64, range: Option<[f64; 2]>) -> Option<Extrapolation> {
    let (measured, doublings) = match range {
        None => (String::new(), UNVARIED),
        Some([low, high]) if (low / MARGIN..=high * MARGIN).contains(&value) => return None,
        Some([low, high]) => {
            let distance = (low / value).max(value / high);
            (span([low, high]), distance.log2().max(0.0))
        }
    };
    Some(Extrapolation::new(what, &brief(value), measured, doublings))
}

fn span([low, high]: [f64; 2]) -> String {
    if low == high {
        brief(low)
    } else {
        format!("{}–{}", brief(low), brief(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::given;
    use crate::work::Start;
    use inferometer_core::length::Distribution as Lengths;

    fn envelope() -> Envelope {
        Envelope {
            concurrency: Some([1.0, 64.0]),
            input_tokens: Some([512.0, 512.0]),
            output_tokens: Some([128.0, 128.0]),
            flags: Some(BTreeMap::from([(
                "max-num-seqs".to_owned(),
                BTreeSet::from(["256".to_owned()]),
            )])),
            ..Envelope::default()
        }
    }

    fn far(load: Load, flags: &[(&str, &str)], predicted: Means) -> f64 {
        let work = Work {
            load,
            start: Start::AtOnce,
            input: Lengths::Fixed(512),
            output: Lengths::Fixed(128),
            requests: 256,
            trace: None,
        };
        let usual = [("max-num-seqs", "256")];
        let flags = given(&[&usual[..], flags].concat());
        let beyond = envelope().beyond(&work, &flags, &predicted);
        beyond.iter().map(|beyond| beyond.doublings).sum()
    }

    #[test]
    fn the_further_a_flag_is_from_what_was_measured_the_less_is_known() {
        let flag = |name, value| far(Load::Closed(8), &[(name, value)], Means::default());
        assert_eq!(flag("max-num-seqs", "256"), 0.0);
        let near = flag("max-num-seqs", "128");
        assert!(near >= 1.0 && flag("max-num-seqs", "16") > near + 2.0);
        assert_eq!(flag("tensor-parallel-size", "1"), 0.0);
        let two = flag("tensor-parallel-size", "2");
        assert!(two >= 1.0 && flag("tensor-parallel-size", "8") >= two + 2.0);
        assert_eq!(flag("kv-cache-dtype", "fp8"), UNVARIED);
    }

    #[test]
    fn a_rate_is_as_far_as_the_streams_that_it_keeps_busy() {
        let rate = |rate: f64, latency: f64| {
            let predicted = Means {
                requests_per_s: Some(rate),
                e2e_ms: Some(latency * 1e3),
                ..Means::default()
            };
            far(Load::Open(rate), &[], predicted)
        };
        assert_eq!(rate(10.0, 2.0), 0.0);
        assert!(rate(10.0, 64.0) > 3.0);
    }

    #[test]
    fn a_card_is_further_the_less_it_is_like_the_measured_one() {
        let card = |name: &str| {
            let device = |name| Device::named(name).unwrap();
            Extrapolation::card(device("h200"), device(name)).doublings
        };
        assert!(card("h100") < card("a100-80g"));
        assert!(card("a100-80g") < card("l20"));
        assert!(card("a100-80g") + 1.0 < card("910b3"));
    }
}
