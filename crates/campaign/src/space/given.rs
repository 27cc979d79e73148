//! A flag's values as a study writes them.

use super::{Derived, Dimension, Domain, DomainError, Space, SpaceError, Spacing, Value, preset};
use inferometer_catalog::engine::{EngineKind, Version, flag, nearest_names};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `{ int = [16, 1024], log = true }`, `{ choice = [16, 32] }`, `"min(256, other)"` …
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "write { int = [16, 1024], log = true }, { float = [0.8, 0.95], step = 0.05 }, { bool = true }, { choice = [16, 32] } or an expression such as \"min(256, max-num-batched-tokens)\""
)]
pub enum GivenDomain {
    /// It follows from other flags.
    Derived(String),
    /// It is searched.
    Searched(GivenRange),
}

/// The fields of a searched flag.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenRange {
    int: Option<[i64; 2]>,
    float: Option<[f64; 2]>,
    bool: Option<bool>,
    choice: Option<Vec<Value>>,
    step: Option<f64>,
    #[serde(default)]
    log: bool,
}

impl GivenRange {
    fn domain(&self, flag: &str) -> Result<Domain, SpaceError> {
        let spacing = match self.log {
            true => Spacing::Log(self.step),
            false => Spacing::Linear(self.step),
        };
        let spaced = self.step.is_some() || self.log;
        let domain = match (self.int, self.float, self.bool, &self.choice) {
            (Some([low, high]), None, None, None) => Domain::int(low, high, spacing),
            (None, Some([low, high]), None, None) => Domain::float(low, high, spacing),
            (None, None, Some(true), None) if !spaced => Ok(Domain::bool()),
            (None, None, None, Some(values)) if !spaced => Domain::choice(values.clone()),
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

impl Space {
    /// The space of a study: presets first, then what is given by name, which counts more.
    pub fn of_study(
        engine: EngineKind,
        version: Version,
        presets: &[String],
        given: &BTreeMap<String, GivenDomain>,
    ) -> Result<Self, SpaceError> {
        let mut searched: BTreeMap<String, Domain> = BTreeMap::new();
        let mut derived: Vec<Derived> = Vec::new();
        for name in presets {
            for dimension in preset::named(name)?.dimensions() {
                searched.insert(dimension.name, dimension.domain);
            }
        }
        for (name, given) in given {
            known(engine, version, name)?;
            match given {
                GivenDomain::Derived(text) => {
                    let expression = text.parse().map_err(|error| SpaceError::Expression {
                        flag: name.clone(),
                        error,
                    })?;
                    searched.remove(name);
                    derived.push(Derived {
                        name: name.clone(),
                        expression,
                    });
                }
                GivenDomain::Searched(range) => {
                    searched.insert(name.clone(), range.domain(name)?);
                }
            }
        }
        let searched = searched.into_iter();
        Space::new(
            searched
                .map(|(name, domain)| Dimension { name, domain })
                .collect(),
            derived,
        )
    }
}

/// Whether the engine has the flag; of a custom engine nothing is known.
fn known(engine: EngineKind, version: Version, name: &str) -> Result<(), SpaceError> {
    if engine == EngineKind::Custom || flag(engine, version, name).is_some() {
        return Ok(());
    }
    let gone = flag::table(engine).iter().any(|flag| flag.name == name);
    let nearest = nearest_names(engine, version, name);
    let nearest = match nearest.as_slice() {
        _ if gone => format!(" in version {version}; take it out"),
        [] => "; its --help lists them".to_owned(),
        names => format!("; did you mean {}?", names.join(", ")),
    };
    Err(SpaceError::UnknownFlag {
        engine: engine.word(),
        flag: name.to_owned(),
        nearest,
    })
}
