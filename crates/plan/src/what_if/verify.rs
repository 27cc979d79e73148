//! A prediction beside a measurement of the same setting.

use super::prediction::Prediction;
use super::setting::Setting;
use crate::calibrate::{Calibration, USELESS, Verified};
use crate::device::{BadDevice, Card};
use crate::means::{MeanMetric, Means};
use crate::predict::{Subject, simulate};
use crate::work::Work;
use inferometer_sim::engine::Noise;
use inferometer_sim::launch::LaunchError;
use std::collections::BTreeMap;
use thiserror::Error;

/// Requests and noise of a measurement are others than those of the prediction.
const SEED: u64 = 1009;

#[derive(Debug, Error)]
pub enum VerifyError {
    #[error(transparent)]
    Device(#[from] BadDevice),
    #[error(transparent)]
    NoStart(#[from] LaunchError),
}

/// What the simulated engine measures of a setting: with noise, and other requests than those
/// that were predicted with.
pub fn on_simulated(
    calibration: &Calibration,
    setting: &Setting,
    work: &Work,
) -> Result<Means, VerifyError> {
    let card: Card = setting.device.parse()?;
    let subject = Subject {
        device: card.device,
        ..calibration.subject()?
    };
    let mut config = subject.start(&setting.flags, &calibration.timing)?;
    config.noise = Noise::usual();
    Ok(Means::of(&simulate(config, work, SEED)))
}

/// A measurement that misses an interval by less than its own width is bad luck; beyond, the
/// server or its load is not what was predicted.
const FAR: f64 = 2.0;

impl Prediction {
    /// The metrics whose measurement lies far outside its interval.
    pub fn far_off(&self, measured: &Means) -> Vec<MeanMetric> {
        let predicted = self.figures();
        let far = |&metric: &MeanMetric| {
            let pair = predicted.get(metric).zip(measured.get(metric));
            let Some((predicted, measured)) = pair else {
                return false;
            };
            let most = match self.bound(metric) {
                Some(bound) => FAR * bound.ln_1p(),
                None => FAR * USELESS.ln(),
            };
            let off = (predicted / measured).ln().abs();
            off > most
        };
        MeanMetric::all().filter(far).collect()
    }

    pub fn figures(&self) -> Means {
        Means {
            requests_per_s: Some(self.requests_per_s),
            output_tokens_per_s: Some(self.output_tokens_per_s),
            ttft_ms: self.ttft_ms.map(|ttft| ttft.mean),
            tpot_ms: self.tpot_ms.map(|tpot| tpot.mean),
            e2e_ms: self.e2e_ms.map(|e2e| e2e.mean),
            ..Means::default()
        }
    }
}

impl Verified {
    pub fn new(
        at: String,
        setting: String,
        on: String,
        prediction: &Prediction,
        measured: &Means,
    ) -> Verified {
        Verified {
            at,
            setting,
            on: Some(on),
            held: Some(prediction.far_off(measured).is_empty()),
            errors: errors(&prediction.figures(), measured),
        }
    }
}

/// predicted / measured − 1 of what both know.
fn errors(predicted: &Means, measured: &Means) -> BTreeMap<String, f64> {
    let error = |metric: MeanMetric| {
        let (predicted, measured) = (predicted.get(metric)?, measured.get(metric)?);
        let sound = measured > 0.0 && predicted.is_finite();
        sound.then(|| (metric.into_str().to_owned(), predicted / measured - 1.0))
    };
    MeanMetric::all().filter_map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_stated_for_what_both_know() {
        let rate = |requests_per_s| Means {
            requests_per_s: Some(requests_per_s),
            ..Means::default()
        };
        let verified = |measured: &Means| Verified {
            at: "now".to_owned(),
            setting: "all".to_owned(),
            on: None,
            held: None,
            errors: errors(
                &Means {
                    ttft_ms: Some(90.0),
                    ..rate(11.0)
                },
                measured,
            ),
        };
        let near = verified(&Means {
            tpot_ms: Some(5.0),
            ..rate(10.0)
        });
        assert_eq!(near.errors.len(), 1);
        assert!((near.errors["requests"] - 0.1).abs() < 1e-12);
        assert!(near.held());
        assert!(!verified(&rate(1.0)).held());
    }
}
