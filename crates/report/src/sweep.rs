//! A sweep as a document: a table a ladder, and what the marks in it mean.

mod figures;
mod grid;
pub(crate) mod ladder;
mod notes;
mod repeat;
mod table;

pub use figures::figures;
pub(crate) use figures::tradeoff;
pub use notes::compose_for_notes;
use table::table;

use crate::doc::{Block, Command, Doc, Pair, Section, Tone, Verdict};
use crate::figure::ladder::cards_of;
use crate::findings;
use crate::number;
use inferometer_core::compare::Point;
use inferometer_core::message::Lang;
use inferometer_core::message::server::ServerText;
use inferometer_core::message::setup::SetupText;
use inferometer_core::message::sweep::SweepText;
use inferometer_core::message::verdict::VerdictText;
use inferometer_core::summary::{SloOutcome, Summary};
use inferometer_core::sweep_dir::{SweepPlan, Trial, TrialState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::Path;

/// Axes that are climbed.
const LOAD: [&str; 2] = ["concurrency", "rate"];

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

/// All that is known of one point.
#[derive(Clone)]
pub(crate) struct Row<'a> {
    pub(crate) point: &'a Point,
    trials: Vec<&'a Visited>,
}

impl<'a> Row<'a> {
    pub(crate) fn summaries(&self) -> impl Iterator<Item = &'a Summary> {
        self.trials
            .iter()
            .filter_map(|visited| visited.summary.as_ref())
    }

    /// Numbers to show: of the valid measurements, else of any.
    fn shown(&self) -> Vec<&'a Summary> {
        let valid: Vec<&Summary> = self.summaries().filter(|summary| summary.valid).collect();
        match valid.is_empty() {
            true => self.summaries().collect(),
            false => valid,
        }
    }

    fn mean(&self, of: impl Fn(&Summary) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.shown().into_iter().filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    fn tokens_per_s(&self) -> Option<f64> {
        self.mean(|summary| summary.throughput.output_tokens_per_s)
    }

    fn tokens_per_s_and_card(&self) -> Option<f64> {
        self.mean(|summary| Some(summary.throughput.output_tokens_per_s? / cards_of(summary)?))
    }

    fn meets(&self) -> Option<bool> {
        let met = |summary: &Summary| {
            summary
                .slo
                .as_ref()
                .map(|slo| slo.outcome() == SloOutcome::Met)
        };
        let outcomes: Option<Vec<bool>> = self.shown().into_iter().map(met).collect();
        outcomes
            .filter(|all| !all.is_empty())
            .map(|all| all.into_iter().all(|met| met))
    }
}

/// The JSON form `inferometer.sweep/1`.
pub fn json(report: &SweepReport<'_>) -> String {
    format!("{:#}\n", value(report))
}

/// The same as a value.
pub fn value(report: &SweepReport<'_>) -> Value {
    let planned: HashMap<&str, &Point> = (report.plan.points.iter())
        .map(|planned| (planned.id.as_str(), &planned.point))
        .collect();
    let points: Vec<Value> = (report.visited.iter())
        .map(|visited| {
            json!({
                "point": planned.get(visited.trial.id.as_str()),
                "repeat": visited.trial.repeat,
                "state": visited.trial.state,
                "directory": visited.trial.directory,
                "reason": visited.trial.reason,
                "class": visited.trial.class,
                "summary": visited.summary,
            })
        })
        .collect();
    json!({
        "schema": "inferometer.sweep/1",
        "label": report.plan.label,
        "axes": report.plan.axes,
        "planned": report.plan.visits.len(),
        "points": points,
    })
}

/// The sweep as a document.
pub fn compose(report: &SweepReport<'_>) -> Doc {
    let rows = rows(report);
    let mut sections = vec![
        Section::plain(vec![Block::Verdict(verdict(report))]),
        Section::plain(vec![Block::Pairs(pairs(report))]),
    ];
    sections.extend(ladders(report, &rows));
    sections.extend(grid::sections(report, &rows));
    let best = best(report, &rows);
    if !best.is_empty() {
        let blocks = best.into_iter().map(Block::Paragraph).collect();
        sections.push(Section::headed(SweepText::Best.text(report.lang), blocks));
    }
    let mut end = vec![Pair::new(
        SweepText::Saved.text(report.lang),
        report.directory.display().to_string(),
    )];
    if unfinished(report) > 0 {
        let path = report.directory.display().to_string();
        let how = SweepText::GoOnHow.with(report.lang, &[("path", path)]);
        end.push(Pair::new(SweepText::GoOn.text(report.lang), how));
    }
    sections.extend(findings::section(&findings::of_sweep(report), report.lang));
    let mut end = vec![Block::Pairs(end)];
    if let Some(words) = repeat::command(report) {
        end.push(Block::Command(Command {
            caption: SetupText::Repeat.text(report.lang).to_owned(),
            words,
        }));
    }
    sections.push(Section::plain(end));
    Doc { sections }
}

pub(crate) fn rows<'a>(report: &SweepReport<'a>) -> Vec<Row<'a>> {
    let mut trials: HashMap<&str, Vec<&Visited>> = HashMap::new();
    for visited in report.visited {
        trials.entry(&visited.trial.id).or_default().push(visited);
    }
    (report.plan.points.iter())
        .map(|planned| Row {
            point: &planned.point,
            trials: trials.remove(planned.id.as_str()).unwrap_or_default(),
        })
        .filter(|row| !row.trials.is_empty())
        .collect()
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
    if !plan.engine.is_empty() {
        let command = plan.engine.join(" ");
        pairs.push(Pair::new(ServerText::Command.text(lang), command));
    }
    for (a, b) in confounded(plan) {
        let values = [("a", a.to_owned()), ("b", b.to_owned())];
        let text = SweepText::ChangesWith.with(lang, &values);
        pairs.push(Pair::new(SweepText::Confounded.text(lang), text));
    }
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

/// Axes of which the second has one value for each value of the first.
fn confounded(plan: &SweepPlan) -> Vec<(&str, &str)> {
    let value = |point: &Point, axis: &str| point.0.get(axis).map(ToString::to_string);
    let is_determined = |a: &str, b: &str| {
        let mut seen = BTreeMap::new();
        (plan.points.iter()).all(|planned| {
            let (a, b) = (value(&planned.point, a), value(&planned.point, b));
            *seen.entry(a).or_insert_with(|| b.clone()) == b
        })
    };
    let axes = plan.axes.iter().map(String::as_str);
    let mut found: Vec<(&str, &str)> = Vec::new();
    for a in axes.clone() {
        for b in axes.clone().filter(|b| *b != a) {
            if is_determined(a, b) && !found.contains(&(b, a)) {
                found.push((a, b));
            }
        }
    }
    found
}

/// One table for each combination of the other axes, where load is climbed; else one for all.
fn ladders(report: &SweepReport<'_>, rows: &[Row<'_>]) -> Vec<Section> {
    let axes = &report.plan.axes;
    let climbed = axes.iter().find(|axis| LOAD.contains(&axis.as_str()));
    let others: Vec<&String> = axes.iter().filter(|axis| Some(*axis) != climbed).collect();
    let ladders = grouped(rows.iter(), |row| named(&others, row.point));
    // A load that another axis decides is not climbed.
    let is_climbed = axes.len() > 1 && ladders.iter().any(|(_, rows)| rows.len() > 1);
    let Some(climbed) = climbed.filter(|_| is_climbed) else {
        let table = table(report, axes, rows.iter().collect());
        let heading = SweepText::Table.text(report.lang);
        return vec![Section::headed(heading, vec![Block::Table(table)])];
    };
    let climbed = std::slice::from_ref(climbed);
    (ladders.into_iter())
        .map(|(name, rows)| {
            Section::headed(&name, vec![Block::Table(table(report, climbed, rows))])
        })
        .collect()
}

/// Rows that have the same name, in the order of their first.
fn grouped<'r, 'a: 'r>(
    rows: impl Iterator<Item = &'r Row<'a>>,
    name: impl Fn(&Row<'a>) -> String,
) -> Vec<(String, Vec<&'r Row<'a>>)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<(String, Vec<&'r Row<'a>>)> = Vec::new();
    for row in rows {
        let name = name(row);
        let place = *places.entry(name.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((name, vec![row])),
        }
    }
    groups
}

/// A point by its values on some axes: `input-tokens=512, url=…`.
fn named(axes: &[&String], point: &Point) -> String {
    let values: Vec<String> = (axes.iter())
        .map(|axis| format!("{axis}={}", shown(point.0.get(*axis))))
        .collect();
    values.join(", ")
}

/// A value of an axis.
fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => number::ABSENT.to_owned(),
    }
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
