//! A question to an installed engine, such as `--version`. It may load half a framework before it
//! answers, so it is asked under a supervisor: it ends with its time, and with us.

use crate::exit::Exit;
use crate::supervisor::{Event, StopSignal, SupervisedCommand, Supervisor};
use crate::supervisor_handle::{Received, SupervisorHandle};
use crate::tool::{collect, text};
use std::time::{Duration, Instant};

/// From the polite request to end until it is killed.
const GRACE: Duration = Duration::from_secs(1);

const LOOK: Duration = Duration::from_millis(100);

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It ended well, and this is what it wrote.
    Text(String),
    /// It cannot be run, or ended badly.
    Failed,
    /// It had to be ended.
    OutOfTime,
}

/// Runs a command until it ends or its time is over; `waiting` is called with the time so far.
pub(crate) fn inquire(
    words: &[String],
    environment: &[(String, String)],
    supervisor: &Supervisor,
    limit: Duration,
    waiting: &mut dyn FnMut(Duration),
) -> Answer {
    let command = SupervisedCommand {
        words: words.to_vec(),
        environment: environment.to_vec(),
        log: None,
        signal: StopSignal::Terminate,
        grace: GRACE,
        stop: None,
        answers_at: Vec::new(),
        registry: None,
    };
    let Ok(mut supervisor) = SupervisorHandle::new(supervisor, &command) else {
        return Answer::Failed;
    };
    let output = collect(supervisor.output());
    let began = Instant::now();
    let exit = loop {
        match supervisor.receive(LOOK) {
            Received::Event(Event::Exited(exit), _) => break Some(exit),
            Received::Event(Event::NotStarted { .. }, _) | Received::Gone => return Answer::Failed,
            Received::Event(..) | Received::Nothing => {}
        }
        if began.elapsed() >= limit {
            break None;
        }
        waiting(began.elapsed());
    };
    if exit.is_none() {
        supervisor.stop();
    }
    // Whatever it left behind holds the pipe until the supervisor has ended that, too.
    drop(supervisor);
    match exit {
        Some(Exit::Code(0)) => Answer::Text(text(&output)),
        Some(_) => Answer::Failed,
        None => Answer::OutOfTime,
    }
}
