//! Groups of an import whose headings differ at one place only, so that they can be held against
//! each other. Of the headings that tell groups apart, the one that names the engine is taken.

use super::{ImportReport, ReportedResult};
use inferometer_compare::are_other_lengths;
use inferometer_core::doubt::Severity;
use inferometer_core::point::Point;
use inferometer_core::summary::CARDS;
use inferometer_import::{ImportDoubtCode, ImportedResult, ResultGroup, meeting, without_brackets};
use std::collections::BTreeSet;

/// Groups with the same headings but one.
pub(super) struct Family<'r> {
    /// Headings that all share.
    pub title: String,
    pub members: Vec<Member<'r>>,
}

pub(super) struct Member<'r> {
    pub name: String,
    /// What stands in the brackets of its other headings.
    pub inside: Vec<String>,
    pub group: &'r ResultGroup,
    /// The first of the group, which facts about all are read from.
    first: Option<&'r ImportedResult>,
    /// Results by load; none where no start was possible.
    pub rows: Vec<&'r ReportedResult<'r>>,
    /// Those of loads that were measured again with the same settings.
    again: Vec<&'r ReportedResult<'r>>,
    /// Lengths that it states and others have measured alike: they tell no loads apart.
    common: BTreeSet<&'static str>,
}

/// The families that differ in the heading that tells most.
pub(super) fn comparable<'r>(report: &'r ImportReport<'_>) -> Vec<Family<'r>> {
    let deepest = report.groups.iter().map(|it| headings(report, it).len());
    let by_place = (0..deepest.max().unwrap_or(0)).map(|place| families(report, place));
    let mut by_place: Vec<Vec<Family<'_>>> = by_place.filter(|found| !found.is_empty()).collect();
    let of_engines = |families: &Vec<Family<'_>>| families.iter().any(tells_engines_apart);
    let chosen = by_place.iter().position(of_engines).unwrap_or(0);
    if by_place.is_empty() {
        return Vec::new();
    }
    by_place.swap_remove(chosen)
}

fn headings<'a>(report: &ImportReport<'a>, group: &ResultGroup) -> &'a [String] {
    let first = group.members.first();
    first.map_or(&[], |place| group.headings(report.results[*place].found))
}

/// Groups whose headings differ at one place only, but for what stands in brackets.
fn families<'r>(report: &'r ImportReport<'_>, place: usize) -> Vec<Family<'r>> {
    let placed: Vec<&ResultGroup> = (report.groups.iter())
        .filter(|group| place < headings(report, group).len())
        .collect();
    let with_others = |group: &&ResultGroup| {
        let all = headings(report, group);
        let (before, after) = (&all[..place], &all[place + 1..]);
        (&all[place], [before, after].concat())
    };
    let others: Vec<(&String, Vec<String>)> = placed.iter().map(with_others).collect();
    let mut families: Vec<(Vec<String>, Vec<&'r ResultGroup>)> = Vec::new();
    for (others, group) in meeting(&others).into_iter().zip(placed) {
        match families.iter_mut().find(|(known, _)| *known == others) {
            Some((_, groups)) => groups.push(group),
            None => families.push((others, vec![group])),
        }
    }
    families.retain(|(_, groups)| groups.len() > 1);
    let of_all: Vec<Vec<String>> = families.iter().map(|(others, _)| others.clone()).collect();
    let tells_apart = |heading: &&String| match &of_all[..] {
        [_] => {
            let mut groups = report.groups.iter();
            let has = |it: &String| it == *heading || without_brackets(it).0 == **heading;
            !groups.all(|group| headings(report, group).iter().any(has))
        }
        several => !several.iter().all(|others| others.contains(*heading)),
    };
    let family = |(others, groups): (Vec<String>, Vec<&'r ResultGroup>)| {
        let title: Vec<&str> = others
            .iter()
            .filter(tells_apart)
            .map(|it| it.as_str())
            .collect();
        let member = |group: &'r ResultGroup| {
            let rows = report.rows(group).into_iter().map(|(_, result)| result);
            let rows = rows.filter(|row| !row.found.point.is_empty());
            let mut rows: Vec<&ReportedResult<'_>> = rows.collect();
            // Of a table and its block that contradict each other, the block counts.
            let all = rows.clone();
            let repeats = |row: &ReportedResult<'_>| {
                let mut same = all.iter().filter(|it| it.point() == row.point());
                is_contradicted(row) && same.any(|it| !is_contradicted(it))
            };
            rows.retain(|row| !repeats(row));
            // What was measured again because it had gone wrong is not held against anything.
            let sound: BTreeSet<String> = (rows.iter().filter(|row| is_sound(row)))
                .map(|row| row.point().key())
                .collect();
            rows.retain(|row| is_sound(row) || !sound.contains(&row.point().key()));
            // Nor is what its author doubts and measured again.
            rows.retain(|row| row.found.said_doubtful.is_none() || row.measured.is_some());
            // Of one load and setting, what was measured again is a repeat of the first.
            let all = rows.clone();
            let is_again = |at: usize| all[..at].iter().any(|it| is_repeat(it, all[at]));
            let again: Vec<_> = (0..all.len()).filter(|at| is_again(*at)).collect();
            let again: Vec<_> = again.into_iter().map(|at| all[at]).collect();
            rows.retain(|row| !again.iter().any(|it| std::ptr::eq(*it, *row)));
            let first = group.members.first();
            let all = headings(report, group);
            let others = all.iter().enumerate().filter(|(at, _)| *at != place);
            let inside = others.map(|(_, heading)| without_brackets(heading).1);
            Member {
                name: all[place].clone(),
                inside: inside.filter(|it| !it.is_empty()).collect(),
                group,
                first: first.map(|place| report.results[*place].found),
                rows,
                again,
                common: BTreeSet::new(),
            }
        };
        let mut family = Family {
            title: title.join(" / "),
            members: groups.into_iter().map(member).collect(),
        };
        family.shorten_names();
        family.find_common_lengths();
        family
    };
    let families = families.into_iter().map(family);
    families.filter(Family::is_comparable).collect()
}

/// Whether two results are of one load and setting, and both have numbers.
pub(super) fn is_repeat(a: &ReportedResult<'_>, b: &ReportedResult<'_>) -> bool {
    let setting = |it: &ReportedResult<'_>| it.measured.as_ref().map(|(point, _)| point.key());
    let known = setting(a).zip(setting(b));
    a.point() == b.point() && known.is_some_and(|(a, b)| a == b)
}

fn is_contradicted(result: &ReportedResult<'_>) -> bool {
    let mut doubts = result.doubts.iter();
    doubts.any(|doubt| doubt.code == ImportDoubtCode::InconsistentImport)
}

fn engine<'r>(member: &Member<'r>) -> Option<&'r String> {
    member.first?.facts.get("engine")
}

fn tells_engines_apart(family: &Family<'_>) -> bool {
    let engines: BTreeSet<_> = family.members.iter().map(engine).collect();
    engines.len() > 1
}

/// The card of a member, and how many of them served it where that is known.
pub(super) fn cards(member: &Member<'_>) -> Option<(String, Option<String>)> {
    let card = member.first?.facts.get("card")?;
    let mut counts = member
        .rows
        .iter()
        .filter_map(|row| row.found.summary.as_ref());
    let count = counts.find_map(|summary| summary.tags.get(CARDS));
    Some((card.clone(), count.cloned()))
}

/// `H20 ×4`; a single card without its number.
fn in_words((card, count): (String, Option<String>)) -> String {
    match count.filter(|count| count != "1") {
        Some(count) => format!("{card} ×{count}"),
        None => card,
    }
}

impl<'r> Member<'r> {
    /// All results of the load of one of its rows.
    pub(super) fn repeats(&self, row: &'r ReportedResult<'r>) -> Vec<&'r ReportedResult<'r>> {
        let again = self.again.iter().copied();
        let again = again.filter(|it| is_repeat(it, row));
        std::iter::once(row).chain(again).collect()
    }

    /// The load of one of its results, as the family's members share it.
    pub(super) fn load(&self, row: &ReportedResult<'_>) -> Point {
        let mut load = row.point();
        (load.0).retain(|axis, _| !self.common.contains(axis.as_str()));
        load
    }

    pub(super) fn at(&self, wanted: &Point) -> Option<&'r ReportedResult<'r>> {
        let mut rows = self.rows.iter();
        rows.find(|row| self.load(row) == *wanted).copied()
    }

    /// The one length that all of its loads state; absent where they state several, or not all do.
    fn stated(&self, axis: &str) -> Option<f64> {
        let mut stated = self
            .rows
            .iter()
            .map(|row| row.point().0.get(axis)?.as_f64());
        let first = stated.next()??;
        stated.all(|it| it == Some(first)).then_some(first)
    }

    /// Whether it names no length, and nowhere measured one unlike it.
    fn measured_alike(&self, (axis, place): (&str, usize), length: f64) -> bool {
        self.rows.iter().all(|row| {
            let measured = row.lengths()[place];
            let is_alike = measured.is_none_or(|it| !are_other_lengths(it, length));
            is_alike && !row.point().0.contains_key(axis)
        })
    }
}

impl<'r> Family<'r> {
    /// Members are named by their engines and cards where that tells them apart: `vLLM (A100 ×4)`.
    /// A card that all share is not named.
    fn shorten_names(&mut self) {
        let cards = |member: &Member<'_>| cards(member).map(in_words);
        let cards_of_all: BTreeSet<_> = self.members.iter().map(cards).collect();
        let name = |member: &Member<'_>| {
            let engine = engine(member)?;
            Some(match cards(member).filter(|_| cards_of_all.len() > 1) {
                Some(cards) => format!("{engine} ({cards})"),
                None => engine.clone(),
            })
        };
        let names: Option<Vec<String>> = self.members.iter().map(name).collect();
        let names = names.filter(|names| BTreeSet::from_iter(names).len() == names.len());
        for (member, name) in self.members.iter_mut().zip(names.into_iter().flatten()) {
            member.name = name;
        }
    }

    /// `1024` that a caption states, and prompts that were 1024 tokens long by a tool, are one load. What
    /// another does not say of its lengths is no contradiction, and told.
    fn find_common_lengths(&mut self) {
        const AXES: [(&str, usize); 2] = [("input_tokens", 0), ("output_tokens", 1)];
        for axis in AXES {
            let stated = self.measured().find_map(|it| it.stated(axis.0));
            let Some(length) = stated else {
                continue;
            };
            let states = |it: &Member<'_>| it.stated(axis.0) == Some(length);
            let is_common = self
                .measured()
                .all(|it| states(it) || it.measured_alike(axis, length));
            if is_common && !self.measured().all(states) {
                for member in &mut self.members {
                    member.common.insert(axis.0);
                }
            }
        }
    }

    /// Names of members of which nobody knows the length that others state.
    pub(super) fn without_lengths(&self) -> Vec<String> {
        let is_known = |row: &ReportedResult<'_>, axis: &str| {
            let place = usize::from(axis != "input_tokens");
            row.point().0.contains_key(axis) || row.lengths()[place].is_some()
        };
        let lacks = |member: &&Member<'_>| {
            let mut axes = member.common.iter();
            axes.any(|axis| member.rows.iter().all(|row| !is_known(row, axis)))
        };
        let lacking = self.measured().filter(lacks);
        lacking.map(|member| member.name.clone()).collect()
    }

    /// Those that have results.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Member<'r>> + Clone {
        self.members.iter().filter(|member| !member.rows.is_empty())
    }

    /// Whether several have one result for each load, and a load in common.
    fn is_comparable(&self) -> bool {
        let loads = |member: &Member<'_>| -> BTreeSet<String> {
            (member.rows.iter())
                .map(|it| member.load(it).key())
                .collect()
        };
        let all: Vec<BTreeSet<String>> = self.measured().map(loads).collect();
        let single =
            |(member, loads): (&Member<'_>, &BTreeSet<String>)| loads.len() == member.rows.len();
        let distinct: BTreeSet<&String> = all.iter().flatten().collect();
        all.len() > 1
            && self.measured().zip(&all).all(single)
            && distinct.len() < all.iter().map(BTreeSet::len).sum()
    }
}

pub(super) fn is_sound(result: &ReportedResult<'_>) -> bool {
    result.severity() < Some(Severity::Invalid)
}
