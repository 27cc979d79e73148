//! From a command to a running engine: described and probed once, checked and started for each
//! choice of flags.

use super::address::{self, Address};
use super::inherited::{device_variable, visible_devices, with_inherited};
use super::{EngineOptions, LaunchedEngine};
use crate::engine_failure::EngineFailure;
use crate::error::{Context as _, RunnerError, bail, with_causes};
use crate::observer::{Event, Observer};
use crate::session::Session;
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::flag::{Lookup, lookup};
use inferometer_catalog::engine::mindie::{Config, Server};
use inferometer_catalog::engine::words::split;
use inferometer_catalog::engine::{DeviceClass, DeviceKind, EngineKind, LaunchCommand, Version};
use inferometer_core::environment::StartedEngine;
use inferometer_core::server::DeviceState;
use inferometer_engine::{
    Access, ConfigCopy, DeviceTool, Engine, Interview, Launch, LaunchTimeouts, Proof,
    SUPERVISOR_WORD, StartProgress, Supervisor, changed_config, device_class, leftovers,
};
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use inferometer_text::hostile::printable;
use inferometer_text::secret::without_secrets;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Flags that a sweep or a study chose, by their names without dashes.
pub type Flags = BTreeMap<String, String>;

/// Longest time for all questions to the installed engine: it loads half a framework first.
const PROBE: Duration = Duration::from_secs(120);

/// What `{port}` is in the command of an engine that is computed.
const COMPUTED_PORT: u16 = 8000;

/// Cards of the host of a computed engine.
pub const CARDS: u32 = 8;

#[derive(Clone)]
pub struct Launcher {
    engine: Engine,
    flags: Flags,
    options: EngineOptions,
    stop: Option<Vec<String>>,
    devices: Option<DeviceTool>,
    /// What it may run on: this host's devices, or any where it runs elsewhere.
    classes: Vec<DeviceClass>,
    registry: Option<PathBuf>,
    /// Added to the environment that the engine inherits.
    environment: Vec<(String, String)>,
    session: Arc<Session>,
}

impl Launcher {
    /// Describes the engine of a command and asks the installed one for its version, unless that
    /// is given. `flags` are some that will be chosen, so that it is asked about these, too.
    pub fn new(
        command: LaunchCommand,
        options: &EngineOptions,
        flags: &Flags,
        session: &Arc<Session>,
        observer: &mut dyn Observer,
    ) -> Result<Launcher, RunnerError> {
        if !flags.is_empty() {
            takes_flags(&command)?;
        }
        let stop = options.stop.as_deref();
        let stop = stop.map(split).transpose().context("--engine-stop")?;
        let registry = (session.cache_folder()).map(|folder| folder.join("engines"));
        for leftover in registry.iter().flat_map(|folder| leftovers(folder)) {
            observer.notice(leftover.to_string());
        }
        let engine = Engine::of(with_flags(&command, flags));
        let engine = probed(engine, options.version, session, observer)
            .with_command(with_inherited(command, session));
        let devices = DeviceTool::find();
        let classes = classes(&engine, devices.as_ref());
        Ok(Launcher {
            engine,
            flags: Flags::new(),
            options: options.clone(),
            stop,
            devices,
            classes,
            registry,
            environment: Vec::new(),
            session: Arc::clone(session),
        })
    }

    /// An engine that is computed on a device, never started: nobody is asked.
    pub fn of_computed(
        command: LaunchCommand,
        options: &EngineOptions,
        device: &Device,
        session: &Arc<Session>,
    ) -> Launcher {
        // Nobody listens there.
        let engine = Engine::of(command.with_port(COMPUTED_PORT));
        let version = options.version.unwrap_or(engine.version());
        Launcher {
            engine: engine.of_version(Some(version)),
            flags: Flags::new(),
            options: options.clone(),
            stop: None,
            devices: None,
            classes: vec![DeviceClass::of(device, CARDS)],
            registry: None,
            environment: Vec::new(),
            session: Arc::clone(session),
        }
    }

    /// The same engine with these flags in place of the command's own.
    pub fn with_flags(&self, flags: &Flags) -> Launcher {
        let command = match self.options.mindie_config {
            // MindIE's flags are in its file.
            Some(_) => self.engine.command().clone(),
            None => with_flags(self.engine.command(), flags),
        };
        self.with_command(command, flags)
    }

    /// The same engine by a command that has these flags already.
    pub fn with_command(&self, command: LaunchCommand, flags: &Flags) -> Launcher {
        let mut all = self.flags.clone();
        all.extend(flags.clone());
        Launcher {
            engine: self
                .engine
                .clone()
                .with_command(with_inherited(command, &self.session)),
            flags: all,
            ..self.clone()
        }
    }

    /// The same engine on some of its devices only, by the names of
    /// [`visible_devices`](Self::visible_devices).
    pub fn on_devices(&self, devices: &[String]) -> Launcher {
        let name = device_variable(self.class().kind).to_owned();
        let mut launcher = self.clone();
        launcher.environment.push((name, devices.join(",")));
        launcher
    }

    /// The devices that it may use.
    pub fn visible_devices(&self) -> Vec<String> {
        let present: Vec<u32> = self.devices().iter().map(|device| device.index).collect();
        visible_devices(
            self.engine.command(),
            self.class().kind,
            &present,
            &self.session.variables,
        )
    }

    /// What it most likely runs on.
    pub fn class(&self) -> &DeviceClass {
        self.classes.first().expect("some device is assumed")
    }

    /// The host's devices now, where a tool tells of them.
    pub fn devices(&self) -> Vec<DeviceState> {
        self.devices.as_ref().map_or(Vec::new(), DeviceTool::look)
    }

    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Its version by the user's word.
    pub fn given_version(&self) -> Option<Version> {
        self.options.version
    }

    pub fn flags(&self) -> &Flags {
        &self.flags
    }

    /// Why it would not start, in the engine's own words, as far as that is known without a try.
    pub fn objection(&self) -> Option<EngineFailure> {
        if let Ok(Some(config)) = self.config_text() {
            let refusals = Config::parse(&config).ok()?.refusals();
            return refusals.first().map(|it| self.foreseen(&it.message));
        }
        let limits = self.engine.model_limits();
        let checked = |class| self.engine.check(class, limits.as_ref());
        let objections: Vec<_> = self.classes.iter().map(checked).collect();
        // Of an engine on an unknown device only that is certain which holds on all of them.
        let is_certain = objections.iter().all(|of_class| !of_class.is_empty());
        let first = objections.first()?.first().filter(|_| is_certain)?;
        Some(self.foreseen(&first.to_string()))
    }

    /// What its newest version would refuse, where an older one that it may be would not.
    fn doubt(&self) -> Option<String> {
        let limits = self.engine.model_limits();
        let (objection, older) = self.engine.doubt(self.class(), limits.as_ref())?;
        let (name, newest) = (self.engine.kind(), self.engine.version());
        Some(format!(
            "the version of {name} is not known: {newest} would refuse this command ({}), {older} would not, so that it is tried; name the version with --engine-version",
            one_line(&objection.to_string())
        ))
    }

    fn foreseen(&self, message: &str) -> EngineFailure {
        EngineFailure::Foreseen {
            engine: self.engine.kind().to_string(),
            message: one_line(message),
        }
    }

    /// Starts it and waits until it answers; its output goes to `log`.
    pub fn start(
        &self,
        log: &Path,
        access: Access,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<LaunchedEngine, EngineFailure> {
        if let Some(objection) = self.objection() {
            return Err(objection);
        }
        if let Some(doubt) = self.doubt() {
            observer.notice(doubt);
        }
        let launch = self.launch(log, access, observer);
        let launch = launch.map_err(|error| EngineFailure::NotStarted(with_causes(&error)))?;
        let engine = self.engine.kind();
        observer.event(Event::StartingEngine { engine, log });
        let running = launch.start(&mut |step| {
            if let StartProgress::Waiting { elapsed, last_line } = step {
                observer.event(Event::WaitingForEngine {
                    engine,
                    since: *elapsed,
                    last_line: last_line.as_deref(),
                });
            }
            match (step, control.state()) {
                (StartProgress::Ready { .. }, _) | (_, Stop::Go) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })?;
        let about = self.about(&launch, running.facts());
        observer.event(Event::EngineReady {
            engine,
            after_s: about.start_s.unwrap_or_default(),
        });
        Ok(LaunchedEngine { running, about })
    }

    fn launch(
        &self,
        log: &Path,
        access: Access,
        observer: &mut dyn Observer,
    ) -> Result<Launch, RunnerError> {
        let folder = log.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let supervisor = supervisor(&self.session);
        let config = self.config_copy(folder)?;
        let given = self.options.url.clone().or_else(|| {
            let server = &config.as_ref()?.config.server;
            let scheme = scheme(server);
            Some(format!("{scheme}://{}:{}", server.ip_address, server.port))
        });
        let (engine, Address { port, url }) =
            address::choose(self.engine.clone(), given.as_deref(), |said| {
                observer.notice(said);
            })?;
        let mut launch = Launch::new(&engine, Some(port), log, supervisor);
        if let Some(server) = config.as_ref().map(|copy| &copy.config.server) {
            // Management has a port of its own, where it may be switched on.
            let place = format!(
                "{}:{}",
                server.management_ip_address, server.management_port
            );
            let address = format!("{}://{place}/v2/health/ready", scheme(server));
            launch.ready.instead.push(Proof::Answer(address));
        }
        launch.url = url;
        launch.access = access;
        launch.devices.clone_from(&self.devices);
        launch
            .environment
            .extend(config.into_iter().flat_map(|copy| copy.environment));
        launch.environment.extend(self.environment.clone());
        if let Some(stop) = &self.stop {
            launch.stop = Some(stop.clone());
            launch.place(port);
        }
        if let Some(limit) = self.options.timeout {
            let usual = LaunchTimeouts::default();
            launch.timeouts = LaunchTimeouts {
                ready: limit.0,
                silence: usual.silence.min(limit.0),
                ..usual
            };
        }
        // Without a note, an engine that outlives us is only not named at the next start.
        launch.registry =
            (self.registry.clone()).filter(|folder| std::fs::create_dir_all(folder).is_ok());
        Ok(launch)
    }

    /// MindIE's configuration with the chosen flags, where one is given.
    pub fn config_text(&self) -> Result<Option<String>, RunnerError> {
        let original = self.options.mindie_config.as_ref();
        let text = original.map(|original| changed_config(original, &self.config_changes()));
        Ok(text.transpose()?)
    }

    fn config_copy(&self, folder: &Path) -> Result<Option<ConfigCopy>, RunnerError> {
        let original = self.options.mindie_config.as_ref();
        let copy = original.map(|original| {
            ConfigCopy::write(
                original,
                &self.config_changes(),
                &folder.join("config.json"),
            )
        });
        Ok(copy.transpose()?)
    }

    fn config_changes(&self) -> Vec<(String, Value)> {
        let value = |text: &String| {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        };
        let flags = self.flags.iter();
        flags
            .map(|(name, text)| (name.clone(), value(text)))
            .collect()
    }

    /// The engine as it is told of, beside what only a start can tell.
    pub fn described(&self, version: &str, start: StartedEngine) -> StartedEngine {
        StartedEngine {
            name: self.engine.kind().to_string(),
            version: Some(version.to_owned()).filter(|version| !version.is_empty()),
            options: self.options.words(),
            command: without_secrets(&self.engine.command().to_words()),
            flags: self.flags.clone(),
            cards: self.cards(),
            ..start
        }
    }

    /// Cards that the engine takes: MindIE's file says it, vLLM's and SGLang's commands do.
    fn cards(&self) -> Option<u64> {
        match self.engine.kind() {
            EngineKind::LlamaServer | EngineKind::Custom => None,
            EngineKind::Mindie => {
                let config = Config::parse(&self.config_text().ok()??).ok()?;
                Some(config.backend.deploy.models.first()?.world_size.into())
            }
            EngineKind::Vllm | EngineKind::Sglang | EngineKind::Trtllm => {
                Some(self.engine.command().parallelism().cards())
            }
        }
    }

    fn about(&self, launch: &Launch, facts: &StartedEngine) -> StartedEngine {
        let probed = self.engine.installed().version.map(|it| it.to_string());
        let version = facts.version.clone().or(probed).unwrap_or_default();
        let started = StartedEngine {
            log: launch.log.clone(),
            ..facts.clone()
        };
        self.described(&version, started)
    }
}

fn scheme(server: &Server) -> &'static str {
    if server.https_enabled {
        "https"
    } else {
        "http"
    }
}

/// This program, called again to look after an engine.
fn supervisor(session: &Session) -> Supervisor {
    Supervisor {
        program: session.program.clone(),
        arguments: vec![SUPERVISOR_WORD.to_owned()],
    }
}

/// The engine with what the installed one says of itself; what is waited for is said.
fn probed(
    engine: Engine,
    version: Option<Version>,
    session: &Session,
    observer: &mut dyn Observer,
) -> Engine {
    let kind = engine.kind();
    let asked = engine.probed(&mut Interview {
        supervisor: &supervisor(session),
        version,
        limit: PROBE,
        waiting: &mut |question, since| {
            observer.event(Event::AskingEngine {
                engine: kind,
                since,
                question,
            });
        },
    });
    if let Some(question) = &asked.installed().unanswered {
        observer.notice(format!(
            "`{question}` gave no answer within {:.0} s and was ended; {kind} {} is assumed",
            PROBE.as_secs_f64(),
            asked.version()
        ));
    }
    asked
}

/// Whether flags that are added to a command reach the engine.
pub(crate) fn takes_flags(command: &LaunchCommand) -> Result<(), RunnerError> {
    if command.loses_flags() {
        bail!(
            "flags cannot be set inside the text of `sh -c`; write the engine's command itself, or let the text end with \"$@\" and put a word such as sh behind it"
        );
    }
    Ok(())
}

/// A command with flags in place of its own.
fn with_flags(command: &LaunchCommand, flags: &Flags) -> LaunchCommand {
    let mut command = command.clone();
    for (name, value) in flags {
        let known = match lookup(command.engine, None, &format!("--{name}")) {
            Lookup::Found { flag, .. } => flag.to_owned(),
            _ => name.clone(),
        };
        command.set(&known, Some(value));
    }
    command
}

/// The devices of this host, or of any where the engine runs elsewhere.
fn classes(engine: &Engine, devices: Option<&DeviceTool>) -> Vec<DeviceClass> {
    let class = |kind, name: &str, memory_gib, count| DeviceClass {
        kind,
        name: name.to_owned(),
        memory_gib,
        count,
    };
    let cpu = class(DeviceKind::Cpu, "CPU", 16.0, 1);
    if engine.is_local() || engine.command().container.is_some() {
        let here = devices.and_then(|tool| device_class(tool.kind(), &tool.look()));
        return vec![here.unwrap_or(cpu)];
    }
    vec![
        class(DeviceKind::Gpu, "NVIDIA A100-SXM4-80GB", 80.0, 64),
        class(DeviceKind::Gpu, "NVIDIA H200", 140.0, 64),
        class(DeviceKind::Npu, "910B3", 64.0, 64),
        cpu,
    ]
}

fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "), 600)
}
