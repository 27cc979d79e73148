//! `--where NAME=VALUE`: those results of which something is known to be so.

use anyhow::bail;
use std::collections::BTreeSet;

/// Most values that an error names.
const MOST_NAMED: usize = 8;

/// A name and the value that it must have.
pub type Condition = (String, String);

pub fn condition(text: &str) -> Result<Condition, String> {
    let (name, value) = (text.split_once('='))
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or("write NAME=VALUE, as in model=Qwen2.5-7B or concurrency=64")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Those that meet all conditions, by the values that each has of a name; an error where there is
/// none.
pub fn chosen<T>(
    mut all: Vec<T>,
    only: &[Condition],
    values: impl Fn(&T, &str) -> Vec<String>,
) -> anyhow::Result<Vec<T>> {
    for (name, value) in only {
        let mut known: BTreeSet<String> = BTreeSet::new();
        all.retain(|one| {
            let own = values(one, name);
            let meets = own.iter().any(|own| is_meant(name, own, value));
            known.extend(own);
            meets
        });
        if !all.is_empty() {
            continue;
        }
        if known.is_empty() {
            bail!(
                "no run says anything of '{name}'; --where takes options, tags, model, server, engine, label and url"
            );
        }
        let more = known.len().saturating_sub(MOST_NAMED);
        let known: Vec<String> = known.into_iter().take(MOST_NAMED).collect();
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        bail!(
            "no run has {name}={value}; there is {}{more}",
            known.join(", ")
        );
    }
    Ok(all)
}

/// Whether a value is the one asked for; an engine may be named without its version.
fn is_meant(name: &str, own: &str, asked: &str) -> bool {
    let whole = own.eq_ignore_ascii_case(asked);
    let first = own.split([' ', ',']).next().unwrap_or(own);
    whole || (["engine", "server"].contains(&name) && first.eq_ignore_ascii_case(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_conditions_must_be_met_and_an_error_names_a_few_of_the_values_there_are() {
        let all: Vec<(&str, u32)> = (0..20).map(|at| ("m", at)).collect();
        let values = |one: &(&str, u32), name: &str| match name {
            "model" => vec![one.0.to_owned()],
            "load" => vec![one.1.to_string()],
            "engine" => vec![format!("vllm 0.{}.0", one.1)],
            _ => Vec::new(),
        };
        let only = |texts: &[&str]| -> Vec<Condition> {
            texts.iter().map(|text| condition(text).unwrap()).collect()
        };
        let found = chosen(all.clone(), &only(&["model=M", "load=7"]), values).unwrap();
        assert_eq!(found, [("m", 7)]);
        let named = |engine: &str| chosen(all.clone(), &only(&[engine]), values).unwrap().len();
        assert_eq!(named("engine=vLLM"), 20, "without a version");
        assert_eq!(named("engine=vllm 0.3.0"), 1);
        let error = |text: &str| {
            let refused = chosen(all.clone(), &only(&[text]), values);
            refused.unwrap_err().to_string()
        };
        assert!(
            error("load=99").ends_with("and 12 more"),
            "{}",
            error("load=99")
        );
        assert!(error("colour=red").contains("says anything of 'colour'"));
        assert!(condition("=x").is_err() && condition("x").is_err());
    }
}
