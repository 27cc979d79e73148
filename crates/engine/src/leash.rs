//! Our end of the pipes to a supervisor and what is in its care.

use crate::launch::Supervisor;
use crate::processes::{in_group, signal_group, wait_until};
use crate::supervisor::{BURIAL, Charge, Event, HASTY_GRACE, StopSignal};
use rustix::process::Signal;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Longest line of the supervisor.
const LONGEST_LINE: u64 = 1 << 20;

/// What the supervisor needs beyond the grace of its charge: the kill, and a stop command.
pub(crate) const SUPERVISOR_EXTRA: Duration = Duration::from_secs(70);

/// The time for the last words of a supervisor to come through the pipe.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A supervisor that we started. Dropping it ends what it cares for.
#[derive(Debug)]
pub(crate) struct Leash {
    supervisor: Child,
    orders: Option<ChildStdin>,
    events: Receiver<(Instant, Event)>,
    /// The charge's group while it may be alive, so that it outlives nobody.
    group: Option<i32>,
    signal: StopSignal,
}

/// What a supervisor was heard to say within some time.
pub(crate) enum Heard {
    /// With the time at which it was said.
    Event(Event, Instant),
    Nothing,
    /// It is gone, and has said all that it will ever say; what it left behind is ended.
    Gone,
}

impl Leash {
    /// Starts a supervisor with a charge.
    pub fn new(supervisor: &Supervisor, charge: &Charge) -> io::Result<Leash> {
        // Where there is no log, our pipe takes its place.
        let output = match charge.log {
            Some(_) => Stdio::null(),
            None => Stdio::piped(),
        };
        let mut supervisor = Command::new(&supervisor.program)
            .args(&supervisor.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output)
            // Ctrl-C is for the tuner, which then stops the engine in order.
            .process_group(0)
            .spawn()?;
        let orders = supervisor.stdin.take();
        let events = listen(supervisor.stdout.take());
        let mut leash = Leash {
            supervisor,
            orders,
            events,
            group: None,
            signal: charge.signal,
        };
        let mut line = serde_json::to_vec(charge)?;
        line.push(b'\n');
        leash.order(&line)?;
        Ok(leash)
    }

    /// The output of a charge without a log.
    pub fn output(&mut self) -> Option<ChildStderr> {
        self.supervisor.stderr.take()
    }

    /// Asks for the end; one that is gone needs no asking.
    pub fn stop(&mut self) {
        let _ = self.order(b"stop\n");
    }

    /// The supervisor's next word, if it comes in time.
    pub fn hear(&mut self, limit: Duration) -> Heard {
        match self.events.recv_timeout(limit) {
            Ok((at, event)) => {
                match &event {
                    Event::Started { pid } => self.group = Some(*pid),
                    Event::Ended { .. } => self.group = None,
                    _ => {}
                }
                Heard::Event(event, at)
            }
            Err(RecvTimeoutError::Disconnected) if !self.is_held() => {
                self.end_orphans();
                Heard::Gone
            }
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(limit.min(Duration::from_millis(20)));
                Heard::Nothing
            }
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
        }
    }

    /// Is the supervisor still there?
    pub fn is_held(&mut self) -> bool {
        matches!(self.supervisor.try_wait(), Ok(None))
    }

    /// Ends the group of a supervisor that died without having done so.
    fn end_orphans(&mut self) {
        let Some(group) = self.group.take() else {
            return;
        };
        let is_gone = || in_group(group).is_empty();
        if !is_gone() {
            signal_group(group, self.signal.signal());
        }
        if !wait_until(HASTY_GRACE, is_gone) {
            signal_group(group, Signal::KILL);
            wait_until(BURIAL, is_gone);
        }
    }

    fn order(&mut self, line: &[u8]) -> io::Result<()> {
        let pipe = self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(line)
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // The closed pipe is an order that the supervisor cannot miss.
        drop(self.orders.take());
        wait_until(SUPERVISOR_EXTRA, || !self.is_held());
        while let Heard::Event(..) = self.hear(LAST_WORDS) {}
    }
}

fn listen(output: Option<ChildStdout>) -> Receiver<(Instant, Event)> {
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = output {
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            loop {
                line.clear();
                match (&mut output)
                    .take(LONGEST_LINE)
                    .read_until(b'\n', &mut line)
                {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                if let Ok(event) = serde_json::from_slice(&line)
                    && sender.send((Instant::now(), event)).is_err()
                {
                    return;
                }
            }
        });
    }
    receiver
}
