//! What the author of notes says against his own figures: that they are for reference only, not
//! accurate, or of a server that was not warm. Cells of tables say it of their row, lines beside a
//! result of that result or of the load that they name, headings of what stands below them.

use crate::heading::named_load;
use crate::result::ImportedResult;
use crate::section::{heading, home_of, sections};
use inferometer_notes::Notes;
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DoubtSaid {
    /// The figures are not to be trusted.
    Figures,
    /// The server was not warm.
    Cold,
}

const OF_FIGURES: &str = "仅供参考|只供参考|只作参考|仅作参考|只能参考|不太准|不准确|不准|存疑|可疑|不可靠|不靠谱|\
    数据异常|结果异常|数据有问题|结果有问题|reference only|inaccurate|not accurate|\
    unreliable|not reliable|questionable|suspicious|doubtful|dubious|grain of salt|\
    looks wrong|don't trust|do not trust";
const OF_COLD: &str = "冷启动|预热不足|预热不够|预热不充分|未预热|没预热|没有预热|未充分预热|cold start|\
    cold-start|no warm-up|no warmup|without warm|not warm|insufficient warm";
/// In front of such words: it is not so.
const DENIED: &str = "无|没有|不是|并非|不|no |not |not a |without |without a ";
/// A clause with one of these speaks of what may be or was avoided, or of figures of others.
const NOT_SAID: &str = "避免|防止|排除|剔除|去掉|不含|会|如果|若|官方|官网|论文|网上|avoid|prevent|exclud|would|\
    if |may |official|published|vendor";
/// Behind the words: how long it takes, which is a figure.
const DURATIONS: &str = "时间|耗时|用时|time|takes|took";

/// Whether a remark says that its author does not trust what stands beside it.
pub(crate) fn doubt_said(remark: &str) -> Option<DoubtSaid> {
    let remark = remark.to_lowercase();
    let clauses = remark.split(|c: char| "，,。；;！!（）()\n".contains(c));
    let clauses = clauses.filter(|clause| !NOT_SAID.split('|').any(|word| clause.contains(word)));
    let said = clauses.filter_map(|clause| {
        let has = |words: &str| words.split('|').any(|word| says(clause, word));
        if has(OF_FIGURES) {
            Some(DoubtSaid::Figures)
        } else {
            has(OF_COLD).then_some(DoubtSaid::Cold)
        }
    });
    let said = Vec::from_iter(said);
    let figures = said.iter().find(|it| **it == DoubtSaid::Figures);
    figures.or(said.first()).copied()
}

fn says(clause: &str, word: &str) -> bool {
    clause.match_indices(word).any(|(at, _)| {
        let (before, behind) = (&clause[..at], clause[at + word.len()..].trim_start());
        let is_figure = behind.starts_with(|c: char| c.is_ascii_digit())
            || DURATIONS.split('|').any(|word| behind.starts_with(word));
        // `不准备` and `不准用` say something else.
        let next = behind.chars().next();
        let is_part =
            word == "不准" && next.is_some_and(|c| c.is_alphabetic() && !"确的了啊吧".contains(c));
        !is_figure && !is_part && !DENIED.split('|').any(|denied| before.ends_with(denied))
    })
}

/// Whether a cell says of a server that it was warm.
pub(crate) fn is_warm(cell: &str) -> bool {
    let cell = cell.to_lowercase();
    let is_said = ["warm", "热启动", "已预热", "预热后"]
        .iter()
        .any(|word| cell.contains(word));
    is_said && doubt_said(&cell).is_none()
}

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
