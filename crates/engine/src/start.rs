//! Starting an engine, and the wait until it answers.

use crate::device::DeviceTool;
use crate::facts::take;
use crate::failure::Failure;
use crate::launch::Launch;
use crate::log::LogFollower;
use crate::port::is_listening;
use crate::readiness::Proven;
use crate::running::Running;
use crate::supervisor::{Event, SupervisedCommand};
use inferometer_catalog::engine::{Fact, FailureClass, read_line};
use inferometer_core::environment::StartedEngine;
use inferometer_fetch::{Client, FetchError};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq)]
pub enum StartProgress {
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

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Failed(Box<Failure>),
    #[error("the start was interrupted; the engine is stopped")]
    Interrupted,
    /// The supervisor cannot be started or does not answer.
    #[error("cannot start the supervisor {}: {why}", program.display())]
    NoSupervisor { program: PathBuf, why: io::Error },
    /// The given certificates are not usable.
    #[error(transparent)]
    Access(#[from] FetchError),
}

/// Between two looks at a starting engine.
const LOOK: Duration = Duration::from_millis(200);

const PROBE: Duration = Duration::from_secs(5);

impl Launch {
    /// Starts the engine and waits until it is ready. `progress` is called several times per
    /// second and may cancel it.
    pub fn start(
        &self,
        progress: &mut dyn FnMut(&StartProgress) -> ControlFlow<()>,
    ) -> Result<Running, StartError> {
        let client = Client::for_server(self.access.clone(), PROBE)?;
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
        let mut running =
            Running::spawn(self, &self.supervised(), level, began).map_err(|why| {
                StartError::NoSupervisor {
                    program: self.supervisor.program.clone(),
                    why,
                }
            })?;
        let mut watch = Start {
            launch: self,
            client,
            follower: LogFollower::new(&self.log),
            facts: StartedEngine::default(),
            began,
            grew: began,
            last_line: None,
            line_seen: self.ready.line.is_none(),
            proven: Proven::default(),
            is_detached: false,
        };
        match watch.wait(&mut running, progress) {
            Ok(()) => {
                watch.facts.start_s = Some(began.elapsed().as_secs_f64());
                running.facts = watch.facts;
                Ok(running)
            }
            Err(error) => {
                running.stop();
                Err(error)
            }
        }
    }

    fn supervised(&self) -> SupervisedCommand {
        SupervisedCommand {
            words: self.words.clone(),
            environment: self.environment.clone(),
            log: Some(self.log.clone()),
            signal: self.signal,
            grace: self.timeouts.stop,
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
    facts: StartedEngine,
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
        progress: &mut dyn FnMut(&StartProgress) -> ControlFlow<()>,
    ) -> Result<(), StartError> {
        loop {
            match running.next_event(LOOK) {
                Some(Event::Started { pid }) => {
                    running.pid = Some(pid);
                    if progress(&StartProgress::Spawned { pid }).is_break() {
                        return Err(StartError::Interrupted);
                    }
                }
                Some(Event::NotStarted { not_found, message }) => {
                    let program = self.launch.words.first().map_or("", String::as_str);
                    let (class, remedy) = if not_found {
                        let remedy = "; install it, or give its whole path";
                        (FailureClass::MissingBinary, remedy)
                    } else {
                        (FailureClass::Crash, "")
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
                let _ = progress(&StartProgress::Ready { after });
                return Ok(());
            }
            let waiting = StartProgress::Waiting {
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
            || if ready.instead.is_empty() {
                self.is_detached
            } else {
                self.proven.ask(ready, &self.client, &self.launch.url)
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
                take(&mut self.facts, &fact);
            }
        }
        self.last_line = lines.into_iter().next_back().or(self.last_line.take());
    }

    fn check_time(&self) -> Result<(), StartError> {
        let timeouts = &self.launch.timeouts;
        let elapsed = self.began.elapsed();
        let (class, limit) = if elapsed >= timeouts.ready {
            (FailureClass::Timeout, timeouts.ready)
        } else if self.grew.elapsed() >= timeouts.silence && !self.is_detached {
            (FailureClass::Hang, timeouts.silence)
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
