//! A searcher outside of this program, asked over pipes.

use crate::progress::{Progress, clock};
use anyhow::{Context, bail};
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
/// Longest line that is read.
const LONGEST_LINE: u64 = 1 << 20;

/// A program that searches. It keeps what it was told, so it is told everything once.
pub struct Outside(Mutex<Talk>);

struct Talk {
    child: Child,
    orders: Sender<String>,
    answers: Receiver<String>,
    progress: Progress,
    wish: Control,
    told: usize,
    name: String,
    trouble: Option<anyhow::Error>,
}

impl Outside {
    /// Starts the program; what it says on standard error goes to `log`. It is waited for on
    /// `progress`, until `wish` hears that the user wants to leave.
    pub fn start(
        words: &[String],
        of: &Study,
        log: &Path,
        progress: Progress,
        wish: Control,
    ) -> anyhow::Result<Outside> {
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
            progress,
            wish,
            told: 0,
            name: printable(&words.join(" "), 200),
            trouble: None,
        };
        let line = study(&of.space, of.goal.objectives.len(), of.seed);
        talk.say(&line)?;
        Ok(Outside(Mutex::new(talk)))
    }

    /// Why it proposed nothing, where that was a failure.
    pub fn trouble(&self) -> Option<anyhow::Error> {
        self.talk().trouble.take()
    }

    fn talk(&self) -> std::sync::MutexGuard<'_, Talk> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Searcher for Outside {
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
    fn next(&mut self, ask: &Ask<'_>) -> anyhow::Result<Option<Point>> {
        for observation in &ask.past[self.told.min(ask.past.len())..] {
            self.say(&ToSearcher::Tell(TrialReport::from(observation)))?;
        }
        self.told = ask.past.len();
        for _ in 0..MOST_REFUSED {
            self.say(&ToSearcher::Ask {
                pending: ask.pending.to_vec(),
            })?;
            let Some(line) = self.hear()? else {
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
                Admission::Refused { .. } => self.say(&ToSearcher::Tell(TrialReport {
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

    fn say(&mut self, line: &ToSearcher) -> anyhow::Result<()> {
        match self.orders.send(line.line()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    /// Its next line; absent if the user wants to leave.
    fn hear(&mut self) -> anyhow::Result<Option<String>> {
        let begun = Instant::now();
        while self.wish.state() == Stop::Go {
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
            let name = &self.name;
            self.progress
                .wait(|| format!("waiting for the searcher '{name}' since {}", clock(waited)));
        }
        Ok(None)
    }

    fn gone(&mut self) -> anyhow::Error {
        anyhow::anyhow!(
            "the searcher '{}' ended; its last words are in searcher.log of the study's folder",
            self.name
        )
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
