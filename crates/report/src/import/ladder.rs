//! What results of another tool show together: they are read as the points of a sweep, so that
//! the same charts are drawn of them and the same rules look at them.

use super::{ImportReport, ResultLine};
use crate::chart::Shown;
use crate::findings::{self, Finding, FindingKind};
use crate::message::figures::FigureText;
use crate::message::findings::FindingText;
use crate::message::import::ImportText;
use crate::sweep::{self, SweepReport, Visited};
use inferometer_core::options::Options;
use inferometer_core::point::Point;
use inferometer_page::figure::Figure;
use inferometer_page::number;
use inferometer_store::sweep_dir::{PLAN_SCHEMA, PlannedPoint, SweepPlan, Trial, TrialState};
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Axes of load, which change fastest.
const LOAD: [&str; 2] = ["concurrency", "rate"];
/// The axis of whatever tells results of one load apart.
const SETTING: &str = "result";
/// Results that are named in a finding or a footnote.
const MOST_NAMED: usize = 6;

/// The results as a plan and what was measured of it.
struct AsSweep {
    plan: SweepPlan,
    visited: Vec<Visited>,
}

impl AsSweep {
    fn of(report: &ImportReport) -> Self {
        let mut points: Vec<PlannedPoint> = Vec::new();
        let mut visited = Vec::new();
        let mut repeats: BTreeMap<String, u32> = BTreeMap::new();
        let names = Names::of_results(report);
        let measured = || {
            let numbered = report.results.iter().enumerate();
            numbered.filter_map(|(place, it)| Some((place, it, it.measured.as_ref()?)))
        };
        for (place, line, (told_apart, summary)) in measured() {
            let mut point = with_our_names(&line.point);
            if let Some(name) = names.of(place, line, told_apart) {
                point.0.insert(SETTING.to_owned(), name.into());
            }
            let id = point.key();
            let repeat = repeats.entry(id.clone()).or_insert(0);
            visited.push(Visited {
                trial: Trial {
                    id: id.clone(),
                    repeat: *repeat,
                    state: TrialState::Done,
                    directory: None,
                    reason: None,
                    class: None,
                    ended: String::new(),
                },
                summary: Some(summary.clone()),
            });
            *repeat += 1;
            if *repeat == 1 {
                points.push(PlannedPoint {
                    id,
                    point,
                    flags: BTreeMap::new(),
                    options: Options::default(),
                });
            }
        }
        AsSweep {
            plan: SweepPlan {
                schema: PLAN_SCHEMA.to_owned(),
                label: None,
                tags: Vec::new(),
                axes: axes(&points),
                engine_options: Vec::new(),
                engine: Vec::new(),
                repeat: repeats.into_values().max().unwrap_or(1),
                visits: Vec::new(),
                points,
            },
            visited,
        }
    }

    fn report(&self, lang: Lang) -> SweepReport<'_> {
        SweepReport {
            plan: &self.plan,
            visited: &self.visited,
            directory: Path::new(""),
            environment: None,
            lang,
        }
    }
}

/// How results of one load are told apart.
enum Names {
    /// All are of one load: by their numbers and headings.
    Numbers,
    /// By their headings, which differ.
    Headings,
    Settings,
}

impl Names {
    fn of_results(report: &ImportReport) -> Self {
        let measured: Vec<&ResultLine> = (report.results.iter())
            .filter(|line| line.measured.is_some())
            .collect();
        let loads: BTreeSet<String> = measured.iter().map(|line| line.point.key()).collect();
        let headings: BTreeSet<(String, &str)> = (measured.iter())
            .filter_map(|line| Some((line.point.key(), line.label.as_deref()?)))
            .collect();
        match (loads.len(), headings.len() == measured.len()) {
            (_, true) if loads.len() < measured.len() => Names::Headings,
            (1, _) => Names::Numbers,
            _ => Names::Settings,
        }
    }

    /// The name of a result beside its load; absent where the load says all.
    fn of(&self, place: usize, line: &ResultLine, point: &Point) -> Option<String> {
        let label = line.label.as_deref().unwrap_or_default();
        match self {
            Names::Headings => Some(label.to_owned()),
            Names::Numbers => Some(format!("#{} {label}", place + 1).trim_end().to_owned()),
            Names::Settings => {
                let own = point.0.iter();
                let own = own.filter(|(axis, _)| !line.point.0.contains_key(*axis));
                let own = Point(
                    own.map(|(axis, value)| (axis.clone(), value.clone()))
                        .collect(),
                );
                (!own.0.is_empty()).then(|| own.to_string())
            }
        }
    }
}

/// `input_chars` as `input-chars`.
fn with_our_names(point: &Point) -> Point {
    let named = point.0.iter();
    let named = named.map(|(axis, value)| (axis.replace('_', "-"), value.clone()));
    Point(named.collect())
}

/// Axes with several values, those of load last.
fn axes(points: &[PlannedPoint]) -> Vec<String> {
    let names: BTreeSet<&String> = points.iter().flat_map(|it| it.point.0.keys()).collect();
    let varies = |axis: &&&String| {
        let values = points.iter().map(|it| it.point.0.get(**axis));
        let texts = values.map(|value| value.map(ToString::to_string));
        texts.collect::<BTreeSet<_>>().len() > 1
    };
    let mut axes: Vec<String> = names
        .iter()
        .filter(varies)
        .map(|axis| (*axis).clone())
        .collect();
    if axes.is_empty() {
        axes.extend(names.into_iter().find(|axis| *axis == SETTING).cloned());
    }
    axes.sort_by_key(|axis| LOAD.contains(&axis.as_str()));
    axes
}

/// Every figure of an import. Invalid results are left out and named, unless there are no
/// others: nobody can measure them again, so that they are drawn, and marked.
pub fn figures(report: &ImportReport, lang: Lang) -> Vec<Figure> {
    let measured = || (report.results.iter()).filter_map(|line| line.measured.as_ref());
    let shown = match measured().any(|(_, summary)| summary.valid) {
        true => Shown::Valid,
        false => Shown::All,
    };
    let sweep = AsSweep::of(report);
    let mut figures = sweep::figures_of(&sweep.report(lang), shown);
    for figure in &mut figures {
        // What a tool does not print has no chart.
        figure.panels.retain(|panel| !panel.is_empty());
        if shown == Shown::All {
            let title = [("title", std::mem::take(&mut figure.title))];
            figure.title = FigureText::InvalidTitle.with(lang, &title);
            let note = FigureText::AllInvalid.text(lang);
            figure.footnotes.push(note.to_owned());
        }
    }
    figures.retain(|figure| !figure.panels.is_empty());
    figures
}

pub fn findings(report: &ImportReport, lang: Lang) -> Vec<Finding> {
    let sweep = AsSweep::of(report);
    let mut findings = findings::of_sweep(&sweep.report(lang));
    // A table that does not report its failures loses requests all the same.
    findings.retain(|finding| finding.kind != FindingKind::LostRequests);
    findings.extend(lost(report, lang));
    findings
}

fn lost(report: &ImportReport, lang: Lang) -> Option<Finding> {
    let lost_of = |line: &ResultLine| {
        let [planned, ok, failed] = line.requests;
        let known = [failed, line.cut].into_iter().flatten();
        let ended = known.fold(ok?, u64::saturating_add);
        planned?.checked_sub(ended).filter(|lost| *lost > 0)
    };
    let losing: Vec<(usize, &ResultLine, u64)> = (report.results.iter().enumerate())
        .filter_map(|(place, line)| Some((place, line, lost_of(line)?)))
        .collect();
    if losing.is_empty() {
        return None;
    }
    let planned: u64 = losing
        .iter()
        .filter_map(|(_, line, _)| line.requests[0])
        .sum();
    let count = losing.iter().map(|(.., lost)| lost).sum();
    let text = [
        ("lost", number::count(count)),
        ("planned", number::count(planned)),
    ];
    let pieces: Vec<String> = (losing.iter())
        .map(|(place, line, lost)| {
            let values = [
                ("number", (place + 1).to_string()),
                ("lost", number::count(*lost)),
                (
                    "planned",
                    line.requests[0].map(number::count).unwrap_or_default(),
                ),
                ("load", line.load()),
            ];
            ImportText::LostAt.with(lang, &values)
        })
        .collect();
    Some(Finding {
        kind: FindingKind::LostRequests,
        text: FindingText::Lost.with(lang, &text),
        evidence: some(&pieces, PunctuationText::Semicolon, lang),
    })
}

/// Some of many, and how many more there are.
pub(super) fn some(pieces: &[String], between: PunctuationText, lang: Lang) -> String {
    let mut shown: Vec<String> = pieces.iter().take(MOST_NAMED).cloned().collect();
    if let more @ 1.. = pieces.len().saturating_sub(MOST_NAMED) {
        shown.push(FindingText::More.with(lang, &[("count", more.to_string())]));
    }
    between.join(lang, &shown)
}
