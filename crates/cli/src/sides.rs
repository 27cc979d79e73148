//! What `compare` is given: a run, a folder of runs, a sweep, an import, or a file that `import`
//! reads. Each becomes a group of runs with the load of each.

use crate::output::language;
use crate::parts;
use crate::stores::shown;
use anyhow::{Context, bail};
use inferometer_analysis::context::RunContext;
use inferometer_catalog::engine::{EngineKind, LaunchCommand};
use inferometer_compare::{Definition, ForeignDoubt, Group, Metric, RunSample, Series, System};
use inferometer_core::doubt::DoubtCode;
use inferometer_core::environment::Environment;
use inferometer_core::point::{GROUP, Point};
use inferometer_core::scenario::{Scenario, SimClock};
use inferometer_core::slo::Slo;
use inferometer_core::summary::{CARDS, Summary};
use inferometer_import::{
    ImportDoubt, ImportedResult, MeasuredResult, ResultsOfCard, Stored, by_card, doubts, measured,
    meeting, out_of_memory,
};
use inferometer_runner::measure::{ReadFor, device, read};
use inferometer_runner::with_causes;
use inferometer_store::run_dir::RunDir;
use inferometer_store::stored::{self, Kind};
use inferometer_store::sweep_dir::SweepDir;
use inferometer_text::Lang;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use strum::VariantArray as _;

/// Options of the load that are axes where they vary; the others only say how long it goes on.
const LOAD_AXES: [&str; 4] = ["arrival", "burstiness", "max-concurrency", "ramp"];

/// A group, and what its runs may differ in.
pub struct Side {
    pub group: Group,
    /// What else is known of each run, in their order; nothing of an import.
    facts: Vec<Facts>,
    /// Launch flags of each result of an import, in their order.
    flags: Vec<BTreeMap<String, Value>>,
    /// What was left out, for a reader.
    pub left_out: Vec<String>,
}

/// What is known of a run beside its figures.
struct Facts {
    /// Options that may be axes of a sweep.
    options: BTreeMap<String, Value>,
    server: String,
    /// Wall time of its beginning.
    started: String,
}

impl Facts {
    /// The value of an axis as it is written in a name.
    fn value(&self, axis: &str, point: &Point) -> Option<String> {
        if axis == "url" {
            return Some(self.server.clone());
        }
        let value = self.options.get(axis).or_else(|| point.0.get(axis))?;
        Some(match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}

impl Side {
    fn new(name: &str) -> Self {
        Side {
            group: Group {
                name: name.to_owned(),
                ..Group::default()
            },
            facts: Vec::new(),
            flags: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Those of its runs that have a value of an option, a tag, a launch flag or `url`.
    fn with(self, name: &str, axis: &str, value: &str) -> anyhow::Result<Side> {
        let mut part = Side::new(name);
        let mut values = BTreeSet::new();
        for (run, facts) in self.group.runs.into_iter().zip(self.facts) {
            let own = facts.value(axis, &run.point);
            if own.as_deref() == Some(value) {
                part.group.runs.push(run);
                part.facts.push(facts);
            } else {
                values.extend(own);
            }
        }
        part.left_out = self.left_out;
        if !part.group.runs.is_empty() {
            return Ok(part);
        }
        let values: Vec<String> = values.into_iter().collect();
        if values.is_empty() {
            bail!("{name}: no run there has a {axis}");
        }
        bail!(
            "{name}: no run there has that {axis}; there is {}",
            values.join(", ")
        )
    }

    /// Runs of one folder that went to several servers are a group for each, as an interleaved
    /// sweep leaves them; the server that was measured first is the baseline.
    pub fn by_server(self) -> Vec<Side> {
        let Side {
            group,
            facts,
            left_out,
            ..
        } = self;
        let mut runs: Vec<(RunSample, Facts)> = group.runs.into_iter().zip(facts).collect();
        runs.sort_by(|a, b| a.1.started.cmp(&b.1.started));
        let mut groups: Vec<Side> = Vec::new();
        for (run, facts) in runs {
            let known = groups
                .iter()
                .position(|known| known.group.name == facts.server);
            let at = known.unwrap_or_else(|| {
                groups.push(Side::new(&facts.server));
                groups.len() - 1
            });
            groups[at].group.runs.push(run);
            groups[at].facts.push(facts);
        }
        if let Some(first) = groups.first_mut() {
            first.left_out = left_out;
        }
        groups
    }
}

/// Reads what was named: a part of an import, or with `PATH@NAME=VALUE` the runs of a folder that
/// were made so. Objectives that are given take the place of the runs' own.
///
/// Results of one test on several cards are a side for each card.
pub fn open(name: &str, objectives: &[Slo]) -> anyhow::Result<Vec<Side>> {
    let path = Path::new(name);
    if !path.exists() {
        if let Some((folder, setting)) = name.split_once('@')
            && let Some((axis, value)) = setting.split_once('=')
            && Path::new(folder).is_dir()
            && !Stored::is_at(Path::new(folder))
        {
            let whole = run_folders(Path::new(folder))?;
            let whole = of_runs(folder, Path::new(folder), &whole, objectives)?;
            return Ok(vec![whole.with(name, axis, value)?]);
        }
        if name.contains(['@', '#']) {
            return of_cards(name, &parts::read(name)?.results, objectives);
        }
    }
    let about = std::fs::metadata(path).with_context(|| {
        format!("cannot read {name}; check the path: `inferometer runs` lists what is stored")
    })?;
    if let Some(what) = search_at(path) {
        bail!(
            "{name} is {what}, whose loads or flags were chosen as it went on; compare takes runs, sweeps and imports: measure both at the loads of interest, or name runs inside it"
        );
    }
    if about.is_dir() && !Stored::is_at(path) {
        let runs = run_folders(path)?;
        if !runs.is_empty() {
            return Ok(vec![of_runs(name, path, &runs, objectives)?]);
        }
        if std::fs::read_dir(path)?.next().is_none() {
            bail!("{name} is empty: it holds no run; give a run directory, a sweep or an import");
        }
    }
    let imported = parts::read(name)
        .with_context(|| format!("{name} holds neither a run of inferometer nor a known result"))?;
    of_cards(name, &imported.results, objectives)
}

/// What a folder is that holds a search of ours.
fn search_at(folder: &Path) -> Option<&'static str> {
    match stored::Stored::at(folder)?.kind {
        Kind::Capacity => Some("a search for capacity"),
        Kind::Study => Some("a study of launch flags"),
        Kind::Comparison => Some("a comparison"),
        Kind::Run | Kind::Sweep | Kind::Import => None,
    }
}

/// Run directories: the folder itself, those in it, or the points of a sweep.
fn run_folders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if RunDir::open(folder).is_ok() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut found = Vec::new();
    for place in [folder.to_owned(), folder.join("points")] {
        let Ok(content) = std::fs::read_dir(&place) else {
            continue;
        };
        for entry in content {
            let path = entry
                .with_context(|| format!("cannot read {}", place.display()))?
                .path();
            if RunDir::open(&path).is_ok() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn of_runs(
    name: &str,
    folder: &Path,
    paths: &[PathBuf],
    objectives: &[Slo],
) -> anyhow::Result<Side> {
    let alone = paths == [folder.to_owned()];
    let mut side = Side::new(name);
    let flags = launch_flags(folder)?;
    for path in paths {
        match run(path, objectives) {
            Ok((sample, mut facts)) => {
                let own = flags.get(path).into_iter().flatten();
                facts
                    .options
                    .extend(own.map(|(name, value)| (name.clone(), value.clone().into())));
                side.group.runs.push(sample);
                side.facts.push(facts);
            }
            // One bad point must not cost the others.
            Err(error) if !alone => {
                side.left_out.push(format!(
                    "{}: {}",
                    shown(path).display(),
                    with_causes(error.as_ref())
                ));
            }
            Err(error) => {
                return Err(error.context(format!("{} cannot be compared", path.display())));
            }
        }
    }
    if side.group.runs.is_empty() {
        bail!(
            "{name}: none of its {} runs can be read: {}",
            paths.len(),
            side.left_out[0]
        );
    }
    Ok(side)
}

/// Flags of the engines that a sweep started, by the run that was made with them: a run itself
/// does not know what its server was started with.
fn launch_flags(folder: &Path) -> anyhow::Result<BTreeMap<PathBuf, BTreeMap<String, String>>> {
    if !SweepDir::is_at(folder) {
        return Ok(BTreeMap::new());
    }
    let sweep = SweepDir::open(folder)?;
    let trials = sweep.results()?;
    let flags_of = |id: &str| {
        let mut points = sweep.plan().points.iter();
        points
            .find(|point| point.id == id)
            .map(|point| point.flags.clone())
    };
    let known = trials
        .iter()
        .filter_map(|trial| Some((sweep.run_path(trial)?, flags_of(&trial.id)?)));
    Ok(known.collect())
}

/// One run. Its records are read one by one and kept as columns.
fn run(path: &Path, objectives: &[Slo]) -> anyhow::Result<(RunSample, Facts)> {
    let directory = RunDir::open(path)?;
    if directory.is_running() {
        bail!("the run is still going on; wait for its end");
    }
    let mut scenario = directory.scenario()?;
    let is_written = directory.path().join("summary.json").is_file();
    let summary = if is_written && objectives.is_empty() {
        directory.summary()?
    } else {
        if !objectives.is_empty() {
            scenario.objectives.slos = objectives.to_vec();
        }
        folded_again(&directory, &scenario)?
    };
    let mut trouble = None;
    let mut records = directory.records()?;
    let sound =
        (&mut records).map_while(|record| record.map_err(|error| trouble = Some(error)).ok());
    let series = Series::of_records(sound);
    if let Some(error) = trouble {
        return Err(error.into());
    }
    // A run that ended has both files; reading them checks that nobody altered them.
    let environment = match directory.stored_ending()? {
        Some(_) => Some(directory.environment()?),
        None => None,
    };
    let sample = RunSample {
        name: shown(path).display().to_string(),
        point: Point::of_load(&scenario.load),
        system: system(&scenario, environment.as_ref(), &summary),
        answered: Some(summary.requests.ok),
        summary,
        definition: Definition::of(&scenario),
        foreign_doubts: Vec::new(),
        in_chinese: BTreeMap::new(),
        contradicted: Vec::new(),
        series: Some(series),
    };
    let started = environment.map(|it| it.started).unwrap_or_default();
    let facts = Facts {
        options: axes(&scenario),
        server: scenario.connection.urls.join(" "),
        started,
    };
    Ok((sample, facts))
}

/// The model as it was served; the card as it was tagged, seen while it worked, or simulated.
fn system(scenario: &Scenario, environment: Option<&Environment>, summary: &Summary) -> System {
    let model = environment.map(|it| it.server.model.clone());
    let server = summary.server.as_ref();
    let seen = || Some(server?.devices.first()?.name.clone());
    let connection = &scenario.connection;
    let is_simulated = connection.sim_clock == SimClock::Virtual || connection.urls.is_empty();
    let simulated = || device(connection.sim_device.as_deref()).ok();
    System {
        model: model.filter(|model| !model.is_empty()),
        device: (summary.tags.get("device").cloned())
            .or_else(seen)
            .or_else(|| Some(simulated().filter(|_| is_simulated)?.name.clone())),
        is_simulated: environment.is_some_and(Environment::is_simulated),
    }
}

/// The summary of a run that could not write one, or that is judged by other objectives.
fn folded_again(directory: &RunDir, scenario: &Scenario) -> anyhow::Result<Summary> {
    let context = "the run is half written: it has no summary, and its records cannot be read";
    let environment = directory.environment().context(context)?;
    let ending = directory.ending().context(context)?;
    let context = RunContext {
        scenario,
        environment: &environment,
        ending: &ending,
        lang: language(None),
    };
    Ok(read(directory, &context, ReadFor::Numbers)?
        .folded
        .summary(context.lang))
}

/// Options that may be axes of a sweep, as they were given.
fn axes(scenario: &Scenario) -> BTreeMap<String, Value> {
    let options = scenario.options();
    let known = |table: Value| match table {
        Value::Object(table) => table,
        _ => serde_json::Map::new(),
    };
    let load = known(serde_json::to_value(&options.load).unwrap_or_default());
    let work = known(serde_json::to_value(&options.work).unwrap_or_default());
    let tags = scenario
        .tags
        .iter()
        .map(|tag| (tag.key.clone(), Value::from(tag.value.clone())));
    load.into_iter()
        .filter(|(name, _)| LOAD_AXES.contains(&name.as_str()))
        .chain(work)
        .chain(tags)
        .filter(|(_, value)| !value.is_null())
        .collect()
}

/// Groups of imports meet by their names, unless every side is a single one.
fn name_groups(sides: &mut [Side]) {
    let group = |run: &RunSample| run.point.group().map(str::to_owned);
    let several = sides.iter().any(|side| {
        let groups: BTreeSet<_> = side.group.runs.iter().map(group).collect();
        groups.len() > 1
    });
    if several {
        let names = |side: &Side| -> BTreeSet<String> {
            side.group.runs.iter().filter_map(group).collect()
        };
        let all = sides.iter().enumerate().flat_map(|(place, side)| {
            let names = names(side).into_iter();
            names.map(move |name| (place, vec![name]))
        });
        let all: Vec<(usize, Vec<String>)> = all.collect();
        let met = meeting(&all);
        for ((place, whole), name) in all.iter().zip(&met) {
            // What all call the same keeps its whole name.
            let mut same = all.iter().zip(&met).filter(|(_, other)| *other == name);
            if same.all(|((_, other), _)| other == whole) {
                continue;
            }
            let group = &mut sides[*place].group;
            let points = group.runs.iter_mut().map(|run| &mut run.point);
            for point in points.chain(&mut group.out_of_memory) {
                if point.group() == whole.first().map(String::as_str) {
                    let name = name.first().map_or("", String::as_str);
                    point.0.insert(GROUP.to_owned(), name.into());
                }
            }
        }
    } else {
        for side in sides {
            let runs = side.group.runs.iter_mut().map(|run| &mut run.point);
            for point in runs.chain(&mut side.group.out_of_memory) {
                *point = point.without_group();
            }
        }
    }
}

/// Results of imports name the flags that tell those of the same test on another side apart, so that
/// equal settings meet where only one side has several.
fn name_flags(sides: &mut [Side]) {
    let mut axes: BTreeMap<Option<String>, BTreeSet<String>> = BTreeMap::new();
    for run in sides.iter().flat_map(|side| &side.group.runs) {
        let of_test = axes
            .entry(run.point.group().map(str::to_owned))
            .or_default();
        of_test.extend(run.point.0.keys().cloned());
    }
    for side in sides {
        for (run, flags) in side.group.runs.iter_mut().zip(&side.flags) {
            let of_test = axes.get(&run.point.group().map(str::to_owned));
            for axis in of_test.into_iter().flatten() {
                if let Some(value) = flags.get(axis) {
                    let own = run.point.0.entry(axis.clone());
                    own.or_insert_with(|| value.clone());
                }
            }
        }
    }
}

/// Runs of one group at several settings are told apart by what varies among them, in every
/// group alike, so that equal settings meet.
pub fn separate(sides: &mut [Side]) {
    name_groups(sides);
    name_flags(sides);
    let mut varying: BTreeSet<String> = BTreeSet::new();
    for side in sides.iter() {
        let names: BTreeSet<&String> = (side.facts.iter())
            .flat_map(|facts| facts.options.keys())
            .collect();
        for name in names {
            let values: BTreeSet<String> = (side.facts.iter())
                .map(|facts| {
                    facts
                        .options
                        .get(name)
                        .map(Value::to_string)
                        .unwrap_or_default()
                })
                .collect();
            if values.len() > 1 {
                varying.insert(name.clone());
            }
        }
    }
    for side in sides {
        for (run, facts) in side.group.runs.iter_mut().zip(&side.facts) {
            let own = facts
                .options
                .iter()
                .filter(|(name, _)| varying.contains(*name));
            run.point
                .0
                .extend(own.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
}

fn of_cards(
    name: &str,
    results: &[ImportedResult],
    objectives: &[Slo],
) -> anyhow::Result<Vec<Side>> {
    let side = |part: ResultsOfCard| match part.card {
        Some(card) => of_results(&format!("{name}@card={card}"), &part.results, objectives),
        None => of_results(name, &part.results, objectives),
    };
    by_card(results).into_iter().map(side).collect()
}

fn of_results(name: &str, results: &[ImportedResult], objectives: &[Slo]) -> anyhow::Result<Side> {
    let mut side = Side::new(name);
    side.group.out_of_memory = out_of_memory(results);
    let typed = doubts(results);
    for MeasuredResult {
        place,
        point,
        found,
    } in measured(results)
    {
        if let Some(summary) = &found.summary {
            let answered = summary.requests.answered();
            let judged = (!objectives.is_empty()).then(|| summary.judged(objectives));
            let mut summary = summary.to_summary();
            summary.slo = judged.or(summary.slo);
            if let Some(cards) = cards(found) {
                summary.tags.entry(CARDS.to_owned()).or_insert(cards);
            }
            side.flags.push(found.flags.clone().unwrap_or_default());
            let mut sample = RunSample::imported(found.tool.name(), point, summary);
            sample.answered = answered;
            if let Some(answers) = found.answers() {
                sample = sample.with_answers(answers);
            }
            sample.system = System {
                model: found.facts.get("model").cloned(),
                device: found.facts.get("card").cloned(),
                is_simulated: false,
            };
            let contradicted: Vec<String> = (typed[place].iter())
                .flat_map(ImportDoubt::contradicted)
                .collect();
            let is_meant = |metric: &&Metric| {
                let mut keys = contradicted.iter();
                let is_named = keys.any(|key| metric.into_str().starts_with(key.as_str()));
                is_named && metric.of(&sample.summary).is_some()
            };
            sample.contradicted = Metric::VARIANTS.iter().filter(is_meant).copied().collect();
            let doubts = found.doubts.iter();
            let foreign = doubts.filter(|it| it.code.name().parse::<DoubtCode>().is_err());
            sample.foreign_doubts = foreign
                .map(|it| ForeignDoubt {
                    code: it.code.name().to_owned(),
                    severity: it.severity,
                    text: it.text.clone(),
                    remedy: it.remedy.clone(),
                })
                .collect();
            for doubt in &typed[place] {
                let [en, zh] = [Lang::En, Lang::Zh].map(|lang| doubt.stated(lang));
                let pairs = [(en.text, zh.text), (en.remedy, zh.remedy)];
                sample.in_chinese.extend(pairs);
            }
            sample.name = format!("{}#{}", found.file, found.number);
            side.group.runs.push(sample);
        }
    }
    if side.group.runs.is_empty() {
        bail!("{name} holds refused starts only, and nothing that was measured");
    }
    Ok(side)
}

/// Cards as the launch command above a result says: vLLM's and SGLang's take one unless told
/// otherwise. What a heading says of the host is not what served the model.
fn cards(found: &ImportedResult) -> Option<String> {
    let command = LaunchCommand::parse_line(found.command.as_deref()?).ok()?;
    let says = matches!(command.engine, EngineKind::Vllm | EngineKind::Sglang);
    says.then(|| command.parallelism().cards().to_string())
}
