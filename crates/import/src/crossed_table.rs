//! Tables with a length or a load along both edges, and one metric in all cells: `输入\输出` in the
//! corner, and what was measured in the line above.

use crate::assumption::Assumption;
use crate::builder::ResultBuilder;
use crate::failure_words::{is_failure, is_out_of_memory};
use crate::label::{Field, Label, label};
use crate::load_table::assumed;
use crate::notes::Notes;
use crate::quantity::{count, leading_number, number, quantity};
use crate::result::{ImportedResult, Tool};
use crate::table::TextTable;
use crate::time_unit;
use inferometer_text::hostile::printable;

/// What the two names in a corner may stand between.
const BETWEEN: [&str; 7] = ["\\", "＼", "/", "／", "×", " x ", " vs "];
/// Lines above a table that may name what is in it.
const LARGEST_GAP: usize = 4;
/// Fewest values along an edge.
const LEAST: usize = 2;

/// Names of lengths and loads, as words that a name contains.
const AXES: [(&str, &str); 4] = [
    ("input", "input|prompt|isl|chunk|输入|文本块"),
    ("output", "output|generat|osl|completion|decode|输出|生成"),
    ("concurrency", "concurrency|parallel|users|streams|并发"),
    ("rate", "request rate|request-rate|请求速率|到达率"),
];

/// The results of a table, a cell each; `None` if it is of another form.
pub(crate) fn read(table: &TextTable, notes: &mut Notes<'_>) -> Option<Vec<ImportedResult>> {
    let (header, rows) = table.rows.split_first()?;
    let corner = header.first()?.as_str();
    let (down, across) = edges(corner)?;
    let columns = values(header.iter().skip(1))?;
    let levels = values(rows.iter().filter_map(|row| row.first()))?;
    if levels.len() != rows.len() {
        return None;
    }
    let Some((name, metric)) = metric_above(table.first, notes) else {
        // It is of loads or lengths, and nobody knows what its cells are: it is named as unread.
        notes.unknown.push((table.first, table.last));
        return None;
    };
    let cells = rows.iter().flat_map(|row| row.iter().skip(1));
    let all = [(name.as_str(), cells.map(String::as_str).collect())];
    let units = time_unit::units(&all, &vec![None; all[0].1.len()]);
    let mut assumed = assumed(&all, &units);
    assumed.push(Assumption::RowsByColumns {
        name: printable(corner, 80),
    });
    let mut found = Vec::new();
    for (row, level) in rows.iter().zip(&levels) {
        for (cell, column) in row.iter().skip(1).zip(&columns) {
            let mut builder = ResultBuilder::default();
            for (axis, value) in [(&down, *level), (&across, *column)] {
                builder.point.insert(axis.clone(), number(value));
                if axis == "concurrency" {
                    builder.summary.concurrency.configured = count(value);
                }
            }
            let error = (is_out_of_memory(cell) || is_failure(cell)).then_some(cell);
            match (error, quantity(cell)) {
                (None, Some(mut value)) => {
                    value.unit = value.unit.or(units[0]);
                    builder.set(&name, metric, value);
                    builder.assumed.clone_from(&assumed);
                }
                (None, None) => continue,
                (Some(_), _) => {}
            }
            let mut result = builder.finish(Tool::MarkdownTable, (table.first, table.last));
            if let Some(error) = error {
                result.error = Some(printable(error, 80));
                result.summary = None;
            }
            found.push(result);
        }
    }
    let is_measured = found.iter().any(|result| result.summary.is_some());
    is_measured.then(|| {
        notes.take((table.first, table.last));
        found
    })
}

/// The axes that a corner names, of the rows and of the columns.
fn edges(corner: &str) -> Option<(String, String)> {
    let mut pairs = BETWEEN.iter().filter_map(|sign| corner.split_once(sign));
    let (down, across) = pairs.find_map(|(down, across)| Some((axis(down)?, axis(across)?)))?;
    (down != across).then_some((down, across))
}

/// The axis that a name stands for; lengths are in tokens unless it says characters.
fn axis(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    let mut known = AXES.iter();
    let (axis, _) = known.find(|(_, words)| words.split('|').any(|word| name.contains(word)))?;
    let in_chars = name.contains(['字', '符']) || name.contains("char") || name.contains("chunk");
    let axis = match (*axis, in_chars) {
        ("input", true) => "input_chars",
        ("output", true) => "ask_chars",
        ("input", false) => "input_tokens",
        ("output", false) => "output_tokens",
        (load, _) => load,
    };
    Some(axis.to_owned())
}

/// Numbers along an edge, each another one.
fn values<'a>(cells: impl Iterator<Item = &'a String>) -> Option<Vec<f64>> {
    let value = |cell: &String| {
        let (value, _, rest) = leading_number(cell.trim())?;
        let rest = rest.trim().to_lowercase();
        let units = [
            "", "tokens", "token", "tok", "字", "字符", "chars", "路", "并发",
        ];
        units.contains(&rest.as_str()).then_some(value)
    };
    let values: Vec<f64> = cells.map(value).collect::<Option<_>>()?;
    let mut distinct = values.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    (distinct.len() == values.len() && values.len() >= LEAST).then_some(values)
}

/// What the cells are, by the nearest line above that says it: `输出 tokens/s，行为输入长度`.
fn metric_above(first: usize, notes: &Notes<'_>) -> Option<(String, Label)> {
    let above = (first.saturating_sub(LARGEST_GAP)..first).rev();
    let mut said = above.filter(|at| !notes.is_taken(*at)).flat_map(|at| {
        let text = notes.bare(at).trim_start_matches('#');
        text.split([',', '，', ';', '；', ':', '：', '。', '|'])
    });
    said.find_map(|piece| {
        let name = piece.trim();
        let label = label(name).or_else(|| of_characters(name));
        let label = label.filter(|label| is_of_cells(label.field))?;
        Some((name.to_owned(), label))
    })
}

/// Characters a second above a whole table are those of the answers.
fn of_characters(name: &str) -> Option<Label> {
    let bare = name.split(['(', '（']).next()?.trim().to_lowercase();
    let names = [
        "chars/s",
        "char/s",
        "characters/s",
        "字/s",
        "字符/s",
        "字/秒",
        "字符/秒",
    ];
    let is_known = names.contains(&bare.as_str());
    is_known.then(|| label("output chars/s")).flatten()
}

/// Whether a metric says all of a cell alone.
fn is_of_cells(field: Field) -> bool {
    field.is_result() && !matches!(field, Field::Bare(_) | Field::Other)
}
