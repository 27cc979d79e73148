//! A study of launch flags as a document: the best command first, what it is worth, then why.

mod figures;
mod flag_axis;
#[cfg(test)]
mod tests;

pub use figures::figures;

use crate::chart::metric_name::name_and_unit;
use crate::message::notes::NoteText;
use crate::message::setup::SetupText;
use crate::message::study::StudyText;
use inferometer_page::doc::{
    Block, Cell, Column, Command, Doc, Pair, Section, Table, Tone, Unit, Verdict,
};
use inferometer_page::number;
use inferometer_text::Lang;
use std::collections::BTreeSet;
use std::path::Path;

/// Longest line of an engine that a table shows.
const WORDS: usize = 160;
/// So many flags can be named in every row of a table.
const FEW_FLAGS: usize = 1;

/// What a study's report is made of.
#[derive(Clone, Debug)]
pub struct StudyReport<'a> {
    /// What is wanted, the most important first.
    pub objectives: Vec<ObjectiveLine>,
    /// Limits that must be kept.
    pub limits: Vec<LimitLine>,
    /// Every trial, in the order of their ids.
    pub trials: Vec<TrialLine>,
    pub best: Option<BestLine>,
    /// What can be said of it.
    pub verdict: VerdictLine,
    /// The best against the default, or, where that is the default, the best other.
    pub comparison: Option<ComparisonLine>,
    /// The loads, where there are several.
    pub loads: Vec<String>,
    /// Fresh starts of each in the last stage.
    pub repeats: usize,
    /// Trials that no other beats in every objective.
    pub pareto: Vec<u64>,
    pub importance: Vec<ImportanceLine>,
    /// Trials that met the SLOs, where the importance is of those alone.
    pub importance_of_met: Option<usize>,
    /// Failed trials: class, number, and the engine's words of one of them.
    pub failures: Vec<(String, usize, Option<String>)>,
    /// Nothing was started: trials were computed on the simulated engine.
    pub is_virtual: bool,
    pub directory: &'a Path,
    pub lang: Lang,
}

/// A figure and where it should go.
#[derive(Clone, Debug)]
pub struct ObjectiveLine {
    /// Its place in the summary.
    pub path: String,
    /// [`StudyText::Maximize`] or [`StudyText::Minimize`].
    pub towards: StudyText,
}

/// A limit that must be kept.
#[derive(Clone, Debug)]
pub struct LimitLine {
    pub slo: String,
    /// What is limited, with its unit: `ttft.p99 ms`.
    pub figure: String,
}

#[derive(Clone, Debug)]
pub struct TrialLine {
    pub id: u64,
    pub why: Why,
    /// Its flags, as `name=value`.
    pub flags: String,
    /// The same one by one, for drawing.
    pub values: Vec<(String, FlagValue)>,
    /// How it ended, by its word.
    pub state: StudyText,
    /// The class of a failure.
    pub class: Option<String>,
    /// Its figures, one for each objective.
    pub figures: Vec<Option<f64>>,
    /// The same at each load, where there are several.
    pub by_load: Vec<Vec<Option<f64>>>,
    pub failed_requests: Option<u64>,
    /// What was limited, one for each limit.
    pub limited: Vec<Option<f64>>,
    pub memory_gib: Option<f64>,
}

impl TrialLine {
    fn value(&self, flag: &str) -> Option<&FlagValue> {
        let found = self.values.iter().find(|(name, _)| name == flag);
        found.map(|(_, value)| value)
    }
}

/// The value of a flag.
#[derive(Clone, Debug, PartialEq)]
pub enum FlagValue {
    /// One that lies on a scale.
    Number(f64),
    Word(String),
}

impl std::fmt::Display for FlagValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FlagValue::Number(number) => write!(f, "{number}"),
            FlagValue::Word(word) => f.write_str(word),
        }
    }
}

/// Why a trial was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    Default,
    Preset(String),
    Search,
    /// A fresh start of an earlier trial.
    Again(u64),
}

#[derive(Clone, Debug)]
pub struct BestLine {
    /// The trial that found it.
    pub trial: u64,
    /// The command, ready to paste.
    pub command: Vec<String>,
    /// Keys of a configuration file, for engines that read one.
    pub keys: Vec<(String, String)>,
}

/// What can be said of the best, by its word and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictLine {
    /// [`StudyText::Better`], [`StudyText::NoGain`] and so on.
    pub word: StudyText,
    /// Why, with the changes where there are some.
    pub reason: StudyText,
}

/// One configuration against the default.
#[derive(Clone, Debug)]
pub struct ComparisonLine {
    /// The trial that found it.
    pub trial: u64,
    /// Every figure that is wanted.
    pub changes: Vec<ChangeLine>,
}

/// How one figure differs from the default's, as shares of that.
#[derive(Clone, Debug)]
pub struct ChangeLine {
    /// Its place in the summary.
    pub path: String,
    pub value: f64,
    /// Low end of its interval.
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug)]
pub struct ImportanceLine {
    pub flag: String,
    pub share: f64,
    /// Which way, by its word.
    pub effect: StudyText,
    /// The value at which the objective is best; absent without an effect.
    pub best_at: Option<String>,
    /// Flags that changed together with it.
    pub changed_with: Vec<String>,
}

/// The study as a document.
pub fn compose(report: &StudyReport<'_>) -> Doc {
    let say = |text: StudyText| text.text(report.lang);
    let mut sections = vec![
        Section::plain(vec![Block::Verdict(verdict(report))]),
        Section::plain(best(report)),
        Section::plain(vec![Block::Pairs(pairs(report))]),
    ];
    let mut table = |heading: StudyText, table: Table| {
        if !table.rows.is_empty() {
            let block = Block::Table(table);
            sections.push(Section::headed(say(heading), vec![block]));
        }
    };
    let front: Vec<&TrialLine> = (report.trials.iter())
        .filter(|trial| report.pareto.contains(&trial.id))
        .collect();
    table(StudyText::Pareto, trials(report, &front));
    table(StudyText::Importance, importance(report));
    table(StudyText::Failures, failures(report));
    let all: Vec<&TrialLine> = report.trials.iter().collect();
    table(StudyText::AllTrials, trials(report, &all));
    let saved = Pair::new(
        say(StudyText::Saved),
        report.directory.display().to_string(),
    );
    sections.push(Section::plain(vec![Block::Pairs(vec![saved])]));
    Doc { sections }
}

fn verdict(report: &StudyReport<'_>) -> Verdict {
    let lang = report.lang;
    let VerdictLine { word, reason } = report.verdict;
    let comparison = report.comparison.as_ref();
    let changes: Vec<String> = (comparison.iter())
        .flat_map(|comparison| &comparison.changes)
        .map(|change| {
            let values = [
                ("metric", name_and_unit(&change.path, lang).0),
                ("value", percent(change.value)),
                ("low", percent(change.low)),
                ("high", percent(change.high)),
            ];
            StudyText::Change.with(lang, &values)
        })
        .collect();
    let trial = comparison.map_or(String::new(), |it| it.trial.to_string());
    let values = [
        ("changes", changes.join("; ")),
        ("trial", trial),
        ("repeats", report.repeats.to_string()),
    ];
    Verdict {
        word: word.text(lang).to_owned(),
        tone: match word {
            StudyText::Better | StudyText::DefaultBest | StudyText::DefaultMisses => Tone::Good,
            StudyText::Nothing => Tone::Bad,
            _ => Tone::Caution,
        },
        reason: reason.with(lang, &values),
        rest: String::new(),
    }
}

pub(crate) fn percent(share: f64) -> String {
    // Adding 0 makes +0.0 of -0.0.
    let rounded = (share * 1000.0).round() / 10.0 + 0.0;
    format!("{rounded:+.1} %")
}

fn best(report: &StudyReport<'_>) -> Vec<Block> {
    let Some(best) = &report.best else {
        return Vec::new();
    };
    let trial = [("trial", best.trial.to_string())];
    let mut blocks = vec![Block::Command(Command {
        caption: StudyText::BestCommand.with(report.lang, &trial),
        words: best.command.clone(),
    })];
    if !best.keys.is_empty() {
        let caption = StudyText::BestKeys.with(report.lang, &trial);
        blocks.push(Block::Paragraph(caption));
        let pairs = best.keys.iter().map(|(key, value)| Pair::new(key, value));
        blocks.push(Block::Pairs(pairs.collect()));
    }
    blocks
}

fn pairs(report: &StudyReport<'_>) -> Vec<Pair> {
    let lang = report.lang;
    let goals: Vec<String> = (report.objectives.iter())
        .map(|objective| {
            let path = [("path", objective.path.clone())];
            objective.towards.with(lang, &path)
        })
        .collect();
    let mut pairs = vec![Pair::new(StudyText::Goal.text(lang), goals.join(", "))];
    if report.is_virtual {
        let note = NoteText::VirtualTime.text(lang);
        pairs.push(Pair::new(SetupText::Note.text(lang), note));
    }
    if !report.limits.is_empty() {
        let slos: Vec<&str> = report.limits.iter().map(|it| it.slo.as_str()).collect();
        pairs.push(Pair::new(StudyText::Limits.text(lang), slos.join(", ")));
    }
    let searched = || {
        let again = |why: &Why| matches!(why, Why::Again(_));
        report.trials.iter().filter(move |trial| !again(&trial.why))
    };
    let of = |states: &[StudyText]| {
        let found = searched().filter(|trial| states.contains(&trial.state));
        found.count().to_string()
    };
    let counts = [
        ("all", report.trials.len().to_string()),
        (
            "done",
            of(&[StudyText::Done, StudyText::SloMissed, StudyText::Invalid]),
        ),
        (
            "failed",
            of(&[StudyText::Refused, StudyText::Crashed, StudyText::Timeout]),
        ),
        ("stopped", of(&[StudyText::Stopped])),
        (
            "repeats",
            (report.trials.len() - searched().count()).to_string(),
        ),
    ];
    let counts = StudyText::Counts.with(lang, &counts);
    pairs.push(Pair::new(StudyText::Trials.text(lang), counts));
    pairs
}

fn trials(report: &StudyReport<'_>, shown: &[&TrialLine]) -> Table {
    let lang = report.lang;
    let memory = shown.iter().any(|trial| trial.memory_gib.is_some());
    let mut columns = vec![
        Column::right(StudyText::Id.text(lang)),
        Column::left(StudyText::Why.text(lang)),
        Column::left(StudyText::State.text(lang)),
    ];
    for objective in &report.objectives {
        // `latency.ttft_ms.p99` is known without its group.
        let known = objective.path.split_once('.').map(|(_, rest)| rest);
        columns.push(Column::right(known.unwrap_or(&objective.path)));
        columns.extend(report.loads.iter().map(|load| {
            let at = StudyText::AtLoad.with(lang, &[("load", load.clone())]);
            Column::right(&at)
        }));
    }
    let refusals = (shown.iter()).any(|trial| trial.failed_requests.is_some_and(|count| count > 0));
    if refusals {
        columns.push(Column::right(StudyText::FailedRequests.text(lang)));
    }
    // A search for the capacity keeps its limits by itself.
    let known = |at: &usize| shown.iter().any(|trial| limited(trial, *at).is_some());
    let limits: Vec<usize> = (0..report.limits.len()).filter(known).collect();
    columns.extend((limits.iter()).map(|&at| Column::right(&report.limits[at].figure)));
    if memory {
        columns.push(Column::right(StudyText::Memory.text(lang)));
    }
    let flags = flag_names(&report.trials);
    // Names beside every value would need most of the line.
    let is_brief = flags.len() > FEW_FLAGS || flags.iter().any(|flag| flag.contains('.'));
    columns.push(match is_brief {
        true => Column::left(StudyText::Values.text(lang)),
        false => Column::wrapped(StudyText::Flags.text(lang)),
    });
    let row = |trial: &&TrialLine| {
        let why = match &trial.why {
            Why::Default => StudyText::Default.text(lang).to_owned(),
            Why::Preset(name) => StudyText::Preset.with(lang, &[("name", name.clone())]),
            Why::Search => StudyText::Searched.text(lang).to_owned(),
            Why::Again(of) => StudyText::Again.with(lang, &[("of", of.to_string())]),
        };
        let tone = match trial.state {
            StudyText::Done => Tone::Good,
            StudyText::Stopped => Tone::Plain,
            StudyText::SloMissed | StudyText::Invalid => Tone::Caution,
            _ => Tone::Bad,
        };
        let mut cells = vec![
            Cell::count(trial.id),
            Cell::text(why),
            Cell::Toned(trial.state.text(lang).to_owned(), tone),
        ];
        for (at, figure) in trial.figures.iter().enumerate() {
            cells.push(Cell::number(*figure, Unit::Count, 2));
            let at_load = |load: usize| trial.by_load.get(at)?.get(load).copied()?;
            let loads = 0..report.loads.len();
            cells.extend(loads.map(|load| Cell::number(at_load(load), Unit::Count, 2)));
        }
        if refusals {
            let failed = trial.failed_requests.map(|count| count as f64);
            cells.push(Cell::number(failed, Unit::Count, 0));
        }
        let limited = |&at: &usize| Cell::number(limited(trial, at), Unit::Count, 1);
        cells.extend(limits.iter().map(limited));
        if memory {
            cells.push(Cell::number(trial.memory_gib, Unit::Count, 2));
        }
        let class = trial.class.as_ref();
        let class = class.map_or(String::new(), |class| format!("({class}) "));
        let values = match (is_brief, trial.values.is_empty()) {
            (true, false) => brief_values(trial, &flags),
            _ => trial.flags.clone(),
        };
        cells.push(Cell::text(format!("{class}{values}")));
        cells
    };
    let order = [("flags", flags.join(", "))];
    let values = is_brief.then(|| StudyText::ValuesOf.with(lang, &order));
    let several = !report.loads.is_empty();
    let mean = several.then(|| StudyText::MeanOfLoads.text(lang).to_owned());
    Table {
        columns,
        rows: shown.iter().map(row).collect(),
        footnotes: mean.into_iter().chain(values).collect(),
    }
}

/// What a trial showed of the limit at a place.
fn limited(trial: &TrialLine, at: usize) -> Option<f64> {
    trial.limited.get(at).copied().flatten()
}

/// The flags of all trials, by name.
fn flag_names(trials: &[TrialLine]) -> Vec<&str> {
    let names = trials.iter().flat_map(|trial| &trial.values);
    let names: BTreeSet<&str> = names.map(|(name, _)| name.as_str()).collect();
    names.into_iter().collect()
}

/// The values alone, as `16-true-8192`.
fn brief_values(trial: &TrialLine, flags: &[&str]) -> String {
    let value = |flag: &&str| match trial.value(flag) {
        Some(value) => value.to_string(),
        None => number::ABSENT.to_owned(),
    };
    let values: Vec<String> = flags.iter().map(value).collect();
    values.join("-")
}

fn importance(report: &StudyReport<'_>) -> Table {
    let lang = report.lang;
    let row = |line: &ImportanceLine| {
        vec![
            Cell::text(line.flag.clone()),
            Cell::text(format!("{} %", number::grouped(line.share * 100.0, 0))),
            Cell::text(line.effect.text(lang)),
            Cell::text(line.best_at.clone().unwrap_or_default()),
        ]
    };
    Table {
        columns: vec![
            Column::left(StudyText::Flag.text(lang)),
            Column::right(StudyText::Share.text(lang)),
            Column::left(StudyText::Effect.text(lang)),
            Column::left(StudyText::BestAt.text(lang)),
        ],
        rows: report.importance.iter().map(row).collect(),
        footnotes: importance_notes(report),
    }
}

/// Which objective the shares are of, where there are several, of which trials, and which flags
/// cannot be told apart.
fn importance_notes(report: &StudyReport<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let [first, _, ..] = report.objectives.as_slice() {
        let text = StudyText::ImportanceOf.text(report.lang);
        notes.push(text.replace("{path}", &first.path));
    }
    if let Some(count) = report.importance_of_met {
        let text = StudyText::AmongMet.text(report.lang);
        notes.push(text.replace("{count}", &count.to_string()));
    }
    let groups: BTreeSet<Vec<&str>> = (report.importance.iter())
        .filter(|line| !line.changed_with.is_empty())
        .map(|line| {
            let others = line.changed_with.iter().map(String::as_str);
            let mut group: Vec<&str> = others.chain([line.flag.as_str()]).collect();
            group.sort_unstable();
            group
        })
        .collect();
    let text = StudyText::ChangedTogether.text(report.lang);
    notes.extend(
        groups
            .iter()
            .map(|group| text.replace("{flags}", &group.join(", "))),
    );
    notes
}

fn failures(report: &StudyReport<'_>) -> Table {
    let lang = report.lang;
    let row = |(class, count, words): &(String, usize, Option<String>)| {
        let words = words.as_deref().unwrap_or_default();
        vec![
            Cell::text(class.clone()),
            Cell::count(*count as u64),
            Cell::text(words.chars().take(WORDS).collect::<String>()),
        ]
    };
    Table {
        columns: vec![
            Column::left(StudyText::Class.text(lang)),
            Column::right(StudyText::Count.text(lang)),
            Column::wrapped(StudyText::Words.text(lang)),
        ],
        rows: report.failures.iter().map(row).collect(),
        footnotes: Vec::new(),
    }
}
