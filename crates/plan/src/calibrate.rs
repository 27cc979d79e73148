//! Fits the timing of the simulated engine to measured load points.

mod envelope;
mod file;
mod fit;
mod held_out;
mod parameters;
mod roofline;

pub use envelope::{Beyond, Envelope};
pub use file::{Calibration, CalibrationError, FittedPoint, SCHEMA, Verified, Workload};
pub use held_out::HeldOut;
pub use roofline::TooFast;

use crate::observation::{Load, Observation, Start};
use crate::predict::{Metric, Subject, Work, settled};
use fit::{Residual, Target, fit};
use inferometer_catalog::timing::Timing;
use inferometer_core::length::{Distribution as Lengths, LengthSpec};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Fewest load points that can be fitted and judged.
pub const LEAST_POINTS: usize = 3;
/// Figures of one point that differ by more than this factor contradict each other.
const CONTRADICTION: f64 = 1.3;
/// Requests that a point of unknown extent is simulated with, for each stream.
const REQUESTS_A_STREAM: u32 = 4;
/// The same in all, at least and at most: more change a mean by less than a measurement does.
const REQUESTS: std::ops::RangeInclusive<u32> = 64..=4000;

/// What to do with measurements that are doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubtful {
    /// They are refused.
    Refuse,
    /// They are used like any other.
    Use,
}

/// Why nothing can be fitted.
#[derive(Debug, Error)]
pub enum CalibrateError {
    /// Too few load points.
    #[error(
        "{0} load point(s) cannot be fitted and held out; measure at least {LEAST_POINTS}, at different loads"
    )]
    FewPoints(usize),
    /// A point does not say how long its requests are.
    #[error("{name} does not say how long its {what} are; add --{flag}")]
    NoLengths {
        /// The point.
        name: String,
        /// Prompts or answers.
        what: &'static str,
        /// The option that says it.
        flag: &'static str,
    },
    /// A run that is not valid.
    #[error("{name} is not valid ({why}); leave it out, or use --force to take it all the same")]
    Invalid {
        /// The point.
        name: String,
        /// Codes of its doubts.
        why: String,
    },
    /// Two measurements of the same point.
    #[error(
        "{a} and {b} contradict each other: the same load, and {metric:?} differs by a factor of {factor:.2}; leave one out, or use --force"
    )]
    Contradiction {
        /// One of them.
        a: String,
        /// The other.
        b: String,
        /// What differs most.
        metric: Metric,
        /// By how much.
        factor: f64,
    },
    /// More answers than streams could have got.
    #[error(
        "{name} contradicts itself: {rate:.2} requests a second of {latency:.2} s each are {product:.0} at a time, and there were {streams} streams; leave it out, or use --force"
    )]
    Impossible {
        /// The point.
        name: String,
        /// Requests a second.
        rate: f64,
        /// Seconds.
        latency: f64,
        /// Their product.
        product: f64,
        /// Streams.
        streams: u32,
    },
    /// The engine would not start.
    #[error("{name} cannot be simulated: {reason}")]
    NoStart {
        /// The point.
        name: String,
        /// In the engine's words.
        reason: String,
    },
}

/// Fits a calibration to observations.
pub fn calibrate(
    subject: &Subject,
    device: &str,
    observations: &[Observation],
    doubtful: Doubtful,
) -> Result<Calibration, CalibrateError> {
    if doubtful == Doubtful::Refuse {
        refuse(observations)?;
    }
    let loads: BTreeSet<String> = observations.iter().map(point_key).collect();
    if loads.len() < LEAST_POINTS {
        return Err(CalibrateError::FewPoints(loads.len()));
    }
    let version = subject.version.or(observations[0].version);
    let beginnings = parameters::beginnings(subject, version);
    let targets = observations
        .iter()
        .map(|observation| target(subject, observation, &beginnings[0]))
        .collect::<Result<Vec<_>, _>>()?;
    let fits = beginnings.into_iter().map(|base| {
        let fitted = fit(&base, &targets, [0.0; parameters::COUNT]);
        (base, fitted)
    });
    let (base, fitted) = fits
        .min_by(|(_, a), (_, b)| a.misfit().total_cmp(&b.misfit()))
        .expect("there is a profile to begin with");
    let errors = held_out::leave_one_out(&base, &targets, &fitted);
    let first = &observations[0];
    let flags = first.flags.iter().map(|(name, value)| {
        let value = value.clone().unwrap_or_default();
        (name.clone(), value)
    });
    Ok(Calibration {
        schema: SCHEMA.to_owned(),
        device: device.to_owned(),
        cards: subject.cards,
        engine: subject.engine,
        version,
        flags: flags.collect(),
        workload: workload(observations),
        timing: parameters::applied(&base, &fitted.at),
        model: subject.model.clone(),
        envelope: Envelope::of(&targets),
        too_fast: roofline::too_fast(&targets),
        held_out: held_out::stated(&targets, &errors),
        points: points(observations, &errors),
        verified: Vec::new(),
    })
}

fn refuse(observations: &[Observation]) -> Result<(), CalibrateError> {
    for (index, observation) in observations.iter().enumerate() {
        let name = observation.name.clone();
        if !observation.invalid.is_empty() {
            let why = observation.invalid.join(", ");
            return Err(CalibrateError::Invalid { name, why });
        }
        let figures = &observation.figures;
        if let (Load::Closed(streams), Some(rate), Some(latency)) =
            (observation.load, figures.requests_per_s, figures.e2e_ms)
        {
            let product = rate * latency / 1e3;
            if product > f64::from(streams) * 1.1 + 0.5 {
                return Err(CalibrateError::Impossible {
                    name,
                    rate,
                    latency: latency / 1e3,
                    product,
                    streams,
                });
            }
        }
        for other in &observations[..index] {
            if let Some((metric, factor)) = other.apart(observation)
                && other.same_point(observation)
                && factor > CONTRADICTION
            {
                return Err(CalibrateError::Contradiction {
                    a: format!("{} of {}", other.load, other.name),
                    b: format!("{} of {name}", observation.load),
                    metric,
                    factor,
                });
            }
        }
    }
    Ok(())
}

fn point_key(observation: &Observation) -> String {
    let mean = |lengths: Option<Lengths>| lengths.map(|lengths| lengths.mean().round());
    format!(
        "{:?} {:?} {:?} {:?}",
        observation.load,
        mean(observation.input),
        mean(observation.output),
        observation.flags
    )
}

fn target<'a>(
    subject: &Subject,
    observation: &'a Observation,
    base: &Timing,
) -> Result<Target<'a>, CalibrateError> {
    let missing = |what, flag| CalibrateError::NoLengths {
        name: observation.name.clone(),
        what,
        flag,
    };
    let input = observation
        .input
        .ok_or_else(|| missing("prompts", "input-tokens"))?;
    let output = observation
        .output
        .ok_or_else(|| missing("answers", "output-tokens"))?;
    let subject = Subject {
        version: subject.version.or(observation.version),
        ..subject.clone()
    };
    let config =
        subject
            .start(&observation.flags, base)
            .map_err(|error| CalibrateError::NoStart {
                name: observation.name.clone(),
                reason: error.to_string(),
            })?;
    Ok(Target {
        observation,
        settled: settled(&observation.flags, &config),
        subject,
        work: Work {
            load: observation.load,
            start: observation.start,
            input,
            output,
            requests: requests(observation.load, observation.requests),
            trace: None,
        },
    })
}

/// How many requests to simulate a load with.
pub fn requests(load: Load, known: Option<u32>) -> u32 {
    let usual = match load {
        Load::Closed(streams) => streams.saturating_mul(REQUESTS_A_STREAM),
        Load::Open(_) => 1000,
    };
    let least = match load {
        // Fewer requests than streams are another load.
        Load::Closed(streams) => streams,
        Load::Open(_) => 1,
    };
    match known {
        Some(known) => known.min(*REQUESTS.end()).max(least),
        None => usual.clamp(*REQUESTS.start(), *REQUESTS.end()).max(least),
    }
}

fn workload(observations: &[Observation]) -> Workload {
    let first = &observations[0];
    let spec = |lengths: Option<Lengths>| LengthSpec::Drawn(lengths.unwrap_or(Lengths::Fixed(1)));
    let counts: BTreeSet<Option<u32>> = observations.iter().map(|o| o.requests).collect();
    Workload {
        input_tokens: spec(first.input),
        output_tokens: spec(first.output),
        start: match first.start {
            Start::AtOnce => Start::AtOnce,
            // How long a wave takes follows from the setting.
            Start::Spread | Start::Over(_) => Start::Spread,
        },
        requests: match counts.len() {
            1 => first.requests,
            _ => None,
        },
    }
}

fn points(observations: &[Observation], errors: &[Residual]) -> Vec<FittedPoint> {
    let point = |(index, observation): (usize, &Observation)| FittedPoint {
        name: observation.name.clone(),
        load: observation.load.to_string(),
        errors: errors
            .iter()
            .filter(|residual| residual.target == index)
            .map(|residual| (word(residual.metric).to_owned(), residual.error.exp_m1()))
            .collect::<BTreeMap<_, _>>(),
    };
    observations.iter().enumerate().map(point).collect()
}

/// A metric's word in files.
pub fn word(metric: Metric) -> &'static str {
    match metric {
        Metric::Requests => "requests",
        Metric::Throughput => "throughput",
        Metric::Ttft => "ttft",
        Metric::Tpot => "tpot",
        Metric::E2e => "e2e",
    }
}
