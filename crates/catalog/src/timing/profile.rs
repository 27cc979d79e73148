//! The coefficients, and the profiles that are shipped (`data/timing.toml`).

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::device::{Device, Kind};
use crate::engine::EngineKind;

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
    /// µs more to launch a layer of experts outside a CUDA graph.
    #[serde(default)]
    pub expert_launch_us: f64,
    /// The same for a layer of latent attention.
    #[serde(default)]
    pub latent_launch_us: f64,
    /// The same for a layer that keeps a state.
    #[serde(default)]
    pub recurrent_launch_us: f64,
    /// Multiplier of the bytes between cards.
    pub allreduce: f64,
    /// Latency of an all-reduce, µs.
    pub allreduce_us: f64,
    /// `linear` of 8-bit weights, against that of 16 bits, both at their own peak.
    #[serde(default = "one")]
    pub eight_bit: f64,
    /// The same of 4-bit weights that the card multiplies as they are.
    #[serde(default = "one")]
    pub four_bit: f64,
    /// The same of 4-bit weights that are multiplied in 16 bits.
    #[serde(default = "one")]
    pub weight_only: f64,
    /// µs more for a layer whose products are of 8 bits: kernels of their own bring there what
    /// enters them.
    #[serde(default)]
    pub eight_bit_layer_us: f64,
    /// µs more than that for a layer of experts.
    #[serde(default)]
    pub eight_bit_expert_us: f64,
    /// `eight_bit_layer_us` of layers whose products are of 4 bits.
    #[serde(default)]
    pub four_bit_layer_us: f64,
    /// `eight_bit_expert_us` of these.
    #[serde(default)]
    pub four_bit_expert_us: f64,
    /// `linear` of routed experts against layers that every token passes.
    #[serde(default = "one")]
    pub expert_linear: f64,
    /// `expert_linear` of products that hold the tokens of all replicas, where a library of its own
    /// brings them there. Absent: the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grouped_expert_linear: Option<f64>,
    /// What such a library takes in a layer of experts, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_layer_us: Option<f64>,
    /// Times that it takes as long to bring decoding tokens to their experts and back as their
    /// bytes take on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<f64>,
    /// Reading routed experts, against reading other weights.
    #[serde(default = "one")]
    pub expert_weights: f64,
    /// What kernels of routed experts read at most on a card, GB/s, whatever its memory could: many
    /// small matrices leave it waiting. Absent: as much as the card reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expert_read_gbs: Option<f64>,
    /// What the busiest card has more to do than others, where experts lie whole on cards, as a
    /// share.
    #[serde(default)]
    pub expert_imbalance: f64,
    /// Norms, rotations and copies: times that each token's state is read or written in a layer.
    #[serde(default)]
    pub activation: f64,
    /// The same for each routed expert that a token visits.
    #[serde(default)]
    pub expert_activation: f64,
    /// Reading latents of multi-head latent attention, against keys and values.
    #[serde(default = "one")]
    pub latent_kv: f64,
    /// µs more for a layer of latent attention.
    #[serde(default)]
    pub latent_layer_us: f64,
    /// µs more for a layer whose attention is chosen by an indexer.
    #[serde(default)]
    pub index_layer_us: f64,
    /// µs more for a layer that keeps a state.
    #[serde(default)]
    pub recurrent_layer_us: f64,
    /// µs more for every sequence in a layer that keeps a state.
    #[serde(default)]
    pub recurrent_sequence_us: f64,
    /// What it takes to hand a prompt from one worker to another beside the bytes, µs.
    #[serde(default)]
    pub handover_us: f64,
    pub api: ApiCost,
}

fn one() -> f64 {
    1.0
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

/// Coefficients by device, generation or family of devices, each also by engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Profiles(BTreeMap<String, Timing>);

static SHIPPED: LazyLock<Profiles> = LazyLock::new(|| {
    Profiles::from_toml(include_str!("../../data/timing.toml")).expect("the shipped timing parses")
});

impl Profiles {
    pub fn shipped() -> &'static Profiles {
        &SHIPPED
    }

    pub fn from_toml(text: &str) -> Result<Profiles, TimingError> {
        toml::from_str(text).map_err(|error| TimingError::Form(error.message().to_owned()))
    }

    /// The profile of an engine on a device: that of its generation where one was fitted, else
    /// that of the device, else that of its family.
    pub fn of(&self, device: &Device, engine: Option<EngineKind>) -> Option<&Timing> {
        let family = match device.kind {
            Kind::Cuda | Kind::Rocm => "cuda",
            Kind::Ascend => "ascend",
        };
        let fitted = device.generation.as_ref().zip(engine);
        let fitted = fitted.map(|(generation, engine)| format!("{generation}-{}", engine.word()));
        let names = [fitted.as_deref(), Some(device.name.as_str()), Some(family)];
        names
            .into_iter()
            .flatten()
            .find_map(|name| self.0.get(name))
    }
}

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

    /// The shipped profile of a device, whatever the engine: its own, else that of its family.
    /// Calibrations begin here.
    pub fn shipped(device: &Device) -> Timing {
        let profile = SHIPPED.of(device, None);
        profile.expect("every family has a profile").clone()
    }

    /// The shipped profile of an engine on a device, for predictions without a measurement.
    pub fn fitted(device: &Device, engine: EngineKind) -> Timing {
        let profile = SHIPPED.of(device, Some(engine));
        profile.expect("every family has a profile").clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges that the fit keeps to as well.
    #[test]
    fn coefficients_of_fitted_profiles_are_physically_plausible() {
        let ranges: BTreeMap<String, [f64; 2]> =
            toml::from_str(include_str!("../../data/timing-ranges.toml")).unwrap();
        let fitted = Profiles::shipped().0.iter();
        let fitted: Vec<_> = fitted
            .filter(|(name, _)| name.starts_with("hopper-") || name.starts_with("blackwell-"))
            .collect();
        assert_eq!(fitted.len(), 6);
        for (profile, timing) in fitted {
            let toml::Value::Table(mut table) = toml::Value::try_from(timing).unwrap() else {
                panic!("a profile is a table");
            };
            let api = table.remove("api").unwrap();
            let api = api.as_table().unwrap();
            // Not every profile has these.
            let own = [
                "expert_read_gbs",
                "grouped_expert_linear",
                "exchange_layer_us",
                "exchange",
            ];
            let absent = own.iter().filter(|key| !table.contains_key(**key));
            assert_eq!(table.len() + api.len() + absent.count(), ranges.len());
            for (key, value) in table.iter().chain(api) {
                let (value, [least, most]) = (value.as_float().unwrap(), ranges[key]);
                assert!(
                    (least..=most).contains(&value),
                    "{profile}: {key} = {value}"
                );
            }
        }
    }

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
