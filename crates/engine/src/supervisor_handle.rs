//! Our end of the pipes to a supervisor.

use crate::processes::{in_group, signal_group, wait_until};
use crate::supervisor::{
    Event, REAP_LIMIT, SHORT_GRACE, StopSignal, SupervisedCommand, Supervisor,
};
use rustix::process::Signal;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

const LONGEST_LINE: u64 = 1 << 20;

/// What the supervisor needs beyond the grace period: the kill, and a stop command.
pub(crate) const SUPERVISOR_EXTRA: Duration = Duration::from_secs(70);

/// Time for the last events of a supervisor to come through the pipe.
const LAST_EVENTS: Duration = Duration::from_millis(200);

/// A supervisor that we started. Dropping it ends the process that it supervises.
#[derive(Debug)]
pub(crate) struct SupervisorHandle {
    process: Child,
    orders: Option<ChildStdin>,
    events: Receiver<(Instant, Event)>,
    /// The process group of the command while it may be alive, so that it outlives nobody.
    group: Option<i32>,
    signal: StopSignal,
}

/// What came from a supervisor within some time.
pub(crate) enum Received {
    /// With the time at which it came.
    Event(Event, Instant),
    Nothing,
    /// It is gone and no event will come; the processes that it left behind are ended.
    Gone,
}

impl SupervisorHandle {
    pub fn new(
        supervisor: &Supervisor,
        command: &SupervisedCommand,
    ) -> io::Result<SupervisorHandle> {
        // Where there is no log, our pipe takes its place.
        let output = match command.log {
            Some(_) => Stdio::null(),
            None => Stdio::piped(),
        };
        let mut process = Command::new(&supervisor.program)
            .args(&supervisor.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output)
            // Ctrl-C is for the tuner, which then stops the engine in order.
            .process_group(0)
            .spawn()?;
        let orders = process.stdin.take();
        let events = listen(process.stdout.take());
        let mut handle = SupervisorHandle {
            process,
            orders,
            events,
            group: None,
            signal: command.signal,
        };
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        handle.order(&line)?;
        Ok(handle)
    }

    /// The output of a command without a log file.
    pub fn output(&mut self) -> Option<ChildStderr> {
        self.process.stderr.take()
    }

    /// Asks for the end; one that is gone needs no asking.
    pub fn stop(&mut self) {
        let _ = self.order(b"stop\n");
    }

    /// The supervisor's next event, if it comes in time.
    pub fn receive(&mut self, limit: Duration) -> Received {
        match self.events.recv_timeout(limit) {
            Ok((at, event)) => {
                match &event {
                    Event::Started { pid } => self.group = Some(*pid),
                    Event::Ended { .. } => self.group = None,
                    _ => {}
                }
                Received::Event(event, at)
            }
            Err(RecvTimeoutError::Disconnected) if !self.is_alive() => {
                self.end_orphans();
                Received::Gone
            }
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(limit.min(Duration::from_millis(20)));
                Received::Nothing
            }
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
        }
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
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
        if !wait_until(SHORT_GRACE, is_gone) {
            signal_group(group, Signal::KILL);
            wait_until(REAP_LIMIT, is_gone);
        }
    }

    fn order(&mut self, line: &[u8]) -> io::Result<()> {
        let pipe = self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(line)
    }
}

impl Drop for SupervisorHandle {
    fn drop(&mut self) {
        // The closed pipe is an order that the supervisor cannot miss.
        drop(self.orders.take());
        wait_until(SUPERVISOR_EXTRA, || !self.is_alive());
        while let Received::Event(..) = self.receive(LAST_EVENTS) {}
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
