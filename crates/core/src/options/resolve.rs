//! From what a user typed to a scenario that cannot be illegal. The defaults live here.

use super::audio;
use super::checks;
use super::error::{conflict, needs, out_of_range, small};
use super::items;
use super::raw;
use super::work::resolve_work;
use super::*;
use crate::slo::{Slo, SloScope};
use crate::thresholds::Thresholds;
use std::time::Duration;

impl Options {
    /// Resolves to a scenario that cannot be illegal. The defaults live here.
    pub fn resolve(mut self) -> Result<Scenario, OptionError> {
        let api = audio::api(&self, items::api(&self.connection));
        let batch_size = items::settle(&mut self, api)?;
        audio::settle(&mut self, api)?;
        raw::settle(&mut self, api);
        checks::settle(&mut self)?;
        checks::refuse_forms(&self.work, api)?;
        let work = resolve_work(self.work, batch_size)?;
        let objectives = resolve_objectives(self.objectives, &work)?;
        let simulated = self.connection.url.as_ref().is_none_or(Vec::is_empty);
        let load = resolve_load(&self.load, &work, simulated)?;
        if load.stop_when.contains(&StopWhen::SloMissed) && objectives.of_requests().is_empty() {
            return needs(
                "--stop-when slo-missed",
                "--slo",
                "say what may be missed, as in --slo ttft=500ms",
            );
        }
        if load.cancel.is_some() && !objectives.slos.is_empty() {
            return conflict(
                "--cancel",
                "--slo",
                "a request that is given up neither meets an objective nor misses it",
            );
        }
        Ok(Scenario {
            label: self.run.label,
            tags: self.run.tag.unwrap_or_default(),
            seed: self.run.seed.unwrap_or(0),
            keep_text: self.run.keep_text.unwrap_or(false),
            price_per_hour: self.run.price_per_hour.map(f64::from),
            connection: resolve_connection(self.connection, api)?,
            load,
            work,
            objectives,
        })
    }
}

fn resolve_connection(options: ConnectionOptions, api: Api) -> Result<Connection, OptionError> {
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
    let timeout = |name, given: Option<Span>, usual_s: u64| match given {
        Some(span) if span.0.is_zero() => out_of_range(name, span, "give a time above 0"),
        given => Ok(given.unwrap_or(Span(Duration::from_secs(usual_s)))),
    };
    let simulated = options.url.as_ref().is_none_or(Vec::is_empty);
    if !simulated
        && (options.sim_model.is_some()
            || options.sim_device.is_some()
            || options.sim_clock.is_some())
    {
        return conflict(
            "--sim-model or --sim-device",
            "a URL",
            "the simulated engine is started where no server is named",
        );
    }
    let raw = raw::form(&options, api)?;
    let key_variable = (options.api_key_env).unwrap_or_else(|| "OPENAI_API_KEY".into());
    Ok(Connection {
        urls: options.url.unwrap_or_default(),
        sim_model: options.sim_model,
        sim_device: options.sim_device,
        sim_clock: options.sim_clock.unwrap_or_default(),
        api,
        raw,
        model: options.model,
        stream: options.stream.unwrap_or(true) && !options.no_stream,
        headers: given,
        api_key_env: options.api_key_file.is_none().then_some(key_variable),
        api_key_file: options.api_key_file,
        ca: options.ca,
        client_cert: options.client_cert,
        client_key: options.client_key,
        insecure: options.insecure.unwrap_or(false),
        proxy: options.proxy,
        source_addresses: options.source_address.unwrap_or_default(),
        connect_timeout: timeout("--connect-timeout", options.connect_timeout, 10)?,
        read_timeout: timeout("--read-timeout", options.read_timeout, 120)?,
        server_metrics: options.server_metrics.unwrap_or_default(),
        server_traces: options.server_traces,
        profile: options.profile.unwrap_or(false),
        request_timeout: timeout("--request-timeout", options.request_timeout, 600)?,
        give_up_after: timeout("--give-up-after", options.give_up_after, 60)?,
        workers: options
            .workers
            .map(|count| small("--workers", count, 1024))
            .transpose()?,
    })
}

/// Most streams or requests under way at once; more than the ports of one address.
const MOST_STREAMS: u32 = 1_000_000;

/// A trace brings its own times of arrival, unless others are asked for.
fn replays(options: &LoadOptions, work: &Work) -> bool {
    let PromptSource::Data(data) = &work.prompts else {
        return false;
    };
    let clock = data.format.is_some_and(DataFormat::has_clock);
    clock && options.rate.is_none() && options.concurrency.is_none()
}

fn resolve_load(options: &LoadOptions, work: &Work, simulated: bool) -> Result<Load, OptionError> {
    let replays = replays(options, work);
    if options.speed.is_some() && !replays {
        return needs(
            "--speed",
            "a trace",
            "it is the pace of a replay; give --data with a trace, without --rate and --concurrency",
        );
    }
    let max_concurrency = options
        .max_concurrency
        .map(|count| small("--max-concurrency", count, MOST_STREAMS))
        .transpose()?;
    let shape = match (options.rate, options.concurrency) {
        (None, None) if replays => {
            if let Some((name, _)) = open_only(options).into_iter().find(|(_, given)| *given) {
                return needs(name, "--rate", "a trace brings its own times of arrival");
            }
            let speed = options.speed.unwrap_or(Positive(1.0)).0;
            Shape::Replay {
                speed: within(
                    "--speed",
                    speed,
                    SPEEDS,
                    "give a factor from 0.001 to 100000",
                )?,
                max_concurrency,
            }
        }
        (Some(_), Some(_)) => {
            return conflict(
                "--rate",
                "--concurrency",
                "an open loop is capped by --max-concurrency",
            );
        }
        (Some(rate), None) => {
            if options.stagger.is_some() {
                return conflict(
                    "--rate",
                    "--stagger",
                    "arrivals of an open loop are spaced by --arrival",
                );
            }
            if !rate.is_infinite() {
                within("--rate", rate.0, RATES, RATES_SAID)?;
            }
            Shape::Open {
                rate,
                arrival: resolve_arrival(options)?,
                ramp: resolve_ramp(options, rate)?,
                max_concurrency,
            }
        }
        (None, concurrency) => {
            let cap = ("--max-concurrency", max_concurrency.is_some());
            let mut open_only = open_only(options).into_iter().chain([cap]);
            if let Some((name, _)) = open_only.find(|(_, given)| *given) {
                return needs(name, "--rate", "it shapes an open loop");
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
            return conflict(
                "--soak",
                "--requests or --duration",
                "a soak has a time only",
            );
        }
        (None, Some(count), Some(span)) => Extent::Either(count.0, span),
        (None, Some(count), None) => Extent::Requests(count.0),
        (None, None, Some(span)) => Extent::Duration(span),
        // A trace is replayed to its end.
        (None, None, None) if replays => Extent::All,
        (None, None, None) if options.until.is_some() => Extent::Duration(LONGEST_UNTIL),
        (None, None, None) if simulated => Extent::Requests(DEMO_REQUESTS),
        (None, None, None) => Extent::Requests(200),
    };
    if let (Some(span), Shape::Open { rate, .. }) = (extent.duration(), &shape) {
        if rate.is_infinite() && extent.requests().is_none() {
            return needs(
                "--rate inf",
                "--requests",
                "without a number there would be no end of arrivals",
            );
        }
        if extent.requests().is_none() && rate.0 * span.0.as_secs_f64() > MOST_ARRIVALS {
            return out_of_range(
                "--duration",
                span,
                "that rate for that time is more than 100 million arrivals",
            );
        }
    }
    if extent.duration().is_some_and(|span| span.0.is_zero()) {
        return out_of_range("--duration", "0s", "give a time above 0");
    }
    if extent
        .requests()
        .is_some_and(|count| count as f64 > MOST_ARRIVALS)
    {
        return out_of_range(
            "--requests",
            extent.requests().unwrap_or_default(),
            "that is more than 100 million",
        );
    }
    let wave = match &shape {
        Shape::Closed { concurrency, .. } => u64::from(*concurrency),
        Shape::Open { .. } | Shape::Replay { .. } => {
            let tenth = extent.requests().map_or(u64::MAX, |count| count / 10);
            OPEN_WARMUP.min(tenth).max(1)
        }
    };
    let warmup = options.warmup.unwrap_or(Warmup::Requests(wave));
    if matches!(warmup, Warmup::Requests(count) if count as f64 > MOST_ARRIVALS) {
        return out_of_range("--warmup", warmup, "that is more than 100 million requests");
    }
    Ok(Load {
        warmup,
        hold: resolve_hold(options.hold, &shape)?,
        shape,
        extent,
        cancel: options.cancel,
        drain: options.drain,
        stop_when: options.stop_when.clone().unwrap_or_default(),
        until: options.until,
    })
}

/// A burst and a trace have no load that could go on.
fn resolve_hold(given: Option<Hold>, shape: &Shape) -> Result<Hold, OptionError> {
    let ends = match shape {
        Shape::Closed { .. } => None,
        Shape::Open { rate, .. } => rate.is_infinite().then_some("--rate inf"),
        Shape::Replay { .. } => Some("a trace"),
    };
    match (given, ends) {
        (Some(Hold::Auto), Some(what)) => conflict(
            "--hold auto",
            what,
            "there is no steady load that could go on; leave it out",
        ),
        (None, Some(_)) => Ok(Hold::None),
        (given, _) => Ok(given.unwrap_or_default()),
    }
}

/// Requests of an open loop, or before a trace, that wake the server.
const OPEN_WARMUP: u64 = 8;

/// Time to get precise in, where nothing else is said.
const LONGEST_UNTIL: Span = Span(std::time::Duration::from_secs(300));

/// Requests to the simulated engine: a demonstration that ends soon and has a p95.
const DEMO_REQUESTS: u64 = 90;

/// A schedule is held in memory; beyond this it would not fit.
const MOST_ARRIVALS: f64 = crate::schedule::MOST_ARRIVALS as f64;

/// Rates, a second, whose due times can be told apart and can be waited for.
const RATES: std::ops::RangeInclusive<f64> = 1e-6..=1e9;
const RATES_SAID: &str = "give arrivals per second from 0.000001 to 1000000000, or inf";
/// Paces at which a trace is still one.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e5;

/// Options that shape the arrivals of an open loop, and whether each is given.
fn open_only(options: &LoadOptions) -> [(&'static str, bool); 5] {
    [
        ("--arrival", options.arrival.is_some()),
        ("--burstiness", options.burstiness.is_some()),
        ("--ramp", options.ramp.is_some()),
        ("--ramp-from", options.ramp_from.is_some()),
        ("--ramp-over", options.ramp_over.is_some()),
    ]
}

/// Shapes whose gamma gaps are numbers.
const BURSTINESS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;

fn within(
    name: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    takes: &'static str,
) -> Result<f64, OptionError> {
    if range.contains(&value) {
        Ok(value)
    } else {
        out_of_range(name, format!("{value:e}"), takes)
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
        (Some(ArrivalName::Gamma), None) => needs(
            "--arrival gamma",
            "--burstiness",
            "below 1 bursty, above 1 regular",
        ),
        (Some(_), Some(_)) => conflict(
            "--burstiness",
            "--arrival constant or poisson",
            "only gamma arrivals have it",
        ),
    }
}

fn resolve_ramp(options: &LoadOptions, rate: Rate) -> Result<Option<Ramp>, OptionError> {
    let Some(curve) = options.ramp else {
        let stray = options
            .ramp_from
            .map(|_| "--ramp-from")
            .or(options.ramp_over.map(|_| "--ramp-over"));
        return match stray {
            Some(name) => needs(name, "--ramp", "choose linear or exponential"),
            None => Ok(None),
        };
    };
    if rate.is_infinite() {
        return conflict("--ramp", "--rate inf", "a ramp needs a rate to rise to");
    }
    let from = match options.ramp_from {
        Some(from) => within(
            "--ramp-from",
            from.0,
            RATES,
            "give arrivals per second from 0.000001 to 1000000000",
        )?,
        None => (rate.0 / 10.0).max(*RATES.start()),
    };
    let over = options.ramp_over.unwrap_or(Span(Duration::from_secs(30)));
    Ok(Some(Ramp { curve, from, over }))
}

fn resolve_objectives(options: ObjectiveOptions, work: &Work) -> Result<Objectives, OptionError> {
    if let Some(bad) = options
        .attainment
        .filter(|share| !(*share > 0.0 && *share <= 1.0))
    {
        return out_of_range(
            "--attainment",
            bad,
            "give a share above 0, at most 1, such as 0.95",
        );
    }
    let slos = options.slo.unwrap_or_default();
    let is_share = |slo: &Slo| matches!(slo.scope, SloScope::Request | SloScope::Session);
    if options.attainment.is_some() && !slos.iter().any(is_share) {
        return needs(
            "--attainment",
            "--slo",
            "give a request objective such as --slo ttft=500ms",
        );
    }
    if work.conversation.is_none() && slos.iter().any(Slo::is_of_sessions) {
        return needs(
            "--slo job",
            "work with sessions",
            "give --turns, --data-format conversations or a trace with sessions; for single requests write e2e",
        );
    }
    let thresholds = Thresholds::with(options.threshold.as_deref().unwrap_or_default())?;
    Ok(Objectives {
        thresholds,
        slos,
        attainment: options.attainment,
        check: options.check,
    })
}
