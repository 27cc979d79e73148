//! `inferometer schema [NAME]`: the JSON Schemas of what we print and store.
//!
//! They are files of the repository, written from the types by the tests of this module, so that
//! an ordinary build needs nothing to make them.

#[cfg(test)]
mod forms;
#[cfg(test)]
mod tests;

use crate::exit::Exit;
use crate::output::print;
use anyhow::Context;

#[derive(clap::Args)]
pub struct SchemaArguments {
    /// Name of a form, such as summary [list them]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

macro_rules! schemas {
    ($($name:literal)+) => {
        [$(($name, include_str!(concat!("../../../../schemas/", $name, ".json")))),+]
    };
}

/// Each form, without `inferometer.` and `/1`, and its schema.
const SCHEMAS: [(&str, &str); 23] = schemas![
    "calibration" "capacity" "capacity-probes" "choice" "compare" "comparison" "data"
    "doctor" "from" "history" "import" "memory" "prediction" "runs"
    "searcher" "study" "summary" "sweep" "sweep-plan" "trials" "upload"
    "validation" "what-if"
];

pub fn run(arguments: &SchemaArguments) -> anyhow::Result<Exit> {
    let Some(asked) = &arguments.name else {
        let names: String = SCHEMAS
            .iter()
            .map(|(name, _)| format!("{name}\n"))
            .collect();
        print(&names)?;
        return Ok(Exit::Fine);
    };
    // As the object itself names its form, too.
    let name = asked.strip_prefix("inferometer.").unwrap_or(asked);
    let name = name.strip_suffix("/1").unwrap_or(name);
    let (_, schema) = (SCHEMAS.iter())
        .find(|(known, _)| *known == name)
        .with_context(|| {
            let known: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
            format!("'{asked}' is not a form; choose {}", known.join(", "))
        })?;
    print(schema)?;
    Ok(Exit::Fine)
}
