//! Simple HTML tables, as wikis and Markdown with merged cells have them.

use super::header;
use super::text_table::TextTable;
use crate::notes::Notes;

/// A cell over more columns or rows than these is no cell of results.
const LARGEST_SPAN: usize = 64;
/// Cells of one table that are read.
const MOST_CELLS: usize = 100_000;

/// All tables between `<table>` and `</table>` in lines that nobody has read.
pub(super) fn tables(notes: &Notes<'_>) -> Vec<TextTable> {
    let mut tables = Vec::new();
    let mut begin: Option<(usize, String)> = None;
    for (at, line) in notes.lines.iter().enumerate() {
        if notes.is_taken(at) {
            begin = None;
            continue;
        }
        let mut rest = *line;
        while !rest.is_empty() {
            let mark = if begin.is_some() { "</table" } else { "<table" };
            let found = find(rest, mark);
            let (before, behind) = rest.split_at(found.unwrap_or(rest.len()));
            if let Some((_, text)) = &mut begin {
                text.push_str(before);
                text.push('\n');
            }
            if found.is_none() {
                break;
            }
            rest = &behind[mark.len()..];
            begin = match begin.take() {
                Some((first, text)) => {
                    let rows = rows(&text);
                    if rows.len() >= 2 {
                        let last = at;
                        tables.push(TextTable { first, last, rows });
                    }
                    None
                }
                None => Some((at, String::new())),
            };
        }
    }
    tables
}

fn find(text: &str, mark: &str) -> Option<usize> {
    let mut tags = text.match_indices('<').map(|(at, _)| at);
    tags.find(|at| {
        let tag = text.as_bytes()[*at..].get(..mark.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(mark.as_bytes()))
    })
}

fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut head = 0;
    // Cells that reach into the rows below: column, rows left, content.
    let mut reaching: Vec<(usize, usize, String)> = Vec::new();
    let mut cells = 0;
    for piece in text.split('<').skip(1) {
        let (tag, content) = piece.split_once('>').unwrap_or((piece, ""));
        let tag = tag.to_ascii_lowercase();
        let name = tag.split([' ', '\t', '\n', '/']).next().unwrap_or_default();
        match name {
            "tr" => {
                rows.push(Vec::new());
                put_reaching(&mut rows, &mut reaching);
            }
            "td" | "th" if cells < MOST_CELLS => {
                let Some(row) = rows.last_mut() else { continue };
                let column = row.len();
                row.push(content.to_owned());
                row.extend((1..span(&tag, "colspan")).map(|_| String::new()));
                cells += row.len() - column;
                let below = span(&tag, "rowspan") - 1;
                if below > 0 && reaching.len() < LARGEST_SPAN {
                    reaching.push((column, below, content.to_owned()));
                }
                if name == "th" {
                    head = head.max(rows.len());
                }
                put_reaching(&mut rows, &mut reaching);
            }
            // The text behind a tag inside a cell, or behind its end.
            _ => {
                if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) {
                    cell.push(' ');
                    cell.push_str(content);
                }
            }
        }
    }
    for cell in rows.iter_mut().flatten() {
        *cell = plain(cell);
    }
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    let is_head = |row: &&Vec<String>| {
        let number = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit());
        !row.iter().any(number)
    };
    let head = rows.iter().take(head).take_while(is_head).count();
    header::merged(rows, head.max(1))
}

/// Repeats cells from above where the last row has come to their column.
fn put_reaching(rows: &mut [Vec<String>], reaching: &mut Vec<(usize, usize, String)>) {
    let Some(row) = rows.last_mut() else { return };
    while let Some(at) = reaching
        .iter()
        .position(|(column, left, _)| *column == row.len() && *left > 0)
    {
        row.push(reaching[at].2.clone());
        reaching[at].1 -= 1;
        if reaching[at].1 == 0 {
            reaching.swap_remove(at);
        }
    }
}

fn span(tag: &str, name: &str) -> usize {
    let value = tag.split_once(name).map(|(_, rest)| rest);
    let digits = value.map(|value| {
        let value = value.trim_start_matches([' ', '=', '"', '\'']);
        let end = value.bytes().take_while(u8::is_ascii_digit).count();
        &value[..end]
    });
    let count = digits.and_then(|digits| digits.parse().ok());
    count.unwrap_or(1).clamp(1, LARGEST_SPAN)
}

/// Text with the signs that HTML writes as names, on one line.
fn plain(text: &str) -> String {
    let named = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    let mut text = text.to_owned();
    for (name, sign) in named {
        text = text.replace(name, sign);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_whatever_stands_inside_them() {
        let text = "<p>x</p><TABLE border=1><tr><th>并发</th><th>QPS</th></tr>\n<tr><td><b>8</b></td>\n<td>&nbsp;1.5</td></tr></TABLE> y";
        let found = tables(&Notes::new(text));
        assert_eq!((found[0].first, found[0].last), (0, 2));
        assert_eq!(found[0].rows, [vec!["并发", "QPS"], vec!["8", "1.5"]]);
    }

    #[test]
    fn a_cell_over_several_rows_or_columns_is_in_all_of_them() {
        let text = "<table><tr><th rowspan=2>c</th><th colspan=\"2\">TTFT (ms)</th></tr><tr><th>mean</th><th>P99</th></tr>\
                    <tr><td rowspan=2>8</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>";
        let found = tables(&Notes::new(text));
        assert_eq!(
            found[0].rows,
            [
                vec!["c", "TTFT (ms) mean", "TTFT (ms) P99"],
                vec!["8", "1", "2"],
                vec!["8", "3", "4"]
            ]
        );
    }

    #[test]
    fn what_is_never_closed_is_no_table() {
        assert!(tables(&Notes::new("<table><tr><td>1\n<table><tr>")).is_empty());
    }
}
