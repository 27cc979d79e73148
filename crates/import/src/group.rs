//! Results that belong together: a ladder under one heading, single measurements under a common
//! one. Nothing is drawn, pooled or concluded across groups.

use crate::result::ImportedResult;
use inferometer_core::point::Point;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq)]
pub struct ResultGroup {
    /// The headings that tell it from the other groups; empty where there are no others.
    pub title: String,
    /// The last heading that all its members share.
    pub name: String,
    /// How many headings all its members share.
    depth: usize,
    /// Places of its results, in their order.
    pub members: Vec<usize>,
}

impl ResultGroup {
    /// The headings that a member shares with the others of the group.
    pub fn headings<'a>(&self, found: &'a ImportedResult) -> &'a [String] {
        found.section.get(..self.depth).unwrap_or_default()
    }

    /// The headings of a member that the others of the group do not have.
    pub fn own_headings<'a>(&self, found: &'a ImportedResult) -> &'a [String] {
        found.section.get(self.depth..).unwrap_or_default()
    }

    /// What a member is called within the group: its last heading, else its label.
    pub fn own_name<'a>(&self, found: &'a ImportedResult) -> Option<&'a str> {
        let own = self.own_headings(found).last();
        own.or(found.label.as_ref()).map(String::as_str)
    }
}

/// Where a result is put: its file, or its tool where the file has nothing else and no headings,
/// since such files may be the points of one ladder; then its headings.
type Place<'a> = (&'a str, &'a [String]);

/// The groups of results, in the order of their first. A section in which only one load was
/// measured is a setting of the section around it, unless it holds several settings and those
/// around it were measured with another engine or on another card.
pub fn groups(results: &[ImportedResult]) -> Vec<ResultGroup> {
    let mut in_file = BTreeMap::<_, usize>::new();
    for found in results {
        *in_file.entry(found.file.as_str()).or_default() += 1;
    }
    let mut places: Vec<Place<'_>> = (results.iter())
        .map(|found| {
            let file = found.file.as_str();
            if found.section.is_empty() && in_file[file] == 1 {
                (<&str>::from(found.tool), found.section.as_slice())
            } else {
                (file, found.section.as_slice())
            }
        })
        .collect();
    let deepest = places.iter().map(|(_, section)| section.len()).max();
    for depth in (1..=deepest.unwrap_or(0)).rev() {
        let mut loads: BTreeMap<Place<'_>, Vec<String>> = BTreeMap::new();
        let mut servers: BTreeMap<Place<'_>, BTreeSet<_>> = BTreeMap::new();
        for (found, place) in results.iter().zip(&places) {
            let loads = loads.entry(*place).or_default();
            if found.summary.is_some() {
                loads.push(load(found));
                let around = found.section.get(..depth - 1).unwrap_or_default();
                let server = ["engine", "card"].map(|fact| found.facts.get(fact));
                servers.entry((place.0, around)).or_default().insert(server);
            }
        }
        for place in places.iter_mut().filter(|(_, it)| it.len() == depth) {
            let loads = &loads[place];
            let around = (place.0, &place.1[..depth - 1]);
            let is_mixed = servers
                .get(&around)
                .is_some_and(|servers| servers.len() > 1);
            let is_ladder = loads.iter().collect::<BTreeSet<_>>().len() > 1;
            let stands_alone = is_ladder || (is_mixed && loads.len() > 1);
            if !stands_alone {
                *place = around;
            }
        }
    }
    // A start that was refused is no setting of anything else.
    let with_headings: BTreeSet<&str> = (places.iter())
        .filter(|(_, section)| !section.is_empty())
        .map(|(from, _)| *from)
        .collect();
    for (found, place) in results.iter().zip(&mut places) {
        let is_refused = found.summary.is_none() && place.1.is_empty();
        if is_refused && with_headings.contains(place.0) {
            place.1 = &found.section;
        }
    }
    let mut groups: Vec<(Place<'_>, Vec<usize>)> = Vec::new();
    let mut at_place: BTreeMap<Place<'_>, Vec<usize>> = BTreeMap::new();
    let model = |at: usize| results[at].facts.get("model");
    for (at, place) in places.into_iter().enumerate() {
        // Results of one model are never those of another, nor are settings of none.
        let is_whole = place.1.len() == results[at].section.len();
        let of_same =
            |members: &[usize]| match (members.last().and_then(|it| model(*it)), model(at)) {
                (Some(one), Some(other)) => one == other,
                (one, other) => is_whole || one == other,
            };
        let here = at_place.entry(place).or_default();
        let known = |group: &&usize| of_same(&groups[**group].1);
        match here.iter().find(known) {
            Some(&group) => groups[group].1.push(at),
            None => {
                here.push(groups.len());
                groups.push((place, vec![at]));
            }
        }
    }
    // By the headings that all members share, which may be more than those it was found by.
    for (place, members) in &mut groups {
        let mut sections = members.iter().map(|at| results[*at].section.as_slice());
        let first = sections.next().unwrap_or_default();
        let common = sections.fold(first.len(), |common, section| {
            let same = first.iter().zip(section).take_while(|(a, b)| a == b);
            common.min(same.count())
        });
        place.1 = &first[..common];
    }
    let shared = shared_headings(&groups);
    let several = groups.len() > 1;
    let mut at_place = BTreeMap::<_, usize>::new();
    for (place, _) in &groups {
        *at_place.entry(*place).or_default() += 1;
    }
    let folder = common_folder(results);
    let group = |((from, section), members): (Place<'_>, Vec<usize>)| {
        let own = &section[shared.min(section.len())..];
        let title = match (own, section.last()) {
            ([], Some(last)) => last.clone(),
            ([], None) => from.strip_prefix(folder).unwrap_or(from).to_owned(),
            _ => own.join(" / "),
        };
        // What shares its headings is told apart by its model.
        let model = members.iter().find_map(|at| model(*at));
        let title = match model.filter(|_| at_place[&(from, section)] > 1) {
            Some(model) => format!("{title} / {model}"),
            None => title,
        };
        ResultGroup {
            title: if several { title } else { String::new() },
            name: section.last().cloned().unwrap_or_default(),
            depth: section.len(),
            members,
        }
    };
    groups.into_iter().map(group).collect()
}

/// The folder that holds all files, with its last `/`; empty where there is none.
fn common_folder(results: &[ImportedResult]) -> &str {
    let mut files = results.iter().map(|found| found.file.as_str());
    let folder = |path: &str| path.rfind('/').map_or(0, |at| at + 1);
    let first = files.next().unwrap_or_default();
    files.fold(&first[..folder(first)], |common, file| {
        let mut pairs = common.char_indices().zip(file.chars());
        let same = pairs.find(|((_, a), b)| a != b);
        let same = same.map_or(common.len().min(file.len()), |((at, _), _)| at);
        &common[..folder(&common[..same])]
    })
}

/// How many headings from the outermost on all groups share.
fn shared_headings(groups: &[(Place<'_>, Vec<usize>)]) -> usize {
    let mut sections = groups.iter().map(|((_, section), _)| *section);
    let Some(first) = sections.next() else {
        return 0;
    };
    sections.fold(first.len(), |shared, section| {
        let same = first.iter().zip(section).take_while(|(a, b)| a == b);
        shared.min(same.count())
    })
}

/// The load of a result, to find others of the same.
pub(crate) fn load(found: &ImportedResult) -> String {
    Point(found.load_point()).key()
}
