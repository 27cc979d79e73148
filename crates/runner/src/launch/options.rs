//! An engine's command, and what the command does not say.

use inferometer_catalog::engine::{LaunchCommand, Version};
use inferometer_core::units::Span;
use inferometer_text::secret::without_secrets;
use std::path::PathBuf;

#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// The engine to start; absent where the server runs already or is embedded.
    pub command: Option<LaunchCommand>,
    /// Where it answers, if that is not on this host; `{port}` stands for the chosen port.
    pub url: Option<String>,
    /// Command that stops an engine behind docker, ssh or srun.
    pub stop: Option<String>,
    /// Version of an engine that cannot be asked for it.
    pub version: Option<Version>,
    /// How long it may take until it answers.
    pub timeout: Option<Span>,
    /// Log of a server that runs already.
    pub log: Option<PathBuf>,
    pub mindie_config: Option<PathBuf>,
}

impl EngineOptions {
    /// What was given beside the command, as it can be typed again, without secrets.
    pub fn words(&self) -> Vec<String> {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let given = [
            ("--engine-url", self.url.clone()),
            ("--engine-stop", self.stop.clone()),
            (
                "--engine-version",
                self.version.as_ref().map(ToString::to_string),
            ),
            (
                "--engine-timeout",
                self.timeout.as_ref().map(ToString::to_string),
            ),
            ("--engine-log", self.log.as_ref().map(path)),
            ("--mindie-config", self.mindie_config.as_ref().map(path)),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_owned(), value?]));
        without_secrets(&given.flatten().collect::<Vec<String>>())
    }
}
