//! Which objectives results of other tools meet, each by itself and along a ladder.

use super::families::is_repeat;
use super::{ImportReport, ReportedResult};
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_core::summary::{ObjectiveResult, SloResult};
use inferometer_import::ImportedSummary;
use inferometer_message::ImportText;
use inferometer_page::doc::{Cell, Pair, Tone, Unit};
use inferometer_page::number;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeSet;

/// Whether a result meets the objectives, and which it misses or does not tell of.
pub(super) fn judged(report: &ImportReport<'_>, result: &ReportedResult<'_>) -> Cell {
    let Some(summary) = &result.found.summary else {
        return Cell::blank();
    };
    let (lang, judged) = (report.lang, summary.judged(report.objectives));
    let listed = |pieces: Vec<String>| [("objectives", PunctuationText::Comma.join(lang, &pieces))];
    match judged.met {
        Some(true) => Cell::Toned(ImportText::SloMet.text(lang).to_owned(), Tone::Good),
        Some(false) => {
            let missed = missed(report, summary, &judged);
            Cell::Toned(ImportText::SloMissed.with(lang, &listed(missed)), Tone::Bad)
        }
        None => {
            let unknown = judged.objectives.iter().filter(|it| it.met.is_none());
            let unknown = unknown.map(|it| it.objective.clone()).collect();
            Cell::Toned(
                ImportText::SloNotStated.with(lang, &listed(unknown)),
                Tone::Caution,
            )
        }
    }
}

/// What misses the objectives: figures beyond their limits, and requests that were not answered.
fn missed(report: &ImportReport<'_>, summary: &ImportedSummary, judged: &SloResult) -> Vec<String> {
    let lang = report.lang;
    let missed = judged.objectives.iter().zip(report.objectives);
    let missed: Vec<_> = missed.filter(|(it, _)| it.met == Some(false)).collect();
    let is_beyond = |(it, slo): &&(&ObjectiveResult, &Slo)| {
        let limit_ms = 1e3 * slo.limit.0.as_secs_f64();
        it.value_ms.is_some_and(|value| value > limit_ms)
    };
    let beyond = missed.iter().filter(is_beyond);
    let beyond = beyond.filter_map(|(it, slo)| {
        let ms = it.value_ms?;
        let (value, unit) = slo
            .speed_of(ms)
            .map_or((ms, "ms"), |speed| (speed, "tok/s"));
        Some(format!(
            "{} ({} {unit})",
            it.objective,
            number::brief(value)
        ))
    });
    let mut pieces: Vec<String> = beyond.collect();
    if pieces.len() < missed.len() {
        let share = number::percent(summary.requests.unanswered_share());
        pieces.push(ImportText::Unanswered.with(lang, &[("share", share)]));
    }
    pieces
}

/// Up to which load a ladder meets the objectives, and what to ask for where a file cannot tell.
pub(super) fn up_to(
    report: &ImportReport<'_>,
    rows: &[(usize, &ReportedResult<'_>)],
) -> Option<Pair> {
    let (mut said, lang) = (in_words(report, rows)?, report.lang);
    let mut summaries = rows.iter().filter_map(|(_, it)| it.found.summary.as_ref());
    let is_open = summaries.any(|it| it.judged(report.objectives).met.is_none());
    let mut objectives = report.objectives.iter();
    let of_every_request = objectives.find(|it| it.scope == SloScope::Request);
    if let Some(slo) = of_every_request.filter(|_| is_open) {
        // Which end of speeds a percentile is of, tools do not agree on.
        let stated = if slo.metric == SloMetric::PerUser {
            vec![SloScope::Mean]
        } else {
            vec![SloScope::Percentile(99.0), SloScope::Mean]
        };
        let others = stated.into_iter().map(|scope| Slo { scope, ..*slo });
        let others: Vec<String> = others.map(|slo| slo.to_string()).collect();
        let values = [
            ("objective", slo.to_string()),
            ("others", others.join(" / ")),
        ];
        let remedy = ImportText::OfEveryRequest.with(lang, &values);
        said = PunctuationText::Semicolon.join(lang, &[said, remedy]);
    }
    Some(Pair::new(ImportText::Objectives.text(lang), said))
}

/// Up to which load a ladder meets the objectives.
pub(super) fn in_words(
    report: &ImportReport<'_>,
    rows: &[(usize, &ReportedResult<'_>)],
) -> Option<String> {
    let lang = report.lang;
    // A server that ran out of memory meets nothing.
    let met = |it: &ReportedResult<'_>| match &it.found.summary {
        Some(summary) => Some(summary.judged(report.objectives).met),
        None => it
            .found
            .is_out_of_memory_under_load()
            .then_some(Some(false)),
    };
    let mut judged: Vec<(&ReportedResult<'_>, Option<bool>)> = (rows.iter())
        .filter_map(|(_, it)| Some((*it, met(it)?)))
        .collect();
    judged.sort_by(|(a, _), (b, _)| a.own_load().order(&b.own_load()));
    // Of a load that was measured again, all must meet them.
    judged.dedup_by(|(later, again), (first, met)| {
        let is_same = is_repeat(later, first);
        if is_same {
            *met = match (*met, *again) {
                (Some(a), Some(b)) => Some(a && b),
                (Some(false), _) | (_, Some(false)) => Some(false),
                _ => None,
            };
        }
        is_same
    });
    let is_ladder = judged.iter().all(|(it, _)| it.own_load().0.len() == 1);
    if report.objectives.is_empty() || judged.len() < 2 || !is_ladder {
        return None;
    }
    let distinct: BTreeSet<String> = judged.iter().map(|(it, _)| it.load(lang)).collect();
    let by_number = distinct.len() < judged.len();
    let of = |met: Option<bool>| judged.iter().filter(move |(_, own)| *own == met);
    let loads = |met: Option<bool>| {
        // Settings of one load are told apart by their numbers.
        let named = |it: &ReportedResult<'_>| {
            if by_number {
                format!("#{}", it.number)
            } else {
                it.load(lang)
            }
        };
        let loads: Vec<String> = of(met).map(|(it, _)| named(it)).collect();
        [("loads", PunctuationText::Comma.join(lang, &loads))]
    };
    let first_not_met = judged.iter().position(|(_, met)| *met != Some(true));
    let met = of(Some(true)).count();
    let mut pieces = Vec::new();
    pieces.push(match of(Some(true)).next_back() {
        None if of(None).next().is_some() => None,
        None => Some(ImportText::MetNowhere.text(lang).to_owned()),
        Some((last, _)) if first_not_met.is_none_or(|first| first >= met) && !by_number => {
            let rates = last.throughput();
            let tokens = (rates.output_tokens_per_s).map(|it| (it, Unit::TokensPerSecond));
            let requests = (rates.requests_per_s).map(|it| (it, Unit::RequestsPerSecond));
            let rate = tokens.or(requests);
            let rate = rate.map(|(it, unit)| format!("{} {}", number::brief(it), unit.sign()));
            let values = [
                ("load", last.load(lang)),
                ("rate", rate.unwrap_or(number::ABSENT.to_owned())),
            ];
            Some(ImportText::MetUpTo.with(lang, &values))
        }
        Some(_) => Some(ImportText::MetAt.with(lang, &loads(Some(true)))),
    });
    let is_all = of(Some(false)).count() == judged.len();
    let missed = of(Some(false)).next().filter(|_| !is_all);
    pieces.push(missed.map(|_| ImportText::MissedAt.with(lang, &loads(Some(false)))));
    let unknown = of(None).next();
    pieces.push(unknown.map(|_| ImportText::NotStatedAt.with(lang, &loads(None))));
    let said: Vec<String> = pieces.into_iter().flatten().collect();
    Some(PunctuationText::Semicolon.join(lang, &said))
}
