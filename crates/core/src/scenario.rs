//! The scenario: the settings of one measurement, resolved to a type that cannot be illegal.
//!
//! `options` holds what a user typed; resolving it gives a `Scenario`, and `Scenario::options`
//! gives back a file that repeats it.

use crate::api::Api;
use crate::check::Check;
use crate::model_mix::ModelMix;
use crate::raw_form::RawForm;
use crate::slo::Slo;
use crate::thresholds::Thresholds;
use crate::units::Span;
use crate::value::{BadValue, JsonObject, Tag, serde_as_text};
use crate::work::Work;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub label: Option<String>,
    /// `key=value` facts for legends and pairing.
    pub tags: Vec<Tag>,
    pub seed: u64,
    /// Prompts and answers stay in the run directory.
    pub keep_text: bool,
    /// Of a card, in whichever currency.
    pub price_per_hour: Option<f64>,
    pub connection: Connection,
    pub load: Load,
    pub work: Work,
    pub objectives: Objectives,
}

/// Where and how to send. Holds no secret: keys are named by where they are found, headers by
/// their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Servers in rotation; none means the embedded simulated engine.
    pub urls: Vec<String>,
    /// Model of the embedded engine; absent: its usual one.
    pub sim_model: Option<String>,
    /// Card of the embedded engine; absent: its usual one.
    pub sim_device: Option<String>,
    /// How time passes for it.
    pub sim_clock: SimClock,
    pub api: Api,
    /// How `--api raw` asks and reads.
    pub raw: Option<RawForm>,
    /// Model as served; found from the server if absent.
    pub model: Option<ModelMix>,
    pub stream: bool,
    /// Names of further headers; their values are never stored.
    pub headers: Vec<String>,
    /// Environment variable that holds the API key.
    pub api_key_env: Option<String>,
    pub api_key_file: Option<PathBuf>,
    pub ca: Option<PathBuf>,
    /// Certificate that the client shows.
    pub client_cert: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
    pub insecure: bool,
    pub proxy: Option<String>,
    /// Addresses of this host to send from, in turn; none: as the system chooses.
    pub source_addresses: Vec<IpAddr>,
    pub connect_timeout: Span,
    /// Limit for silence between bytes.
    pub read_timeout: Span,
    pub request_timeout: Span,
    /// How long the server may be out of reach before the run ends.
    pub give_up_after: Span,
    /// Where the server's own view is read.
    pub server_metrics: ServerMetrics,
    /// Where the server's traces of requests are received.
    pub server_traces: Option<SocketAddr>,
    /// The engine's own profiler runs around the measured part.
    pub profile: bool,
    /// Client threads; chosen from the load if absent.
    pub workers: Option<u32>,
}

/// Where the server's own view is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum ServerMetrics {
    /// Beside its API, if it has metrics that we know.
    #[default]
    Auto,
    Off,
    #[strum(to_string = "{0}")]
    At(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub shape: Shape,
    pub extent: Extent,
    /// Least load before the measured window opens.
    pub warmup: Warmup,
    /// Whether the load goes on until the last measured request has ended.
    pub hold: Hold,
    /// Requests that the client gives up by intention.
    pub cancel: Option<Cancel>,
    /// How long requests under way may take to finish once sending has ended; absent: until
    /// the request timeout.
    pub drain: Option<Span>,
    pub stop_when: Vec<StopWhen>,
    /// How well the result must be known for the run to end before its extent.
    pub until: Option<Until>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A fixed number of streams, each sending when its last answer is complete.
    Closed {
        concurrency: u32,
        /// How the first wave is spread.
        stagger: Stagger,
    },
    /// Requests at planned times, whatever the server does.
    Open {
        rate: Rate,
        arrival: Arrival,
        ramp: Option<Ramp>,
        /// Requests under way at once; further ones wait, and the wait is charged.
        max_concurrency: Option<u32>,
    },
    /// Requests at the times of a trace.
    Replay {
        /// How much faster than the trace's own clock.
        speed: f64,
        /// As in an open loop.
        max_concurrency: Option<u32>,
    },
}

/// Requests that the client gives up: `5%@2s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cancel {
    /// From 0 to 1.
    pub share: f64,
    /// Since they were sent.
    pub after: Span,
}

impl FromStr for Cancel {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let read = || {
            let (share, after) = text.trim().split_once("%@")?;
            let share: f64 = share.trim().parse().ok()?;
            let after: Span = after.trim().parse().ok()?;
            let possible = share > 0.0 && share <= 100.0 && !after.0.is_zero();
            possible.then_some(Cancel {
                share: share / 100.0,
                after,
            })
        };
        read().ok_or_else(|| BadValue::new(text, "write a share and a time, such as 5%@2s"))
    }
}

impl fmt::Display for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%@{}", self.share * 100.0, self.after)
    }
}

serde_as_text!(Cancel);

/// How much to send: at least one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    Requests(u64),
    /// For so long.
    Duration(Span),
    Either(u64, Span),
    /// For so long, watching for drift.
    Soak(Span),
    /// All that there is: a trace to its end.
    All,
}

impl Extent {
    pub fn requests(self) -> Option<u64> {
        match self {
            Extent::Requests(count) | Extent::Either(count, _) => Some(count),
            Extent::Duration(_) | Extent::Soak(_) | Extent::All => None,
        }
    }

    /// Limit on the time of sending.
    pub fn duration(self) -> Option<Span> {
        match self {
            Extent::Duration(span) | Extent::Either(_, span) | Extent::Soak(span) => Some(span),
            Extent::Requests(_) | Extent::All => None,
        }
    }
}

/// A rise of the arrival rate at the beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    pub curve: RampCurve,
    /// Rate at the beginning, a second.
    pub from: f64,
    pub over: Span,
}

#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<RampCurve>)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RampCurve {
    /// By the same amount each second.
    Linear,
    /// By the same factor each second.
    Exponential,
}

/// Spacing of arrivals in an open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    Constant,
    /// Exponential gaps, as from many independent users.
    Poisson,
    /// Gamma gaps; burstiness below 1 is more bursty than Poisson, above 1 more regular.
    Gamma(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Objectives {
    pub slos: Vec<Slo>,
    /// Share of requests that must meet all request objectives, from 0 to 1.
    pub attainment: Option<f64>,
    /// How answers are checked once the run is over.
    pub check: Option<Check>,
    /// From where on a sight becomes a doubt.
    pub thresholds: Thresholds,
}

impl Objectives {
    /// Share of requests that must meet all request objectives: every one, unless a smaller
    /// share was asked for.
    pub fn least_share(&self) -> f64 {
        self.attainment.unwrap_or(1.0)
    }

    /// Those that single requests tell something about.
    pub fn of_requests(&self) -> Vec<Slo> {
        let slos = self.slos.iter().filter(|slo| !slo.is_of_sessions());
        slos.copied().collect()
    }
}

/// Spread of the first wave in a closed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Stagger {
    /// Over one latency: with a warm-up by answers that are cut shorter for each stream but the
    /// last, so that they end apart whatever the latency; without one by the latency that the
    /// preflight saw.
    #[default]
    Auto,
    None,
    #[strum(to_string = "{0}")]
    Over(Span),
}

/// Least load before the measured window opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Warmup {
    /// Requests that must have ended; 0 opens the window with the first request.
    #[strum(to_string = "{0}")]
    Requests(u64),
    #[strum(to_string = "{0}")]
    Time(Span),
}

impl Warmup {
    pub fn is_none(self) -> bool {
        match self {
            Warmup::Requests(count) => count == 0,
            Warmup::Time(span) => span.0.is_zero(),
        }
    }
}

/// What happens to the load once the last measured request is sent.
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<Hold>)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// It goes on, unmeasured, until the last measured request has ended.
    #[default]
    Auto,
    /// It drains.
    None,
}

/// Arrivals a second; `inf` means all at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

impl Rate {
    pub fn is_infinite(self) -> bool {
        self.0.is_infinite()
    }
}

/// How time passes for the simulated engine.
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<SimClock>)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SimClock {
    /// As it does for everyone: a server is started and measured.
    #[default]
    Real,
    /// As fast as it can be computed: there is no server and no client.
    Virtual,
}

/// A reason to end a run early.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopWhen {
    /// A larger share than this, from 0 to 1, of at least twenty ended requests failed.
    FailuresAbove(f64),
    /// The objectives are missed and cannot be met any more.
    SloMissed,
}

/// A result that is known well enough: the 95 % interval of the primary metric reaches no
/// further than this share to either side. The primary metric is the output tokens a second of
/// a closed loop, and the mean latency of an open one, whose rate is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until(pub f64);

serde_as_text!(Hold);
serde_as_text!(SimClock);
serde_as_text!(RampCurve);

impl FromStr for Stagger {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "auto" => Ok(Stagger::Auto),
            "none" => Ok(Stagger::None),
            other => other
                .parse()
                .map(Stagger::Over)
                .map_err(|_| BadValue::new(text, "choose auto, none or a time such as 2s")),
        }
    }
}

impl FromStr for ServerMetrics {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "auto" => Ok(ServerMetrics::Auto),
            "off" => Ok(ServerMetrics::Off),
            url if url.starts_with("http://") || url.starts_with("https://") => {
                Ok(ServerMetrics::At(url.to_owned()))
            }
            _ => Err(BadValue::new(
                text,
                "choose auto, off or an address such as http://localhost:8000/metrics",
            )),
        }
    }
}

impl FromStr for Warmup {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let trimmed = text.trim();
        if trimmed == "none" {
            return Ok(Warmup::Requests(0));
        }
        if let Ok(count) = trimmed.parse() {
            return Ok(Warmup::Requests(count));
        }
        trimmed.parse().map(Warmup::Time).map_err(|_| {
            BadValue::new(
                text,
                "give none, a number of requests such as 16, or a time such as 10s",
            )
        })
    }
}

impl FromStr for Rate {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let takes = "give arrivals per second above 0, or inf";
        BadValue::unless(text, takes, |&rate| rate > 0.0).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for StopWhen {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(text, "choose failures>20% or slo-missed");
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if compact == "slo-missed" {
            return Ok(StopWhen::SloMissed);
        }
        if compact == "throughput-falling" {
            return Err(BadValue::new(
                text,
                "it compares load points, and one run has one; choose failures>20% or slo-missed",
            ));
        }
        let share: f64 = compact
            .strip_prefix("failures>")
            .and_then(|share| share.strip_suffix('%'))
            .and_then(|share| share.parse().ok())
            .filter(|share| (0.0..100.0).contains(share))
            .ok_or_else(bad)?;
        Ok(StopWhen::FailuresAbove(share / 100.0))
    }
}

impl FromStr for Until {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let percent = text
            .trim()
            .strip_prefix("ci=")
            .and_then(|share| share.trim().strip_suffix('%'))
            .and_then(|share| share.trim().parse::<f64>().ok())
            .filter(|percent| *percent > 0.0 && *percent < 100.0);
        let takes = "write ci=5% for an interval of 5 % to either side";
        percent
            .map(|percent| Until(percent / 100.0))
            .ok_or_else(|| BadValue::new(text, takes))
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ci={}%", self.0 * 100.0)
    }
}

impl fmt::Display for StopWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopWhen::FailuresAbove(share) => write!(f, "failures>{}%", share * 100.0),
            StopWhen::SloMissed => f.write_str("slo-missed"),
        }
    }
}

serde_as_text!(Stagger);
serde_as_text!(ServerMetrics);
serde_as_text!(Warmup);
serde_as_text!(Rate);
serde_as_text!(StopWhen);
serde_as_text!(Until);
serde_as_text!(JsonObject);
