//! The calibration as a file that `sim --timing` and `plan what-if` read.

use super::{Envelope, HeldOut, TooFast};
use crate::device::{BadDevice, Card};
use crate::flags::{Flag, restored};
use crate::observation::LeftOut;
use crate::predict::Subject;
use crate::split::Split;
use crate::work::{Load, Start};
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_catalog::model::Model;
use inferometer_catalog::timing::{Basis, Timing, TimingError};
use inferometer_core::length::{Distribution as Lengths, LengthSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

pub const SCHEMA: &str = "inferometer.calibration/1";

/// Arrivals of a prediction: their rate is within 1 % of the asked one, and a queue near its limit
/// has come and gone several times.
const ARRIVALS: u32 = 10_000;

const HEAD: &str = "\
# A calibration of the simulated engine. `inferometer plan what-if --calibration FILE` predicts
# with it; `inferometer sim --timing FILE` serves with it.

";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    pub schema: String,
    /// The card, as a preset or in numbers.
    pub device: String,
    pub cards: u32,
    pub engine: EngineKind,
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub version: Option<Version>,
    /// Flags of the first point, from which a what-if departs; a switch is empty.
    #[serde(default)]
    pub flags: BTreeMap<String, String>,
    /// Workers that compute the prompts; absent where those that answer do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    pub workload: Workload,
    pub timing: Timing,
    pub model: Model,
    pub envelope: Envelope,
    /// A point that the card cannot have made.
    pub too_fast: Option<TooFast>,
    /// How wrong it was at points that it had not seen.
    #[serde(default)]
    pub held_out: Vec<HeldOut>,
    #[serde(default)]
    pub points: Vec<FittedPoint>,
    #[serde(default)]
    pub verified: Vec<Verified>,
    /// What stands in for measurements, where it rests on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<Grounds>,
}

/// What predictions without a measurement of one's own rest on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grounds {
    pub basis: Basis,
    /// Published rows behind the intervals.
    pub rows: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub input_tokens: LengthSpec,
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub output_tokens: LengthSpec,
    #[serde(default)]
    pub start: Start,
    /// Requests of a measurement, where all had as many.
    pub requests: Option<u32>,
    /// The same for each stream, where they differ: the first and the last wave of a short run
    /// weigh more, so that predictions are made as long as the measurements were.
    #[serde(default)]
    pub requests_a_stream: Option<f64>,
}

impl Workload {
    /// Requests to ask about a load with: streams as the measurements had them, and arrivals as
    /// many as leave little to their draw.
    pub fn requests_at(&self, load: Load) -> u32 {
        let known = match load {
            Load::Closed(streams) => self.requests.or(self
                .requests_a_stream
                .map(|each| (f64::from(streams) * each).round() as u32)),
            Load::Open(_) => Some(ARRIVALS),
        };
        load.requests(known)
    }

    /// Lengths for a what-if that asks for `asked`: a bare mean which is that of the measured
    /// work has the spread of the measured work.
    pub fn output(&self, asked: Lengths) -> Lengths {
        match (asked, &self.output_tokens) {
            (Lengths::Fixed(mean), LengthSpec::Drawn(known))
                if (f64::from(mean) / known.mean() - 1.0).abs() < 0.02 =>
            {
                *known
            }
            _ => asked,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedPoint {
    pub name: String,
    /// Its load: `concurrency 8`, `rate 2.5`.
    pub load: String,
    /// Rates of it that were not used, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// predicted / measured − 1 when this point was left out, by metric.
    pub errors: BTreeMap<String, f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verified {
    /// When, RFC 3339.
    pub at: String,
    pub setting: String,
    /// What measured it: `sim`, the simulated engine, or the URL of a server; absent in files
    /// that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Whether the figures lay near enough to their intervals; absent in files that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// predicted / measured − 1, by metric.
    pub errors: BTreeMap<String, f64>,
}

#[derive(Debug, Error)]
pub enum CalibrationError {
    #[error(
        "not a calibration: {0}; make one with `inferometer plan calibrate`, or without measurements with `inferometer plan predict --save-calibration FILE`"
    )]
    Form(String),
    #[error("a calibration of the form '{0}', and only {SCHEMA} is known")]
    Schema(String),
    #[error(transparent)]
    Timing(#[from] TimingError),
    #[error(transparent)]
    Device(#[from] BadDevice),
}

impl Calibration {
    pub fn from_toml(text: &str) -> Result<Calibration, CalibrationError> {
        let form = |error: toml::de::Error| CalibrationError::Form(error.message().to_owned());
        let table: toml::Table = toml::from_str(text).map_err(form)?;
        let schema = table
            .get("schema")
            .and_then(toml::Value::as_str)
            .unwrap_or_default();
        if !schema.is_empty() && schema != SCHEMA {
            return Err(CalibrationError::Schema(schema.chars().take(60).collect()));
        }
        let calibration: Calibration = toml::from_str(text).map_err(form)?;
        Timing::from_toml(text)?;
        calibration.device.parse::<Card>()?;
        Ok(calibration)
    }

    pub fn to_toml(&self) -> String {
        let text = toml::to_string(self).expect("a calibration has TOML's types only");
        format!("{HEAD}{text}")
    }

    pub fn subject(&self) -> Result<Subject, BadDevice> {
        let card: Card = self.device.parse()?;
        Ok(Subject {
            model: self.model.clone(),
            device: card.device,
            cards: self.cards,
            engine: self.engine,
            version: self.version,
            split: self.split.clone(),
        })
    }

    pub fn base_flags(&self) -> Vec<Flag> {
        restored(&self.flags)
    }
}
