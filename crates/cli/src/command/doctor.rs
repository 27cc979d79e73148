//! `inferometer doctor`: the instrument measures itself, against a null server on loopback that
//! does nothing but write. With a URL: what that server understands.

use crate::exit::Exit;
use crate::options::{DataView, ViewArguments};
use crate::output::{language, print, style};
use crate::progress::Progress;
use crate::session::session;
use anyhow::Context;
use clap::Args;
use inferometer_core::content::Content;
use inferometer_core::options::{ConnectionOptions, Options};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::{Record, Stage};
use inferometer_core::scenario::Hold;
use inferometer_load::api::{BodyTemplates, CHAT, RequestOptions};
use inferometer_load::certificate::{Certificate, SCHEMA, StampError};
use inferometer_load::clock::Clock;
use inferometer_load::connect::Network;
use inferometer_load::exchange::Timeouts;
use inferometer_load::http::Target;
use inferometer_load::instrument::{Control, Instrument, LoadPlan, Rhythm};
use inferometer_load::setup::{Job, Route, Setup, WARMUP_SESSION};
use inferometer_load::stop_rules::StopRules;
use inferometer_message::ProgressText;
use inferometer_page::doc::Doc;
use inferometer_page::text;
use inferometer_report::doctor;
use inferometer_runner::embedded::EmbeddedServer;
use inferometer_runner::keys::Keys;
use inferometer_runner::measure::look_at;
use inferometer_runner::{Session, certificate, host};
use inferometer_store::journal::Entry;
use inferometer_text::secret::Secrets;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[derive(Args)]
pub struct DoctorArguments {
    #[command(flatten)]
    pub connection: ConnectionOptions,
    #[command(flatten)]
    pub view: ViewArguments,
}

/// Time of each look at the ceiling, and their number; the median counts.
const LOOK: Duration = Duration::from_millis(600);
const LOOKS: usize = 3;

/// Gap between tokens and tokens a request, where time-stamps are compared.
const GAP: &str = "20ms";
const TOKENS: u32 = 64;

/// Loads at which time-stamps are compared.
const LOADS: [u32; 3] = [8, 64, 512];

/// Measures this host, or looks at a server.
pub fn run(arguments: DoctorArguments) -> anyhow::Result<Exit> {
    let lang = language(arguments.view.lang);
    let session = session(lang)?;
    if arguments.connection.url.is_some() {
        look_at_server(arguments.connection, arguments.view.format, &session)
    } else {
        measure_host(arguments.view.format, &session)
    }
}

fn look_at_server(
    connection: ConnectionOptions,
    format: DataView,
    session: &Session,
) -> anyhow::Result<Exit> {
    let options = Options {
        connection,
        ..Options::default()
    };
    let urls = options.connection.url.iter().flatten();
    let targets: Vec<Target> = urls
        .map(|url| Target::parse(url))
        .collect::<Result<_, _>>()?;
    let keys = Keys::read(&options, &targets, session)?;
    let scenario = options.resolve()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut progress = Progress::new(format == DataView::Json, session.lang);
    let looking = look_at(&scenario, targets, &keys, session, &mut progress);
    let learned = runtime.block_on(looking)?;
    progress.end();
    show(format, &learned.probe, || {
        doctor::server(&learned.probe, &learned.notes, session.lang)
    })
}

fn show(
    format: DataView,
    found: &impl Serialize,
    document: impl FnOnce() -> Doc,
) -> anyhow::Result<Exit> {
    print(&match format {
        DataView::Json => serde_json::to_string_pretty(found)? + "\n",
        _ => text::render(&document(), style()),
    })?;
    Ok(Exit::Fine)
}

fn measure_host(format: DataView, session: &Session) -> anyhow::Result<Exit> {
    let lang = session.lang;
    let progress = Progress::new(format == DataView::Json, lang);
    let host = host::host();
    host::raise_open_files(u64::from(LOADS[LOADS.len() - 1])).map_err(anyhow::Error::msg)?;
    progress.say(ProgressText::Ceiling.text(lang));
    let ceiling_tokens_per_s = ceiling("1", session)?;
    let ceiling_batched_tokens_per_s = ceiling("16", session)?;
    let mut errors = Vec::new();
    for streams in LOADS {
        let values = [("streams", streams.to_string())];
        progress.say(&ProgressText::StampErrors.with(lang, &values));
        errors.push(stamp_error(streams, session)?);
    }
    progress.end();
    let certificate = Certificate {
        schema: SCHEMA.to_owned(),
        measured: host::now(),
        inferometer: env!("CARGO_PKG_VERSION").to_owned(),
        cpu: host.cpu,
        cores: host.cores,
        ceiling_tokens_per_s,
        ceiling_batched_tokens_per_s,
        errors,
    };
    let kept =
        certificate::store(session, &certificate).context("the certificate cannot be kept")?;
    let kept = kept.map(|path| path.display().to_string());
    show(format, &certificate, || {
        doctor::certificate(&certificate, kept.as_deref(), lang)
    })
}

/// Token events a second that one worker takes from a server that writes as fast as it can.
fn ceiling(events_per_write: &str, session: &Session) -> anyhow::Result<f64> {
    let server = EmbeddedServer::start(
        &session.program,
        &["null-server", "--events-per-write", events_per_write],
    )?;
    let mut rates = Vec::new();
    for _ in 0..LOOKS {
        let point = Point {
            streams: 8,
            tokens: 50_000,
            requests: None,
            duration: Some(LOOK),
        };
        let measured = point.measure(&server.url)?;
        rates.push(measured.tokens as f64 / measured.seconds);
    }
    sort(&mut rates);
    Ok(rates[LOOKS / 2])
}

/// Compares our time-stamps with the server's own.
fn stamp_error(streams: u32, session: &Session) -> anyhow::Result<StampError> {
    let folder = std::env::temp_dir().join(format!(
        "inferometer-doctor-{}-{streams}",
        std::process::id()
    ));
    std::fs::create_dir_all(&folder).context("cannot make a temporary folder")?;
    let truth = folder.join("truth.jsonl");
    let measured = {
        let file = truth.to_string_lossy();
        let server = EmbeddedServer::start(
            &session.program,
            &["null-server", "--gap", GAP, "--truth", &file],
        )?;
        let point = Point {
            streams,
            tokens: TOKENS,
            requests: Some(u64::from(streams) * 2),
            duration: None,
        };
        let measured = point.measure(&server.url)?;
        server.stop();
        measured
    };
    let error = compare(&measured, &truth, streams);
    let _ = std::fs::remove_dir_all(&folder);
    error
}

#[derive(Deserialize)]
struct Truth {
    id: String,
    chunks: Vec<(u64, u32)>,
}

fn compare(measured: &Looked, truth: &Path, streams: u32) -> anyhow::Result<StampError> {
    let log = std::fs::read_to_string(truth).context("the null server left no log")?;
    let written: HashMap<String, Vec<u64>> = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Truth>(line).ok())
        .map(|truth| {
            let tokens = truth.chunks.iter().filter(|(_, tokens)| *tokens > 0);
            (truth.id, tokens.map(|(at, _)| *at).collect())
        })
        .collect();
    let origin = measured.clock.origin_monotonic_ns();
    let mut errors = Vec::new();
    for record in &measured.records {
        let Some(written) = written.get(&record.id) else {
            continue;
        };
        for (ours, theirs) in record.chunks.at.iter().zip(written) {
            errors.push(((origin + ours.0) as f64 - *theirs as f64) / 1e3);
        }
    }
    sort(&mut errors);
    let at = |share| quantile(&errors, share).context("no time-stamp could be compared");
    Ok(StampError {
        streams,
        tokens_per_s: measured.tokens as f64 / measured.seconds,
        mean_us: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        p50_us: at(0.5)?,
        p99_us: at(0.99)?,
        max_us: at(1.0)?,
        n: errors.len() as u64,
    })
}

/// A load that is put on the null server.
struct Point {
    streams: u32,
    tokens: u32,
    requests: Option<u64>,
    duration: Option<Duration>,
}

struct Looked {
    tokens: u64,
    seconds: f64,
    records: Vec<Record>,
    clock: Clock,
}

impl Point {
    fn measure(&self, url: &str) -> anyhow::Result<Looked> {
        let target = Target::parse(url)?;
        let limit = Duration::from_secs(30);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let network = runtime
            .block_on(Network::resolve(target, None, None, limit))
            .map_err(|failure| anyhow::anyhow!("loopback cannot be reached: {}", failure.detail))?;
        let clock = Clock::start();
        let tokens = self.tokens;
        let setup = Setup {
            routes: vec![Route::new(network, "/v1/chat/completions", Vec::new())],
            dialect: CHAT,
            options: RequestOptions {
                model: "null".into(),
                stream: true,
                stream_usage: true,
                ..RequestOptions::default()
            },
            bodies: BodyTemplates::default(),
            models: Vec::new(),
            jobs: Arc::new(move |_: u64| Job {
                content: Content::Text("x".into()),
                chars: 1,
                output_tokens: Some(tokens),
                ..Job::default()
            }),
            conversation: None,
            warmup_from: WARMUP_SESSION,
            first_wave: None,
            cancel: None,
            keep_text: false,
            timeouts: Timeouts {
                read: limit,
                request: limit,
            },
            clock,
            run_id: "doctor".into(),
            traced: false,
            rank: None,
        };
        let (entries, received) = std::sync::mpsc::channel();
        let control = Control::default();
        let mut instrument =
            Instrument::start(setup, 1, control, &entries, &[], &Secrets::default());
        drop(entries);
        // Streams begin apart, as they do in a measurement.
        let stagger = match self.duration {
            Some(_) => Duration::ZERO,
            None => Duration::from_millis(20),
        };
        let plan = LoadPlan {
            rhythm: Rhythm::Closed {
                streams: self.streams,
                spread: stagger,
            },
            opening: None,
            stage: Stage::Measured,
            hold: Hold::None,
            requests: self.requests,
            duration: self.duration,
            drain: self.duration.map(|_| Duration::ZERO),
        };
        let report = instrument.run(plan, &StopRules::default(), &mut |_| {});
        let seconds = clock.now().since(report.started).as_secs_f64();
        instrument.finish();
        let records = received.try_iter().filter_map(|left| match left.entry {
            Entry::End(record) => Some(record.into_owned()),
            Entry::Begin(_) | Entry::Progress(_) | Entry::Client(_) => None,
        });
        Ok(Looked {
            tokens: report.totals.tokens,
            seconds: self
                .duration
                .map_or(seconds, |duration| duration.as_secs_f64()),
            records: records.collect(),
            clock,
        })
    }
}
