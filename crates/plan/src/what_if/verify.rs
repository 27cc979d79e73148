//! A prediction beside a measurement of the same setting.

use super::{Prediction, Setting};
use crate::calibrate::{Calibration, Verified, word};
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
    /// The engine refuses.
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

impl Prediction {
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
        let verified = Verified::new(at, setting, on, &predicted, &measured);
        assert_eq!(verified.errors.len(), 1);
        assert!((verified.errors["requests"] - 0.1).abs() < 1e-12);
    }
}
