//! One load point from beginning to end: resolve, plan, drive while recording, fold.

use crate::certificate;
use crate::embedded::EmbeddedServer;
use crate::host;
use crate::keys::Keys;
use crate::progress::Progress;
use anyhow::Context;
use inferometer_core::environment::{EndCause, Ending, Environment};
use inferometer_core::fold::{RunContext, summarize};
use inferometer_core::hostile::Secrets;
use inferometer_core::journal::Header;
use inferometer_core::length::LengthSpec;
use inferometer_core::message::Lang;
use inferometer_core::record::Record;
use inferometer_core::run_dir::RunDir;
use inferometer_core::scenario::{
    Connection, Output, PromptSource, Scenario, Shape, Stagger, Warmup, Work,
};
use inferometer_core::schedule::arrivals;
use inferometer_core::summary::Summary;
use inferometer_load::api::Ask;
use inferometer_load::clock::Clock;
use inferometer_load::connect::{Network, TlsSettings};
use inferometer_load::exchange::Timeouts;
use inferometer_load::http::Target;
use inferometer_load::instrument::{
    Control, Instrument, Phase, PhaseLoad, PhaseReport, Watchfulness,
};
use inferometer_load::preflight::{Learned, Wish, preflight, unreachable};
use inferometer_load::recorder::Recorder;
use inferometer_load::setup::{Job, JobMaker, Setup, WARMUP_INDEX};
use inferometer_workload::{Nonce, OutputLengths, Prompts};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Timing of the embedded engine: a demonstration of some twenty seconds.
const DEMO: [&str; 8] = [
    "sim",
    "--listen",
    "127.0.0.1:0",
    "--ttft",
    "60ms",
    "--itl",
    "5ms",
    "--until-stdin-closes",
];

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
    scenario: Scenario,
    targets: Vec<Target>,
    keys: Keys,
    out: &Path,
    lang: Lang,
    control: &Control,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let mut notes = Vec::new();
    notes.extend(host::raise_open_files(most_streams(&scenario)).map_err(anyhow::Error::msg)?);

    RunDir::check(out)?;

    let embedded = match targets.is_empty() {
        true => Some(EmbeddedServer::start(&DEMO)?),
        false => None,
    };
    let targets = match &embedded {
        Some(server) => vec![Target::parse(&server.url)?],
        None => targets,
    };

    let nonce = (scenario.work.cache_nonce).then(|| Nonce::from_random(host::random()));
    let prompts = inferometer_workload::open(&scenario.work.prompts, scenario.seed, nonce)?;
    let prompts: Arc<dyn Prompts> = prompts.into();
    let jobs = job_maker(Arc::clone(&prompts), &scenario);

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    progress.attempt(&format!("preflight: {}", join(&targets)));
    let learned = runtime.block_on(look(&scenario, targets, &keys, &jobs))?;
    // The ways know the password of the proxy; the files must not.
    let scenario = without_password(scenario)?;
    notes.extend(learned.notes.iter().cloned());
    if let Some(distinct) = prompts.distinct()
        && scenario
            .load
            .extent
            .requests()
            .is_some_and(|requests| requests > distinct)
    {
        notes.push(format!(
            "the work has {distinct} distinct prompts, which are used in turn"
        ));
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
        distinct_prompts: prompts.distinct(),
        host: host::host(),
        server: learned.probe.clone(),
        ceiling_tokens_per_s: certificate::stored().map(|found| found.ceiling_tokens_per_s),
        workers,
        notes,
    };
    let directory = RunDir::create(out)?;
    directory.write_scenario(&scenario)?;
    directory.write_environment(&environment)?;

    let measured = measured_phase(&scenario);
    let planned = match &measured {
        Planned::Closed { requests, .. } => *requests,
        Planned::Open { due, .. } => Some(due.len() as u64),
    };
    let journal = directory.start_journal(&Header::new(planned))?;
    let (recorder, entries) = Recorder::start(journal);
    let setup = Setup {
        ways: learned.ways.clone(),
        dialect: learned.dialect,
        ask: learned.ask.clone(),
        make_job: jobs,
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
    let summary = fold(&directory, &context)?;
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

/// Folds the stored records of a run.
pub fn fold(directory: &RunDir, context: &RunContext<'_>) -> anyhow::Result<Summary> {
    // An error in the middle must not pass for the end of the records.
    let mut trouble = None;
    let records = directory
        .records()?
        .map_while(|record| record.map_err(|error| trouble = Some(error)).ok());
    let summary = summarize(context, records);
    match trouble {
        Some(error) => Err(error.into()),
        None => Ok(summary),
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
        progress.begin("warm-up", phase.requests, phase.duration);
        let report = instrument.run_phase(phase, &watchfulness, |now| progress.show(now));
        latency = report.totals.mean_latency.or(latency);
    }
    let (load, requests, stagger) = match measured {
        Planned::Closed {
            streams,
            stagger,
            requests,
        } => {
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
            (load, requests, spread)
        }
        Planned::Open { due, cap } => {
            let requests = Some(due.len() as u64);
            (PhaseLoad::Open { due, cap }, requests, None)
        }
    };
    let duration = scenario.load.extent.duration().map(|span| span.0);
    let phase = Phase {
        warmup: false,
        load,
        requests,
        duration,
        drain,
    };
    progress.begin("measuring", requests, duration);
    let phase = instrument.run_phase(phase, &watchfulness, |now| progress.show(now));
    Driven { phase, stagger }
}

/// The measured part, planned before the first byte is sent.
enum Planned {
    Closed {
        streams: u32,
        stagger: Stagger,
        requests: Option<u64>,
    },
    Open {
        due: Arc<[inferometer_core::units::Offset]>,
        cap: Option<u32>,
    },
}

fn measured_phase(scenario: &Scenario) -> Planned {
    let load = &scenario.load;
    match load.shape {
        Shape::Closed {
            concurrency,
            stagger,
        } => Planned::Closed {
            streams: concurrency,
            stagger,
            requests: load.extent.requests(),
        },
        Shape::Open {
            rate,
            arrival,
            ramp,
            max_concurrency,
        } => Planned::Open {
            due: arrivals(rate, arrival, ramp, load.extent, scenario.seed).into(),
            cap: max_concurrency,
        },
    }
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
    let prompts = inferometer_workload::open(&scenario.work.prompts, scenario.seed, None)?;
    look(
        scenario,
        targets,
        keys,
        &job_maker(prompts.into(), scenario),
    )
    .await
}

/// Learns what the servers understand.
async fn look(
    scenario: &Scenario,
    targets: Vec<Target>,
    keys: &Keys,
    jobs: &JobMaker,
) -> anyhow::Result<Learned> {
    let connection = &scenario.connection;
    let networks = networks(connection, &targets, &keys.secrets).await?;
    // A prompt like those to come, but none of them.
    let sample = jobs(2 * WARMUP_INDEX);
    let wish = Wish {
        targets,
        networks,
        api: connection.api,
        model: connection.model.clone(),
        headers: keys.headers.clone(),
        ask: ask(connection, &scenario.work),
        prompt: sample.prompt,
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
    let bound = |spec: LengthSpec| match spec {
        LengthSpec::Fixed(length) | LengthSpec::Uniform(_, length) => Some(length),
        LengthSpec::Normal(..) | LengthSpec::Lognormal(..) => None,
    };
    let input = match work.prompts {
        PromptSource::Synthetic(spec) => bound(spec)?,
        PromptSource::Text(_) | PromptSource::Lines(_) => return None,
    };
    let output = match work.output {
        Output::Tokens(spec) => bound(spec)?,
        Output::AtMost(limit) => limit,
    };
    Some((input, output))
}

fn job_maker(prompts: Arc<dyn Prompts>, scenario: &Scenario) -> JobMaker {
    let lengths = OutputLengths::new(scenario.work.output, scenario.seed);
    Arc::new(move |index| {
        let prompt = prompts.prompt(index);
        Job {
            input_tokens: prompt.input_tokens,
            chars: prompt.chars,
            output_tokens: Some(
                prompt
                    .output_tokens
                    .unwrap_or_else(|| lengths.tokens(index)),
            ),
            prompt: prompt.text.to_string(),
        }
    })
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
        } => u64::from(*cap),
        // Without a cap nobody knows; a rate that keeps a thousand under way is a guess.
        Shape::Open { rate, .. } if rate.is_infinite() => {
            scenario.load.extent.requests().unwrap_or(1024)
        }
        Shape::Open { .. } => 1024,
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
