//! `--engine-flag`: axes of the launch flags of an engine that is started.

use crate::error::{Context as _, RunnerError, bail};
use crate::launch::Flags;
use inferometer_campaign::axes::{Axis, Expression, Setting, Values};
use inferometer_catalog::engine::value::switch;
use inferometer_catalog::engine::{EngineKind, Lookup, flag, lookup, nearest};

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
pub fn axes(flags: &[EngineFlag], others: Vec<Axis>) -> Result<Vec<Axis>, RunnerError> {
    let mut axes = Vec::new();
    for flag in flags {
        if others.iter().any(|axis| axis.name == flag.name) {
            bail!(
                "--{0} is an option of the measurement here, and --engine-flag {0} one of the engine; of the two only one can be in a sweep",
                flag.name
            );
        }
        let values = match derived(flag, flags, &others)? {
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

/// The expression that a flag's value follows from, where it is one: `min(…)` and `max(…)`
/// always, anything else if it names what is in the sweep, or nearly does.
fn derived(
    flag: &EngineFlag,
    flags: &[EngineFlag],
    others: &[Axis],
) -> Result<Option<Expression>, RunnerError> {
    let known = || {
        let flags = flags.iter().map(|flag| flag.name.as_str());
        flags.chain(others.iter().map(|axis| axis.name.as_str()))
    };
    let is_call = ["min(", "max("]
        .iter()
        .any(|call| flag.values.contains(call));
    let expression = match flag.values.parse::<Expression>() {
        Ok(expression) => expression,
        Err(error) if is_call => bail!("--engine-flag {}: {error}", flag.name),
        Err(_) => return Ok(None),
    };
    let names = expression.names();
    if names.is_empty() && !is_call {
        return Ok(None);
    }
    if names.contains(flag.name.as_str()) && (is_call || expression.is_computed()) {
        bail!("--engine-flag {0}: '{0}' depends on itself", flag.name);
    }
    let Some(unknown) = names
        .iter()
        .find(|name| **name == flag.name || known().all(|known| known != **name))
    else {
        return Ok(Some(expression));
    };
    let near = nearest(known().filter(|name| *name != flag.name), unknown);
    let remedy = match near.first() {
        Some(name) => format!("did you mean {name}?"),
        None if is_call => format!("give it too, as in --engine-flag {unknown}=V1,V2"),
        // A path such as org/model is a value.
        None => return Ok(None),
    };
    // A word alone is a value, however near it is to a name.
    if !(is_call || expression.is_computed()) {
        return Ok(None);
    }
    bail!(
        "--engine-flag {}: '{unknown}' in '{expression}' is not in this sweep; {remedy}",
        flag.name
    )
}

/// Refuses words that say neither on nor off for a switch of the engine, and a switch by its
/// negative name, before anything is started.
pub fn check_switches<'a>(
    engine: EngineKind,
    points: impl Iterator<Item = &'a Flags>,
) -> Result<(), RunnerError> {
    for (name, word) in points.flatten() {
        let Lookup::Found { flag: known, on } = lookup(engine, None, &format!("--{name}")) else {
            continue;
        };
        let is_switch = flag::table(engine)
            .iter()
            .any(|flag| flag.name == known && !flag.kind.takes_value());
        if is_switch && !on {
            bail!("--engine-flag {name}: give it as {known}=true,false");
        }
        if is_switch && switch(word).is_none() {
            bail!(
                "--engine-flag {name} is on or off, and '{word}' says neither; write true or false"
            );
        }
    }
    Ok(())
}

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
    fn a_misspelt_reference_is_named_with_its_neighbour() {
        let said = |text: &str| {
            let flags = [flag("max-num-batched-tokens=128,512"), flag(text)];
            axes(&flags, load()).map_err(|error| error.to_string())
        };
        let of = |text: &str| said(text).unwrap_err();
        for text in [
            "max-num-seqs=min(256, max-num-batched-token)",
            "max-num-seqs=max-num-batched-token/2",
        ] {
            let said = of(text);
            assert!(said.contains("'max-num-batched-token' in"), "{said}");
            assert!(
                said.contains("did you mean max-num-batched-tokens?"),
                "{said}"
            );
        }
        let said_of_absent = of("max-num-seqs=min(256, block-size)");
        assert!(said_of_absent.contains("--engine-flag block-size=V1,V2"));
        assert!(of("max-num-seqs=min(256, max-num-seqs)").contains("itself"));
        assert!(of("max-num-seqs=min(256, ").contains("cannot be read"));
        // Words and paths are values.
        for value in [
            "dtype=auto",
            "tokenizer=Qwen/Qwen2",
            "kv-cache-dtype=auto,fp8",
        ] {
            assert!(said(value).is_ok(), "{value}");
        }
    }

    #[test]
    fn a_switch_is_on_or_off_and_nothing_else() {
        let said = |name: &str, word: &str| {
            let flags = Flags::from([(name.to_owned(), word.to_owned())]);
            check_switches(EngineKind::Vllm, [flags].iter()).map_err(|error| error.to_string())
        };
        for word in ["on", "OFF", "0", "1", "true", "No"] {
            assert_eq!(said("enable-prefix-caching", word), Ok(()), "{word}");
        }
        let refused = said("enable-prefix-caching", "maybe").unwrap_err();
        assert!(refused.contains("'maybe' says neither"), "{refused}");
        let refused = said("no-enable-prefix-caching", "true").unwrap_err();
        assert!(
            refused.contains("enable-prefix-caching=true,false"),
            "{refused}"
        );
        // Other flags take any word, and an unknown engine any flag.
        assert_eq!(said("kv-cache-dtype", "maybe"), Ok(()));
        assert_eq!(said("brand-new", "maybe"), Ok(()));
    }

    #[test]
    fn a_name_means_one_thing_in_a_sweep() {
        let said = axes(&[flag("concurrency=1")], load())
            .unwrap_err()
            .to_string();
        assert!(said.contains("only one"), "{said}");
    }
}
