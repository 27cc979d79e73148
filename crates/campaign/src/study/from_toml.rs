//! A study as it is written in TOML.

use super::definition::{Budget, Engine, SearcherName, Study};
use super::goal::{Direction, Goal, Objective};
use super::last_stage::LastStage;
use super::requests::requests;
use super::requirement::Requirement;
use super::toml_errors::{in_plain_words, line_of, of_message, without, without_table};
use crate::number_paths;
use crate::search::Halving;
use crate::space::{DomainSpec, Space, SpaceError};
use crate::trial::Level;
use inferometer_catalog::engine::command::CommandError;
use inferometer_catalog::engine::words::split;
use inferometer_catalog::engine::{LaunchCommand, Version, nearest};
use inferometer_core::check::Check;
use inferometer_core::options::{ConnectionOptions, LoadOptions, WorkOptions};
use inferometer_core::slo::Slo;
use inferometer_core::thresholds::Thresholds;
use inferometer_core::units::Span;
use inferometer_core::value::{BadValue, Tag};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StudyError {
    /// What is wrong with the text, in one sentence.
    #[error("{0}")]
    Toml(String),
    #[error("{} mistakes: {}", .0.len(), numbered(.0))]
    Several(Vec<StudyError>),
    #[error(
        "the study lacks, each with an example: {0}; `inferometer tune --init -- ENGINE COMMAND` prints a whole one"
    )]
    Missing(String),
    #[error("[engine] command: {0}")]
    Command(#[from] CommandError),
    #[error("[space] {0}")]
    Space(#[from] SpaceError),
    #[error("[load] says {0}; give concurrency = [64] or capacity = true")]
    Load(&'static str),
    #[error("[goal] has no objective; give maximize = \"throughput.output_tokens_per_s\"")]
    NoObjective,
    #[error("[goal] there is no figure '{path}'{meant}")]
    NoFigure {
        path: String,
        /// `; did you mean …`, or a remedy.
        meant: String,
    },
    #[error("[load] capacity = true needs a limit; give [goal] slo = [\"ttft.p99=1s\"]")]
    CapacityWithoutSlo,
    /// A key of a run's connection that has no place in a study.
    #[error("[connection] {key} has no place in a study; use {instead}")]
    Misplaced {
        key: &'static str,
        instead: &'static str,
    },
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
    #[error("[search] has both searcher and command; leave out one of them")]
    TwoSearchers,
    #[error("[goal] threshold: {0}")]
    Threshold(#[from] BadValue),
    #[error("[search] rungs: {0}")]
    Rungs(#[from] crate::search::HalvingError),
}

fn numbered(errors: &[StudyError]) -> String {
    let each = (1..).zip(errors);
    let each = each.map(|(number, error)| format!("({number}) {error}"));
    each.collect::<Vec<String>>().join("; ")
}

/// What is wrong with a study, all that can be told at once.
#[derive(Default)]
struct Mistakes {
    told: Vec<StudyError>,
    /// What is missing, and an example stands in for it.
    missing: Vec<&'static Needed>,
}

impl Mistakes {
    /// The value, or a note of why there is none.
    fn keep<T>(&mut self, given: Result<T, StudyError>) -> Option<T> {
        given.map_err(|error| self.told.push(error)).ok()
    }

    fn error(mut self) -> StudyError {
        match self.told.len() {
            1 => self.told.remove(0),
            _ => StudyError::Several(self.told),
        }
    }
}

fn bad_number(what: &'static str, given: impl ToString, wanted: &'static str) -> StudyError {
    let given = given.to_string();
    StudyError::Number {
        what,
        given,
        wanted,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudySpec {
    engine: EngineSpec,
    space: SpaceSpec,
    #[serde(default)]
    connection: ConnectionOptions,
    #[serde(default)]
    work: WorkOptions,
    load: LoadSpec,
    goal: GoalSpec,
    budget: Budget,
    #[serde(default)]
    search: SearchSpec,
    #[serde(default, rename = "last-stage")]
    last_stage: LastStage,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EngineSpec {
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
struct SpaceSpec {
    #[serde(default)]
    preset: OneOrMany<String>,
    #[serde(flatten)]
    flags: BTreeMap<String, toml::Value>,
}

impl SpaceSpec {
    /// The values of each flag; what is wrong with one is told with its name.
    fn flags(&self, mistakes: &mut Mistakes) -> BTreeMap<String, DomainSpec> {
        let read = |(name, value): (&String, &toml::Value)| {
            let bad = |error: toml::de::Error| {
                StudyError::Toml(format!("[space] '{name}': {}", error.message()))
            };
            let given = DomainSpec::deserialize(value.clone()).map_err(bad);
            Some((name.clone(), mistakes.keep(given)?))
        };
        self.flags.iter().filter_map(read).collect()
    }
}

/// The load of a run but for its levels, which a study gives as a list.
#[derive(Deserialize)]
struct LoadSpec {
    #[serde(default)]
    concurrency: OneOrMany<u32>,
    #[serde(default)]
    capacity: bool,
    #[serde(flatten)]
    other: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoalSpec {
    #[serde(default)]
    maximize: OneOrMany<String>,
    #[serde(default)]
    minimize: OneOrMany<String>,
    #[serde(default)]
    slo: Vec<Slo>,
    attainment: Option<f64>,
    #[serde(default)]
    require: Vec<Requirement>,
    check: Option<Check>,
    #[serde(default)]
    threshold: Vec<Tag>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SearchSpec {
    searcher: Option<OneOrMany<String>>,
    command: Option<String>,
    seed: u64,
    rungs: Option<Vec<Span>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "write one value, or several in brackets")]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany::Many(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    fn list(&self) -> &[T] {
        match self {
            OneOrMany::One(value) => std::slice::from_ref(value),
            OneOrMany::Many(values) => values,
        }
    }
}

/// A start takes minutes; beyond this it hangs.
const START_TIMEOUT: Span = Span(Duration::from_secs(15 * 60));
/// A setting that turns away more serves the others quickly, and must not win by that.
const FAILURES_OF_A_TRIAL: &str = "failures-invalid=0.05";
const MOST_TRIALS: u64 = 100_000;

impl std::str::FromStr for Study {
    type Err = StudyError;

    fn from_str(text: &str) -> Result<Self, StudyError> {
        let mut mistakes = Mistakes::default();
        let given = read(text, &mut mistakes);
        mistakes.told.sort_by_key(|it| line_of(&it.to_string()));
        let missing = told(&mistakes.missing, &mistakes.told);
        mistakes.told.extend(missing);
        match given.and_then(|given| given.study(&mut mistakes)) {
            Some(study) if mistakes.told.is_empty() => Ok(study),
            _ => Err(mistakes.error()),
        }
    }
}

/// What a text says. Each slip in it is noted and taken out, and what is missing is noted and put
/// in, so that the rest can be read.
fn read(text: &str, mistakes: &mut Mistakes) -> Option<StudySpec> {
    let mut rest = text.to_owned();
    loop {
        let error: toml::de::Error = match toml::from_str(&rest) {
            Ok(given) => return Some(given),
            Err(error) => error,
        };
        let missing = missing(&rest);
        if error.message().starts_with("missing field") && !missing.is_empty() {
            for (table, _, example) in &missing {
                rest = without_table(&rest, table) + &format!("\n[{table}]\n{example}\n");
            }
            mistakes.missing.extend(missing);
        } else {
            let said = in_plain_words(&error, &rest);
            mistakes.told.push(StudyError::Toml(said));
            rest = without(&rest, error.span()?)?;
        }
    }
}

impl StudySpec {
    fn study(self, mistakes: &mut Mistakes) -> Option<Study> {
        let slips = mistakes.told.len();
        let engine = mistakes.keep(self.engine.engine());
        let flags = self.space.flags(mistakes);
        let mut missing = mistakes.missing.iter();
        let is_made_up = missing.any(|(table, ..)| ["engine", "space"].contains(table));
        let engine = engine.filter(|_| !is_made_up);
        let space = engine.as_ref().and_then(|engine| {
            let version = engine.version.unwrap_or(engine.kind().newest());
            let presets = self.space.preset.list();
            let space = Space::of_study(engine.kind(), version, presets, &flags);
            let errors = space.as_ref().err().into_iter().flatten().cloned();
            // What is left of a space after mistakes may be empty, or follow what is not there.
            let is_whole = flags.len() == self.space.flags.len();
            let of_rest =
                |it: &SpaceError| matches!(it, SpaceError::Empty | SpaceError::NotSearched { .. });
            let errors = errors.filter(|it| is_whole || !of_rest(it));
            mistakes.told.extend(errors.map(StudyError::from));
            space.ok()
        });
        mistakes.keep(placed(&self.connection));
        let goal = mistakes.keep(self.goal.goal());
        let load = mistakes.keep(self.load.load());
        if let (Some(goal), Some((_, levels))) = (&goal, &load) {
            mistakes.keep(check_goal(goal, levels));
        }
        mistakes.told.extend(wrong_budget(&self.budget));
        mistakes.told.extend(wrong_last_stage(&self.last_stage));
        let seed = self.search.seed;
        let searcher = mistakes.keep(self.search.name());
        if slips > 0 {
            // What a slip stands for is not missing.
            let is_missing = |it: &StudyError| {
                let nothing = StudyError::Load("nothing");
                let lacks = [
                    nothing,
                    StudyError::NoObjective,
                    StudyError::CapacityWithoutSlo,
                ];
                lacks.contains(it)
            };
            mistakes.told.retain(|it| !is_missing(it));
        }
        let (load, levels) = load?;
        Some(Study {
            engine: engine?,
            space: space?,
            connection: self.connection,
            work: self.work,
            load,
            levels,
            goal: goal?,
            budget: self.budget,
            seed,
            searcher: searcher?,
            last_stage: self.last_stage,
            unmodelled: Vec::new(),
        })
    }
}

/// Refuses what has its place elsewhere.
fn placed(connection: &ConnectionOptions) -> Result<(), StudyError> {
    let misplaced = [
        (connection.url.is_some(), "url", "[engine] url"),
        (
            connection.header.is_some(),
            "header",
            "api-key-env or api-key-file",
        ),
        (connection.sim_clock.is_some(), "sim-clock", "--sim-clock"),
        (
            connection.sim_device.is_some(),
            "sim-device",
            "--sim-device",
        ),
        (
            connection.sim_model.is_some(),
            "sim-model",
            "[engine] command",
        ),
    ];
    match misplaced.into_iter().find(|(given, ..)| *given) {
        Some((_, key, instead)) => Err(StudyError::Misplaced { key, instead }),
        None => Ok(()),
    }
}

fn check_goal(goal: &Goal, levels: &[Level]) -> Result<(), StudyError> {
    if levels.contains(&Level::Capacity) && goal.slos.is_empty() {
        return Err(StudyError::CapacityWithoutSlo);
    }
    check_figures(goal, levels)
}

/// A table, one of its keys, and an example.
type Needed = (&'static str, &'static str, &'static str);

/// What a study must have.
const NEEDED: [Needed; 5] = [
    (
        "engine",
        "command",
        "command = \"vllm serve MODEL --port {port}\"",
    ),
    ("space", "", "max-num-seqs = { choice = [64, 256] }"),
    ("load", "", "concurrency = [64]"),
    ("goal", "", "maximize = \"throughput.output_tokens_per_s\""),
    ("budget", "trials", "trials = 30"),
];

/// What a text lacks of it. What is not TOML at all is told by the parser.
fn missing(text: &str) -> Vec<&'static Needed> {
    let Ok(given) = text.parse::<toml::Table>() else {
        return Vec::new();
    };
    let is_missing = |(table, key, _): &&Needed| match given.get(*table) {
        None => true,
        Some(toml::Value::Table(inside)) => !key.is_empty() && !inside.contains_key(*key),
        Some(_) => false,
    };
    NEEDED.iter().filter(is_missing).collect()
}

/// All that is missing in one sentence, but for what a slip stands for.
fn told(missing: &[&Needed], slips: &[StudyError]) -> Option<StudyError> {
    let is_meant = |name: &str| {
        let meant = format!("did you mean '{name}'?");
        slips.iter().any(|it| it.to_string().ends_with(&meant))
    };
    let missing = (missing.iter()).filter(|(table, key, _)| !is_meant(table) && !is_meant(key));
    let missing: Vec<String> = missing
        .map(|(table, _, example)| format!("[{table}] {example}"))
        .collect();
    (!missing.is_empty()).then(|| StudyError::Missing(missing.join("; ")))
}

/// A goal that no measurement can have is refused before anything is started for it.
fn check_figures(goal: &Goal, levels: &[Level]) -> Result<(), StudyError> {
    let is_capacity = levels.contains(&Level::Capacity);
    let known = if is_capacity {
        number_paths::of_capacity()
    } else {
        number_paths::of_summary()
    };
    let objectives = goal.objectives.iter().map(|objective| &objective.path);
    let mut paths = objectives.chain(goal.requires.iter().map(|it| &it.path));
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

impl EngineSpec {
    fn engine(self) -> Result<Engine, StudyError> {
        let version = (self.version.as_deref())
            .map(|text| {
                let bad = |_| {
                    bad_number(
                        "[engine] version",
                        format!("'{text}'"),
                        "one such as \"0.11.0\"",
                    )
                };
                text.parse::<Version>().map_err(bad)
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

impl LoadSpec {
    fn load(mut self) -> Result<(LoadOptions, Vec<Level>), StudyError> {
        if let Some(toml::Value::String(text)) = self.other.get("requests") {
            let count = requests(text, self.concurrency.list());
            let count = count
                .map_err(|why| StudyError::Toml(format!("[load] requests = {text:?}: {why}")))?;
            self.other.insert("requests".to_owned(), count.into());
        }
        let other = LoadOptions::deserialize(self.other);
        let other = other.map_err(|error: toml::de::Error| {
            let said = of_message(error.message(), &["concurrency", "capacity"]);
            StudyError::Toml(format!("[load] {said}"))
        })?;
        let levels = match (self.concurrency.list(), self.capacity) {
            ([], false) => return Err(StudyError::Load("nothing")),
            ([_, ..], true) => return Err(StudyError::Load("both concurrency and capacity")),
            ([], true) => vec![Level::Capacity],
            (streams, false) if streams.contains(&0) => {
                return Err(bad_number("[load] concurrency", 0, "at least 1 stream"));
            }
            (streams, false) => streams
                .iter()
                .map(|&count| Level::Concurrency(count))
                .collect(),
        };
        if other.rate.is_some() {
            return Err(StudyError::Load("a rate, which a study does not take"));
        }
        Ok((other, levels))
    }
}

impl GoalSpec {
    fn goal(self) -> Result<Goal, StudyError> {
        let towards = |names: &OneOrMany<String>, direction| -> Vec<Objective> {
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
            let wanted = "a share above 0 and up to 1, as in 0.95";
            return Err(bad_number("[goal] attainment", attainment, wanted));
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
            requires: self.require,
            check: self.check,
            thresholds,
        })
    }
}

fn wrong_budget(budget: &Budget) -> Vec<StudyError> {
    let mut wrong = Vec::new();
    if !(1..=MOST_TRIALS).contains(&budget.trials) {
        let wanted = "between 1 and 100000 trials";
        wrong.push(bad_number("[budget] trials", budget.trials, wanted));
    }
    let hours = budget
        .hours
        .filter(|hours| !(*hours > 0.0 && hours.is_finite()));
    let wanted = "a time above 0, or leave it out";
    wrong.extend(hours.map(|hours| bad_number("[budget] hours", hours, wanted)));
    wrong
}

impl SearchSpec {
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
            Some(OneOrMany::Many(words)) if !words.is_empty() => Ok(SearcherName::External(words)),
            Some(OneOrMany::Many(_)) => Err(StudyError::UnknownSearcher(String::new())),
            Some(OneOrMany::One(name)) => match name.as_str() {
                "grid" => Ok(SearcherName::Grid),
                "random" => Ok(SearcherName::Random),
                "halving" => Ok(SearcherName::Halving(halving)),
                "tpe" => Ok(SearcherName::Tpe),
                _ => Err(StudyError::UnknownSearcher(name)),
            },
        }
    }
}

fn wrong_last_stage(last_stage: &LastStage) -> Vec<StudyError> {
    let LastStage { best, repeats, .. } = *last_stage;
    let mut wrong = Vec::new();
    if !(1..=20).contains(&best) {
        let wanted = "between 1 and 20 trials";
        wrong.push(bad_number("[last-stage] best", best, wanted));
    }
    if !(2..=100).contains(&repeats) {
        let wanted = "between 2 and 100 pairs of fresh starts";
        wrong.push(bad_number("[last-stage] repeats", repeats, wanted));
    }
    wrong
}
