//! `inferometer run`: one load point.

use crate::Exit;
use crate::arguments::RunArguments;
use crate::folder::new_folder;
use crate::launch::Flags;
use crate::measure::{Measured, Point, PrefixCache};
use crate::output::{Shown, check_output, keep_page, language, show, verdict};
use crate::progress::Progress;
use crate::servers::Servers;
use crate::signals::interrupt_on_signals;
use inferometer_core::environment::EndCause;
use inferometer_load::instrument::Control;
use inferometer_store::run_dir::RunDir;

/// Measures and shows the report.
pub fn run(arguments: RunArguments) -> anyhow::Result<Exit> {
    let options = arguments.measurement.layered()?;
    check_output(&arguments.output)?;
    let lang = language(arguments.output.lang);
    let mut progress = Progress::new(arguments.quiet, lang);
    let point = Point::prepare(options.clone(), PrefixCache::Kept, &mut progress)?;
    let out = (arguments.out).unwrap_or_else(|| new_folder(point.scenario.label.as_deref(), "run"));
    RunDir::check(&out)?;
    let mut servers = Servers::given(
        &arguments.engine,
        &options,
        &Flags::new(),
        out.join("server"),
        &mut progress,
    )?;
    let control = Control::default();
    interrupt_on_signals(control.clone())?;
    let measured = servers.measure(point, &out, &control, &mut progress);
    servers.stop(&progress);
    progress.end();
    let Measured {
        directory,
        scenario,
        environment,
        ending,
        reading,
        summary,
    } = measured?;
    let shown = Shown {
        directory: &directory,
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        summary: &summary,
        reading: &reading,
    };
    show(&shown, &arguments.output)?;
    if !arguments.no_html {
        keep_page(&shown, &arguments.output);
    }
    Ok(match ending.cause {
        EndCause::Signal => Exit::Interrupted,
        _ => verdict(&summary),
    })
}
