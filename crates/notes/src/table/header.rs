//! Headers of several lines as one.

use inferometer_label::Stat;
use inferometer_label::quantity::Unit;

/// The rows with the first `height` of them as one, and with them the rows below that hold
/// nothing but statistics and units.
pub(super) fn merged(mut rows: Vec<Vec<String>>, mut height: usize) -> Vec<Vec<String>> {
    while height + 1 < rows.len() && is_below_header(&rows[height]) {
        height += 1;
    }
    if height < 2 {
        return rows;
    }
    let body = rows.split_off(height);
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let names = (0..width).map(|column| name(&rows, column));
    let mut merged = vec![names.collect()];
    merged.extend(body);
    merged
}

fn is_statistic(cell: &str) -> bool {
    Stat::of_word(cell).is_some() && !cell.starts_with(|c: char| c.is_ascii_digit())
}

fn is_below_header(row: &[String]) -> bool {
    let said = || row.iter().filter(|cell| !cell.is_empty());
    said().count() >= 2 && said().all(|cell| is_statistic(cell) || Unit::of_word(cell).is_some())
}

/// The name of a column from top to bottom, units in brackets. A statistic below an empty cell
/// is of what stands to the left, where a name is written over several columns.
fn name(lines: &[Vec<String>], column: usize) -> String {
    let cell = |line: &Vec<String>, at: usize| line.get(at).cloned().unwrap_or_default();
    let bottom = lines.last().map(|line| cell(line, column));
    let shares = bottom.is_some_and(|bottom| is_statistic(&bottom));
    let mut name = String::new();
    for line in lines {
        let mut text = cell(line, column);
        if text.is_empty() && shares {
            let left = (0..column).rev().map(|at| cell(line, at));
            text = left
                .into_iter()
                .find(|cell| !cell.is_empty())
                .unwrap_or_default();
        }
        // A cell over several lines is one.
        if text.is_empty() || text == name {
            continue;
        }
        match Unit::of_word(&text) {
            _ if name.is_empty() => name = text,
            Some(_) => name.push_str(&format!(" ({text})")),
            None => name.push_str(&format!(" {text}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
        text.lines().map(cells).collect()
    }

    #[test]
    fn a_name_over_two_columns_is_of_both_and_a_unit_below_it_too() {
        let text = "Kind | Latency | | TTFT |\nof | Sec | | ms |\n | Mdn | p95 | Mdn | p95\na | 1 | 2 | 3 | 4";
        assert_eq!(
            merged(rows(text), 3)[0],
            [
                "Kind of",
                "Latency (Sec) Mdn",
                "Latency (Sec) p95",
                "TTFT (ms) Mdn",
                "TTFT (ms) p95"
            ]
        );
    }

    #[test]
    fn a_first_row_of_statistics_belongs_to_the_header() {
        let text = "并发 | TTFT(ms) | | QPS\n | 平均 | P99 |\n8 | 1 | 2 | 3";
        let merged = merged(rows(text), 1);
        assert_eq!(merged[0], ["并发", "TTFT(ms) 平均", "TTFT(ms) P99", "QPS"]);
        assert_eq!(merged.len(), 2);
    }
}
