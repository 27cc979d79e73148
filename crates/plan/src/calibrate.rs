//! Fits the timing of the simulated engine to measured load points.

mod contradiction;
mod envelope;
mod file;
mod fit;
mod held_out;
mod parameters;
mod roofline;
mod trust;

pub use envelope::{Beyond, Envelope};
pub use file::{Calibration, CalibrationError, FittedPoint, SCHEMA, Verified, Workload};
pub use held_out::HeldOut;
pub use roofline::TooFast;
pub(crate) use trust::USELESS;
pub use trust::Worst;

use crate::observation::{Load, Observation, Start};
use crate::predict::{Metric, Subject, Work};
use fit::{Residual, Target, fit};
use inferometer_catalog::timing::Timing;
use inferometer_core::length::{Distribution as Lengths, LengthSpec};
use inferometer_core::quantile::{quantile, sort};
use inferometer_sim::launch::LaunchError;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Fewest load points that can be fitted and judged.
pub const LEAST_POINTS: usize = 3;
/// Requests that a point of unknown extent is simulated with, for each stream.
const REQUESTS_A_STREAM: u32 = 4;
/// The same in all, at least and at most: more change a mean by less than a measurement does.
const REQUESTS: std::ops::RangeInclusive<u32> = 64..=4000;

/// What to do with measurements that are doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubtful {
    Refuse,
    /// They are used like any other.
    Use,
}

/// Why nothing can be fitted.
#[derive(Debug, Error)]
pub enum CalibrateError {
    #[error(
        "{0} load point(s) cannot be fitted and held out; measure at least {LEAST_POINTS}, at different loads"
    )]
    FewPoints(usize),
    /// A point does not say how long its requests are.
    #[error("{name} does not say how long its {what} are; add --{flag}")]
    NoLengths {
        name: String,
        what: &'static str,
        /// The option that says it.
        flag: &'static str,
    },
    /// A run that is not valid.
    #[error("{name} is not valid ({why}); leave it out, or use --force to take it all the same")]
    Invalid { name: String, why: String },
    /// Two measurements of the same point.
    #[error(
        "{a} and {b} contradict each other: the same load, and {metric} differs by a factor of {factor:.2}; leave one out, or use --force"
    )]
    Contradiction {
        a: String,
        b: String,
        metric: Metric,
        factor: f64,
    },
    /// More answers than streams could have got.
    #[error(
        "{name} contradicts itself: {rate:.2} requests a second of {latency:.2} s each are {product:.0} at a time, and there were {streams} streams; leave it out, or use --force"
    )]
    Impossible {
        name: String,
        /// Requests a second.
        rate: f64,
        latency: f64,
        product: f64,
        streams: u32,
    },
    /// Requests that the engine does not take.
    #[error(
        "{name} has requests of {tokens:.0} tokens (prompt + answer), and max-model-len {most} rejects them; check the lengths, or add --flag max-model-len=N"
    )]
    TooLong {
        name: String,
        /// Tokens of prompt and answer.
        tokens: f64,
        /// The most that the engine takes.
        most: u32,
    },
    /// The engine would not start.
    #[error("{name} cannot be simulated: {reason}")]
    NoStart { name: String, reason: String },
}

/// Fits a calibration to observations.
pub fn calibrate(
    subject: &Subject,
    device: &str,
    observations: &[Observation],
    doubtful: Doubtful,
) -> Result<Calibration, CalibrateError> {
    if doubtful == Doubtful::Refuse {
        contradiction::refuse(observations)?;
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
    let no_start = |error: LaunchError| CalibrateError::NoStart {
        name: observation.name.clone(),
        reason: error.to_string(),
    };
    let flags = &observation.flags;
    let config = subject.start(flags, base).map_err(no_start)?;
    let settled = subject.settled(flags, base).map_err(no_start)?;
    let (tokens, most) = (input.mean() + output.mean(), config.max_model_len);
    if tokens > f64::from(most) {
        let name = observation.name.clone();
        return Err(CalibrateError::TooLong { name, tokens, most });
    }
    Ok(Target {
        observation,
        settled,
        subject,
        work: Work {
            load: observation.load,
            start: observation.start,
            input,
            output,
            requests: match observation.requests {
                Some(sent) => sent.min(most_requests(observation.load)),
                None => requests(observation.load, None),
            },
            trace: None,
        },
    })
}

/// How many requests to ask about a load with: as many as are known, but one a stream at least,
/// since fewer are another load.
pub fn requests(load: Load, known: Option<u32>) -> u32 {
    let (usual, least) = match load {
        Load::Closed(streams) => (streams.saturating_mul(REQUESTS_A_STREAM), streams),
        Load::Open(_) => (1000, 1),
    };
    known
        .unwrap_or(usual.max(*REQUESTS.start()))
        .clamp(least, most_requests(load))
}

/// As many as tell something: every stream has its turn.
fn most_requests(load: Load) -> u32 {
    match load {
        Load::Closed(streams) => streams.max(*REQUESTS.end()),
        Load::Open(_) => *REQUESTS.end(),
    }
}

fn workload(observations: &[Observation]) -> Workload {
    let first = &observations[0];
    let spec = |lengths: Option<Lengths>| LengthSpec::Drawn(lengths.unwrap_or(Lengths::Fixed(1)));
    let counts: BTreeSet<Option<u32>> = observations.iter().map(|o| o.requests).collect();
    Workload {
        input_tokens: spec(first.input),
        output_tokens: spec(first.output),
        // How long a wave takes follows from the setting.
        start: match observations.iter().any(spread) {
            true => Start::Spread,
            false => Start::AtOnce,
        },
        requests: match counts.len() {
            1 => first.requests,
            _ => None,
        },
        requests_a_stream: match counts.len() {
            1 => None,
            _ => requests_a_stream(observations),
        },
    }
}

/// The median over the points that have streams.
fn requests_a_stream(observations: &[Observation]) -> Option<f64> {
    let of = |observation: &Observation| match observation.load {
        Load::Closed(streams) => Some(f64::from(observation.requests?) / f64::from(streams)),
        Load::Open(_) => None,
    };
    let mut known: Vec<f64> = observations.iter().filter_map(of).collect();
    sort(&mut known);
    quantile(&known, 0.5)
}

/// Whether streams began one after another; a single one has nobody to wait for, and says nothing.
fn spread(observation: &Observation) -> bool {
    let several = match observation.load {
        Load::Closed(streams) => streams > 1,
        Load::Open(_) => false,
    };
    several && !matches!(observation.start, Start::AtOnce | Start::Over(0))
}

fn points(observations: &[Observation], errors: &[Residual]) -> Vec<FittedPoint> {
    let point = |(index, observation): (usize, &Observation)| FittedPoint {
        name: observation.name.clone(),
        load: observation.load.to_string(),
        left_out: observation.left_out,
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
