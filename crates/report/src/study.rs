//! A study of launch flags as a document: the best command first, what it is worth, then why.

mod as_good;
mod edges;
mod figures;
mod flag_axis;
mod importance;
mod nearest;
mod setting;
mod sides;
mod trials;

pub use figures::figures;
pub use sides::figures_of_best;

use crate::quality::{is_risky, may_change_answers};
use crate::runs::RunState;
use importance::importance;
use inferometer_campaign::space::{RefusedValue, Value};
use inferometer_campaign::study::{
    Change, Comparison, Direction, Effect, FailureCount, FigureChange, Finding, Objective, Refuted,
    Standing, Study, StudyResult, TrialRow,
};
use inferometer_campaign::trial::{Level, Origin, State};
use inferometer_catalog::engine::EngineKind;
use inferometer_chart::metric_name::name_and_unit;
use inferometer_message::{SetupText, StudyText};
use inferometer_page::doc::{
    Block, Cell, Column, Command, Doc, Pair, Section, Table, Tone, Verdict,
};
use inferometer_page::number;
use inferometer_text::Lang;
use std::path::Path;
use trials::trials;

/// Longest line of an engine that a table shows.
const WORDS: usize = 400;

#[derive(Clone, Copy, Debug)]
pub struct StudyReport<'a> {
    pub study: &'a Study,
    pub result: &'a StudyResult,
    pub directory: &'a Path,
    pub lang: Lang,
}

impl<'a> StudyReport<'a> {
    fn objectives(&self) -> &'a [Objective] {
        &self.study.goal.objectives
    }

    fn several_levels(&self) -> &'a [Level] {
        match self.study.levels.as_slice() {
            [_] => &[],
            levels => levels,
        }
    }
}

pub fn compose(report: &StudyReport<'_>) -> Doc {
    let say = |text: StudyText| text.text(report.lang);
    let filled = |table: Table| (!table.rows.is_empty()).then_some(Block::Table(table));
    let mut sections = vec![
        Section::plain([verdict(report)]),
        Section::plain(best(report)),
    ];
    sections.extend(filled(sides::figures(report)).map(|table| Section::plain([table])));
    sections.push(Section::plain([pairs(report)]));
    let mut add = |heading: StudyText, block: Option<Block>| {
        sections.extend(block.map(|block| Section::headed(say(heading), [block])));
    };
    let front: Vec<&TrialRow> = (report.result.trials.iter())
        .filter(|trial| report.result.pareto.contains(&trial.id))
        .collect();
    add(StudyText::DecidingPairs, filled(sides::starts(report)));
    add(StudyText::Pareto, filled(trials(report, &front)));
    // A table of what cannot be told would tell nothing.
    let mut effects = report.result.importance.iter().map(|line| line.effect);
    let is_unclear = effects.all(|effect| effect == Effect::Unclear);
    let unclear = Block::Paragraph(say(StudyText::AllUnclear).to_owned());
    let matters = filled(importance(report)).map(|it| if is_unclear { unclear } else { it });
    add(StudyText::Importance, matters);
    add(StudyText::RefusedValues, filled(refused(report)));
    add(StudyText::Failures, filled(failures(report)));
    let is_chosen = |trial: &&TrialRow| !is_repeat(trial);
    let all: Vec<&TrialRow> = report.result.trials.iter().filter(is_chosen).collect();
    add(StudyText::AllTrials, filled(trials(report, &all)));
    let saved = Pair::new(
        say(StudyText::Saved),
        report.directory.display().to_string(),
    );
    sections.push(Section::plain([vec![saved]]));
    Doc { sections }
}

fn verdict(report: &StudyReport<'_>) -> Verdict {
    let lang = report.lang;
    let comparison = report.result.comparison.as_ref();
    let nearest = nearest::trial(report);
    let reason = match report.result.finding {
        Finding::Better if report.result.computed => StudyText::ComputedGain,
        Finding::Better | Finding::NoCertainGain => StudyText::Gain,
        Finding::TradeOff => StudyText::Traded,
        Finding::DefaultMisses if report.result.computed => StudyText::ComputedBest,
        Finding::DefaultMisses => StudyText::BestThatMeets,
        Finding::DefaultFirst if is_same(comparison) => StudyText::SameAsDefault,
        Finding::DefaultFirst => StudyText::RunnerUp,
        Finding::DefaultBest if comparison.is_some() => StudyText::RunnerUp,
        Finding::DefaultBest => StudyText::DefaultWon,
        Finding::DefaultAlone => StudyText::NothingElse,
        Finding::NoDefault if sides::failure_of_default(report.result).is_some() => {
            StudyText::BestThatServes
        }
        Finding::NoDefault => StudyText::NoDefault,
        Finding::NoneHeld => StudyText::NoneHeld,
        Finding::Unconfirmed => StudyText::OneTrial,
        Finding::Nothing if nearest.is_some() => StudyText::NearestMiss,
        Finding::Nothing => StudyText::NoneMet,
    };
    let changes = comparison.map_or(String::new(), |it| changes_of(report, &it.changes));
    let best = report.result.best.as_ref().map(|it| it.trial);
    let trial = comparison
        .map(|it| it.trial)
        .or(best)
        .or(nearest.map(|it| it.id));
    let figures = match nearest {
        Some(nearest) => nearest::limits(report, nearest),
        None => sides::figures_in_words(report),
    };
    let refuted = report.result.refuted.iter();
    let refuted: Vec<String> = refuted.map(|it| refuted_in_words(report, it)).collect();
    let between = match lang {
        Lang::En => "; ",
        Lang::Zh => "；",
    };
    let starts = if sides::is_one_start(report) {
        StudyText::StartsAlike
    } else {
        StudyText::StartsEach
    };
    let pairs = comparison.map_or(0, |it| it.pairs.len());
    let values = [
        ("changes", changes),
        ("trial", trial.map_or(String::new(), |it| it.to_string())),
        ("figures", figures),
        (
            "class",
            sides::failure_of_default(report.result)
                .unwrap_or_default()
                .to_owned(),
        ),
        ("starts", starts.with(lang, &[("count", pairs.to_string())])),
        ("refuted", refuted.join(between)),
    ];
    let state = state(report.result);
    let tone = match state {
        RunState::Better | RunState::DefaultBest | RunState::DefaultMisses => Tone::Good,
        RunState::NothingFound => Tone::Bad,
        _ => Tone::Caution,
    };
    Verdict::new(state.text().text(lang), tone, reason.with(lang, &values))
}

/// What a study found, as lists of results name it, too.
pub fn state(result: &StudyResult) -> RunState {
    match result.finding {
        Finding::Better if result.computed => RunState::ComputedGain,
        Finding::Better => RunState::Better,
        Finding::TradeOff => RunState::TradeOff,
        Finding::DefaultMisses if result.computed => RunState::ComputedMisses,
        Finding::DefaultMisses => RunState::DefaultMisses,
        Finding::DefaultBest => RunState::DefaultBest,
        Finding::DefaultAlone => RunState::OnlyDefault,
        Finding::NoDefault if sides::failure_of_default(result).is_some() => RunState::DefaultFails,
        Finding::NoCertainGain | Finding::DefaultFirst | Finding::NoDefault | Finding::NoneHeld => {
            RunState::NoCertainGain
        }
        Finding::Unconfirmed => RunState::Unconfirmed,
        Finding::Nothing => RunState::NothingFound,
    }
}

/// Whether every objective is that of the default to the last digit.
fn is_same(comparison: Option<&Comparison>) -> bool {
    let mut changes = comparison.iter().flat_map(|it| &it.changes);
    changes.all(|change| change.value == 0.0)
}

/// The figures that changed, with their intervals.
fn changes_of(report: &StudyReport<'_>, changes: &[Change]) -> String {
    let words = changes.iter().map(|change| {
        let values = [
            ("metric", name_and_unit(&change.metric, report.lang).0),
            ("value", changed(change.value)),
            ("low", changed(change.low)),
            ("high", changed(change.high)),
        ];
        // The same figure in every start of the simulated engine is no certainty.
        if report.result.computed && change.high - change.low < 1e-4 {
            let [(_, metric), (_, value), ..] = values;
            return format!("{metric} {value}");
        }
        StudyText::Change.with(report.lang, &values)
    });
    words.collect::<Vec<_>>().join("; ")
}

/// In how many of its fresh starts one of the best met the goal, and what it gained.
fn refuted_in_words(report: &StudyReport<'_>, refuted: &Refuted) -> String {
    let trials = &report.result.trials;
    let own = trials.iter().find(|it| it.id == refuted.trial);
    let text = match refuted.changes.is_empty() {
        _ if own.is_some_and(|it| it.origin == Origin::Default) => StudyText::DefaultHeldIn,
        true => StudyText::HeldIn,
        false => StudyText::HeldAt,
    };
    let values = [
        ("trial", refuted.trial.to_string()),
        ("held", refuted.held.to_string()),
        ("starts", refuted.starts.to_string()),
        ("changes", changes_of(report, &refuted.changes)),
    ];
    text.with(report.lang, &values)
}

/// A share by which something grew or shrank.
pub fn changed(share: f64) -> String {
    number::change(1.0 + share)
}

/// The best command, ready to paste. MindIE's flags are keys of its configuration file.
fn best(report: &StudyReport<'_>) -> Vec<Block> {
    let Some(best) = &report.result.best else {
        return nearest::blocks(report);
    };
    let engine = &report.study.engine;
    let is_file = engine.kind() == EngineKind::Mindie;
    let trial = [("trial", best.trial.to_string())];
    let mut refuted = report.result.refuted.iter();
    let is_refuted = refuted.any(|it| it.trial == best.trial);
    let caption = match best.standing {
        Standing::Decided => StudyText::BestCommand,
        Standing::Uncertain => StudyText::UncertainCommand,
        Standing::SeenOnce if is_refuted => StudyText::RefutedCommand,
        Standing::SeenOnce => StudyText::SeenOnceCommand,
    };
    let mut blocks = vec![Block::Command(Command {
        caption: caption.with(report.lang, &trial),
        words: if is_file {
            engine.command.to_words()
        } else {
            engine.command_with(&best.flags).to_words()
        },
    })];
    if is_file && !best.flags.0.is_empty() {
        let caption = StudyText::BestKeys.with(report.lang, &trial);
        blocks.push(Block::Paragraph(caption));
        let keys = best.flags.0.iter();
        let pairs = keys.map(|(key, value)| Pair::new(last_part(key), value.to_string()));
        blocks.push(Block::Pairs(pairs.collect()));
    }
    let mut about = Vec::from_iter(sides::longer(report));
    about.extend(sides::in_step(report));
    about.extend(flags_of_best(report));
    about.extend(edges::warnings(report));
    about.extend(edges::between(report));
    if !about.is_empty() {
        blocks.push(Block::Pairs(about));
    }
    blocks
}

fn pairs(report: &StudyReport<'_>) -> Vec<Pair> {
    let lang = report.lang;
    let goals: Vec<String> = (report.objectives().iter())
        .map(|objective| {
            let towards = match objective.direction {
                Direction::Maximize => StudyText::Maximize,
                Direction::Minimize => StudyText::Minimize,
            };
            towards.with(lang, &[("path", objective.path.clone())])
        })
        .collect();
    let mut pairs = setting::pairs(report);
    pairs.push(Pair::new(StudyText::Goal.text(lang), goals.join(", ")));
    let notes = setting::notes(report).into_iter();
    pairs.extend(notes.map(|note| Pair::new(SetupText::Note.text(lang), note)));
    let goal = &report.study.goal;
    let slos = goal.slos.iter().map(ToString::to_string);
    let limits: Vec<String> = slos
        .chain(goal.requires.iter().map(ToString::to_string))
        .collect();
    if !limits.is_empty() {
        pairs.push(Pair::new(StudyText::Limits.text(lang), limits.join(", ")));
    }
    let trials = &report.result.trials;
    let searched = || trials.iter().filter(|trial| !is_repeat(trial));
    let count = |is_counted: fn(&TrialRow) -> bool| {
        let found = searched().filter(|trial| is_counted(trial));
        found.count().to_string()
    };
    let counts = [
        ("all", trials.len().to_string()),
        ("done", count(|trial| trial.state == State::Done)),
        ("failed", count(is_failure)),
        ("stopped", count(|trial| trial.state == State::Stopped)),
        ("repeats", (trials.len() - searched().count()).to_string()),
    ];
    let counts = StudyText::Counts.with(lang, &counts);
    pairs.push(Pair::new(StudyText::Trials.text(lang), counts));
    pairs
}

/// Which flags the best needs, which it does not, what they may do to the answers, and of which
/// the simulated engine knows nothing.
fn flags_of_best(report: &StudyReport<'_>) -> Vec<Pair> {
    let lang = report.lang;
    let result = report.result;
    let unmodelled = &report.study.unmodelled;
    // Where nothing is gained, no flag is needed for it.
    let is_worth = matches!(
        result.finding,
        Finding::Better | Finding::TradeOff | Finding::DefaultMisses | Finding::NoDefault
    );
    let trimming = result.trimming.as_ref().filter(|_| is_worth);
    let needed = trimming.iter().flat_map(|trimming| &trimming.needed);
    let needed = needed.map(|needed| {
        let flag = named(&needed.flag, &needed.value);
        let worsens = needed.worsens.as_ref();
        let worsens = worsens.map(|worse| in_words(worse, lang).join(" "));
        let changes: Vec<String> = (needed.without.map(changed).into_iter())
            .chain(worsens)
            .collect();
        let change = ("change", changes.join("; "));
        match changes.is_empty() {
            _ if needed.fails_without => StudyText::FailsWithout.with(lang, &[("flag", flag)]),
            _ if needed.misses_without => {
                StudyText::MissesWithout.with(lang, &[("flag", flag), change])
            }
            true => flag,
            false => StudyText::Without.with(lang, &[("flag", flag), change]),
        }
    });
    let needed = needed.collect::<Vec<_>>().join(", ");
    let mut pairs = Vec::new();
    if !needed.is_empty() {
        pairs.push(Pair::new(StudyText::Needed.text(lang), needed));
        pairs.extend(as_good::values(report));
    }
    let said = |name: StudyText, what: StudyText, flags: Vec<String>, changes: &[String]| {
        let values = [("flags", flags.join(", ")), ("changes", changes.join(", "))];
        (!flags.is_empty()).then(|| Pair::new(name.text(lang), what.with(lang, &values)))
    };
    if let Some(trimming) = trimming {
        let left_out = trimming.left_out.0.iter();
        let is_modelled = |(name, _): &(&String, &Value)| !unmodelled.contains(name);
        let left_out = left_out.filter(is_modelled);
        let left_out: Vec<String> = left_out.map(|(name, value)| named(name, value)).collect();
        let also = trimming.also.iter();
        let also: Vec<String> = also.map(|it| in_words(it, lang).join(" ")).collect();
        let what = if also.is_empty() {
            StudyText::NoLoss
        } else {
            StudyText::NoLossBut
        };
        pairs.extend(said(StudyText::LeftOut, what, left_out, &also));
    }
    let best = result.best.iter().flat_map(|best| &best.flags.0);
    let risky = best.filter(|(name, value)| is_risky(name, &value.to_string()));
    let risky: Vec<String> = risky.map(|(name, value)| named(name, value)).collect();
    pairs.extend(may_change_answers(&risky, lang));
    let unmodelled = unmodelled.iter().map(|name| last_part(name).to_owned());
    let concluded = StudyText::NothingConcluded;
    pairs.extend(said(
        StudyText::Unmodelled,
        concluded,
        unmodelled.collect(),
        &[],
    ));
    pairs
}

/// The name of a figure and how much it changed.
fn in_words(change: &FigureChange, lang: Lang) -> [String; 2] {
    [name_and_unit(&change.metric, lang).0, changed(change.value)]
}

fn outcome(trial: &TrialRow) -> StudyText {
    let missed = trial.violation.is_some_and(|violation| violation > 0.0);
    match trial.state {
        State::Done if trial.valid == Some(false) => StudyText::Invalid,
        State::Done if missed => StudyText::SloMissed,
        State::Done => StudyText::Done,
        State::Refused => StudyText::Refused,
        State::Crashed => StudyText::Crashed,
        State::Timeout => StudyText::Timeout,
        State::Stopped => StudyText::Stopped,
    }
}

fn is_failure(trial: &TrialRow) -> bool {
    matches!(
        trial.state,
        State::Refused | State::Crashed | State::Timeout
    )
}

/// A fresh start of an earlier trial.
fn is_repeat(trial: &TrialRow) -> bool {
    trial.origin.confirms().is_some()
}

fn named(name: &str, value: &Value) -> String {
    format!("{}={value}", last_part(name))
}

/// Keys of a file go by their last part.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn failures(report: &StudyReport<'_>) -> Table {
    let lang = report.lang;
    let row = |failure: &FailureCount| {
        let words = failure.words.as_deref().unwrap_or_default();
        vec![
            Cell::text(failure.class.clone()),
            Cell::count(failure.count as u64),
            Cell::text(whole_sentences(words)),
        ]
    };
    Table::new(
        vec![
            Column::left(StudyText::Class.text(lang)),
            Column::right(StudyText::Count.text(lang)),
            Column::wrapped(StudyText::Words.text(lang)),
        ],
        report.result.failures.iter().map(row),
    )
}

/// Values that were never tried, with the engine's words.
fn refused(report: &StudyReport<'_>) -> Table {
    let lang = report.lang;
    let refused = report.result.bed.iter().flat_map(|bed| &bed.refused);
    let row = |refused: &RefusedValue| {
        vec![
            Cell::text(last_part(&refused.flag)),
            Cell::text(refused.value.to_string()),
            Cell::text(whole_sentences(&refused.because)),
        ]
    };
    Table::new(
        vec![
            Column::left(StudyText::Flag.text(lang)),
            Column::left(StudyText::RefusedValue.text(lang)),
            Column::wrapped(StudyText::Words.text(lang)),
        ],
        refused.map(row),
    )
}

/// As much of an engine's words as a table shows, up to the end of a sentence.
fn whole_sentences(words: &str) -> String {
    if words.chars().count() <= WORDS {
        return words.to_owned();
    }
    let shown: String = words.chars().take(WORDS).collect();
    let end = shown.rfind(". ").map(|at| at + 1);
    let end = end.or_else(|| shown.rfind(' ')).unwrap_or(shown.len());
    format!("{} …", &shown[..end])
}
