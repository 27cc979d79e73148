//! An engine that runs, and its end.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::launch::Launch;
use crate::processes::wait_until;
use crate::supervisor::{Event, SupervisedCommand};
use crate::supervisor_handle::{Received, SUPERVISOR_EXTRA, SupervisorHandle};
use inferometer_catalog::engine::FailureClass;
use inferometer_core::environment::StartedEngine;
use std::io;
use std::time::{Duration, Instant};

/// Memory that may be more than before without meaning anything.
const MEMORY_SLACK_MIB: f64 = 512.0;

/// The devices' memory after an engine's end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemoryAfter {
    /// No device can be asked.
    NotAsked,
    /// It is back at the level of before.
    Back,
    Held {
        /// This much above the level of before.
        mib: f64,
    },
}

/// How an engine ended that we stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// It did not follow the polite request.
    pub killed: bool,
    /// Processes that survived even the kill.
    pub remaining: usize,
    /// Its stop command succeeded; true where there is none.
    pub reached: bool,
    /// It answers nevertheless, so that it runs on elsewhere.
    pub answers: bool,
    pub memory: MemoryAfter,
}

/// How an engine ended that we did not stop.
#[derive(Clone, Copy, Debug)]
enum Death {
    Exited(Exit),
    /// Its supervisor died, and it was ended with it.
    Orphaned,
}

/// A running engine. Dropping it ends the engine too.
#[derive(Debug)]
pub struct Running {
    supervisor: SupervisorHandle,
    launch: Launch,
    level: Option<f64>,
    began: Instant,
    death: Option<(Death, Instant)>,
    ended: Option<Stopped>,
    pub(crate) pid: Option<i32>,
    pub(crate) facts: StartedEngine,
}

impl Running {
    pub(crate) fn spawn(
        launch: &Launch,
        command: &SupervisedCommand,
        level: Option<f64>,
        began: Instant,
    ) -> io::Result<Self> {
        Ok(Running {
            supervisor: SupervisorHandle::new(&launch.supervisor, command)?,
            launch: launch.clone(),
            level,
            began,
            death: None,
            ended: None,
            pid: None,
            facts: StartedEngine::default(),
        })
    }

    pub fn url(&self) -> &str {
        &self.launch.url
    }

    /// Its process, which leads a group of its own.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// What its log said while it started.
    pub fn facts(&self) -> &StartedEngine {
        &self.facts
    }

    pub fn has_ended(&mut self) -> bool {
        while self.death.is_none() && self.next_event(Duration::ZERO).is_some() {}
        self.death.is_some()
    }

    /// The failure of an engine that ended meanwhile; `None` while it runs.
    pub fn died(&mut self) -> Option<Failure> {
        self.has_ended();
        let (death, at) = self.death?;
        let after = at.saturating_duration_since(self.began);
        let log = &self.launch.log;
        Some(match death {
            Death::Exited(exit) => Failure::of_exit(self.launch.engine, log, exit, after),
            Death::Orphaned => {
                let what = "its supervisor died, so that it was ended".to_owned();
                Failure::observed(FailureClass::Crash, what, log, after)
            }
        })
    }

    /// Ends the engine, politely and then firmly, and waits for the devices' memory. Nothing
    /// here waits without bound.
    pub fn stop(mut self) -> Stopped {
        let began = Instant::now();
        self.supervisor.stop();
        let limit = self.launch.timeouts.stop + SUPERVISOR_EXTRA;
        while self.ended.is_none() && began.elapsed() < limit && self.supervisor.is_alive() {
            self.next_event(Duration::from_millis(50));
        }
        // The last events may still be in the pipe.
        while self.ended.is_none() && self.next_event(Duration::from_millis(200)).is_some() {}
        let mut stopped = self.ended.take().unwrap_or(Stopped {
            killed: false,
            remaining: usize::from(self.death.is_none() && self.pid.is_some()),
            reached: false,
            answers: false,
            memory: MemoryAfter::NotAsked,
        });
        stopped.memory = self.settle();
        stopped
    }

    /// Waits until the devices hold no more memory than before the start.
    fn settle(&self) -> MemoryAfter {
        let (Some(devices), Some(level)) = (&self.launch.devices, self.level) else {
            return MemoryAfter::NotAsked;
        };
        let mut above = 0.0;
        let is_back = wait_until(self.launch.timeouts.memory, || {
            above = devices.memory_used_mib().map_or(0.0, |used| used - level);
            above <= MEMORY_SLACK_MIB
        });
        if is_back {
            MemoryAfter::Back
        } else {
            MemoryAfter::Held { mib: above }
        }
    }

    /// The supervisor's next event, if it comes in time.
    pub(crate) fn next_event(&mut self, limit: Duration) -> Option<Event> {
        let (event, at) = match self.supervisor.receive(limit) {
            Received::Event(event, at) => (event, at),
            Received::Nothing => return None,
            Received::Gone => {
                if self.ended.is_none() {
                    self.death.get_or_insert((Death::Orphaned, Instant::now()));
                }
                return None;
            }
        };
        match &event {
            Event::Exited(exit) => self.death = Some((Death::Exited(*exit), at)),
            Event::Ended {
                killed,
                remaining,
                reached,
                answers,
            } => {
                self.ended = Some(Stopped {
                    killed: *killed,
                    remaining: *remaining,
                    reached: *reached,
                    answers: *answers,
                    memory: MemoryAfter::NotAsked,
                });
            }
            _ => {}
        }
        Some(event)
    }
}
