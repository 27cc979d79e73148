//! A question to an installed engine, such as `--version`. It may load half a framework before it
//! answers, so it is asked under a supervisor: it ends with its time, and with us.

use crate::exit::Exit;
use crate::launch::Supervisor;
use crate::leash::{Heard, Leash};
use crate::supervisor::{Charge, Event, StopSignal};
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

/// Runs a command until it ends or its time is over; `waiting` hears how long it takes.
pub(crate) fn inquire(
    words: &[String],
    environment: &[(String, String)],
    supervisor: &Supervisor,
    limit: Duration,
    waiting: &mut dyn FnMut(Duration),
) -> Answer {
    let charge = Charge {
        words: words.to_vec(),
        environment: environment.to_vec(),
        folder: None,
        log: None,
        signal: StopSignal::Terminate,
        grace: GRACE,
        stop: None,
        answers_at: Vec::new(),
        registry: None,
    };
    let Ok(mut leash) = Leash::new(supervisor, &charge) else {
        return Answer::Failed;
    };
    let output = collect(leash.output());
    let began = Instant::now();
    let exit = loop {
        match leash.hear(LOOK) {
            Heard::Event(Event::Exited(exit), _) => break Some(exit),
            Heard::Event(Event::NotStarted { .. }, _) | Heard::Gone => return Answer::Failed,
            Heard::Event(..) | Heard::Nothing => {}
        }
        if began.elapsed() >= limit {
            break None;
        }
        waiting(began.elapsed());
    };
    if exit.is_none() {
        leash.stop();
    }
    // Whatever it left behind holds the pipe until the supervisor has ended that, too.
    drop(leash);
    match exit {
        Some(Exit::Code(0)) => Answer::Text(text(&output)),
        Some(_) => Answer::Failed,
        None => Answer::OutOfTime,
    }
}
