//! All that a start of an engine needs.

use crate::describe::Engine;
use crate::device::DeviceTool;
use crate::readiness::Readiness;
use crate::supervisor::{StopSignal, Supervisor};
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::with_defaults;
use inferometer_fetch::Access;
use std::path::{Path, PathBuf};
use std::time::Duration;

with_defaults! {
    /// How long each thing may take.
    #[derive(Clone, Copy, Debug)]
    pub struct LaunchTimeouts {
        /// From the start until it answers.
        pub ready: Duration = Duration::from_secs(30 * 60),
        /// Silence of the log before that.
        pub silence: Duration = Duration::from_secs(10 * 60),
        /// From the polite request to end until it is killed.
        pub stop: Duration = Duration::from_secs(30),
        /// From its end until the devices' memory is back.
        pub memory: Duration = Duration::from_secs(60),
    }
}

#[derive(Clone, Debug)]
pub struct Launch {
    pub engine: EngineKind,
    pub words: Vec<String>,
    /// Added to our own environment.
    pub environment: Vec<(String, String)>,
    /// The server that is measured, whatever port the command names.
    pub url: String,
    pub access: Access,
    pub log: PathBuf,
    pub ready: Readiness,
    pub timeouts: LaunchTimeouts,
    /// How it is asked to end.
    pub signal: StopSignal,
    /// The command that stops it where a signal to the client does not.
    pub stop: Option<Vec<String>>,
    /// The folder with notes of engines that are up; absent for none.
    pub registry: Option<PathBuf>,
    pub supervisor: Supervisor,
    pub devices: Option<DeviceTool>,
}

impl Launch {
    /// The start of a described engine that listens on `port`, which also replaces `{port}` in
    /// the command; without one the command's own port counts.
    pub fn new(engine: &Engine, port: Option<u16>, log: &Path, supervisor: Supervisor) -> Self {
        let (words, environment) = engine.spawnable();
        let port = port.unwrap_or_else(|| engine.port());
        let mut launch = Launch {
            engine: engine.kind(),
            words,
            environment,
            url: format!("http://127.0.0.1:{}", engine.outer_port(port)),
            access: Access::default(),
            log: log.to_owned(),
            ready: Readiness::of(engine.kind()),
            timeouts: LaunchTimeouts::default(),
            signal: engine.stop_signal(),
            stop: engine.stop_command(),
            registry: None,
            supervisor,
            devices: None,
        };
        launch.place(port);
        launch
    }

    /// Replaces `{port}` wherever it stands.
    pub fn place(&mut self, port: u16) {
        let port = port.to_string();
        let values = self.environment.iter_mut().map(|(_, value)| value);
        let words = self.words.iter_mut().chain(self.stop.iter_mut().flatten());
        for text in words.chain(values).chain([&mut self.url]) {
            *text = text.replace("{port}", &port);
        }
    }
}
