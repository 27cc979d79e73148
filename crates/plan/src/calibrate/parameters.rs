//! What is fitted: factors on the shipped coefficients, as logarithms with a prior around 0.

use crate::predict::Subject;
use inferometer_catalog::device::Kind;
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_catalog::timing::Timing;

#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    /// Standard deviation of its logarithm before anything is measured: rooflines are known
    /// better than what hosts cost.
    pub deviation: f64,
    apply: fn(&mut Timing, f64),
}

impl Parameter {
    const fn new(deviation: f64, apply: fn(&mut Timing, f64)) -> Parameter {
        Parameter { deviation, apply }
    }
}

/// All factors. A card as a whole may be slower or faster than its preset says; what its kernels
/// reach of its peaks hardly differs between arithmetic and memory. Those of the host are wide.
pub(super) const PARAMETERS: [Parameter; 11] = [
    Parameter::new(0.5, |timing, factor| {
        timing.linear *= factor;
        timing.attention *= factor;
        timing.weights *= factor;
        timing.kv *= factor;
    }),
    Parameter::new(0.15, |timing, factor| {
        timing.linear *= factor;
        timing.attention *= factor;
    }),
    Parameter::new(0.15, |timing, factor| timing.weights *= factor),
    Parameter::new(0.3, |timing, factor| timing.kv *= factor),
    Parameter::new(0.5, |timing, factor| timing.layer_us *= factor),
    Parameter::new(0.8, |timing, factor| timing.step_us *= factor),
    Parameter::new(1.0, |timing, factor| timing.sequence_us *= factor),
    Parameter::new(0.8, |timing, factor| timing.prefill_us *= factor),
    Parameter::new(1.0, |timing, factor| {
        timing.api.request_us *= factor;
        timing.api.prompt_token_us *= factor;
    }),
    Parameter::new(1.0, |timing, factor| {
        timing.api.chunk_us *= factor;
        timing.api.token_us *= factor;
    }),
    Parameter::new(1.0, |timing, factor| timing.api.latency_us *= factor),
];

pub(super) const COUNT: usize = PARAMETERS.len();

pub(super) type Logarithms = [f64; COUNT];

/// Releases of vLLM before this one scheduled, sampled and detokenised in the loop of the steps.
const LEAN_HOST: Version = Version::new(0, 8, 0);
/// What that cost more, for each step and for each sequence.
const FORMER_HOST: (f64, f64) = (5.0, 2.5);
/// Cards up to this many TFLOP/s reach more of their peak in matrix products than the newer ones
/// on which the shipped coefficients were measured: power holds them back less.
const MODEST_TFLOPS: f64 = 400.0;
/// What their arithmetic takes beside the shipped multiple of the peak: 80 % of it is reached.
const MODEST_ARITHMETIC: f64 = 0.82;

/// Where the fit begins: the shipped coefficients, with the host's share of the engine's time.
pub(super) fn before_measuring(subject: &Subject, version: Option<Version>) -> Timing {
    let mut timing = Timing::shipped(&subject.device);
    let device = &subject.device;
    if device.kind == Kind::Cuda && device.bf16 && device.half_tflops <= MODEST_TFLOPS {
        timing.linear *= MODEST_ARITHMETIC;
        timing.attention *= MODEST_ARITHMETIC;
    }
    let former = version.is_some_and(|version| version < LEAN_HOST);
    if subject.engine == EngineKind::Vllm && former {
        timing.step_us *= FORMER_HOST.0;
        timing.sequence_us *= FORMER_HOST.1;
    }
    timing
}

/// Profiles to begin with: where nothing says how old the engine is, both kinds of host, and the
/// measurements decide.
pub(super) fn beginnings(subject: &Subject, version: Option<Version>) -> Vec<Timing> {
    let known = before_measuring(subject, version);
    let former = before_measuring(subject, Some(Version::new(0, 6, 3)));
    match version {
        None if former != known => vec![known, former],
        _ => vec![known],
    }
}

/// Bound on each logarithm: a factor of 150 is beyond any card of the same family.
const MOST: f64 = 5.0;

/// The coefficients with these factors on them.
pub(super) fn applied(base: &Timing, logarithms: &Logarithms) -> Timing {
    let mut timing = base.clone();
    for (parameter, logarithm) in PARAMETERS.iter().zip(logarithms) {
        (parameter.apply)(&mut timing, logarithm.clamp(-MOST, MOST).exp());
    }
    timing
}
