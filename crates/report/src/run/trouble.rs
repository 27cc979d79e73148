//! What went wrong or may mislead: doubts, failures, missed objectives, drift.

use super::RunReport;
use crate::severity;
use inferometer_chart::star;
use inferometer_core::slo::Slo;
use inferometer_core::summary::{FailureCount, JobAttainment, ObjectiveResult};
use inferometer_message::{FailureText, MetricText, NumbersText, VerdictText};
use inferometer_page::doc::{Block, Cell, Column, Follow, Note, Pair, Section, Table, Tone, Unit};
use inferometer_page::number;
use inferometer_text::Lang;

pub(super) fn doubts(report: &RunReport<'_>) -> Option<Section> {
    let doubts = &report.summary.doubts;
    if doubts.is_empty() {
        return None;
    }
    let heading = if report.summary.valid {
        VerdictText::Doubts
    } else {
        VerdictText::WhyInvalid
    };
    let notes = doubts
        .iter()
        .map(|doubt| severity::note(doubt, report.lang));
    Some(Section::headed(
        report.say(heading),
        [Vec::from_iter(notes)],
    ))
}

pub(super) fn failures(report: &RunReport<'_>) -> Option<Section> {
    let failures = &report.summary.failures;
    if failures.is_empty() {
        return None;
    }
    let notes = failures.iter().map(|failure| counted(report, failure));
    Some(Section::headed(
        report.say(VerdictText::Failures),
        [Vec::from_iter(notes)],
    ))
}

fn counted(report: &RunReport<'_>, failure: &FailureCount) -> Note {
    let mut subject = format!("{} ({}", failure.class, failure.phase);
    if let Some(status) = failure.status {
        let status = report.fill(VerdictText::HttpStatus, &[("status", status.to_string())]);
        subject.push_str(&format!(", {status}"));
    }
    subject.push(')');
    Note {
        tag: format!("{} ×", number::count(failure.count)),
        tone: Tone::Bad,
        subject,
        text: String::new(),
        follow: (!failure.sample.is_empty())
            .then(|| Follow::Quote(FailureText::shown(&failure.sample, report.lang).to_owned())),
    }
}

pub(super) fn objectives(report: &RunReport<'_>) -> Option<Section> {
    let slo = report.summary.slo.as_ref()?;
    let mut table = Table::new(
        vec![Column::left(""), Column::right(""), Column::left("")],
        slo.objectives.iter().map(|one| objective(report, one)),
    );
    let lacking = (slo.objectives.iter()).filter_map(|one| lacking(report, one));
    table.footnotes.extend(star::footnote(lacking, report.lang));
    let attainment = slo.attainment.map(|share| {
        let asked = report.scenario.objectives.least_share();
        let shares = [
            ("share", number::percent(share)),
            ("asked", number::percent(asked)),
        ];
        let mut text = report.fill(VerdictText::AttainmentAsked, &shares);
        if let Some([low, high]) = slo
            .attainment_interval
            .map(|ends| ends.map(number::percent))
        {
            let parts = [("met", text), ("low", low), ("high", high)];
            text = report.fill(VerdictText::AttainmentBetween, &parts);
        }
        Block::Pairs(vec![Pair::new(report.say(MetricText::Attainment), text)])
    });
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(attainment);
    blocks.extend(slo.jobs.and_then(|jobs| of_jobs(report, &jobs)));
    Some(Section::headed(report.say(VerdictText::Objectives), blocks))
}

fn of_jobs(report: &RunReport<'_>, jobs: &JobAttainment) -> Option<Block> {
    let asked = report.scenario.objectives.least_share();
    let rate = |rate: f64| number::grouped(rate, number::decimals(rate));
    let values = [
        ("share", number::percent(jobs.attainment?)),
        ("count", number::count(jobs.sessions)),
        ("asked", number::percent(asked)),
        (
            "goodput",
            jobs.goodput_per_hour
                .map_or(number::ABSENT.to_owned(), rate),
        ),
    ];
    let text = report.fill(VerdictText::JobsAsked, &values);
    Some(Block::Pairs(vec![Pair::new(
        report.say(MetricText::JobAttainment),
        text,
    )]))
}

/// Whether complete answers alone would have met what is missed.
pub(crate) fn is_missed_by_failures(one: &ObjectiveResult) -> bool {
    let slo = one.objective.parse::<Slo>();
    let limit_ms = slo.map(|slo| slo.limit.0.as_secs_f64() * 1e3);
    one.met == Some(false)
        && limit_ms.is_ok_and(|limit| one.value_ms.is_some_and(|value| value <= limit))
}

fn objective(report: &RunReport<'_>, one: &ObjectiveResult) -> Vec<Cell> {
    let (outcome, tone) = match one.met {
        Some(true) => (VerdictText::Met, Tone::Good),
        Some(false) if is_missed_by_failures(one) => (VerdictText::MissedByFailures, Tone::Bad),
        Some(false) => (VerdictText::Missed, Tone::Bad),
        None => (VerdictText::Undecided, Tone::Caution),
    };
    vec![
        Cell::text(&one.objective),
        Cell::text(seen(one, report.lang)),
        match lacking(report, one) {
            Some(_) => Cell::Toned(format!("{}*", report.say(outcome)), Tone::Caution),
            None => Cell::Toned(report.say(outcome).to_owned(), tone),
        },
    ]
}

/// The percentile of an objective that the sample is too small for, and the requests it takes.
fn lacking(report: &RunReport<'_>, one: &ObjectiveResult) -> Option<(f64, u64)> {
    let slo: Slo = one.objective.parse().ok()?;
    report.summary.latency.lacking(&slo)
}

/// What was measured of an objective.
pub(crate) fn seen(one: &ObjectiveResult, lang: Lang) -> String {
    let slo = one.objective.parse::<Slo>().ok();
    match (one.value_ms, one.share) {
        (Some(value), _) => match slo.and_then(|slo| slo.speed_of(value)) {
            Some(speed) => format!("{} tok/s", number::brief(speed)),
            None => number::whole_millis(value),
        },
        (None, Some(share)) => {
            let text = match slo {
                Some(slo) if slo.is_of_sessions() => VerdictText::ShareOfSessions,
                _ => VerdictText::ShareOfRequests,
            };
            text.with(lang, &[("share", number::percent(share))])
        }
        (None, None) => number::ABSENT.to_owned(),
    }
}

pub(super) fn drift(report: &RunReport<'_>) -> Option<Section> {
    let parts = report
        .summary
        .drift
        .as_ref()
        .filter(|parts| !parts.is_empty())?;
    let rows = parts.iter().map(|part| {
        vec![
            Cell::text(number::seconds(part.from_s)),
            Cell::count(part.ok),
            Cell::count(part.failed),
            Cell::rate(part.output_tokens_per_s, Unit::TokensPerSecond),
            Cell::known(part.ttft_p50_ms.map(number::whole_millis)),
        ]
    });
    let table = Table::new(
        vec![
            Column::right(report.say(NumbersText::From)),
            Column::right(report.say(NumbersText::Ok)),
            Column::right(report.say(NumbersText::Failed)),
            Column::right(report.say(NumbersText::OutputRate)),
            Column::right(report.say(NumbersText::TtftMedian)),
        ],
        rows,
    );
    Some(Section::headed(report.say(NumbersText::Drift), [table]))
}
