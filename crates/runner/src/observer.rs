//! What happens while a runner works. It decides nothing: whoever shows it may drop any of it.

use inferometer_campaign::capacity::stored::StoredProbe;
use inferometer_campaign::trial::Trial as StudyTrial;
use inferometer_catalog::engine::EngineKind;
use inferometer_core::point::Point;
use inferometer_core::record::Stage;
use inferometer_core::summary::Summary;
use inferometer_load::live::Snapshot;
use inferometer_load::preflight::PreflightStep;
use inferometer_store::sweep_dir::Trial;
use inferometer_workload::remote::DownloadProgress;
use std::path::Path;
use std::time::Duration;

/// Is told what happens, on the thread where it happens. It must not block.
pub trait Observer {
    fn event(&mut self, event: Event<'_>);

    fn notice(&mut self, text: String) {
        self.event(Event::Notice(text));
    }
}

#[derive(Debug)]
pub enum Event<'a> {
    /// A sentence that the user should read, in English as errors are.
    Notice(String),
    Download {
        file: &'a str,
        progress: DownloadProgress,
    },
    /// The servers are asked what they understand.
    Preflight {
        urls: &'a str,
    },
    /// The preflight still waits for this.
    WaitingForServer {
        step: &'a PreflightStep,
        since: Duration,
    },
    /// The load has a window, which costs about two answers of time beside the measured ones.
    Window {
        /// Requests that must end before it opens.
        warmup: u64,
        requests: Option<u64>,
        hold: bool,
    },
    /// A stage of the load begins, with the most requests and the longest time it may take.
    Phase {
        stage: Stage,
        requests: Option<u64>,
        duration: Option<Duration>,
    },
    /// The numbers of the stage now.
    Snapshot(&'a Snapshot),
    /// The user ended the load once, and these answers are still under way.
    WaitingForAnswers {
        answers: u64,
    },
    /// A point is measured and stored.
    Measured,
    /// The installed engine is asked about itself.
    AskingEngine {
        engine: EngineKind,
        since: Duration,
        question: &'a str,
    },
    StartingEngine {
        engine: EngineKind,
        log: &'a Path,
    },
    /// It does not answer yet; the last line of its log.
    WaitingForEngine {
        engine: EngineKind,
        since: Duration,
        last_line: Option<&'a str>,
    },
    EngineReady {
        engine: EngineKind,
        after_s: f64,
    },
    StoppingEngine,
    /// Measurements of a sweep that are stored already, and those to come.
    SweepBegins {
        done: usize,
        todo: usize,
    },
    Visited {
        point: &'a Point,
        trial: &'a Trial,
        summary: Option<&'a Summary>,
        /// Time for the others, at the pace so far.
        left: Option<Duration>,
    },
    /// A sweep ends early: its last points all failed for this reason.
    GivingUp {
        reason: &'a str,
    },
    /// A probe of a search over `over` has ended.
    Probed {
        over: &'a str,
        probe: &'a StoredProbe,
    },
    /// A study begins or goes on with these trials.
    StudyBegins {
        trials: &'a [StudyTrial],
    },
    TrialEnded {
        trials: &'a [StudyTrial],
    },
    WaitingForSearcher {
        name: &'a str,
        since: Duration,
    },
}
