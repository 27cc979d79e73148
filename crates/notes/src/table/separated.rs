//! Values separated by commas, tabs or semicolons: what tools write, and what is pasted from a
//! spreadsheet.

use super::text_table::{BARS, TextTable};
use crate::notes::Notes;
use inferometer_label::Stat;
use inferometer_label::quantity::quantity;
use inferometer_label::{Field, label};

/// Names of metrics that make lines a table of results.
const LEAST_NAMES: usize = 2;
const ROWS_LOOKED_AT: usize = 40;
/// Rows without such a name after which no further one is looked for.
const ROWS_IN_VAIN: usize = 4;

pub(super) fn table(notes: &Notes<'_>, first: usize) -> Option<TextTable> {
    let line = |at: usize| notes.lines[at].trim_start_matches('\u{feff}');
    let mut separators = ['\t', ',', ';'].into_iter();
    separators.find_map(|separator| {
        let header = line(first);
        if !header.contains(separator) || header.contains(BARS) {
            return None;
        }
        let exported = separator == ',' && is_export(header);
        let header = cells(header, separator);
        let belongs = |at: &usize| {
            let text = line(*at);
            !notes.is_taken(*at)
                && text.contains(separator)
                && (exported || cells(text, separator).len() == header.len())
        };
        let rows = |most: usize| {
            let lines = (first + 1..notes.lines.len()).take_while(belongs);
            lines.take(most).map(|at| cells(line(at), separator))
        };
        if !exported && !is_of_results(&header, rows) {
            return None;
        }
        let mut all = vec![header.clone()];
        all.extend(rows(usize::MAX));
        let last = first + all.len() - 1;
        let rows = without_index(all);
        (rows.len() >= 2).then_some(TextTable { first, last, rows })
    })
}

/// Begin of a file that MindIE's, AIPerf's or GenAI-Perf's tool writes.
fn is_export(text: &str) -> bool {
    let text = text.trim_start_matches(',').replace('"', "").to_lowercase();
    let begins = "metric,average|metric,avg|metric,value|common metric,value";
    begins.split('|').any(|begin| text.starts_with(begin))
}

/// Numbers with names of metrics above them or to their left. `rows` gives at most that many of them.
fn is_of_results<R: Iterator<Item = Vec<String>>>(
    header: &[String],
    rows: impl Fn(usize) -> R,
) -> bool {
    // `99%` is a statistic above its numbers.
    let is_number = |cell: &&String| {
        Stat::of_word(cell).is_none() && quantity(&cell.replace(',', ".")).is_some()
    };
    let numbers = |cells: &[String]| cells.iter().filter(is_number).count();
    let Some(first) = rows(1).next() else {
        return false;
    };
    if 2 * numbers(&first) < first.len() {
        return false;
    }
    // `Mean TTFT: 1,234` is a name with its number.
    let named = |name: &str| {
        !name.contains([':', '：', '='])
            && label(name).is_some_and(|label| label.field != Field::Other)
    };
    if numbers(header) == 0 && header.iter().filter(|name| named(name)).count() >= LEAST_NAMES {
        return true;
    }
    let named_in = |most: usize| {
        let left = rows(most).filter(|row| row.first().is_some_and(|name| named(name)));
        left.count()
    };
    named_in(ROWS_IN_VAIN) > 0 && named_in(ROWS_LOOKED_AT) >= LEAST_NAMES
}

/// Cells of a line; a separator in quotes is part of a cell.
pub fn cells(text: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // A quote inside a quoted cell is written twice.
            '"' if quoted && chars.next_if_eq(&'"').is_some() => {
                cells.last_mut().expect("it begins with one cell").push('"');
            }
            '"' => quoted = !quoted,
            c if c == separator && !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("it begins with one cell").push(c),
        }
    }
    for cell in &mut cells {
        *cell = cell.trim().to_owned();
    }
    cells
}

/// Without a column that has no name and counts the rows from 0.
fn without_index(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let counts = |(at, row): (usize, &Vec<String>)| match (at, row.first()) {
        (0, Some(corner)) => corner.is_empty(),
        (at, Some(cell)) => *cell == (at - 1).to_string(),
        (_, None) => false,
    };
    if rows.iter().enumerate().all(counts) {
        for row in &mut rows {
            row.remove(0);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Option<Vec<Vec<String>>> {
        table(&Notes::new(text), 0).map(|table| table.rows)
    }

    #[test]
    fn separators_of_all_kinds_give_the_same_cells() {
        let expected = vec![vec!["并发", "QPS", "TTFT(s)"], vec!["8", "1.5", "0.25"]];
        for text in [
            "并发,QPS,TTFT(s)\n8,1.5,0.25",
            "并发\tQPS\tTTFT(s)\n8\t1.5\t0.25\n\n尾注\t1",
            "并发;QPS;TTFT(s)\n8;1.5;0.25",
            ",并发,QPS,TTFT(s)\n0,8,1.5,0.25",
        ] {
            assert_eq!(rows(text).unwrap(), expected, "{text}");
        }
        let quoted = rows("Metric,avg\nLatency,\"1,234.5\"\n").unwrap();
        assert_eq!(quoted[1], ["Latency", "1,234.5"]);
        let ranked = rows("Name,Average Response Time (ms),50%,99%\nx,3,2,9").unwrap();
        assert_eq!(ranked[1], ["x", "3", "2", "9"]);
        let turned = rows("metric,c=1,c=8\nQPS,1,6\nTTFT(ms),20,90").unwrap();
        assert_eq!(turned.len(), 3);
    }

    #[test]
    fn prose_and_lists_of_other_things_are_no_tables() {
        for text in [
            "throughput, latency, and cost matter\nas we saw, in May, again",
            "id,name,age\n1,2,3\n4,5,6",
            "request,1,2\nr1,3,4\nr2,5,6",
            "Mean TTFT (ms): 1,234.5\nMedian TTFT (ms): 1,100.1\nP99 TTFT (ms): 1,900.0",
        ] {
            assert_eq!(rows(text), None, "{text}");
        }
    }
}
