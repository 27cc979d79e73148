//! The options of engines that we start.

use anyhow::bail;
use inferometer_catalog::engine::{LaunchCommand, Version};
use inferometer_core::options::ConnectionOptions;
use inferometer_core::scenario::SimClock;
use inferometer_core::units::Span;
use inferometer_runner::launch::EngineOptions;
use std::path::PathBuf;

/// An engine's command, and what it does not say.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArguments {
    /// Where the engine answers, if that is not on this host; {port} stands for the chosen port
    /// [http://127.0.0.1:PORT]
    #[arg(long, value_name = "URL")]
    pub engine_url: Option<String>,
    /// Command that stops an engine behind docker, ssh or srun, as in 'ssh host pkill vllm'
    /// [docker stop NAME for docker run --name NAME]
    #[arg(long, value_name = "COMMAND")]
    pub engine_stop: Option<String>,
    /// Version of an engine that cannot be asked for it, as behind docker, ssh or srun; what it
    /// refuses depends on it
    #[arg(long, value_name = "VERSION")]
    pub engine_version: Option<Version>,
    /// How long the engine may take until it answers [30m]
    #[arg(long, value_name = "TIME")]
    pub engine_timeout: Option<Span>,
    /// Log of a server that runs already, to read its weights, KV cache and version from
    #[arg(long, value_name = "FILE")]
    pub engine_log: Option<PathBuf>,
    /// MindIE's config.json; a copy with the chosen flags is written for each start
    #[arg(long, value_name = "FILE")]
    pub mindie_config: Option<PathBuf>,
    /// The command that starts an engine; {port} in it is replaced by a free port
    #[arg(last = true, value_name = "ENGINE COMMAND")]
    pub engine: Vec<String>,
}

impl EngineArguments {
    /// The same with the command parsed.
    pub fn options(&self) -> anyhow::Result<EngineOptions> {
        let given = !self.engine.is_empty();
        let command = given.then(|| LaunchCommand::parse(&self.engine));
        Ok(EngineOptions {
            command: command.transpose()?,
            url: self.engine_url.clone(),
            stop: self.engine_stop.clone(),
            version: self.engine_version,
            timeout: self.engine_timeout,
            log: self.engine_log.clone(),
            mindie_config: self.mindie_config.clone(),
        })
    }

    /// Refuses options that contradict each other.
    pub fn check(&self, connection: &ConnectionOptions) -> anyhow::Result<()> {
        if self.engine.is_empty() {
            let of_engine = [
                ("--engine-url", self.engine_url.is_some()),
                ("--engine-stop", self.engine_stop.is_some()),
                ("--engine-version", self.engine_version.is_some()),
                ("--engine-timeout", self.engine_timeout.is_some()),
                ("--mindie-config", self.mindie_config.is_some()),
            ];
            if let Some((name, _)) = of_engine.iter().find(|(_, given)| *given) {
                bail!("{name} is about an engine to be started; give its command after --");
            }
            return Ok(());
        }
        if self.engine_log.is_some() {
            bail!(
                "--engine-log is for a server that runs already; the log of a started engine is kept in the folder of the results"
            );
        }
        if connection.url.as_ref().is_some_and(|urls| !urls.is_empty()) {
            bail!(
                "give a URL to measure a server that runs, or a command after -- to start one, not both; where the started engine answers elsewhere, say so with --engine-url"
            );
        }
        if connection.sim_model.is_some() {
            bail!("--sim-model is the embedded engine's; the command after -- names its model");
        }
        let is_computed = connection.sim_clock == Some(SimClock::Virtual);
        if connection.sim_device.is_some() && !is_computed {
            bail!(
                "--sim-device is the simulated engine's; leave it out, or compute the command with --sim-clock virtual"
            );
        }
        Ok(())
    }
}
