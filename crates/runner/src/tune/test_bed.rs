//! Where trials run: on a simulated engine in virtual time, or on a real one that is started,
//! asked and stopped.

use crate::engine_failure::EngineFailure;
use crate::error::{Context as _, RunnerError, bail};
use crate::keys::Keys;
use crate::launch::{EngineOptions, Flags, Launcher, device_variable, takes_flags, with_inherited};
use crate::measure::simulated_host;
use crate::observer::Observer;
use crate::servers::Servers;
use crate::session::Session;
use inferometer_campaign::space::{FlagRules, KeyRules, NoRules, Point, Rules, config_with};
use inferometer_campaign::study::Study;
use inferometer_campaign::trial::{Bed, Ending, State};
use inferometer_catalog::engine::{
    DeviceClass, EngineKind, FailureClass, ModelLimits, Version, failure, flag,
};
use inferometer_core::options::Options;
use inferometer_core::scenario::SimClock;
use inferometer_engine::{Access, Failure};
use inferometer_load::instrument::Control;
use inferometer_sim::launch::{self, Host, LaunchError};
use inferometer_text::hostile::printable;
use inferometer_text::user_file;
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;

/// Characters of evidence that are kept.
const EVIDENCE: usize = 400;

pub struct TestBed {
    session: Arc<Session>,
    engine: BedEngine,
}

enum BedEngine {
    Virtual(Box<Host>),
    Real(Box<Launcher>),
}

/// A share of the host that one trial has for itself.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// Its devices, as the environment names them; empty for all of them.
    pub devices: Vec<String>,
}

pub struct RunningEngine {
    pub servers: Servers,
    /// Virtual where it is computed.
    pub clock: SimClock,
    pub start_s: Option<f64>,
}

/// Why no engine is up.
pub enum StartFailure {
    /// That is the trial's result.
    Ended(Box<Ending>),
    /// The user wants to leave.
    Interrupted,
    /// No trial would do better.
    Hopeless(RunnerError),
}

impl TestBed {
    /// The simulated engine, or the one that is installed.
    pub fn of(
        study: &Study,
        clock: Option<SimClock>,
        device: Option<&str>,
        session: &Arc<Session>,
        observer: &mut dyn Observer,
    ) -> Result<TestBed, RunnerError> {
        let bed = |engine| TestBed {
            session: Arc::clone(session),
            engine,
        };
        if study.engine.kind() == EngineKind::Mindie && study.engine.config.is_none() {
            bail!("[engine] config is missing: MindIE is tuned by a copy of its config.json");
        }
        let named = study.engine.version;
        if let Some(remark) = named.and_then(|it| unknown_version(study.engine.kind(), it)) {
            observer.notice(remark);
        }
        if clock == Some(SimClock::Virtual) {
            let host = simulated_host(device, study.engine.version)?;
            if study.engine.kind() == EngineKind::Custom {
                bail!(
                    "--sim-clock virtual knows vllm, sglang, llama-server and MindIE; '{}' is none of them",
                    study.engine.command.program.join(" ")
                );
            }
            let unmodelled = study.unmodelled.join(", ");
            let mut searched = study.space.dimensions().iter();
            if searched.all(|it| study.unmodelled.contains(&it.name)) {
                bail!(
                    "[space] the simulated engine acts on none of these: {unmodelled}; measure them on a real engine, without --sim-clock virtual"
                );
            }
            if !study.unmodelled.is_empty() {
                observer.notice(format!(
                    "the simulated engine does not act on {unmodelled}: this stays as the engine has it, and nothing will be concluded about it; measure it on a real engine, without --sim-clock virtual"
                ));
            }
            return Ok(bed(BedEngine::Virtual(Box::new(host))));
        }
        if device.is_some() {
            bail!("--sim-device needs --sim-clock virtual");
        }
        let engine = &study.engine;
        let options = EngineOptions {
            command: None,
            url: engine.url.clone(),
            stop: engine.stop.clone(),
            version: engine.version,
            timeout: Some(engine.start_timeout),
            log: None,
            mindie_config: engine.config.clone(),
        };
        let command = engine.command.clone();
        takes_flags(&command)?;
        let launcher = Launcher::new(command, &options, &Flags::new(), session, observer)?;
        let described = launcher.engine();
        let has_rules = !matches!(described.kind(), EngineKind::Custom | EngineKind::Mindie);
        if has_rules && described.installed().version.is_none() {
            observer.notice(format!(
                "the version of {} is not known, and {} is assumed; name it with [engine] version",
                described.kind(),
                described.version()
            ));
        }
        Ok(bed(BedEngine::Real(Box::new(launcher))))
    }

    /// Disjoint shares of the host for trials that run at once.
    pub fn slots(&self, study: &Study, count: u32) -> Result<Vec<Slot>, RunnerError> {
        let BedEngine::Real(launcher) = &self.engine else {
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
        let devices = launcher.visible_devices();
        let cards = study.engine.command.parallelism().cards();
        let each = usize::try_from(cards).unwrap_or(usize::MAX);
        let wanted = each.saturating_mul(count as usize);
        if devices.len() < wanted {
            bail!(
                "--parallel {count} needs {wanted} devices, {each} for each trial, and this host shows {} (within {}, where that is set); give less",
                devices.len(),
                device_variable(launcher.class().kind)
            );
        }
        let shares = devices.chunks(each).take(count as usize);
        let slot = |share: &[String]| Slot {
            devices: share.to_vec(),
        };
        Ok(shares.map(slot).collect())
    }

    /// What the engine refuses, as far as that is known before it is started.
    pub fn rules(&self, study: &Study) -> Result<Box<dyn Rules>, RunnerError> {
        if let Some(file) = &study.engine.config {
            return Ok(Box::new(KeyRules {
                config: read_config(file)?,
            }));
        }
        let (version, class, limits, engine) = match &self.engine {
            BedEngine::Virtual(host) => {
                let model = launch::model(&study.engine.command)?;
                let limits = ModelLimits::of(&model.model);
                let version = study.engine.command.version(host.version);
                let class = DeviceClass::of(&host.device, host.cards);
                (version, class, Some(limits), None)
            }
            BedEngine::Real(launcher) => {
                let engine = launcher.engine();
                (
                    engine.version(),
                    launcher.class().clone(),
                    engine.model_limits(),
                    Some(engine),
                )
            }
        };
        let Some(model) = limits.filter(|_| study.engine.kind() != EngineKind::Custom) else {
            return Ok(Box::new(NoRules));
        };
        let port = study.engine.kind().default_port();
        let mut command = study.engine.command.clone().with_port(port);
        // What only the installed engine knows must not make every point illegal.
        let help = engine.and_then(|engine| engine.installed().help.as_ref());
        if engine.is_some() {
            command = with_inherited(command, &self.session);
        }
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

    /// Where the trials of a study run, and what of its space can be tried there.
    pub fn about(&self, study: &Study, rules: &dyn Rules) -> Bed {
        let engine = &study.engine;
        let (version, device) = match &self.engine {
            BedEngine::Virtual(host) => {
                let version = engine.command.version(host.version);
                // llama.cpp counts builds, not versions.
                let version = Some(version).filter(|it| *it > Version::new(0, 0, 0));
                let version = version.map(|version| version.to_string());
                (version, host.device.title.clone())
            }
            BedEngine::Real(launcher) => {
                let described = launcher.engine();
                let known = described.installed().version.is_some() || engine.version.is_some();
                let version = known.then(|| described.version().to_string());
                (version, launcher.class().name.clone())
            }
        };
        let is_known = engine.kind() != EngineKind::Custom;
        let config = engine.config.as_ref();
        let config = config.and_then(|file| read_config(file).ok());
        let key = |name: &str| {
            let models = config
                .as_ref()?
                .pointer("/BackendConfig/ModelDeployConfig/ModelConfig/0")?;
            models.get(name)
        };
        let served = key("modelName").and_then(|name| Some(name.as_str()?.to_owned()));
        let cards = key("worldSize").and_then(Json::as_u64);
        Bed {
            computed: self.is_virtual(),
            engine: engine.kind().to_string(),
            // The keys of MindIE's file are those of its newest version.
            version: version.filter(|_| is_known && engine.config.is_none()),
            model: served.or_else(|| engine.command.model.clone()),
            device: Some(device).filter(|name| !name.is_empty()),
            cards: cards.or_else(|| is_known.then(|| engine.command.parallelism().cards())),
            refused: study.space.refused_values(rules),
            legal_points: study.space.legal_count(rules),
        }
    }

    /// Starts the engine with these flags; its log and files go to `folder`.
    pub fn start(
        &self,
        study: &Study,
        flags: &Point,
        slot: &Slot,
        folder: &Path,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<RunningEngine, StartFailure> {
        let launcher = match &self.engine {
            BedEngine::Virtual(host) => return self.compute(study, flags, host),
            BedEngine::Real(launcher) => launcher,
        };
        let command = match study.engine.config {
            // MindIE's flags are in its file.
            Some(_) => study.engine.command.clone(),
            None => study.engine.command_with(flags),
        };
        let texts = flags.0.iter();
        let texts: Flags = texts
            .map(|(name, value)| (name.clone(), value.to_string()))
            .collect();
        let mut launcher = launcher.with_command(command, &texts);
        if !slot.devices.is_empty() {
            launcher = launcher.on_devices(&slot.devices);
        }
        let access = access(study, &self.session).map_err(StartFailure::Hopeless)?;
        match Servers::started(launcher, folder.to_owned(), access, control, observer) {
            Ok(servers) => Ok(RunningEngine {
                start_s: servers.about().and_then(|engine| engine.start_s),
                servers,
                clock: SimClock::Real,
            }),
            Err(failure) => Err(start_failure(failure)),
        }
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    pub fn is_virtual(&self) -> bool {
        matches!(self.engine, BedEngine::Virtual(_))
    }

    /// Starts the simulated engine: at once, or with the failure that the real one would have.
    fn compute(
        &self,
        study: &Study,
        flags: &Point,
        host: &Host,
    ) -> Result<RunningEngine, StartFailure> {
        let launched = match &study.engine.config {
            Some(file) => {
                let config = read_config(file).map_err(StartFailure::Hopeless)?;
                let config = config_with(&config, flags).unwrap_or(config);
                launch::Launch::of_mindie(&config.to_string(), host)
            }
            None => {
                let command = study.engine.command_with(flags);
                let command = command.with_port(study.engine.kind().default_port());
                launch::Launch::of_command(&command, host)
            }
        };
        let failed = |state, class, evidence: &str| {
            let ending = failed(state, class, evidence);
            StartFailure::Ended(Box::new(ending))
        };
        match launched {
            Ok(launch) => Ok(RunningEngine {
                servers: Servers::computing(launch, Arc::clone(&self.session)),
                clock: SimClock::Virtual,
                start_s: None,
            }),
            Err(LaunchError::Refused(refusal)) => Err(failed(
                State::Refused,
                FailureClass::IllegalFlags,
                &refusal.to_string(),
            )),
            Err(LaunchError::Memory(error, lines)) => {
                let said = lines.iter().map(String::as_str);
                let cause = failure::explain(study.engine.kind(), said, Some(1));
                let has_numbers = |said: &String| said.contains(|it: char| it.is_ascii_digit());
                let evidence = match cause.evidence {
                    Some(said) if has_numbers(&said) => said,
                    // MindIE says no more than that it is so.
                    Some(said) => format!("{said} ({error})"),
                    None => error.to_string(),
                };
                Err(failed(State::Crashed, cause.class, &evidence))
            }
            Err(error) => Err(StartFailure::Hopeless(error.into())),
        }
    }

    /// Device memory in use now, where a tool tells.
    pub fn memory_gib(&self, slot: &Slot) -> Option<f64> {
        let BedEngine::Real(launcher) = &self.engine else {
            return None;
        };
        let used: Vec<f64> = (launcher.devices().iter())
            .filter(|device| {
                slot.devices.is_empty() || slot.devices.contains(&device.index.to_string())
            })
            .filter_map(|device| device.memory_used_mib)
            .collect();
        (!used.is_empty()).then(|| used.iter().sum::<f64>() / 1024.0)
    }
}

impl RunningEngine {
    pub fn died(&mut self) -> Option<Ending> {
        self.servers.ended().map(|failure| ending(&failure))
    }
}

/// The highest third number of any release of vLLM, that of 0.2.7.
const VLLM_MOST_PATCH: u32 = 7;

/// What is to be said of a version that nothing is known of.
fn unknown_version(kind: EngineKind, version: Version) -> Option<String> {
    let newest = kind.newest();
    let text = version.to_string();
    let patch = text.split('.').nth(2).and_then(|it| it.parse::<u32>().ok());
    match kind {
        EngineKind::LlamaServer | EngineKind::Custom => None,
        _ if version > newest => Some(format!(
            "{kind} {version} is newer than {newest}, the newest that is known here: its flags and defaults are taken to be those of {newest}"
        )),
        EngineKind::Vllm if patch.is_some_and(|it| it > VLLM_MOST_PATCH) => Some(format!(
            "no release {version} of {kind} is known, and its flags and defaults are guessed from the releases around it; check [engine] version"
        )),
        _ => None,
    }
}

/// What opens the engine's door while it starts.
fn access(study: &Study, session: &Session) -> Result<Access, RunnerError> {
    let options = Options {
        connection: study.connection.clone(),
        ..Options::default()
    };
    let keys = Keys::read(&options, &[], session)?;
    keys.access(&options.resolve()?.connection)
}

fn start_failure(failure: EngineFailure) -> StartFailure {
    match failure {
        EngineFailure::Failed(failure) => StartFailure::Ended(Box::new(ending(&failure))),
        EngineFailure::Foreseen { message, .. } => StartFailure::Ended(Box::new(failed(
            State::Refused,
            FailureClass::IllegalFlags,
            &message,
        ))),
        EngineFailure::Interrupted => StartFailure::Interrupted,
        other => StartFailure::Hopeless(other.into()),
    }
}

fn failed(state: State, class: FailureClass, evidence: &str) -> Ending {
    let evidence = printable(evidence.trim(), EVIDENCE);
    Ending::failed(state, class.word(), Some(evidence))
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

fn read_config(file: &Path) -> Result<Json, RunnerError> {
    let text = user_file::read_text(file)
        .with_context(|| format!("cannot read [engine] config {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("[engine] config {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_cannot_be_known_are_remarked() {
        let of = |text: &str| unknown_version(EngineKind::Vllm, text.parse().unwrap());
        assert!(of("0.6.33").unwrap().contains("no release 0.6.33"));
        assert!(of("0.99").unwrap().contains("newer than"));
        for known in ["0.6.3", "0.6.3.post1", "0.2.7", "0.11.0"] {
            assert_eq!(of(known), None, "{known}");
        }
    }
}
