//! `inferometer history`: since when each metric is what it is.

use crate::command::compare::margin;
use crate::conditions::{Condition, chosen, condition};
use crate::exit::Exit;
use crate::options::{Format, RUNS, TableOutput};
use crate::output::{Rendered, annotations, check_report, deliver_apart, language, style};
use crate::registry;
use crate::stderr::say;
use crate::stores::{local_folder, shown};
use anyhow::{Context, bail};
use inferometer_campaign::history::{History, METRICS, PastRun, Settings};
use inferometer_compare::Metric;
use inferometer_page::{html, markdown, text};
use inferometer_report::history::{checks, compose, csv, figures};
use inferometer_runner::fetched::Wanted;
use inferometer_runner::with_causes;
use inferometer_store::run_dir::{RunDir, instant, modified};
use inferometer_store::stored::{Kind, Stored, list};
use inferometer_store::sweep_dir::SweepDir;
use inferometer_text::Lang;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct HistoryArguments {
    /// Folders with runs and sweeps, here or in an object store [inferometer-runs, and what --out
    /// put elsewhere]
    #[arg(value_name = "DIR|URL")]
    pub folders: Vec<PathBuf>,
    /// Only runs with that option, tag, url, model, server, engine or label (repeatable)
    #[arg(long = "where", value_name = "K=V", value_parser = condition)]
    pub only: Vec<Condition>,
    /// Take runs for one scenario although they differ in that option, as in url where a server
    /// moved (repeatable)
    #[arg(long, value_name = "NAME")]
    pub across: Vec<String>,
    /// Metrics to follow, such as ttft.p99 [output throughput; mean TTFT, TPOT and
    /// latency; p99 of TTFT]
    #[arg(long, value_name = "METRIC", value_delimiter = ',', value_parser = Metric::named)]
    pub metric: Vec<Metric>,
    /// Changes within this are none
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = margin, allow_negative_numbers = true)]
    pub margin: f64,
    /// Exit with 1 if the latest change of any metric is for the worse
    #[arg(long, value_name = "worse")]
    pub fail_on: Option<FailOn>,
    #[command(flatten)]
    pub output: TableOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = no_failure)]
pub enum FailOn {
    Worse,
}

fn no_failure(_: &str) -> String {
    "choose worse".to_owned()
}

pub fn run(arguments: &HistoryArguments) -> anyhow::Result<Exit> {
    let output = arguments.output.options();
    check_report(&output)?;
    let (runs, left_out) = read(&arguments.folders)?;
    for line in &left_out {
        say(format_args!("left out: {line}"));
    }
    if runs.is_empty() {
        bail!(
            "there is no finished run to look back on; measure with `inferometer run`, again and again, or name the folder of the runs"
        );
    }
    let mut runs = chosen(runs, &arguments.only, |run, name| {
        run.value(name).map(str::to_owned).into_iter().collect()
    })?;
    for name in &arguments.across {
        if !runs.iter().any(|run| run.conditions.contains_key(name)) {
            bail!(
                "--across {name}: no run has such a condition; there is {}",
                condition_names(&runs)
            );
        }
        for run in &mut runs {
            run.across(name);
        }
    }
    let settings = Settings {
        margin: arguments.margin,
        metrics: match &arguments.metric[..] {
            [] => METRICS.to_vec(),
            named => named.to_vec(),
        },
        ..Settings::default()
    };
    let history = History::of(runs, &settings);
    let lang = language(output.lang);
    deliver_apart(&output, "history", |format| {
        render(&history, &arguments.folders, lang, format)
    })?;
    let worse = arguments.fail_on.is_some() && history.is_worse();
    Ok(Exit::fine_if(!worse))
}

fn condition_names(runs: &[PastRun]) -> String {
    let names = runs.iter().flat_map(|run| run.conditions.keys());
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    Vec::from_iter(names).join(", ")
}

/// The history of the runs in a folder, with the usual settings.
pub fn of_folder(folder: &Path) -> anyhow::Result<History> {
    let (runs, _) = read(&[folder.to_owned()])?;
    Ok(History::of(runs, &Settings::default()))
}

/// The page of the history of some folders.
pub fn page(folders: &[PathBuf], lang: Lang) -> anyhow::Result<String> {
    let (runs, _) = read(folders)?;
    let history = History::of(runs, &Settings::default());
    Ok(html::render(
        &inferometer_site::pages::history::compose_page(&history, folders, lang),
    ))
}

/// Every finished run in the folders, and what could not be read.
fn read(folders: &[PathBuf]) -> anyhow::Result<(Vec<PastRun>, Vec<String>)> {
    let mut stored: Vec<Stored> = Vec::new();
    if folders.is_empty() {
        let here = Path::new(RUNS);
        if here.is_dir() {
            stored.extend(list(here)?);
        }
        stored.extend(registry::elsewhere(here));
    }
    for folder in folders {
        // A name as `runs` prints it will do.
        let folder = match folder.to_str() {
            Some(name) => PathBuf::from(registry::path_of(name)),
            None => folder.clone(),
        };
        let folder = &local_folder(&folder, Wanted::Figures)?;
        match Stored::at(folder) {
            Some(one) => stored.push(one),
            None if folder.is_dir() => stored.extend(list(folder)?),
            None => bail!(
                "{} is not a folder; name a folder of runs",
                folder.display()
            ),
        }
    }
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for path in stored.iter().flat_map(run_folders) {
        if !seen.insert(std::path::absolute(&path).unwrap_or_else(|_| path.clone())) {
            continue;
        }
        match past_run(&path) {
            Ok(run) => runs.extend(run),
            Err(error) => {
                let why = with_causes(error.as_ref());
                left_out.push(format!("{}: {why}", shown(&path).display()));
            }
        }
    }
    // They say when they were read, which is not when they were measured.
    let imports = stored.iter().filter(|one| one.kind == Kind::Import).count();
    if imports > 0 {
        left_out.push(format!(
            "imports: {imports} (when their results were measured is not known; `inferometer compare` holds two of them against each other)"
        ));
    }
    Ok((runs, left_out))
}

/// The runs of a result; searches and studies choose their loads as they go, and have none.
pub fn run_folders(stored: &Stored) -> Vec<PathBuf> {
    match stored.kind {
        Kind::Run => vec![stored.path.clone()],
        Kind::Sweep => {
            let Ok(sweep) = SweepDir::open(&stored.path) else {
                return Vec::new();
            };
            let trials = sweep.results().unwrap_or_default();
            trials.iter().filter_map(|it| sweep.run_path(it)).collect()
        }
        Kind::Capacity | Kind::Study | Kind::Import | Kind::Comparison => Vec::new(),
    }
}

/// A run that came to its end; absent for one that goes on, was killed or never began.
pub fn past_run(path: &Path) -> anyhow::Result<Option<PastRun>> {
    let run = RunDir::open(path)?;
    let ending = run.stored_ending()?;
    let ended = ending.is_some_and(|it| !it.cause.is_without_ending());
    if run.is_running() || !ended {
        return Ok(None);
    }
    let (scenario, environment) = (run.scenario()?, run.environment()?);
    let began = instant(&environment.started)
        .with_context(|| format!("its beginning is not a time: '{}'", environment.started))?;
    let began = [began, modified(path).unwrap_or_default()];
    let path = shown(path).display().to_string();
    let summary = run.summary()?;
    Ok(Some(PastRun::of(
        path,
        began,
        &scenario,
        &environment,
        summary,
    )))
}

fn render(
    history: &History,
    folders: &[PathBuf],
    lang: Lang,
    format: Format,
) -> anyhow::Result<Rendered> {
    Ok(Rendered::Whole(match format {
        Format::Text => text::render(&compose(history, lang), style()),
        Format::Md => markdown::render(&compose(history, lang)),
        Format::Csv => csv(history),
        Format::Json => serde_json::to_string_pretty(history)? + "\n",
        Format::Html => html::render(&inferometer_site::pages::history::compose_page(
            history, folders, lang,
        )),
        Format::Junit => checks(history, lang).junit(),
        Format::Github => annotations(&checks(history, lang), &compose(history, lang))?,
        Format::Svg | Format::Png => return Ok(Rendered::Figures(figures(history, lang))),
    }))
}
