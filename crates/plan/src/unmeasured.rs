//! Predictions without a measurement of one's own: fitted coefficients in place of a calibration,
//! and intervals from how far those were off on published rows.

use crate::calibrate::{Calibration, Envelope, Grounds, HeldOut, SCHEMA as CALIBRATION, Workload};
use crate::flags::{Flag, stored};
use crate::means::MeanMetric;
use crate::predict::Subject;
use crate::what_if::{self, Answers, Outcome, Question, Setting, WhatIfError};
use crate::work::Start;
use inferometer_catalog::timing::{Prompts, Residual, Timing};
use inferometer_core::length::{Distribution as Lengths, LengthSpec};
use serde_json::{Value, json};

pub const SCHEMA: &str = "inferometer.prediction/1";

/// Predictions, each with what it rests on.
#[derive(Clone, Debug)]
pub struct Forecast {
    pub answers: Answers,
    /// As many as settings.
    pub grounds: Vec<Grounds>,
}

/// In place of a calibration; with it, what that rests on.
pub fn stand_in(
    subject: &Subject,
    device: &str,
    flags: &[Flag],
    [input, output]: [Lengths; 2],
) -> (Calibration, Grounds) {
    let prompts = match subject.split {
        Some(_) => Prompts::Apart,
        None => Prompts::Together,
    };
    let (residual, basis) =
        Residual::nearest(&subject.model, &subject.device, subject.engine, prompts);
    let known = |metric, bound, median| HeldOut {
        metric,
        points: residual.rows,
        median,
        bound,
    };
    let medians = residual.median;
    let grounds = Grounds {
        basis,
        rows: residual.rows,
    };
    let calibration = Calibration {
        schema: CALIBRATION.to_owned(),
        device: device.to_owned(),
        cards: subject.cards,
        engine: subject.engine,
        version: subject.version,
        flags: stored(flags),
        split: subject.split.clone(),
        workload: Workload {
            input_tokens: LengthSpec::Drawn(input),
            output_tokens: LengthSpec::Drawn(output),
            start: Start::Spread,
            requests: None,
            requests_a_stream: None,
        },
        timing: Timing::fitted(&subject.device, subject.engine),
        model: subject.model.clone(),
        // The scheduler obeys flags, and the coefficients do not depend on them: none lies outside
        // what was validated.
        envelope: Envelope {
            concurrency: Some(residual.concurrency),
            rate: None,
            input_tokens: Some(residual.input_tokens),
            output_tokens: Some(residual.output_tokens),
            flags: None,
        },
        too_fast: None,
        held_out: vec![
            known(MeanMetric::Ttft, residual.ttft, medians.ttft),
            known(MeanMetric::Tpot, residual.tpot, medians.tpot),
            known(MeanMetric::E2e, residual.e2e, medians.e2e),
            // A closed loop turns over as fast as its answers end.
            known(MeanMetric::Requests, residual.e2e, medians.e2e),
        ],
        points: Vec::new(),
        verified: Vec::new(),
        unmeasured: Some(grounds),
    };
    (calibration, grounds)
}

impl Forecast {
    /// Asks for each subject in turn; the best of all is recommended.
    pub fn of<'a>(
        stand_ins: &'a [(Calibration, Grounds)],
        question: impl Fn(&'a Calibration) -> Question<'a>,
    ) -> Result<Forecast, WhatIfError> {
        let mut settings: Vec<(Setting, Outcome)> = Vec::new();
        let mut grounds = Vec::new();
        for (calibration, own) in stand_ins {
            let answers = what_if::ask(&question(calibration))?;
            grounds.extend(answers.settings.iter().map(|_| *own));
            settings.extend(answers.settings);
        }
        Ok(Forecast {
            answers: Answers::of(settings),
            grounds,
        })
    }

    /// The first refusal, where no engine starts.
    pub fn refused(&self) -> Option<&str> {
        let mut reasons = self
            .answers
            .settings
            .iter()
            .map(|(_, outcome)| match outcome {
                Outcome::Refused(reason) => Some(reason.as_str()),
                _ => None,
            });
        let first = reasons.next()??;
        reasons.all(|reason| reason.is_some()).then_some(first)
    }

    /// The object that `plan predict --format json` prints.
    pub fn to_json(&self) -> Value {
        let mut all = what_if::to_json(&self.answers);
        all["schema"] = json!(SCHEMA);
        let settings = all["settings"].as_array_mut().into_iter().flatten();
        for (setting, grounds) in settings.zip(&self.grounds) {
            setting["basis"] = json!(grounds.basis);
            setting["validated_rows"] = json!(grounds.rows);
        }
        all
    }
}
