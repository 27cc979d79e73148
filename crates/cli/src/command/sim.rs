//! `inferometer sim`: the simulated engine as a server.

use super::split::SplitArguments;
use crate::exit::Exit;
use crate::output::print;
use anyhow::{Context, bail};
use clap::Args;
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{EngineKind, LaunchCommand, Version, flags};
use inferometer_catalog::timing::{ApiCost, Timing};
use inferometer_core::units::Span;
use inferometer_plan::split::Split;
use inferometer_plan_report::memory::fp8_note;
use inferometer_runner::host;
use inferometer_sim::engine::Noise;
use inferometer_sim::launch::{Host, Launch, LaunchError, USUAL_DEVICE};
use inferometer_sim::{Config, Ending, EngineSetup, Faults, Server, Tls, Tokenizer};
use inferometer_text::Lang;
use inferometer_text::user_file;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args)]
pub struct SimArguments {
    /// Address to serve on; port 0 takes a free one [the engine command's, or 127.0.0.1:8000]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Model: a preset, or a folder with a config.json [qwen2.5-7b]; with fixed times just a name
    #[arg(long, value_name = "PRESET|PATH")]
    pub model: Option<String>,
    /// A further name that it serves, as an adapter of the model (repeatable)
    #[arg(long, value_name = "NAME")]
    pub adapter: Vec<String>,
    /// Card to run on: t4, v100-32g, a10, a100-40g, a100-80g, a800, l4, l20, l40s, rtx-3090, rtx-4090,
    /// rtx-a6000, rtx-pro-6000, h20, h100, h200, h800, b200, b300, gb200, gb300, mi300x, mi325x, mi355x,
    /// 910b1, 910b2, 910b3, 910b4 or 910c [a100-80g]
    #[arg(long, value_name = "PRESET")]
    pub device: Option<String>,
    /// Cards of the host
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub cards: u32,
    /// Start MindIE as its config.json says
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub mindie_config: Option<PathBuf>,
    /// Be this version of the engine: its flags, refusals and log lines [the newest known]
    #[arg(long, value_name = "VERSION")]
    pub as_version: Option<String>,
    /// What cuts prompts into tokens: a tokenizer.json, a model folder, cl100k, o200k, bytes or
    /// words [the engine command's, or words]
    #[arg(long, value_name = "FILE|DIR|NAME")]
    pub tokenizer: Option<String>,
    /// Coefficients of step times, as `plan calibrate` writes them
    #[arg(long, value_name = "FILE.toml")]
    pub timing: Option<PathBuf>,
    /// What its API servers cost: `ideal` for nothing, or some of
    /// 'request=2ms,prompt-token=2us,chunk=70us,token=10us,latency=5ms' [those of --timing]
    #[arg(long, value_name = "ideal|SPEC", value_parser = FrontEnd::parse)]
    pub front_end: Option<FrontEnd>,
    /// Vary as real servers do: from start to start, slowly, and now and then
    #[arg(long)]
    pub noise: bool,
    /// Start at once, as slowly as the engine does, or never
    #[arg(long, value_name = "fast|real|hang", default_value = "fast")]
    pub startup: Startup,
    /// Log each step of the scheduler
    #[arg(long, value_name = "FILE")]
    pub steps: Option<PathBuf>,
    /// Where /stop_profile writes a trace of the steps since /start_profile
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// List the flags that have an effect, and those that are accepted without
    #[arg(long)]
    pub explain_flags: bool,
    /// Fixed time to the first token, in place of a scheduler [200ms with the others]
    #[arg(long, value_name = "TIME")]
    pub ttft: Option<Span>,
    /// Fixed time between tokens [20ms with the others]
    #[arg(long, value_name = "TIME")]
    pub itl: Option<Span>,
    /// Each fixed gap varies by up to this much
    #[arg(long, value_name = "TIME")]
    pub jitter: Option<Span>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Log for each request when it came and when each chunk was written
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Faults by share, and habits: 'error500=1%,cut=0.5%,stall(2s)=1%,role-first,usage=missing'
    #[arg(long, value_name = "SPEC")]
    pub faults: Option<inferometer_sim::Faults>,
    /// Longest context with fixed times [32768]
    #[arg(long, value_name = "TOKENS")]
    pub max_model_len: Option<u32>,
    /// Serve everything below this path
    #[arg(long, value_name = "PATH")]
    pub path_prefix: Option<String>,
    /// Demand the API key in this environment variable
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Serve HTTPS with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Demand client certificates of this authority (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
    /// End when standard input closes: a parent's way to leave no orphan
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
    #[command(flatten)]
    pub split: SplitArguments,
    /// An engine's command line: vllm serve …, python -m sglang.launch_server …
    #[arg(id = "command", last = true, value_name = "ENGINE COMMAND")]
    pub engine: Vec<String>,
}

/// What the user says of the front end's costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    Ideal,
    Costs(Vec<(FrontEndCost, Span)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum FrontEndCost {
    Request,
    PromptToken,
    Chunk,
    Token,
    Latency,
}

impl FrontEnd {
    fn parse(spec: &str) -> Result<FrontEnd, String> {
        if spec == "ideal" {
            return Ok(FrontEnd::Ideal);
        }
        let part = |part: &str| {
            let (name, time) = part.split_once('=')?;
            Some((name.trim().parse().ok()?, time.parse().ok()?))
        };
        let parts = spec.split(',').map(|text| {
            part(text).ok_or_else(|| {
                format!(
                    "'{text}' is neither ideal nor a time as in chunk=70us; name request, prompt-token, chunk, token or latency"
                )
            })
        });
        parts.collect::<Result<_, _>>().map(FrontEnd::Costs)
    }

    fn over(&self, profile: ApiCost) -> ApiCost {
        let FrontEnd::Costs(costs) = self else {
            return ApiCost::FREE;
        };
        let mut cost = profile;
        for (name, time) in costs {
            let place = match name {
                FrontEndCost::Request => &mut cost.request_us,
                FrontEndCost::PromptToken => &mut cost.prompt_token_us,
                FrontEndCost::Chunk => &mut cost.chunk_us,
                FrontEndCost::Token => &mut cost.token_us,
                FrontEndCost::Latency => &mut cost.latency_us,
            };
            *place = time.0.as_secs_f64() * 1e6;
        }
        cost
    }
}

/// How the simulated engine starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Startup {
    /// At once.
    Fast,
    /// As slowly as the engine does.
    Real,
    /// It never gets ready.
    Hang,
}

/// The port where nothing else is said.
const PORT: u16 = 8000;

/// Serves until a signal comes, or until standard input closes where that was asked.
pub fn run(arguments: SimArguments) -> anyhow::Result<Exit> {
    if arguments.explain_flags {
        return explain_flags(&arguments);
    }
    let fixed = arguments.ttft.is_some() || arguments.itl.is_some() || arguments.jitter.is_some();
    let launch = if fixed {
        refuse_with_fixed_times(&arguments)?;
        None
    } else {
        match start(&arguments)? {
            Started::Runs(launch) => Some(launch),
            Started::GaveUp(status) => return Ok(Exit::Engine(status)),
        }
    };
    let scheme = if arguments.tls_cert.is_some() {
        "https"
    } else {
        "http"
    };
    let listen = arguments.listen.unwrap_or_else(|| {
        let (host, port) = launch.as_ref().map_or((None, PORT), |launch| {
            let given = !arguments.engine.is_empty() || arguments.mindie_config.is_some();
            (
                launch.host.as_deref(),
                if given { launch.port } else { PORT },
            )
        });
        let host = host.and_then(|host| host.parse().ok());
        SocketAddr::new(host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), port)
    });
    let config = config(&arguments, launch.as_deref())?;
    let log = launch.as_ref().map(|launch| launch.log.clone());
    let log = log.unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let leave_with_stdin = arguments.until_stdin_closes;
    // A port that is taken is told before anything else. A start that takes its time must not
    // listen meanwhile, so there the address is only tried.
    let mut bound = Some(match arguments.startup {
        Startup::Fast => Bound::Listens(Server::bind(listen, config)?),
        Startup::Real | Startup::Hang => {
            let tried = std::net::TcpListener::bind(listen);
            tried.with_context(|| format!("cannot listen on {listen}; choose another address"))?;
            Bound::Later(Box::new(config))
        }
    });
    let ending = runtime.block_on(async {
        let begun = Instant::now();
        // A parent that started us has its own say on the terminal.
        let log = if leave_with_stdin { &[][..] } else { &log };
        let told = tell(log, arguments.startup, begun);
        // A start that takes its time can be given up like any other.
        let mut end = std::pin::pin!(asked_to_end(leave_with_stdin));
        tokio::select! {
            told = told => told?,
            () = &mut end => return Ok(Ending::Stopped),
        }
        let server = match bound.take() {
            Some(Bound::Listens(server)) => server,
            Some(Bound::Later(config)) => Server::bind(listen, *config)?,
            None => return Ok(Ending::Stopped),
        };
        let prefix = arguments.path_prefix.unwrap_or_default();
        print(&format!(
            "listening on {scheme}://{}{prefix}\n",
            server.local_addr()
        ))?;
        anyhow::Ok(server.serve(end).await?)
    })?;
    // Standard input may still be read on tokio's thread, which must not hold the process.
    runtime.shutdown_background();
    match (ending, launch) {
        (Ending::Died(death), Some(launch)) => {
            let (lines, status) = launch.epitaph(death, &host::log_time());
            say(&(lines.join("\n") + "\n"))?;
            Ok(Exit::Engine(status))
        }
        _ => Ok(Exit::Fine),
    }
}

enum Bound {
    Listens(Server),
    Later(Box<Config>),
}

/// What becomes of a start.
enum Started {
    Runs(Box<Launch>),
    /// The engine has said why; its exit status.
    GaveUp(u8),
}

/// Starts the engine of the command, of MindIE's file, or the usual one.
fn start(arguments: &SimArguments) -> anyhow::Result<Started> {
    let host = simulated_host(arguments)?;
    let launched = match &arguments.mindie_config {
        Some(file) => {
            let text = user_file::read_text(file).with_context(|| {
                format!(
                    "cannot read --mindie-config {}; check the path",
                    file.display()
                )
            })?;
            Launch::of_mindie(&text, &host)
        }
        None if arguments.engine.is_empty() => {
            Launch::of_defaults(arguments.model.as_deref(), &host)
        }
        None => {
            let command = LaunchCommand::parse(&arguments.engine)?;
            let beside = arguments.split.beside(&command, &host.device)?;
            workers(&command, beside, &host)
        }
    };
    match launched {
        Ok(launch) => {
            if !launch.without_effect.is_empty() {
                let flags = launch.without_effect.join(", ");
                say(&format!("accepted and without effect here: {flags}\n"))?;
            }
            for warning in &launch.warnings {
                say(&format!("warning: {warning}\n"))?;
            }
            if let Some(does) = launch.fp8_cache {
                let note = fp8_note(does, &host.device.title, Lang::En);
                say(&format!("{note}\n"))?;
            }
            Ok(Started::Runs(Box::new(launch)))
        }
        // What the engine itself would print stands last and whole: a launcher reads it.
        Err(LaunchError::Refused(refusal)) => {
            if let Some(hint) = &refusal.hint {
                say(&format!("inferometer: {hint}\n"))?;
            }
            say(&format!("{}\n", refusal.printed.trim_end()))?;
            Ok(Started::GaveUp(
                u8::try_from(refusal.exit_code).unwrap_or(1),
            ))
        }
        Err(LaunchError::Memory(_, lines)) if !lines.is_empty() => {
            say(&(lines.join("\n") + "\n"))?;
            Ok(Started::GaveUp(1))
        }
        Err(error) => Err(error.into()),
    }
}

/// The engine of a command, with the workers that compute its prompts where there are any.
fn workers(
    command: &LaunchCommand,
    beside: Option<(LaunchCommand, Split)>,
    host: &Host,
) -> Result<Launch, LaunchError> {
    let mut launch = Launch::of_command(command, host)?;
    if let Some((prefill, split)) = beside {
        let prefill = Launch::of_command(&prefill, host)?.config;
        let link = split.link_gbs * 1e9;
        launch.config = launch.config.fed_by(prefill, split.workers, link);
    }
    Ok(launch)
}

fn simulated_host(arguments: &SimArguments) -> anyhow::Result<Host> {
    let name = arguments.device.as_deref().unwrap_or(USUAL_DEVICE);
    let Some(device) = Device::named(name) else {
        bail!(Device::unknown("--device", name));
    };
    Ok(Host {
        device: device.clone(),
        cards: arguments.cards,
        version: version(arguments)?,
        timing: arguments.timing.as_deref().map(timing).transpose()?,
        stamp: host::log_time(),
    })
}

fn version(arguments: &SimArguments) -> anyhow::Result<Option<Version>> {
    let parsed = |text: &String| text.parse().with_context(|| format!("--as-version {text}"));
    arguments.as_version.as_ref().map(parsed).transpose()
}

fn timing(file: &Path) -> anyhow::Result<Timing> {
    let text = user_file::read_text(file)
        .with_context(|| format!("cannot read --timing {}", file.display()))?;
    Timing::from_toml(&text).with_context(|| format!("--timing {}", file.display()))
}

fn config(arguments: &SimArguments, launch: Option<&Launch>) -> anyhow::Result<Config> {
    let api_key = match (&arguments.api_key_env, launch) {
        (None, launch) => launch.and_then(|launch| launch.api_keys.first().cloned()),
        (Some(name), _) => Some(std::env::var(name).with_context(|| {
            format!(
                "the environment variable {name} of --api-key-env is not set; set it to the key"
            )
        })?),
    };
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(cert), Some(key)) => Some(Tls {
            cert_chain_pem: read(cert)?,
            key_pem: read(key)?,
            client_ca_pem: arguments.tls_client_ca.as_deref().map(read).transpose()?,
        }),
        _ => None,
    };
    let defaults = Config::default();
    let engine = launch.map(|launch| {
        let mut engine = launch.config.clone();
        if arguments.noise {
            engine.noise = Noise::usual();
        }
        if let Some(front_end) = &arguments.front_end {
            engine.api = front_end.over(engine.api);
        }
        EngineSetup {
            config: engine,
            kind: launch.engine,
            version: launch.version,
            steps: arguments.steps.clone(),
            profile: arguments.profile.clone(),
            otlp_traces: launch.otlp_traces.clone(),
        }
    });
    let served = launch.and_then(|launch| launch.served.first().cloned());
    Ok(Config {
        model: served
            .or_else(|| arguments.model.clone())
            .unwrap_or(defaults.model),
        adapters: arguments.adapter.clone(),
        engine,
        ttft: arguments.ttft.map_or(defaults.ttft, |span| span.0),
        itl: arguments.itl.map_or(defaults.itl, |span| span.0),
        jitter: arguments.jitter.map_or(defaults.jitter, |span| span.0),
        seed: arguments.seed,
        faults: arguments.faults.clone().unwrap_or_default(),
        truth: arguments.truth.clone(),
        api_key,
        max_model_len: match launch {
            Some(launch) => launch.config.max_model_len,
            None => arguments.max_model_len.unwrap_or(defaults.max_model_len),
        },
        tokenizer: tokenizer(arguments, launch)?,
        path_prefix: arguments.path_prefix.clone(),
        tls,
    })
}

fn tokenizer(arguments: &SimArguments, launch: Option<&Launch>) -> anyhow::Result<Tokenizer> {
    let beside = launch.and_then(|launch| launch.tokenizer.as_deref());
    let opened = match (&arguments.tokenizer, beside) {
        (Some(name), _) => Tokenizer::named(name),
        (None, Some(file)) => Tokenizer::at(file),
        (None, None) => Ok(Tokenizer::default()),
    };
    opened.context("the tokenizer")
}

/// Fixed times know no engine.
fn refuse_with_fixed_times(arguments: &SimArguments) -> anyhow::Result<()> {
    let scheduled = [
        ("an engine's command", !arguments.engine.is_empty()),
        ("--mindie-config", arguments.mindie_config.is_some()),
        ("--device", arguments.device.is_some()),
        ("--as-version", arguments.as_version.is_some()),
        ("--timing", arguments.timing.is_some()),
        ("--front-end", arguments.front_end.is_some()),
        ("--steps", arguments.steps.is_some()),
        ("--profile", arguments.profile.is_some()),
        ("--noise", arguments.noise),
        (
            "oom-after",
            arguments.faults.as_ref().is_some_and(Faults::need_engine),
        ),
    ];
    match scheduled.iter().find(|(_, given)| *given) {
        Some((name, _)) => bail!(
            "--ttft, --itl and --jitter serve on fixed times, and {name} needs a scheduler; leave out one or the other"
        ),
        None => Ok(()),
    }
}

/// Says what the engine says while it starts, at the pace that was asked for.
async fn tell(log: &[(Duration, String)], startup: Startup, begun: Instant) -> anyhow::Result<()> {
    // What hangs never gets to its last line, which says that it serves.
    let last = log.len().saturating_sub(1);
    let told = if startup == Startup::Hang {
        &log[..last]
    } else {
        log
    };
    for (at, line) in told {
        if startup == Startup::Real {
            tokio::time::sleep(at.saturating_sub(begun.elapsed())).await;
        }
        say(&format!("{line}\n"))?;
    }
    if startup == Startup::Hang {
        std::future::pending::<()>().await;
    }
    Ok(())
}

/// Engines log to standard error; standard output has the address alone.
fn say(text: &str) -> anyhow::Result<()> {
    std::io::stderr().write_all(text.as_bytes())?;
    Ok(())
}

/// Which flags of an engine the simulated one acts on.
fn explain_flags(arguments: &SimArguments) -> anyhow::Result<Exit> {
    let engine = if arguments.mindie_config.is_some() {
        EngineKind::Mindie
    } else if arguments.engine.is_empty() {
        EngineKind::Vllm
    } else {
        LaunchCommand::parse(&arguments.engine)?.engine
    };
    let version = version(arguments)?.unwrap_or(engine.newest());
    let all = flags(engine, version);
    let (modelled, without): (Vec<_>, Vec<_>) = all.into_iter().partition(|flag| flag.modelled);
    let mut text = format!("{engine} {version}: flags that the simulated engine acts on\n\n");
    for flag in &modelled {
        writeln!(text, "  {:<34} {}", flag.name, flag.help)?;
    }
    writeln!(text, "\naccepted and without effect ({})\n", without.len())?;
    let mut line = String::from(" ");
    for flag in &without {
        if line.len() + flag.name.len() > 78 {
            writeln!(text, "{line}")?;
            line = String::from(" ");
        }
        write!(line, " {}", flag.name)?;
    }
    writeln!(text, "{line}")?;
    print(&text)?;
    Ok(Exit::Fine)
}

async fn asked_to_end(leave_with_stdin: bool) {
    let stdin_closes = async {
        if !leave_with_stdin {
            std::future::pending::<()>().await;
        }
        // A thread of its own, because standard input has no readiness to wait for.
        let (closed, wait) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            let _ = closed.send(());
        });
        let _ = wait.await;
    };
    let signalled = async {
        match (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) {
            (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            },
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        () = stdin_closes => {}
        () = signalled => {}
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    user_file::read(file).with_context(|| format!("cannot read {}", file.display()))
}
