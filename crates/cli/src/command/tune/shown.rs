//! From the trials of a study to what the user asked to see.

use crate::exit::Exit;
use crate::options::{Format, OutputOptions};
use crate::output::{Rendered, deliver, keep, language, style};
use anyhow::{Context, bail};
use inferometer_campaign::space::{Value, command_with};
use inferometer_campaign::study::{
    Comparison, Direction, Effect, Finding, Study, StudyResult, TrialRow,
};
use inferometer_campaign::trial::{Level, Origin, State, Trial};
use inferometer_catalog::engine::EngineKind;
use inferometer_core::note::{Known, Note};
use inferometer_core::slo::{Slo, SloScope};
use inferometer_page::{html, markdown, text};
use inferometer_report::json;
use inferometer_report::message::study::StudyText;
use inferometer_report::study::{
    BestLine, ChangeLine, ComparisonLine, FlagValue, ImportanceLine, LimitLine, ObjectiveLine,
    StudyReport, TrialLine, VerdictLine, Why, compose, figures,
};
use inferometer_runner::tune;
use inferometer_store::run_dir::RunDir;
use inferometer_text::Lang;
use std::path::Path;

/// What the stored study of a folder found.
pub fn read_stored(folder: &Path) -> anyhow::Result<StudyResult> {
    let (study, trials) = stored(folder)?;
    Ok(study.result(&trials))
}

/// Shows the stored study of a folder.
pub fn show_stored(folder: &Path, options: &OutputOptions) -> anyhow::Result<Exit> {
    let (study, trials) = stored(folder)?;
    show(&study, &trials, folder, options)?;
    Ok(exit(&study, &trials))
}

/// The page of the stored study of a folder.
pub fn stored_page(folder: &Path, lang: Lang) -> anyhow::Result<String> {
    let (study, trials) = stored(folder)?;
    Ok(page(&study, &study.result(&trials), folder, lang))
}

fn stored(folder: &Path) -> anyhow::Result<(Study, Vec<Trial>)> {
    let log = tune::read(folder)?;
    let study: Study =
        (log.header.study.parse()).with_context(|| format!("the study in {}", folder.display()))?;
    Ok((study, log.trials))
}

/// Shows what the trials of a study say.
pub fn show(
    study: &Study,
    trials: &[Trial],
    folder: &Path,
    options: &OutputOptions,
) -> anyhow::Result<()> {
    let found = study.result(trials);
    let document = || compose(&report(study, &found, folder, language(options.lang)));
    deliver(options, folder, |format| {
        Ok(Rendered::Whole(match format {
            Format::Text => text::render(&document(), style()),
            Format::Md => markdown::render(&document()),
            Format::Json => json::render(&found),
            Format::Html => page(study, &found, folder, language(options.lang)),
            Format::Csv => bail!("a study is no table; use --format text, md or json"),
            Format::Svg | Format::Png => {
                let report = report(study, &found, folder, language(options.lang));
                return Ok(Rendered::Figures(figures(&report)));
            }
        }))
    })
}

/// Puts the page of a study beside it.
pub fn keep_page(study: &Study, trials: &[Trial], folder: &Path, options: &OutputOptions) {
    let found = study.result(trials);
    keep(options, folder, || {
        Ok(page(study, &found, folder, language(options.lang)))
    });
}

fn page(study: &Study, found: &StudyResult, folder: &Path, lang: Lang) -> String {
    let report = report(study, found, folder, lang);
    let numbers = serde_json::to_value(found).unwrap_or_default();
    html::render(&inferometer_report::html::study::compose_page(
        &report, numbers,
    ))
}

/// Fine if some configuration was measured and met the SLOs.
pub fn exit(study: &Study, trials: &[Trial]) -> Exit {
    match study.result(trials).best {
        Some(_) => Exit::Fine,
        None => Exit::Doubtful,
    }
}

fn report<'a>(
    study: &Study,
    found: &StudyResult,
    directory: &'a Path,
    lang: Lang,
) -> StudyReport<'a> {
    let objectives = study.goal.objectives.iter().map(|objective| ObjectiveLine {
        path: objective.path.clone(),
        towards: match objective.direction {
            Direction::Maximize => StudyText::Maximize,
            Direction::Minimize => StudyText::Minimize,
        },
    });
    let failures = found.failures.iter().map(|failure| {
        let example = (found.trials.iter())
            .find(|trial| trial.class.as_ref() == Some(&failure.class))
            .and_then(|trial| trial.evidence.clone());
        (failure.class.clone(), failure.count, example)
    });
    let importance = found.importance.iter().map(|line| ImportanceLine {
        flag: line.flag.clone(),
        share: line.share,
        effect: match line.effect {
            Effect::Rises => StudyText::Rises,
            Effect::Falls => StudyText::Falls,
            Effect::Mixed => StudyText::Mixed,
            Effect::Choice => StudyText::Choice,
            Effect::None => StudyText::NoEffect,
            Effect::NotVaried => StudyText::NotVaried,
        },
        best_at: line.best_at.as_ref().map(ToString::to_string),
        changed_with: line.changed_with.clone(),
    });
    StudyReport {
        objectives: objectives.collect(),
        limits: study.goal.slos.iter().map(limit_line).collect(),
        trials: (found.trials.iter())
            .map(|trial| line(trial, study))
            .collect(),
        best: best(study, found),
        verdict: verdict(found),
        comparison: found.comparison.as_ref().map(comparison),
        loads: match study.levels.as_slice() {
            [_] => Vec::new(),
            levels => levels.iter().map(load).collect(),
        },
        repeats: study.last_stage.repeats,
        pareto: found.pareto.clone(),
        importance: importance.collect(),
        importance_of_met: found.importance_of_met,
        failures: failures.collect(),
        is_virtual: is_virtual(directory),
        directory,
        lang,
    }
}

/// Whether the first trial was computed, by what its run says of itself.
pub fn is_virtual(folder: &Path) -> bool {
    let runs = std::fs::read_dir(folder.join("trials/000"));
    let runs = runs.into_iter().flatten().filter_map(Result::ok);
    runs.filter_map(|run| RunDir::open(run.path()).ok()?.environment().ok())
        .any(|about| about.notes.contains(&Note::Known(Known::VirtualTime)))
}

fn best(study: &Study, found: &StudyResult) -> Option<BestLine> {
    let best = found.best.as_ref()?;
    let (command, keys) = match study.engine.kind() {
        EngineKind::Mindie => {
            let keys = best.flags.0.iter();
            let keys = keys.map(|(key, value)| (key.clone(), value.to_string()));
            (study.engine.command.to_words(), keys.collect())
        }
        _ => {
            let command = command_with(&study.engine.command, &best.flags);
            (command.to_words(), Vec::new())
        }
    };
    Some(BestLine {
        trial: best.trial,
        command,
        keys,
    })
}

fn limit_line(slo: &Slo) -> LimitLine {
    let written = slo.to_string();
    let (figure, _) = written.split_once('=').unwrap_or((&written, ""));
    LimitLine {
        figure: match slo.scope {
            SloScope::Request => format!("{written} %"),
            SloScope::Percentile(_) | SloScope::Mean => format!("{figure} ms"),
        },
        slo: written,
    }
}

fn verdict(found: &StudyResult) -> VerdictLine {
    let (word, reason) = match found.finding {
        Finding::Better => (StudyText::Better, StudyText::Gain),
        Finding::TradeOff => (StudyText::TradeOff, StudyText::Traded),
        Finding::DefaultMisses => (StudyText::DefaultMisses, StudyText::BestThatMeets),
        Finding::NoCertainGain => (StudyText::NoGain, StudyText::Gain),
        Finding::DefaultFirst => (StudyText::NoGain, StudyText::RunnerUp),
        Finding::DefaultBest if found.comparison.is_some() => {
            (StudyText::DefaultBest, StudyText::RunnerUp)
        }
        Finding::DefaultBest => (StudyText::DefaultBest, StudyText::DefaultWon),
        Finding::DefaultAlone => (StudyText::DefaultBest, StudyText::NothingElse),
        Finding::NoDefault => (StudyText::NoGain, StudyText::NoDefault),
        Finding::NoneHeld => (StudyText::NoGain, StudyText::NoneHeld),
        Finding::Unconfirmed => (StudyText::Unconfirmed, StudyText::OneTrial),
        Finding::Nothing => (StudyText::Nothing, StudyText::NoneMet),
    };
    VerdictLine { word, reason }
}

fn comparison(comparison: &Comparison) -> ComparisonLine {
    let changes = comparison.changes.iter().map(|change| ChangeLine {
        path: change.metric.clone(),
        value: change.value,
        low: change.low,
        high: change.high,
    });
    ComparisonLine {
        trial: comparison.trial,
        changes: changes.collect(),
    }
}

fn load(level: &Level) -> String {
    match level {
        Level::Concurrency(streams) => streams.to_string(),
        Level::Capacity => "capacity".to_owned(),
    }
}

/// The figures of each objective at each load.
fn by_load(trial: &TrialRow, study: &Study) -> Vec<Vec<Option<f64>>> {
    let at = |path: &str, level: &Level| {
        let of_level = trial.levels.iter().find(|it| it.load == *level);
        of_level.and_then(|measurement| measurement.figure(path))
    };
    let objectives = study.goal.objectives.iter();
    objectives
        .map(|objective| {
            let levels = study.levels.iter();
            levels.map(|level| at(&objective.path, level)).collect()
        })
        .collect()
}

fn line(trial: &TrialRow, study: &Study) -> TrialLine {
    let slos = &study.goal.slos;
    let limited = |(figure, slo): (&Option<f64>, &Slo)| match slo.scope {
        SloScope::Request => figure.map(|share| share * 100.0),
        SloScope::Percentile(_) | SloScope::Mean => *figure,
    };
    let missed = trial.violation.is_some_and(|violation| violation > 0.0);
    TrialLine {
        id: trial.id,
        why: match &trial.origin {
            Origin::Default => Why::Default,
            Origin::Preset(name) => Why::Preset(name.clone()),
            Origin::Search => Why::Search,
            Origin::Confirm { of } => Why::Again(*of),
        },
        flags: trial.flags.to_string(),
        values: (trial.flags.0.iter())
            .map(|(name, value)| (name.clone(), flag_value(value)))
            .collect(),
        state: match trial.state {
            State::Done if trial.valid == Some(false) => StudyText::Invalid,
            State::Done if missed => StudyText::SloMissed,
            State::Done => StudyText::Done,
            State::Refused => StudyText::Refused,
            State::Crashed => StudyText::Crashed,
            State::Timeout => StudyText::Timeout,
            State::Stopped => StudyText::Stopped,
        },
        class: trial.class.clone(),
        figures: trial.objectives.clone(),
        by_load: by_load(trial, study),
        failed_requests: trial.failed_requests,
        limited: trial.slo_figures.iter().zip(slos).map(limited).collect(),
        memory_gib: trial.device_memory_gib,
    }
}

fn flag_value(value: &Value) -> FlagValue {
    match value {
        Value::Int(number) => FlagValue::Number(*number as f64),
        Value::Float(number) => FlagValue::Number(*number),
        Value::Bool(_) | Value::Text(_) => FlagValue::Word(value.to_string()),
    }
}
