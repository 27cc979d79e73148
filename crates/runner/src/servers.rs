//! The servers of measurements that follow one another: those that were named, an engine that
//! is started by its command and restarted where its flags change, or the embedded engine. Each
//! lives as long as it is asked for with the same settings.

use crate::embedded::EmbeddedServer;
use crate::engine_failure::EngineFailure;
use crate::error::{Context as _, RunnerError, bail};
use crate::launch::{EngineOptions, Flags, LaunchedEngine, Launcher};
use crate::measure::{Crew, Measured, Point, computed, device, measure, simulate};
use crate::observer::Observer;
use crate::session::Session;
use inferometer_core::environment::{Ending, Health, StartedEngine};
use inferometer_core::options::ConnectionOptions;
use inferometer_core::scenario::{Connection, SimClock};
use inferometer_engine::{Access, Failure, facts_of_log};
use inferometer_load::http::Target;
use inferometer_load::instrument::Control;
use inferometer_meet::Leader;
use inferometer_sim::launch::Launch;
use inferometer_text::Lang;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Between two looks at the engine that is measured.
const LOOK: Duration = Duration::from_millis(100);

pub struct Servers {
    session: Arc<Session>,
    launcher: Option<Launcher>,
    logs: PathBuf,
    live: Option<LiveServer>,
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
    /// A server that others started, as its log describes it.
    from_log: Option<StartedEngine>,
    /// Who shares the load.
    crew: Crew,
}

enum LiveServer {
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
    pub fn computing(launch: Launch, session: Arc<Session>) -> Servers {
        Servers {
            computed: Some(Box::new(launch)),
            ..Servers::of_others(session)
        }
    }

    /// The servers that were asked for. The logs of engines that are started go to `logs`;
    /// `flags` are those of one of the points.
    pub fn given(
        engine: &EngineOptions,
        connection: &ConnectionOptions,
        flags: &Flags,
        logs: PathBuf,
        session: Arc<Session>,
        observer: &mut dyn Observer,
    ) -> Result<Servers, RunnerError> {
        let launcher = match (engine.command.clone(), connection.sim_clock) {
            (None, _) => None,
            (Some(command), Some(SimClock::Virtual)) => {
                let device = device(connection.sim_device.as_deref())?;
                Some(Launcher::of_computed(command, engine, device, &session))
            }
            (Some(command), _) => Some(Launcher::new(command, engine, flags, &session, observer)?),
        };
        let from_log = engine.log.as_deref().map(described_by_log).transpose()?;
        Ok(Servers {
            launcher,
            logs,
            from_log,
            ..Servers::of_others(session)
        })
    }

    /// An engine that is started now; its log goes to the folder `logs`.
    pub fn started(
        launcher: Launcher,
        logs: PathBuf,
        access: Access,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Servers, EngineFailure> {
        let session = Arc::clone(launcher.session());
        let mut servers = Servers {
            launcher: Some(launcher.clone()),
            logs,
            ..Servers::of_others(session)
        };
        servers.bring_up(launcher, access, control, observer)?;
        Ok(servers)
    }

    pub fn of_others(session: Arc<Session>) -> Servers {
        Servers {
            session,
            launcher: None,
            logs: PathBuf::new(),
            live: None,
            failed: BTreeMap::new(),
            starting: Duration::ZERO,
            computed: None,
            ended: None,
            from_log: None,
            chunk_usage: BTreeMap::new(),
            crew: Crew::Alone,
        }
    }

    /// From now on the load is shared with other ranks, where there are any.
    pub fn share_with(&mut self, leader: Option<Leader>) {
        if let Some(leader) = leader {
            let told = false;
            self.crew = Crew::Lead { leader, told };
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
        observer: &mut dyn Observer,
    ) -> Result<Measured, RunnerError> {
        if point.scenario.connection.sim_clock == SimClock::Virtual {
            return self.compute(point, out);
        }
        let targets = self.of(&mut point, control, observer)?;
        let urls = point.scenario.connection.urls.clone();
        point.chunk_usage = self.chunk_usage.get(&urls).copied();
        let session = Arc::clone(&self.session);
        let mut crew = std::mem::take(&mut self.crew);
        let measured = self.while_it_lives(control, || {
            let crew = &mut crew;
            measure(point, targets, out, &session, control, crew, observer)
        });
        crew.after(measured.as_ref().map(|measured| measured.ending.cause));
        self.crew = crew;
        if let Ok(measured) = &measured
            && let Ok(environment) = measured.directory.environment()
        {
            let decided = environment.server.chunk_usage;
            self.chunk_usage.entry(urls).or_insert(decided);
        }
        match (self.death(), measured) {
            (None, measured) => measured,
            (Some(failure), Ok(measured)) => died(measured, &failure, self.session.lang),
            // Nobody answers a client whose server is gone; that is not the client's news.
            (Some(failure), Err(_)) => Err(EngineFailure::Failed(Box::new(failure)).into()),
        }
    }

    /// Measures on what is up, and no longer than it lives: requests to an engine that is gone
    /// would only be counted.
    fn while_it_lives<T>(&mut self, control: &Control, measure: impl FnOnce() -> T) -> T {
        let Some(LiveServer::Launched { engine, .. }) = &mut self.live else {
            return measure();
        };
        let (measuring, measured) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while measured.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    if engine.running.has_ended() {
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
    fn compute(&mut self, point: Point, out: &Path) -> Result<Measured, RunnerError> {
        let computed = if let Some(launch) = &self.computed {
            simulate(point, launch, None, out, &self.session)?
        } else {
            let launcher = self.launcher.as_ref();
            let launcher = launcher.map(|launcher| launcher.with_flags(&point.flags));
            let launch = computed(&point.scenario.connection, launcher.as_ref())?;
            let about = launcher.map(|launcher| {
                launcher.described(&launch.version.to_string(), StartedEngine::default())
            });
            simulate(point, &launch, about, out, &self.session)?
        };
        self.ended = computed.death;
        Ok(computed.measured)
    }

    /// Sends the other ranks home, and stops what was started.
    pub fn stop(&mut self, observer: &mut dyn Observer) {
        self.crew.end();
        self.stop_engine(observer);
    }

    fn stop_engine(&mut self, observer: &mut dyn Observer) {
        match self.live.take() {
            Some(LiveServer::Launched { engine, .. }) => engine.stop(observer),
            Some(LiveServer::Embedded { server, .. }) => server.stop(),
            None => {}
        }
    }

    /// What the engine that is up told of itself.
    pub fn about(&self) -> Option<&StartedEngine> {
        match &self.live {
            Some(LiveServer::Launched { engine, .. }) => Some(&engine.about),
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
        let Some(LiveServer::Launched { engine, .. }) = &mut self.live else {
            return None;
        };
        let failure = engine.running.died()?;
        self.live = None;
        self.ended = Some(failure.clone());
        Some(failure)
    }

    /// Where to send the requests of a point.
    fn of(
        &mut self,
        point: &mut Point,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Target>, RunnerError> {
        if !point.targets.is_empty() {
            point.engine.clone_from(&self.from_log);
            return Ok(point.targets.clone());
        }
        let url = match &self.launcher {
            Some(launcher) => {
                let launcher = launcher.with_flags(&point.flags);
                let access = point.keys.access(&point.scenario.connection)?;
                let engine = self.bring_up(launcher, access, control, observer)?;
                point.engine = Some(engine.about.clone());
                engine.running.url().to_owned()
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
        observer: &mut dyn Observer,
    ) -> Result<&LaunchedEngine, EngineFailure> {
        let fits = |live: &LiveServer| match live {
            LiveServer::Launched { launcher, .. } => launcher.flags() == wanted.flags(),
            LiveServer::Embedded { .. } => false,
        };
        if !self.live.as_ref().is_some_and(fits) {
            let begun = Instant::now();
            self.stop_engine(observer);
            if let Some(failure) = self.failed.get(wanted.flags()) {
                return Err(failure.clone());
            }
            let engine = wanted.start(&self.new_log(), access, control, observer);
            self.starting += begun.elapsed();
            let engine = engine.inspect_err(|failure| {
                self.failed.insert(wanted.flags().clone(), failure.clone());
            })?;
            self.ended = None;
            self.live = Some(LiveServer::Launched {
                launcher: Box::new(wanted),
                engine: Box::new(engine),
            });
        }
        match &self.live {
            Some(LiveServer::Launched { engine, .. }) => Ok(engine),
            _ => unreachable!("it was started just now"),
        }
    }

    fn new_log(&self) -> PathBuf {
        let numbered = (2..).map(|number| format!("engine-{number}.log"));
        std::iter::once("engine.log".to_owned())
            .chain(numbered)
            .map(|name| self.logs.join(name))
            .find(|path| !path.exists())
            .expect("numbers do not end")
    }

    fn embedded(&mut self, wanted: &Connection) -> Result<String, RunnerError> {
        if let Some(LiveServer::Embedded {
            model,
            device,
            server,
        }) = &self.live
            && *model == wanted.sim_model
            && *device == wanted.sim_device
        {
            return Ok(server.url.clone());
        }
        self.live = None;
        // What would not start is told in its own words, and why.
        computed(wanted, None)?;
        let server = start(wanted, &self.session.program)?;
        let url = server.url.clone();
        self.live = Some(LiveServer::Embedded {
            model: wanted.sim_model.clone(),
            device: wanted.sim_device.clone(),
            server,
        });
        Ok(url)
    }
}

/// A server that others started, as its log describes it.
fn described_by_log(log: &Path) -> Result<StartedEngine, RunnerError> {
    let read = facts_of_log(log);
    let read = read.with_context(|| format!("cannot read --engine-log {}", log.display()))?;
    let Some((engine, facts)) = read else {
        bail!(
            "--engine-log {}: no line of it is known from vLLM, SGLang, MindIE or llama-server; give the log of the engine's start",
            log.display()
        );
    };
    Ok(StartedEngine {
        name: engine.to_string(),
        options: EngineOptions {
            log: Some(log.to_owned()),
            ..EngineOptions::default()
        }
        .words(),
        log: log.to_owned(),
        ..facts
    })
}

/// The run of an engine that died under it says so.
fn died(measured: Measured, failure: &Failure, lang: Lang) -> Result<Measured, RunnerError> {
    let ending = Ending {
        health: Health::Dead(failure.to_string()),
        ..measured.ending.clone()
    };
    measured.with_ending(ending, lang)
}

fn start(connection: &Connection, program: &Path) -> Result<EmbeddedServer, RunnerError> {
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
    EmbeddedServer::start(program, &arguments)
}
