//! A prediction beside a measurement of the same setting.

use super::{Prediction, Setting};
use crate::calibrate::{Calibration, USELESS, Verified, word};
use crate::device::{BadDevice, Card};
use crate::predict::{Figures, Metric, Subject, Work, simulate};
use inferometer_sim::engine::Noise;
use inferometer_sim::launch::LaunchError;
use thiserror::Error;

/// Requests and noise of a measurement are others than those of the prediction.
const SEED: u64 = 1009;

/// Why a setting cannot be served.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The card is not known.
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
) -> Result<Figures, VerifyError> {
    let card: Card = setting.device.parse()?;
    let subject = Subject {
        device: card.device,
        ..calibration.subject()?
    };
    let mut config = subject.start(&setting.flags, &calibration.timing)?;
    config.noise = Noise::usual();
    Ok(Figures::of(&simulate(config, work, SEED)))
}

/// A measurement that misses an interval by less than its own width is bad luck; beyond, the
/// server or its load is not what was predicted.
const FAR: f64 = 2.0;

impl Prediction {
    /// The metrics whose measurement lies far outside its interval.
    pub fn far_off(&self, measured: &Figures) -> Vec<Metric> {
        let predicted = self.figures();
        let far = |&metric: &Metric| {
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
        Metric::ALL.into_iter().filter(far).collect()
    }

    /// The means by which it is compared.
    pub fn figures(&self) -> Figures {
        Figures {
            requests_per_s: Some(self.requests_per_s),
            output_tokens_per_s: Some(self.output_tokens_per_s),
            ttft_ms: self.ttft_ms.map(|ttft| ttft.mean),
            tpot_ms: self.tpot_ms.map(|tpot| tpot.mean),
            e2e_ms: self.e2e_ms.map(|e2e| e2e.mean),
        }
    }
}

impl Verified {
    /// The error of a prediction.
    pub fn new(
        at: String,
        setting: String,
        on: String,
        prediction: &Prediction,
        measured: &Figures,
    ) -> Verified {
        Verified {
            held: Some(prediction.far_off(measured).is_empty()),
            ..Verified::of(at, setting, on, &prediction.figures(), measured)
        }
    }

    fn of(
        at: String,
        setting: String,
        on: String,
        predicted: &Figures,
        measured: &Figures,
    ) -> Verified {
        let error = |metric: Metric| {
            let (predicted, measured) = (predicted.get(metric)?, measured.get(metric)?);
            let sound = measured > 0.0 && predicted.is_finite();
            sound.then(|| (word(metric).to_owned(), predicted / measured - 1.0))
        };
        Verified {
            at,
            setting,
            on: Some(on),
            held: None,
            errors: Metric::ALL.into_iter().filter_map(error).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_stated_for_what_both_know() {
        let predicted = Figures {
            requests_per_s: Some(11.0),
            ttft_ms: Some(90.0),
            ..Figures::default()
        };
        let measured = Figures {
            requests_per_s: Some(10.0),
            tpot_ms: Some(5.0),
            ..Figures::default()
        };
        let [at, setting, on] = ["now", "all", "sim"].map(str::to_owned);
        let verified = Verified::of(at, setting, on, &predicted, &measured);
        assert_eq!(verified.errors.len(), 1);
        assert!((verified.errors["requests"] - 0.1).abs() < 1e-12);
        assert!(verified.held());
        let measured = Figures {
            requests_per_s: Some(1.0),
            ..measured
        };
        let [at, setting, on] = ["now", "all", "sim"].map(str::to_owned);
        assert!(!Verified::of(at, setting, on, &predicted, &measured).held());
    }
}
