//! Looking up keys: by every name that a fact has, in the language model's own object, then
//! among what transformers assumes for its `model_type`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::FeedForward;
use super::{ModelError, Problem};

/// Bound on every dimension: above any model, below any overflow.
const MOST: u32 = 1 << 24;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Types {
    r#type: Vec<ModelType>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelType {
    name: String,
    #[serde(default)]
    feed_forward: FeedForward,
    #[serde(default)]
    defaults: BTreeMap<String, Value>,
}

static TYPES: LazyLock<Vec<ModelType>> = LazyLock::new(|| {
    let types: Types = toml::from_str(include_str!("../../../data/model_types.toml"))
        .expect("the shipped model types parse");
    types.r#type
});

/// Where models of several modalities keep the language model.
const LANGUAGE: [&str; 3] = ["text_config", "llm_config", "language_config"];

/// A `config.json`, or the part of it that describes the language model.
pub(super) struct Config<'a> {
    model: &'a str,
    map: &'a Map<String, Value>,
    whole: &'a Map<String, Value>,
    known: Option<&'static ModelType>,
}

impl<'a> Config<'a> {
    pub fn new(model: &'a str, whole: &'a Map<String, Value>) -> Config<'a> {
        let inner = LANGUAGE.iter().find_map(|key| whole.get(*key)?.as_object());
        let map = inner.unwrap_or(whole);
        let kind = map.get("model_type").and_then(Value::as_str);
        Config {
            model,
            map,
            whole,
            known: kind.and_then(|kind| TYPES.iter().find(|known| known.name == kind)),
        }
    }

    /// The first of `keys` that is there; what is assumed, where none is written.
    pub fn any(&self, keys: &[&str]) -> Option<&Value> {
        let written = |key: &&str| self.map.get(*key);
        if keys.iter().any(|key| written(key).is_some()) {
            keys.iter()
                .filter_map(written)
                .find(|value| !value.is_null())
        } else {
            keys.iter().find_map(|key| self.known?.defaults.get(*key))
        }
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.any(&[key])
    }

    /// A key that may also stand beside the language model's object.
    pub fn anywhere(&self, key: &str) -> Option<&Value> {
        let written = |map: &'a Map<String, Value>| map.get(key).filter(|value| !value.is_null());
        written(self.map)
            .or_else(|| written(self.whole))
            .or_else(|| self.get(key))
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        let there = self.map.iter().filter(|(_, value)| !value.is_null());
        there.map(|(key, _)| key)
    }

    /// Encoders of other modalities, which stand beside the language model.
    pub fn encoders(&self) -> Vec<&'static str> {
        let names = ["vision_config", "audio_config", "visual"];
        let there = |name: &&str| self.whole.get(*name).is_some_and(Value::is_object);
        names.into_iter().filter(there).collect()
    }

    /// A whole number in `least..=MOST` under the first of its names; `None` where all are
    /// absent or null.
    pub fn number(&self, keys: &[&'static str], least: u32) -> Result<Option<u32>, ModelError> {
        self.bounded(keys, least, MOST)
    }

    pub fn bounded(
        &self,
        keys: &[&'static str],
        least: u32,
        most: u32,
    ) -> Result<Option<u32>, ModelError> {
        let Some(value) = self.any(keys) else {
            return Ok(None);
        };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.refused(Problem::Range {
                key: keys
                    .iter()
                    .find(|key| self.map.contains_key(**key))
                    .unwrap_or(&keys[0]),
                value: value.to_string().chars().take(40).collect(),
                least,
                most,
            })),
        }
    }

    pub fn required(&self, keys: &[&'static str]) -> Result<u32, ModelError> {
        self.number(keys, 1)?.ok_or_else(|| self.missing(keys[0]))
    }

    pub fn missing(&self, key: &'static str) -> ModelError {
        self.refused(Problem::Missing(key))
    }

    pub fn refused(&self, problem: Problem) -> ModelError {
        ModelError {
            model: self.model.to_owned(),
            problem,
        }
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    pub fn feed_forward(&self) -> FeedForward {
        self.known
            .map_or(FeedForward::Gated, |known| known.feed_forward)
    }
}
