//! A searcher outside of this program, asked over pipes.

use crate::error::{Context as _, RunnerError, bail};
use crate::observer::{Event, Observer};
use inferometer_campaign::search::external::{
    ToSearcher, TrialReport, TrialReportOutcome, answer, study,
};
use inferometer_campaign::search::{Ask, Searcher};
use inferometer_campaign::space::{Admission, Point};
use inferometer_campaign::study::Study;
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use inferometer_text::hostile::printable;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Longest wait for a proposal.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two looks at whether the user still waits.
const LOOK: Duration = Duration::from_millis(200);
/// Proposals in a row that the engine's rules refuse before the searcher counts as lost.
const MOST_REFUSED: usize = 1000;
const LONGEST_LINE: u64 = 1 << 20;

/// A program that searches. It keeps what it was told, so it is told everything once.
pub struct ExternalSearcher(Mutex<Talk>);

struct Talk {
    child: Child,
    orders: Sender<String>,
    answers: Receiver<String>,
    observer: Box<dyn Observer + Send>,
    leave: Control,
    told: usize,
    name: String,
    trouble: Option<RunnerError>,
}

impl ExternalSearcher {
    /// Starts the program; what it says on standard error goes to `log`. It is waited for on
    /// until `leave` says that the user wants to leave.
    pub fn start(
        words: &[String],
        of: &Study,
        log: &Path,
        observer: Box<dyn Observer + Send>,
        leave: Control,
    ) -> Result<ExternalSearcher, RunnerError> {
        let (program, arguments) = words.split_first().context("[search] command is empty")?;
        let log = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("[search] cannot start '{program}'; check the command"))?;
        let (sender, answers) = channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut output = BufReader::new(output);
                loop {
                    let mut line = Vec::new();
                    match (&mut output)
                        .take(LONGEST_LINE)
                        .read_until(b'\n', &mut line)
                    {
                        Ok(0) | Err(_) => return,
                        Ok(_) => {}
                    }
                    if sender
                        .send(String::from_utf8_lossy(&line).into_owned())
                        .is_err()
                    {
                        return;
                    }
                }
            });
        }
        let mut talk = Talk {
            orders: writer(child.stdin.take()),
            child,
            answers,
            observer,
            leave,
            told: 0,
            name: printable(&words.join(" "), 200),
            trouble: None,
        };
        let line = study(&of.space, of.goal.objectives.len(), of.seed);
        talk.send(&line)?;
        Ok(ExternalSearcher(Mutex::new(talk)))
    }

    /// Why it proposed nothing, where that was a failure.
    pub fn trouble(&self) -> Option<RunnerError> {
        self.talk().trouble.take()
    }

    fn talk(&self) -> std::sync::MutexGuard<'_, Talk> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Searcher for ExternalSearcher {
    fn name(&self) -> &'static str {
        "command"
    }

    fn next(&self, ask: &Ask<'_>) -> Option<Point> {
        let mut talk = self.talk();
        match talk.next(ask) {
            Ok(point) => point,
            Err(error) => {
                talk.trouble = Some(error);
                None
            }
        }
    }
}

impl Talk {
    fn next(&mut self, ask: &Ask<'_>) -> Result<Option<Point>, RunnerError> {
        for observation in &ask.past[self.told.min(ask.past.len())..] {
            self.send(&ToSearcher::Tell(TrialReport::from(observation)))?;
        }
        self.told = ask.past.len();
        for _ in 0..MOST_REFUSED {
            self.send(&ToSearcher::Ask {
                pending: ask.pending.to_vec(),
            })?;
            let Some(line) = self.receive()? else {
                return Ok(None);
            };
            let Some(point) = answer(ask.space, &line)? else {
                return Ok(None);
            };
            match ask.rules.admit(ask.space, point.clone()) {
                Admission::Legal(point) | Admission::Repaired { point, .. } => {
                    return Ok(Some(point));
                }
                // It costs nothing, and is worth knowing.
                Admission::Refused { .. } => self.send(&ToSearcher::Tell(TrialReport {
                    point,
                    outcome: TrialReportOutcome::Failed,
                    objectives: Vec::new(),
                    violation: None,
                }))?,
            }
        }
        bail!(
            "the searcher '{}' proposed {MOST_REFUSED} points in a row that the engine refuses",
            self.name
        )
    }

    fn send(&mut self, line: &ToSearcher) -> Result<(), RunnerError> {
        match self.orders.send(line.line()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    /// Its next line; absent if the user wants to leave.
    fn receive(&mut self) -> Result<Option<String>, RunnerError> {
        let begun = Instant::now();
        while self.leave.state() == Stop::Go {
            match self.answers.recv_timeout(LOOK) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let waited = begun.elapsed();
            if waited >= PATIENCE {
                bail!(
                    "the searcher '{}' did not answer within {} s; what it said is in searcher.log of the study's folder",
                    self.name,
                    PATIENCE.as_secs()
                );
            }
            self.observer.event(Event::WaitingForSearcher {
                name: &self.name,
                since: waited,
            });
        }
        Ok(None)
    }

    fn gone(&mut self) -> RunnerError {
        RunnerError::Message(format!(
            "the searcher '{}' ended; its last words are in searcher.log of the study's folder",
            self.name
        ))
    }
}

/// Writes to a program without waiting for it to read.
fn writer(input: Option<ChildStdin>) -> Sender<String> {
    let (sender, lines) = channel::<String>();
    if let Some(mut input) = input {
        std::thread::spawn(move || {
            for line in lines {
                if input.write_all(line.as_bytes()).is_err() {
                    return;
                }
            }
        });
    }
    sender
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
