//! The sections of notes: which headings a line stands under.

use inferometer_notes::Notes;
use inferometer_text::hostile::printable;

/// Deeper than any heading of Markdown: a line that is bold throughout.
const BOLD: usize = 7;

#[derive(PartialEq)]
pub(crate) struct Section {
    line: usize,
    depth: usize,
    pub(crate) title: String,
    /// The place of the section around it.
    around: Option<usize>,
}

/// All sections, in the order of lines. Comments in a program begin like headings and are none.
pub(crate) fn sections(notes: &Notes<'_>) -> Vec<Section> {
    let own = notes.code.is_empty().then(|| code(notes));
    let is_code = own.as_ref().unwrap_or(&notes.code);
    let mut sections: Vec<Section> = Vec::new();
    for (line, text) in notes.lines.iter().enumerate() {
        let Some((depth, title)) = heading(text.trim()) else {
            continue;
        };
        let title = plain(title);
        if is_code[line] || notes.is_taken(line) || title.is_empty() {
            continue;
        }
        // Sections that end here are looked at once: none of them is around a later one.
        let mut around = sections.len().checked_sub(1);
        while let Some(above) = around.filter(|at| sections[*at].depth >= depth) {
            around = sections[above].around;
        }
        sections.push(Section {
            line,
            depth,
            title,
            around,
        });
    }
    sections
}

/// How many headings stand above a line: lines with the same number are of one section.
pub(crate) fn home_of(sections: &[Section], line: usize) -> usize {
    sections.partition_point(|section| section.line < line)
}

/// Depth of a title between signs, `==== MindIE ====`, as plain text has it: below the title of the
/// whole.
const BETWEEN_SIGNS: usize = 2;

/// Depth and title of a heading of Markdown or HTML, between signs, or of a line in bold.
pub(crate) fn heading(text: &str) -> Option<(usize, &str)> {
    let title = text.trim_start_matches('#');
    let depth = text.len() - title.len();
    if depth > 0 {
        return title.strip_prefix(' ').map(|title| (depth, title.trim()));
    }
    if let Some((tag, rest)) = text.strip_prefix("<h").and_then(|it| it.split_once('>')) {
        let depth = tag.chars().next()?.to_digit(10)?;
        let title = rest.split('<').next()?.trim();
        return (1..=6).contains(&depth).then_some((depth as usize, title));
    }
    if let Some(title) = between_signs(text) {
        return Some((BETWEEN_SIGNS, title));
    }
    let bold = text.strip_prefix("**")?.trim_end_matches([':', '：']);
    let bold = bold.strip_suffix("**")?;
    (!bold.contains("**")).then_some((BOLD, bold.trim_end_matches([':', '：'])))
}

/// The title of a line such as `==== MindIE ====`, which is not that of a benchmark's own block.
fn between_signs(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("===")?.strip_suffix("===")?;
    let title = inner.trim_matches('=');
    let is_set_apart = title.starts_with([' ', '\u{3000}']) && title.ends_with([' ', '\u{3000}']);
    let title = title.trim();
    let is_of_a_tool = title.to_lowercase().contains("benchmark") || title.contains("Result");
    (is_set_apart && !title.is_empty() && !is_of_a_tool).then_some(title)
}

/// The sections that a line lies in, the nearest first.
pub(crate) fn above(sections: &[Section], line: usize) -> Vec<&Section> {
    let chain = chain(sections, line).into_iter();
    chain.map(|at| &sections[at]).collect()
}

/// The places of the sections that a line lies in, the nearest first.
pub(crate) fn chain(sections: &[Section], line: usize) -> Vec<usize> {
    let nearest = home_of(sections, line).checked_sub(1);
    std::iter::successors(nearest, |at| sections[*at].around).collect()
}

/// The headings above a line and the sentences below each of them, the nearest first; last what
/// stands before the first heading.
pub(crate) fn words_above<'n>(
    sections: &[Section],
    notes: &'n Notes<'_>,
    line: usize,
) -> impl Iterator<Item = &'n str> {
    let end_of = |at: usize| sections.get(at + 1).map_or(notes.lines.len(), |it| it.line);
    let spans = chain(sections, line).into_iter();
    let spans = spans.map(move |at| (sections[at].line, end_of(at).min(line)));
    let begin = (0, sections.first().map_or(line, |it| it.line.min(line)));
    let lines = spans
        .chain([begin])
        .flat_map(|(first, end)| (first..end).rev());
    let is_words = |at: &usize| !notes.is_taken(*at) && notes.code.get(*at) != Some(&true);
    lines.filter(is_words).map(|at| notes.lines[at].trim())
}

/// The title of the whole: the first heading of the first level.
pub(crate) fn title(sections: &[Section]) -> Option<String> {
    let first = sections.iter().find(|section| section.depth == 1)?;
    Some(first.title.clone())
}

/// A title without the marks of Markdown: links by their text, nothing bold.
pub(crate) fn plain(title: &str) -> String {
    let mut text = String::new();
    let mut rest = title;
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before.strip_suffix('!').unwrap_or(before));
        let Some((name, behind)) = link.split_once(']') else {
            text.push('[');
            rest = link;
            continue;
        };
        text.push_str(name);
        let address = behind.strip_prefix('(').and_then(|it| it.split_once(')'));
        rest = address.map_or(behind, |(_, behind)| behind);
    }
    text.push_str(rest);
    let text = without_stars(&text.replace("**", "").replace('`', ""));
    printable(text.trim().trim_end_matches('#').trim(), 200)
}

/// Without the stars of emphasis; the one of `H20*8` counts cards.
fn without_stars(text: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let stays = |at: usize| {
        let is_factor =
            is_word(text[..at].chars().next_back()) && is_word(text[at + 1..].chars().next());
        is_factor && text.matches('*').count() == 1
    };
    let kept = text.char_indices().filter(|&(at, c)| c != '*' || stays(at));
    kept.map(|(_, c)| c).collect()
}

/// Lines of fenced text in which no result was found. A fence that never ends is none.
pub(crate) fn code(notes: &Notes<'_>) -> Vec<bool> {
    let mut is_code = vec![false; notes.lines.len()];
    let mut begin = None;
    for (line, text) in notes.lines.iter().enumerate() {
        let Some(info) = text.trim().strip_prefix("```") else {
            continue;
        };
        match begin {
            // Only the first line of a fence names a language.
            Some(first) if info.trim().is_empty() => {
                let holds_result = (first..line).any(|line| notes.is_taken(line));
                is_code[first..=line].fill(!holds_result);
                begin = None;
            }
            _ => begin = Some(line),
        }
    }
    is_code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(text: &str) -> Vec<String> {
        let notes = Notes::new(text);
        let sections = sections(&notes);
        let above = above(&sections, notes.lines.len());
        above.into_iter().map(|it| it.title.clone()).collect()
    }

    #[test]
    fn a_line_stands_under_the_headings_of_every_depth() {
        let text = "# All\n## A\n### 7B\n## B\n<h3>72B</h3>\n**long inputs:**\n";
        assert_eq!(chain(text), ["long inputs", "72B", "B", "All"]);
    }

    #[test]
    fn plain_text_has_titles_between_signs() {
        let text = "===== 一、MindIE (910B4) =====\n==== 二、vLLM ====\n";
        assert_eq!(chain(text), ["二、vLLM"]);
        assert_eq!(
            chain("==== Serving Benchmark Result ====\n========\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_comment_in_a_program_is_no_heading() {
        let text = "## A\n```python\n# draws\nx = 1\n```\n";
        assert_eq!(chain(text), ["A"]);
        let open = "## A\n```\n# never closed\n";
        assert_eq!(chain(open), ["never closed"]);
    }

    #[test]
    fn titles_have_no_marks() {
        for (marked, expected) in [
            ("**Qwen** `7B`", "Qwen 7B"),
            ("[EvalScope](https://host/a) 安装", "EvalScope 安装"),
            ("a [b", "a [b"),
            ("![](x.png) c", "c"),
            ("vLLM (H20*8)", "vLLM (H20*8)"),
        ] {
            assert_eq!(plain(marked), expected);
        }
    }
}
