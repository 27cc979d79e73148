//! The servers of measurements that follow one another: those that were named, an engine that
//! is started by its command and restarted where its flags change, or the embedded engine. Each
//! lives as long as it is asked for with the same settings.

use crate::embedded::EmbeddedServer;
use crate::launch::{EngineArguments, EngineFailure, Flags, LaunchedEngine, Launcher};
use crate::measure::{Measured, Point, computed, device, measure, refold, simulate};
use crate::progress::Progress;
use anyhow::{Context, bail};
use inferometer_catalog::engine::LaunchCommand;
use inferometer_core::environment::{Health, StartedEngine};
use inferometer_core::options::Options;
use inferometer_core::scenario::{Connection, SimClock};
use inferometer_engine::{Access, Failure, StartFacts};
use inferometer_load::http::Target;
use inferometer_load::instrument::Control;
use inferometer_sim::launch::Launch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Between two looks at the engine that is measured.
const LOOK: Duration = Duration::from_millis(100);

pub struct Servers {
    launcher: Option<Launcher>,
    logs: PathBuf,
    kept: Option<Kept>,
    /// Flags with which it failed to start; another try would cost as much and say the same.
    failed: BTreeMap<Flags, EngineFailure>,
    /// Time that starts took so far, the stop of the engine before included.
    starting: Duration,
    /// What computed points run on, where it is neither a command's nor the usual engine.
    computed: Option<Box<Launch>>,
    /// How the engine ended that was up last, if it ended by itself.
    ended: Option<Failure>,
    /// Whether usage came with each chunk at the first point of a server, by its URLs.
    chunk_usage: BTreeMap<Vec<String>, bool>,
    /// What the log of a server that others started tells of it.
    told: Option<StartedEngine>,
}

/// A server that is up.
enum Kept {
    Embedded {
        model: Option<String>,
        device: Option<String>,
        server: EmbeddedServer,
    },
    Launched {
        launcher: Box<Launcher>,
        engine: Box<LaunchedEngine>,
    },
}

impl Servers {
    /// Points in virtual time run on this engine.
    pub fn computing(launch: Launch) -> Servers {
        Servers {
            computed: Some(Box::new(launch)),
            ..Servers::of_others()
        }
    }

    /// The servers that were asked for. The logs of engines that are started go to `logs`;
    /// `flags` are those of one of the points.
    pub fn given(
        arguments: &EngineArguments,
        options: &Options,
        flags: &Flags,
        logs: PathBuf,
        progress: &mut Progress,
    ) -> anyhow::Result<Servers> {
        let connection = &options.connection;
        let launcher = match (arguments.is_given(options)?, connection.sim_clock) {
            (false, _) => None,
            (true, Some(SimClock::Virtual)) => {
                let device = device(connection.sim_device.as_deref())?;
                let command = LaunchCommand::parse(&arguments.engine)?;
                Some(Launcher::of_computed(command, arguments, device))
            }
            (true, _) => {
                let command = LaunchCommand::parse(&arguments.engine)?;
                Some(Launcher::new(command, arguments, flags, progress)?)
            }
        };
        let told = arguments.engine_log.as_deref().map(told_by_log);
        Ok(Servers {
            launcher,
            logs,
            told: told.transpose()?,
            ..Servers::of_others()
        })
    }

    /// An engine that is started now; its log goes to the folder `logs`.
    pub fn started(
        launcher: Launcher,
        logs: PathBuf,
        access: Access,
        control: &Control,
        progress: &mut Progress,
    ) -> Result<Servers, EngineFailure> {
        let mut servers = Servers {
            launcher: Some(launcher.clone()),
            logs,
            ..Servers::of_others()
        };
        servers.bring_up(launcher, access, control, progress)?;
        Ok(servers)
    }

    pub fn of_others() -> Servers {
        Servers {
            launcher: None,
            logs: PathBuf::new(),
            kept: None,
            failed: BTreeMap::new(),
            starting: Duration::ZERO,
            computed: None,
            ended: None,
            told: None,
            chunk_usage: BTreeMap::new(),
        }
    }

    /// Why the engine of a point would not start, as far as that is known without a try.
    pub fn objection(&self, flags: &Flags) -> Option<EngineFailure> {
        self.launcher.as_ref()?.with_flags(flags).objection()
    }

    /// Whether a point with these flags is known to fail, so that it takes no time.
    pub fn is_known_to_fail(&self, flags: &Flags) -> bool {
        self.objection(flags).is_some() || self.failed.contains_key(flags)
    }

    /// Time that starts of engines took so far.
    pub fn starting(&self) -> Duration {
        self.starting
    }

    /// Measures a point, or computes it in virtual time, and keeps it in `out`.
    pub fn measure(
        &mut self,
        mut point: Point,
        out: &Path,
        control: &Control,
        progress: &mut Progress,
    ) -> anyhow::Result<Measured> {
        if point.scenario.connection.sim_clock == SimClock::Virtual {
            return self.compute(point, out, progress);
        }
        let targets = self.of(&mut point, control, progress)?;
        let urls = point.scenario.connection.urls.clone();
        point.chunk_usage = self.chunk_usage.get(&urls).copied();
        let measured = self.while_it_lives(control, || {
            measure(point, targets, out, progress.lang(), control, progress)
        });
        if let Ok(measured) = &measured
            && let Ok(environment) = measured.directory.environment()
        {
            let decided = environment.server.chunk_usage;
            self.chunk_usage.entry(urls).or_insert(decided);
        }
        match (self.death(), measured) {
            (None, measured) => measured,
            (Some(failure), Ok(measured)) => died(measured, &failure, progress),
            // Nobody answers a client whose server is gone; that is not the client's news.
            (Some(failure), Err(_)) => Err(EngineFailure::Failed(Box::new(failure)).into()),
        }
    }

    /// Measures on what is up, and no longer than it lives: requests to an engine that is gone
    /// would only be counted.
    fn while_it_lives<T>(&mut self, control: &Control, measure: impl FnOnce() -> T) -> T {
        let Some(Kept::Launched { engine, .. }) = &mut self.kept else {
            return measure();
        };
        let (measuring, measured) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while measured.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    if engine.has_ended() {
                        control.abandon();
                        return;
                    }
                }
            });
            let found = measure();
            drop(measuring);
            found
        })
    }

    /// Computes a point on the given engine, a command's, or the usual one.
    fn compute(&self, point: Point, out: &Path, progress: &Progress) -> anyhow::Result<Measured> {
        if let Some(launch) = &self.computed {
            return simulate(point, launch, None, out, progress.lang());
        }
        let launcher = self.launcher.as_ref();
        let launcher = launcher.map(|launcher| launcher.with_flags(&point.flags));
        let launch = computed(&point.scenario.connection, launcher.as_ref())?;
        let about = launcher.map(|launcher| launcher.described(&launch.version.to_string()));
        simulate(point, &launch, about, out, progress.lang())
    }

    pub fn stop(&mut self, progress: &Progress) {
        match self.kept.take() {
            Some(Kept::Launched { engine, .. }) => engine.stop(progress),
            Some(Kept::Embedded { server, .. }) => server.stop(),
            None => {}
        }
    }

    /// What the engine that is up told of itself.
    pub fn about(&self) -> Option<&StartedEngine> {
        match &self.kept {
            Some(Kept::Launched { engine, .. }) => Some(engine.about()),
            _ => None,
        }
    }

    /// How the engine that was up last ended, if it ended by itself.
    pub fn ended(&mut self) -> Option<Failure> {
        self.death();
        self.ended.clone()
    }

    /// Why the engine ended by itself, if it did since the last look.
    fn death(&mut self) -> Option<Failure> {
        let Some(Kept::Launched { engine, .. }) = &mut self.kept else {
            return None;
        };
        let failure = engine.died()?;
        self.kept = None;
        self.ended = Some(failure.clone());
        Some(failure)
    }

    /// Where to send the requests of a point.
    fn of(
        &mut self,
        point: &mut Point,
        control: &Control,
        progress: &mut Progress,
    ) -> anyhow::Result<Vec<Target>> {
        if !point.targets.is_empty() {
            point.engine.clone_from(&self.told);
            return Ok(point.targets.clone());
        }
        let url = match &self.launcher {
            Some(launcher) => {
                let launcher = launcher.with_flags(&point.flags);
                let access = point.keys.access(&point.scenario.connection)?;
                let engine = self.bring_up(launcher, access, control, progress)?;
                point.engine = Some(engine.about().clone());
                engine.url().to_owned()
            }
            None => self.embedded(&point.scenario.connection)?,
        };
        Ok(vec![Target::parse(&url)?])
    }

    /// The engine with the flags of a launcher; the one that runs, if it has these.
    fn bring_up(
        &mut self,
        wanted: Launcher,
        access: Access,
        control: &Control,
        progress: &mut Progress,
    ) -> Result<&LaunchedEngine, EngineFailure> {
        let fits = |kept: &Kept| match kept {
            Kept::Launched { launcher, .. } => launcher.flags() == wanted.flags(),
            Kept::Embedded { .. } => false,
        };
        if !self.kept.as_ref().is_some_and(fits) {
            let begun = Instant::now();
            self.stop(progress);
            if let Some(failure) = self.failed.get(wanted.flags()) {
                return Err(failure.clone());
            }
            let engine = wanted.start(&self.new_log(), access, control, progress);
            self.starting += begun.elapsed();
            let engine = engine.inspect_err(|failure| {
                self.failed.insert(wanted.flags().clone(), failure.clone());
            })?;
            self.ended = None;
            self.kept = Some(Kept::Launched {
                launcher: Box::new(wanted),
                engine: Box::new(engine),
            });
        }
        match &self.kept {
            Some(Kept::Launched { engine, .. }) => Ok(engine),
            _ => unreachable!("it was started just now"),
        }
    }

    /// A log for each start.
    fn new_log(&self) -> PathBuf {
        let numbered = (2..).map(|number| format!("engine-{number}.log"));
        std::iter::once("engine.log".to_owned())
            .chain(numbered)
            .map(|name| self.logs.join(name))
            .find(|path| !path.exists())
            .expect("numbers do not end")
    }

    fn embedded(&mut self, wanted: &Connection) -> anyhow::Result<String> {
        if let Some(Kept::Embedded {
            model,
            device,
            server,
        }) = &self.kept
            && *model == wanted.sim_model
            && *device == wanted.sim_device
        {
            return Ok(server.url.clone());
        }
        self.kept = None;
        let server = start(wanted)?;
        let url = server.url.clone();
        self.kept = Some(Kept::Embedded {
            model: wanted.sim_model.clone(),
            device: wanted.sim_device.clone(),
            server,
        });
        Ok(url)
    }
}

/// A server that others started, as its log tells of it.
fn told_by_log(log: &Path) -> anyhow::Result<StartedEngine> {
    let read = StartFacts::of_log(log);
    let read = read.with_context(|| format!("cannot read --engine-log {}", log.display()))?;
    let Some((engine, facts)) = read else {
        bail!(
            "--engine-log {}: no line of it is known from vLLM, SGLang, MindIE or llama-server; give the log of the engine's start",
            log.display()
        );
    };
    Ok(facts.fill_in(StartedEngine {
        name: engine.to_string(),
        version: facts.version.clone(),
        options: EngineArguments::of_log(log).options(),
        log: log.to_owned(),
        ..StartedEngine::default()
    }))
}

/// The run of an engine that died under it says so.
fn died(
    mut measured: Measured,
    failure: &Failure,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    measured.ending.health = Health::Dead(failure.to_string());
    refold(&mut measured, progress.lang())?;
    Ok(measured)
}

fn start(connection: &Connection) -> anyhow::Result<EmbeddedServer> {
    let mut arguments = vec!["sim", "--listen", "127.0.0.1:0", "--until-stdin-closes"];
    let chosen = [
        ("--model", &connection.sim_model),
        ("--device", &connection.sim_device),
    ];
    for (name, value) in chosen {
        if let Some(value) = value {
            arguments.extend([name, value]);
        }
    }
    EmbeddedServer::start(&arguments)
}
