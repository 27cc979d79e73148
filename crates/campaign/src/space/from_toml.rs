//! A flag's values as a study writes them.

use super::definition::{Derived, Dimension, Space, SpaceError};
use super::domain::{Domain, DomainError, Spacing};
use super::preset;
use super::value::Value;
use inferometer_catalog::engine::value::switch;
use inferometer_catalog::engine::{EngineKind, Flag, Version, flag, nearest_names};
use inferometer_catalog::nearest::{a_few, nearest};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `{ int = [16, 1024], log = true }`, `[16, 32]`, `"min(256, other)"` …
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "write { int = [16, 1024], log = true }, { float = [0.8, 0.95], step = 0.05 }, { bool = true }, [16, 32] or an expression such as \"min(256, max-num-batched-tokens)\""
)]
pub enum DomainSpec {
    /// It follows from other flags.
    Derived(String),
    /// One of these, as in `{ choice = [16, 32] }`.
    Listed(Vec<Value>),
    Searched(RangeSpec),
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeSpec {
    int: Option<[i64; 2]>,
    float: Option<[f64; 2]>,
    bool: Option<bool>,
    choice: Option<Vec<Value>>,
    step: Option<f64>,
    #[serde(default)]
    log: bool,
}

impl RangeSpec {
    /// Choices of a switch are on and off, however they are written.
    fn domain(&self, flag: &str, known: Option<&Flag>) -> Result<Domain, SpaceError> {
        let spacing = if self.log {
            Spacing::Log(self.step)
        } else {
            Spacing::Linear(self.step)
        };
        let spaced = self.step.is_some() || self.log;
        let domain = match (self.int, self.float, self.bool, &self.choice) {
            (Some([low, high]), None, None, None) => Domain::int(low, high, spacing),
            (None, Some([low, high]), None, None) => Domain::float(low, high, spacing),
            (None, None, Some(true), None) if !spaced => Ok(Domain::bool()),
            (None, None, None, Some(values)) if !spaced => {
                let is_switch = known.is_some_and(|known| !known.kind.takes_value());
                let read = |value: &Value| {
                    if is_switch {
                        switched(flag, value)
                    } else {
                        Ok(value.clone())
                    }
                };
                Domain::choice(values.iter().map(read).collect::<Result<_, _>>()?)
            }
            _ => {
                return Err(SpaceError::NoRange {
                    flag: flag.to_owned(),
                });
            }
        };
        domain.map_err(|error: DomainError| SpaceError::Domain {
            flag: flag.to_owned(),
            error,
        })
    }
}

fn switched(flag: &str, value: &Value) -> Result<Value, SpaceError> {
    let word = value.to_string();
    match switch(&word) {
        Some(on) => Ok(Value::Bool(on)),
        None => Err(SpaceError::NoSwitch {
            flag: flag.to_owned(),
            word,
        }),
    }
}

impl Space {
    /// The space of a study: presets first, then what is given by name, which counts more. Else
    /// all that is wrong with it.
    pub fn of_study(
        engine: EngineKind,
        version: Version,
        presets: &[String],
        given: &BTreeMap<String, DomainSpec>,
    ) -> Result<Self, Vec<SpaceError>> {
        let mut searched: BTreeMap<String, Domain> = BTreeMap::new();
        let mut derived: Vec<Derived> = Vec::new();
        let mut wrong: Vec<SpaceError> = Vec::new();
        for name in presets {
            match preset::named(name) {
                Ok(preset) => {
                    let each = preset.dimensions().into_iter();
                    searched.extend(each.map(|it| (it.name, it.domain)));
                }
                Err(error) => wrong.push(error),
            }
        }
        for (name, given) in given {
            if wrong.len() >= MOST_MISTAKES {
                break;
            }
            // MindIE's keys may be given by their last part, as in a sweep.
            let whole = (engine == EngineKind::Mindie).then(|| flag::mindie_key(name));
            let name = whole.flatten().map_or_else(|| name.clone(), str::to_owned);
            match known(engine, version, &name).and_then(|known| given.read(&name, known)) {
                Ok(Given::Searched(domain)) => {
                    searched.insert(name, domain);
                }
                Ok(Given::Derived(follower)) => {
                    searched.remove(&name);
                    derived.push(follower);
                }
                Err(error) => wrong.push(error),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let dimensions = searched.into_iter().map(Dimension::from);
        Space::new(dimensions.collect(), derived).map_err(|error| vec![error])
    }
}

/// Nobody reads more of them, and for each the nearest flag is looked for.
const MOST_MISTAKES: usize = 50;

/// A flag's values, or what they follow from.
enum Given {
    Searched(Domain),
    Derived(Derived),
}

impl DomainSpec {
    fn read(&self, name: &str, known: Option<&Flag>) -> Result<Given, SpaceError> {
        match self {
            DomainSpec::Searched(range) => range.domain(name, known).map(Given::Searched),
            DomainSpec::Listed(values) => {
                let choice = RangeSpec {
                    choice: Some(values.clone()),
                    ..RangeSpec::default()
                };
                choice.domain(name, known).map(Given::Searched)
            }
            DomainSpec::Derived(text) => match text.parse() {
                Ok(expression) => Ok(Given::Derived(Derived {
                    name: name.to_owned(),
                    expression,
                })),
                Err(error) => Err(SpaceError::Expression {
                    flag: name.to_owned(),
                    error,
                }),
            },
        }
    }
}

/// The engine's flag; of a custom engine nothing is known.
fn known(
    engine: EngineKind,
    version: Version,
    name: &str,
) -> Result<Option<&'static Flag>, SpaceError> {
    let found = flag(engine, version, name);
    if engine == EngineKind::Custom || found.is_some() {
        return Ok(found);
    }
    let gone = flag::table(engine).iter().any(|flag| flag.name == name);
    let nearest = match engine {
        EngineKind::Mindie => nearest_keys(name),
        _ => nearest_names(engine, version, name),
    };
    let nearest = match nearest.as_slice() {
        _ if gone => format!(" in version {version}; take it out"),
        [] if engine == EngineKind::Mindie => {
            let keys = flag::table(engine).iter().map(|flag| last_part(&flag.name));
            format!("; it has {}", a_few(&keys.collect::<Vec<_>>(), name))
        }
        [] => "; its --help lists them".to_owned(),
        names => format!("; did you mean {}?", names.join(", ")),
    };
    Err(SpaceError::UnknownFlag {
        engine: engine.word(),
        flag: name.to_owned(),
        nearest,
    })
}

/// Keys of MindIE's file go by their last part, in which capitals are easily mistaken.
fn nearest_keys(name: &str) -> Vec<&'static str> {
    let keys = flag::table(EngineKind::Mindie).iter();
    let keys: Vec<&str> = keys.map(|flag| last_part(&flag.name)).collect();
    let small: Vec<String> = keys.iter().map(|key| key.to_lowercase()).collect();
    let name = last_part(name).to_lowercase();
    let found = nearest(small.iter().map(String::as_str), &name);
    let place = |near: &str| small.iter().position(|key| key == near);
    (found.into_iter())
        .filter_map(|near| Some(keys[place(near)?]))
        .collect()
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_mindie_get_the_nearest_name() {
        assert_eq!(nearest_keys("maxPrefilTokens")[0], "maxPrefillTokens");
        assert_eq!(nearest_keys("maxbatchsize")[0], "maxBatchSize");
    }

    fn space(flag: &str, range: &str) -> Result<Space, String> {
        let given: BTreeMap<String, DomainSpec> =
            toml::from_str(&format!("{flag} = {range}")).unwrap();
        let newest = EngineKind::Vllm.newest();
        let space = Space::of_study(EngineKind::Vllm, newest, &[], &given);
        space.map_err(|errors| errors[0].to_string())
    }

    #[test]
    fn mistakes_without_number_are_told_as_far_as_anybody_reads() {
        let given = (0..3000).map(|at| (format!("flag-{at}"), DomainSpec::Listed(Vec::new())));
        let newest = EngineKind::Vllm.newest();
        let wrong = Space::of_study(EngineKind::Vllm, newest, &[], &given.collect());
        assert_eq!(wrong.unwrap_err().len(), MOST_MISTAKES);
    }

    #[test]
    fn a_bare_list_is_a_choice() {
        for listed in ["[64, 256]", "{ choice = [64, 256] }"] {
            let levels = space("max-num-seqs", listed).unwrap().dimensions()[0]
                .domain
                .levels();
            assert_eq!(levels, [Value::Int(64), Value::Int(256)], "{listed}");
        }
    }

    #[test]
    fn choices_of_a_switch_are_on_and_off_however_they_are_written() {
        for words in [
            r#"["on", "off"]"#,
            "[1, 0]",
            r#"["Yes", "no"]"#,
            "[true, false]",
        ] {
            let space = space("enable-prefix-caching", &format!("{{ choice = {words} }}"));
            let levels = space.unwrap().dimensions()[0].domain.levels();
            assert_eq!(levels, [Value::Bool(true), Value::Bool(false)], "{words}");
        }
        let said = space("enable-prefix-caching", r#"{ choice = ["on", "maybe"] }"#);
        assert!(said.unwrap_err().contains("'maybe' says neither"));
        // Words of other flags stay what they are.
        let space = space("kv-cache-dtype", r#"{ choice = ["auto", "fp8"] }"#).unwrap();
        let auto = Value::Text("auto".into());
        assert_eq!(space.dimensions()[0].domain.levels()[0], auto);
    }
}
