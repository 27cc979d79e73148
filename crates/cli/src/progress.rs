//! What is shown while a run goes on: one line that changes on a terminal, a plain line every
//! ten seconds elsewhere, nothing when quiet. It reads snapshots and cannot slow the driver. Where
//! a view takes the whole terminal, it only tells that what is done beside measuring.

use inferometer_campaign::capacity::stored::{ProbeVerdict, StoredProbe};
use inferometer_core::record::Stage;
use inferometer_load::live::Snapshot;
use inferometer_load::preflight::{PreflightStep, Question};
use inferometer_message::ProgressText;
use inferometer_page::number::{self, clock};
use inferometer_page::text::pad_right;
use inferometer_runner::capacity::short;
use inferometer_runner::now::time_left;
use inferometer_runner::observer::{Event, Observer};
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use inferometer_tui::Board;
use inferometer_workload::remote::DownloadProgress;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between lines where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Time between changes on a terminal.
const LIVE_EVERY: Duration = Duration::from_millis(250);

/// The first word about a wait comes before this much of it is over.
const FIRST_WAIT: Duration = Duration::from_millis(3500);

/// Rates are over this much time, so that they follow the run without flickering.
const WINDOW: Duration = Duration::from_secs(3);

pub struct Progress {
    mode: Mode,
    lang: Lang,
    title: &'static str,
    requests: Option<u64>,
    duration: Option<Duration>,
    begun: Instant,
    shown: Instant,
    /// Earlier snapshots inside the window, for rates.
    past: Vec<(Instant, Snapshot)>,
    /// What will be said when a phase begins.
    held: Option<String>,
    /// Points are part of a campaign, which says itself where it stands.
    campaign: bool,
    /// Phases end when enough is known, and not by the most requests that they may have.
    open_ended: bool,
    /// The view that takes the whole terminal.
    board: Option<Arc<Board>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Live,
    Plain,
    Quiet,
}

impl Progress {
    pub fn new(quiet: bool, lang: Lang) -> Progress {
        let mode = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Mode::Quiet,
            (false, true) => Mode::Live,
            (false, false) => Mode::Plain,
        };
        Progress {
            mode,
            lang,
            title: "",
            requests: None,
            duration: None,
            begun: Instant::now(),
            shown: Instant::now(),
            past: Vec::new(),
            held: None,
            campaign: false,
            open_ended: false,
            board: None,
        }
    }

    /// The same for a view that takes the whole terminal, where there is one.
    pub fn on(self, board: Option<&Arc<Board>>) -> Progress {
        let board = board.map(Arc::clone);
        Progress { board, ..self }
    }

    pub fn lang(&self) -> Lang {
        self.lang
    }

    /// The view of a campaign's points; the campaign has a line for each.
    pub fn of_campaign(quiet: bool, lang: Lang) -> Progress {
        Progress {
            campaign: true,
            ..Progress::new(quiet, lang)
        }
    }

    /// The view of a search's probes, of which nobody knows how long they take.
    pub fn of_search(quiet: bool, lang: Lang) -> Progress {
        Progress {
            open_ended: true,
            ..Progress::of_campaign(quiet, lang)
        }
    }

    pub fn keep(&self, text: &str) {
        if let Some(board) = &self.board {
            return board.keep(text);
        }
        match self.mode {
            Mode::Live => self.print(&format!("\r\x1b[2K{text}\n")),
            Mode::Plain => self.print(&format!("{text}\n")),
            Mode::Quiet => {}
        }
    }

    pub fn say(&self, text: &str) {
        if let Some(board) = self.shown() {
            return board.say(text);
        }
        match self.mode {
            // A line that is longer than the terminal is wide cannot be wiped away.
            Mode::Live => {
                let known = terminal_size::terminal_size_of(std::io::stderr());
                let room = known.map_or(80, |(width, _)| usize::from(width.0));
                let text = inferometer_page::text::shorten(text, room.saturating_sub(1));
                self.print(&format!("\r\x1b[2K{text}"));
            }
            Mode::Plain => self.print(&format!("{text}\n")),
            Mode::Quiet => {}
        }
    }

    /// The view of the whole terminal, once it is in sight.
    fn shown(&self) -> Option<&Board> {
        self.board.as_deref().filter(|board| board.is_shown())
    }

    /// Says what is tried. Where there is no terminal, only once a phase begins: a run that
    /// cannot begin says nothing but why.
    pub fn attempt(&mut self, text: &str) {
        match self.mode {
            Mode::Live => self.say(text),
            Mode::Plain if self.campaign => {}
            Mode::Plain => self.held = Some(text.to_owned()),
            Mode::Quiet => {}
        }
    }

    /// Something takes its time, and this is where it stands.
    pub fn wait(&mut self, text: impl FnOnce() -> String) {
        if self.is_due() {
            self.say(&text());
        }
    }

    /// Says what the preflight waits for: at once, then as often as any other line.
    fn say_waiting(&mut self, step: &PreflightStep, since: Duration) {
        let text = match step.question {
            Question::Models => ProgressText::WaitingForModels,
            Question::Answer => ProgressText::WaitingForAnswer,
        };
        let values = [
            ("url", step.url.clone()),
            ("since", clock(since)),
            ("limit", clock(step.limit)),
        ];
        let text = text.with(self.lang, &values);
        if since < FIRST_WAIT {
            self.shown = Instant::now();
            self.say(&text);
        } else {
            self.wait(|| text);
        }
    }

    /// Whether a line is to be shown now; the next is then counted from here.
    fn is_due(&mut self) -> bool {
        let due = self.mode != Mode::Quiet && self.shown.elapsed() >= self.every();
        if due {
            self.shown = Instant::now();
        }
        due
    }

    fn every(&self) -> Duration {
        if self.mode == Mode::Live {
            LIVE_EVERY
        } else {
            PLAIN_EVERY
        }
    }

    pub fn begin(
        &mut self,
        title: &'static str,
        requests: Option<u64>,
        duration: Option<Duration>,
    ) {
        if let Some(text) = self.held.take() {
            self.say(&text);
        }
        if let Some(board) = self.shown() {
            board.say("");
        }
        self.title = title;
        self.requests = requests.filter(|_| !self.open_ended);
        self.duration = duration;
        self.begun = Instant::now();
        self.shown = Instant::now();
        self.past.clear();
    }

    pub fn show(&mut self, now: &Snapshot) {
        // The view reads more from the folder.
        if self.board.is_some() || !self.is_due() {
            return;
        }
        let line = self.line(now);
        let window = WINDOW.max(self.every() * 2);
        self.past.push((Instant::now(), now.clone()));
        self.past.retain(|(at, _)| at.elapsed() < window);
        self.say(&line);
    }

    /// The run is over; the line makes room for the report.
    pub fn end(&self) {
        if self.mode == Mode::Live && self.shown().is_none() {
            self.print("\r\x1b[2K");
        }
    }

    fn line(&self, now: &Snapshot) -> String {
        let (then, before) = self
            .past
            .first()
            .cloned()
            .unwrap_or((self.begun, Snapshot::default()));
        let seconds = then.elapsed().as_secs_f64().max(1e-3);
        let fresh = now.since(&before);
        let done = match self.requests {
            Some(all) => format!("{}/{all}", now.ended()),
            None => now.ended().to_string(),
        };
        let ttft = now.ttft_p50().map_or("n/a".into(), |ttft| {
            format!("{:.0} ms", ttft.as_secs_f64() * 1e3)
        });
        let values = [
            ("phase", self.title.to_owned()),
            ("done", done),
            ("in_flight", now.in_flight().to_string()),
            ("rate", format!("{:.1}", fresh.ended() as f64 / seconds)),
            ("tokens", format!("{:.0}", fresh.tokens as f64 / seconds)),
            ("ttft", ttft),
            ("failed", now.failed.to_string()),
        ];
        let line = ProgressText::Line.with(self.lang, &values);
        let left = self.left(now).map_or(String::new(), |left| {
            ProgressText::Left.with(self.lang, &[("time", clock(left))])
        });
        line + &left
    }

    fn left(&self, now: &Snapshot) -> Option<Duration> {
        let spent = self.begun.elapsed();
        time_left(spent, self.duration, self.requests, now.ended())
    }

    fn print(&self, text: &str) {
        let mut out = std::io::stderr().lock();
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Notice(text) => self.keep(&text),
            Event::Download { file, progress } => {
                let text = download(file, progress, self.lang);
                self.attempt(&text);
            }
            Event::Preflight { urls } => {
                let values = [("url", urls.to_owned())];
                self.attempt(&ProgressText::Preflight.with(self.lang, &values));
            }
            Event::WaitingForServer { step, since } => self.say_waiting(step, since),
            Event::Window {
                warmup,
                requests,
                hold,
            } => {
                let text = match requests {
                    Some(_) if hold => ProgressText::PlanHeld,
                    Some(_) => ProgressText::Plan,
                    None => ProgressText::PlanByTime,
                };
                let requests = requests.map(number::count).unwrap_or_default();
                let values = [("warmup", number::count(warmup)), ("requests", requests)];
                if let Some(text) = self.held.take() {
                    self.say(&text);
                }
                if !self.campaign {
                    self.keep(&text.with(self.lang, &values));
                }
            }
            Event::Phase {
                stage,
                requests,
                duration,
            } => {
                let title = match stage {
                    Stage::Warmup => ProgressText::WarmUp,
                    Stage::Measured => ProgressText::Measuring,
                    Stage::Hold => ProgressText::Hold,
                };
                self.begin(title.text(self.lang), requests, duration);
            }
            Event::Snapshot(now) => self.show(now),
            // The view says so itself.
            Event::WaitingForAnswers { .. } if self.board.is_some() => {}
            Event::WaitingForAnswers { answers } => {
                let values = [("answers", number::count(answers))];
                self.keep(&ProgressText::WaitingForAnswers.with(self.lang, &values));
            }
            Event::Measured => self.end(),
            Event::AskingEngine {
                engine,
                since,
                question,
            } => {
                let values = [
                    ("engine", engine.to_string()),
                    ("since", clock(since)),
                    ("question", question.to_string()),
                ];
                let lang = self.lang;
                self.wait(|| ProgressText::AskingEngine.with(lang, &values));
            }
            Event::StartingEngine { engine, log } => {
                let log = ("log", log.display().to_string());
                let values = [("engine", engine.to_string()), log];
                self.attempt(&ProgressText::StartingEngine.with(self.lang, &values));
            }
            Event::WaitingForEngine {
                engine,
                since,
                last_line,
            } => {
                let values = [("engine", engine.to_string()), ("since", clock(since))];
                let waiting = ProgressText::WaitingForEngine.with(self.lang, &values);
                self.wait(|| match last_line {
                    None => waiting,
                    Some(line) => format!("{waiting}: {}", printable(line.trim(), 100)),
                });
            }
            Event::EngineReady { engine, after_s } => {
                let seconds = ("seconds", format!("{after_s:.1}"));
                let values = [("engine", engine.to_string()), seconds];
                self.attempt(&ProgressText::EngineReady.with(self.lang, &values));
            }
            Event::StoppingEngine => self.say(ProgressText::StoppingEngine.text(self.lang)),
            Event::GivingUp { reason } => {
                let values = [("reason", reason.to_string())];
                self.say(&ProgressText::GivingUp.with(self.lang, &values));
            }
            // The view shows them as a table.
            Event::Probed { .. } if self.board.is_some() => {}
            Event::Probed { over, probe } => self.keep(&probed(over, probe, self.lang)),
            Event::WaitingForSearcher { name, since } => {
                let values = [("name", name.to_string()), ("since", clock(since))];
                let lang = self.lang;
                self.wait(|| ProgressText::WaitingForSearcher.with(lang, &values));
            }
            // Rows of tables, which their commands show.
            Event::SweepBegins { .. }
            | Event::Visited { .. }
            | Event::StudyBegins { .. }
            | Event::TrialEnded { .. } => {}
        }
    }
}

fn download(file: &str, progress: DownloadProgress, lang: Lang) -> String {
    let file = ("file", file.to_owned());
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
    match progress {
        DownloadProgress::Waiting => ProgressText::Waiting.with(lang, &[file]),
        DownloadProgress::Received { bytes, total: None } => {
            ProgressText::Received.with(lang, &[("mib", mib(bytes)), file])
        }
        DownloadProgress::Received {
            bytes,
            total: Some(total),
        } => {
            let values = [("mib", mib(bytes)), ("total", mib(total)), file];
            ProgressText::ReceivedOf.with(lang, &values)
        }
    }
}

fn probed(over: &str, probe: &StoredProbe, lang: Lang) -> String {
    let word = match probe.verdict {
        ProbeVerdict::Met => ProgressText::Met,
        ProbeVerdict::Missed => ProgressText::Missed,
        ProbeVerdict::Undecided => ProgressText::Undecided,
    };
    let count = [("count", probe.requests.to_string())];
    let after = if over.starts_with("sessions") {
        ProgressText::AfterSessions
    } else {
        ProgressText::AfterRequests
    };
    format!(
        "{:>8} {over} {:>9}: {} {}",
        probe.purpose.to_string(),
        short(probe.level),
        pad_right(word.text(lang), 9),
        after.with(lang, &count)
    )
}
