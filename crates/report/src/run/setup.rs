//! What was done: server, model, load, work, extent; only what matters.

use super::{RunReport, shell_word};
use inferometer_core::environment::EndCause;
use inferometer_core::note::{Known, Note};
use inferometer_core::scenario::{Arrival, Extent, Load, Ramp, RampCurve, Shape, Stagger, Warmup};
use inferometer_core::work::{PromptSource, Window};
use inferometer_message::{ServerText, SetupText, notes};
use inferometer_page::doc::{Pair, Section};
use inferometer_page::number;
use inferometer_text::Text;
use inferometer_text::hostile::printable;
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) fn section(report: &RunReport<'_>) -> Section {
    fn pair(report: &RunReport<'_>, label: impl Text, value: String) -> Pair {
        Pair::new(report.say(label), value)
    }
    let mut pairs = vec![
        pair(report, SetupText::Run, run(report)),
        pair(report, SetupText::Server, server(report)),
        pair(report, ServerText::Engine, engine(report)),
        pair(report, ServerText::Command, command(report)),
        pair(report, SetupText::Model, model(report)),
        pair(report, SetupText::Api, api(report)),
        pair(report, SetupText::Load, load(report, &report.scenario.load)),
        pair(report, SetupText::Ranks, ranks(report)),
        pair(report, SetupText::Work, work(report)),
        pair(
            report,
            SetupText::Extent,
            extent(report, &report.scenario.load),
        ),
    ];
    // The template's size stands beside the lengths that it adds to.
    let told = |note: &&Note| {
        let apart = report.summary.continuation.is_some();
        !(apart && matches!(note, Note::Known(Known::Template { .. })))
    };
    let notes = report.environment.notes.iter().filter(told);
    pairs.extend(notes.map(|note| pair(report, SetupText::Note, notes::text(note, report.lang))));
    pairs.retain(|pair| !pair.value.is_empty());
    Section::plain([pairs])
}

fn run(report: &RunReport<'_>) -> String {
    let tags: Vec<String> = (report.summary.tags.iter())
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let mut parts: Vec<String> = report.summary.label.iter().cloned().collect();
    parts.extend(tags);
    if !report.environment.started.is_empty() {
        parts.push(to_the_second(&report.environment.started).replacen('T', " ", 1));
    }
    report.list(&parts)
}

/// A time of RFC 3339 without its fraction of a second.
fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((second, rest)) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{second}{zone}")
        }
        None => time.to_owned(),
    }
}

/// Who carried the load together, and how well their clocks are known to agree.
fn ranks(report: &RunReport<'_>) -> String {
    let Some(ranks) = &report.environment.ranks else {
        return String::new();
    };
    let mut hosts: BTreeMap<&str, u32> = BTreeMap::new();
    for other in &ranks.others {
        *hosts.entry(&other.name).or_default() += 1;
    }
    let hosts: Vec<String> = (hosts.into_iter())
        .map(|(name, count)| format!("{} × {count}", printable(name, 64)))
        .collect();
    let errors = ranks.others.iter().map(|other| other.clock_error_ns);
    let error = Duration::from_nanos(errors.max().unwrap_or_default());
    let values = [
        ("count", (ranks.others.len() + 1).to_string()),
        ("hosts", report.list(&hosts)),
        ("error", number::time(error)),
    ];
    report.fill(SetupText::RanksTogether, &values)
}

/// What a run in virtual time has for an address.
const VIRTUAL: &str = "virtual";

fn server(report: &RunReport<'_>) -> String {
    let probed = &report.environment.server;
    let endpoints = if probed.endpoints.is_empty() {
        &report.scenario.connection.urls
    } else {
        &probed.endpoints
    };
    let mut text = endpoints.join(", ");
    if report.scenario.connection.urls.is_empty() && report.environment.engine.is_none() {
        text = match text.as_str() {
            // In virtual time there is no address.
            VIRTUAL => report.say(SetupText::SimulatedInVirtualTime).to_owned(),
            _ => report.fill(SetupText::SimulatedEngine, &[("address", text)]),
        };
    }
    match &probed.software {
        Some(software) => format!("{text} ({software})"),
        None => text,
    }
}

/// What was started, and what it told of itself.
fn engine(report: &RunReport<'_>) -> String {
    let Some(engine) = &report.environment.engine else {
        return String::new();
    };
    let name = match &engine.version {
        Some(version) => format!("{} {version}", engine.name),
        None => engine.name.clone(),
    };
    let started = engine.start_s.map(number::seconds);
    let gib = |gib: f64| number::exact((gib * 100.0).round() / 100.0);
    let facts = [
        (ServerText::StartedIn, "time", started),
        (ServerText::Weights, "gib", engine.weights_gib.map(gib)),
        (
            ServerText::KvTokens,
            "tokens",
            engine.kv_tokens.map(number::count),
        ),
    ];
    let facts = (facts.into_iter())
        .filter_map(|(label, key, value)| Some(report.fill(label, &[(key, value?)])));
    let parts: Vec<String> = std::iter::once(name).chain(facts).collect();
    report.list(&parts)
}

fn command(report: &RunReport<'_>) -> String {
    let engine = report.environment.engine.as_ref();
    let words = engine.map(|engine| engine.command.iter().map(|word| shell_word(word)));
    words.map_or(String::new(), |words| words.collect::<Vec<_>>().join(" "))
}

pub(crate) fn model(report: &RunReport<'_>) -> String {
    let asked = report.scenario.connection.model.as_ref();
    if let Some(mix) = asked.filter(|mix| !mix.is_one()) {
        return mix.to_string();
    }
    if report.environment.server.model.is_empty() {
        asked.map_or(String::new(), ToString::to_string)
    } else {
        report.environment.server.model.clone()
    }
}

pub(crate) fn api(report: &RunReport<'_>) -> String {
    let spoken = match report.environment.server.api.as_str() {
        "" => report.scenario.connection.api.into_str(),
        api => api,
    };
    let streamed = if report.scenario.connection.stream {
        SetupText::Streamed
    } else {
        SetupText::NotStreamed
    };
    let mut parts = vec![spoken];
    if !report.is_of_items() {
        parts.push(report.say(streamed));
    }
    if report.scenario.connection.insecure {
        parts.push(report.say(SetupText::Insecure));
    }
    report.list(&parts)
}

pub(crate) fn work(report: &RunReport<'_>) -> String {
    super::work::said(report, &report.scenario.work)
}

pub(crate) fn load(report: &RunReport<'_>, load: &Load) -> String {
    let mut parts = Vec::new();
    match &load.shape {
        Shape::Closed {
            concurrency,
            stagger,
        } => {
            let streams = number::count(u64::from(*concurrency));
            parts.push(report.fill(SetupText::ClosedLoop, &[("streams", streams)]));
            match report.ending.stagger_ns {
                _ if *concurrency == 1 => {}
                Some(spread) => {
                    let time = number::time(Duration::from_nanos(spread));
                    parts.push(report.fill(SetupText::Spread, &[("time", time)]));
                }
                None if report.has_steady_window() && *stagger == Stagger::Auto => {
                    parts.push(report.say(SetupText::SpreadInWarmup).to_owned());
                }
                // A killed run could not say how it spread the wave.
                None if report.ending.cause.is_without_ending() && *stagger != Stagger::None => {}
                None => parts.push(report.say(SetupText::AllAtOnce).to_owned()),
            }
        }
        Shape::Open {
            rate,
            arrival,
            ramp,
            max_concurrency,
        } => {
            if rate.is_infinite() {
                parts.push(report.say(SetupText::OpenLoopAtOnce).to_owned());
            } else {
                // Searches choose rates with more digits than anybody reads.
                let rate = number::exact(number::rounded(rate.0, 6));
                let label = match report.scenario.work.conversation {
                    Some(_) => SetupText::OpenLoopTalks,
                    None => SetupText::OpenLoop,
                };
                parts.push(report.fill(label, &[("rate", rate)]));
                parts.push(arrivals(report, *arrival));
            }
            parts.extend(ramp.map(|ramp| risen(report, ramp)));
            parts.extend(max_concurrency.map(|cap| capped(report, cap)));
        }
        Shape::Replay {
            speed,
            max_concurrency,
        } => {
            parts.push(report.fill(SetupText::Replay, &[("speed", number::exact(*speed))]));
            parts.extend(max_concurrency.map(|cap| capped(report, cap)));
        }
    }
    report.list(&parts)
}

fn capped(report: &RunReport<'_>, cap: u32) -> String {
    report.fill(SetupText::Cap, &[("cap", number::count(u64::from(cap)))])
}

fn arrivals(report: &RunReport<'_>, arrival: Arrival) -> String {
    match arrival {
        Arrival::Constant => report.say(SetupText::ArrivalConstant).to_owned(),
        Arrival::Poisson => report.say(SetupText::ArrivalPoisson).to_owned(),
        Arrival::Gamma(burstiness) => report.fill(
            SetupText::ArrivalGamma,
            &[("burstiness", number::exact(burstiness))],
        ),
    }
}

fn risen(report: &RunReport<'_>, ramp: Ramp) -> String {
    let label = match ramp.curve {
        RampCurve::Linear => SetupText::RampLinear,
        RampCurve::Exponential => SetupText::RampExponential,
    };
    let values = [
        ("rate", number::exact(ramp.from)),
        ("time", ramp.over.to_string()),
    ];
    report.fill(label, &values)
}

fn extent(report: &RunReport<'_>, load: &Load) -> String {
    let count = |count| ("count", number::count(count));
    let mut parts = vec![match load.extent {
        Extent::Requests(requests) => report.fill(SetupText::ExtentRequests, &[count(requests)]),
        Extent::Duration(span) => {
            report.fill(SetupText::ExtentDuration, &[("time", span.to_string())])
        }
        Extent::Either(requests, span) => report.fill(
            SetupText::ExtentEither,
            &[count(requests), ("time", span.to_string())],
        ),
        Extent::All => {
            let whole = match &report.scenario.work.prompts {
                PromptSource::Data(data) => {
                    data.limit.is_none() && data.window == Window::default()
                }
                _ => true,
            };
            let label = if whole {
                SetupText::ExtentAll
            } else {
                SetupText::ExtentPart
            };
            report.say(label).to_owned()
        }
        Extent::Soak(span) => report.fill(SetupText::ExtentSoak, &[("time", span.to_string())]),
    }];
    let accounts = report.summary.requests;
    let warmup = |count| {
        report.fill(
            SetupText::WarmupRequests,
            &[("warmup", number::count(count))],
        )
    };
    parts.push(match load.warmup {
        none if none.is_none() => report.say(SetupText::NoWarmup).to_owned(),
        _ if accounts.warmup > 0 => warmup(accounts.warmup),
        Warmup::Requests(requests) => warmup(requests),
        Warmup::Time(span) => report.fill(SetupText::WarmupTime, &[("time", span.to_string())]),
    });
    let window = if report.has_steady_window() {
        SetupText::MeasuredFor
    } else {
        SetupText::FirstToLast
    };
    parts.extend(
        (report.summary.window_s)
            .map(|length| report.fill(window, &[("time", number::seconds(length))])),
    );
    if accounts.hold > 0 {
        let hold = ("hold", number::count(accounts.hold));
        parts.push(report.fill(SetupText::Held, &[hold]));
    }
    let early = match report.ending.cause {
        EndCause::Complete => None,
        EndCause::Signal => Some(SetupText::EndedBySignal),
        EndCause::Precise => Some(SetupText::EndedPrecise),
        EndCause::StopCondition => Some(SetupText::EndedByCondition),
        EndCause::Watchdog => Some(SetupText::EndedByWatchdog),
        EndCause::ServerAway => Some(SetupText::EndedByAbsence),
        EndCause::RankLost => Some(SetupText::EndedByLostRank),
        EndCause::Unwritten => Some(SetupText::EndedUnwritten),
        EndCause::Killed => Some(SetupText::EndedByKill),
        EndCause::Running => Some(SetupText::GoesOn),
    };
    parts.extend(early.map(|label| report.say(label).to_owned()));
    report.list(&parts)
}
