//! Measurements that cannot all be true.

use super::error::CalibrateError;
use crate::observation::Observation;
use crate::work::Load;

/// Means of one point that differ by more than this factor contradict each other.
const CONTRADICTION: f64 = 1.3;
/// More requests at a time than streams, by rounding and by the edges of a measurement.
const MEASURED_EXCESS: f64 = 1.1;
/// The same where the latency is put together of means that were taken apart.
const DERIVED_EXCESS: f64 = 1.25;

/// Refuses points that are not valid, that contradict themselves or each other.
pub(super) fn refuse(observations: &[Observation]) -> Result<(), CalibrateError> {
    for (index, observation) in observations.iter().enumerate() {
        let name = observation.name.clone();
        if !observation.invalid.is_empty() {
            let why = observation.invalid.join(", ");
            return Err(CalibrateError::Invalid { name, why });
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
        if let Some(impossible) = impossible(observation) {
            return Err(impossible);
        }
    }
    Ok(())
}

/// By Little's law, more requests under way than there were streams.
fn impossible(observation: &Observation) -> Option<CalibrateError> {
    let Load::Closed(streams) = observation.load else {
        return None;
    };
    let excess = match observation.figures.e2e_ms {
        Some(_) => MEASURED_EXCESS,
        None => DERIVED_EXCESS,
    };
    let (rate, latency) = (observation.rate()?, observation.latency_ms()? / 1e3);
    let product = rate * latency;
    (product > f64::from(streams) * excess + 0.5).then(|| CalibrateError::Impossible {
        name: format!("{} of {}", observation.load, observation.name),
        rate,
        latency,
        product,
        streams,
    })
}
