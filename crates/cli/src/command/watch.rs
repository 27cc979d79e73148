//! `inferometer watch`: small probes of a server, again and again, and an alert when it gets worse.

mod alert;

use crate::command::history::of_folder;
use crate::exit::Exit;
use crate::folder::{folder_here, folder_name, free_folder};
use crate::options::{EngineArguments, MeasurementOptions, RUNS};
use crate::output::{fitted, language, print};
use crate::progress::Progress;
use crate::registry;
use crate::session::session;
use crate::signals::interrupt_or_say;
use crate::stderr::say;
use alert::{Alert, AlertKind, Alerts};
use anyhow::bail;
use inferometer_core::environment::EndCause;
use inferometer_core::options::{Count, Options};
use inferometer_core::summary::{FailureCount, Summary};
use inferometer_core::units::Span;
use inferometer_load::instrument::Control;
use inferometer_message::WatchText;
use inferometer_page::number;
use inferometer_report::history::worsened;
use inferometer_runner::launch::Flags;
use inferometer_runner::measure::{Measured, Point, PrefixCache};
use inferometer_runner::servers::Servers;
use inferometer_runner::{Session, host, with_causes};
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use inferometer_text::secret::without_credentials;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct WatchArguments {
    #[command(flatten)]
    pub measurement: MeasurementOptions,
    /// Time from the beginning of a probe to that of the next
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1h",
        help_heading = "Watch"
    )]
    pub every: Span,
    /// Longest time that a probe may take; half of it is measured unless --duration says otherwise
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        help_heading = "Watch"
    )]
    pub budget: Span,
    /// Most requests in flight at once; more is refused
    #[arg(long, value_name = "N", default_value = "4", help_heading = "Watch")]
    pub most_in_flight: Count,
    /// Probes after which it ends [for ever]
    #[arg(long, value_name = "N", help_heading = "Watch")]
    pub probes: Option<Count>,
    /// Folder of the probes; one that is there is continued [inferometer-runs/watch-HOST]
    #[arg(long, value_name = "DIR", value_parser = folder_here, help_heading = "Watch")]
    pub out: Option<PathBuf>,
    /// End with exit code 1 as soon as the server is away or something is worse
    #[arg(long, help_heading = "Watch")]
    pub exit_on_alert: bool,
    /// Shell command for an alert, which is told in INFEROMETER_ALERT and INFEROMETER_ALERT_KIND
    #[arg(long, value_name = "COMMAND", help_heading = "Watch")]
    pub alert_command: Option<String>,
    /// Variable that holds the URL to which alerts are posted as JSON, with the text in "text"
    #[arg(long, value_name = "VARIABLE", help_heading = "Watch")]
    pub webhook_env: Option<String>,
    /// Language of what is said [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = crate::options::lang, help_heading = "Watch")]
    pub lang: Option<Lang>,
}

pub fn run(arguments: WatchArguments) -> anyhow::Result<Exit> {
    let (every, budget) = (arguments.every.0, arguments.budget.0);
    if every < budget {
        bail!(
            "--every {} is shorter than --budget {}: probes would never pause; wait longer or probe for less",
            arguments.every,
            arguments.budget
        );
    }
    let lang = language(arguments.lang);
    let session = session(lang)?;
    let options = within_limits(
        arguments.measurement.layered()?,
        budget,
        arguments.most_in_flight,
    )?;
    // What cannot be asked is told at once, not at every probe.
    let mut quiet = Progress::new(true, lang);
    Point::prepare(options.clone(), PrefixCache::Kept, &session, &mut quiet)?;
    let server = server_of(&options);
    let folder = arguments.out.clone().unwrap_or_else(|| {
        let name = folder_name(server.split_once("://").map_or(&server, |(_, host)| host));
        Path::new(RUNS).join(format!("watch-{}", name.trim_end_matches(['-', '.'])))
    });
    std::fs::create_dir_all(&folder)?;
    registry::remember(&folder);
    let webhook = (arguments.webhook_env.as_deref())
        .map(|name| match session.variable(name) {
            Some(url) => Ok(url.to_owned()),
            None => {
                bail!("--webhook-env {name}: that variable is not set; export {name}=https://…")
            }
        })
        .transpose()?;
    let proxy = options.connection.proxy.clone();
    let access = session.hub_access(proxy.as_deref());
    let mut alerts = Alerts::open(&folder, arguments.alert_command, webhook, access, lang)?;
    let shown = folder.display().to_string();
    let begins = [
        ("server", server),
        ("every", arguments.every.to_string()),
        ("budget", arguments.budget.to_string()),
        ("folder", shown.clone()),
    ];
    let begins = WatchText::Begins.with(lang, &begins);
    say(fitted(&begins, &std::io::stderr()));
    let control = Control::default();
    let ended = |probes: u64| {
        let values = [("probes", probes.to_string()), ("folder", shown.clone())];
        WatchText::Ended.with(lang, &values)
    };
    let last_word = WatchText::Ended.with(
        lang,
        &[("probes", "…".to_owned()), ("folder", shown.clone())],
    );
    interrupt_or_say(control.clone(), last_word)?;
    let mut next = Instant::now();
    for probe in 1.. {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next = (next + every).max(Instant::now());
        let mut options = options.clone();
        options.run.seed = options.run.seed.or_else(|| Some(host::random()));
        let out = free_folder(&host::folder_time(), &folder);
        let measured = measure(options, &out, budget, &control, &session);
        let interrupted = matches!(&measured, Ok(it) if it.ending.cause == EndCause::Signal);
        let error = match &measured {
            Ok(measured) => unanswered(&measured.summary),
            Err(error) => Some(with_causes(error.as_ref())),
        };
        let mut found: Vec<Alert> = alerts.of_server(error).into_iter().collect();
        match &measured {
            Ok(measured) => {
                let line = line(&measured.summary, lang);
                print(&format!("{}\n", fitted(&line, &std::io::stdout())))?;
            }
            Err(_) => {
                let _ = std::fs::remove_dir(&out);
            }
        }
        if let Ok(history) = of_folder(&folder) {
            found.extend(worsened(&history, lang).into_iter().map(|it| Alert {
                kind: AlertKind::Worse,
                key: it.key,
                text: it.text,
            }));
        }
        alerts.tell(&found)?;
        let bad = found.iter().any(|alert| alert.kind != AlertKind::Back);
        let alarmed = arguments.exit_on_alert && bad;
        let over = arguments.probes.is_some_and(|most| probe >= most.0);
        if interrupted || over || alarmed {
            say(fitted(&ended(probe), &std::io::stderr()));
            return Ok(if interrupted {
                Exit::Interrupted
            } else {
                Exit::fine_if(!alarmed)
            });
        }
    }
    Ok(Exit::Fine)
}

/// The options of a probe: one stream unless told otherwise, never more than is allowed in flight,
/// and over before the budget is.
fn within_limits(mut options: Options, budget: Duration, most: Count) -> anyhow::Result<Options> {
    let load = &mut options.load;
    if load.soak.is_some() {
        bail!("--soak is a long run, and a probe is a short one; use --duration");
    }
    match (load.concurrency, load.rate) {
        (_, Some(_)) => {
            let cap = load.max_concurrency.get_or_insert(most);
            if cap.0 > most.0 {
                bail!(
                    "--max-concurrency {} is above --most-in-flight {}; raise that if the server can bear it",
                    cap.0,
                    most.0
                );
            }
        }
        (streams, None) => {
            let streams = streams.map_or(1, |it| it.0);
            if streams > most.0 {
                bail!(
                    "--concurrency {streams} is above --most-in-flight {}; raise that if the server can bear it",
                    most.0
                );
            }
            load.concurrency = Some(Count(streams));
        }
    }
    let half = Span(budget / 2);
    let duration = *load.duration.get_or_insert(half);
    if duration.0 >= budget {
        bail!(
            "--duration {duration} leaves nothing of the --budget; a probe also warms up and waits for its last answers"
        );
    }
    let patience = Span(budget / 4);
    load.drain.get_or_insert(patience);
    options.connection.request_timeout.get_or_insert(half);
    Ok(options)
}

/// One probe. What is still under way when its budget is spent is cut.
fn measure(
    options: Options,
    out: &Path,
    budget: Duration,
    control: &Control,
    session: &Arc<Session>,
) -> anyhow::Result<Measured> {
    let mut progress = Progress::new(true, session.lang);
    control.renew();
    let connection = options.connection.clone();
    let point = Point::prepare(options, PrefixCache::Kept, session, &mut progress)?;
    let engine = EngineArguments::default().options()?;
    let logs = out.join("server");
    let mut servers = Servers::given(
        &engine,
        &connection,
        &Flags::new(),
        logs,
        Arc::clone(session),
        &mut progress,
    )?;
    let (over, is_over) = mpsc::channel::<()>();
    let measured = std::thread::scope(|scope| {
        scope.spawn(move || {
            if is_over.recv_timeout(budget) == Err(mpsc::RecvTimeoutError::Timeout) {
                control.abandon();
            }
        });
        let measured = servers.measure(point, out, control, &mut progress);
        drop(over);
        measured
    });
    servers.stop(&mut progress);
    Ok(measured?)
}

fn server_of(options: &Options) -> String {
    let url = (options.connection.url.iter().flatten()).next();
    let url = url.map_or("sim", String::as_str);
    without_credentials(url).trim_end_matches('/').to_owned()
}

/// What a probe found, in one line.
fn line(summary: &Summary, lang: Lang) -> String {
    let time = |value: Option<f64>| value.map_or(number::ABSENT.to_owned(), number::whole_millis);
    let rate = summary.throughput.output_tokens_per_s;
    let latency = &summary.latency;
    let figures = [
        ("requests", number::count(summary.requests.ok)),
        (
            "rate",
            rate.map_or(number::ABSENT.to_owned(), number::brief),
        ),
        ("ttft", time(latency.ttft_ms.as_ref().map(|it| it.p50))),
        ("tpot", time(latency.tpot_ms.as_ref().map(|it| it.p50))),
    ];
    let verdict = if summary.valid { "VALID" } else { "INVALID" };
    let mut told = vec![WatchText::Figures.with(lang, &figures)];
    if summary.requests.failed > 0 {
        let values = [
            ("failed", number::count(summary.requests.failed)),
            ("why", failures(summary)),
        ];
        told.push(WatchText::Failed.with(lang, &values));
    }
    let told = PunctuationText::Comma.join(lang, &told);
    format!("{}  {verdict}  {told}", host::log_time())
}

/// Why a server that was reached is as good as away: it answered no request.
fn unanswered(summary: &Summary) -> Option<String> {
    let requests = &summary.requests;
    (requests.ok == 0 && requests.failed > 0).then(|| failures(summary))
}

/// What failed, the most frequent first.
fn failures(summary: &Summary) -> String {
    let mut failures = Vec::from_iter(&summary.failures);
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    let kind = |failure: &FailureCount| match failure.status {
        Some(status) => format!("{} {status}", failure.class),
        None => failure.class.to_string(),
    };
    let kinds: Vec<String> = failures.into_iter().map(kind).collect();
    kinds.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::record::{FailureClass, Phase};

    fn summary(ok: u64, failed: u64) -> Summary {
        let failure = FailureCount {
            phase: Phase::Status,
            class: FailureClass::ServerError,
            count: failed,
            status: Some(503),
            sample: String::new(),
        };
        let text = include_str!("../../../../fixtures/run-v1/summary.json");
        let mut summary: Summary = serde_json::from_str(text).unwrap();
        summary.requests.ok = ok;
        summary.requests.failed = failed;
        summary.failures = Vec::from_iter((failed > 0).then_some(failure));
        summary
    }

    #[test]
    fn failures_are_told_with_their_kind() {
        let told = line(&summary(40, 7), Lang::En);
        assert!(told.ends_with("7 failed (server-error 503)"), "{told}");
        assert!(!line(&summary(40, 0), Lang::En).contains("failed"));
    }

    #[test]
    fn a_server_that_answers_no_request_is_away() {
        assert_eq!(
            unanswered(&summary(0, 9)).as_deref(),
            Some("server-error 503")
        );
        assert_eq!(unanswered(&summary(1, 9)), None);
        // Nothing was sent before the budget was spent or somebody ended it.
        assert_eq!(unanswered(&summary(0, 0)), None);
    }
}
