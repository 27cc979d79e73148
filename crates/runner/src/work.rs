//! The work of a run on this machine: data brought here, prompts opened, jobs made of them.

use crate::error::{Context as _, RunnerError};
use crate::host;
use crate::observer::{Event, Observer};
use crate::session::Session;
use inferometer_core::api::{Answers, Api};
use inferometer_core::model_mix::ModelMix;
use inferometer_core::options::{FormatName, Options};
use inferometer_core::scenario::{Extent, Load, Scenario, Shape, Warmup};
use inferometer_core::units::{Offset, Span};
use inferometer_core::work::{DataSource, Follows, PromptSource, Wait};
use inferometer_load::setup::{Job, Jobs};
use inferometer_workload::data::detect;
use inferometer_workload::remote::{Fetcher, Location};
use inferometer_workload::{Content, Nonce, Opening, Prompt, Workload};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Brings the data of the work here, if it has any, and names their format in the options: a
/// trace brings its own times, so that what resolves depends on it.
pub fn localize(
    options: &mut Options,
    session: &Session,
    observer: &mut dyn Observer,
) -> Result<Option<PathBuf>, RunnerError> {
    let Some(location) = &options.work.data else {
        return Ok(None);
    };
    let location = location.clone();
    let file = fetch(
        &location,
        options.connection.proxy.as_deref(),
        session,
        observer,
    )?;
    // A stored run is repeated from anywhere.
    if let Location::Local(path) = Location::parse(&location)? {
        let path = std::path::absolute(&path).unwrap_or(path);
        options.work.data = Some(path.display().to_string());
    }
    if options.work.unnamed_data().is_some() {
        let format = detect(&file, options.work.field.as_deref())?;
        options.work.data_format = Some(FormatName(Some(format)));
    }
    Ok(Some(file))
}

/// The file of a location, downloaded if it is not here.
pub fn fetch(
    location: &str,
    proxy: Option<&str>,
    session: &Session,
    observer: &mut dyn Observer,
) -> Result<PathBuf, RunnerError> {
    let location = Location::parse(location)?;
    if let Location::Local(path) = location {
        return Ok(path);
    }
    let folder = (session.cache_folder())
        .context("there is no place for downloads; set HOME or XDG_CACHE_HOME, or give a file")?;
    let fetcher = Fetcher::new(folder.join("data"), session.hub_access(proxy));
    let mut shown: Option<Instant> = None;
    let path = fetcher.fetch(&location, &mut |progress| {
        const EVERY: Duration = Duration::from_millis(500);
        if shown.is_some_and(|shown| shown.elapsed() < EVERY) {
            return;
        }
        shown = Some(Instant::now());
        let file = &location.to_string();
        observer.event(Event::Download { file, progress });
    })?;
    Ok(path)
}

pub fn open(
    scenario: &Scenario,
    file: Option<&Path>,
    nonce: Option<Nonce>,
    session: &Session,
) -> Result<Workload, RunnerError> {
    let opening = Opening {
        work: &scenario.work,
        seed: scenario.seed,
        nonce,
        file,
        wanted: wanted(&scenario.load, &scenario.work.prompts)
            .map(|sessions| sessions.saturating_mul(prompts_per_request(scenario))),
        only_sounds: scenario.connection.api == Api::Transcriptions,
        counts: (session.cache_folder()).map(|folder| folder.join("tokens")),
    };
    Ok(opening.open()?)
}

/// Sessions that a run can use: those measured, those of the warm-up and the hold, of which a
/// few waves are enough, and the preflight's.
fn wanted(load: &Load, prompts: &PromptSource) -> Option<u64> {
    let warmup = match load.warmup {
        Warmup::Requests(count) => count,
        Warmup::Time(_) => return None,
    };
    let wave = match load.shape {
        Shape::Closed { concurrency, .. } => u64::from(concurrency),
        Shape::Open { .. } | Shape::Replay { .. } => 64,
    };
    let trace = |data: &DataSource| data.format.is_some_and(|format| format.is_trace());
    match prompts {
        // A trace is measured from its beginning and warmed up with rows of its own.
        PromptSource::Data(data) if trace(data) => load.extent.requests(),
        _ => Some(load.extent.requests()? + warmup + 24 * wave + 1),
    }
}

/// Due times of a trace's requests at a pace, as far as the run goes.
pub fn replay(arrivals: &[Duration], speed: f64, extent: Extent) -> Vec<Offset> {
    let most = usize::try_from(extent.requests().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let until = extent.duration().map(|span| span.0);
    let due = arrivals.iter().map(|at| at.div_f64(speed));
    due.take(most)
        .take_while(|at| until.is_none_or(|until| *at < until))
        .map(Offset::after)
        .collect()
}

pub struct WorkJobs {
    workload: Arc<Workload>,
    /// Prompts of the workload that one request takes.
    prompts: u64,
    api: Api,
    /// Several models, and the seed that spreads sessions over them.
    models: Option<(ModelMix, u64)>,
    /// In place of the waits of a trace.
    think: Option<Span>,
    /// The pace at which a trace is replayed.
    speed: f64,
}

impl WorkJobs {
    pub fn new(workload: Arc<Workload>, scenario: &Scenario) -> Self {
        WorkJobs {
            workload,
            prompts: prompts_per_request(scenario),
            api: scenario.connection.api,
            models: (scenario.connection.model.clone())
                .filter(|mix| !mix.is_one())
                .map(|mix| (mix, scenario.seed)),
            think: (scenario.work.conversation.as_ref()).and_then(|talk| talk.think),
            speed: match scenario.load.shape {
                Shape::Replay { speed, .. } => speed,
                Shape::Closed { .. } | Shape::Open { .. } => 1.0,
            },
        }
    }

    /// Several prompts as one request. A row that is a body of its own is one already.
    fn batch(&self, session: u64) -> Job {
        let first = session.saturating_mul(self.prompts);
        let prompts = (first..).take(self.prompts as usize);
        let prompts: Vec<Prompt> = prompts
            .map(|index| self.workload.prompt(index, 0))
            .collect();
        let bodies = |prompt: &&Prompt| matches!(prompt.content, Content::Body(_));
        if let Some(body) = prompts.iter().find(bodies) {
            return Job {
                content: body.content.clone(),
                input_tokens: body.input_tokens,
                chars: body.chars,
                ..Job::default()
            };
        }
        Job {
            // How often a model reads the query is its own affair.
            input_tokens: (prompts.iter().map(|prompt| prompt.input_tokens))
                .sum::<Option<u32>>()
                .filter(|_| !self.api.has_query()),
            chars: prompts.iter().map(|prompt| prompt.chars).sum(),
            content: Content::Batch(prompts.into_iter().map(|prompt| prompt.content).collect()),
            ..Job::default()
        }
    }
}

/// Prompts of the workload that a request takes: its texts, and a query where one stands before
/// them.
pub fn prompts_per_request(scenario: &Scenario) -> u64 {
    let texts = u64::from(scenario.work.batch_size.unwrap_or(1));
    texts + u64::from(scenario.connection.api.has_query())
}

impl Jobs for WorkJobs {
    fn turns(&self, session: u64) -> u32 {
        match self.api.answers() {
            Answers::Tokens => self.workload.prompts.turns(session),
            Answers::Items => 1,
        }
    }

    fn follows(&self, session: u64, turn: u32) -> Option<Follows> {
        let follows = self.workload.prompts.follows(session, turn)?;
        let wait = match self.think {
            Some(think) => Wait::SinceEnd(think.0),
            None => follows.wait.at_speed(self.speed),
        };
        Some(Follows { wait, ..follows })
    }

    fn job(&self, session: u64, turn: u32) -> Job {
        let models = self.models.as_ref();
        let model = models.map(|(mix, seed)| mix.of_session(*seed, session));
        if self.prompts > 1 {
            return Job {
                model,
                ..self.batch(session)
            };
        }
        let prompt = self.workload.prompt(session, turn);
        let generates = self.api.answers() == Answers::Tokens;
        // A transcription is asked with a sound; what a row says beside it is not sent.
        let reads = self.api != Api::Transcriptions;
        Job {
            content: prompt.content,
            input_tokens: prompt.input_tokens.filter(|_| reads),
            chars: if reads { prompt.chars } else { 0 },
            output_tokens: prompt.output_tokens.filter(|_| generates),
            media: self.workload.media.of(session, turn),
            answer: self.workload.prompts.answer(session, turn),
            model,
        }
    }
}

/// A nonce that no run had before.
pub fn new_nonce() -> Nonce {
    Nonce::from_random(host::random())
}
