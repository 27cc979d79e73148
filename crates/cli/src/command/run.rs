//! `inferometer run`: one load point.

use crate::Exit;
use crate::arguments::{RUNS, RunArguments};
use crate::host;
use crate::keys::Keys;
use crate::measure::{Measured, Point, measure};
use crate::output::{Shown, check_output, language, show, verdict};
use crate::progress::Progress;
use crate::work;
use anyhow::{Context, bail};
use inferometer_core::environment::EndCause;
use inferometer_core::scenario::Scenario;
use inferometer_load::http::url::{REDACTED, Target};
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use std::path::PathBuf;

/// Measures and shows the report.
pub fn run(arguments: RunArguments) -> anyhow::Result<Exit> {
    if !arguments.engine.is_empty() {
        bail!("this version does not start engines; start the server yourself and give its URL");
    }
    let mut options = arguments.measurement.layered()?;
    let targets: Vec<Target> = options
        .connection
        .url
        .iter()
        .flatten()
        .map(|url| Target::parse(url))
        .collect::<Result<_, _>>()?;
    let keys = Keys::read(&options, &targets)?;
    let stored = |target: &&Target| target.query_secrets().any(|secret| secret == REDACTED);
    if let Some(url) = targets.iter().find(stored) {
        bail!("{url} was stored without its secret; give the URL again on the command line");
    }
    check_output(&arguments.output)?;
    // A password in a URL must not reach scenario.toml.
    if let Some(urls) = &mut options.connection.url {
        *urls = targets.iter().map(ToString::to_string).collect();
    }
    let lang = language(arguments.output.lang);
    let mut progress = Progress::new(arguments.quiet, lang);
    let data = work::localize(&mut options, &mut progress)?;
    let scenario = options.resolve()?;
    let out = arguments.out.unwrap_or_else(|| default_folder(&scenario));
    let control = Control::default();
    interrupt_on_signals(control.clone())?;
    let point = Point {
        scenario,
        data,
        targets,
        keys,
    };
    let measured = measure(point, &out, lang, &control, &mut progress);
    progress.end();
    let Measured {
        directory,
        scenario,
        environment,
        ending,
        summary,
    } = measured?;
    let shown = Shown {
        directory: &directory,
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        summary: &summary,
    };
    show(&shown, &arguments.output)?;
    Ok(match ending.cause {
        EndCause::Signal => Exit::Interrupted,
        _ => verdict(&summary),
    })
}

/// `inferometer-runs/TIME-LABEL`, with a number if that is taken.
fn default_folder(scenario: &Scenario) -> PathBuf {
    let label: String = (scenario.label.as_deref().unwrap_or("run").chars())
        .map(|c| {
            if c.is_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let name = format!("{}-{label}", host::folder_time());
    let names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
    let mut paths = names.map(|name| PathBuf::from(RUNS).join(name));
    paths
        .find(|path| !path.exists())
        .expect("numbers do not end")
}

/// The first signal drains, the second leaves. Both keep what is recorded.
fn interrupt_on_signals(control: Control) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // Before the thread runs, so that no signal finds the system's own manners.
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(guard);
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                    if !control.is_measuring() {
                        std::process::exit(130);
                    }
                    // Two wishes are heard; a third means that nothing hears them.
                    if control.state() == Stop::Leave {
                        std::process::exit(130);
                    }
                    control.interrupt();
                }
            });
        })
        .context("cannot watch for signals")?;
    Ok(())
}
