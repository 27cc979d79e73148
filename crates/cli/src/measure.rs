//! One load point from beginning to end: resolve, plan, drive while recording, fold.

use crate::certificate;
use crate::embedded::EmbeddedServer;
use crate::host;
use crate::keys::Keys;
use crate::progress::Progress;
use crate::work::{self, WorkJobs};
use anyhow::Context;
use inferometer_core::environment::{EndCause, Ending, Environment};
use inferometer_core::fold::{RunContext, summarize};
use inferometer_core::hostile::Secrets;
use inferometer_core::journal::Header;
use inferometer_core::message::Lang;
use inferometer_core::message::progress::ProgressText;
use inferometer_core::note::{Known, Note};
use inferometer_core::record::Record;
use inferometer_core::run_dir::RunDir;
use inferometer_core::scenario::{Connection, Scenario, Shape, Stagger, Warmup};
use inferometer_core::schedule::arrivals;
use inferometer_core::summary::Summary;
use inferometer_core::units::Offset;
use inferometer_core::work::{History, LengthPairs, Output, PromptSource, SyntheticLengths, Work};
use inferometer_load::api::{Ask, CHAT};
use inferometer_load::clock::Clock;
use inferometer_load::connect::{Network, TlsSettings};
use inferometer_load::exchange::Timeouts;
use inferometer_load::http::Target;
use inferometer_load::instrument::{
    Control, Instrument, Phase, PhaseLoad, PhaseReport, Watchfulness,
};
use inferometer_load::preflight::{Learned, Wish, preflight, unreachable};
use inferometer_load::recorder::{Recorder, TokenCount};
use inferometer_load::setup::{Job, Jobs, Setup, Talk, WARMUP_SESSION};
use inferometer_workload::{Content, Workload};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Starts the embedded engine.
fn embedded(connection: &Connection) -> anyhow::Result<EmbeddedServer> {
    let mut arguments = vec!["sim", "--listen", "127.0.0.1:0", "--until-stdin-closes"];
    let chosen = [
        ("--model", &connection.sim_model),
        ("--device", &connection.sim_device),
    ];
    for (name, value) in chosen {
        if let Some(value) = value {
            arguments.extend([name, value]);
        }
    }
    EmbeddedServer::start(&arguments)
}

/// What is to be measured.
pub struct Point {
    /// The settings.
    pub scenario: Scenario,
    /// Where its data lie on this machine, if it has any.
    pub data: Option<PathBuf>,
    /// The servers; none means the embedded engine.
    pub targets: Vec<Target>,
    /// What opens their doors.
    pub keys: Keys,
}

/// A finished run.
pub struct Measured {
    /// Its folder.
    pub directory: RunDir,
    /// What was asked.
    pub scenario: Scenario,
    /// Where it ran.
    pub environment: Environment,
    /// How it ended.
    pub ending: Ending,
    /// The numbers.
    pub summary: Summary,
}

/// Runs one load point and keeps it in `out`.
pub fn measure(
    point: Point,
    out: &Path,
    lang: Lang,
    control: &Control,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let Point {
        scenario,
        data,
        targets,
        keys,
    } = point;
    let mut notes: Vec<Note> = Vec::new();
    let raised = host::raise_open_files(most_streams(&scenario)).map_err(anyhow::Error::msg)?;
    notes.extend(raised.map(Note::from));

    RunDir::check(out)?;

    let embedded = match targets.is_empty() {
        true => Some(embedded(&scenario.connection)?),
        false => None,
    };
    let targets = match &embedded {
        Some(server) => vec![Target::parse(&server.url)?],
        None => targets,
    };

    let nonce = (scenario.work.cache_nonce).then(work::new_nonce);
    let workload = Arc::new(work::open(&scenario, data.as_deref(), nonce)?);
    let measured = measured_phase(&scenario, &workload);
    let jobs: Arc<dyn Jobs> = Arc::new(WorkJobs(Arc::clone(&workload)));

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    progress.attempt(&ProgressText::Preflight.with(lang, &[("url", join(&targets))]));
    let sample = jobs.job(measured.spare_session() + warmup_requests(&scenario), 0);
    let learned = runtime.block_on(look(&scenario, targets, &keys, sample))?;
    notes.extend(learned.notes.iter().cloned());
    notes.extend(workload.notes.iter().cloned().map(Note::from));
    let template = workload.tokenizer.as_ref();
    let template = template.and_then(|tokenizer| tokenizer.template_tokens());
    if let Some(tokens) = template.filter(|_| learned.dialect.name() == CHAT.name()) {
        notes.push(Known::ChatTemplate { tokens }.into());
    }
    notes.extend(runtime.block_on(compare_tokenizers(&workload, &learned, &scenario)));
    // The ways know the password of the proxy; the files must not.
    let scenario = without_password(scenario)?;
    let distinct = workload.prompts.distinct();
    if let Some(distinct) = distinct.filter(|&distinct| measured.sessions() > Some(distinct)) {
        notes.push(Known::CyclesPrompts { distinct }.into());
    }
    if workload.arrivals.is_some() && !matches!(scenario.load.shape, Shape::Replay { .. }) {
        notes.push(Known::TraceLengthsOnly.into());
    }

    let workers = scenario
        .connection
        .workers
        .unwrap_or_else(|| default_workers(&scenario));
    let clock = Clock::start();
    let environment = Environment {
        inferometer: env!("CARGO_PKG_VERSION").to_owned(),
        started: host::now(),
        origin_monotonic_ns: clock.origin_monotonic_ns(),
        nonce: nonce.map(|nonce| nonce.to_string()),
        distinct_prompts: distinct,
        host: host::host(),
        server: learned.probe.clone(),
        ceiling_tokens_per_s: certificate::stored().map(|found| found.ceiling_tokens_per_s),
        workers,
        notes,
    };
    let directory = RunDir::create(out)?;
    directory.write_scenario(&scenario)?;
    directory.write_environment(&environment)?;

    let journal = directory.start_journal(&Header::new(measured.requests))?;
    let count = (workload.tokenizer.clone())
        .map(|tokenizer| Arc::new(move |text: &str| tokenizer.count(text)) as TokenCount);
    let keep_text = keeps_text(&scenario.work, count.is_some() && !learned.counts_output);
    let (recorder, entries) = Recorder::start(journal, count);
    let setup = Setup {
        ways: learned.ways.clone(),
        dialect: learned.dialect,
        ask: learned.ask.clone(),
        jobs,
        talk: scenario
            .work
            .conversation
            .as_ref()
            .map(|conversation| Talk {
                think: conversation.think.0,
                history: conversation.history,
            }),
        warmup_from: measured.spare_session(),
        keep_text,
        timeouts: timeouts(&scenario.connection),
        clock,
        run_id: format!("{:08x}", host::random() as u32),
    };
    let slos = &scenario.objectives.slos;
    let mut instrument = Instrument::start(
        setup,
        workers,
        control.clone(),
        &entries,
        slos,
        &keys.secrets,
    );
    drop(entries);

    let report = drive(&mut instrument, &scenario, measured, &learned, progress);
    instrument.finish();
    let health = match report.phase.cause {
        EndCause::Watchdog => Default::default(),
        _ => runtime.block_on(learned.health(health_timeouts(&scenario.connection))),
    };
    let ending = Ending {
        cause: report.phase.cause,
        planned: report.phase.planned,
        unsent: report.phase.unsent,
        measured_from: report.phase.started,
        sending_ended: report.phase.sending_ended,
        stagger_ns: report
            .stagger
            .map(|span| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)),
        thread_cpu_shares: report.phase.cpu_shares,
        health: redacted(health, &keys.secrets),
    };
    directory.write_ending(&ending)?;
    recorder
        .finish()
        .context("the records could not be written completely")?;
    directory.seal()?;
    drop(embedded);

    let context = RunContext {
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        lang,
    };
    let (summary, _) = fold(&directory, &context)?;
    directory.write_summary(&summary)?;
    progress.end();
    Ok(Measured {
        directory,
        scenario,
        environment,
        ending,
        summary,
    })
}

/// Folds the stored records of a run; says how many lines of a journal could not be read.
pub fn fold(directory: &RunDir, context: &RunContext<'_>) -> anyhow::Result<(Summary, u64)> {
    // An error in the middle must not pass for the end of the records.
    let mut trouble = None;
    let mut records = directory.records()?;
    let sound =
        (&mut records).map_while(|record| record.map_err(|error| trouble = Some(error)).ok());
    let summary = summarize(context, sound);
    match trouble {
        Some(error) => Err(error.into()),
        None => Ok((summary, records.damage().lines)),
    }
}

/// All stored records of a run.
pub fn records(directory: &RunDir) -> anyhow::Result<Vec<Record>> {
    Ok(directory.records()?.collect::<Result<Vec<_>, _>>()?)
}

struct Driven {
    phase: PhaseReport,
    stagger: Option<Duration>,
}

/// The warm-up, then the measured part.
fn drive(
    instrument: &mut Instrument<Network>,
    scenario: &Scenario,
    measured: Planned,
    learned: &Learned,
    progress: &mut Progress,
) -> Driven {
    let connection = &scenario.connection;
    let drain = scenario.load.drain.map(|span| span.0);
    let watchfulness = Watchfulness {
        stop_when: scenario.load.stop_when.clone(),
        slos: scenario.objectives.slos.clone(),
        attainment: Some(scenario.objectives.least_share()),
        standstill: Some(
            connection.request_timeout.0 + drain.unwrap_or_default() + Duration::from_secs(5),
        ),
    };
    let warmup = warmup_phase(scenario);
    let mut latency = learned
        .probe
        .latency_ms
        .map(|ms| Duration::from_secs_f64(ms / 1e3));
    if let Some(phase) = warmup {
        let title = ProgressText::WarmUp.text(progress.lang());
        progress.begin(title, phase.requests, phase.duration);
        let report = instrument.run_phase(phase, &watchfulness, |now| progress.show(now));
        latency = report.totals.mean_latency().or(latency);
    }
    let requests = measured.requests;
    let (load, stagger) = match measured.rhythm {
        PlannedRhythm::Closed { streams, stagger } => {
            let spread = match stagger {
                Stagger::Auto => Some(latency.unwrap_or_default()),
                Stagger::None => None,
                Stagger::Over(span) => Some(span.0),
            }
            .filter(|_| streams > 1);
            let load = PhaseLoad::Closed {
                streams,
                stagger: spread.unwrap_or_default(),
            };
            (load, spread)
        }
        PlannedRhythm::Open { due, cap } => (PhaseLoad::Open { due, cap }, None),
    };
    let duration = scenario.load.extent.duration().map(|span| span.0);
    let phase = Phase {
        warmup: false,
        load,
        requests,
        duration,
        drain,
    };
    let title = ProgressText::Measuring.text(progress.lang());
    progress.begin(title, requests, duration);
    let phase = instrument.run_phase(phase, &watchfulness, |now| progress.show(now));
    Driven { phase, stagger }
}

/// The measured part, planned before the first byte is sent.
struct Planned {
    rhythm: PlannedRhythm,
    /// Requests in all, where they are known.
    requests: Option<u64>,
}

enum PlannedRhythm {
    Closed {
        streams: u32,
        stagger: Stagger,
    },
    Open {
        /// Of the sessions.
        due: Arc<[Offset]>,
        cap: Option<u32>,
    },
}

impl Planned {
    /// Sessions at most, where they are known.
    fn sessions(&self) -> Option<u64> {
        match &self.rhythm {
            PlannedRhythm::Open { due, .. } => Some(due.len() as u64),
            PlannedRhythm::Closed { .. } => self.requests,
        }
    }

    /// The first session that the measured part does not use.
    fn spare_session(&self) -> u64 {
        self.sessions().unwrap_or(WARMUP_SESSION)
    }
}

fn measured_phase(scenario: &Scenario, workload: &Workload) -> Planned {
    let load = &scenario.load;
    let extent = load.extent;
    let talks = scenario.work.conversation.is_some();
    let (due, cap) = match load.shape {
        Shape::Closed {
            concurrency,
            stagger,
        } => {
            return Planned {
                rhythm: PlannedRhythm::Closed {
                    streams: concurrency,
                    stagger,
                },
                requests: extent.requests(),
            };
        }
        Shape::Open {
            rate,
            arrival,
            ramp,
            max_concurrency,
        } => {
            let sessions = arrivals(rate, arrival, ramp, extent, scenario.seed);
            let needed = match extent.requests().filter(|_| talks) {
                Some(requests) => sessions_for(workload, requests),
                None => sessions.len(),
            };
            (sessions.into_iter().take(needed).collect(), max_concurrency)
        }
        Shape::Replay {
            speed,
            max_concurrency,
        } => {
            let times = workload.arrivals.as_deref().unwrap_or_default();
            (work::replay(times, speed, extent), max_concurrency)
        }
    };
    let requests = match talks {
        // Turns that time cuts off were never planned.
        true => extent.requests().filter(|_| extent.duration().is_none()),
        false => Some(due.len() as u64),
    };
    Planned {
        rhythm: PlannedRhythm::Open {
            due: due.into(),
            cap,
        },
        requests,
    }
}

/// Conversations that have so many turns together.
fn sessions_for(workload: &Workload, requests: u64) -> usize {
    let mut turns = 0;
    let enough = |session: &u64| {
        turns += u64::from(workload.prompts.turns(*session).max(1));
        turns < requests
    };
    (0..requests).take_while(enough).count() + 1
}

/// Requests of the warm-up, where that is how it is measured.
fn warmup_requests(scenario: &Scenario) -> u64 {
    match scenario.load.warmup {
        Warmup::Requests(count) => count,
        Warmup::Time(_) => 0,
    }
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
    learned: &Learned,
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
    Some(match ours == servers {
        true => Known::TokenizerAgrees { samples }.into(),
        false => Known::TokenizerDiffers { ours, servers }.into(),
    })
}

/// The warm-up is a closed loop in either case: it opens connections and wakes the server.
fn warmup_phase(scenario: &Scenario) -> Option<Phase> {
    let (requests, duration) = match scenario.load.warmup {
        Warmup::Requests(0) => return None,
        Warmup::Requests(count) => (Some(count), None),
        Warmup::Time(span) if span.0.is_zero() => return None,
        Warmup::Time(span) => (None, Some(span.0)),
    };
    let streams = match scenario.load.shape {
        Shape::Closed { concurrency, .. } => concurrency,
        Shape::Open {
            max_concurrency, ..
        }
        | Shape::Replay {
            max_concurrency, ..
        } => max_concurrency.unwrap_or(8).min(8),
    };
    let streams = requests.map_or(streams, |count| {
        streams.min(u32::try_from(count).unwrap_or(u32::MAX))
    });
    Some(Phase {
        warmup: true,
        load: PhaseLoad::Closed {
            streams,
            stagger: Duration::ZERO,
        },
        requests,
        duration,
        drain: None,
    })
}

/// Learns what the servers understand, without a run.
pub async fn look_at(
    scenario: &Scenario,
    targets: Vec<Target>,
    keys: &Keys,
) -> anyhow::Result<Learned> {
    let workload = work::open(scenario, None, None)?;
    let sample = WorkJobs(Arc::new(workload)).job(0, 0);
    look(scenario, targets, keys, sample).await
}

/// Learns what the servers understand.
async fn look(
    scenario: &Scenario,
    targets: Vec<Target>,
    keys: &Keys,
    sample: Job,
) -> anyhow::Result<Learned> {
    let connection = &scenario.connection;
    let networks = networks(connection, &targets, &keys.secrets).await?;
    let wish = Wish {
        targets,
        networks,
        api: connection.api,
        model: connection.model.clone(),
        headers: keys.headers.clone(),
        ask: ask(connection, &scenario.work),
        content: sample.content,
        as_token_ids: scenario.work.as_token_ids,
        longest: longest(&scenario.work),
        limit: sample.output_tokens,
        timeouts: timeouts(connection),
        secrets: keys.secrets.clone(),
    };
    Ok(preflight(wish).await?)
}

/// The scenario as it may be stored and shown.
fn without_password(mut scenario: Scenario) -> anyhow::Result<Scenario> {
    if let Some(proxy) = &mut scenario.connection.proxy {
        *proxy = Target::parse(proxy)?.to_string();
    }
    Ok(scenario)
}

/// The ways to the servers, with TLS where one wants it.
pub async fn networks(
    connection: &Connection,
    targets: &[Target],
    secrets: &Secrets,
) -> anyhow::Result<Vec<Network>> {
    let settings = TlsSettings {
        ca: connection.ca.clone(),
        client: connection
            .client_cert
            .clone()
            .zip(connection.client_key.clone()),
        insecure: connection.insecure,
    };
    let tls = match targets.iter().any(|target| target.tls) {
        true => Some(settings.connector()?),
        false => None,
    };
    let proxy = connection
        .proxy
        .as_deref()
        .map(Target::parse)
        .transpose()
        .context("--proxy")?;
    let mut networks = Vec::new();
    for target in targets {
        let network = Network::resolve(
            target.clone(),
            proxy.clone(),
            tls.clone(),
            connection.connect_timeout.0,
        )
        .await
        .map_err(|failure| unreachable(&target.to_string(), &failure, secrets))?;
        networks.push(network);
    }
    Ok(networks)
}

/// What is asked for, before the preflight takes away what is not understood.
pub fn ask(connection: &Connection, work: &Work) -> Ask {
    Ask {
        model: String::new(),
        stream: connection.stream,
        stream_usage: true,
        chunk_usage: false,
        ignore_eos: work.ignore_eos,
        min_tokens: work.min_tokens,
        limit_field: Default::default(),
        temperature: work.temperature,
        top_p: work.top_p,
        stop: work.stop.clone(),
        extra: work
            .extra
            .clone()
            .map(|object| object.0)
            .unwrap_or_default(),
    }
}

/// Prompt and output tokens of the longest request, where they have a bound.
fn longest(work: &Work) -> Option<(u32, u32)> {
    let PromptSource::Synthetic(synthetic) = &work.prompts else {
        return None;
    };
    let output = match &work.output {
        Output::Tokens(spec) => spec.longest(),
        Output::AtMost(limit) => Some(*limit),
        Output::FromWork | Output::Free => None,
    };
    match &synthetic.lengths {
        SyntheticLengths::Input(spec) => Some((spec.longest()?, output?)),
        SyntheticLengths::Pairs(LengthPairs::Listed(pairs)) => {
            let longest = pairs.iter().max_by_key(|pair| pair.input + pair.output)?;
            Some((longest.input, longest.output))
        }
        SyntheticLengths::Pairs(LengthPairs::File(_)) => None,
    }
}

pub fn timeouts(connection: &Connection) -> Timeouts {
    Timeouts {
        read: connection.read_timeout.0,
        request: connection.request_timeout.0,
    }
}

/// A health probe is no generation; it need not wait as long.
fn health_timeouts(connection: &Connection) -> Timeouts {
    let longest = Duration::from_secs(10);
    Timeouts {
        read: connection.read_timeout.0.min(longest),
        request: connection.request_timeout.0.min(longest),
    }
}

/// Most requests that can be under way at once.
fn most_streams(scenario: &Scenario) -> u64 {
    match &scenario.load.shape {
        Shape::Closed { concurrency, .. } => u64::from(*concurrency),
        Shape::Open {
            max_concurrency: Some(cap),
            ..
        }
        | Shape::Replay {
            max_concurrency: Some(cap),
            ..
        } => u64::from(*cap),
        // Without a cap nobody knows; a rate that keeps a thousand under way is a guess.
        Shape::Open { rate, .. } if rate.is_infinite() => {
            scenario.load.extent.requests().unwrap_or(1024)
        }
        Shape::Open { .. } | Shape::Replay { .. } => 1024,
    }
}

/// One thread for each 256 streams, at most one a core: more threads than the load needs only
/// take the cores from the server on the same host.
fn default_workers(scenario: &Scenario) -> u32 {
    let streams = match &scenario.load.shape {
        Shape::Open {
            rate,
            max_concurrency: None,
            ..
        } if !rate.is_infinite() => rate.0 as u64,
        _ => most_streams(scenario),
    };
    u32::try_from(streams.div_ceil(256))
        .unwrap_or(u32::MAX)
        .clamp(1, host::cores())
}

fn redacted(
    health: inferometer_core::environment::Health,
    secrets: &Secrets,
) -> inferometer_core::environment::Health {
    use inferometer_core::environment::Health;
    match health {
        Health::Dead(said) => Health::Dead(secrets.keep(&said)),
        other => other,
    }
}

fn join(targets: &[Target]) -> String {
    targets
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
