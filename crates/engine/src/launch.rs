//! Starting an engine: what is needed for it, and the wait until it answers.

use crate::describe::Engine;
use crate::device::DeviceTool;
use crate::facts::StartFacts;
use crate::failure::Failure;
use crate::http::{Access, Client, HttpError, host_and_port};
use crate::log::LogFollower;
use crate::readiness::{Proven, Readiness};
use crate::running::Running;
use crate::supervisor::{Charge, Event, StopSignal};
use inferometer_catalog::engine::{EngineKind, Fact, FailureClass, read_line};
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The program that supervises: this binary, called again with
/// [`SUPERVISOR_WORD`](crate::SUPERVISOR_WORD).
#[derive(Clone, Debug)]
pub struct Supervisor {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

/// A command around the engine's (`docker run …`, `ssh host`, `srun …`) and the one that stops
/// what it started, since the death of the client need not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrapper {
    /// Words in front of the engine's command.
    pub start: Vec<String>,
    pub stop: Option<Vec<String>>,
}

/// How long each thing may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// From the start until it answers.
    pub ready: Duration,
    /// Silence of the log before that.
    pub silence: Duration,
    /// From the polite request to end until it is killed.
    pub stop: Duration,
    /// From its end until the devices' memory is back.
    pub memory: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            ready: Duration::from_secs(30 * 60),
            silence: Duration::from_secs(10 * 60),
            stop: Duration::from_secs(30),
            memory: Duration::from_secs(60),
        }
    }
}

/// All that a start needs.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Whose log and readiness it is.
    pub engine: EngineKind,
    pub words: Vec<String>,
    /// Added to our own environment.
    pub environment: Vec<(String, String)>,
    /// Where it runs; absent for where we do.
    pub folder: Option<PathBuf>,
    /// The server that is measured, whatever port the command names.
    pub url: String,
    pub access: Access,
    pub log: PathBuf,
    pub ready: Readiness,
    /// How long that may take.
    pub patience: Patience,
    /// How it is asked to end.
    pub signal: StopSignal,
    /// The command that stops it where a signal to the client does not.
    pub stop: Option<Vec<String>>,
    /// The folder with notes of engines that are up; absent for none.
    pub registry: Option<PathBuf>,
    pub supervisor: Supervisor,
    /// The tool that knows the devices' memory.
    pub devices: Option<DeviceTool>,
}

/// What happens during a start.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    Spawned {
        pid: i32,
    },
    Waiting {
        elapsed: Duration,
        last_line: Option<String>,
    },
    Ready {
        after: Duration,
    },
}

/// Why there is no running engine.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It failed, and this is why.
    #[error("{0}")]
    Failed(Box<Failure>),
    /// The caller broke it off; the engine is stopped.
    #[error("the start was interrupted; the engine is stopped")]
    Interrupted,
    /// The supervisor cannot be started or does not answer.
    #[error("cannot start the supervisor {}: {why}", program.display())]
    NoSupervisor { program: PathBuf, why: io::Error },
    /// The certificates given are none.
    #[error(transparent)]
    Access(#[from] HttpError),
}

/// Between two looks at a starting engine.
const LOOK: Duration = Duration::from_millis(200);

/// Longest time for one probe.
const PROBE: Duration = Duration::from_secs(5);

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
            folder: None,
            url: format!("http://127.0.0.1:{}", engine.outer_port(port)),
            access: Access::default(),
            log: log.to_owned(),
            ready: engine.readiness(),
            patience: Patience::default(),
            signal: engine.stop_signal(),
            stop: engine.stop_command(),
            registry: None,
            supervisor,
            devices: None,
        };
        launch.place(port);
        launch
    }

    /// Puts a command around the engine's.
    pub fn wrapped(mut self, wrapper: &Wrapper) -> Self {
        self.words.splice(0..0, wrapper.start.iter().cloned());
        if wrapper.stop.is_some() {
            self.stop.clone_from(&wrapper.stop);
        }
        self
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

    /// Starts the engine and waits until it is ready. `progress` hears of it several times a
    /// second and may break it off.
    pub fn start(
        &self,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Running, StartError> {
        let client = Client::new(self.access.clone(), PROBE)?;
        // Somebody else's answer would be taken for the engine's.
        if is_listening(&self.url) {
            return Err(self.refused(
                FailureClass::PortTaken,
                format!(
                    "something listens on {} already; stop it or choose another port",
                    self.url
                ),
            ));
        }
        let level = self.devices.as_ref().and_then(DeviceTool::memory_used_mib);
        let began = Instant::now();
        let mut running = Running::spawn(self, &self.charge(), level, began)?;
        let mut watch = Start {
            launch: self,
            client,
            follower: LogFollower::new(&self.log),
            facts: StartFacts::default(),
            began,
            grew: began,
            last_line: None,
            line_seen: self.ready.line.is_none(),
            proven: Proven::default(),
            is_detached: false,
        };
        match watch.wait(&mut running, progress) {
            Ok(()) => {
                watch.facts.ready_after(began.elapsed());
                running.facts = watch.facts;
                Ok(running)
            }
            Err(error) => {
                running.stop();
                Err(error)
            }
        }
    }

    fn charge(&self) -> Charge {
        Charge {
            words: self.words.clone(),
            environment: self.environment.clone(),
            folder: self.folder.clone(),
            log: Some(self.log.clone()),
            signal: self.signal,
            grace: self.patience.stop,
            stop: self.stop.clone(),
            answers_at: self.ready.addresses(&self.url),
            registry: self.registry.clone(),
        }
    }

    fn refused(&self, class: FailureClass, what: String) -> StartError {
        StartError::Failed(Box::new(Failure::before(class, what)))
    }
}

struct Start<'a> {
    launch: &'a Launch,
    client: Client,
    follower: LogFollower,
    facts: StartFacts,
    began: Instant,
    /// When the log last grew.
    grew: Instant,
    last_line: Option<String>,
    line_seen: bool,
    /// What stands for the line.
    proven: Proven,
    is_detached: bool,
}

impl Start<'_> {
    fn wait(
        &mut self,
        running: &mut Running,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), StartError> {
        loop {
            match running.next_event(LOOK) {
                Some(Event::Started { pid }) => {
                    running.pid = Some(pid);
                    if progress(&Progress::Spawned { pid }).is_break() {
                        return Err(StartError::Interrupted);
                    }
                }
                Some(Event::NotStarted { not_found, message }) => {
                    let program = self.launch.words.first().map_or("", String::as_str);
                    let (class, remedy) = match not_found {
                        true => (
                            FailureClass::MissingBinary,
                            "; install it, or give its whole path",
                        ),
                        false => (FailureClass::Crash, ""),
                    };
                    return Err(self
                        .launch
                        .refused(class, format!("cannot run `{program}`: {message}{remedy}")));
                }
                Some(Event::Detached) => self.is_detached = true,
                Some(Event::Exited(_) | Event::Ended { .. }) | None => {}
            }
            if let Some(failure) = running.died() {
                return Err(StartError::Failed(Box::new(failure)));
            }
            self.read_log();
            if running.pid.is_some()
                && self.is_warm()
                && self.launch.ready.answers(&self.client, &self.launch.url)
            {
                // The last lines of a start come with the first answer.
                self.read_log();
                let after = self.began.elapsed();
                // It is up already: a break now is the caller's to make by stopping it.
                let _ = progress(&Progress::Ready { after });
                return Ok(());
            }
            let waiting = Progress::Waiting {
                elapsed: self.began.elapsed(),
                last_line: self.last_line.clone(),
            };
            if progress(&waiting).is_break() {
                return Err(StartError::Interrupted);
            }
            self.check_time()?;
        }
    }

    /// Has it warmed up, by its log or by what stands for it? One that runs elsewhere, and of
    /// which nothing else is known, need only answer.
    fn is_warm(&mut self) -> bool {
        let ready = &self.launch.ready;
        self.line_seen
            || match ready.instead.is_empty() {
                true => self.is_detached,
                false => self.proven.ask(ready, &self.client, &self.launch.url),
            }
    }

    fn read_log(&mut self) {
        let lines = self.follower.look();
        if !lines.is_empty() {
            self.grew = Instant::now();
        }
        for line in &lines {
            if let Some(wanted) = &self.launch.ready.line {
                self.line_seen |= line.contains(wanted.as_str());
            }
            if let Some(fact) = read_line(self.launch.engine, line) {
                self.line_seen |= fact == Fact::Ready && self.launch.ready.line.is_none();
                self.facts.take(&fact);
            }
        }
        self.last_line = lines.into_iter().next_back().or(self.last_line.take());
    }

    fn check_time(&self) -> Result<(), StartError> {
        let patience = &self.launch.patience;
        let elapsed = self.began.elapsed();
        let (class, limit) = if elapsed >= patience.ready {
            (FailureClass::Timeout, patience.ready)
        } else if self.grew.elapsed() >= patience.silence && !self.is_detached {
            (FailureClass::Hang, patience.silence)
        } else {
            return Ok(());
        };
        let log = match self.last_line {
            None => "is empty".to_owned(),
            Some(_) => format!("last grew {:.0} s ago", self.grew.elapsed().as_secs_f64()),
        };
        let limit = limit.as_secs_f64();
        let open = self.launch.ready.open(self.line_seen || self.is_detached);
        let what = format!("not ready within {limit:.0} s: {open}; its log {log}");
        let failure = Failure::observed(class, what, &self.launch.log, elapsed);
        Err(StartError::Failed(Box::new(failure)))
    }
}

/// Does anybody take connections there?
pub fn is_listening(url: &str) -> bool {
    let Some((host, port)) = host_and_port(url) else {
        return false;
    };
    let Ok(mut addresses) = (host.as_str(), port).to_socket_addrs() else {
        return false;
    };
    addresses.any(|address| TcpStream::connect_timeout(&address, Duration::from_secs(2)).is_ok())
}

/// A port of this host that nobody uses now.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
