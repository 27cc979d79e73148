//! Names of the sides of a comparison: for legends, columns and sentences.

use crate::ladder::legend;
use inferometer_compare::Group;
use std::collections::BTreeSet;

/// Names of the groups for legends: parts of files as a reader selected them; what tags or labels
/// say where that tells them apart, else the last part of their path, else all of it.
pub fn labels(groups: &[Group]) -> Vec<String> {
    let ways: [fn(&Group) -> Option<String>; 3] = [selected, tagged, last_part];
    let named = ways.iter().find_map(|way| {
        let names: Option<Vec<String>> = groups.iter().map(way).collect();
        names.filter(|names| BTreeSet::from_iter(names).len() == names.len())
    });
    named.unwrap_or_else(|| groups.iter().map(|group| group.name.clone()).collect())
}

/// The name of one of the groups for a reader.
pub fn label_of(groups: &[Group], name: &str) -> String {
    let place = groups.iter().position(|group| group.name == name);
    let label = place.and_then(|place| labels(groups).into_iter().nth(place));
    label.unwrap_or_else(|| name.to_owned())
}

/// The part of a note that was selected, without the folders of its file: `notes.md#vLLM/7B`.
fn selected(group: &Group) -> Option<String> {
    let begin = group.name.find(['#', '@'])?;
    let is_import = group.runs.iter().all(|run| run.definition.tool.is_some());
    let folders = group.name[..begin].rfind('/').map_or(0, |at| at + 1);
    (is_import && begin > folders).then(|| group.name[folders..].to_owned())
}

/// What all runs of a group are called.
fn tagged(group: &Group) -> Option<String> {
    let mut names = group.runs.iter().map(|run| legend(&run.summary));
    let first = names.next().filter(|name| !name.is_empty())?;
    names.all(|name| name == first).then_some(first)
}

fn last_part(group: &Group) -> Option<String> {
    let name = group.name.trim_end_matches('/');
    let last = name.rsplit('/').next();
    last.filter(|part| !part.is_empty()).map(str::to_owned)
}

/// Longest name that heads a column.
const LONGEST_HEAD: usize = 16;

/// The sides as columns are headed: by their names where these are short, else by letters.
pub fn heads(groups: &[Group]) -> Vec<String> {
    let labels = told_apart(labels(groups));
    if labels.iter().all(|it| it.chars().count() <= LONGEST_HEAD) {
        return labels;
    }
    (0..groups.len()).map(letter).collect()
}

/// Characters of a label that a narrow legend has room for.
const LEGIBLE: usize = 14;

/// Labels that would look alike once they are cut have their letter in front.
pub fn told_apart(labels: Vec<String>) -> Vec<String> {
    let beginning = |label: &String| label.chars().take(LEGIBLE).collect::<String>();
    let beginnings: BTreeSet<String> = labels.iter().map(beginning).collect();
    if beginnings.len() == labels.len() {
        return labels;
    }
    let lettered = labels.iter().enumerate();
    lettered
        .map(|(place, label)| format!("{}: {label}", letter(place)))
        .collect()
}

/// `A`, `B`, `C` …
fn letter(place: usize) -> String {
    match u8::try_from(place).ok().filter(|place| *place < 26) {
        Some(place) => char::from(b'A' + place).to_string(),
        None => format!("#{}", place + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_notes_are_named_as_they_were_selected() {
        let side = |name: &str| Group {
            name: name.to_owned(),
            ..Group::default()
        };
        let sides = [side("a/notes.md@engine=MindIE"), side("a/notes.md#vLLM/7B")];
        let names = labels(&sides);
        assert_eq!(names, ["notes.md@engine=MindIE", "notes.md#vLLM/7B"]);
        assert_eq!(labels(&[side("a/x.md"), side("a/y.md")]), ["x.md", "y.md"]);
    }

    #[test]
    fn long_labels_that_begin_alike_have_a_letter_in_front() {
        let labels = |all: &[&str]| told_apart(all.iter().map(|&label| label.to_owned()).collect());
        assert_eq!(labels(&["vllm", "sglang"]), ["vllm", "sglang"]);
        let long = labels(&["qwen2.5-7b-instruct-tp2-a", "qwen2.5-7b-instruct-tp2-b"]);
        assert_eq!(long[0], "A: qwen2.5-7b-instruct-tp2-a");
        assert_eq!(long[1], "B: qwen2.5-7b-instruct-tp2-b");
    }
}
