//! `inferometer report`: a stored run, sweep or search again.

use crate::command::{capacity, compare, import, site, sweep, tune};
use crate::exit::Exit;
use crate::options::{ColumnOptions, Format, OutputOptions, RUNS};
use crate::otlp::{OtlpOptions, When};
use crate::output::{check_output, language, read_again, read_for, show, verdict};
use crate::stores::{local, shown};
use anyhow::bail;
use clap::Args;
use inferometer_bucket::Location;
use inferometer_core::options::Positive;
use inferometer_core::slo::{Slo, SloScope};
use inferometer_runner::fetched::Wanted;
use inferometer_runner::sweep::read as read_sweep;
use inferometer_store::error::StorageError;
use inferometer_store::run_dir::RunDir;
use inferometer_store::stored::{Kind, Stored, latest, list};
use inferometer_store::sweep_dir::SweepDir;
use std::path::PathBuf;

#[derive(Args)]
pub struct ReportArguments {
    /// A run, sweep or search, here or in an object store [the latest]; several, or a folder of many, with -o DIR make an
    /// index in that folder
    #[arg(value_name = "PATH|URL")]
    pub paths: Vec<String>,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub columns: ColumnOptions,
    /// Judge by these objectives instead of the run's own (repeatable)
    #[arg(long, value_name = "METRIC[.pNN]=TIME")]
    pub slo: Vec<Slo>,
    /// Share of requests that must meet all request objectives
    #[arg(long, value_name = "SHARE")]
    pub attainment: Option<f64>,
    /// Price of a card: adds what tokens and requests of a run cost
    #[arg(long, value_name = "MONEY")]
    pub price_per_hour: Option<Positive>,
    #[command(flatten)]
    pub otlp: OtlpOptions,
    /// Folder with the runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,
}

/// Shows a stored result, or makes an index of many.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<Exit> {
    let paths = here(arguments)?;
    let stored = match paths.as_slice() {
        [] => latest(&arguments.runs)?,
        [path] => match Stored::at(path) {
            Some(stored) => stored,
            None if path.is_dir() && !list(path)?.is_empty() => {
                return site::publish(&paths, &arguments.output);
            }
            None if !path.exists() => bail!(
                "{} does not exist; `inferometer runs` lists what is stored",
                path.display()
            ),
            None => {
                let path = shown(path);
                return Err(StorageError::NotARun { path }.into());
            }
        },
        _ => return site::publish(&paths, &arguments.output),
    };
    let output = OutputOptions {
        columns: arguments.columns.columns.clone(),
        ..arguments.output.clone()
    };
    check_output(&output)?;
    arguments.otlp.check()?;
    if arguments.otlp.otlp.is_some() && stored.kind != Kind::Run {
        bail!("--otlp sends a single run; give one, such as a folder of its points");
    }
    if stored.kind != Kind::Run && arguments.price_per_hour.is_some() {
        bail!(
            "--price-per-hour is for a single run; give one, such as a folder in {}, or measure again with it",
            stored.path.join("points").display()
        );
    }
    if stored.kind != Kind::Run && !(arguments.slo.is_empty() && arguments.attainment.is_none()) {
        bail!(
            "--slo and --attainment judge a single run again; give one, such as a folder in {}, or measure again with them",
            stored.path.join("points").display()
        );
    }
    match stored.kind {
        Kind::Run => show_run(RunDir::open(&stored.path)?, arguments),
        Kind::Sweep => {
            let sweep = SweepDir::open(&stored.path)?;
            sweep::show(&sweep, &output)?;
            Ok(sweep::exit(&read_sweep(&sweep)?))
        }
        Kind::Capacity => {
            let found = capacity::read(&stored.path)?;
            capacity::show(&found, &stored.path, &arguments.output)?;
            Ok(capacity::exit(&found))
        }
        Kind::Study => tune::show_stored(&stored.path, &arguments.output),
        Kind::Import => import::show_stored(&stored.path, &output),
        Kind::Comparison => compare::show_kept(&stored.path, &output),
    }
}

/// The paths of what was named. Of a sweep or a search in a store, no records are read; of a run,
/// and for an index of many, they are.
fn here(arguments: &ReportArguments) -> anyhow::Result<Vec<PathBuf>> {
    let named = |wanted| -> anyhow::Result<Vec<PathBuf>> {
        let paths = arguments.paths.iter().map(|path| local(path, wanted));
        paths.map(|path| Ok(PathBuf::from(path?))).collect()
    };
    if !arguments.paths.iter().any(|it| Location::is_meant_by(it)) {
        return named(Wanted::All);
    }
    let into_folder = |format: &Format| !matches!(format, Format::Text | Format::Json);
    if arguments.output.to.is_none() && arguments.output.formats().iter().any(into_folder) {
        bail!("a report of what lies in a store needs a place here; name it with -o FILE|DIR");
    }
    let paths = named(Wanted::Figures)?;
    let is_run = |path: &PathBuf| Stored::at(path).is_none_or(|it| it.kind == Kind::Run);
    let is_ours = arguments.output.dialect.foreign().is_none();
    match &paths[..] {
        [path] if !is_run(path) && is_ours => Ok(paths),
        _ => named(Wanted::All),
    }
}

fn show_run(directory: RunDir, arguments: &ReportArguments) -> anyhow::Result<Exit> {
    let mut scenario = directory.scenario()?;
    if let Some(bad) = arguments
        .attainment
        .filter(|share| !(*share > 0.0 && *share <= 1.0))
    {
        bail!("--attainment {bad} is not possible: give a share above 0, at most 1, such as 0.95");
    }
    let is_share = |slo: &Slo| matches!(slo.scope, SloScope::Request | SloScope::Session);
    if !arguments.slo.is_empty() {
        scenario.objectives.slos = arguments.slo.clone();
        // The share that the run asked for was of its own objectives.
        if !arguments.slo.iter().any(is_share) {
            scenario.objectives.attainment = None;
        }
    }
    if arguments.attainment.is_some() {
        scenario.objectives.attainment = arguments.attainment;
    }
    if let Some(price) = arguments.price_per_hour {
        scenario.price_per_hour = Some(price.into());
    }
    let objectives = &scenario.objectives;
    if objectives.attainment.is_some() && !objectives.slos.iter().any(is_share) {
        bail!("--attainment needs --slo: give a request objective such as --slo ttft=500ms");
    }
    let (lang, purpose) = (
        language(arguments.output.lang),
        read_for(&arguments.output.formats()),
    );
    let run = read_again(directory, scenario, lang, purpose)?;
    show(&run, &arguments.output)?;
    arguments.otlp.send(&run, When::Earlier)?;
    Ok(verdict(&run.summary))
}
