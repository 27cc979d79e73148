//! What is fitted: factors on the shipped coefficients, as logarithms with a prior around 0.

use inferometer_catalog::timing::Timing;

/// One factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    /// Standard deviation of its logarithm before anything is measured: rooflines are known
    /// better than what hosts cost.
    pub deviation: f64,
    apply: fn(&mut Timing, f64),
}

/// All factors. Those of the roofline are narrow; those of the host are wide.
pub(super) const PARAMETERS: [Parameter; 10] = [
    Parameter {
        deviation: 0.3,
        apply: |timing, factor| {
            timing.linear *= factor;
            timing.attention *= factor;
        },
    },
    Parameter {
        deviation: 0.3,
        apply: |timing, factor| timing.weights *= factor,
    },
    Parameter {
        deviation: 0.5,
        apply: |timing, factor| timing.kv *= factor,
    },
    Parameter {
        deviation: 0.6,
        apply: |timing, factor| timing.layer_us *= factor,
    },
    Parameter {
        deviation: 0.8,
        apply: |timing, factor| timing.step_us *= factor,
    },
    Parameter {
        deviation: 1.0,
        apply: |timing, factor| timing.sequence_us *= factor,
    },
    Parameter {
        deviation: 0.8,
        apply: |timing, factor| timing.prefill_us *= factor,
    },
    Parameter {
        deviation: 1.0,
        apply: |timing, factor| {
            timing.api.request_us *= factor;
            timing.api.prompt_token_us *= factor;
        },
    },
    Parameter {
        deviation: 1.0,
        apply: |timing, factor| {
            timing.api.chunk_us *= factor;
            timing.api.token_us *= factor;
        },
    },
    Parameter {
        deviation: 1.0,
        apply: |timing, factor| timing.api.latency_us *= factor,
    },
];

/// As many as there are parameters.
pub(super) const COUNT: usize = PARAMETERS.len();

/// Logarithms of the factors.
pub(super) type Logarithms = [f64; COUNT];

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
