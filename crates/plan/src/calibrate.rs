//! Fits the timing of the simulated engine to measured load points.

mod contradiction;
mod envelope;
mod error;
mod file;
mod fit;
mod held_out;
mod parameters;
mod roofline;
mod trust;

pub use envelope::{Envelope, Extrapolation};
pub use error::{CalibrateError, LEAST_POINTS};
pub use file::{Calibration, CalibrationError, FittedPoint, Grounds, SCHEMA, Verified, Workload};
pub use held_out::HeldOut;
pub use roofline::TooFast;
pub(crate) use trust::USELESS;
pub use trust::Worst;

use crate::flags::stored;
use crate::observation::Observation;
use crate::predict::Subject;
use crate::work::{Load, Start};
use fit::{Residual, Target, fit};
use inferometer_catalog::timing::Timing;
use inferometer_core::length::{Distribution as Lengths, LengthSpec};
use inferometer_core::quantile::{quantile, sort};
use inferometer_sim::launch::LaunchError;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubtful {
    Refuse,
    Use,
}

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
    Ok(Calibration {
        schema: SCHEMA.to_owned(),
        device: device.to_owned(),
        cards: subject.cards,
        engine: subject.engine,
        version,
        flags: stored(&first.flags),
        split: subject.split.clone(),
        workload: workload(observations),
        timing: parameters::applied(&base, &fitted.at),
        model: subject.model.clone(),
        envelope: Envelope::of(&targets),
        too_fast: roofline::too_fast(&targets),
        held_out: held_out::stated(&targets, &errors),
        points: points(observations, &errors),
        verified: Vec::new(),
        unmeasured: None,
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
    if let Some(streams) = observation.load.too_many_streams() {
        let name = observation.name.clone();
        return Err(CalibrateError::TooManyStreams { name, streams });
    }
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
        work: observation.work(input, output),
        observation,
        settled,
        subject,
    })
}

fn workload(observations: &[Observation]) -> Workload {
    let first = &observations[0];
    let spec = |lengths: Option<Lengths>| LengthSpec::Drawn(lengths.unwrap_or(Lengths::Fixed(1)));
    let counts: BTreeSet<Option<u32>> = observations.iter().map(|o| o.requests).collect();
    Workload {
        input_tokens: spec(first.input),
        output_tokens: spec(first.output),
        // How long a wave takes follows from the setting.
        start: if observations.iter().any(is_spread) {
            Start::Spread
        } else {
            Start::AtOnce
        },
        requests: first.requests.filter(|_| counts.len() == 1),
        requests_a_stream: if counts.len() == 1 {
            None
        } else {
            requests_per_stream(observations)
        },
    }
}

/// The median over the points that have streams.
fn requests_per_stream(observations: &[Observation]) -> Option<f64> {
    let of = |observation: &Observation| match observation.load {
        Load::Closed(streams) => Some(f64::from(observation.requests?) / f64::from(streams)),
        Load::Open(_) => None,
    };
    let mut known: Vec<f64> = observations.iter().filter_map(of).collect();
    sort(&mut known);
    quantile(&known, 0.5)
}

/// Whether streams began one after another, or arrivals before they were measured; a single stream
/// has nobody to wait for, and says nothing.
fn is_spread(observation: &Observation) -> bool {
    match observation.load {
        Load::Closed(streams) => {
            streams > 1 && !matches!(observation.start, Start::AtOnce | Start::Over(0))
        }
        Load::Open(_) => observation.start == Start::Spread,
    }
}

fn points(observations: &[Observation], errors: &[Residual]) -> Vec<FittedPoint> {
    let point = |(index, observation): (usize, &Observation)| FittedPoint {
        name: observation.name.clone(),
        load: observation.load.to_string(),
        left_out: observation.left_out,
        errors: errors
            .iter()
            .filter(|residual| residual.target == index)
            .map(|residual| {
                (
                    residual.metric.into_str().to_owned(),
                    residual.error.exp_m1(),
                )
            })
            .collect::<BTreeMap<_, _>>(),
    };
    observations.iter().enumerate().map(point).collect()
}
