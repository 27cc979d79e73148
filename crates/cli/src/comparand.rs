//! What `compare` is given: a run, a folder of runs, a sweep, an import, or a file that `import`
//! reads. Each becomes a group of runs with the load of each.

use crate::measure::fold;
use crate::output::language;
use anyhow::{Context, bail};
use inferometer_core::compare::{Definition, Group, Point, RunSample, Series};
use inferometer_core::doubt::DoubtCode;
use inferometer_core::fold::RunContext;
use inferometer_core::record::TokenSource;
use inferometer_core::run_dir::RunDir;
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::{
    Accounts, Client, Concurrency, Distribution, Latencies, SCHEMA, SloResult, Speed, StatedDoubt,
    Summary, Throughput, Tokens,
};
use inferometer_import::{Found, ImportedSummary, Spread, Stored, Tool, read_path};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Options of the load that are axes where they vary; the others only say how long it goes on.
const LOAD_AXES: [&str; 4] = ["arrival", "burstiness", "max-concurrency", "ramp"];

/// A group, and what its runs may differ in.
pub struct Comparand {
    /// Its runs.
    pub group: Group,
    /// What else is known of each run, in their order; nothing of an import.
    facts: Vec<Facts>,
    /// What was left out, for a reader.
    pub left_out: Vec<String>,
}

/// What is known of a run beside its figures.
struct Facts {
    /// Options that may be axes of a sweep.
    options: BTreeMap<String, Value>,
    /// Where requests went.
    server: String,
    /// Wall time of its beginning.
    started: String,
}

impl Comparand {
    fn new(name: &str) -> Self {
        Comparand {
            group: Group {
                name: name.to_owned(),
                runs: Vec::new(),
            },
            facts: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Runs of one folder that went to several servers are a group for each, as an interleaved
    /// sweep leaves them; the server that was measured first is the baseline.
    pub fn by_server(self) -> Vec<Comparand> {
        let Comparand {
            group,
            facts,
            left_out,
        } = self;
        let mut runs: Vec<(RunSample, Facts)> = group.runs.into_iter().zip(facts).collect();
        runs.sort_by(|a, b| a.1.started.cmp(&b.1.started));
        let mut groups: Vec<Comparand> = Vec::new();
        for (run, facts) in runs {
            let known = groups
                .iter()
                .position(|known| known.group.name == facts.server);
            let at = known.unwrap_or_else(|| {
                groups.push(Comparand::new(&facts.server));
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

/// Reads what was named; `PATH#N` is the N-th result of an import.
pub fn open(name: &str) -> anyhow::Result<Comparand> {
    if let Some((path, number)) = name.rsplit_once('#')
        && !Path::new(name).exists()
    {
        let number: usize = number
            .parse()
            .ok()
            .filter(|number| *number > 0)
            .with_context(|| format!("{name}: write PATH#N with the number of a result, from 1"))?;
        let results = imported(Path::new(path))?;
        let Some(found) = results.get(number - 1) else {
            bail!(
                "{path} holds {} results; there is no #{number}",
                results.len()
            );
        };
        return of_results(name, std::slice::from_ref(found));
    }
    let path = Path::new(name);
    let about = std::fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
    if about.is_dir() && !Stored::is_at(path) {
        let runs = run_folders(path)?;
        if !runs.is_empty() {
            return of_runs(name, path, &runs);
        }
        if std::fs::read_dir(path)?.next().is_none() {
            bail!("{name} is empty: it holds no run; give a run directory, a sweep or an import");
        }
    }
    let results = imported(path)
        .with_context(|| format!("{name} holds neither a run of inferometer nor a known result"))?;
    of_results(name, &results)
}

fn imported(path: &Path) -> anyhow::Result<Vec<Found>> {
    Ok(match Stored::is_at(path) {
        true => Stored::open(path)?.results,
        false => read_path(path)?.results,
    })
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

fn of_runs(name: &str, folder: &Path, paths: &[PathBuf]) -> anyhow::Result<Comparand> {
    let alone = paths == [folder.to_owned()];
    let mut comparand = Comparand::new(name);
    for path in paths {
        match run(path) {
            Ok((sample, facts)) => {
                comparand.group.runs.push(sample);
                comparand.facts.push(facts);
            }
            // One bad point must not cost the others.
            Err(error) if !alone => {
                comparand
                    .left_out
                    .push(format!("{}: {error:#}", path.display()));
            }
            Err(error) => {
                return Err(error.context(format!("{} cannot be compared", path.display())));
            }
        }
    }
    match comparand.group.runs.is_empty() {
        true => bail!(
            "{name}: none of its {} runs can be read: {}",
            paths.len(),
            comparand.left_out[0]
        ),
        false => Ok(comparand),
    }
}

/// One run. Its records are read one by one and kept as columns.
fn run(path: &Path) -> anyhow::Result<(RunSample, Facts)> {
    let directory = RunDir::open(path)?;
    if directory.is_running() {
        bail!("the run is still going on; wait for its end");
    }
    let scenario = directory.scenario()?;
    let summary = match directory.path().join("summary.json").is_file() {
        true => directory.summary()?,
        false => half_written(&directory, &scenario)?,
    };
    let mut trouble = None;
    let mut records = directory.records()?;
    let sound =
        (&mut records).map_while(|record| record.map_err(|error| trouble = Some(error)).ok());
    let series = Series::of_records(sound);
    if let Some(error) = trouble {
        return Err(error.into());
    }
    let sample = RunSample {
        point: Point::of_load(&scenario.load),
        summary,
        definition: Definition::of(&scenario),
        series: Some(series),
    };
    let facts = Facts {
        options: axes(&scenario),
        server: scenario.connection.urls.join(" "),
        started: directory
            .environment()
            .map(|known| known.started)
            .unwrap_or_default(),
    };
    Ok((sample, facts))
}

/// The summary of a run that could not write one.
fn half_written(directory: &RunDir, scenario: &Scenario) -> anyhow::Result<Summary> {
    let context = "the run is half written: it has no summary, and its records cannot be read";
    let environment = directory.environment().context(context)?;
    let ending = directory.ending().context(context)?;
    let context = RunContext {
        scenario,
        environment: &environment,
        ending: &ending,
        lang: language(None),
    };
    Ok(fold(directory, &context)?.0)
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

/// Runs of one group at several settings are told apart by what varies among them, in every
/// group alike, so that equal settings meet.
pub fn separate(comparands: &mut [Comparand]) {
    let mut varying: BTreeSet<String> = BTreeSet::new();
    for comparand in comparands.iter() {
        let names: BTreeSet<&String> = (comparand.facts.iter())
            .flat_map(|facts| facts.options.keys())
            .collect();
        for name in names {
            let values: BTreeSet<String> = (comparand.facts.iter())
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
    for comparand in comparands {
        for (run, facts) in comparand.group.runs.iter_mut().zip(&comparand.facts) {
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

fn of_results(name: &str, results: &[Found]) -> anyhow::Result<Comparand> {
    let measured: Vec<&Found> = (results.iter())
        .filter(|found| found.summary.is_some())
        // A table of the blocks below it says nothing new.
        .filter(|found| {
            found.tool != Tool::MarkdownTable
                || !results.iter().any(|other| {
                    other.tool != Tool::MarkdownTable
                        && other.summary.is_some()
                        && other.point == found.point
                })
        })
        .collect();
    if measured.is_empty() {
        bail!("{name} holds refused starts only, and nothing that was measured");
    }
    let mut comparand = Comparand::new(name);
    for (found, point) in measured.iter().zip(points(&measured)) {
        if let Some(summary) = &found.summary {
            let sample = RunSample::imported(found.tool.name(), point, summary_of(summary));
            comparand.group.runs.push(sample);
        }
    }
    Ok(comparand)
}

/// Loads of results. Those of one load are told apart by their flags, else by their names: notes
/// hold what was changed, and only what was not is a repeat.
fn points(results: &[&Found]) -> Vec<Point> {
    let key = |found: &Found| Point(found.point.clone()).key();
    let mut varying: BTreeSet<String> = BTreeSet::new();
    let mut named = false;
    for (at, found) in results.iter().enumerate() {
        for other in results
            .iter()
            .skip(at + 1)
            .filter(|other| key(other) == key(found))
        {
            let (Some(a), Some(b)) = (&found.flags, &other.flags) else {
                named |= found.label != other.label;
                continue;
            };
            let names = a.keys().chain(b.keys());
            varying.extend(names.filter(|name| a.get(*name) != b.get(*name)).cloned());
        }
    }
    (results.iter())
        .map(|found| {
            let mut point = found.point.clone();
            let flags = found.flags.iter().flatten();
            point.extend(
                flags
                    .filter(|(name, _)| varying.contains(*name))
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            if named && let Some(label) = &found.label {
                point.insert("name".to_owned(), label.as_str().into());
            }
            Point(point)
        })
        .collect()
}

/// Another tool's figures in the form of ours. A sample's numbers that the tool does not give
/// are no numbers, which a comparison passes over; a sample of unknown size supports no tail.
fn summary_of(found: &ImportedSummary) -> Summary {
    let sample = |spread: &Option<Spread>| {
        spread.as_ref().map(|spread| Distribution {
            n: spread.n.unwrap_or_default(),
            mean: spread.mean.unwrap_or(f64::NAN),
            std: spread.std,
            min: spread.min.unwrap_or(f64::NAN),
            p50: spread.p50.unwrap_or(f64::NAN),
            p75: spread.p75.unwrap_or(f64::NAN),
            p90: spread.p90.unwrap_or(f64::NAN),
            p95: spread.p95.unwrap_or(f64::NAN),
            p99: spread.p99.unwrap_or(f64::NAN),
            max: spread.max.unwrap_or(f64::NAN),
            mean_interval: None,
            p50_interval: None,
            p99_interval: None,
        })
    };
    let throughput = found.throughput;
    let (requests, tokens) = (found.requests, &found.tokens);
    Summary {
        schema: SCHEMA.to_owned(),
        label: found.label.clone(),
        tags: BTreeMap::new(),
        valid: found.valid,
        doubts: (found.doubts.iter())
            .filter_map(|doubt| {
                Some(StatedDoubt {
                    code: DoubtCode::from_word(doubt.code.name())?,
                    severity: doubt.severity,
                    text: doubt.text.clone(),
                    remedy: doubt.remedy.clone(),
                })
            })
            .collect(),
        requests: Accounts {
            planned: requests.planned.or(requests.ok).unwrap_or_default(),
            ok: requests.ok.unwrap_or_default(),
            failed: requests.failed.unwrap_or_default(),
            ..Accounts::default()
        },
        window_s: found.window_s,
        steady_s: None,
        throughput: Throughput {
            requests_per_s: throughput.requests_per_s,
            input_tokens_per_s: throughput.input_tokens_per_s,
            output_tokens_per_s: throughput.output_tokens_per_s,
            total_tokens_per_s: throughput.total_tokens_per_s,
            input_chars_per_s: throughput.input_chars_per_s,
            output_chars_per_s: throughput.output_chars_per_s,
            ..Throughput::default()
        },
        steady: None,
        concurrency: Concurrency {
            configured: found
                .concurrency
                .configured
                .and_then(|n| u32::try_from(n).ok()),
            mean: found.concurrency.mean,
            peak: found.concurrency.peak,
        },
        latency: Latencies {
            ttft_ms: sample(&found.latency.ttft_ms),
            tpot_ms: sample(&found.latency.tpot_ms),
            itl_ms: sample(&found.latency.itl_ms),
            max_gap_ms: sample(&found.latency.max_gap_ms),
            e2e_ms: sample(&found.latency.e2e_ms),
            ..Latencies::default()
        },
        speed: Speed::default(),
        tokens: Tokens {
            input: tokens.input,
            output: tokens.output,
            source: TokenSource::None,
            cached: None,
            input_asked_mean: None,
            input_mean: tokens.input_mean,
            output_asked_mean: tokens.output_asked,
            output_mean: tokens.output_mean,
            chars_per_token: tokens.chars_per_token,
        },
        failures: Vec::new(),
        slo: found.slo.map(|slo| SloResult {
            attainment: slo.attainment,
            goodput_per_s: slo.goodput_per_s,
            objectives: Vec::new(),
            met: None,
        }),
        client: Client::default(),
        server: None,
        drift: None,
        continuation: None,
    }
}
