//! What users type, on the command line and in a file alike: one struct a topic, every field
//! optional, the same names in both places.
//!
//! Options are layered (flag over environment over file), then resolved once.

// Comments of options are their help texts, where `[…]` is a default and no link.
#![allow(rustdoc::broken_intra_doc_links)]

use crate::length::LengthSpec;
use crate::scenario::*;
use crate::slo::Slo;
use crate::units::Span;
use crate::work::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// All options of one measurement; in a file, one table a topic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// `[run]`
    pub run: RunOptions,
    /// `[connection]`
    pub connection: ConnectionOptions,
    /// `[load]`
    pub load: LoadOptions,
    /// `[work]`
    pub work: WorkOptions,
    /// `[objectives]`
    pub objectives: ObjectiveOptions,
}

/// Name and seed of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Run")]
pub struct RunOptions {
    /// Name of the run, for people and for the folder
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// A fact for legends and pairing, such as engine=vllm or cards=2 (repeatable)
    #[arg(long, value_name = "K=V")]
    pub tag: Option<Vec<Tag>>,
    /// Seed of arrivals, lengths and prompts
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Where and how to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Connection")]
pub struct ConnectionOptions {
    /// Servers; several are used in rotation
    #[arg(value_name = "URL")]
    pub url: Option<Vec<String>>,
    /// API to speak [auto]
    #[arg(long, value_name = "auto|chat|completions")]
    pub api: Option<Api>,
    /// Model as served [the first of /v1/models]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Whether to ask for a stream (in a file; on the command line: --no-stream)
    #[arg(skip)]
    pub stream: Option<bool>,
    /// Ask for whole answers instead of streams
    #[arg(long)]
    #[serde(skip)]
    pub no_stream: bool,
    /// A further header (repeatable); its value is never stored
    #[arg(long, value_name = "K=V")]
    #[serde(skip)]
    pub header: Option<Vec<Tag>>,
    /// Names of the headers that were sent (in a stored scenario; give the values again)
    #[arg(skip)]
    pub header_names: Option<Vec<String>>,
    /// Environment variable with the API key [OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// File with the API key
    #[arg(long, value_name = "FILE", conflicts_with = "api_key_env")]
    pub api_key_file: Option<PathBuf>,
    /// Trust this certificate authority (PEM)
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Show this client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub client_cert: Option<PathBuf>,
    /// Key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub client_key: Option<PathBuf>,
    /// Trust any certificate
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub insecure: Option<bool>,
    /// Go through this HTTP proxy [none; the environment's proxies are not used]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Limit for connecting [10s]
    #[arg(long, value_name = "TIME")]
    pub connect_timeout: Option<Span>,
    /// Limit for silence between bytes [120s]
    #[arg(long, value_name = "TIME")]
    pub read_timeout: Option<Span>,
    /// Limit for a whole request [10m]
    #[arg(long, value_name = "TIME")]
    pub request_timeout: Option<Span>,
    /// Client threads [one for each 256 streams, at most one a core]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub workers: Option<Count>,
}

/// When to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Load")]
pub struct LoadOptions {
    /// Closed loop: streams that each send when their last answer is complete [8]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub concurrency: Option<Count>,
    /// Open loop: arrivals a second, or inf
    #[arg(long, value_name = "R|inf", allow_negative_numbers = true)]
    pub rate: Option<Rate>,
    /// Spacing of arrivals [poisson]
    #[arg(long, value_name = "constant|poisson|gamma")]
    pub arrival: Option<ArrivalName>,
    /// Shape of gamma arrivals: below 1 bursty, 1 Poisson, above 1 regular
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub burstiness: Option<Positive>,
    /// Spread of the first wave of a closed loop [auto: over one mean latency]
    #[arg(long, value_name = "auto|none|TIME")]
    pub stagger: Option<Stagger>,
    /// Let the rate rise at the beginning
    #[arg(long, value_name = "linear|exponential")]
    pub ramp: Option<RampCurve>,
    /// Rate at the beginning of the ramp [a tenth of the rate]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub ramp_from: Option<Positive>,
    /// Length of the ramp [30s]
    #[arg(long, value_name = "TIME")]
    pub ramp_over: Option<Span>,
    /// Cap of an open loop; further requests wait, and the wait is charged to latency
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_concurrency: Option<Count>,
    /// Requests to measure [200]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub requests: Option<Count>,
    /// Time to send for
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Requests (or time) before the measured part [one wave]
    #[arg(long, value_name = "N|TIME")]
    pub warmup: Option<Warmup>,
    /// Time that requests under way get once sending has ended [until they end]
    #[arg(long, value_name = "TIME")]
    pub drain: Option<Span>,
    /// Send for this long and report drift
    #[arg(long, value_name = "TIME", conflicts_with_all = ["requests", "duration"])]
    pub soak: Option<Span>,
    /// End early: 'failures>20%' or slo-missed (repeatable)
    #[arg(long, value_name = "COND")]
    pub stop_when: Option<Vec<StopWhen>>,
}

/// What to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Work")]
pub struct WorkOptions {
    /// Send this prompt each time
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["data", "input_tokens"])]
    pub prompt: Option<String>,
    /// Prompts from a text file, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "input_tokens")]
    pub data: Option<PathBuf>,
    /// Length of synthetic prompts in tokens [256]
    #[arg(long, value_name = "SPEC", allow_negative_numbers = true)]
    pub input_tokens: Option<LengthSpec>,
    /// Length of answers in tokens [128]: 512, uniform(256,1024), normal(512,100), …
    #[arg(long, value_name = "SPEC", allow_negative_numbers = true)]
    pub output_tokens: Option<LengthSpec>,
    /// Just a limit for answers
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "output_tokens",
        allow_negative_numbers = true
    )]
    pub max_tokens: Option<Count>,
    /// Least number of output tokens
    #[arg(long, value_name = "N")]
    pub min_tokens: Option<u32>,
    /// Ask for answers of exactly the given length [on for synthetic prompts]
    #[arg(
        long,
        num_args = 0,
        default_missing_value = "true",
        overrides_with = "no_ignore_eos"
    )]
    pub ignore_eos: Option<bool>,
    /// Let answers end by themselves
    #[arg(long, overrides_with = "ignore_eos")]
    #[serde(skip)]
    pub no_ignore_eos: bool,
    /// Sampling temperature
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub temperature: Option<f64>,
    /// Nucleus sampling
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub top_p: Option<f64>,
    /// Stop sequence (repeatable)
    #[arg(long, value_name = "S")]
    pub stop: Option<Vec<String>>,
    /// Further fields of the request body
    #[arg(long, value_name = "JSON")]
    pub extra: Option<JsonObject>,
    /// Begin synthetic prompts with words that are new in each run [on]
    #[arg(
        long,
        num_args = 0,
        default_missing_value = "true",
        overrides_with = "no_cache_nonce"
    )]
    pub cache_nonce: Option<bool>,
    /// Send the same synthetic prompts in each run with the same seed
    #[arg(long, overrides_with = "cache_nonce")]
    #[serde(skip)]
    pub no_cache_nonce: bool,
}

/// What to judge by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Objectives")]
pub struct ObjectiveOptions {
    /// Objective: ttft=500ms for each request, ttft.p99=1s for the run (repeatable)
    #[arg(long, value_name = "METRIC[.pNN]=TIME")]
    pub slo: Option<Vec<Slo>>,
    /// Share of requests that must meet all request objectives, such as 0.95
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub attainment: Option<f64>,
}

/// A whole number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "u64")]
pub struct Count(pub u64);

impl std::str::FromStr for Count {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        text.trim()
            .parse()
            .ok()
            .filter(|&count| count > 0)
            .map(Count)
            .ok_or_else(|| BadValue::new(text, "give a whole number from 1"))
    }
}

impl TryFrom<i64> for Count {
    type Error = BadValue;
    fn try_from(count: i64) -> Result<Self, BadValue> {
        count.to_string().parse()
    }
}

impl From<Count> for u64 {
    fn from(count: Count) -> u64 {
        count.0
    }
}

/// A number above 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Positive(pub f64);

impl std::str::FromStr for Positive {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        text.trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite() && *number > 0.0)
            .map(Positive)
            .ok_or_else(|| BadValue::new(text, "give a number above 0"))
    }
}

impl TryFrom<f64> for Positive {
    type Error = BadValue;
    fn try_from(number: f64) -> Result<Self, BadValue> {
        number.to_string().parse()
    }
}

impl From<Positive> for f64 {
    fn from(number: Positive) -> f64 {
        number.0
    }
}

/// Spacing of arrivals by name; its parameter is `burstiness`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalName {
    /// Equal gaps.
    Constant,
    /// Exponential gaps.
    Poisson,
    /// Gamma gaps.
    Gamma,
}

crate::record::words!(ArrivalName { Constant => "constant", Poisson => "poisson", Gamma => "gamma" });

impl std::str::FromStr for ArrivalName {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        ArrivalName::from_word(text.trim())
            .ok_or_else(|| BadValue::new(text, "choose constant, poisson or gamma"))
    }
}

crate::units::serde_as_text!(ArrivalName);

/// Options that do not go together, or lack something.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// Two options exclude each other.
    #[error("{0} and {1} exclude each other: {2}")]
    Conflict(&'static str, &'static str, &'static str),
    /// An option needs another.
    #[error("{0} needs {1}: {2}")]
    Needs(&'static str, &'static str, &'static str),
    /// A value is outside its range.
    #[error("{0} {1} is not possible: {2}")]
    Range(&'static str, String, &'static str),
    /// A stored scenario names a header whose value was not stored.
    #[error(
        "header '{0}' was sent in the stored run; values are never stored, so give it again with --header {0}=VALUE"
    )]
    HeaderValue(String),
    /// A file is no options file.
    #[error("{0}")]
    File(String),
}

/// Lays one set of options over another; the compiler sees that no field is left out.
macro_rules! layered {
    ($type:ident { $($option:ident),+ ; $($switch:ident),* }) => {
        impl $type {
            fn over(self, below: Self) -> Self {
                $type {
                    $($option: self.$option.or(below.$option),)+
                    $($switch: self.$switch || below.$switch,)*
                }
            }
        }
    };
}

layered!(RunOptions { label, tag, seed; });
layered!(ConnectionOptions {
    url, api, model, stream, header, header_names, api_key_env, api_key_file, ca, client_cert,
    client_key, insecure, proxy, connect_timeout, read_timeout, request_timeout, workers; no_stream
});
layered!(LoadOptions {
    concurrency, rate, arrival, burstiness, stagger, ramp, ramp_from, ramp_over, max_concurrency,
    requests, duration, warmup, drain, soak, stop_when;
});
layered!(WorkOptions {
    prompt, data, input_tokens, output_tokens, max_tokens, min_tokens, ignore_eos, temperature,
    top_p, stop, extra, cache_nonce; no_ignore_eos, no_cache_nonce
});
layered!(ObjectiveOptions { slo, attainment; });

impl Options {
    /// Reads options from a TOML file's text.
    pub fn from_toml(text: &str) -> Result<Options, OptionError> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| before.matches('\n').count() + 1);
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            let said = error.message().trim().replace('\n', " ");
            OptionError::File(format!("{place}{said}"))
        })
    }

    /// The options as a TOML file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("options hold only what TOML can say")
    }

    /// These options where given, else those below. An option given above also silences its
    /// alternatives below: `--rate` on the command line wins over `concurrency` in the file.
    pub fn over(self, mut below: Options) -> Options {
        let load = &self.load;
        if load.rate.is_some() {
            (below.load.concurrency, below.load.stagger) = (None, None);
        }
        if load.concurrency.is_some() {
            below.load = LoadOptions {
                rate: None,
                arrival: None,
                burstiness: None,
                ramp: None,
                ramp_from: None,
                ramp_over: None,
                max_concurrency: None,
                ..below.load
            };
        }
        if load.requests.is_some() || load.duration.is_some() || load.soak.is_some() {
            (below.load.requests, below.load.duration, below.load.soak) = (None, None, None);
        }
        let work = &self.work;
        if work.prompt.is_some() || work.data.is_some() || work.input_tokens.is_some() {
            (below.work.prompt, below.work.data, below.work.input_tokens) = (None, None, None);
        }
        if work.output_tokens.is_some() || work.max_tokens.is_some() {
            (below.work.output_tokens, below.work.max_tokens) = (None, None);
        }
        if work.no_ignore_eos {
            below.work.ignore_eos = None;
        }
        if work.no_cache_nonce {
            below.work.cache_nonce = None;
        }
        if self.connection.no_stream {
            below.connection.stream = None;
        }
        if self.connection.api_key_file.is_some() {
            below.connection.api_key_env = None;
        }
        if self.connection.api_key_env.is_some() {
            below.connection.api_key_file = None;
        }
        Options {
            run: self.run.over(below.run),
            connection: self.connection.over(below.connection),
            load: self.load.over(below.load),
            work: self.work.over(below.work),
            objectives: self.objectives.over(below.objectives),
        }
    }

    /// Resolves to a scenario that cannot be illegal. The defaults live here.
    pub fn resolve(self) -> Result<Scenario, OptionError> {
        let load = resolve_load(&self.load)?;
        let work = resolve_work(self.work)?;
        if load.stop_when.contains(&StopWhen::SloMissed)
            && self.objectives.slo.as_ref().is_none_or(Vec::is_empty)
        {
            return Err(OptionError::Needs(
                "--stop-when slo-missed",
                "--slo",
                "say what may be missed, as in --slo ttft=500ms",
            ));
        }
        Ok(Scenario {
            label: self.run.label,
            tags: self.run.tag.unwrap_or_default(),
            seed: self.run.seed.unwrap_or(0),
            connection: resolve_connection(self.connection)?,
            load,
            work,
            objectives: resolve_objectives(self.objectives)?,
        })
    }
}

fn resolve_connection(options: ConnectionOptions) -> Result<Connection, OptionError> {
    let given: Vec<String> = options
        .header
        .iter()
        .flatten()
        .map(|header| header.key.clone())
        .collect();
    if let Some(missing) = options
        .header_names
        .iter()
        .flatten()
        .find(|name| !given.iter().any(|given| given.eq_ignore_ascii_case(name)))
    {
        return Err(OptionError::HeaderValue(missing.clone()));
    }
    let timeout = |name, given: Option<Span>, default: Duration| match given {
        Some(span) if span.0.is_zero() => Err(OptionError::Range(
            name,
            span.to_string(),
            "give a time above 0",
        )),
        given => Ok(given.unwrap_or(Span(default))),
    };
    Ok(Connection {
        urls: options.url.unwrap_or_default(),
        api: options.api.unwrap_or_default(),
        model: options.model,
        stream: options.stream.unwrap_or(true) && !options.no_stream,
        headers: given,
        api_key_env: match &options.api_key_file {
            Some(_) => None,
            None => Some(
                options
                    .api_key_env
                    .unwrap_or_else(|| "OPENAI_API_KEY".into()),
            ),
        },
        api_key_file: options.api_key_file,
        ca: options.ca,
        client_cert: options.client_cert,
        client_key: options.client_key,
        insecure: options.insecure.unwrap_or(false),
        proxy: options.proxy,
        connect_timeout: timeout(
            "--connect-timeout",
            options.connect_timeout,
            Duration::from_secs(10),
        )?,
        read_timeout: timeout(
            "--read-timeout",
            options.read_timeout,
            Duration::from_secs(120),
        )?,
        request_timeout: timeout(
            "--request-timeout",
            options.request_timeout,
            Duration::from_secs(600),
        )?,
        workers: options
            .workers
            .map(|count| small("--workers", count, 1024))
            .transpose()?,
    })
}

fn small(name: &'static str, count: Count, most: u32) -> Result<u32, OptionError> {
    u32::try_from(count.0)
        .ok()
        .filter(|&count| count <= most)
        .ok_or_else(|| {
            OptionError::Range(
                name,
                count.0.to_string(),
                "that is more than this program can hold",
            )
        })
}

/// Most streams or requests under way at once; more than the ports of one address.
const MOST_STREAMS: u32 = 1_000_000;

fn resolve_load(options: &LoadOptions) -> Result<Load, OptionError> {
    let shape = match (options.rate, options.concurrency) {
        (Some(_), Some(_)) => {
            return Err(OptionError::Conflict(
                "--rate",
                "--concurrency",
                "an open loop is capped by --max-concurrency",
            ));
        }
        (Some(rate), None) => {
            if options.stagger.is_some() {
                return Err(OptionError::Conflict(
                    "--rate",
                    "--stagger",
                    "arrivals of an open loop are spaced by --arrival",
                ));
            }
            if !rate.is_infinite() {
                within("--rate", rate.0, RATES, RATES_SAID)?;
            }
            Shape::Open {
                rate,
                arrival: resolve_arrival(options)?,
                ramp: resolve_ramp(options, rate)?,
                max_concurrency: options
                    .max_concurrency
                    .map(|count| small("--max-concurrency", count, MOST_STREAMS))
                    .transpose()?,
            }
        }
        (None, concurrency) => {
            let open_only = [
                ("--arrival", options.arrival.is_some()),
                ("--burstiness", options.burstiness.is_some()),
                ("--ramp", options.ramp.is_some()),
                ("--ramp-from", options.ramp_from.is_some()),
                ("--ramp-over", options.ramp_over.is_some()),
                ("--max-concurrency", options.max_concurrency.is_some()),
            ];
            if let Some((name, _)) = open_only.into_iter().find(|(_, given)| *given) {
                return Err(OptionError::Needs(name, "--rate", "it shapes an open loop"));
            }
            Shape::Closed {
                concurrency: small(
                    "--concurrency",
                    concurrency.unwrap_or(Count(8)),
                    MOST_STREAMS,
                )?,
                stagger: options.stagger.unwrap_or_default(),
            }
        }
    };
    let extent = match (options.soak, options.requests, options.duration) {
        (Some(span), None, None) => Extent::Soak(span),
        (Some(_), _, _) => {
            return Err(OptionError::Conflict(
                "--soak",
                "--requests or --duration",
                "a soak has a time only",
            ));
        }
        (None, Some(count), Some(span)) => Extent::Either(count.0, span),
        (None, Some(count), None) => Extent::Requests(count.0),
        (None, None, Some(span)) => Extent::Duration(span),
        (None, None, None) => Extent::Requests(200),
    };
    if let (Some(span), Shape::Open { rate, .. }) = (extent.duration(), &shape) {
        if rate.is_infinite() && extent.requests().is_none() {
            return Err(OptionError::Needs(
                "--rate inf",
                "--requests",
                "without a number there would be no end of arrivals",
            ));
        }
        if extent.requests().is_none() && rate.0 * span.0.as_secs_f64() > MOST_ARRIVALS {
            return Err(OptionError::Range(
                "--duration",
                span.to_string(),
                "that rate for that time is more than 100 million arrivals",
            ));
        }
    }
    if extent.duration().is_some_and(|span| span.0.is_zero()) {
        return Err(OptionError::Range(
            "--duration",
            "0s".into(),
            "give a time above 0",
        ));
    }
    if extent
        .requests()
        .is_some_and(|count| count as f64 > MOST_ARRIVALS)
    {
        return Err(OptionError::Range(
            "--requests",
            extent.requests().unwrap_or_default().to_string(),
            "that is more than 100 million",
        ));
    }
    let wave = match &shape {
        Shape::Closed { concurrency, .. } => u64::from(*concurrency),
        Shape::Open {
            max_concurrency, ..
        } => u64::from(max_concurrency.unwrap_or(8).min(8)),
    };
    Ok(Load {
        shape,
        extent,
        warmup: options.warmup.unwrap_or(Warmup::Requests(wave)),
        drain: options.drain,
        stop_when: options.stop_when.clone().unwrap_or_default(),
    })
}

/// A schedule is held in memory; beyond this it would not fit.
const MOST_ARRIVALS: f64 = crate::schedule::MOST_ARRIVALS as f64;

/// Rates, a second, whose due times can be told apart and can be waited for.
const RATES: std::ops::RangeInclusive<f64> = 1e-6..=1e9;
const RATES_SAID: &str = "give arrivals a second from 0.000001 to 1000000000, or inf";
/// Shapes whose gamma gaps are numbers.
const BURSTINESS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;

fn within(
    name: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    takes: &'static str,
) -> Result<f64, OptionError> {
    match range.contains(&value) {
        true => Ok(value),
        false => Err(OptionError::Range(name, format!("{value:e}"), takes)),
    }
}

fn resolve_arrival(options: &LoadOptions) -> Result<Arrival, OptionError> {
    match (options.arrival, options.burstiness) {
        (Some(ArrivalName::Constant), None) => Ok(Arrival::Constant),
        (Some(ArrivalName::Poisson) | None, None) => Ok(Arrival::Poisson),
        (Some(ArrivalName::Gamma) | None, Some(burstiness)) => within(
            "--burstiness",
            burstiness.0,
            BURSTINESS,
            "give a number from 0.001 to 1000000; below 1 is bursty, above 1 regular",
        )
        .map(Arrival::Gamma),
        (Some(ArrivalName::Gamma), None) => Err(OptionError::Needs(
            "--arrival gamma",
            "--burstiness",
            "below 1 bursty, above 1 regular",
        )),
        (Some(_), Some(_)) => Err(OptionError::Conflict(
            "--burstiness",
            "--arrival constant or poisson",
            "only gamma arrivals have it",
        )),
    }
}

fn resolve_ramp(options: &LoadOptions, rate: Rate) -> Result<Option<Ramp>, OptionError> {
    let Some(curve) = options.ramp else {
        let stray = options
            .ramp_from
            .map(|_| "--ramp-from")
            .or(options.ramp_over.map(|_| "--ramp-over"));
        return match stray {
            Some(name) => Err(OptionError::Needs(
                name,
                "--ramp",
                "choose linear or exponential",
            )),
            None => Ok(None),
        };
    };
    if rate.is_infinite() {
        return Err(OptionError::Conflict(
            "--ramp",
            "--rate inf",
            "a ramp needs a rate to rise to",
        ));
    }
    let from = match options.ramp_from {
        Some(from) => within(
            "--ramp-from",
            from.0,
            RATES,
            "give arrivals a second from 0.000001 to 1000000000",
        )?,
        None => (rate.0 / 10.0).max(*RATES.start()),
    };
    let over = options.ramp_over.unwrap_or(Span(Duration::from_secs(30)));
    Ok(Some(Ramp { curve, from, over }))
}

fn resolve_work(options: WorkOptions) -> Result<Work, OptionError> {
    if options.prompt.is_some() && options.data.is_some() {
        return Err(OptionError::Conflict(
            "--prompt",
            "--data",
            "choose one source of prompts",
        ));
    }
    if options.input_tokens.is_some() && (options.prompt.is_some() || options.data.is_some()) {
        return Err(OptionError::Conflict(
            "--input-tokens",
            "--prompt or --data",
            "it is the length of synthetic prompts",
        ));
    }
    let prompts = match (options.prompt, options.data) {
        (Some(text), _) => PromptSource::Text(text),
        (None, Some(file)) => PromptSource::Data(DataSource {
            location: file.display().to_string(),
            format: None,
            field: None,
            filter: None,
            limit: None,
            shuffle: false,
            min_prompt: None,
            max_prompt: None,
            skip_bad: false,
            window: Window::default(),
        }),
        (None, None) => PromptSource::Synthetic(Synthetic {
            lengths: SyntheticLengths::Input(
                options.input_tokens.unwrap_or(LengthSpec::fixed(256)),
            ),
            language: Language::En,
            prefix: None,
        }),
    };
    let synthetic = matches!(prompts, PromptSource::Synthetic(_));
    let output = match (options.output_tokens, options.max_tokens) {
        (Some(_), Some(_)) => {
            return Err(OptionError::Conflict(
                "--output-tokens",
                "--max-tokens",
                "the second is just a limit",
            ));
        }
        (Some(spec), None) => Output::Tokens(spec),
        (None, Some(limit)) => Output::AtMost(small("--max-tokens", limit, u32::MAX)?),
        (None, None) => Output::Tokens(LengthSpec::fixed(128)),
    };
    let exact_by_default = synthetic && matches!(output, Output::Tokens(_));
    let temperature = options.temperature;
    if let Some(bad) = temperature.filter(|t| !(0.0..=10.0).contains(t)) {
        return Err(OptionError::Range(
            "--temperature",
            bad.to_string(),
            "give a number from 0",
        ));
    }
    if let Some(bad) = options.top_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
        return Err(OptionError::Range(
            "--top-p",
            bad.to_string(),
            "give a share above 0, at most 1",
        ));
    }
    Ok(Work {
        prompts,
        output,
        tokenizer: None,
        conversation: None,
        as_token_ids: false,
        ignore_eos: match options.no_ignore_eos {
            true => false,
            false => options.ignore_eos.unwrap_or(exact_by_default),
        },
        min_tokens: options.min_tokens,
        temperature,
        top_p: options.top_p,
        stop: options.stop.unwrap_or_default(),
        extra: options.extra,
        cache_nonce: match options.no_cache_nonce {
            true => false,
            false => options.cache_nonce.unwrap_or(synthetic),
        },
    })
}

fn resolve_objectives(options: ObjectiveOptions) -> Result<Objectives, OptionError> {
    if let Some(bad) = options
        .attainment
        .filter(|share| !(*share > 0.0 && *share <= 1.0))
    {
        return Err(OptionError::Range(
            "--attainment",
            bad.to_string(),
            "give a share above 0, at most 1, such as 0.95",
        ));
    }
    let slos = options.slo.unwrap_or_default();
    if options.attainment.is_some()
        && !slos
            .iter()
            .any(|slo| slo.scope == crate::slo::SloScope::Request)
    {
        return Err(OptionError::Needs(
            "--attainment",
            "--slo",
            "give a request objective such as --slo ttft=500ms",
        ));
    }
    Ok(Objectives {
        slos,
        attainment: options.attainment,
    })
}

impl Scenario {
    /// Options that resolve to this scenario: what `scenario.toml` holds. Header values are
    /// not in it.
    pub fn options(&self) -> Options {
        let filled = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let connection = &self.connection;
        let (prompt, data, input_tokens) = match &self.work.prompts {
            PromptSource::Text(text) => (Some(text.clone()), None, None),
            PromptSource::Data(data) => (None, Some(data.location.clone().into()), None),
            PromptSource::Continuation(_) => (None, None, None),
            PromptSource::Synthetic(synthetic) => match &synthetic.lengths {
                SyntheticLengths::Input(spec) => (None, None, Some(spec.clone())),
                SyntheticLengths::Pairs(_) => (None, None, None),
            },
        };
        let (output_tokens, max_tokens) = match &self.work.output {
            Output::Tokens(spec) => (Some(spec.clone()), None),
            Output::AtMost(limit) => (None, Some(Count(u64::from(*limit)))),
            Output::FromWork | Output::Free => (None, None),
        };
        Options {
            run: RunOptions {
                label: self.label.clone(),
                tag: (!self.tags.is_empty()).then(|| self.tags.clone()),
                seed: Some(self.seed),
            },
            connection: ConnectionOptions {
                url: filled(&connection.urls),
                api: Some(connection.api),
                model: connection.model.clone(),
                stream: Some(connection.stream),
                no_stream: false,
                header: None,
                header_names: filled(&connection.headers),
                api_key_env: connection.api_key_env.clone(),
                api_key_file: connection.api_key_file.clone(),
                ca: connection.ca.clone(),
                client_cert: connection.client_cert.clone(),
                client_key: connection.client_key.clone(),
                insecure: Some(connection.insecure),
                proxy: connection.proxy.clone(),
                connect_timeout: Some(connection.connect_timeout),
                read_timeout: Some(connection.read_timeout),
                request_timeout: Some(connection.request_timeout),
                workers: connection.workers.map(|count| Count(u64::from(count))),
            },
            load: self.load.options(),
            work: WorkOptions {
                prompt,
                data,
                input_tokens,
                output_tokens,
                max_tokens,
                min_tokens: self.work.min_tokens,
                ignore_eos: Some(self.work.ignore_eos),
                no_ignore_eos: false,
                temperature: self.work.temperature,
                top_p: self.work.top_p,
                stop: filled(&self.work.stop),
                extra: self.work.extra.clone(),
                cache_nonce: Some(self.work.cache_nonce),
                no_cache_nonce: false,
            },
            objectives: ObjectiveOptions {
                slo: (!self.objectives.slos.is_empty()).then(|| self.objectives.slos.clone()),
                attainment: self.objectives.attainment,
            },
        }
    }
}

impl Load {
    fn options(&self) -> LoadOptions {
        let count = |count: u32| Count(u64::from(count));
        let mut options = LoadOptions {
            requests: self.extent.requests().map(Count),
            warmup: Some(self.warmup),
            drain: self.drain,
            stop_when: (!self.stop_when.is_empty()).then(|| self.stop_when.clone()),
            ..LoadOptions::default()
        };
        match self.extent {
            Extent::Soak(span) => options.soak = Some(span),
            Extent::Requests(_) | Extent::Duration(_) | Extent::Either(..) => {
                options.duration = self.extent.duration();
            }
        }
        match &self.shape {
            Shape::Closed {
                concurrency,
                stagger,
            } => {
                options.concurrency = Some(count(*concurrency));
                options.stagger = Some(*stagger);
            }
            Shape::Open {
                rate,
                arrival,
                ramp,
                max_concurrency,
            } => {
                options.rate = Some(*rate);
                (options.arrival, options.burstiness) = match arrival {
                    Arrival::Constant => (Some(ArrivalName::Constant), None),
                    Arrival::Poisson => (Some(ArrivalName::Poisson), None),
                    Arrival::Gamma(shape) => (Some(ArrivalName::Gamma), Some(Positive(*shape))),
                };
                options.ramp = ramp.map(|ramp| ramp.curve);
                options.ramp_from = ramp.map(|ramp| Positive(ramp.from));
                options.ramp_over = ramp.map(|ramp| ramp.over);
                options.max_concurrency = max_concurrency.map(count);
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str) -> Options {
        Options::from_toml(toml).unwrap()
    }

    fn resolved(toml: &str) -> Scenario {
        read(toml).resolve().unwrap()
    }

    fn refused(toml: &str) -> String {
        read(toml).resolve().unwrap_err().to_string()
    }

    #[test]
    fn nothing_given_means_the_documented_defaults() {
        let scenario = resolved("");
        assert_eq!(
            scenario.load.shape,
            Shape::Closed {
                concurrency: 8,
                stagger: Stagger::Auto
            }
        );
        assert_eq!(scenario.load.extent, Extent::Requests(200));
        assert_eq!(scenario.load.warmup, Warmup::Requests(8));
        assert_eq!(
            scenario.work.prompts,
            PromptSource::Synthetic(Synthetic {
                lengths: SyntheticLengths::Input(LengthSpec::fixed(256)),
                language: Language::En,
                prefix: None,
            })
        );
        assert_eq!(scenario.work.output, Output::Tokens(LengthSpec::fixed(128)));
        assert!(
            scenario.work.ignore_eos && scenario.work.cache_nonce && scenario.connection.stream
        );
    }

    #[test]
    fn a_stored_scenario_resolves_to_itself() {
        let files = [
            "",
            "[load]\nrate = 5\narrival = 'gamma'\nburstiness = 0.5\nramp = 'linear'\nmax-concurrency = 4\nduration = '30s'",
            "[load]\nrate = 'inf'\nrequests = 10\nwarmup = '3s'\ndrain = '1s'\nstop-when = ['failures>20%']",
            "[load]\nsoak = '1h'\nstagger = 'none'",
            "[work]\nprompt = 'hi'\nmax-tokens = 5\nextra = '{\"top_k\":3}'\nstop = ['a']\ntemperature = 0.5",
            "[work]\ndata = 'p.txt'\n[objectives]\nslo = ['ttft=500ms', 'tpot.p99=50ms']\nattainment = 0.95",
            "[run]\nlabel = 'x'\ntag = ['a=b']\nseed = 7\n[connection]\nurl = ['http://h:1']\nstream = false\nworkers = 2",
        ];
        for file in files {
            let scenario = resolved(file);
            let again = read(&scenario.options().to_toml()).resolve().unwrap();
            assert_eq!(again, scenario, "{file}");
        }
    }

    #[test]
    fn flags_win_over_the_file_and_silence_its_alternatives() {
        let file = read("[load]\nconcurrency = 4\nrequests = 9\n[work]\ninput-tokens = 5");
        let flags = read("[load]\nrate = 3\nduration = '2s'\n[work]\nprompt = 'hi'");
        let scenario = flags.over(file).resolve().unwrap();
        assert!(matches!(
            scenario.load.shape,
            Shape::Open {
                rate: Rate(3.0),
                ..
            }
        ));
        assert_eq!(scenario.load.extent.requests(), None);
        assert_eq!(scenario.work.prompts, PromptSource::Text("hi".into()));
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        assert!(refused("[load]\nrate = 3\nconcurrency = 4").contains("--max-concurrency"));
        assert!(refused("[load]\nburstiness = 3").contains("--rate"));
        assert!(refused("[load]\nrate = 'inf'\nduration = '3s'").contains("--requests"));
        assert!(refused("[load]\nstop-when = ['slo-missed']").contains("--slo"));
        assert!(refused("[objectives]\nattainment = 0.9").contains("--slo"));
        assert!(
            refused("[connection]\nheader-names = ['X-Tenant']").contains("--header X-Tenant=")
        );
    }

    #[test]
    fn rates_that_no_clock_can_follow_are_refused_with_what_is_possible() {
        for (file, expected) in [
            (
                "rate = 1e-20",
                "--rate 1e-20 is not possible: give arrivals",
            ),
            ("rate = 1e10", "or inf"),
            ("rate = 5\nburstiness = 1e-9", "--burstiness 1e-9"),
            ("rate = 5\nburstiness = 1e9", "from 0.001"),
            ("rate = 5\nramp = 'linear'\nramp-from = 1e-9", "--ramp-from"),
        ] {
            let message = refused(&format!("[load]\n{file}"));
            assert!(message.contains(expected), "{file}: {message}");
        }
        resolved("[load]\nrate = 1e-6\nramp = 'exponential'");
        resolved("[load]\nrate = 'inf'\nrequests = 5");
    }

    #[test]
    fn impossible_values_say_what_is_possible() {
        for (file, expected) in [
            ("[load]\nconcurrency = 0", "whole number from 1"),
            ("[load]\nconcurrency = -3", "whole number from 1"),
            ("[load]\nrate = 0", "above 0"),
            ("[load]\nrate = -1.5", "above 0"),
            ("[load]\nduration = '5'", "200ms"),
            ("[load]\nspeed = 5", "speed"),
            ("[work]\nextra = '[1]'", "JSON object"),
            ("[load]\nstop-when = ['throughput-falling']", "failures>20%"),
        ] {
            let message = Options::from_toml(file).unwrap_err().to_string();
            assert!(message.contains(expected), "{file}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
