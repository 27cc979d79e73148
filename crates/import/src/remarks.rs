//! What the author of notes says against his own figures: that they are for reference only, not
//! accurate, or of a server that was not warm. Cells of tables say it of their row, lines beside a
//! result of that result or of the load that they name, headings of what stands below them.

use crate::doubt_words::{DoubtSaid, doubt_said};
use crate::heading::named_load;
use crate::result::ImportedResult;
use crate::section::{heading, home_of, sections};
use inferometer_notes::Notes;
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::collections::BTreeMap;

/// Longest line that is looked at, in bytes, and lines between it and what it is of.
const LONGEST: usize = 500;
const LARGEST_GAP: usize = 6;

/// Notes at results what lines that nobody took, and headings, say against them.
pub(crate) fn find(results: &mut [ImportedResult], notes: &Notes<'_>) {
    let sections = sections(notes);
    for found in results.iter_mut() {
        let headings = found.heading.iter().chain(&found.section);
        // A cold start in a heading is what was measured.
        let mut headings = headings.filter(|it| doubt_said(it) == Some(DoubtSaid::Figures));
        let remark = headings.next().map(|it| printable(it, 200));
        note(found, remark);
    }
    let homes: Vec<usize> = results
        .iter()
        .map(|it| home_of(&sections, it.span().0))
        .collect();
    for line in 0..notes.lines.len() {
        let text = notes.bare(line);
        let is_code = notes.code.get(line) == Some(&true);
        let is_read = notes.is_taken(line) || is_code || text.len() > LONGEST;
        if is_read || heading(notes.lines[line].trim()).is_some() || doubt_said(text).is_none() {
            continue;
        }
        let home = home_of(&sections, line);
        let here = (0..results.len()).filter(|at| homes[*at] == home);
        let (before, behind) = here.partition::<Vec<usize>, _>(|at| results[*at].span().0 < line);
        for at in meant(text, line, [&before, &behind], results) {
            note(&mut results[at], Some(printable(text, 200)));
        }
    }
}

fn note(found: &mut ImportedResult, remark: Option<String>) {
    if found.summary.is_some() && found.said_doubtful.is_none() {
        found.said_doubtful = remark;
    }
}

/// The results that a line speaks of, of those before and behind it in its section.
fn meant(
    text: &str,
    line: usize,
    [before, behind]: [&[usize]; 2],
    results: &[ImportedResult],
) -> Vec<usize> {
    let has = |words: &[&str]| {
        let text = text.to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    let above = has(&["以上", "上面", "上表", "上述", "above"]);
    let below = has(&["以下", "下面", "下表", "below", "following"]);
    let gaps = [
        before
            .last()
            .map(|at| line - results[*at].span().1.min(line)),
        behind.first().map(|at| results[*at].span().0 - line),
    ];
    let is_next = match gaps.map(|gap| gap.filter(|gap| *gap <= LARGEST_GAP)) {
        _ if above != below => below,
        [Some(before), Some(behind)] => behind < before || text.ends_with([':', '：']),
        [before, _] => before.is_none(),
    };
    let (side, nearest) = if is_next {
        (behind, behind.first())
    } else {
        (before, before.last())
    };
    if let Some(load) = named_load(text) {
        let has_load = |at: &usize| is_of_load(&results[*at], &load);
        let [mut near, mut far] =
            [side, if is_next { before } else { behind }].map(<[usize]>::iter);
        let found = if is_next {
            near.find(|it| has_load(it))
        } else {
            near.rfind(|it| has_load(it))
        };
        return found
            .or_else(|| far.find(|it| has_load(it)))
            .into_iter()
            .copied()
            .collect();
    }
    let (Some(nearest), Some(gap)) = (nearest, gaps[usize::from(is_next)]) else {
        return Vec::new();
    };
    let of_one = |at: &&usize| results[**at].lines == results[*nearest].lines;
    let near = side
        .iter()
        .filter(|at| above != below || (gap <= LARGEST_GAP && of_one(at)));
    near.copied().collect()
}

fn is_of_load(found: &ImportedResult, load: &BTreeMap<String, Value>) -> bool {
    load.iter()
        .all(|(axis, value)| found.point.get(axis) == Some(value))
}
