//! Where trials run: on a simulated engine in virtual time, or on a real one that is started,
//! asked and stopped.

use crate::measure::simulated_host;
use crate::servers::Servers;
use anyhow::{Context, bail};
use inferometer_campaign::space::{
    FlagRules, KeyRules, NoRules, Point, Rules, command_with, config_with,
};
use inferometer_campaign::study::Study;
use inferometer_campaign::trial::{Ending, State};
use inferometer_catalog::device::Kind;
use inferometer_catalog::engine::words::split;
use inferometer_catalog::engine::{
    DeviceClass, DeviceKind, EngineKind, FailureClass, LaunchCommand, ModelLimits, failure, flag,
};
use inferometer_catalog::memory::GIB;
use inferometer_core::hostile::printable;
use inferometer_core::scenario::SimClock;
use inferometer_engine::{
    ConfigCopy, DeviceTool, Engine, Failure, Launch, Patience, Progress, Running, SUPERVISOR_WORD,
    StartError, Supervisor, device_class, free_port, leftovers,
};
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use inferometer_sim::launch::{self, Host, LaunchError, USUAL_MODEL};
use serde_json::Value as Json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for the engine's word on its version and its flags.
const PROBE: Duration = Duration::from_secs(120);
/// Characters of evidence that are kept.
const EVIDENCE: usize = 400;

/// Where trials run.
pub enum Ground {
    /// The simulated engine, in virtual time.
    Virtual(Box<Host>),
    /// Real engines on this host.
    Real(Box<Site>),
}

/// A host for real engines.
pub struct Site {
    engine: Engine,
    devices: Option<DeviceTool>,
    class: DeviceClass,
    limits: Option<ModelLimits>,
    supervisor: Supervisor,
    /// The folder with notes of engines that are up.
    registry: PathBuf,
}

/// A share of the host that one trial has for itself.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// Places of its devices; empty for all of them.
    pub devices: Vec<u32>,
}

/// An engine that is up.
pub struct Up {
    /// What measures on it.
    pub servers: Servers,
    /// Where it serves; absent in virtual time.
    pub url: Option<String>,
    /// Time from the start to readiness.
    pub start_s: Option<f64>,
    running: Option<Running>,
}

/// Why no engine is up.
pub enum Down {
    /// That is the trial's result.
    Ended(Box<Ending>),
    /// The user wants to leave.
    Interrupted,
    /// No trial would do better.
    Hopeless(anyhow::Error),
}

impl Ground {
    /// The simulated engine, or the one that is installed.
    pub fn of(
        study: &Study,
        clock: Option<SimClock>,
        device: Option<&str>,
        registry: &Path,
    ) -> anyhow::Result<Ground> {
        if study.engine.kind() == EngineKind::Mindie && study.engine.config.is_none() {
            bail!("[engine] config is missing: MindIE is tuned by a copy of its config.json");
        }
        if clock == Some(SimClock::Virtual) {
            let host = simulated_host(device, study.engine.version)?;
            if study.engine.kind() == EngineKind::Custom {
                bail!(
                    "--sim-clock virtual knows vllm, sglang, llama-server and MindIE; '{}' is none of them",
                    study.engine.command.program.join(" ")
                );
            }
            return Ok(Ground::Virtual(Box::new(host)));
        }
        if device.is_some() {
            bail!("--sim-device needs --sim-clock virtual");
        }
        let described = Engine::of(study.engine.command.clone());
        let engine = match study.engine.version {
            Some(_) => described,
            None => described.probed(PROBE),
        };
        let devices = DeviceTool::find();
        let found = devices.as_ref();
        let class = found.and_then(|tool| device_class(tool.kind(), &tool.look()));
        Ok(Ground::Real(Box::new(Site {
            limits: engine.model_limits(),
            engine,
            class: class.unwrap_or(DeviceClass {
                kind: DeviceKind::Cpu,
                name: "CPU".into(),
                memory_gib: 0.0,
                count: 1,
            }),
            devices,
            supervisor: Supervisor {
                program: std::env::current_exe().context("cannot find this program's own file")?,
                arguments: vec![SUPERVISOR_WORD.to_owned()],
            },
            registry: registry.to_owned(),
        })))
    }

    /// Engines of earlier runs that may still be up.
    pub fn left_over(&self) -> Vec<String> {
        match self {
            Ground::Virtual(_) => Vec::new(),
            Ground::Real(site) => {
                let found = leftovers(&site.registry);
                found.iter().map(ToString::to_string).collect()
            }
        }
    }

    /// Disjoint shares of the host for so many trials at once.
    pub fn slots(&self, study: &Study, count: u32) -> anyhow::Result<Vec<Slot>> {
        let Ground::Real(site) = self else {
            return Ok(vec![Slot::default(); count as usize]);
        };
        if count == 1 {
            return Ok(vec![Slot::default()]);
        }
        let words = study.engine.command.to_words();
        if study.engine.config.is_some() || !words.iter().any(|word| word.contains("{port}")) {
            bail!(
                "--parallel {count} needs a port for each trial; write --port {{port}} in the command"
            );
        }
        let devices = site.devices.as_ref().map_or(0, |tool| tool.look().len()) as u32;
        let each = cards(&study.engine.command);
        if devices < each.saturating_mul(count) {
            bail!(
                "--parallel {count} needs {} devices, {each} for each trial, and this host shows {devices}; give less",
                each.saturating_mul(count)
            );
        }
        let slot = |at: u32| Slot {
            devices: (at * each..(at + 1) * each).collect(),
        };
        Ok((0..count).map(slot).collect())
    }

    /// What the engine refuses, as far as that is known before it is started.
    pub fn rules(&self, study: &Study) -> anyhow::Result<Box<dyn Rules>> {
        if let Some(file) = &study.engine.config {
            return Ok(Box::new(KeyRules {
                config: read_config(file)?,
            }));
        }
        let (version, class, limits, engine) = match self {
            Ground::Virtual(host) => {
                let name = study.engine.command.model.as_deref();
                let model = launch::model(name.unwrap_or(USUAL_MODEL))?;
                let limits = ModelLimits {
                    max_position: u64::from(model.max_position),
                    heads: model.heads,
                    multimodal: false,
                };
                let version = host.version.unwrap_or(study.engine.kind().newest());
                (version, simulated_class(host), Some(limits), None)
            }
            Ground::Real(site) => (
                study.engine.version.unwrap_or(site.engine.version()),
                site.class.clone(),
                site.limits.clone(),
                Some(&site.engine),
            ),
        };
        let Some(model) = limits.filter(|_| study.engine.kind() != EngineKind::Custom) else {
            return Ok(Box::new(NoRules));
        };
        let mut command = with_port(&study.engine.command, study.engine.kind().default_port());
        // What only the installed engine knows must not make every point illegal.
        let help = engine.and_then(|engine| engine.installed().help.as_ref());
        let kind = command.engine;
        command.flags.retain(|given| {
            flag(kind, version, &given.name).is_some()
                || !help.is_some_and(|help| help.knows(&given.spelled))
        });
        let most = command.flags.len();
        for stray in &mut command.extra {
            stray.after = stray.after.min(most);
        }
        Ok(Box::new(FlagRules {
            command,
            version,
            device: class,
            model,
        }))
    }

    /// Starts the engine with these flags; its log and files go to `folder`.
    pub fn start(
        &self,
        study: &Study,
        flags: &Point,
        slot: &Slot,
        folder: &Path,
        control: &Control,
    ) -> Result<Up, Down> {
        match self {
            Ground::Virtual(host) => compute(study, flags, host),
            Ground::Real(site) => site.start(study, flags, slot, folder, control),
        }
    }

    /// Device memory in use now, where a tool tells.
    pub fn memory_gib(&self, slot: &Slot) -> Option<f64> {
        let Ground::Real(site) = self else {
            return None;
        };
        let devices = site.devices.as_ref()?.look();
        let used: Vec<f64> = (devices.iter())
            .filter(|device| slot.devices.is_empty() || slot.devices.contains(&device.index))
            .filter_map(|device| device.memory_used_mib)
            .collect();
        (!used.is_empty()).then(|| used.iter().sum::<f64>() / 1024.0)
    }
}

impl Up {
    /// The end of an engine that died meanwhile.
    pub fn died(&mut self) -> Option<Ending> {
        let failure = self.running.as_mut()?.died()?;
        Some(ending(&failure))
    }

    /// Ends it; says what could not be ended.
    pub fn stop(self) -> Option<String> {
        let stopped = self.running?.stop();
        if stopped.remaining > 0 {
            return Some(format!(
                "{} processes of the engine withstood the kill",
                stopped.remaining
            ));
        }
        (!stopped.reached).then(|| "the stop command of the engine failed".to_owned())
    }
}

/// Starts the simulated engine: at once, or with the failure that the real one would have.
fn compute(study: &Study, flags: &Point, host: &Host) -> Result<Up, Down> {
    let launched = match &study.engine.config {
        Some(file) => {
            let config = read_config(file).map_err(Down::Hopeless)?;
            let config = config_with(&config, flags).unwrap_or(config);
            launch::Launch::of_mindie(&config.to_string(), host)
        }
        None => {
            let command = command_with(&study.engine.command, flags);
            let command = with_port(&command, study.engine.kind().default_port());
            launch::Launch::of_command(&command.to_words(), host)
        }
    };
    let failed = |state, class: FailureClass, evidence: &str| {
        let evidence = printable(evidence.trim(), EVIDENCE);
        Down::Ended(Box::new(Ending::failed(
            state,
            class.word(),
            Some(evidence),
        )))
    };
    match launched {
        Ok(launch) => Ok(Up {
            servers: Servers::computing(launch),
            url: None,
            start_s: None,
            running: None,
        }),
        Err(LaunchError::Refused(refusal)) => Err(failed(
            State::Refused,
            FailureClass::IllegalFlags,
            &refusal.message,
        )),
        Err(LaunchError::Memory(error, lines)) => {
            let said = lines.iter().map(String::as_str);
            let cause = failure::explain(study.engine.kind(), said, Some(1));
            let evidence = cause.evidence.unwrap_or_else(|| error.to_string());
            Err(failed(State::Crashed, cause.class, &evidence))
        }
        Err(error) => Err(Down::Hopeless(error.into())),
    }
}

impl Site {
    fn start(
        &self,
        study: &Study,
        flags: &Point,
        slot: &Slot,
        folder: &Path,
        control: &Control,
    ) -> Result<Up, Down> {
        // The searcher asks the rules by itself; nobody did so for the command as given.
        if flags.0.is_empty()
            && study.engine.version.is_none()
            && let Some(objection) = self.engine.check(&self.class, self.limits.as_ref()).first()
        {
            let evidence = printable(&objection.to_string(), EVIDENCE);
            let class = FailureClass::IllegalFlags.word();
            let refused = Ending::failed(State::Refused, class, Some(evidence));
            return Err(Down::Ended(Box::new(refused)));
        }
        let launch = self
            .launch(study, flags, slot, folder)
            .map_err(Down::Hopeless)?;
        let started = launch.start(&mut |progress: &Progress| match progress {
            Progress::Ready { .. } => ControlFlow::Continue(()),
            _ if control.state() == Stop::Go => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        });
        match started {
            Ok(running) => Ok(Up {
                servers: Servers::of_others(),
                url: Some(running.url().to_owned()),
                start_s: running.facts().ready_s,
                running: Some(running),
            }),
            Err(StartError::Interrupted) => Err(Down::Interrupted),
            Err(StartError::Failed(failure)) => Err(Down::Ended(Box::new(ending(&failure)))),
            Err(error) => Err(Down::Hopeless(error.into())),
        }
    }

    fn launch(
        &self,
        study: &Study,
        flags: &Point,
        slot: &Slot,
        folder: &Path,
    ) -> anyhow::Result<Launch> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let (command, config) = match &study.engine.config {
            Some(file) => {
                let changes: Vec<(String, Json)> = (flags.0.iter())
                    .map(|(key, value)| Ok((key.clone(), serde_json::to_value(value)?)))
                    .collect::<Result<_, serde_json::Error>>()?;
                let copy = ConfigCopy::write(file, &changes, &folder.join("config.json"))?;
                (study.engine.command.clone(), Some(copy))
            }
            None => (command_with(&study.engine.command, flags), None),
        };
        let open = command
            .to_words()
            .iter()
            .any(|word| word.contains("{port}"));
        let port = match (&config, open) {
            (Some(copy), _) => Some(copy.config.server.port),
            (None, true) => Some(free_port().context("this host has no free port")?),
            (None, false) => None,
        };
        let log = folder.join("engine.log");
        let engine = Engine::of(command);
        let mut launch = Launch::new(&engine, port, &log, self.supervisor.clone());
        launch.patience = Patience {
            ready: study.engine.start_timeout.0,
            ..Patience::default()
        };
        launch.registry = Some(self.registry.clone());
        launch.devices.clone_from(&self.devices);
        if let Some(url) = &study.engine.url {
            launch.url.clone_from(url);
        }
        if let Some(stop) = &study.engine.stop {
            launch.stop = Some(split(stop).context("[engine] stop")?);
        }
        launch
            .environment
            .extend(config.into_iter().flat_map(|copy| copy.environment));
        if !slot.devices.is_empty() {
            let list: Vec<String> = slot.devices.iter().map(ToString::to_string).collect();
            let name = match self.class.kind {
                DeviceKind::Npu => "ASCEND_RT_VISIBLE_DEVICES",
                DeviceKind::Gpu | DeviceKind::Cpu => "CUDA_VISIBLE_DEVICES",
            };
            launch.environment.push((name.to_owned(), list.join(",")));
        }
        if let Some(port) = port {
            launch.place(port);
        }
        Ok(launch)
    }
}

/// Devices that one engine takes.
fn cards(command: &LaunchCommand) -> u32 {
    let number = |names: &[&str]| {
        let given = names.iter().find_map(|name| command.flag(name)?.value());
        given.and_then(|text| text.parse::<u32>().ok()).unwrap_or(1)
    };
    let tensor = number(&["tensor-parallel-size", "tp-size", "tp"]);
    let pipeline = number(&["pipeline-parallel-size", "pp-size"]);
    tensor.saturating_mul(pipeline).max(1)
}

/// The state of a trial whose engine failed.
fn ending(failure: &Failure) -> Ending {
    let state = match failure.class {
        FailureClass::IllegalFlags => State::Refused,
        FailureClass::Hang | FailureClass::Timeout => State::Timeout,
        _ => State::Crashed,
    };
    let said = failure.evidence.first();
    let evidence = said.map(|line| printable(line, EVIDENCE));
    Ending::failed(state, failure.class.word(), evidence)
}

fn simulated_class(host: &Host) -> DeviceClass {
    DeviceClass {
        kind: match host.device.kind {
            Kind::Cuda => DeviceKind::Gpu,
            Kind::Ascend => DeviceKind::Npu,
        },
        name: host.device.title.clone(),
        memory_gib: host.device.memory_bytes() / GIB,
        count: host.cards,
    }
}

/// The command with some port in place of `{port}`.
fn with_port(command: &LaunchCommand, port: u16) -> LaunchCommand {
    let mut command = command.clone();
    let port = port.to_string();
    for value in command.flags.iter_mut().flat_map(|given| &mut given.values) {
        *value = value.replace("{port}", &port);
    }
    command
}

fn read_config(file: &Path) -> anyhow::Result<Json> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read [engine] config {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("[engine] config {}", file.display()))
}
