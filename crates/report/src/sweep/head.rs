//! What stands above the tables of a sweep: verdict, what was varied on what, doubts.

use super::{SweepReport, Visited, count, unfinished};
use crate::findings::extremes;
use crate::run::setup;
use crate::run::{Detail, RunReport};
use crate::severity;
use inferometer_chart::measured::{MeasuredPoint, confounded};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::point::Point;
use inferometer_core::summary::StatedDoubt;
use inferometer_message::{DoubtMeaning, NoteText, ServerText, SetupText, SweepText, VerdictText};
use inferometer_page::doc::{Follow, Note, Pair, Section, Tone, Verdict};
use inferometer_page::number;
use inferometer_store::sweep_dir::TrialState;
use inferometer_text::punctuation::PunctuationText;
use strum::VariantArray as _;

/// Points that a doubt names, at most.
const MOST_POINTS: usize = 8;

/// Axes that leave the work as it is.
const NOT_OF_THE_WORK: [&str; 5] = ["concurrency", "rate", "url", "requests", "warmup"];

pub(super) fn sections(report: &SweepReport<'_>, rows: &[MeasuredPoint<'_>]) -> Vec<Section> {
    let mut sections = vec![Section::plain([verdict(report, rows)])];
    let extremes = extremes(&report.plan.axes, rows, report.lang);
    if !extremes.is_empty() {
        sections.push(Section::plain([extremes]));
    }
    sections.push(Section::plain([pairs(report)]));
    let doubts = doubts(report, rows);
    if !doubts.is_empty() {
        let heading = VerdictText::Doubts.text(report.lang);
        sections.push(Section::headed(heading, [doubts]));
    }
    sections
}

fn verdict(report: &SweepReport<'_>, rows: &[MeasuredPoint<'_>]) -> Verdict {
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
        (_, 0) => {
            let doubtful = count(report, |visited| {
                (visited.summary.as_ref()).is_some_and(|summary| !summary.can_win())
            });
            let reason = match doubtful {
                0 => SweepText::AllValid.text(lang).to_owned(),
                count => SweepText::ValidButDoubtful.with(lang, &values(count)),
            };
            (VerdictText::Valid, Tone::Good, reason)
        }
        _ => (
            VerdictText::Invalid,
            Tone::Bad,
            SweepText::SomeInvalid.with(lang, &values(bad)),
        ),
    };
    let incomplete = (left > 0).then(|| SweepText::Incomplete.with(lang, &values(left)));
    let judged = rows.iter().filter(|row| row.meets().is_some()).count();
    let missed = rows.iter().filter(|row| row.meets() == Some(false));
    let objectives = (judged > 0).then(|| match missed.count() {
        0 => VerdictText::ObjectivesMet.text(lang).to_owned(),
        count => {
            let values = [("count", count.to_string()), ("all", judged.to_string())];
            SweepText::MissesObjectives.with(lang, &values)
        }
    });
    let rest: Vec<String> = objectives.into_iter().chain(incomplete).collect();
    let rest = PunctuationText::Semicolon.join(lang, &rest);
    Verdict {
        rest,
        ..Verdict::new(word.text(lang), tone, reason)
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
    pairs.extend(setting(report));
    if report.is_virtual() {
        let note = NoteText::VirtualTime.text(lang);
        pairs.push(Pair::new(SetupText::Note.text(lang), note));
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
    let planned: Vec<&Point> = plan.points.iter().map(|it| &it.point).collect();
    for (a, b) in confounded(&plan.axes, &planned) {
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

/// Model, API and work, as far as they are the same at every point.
fn setting(report: &SweepReport<'_>) -> Vec<Pair> {
    let options = report.plan.points.first().map(|planned| &planned.options);
    let summary = report.visited.iter().find_map(|it| it.summary.as_ref());
    let scenario = options.and_then(|options| options.clone().resolve().ok());
    let (Some(summary), Some(scenario)) = (summary, scenario) else {
        return Vec::new();
    };
    // How many prompts were drawn differs between the points.
    let environment = Environment {
        distinct_prompts: None,
        ..report.environment.cloned().unwrap_or_default()
    };
    let run = RunReport {
        summary,
        scenario: &scenario,
        environment: &environment,
        ending: &Ending::default(),
        directory: None,
        lang: report.lang,
        detail: Detail::Numbers,
    };
    let axes = || report.plan.axes.iter().map(String::as_str);
    let is_flag = |axis: &str| (report.plan.points.iter()).any(|it| it.flags.contains_key(axis));
    let same_work = axes().all(|axis| NOT_OF_THE_WORK.contains(&axis) || is_flag(axis));
    let mut pairs = vec![
        (SetupText::Model, setup::model(&run)),
        (SetupText::Api, setup::api(&run)),
    ];
    if same_work {
        pairs.push((SetupText::Work, setup::work(&run)));
    }
    (pairs.into_iter())
        .filter(|(_, value)| !value.is_empty())
        .map(|(label, value)| Pair::new(label.text(report.lang), value))
        .collect()
}

fn is_valid(visited: &Visited) -> bool {
    visited
        .summary
        .as_ref()
        .is_some_and(|summary| summary.valid)
}

/// Doubts that make points invalid or change how they are read, the worst first, each once with
/// the points where it is that grave. Percentiles of too few samples have a mark of their own.
fn doubts(report: &SweepReport<'_>, rows: &[MeasuredPoint<'_>]) -> Vec<Note> {
    /// Notes that change how a point is read.
    const TELLING: [DoubtCode; 2] = [DoubtCode::InStep, DoubtCode::AllAtOnce];
    let lang = report.lang;
    let axes: Vec<&String> = report.plan.axes.iter().collect();
    let stated = |row: &MeasuredPoint<'_>, code: DoubtCode| {
        let doubts = row.summaries().flat_map(|summary| &summary.doubts);
        let counts = |doubt: &&StatedDoubt| {
            doubt.code == code && (doubt.severity > Severity::Note || TELLING.contains(&code))
        };
        let severities = doubts.filter(counts).map(|doubt| doubt.severity);
        severities.max()
    };
    let note = |severity: Severity, code: DoubtCode| {
        let [meaning, remedy] = DoubtMeaning::of(code)?;
        let doubted = |row: &&MeasuredPoint<'_>| stated(row, code) == Some(severity);
        let points: Vec<String> = (rows.iter().filter(doubted))
            .map(|row| row.name(&axes))
            .collect();
        let points = match points.len() {
            0 => return None,
            all if all == rows.len() => SweepText::EveryPoint.text(lang).to_owned(),
            _ => few(points, report),
        };
        let values = [("point", points), ("why", meaning.text(lang).to_owned())];
        Some(Note {
            tag: severity::word(severity).text(lang).to_owned(),
            tone: severity::tone(severity),
            subject: code.into_str().to_owned(),
            text: SweepText::Because.with(lang, &values),
            follow: Some(Follow::Remedy(remedy.text(lang).to_owned())),
        })
    };
    let gravest_first = Severity::VARIANTS.iter().rev();
    let notes = gravest_first.flat_map(|&severity| {
        let codes = DoubtCode::VARIANTS.iter();
        codes.filter_map(move |&code| note(severity, code))
    });
    notes.collect()
}

/// The first few of many points.
fn few(mut points: Vec<String>, report: &SweepReport<'_>) -> String {
    let more = points.len().saturating_sub(MOST_POINTS);
    points.truncate(MOST_POINTS);
    if more > 0 {
        let values = [("count", more.to_string())];
        points.push(SweepText::MoreReasons.with(report.lang, &values));
    }
    PunctuationText::Semicolon.join(report.lang, &points)
}
