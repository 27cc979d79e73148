//! A sweep as a document: a table a ladder, and what follows from them.

mod notes;
pub(crate) mod row;
mod table;

use crate::doc::{Block, Doc, Pair, Section, Tone, Verdict};
use crate::{findings, number};
use inferometer_core::message::Lang;
use inferometer_core::message::setup::SetupText;
use inferometer_core::message::sweep::SweepText;
use inferometer_core::message::verdict::VerdictText;
use inferometer_core::summary::Summary;
use inferometer_core::sweep_dir::{SweepPlan, Trial, TrialState};
use row::{Ladder, Row, ladders, rows};
use serde_json::{Value, json};
use std::path::Path;

/// A visit and what it showed.
#[derive(Clone, Debug)]
pub struct Visited {
    /// What became of it.
    pub trial: Trial,
    /// Its numbers, if it was measured.
    pub summary: Option<Summary>,
}

/// What a sweep's report is made of.
#[derive(Clone, Copy)]
pub struct SweepReport<'a> {
    /// What was to be measured.
    pub plan: &'a SweepPlan,
    /// What was, in the order of the plan.
    pub visited: &'a [Visited],
    /// Where it is kept.
    pub directory: &'a Path,
    /// In which language.
    pub lang: Lang,
}

/// The JSON form `inferometer.sweep/1`.
pub fn json(report: &SweepReport<'_>) -> String {
    let points: Vec<Value> = (report.visited.iter())
        .map(|visited| {
            let planned = report
                .plan
                .points
                .iter()
                .find(|point| point.id == visited.trial.id);
            json!({
                "point": planned.map(|planned| &planned.point),
                "repeat": visited.trial.repeat,
                "state": visited.trial.state,
                "directory": visited.trial.directory,
                "reason": visited.trial.reason,
                "summary": visited.summary,
            })
        })
        .collect();
    let object = json!({
        "schema": "inferometer.sweep/1",
        "label": report.plan.label,
        "axes": report.plan.axes,
        "planned": report.plan.visits.len(),
        "points": points,
        "findings": findings::of_sweep(report),
    });
    format!("{object:#}\n")
}

/// The sweep as a document: a table a ladder, a row a point.
pub fn compose(report: &SweepReport<'_>) -> Doc {
    document(report, |ladder| {
        let axes = std::slice::from_ref(ladder.axis);
        vec![Block::Table(table::table(report, axes, &ladder.rows))]
    })
}

/// The same for notes: under the table of each ladder, a row a metric and a column a load.
pub fn compose_for_notes(report: &SweepReport<'_>) -> Doc {
    document(report, |ladder| {
        let axes = std::slice::from_ref(ladder.axis);
        let table = table::table(report, axes, &ladder.rows);
        vec![
            Block::Table(table),
            Block::Table(notes::table(ladder, report.lang)),
        ]
    })
}

fn document(report: &SweepReport<'_>, blocks: impl Fn(&Ladder<'_>) -> Vec<Block>) -> Doc {
    let lang = report.lang;
    let rows = rows(report);
    let ladders = ladders(report, &rows);
    let mut sections = vec![
        Section::plain(vec![Block::Verdict(verdict(report))]),
        Section::plain(vec![Block::Pairs(pairs(report))]),
    ];
    let heading = |name: &str| match name {
        "" => SweepText::Table.text(lang).to_owned(),
        name => name.to_owned(),
    };
    sections.extend(
        (ladders.iter()).map(|ladder| Section::headed(&heading(&ladder.name), blocks(ladder))),
    );
    if ladders.is_empty() {
        let table = table::table(report, &report.plan.axes, &rows);
        sections.push(Section::headed(&heading(""), vec![Block::Table(table)]));
    }
    sections.extend(findings::section(&findings::of_sweep(report), lang));
    let best = best(report, &rows);
    if !best.is_empty() {
        let blocks = best.into_iter().map(Block::Paragraph).collect();
        sections.push(Section::headed(SweepText::Best.text(lang), blocks));
    }
    let path = report.directory.display().to_string();
    let mut end = vec![Pair::new(SweepText::Saved.text(lang), path.clone())];
    if unfinished(report) > 0 {
        let how = SweepText::GoOnHow.with(lang, &[("path", path)]);
        end.push(Pair::new(SweepText::GoOn.text(lang), how));
    }
    sections.push(Section::plain(vec![Block::Pairs(end)]));
    Doc { sections }
}

fn count(report: &SweepReport<'_>, test: impl Fn(&Visited) -> bool) -> usize {
    report
        .visited
        .iter()
        .filter(|visited| test(visited))
        .count()
}

/// Visits that are still to be made.
fn unfinished(report: &SweepReport<'_>) -> usize {
    let ended = count(report, |visited| {
        visited.trial.state != TrialState::Interrupted
    });
    report.plan.visits.len().saturating_sub(ended)
}

fn is_valid(visited: &Visited) -> bool {
    visited
        .summary
        .as_ref()
        .is_some_and(|summary| summary.valid)
}

fn verdict(report: &SweepReport<'_>) -> Verdict {
    let lang = report.lang;
    let measured = count(report, |visited| visited.summary.is_some());
    let bad = count(report, |visited| {
        visited.trial.state == TrialState::Failed
            || visited
                .summary
                .as_ref()
                .is_some_and(|summary| !summary.valid)
    });
    let left = unfinished(report);
    let all = report.plan.visits.len().to_string();
    let values = |count: usize| [("count", count.to_string()), ("all", all.clone())];
    let (word, tone, reason) = match (measured, bad) {
        (0, _) => (
            VerdictText::Invalid,
            Tone::Bad,
            SweepText::NothingMeasured.text(lang).to_owned(),
        ),
        (_, 0) => (
            VerdictText::Valid,
            Tone::Good,
            SweepText::AllValid.text(lang).to_owned(),
        ),
        _ => (
            VerdictText::Invalid,
            Tone::Bad,
            SweepText::SomeInvalid.with(lang, &values(bad)),
        ),
    };
    let rest = match left {
        0 => String::new(),
        left => SweepText::Incomplete.with(lang, &values(left)),
    };
    Verdict {
        word: word.text(lang).to_owned(),
        tone,
        reason,
        rest,
    }
}

fn pairs(report: &SweepReport<'_>) -> Vec<Pair> {
    let lang = report.lang;
    let plan = report.plan;
    let mut pairs = Vec::new();
    let tags = plan
        .tags
        .iter()
        .map(|tag| format!("{}={}", tag.key, tag.value));
    let name: Vec<String> = plan.label.iter().cloned().chain(tags).collect();
    if !name.is_empty() {
        pairs.push(Pair::new(SweepText::Sweep.text(lang), name.join(", ")));
    }
    let server = plan
        .points
        .first()
        .and_then(|point| point.options.connection.url.clone());
    if let Some(urls) = server.filter(|_| !plan.axes.iter().any(|axis| axis == "url")) {
        pairs.push(Pair::new(SetupText::Server.text(lang), urls.join(", ")));
    }
    let axes = match plan.axes.as_slice() {
        [] => number::ABSENT.to_owned(),
        axes => axes.join(" × "),
    };
    let values = [
        ("count", plan.points.len().to_string()),
        ("repeat", plan.repeat.to_string()),
    ];
    let size = match plan.repeat {
        0 | 1 => SweepText::Points,
        _ => SweepText::PointsRepeated,
    };
    let varied = format!("{axes} ({})", size.with(lang, &values));
    pairs.push(Pair::new(SweepText::Axes.text(lang), varied));
    let in_state = |state| count(report, |visited| visited.trial.state == state).to_string();
    let measured = count(report, |visited| visited.summary.is_some());
    let valid = count(report, is_valid);
    let tally = SweepText::Tally.with(
        lang,
        &[
            ("done", measured.to_string()),
            ("planned", plan.visits.len().to_string()),
            ("valid", valid.to_string()),
            ("invalid", (measured - valid).to_string()),
            ("failed", in_state(TrialState::Failed)),
            ("skipped", in_state(TrialState::Skipped)),
        ],
    );
    pairs.push(Pair::new(SweepText::Measured.text(lang), tally));
    pairs
}

/// The best of the valid points.
fn best(report: &SweepReport<'_>, rows: &[Row<'_>]) -> Vec<String> {
    let valid = || {
        let sound = |row: &&Row<'_>| {
            row.summaries().next().is_some() && row.summaries().all(|summary| summary.valid)
        };
        rows.iter().filter(sound)
    };
    let top = |rows: &mut dyn Iterator<Item = &Row<'_>>| {
        rows.filter_map(|row| Some((row.tokens_per_s()?, row.point.to_string())))
            .max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let say = |text: SweepText, (value, point): (f64, String)| {
        let value = format!("{} tok/s", number::grouped(value, 1));
        text.with(report.lang, &[("value", value), ("point", point)])
    };
    if rows.len() < 2 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    lines.extend(top(&mut valid()).map(|best| say(SweepText::MostTokens, best)));
    let judged = valid().any(|row| row.meets().is_some());
    if judged {
        let within = top(&mut valid().filter(|row| row.meets() == Some(true)));
        lines.extend(within.map(|best| say(SweepText::MostWithinSlo, best)));
    }
    lines
}
