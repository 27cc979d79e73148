//! Several numbers in one cell: `TTFT p50 / p99` over `38 / 61` are two columns.

use inferometer_label::Stat;
use inferometer_label::quantity::{Unit, quantity};
use inferometer_label::{Field, label};

/// Makes a column, or a row, of each number where names and cells are joined alike.
pub(super) fn take_apart(rows: &mut Vec<Vec<String>>) {
    let is_joined = |name: &String| name.contains('/');
    let mut names = rows.iter().filter_map(|row| row.first()).skip(1);
    if names.any(is_joined) {
        let apart = std::mem::take(rows).into_iter().flat_map(row_apart);
        *rows = apart.collect();
    }
    if rows.first().is_some_and(|row| row.iter().any(is_joined)) {
        let columns = turned(std::mem::take(rows)).into_iter();
        *rows = turned(columns.flat_map(row_apart).collect());
    }
}

fn turned(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut columns = vec![Vec::with_capacity(rows.len()); width];
    for row in rows {
        let mut cells = row.into_iter();
        for column in &mut columns {
            column.push(cells.next().unwrap_or_default());
        }
    }
    columns
}

/// A name with its cells as several, or as it was.
fn row_apart(row: Vec<String>) -> Vec<Vec<String>> {
    several(&row).unwrap_or_else(|| vec![row])
}

fn several(row: &[String]) -> Option<Vec<Vec<String>>> {
    let (name, cells) = row.split_first()?;
    let is_said = |cell: &&String| cell.contains(|c: char| c.is_ascii_digit());
    let count = numbers(cells.iter().find(is_said)?)?.len();
    let names = names(name, count)?;
    let mut apart: Vec<Vec<String>> = names.into_iter().map(|name| vec![name]).collect();
    for cell in cells {
        let parts = numbers(cell).filter(|parts| parts.len() == count);
        if parts.is_none() && is_said(&cell) {
            return None;
        }
        for (at, row) in apart.iter_mut().enumerate() {
            let part = parts.as_ref().map(|parts| parts[at]);
            row.push(part.unwrap_or_default().to_owned());
        }
    }
    Some(apart)
}

/// `38 / 61`.
fn numbers(cell: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = cell.split('/').map(str::trim).collect();
    let all = parts.iter().all(|part| quantity(part).is_some());
    (parts.len() >= 2 && all).then_some(parts)
}

/// The names of the parts, each with the unit of all.
fn names(name: &str, count: usize) -> Option<Vec<String>> {
    let (joined, unit) = match name.rfind(['(', '（']) {
        Some(open)
            if Unit::of_word(name[open..].trim_matches(['(', '（', ')', '）'])).is_some() =>
        {
            name.split_at(open)
        }
        _ => (name, ""),
    };
    let parts: Vec<&str> = joined.split('/').map(str::trim).collect();
    if parts.len() != count || parts.iter().any(|part| part.is_empty()) {
        return None;
    }
    let of_requests = parts.iter().any(|part| {
        let field = label(part).map(|label| label.field);
        matches!(field, Some(Field::Ok | Field::Failed))
    });
    let last = parts.last()?;
    // `mean / p99 TTFT`: the name stands behind the last.
    let behind = last
        .split_once(' ')
        .filter(|(stat, _)| Stat::of_word(stat).is_some() && Stat::of_word(parts[0]).is_some())
        .map(|(_, name)| name);
    let complete = parts.iter().enumerate().map(|(at, part)| {
        let part = match behind {
            Some(behind) if at + 1 < count => format!("{part} {behind}"),
            _ if of_requests && matches!(part.to_lowercase().as_str(), "total" | "总" | "总数") => {
                "total requests".to_owned()
            }
            _ => length(part, last).unwrap_or_else(|| (*part).to_owned()),
        };
        format!("{part} {unit}").trim().to_owned()
    });
    Some(complete.collect())
}

/// `input / output length` has its noun once, or not at all.
fn length(part: &str, last: &str) -> Option<String> {
    let ends = [("input", "output"), ("输入", "输出")];
    let lower = |text: &str| text.to_lowercase();
    ends.into_iter().find_map(|(input, output)| {
        let noun = lower(last).strip_prefix(output)?.trim().to_owned();
        let noun = if noun.is_empty() { "长度" } else { &noun };
        match lower(part) {
            part if part == input => Some(format!("{input} {noun}")),
            part if part.starts_with(output) => Some(format!("{output} {noun}")),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(text: &str) -> Vec<Vec<String>> {
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
        let mut rows = text.lines().map(cells).collect();
        take_apart(&mut rows);
        rows
    }

    #[test]
    fn joined_cells_become_columns_with_names_of_their_own() {
        let rows =
            apart("c | TTFT p50 / p99 (ms) | 输入/输出\n8 | 38 / 61 | 1024/128\n16 | - | 512/64");
        assert_eq!(
            rows[0],
            ["c", "TTFT p50 (ms)", "p99 (ms)", "输入 长度", "输出 长度"]
        );
        assert_eq!(rows[1], ["8", "38", "61", "1024", "128"]);
        assert_eq!(rows[2], ["16", "", "", "512", "64"]);
        let rows = apart("c | mean/p99 TTFT(ms)\n8 | 1/2");
        assert_eq!(rows[0], ["c", "mean TTFT (ms)", "p99 TTFT (ms)"]);
    }

    #[test]
    fn joined_cells_become_rows_where_names_stand_on_the_left() {
        let rows = apart("Key | Value\nTotal / Success / Failed | 9 / 7 / 2");
        assert_eq!(rows[1], ["total requests", "9"]);
        assert_eq!(rows[3], ["Failed", "2"]);
    }

    #[test]
    fn rates_and_cells_that_are_joined_otherwise_stay_whole() {
        for text in [
            "c | tok/s\n8 | 5",
            "c | a / b / c\n8 | 1 / 2",
            "c | a / b\n8 | 1 / 2\n9 | 3",
        ] {
            let rows = apart(text);
            assert_eq!(rows[0].len(), 2, "{text}");
        }
    }
}
