//! The supervisor: a small process between the tuner and the engine. It starts the engine in a
//! group of its own, and ends the whole group when it is told to, or when the pipe to the tuner
//! closes because the tuner died, by whatever signal.

use crate::bounded_log::BoundedLog;
use crate::exit::Exit;
use crate::processes::{self, signal_group, signal_one, wait_until};
use crate::readiness::still_answers;
use crate::registry::Entry;
use crate::tool;
use inferometer_text::secret::{Secrets, command_secrets, without_secrets};
use rustix::process::{Pid, Signal, WaitOptions, getpid, set_child_subreaper, waitpid};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The hidden word by which the command line calls [`supervise`].
pub const SUPERVISOR_WORD: &str = "supervise-engine";

/// The program that supervises: this binary, called again with
/// [`SUPERVISOR_WORD`].
#[derive(Clone, Debug)]
pub struct Supervisor {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

/// How an engine prefers to be asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopSignal {
    Interrupt,
    /// As by `kill`.
    Terminate,
}

impl StopSignal {
    pub(crate) fn signal(self) -> Signal {
        match self {
            StopSignal::Interrupt => Signal::INT,
            StopSignal::Terminate => Signal::TERM,
        }
    }
}

/// What to run and how to end it; the first line that the supervisor reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SupervisedCommand {
    pub words: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// Absent for the supervisor's own standard error.
    pub log: Option<PathBuf>,
    pub signal: StopSignal,
    pub grace: Duration,
    pub stop: Option<Vec<String>>,
    /// Where it is asked whether it is gone.
    pub answers_at: Vec<String>,
    pub registry: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Event {
    Started {
        pid: i32,
    },
    NotStarted {
        not_found: bool,
        message: String,
    },
    /// The start command ended well and the engine runs elsewhere.
    Detached,
    Exited(Exit),
    Ended {
        killed: bool,
        remaining: usize,
        reached: bool,
        answers: bool,
    },
}

/// Longest line between the two.
const LONGEST_LINE: u64 = 4 << 20;

/// Grace after the tuner's death: with the kill that follows it stays far below 5 s.
pub(crate) const SHORT_GRACE: Duration = Duration::from_millis(1500);

/// Time for the kernel to reap what was killed.
pub(crate) const REAP_LIMIT: Duration = Duration::from_secs(2);

/// A stop command that takes longer has failed.
const STOP_COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// Time for the last words of an engine that has ended to reach its log.
const LOG_LIMIT: Duration = Duration::from_secs(2);

/// Time for a server elsewhere to be gone after its stop.
const GONE_LIMIT: Duration = Duration::from_secs(5);

/// Longest wait for one answer of a server that should be gone.
const ANSWER: Duration = Duration::from_secs(2);

/// Supervises one engine: reads the command and then orders from `input`, reports on `output`.
/// Returns when the engine is gone. To be called by the binary with its own standard input and
/// output when its first argument is [`SUPERVISOR_WORD`].
pub fn supervise(input: impl Read + Send + 'static, mut output: impl Write) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut line = String::new();
    (&mut input).take(LONGEST_LINE).read_line(&mut line)?;
    let command: SupervisedCommand = serde_json::from_str(&line)?;
    let orders = listen(input)?;
    // Grandchildren that leave the group stay our descendants, so that they are found.
    let _ = set_child_subreaper(Some(getpid()));
    let mut supervised = match Supervised::start(command) {
        Ok(supervised) => supervised,
        Err(error) => {
            let not_found = matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            );
            let message = error.to_string();
            report(&mut output, &Event::NotStarted { not_found, message });
            return Ok(());
        }
    };
    let pid = supervised.group;
    report(&mut output, &Event::Started { pid });
    let ended = loop {
        match orders.recv_timeout(Duration::from_millis(50)) {
            Ok(StopOrder) => break supervised.stop_gracefully(),
            Err(RecvTimeoutError::Disconnected) => break supervised.stop_quickly(),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let Some(exit) = supervised.exited() else {
            continue;
        };
        // Whoever hears of the end reads the log for its cause.
        supervised.settle_log();
        if exit.is_success() && supervised.command.stop.is_some() {
            supervised.child = None;
            report(&mut output, &Event::Detached);
            continue;
        }
        report(&mut output, &Event::Exited(exit));
        break supervised.stop_quickly();
    };
    supervised.settle_log();
    report(&mut output, &ended);
    Ok(())
}

struct StopOrder;

/// Orders from the tuner; the channel closes with the pipe.
fn listen(mut input: impl BufRead + Send + 'static) -> io::Result<mpsc::Receiver<StopOrder>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut line = String::new();
        loop {
            line.clear();
            match (&mut input).take(LONGEST_LINE).read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim() == "stop" => {
                    if sender.send(StopOrder).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
            }
        }
    })?;
    Ok(receiver)
}

/// A tuner that is dead receives nothing, which is not an error.
fn report(output: &mut impl Write, event: &Event) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        let _ = output.write_all(&line).and_then(|()| output.flush());
    }
}

struct Supervised {
    command: SupervisedCommand,
    group: i32,
    /// Absent once the start command has ended and the engine runs elsewhere.
    child: Option<Child>,
    /// Absent where the engine writes to the supervisor's own standard error.
    log: Option<BoundedLog>,
    entry: Option<(Entry, PathBuf)>,
}

impl Supervised {
    fn start(command: SupervisedCommand) -> io::Result<Supervised> {
        let (log, output) = match &command.log {
            Some(path) => {
                let (log, pipe) = BoundedLog::start(open_log(path)?, secrets_of(&command))?;
                (Some(log), OwnedFd::from(pipe))
            }
            None => (None, io::stderr().as_fd().try_clone_to_owned()?),
        };
        let child = tool::command(&command.words, &command.environment)?
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(output))
            .spawn()?;
        let mut supervised = Supervised {
            group: child.id() as i32,
            child: Some(child),
            log,
            entry: None,
            command,
        };
        supervised.register();
        Ok(supervised)
    }

    /// Leaves a note for the next start. An engine without a note is still supervised, so that
    /// a full disk does not prevent the start.
    fn register(&mut self) {
        let own = getpid().as_raw_nonzero().get();
        let started = |pid| processes::one(pid).map(|process| process.started);
        let Some(folder) = &self.command.registry else {
            return;
        };
        let (Some(since), Some(own_since)) = (started(self.group), started(own)) else {
            return;
        };
        let entry = Entry {
            pid: self.group,
            started: since,
            boot: processes::boot(),
            supervisor: (own, own_since),
            command: without_secrets(&self.command.words),
            stop: self.command.stop.as_deref().map(without_secrets),
            log: self.command.log.clone().unwrap_or_default(),
            unreached: false,
            answers_at: Vec::new(),
        };
        let path = Entry::path(folder, own);
        if std::fs::create_dir_all(folder).is_ok() && entry.write(&path).is_ok() {
            self.entry = Some((entry, path));
        }
    }

    fn settle_log(&self) {
        if let Some(log) = &self.log {
            log.settle(LOG_LIMIT);
        }
    }

    fn exited(&mut self) -> Option<Exit> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        Some(Exit::from(status))
    }

    /// As the engine prefers, with all the time that it was given.
    fn stop_gracefully(&mut self) -> Event {
        let stop_command = self.stop_command();
        let reached = stop_command.map(|mut running| running.finish(STOP_COMMAND_LIMIT));
        let (killed, remaining) = self.end_group(self.command.grace);
        self.unregister(killed, remaining, reached)
    }

    /// The tuner is dead or the engine is: within a few seconds.
    fn stop_quickly(&mut self) -> Event {
        let mut stop_command = self.stop_command();
        if let Some(running) = &mut stop_command {
            wait_until(SHORT_GRACE, || running.has_ended());
        }
        let (killed, remaining) = self.end_group(SHORT_GRACE);
        let reached = stop_command.map(|mut running| running.finish(STOP_COMMAND_LIMIT));
        self.unregister(killed, remaining, reached)
    }

    /// Removes the note, or says in it that the engine could not be reached, or that it answers
    /// although its stop command went well.
    fn unregister(&mut self, killed: bool, remaining: usize, reached: Option<bool>) -> Event {
        let mut answers = false;
        if remaining == 0 {
            wait_until(GONE_LIMIT, || {
                answers = still_answers(&self.command.answers_at, ANSWER);
                !answers
            });
        }
        if let Some((mut entry, path)) = self.entry.take() {
            entry.unreached = reached == Some(false);
            if answers {
                entry.answers_at.clone_from(&self.command.answers_at);
            }
            if entry.unreached || answers {
                let _ = entry.write(&path);
            } else if remaining == 0 {
                let _ = std::fs::remove_file(path);
            }
        }
        Event::Ended {
            killed,
            remaining,
            reached: reached.unwrap_or(true),
            answers,
        }
    }

    fn stop_command(&self) -> Option<StopCommand> {
        let words = self.command.stop.as_ref()?;
        let output = match &self.command.log {
            Some(path) => open_log(path).map(OwnedFd::from),
            None => io::stderr().as_fd().try_clone_to_owned(),
        };
        let child = output.and_then(|output| {
            tool::command(words, &self.command.environment)?
                .stdout(Stdio::from(output.try_clone()?))
                .stderr(Stdio::from(output))
                .spawn()
        });
        Some(StopCommand(child.ok()))
    }

    /// Ends the group and all descendants: whether they had to be killed, and how many survived
    /// even that.
    fn end_group(&mut self, grace: Duration) -> (bool, usize) {
        if !self.members().is_empty() {
            signal_group(self.group, self.command.signal.signal());
            wait_until(grace, || self.members().is_empty());
        }
        let stubborn = self.members();
        if stubborn.is_empty() {
            return (false, 0);
        }
        signal_group(self.group, Signal::KILL);
        wait_until(REAP_LIMIT, || {
            // Again and again: one that forks quickly would otherwise escape.
            let left = self.members();
            left.iter()
                .for_each(|process| signal_one(process, Signal::KILL));
            left.is_empty()
        });
        (true, self.members().len())
    }

    /// Living processes of the group, and descendants of ours that left it.
    fn members(&mut self) -> Vec<processes::Process> {
        self.reap();
        let mut members = processes::in_group(self.group);
        let own = getpid().as_raw_nonzero().get();
        for process in processes::below(own) {
            let is_stop_command = process.group != self.group && self.command.stop.is_some();
            if !is_stop_command && members.iter().all(|had| had.pid != process.pid) {
                members.push(process);
            }
        }
        members
    }

    /// Reaps the engine and those of its descendants that came to us when their parents died, so
    /// that nobody who looks takes them for alive. A stop command is left to whoever waits for it.
    fn reap(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.try_wait();
        }
        let own = getpid().as_raw_nonzero().get();
        let has_stop_command = self.command.stop.is_some();
        let is_ours = |process: &processes::Process| {
            process.zombie
                && process.parent == own
                && process.pid != self.group
                && (process.group == self.group || !has_stop_command)
        };
        for dead in processes::all().into_iter().filter(is_ours) {
            let _ = waitpid(Pid::from_raw(dead.pid), WaitOptions::NOHANG);
        }
    }
}

/// The user's stop command under way; absent if it could not be started.
struct StopCommand(Option<Child>);

impl StopCommand {
    fn has_ended(&mut self) -> bool {
        match &mut self.0 {
            Some(child) => !matches!(child.try_wait(), Ok(None)),
            None => true,
        }
    }

    /// Did it succeed in time?
    fn finish(&mut self, limit: Duration) -> bool {
        let exit = self.0.as_mut().and_then(|child| tool::finish(child, limit));
        exit.is_some_and(Exit::is_success)
    }
}

/// What the engine's log must not repeat.
fn secrets_of(command: &SupervisedCommand) -> Secrets {
    let set = (command.environment.iter()).map(|(name, value)| format!("{name}={value}"));
    let words: Vec<String> = command.words.iter().cloned().chain(set).collect();
    let mut secrets = Secrets::default();
    for secret in command_secrets(&words) {
        secrets.add(&secret);
    }
    secrets
}

fn open_log(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    let opened = options.create(true).read(true).append(true).open(path);
    // "Not found" must mean the engine's program, not its log.
    opened.map_err(|e| io::Error::other(format!("cannot write {}: {e}", path.display())))
}
