//! Whole sessions and their turns, where the work has any.

use super::{RunReport, heading};
use inferometer_chart::star;
use inferometer_core::quantile::least_samples;
use inferometer_core::summary::{SessionResult, TurnResult};
use inferometer_message::{MetricText, NumbersText};
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Unit};
use inferometer_page::number;

pub(super) fn section(report: &RunReport<'_>) -> Option<Section> {
    let sessions = report.summary.sessions.as_ref()?;
    let preempted = sessions.turns.iter().any(|turns| turns.preempted.is_some());
    let mut titles = vec![
        "ok".to_owned(),
        report.say(NumbersText::Failed).to_owned(),
        "TTFT p50".to_owned(),
        "TTFT p99".to_owned(),
        "E2E p50".to_owned(),
        "E2E p99".to_owned(),
        report.say(NumbersText::InputMean).to_owned(),
        report.say(NumbersText::CachedMean).to_owned(),
        report.say(NumbersText::OutputMean).to_owned(),
    ];
    if preempted {
        titles.push(report.say(NumbersText::PreemptedOf).to_owned());
    }
    let columns = titles.iter().map(|title| Column::right(title));
    let columns = std::iter::once(Column::left(report.say(NumbersText::Turn))).chain(columns);
    let mut table = Table::new(
        columns.collect::<Vec<_>>(),
        sessions.turns.iter().map(|turns| row(turns, preempted)),
    );
    let few_turns = sessions.turns.iter().any(|turns| is_few(turns.ok));
    let few_jobs = sessions.job.p99_ms.is_some() && is_few(sessions.complete);
    if few_turns || few_jobs {
        let needed = least_samples(TAIL).map(|least| (TAIL, least));
        table.footnotes.extend(star::footnote(needed, report.lang));
    }
    Some(Section::headed(
        &heading(report, NumbersText::ByTurn),
        [Block::Table(table), Block::Pairs(jobs(report, sessions))],
    ))
}

/// The percentile of turns and sessions that claims something of what was not seen.
const TAIL: f64 = 99.0;

fn is_few(samples: u64) -> bool {
    least_samples(TAIL).is_some_and(|least| samples < least)
}

fn row(turns: &TurnResult, preempted: bool) -> Vec<Cell> {
    let ms = |value: Option<f64>| {
        let decimals = usize::from(value.is_some_and(|value| value < 100.0));
        Cell::number(value, Unit::Milliseconds, decimals)
    };
    let tail = |value| {
        if is_few(turns.ok) {
            ms(value).starred()
        } else {
            ms(value)
        }
    };
    let tokens = |value: Option<f64>| Cell::number(value, Unit::Count, 0);
    let mut cells = vec![
        Cell::text(match (turns.first, turns.last) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}–{last}"),
        }),
        Cell::count(turns.ok),
        Cell::count(turns.failed),
        ms(turns.ttft_p50_ms),
        tail(turns.ttft_p99_ms),
        ms(turns.e2e_p50_ms),
        tail(turns.e2e_p99_ms),
        tokens(turns.input_tokens_mean),
        tokens(turns.cached_tokens_mean),
        tokens(turns.output_tokens_mean),
    ];
    if preempted {
        cells.push(tokens(turns.preempted.map(|count| count as f64)));
    }
    cells
}

fn jobs(report: &RunReport<'_>, sessions: &SessionResult) -> Vec<Pair> {
    let count = |name, count: u64| (name, number::count(count));
    let mut said = vec![report.fill(
        NumbersText::JobsOf,
        &[
            count("began", sessions.began),
            count("complete", sessions.complete),
            count("failed", sessions.failed),
            count("cut", sessions.cut),
        ],
    )];
    if sessions.shortened > 0 {
        said.push(report.say(NumbersText::JobsShortened).to_owned());
    }
    let plain = |value: f64| number::grouped(value, number::decimals(value));
    if let Some(rate) = sessions.per_hour {
        said.push(report.fill(NumbersText::JobsPerHour, &[("rate", plain(rate))]));
    }
    if let Some(turns) = sessions.turns_mean {
        let turns = number::grouped(turns, usize::from(turns.fract() != 0.0));
        said.push(report.fill(NumbersText::JobTurns, &[("turns", turns)]));
    }
    let mut pairs = vec![Pair::new(
        report.say(NumbersText::Jobs),
        report.clauses(&said),
    )];
    let job = &sessions.job;
    if job.max_ms.is_some() {
        let time = |value: Option<f64>| match value {
            Some(ms) => number::whole_millis(ms),
            None => number::ABSENT.to_owned(),
        };
        let star = match job.p99_ms {
            Some(_) if is_few(sessions.complete) => "*",
            _ => "",
        };
        let mut said = vec![report.fill(
            NumbersText::JobTimeOf,
            &[
                ("p50", time(job.p50_ms)),
                ("p90", time(job.p90_ms)),
                ("p99", format!("{}{star}", time(job.p99_ms))),
                ("max", time(job.max_ms)),
            ],
        )];
        if sessions.cut > 0 {
            said.push(report.say(NumbersText::JobsCut).to_owned());
        }
        pairs.push(Pair::new(
            report.say(MetricText::JobTime),
            report.clauses(&said),
        ));
    }
    pairs
}
