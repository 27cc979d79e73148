//! A sweep as a document: a table per ladder, and what the marks in it mean.

mod grid;
mod head;
mod notes;
mod repeat;
mod table;

pub use notes::compose_for_notes;
use table::{mark, table};

use crate::findings::{self, Finding};
use crate::runs::PointTally;
use inferometer_chart::measured::{LOAD, MeasuredPoint, MeasuredPoints, groups};
use inferometer_chart::{self, Shown, omitted};
use inferometer_core::doubt::DoubtCode;
use inferometer_core::environment::Environment;
use inferometer_core::point::Point;
use inferometer_core::scenario::SimClock;
use inferometer_core::summary::{Summary, SummaryColumns};
use inferometer_message::{FigureText, PageText, SetupText, SweepText};
use inferometer_page::doc::{Block, Command, Doc, Pair, Section};
use inferometer_page::figure::Figure;
use inferometer_page::number;
pub use inferometer_store::sweep_dir::Visited;
use inferometer_store::sweep_dir::{PlannedPoint, SweepPlan, Trial, TrialState};
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

#[derive(Clone, Copy)]
pub struct SweepReport<'a> {
    pub plan: &'a SweepPlan,
    /// What was, in the order of the plan.
    pub visited: &'a [Visited],
    pub directory: &'a Path,
    /// Where and against what one of its runs was.
    pub environment: Option<&'a Environment>,
    /// Columns that were chosen for its tables.
    pub columns: Option<&'a SummaryColumns>,
    pub lang: Lang,
}

impl SweepReport<'_> {
    /// Nothing was measured: the simulated engine was computed.
    fn is_virtual(&self) -> bool {
        let clock = |planned: &PlannedPoint| planned.options.connection.sim_clock;
        self.plan.points.first().and_then(clock) == Some(SimClock::Virtual)
    }
}

/// The JSON form `inferometer.sweep/1`.
pub fn json(report: &SweepReport<'_>) -> String {
    format!("{:#}\n", value(report))
}

pub fn value(report: &SweepReport<'_>) -> Value {
    let planned: HashMap<&str, &Point> = (report.plan.points.iter())
        .map(|planned| (planned.id.as_str(), &planned.point))
        .collect();
    let points: Vec<Value> = (report.visited.iter())
        .map(|visited| {
            json!({
                "point": planned.get(visited.trial.id.as_str()),
                "repeat": visited.trial.repeat,
                "seed": report.plan.seed_of(visited.trial.repeat),
                "state": visited.trial.state,
                "directory": visited.trial.directory,
                "reason": visited.trial.reason,
                "class": visited.trial.class,
                "summary": visited.summary,
            })
        })
        .collect();
    let measured = measured(report);
    let knees: Vec<Value> = (findings::knees(&measured).iter())
        .map(|(ladder, knee)| {
            json!({
                "of": ladder.name,
                "axis": ladder.axis,
                "load": knee.about(),
                "low": knee.low,
                "high": knee.high,
            })
        })
        .collect();
    let doubts: Vec<Value> = (head::doubts(&measured.points).iter())
        .map(|doubt| {
            let [meaning, remedy] = doubt.meaning.map(|text| text.text(report.lang));
            let points: Vec<&Point> = doubt.points.iter().map(|row| row.point).collect();
            json!({
                "code": doubt.code,
                "severity": doubt.severity,
                "text": meaning,
                "remedy": remedy,
                "points": points,
            })
        })
        .collect();
    json!({
        "schema": "inferometer.sweep/1",
        "label": report.plan.label,
        "axes": report.plan.axes,
        "planned": report.plan.visits.len(),
        "points": points,
        "doubts": doubts,
        "knees": knees,
        "findings": findings::of_points(&measured, report.lang),
    })
}

pub fn compose(report: &SweepReport<'_>) -> Doc {
    let measured = measured(report);
    let rows = measured.points.as_slice();
    let mut sections = head::sections(report, rows);
    sections.extend(ladders(report, rows));
    sections.extend(grid::sections(report, rows));
    // Of a study of settings the head says it.
    let best = match findings::extremes(&report.plan.axes, rows, report.lang).as_slice() {
        [] => best(report, rows),
        _ => Vec::new(),
    };
    if !best.is_empty() {
        let together = best.join(PunctuationText::Semicolon.text(report.lang));
        let block = Block::Paragraph(together);
        sections.push(Section::headed(SweepText::Best.text(report.lang), [block]));
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
    sections.extend(findings::section(
        &findings::of_points(&measured, report.lang),
        report.lang,
    ));
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

/// What figures and findings read of a sweep.
fn measured<'a>(report: &SweepReport<'a>) -> MeasuredPoints<'a> {
    let mut visits: HashMap<&str, Vec<&Visited>> = HashMap::new();
    for visited in report.visited {
        visits.entry(&visited.trial.id).or_default().push(visited);
    }
    let point = |planned: &'a PlannedPoint| {
        let visits = visits.remove(planned.id.as_str())?;
        Some(MeasuredPoint {
            point: &planned.point,
            trials: visits.iter().map(|visited| &visited.trial).collect(),
            summaries: (visits.iter())
                .filter_map(|visited| visited.summary.as_ref())
                .collect(),
        })
    };
    let computed = (report.is_virtual()).then(|| FigureText::Computed.text(report.lang));
    let repeated = (report.plan.repeat > 1).then(|| PageText::MedianRepeat.text(report.lang));
    let notes = computed.into_iter().chain(repeated).map(str::to_owned);
    MeasuredPoints {
        axes: &report.plan.axes,
        planned: report.plan.points.iter().map(|it| &it.point).collect(),
        points: report.plan.points.iter().filter_map(point).collect(),
        notes: notes.collect(),
    }
}

/// Every figure of a sweep, in reading order, without its invalid points.
pub fn figures(report: &SweepReport<'_>) -> Vec<Figure> {
    let measured = measured(report);
    let mut figures = inferometer_chart::points::figures(&measured, Shown::Valid, report.lang);
    // No chart hides the points that were skipped or failed to run.
    let axes: Vec<&String> = measured.axes.iter().collect();
    let unmeasured = (measured.points.iter()).filter(|point| point.summaries.is_empty());
    let names: Vec<String> = unmeasured
        .map(|point| match mark(point, report.lang) {
            Some(mark) => format!("{} ({mark})", point.name(&axes)),
            None => point.name(&axes),
        })
        .collect();
    if let Some(note) = omitted::footnote(FigureText::NotMeasured, &names, report.lang) {
        inferometer_chart::points::add_note(&mut figures, &note);
    }
    figures
}

pub fn findings(report: &SweepReport<'_>) -> Vec<Finding> {
    findings::of_points(&measured(report), report.lang)
}

fn count(report: &SweepReport<'_>, test: impl Fn(&Visited) -> bool) -> usize {
    report
        .visited
        .iter()
        .filter(|visited| test(visited))
        .count()
}

/// The engine that would not have started for a visit, and its words; absent for visits that were
/// made, or passed over for another reason. Stored is the sentence in English.
fn refusal(trial: &Trial) -> Option<[&str; 2]> {
    let sentence = SweepText::WouldRefuse.text(Lang::En);
    let between = sentence
        .strip_prefix("{engine}")?
        .strip_suffix("{message}")?;
    let reason = trial.reason.as_deref()?;
    let (engine, message) = reason.split_once(between)?;
    (trial.state == TrialState::Skipped).then_some([engine, message])
}

/// Whether it was passed over, though the engine would have started.
fn is_skipped(trial: &Trial) -> bool {
    trial.state == TrialState::Skipped && refusal(trial).is_none()
}

/// What became of the visits of a sweep, and at how many points the objectives are missed.
pub fn tally(plan: &SweepPlan, visited: &[Visited]) -> PointTally {
    let report = SweepReport {
        plan,
        visited,
        directory: Path::new(""),
        environment: None,
        columns: None,
        lang: Lang::En,
    };
    let measured = measured(&report);
    let judged = || measured.points.iter().filter_map(MeasuredPoint::meets);
    PointTally {
        visits: plan.visits.len(),
        refused: count(&report, |visited| refusal(&visited.trial).is_some()),
        skipped: count(&report, |visited| is_skipped(&visited.trial)),
        judged: judged().count(),
        missed: judged().filter(|met| !met).count(),
    }
}

/// Visits that are still to be made.
fn unfinished(report: &SweepReport<'_>) -> usize {
    let ended = count(report, |visited| {
        visited.trial.state != TrialState::Interrupted
    });
    report.plan.visits.len().saturating_sub(ended)
}

/// One table for each combination of the other axes, where load is climbed; else one for all.
fn ladders(report: &SweepReport<'_>, rows: &[MeasuredPoint<'_>]) -> Vec<Section> {
    let axes = &report.plan.axes;
    let climbed = axes.iter().find(|axis| LOAD.contains(&axis.as_str()));
    let others: Vec<&String> = axes.iter().filter(|axis| Some(*axis) != climbed).collect();
    let ladders = groups(rows, |row| row.name(&others));
    // A load that another axis decides is not climbed.
    let is_climbed = axes.len() > 1 && ladders.iter().any(|(_, rows)| rows.len() > 1);
    let Some(climbed) = climbed.filter(|_| is_climbed) else {
        let rows: Vec<&MeasuredPoint<'_>> = rows.iter().collect();
        let rows = match axes.as_slice() {
            [axis] if LOAD.contains(&axis.as_str()) => by_load(rows),
            _ => rows,
        };
        let table = table(report, axes, rows);
        let heading = SweepText::Table.text(report.lang);
        return vec![Section::headed(heading, [table])];
    };
    let climbed = std::slice::from_ref(climbed);
    (ladders.into_iter())
        .map(|(name, rows)| Section::headed(&name, [table(report, climbed, by_load(rows))]))
        .collect()
}

/// A ladder from its lowest load on, in whatever order they were measured.
fn by_load<'r, 'a>(mut rows: Vec<&'r MeasuredPoint<'a>>) -> Vec<&'r MeasuredPoint<'a>> {
    let load = |row: &MeasuredPoint<'_>| LOAD.iter().find_map(|axis| row.number(axis));
    let load = |row: &MeasuredPoint<'_>| load(row).unwrap_or(f64::INFINITY);
    rows.sort_by(|a, b| load(a).total_cmp(&load(b)));
    rows
}

/// Points with the highest throughput that are named.
const MOST_TIED: usize = 6;

/// Doubts of a point whose throughput is not that of its load.
const LOAD_NOT_HELD: [DoubtCode; 2] = [DoubtCode::UnfilledStreams, DoubtCode::ShortWindow];

/// The best of the valid points whose load was what its name says.
fn best(report: &SweepReport<'_>, rows: &[MeasuredPoint<'_>]) -> Vec<String> {
    let is_held = |summary: &Summary| {
        let mut doubts = summary.doubts.iter();
        doubts.all(|doubt| !LOAD_NOT_HELD.contains(&doubt.code))
    };
    // Waves speak against a point where another that was held goes without.
    let is_steady = |summary: &Summary| is_held(summary) && !summary.is_in_step();
    let some_steady = rows.iter().any(|row| row.valid().any(is_steady));
    let held = |summary: &Summary| is_held(summary) && !(some_steady && summary.is_in_step());
    let all_can_win = |row: &&MeasuredPoint<'_>| {
        row.summaries().next().is_some() && row.summaries().all(Summary::can_win)
    };
    let valid = || (rows.iter().filter(all_can_win)).filter(move |row| row.summaries().all(held));
    // Points that show the same figure share the place.
    let top = |rows: &mut dyn Iterator<Item = &MeasuredPoint<'_>>| {
        let known = rows.filter_map(|row| Some((row.tokens_per_s()?, row.point.to_string())));
        let known: Vec<(f64, String)> = known.collect();
        let most = known.iter().map(|(value, _)| *value).reduce(f64::max)?;
        let shown = number::grouped(most, 1);
        let same = known
            .into_iter()
            .filter(|(value, _)| number::grouped(*value, 1) == shown);
        let points: Vec<String> = same.map(|(_, point)| point).collect();
        Some((most, shown, points))
    };
    let say = |text: SweepText, (_, value, points): (f64, String, Vec<String>)| {
        let value = format!("{value} tok/s");
        let point = findings::some(&points, MOST_TIED, PunctuationText::Semicolon, report.lang);
        text.with(report.lang, &[("value", value), ("point", point)])
    };
    if rows.len() < 2 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let best = top(&mut valid());
    let most = best.as_ref().map_or(0.0, |best| best.0);
    let unheld = top(&mut rows.iter().filter(all_can_win)).filter(|any| any.0 > most);
    let valid_ones = |row: &&MeasuredPoint<'_>| row.valid().next().is_some();
    let others = rows.iter().filter(valid_ones);
    let not_counted = top(&mut others.filter(|row| !all_can_win(row)));
    lines.extend(best.map(|best| say(SweepText::MostTokens, best)));
    lines.extend(unheld.map(|any| say(SweepText::MoreUnheld, any)));
    let not_counted = not_counted.filter(|any| any.0 > most);
    lines.extend(not_counted.map(|any| say(SweepText::MoreNotCounted, any)));
    let judged = valid().any(|row| row.meets().is_some());
    if judged {
        let within = top(&mut valid().filter(|row| row.meets() == Some(true)));
        lines.extend(within.map(|best| say(SweepText::MostWithinSlo, best)));
    }
    lines
}
