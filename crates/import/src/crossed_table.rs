//! Tables with a length or a load along both edges, and one metric in all cells: `输入\输出` in the
//! corner, and what was measured in the line above.

use crate::assumption::Assumption;
use crate::builder::ResultBuilder;
use crate::failure_words::{is_failure, is_out_of_memory};
use crate::label::{Field, Label, label};
use crate::load_table::assumed;
use crate::quantity::{Unit, count, leading_number, number, quantity};
use crate::result::{ImportedResult, Tool};
use crate::section;
use crate::stated_requests::{Stated, of_every_cell};
use crate::time_unit;
use inferometer_notes::Notes;
use inferometer_notes::TextTable;
use inferometer_text::hostile::printable;
use std::collections::BTreeSet;

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

/// Tables of one study below each other, `tok/s（并发 32）` and `QPS（并发 32）`: what each has of a cell
/// is of one result.
pub(crate) struct Crossed {
    edges: (String, String),
    corner: String,
    levels: Vec<f64>,
    columns: Vec<f64>,
    grids: Vec<Grid>,
}

/// The cells of one metric.
struct Grid {
    /// First and last line of the table.
    lines: (usize, usize),
    caption: Caption,
    rows: Vec<Vec<String>>,
    unit: Option<Unit>,
    assumed: Vec<Assumption>,
}

/// The line above that says what the cells are.
struct Caption {
    line: usize,
    /// The metric as it is written there.
    name: String,
    label: Label,
    /// What it says beside the metric: `生成 1000 字`.
    beside: String,
    /// How many requests it says each cell is of.
    requests: Option<Stated>,
}

impl Crossed {
    /// The first of such tables; `None` if it is of another form.
    pub(crate) fn begin(table: &TextTable, notes: &mut Notes<'_>) -> Option<Crossed> {
        let (header, rows) = table.rows.split_first()?;
        let corner = header.first()?.as_str();
        let edges = edges(corner)?;
        let columns = values(header.iter().skip(1))?;
        let levels = values(rows.iter().filter_map(|row| row.first()))?;
        if levels.len() != rows.len() {
            return None;
        }
        let Some(caption) = caption_above(table.first, notes) else {
            // It is of loads or lengths, and nobody knows what its cells are: it is named as unread.
            notes.unknown.push((table.first, table.last));
            return None;
        };
        let cells = |row: &Vec<String>| row.iter().skip(1).cloned().collect();
        let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
        let flat = rows.iter().flatten().map(String::as_str).collect();
        let all = [(caption.name.as_str(), flat)];
        let units = time_unit::units(&all, &vec![None; all[0].1.len()]);
        let assumed = assumed(&all, &units);
        let is_measured = rows.iter().flatten().any(|cell| quantity(cell).is_some());
        is_measured.then(|| Crossed {
            edges,
            corner: printable(corner, 80),
            levels,
            columns,
            grids: vec![Grid {
                lines: (table.first, table.last),
                caption,
                rows,
                unit: units[0],
                assumed,
            }],
        })
    }

    /// Takes a table in that has another metric of the same cells.
    pub(crate) fn take(&mut self, table: &TextTable, notes: &mut Notes<'_>) -> bool {
        let unknown = notes.unknown.len();
        let Some(mut other) = Crossed::begin(table, notes) else {
            notes.unknown.truncate(unknown);
            return false;
        };
        let (Some(next), Some(last)) = (other.grids.pop(), self.grids.last()) else {
            return false;
        };
        let own = &next.caption;
        let known = || self.grids.iter().map(|grid| &grid.caption);
        let is_other_metric = known().all(|it| it.label.field != own.label.field);
        let is_named_alike =
            known().all(|it| it.beside == own.beside && marks(&it.name) == marks(&own.name));
        let mut between = last.lines.1 + 1..next.lines.0;
        let is_same_section = between
            .all(|line| line == own.line || section::heading(notes.lines[line].trim()).is_none());
        let is_same = (&self.edges, &self.levels, &self.columns)
            == (&other.edges, &other.levels, &other.columns);
        let is_taken = is_same && is_other_metric && is_named_alike && is_same_section;
        if is_taken {
            self.grids.push(next);
        }
        is_taken
    }

    /// A result for each cell; none where no table has a figure of speed.
    pub(crate) fn finish(self, notes: &mut Notes<'_>) -> Vec<ImportedResult> {
        let lines = self.grids.iter().map(|grid| grid.lines);
        let is_speed = |grid: &Grid| is_of_cells(grid.caption.label.field);
        if !self.grids.iter().any(is_speed) {
            notes.unknown.extend(lines);
            return Vec::new();
        }
        lines.for_each(|lines| notes.take(lines));
        if self.grids.len() > 1 {
            for Caption { line, beside, .. } in self.grids.iter().map(|grid| &grid.caption) {
                notes.take((*line, *line));
                notes.captions.insert(*line, beside.clone());
            }
        }
        let mut found = Vec::new();
        for (row, level) in self.levels.iter().enumerate() {
            for (at, column) in self.columns.iter().enumerate() {
                found.extend(self.cell((row, *level), (at, *column)));
            }
        }
        found
    }

    fn cell(
        &self,
        (row, level): (usize, f64),
        (at, column): (usize, f64),
    ) -> Option<ImportedResult> {
        let mut builder = ResultBuilder::default();
        for (axis, value) in [(&self.edges.0, level), (&self.edges.1, column)] {
            builder.point.insert(axis.clone(), number(value));
            if axis == "concurrency" {
                builder.summary.concurrency.configured = count(value);
            }
        }
        let cells = self.grids.iter();
        let cells = cells.filter_map(|grid| Some((grid, grid.rows.get(row)?.get(at)?)));
        let mut error = None;
        for (grid, cell) in cells {
            if is_out_of_memory(cell) || is_failure(cell) {
                error.get_or_insert(cell);
            } else if let Some(mut value) = quantity(cell) {
                value.unit = value.unit.or(grid.unit);
                builder.set(&grid.caption.name, grid.caption.label, value);
                builder.assumed.extend(grid.assumed.iter().cloned());
            }
        }
        if error.is_none() && builder.results() == 0 {
            return None;
        }
        let mut requests = self.grids.iter().filter_map(|grid| grid.caption.requests);
        let streams = builder.summary.concurrency.configured;
        let planned = requests
            .next()
            .and_then(|stated| stated.of_streams(streams));
        builder.summary.requests.planned = builder.summary.requests.planned.or(planned);
        let name = self.corner.clone();
        builder.assumed.push(Assumption::RowsByColumns { name });
        let (first, last) = (self.grids.first()?.lines.0, self.grids.last()?.lines.1);
        let mut result = builder.finish(Tool::MarkdownTable, (first, last));
        if let Some(error) = error {
            result.error = Some(printable(error, 80));
            result.summary = None;
            result.assumed.clear();
        }
        derive_output_mean(&mut result);
        Some(result)
    }
}

/// Tokens of an answer, where one table has those of a second and another the answers.
fn derive_output_mean(found: &mut ImportedResult) {
    let Some(summary) = &mut found.summary else {
        return;
    };
    let rates = summary.throughput;
    let pair = rates.output_tokens_per_s.zip(rates.requests_per_s);
    let mean = pair
        .filter(|(_, per_s)| *per_s > 0.0)
        .map(|(tokens, per_s)| tokens / per_s);
    if let (None, Some(mean)) = (summary.tokens.output_mean, mean) {
        summary.tokens.output_mean = Some(mean);
        found.derived.push("tokens.output_mean".into());
    }
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
fn caption_above(first: usize, notes: &Notes<'_>) -> Option<Caption> {
    let above = (first.saturating_sub(LARGEST_GAP)..first).rev();
    let mut lines = above.filter(|line| !notes.is_taken(*line));
    lines.find_map(|line| {
        let text = notes.bare(line).trim_start_matches('#');
        let mut pieces = text.split([',', '，', ';', '；', ':', '：', '。', '|']);
        pieces.find_map(|piece| {
            let name = piece.trim();
            let bare = name.split(['(', '（']).next().unwrap_or(name);
            let is_told = |label: &Label| is_of_cells(label.field) || is_share(label.field);
            // What stands in brackets may be of a load: `chars/s（并发 32）`.
            let mut labels = [label(name), label(bare), of_characters(name)].into_iter();
            let label = labels.find_map(|label| label.filter(is_told))?;
            Some(Caption {
                line,
                name: name.to_owned(),
                label,
                requests: of_every_cell(text),
                beside: beside(&section::plain(&text.replacen(bare, "", 1))),
            })
        })
    })
}

/// What a caption says beside its metric that tells its table from others: not that it is one, nor
/// its unit, nor how many requests each cell is of.
fn beside(text: &str) -> String {
    let (mut kept, mut inside) = (String::new(), None::<String>);
    for sign in text.chars() {
        match (sign, &mut inside) {
            ('(' | '（', None) => inside = Some(String::new()),
            (')' | '）', Some(said)) => {
                let mut words = PER_CELL.iter();
                let is_of_cells = words.any(|word| said.to_lowercase().contains(word));
                if !is_of_cells && Unit::of_word(said).is_none() {
                    kept.push_str(&format!("（{said}）"));
                }
                inside = None;
            }
            (sign, Some(said)) => said.push(sign),
            (sign, None) => kept.push(sign),
        }
    }
    kept.extend(inside);
    let kept = kept.trim_matches(|c: char| !c.is_alphanumeric());
    let mut names = ["表", "Table", "table"].iter();
    let bare = names
        .find_map(|name| kept.strip_prefix(name))
        .unwrap_or(kept);
    let bare = bare.trim_start_matches(|c: char| c.is_ascii_digit() || !c.is_alphanumeric());
    bare.to_owned()
}

/// Words about the requests of a cell.
const PER_CELL: [&str; 6] = ["每格", "每档", "每点", "requests", "条", "prompts"];

/// Whether a metric tells what became of requests: beside others it says which of them count.
fn is_share(field: Field) -> bool {
    use Field::*;
    matches!(
        field,
        Failed | Rejected | TimedOut | FailedShare | OkShare | Attainment
    )
}

/// Words of a metric's name that tell whose it is, `v1` and `A`: no percentile, and not `E2E`.
fn marks(name: &str) -> BTreeSet<String> {
    let outside = name.split(['(', '（']).next().unwrap_or(name);
    let words = outside.split(|c: char| !c.is_ascii_alphanumeric());
    let is_of_metric = |word: &str| {
        let word = word.to_lowercase();
        let rank = word.strip_prefix('p');
        ["e2e", "e2el", "end2end"].contains(&word.as_str())
            || rank.is_some_and(|digits| digits.parse::<f64>().is_ok())
    };
    let is_mark = |word: &&str| {
        let has_digit = word.contains(|c: char| c.is_ascii_digit());
        let is_letter = word.len() == 1 && word.chars().all(char::is_uppercase);
        (has_digit && !is_of_metric(word)) || is_letter
    };
    words.filter(is_mark).map(str::to_owned).collect()
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
