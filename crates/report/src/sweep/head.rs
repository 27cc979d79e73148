//! What stands above the tables of a sweep: verdict, what was varied on what, doubts.

use super::{SweepReport, Visited, count, is_skipped, refusal, unfinished};
use crate::findings::extremes;
use crate::quality::Served;
use crate::run::setup;
use crate::run::{Detail, RunReport};
use crate::severity;
use inferometer_catalog::engine::{EngineKind, LaunchCommand, Version};
use inferometer_chart::measured::{MeasuredPoint, confounded, distinct};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::{EndCause, Ending, Environment};
use inferometer_core::point::Point;
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::StatedDoubt;
use inferometer_message::{DoubtMeaning, NoteText, ServerText, SetupText, SweepText, VerdictText};
use inferometer_page::doc::{Follow, Note, Pair, Section, Tone, Verdict};
use inferometer_page::number;
use inferometer_store::sweep_dir::TrialState;
use inferometer_text::punctuation::PunctuationText;
use strum::VariantArray as _;

/// Points that a doubt names, at most.
const MOST_POINTS: usize = 8;

/// Values of a number that differs from point to point, at most.
const MOST_VALUES: usize = 8;

pub(super) fn sections(report: &SweepReport<'_>, rows: &[MeasuredPoint<'_>]) -> Vec<Section> {
    let mut sections = vec![Section::plain([verdict(report, rows)])];
    let extremes = extremes(&report.plan.axes, rows, report.lang);
    if !extremes.is_empty() {
        sections.push(Section::plain([extremes]));
    }
    sections.push(Section::plain([pairs(report)]));
    let doubts: Vec<Note> = (doubts(rows).iter())
        .map(|doubt| doubt_note(doubt, report, rows.len()))
        .collect();
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
    let lost = count(report, |visited| {
        visited.trial.state == TrialState::Done && visited.summary.is_none()
    });
    let left = unfinished(report);
    let passed = [
        (
            SweepText::RefusedOf,
            count(report, |visited| refusal(&visited.trial).is_some()),
        ),
        (
            SweepText::SkippedOf,
            count(report, |visited| is_skipped(&visited.trial)),
        ),
    ];
    let passed_over: usize = passed.iter().map(|(_, count)| count).sum();
    let all = report.plan.visits.len().to_string();
    let values = |count: usize| [("count", count.to_string()), ("all", all.clone())];
    let (word, tone, reason) = match (measured, bad) {
        _ if lost > 0 => (
            VerdictText::Invalid,
            Tone::Bad,
            SweepText::Lost.with(lang, &values(lost)),
        ),
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
                0 if passed_over > 0 => SweepText::MeasuredValid.text(lang).to_owned(),
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
    let passed = passed.into_iter().filter(|(_, count)| *count > 0);
    let passed = passed.map(|(text, count)| text.with(lang, &values(count)));
    let rest: Vec<String> = passed.chain(objectives).chain(incomplete).collect();
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
    for note in without_fp8(report) {
        pairs.push(Pair::new(SetupText::Note.text(lang), note));
    }
    let axes = match plan.axes.as_slice() {
        [] => number::ABSENT.to_owned(),
        axes => axes.join(" × "),
    };
    let seeds: Vec<String> = plan.seeds.iter().map(u64::to_string).collect();
    let values = [
        ("count", plan.points.len().to_string()),
        ("repeat", plan.repeat.to_string()),
        ("seeds", seeds.join(", ")),
    ];
    let size = match plan.repeat {
        0 | 1 => SweepText::Points,
        _ if !plan.seeds.is_empty() => SweepText::PointsSeeded,
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

/// What comes of flags that ask for FP8 where the card does not compute in it.
fn without_fp8(report: &SweepReport<'_>) -> Vec<String> {
    let Some((engine, version)) = engine(report) else {
        return Vec::new();
    };
    let Some(device) = device(report) else {
        return Vec::new();
    };
    let served = Served {
        engine,
        version,
        device: &device,
    };
    let command = LaunchCommand::parse(&report.plan.engine).ok();
    let common = command.iter().flat_map(|command| &command.flags);
    let common = common.filter_map(|given| Some((given.name.as_str(), given.value()?)));
    let points = report.plan.points.iter();
    let of_points = points.flat_map(|planned| &planned.flags);
    let of_points = of_points.map(|(name, value)| (name.as_str(), value.as_str()));
    let notes = common.chain(of_points);
    distinct(notes.filter_map(|(name, value)| served.without_fp8(name, value, report.lang)))
}

/// The engine that was started, and its version as far as it is known.
fn engine(report: &SweepReport<'_>) -> Option<(EngineKind, Version)> {
    let started = report.environment.and_then(|it| it.engine.as_ref());
    let known = started.and_then(|engine| engine.version.as_ref()?.parse().ok());
    let command = LaunchCommand::parse(&report.plan.engine).ok()?;
    Some((command.engine, command.version(known)))
}

/// The card that it ran on: by what its driver said, or that of the simulated engine.
fn device(report: &SweepReport<'_>) -> Option<String> {
    let servers = report
        .visited
        .iter()
        .filter_map(|it| it.summary.as_ref()?.server.as_ref());
    let mut told = servers
        .flat_map(|server| &server.devices)
        .map(|device| device.name.clone());
    let simulated = || {
        let options = &report.plan.points.first()?.options.connection;
        options.sim_device.clone()
    };
    told.next().or_else(simulated)
}

/// Model, API, load and work: what is the same at every point, and which numbers differ.
fn setting(report: &SweepReport<'_>) -> Vec<Pair> {
    let options = report.plan.points.iter().map(|planned| &planned.options);
    let scenarios: Vec<Scenario> = distinct(options)
        .into_iter()
        .filter_map(|options| options.clone().resolve().ok())
        .collect();
    let summary = report.visited.iter().find_map(|it| it.summary.as_ref());
    let (Some(summary), Some(first)) = (summary, scenarios.first()) else {
        return Vec::new();
    };
    // How many prompts were drawn differs between the points.
    let environment = Environment {
        distinct_prompts: None,
        ..report.environment.cloned().unwrap_or_default()
    };
    // How each point spread its streams is in its own report.
    let ending = Ending {
        cause: EndCause::Unwritten,
        ..Ending::default()
    };
    let run = RunReport {
        summary,
        scenario: first,
        environment: &environment,
        ending: &ending,
        directory: None,
        lang: report.lang,
        detail: Detail::Numbers,
    };
    let at_all = |of: fn(&RunReport<'_>) -> String| {
        let texts = scenarios
            .iter()
            .map(|scenario| of(&RunReport { scenario, ..run }));
        merged(&Vec::from_iter(texts)).unwrap_or_default()
    };
    let pairs = [
        (SetupText::Model, setup::model(&run)),
        (SetupText::Api, setup::api(&run)),
        (
            SetupText::Load,
            at_all(|run| setup::load(run, &run.scenario.load)),
        ),
        (SetupText::Work, at_all(setup::work)),
    ];
    (pairs.into_iter())
        .filter(|(_, value)| !value.is_empty())
        .map(|(label, value)| Pair::new(label.text(report.lang), value))
        .collect()
}

/// Texts that differ in numbers alone as one: `asks for 500 / 1,000 characters`. What some say
/// beyond the shortest is left out; absent where more differs.
fn merged(texts: &[String]) -> Option<String> {
    let parts: Vec<Vec<(bool, &str)>> = texts.iter().map(|text| by_numbers(text)).collect();
    let first = parts.iter().min_by_key(|parts| parts.len())?;
    let is_alike = |other: &Vec<(bool, &str)>| {
        let same = |(a, b): (&(bool, &str), &(bool, &str))| a == b || (a.0 && b.0);
        first.iter().zip(other).all(same)
    };
    if !parts.iter().all(is_alike) {
        return None;
    }
    let part = |place: usize| {
        let mut values = distinct(parts.iter().map(|text| text[place].1));
        let size = |text: &str| text.replace(',', "").parse().unwrap_or(f64::INFINITY);
        values.sort_by(|a, b| size(a).total_cmp(&size(b)));
        if values.len() > MOST_VALUES {
            values.truncate(MOST_VALUES - 1);
            values.push("…");
        }
        values.join(" / ")
    };
    Some((0..first.len()).map(part).collect())
}

/// A text cut into numbers and what stands between them.
fn by_numbers(text: &str) -> Vec<(bool, &str)> {
    let is_of_number = |c: char| c.is_ascii_digit();
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_number = is_of_number(first);
        let ends = |(at, c): (usize, char)| {
            // A comma or a point belongs to a number where a digit follows.
            let next = rest[at + c.len_utf8()..].chars().next();
            let joins = matches!(c, ',' | '.') && next.is_some_and(is_of_number);
            is_number != (is_of_number(c) || is_number && joins)
        };
        let end = (rest.char_indices()).find(|it| ends(*it));
        let (part, left) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        parts.push((is_number, part));
        rest = left;
    }
    parts
}

fn is_valid(visited: &Visited) -> bool {
    visited
        .summary
        .as_ref()
        .is_some_and(|summary| summary.valid)
}

/// A doubt about some points of a sweep.
pub(super) struct PointsDoubt<'a> {
    pub(super) severity: Severity,
    pub(super) code: DoubtCode,
    /// What it means and what to do.
    pub(super) meaning: [DoubtMeaning; 2],
    pub(super) points: Vec<&'a MeasuredPoint<'a>>,
}

/// Doubts that make points invalid or change how they are read, the worst first, each once with
/// the points where it is that grave. Percentiles of too few samples have a mark of their own.
pub(super) fn doubts<'a>(rows: &'a [MeasuredPoint<'a>]) -> Vec<PointsDoubt<'a>> {
    /// Notes that change how a point is read.
    const TELLING: [DoubtCode; 3] = [
        DoubtCode::InStep,
        DoubtCode::AllAtOnce,
        DoubtCode::OutputCapped,
    ];
    let stated = |row: &MeasuredPoint<'_>, code: DoubtCode| {
        let doubts = row.summaries().flat_map(|summary| &summary.doubts);
        let counts = |doubt: &&StatedDoubt| {
            doubt.code == code && (doubt.severity > Severity::Note || TELLING.contains(&code))
        };
        let severities = doubts.filter(counts).map(|doubt| doubt.severity);
        severities.max()
    };
    let found = |severity: Severity, code: DoubtCode| {
        let doubted = |row: &&MeasuredPoint<'_>| stated(row, code) == Some(severity);
        let points: Vec<&MeasuredPoint<'_>> = rows.iter().filter(doubted).collect();
        Some(PointsDoubt {
            severity,
            code,
            meaning: DoubtMeaning::of(code).filter(|_| !points.is_empty())?,
            points,
        })
    };
    let gravest_first = Severity::VARIANTS.iter().rev();
    let all = gravest_first.flat_map(|&severity| {
        let codes = DoubtCode::VARIANTS.iter();
        codes.filter_map(move |&code| found(severity, code))
    });
    all.collect()
}

fn doubt_note(doubt: &PointsDoubt<'_>, report: &SweepReport<'_>, all: usize) -> Note {
    let lang = report.lang;
    let axes: Vec<&String> = report.plan.axes.iter().collect();
    let points = if doubt.points.len() == all {
        SweepText::EveryPoint.text(lang).to_owned()
    } else {
        few(
            doubt.points.iter().map(|row| row.name(&axes)).collect(),
            report,
        )
    };
    let [meaning, remedy] = doubt.meaning.map(|text| text.text(lang));
    let values = [("point", points), ("why", meaning.to_owned())];
    Note {
        tag: severity::word(doubt.severity).text(lang).to_owned(),
        tone: severity::tone(doubt.severity),
        subject: doubt.code.into_str().to_owned(),
        text: SweepText::Because.with(lang, &values),
        follow: Some(Follow::Remedy(remedy.to_owned())),
    }
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

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn texts_that_differ_in_numbers_are_told_as_one() {
        let of =
            |texts: &[&str]| merged(&texts.iter().map(ToString::to_string).collect::<Vec<_>>());
        let asked = [
            "2,000 characters, asks for 500",
            "2,000 characters, asks for 4,000",
        ];
        let told = "2,000 characters, asks for 500 / 4,000";
        assert_eq!(of(&asked).as_deref(), Some(told));
        assert_eq!(
            of(&["并发 4，分散", "并发 16，分散"]).as_deref(),
            Some("并发 4 / 16，分散")
        );
        let spread = ["concurrency 1", "concurrency 16, spread"];
        assert_eq!(of(&spread).as_deref(), Some("concurrency 1 / 16"));
        assert_eq!(of(&["closed, 4", "open, 4"]), None);
        assert_eq!(of(&["same"]).as_deref(), Some("same"));
        assert_eq!(of(&[]), None);
    }
}
