//! Where no trial met all limits: the one that came nearest, and which limits are out of reach.

use super::StudyReport;
use super::trials::slo_figure;
use inferometer_campaign::study::{Finding, TrialRow};
use inferometer_core::slo::{Slo, SloScope};
use inferometer_message::StudyText;
use inferometer_page::doc::{Block, Command, Pair};
use inferometer_page::number;

/// The trial that missed the least, where none met all.
pub(super) fn trial<'a>(report: &StudyReport<'a>) -> Option<&'a TrialRow> {
    let is_missed = report.result.finding == Finding::Nothing && !report.study.goal.slos.is_empty();
    let measured = |it: &&TrialRow| it.valid == Some(true) && it.violation.is_some();
    let trials = report.result.trials.iter().filter(measured);
    let missed = |it: &TrialRow| it.violation.unwrap_or(f64::INFINITY);
    let nearest = trials.min_by(|a, b| missed(a).total_cmp(&missed(b)));
    nearest.filter(|_| is_missed)
}

/// What a trial has of everything that is limited.
pub(super) fn limits(report: &StudyReport<'_>, trial: &TrialRow) -> String {
    let slos = report.study.goal.slos.iter().enumerate();
    let figures = slos.filter_map(|(at, slo)| {
        let figure = in_words(slo, slo_figure(trial, at)?);
        Some(format!("{figure} ({slo})"))
    });
    figures.collect::<Vec<_>>().join(", ")
}

/// The command of the nearest trial, and what it would take to meet each limit.
pub(super) fn blocks(report: &StudyReport<'_>) -> Vec<Block> {
    let lang = report.lang;
    let Some(nearest) = trial(report) else {
        return Vec::new();
    };
    let id = [("trial", nearest.id.to_string())];
    let words = report.study.engine.command_with(&nearest.flags).to_words();
    let command = Block::Command(Command {
        caption: StudyText::Nearest.with(lang, &id),
        words,
    });
    let slos = report.study.goal.slos.iter().enumerate();
    let reach = slos.filter_map(|(at, slo)| {
        let is_share = is_share(slo);
        let worth = |figure: f64| if is_share { -figure } else { figure };
        let trials = report
            .result
            .trials
            .iter()
            .filter(|it| it.valid == Some(true));
        let figures = trials.filter_map(|it| Some((it, slo_figure(it, at)?)));
        let (best, figure) = figures.min_by(|(_, a), (_, b)| worth(*a).total_cmp(&worth(*b)))?;
        let is_met = if is_share {
            figure >= report.study.goal.attainment
        } else {
            figure <= slo.limit.0.as_secs_f64() * 1e3
        };
        let (name, text) = if is_met {
            (StudyText::InReach, StudyText::MetApart)
        } else {
            (StudyText::OutOfReach, StudyText::MetByNone)
        };
        let values = [
            ("limit", slo.to_string()),
            ("trial", best.id.to_string()),
            ("figure", in_words(slo, figure)),
        ];
        Some(Pair::new(name.text(lang), text.with(lang, &values)))
    });
    vec![command, Block::Pairs(reach.collect())]
}

fn is_share(slo: &Slo) -> bool {
    matches!(slo.scope, SloScope::Request | SloScope::Session)
}

fn in_words(slo: &Slo, figure: f64) -> String {
    if is_share(slo) {
        format!("{} %", number::grouped(figure * 100.0, 1))
    } else if let Some(speed) = slo.speed_of(figure) {
        format!("{} tok/s", number::brief(speed))
    } else {
        format!("{} ms", number::brief(figure))
    }
}
