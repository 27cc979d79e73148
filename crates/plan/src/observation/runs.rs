//! Our own runs as observations, and the sources that users name.

use super::found::{self, named, observation, spread_around};
use super::points;
use super::stragglers::without_spoilt_rates;
use super::{Assumed, MeasuredOn, Observation, ObservationError, Origin};
use crate::flags::flags_of;
use crate::means::Means;
use crate::work::{Load, Start};
use inferometer_catalog::engine::{EngineKind, LaunchCommand};
use inferometer_core::doubt::Severity;
use inferometer_core::environment::Environment;
use inferometer_core::length::{Distribution as Lengths, LengthSpec};
use inferometer_core::scenario::{Scenario, Shape};
use inferometer_core::summary::{Distribution, Summary};
use inferometer_core::work::{Output, PromptSource, SyntheticLengths};
use inferometer_import::Tool;
use inferometer_store::run_dir::{RunDir, list};
use inferometer_store::sweep_dir::{SweepDir, TrialState};
use inferometer_text::user_file;
use std::path::Path;

/// The largest file of notes that is read.
const LARGEST_FILE: u64 = 256 << 20;
/// Means of one measurement that is told twice differ by rounding alone.
const SAME: f64 = 1.02;

/// All observations of runs, sweeps, folders of runs and files of other tools; what they do not say is
/// filled in.
pub fn read_sources(
    sources: &[impl AsRef<Path>],
    assumed: &Assumed,
) -> Result<Vec<Observation>, ObservationError> {
    let mut all = Vec::new();
    for source in sources {
        let path = source.as_ref();
        let mut some = read_source(path)?;
        if some.is_empty() {
            return Err(ObservationError::Nothing {
                path: path.to_owned(),
            });
        }
        all.append(&mut some);
    }
    share_spread(&mut all);
    for observation in &mut all {
        fill(observation, assumed);
        without_spoilt_rates(observation);
    }
    Ok(without_repetition(all))
}

/// In a queue all answers take long, so that latencies show the lengths best at the lowest load.
fn share_spread(all: &mut [Observation]) {
    let streams = |observation: &Observation| match observation.load {
        Load::Closed(streams) => Some(streams),
        Load::Open(_) => None,
    };
    let lowest = all
        .iter()
        .filter(|observation| observation.spread.is_some() && streams(observation).is_some())
        .min_by_key(|observation| streams(observation));
    let Some((spread, mean)) = lowest.map(|lowest| (lowest.spread, lowest.output)) else {
        return;
    };
    let mean = mean.map(Lengths::mean);
    for observation in all
        .iter_mut()
        .filter(|o| o.spread.is_some() && streams(o).is_some())
    {
        let own = observation.output.map(Lengths::mean);
        let alike = match (own, mean) {
            (Some(own), Some(mean)) => (own / mean - 1.0).abs() < 0.05,
            (None, None) => true,
            _ => false,
        };
        if alike {
            observation.spread = spread;
            observation.output = own.map(|own| spread_around(own, spread));
        }
    }
}

fn fill(observation: &mut Observation, assumed: &Assumed) {
    observation.input = observation.input.or(assumed.input);
    let output = match assumed.output {
        // A mean that the user adds to a table goes with the spread that its latencies show.
        Some(Lengths::Fixed(mean)) => Some(spread_around(f64::from(mean), observation.spread)),
        other => other,
    };
    observation.output = observation.output.or(output);
    for flag in &assumed.flags {
        if !observation.flags.iter().any(|(known, _)| *known == flag.0) {
            observation.flags.push(flag.clone());
        }
    }
}

fn read_source(path: &Path) -> Result<Vec<Observation>, ObservationError> {
    let failed = |reason: String| ObservationError::Read {
        path: path.to_owned(),
        reason,
    };
    if let Ok(run) = RunDir::open(path) {
        return Ok(of_run(&run).map_err(failed)?.into_iter().collect());
    }
    if SweepDir::is_at(path) {
        return of_sweep(path);
    }
    if path.is_dir() {
        let runs = list(path).map_err(|error| failed(error.to_string()))?;
        let mut all = Vec::new();
        // From the oldest, so that points come in the order in which they were measured.
        for run in runs.into_iter().rev().filter(|run| run.error.is_none()) {
            if let Ok(run) = RunDir::open(run.path) {
                all.extend(of_run(&run).ok().flatten());
            }
        }
        return Ok(all);
    }
    let bytes = user_file::read_at_most(path, LARGEST_FILE)
        .map_err(|error| failed(error.to_string()))?
        .ok_or_else(|| failed(format!("it has more than {LARGEST_FILE} bytes")))?;
    let text = String::from_utf8_lossy(&bytes);
    let points = points::read(&path.display().to_string(), &text);
    // Objects of other tools may share some names with ours; a table that has flags is ours.
    let is_json = text.trim_start().starts_with(['[', '{']);
    match points {
        Ok(points) if !points.is_empty() => return Ok(points),
        Err(reason) if !is_json => return Err(failed(reason)),
        Ok(_) | Err(_) => {}
    }
    let mut observed = imported(&path.display().to_string(), &text);
    if observed.is_empty() {
        // Without lengths and flags it is a table of any tool, with other signs between cells.
        observed = imported("", &points::to_markdown(&text));
        for point in &mut observed {
            point.name = format!("{} {}", path.display(), point.load);
        }
    }
    match points {
        Err(reason) if observed.is_empty() => Err(failed(reason)),
        _ => Ok(observed),
    }
}

/// What the reader of other tools' results finds in a text.
fn imported(name: &str, text: &str) -> Vec<Observation> {
    let imported = inferometer_import::read(name, text);
    let of_2024 = imported.results.iter().find_map(|found| match found.tool {
        Tool::Evalscope2024 => found::version(found.tool),
        _ => None,
    });
    let observed = imported.results.iter().filter_map(observation);
    observed
        .map(|observed| Observation {
            // A table among blocks of that time is of that time.
            version: observed.version.or(of_2024),
            ..observed
        })
        .collect()
}

/// The runs of a sweep, in the order of its plan. A visit that came to nothing has none.
fn of_sweep(path: &Path) -> Result<Vec<Observation>, ObservationError> {
    let failed = |reason: String| ObservationError::Read {
        path: path.to_owned(),
        reason,
    };
    let sweep = SweepDir::open(path).map_err(|error| failed(error.to_string()))?;
    let trials = sweep.results().map_err(|error| failed(error.to_string()))?;
    let done = trials
        .iter()
        .filter(|trial| trial.state == TrialState::Done);
    let mut all = Vec::new();
    for run in done.filter_map(|trial| sweep.run_path(trial)) {
        let run = RunDir::open(run).map_err(|error| failed(error.to_string()))?;
        all.extend(of_run(&run).map_err(failed)?);
    }
    Ok(all)
}

/// A table above the blocks that it sums up tells each measurement twice; the richer stays.
fn without_repetition(all: Vec<Observation>) -> Vec<Observation> {
    let mut kept: Vec<Observation> = Vec::new();
    for observation in all {
        let told = kept.iter_mut().find(|known| {
            known.same_point(&observation)
                && known.origin == Origin::Import
                && observation.origin == Origin::Import
                && known
                    .apart(&observation)
                    .is_none_or(|(_, ratio)| ratio < SAME)
        });
        match told {
            Some(known) if known.richness() < observation.richness() => *known = observation,
            Some(_) => {}
            None => kept.push(observation),
        }
    }
    kept
}

fn of_run(run: &RunDir) -> Result<Option<Observation>, String> {
    let summary = run.summary().map_err(|error| error.to_string())?;
    let scenario = run.scenario().map_err(|error| error.to_string())?;
    let load = match &scenario.load.shape {
        Shape::Closed { concurrency, .. } => Load::Closed(*concurrency),
        Shape::Open {
            rate,
            max_concurrency,
            ..
        } if rate.is_infinite() => {
            let ok = u32::try_from(summary.requests.ok).unwrap_or(u32::MAX);
            Load::Closed(max_concurrency.unwrap_or(ok).max(1))
        }
        Shape::Open { rate, .. } => Load::Open(rate.0),
        Shape::Replay { .. } => return Ok(None),
    };
    let input = match &scenario.work.prompts {
        PromptSource::Synthetic(synthetic) => match &synthetic.lengths {
            SyntheticLengths::Input(spec) => drawn(spec),
            SyntheticLengths::Pairs(_) => None,
        },
        _ => None,
    };
    let output = match &scenario.work.output {
        Output::Tokens(spec) if scenario.work.ignore_eos => drawn(spec),
        _ => None,
    };
    let mean = |mean: Option<f64>| mean.map(|mean| Lengths::Fixed((mean.round() as u32).max(1)));
    let invalid = summary
        .doubts
        .iter()
        .filter(|doubt| doubt.severity == Severity::Invalid)
        .map(|doubt| doubt.code.to_string());
    let ending = run.ending().map_err(|error| error.to_string())?;
    let environment = run.environment().map_err(|error| error.to_string())?;
    let engine = environment.engine.clone().unwrap_or_default();
    let command = LaunchCommand::parse(&engine.command).ok();
    let on = measured_on(&environment, command.as_ref(), &scenario, &summary);
    Ok(Some(Observation {
        name: run.path().display().to_string(),
        load,
        start: if ending.steady_window {
            Start::Spread
        } else {
            ending.stagger_ns.map_or(Start::AtOnce, Start::Over)
        },
        requests: u32::try_from(summary.requests.ok).ok().filter(|&ok| ok > 0),
        input: input.or(mean(summary.tokens.input_mean)),
        output: output.or(mean(summary.tokens.output_mean)),
        spread: None,
        // Streams send when they can, whatever the seed.
        seed: matches!(load, Load::Open(_)).then_some(scenario.seed),
        flags: command.map_or(Vec::new(), |command| flags_of(&command)),
        on,
        version: engine.version.and_then(|version| version.parse().ok()),
        figures: figures(&summary),
        left_out: None,
        origin: Origin::Run,
        invalid: if summary.valid {
            Vec::new()
        } else {
            named(invalid)
        },
    }))
}

/// By the engine's command, else by what answered; the card by what was watched next to it.
fn measured_on(
    environment: &Environment,
    command: Option<&LaunchCommand>,
    scenario: &Scenario,
    summary: &Summary,
) -> MeasuredOn {
    let known = command.filter(|command| command.engine != EngineKind::Custom);
    let asked = Some(environment.server.model.clone()).filter(|model| !model.is_empty());
    let mut cards = (summary.server.iter()).flat_map(|server| &server.devices);
    let watched = cards.next().map(|card| card.name.clone());
    MeasuredOn {
        // The simulated engine is vLLM unless a command says otherwise.
        engine: known
            .map(|command| command.engine)
            .or(environment.is_simulated().then_some(EngineKind::Vllm)),
        model: known.and_then(|it| it.model.clone()).or(asked),
        card: scenario.connection.sim_device.clone().or(watched),
    }
}

fn drawn(spec: &LengthSpec) -> Option<Lengths> {
    match spec {
        LengthSpec::Drawn(lengths) => Some(*lengths),
        LengthSpec::Histogram(_) => None,
    }
}

fn figures(summary: &Summary) -> Means {
    let latency = &summary.latency;
    let between = summary.server.as_ref().and_then(|server| server.between);
    let less = |client: Option<Distribution>, between: Option<f64>| {
        let own = client?.mean - between?;
        (own > 0.0).then_some(own)
    };
    Means {
        requests_per_s: summary.throughput.requests_per_s,
        output_tokens_per_s: summary.throughput.output_tokens_per_s,
        ttft_ms: latency.ttft_ms.map(|ttft| ttft.mean),
        tpot_ms: latency.tpot_ms.map(|tpot| tpot.mean),
        e2e_ms: latency.e2e_ms.map(|e2e| e2e.mean),
        engine_ttft_ms: less(latency.ttft_ms, between.and_then(|it| it.ttft_ms)),
        engine_tpot_ms: less(latency.tpot_ms, between.and_then(|it| it.tpot_ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures")
            .join(name)
    }

    #[test]
    fn a_run_and_a_folder_of_runs_are_read_alike() {
        let assumed = Assumed::default();
        let alone = read_sources(&[fixture("run-v1")], &assumed).unwrap();
        let together = read_sources(&[fixture("")], &assumed).unwrap();
        assert_eq!((alone.len(), alone[0].origin), (1, Origin::Run));
        assert!(alone[0].figures.requests_per_s.is_some());
        assert_eq!(alone[0].figures, together[0].figures);
    }

    #[test]
    fn a_table_above_its_blocks_counts_once() {
        let points = read_sources(
            &[fixture("import/evalscope-2024-notes.md")],
            &Assumed::default(),
        );
        let points = points.unwrap();
        for (index, point) in points.iter().enumerate() {
            let told_again = points[..index].iter().any(|other| {
                other.same_point(point) && other.apart(point).is_none_or(|(_, ratio)| ratio < SAME)
            });
            assert!(!told_again, "{}", point.name);
        }
        assert!(
            points.iter().all(|point| point.version.is_some()),
            "an engine of its time"
        );
    }

    #[test]
    fn what_holds_no_load_point_is_refused_by_name() {
        let error = read_sources(&[fixture("import/../serve_llama.py")], &Assumed::default());
        assert!(error.unwrap_err().to_string().contains("serve_llama.py"));
    }
}
