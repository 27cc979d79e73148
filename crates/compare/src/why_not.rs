//! Whether runs may be compared at all.

use super::Group;
use super::metric::Metric;
use super::sample::{OURS, RunSample};
use super::why_not_texts::WhyNotText;
use inferometer_core::point::Point;
use inferometer_core::record::TokenSource;
use inferometer_statistics::Difference;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeSet;
use std::fmt;

/// Largest ratio of output lengths that is still the same work.
const OUTPUT_TOLERANCE: f64 = 0.05;

/// Whether mean lengths in tokens are so far apart that what was measured is other work.
pub fn are_other_lengths(a: f64, b: f64) -> bool {
    (a - b).abs() > OUTPUT_TOLERANCE * a.abs().max(b.abs())
}

/// The same for prompts, which nothing but their own randomness may change.
const INPUT_TOLERANCE: f64 = 0.02;

/// Largest difference between shares of failed requests at which what is left is still the same
/// load: a server that refuses some serves the others faster.
const FAILURE_TOLERANCE: f64 = 0.01;

/// Runs on each side from which their spread tells chance from a difference, and how sure that is.
const MIN_RUNS: usize = 3;
const LEVEL: f64 = 0.05;

/// A reason against a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum WhyNot {
    OneGroup,
    /// A group is empty.
    NoRuns {
        group: String,
    },
    /// No load was measured in both.
    NothingPaired {
        baseline: String,
        group: String,
    },
    /// The same loads, but with settings that no result of the other has.
    OtherSettings {
        baseline: String,
        group: String,
        /// Settings of each that differ, `axis=value`.
        settings: [Vec<String>; 2],
    },
    /// The same loads, in groups of other names.
    OtherGroups {
        baseline: String,
        group: String,
        /// Groups of each, by name.
        names: [Vec<String>; 2],
        /// One of each, with a load in common, that are called alike where any are.
        pair: [String; 2],
    },
    /// The only loads differ.
    DifferentLoad {
        a: Point,
        b: Point,
    },
    /// A group has invalid runs of this load that cannot be left out.
    Invalid {
        point: Point,
        group: String,
        /// The doubts that make them so.
        codes: String,
        remedy: String,
    },
    /// One side failed requests that the other served: how many failed, if that is stated, and all.
    Failures {
        point: Point,
        a: (Option<u64>, u64),
        b: (Option<u64>, u64),
    },
    /// Something that must agree does not.
    Differs {
        point: Point,
        /// What must agree.
        what: WhyNotText,
        a: String,
        b: String,
    },
}

impl WhyNot {
    /// Reasons in words, each kind once with its first load and how many more have it.
    pub fn in_brief(reasons: &[WhyNot], lang: Lang) -> Vec<String> {
        let mut kinds: Vec<(&WhyNot, BTreeSet<String>)> = Vec::new();
        for reason in reasons {
            let load = reason.point().map(Point::key).unwrap_or_default();
            match kinds.iter_mut().find(|(first, _)| first.is_like(reason)) {
                Some((_, loads)) => drop(loads.insert(load)),
                None => kinds.push((reason, [load].into())),
            }
        }
        let said = kinds.into_iter();
        said.map(|(reason, loads)| reason.said(lang, loads.len() - 1))
            .collect()
    }

    pub fn text(&self, lang: Lang) -> String {
        self.said(lang, 0)
    }

    fn point(&self) -> Option<&Point> {
        match self {
            WhyNot::Invalid { point, .. }
            | WhyNot::Failures { point, .. }
            | WhyNot::Differs { point, .. } => Some(point),
            _ => None,
        }
    }

    /// Whether it is the same at another load.
    fn is_like(&self, other: &WhyNot) -> bool {
        match (self, other) {
            (
                WhyNot::Invalid { group, codes, .. },
                WhyNot::Invalid {
                    group: of,
                    codes: by,
                    ..
                },
            ) => (group, codes) == (of, by),
            (WhyNot::Failures { .. }, WhyNot::Failures { .. }) => true,
            (WhyNot::Differs { what, .. }, WhyNot::Differs { what: other, .. }) => what == other,
            _ => self == other,
        }
    }

    /// The reason alone, as a picture has room for it.
    pub fn without_remedy(&self) -> Self {
        let mut reason = self.clone();
        if let WhyNot::Invalid { remedy, .. } = &mut reason {
            remedy.clear();
        }
        reason
    }

    fn said(&self, lang: Lang, more: usize) -> String {
        let at = |point: &Point| match more {
            0 => point.to_string(),
            1 => WhyNotText::AndOneMore.with(lang, &[("point", point.to_string())]),
            more => {
                let values = [("count", more.to_string()), ("point", point.to_string())];
                WhyNotText::AndMore.with(lang, &values)
            }
        };
        // What users named goes in last, so that braces in it are no places.
        match self {
            WhyNot::OneGroup => WhyNotText::OneGroup.text(lang).to_owned(),
            WhyNot::NoRuns { group } => WhyNotText::NoRuns.with(lang, &[("group", group.clone())]),
            WhyNot::NothingPaired { baseline, group } => {
                let values = [("baseline", baseline.clone()), ("group", group.clone())];
                WhyNotText::NothingPaired.with(lang, &values)
            }
            WhyNot::OtherSettings {
                baseline,
                group,
                settings,
            } => {
                let [a, b] = settings.each_ref().map(|it| match it.as_slice() {
                    [] => WhyNotText::NoneStated.text(lang).to_owned(),
                    all => PunctuationText::Comma.join(lang, all),
                });
                let values = [
                    ("a", a),
                    ("b", b),
                    ("baseline", baseline.clone()),
                    ("group", group.clone()),
                ];
                WhyNotText::OtherSettings.with(lang, &values)
            }
            WhyNot::OtherGroups {
                baseline,
                group,
                names: [a, b],
                pair: [of_a, of_b],
            } => {
                let values = [
                    ("of_a", of_a.clone()),
                    ("of_b", of_b.clone()),
                    ("a", a.join(", ")),
                    ("b", b.join(", ")),
                    ("baseline", baseline.clone()),
                    ("group", group.clone()),
                ];
                WhyNotText::OtherGroups.with(lang, &values)
            }
            WhyNot::DifferentLoad { a, b } => {
                let values = [("a", a.to_string()), ("b", b.to_string())];
                WhyNotText::DifferentLoad.with(lang, &values)
            }
            WhyNot::Invalid {
                point,
                group,
                codes,
                remedy,
            } => {
                let values = [
                    ("codes", codes.clone()),
                    ("point", at(point)),
                    ("group", group.clone()),
                ];
                let said = [WhyNotText::Invalid.with(lang, &values), remedy.clone()];
                let said = said.into_iter().filter(|part| !part.is_empty());
                PunctuationText::Semicolon.join(lang, &Vec::from_iter(said))
            }
            WhyNot::Failures { point, a, b } => {
                let share = |&(failed, all): &(Option<u64>, u64)| match failed {
                    Some(failed) => format!("{failed}/{all}"),
                    None => WhyNotText::NotStated.with(lang, &[("count", all.to_string())]),
                };
                let values = [("point", at(point)), ("a", share(a)), ("b", share(b))];
                WhyNotText::Failures.with(lang, &values)
            }
            WhyNot::Differs { point, what, a, b } => {
                let values = [
                    ("what", what.text(lang).to_owned()),
                    ("point", at(point)),
                    ("a", a.clone()),
                    ("b", b.clone()),
                ];
                let found = WhyNotText::Differs.with(lang, &values);
                match what {
                    WhyNotText::OutputTokens => found + WhyNotText::SameLengths.text(lang),
                    WhyNotText::InputTokens | WhyNotText::InputChars => {
                        found + WhyNotText::SameInputs.text(lang)
                    }
                    // Ours can be computed by another tool's definition.
                    WhyNotText::Definition if [a, b].iter().any(|it| it.as_str() == OURS) => {
                        found + WhyNotText::SameDefinition.text(lang)
                    }
                    WhyNotText::Definition => found + WhyNotText::OneTool.text(lang),
                    WhyNotText::Seed => found + WhyNotText::OneSeed.text(lang),
                    _ => found,
                }
            }
        }
    }
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Lang::En))
    }
}

/// Whose definitions hold in runs of both sides; one where it is the same in all.
pub(crate) fn tools(a: &[&RunSample], b: &[&RunSample]) -> BTreeSet<String> {
    a.iter().chain(b).map(|run| run.tool().to_owned()).collect()
}

/// Reasons against comparing the runs of two groups at one point by a metric.
pub(crate) fn reasons(
    point: &Point,
    [baseline, group]: [&str; 2],
    a: &[&RunSample],
    b: &[&RunSample],
    metric: Metric,
) -> Vec<WhyNot> {
    let mut found = Vec::new();
    // A part of a test without its start and its end is not what other tools count.
    let is_part = |run: &&&RunSample| {
        run.definition.tool.is_none()
            && (run.summary.window).is_some_and(|window| window.steady_by_construction)
    };
    let is_common =
        metric.is_common(point.is_open_loop()) && !a.iter().chain(b).any(|it| is_part(&it));
    for (name, runs) in [(baseline, a), (group, b)] {
        // Beside valid runs only those count in which the server failed.
        if runs.iter().all(|run| run.summary.valid) {
            continue;
        }
        let doubts = || runs.iter().flat_map(|run| run.invalid_by());
        let codes: BTreeSet<&str> = doubts().map(|it| it.code).collect();
        let remedies = doubts().map(|it| it.remedy).filter(|it| !it.is_empty());
        let remedies: BTreeSet<&str> = remedies.collect();
        found.push(WhyNot::Invalid {
            point: point.clone(),
            group: name.to_owned(),
            codes: Vec::from_iter(codes).join(", "),
            remedy: Vec::from_iter(remedies).join("; "),
        });
    }
    found.extend(failures(point, a, b));
    let mut differs = |what, a: String, b: String| {
        found.push(WhyNot::Differs {
            point: point.clone(),
            what,
            a,
            b,
        });
    };
    type Fact = fn(&RunSample) -> Option<String>;
    let facts: [(WhyNotText, Fact); 6] = [
        (WhyNotText::Window, |run| {
            let ours = run.definition.tool.is_none();
            let window = run.summary.window.filter(|_| ours);
            let steady = window.is_some_and(|window| window.steady_by_construction);
            let word = if steady {
                "steady window"
            } else {
                "first send to last completion"
            };
            (ours && run.summary.window_s.is_some()).then(|| word.to_owned())
        }),
        (WhyNotText::Definition, |run| Some(run.tool().to_owned())),
        (WhyNotText::TokenSource, |run| {
            let source = run.summary.tokens.source;
            (source != TokenSource::None).then(|| source.to_string())
        }),
        (WhyNotText::Streaming, |run| {
            Some(run.definition.streamed?.to_string())
        }),
        (WhyNotText::LatencyFrom, |run| {
            let due = run.definition.from_due?;
            Some(if due { "due" } else { "sent" }.to_owned())
        }),
        (WhyNotText::Work, |run| {
            run.definition.work.clone().map(one_line)
        }),
    ];
    for (what, fact) in facts {
        let all = |runs: &[&RunSample]| -> BTreeSet<String> {
            runs.iter().filter_map(|run| fact(run)).collect()
        };
        let (in_a, in_b) = (all(a), all(b));
        if is_common && what == WhyNotText::Definition {
            continue;
        }
        // What one side does not say is no contradiction.
        if !in_a.is_empty() && !in_b.is_empty() && (in_a != in_b || in_a.len() > 1) {
            let text = |all: &BTreeSet<String>, other: &BTreeSet<String>| {
                let parts = all.iter().map(|part| without_shared(part, other));
                Vec::from_iter(parts).join(" and ")
            };
            differs(what, text(&in_a, &in_b), text(&in_b, &in_a));
        }
    }
    // Where each side has several seeds, their runs differ as much as their prompts do; and what
    // one side has beside the seeds of the other is more of the same.
    let seeds = |runs: &[&RunSample]| -> BTreeSet<u64> {
        runs.iter().filter_map(|run| run.definition.seed).collect()
    };
    let (in_a, in_b) = (seeds(a), seeds(b));
    let apart = !in_a.is_subset(&in_b) && !in_b.is_subset(&in_a);
    if apart && in_a.len().min(in_b.len()) == 1 {
        let text = |seeds: BTreeSet<u64>| {
            let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
            seeds.join(", ")
        };
        differs(WhyNotText::Seed, text(in_a), text(in_b));
    }
    type Length = fn(&RunSample) -> Option<f64>;
    let lengths: [(WhyNotText, Length, f64); 3] = [
        (
            WhyNotText::OutputTokens,
            |run| run.summary.tokens.output_mean,
            OUTPUT_TOLERANCE,
        ),
        // The same tokens have a few characters more or less with each run's own first words.
        (
            WhyNotText::InputChars,
            |run| match run.summary.tokens.input_mean {
                Some(_) => None,
                None => run.input_chars_mean(),
            },
            INPUT_TOLERANCE,
        ),
        (
            WhyNotText::InputTokens,
            |run| run.summary.tokens.input_mean,
            OUTPUT_TOLERANCE,
        ),
    ];
    for (what, length, tolerance) in lengths {
        let known = |runs: &[&RunSample]| Vec::from_iter(runs.iter().filter_map(|run| length(run)));
        let mean = |known: &[f64]| {
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let (known_a, known_b) = (known(a), known(b));
        if let (Some(in_a), Some(in_b)) = (mean(&known_a), mean(&known_b))
            && (in_a - in_b).abs() > tolerance * in_a.abs().max(in_b.abs())
            && !by_chance(&known_a, &known_b)
        {
            differs(what, format!("{in_a:.1}"), format!("{in_b:.1}"));
        }
    }
    found
}

/// Whether lengths of several runs with seeds of their own differ no more between the sides than
/// within them: then the spread between the runs, which decides, holds that difference already.
fn by_chance(a: &[f64], b: &[f64]) -> bool {
    a.len().min(b.len()) >= MIN_RUNS
        && Difference::welch(a, b).is_some_and(|difference| difference.p_value() > LEVEL)
}

/// Why no point of one group is a point of the other.
pub(crate) fn unpaired(
    [baseline, group]: [&Group; 2],
    [points_a, points_b]: [&[&Point]; 2],
) -> WhyNot {
    let loads = |points: &[&Point]| -> BTreeSet<String> {
        let points = points.iter().map(|point| point.without_group().key());
        points.collect()
    };
    let names = |points: &[&Point]| -> Vec<String> {
        let names = points.iter().filter_map(|point| point.group());
        let names: BTreeSet<&str> = names.collect();
        names.into_iter().map(str::to_owned).collect()
    };
    let (baseline, group) = (baseline.name.clone(), group.name.clone());
    if !loads(points_a).is_disjoint(&loads(points_b)) {
        WhyNot::OtherGroups {
            baseline,
            group,
            names: [names(points_a), names(points_b)],
            pair: nearest_groups(points_a, points_b),
        }
    } else if let Some(settings) = other_settings(points_a, points_b) {
        WhyNot::OtherSettings {
            baseline,
            group,
            settings,
        }
    } else {
        WhyNot::NothingPaired { baseline, group }
    }
}

/// Most settings of a side that a reason names.
const MOST_SETTINGS: usize = 4;

/// The settings in which no result of one side equals one of the other, where the loads without
/// these are the same.
fn other_settings(points_a: &[&Point], points_b: &[&Point]) -> Option<[Vec<String>; 2]> {
    let sides = [points_a, points_b];
    let values = |points: &[&Point], axis: &str| -> BTreeSet<String> {
        let values = points.iter().map(|point| point.0.get(axis));
        values
            .map(|it| it.map_or(String::new(), ToString::to_string))
            .collect()
    };
    let axes = points_a.iter().chain(points_b).flat_map(|it| it.0.keys());
    let axes: BTreeSet<&String> = axes
        .filter(|axis| !LOADS.contains(&axis.as_str()))
        .collect();
    let differing: BTreeSet<&String> = (axes.into_iter())
        .filter(|axis| values(points_a, axis).is_disjoint(&values(points_b, axis)))
        .collect();
    let without = |points: &[&Point]| -> BTreeSet<String> {
        let points = points.iter().map(|point| {
            let mut point = point.without_group();
            point.0.retain(|axis, _| !differing.contains(axis));
            point.key()
        });
        points.collect()
    };
    if differing.is_empty() || without(points_a).is_disjoint(&without(points_b)) {
        return None;
    }
    let stated = |points: &[&Point]| -> Vec<String> {
        let stated = points.iter().flat_map(|point| {
            let mut own = (*point).clone();
            own.0.retain(|axis, _| differing.contains(axis));
            own.0
                .into_iter()
                .map(|(axis, value)| Point([(axis, value)].into()).to_string())
        });
        let stated: BTreeSet<String> = stated.collect();
        let more = stated.len().saturating_sub(MOST_SETTINGS);
        let listed = stated.into_iter().take(MOST_SETTINGS);
        listed.chain((more > 0).then(|| "…".to_owned())).collect()
    };
    Some(sides.map(stated))
}

/// Axes of a point that are its load.
const LOADS: [&str; 5] = ["concurrency", "rate", "speed", "max-concurrency", "group"];

/// A group of each side that have a load in common, those first that share most parts of their names,
/// such as the model.
fn nearest_groups(points_a: &[&Point], points_b: &[&Point]) -> [String; 2] {
    let of_a = points_a.iter().copied();
    let pairs = of_a.flat_map(|a| points_b.iter().map(move |b| (a, *b)));
    let pairs = pairs.filter(|(a, b)| a.without_group().key() == b.without_group().key());
    let names = pairs.map(|(a, b)| [a, b].map(|point| point.group().unwrap_or_default()));
    let shared = |[a, b]: &[&str; 2]| {
        let parts = BTreeSet::from_iter(b.split(" / "));
        a.split(" / ").filter(|part| parts.contains(part)).count()
    };
    // Of those that share as many the first.
    let nearest = names.reduce(|best, next| {
        if shared(&next) > shared(&best) {
            next
        } else {
            best
        }
    });
    nearest.unwrap_or_default().map(str::to_owned)
}

/// Requests that failed on one side and not on the other.
fn failures(point: &Point, a: &[&RunSample], b: &[&RunSample]) -> Option<WhyNot> {
    let count = |runs: &[&RunSample]| {
        let all = runs.iter().map(|run| &run.summary.requests);
        let (failed, ok) = all.fold((0, 0), |(failed, ok), it| (failed + it.failed, ok + it.ok));
        match failed + ok {
            // A tool that reports no failures tells how many were answered.
            0 => (None, runs.iter().filter_map(|run| run.answered).sum()),
            ended => (Some(failed), ended),
        }
    };
    let share = |(failed, ended): (Option<u64>, u64)| {
        failed.unwrap_or_default() as f64 / ended.max(1) as f64
    };
    let (a, b) = (count(a), count(b));
    let point = point.clone();
    ((share(a) - share(b)).abs() > FAILURE_TOLERANCE).then_some(WhyNot::Failures { point, a, b })
}

/// A list of settings without those that the only other one has too.
fn without_shared(part: &str, other: &BTreeSet<String>) -> String {
    let shared: BTreeSet<&str> = match other.len() {
        1 => other.iter().flat_map(|other| other.split("; ")).collect(),
        _ => BTreeSet::new(),
    };
    let own: Vec<&str> = part
        .split("; ")
        .filter(|part| !shared.contains(part))
        .collect();
    if own.is_empty() {
        "nothing".to_owned()
    } else {
        own.join("; ")
    }
}

fn one_line(text: String) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}
