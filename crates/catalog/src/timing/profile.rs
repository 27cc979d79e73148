//! The coefficients, and the profiles that are shipped (`data/timing.toml`).

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::device::{Device, Kind};

/// Coefficients of the step time. Multipliers apply to the time at the device's peak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timing {
    /// Multiplier of the arithmetic of the layers' matrix products.
    pub linear: f64,
    /// Multiplier of the arithmetic of attention.
    pub attention: f64,
    /// Multiplier of reading the weights.
    pub weights: f64,
    /// Multiplier of reading the KV cache in decoding.
    pub kv: f64,
    /// How far reading weights hides behind arithmetic: 1 = the slower of both, 0 = their sum.
    pub overlap: f64,
    /// Kernels too small to fill the device, µs per layer.
    pub layer_us: f64,
    /// µs more for a layer of experts: routing, sorting, many small products.
    pub expert_layer_us: f64,
    /// Scheduling, sampling and bookkeeping, µs per sequence in the batch.
    pub sequence_us: f64,
    /// µs per step.
    pub step_us: f64,
    /// µs more for a step that holds some prefill.
    pub prefill_us: f64,
    /// Host time to launch a compiled layer outside a CUDA graph, µs; the device runs meanwhile.
    pub launch_layer_us: f64,
    /// The same without compilation (`--enforce-eager`).
    pub eager_layer_us: f64,
    /// Multiplier of the bytes between cards.
    pub allreduce: f64,
    /// Latency of an all-reduce, µs.
    pub allreduce_us: f64,
    pub api: ApiCost,
}

/// What an API server's single core spends; [`ApiCost::FREE`] is the ideal one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApiCost {
    /// µs of the core to take a request in.
    pub request_us: f64,
    /// µs of the core for each token of its prompt.
    pub prompt_token_us: f64,
    /// µs of the core for each chunk that it sends.
    pub chunk_us: f64,
    /// µs of the core for each token in it.
    pub token_us: f64,
    /// Latency each way that occupies no core, µs.
    pub latency_us: f64,
}

impl ApiCost {
    /// A server that costs nothing.
    pub const FREE: ApiCost = ApiCost {
        request_us: 0.0,
        prompt_token_us: 0.0,
        chunk_us: 0.0,
        token_us: 0.0,
        latency_us: 0.0,
    };
}

static SHIPPED: LazyLock<BTreeMap<String, Timing>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../data/timing.toml")).expect("the shipped timing parses")
});

/// Why a profile is not one.
#[derive(Debug, Error)]
pub enum TimingError {
    /// Not TOML, or a key is missing, unknown or of the wrong kind.
    #[error("timing profile: {0}")]
    Form(String),
    /// A coefficient makes no sense.
    #[error("timing profile: `{key}` is {value}, expected a number from 0 to {most}")]
    Range { key: String, value: f64, most: f64 },
}

impl Timing {
    /// Reads a profile and checks that its coefficients make sense. They are the file, or its
    /// table `timing` as in a calibration.
    pub fn from_toml(text: &str) -> Result<Timing, TimingError> {
        let form = |error: toml::de::Error| TimingError::Form(error.message().to_owned());
        let mut table: toml::Table = toml::from_str(text).map_err(form)?;
        if let Some(toml::Value::Table(timing)) = table.remove("timing") {
            table = timing;
        }
        let timing: Timing = table.clone().try_into().map_err(form)?;
        let api = table.get("api").and_then(toml::Value::as_table);
        for (key, value) in table.iter().chain(api.into_iter().flatten()) {
            // A minute is beyond any cost, and far from overflowing.
            let most = if key == "overlap" { 1.0 } else { 60e6 };
            let number = value
                .as_float()
                .or(value.as_integer().map(|number| number as f64));
            if let Some(value) = number
                && !(0.0..=most).contains(&value)
            {
                return Err(TimingError::Range {
                    key: key.clone(),
                    value,
                    most,
                });
            }
        }
        Ok(timing)
    }

    /// The shipped profile of a device: its own, else that of its family.
    pub fn shipped(device: &Device) -> Timing {
        let family = match device.kind {
            Kind::Cuda => "cuda",
            Kind::Ascend => "ascend",
        };
        let profile = SHIPPED.get(&device.name).or_else(|| SHIPPED.get(family));
        profile.expect("every family has a profile").clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_round_trips_and_what_makes_no_sense_is_refused_by_name() {
        let timing = Timing::shipped(Device::named("h200").unwrap());
        let text = toml::to_string(&timing).unwrap();
        assert_eq!(Timing::from_toml(&text).unwrap(), timing);
        let inside = format!(
            "model = \"m\"\n[timing]\n{}",
            text.replace("[api]", "[timing.api]")
        );
        assert_eq!(Timing::from_toml(&inside).unwrap(), timing);
        let error = |text: &str| Timing::from_toml(text).unwrap_err().to_string();
        assert!(error(&format!("speed = 1.0\n{text}")).contains("speed"));
        assert!(error("linear = 1.0").contains("missing field"));
        for (from, to) in [
            ("overlap = 0.75", "overlap = 1.5"),
            ("step_us = 680.0", "step_us = -1"),
            ("chunk_us = 70.0", "chunk_us = nan"),
            ("linear = 1.53", "linear = inf"),
        ] {
            let key = from.split(' ').next().unwrap();
            assert!(text.contains(from), "{from}");
            assert!(
                error(&text.replace(from, to)).contains(&format!("`{key}`")),
                "{to}"
            );
        }
    }
}
