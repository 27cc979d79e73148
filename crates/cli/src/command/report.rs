//! `inferometer report`: a stored run again.

use crate::Exit;
use crate::arguments::ReportArguments;
use crate::command::{capacity, import, sweep};
use crate::measure::fold;
use crate::output::{Shown, check_output, language, show, verdict};
use anyhow::bail;
use inferometer_core::capacity::FILE;
use inferometer_core::fold::RunContext;
use inferometer_core::note::Known;
use inferometer_core::run_dir::{RunDir, latest};
use inferometer_core::slo::SloScope;
use inferometer_core::sweep_dir::SweepDir;
use inferometer_import::Stored;

/// Reads a run directory and shows it.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<Exit> {
    if let Some(path) = arguments
        .path
        .as_deref()
        .filter(|path| SweepDir::is_at(path))
    {
        let sweep = SweepDir::open(path)?;
        check_output(&arguments.output)?;
        sweep::show(&sweep, &arguments.output)?;
        return Ok(sweep::exit(&sweep::read(&sweep)?));
    }
    if let Some(path) = arguments
        .path
        .as_deref()
        .filter(|path| path.join(FILE).is_file())
    {
        let found = capacity::read(path)?;
        check_output(&arguments.output)?;
        capacity::show(&found, path, &arguments.output)?;
        return Ok(capacity::exit(&found));
    }
    if let Some(path) = arguments.path.as_ref().filter(|path| Stored::is_at(path)) {
        return import::show_stored(path, &arguments.output);
    }
    let directory = match &arguments.path {
        Some(path) => RunDir::open(path)?,
        None => latest(&arguments.runs)?,
    };
    check_output(&arguments.output)?;
    let mut scenario = directory.scenario()?;
    if let Some(bad) = arguments
        .attainment
        .filter(|share| !(*share > 0.0 && *share <= 1.0))
    {
        bail!("--attainment {bad} is not possible: give a share above 0, at most 1, such as 0.95");
    }
    if !arguments.slo.is_empty() {
        scenario.objectives.slos = arguments.slo.clone();
    }
    if arguments.attainment.is_some() {
        scenario.objectives.attainment = arguments.attainment;
    }
    let objectives = &scenario.objectives;
    if objectives.attainment.is_some()
        && !objectives
            .slos
            .iter()
            .any(|slo| slo.scope == SloScope::Request)
    {
        bail!("--attainment needs --slo: give a request objective such as --slo ttft=500ms");
    }
    let environment = directory.environment()?;
    let ending = directory.ending()?;
    let context = RunContext {
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        lang: language(arguments.output.lang),
    };
    let (summary, lines) = fold(&directory, &context)?;
    let mut environment = environment.clone();
    if lines > 0 {
        environment.notes.push(Known::DamagedLines { lines }.into());
    }
    let shown = Shown {
        directory: &directory,
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        summary: &summary,
    };
    show(&shown, &arguments.output)?;
    Ok(verdict(&summary))
}
