//! `inferometer runs`: what is in the runs folder.

use crate::command::history::{past_run, run_folders};
use crate::command::{capacity, compare, tune};
use crate::conditions::{Condition, chosen, condition};
use crate::exit::Exit;
use crate::options::{ColumnOptions, RUNS, lang};
use crate::output::{language, print, style};
use crate::registry;
use crate::stores::{local_folder, shown};
use clap::Args;
use inferometer_core::doubt::Severity;
use inferometer_core::point::Point;
use inferometer_core::scenario::SimClock;
use inferometer_core::summary::Summary;
use inferometer_core::value::Tag;
use inferometer_import::{ImportedResult, groups, measured_in, repeats};
use inferometer_page::{markdown, text};
use inferometer_report::runs::{
    KnownResult, Listed, PointTally, RunLoad, RunState, compose, csv, value,
};
use inferometer_report::sweep::{Visited, tally};
use inferometer_runner::fetched::Wanted;
use inferometer_runner::now::{goes_on, load_of, runs_of};
use inferometer_runner::sweep::read as read_sweep;
use inferometer_store::run_dir::RunDir;
use inferometer_store::stored::{Kind, Stored, is_newer, list};
use inferometer_store::sweep_dir::{SweepDir, SweepPlan, TrialState};
use inferometer_text::Lang;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct RunsArguments {
    /// Folder with the runs, here or in an object store [inferometer-runs, and what --out put
    /// elsewhere]
    #[arg(value_name = "FOLDER|URL")]
    pub folder: Option<PathBuf>,
    /// Format, text unless given
    #[arg(long, value_name = "text|md|json|csv")]
    pub format: Option<ListFormat>,
    /// Only those with that option, tag, model, server, engine, label, kind or state (repeatable)
    #[arg(long = "where", value_name = "K=V", value_parser = condition)]
    pub only: Vec<Condition>,
    /// So many, the newest; 0 for all [text in a terminal: 30; else all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub columns: ColumnOptions,
    /// Language [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}

/// What a reader of a terminal takes in.
const IN_TERMINAL: usize = 30;

pub fn run(arguments: &RunsArguments) -> anyhow::Result<Exit> {
    let folder = arguments.folder.as_deref().unwrap_or(Path::new(RUNS));
    let folder = &local_folder(folder, Wanted::Figures)?;
    let mut stored = list(folder)?;
    if arguments.folder.is_none() {
        stored.extend(registry::elsewhere(folder));
    }
    stored.sort_by(|a, b| (&b.started, &b.path).cmp(&(&a.started, &a.path)));
    let all = stored.len();
    let format = arguments.format.unwrap_or(ListFormat::Text);
    let is_read = format == ListFormat::Text && std::io::stdout().is_terminal();
    let limit = match arguments.limit {
        None if is_read => IN_TERMINAL,
        None | Some(0) => usize::MAX,
        Some(count) => count,
    };
    // What is not shown need not be read.
    if arguments.only.is_empty() {
        stored.truncate(limit);
    }
    let known = stored.into_iter().map(|stored| (known(&stored), stored));
    let chosen = chosen(known.collect(), &arguments.only, values)?;
    let all = if arguments.only.is_empty() {
        all
    } else {
        chosen.len()
    };
    let mut lines: Vec<KnownResult> = chosen.into_iter().map(|(known, _)| known).collect();
    lines.truncate(limit);
    for line in &mut lines {
        line.path = shown(&line.path);
    }
    if matches!(format, ListFormat::Text | ListFormat::Md) {
        // What people read is what they can type.
        for line in &mut lines {
            line.name = registry::name_of(&line.path);
        }
    }
    let columns = arguments.columns.columns.as_ref();
    let list = || compose(&lines, all, columns, language(arguments.lang));
    print(&match format {
        ListFormat::Text => text::render(&list(), style()),
        ListFormat::Md => markdown::render(&list()),
        ListFormat::Json => serde_json::to_string_pretty(&value(&lines))? + "\n",
        ListFormat::Csv => csv(&lines, columns),
    })?;
    Ok(Exit::Fine)
}

/// What is known of a result by a name: of a sweep or a search, that of each of its runs.
fn values((known, stored): &(KnownResult, Stored), name: &str) -> Vec<String> {
    match name {
        "kind" => return vec![stored.kind.to_string()],
        "state" => return vec![known.state.into_str().to_owned()],
        "label" if known.label.is_some() => return known.label.clone().into_iter().collect(),
        name if known.tags.contains_key(name) => return vec![known.tags[name].clone()],
        _ => {}
    }
    let runs = match stored.kind {
        Kind::Capacity | Kind::Study => {
            let runs = runs_of(&stored.path).into_iter();
            runs.map(|run| run.path().to_owned()).collect()
        }
        Kind::Run | Kind::Sweep | Kind::Import | Kind::Comparison => run_folders(stored),
    };
    let runs = runs.iter().filter_map(|path| past_run(path).ok()?);
    runs.filter_map(|run| run.value(name).map(str::to_owned))
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = no_list_format)]
pub enum ListFormat {
    Text,
    Md,
    Json,
    Csv,
}

fn no_list_format(_: &str) -> String {
    "choose text, md, json or csv; inferometer report FOLDER -o SITE makes pages".to_owned()
}

/// The name of its directory.
pub fn name(stored: &Stored) -> String {
    let name = stored.path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// What is known of a result, whatever its kind; what cannot be read is absent.
pub fn known(stored: &Stored) -> KnownResult {
    let known = match stored.kind {
        Kind::Run => run_of(stored),
        Kind::Sweep => sweep_of(stored),
        Kind::Capacity => capacity_of(stored),
        Kind::Study => study_of(stored),
        Kind::Import => import_of(stored),
        Kind::Comparison => comparison_of(stored),
    };
    KnownResult {
        started: stored.started.clone(),
        models: stored.model.iter().cloned().chain(known.models).collect(),
        engines: (stored.engine.iter().cloned())
            .chain(known.engines)
            .collect(),
        path: stored.path.clone(),
        state: match known.state {
            RunState::Unfinished | RunState::Unconfirmed if goes_on(&stored.path) => {
                RunState::Running
            }
            RunState::Unfinished | RunState::Damaged if is_newer(&stored.path) => RunState::Newer,
            known => known,
        },
        ..known
    }
}

fn by_key(tags: &[Tag]) -> BTreeMap<String, String> {
    let pairs = tags.iter().map(|tag| (tag.key.clone(), tag.value.clone()));
    pairs.collect()
}

/// The figures are those of the best configuration.
fn study_of(stored: &Stored) -> KnownResult {
    let (found, is_complete) = tune::read_stored(&stored.path).ok().unzip();
    let figures = (found.as_ref()).and_then(|found| {
        let best = found.best.as_ref()?.trial;
        let row = found.trials.iter().find(|row| row.id == best)?;
        serde_json::from_value(row.summary.clone()?).ok()
    });
    let state = match &found {
        Some(found) if found.best.is_some() || is_complete == Some(true) => {
            inferometer_report::study::state(found)
        }
        Some(_) | None => RunState::Unfinished,
    };
    let computed = found.as_ref().is_some_and(|found| found.computed);
    let rows = found.map(|found| found.trials).unwrap_or_default();
    let trials = rows.len();
    KnownResult {
        figures,
        curve: rows.iter().filter_map(|row| row.objective).collect(),
        computed,
        ..KnownResult::new(&name(stored), Listed::Study { trials }, state)
    }
}

/// Headings and facts of an import by which it is found.
const MOST_WORDS: usize = 60;

fn import_of(stored: &Stored) -> KnownResult {
    let import = inferometer_import::Stored::open(&stored.path);
    let is_damaged = import.is_err();
    let results = import.map(|import| import.results).unwrap_or_default();
    let repeated = repeats(&results);
    // A row that repeats a block, and a start that was refused, are no results of their own.
    let measured = results.iter().zip(&repeated);
    let measured = measured.filter(|(it, block)| it.summary.is_some() && block.is_none());
    let gravest = |it: &ImportedResult| it.doubts.iter().map(|doubt| doubt.severity).max();
    let gravest: Vec<_> = measured.map(|(it, _)| gravest(it)).collect();
    let is_invalid = |gravest: &Option<Severity>| *gravest == Some(Severity::Invalid);
    let state = match gravest.iter().max().copied().flatten() {
        _ if is_damaged => RunState::Damaged,
        Some(Severity::Invalid) if gravest.iter().all(is_invalid) => RunState::Invalid,
        Some(Severity::Invalid | Severity::Warn) => RunState::Doubtful,
        Some(Severity::Note) | None => RunState::Foreign,
    };
    // The ladder of the first group that has one.
    let ladders = (groups(&results).iter())
        .map(|group| {
            let measured = measured_in(&results, &repeated, group).into_iter();
            let loads = measured.filter_map(|it| {
                let rate = it.found.summary.as_ref()?.throughput.output_tokens_per_s?;
                Some((load_of(&it.point)?, rate))
            });
            by_load(loads.collect())
        })
        .find(|ladder| ladder.len() > 2);
    let told = results.iter().flat_map(|result| {
        let heading = result.section.iter().chain(&result.heading);
        heading.chain(result.facts.values())
    });
    let words: BTreeSet<&String> = told.collect();
    let words = words.into_iter().take(MOST_WORDS).cloned().collect();
    let named = |fact: &str| {
        let named = results.iter().filter_map(|result| result.facts.get(fact));
        named.cloned().collect()
    };
    let (models, engines) = (named("model"), named("engine"));
    let results = gravest.len();
    KnownResult {
        models,
        engines,
        words,
        curve: ladders.unwrap_or_default(),
        ..KnownResult::new(&name(stored), Listed::Import { results }, state)
    }
}

/// What it says, where everything could be compared.
fn comparison_of(stored: &Stored) -> KnownResult {
    let kept = compare::Kept::open(&stored.path).ok();
    let state = match &kept {
        Some(kept) if kept.is_comparable() => kept.state(),
        Some(_) => RunState::Invalid,
        None => RunState::Damaged,
    };
    let names = kept.map_or_else(Vec::new, |kept| kept.sides);
    let sides = names.len();
    KnownResult {
        words: names,
        ..KnownResult::new(&name(stored), Listed::Comparison { sides }, state)
    }
}

fn run_of(stored: &Stored) -> KnownResult {
    let run = RunDir::open(&stored.path).ok();
    let scenario = run.as_ref().and_then(|run| run.scenario().ok());
    let read = run.as_ref().map(RunDir::summary);
    let is_damaged = matches!(&read, Some(Err(error)) if error.is_damage());
    let summary = read.and_then(Result::ok);
    let state = match &summary {
        Some(summary) if summary.valid => RunState::Valid,
        Some(_) => RunState::Invalid,
        None if is_damaged => RunState::Damaged,
        None if run.as_ref().is_some_and(RunDir::is_running) => RunState::Running,
        None => RunState::Unfinished,
    };
    let asked = scenario.as_ref();
    let ttft = (summary.as_ref()).and_then(|summary| summary.latency.ttft_ms);
    let load = asked.map(|scenario| RunLoad::from(&scenario.load.shape));
    KnownResult {
        label: asked.and_then(|scenario| scenario.label.clone()),
        tags: asked.map_or_else(BTreeMap::new, |scenario| by_key(&scenario.tags)),
        computed: asked.is_some_and(|it| it.connection.sim_clock == SimClock::Virtual),
        figures: summary,
        curve: ttft.map_or_else(Vec::new, |it| {
            vec![it.min, it.p50, it.p75, it.p90, it.p95, it.p99]
        }),
        ..KnownResult::new(&name(stored), Listed::Run(load), state)
    }
}

fn sweep_of(stored: &Stored) -> KnownResult {
    let opened = SweepDir::open(&stored.path).ok();
    let visited = opened.as_ref().and_then(|dir| read_sweep(dir).ok());
    let plan = opened.as_ref().map(SweepDir::plan);
    let state = match &visited {
        Some(visited) => state(visited, plan.map_or(0, |plan| plan.visits.len())),
        None => RunState::Damaged,
    };
    let visited = visited.unwrap_or_default();
    let read = plan.map(|plan| plan.with_seeds_as_repeats(&visited));
    let (plan, visited) = match &read {
        Some((plan, visited)) => (Some(plan.as_ref()), visited.to_vec()),
        None => (None, Vec::new()),
    };
    let curve = plan.map_or_else(Vec::new, |plan| curve(plan, &visited));
    let tally = plan.map_or_else(PointTally::default, |plan| tally(plan, &visited));
    let best = best(visited);
    let point = best.as_ref().and_then(|(id, _)| {
        let planned = plan?.points.iter().find(|point| point.id == *id)?;
        // A sweep over nothing but repeats has one point, at the load of its runs.
        let is_named = !planned.point.0.is_empty();
        let load = || {
            Some(Point::of_load(
                &planned.options.clone().resolve().ok()?.load,
            ))
        };
        let point = is_named.then(|| planned.point.clone()).or_else(load)?;
        Some(point.to_string())
    });
    let points = plan.map_or(0, |plan| plan.points.len());
    KnownResult {
        label: plan.and_then(|plan| plan.label.clone()),
        tags: plan.map_or_else(BTreeMap::new, |plan| by_key(&plan.tags)),
        point,
        figures: best.map(|(_, summary)| summary),
        tally,
        curve,
        computed: (plan.and_then(|plan| plan.points.first()))
            .is_some_and(|it| it.options.connection.sim_clock == Some(SimClock::Virtual)),
        ..KnownResult::new(&name(stored), Listed::Sweep { points }, state)
    }
}

/// The mean throughput of the valid measurements at each load, in ascending order.
fn curve(plan: &SweepPlan, visited: &[Visited]) -> Vec<f64> {
    let measured = visited.iter().filter_map(|visited| {
        let summary = visited.summary.as_ref().filter(|summary| summary.valid)?;
        let mut points = plan.points.iter();
        let planned = points.find(|point| point.id == visited.trial.id)?;
        let rate = summary.throughput.output_tokens_per_s?;
        Some((load_of(&planned.point)?, rate))
    });
    by_load(measured.collect())
}

/// The mean value at each load, in ascending order.
fn by_load(mut loads: Vec<(f64, f64)>) -> Vec<f64> {
    loads.sort_by(|a, b| a.0.total_cmp(&b.0));
    (loads.chunk_by(|a, b| a.0 == b.0))
        .map(|same| {
            let sum: f64 = same.iter().map(|(_, value)| value).sum();
            sum / same.len() as f64
        })
        .collect()
}

/// A sweep is valid if all of its measurements are made and are.
fn state(visited: &[Visited], planned: usize) -> RunState {
    let open = |visited: &&Visited| visited.trial.state == TrialState::Interrupted;
    let fine = |visited: &Visited| match (&visited.summary, visited.trial.state) {
        (_, TrialState::Skipped) => true,
        (Some(summary), _) => summary.valid,
        (None, _) => false,
    };
    if visited.len() - visited.iter().filter(open).count() < planned {
        RunState::Unfinished
    } else if visited.iter().all(fine) {
        RunState::Valid
    } else {
        RunState::Invalid
    }
}

/// The valid measurement with the most output tokens a second, by the id of its point: one that meets
/// the objectives, if any does.
fn best(visited: Vec<Visited>) -> Option<(String, Summary)> {
    let rate = |summary: &Summary| summary.throughput.output_tokens_per_s.unwrap_or(0.0);
    let is_within =
        |summary: &Summary| (summary.slo.as_ref()).and_then(|slo| slo.met) != Some(false);
    (visited.into_iter())
        .filter_map(|visited| Some((visited.trial.id, visited.summary?)))
        .filter(|(_, summary)| summary.can_win())
        .reduce(|best, next| {
            let rank = |summary: &Summary| (is_within(summary), rate(summary));
            if rank(&next.1) > rank(&best.1) {
                next
            } else {
                best
            }
        })
}

fn capacity_of(stored: &Stored) -> KnownResult {
    let found = capacity::read(&stored.path).ok();
    let known = found.as_ref();
    let state = match known {
        None => RunState::Unfinished,
        Some(found) if found.is_unfinished() => RunState::Unfinished,
        Some(found) if capacity::exit(found) == Exit::Fine => RunState::Valid,
        Some(_) => RunState::Invalid,
    };
    let what = Listed::Capacity {
        over: known.map_or_else(String::new, |found| found.over.clone()),
        value: known.and_then(|found| found.answer.value),
    };
    KnownResult {
        label: known.and_then(|found| found.label.clone()),
        tags: known
            .and_then(|found| found.confirmed.as_ref())
            .map_or_else(BTreeMap::new, |summary| summary.tags.clone()),
        computed: known.is_some_and(|found| found.sim_clock == SimClock::Virtual),
        curve: known.map_or_else(Vec::new, |found| {
            found.probes.iter().map(|probe| probe.level).collect()
        }),
        figures: found.and_then(|found| found.confirmed),
        ..KnownResult::new(&name(stored), what, state)
    }
}
