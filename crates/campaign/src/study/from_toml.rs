//! A study as it is written in TOML.

use super::{Budget, Direction, Engine, Goal, LastStage, Objective, SearcherName, Study};
use crate::search::Halving;
use crate::space::{GivenDomain, Space, SpaceError};
use crate::trial::Level;
use inferometer_catalog::engine::command::CommandError;
use inferometer_catalog::engine::words::split;
use inferometer_catalog::engine::{LaunchCommand, Version, nearest};
use inferometer_core::figures;
use inferometer_core::judge::Thresholds;
use inferometer_core::options::{ConnectionOptions, LoadOptions, WorkOptions};
use inferometer_core::scenario::{BadValue, Tag};
use inferometer_core::slo::Slo;
use inferometer_core::units::Span;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A text that is no study.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StudyError {
    /// Not TOML, or a key that no study has.
    #[error("{}", one_line(.0))]
    Toml(String),
    #[error("[engine] command: {0}")]
    Command(#[from] CommandError),
    #[error("[space] {0}")]
    Space(#[from] SpaceError),
    #[error("[load] says {0}; give concurrency = [64] or capacity = true")]
    Load(&'static str),
    #[error("[goal] has no objective; give maximize = \"throughput.output_tokens_per_s\"")]
    NoObjective,
    /// A place that no summary has.
    #[error("[goal] there is no figure '{path}'{meant}")]
    NoFigure {
        path: String,
        /// `; did you mean …`, or a remedy.
        meant: String,
    },
    /// The capacity search needs a limit.
    #[error("[load] capacity = true needs a limit; give [goal] slo = [\"ttft.p99=1s\"]")]
    CapacityWithoutSlo,
    /// A key of a run's connection that has no place in a study.
    #[error("[connection] {key} has no place in a study; use {instead}")]
    Misplaced {
        key: &'static str,
        instead: &'static str,
    },
    /// A number that makes no sense.
    #[error("{what} is {given}; give {wanted}")]
    Number {
        what: &'static str,
        given: String,
        wanted: &'static str,
    },
    #[error(
        "there is no searcher '{0}'; there are grid, random, halving, tpe, and any program by command = \"python3 my-searcher.py\""
    )]
    UnknownSearcher(String),
    /// A name and a program.
    #[error("[search] has both searcher and command; leave out one of them")]
    TwoSearchers,
    /// No limit of a doubt.
    #[error("[goal] threshold: {0}")]
    Threshold(#[from] BadValue),
    /// Rungs that do not rise.
    #[error("[search] rungs: {0}")]
    Rungs(#[from] crate::search::HalvingError),
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenStudy {
    engine: GivenEngine,
    space: GivenSpace,
    #[serde(default)]
    connection: ConnectionOptions,
    #[serde(default)]
    work: WorkOptions,
    load: GivenLoad,
    goal: GivenGoal,
    budget: GivenBudget,
    #[serde(default)]
    search: GivenSearch,
    #[serde(default, rename = "last-stage")]
    last_stage: GivenLastStage,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct GivenEngine {
    command: String,
    config: Option<PathBuf>,
    version: Option<String>,
    url: Option<String>,
    stop: Option<String>,
    start_timeout: Option<Span>,
    #[serde(default)]
    rules: Vec<String>,
}

#[derive(Deserialize)]
struct GivenSpace {
    #[serde(default)]
    preset: Names,
    #[serde(flatten)]
    flags: BTreeMap<String, GivenDomain>,
}

/// The load of a run but for its levels, which a study gives as a list.
#[derive(Deserialize)]
struct GivenLoad {
    #[serde(default)]
    concurrency: Streams,
    #[serde(default)]
    capacity: bool,
    #[serde(flatten)]
    other: toml::Table,
}

/// One number of streams or several.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "write concurrency = 64, or several as in [16, 64]"
)]
enum Streams {
    One(u32),
    Several(Vec<u32>),
}

impl Default for Streams {
    fn default() -> Self {
        Streams::Several(Vec::new())
    }
}

impl Streams {
    fn list(&self) -> &[u32] {
        match self {
            Streams::One(count) => std::slice::from_ref(count),
            Streams::Several(counts) => counts,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenGoal {
    #[serde(default)]
    maximize: Names,
    #[serde(default)]
    minimize: Names,
    #[serde(default)]
    slo: Vec<Slo>,
    attainment: Option<f64>,
    #[serde(default)]
    threshold: Vec<Tag>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenBudget {
    trials: u64,
    hours: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenSearch {
    searcher: Option<Names>,
    command: Option<String>,
    seed: u64,
    rungs: Option<Vec<Span>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenLastStage {
    best: Option<usize>,
    repeats: Option<usize>,
}

#[derive(Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "write one name in quotes, or several in brackets"
)]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl Default for Names {
    fn default() -> Self {
        Names::Several(Vec::new())
    }
}

impl Names {
    fn list(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names,
        }
    }
}

/// A start takes minutes; beyond this it hangs.
const START_TIMEOUT: Span = Span(Duration::from_secs(15 * 60));
/// A setting that turns away more serves the others quickly, and must not win by that.
const FAILURES_OF_A_TRIAL: &str = "failures-invalid=0.05";
/// Most starts of one study.
const MOST_TRIALS: u64 = 100_000;

impl std::str::FromStr for Study {
    type Err = StudyError;

    fn from_str(text: &str) -> Result<Self, StudyError> {
        let given: GivenStudy =
            toml::from_str(text).map_err(|error| StudyError::Toml(error.to_string()))?;
        let engine = given.engine.engine()?;
        let version = engine.version.unwrap_or(engine.kind().newest());
        let space = Space::of_study(
            engine.kind(),
            version,
            given.space.preset.list(),
            &given.space.flags,
        )?;
        let connection = &given.connection;
        let misplaced = [
            ("url", connection.url.is_some(), "[engine] url"),
            (
                "header",
                connection.header.is_some(),
                "api-key-env or api-key-file",
            ),
            ("sim-clock", connection.sim_clock.is_some(), "--sim-clock"),
            (
                "sim-device",
                connection.sim_device.is_some(),
                "--sim-device",
            ),
            (
                "sim-model",
                connection.sim_model.is_some(),
                "[engine] command",
            ),
        ];
        if let Some((key, _, instead)) = misplaced.into_iter().find(|(_, given, _)| *given) {
            return Err(StudyError::Misplaced { key, instead });
        }
        let goal = given.goal.goal()?;
        let (load, levels) = given.load.load()?;
        if levels.contains(&Level::Capacity) && goal.slos.is_empty() {
            return Err(StudyError::CapacityWithoutSlo);
        }
        check_figures(&goal, &levels)?;
        Ok(Study {
            engine,
            space,
            connection: given.connection,
            work: given.work,
            load,
            levels,
            goal,
            budget: given.budget.budget()?,
            seed: given.search.seed,
            searcher: given.search.name()?,
            last_stage: given.last_stage.last_stage()?,
        })
    }
}

/// A goal that no measurement can have is refused before anything is started for it.
fn check_figures(goal: &Goal, levels: &[Level]) -> Result<(), StudyError> {
    let known = match levels.contains(&Level::Capacity) {
        true => figures::of_capacity(),
        false => figures::of_summary(),
    };
    let mut paths = goal.objectives.iter().map(|objective| &objective.path);
    let Some(path) = paths.find(|path| !known.contains(path)) else {
        return Ok(());
    };
    // The end of a path alone, or all of it with a slip.
    let end = format!(".{path}");
    let whole = known.iter().find(|one| one.ends_with(&end));
    let dashed: Vec<String> = known.iter().map(|one| one.replace('_', "-")).collect();
    let near = nearest(dashed.iter().map(String::as_str), path);
    let near = (near.first()).and_then(|near| dashed.iter().position(|one| one == near));
    let meant = match whole.or_else(|| known.get(near?)) {
        Some(meant) => format!("; did you mean {meant}?"),
        None => "; give a place of summary.json, such as throughput.output_tokens_per_s or latency.ttft_ms.p99".to_owned(),
    };
    Err(StudyError::NoFigure {
        path: path.clone(),
        meant,
    })
}

impl GivenEngine {
    fn engine(self) -> Result<Engine, StudyError> {
        let version = (self.version.as_deref())
            .map(|text| {
                text.parse::<Version>().map_err(|_| StudyError::Number {
                    what: "[engine] version",
                    given: format!("'{text}'"),
                    wanted: "one such as \"0.11.0\"",
                })
            })
            .transpose()?;
        Ok(Engine {
            command: LaunchCommand::parse_line(&self.command)?,
            config: self.config,
            version,
            url: self.url,
            stop: self.stop,
            start_timeout: self.start_timeout.unwrap_or(START_TIMEOUT),
            rules: self.rules,
        })
    }
}

impl GivenLoad {
    fn load(self) -> Result<(LoadOptions, Vec<Level>), StudyError> {
        let levels = match (self.concurrency.list(), self.capacity) {
            ([], false) => return Err(StudyError::Load("nothing")),
            ([_, ..], true) => return Err(StudyError::Load("both concurrency and capacity")),
            ([], true) => vec![Level::Capacity],
            (streams, false) if streams.contains(&0) => {
                return Err(StudyError::Number {
                    what: "[load] concurrency",
                    given: "0".to_owned(),
                    wanted: "at least 1 stream",
                });
            }
            (streams, false) => streams
                .iter()
                .map(|&count| Level::Concurrency(count))
                .collect(),
        };
        let other = LoadOptions::deserialize(self.other);
        let other = other.map_err(|error| StudyError::Toml(format!("[load] {error}")))?;
        if other.rate.is_some() {
            return Err(StudyError::Load("a rate, which a study does not take"));
        }
        Ok((other, levels))
    }
}

impl GivenGoal {
    fn goal(self) -> Result<Goal, StudyError> {
        let towards = |names: &Names, direction| -> Vec<Objective> {
            let objective = |path: &String| Objective {
                path: path.clone(),
                direction,
            };
            names.list().iter().map(objective).collect()
        };
        let mut objectives = towards(&self.maximize, Direction::Maximize);
        objectives.extend(towards(&self.minimize, Direction::Minimize));
        if objectives.is_empty() {
            return Err(StudyError::NoObjective);
        }
        let attainment = self.attainment.unwrap_or(1.0);
        if !(attainment > 0.0 && attainment <= 1.0) {
            return Err(StudyError::Number {
                what: "[goal] attainment",
                given: attainment.to_string(),
                wanted: "a share above 0 and up to 1, as in 0.95",
            });
        }
        let thresholds: Vec<Tag> = [FAILURES_OF_A_TRIAL.parse()?]
            .into_iter()
            .chain(self.threshold)
            .collect();
        Thresholds::with(&thresholds)?;
        Ok(Goal {
            objectives,
            slos: self.slo,
            attainment,
            thresholds,
        })
    }
}

impl GivenBudget {
    fn budget(self) -> Result<Budget, StudyError> {
        if !(1..=MOST_TRIALS).contains(&self.trials) {
            return Err(StudyError::Number {
                what: "[budget] trials",
                given: self.trials.to_string(),
                wanted: "between 1 and 100000 trials",
            });
        }
        if let Some(hours) = self.hours
            && !(hours > 0.0 && hours.is_finite())
        {
            return Err(StudyError::Number {
                what: "[budget] hours",
                given: hours.to_string(),
                wanted: "a time above 0, or leave it out",
            });
        }
        Ok(Budget {
            trials: self.trials,
            hours: self.hours,
        })
    }
}

impl GivenSearch {
    fn name(self) -> Result<SearcherName, StudyError> {
        let halving = match self.rungs {
            Some(rungs) => Halving::new(rungs)?,
            None => Halving::default(),
        };
        if let Some(line) = self.command {
            let words = split(&line).map_err(CommandError::from)?;
            return match (self.searcher, words.is_empty()) {
                (None, false) => Ok(SearcherName::External(words)),
                (None, true) => Err(StudyError::UnknownSearcher(line)),
                (Some(_), _) => Err(StudyError::TwoSearchers),
            };
        }
        match self.searcher {
            None => Ok(SearcherName::Tpe),
            Some(Names::Several(words)) if !words.is_empty() => Ok(SearcherName::External(words)),
            Some(Names::Several(_)) => Err(StudyError::UnknownSearcher(String::new())),
            Some(Names::One(name)) => match name.as_str() {
                "grid" => Ok(SearcherName::Grid),
                "random" => Ok(SearcherName::Random),
                "halving" => Ok(SearcherName::Halving(halving)),
                "tpe" => Ok(SearcherName::Tpe),
                _ => Err(StudyError::UnknownSearcher(name)),
            },
        }
    }
}

impl GivenLastStage {
    fn last_stage(self) -> Result<LastStage, StudyError> {
        let usual = LastStage::default();
        let last_stage = LastStage {
            best: self.best.unwrap_or(usual.best),
            repeats: self.repeats.unwrap_or(usual.repeats),
        };
        let number = |what, given: usize, wanted| StudyError::Number {
            what,
            given: given.to_string(),
            wanted,
        };
        match (last_stage.best, last_stage.repeats) {
            (best @ (0 | 21..), _) => {
                Err(number("[last-stage] best", best, "between 1 and 20 trials"))
            }
            (_, repeats @ (0 | 1 | 101..)) => Err(number(
                "[last-stage] repeats",
                repeats,
                "between 2 and 100 fresh starts",
            )),
            _ => Ok(last_stage),
        }
    }
}
