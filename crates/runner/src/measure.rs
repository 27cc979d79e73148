//! One load point from beginning to end: resolve, plan, drive while recording, fold.

mod check;
mod plan;
mod point;
mod ranks;
mod reach;
mod simulate;
mod stored;
mod structured;
mod texts;
mod traces;
mod watch;

use crate::error::{Context as _, RunnerError, bail};
pub use ranks::{follow, streams};
pub use reach::look_at;
pub use simulate::{computed, device, simulate, simulated_host};
use stored::{AfterLoad, read_and_seal_after};
pub use stored::{ReadFor, Reading, read, read_and_seal, records};

use crate::certificate;
use crate::host;
use crate::keys::without_secrets;
use crate::observer::{Event, Observer};
use crate::session::Session;
use crate::work::{self, WorkJobs};
use inferometer_analysis::context::RunContext;
use inferometer_core::api::Api;
use inferometer_core::environment::{EndCause, Ending, Environment, Health, Probe};
use inferometer_core::note::{Known, Note};
use inferometer_core::record::Stage;
use inferometer_core::scenario::{Connection, Hold, Scenario, Shape};
use inferometer_core::summary::Summary;
use inferometer_core::units::Offset;
use inferometer_core::work::{History, PromptSource, Work};
use inferometer_engine::Profiler;
use inferometer_load::api::BodyTemplates;
use inferometer_load::http::url::Target;
use inferometer_load::instrument::{Control, Instrument, LoadEvent, LoadPlan, LoadReport, Rhythm};
use inferometer_load::preflight::ServerProfile;
use inferometer_load::recorder::{AnswerFile, Recorder, TokenCount};
use inferometer_load::setup::{Jobs, ModelForm, Setup};
use inferometer_load::stop_rules::StopRules;
use inferometer_store::journal::Header;
use inferometer_store::run_dir::RunDir;
use inferometer_store::texts_file::TextWriter;
use inferometer_text::Lang;
use inferometer_text::secret::Secrets;
use inferometer_workload::{Content, Nonce, Workload};
use plan::{Planned, default_workers, most_streams, planned, wake_up};
use ranks::Decided;
use reach::{health_timeouts, look, timeouts};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use texts::Texts;
use traces::Traces;
use watch::MetricsSearch;

pub(crate) use watch::server_view;

pub use point::{Point, PrefixCache};
pub(crate) use ranks::Crew;

/// The session of the preflight's request, counted from those of the warm-up.
const PREFLIGHT_SESSION: u64 = 1 << 20;

pub struct Measured {
    pub directory: RunDir,
    pub scenario: Scenario,
    pub environment: Environment,
    pub ending: Ending,
    pub reading: Reading,
    pub summary: Summary,
}

impl Measured {
    /// Reads the records of a run that has ended, seals them and stores what they say.
    fn fold(
        directory: RunDir,
        scenario: Scenario,
        environment: Environment,
        ending: Ending,
        after: AfterLoad,
        lang: Lang,
    ) -> Result<Measured, RunnerError> {
        let context = RunContext {
            scenario: &scenario,
            environment: &environment,
            ending: &ending,
            lang,
        };
        let reading = read_and_seal_after(&directory, &context, after)?;
        let summary = reading.folded.summary(lang);
        directory.write_summary(&summary)?;
        Ok(Measured {
            directory,
            scenario,
            environment,
            ending,
            reading,
            summary,
        })
    }

    /// Stores an ending that turned out otherwise, and judges the run by it.
    pub fn with_ending(self, ending: Ending, lang: Lang) -> Result<Measured, RunnerError> {
        self.directory.write_ending(&ending)?;
        Measured::fold(
            self.directory,
            self.scenario,
            self.environment,
            ending,
            AfterLoad::default(),
            lang,
        )
    }
}

/// Runs one load point against `targets`, with those who share it, and keeps it in `out`.
pub fn measure(
    point: Point,
    targets: Vec<Target>,
    out: &Path,
    session: &Session,
    control: &Control,
    crew: &mut Crew,
    observer: &mut dyn Observer,
) -> Result<Measured, RunnerError> {
    let mut loaded = load_point(point, targets, out, session, control, crew, observer)?;
    let directory = &loaded.directory;
    if let Crew::Lead { leader, .. } = crew {
        ranks::collect(leader, directory, &mut loaded.ending)?;
        loaded.after.records = None;
    }
    directory.write_ending(&loaded.ending)?;
    if let Some(texts) = loaded.texts.take() {
        let (found, trouble) = texts.finish(directory, &loaded.workload)?;
        loaded.after.verdicts = found;
        if let Some(trouble) = trouble {
            observer.notice(trouble);
        }
    }
    let measured = Measured::fold(
        loaded.directory,
        loaded.scenario,
        loaded.environment,
        loaded.ending,
        loaded.after,
        session.lang,
    )?;
    observer.event(Event::Measured);
    Ok(measured)
}

/// A point whose load is over and recorded.
struct Loaded {
    directory: RunDir,
    scenario: Scenario,
    environment: Environment,
    ending: Ending,
    texts: Option<Texts>,
    after: AfterLoad,
    workload: Arc<Workload>,
}

/// Prepares the load, or our share of it, sends it, and records what happens.
fn load_point(
    point: Point,
    targets: Vec<Target>,
    out: &Path,
    session: &Session,
    control: &Control,
    crew: &mut Crew,
    observer: &mut dyn Observer,
) -> Result<Loaded, RunnerError> {
    let Point {
        typed,
        scenario,
        data,
        targets: _,
        keys,
        cache,
        watch,
        flags: _,
        engine,
        chunk_usage,
    } = point;
    let mut notes: Vec<Note> = Vec::new();
    let share = crew.call(&scenario)?;
    let streams = share.of_places(most_streams(&scenario));
    let raised = host::raise_open_files(streams).map_err(RunnerError::Message)?;
    notes.extend(raised.map(Note::from));

    RunDir::check(out)?;

    let drawn = crew.drawn(&scenario);
    let nonce = drawn.nonce.map(Nonce::from_random);
    let workload = Arc::new(work::open(&scenario, data.as_deref(), nonce, session)?);
    let texts = Texts::prepare(&scenario, &workload)?;
    let planned = planned(&scenario, &workload);
    let jobs: Arc<dyn Jobs> = Arc::new(WorkJobs::new(Arc::clone(&workload), &scenario));

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    observer.event(Event::Preflight {
        urls: &join(&targets),
    });
    // The server is watched from one place.
    let watches = crew.brief().is_none();
    let search = if watches {
        MetricsSearch::begin(&scenario.connection, &targets, &keys)?
    } else {
        None
    };
    let profiler = match (scenario.connection.profile && watches, targets.as_slice()) {
        (false, _) => None,
        (true, [target]) => {
            let access = keys.access(&scenario.connection)?;
            Some(Profiler::new(&target.to_string(), access)?)
        }
        (true, _) => bail!("--profile needs a single server"),
    };
    let sample = jobs.job(planned.spare_session() + PREFLIGHT_SESSION, 0);
    let looking = look(&scenario, targets, &keys, sample, chunk_usage, observer);
    let learned = runtime.block_on(looking)?;
    notes.extend(learned.notes.iter().cloned());
    notes.extend(workload.notes.iter().cloned().map(Note::from));
    let template = workload.tokenizer.as_ref();
    let template = template.and_then(|tokenizer| tokenizer.template_tokens());
    if let Some(tokens) = template.filter(|_| learned.dialect.api() == Api::Chat) {
        notes.push(Known::ChatTemplate { tokens }.into());
    }
    notes.extend(runtime.block_on(compare_tokenizers(&workload, &learned, &scenario)));
    if cache == PrefixCache::Emptied {
        notes.extend(runtime.block_on(empty_cache(&learned, &scenario.connection)));
    }
    // The ways know the password of the proxy; the files must not.
    let scenario = without_secrets(scenario)?;
    let distinct = workload.distinct();
    let wanted = (planned.requests)
        .map(|requests| requests.saturating_mul(work::prompts_per_request(&scenario)));
    if let Some(distinct) = distinct.filter(|&distinct| wanted > Some(distinct)) {
        notes.push(Known::CyclesPrompts { distinct }.into());
    }
    if workload.arrivals.is_some() && !matches!(scenario.load.shape, Shape::Replay { .. }) {
        notes.push(Known::TraceLengthsOnly.into());
    }

    let workers = scenario
        .connection
        .workers
        .unwrap_or_else(|| default_workers(&scenario, share));
    let clock = crew.clock()?;
    let alone = learned.probe.latency_ms;
    let stagger = crew.stagger(&planned, alone.map(|ms| Duration::from_secs_f64(ms / 1e3)));
    let traced = match crew.brief() {
        Some(brief) => brief.traced,
        None => scenario.connection.server_traces.is_some(),
    };
    let ranks = crew.agree(&Decided {
        scenario: &scenario,
        drawn: &drawn,
        probe: &learned.probe,
        planned: &planned,
        jobs: jobs.as_ref(),
        stagger,
        clock: &clock,
        workers,
        traced,
    })?;
    let environment = Environment {
        inferometer: env!("CARGO_PKG_VERSION").to_owned(),
        typed,
        started: host::now(),
        origin_monotonic_ns: clock.origin_monotonic_ns(),
        nonce: nonce.map(|nonce| nonce.to_string()),
        distinct_prompts: distinct,
        host: host::host(),
        server: redacted(learned.probe.clone(), &keys.secrets),
        engine,
        ceiling_tokens_per_s: certificate::stored(session).map(|found| found.ceiling_tokens_per_s),
        workers,
        ranks,
        notes,
    };
    let directory = RunDir::create(out)?;
    directory.write_scenario(&scenario)?;
    directory.write_environment(&environment)?;

    let server_watch =
        search.and_then(|search| search.watch(&directory, environment.origin_monotonic_ns));
    let traces = if watches {
        Traces::start(&scenario.connection, &directory)?
    } else {
        None
    };
    let room = directory.keep_room();
    let journal = directory.start_journal(&Header::new(planned.requests))?;
    let count = (workload.tokenizer.clone())
        .map(|tokenizer| Arc::new(move |text: &str| tokenizer.count(text)) as TokenCount);
    let keep_text =
        texts.is_some() || keeps_text(&scenario.work, count.is_some() && !learned.counts_output);
    let answers = match texts {
        Some(_) => Some(AnswerFile {
            writer: TextWriter::create(&directory.answers_path())?,
            secrets: Arc::new(keys.secrets.clone()),
        }),
        None => None,
    };
    let stop = control.clone();
    let (recorder, entries) =
        Recorder::start(journal, count, watch, answers, move || stop.abandon());
    let setup = Setup {
        routes: learned.routes.clone(),
        dialect: learned.dialect,
        options: learned.options.clone(),
        bodies: BodyTemplates::default(),
        models: (scenario.connection.model.iter())
            .filter(|mix| !mix.is_one())
            .flat_map(|mix| mix.names())
            .map(|model| ModelForm::new(model, &learned.options))
            .collect(),
        jobs,
        conversation: scenario.work.conversation.clone(),
        warmup_from: planned.spare_session(),
        first_wave: planned.first_wave(&scenario, &workload),
        cancel: scenario.load.cancel.map(|cancel| (cancel, scenario.seed)),
        keep_text,
        timeouts: timeouts(&scenario.connection),
        clock,
        run_id: drawn.run_id,
        traced,
        rank: crew.rank(),
    };
    let slos = &scenario.objectives.of_requests();
    let (team, brief) = crew.team(environment.ranks.as_ref());
    let instrument = Instrument::start(
        setup,
        workers,
        control.clone(),
        &entries,
        slos,
        &keys.secrets,
    );
    drop(entries);
    let mut instrument = instrument.with_team(team);

    let report = drive(
        &mut instrument,
        &scenario,
        planned,
        stagger,
        profiler.as_ref(),
        observer,
    );
    crew.take_back(instrument.finish(), brief);
    drop(server_watch);
    if let Some(traces) = traces {
        traces.finish(report.planned.saturating_sub(report.unsent), observer);
    }
    let health = match report.cause {
        EndCause::Watchdog => Default::default(),
        _ if !watches => Default::default(),
        _ => runtime.block_on(async {
            tokio::select! {
                health = learned.health(health_timeouts(&scenario.connection)) => health,
                // Whoever leaves at once does not wait for a server that says nothing.
                () = control.user_leaves() => Health::default(),
            }
        }),
    };
    let ranks = ranks::endings(&report);
    let (p99, longest) = match report.wakeups {
        Some(woken) => (Some(woken.p99), Some(woken.longest)),
        None => (None, None),
    };
    let ms = |span: Option<Duration>| span.map(|span| span.as_secs_f64() * 1e3);
    let ending = Ending {
        cause: report.cause,
        planned: report.planned,
        unsent: report.unsent,
        measured_from: report.started,
        sending_ended: report.sending_ended,
        steady_window: report.steady_window,
        stagger_ns: stagger.map(|span| Offset::after(span).0),
        thread_cpu_shares: if ranks.is_empty() {
            report.cpu_shares
        } else {
            (ranks.iter())
                .flat_map(|rank| rank.thread_cpu_shares.clone())
                .collect()
        },
        pulse_p99_ms: ranks::worst(&ranks, ms(p99), |rank| rank.pulse_p99_ms),
        longest_pause_ms: ranks::worst(&ranks, ms(longest), |rank| rank.longest_pause_ms),
        health: match health {
            Health::Dead(said) => Health::Dead(keys.secrets.keep(&said)),
            other => other,
        },
        ranks,
    };
    // First, since on a full disk neither can be written, and this one says more.
    let recorded = recorder.finish();
    drop(room);
    if recorded.is_err() {
        // Where not even that can be kept, the run is told as one that was killed.
        let _ = directory.write_unwritten();
    }
    let records = recorded.with_context(|| {
        let report = format!("inferometer report {}", directory.path().display());
        format!("the run ended early, since its records could not be written; `{report}` shows those that were")
    })?;
    Ok(Loaded {
        directory,
        scenario,
        environment,
        ending,
        texts,
        after: AfterLoad {
            records,
            ..AfterLoad::default()
        },
        workload,
    })
}

fn drive(
    instrument: &mut Instrument,
    scenario: &Scenario,
    planned: Planned,
    stagger: Option<Duration>,
    profiler: Option<&Profiler>,
    observer: &mut dyn Observer,
) -> LoadReport {
    let connection = &scenario.connection;
    let drain = scenario.load.drain.map(|span| span.0);
    let rules = StopRules {
        stop_when: scenario.load.stop_when.clone(),
        until: scenario.load.until,
        slos: scenario.objectives.of_requests(),
        attainment: Some(scenario.objectives.least_share()),
        standstill: Some(
            connection.request_timeout.0 + drain.unwrap_or_default() + Duration::from_secs(5),
        ),
        give_up_after: Some(connection.give_up_after.0),
        longest_silence: Some(connection.read_timeout.0 + connection.give_up_after.0),
    };
    if let Some(plan) = wake_up(scenario) {
        observer.event(Event::Phase {
            stage: Stage::Warmup,
            requests: plan.requests,
            duration: plan.duration,
        });
        instrument.run(plan, &rules, &mut |event| {
            if let LoadEvent::Snapshot(now) = event {
                observer.event(Event::Snapshot(now));
            }
        });
    }
    let requests = planned.requests;
    let duration = scenario.load.extent.duration().map(|span| span.0);
    let mut rhythm = planned.rhythm;
    if let Rhythm::Closed { spread, .. } = &mut rhythm {
        *spread = stagger.unwrap_or_default();
    }
    let plan = LoadPlan {
        rhythm,
        opening: planned.opening,
        stage: Stage::Measured,
        requests,
        duration,
        hold: planned.hold,
        drain,
    };
    let mut profiling = None;
    let mut start_profiler = |observer: &mut dyn Observer| {
        profiling = profiler.filter(|profiler| {
            let began = profiler.start();
            if let Err(error) = &began {
                observer.notice(format!("the profiler does not run: {error}"));
            }
            began.is_ok()
        });
    };
    if let Some(opening) = &plan.opening {
        observer.event(Event::Window {
            warmup: opening.warmup_requests(),
            requests,
            hold: plan.hold == Hold::Auto,
        });
    } else {
        start_profiler(observer);
        observer.event(Event::Phase {
            stage: Stage::Measured,
            requests,
            duration,
        });
    }
    let report = instrument.run(plan, &rules, &mut |event| match event {
        LoadEvent::Opening => start_profiler(observer),
        LoadEvent::Stage(stage) => {
            let is_measured = stage == Stage::Measured;
            observer.event(Event::Phase {
                stage,
                requests: requests.filter(|_| is_measured),
                duration: duration.filter(|_| is_measured),
            });
        }
        LoadEvent::Snapshot(now) => observer.event(Event::Snapshot(now)),
        LoadEvent::Waiting(answers) => observer.event(Event::WaitingForAnswers { answers }),
    });
    if let Some(Err(error)) = profiling.map(Profiler::stop) {
        observer.notice(format!("the profiler did not end well: {error}"));
    }
    report
}

/// The text of answers is needed for the next turn, to see refusals where answers are free to
/// be short, or to count what the server does not count.
fn keeps_text(work: &Work, counts_needed: bool) -> bool {
    let history = (work.conversation.as_ref())
        .is_some_and(|conversation| conversation.history == History::Server);
    history || counts_needed || matches!(work.prompts, PromptSource::Continuation(_))
}

/// Holds our tokenizer against the server's, where the server offers one.
async fn compare_tokenizers(
    workload: &Workload,
    learned: &ServerProfile,
    scenario: &Scenario,
) -> Option<Note> {
    const SAMPLES: u64 = 3;
    let tokenizer = workload.tokenizer.as_ref()?;
    let timeouts = health_timeouts(&scenario.connection);
    let (mut ours, mut servers, mut samples) = (0, 0, 0);
    for session in 0..SAMPLES {
        let Content::Text(text) = workload.prompt(session, 0).content else {
            return None;
        };
        servers += u64::from(learned.count_tokens(&text, timeouts).await?);
        ours += u64::from(tokenizer.count(&text));
        samples += 1;
    }
    Some(if ours == servers {
        Known::TokenizerAgrees { samples }.into()
    } else {
        Known::TokenizerDiffers { ours, servers }.into()
    })
}

/// Lets the servers forget earlier prompts, so that no point lives on another's cache.
async fn empty_cache(learned: &ServerProfile, connection: &Connection) -> Option<Note> {
    let emptied = learned.empty_cache(health_timeouts(connection)).await;
    emptied.then(|| Known::CacheEmptied.into())
}

/// What a server said of itself as it may be stored: it may repeat a key anywhere.
fn redacted(mut probe: Probe, secrets: &Secrets) -> Probe {
    let said = (probe.models.iter_mut())
        .chain(probe.software.as_mut())
        .chain([&mut probe.model]);
    for text in said {
        *text = secrets.redact(text);
    }
    probe
}

fn join(targets: &[Target]) -> String {
    let urls: Vec<String> = targets.iter().map(ToString::to_string).collect();
    urls.join(", ")
}
