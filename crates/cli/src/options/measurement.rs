//! The options of a measurement, from flags, the environment and a file.

use anyhow::Context;
use clap::{Args, FromArgMatches};
use inferometer_core::options::{
    ConnectionOptions, LoadOptions, ObjectiveOptions, Options, RunOptions, WorkOptions,
};
use std::path::PathBuf;

/// The options of a measurement, from flags and from a file.
#[derive(Args)]
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
        let environment = Self::from_environment()?;
        let file = self.config.clone().or(environment.config.clone());
        let options = self.options().over(environment.options());
        let Some(file) = file else {
            return Ok(options);
        };
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read --config {}; check the path", file.display()))?;
        let below =
            Options::from_toml(&text).with_context(|| format!("--config {}", file.display()))?;
        Ok(options.over(below))
    }

    /// What `INFEROMETER_…` variables say: a layer of its own, so that a flag silences its
    /// alternatives there as it does in a file.
    fn from_environment() -> anyhow::Result<MeasurementOptions> {
        let command = Self::augment_args(clap::Command::new("inferometer"));
        let matches = command
            .mut_args(from_variable)
            .try_get_matches_from(["inferometer"])
            .map_err(|error| {
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

/// Lets an option with a long name be given by its variable.
pub fn from_variable(argument: clap::Arg) -> clap::Arg {
    match argument.get_long() {
        Some(long) if long != "help" => {
            let variable = format!("INFEROMETER_{}", long.to_uppercase().replace('-', "_"));
            argument
                .env(std::ffi::OsString::from(variable))
                .hide_env(true)
        }
        _ => argument,
    }
}
