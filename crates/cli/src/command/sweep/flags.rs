//! `--engine-flag`: axes of the launch flags of an engine that is started.

use crate::launch::Flags;
use anyhow::{Context, bail};
use inferometer_campaign::axes::{Axis, Expression, Setting, Values};

/// A flag and its values as they were typed.
#[derive(Clone, Debug)]
pub struct EngineFlag {
    /// Its name, without dashes in front.
    name: String,
    values: String,
}

impl std::str::FromStr for EngineFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = "write NAME=V1,V2,…, as in max-num-seqs=64,128";
        let (name, values) = text.split_once('=').ok_or(shape)?;
        match name.trim().trim_start_matches('-') {
            "" => Err(shape.into()),
            name => Ok(EngineFlag {
                name: name.to_owned(),
                values: values.trim().to_owned(),
            }),
        }
    }
}

/// The axes of a sweep, those of flags first.
pub fn axes(flags: &[EngineFlag], others: Vec<Axis>) -> anyhow::Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for flag in flags {
        if others.iter().any(|axis| axis.name == flag.name) {
            bail!(
                "--{0} is an option of the measurement here, and --engine-flag {0} one of the engine; of the two only one can be in a sweep",
                flag.name
            );
        }
        let is_known = |name: &str| {
            name != flag.name
                && (flags.iter().any(|flag| flag.name == name)
                    || others.iter().any(|axis| axis.name == name))
        };
        let expression = flag.values.parse::<Expression>().ok();
        let derived = expression.filter(|expression| {
            let names = expression.names();
            !names.is_empty() && names.into_iter().all(is_known)
        });
        let values = match derived {
            Some(expression) => Values::Derived(expression),
            None => {
                (flag.values.parse()).with_context(|| format!("--engine-flag {}", flag.name))?
            }
        };
        axes.push(Axis {
            name: flag.name.clone(),
            values,
        });
    }
    axes.extend(others);
    Ok(axes)
}

/// The flags of a point.
pub fn chosen(flags: &[EngineFlag], point: &Setting) -> Flags {
    let value = |flag: &EngineFlag| Some((flag.name.clone(), point.0.get(&flag.name)?.clone()));
    flags.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_campaign::axes::{Combination, settings};

    fn flag(text: &str) -> EngineFlag {
        text.parse().unwrap()
    }

    fn load() -> Vec<Axis> {
        vec![Axis {
            name: "concurrency".to_owned(),
            values: "1,2".parse().unwrap(),
        }]
    }

    #[test]
    fn flags_change_slowest_and_may_depend_on_each_other() {
        let flags = [
            flag("--max-num-batched-tokens=128,512"),
            flag("max-num-seqs=min(256, max-num-batched-tokens)"),
            flag("enable-chunked-prefill=true"),
        ];
        let points = settings(&axes(&flags, load()).unwrap(), Combination::Product).unwrap();
        let chosen: Vec<Flags> = points.iter().map(|point| chosen(&flags, point)).collect();
        assert_eq!(chosen.len(), 4);
        assert_eq!(chosen[0], chosen[1]);
        assert_eq!(chosen[1]["max-num-seqs"], "128");
        assert_eq!(chosen[3]["max-num-seqs"], "256");
        assert_eq!(chosen[3]["enable-chunked-prefill"], "true");
    }

    #[test]
    fn a_name_means_one_thing_in_a_sweep() {
        let said = axes(&[flag("concurrency=1")], load())
            .unwrap_err()
            .to_string();
        assert!(said.contains("only one"), "{said}");
    }
}
