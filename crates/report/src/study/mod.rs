//! A study of launch flags as a document: the best command first, what it is worth, then why.

mod figures;
mod flag_axis;

pub use figures::figures;

use crate::doc::{Block, Cell, Column, Command, Doc, Pair, Section, Table, Tone, Unit, Verdict};
use crate::number;
use inferometer_core::message::Lang;
use inferometer_core::message::study::StudyText;
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
    /// The best configuration.
    pub best: Option<BestLine>,
    /// The best against the default.
    pub gain: Option<GainLine>,
    /// Where the default is the best: the best other against it.
    pub runner_up: Option<GainLine>,
    /// Whether the default was measured again in the last stage.
    pub default_confirmed: bool,
    /// Fresh starts of each in the last stage.
    pub repeats: usize,
    /// Trials that no other beats in every objective.
    pub pareto: Vec<u64>,
    /// Flags by importance.
    pub importance: Vec<ImportanceLine>,
    /// Failed trials: class, number, and the engine's words of one of them.
    pub failures: Vec<(String, usize, Option<String>)>,
    /// Where it is kept.
    pub directory: &'a Path,
    /// In which language.
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
    /// As it was written.
    pub slo: String,
    /// What is limited, with its unit: `ttft.p99 ms`.
    pub figure: String,
}

/// One trial.
#[derive(Clone, Debug)]
pub struct TrialLine {
    /// Its number.
    pub id: u64,
    /// Why it was tried.
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
    /// What was limited, one for each limit.
    pub limited: Vec<Option<f64>>,
    /// Device memory in use.
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
    /// One of several.
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
    /// The command as given.
    Default,
    /// A known setting.
    Preset(String),
    /// The searcher's choice.
    Search,
    /// A fresh start of an earlier trial.
    Again(u64),
}

/// The best configuration.
#[derive(Clone, Debug)]
pub struct BestLine {
    /// The trial that found it.
    pub trial: u64,
    /// The command, ready to paste.
    pub command: Vec<String>,
    /// Keys of a configuration file, for engines that read one.
    pub keys: Vec<(String, String)>,
    /// Fresh starts decided.
    pub confirmed: bool,
}

/// The best against the default, as shares.
#[derive(Clone, Copy, Debug)]
pub struct GainLine {
    /// Relative change.
    pub value: f64,
    /// Low end of its interval.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// The interval lies above 0, and the SLOs were met.
    pub certified: bool,
}

/// What one flag does.
#[derive(Clone, Debug)]
pub struct ImportanceLine {
    /// The flag.
    pub flag: String,
    /// Its share.
    pub share: f64,
    /// Which way, by its word.
    pub effect: StudyText,
    /// The value at which the objective is best.
    pub best_at: String,
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
    let repeats = ("repeats", report.repeats.to_string());
    let lang = report.lang;
    let ends = |gain: GainLine| {
        [
            ("value", percent(gain.value)),
            ("low", percent(gain.low)),
            ("high", percent(gain.high)),
            repeats.clone(),
        ]
    };
    let (word, tone, reason) = match (&report.best, report.gain, report.runner_up) {
        (None, ..) => (
            StudyText::Nothing,
            Tone::Bad,
            StudyText::NoneMet.text(lang).to_owned(),
        ),
        (Some(best), ..) if !best.confirmed => (
            StudyText::Unconfirmed,
            Tone::Caution,
            StudyText::OneTrial.text(lang).to_owned(),
        ),
        (Some(_), Some(gain), _) => {
            let (word, tone) = match gain.certified {
                true => (StudyText::Better, Tone::Good),
                false => (StudyText::NoGain, Tone::Caution),
            };
            (word, tone, StudyText::Gain.with(lang, &ends(gain)))
        }
        (Some(_), None, Some(other)) => {
            // Only a setting that is certainly worse leaves the place to the default.
            let (word, tone) = match other.high < 0.0 {
                true => (StudyText::DefaultBest, Tone::Good),
                false => (StudyText::NoGain, Tone::Caution),
            };
            (word, tone, StudyText::RunnerUp.with(lang, &ends(other)))
        }
        (Some(_), None, None) if report.default_confirmed => (
            StudyText::DefaultBest,
            Tone::Good,
            StudyText::DefaultWon.with(lang, &[repeats]),
        ),
        (Some(_), None, None) => (
            StudyText::NoGain,
            Tone::Caution,
            StudyText::NoDefault.text(lang).to_owned(),
        ),
    };
    Verdict {
        word: word.text(lang).to_owned(),
        tone,
        reason,
        rest: String::new(),
    }
}

fn percent(share: f64) -> String {
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
        ("done", of(&[StudyText::Done, StudyText::SloMissed])),
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
    let names = report.objectives.iter().map(|objective| {
        // `latency.ttft_ms.p99` is known without its group.
        let known = objective.path.split_once('.').map(|(_, rest)| rest);
        Column::right(known.unwrap_or(&objective.path))
    });
    columns.extend(names);
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
            StudyText::SloMissed => Tone::Caution,
            _ => Tone::Bad,
        };
        let mut cells = vec![
            Cell::count(trial.id),
            Cell::text(why),
            Cell::Toned(trial.state.text(lang).to_owned(), tone),
        ];
        let figure = |figure: &Option<f64>| Cell::number(*figure, Unit::Count, 2);
        cells.extend(trial.figures.iter().map(figure));
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
    let footnote = is_brief.then(|| StudyText::ValuesOf.with(lang, &order));
    Table {
        columns,
        rows: shown.iter().map(row).collect(),
        footnotes: footnote.into_iter().collect(),
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
            Cell::text(line.best_at.clone()),
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
        footnotes: Vec::new(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn trial(id: u64, why: Why, state: StudyText, figure: Option<f64>) -> TrialLine {
        TrialLine {
            id,
            why,
            flags: format!("max-num-seqs={}", 16 << id),
            values: vec![(
                "max-num-seqs".into(),
                FlagValue::Number(f64::from(16 << id)),
            )],
            state,
            class: None,
            figures: vec![figure],
            limited: vec![figure.map(|_| 812.5)],
            memory_gib: None,
        }
    }

    fn report(lang: Lang) -> StudyReport<'static> {
        StudyReport {
            objectives: vec![ObjectiveLine {
                path: "throughput.output_tokens_per_s".into(),
                towards: StudyText::Maximize,
            }],
            limits: vec![LimitLine {
                slo: "ttft.p99=1s".into(),
                figure: "ttft.p99 ms".into(),
            }],
            trials: vec![
                trial(0, Why::Default, StudyText::Done, Some(1000.0)),
                trial(1, Why::Search, StudyText::Crashed, None),
                trial(2, Why::Search, StudyText::Done, Some(1200.0)),
                trial(3, Why::Again(2), StudyText::Done, Some(1190.0)),
            ],
            best: Some(BestLine {
                trial: 2,
                command: ["vllm", "serve", "m", "--max-num-seqs", "64"]
                    .map(str::to_owned)
                    .to_vec(),
                keys: Vec::new(),
                confirmed: true,
            }),
            runner_up: None,
            gain: Some(GainLine {
                value: 0.19,
                low: 0.15,
                high: 0.23,
                certified: true,
            }),
            default_confirmed: true,
            repeats: 4,
            pareto: Vec::new(),
            importance: Vec::new(),
            failures: vec![("no-room-for-kv-cache".into(), 1, Some("ValueError".into()))],
            directory: Path::new("out"),
            lang,
        }
    }

    #[test]
    fn the_best_command_and_its_gain_come_first() {
        let shown = text::render(&compose(&report(Lang::En)), text::TextStyle::default());
        let first = shown.lines().next().unwrap();
        assert!(
            first.contains("BETTER") && first.contains("+19.0 %"),
            "{shown}"
        );
        assert!(shown.contains("vllm serve m --max-num-seqs 64"), "{shown}");
        assert!(shown.contains("2 measured, 1 failed"), "{shown}");
        assert!(shown.contains("no-room-for-kv-cache"), "{shown}");
        assert!(
            shown.contains("ttft.p99 ms") && shown.contains("812.5"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_not_certain_is_not_called_better() {
        let doubtful = |change: &dyn Fn(&mut StudyReport<'_>)| {
            let mut report = report(Lang::En);
            change(&mut report);
            verdict(&report)
        };
        let uncertain = doubtful(&|report: &mut StudyReport<'_>| {
            report.gain.as_mut().unwrap().certified = false;
        });
        assert_eq!(uncertain.word, "NO CERTAIN GAIN");
        let default = doubtful(&|report: &mut StudyReport<'_>| report.gain = None);
        assert_eq!(default.word, "DEFAULT IS BEST");
        let against = |high: f64| {
            doubtful(&|report: &mut StudyReport<'_>| {
                report.gain = None;
                report.runner_up = Some(GainLine {
                    value: -0.1,
                    low: -0.2,
                    high,
                    certified: false,
                });
            })
        };
        assert_eq!(against(-0.05).word, "DEFAULT IS BEST");
        assert_eq!(against(0.05).word, "NO CERTAIN GAIN");
        assert!(against(0.05).reason.contains("-10.0 %"));
        let early = doubtful(&|report: &mut StudyReport<'_>| {
            report.best.as_mut().unwrap().confirmed = false
        });
        assert_eq!(early.word, "UNCONFIRMED");
        assert_eq!(
            doubtful(&|report: &mut StudyReport<'_>| report.best = None).word,
            "NOTHING FOUND"
        );
    }

    #[test]
    fn the_chinese_report_has_no_english_headings() {
        let shown = text::render(&compose(&report(Lang::Zh)), text::TextStyle::default());
        assert!(
            shown.contains("有提升") && shown.contains("全部试验"),
            "{shown}"
        );
        assert!(!shown.contains("All trials"), "{shown}");
    }
}
