//! A sweep as a document: a table a ladder, and what the marks in it mean.

mod dependence;
mod figures;
pub(crate) mod grid;
mod head;
pub(crate) mod ladder;
mod notes;
mod repeat;
mod table;

pub(crate) use dependence::independent;
pub use figures::figures;
pub(crate) use figures::{figures_of, tradeoff};
pub use notes::compose_for_notes;
use table::table;

use crate::chart::ladder::cards_of;
use crate::findings;
use crate::message::setup::SetupText;
use crate::message::sweep::SweepText;
use inferometer_core::doubt::DoubtCode;
use inferometer_core::environment::Environment;
use inferometer_core::point::Point;
use inferometer_core::scenario::SimClock;
use inferometer_core::summary::{SloOutcome, Summary};
use inferometer_page::doc::{Block, Command, Doc, Pair, Section};
use inferometer_page::number;
pub use inferometer_store::sweep_dir::Visited;
use inferometer_store::sweep_dir::{PlannedPoint, SweepPlan, TrialState};
use inferometer_text::Lang;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

const LOAD: [&str; 2] = ["concurrency", "rate"];

/// What a sweep's report is made of.
#[derive(Clone, Copy)]
pub struct SweepReport<'a> {
    /// What was to be measured.
    pub plan: &'a SweepPlan,
    /// What was, in the order of the plan.
    pub visited: &'a [Visited],
    pub directory: &'a Path,
    /// Where and against what one of its runs was.
    pub environment: Option<&'a Environment>,
    pub lang: Lang,
}

impl SweepReport<'_> {
    /// Nothing was measured: the simulated engine was computed.
    fn is_virtual(&self) -> bool {
        let clock = |planned: &PlannedPoint| planned.options.connection.sim_clock;
        self.plan.points.first().and_then(clock) == Some(SimClock::Virtual)
    }
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
    let mut sections = head::sections(report, &rows);
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

/// The best of the valid points whose load was what its name says.
fn best(report: &SweepReport<'_>, rows: &[Row<'_>]) -> Vec<String> {
    let valid = || {
        let sound = |row: &&Row<'_>| {
            let filled = |summary: &Summary| {
                let mut doubts = summary.doubts.iter();
                summary.valid && doubts.all(|doubt| doubt.code != DoubtCode::UnfilledStreams)
            };
            row.summaries().next().is_some() && row.summaries().all(filled)
        };
        rows.iter().filter(sound)
    };
    let top = |rows: &mut dyn Iterator<Item = &Row<'_>>| {
        rows.filter_map(|row| Some((row.tokens_per_s()?, row.point.to_string())))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
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
