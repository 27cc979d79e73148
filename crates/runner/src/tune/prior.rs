//! What a calibrated profile expects of a study's candidates, so that the promising are measured
//! first.

use crate::error::{Context as _, RunnerError, bail};
use inferometer_campaign::search::{Expected, Prior};
use inferometer_campaign::space::{Point, Rules};
use inferometer_campaign::study::{Direction, SearcherName, Study};
use inferometer_campaign::trial::Level;
use inferometer_core::length::{Distribution, LengthSpec};
use inferometer_core::options::OutputSpec;
use inferometer_plan::calibrate::Calibration;
use inferometer_plan::flags::Flag;
use inferometer_plan::means::MeanMetric;
use inferometer_plan::rank::{Goal, rank};
use inferometer_plan::what_if::Objectives;
use inferometer_plan::work::{Load, Start, Work};
use inferometer_text::user_file;
use std::collections::BTreeSet;
use std::path::Path;

/// Candidates that are computed; of a larger space as many, scattered over it.
const MOST_CANDIDATES: usize = 1024;
/// Its multiples scatter evenly between whole numbers.
const GOLDEN_RATIO: f64 = 1.618_033_988_749_895;
/// Points of a space that are counted before it is thinned.
const MOST_COUNTED: usize = 200_000;
/// Requests of each prediction where the study does not say.
const USUAL_REQUESTS: u64 = 200;

/// The candidates of a study as a profile ranks them.
pub fn read(file: &Path, study: &Study, rules: &dyn Rules) -> Result<Prior, RunnerError> {
    let name = || format!("--prior {}", file.display());
    let text = user_file::read_text(file).with_context(name)?;
    let calibration = Calibration::from_toml(&text).with_context(name)?;
    if study.searcher != SearcherName::Tpe {
        bail!("--prior guides the default searcher; leave [search] searcher out");
    }
    let goal = goal(study)?;
    let work = work(study, &calibration)?;
    let candidates = candidates(study, rules);
    let flags: Vec<Vec<Flag>> = candidates.iter().map(|it| flags(study, it)).collect();
    let ranked = rank(&calibration, &work, &goal, &flags).with_context(name)?;
    if ranked.is_empty() {
        bail!(
            "--prior {}: by this profile the engine would serve none of the candidates",
            file.display()
        );
    }
    let expected = ranked.iter().map(|ranked| Expected {
        point: candidates[ranked.index].clone(),
        objective: goal.worth(ranked),
        strains: ranked.strains.clone(),
    });
    Ok(Prior::new(expected.collect()))
}

fn goal(study: &Study) -> Result<Goal, RunnerError> {
    let Some(first) = study.goal.objectives.first() else {
        bail!("[goal] has no objective");
    };
    let known = [
        ("throughput.output_tokens_per_s", MeanMetric::Throughput),
        ("throughput.requests_per_s", MeanMetric::Requests),
        ("latency.ttft_ms", MeanMetric::Ttft),
        ("latency.tpot_ms", MeanMetric::Tpot),
        ("latency.e2e_ms", MeanMetric::E2e),
    ];
    let found = known.iter().find(|(path, _)| first.path.starts_with(path));
    let Some((_, metric)) = found else {
        bail!(
            "--prior predicts throughput and latencies, and the first objective is '{}'; leave it out",
            first.path
        );
    };
    let wanted = match metric {
        MeanMetric::Throughput | MeanMetric::Requests => Direction::Maximize,
        _ => Direction::Minimize,
    };
    if first.direction != wanted {
        bail!("--prior ranks by more throughput or less latency, and the study wants the opposite");
    }
    Ok(Goal {
        metric: *metric,
        objectives: Objectives::of(&study.goal.slos, Some(study.goal.attainment))
            .context("--prior cannot rank by jobs")?,
    })
}

fn work(study: &Study, calibration: &Calibration) -> Result<Work, RunnerError> {
    let Some(Level::Concurrency(streams)) = study.levels.first() else {
        bail!("--prior needs a fixed load: give [load] concurrency");
    };
    let asked = match &study.work.output_tokens {
        Some(OutputSpec::Tokens(lengths)) => Some(lengths),
        _ => None,
    };
    let known = &calibration.workload;
    let requests = study.load.requests.map_or(USUAL_REQUESTS, |count| count.0);
    Ok(Work {
        load: Load::Closed(*streams),
        start: Start::Spread,
        input: lengths(study.work.input_tokens.as_ref(), &known.input_tokens)?,
        output: lengths(asked, &known.output_tokens)?,
        requests: u32::try_from(requests).unwrap_or(u32::MAX),
        trace: None,
    })
}

/// The study's lengths, else those of the profile.
fn lengths(asked: Option<&LengthSpec>, known: &LengthSpec) -> Result<Distribution, RunnerError> {
    match asked.unwrap_or(known) {
        LengthSpec::Drawn(lengths) => Ok(*lengths),
        LengthSpec::Histogram(file) => bail!(
            "--prior needs lengths such as uniform(100,500), not histogram({})",
            file.display()
        ),
    }
}

/// The legal points of the space; where they are many, as many as are computed. Every n-th would
/// have one value alone of the flags that change fastest.
fn candidates(study: &Study, rules: &dyn Rules) -> Vec<Point> {
    let count = study.space.grid().take(MOST_COUNTED).count();
    let share = MOST_CANDIDATES as f64 / count as f64;
    let mut known = BTreeSet::new();
    (study.space.grid().take(MOST_COUNTED).enumerate())
        .filter(|(at, _)| (*at as f64 * GOLDEN_RATIO).fract() < share)
        .filter_map(|(_, point)| rules.admit(&study.space, point).point())
        .filter(|point| known.insert(point.to_string()))
        .collect()
}

fn flags(study: &Study, point: &Point) -> Vec<Flag> {
    let chosen = study.space.flags(point).unwrap_or_default();
    let places = ["port", "host"];
    let given = (study.engine.command.flags.iter())
        .filter(|given| !places.contains(&given.name.as_str()))
        .map(|given| (given.name.clone(), given.value().map(str::to_owned)));
    let chosen = (chosen.0.iter()).map(|(name, value)| (name.clone(), Some(value.to_string())));
    given.chain(chosen).collect()
}
