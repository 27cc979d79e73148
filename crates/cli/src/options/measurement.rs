//! The options of a measurement, from flags, the environment and a file.

use crate::chinese::errors::of_command_line;
use crate::language::spoken;
use anyhow::{Context, bail};
use clap::{Args, FromArgMatches};
use inferometer_core::options::{
    ConnectionOptions, LoadOptions, ObjectiveOptions, Options, RunOptions, WorkOptions,
};
use inferometer_text::Lang;
use inferometer_text::user_file;
use std::path::PathBuf;

/// The options of a measurement, from flags and from a file.
#[derive(Args, Default)]
pub struct MeasurementOptions {
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    pub load: LoadOptions,
    #[command(flatten)]
    work: WorkOptions,
    #[command(flatten)]
    objectives: ObjectiveOptions,
    /// Options from a file, such as the scenario.toml of a stored run; flags win over it
    #[arg(long, value_name = "FILE.toml", help_heading = "Run")]
    config: Option<PathBuf>,
}

impl MeasurementOptions {
    /// Flags over environment over file.
    pub fn layered(self) -> anyhow::Result<Options> {
        let below = match self.config_file()? {
            Some(file) => {
                if let Some((_, name, _)) = file.lists().first() {
                    bail!(
                        "--config {0}: {name} is a list there, and several values are a sweep: inferometer sweep --config {0}",
                        file.path.display()
                    );
                }
                file.options()?
            }
            None => Options::default(),
        };
        self.layered_over(below)
    }

    /// Flags over environment over what a file says.
    pub fn layered_over(self, below: Options) -> anyhow::Result<Options> {
        let environment = Self::from_environment()?;
        Ok(self.options().over(environment.options()).over(below))
    }

    /// The file that a flag or the environment names.
    pub fn config_file(&self) -> anyhow::Result<Option<ConfigFile>> {
        let file = match &self.config {
            Some(file) => Some(file.clone()),
            None => Self::from_environment()?.config,
        };
        file.map(ConfigFile::read).transpose()
    }

    /// What `INFEROMETER_…` variables say: a layer of its own, so that a flag silences its
    /// alternatives there as it does in a file.
    fn from_environment() -> anyhow::Result<MeasurementOptions> {
        let command = Self::augment_args(clap::Command::new("inferometer"));
        let matches = command
            .mut_args(from_variable)
            .try_get_matches_from(["inferometer"])
            .map_err(|error| {
                if let (Lang::Zh, Some(said)) = (spoken(), of_command_line(&error)) {
                    return anyhow::anyhow!("{said}；该值来自环境变量（INFEROMETER_…）");
                }
                let text = error.render().to_string();
                let said = text.split("\n\n").next().unwrap_or_default();
                let said = said.trim_start_matches("error: ").to_owned();
                anyhow::anyhow!("{said}; it was read from the environment (INFEROMETER_…)")
            })?;
        Ok(Self::from_arg_matches(&matches)?)
    }

    fn options(self) -> Options {
        Options {
            run: self.run,
            connection: self.connection,
            load: self.load,
            work: self.work,
            objectives: self.objectives,
        }
    }
}

/// A file of options, in which a sweep may have lists.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    pub path: PathBuf,
    text: String,
    tables: toml::Table,
}

/// Options that are lists in every file.
const OWN_LISTS: [&str; 8] = [
    "url",
    "source-address",
    "tag",
    "header-names",
    "stop",
    "stop-when",
    "slo",
    "threshold",
];

impl ConfigFile {
    fn read(path: PathBuf) -> anyhow::Result<Self> {
        let text = user_file::read_text(&path)
            .with_context(|| format!("cannot read --config {}; check the path", path.display()))?;
        // What is no TOML is told with its line by whoever reads the options.
        let tables = text.parse().unwrap_or_default();
        Ok(ConfigFile { path, text, tables })
    }

    /// Options with several values: table, name and the list as it would be typed.
    pub fn lists(&self) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        for (topic, table) in &self.tables {
            for (name, value) in table.as_table().into_iter().flatten() {
                let values = value
                    .as_array()
                    .filter(|_| !OWN_LISTS.contains(&name.as_str()));
                let Some(values) = values else { continue };
                let words: Vec<String> = values.iter().map(word).collect();
                found.push((topic.clone(), name.clone(), words.join(",")));
            }
        }
        found
    }

    /// The file's options, where it has no list.
    pub fn options(&self) -> anyhow::Result<Options> {
        let place = || format!("--config {}", self.path.display());
        Options::from_toml(&self.text).with_context(place)
    }

    /// The same with a word in the place of each list.
    pub fn options_with(&self, words: &[(String, String, String)]) -> anyhow::Result<Options> {
        if words.is_empty() {
            return self.options();
        }
        let mut tables = self.tables.clone();
        for (topic, name, word) in words {
            let list = tables.get_mut(topic).and_then(|table| table.get_mut(name));
            if let Some(list) = list {
                // Numbers stay numbers: what a file may say of an option is its own affair.
                let number = word.parse().ok().map(toml::Value::Integer);
                let number = number.or_else(|| word.parse().ok().map(toml::Value::Float));
                let was_text = list.get(0).is_some_and(toml::Value::is_str);
                let number = number.filter(|_| !was_text);
                *list = number.unwrap_or_else(|| toml::Value::String(word.clone()));
            }
        }
        let place = || format!("--config {}", self.path.display());
        Options::from_toml(&toml::to_string(&tables)?).with_context(place)
    }
}

/// A value as it is typed.
fn word(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Lets an option with a long name be given by its variable.
pub fn from_variable(argument: clap::Arg) -> clap::Arg {
    match argument.get_long() {
        Some(long) if long != "help" => {
            let variable =
                |name: &str| format!("INFEROMETER_{}", name.to_uppercase().replace('-', "_"));
            // A variable by the old name of an option still counts.
            let olds = argument.get_all_aliases().unwrap_or_default();
            let old = olds.into_iter().map(variable);
            let old = old.filter(|_| std::env::var_os(variable(long)).is_none());
            let mut old = old.filter(|name| std::env::var_os(name).is_some());
            let variable = old.next().unwrap_or_else(|| variable(long));
            argument
                .env(std::ffi::OsString::from(variable))
                .hide_env(true)
        }
        _ => argument,
    }
}
