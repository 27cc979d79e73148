//! Tables that people keep: one column, or one row, for each concurrency.

use crate::assumption::{Assumption, TimeUnit};
use crate::block;
use crate::builder::ResultBuilder;
use crate::column_labels::{column_labels, is_total};
use crate::context::says_again;
use crate::doubt::ToldFailures;
use crate::doubt_words::{DoubtSaid, doubt_said, is_warm};
use crate::failure_words::{failed_share, is_out_of_memory, is_void};
use crate::label::{Field, Label, Sample, is_change, label};
use crate::quantity::{Quantity, Unit, count, leading_number, number, quantity, rate};
use crate::result::{ImportedResult, Tool};
use crate::settings::Column;
use crate::time_unit::{self, Columns};
use crate::told_failures::{tells_a_failure, told_count};
use crate::unread::UnreadReason;
use inferometer_notes::Notes;
use inferometer_notes::TextTable;
use inferometer_text::hostile::printable;
use std::cell::LazyCell;

/// Lines under a table that may say more about all its columns.
const LARGEST_FOOT: usize = 6;
/// Parts of a name that a row gives in words.
const MOST_NAMES: usize = 4;

/// One column for each metric: what the first cells name, and the numbers of each result.
struct Grid<'a> {
    /// Names of results: concurrencies, or whatever the header says.
    heads: Vec<&'a str>,
    /// Name of a metric and its cell for each result.
    metrics: Vec<(&'a str, Vec<&'a str>)>,
    /// What the header calls the names of results.
    corner: &'a str,
    counts: Heads<'a>,
}

enum Heads<'a> {
    Streams,
    Named(&'a str),
    /// A setting that is not known, beside a load that is.
    Setting(&'a str),
    /// One of the server.
    Flag(Column),
    /// Running numbers, which say nothing.
    Numbering,
}

/// The results of a table; empty if it has none.
pub(crate) fn read(table: &TextTable, notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let Some(grid) = grid(table) else {
        return Vec::new();
    };
    let loads = grid.loads();
    let units = time_unit::units(&grid.metrics, &loads);
    let names = grid.metrics.iter().map(|(name, _)| *name);
    let meant = column_labels(&names.chain(grid.counts.name()).collect::<Vec<_>>());
    let mut builders = vec![ResultBuilder::default(); grid.heads.len()];
    let mut names: Vec<Vec<String>> = vec![Vec::new(); builders.len()];
    for ((builder, head), names) in builders.iter_mut().zip(&grid.heads).zip(&mut names) {
        grid.counts.set(builder, head, names);
    }
    let counts = grid.counts_of_requests(&meant.labels);
    let has_lengths = grid.has_several_prompts(&meant.labels);
    let mut answers = None;
    for (((name, cells), unit), known) in grid.metrics.iter().zip(&units).zip(meant.labels) {
        let known = known.map(|label| of_one_request(name, label, cells, counts));
        let known = known.map(|label| match label.field {
            Field::OutputSize if !has_lengths && are_means(cells) => {
                let name = printable(name, 80);
                answers = Some(Assumption::LengthOfAnswers { name });
                let field = Field::Of(Sample::OutputLength, None);
                Label { field, ..label }
            }
            _ => label,
        });
        if let Some(setting) = Column::named(name) {
            for (builder, cell) in builders.iter_mut().zip(cells) {
                match setting.value(cell) {
                    Some((name, value)) => drop(builder.flags.insert(name, value)),
                    None if is_blank(cell) => {}
                    None => builder.skip(name, UnreadReason::NotANumber),
                }
            }
            continue;
        }
        // A table may have tens of thousands of cells, and a name is read slowly.
        let is_change = LazyCell::new(|| is_change(name));
        for ((builder, cell), names) in builders.iter_mut().zip(cells).zip(&mut names) {
            let number = match known.map(|label| label.field) {
                Some(Field::Rate) => rate(cell),
                _ => quantity(cell),
            };
            match (known, number) {
                // `4k` tokens may be 4000 or 4096: it tells rows apart.
                (Some(label), Some(_)) if label.field.is_length() && cell.contains(['k', 'K']) => {
                    names.push(printable(&format!("{name} {cell}"), 80));
                }
                (Some(label), Some(mut quantity)) => {
                    if label.field == Field::Cards && cells.iter().any(|other| other != cell) {
                        names.push(printable(&format!("{name} {cell}"), 80));
                    }
                    quantity.unit = quantity.unit.or(*unit);
                    builder.set(name, label, quantity);
                }
                (None, Some(quantity)) if is_of_schedule(name) => {
                    let name = printable(name, 80);
                    builder
                        .summary
                        .other
                        .insert(name, crate::quantity::number(quantity.value));
                }
                (None, Some(_)) => builder.skip(name, UnreadReason::of_unknown(name)),
                // A percentile below a blank cell is still of this row's sample.
                (Some(label), None) => {
                    if let Field::Of(sample, _) = label.field {
                        builder.about = Some(sample);
                    }
                    if cell.contains(|c: char| c.is_ascii_digit()) {
                        builder.skip(name, UnreadReason::NotANumber);
                    }
                }
                (None, None) if !is_blank(cell) && *is_change => {
                    builder.skip(name, UnreadReason::Change);
                }
                (None, None) if let Some(failed) = told_count(cell) => {
                    builder.summary.requests.failed.get_or_insert(failed);
                }
                (None, None) if let Some(share) = failed_share(cell) => {
                    builder.summary.requests.failed_share.get_or_insert(share);
                }
                // Its doubt says so.
                (None, None) if is_void(cell) => {}
                // A model, an engine, a remark: it tells rows apart.
                (None, None) if !is_blank(cell) && names.len() < MOST_NAMES => {
                    names.push(printable(cell, 80));
                }
                (None, None) => {}
            }
        }
    }
    let last = foot(table, notes, &mut builders);
    let tool = tool(table);
    let columns = grid.metrics.iter().map(|(name, cells)| (*name, cells));
    let mut columns = columns.chain([(grid.corner, &grid.heads)]);
    let is_model = |name: &str| ["model", "模型"].contains(&name.to_lowercase().as_str());
    let models = columns
        .find(|(name, _)| is_model(name))
        .map(|(_, cells)| cells);
    let mut found = Vec::new();
    let results = builders.into_iter().zip(names).zip(&grid.heads);
    for (at, ((mut builder, names), head)) in results.enumerate() {
        let mut cells = grid.metrics.iter().filter_map(|(_, cells)| cells.get(at));
        let error = cells.find(|cell| is_out_of_memory(cell));
        // The column of a comparison is not a result.
        if (builder.results() == 0 && error.is_none()) || is_comparison(head) {
            continue;
        }
        builder.assumed.splice(0..0, assumed(&grid.metrics, &units));
        builder.assumed.extend(meant.assumed.iter().cloned());
        builder.assumed.extend(answers.clone());
        let mut result = builder.finish(tool, (table.first, last));
        if let Some(error) = error {
            result.error = Some(printable(error, 80));
            result.summary = None;
        } else if !names.is_empty() {
            result.label = Some(printable(&names.join(", "), 200));
        }
        let remarks = grid.metrics.iter().filter_map(|(_, cells)| cells.get(at));
        let mut remarks = remarks.filter(|cell| quantity(cell).is_none());
        if let Some(remark) = remarks.clone().find(|cell| is_void(cell)) {
            result.said_void = Some(printable(remark, 80));
        }
        result.said_doubtful = doubtful_remark(&grid.metrics, at);
        let is_counted = result.summary.as_ref().is_some_and(|it| {
            it.requests.failed.is_some_and(|failed| failed > 0)
                || it.requests.failed_share.is_some()
        });
        if let Some(remark) = remarks.find(|cell| !is_counted && tells_a_failure(cell)) {
            let (requests, sample) = (1, printable(remark, 80));
            result.told_failures = Some(ToldFailures { requests, sample });
        }
        if let Some(model) = models
            .and_then(|cells| cells.get(at))
            .filter(|it| !is_blank(it))
        {
            result.is_of_model(model);
        }
        result.said_again = repeated(head).is_some();
        found.push(result);
    }
    if !found.is_empty() {
        notes.take((table.first, last));
    }
    found
}

/// The remark by which the author doubts a row. A column of states that were measured, `cold` beside
/// `warm`, has none.
fn doubtful_remark(metrics: &[(&str, Vec<&str>)], at: usize) -> Option<String> {
    let remarks = metrics.iter().filter_map(|(_, cells)| {
        let cell = cells.get(at)?;
        let is_state = doubt_said(cell)? == DoubtSaid::Cold && cells.iter().any(|it| is_warm(it));
        (!is_state && quantity(cell).is_none()).then_some(*cell)
    });
    remarks.map(|remark| printable(remark, 80)).next()
}

/// Batch sizes and times in queues, which summaries have no place for and people look at.
fn is_of_schedule(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = ["batch", "queue", "排队", "队列"].iter();
    words.any(|word| name.contains(word))
}

/// Tools that print one table over several loads.
fn tool(table: &TextTable) -> Tool {
    let has = |name: &str| table.rows[0].iter().any(|cell| cell == name);
    let own = ["Gen. (toks/s)", "Gen/s", "Gen. tok/s", "Avg Inp.TPS"];
    if own.into_iter().any(has) {
        Tool::Evalscope
    } else if has("Benchmark Strategy") {
        Tool::Guidellm
    } else {
        Tool::MarkdownTable
    }
}

/// Takes what the lines under a table say of all its results. Returns the last line.
fn foot(table: &TextTable, notes: &Notes<'_>, builders: &mut [ResultBuilder]) -> usize {
    let mut last = table.last;
    for at in table.last + 1..(table.last + 1 + LARGEST_FOOT).min(notes.lines.len()) {
        let text = notes.bare(at);
        if text.is_empty() {
            continue;
        }
        let entries = block::entries(text);
        let is_of_all = |entry: &block::Entry<'_>| match entry.label.field {
            Field::Of(sample, _) => matches!(sample, Sample::InputLength | Sample::OutputLength),
            field => {
                field.is_length()
                    || matches!(field, Field::OutputCap | Field::Planned | Field::Total)
            }
        };
        if notes.is_taken(at) || entries.is_empty() || !entries.iter().all(is_of_all) {
            break;
        }
        for entry in &entries {
            let lacks_it = |builder: &&mut ResultBuilder| !builder.has(entry.label.field);
            for builder in builders.iter_mut().filter(lacks_it) {
                builder.set(entry.name, entry.label, entry.quantity);
            }
        }
        last = at;
    }
    last
}

fn is_blank(cell: &str) -> bool {
    matches!(
        cell.to_lowercase().as_str(),
        "" | "-" | "--" | "–" | "—" | "/" | "n/a" | "na" | "none" | "nan"
    )
}

impl<'a> Heads<'a> {
    fn name(&self) -> Option<&'a str> {
        match self {
            Heads::Named(name) => Some(name),
            _ => None,
        }
    }

    /// Takes the head of a result: its load, or its name.
    fn set(&self, builder: &mut ResultBuilder, head: &str, names: &mut Vec<String>) {
        let head = repeated(head).unwrap_or(head);
        let named = match self {
            Heads::Named(name) => label(name).map(|label| (*name, label)),
            _ => None,
        };
        let number_of = |field| match field {
            Field::Rate => rate(head),
            _ => head_number(head).map(Quantity::exact),
        };
        if let Some((name, label)) = named
            && let Some(quantity) = number_of(label.field)
        {
            return builder.set(name, label, quantity);
        }
        if let Heads::Flag(setting) = self
            && let Some((name, value)) = setting.value(head)
        {
            builder.flags.insert(name, value);
            return;
        }
        match (self, head_number(head)) {
            (Heads::Numbering, Some(_)) => {}
            (Heads::Setting(name), Some(_)) => {
                names.push(printable(&format!("{name} {head}"), 80));
            }
            (Heads::Streams, Some(value)) => {
                builder.point.insert("concurrency".into(), number(value));
                builder.summary.concurrency.configured = count(value);
            }
            _ if !is_blank(head) => names.push(printable(head, 80)),
            _ => {}
        }
    }
}

/// Tokens of a request where a name leaves open whether it means those of the run: `Output tokens`
/// that are fewer than the requests, or as many whatever the number of requests is.
fn of_one_request(name: &str, label: Label, cells: &[&str], counts: Option<&[&str]>) -> Label {
    let field = match label.field {
        Field::InputTokens => Field::InputSize,
        Field::OutputTokens => Field::OutputSize,
        _ => return label,
    };
    let pairs = counts.unwrap_or_default().iter().zip(cells);
    let pairs =
        pairs.filter_map(|(count, tokens)| Some((quantity(count)?.value, quantity(tokens)?.value)));
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let are_fewer = pairs.iter().any(|(requests, tokens)| tokens < requests);
    let differ = |of: fn(&(f64, f64)) -> f64| pairs.windows(2).any(|it| of(&it[0]) != of(&it[1]));
    let stay = differ(|it| it.0) && !differ(|it| it.1);
    if (are_fewer || stay) && !is_total(name) {
        Label { field, ..label }
    } else {
        label
    }
}

/// Whether lengths of answers are those that came out: nobody asks for another one at a few loads of
/// many. Each of these lengths stands alone.
fn are_means(cells: &[&str]) -> bool {
    const FEWEST: usize = 4;
    let lengths: Vec<f64> = cells
        .iter()
        .filter_map(|cell| Some(quantity(cell)?.value))
        .collect();
    let count = |length: f64| lengths.iter().filter(|it| **it == length).count();
    let usual = lengths.iter().copied().max_by_key(|it| count(*it));
    let Some(usual) = usual.filter(|_| lengths.len() >= FEWEST) else {
        return false;
    };
    let mut others = lengths.iter().filter(|it| **it != usual).peekable();
    let are_many = 4 * count(usual) >= 3 * lengths.len();
    are_many && others.peek().is_some() && others.all(|it| count(*it) == 1)
}

impl<'t> Grid<'t> {
    /// Whether rows name prompts of several lengths: they are of several tests.
    fn has_several_prompts(&self, labels: &[Option<Label>]) -> bool {
        let is_input = |label: &Option<Label>| {
            let field = label.map(|label| label.field);
            matches!(field, Some(Field::InputSize | Field::InputChars))
        };
        let mut columns = self
            .metrics
            .iter()
            .zip(labels)
            .filter(|(_, label)| is_input(label));
        columns.any(|((_, cells), _)| cells.windows(2).any(|pair| pair[0] != pair[1]))
    }

    /// The cells that say how many requests each result is of.
    fn counts_of_requests(&self, labels: &[Option<Label>]) -> Option<&[&'t str]> {
        let is_count = |label: &Option<Label>| {
            let field = label.map(|label| label.field);
            matches!(field, Some(Field::Ok | Field::Total | Field::Planned))
        };
        let place = labels.iter().position(is_count)?;
        self.metrics.get(place).map(|(_, cells)| cells.as_slice())
    }

    /// The concurrency of each result, as far as it is known.
    fn loads(&self) -> Vec<Option<f64>> {
        let is_load = |name: &str| {
            matches!(
                label(name).map(|label| label.field),
                Some(Field::Concurrency | Field::BareConcurrency)
            )
        };
        let column = self.metrics.iter().find(|(name, _)| is_load(name));
        let cells = match (&self.counts, column) {
            (_, Some((_, cells))) => cells,
            (Heads::Streams, None) => &self.heads,
            (Heads::Named(name), None) if is_load(name) => &self.heads,
            _ => return vec![None; self.heads.len()],
        };
        let number = |cell: &&str| head_number(repeated(cell).unwrap_or(cell));
        cells.iter().map(number).collect()
    }
}

/// Turns a table so that metrics are rows.
fn grid(table: &TextTable) -> Option<Grid<'_>> {
    let (header, rows) = table.rows.split_first()?;
    let corner = header.first().map_or("", String::as_str);
    let known = |text: &str| label(text).is_some_and(|label| label.field != Field::Other);
    let first_cells = rows.iter().filter_map(|row| row.first());
    let down = first_cells.filter(|cell| known(cell)).count();
    let across = header.iter().skip(1).filter(|cell| known(cell)).count();
    if down == 0 && across == 0 {
        return None;
    }
    let field = |text: &str| label(text).map(|label| label.field);
    let is_load = |text: &str| {
        matches!(
            field(text),
            Some(Field::Concurrency | Field::BareConcurrency | Field::Rate)
        )
    };
    let text = |row: usize, at: usize| rows[row].get(at).map_or("", String::as_str);
    let all_rows = || 0..rows.len();
    if down >= across {
        let metrics = all_rows()
            .map(|row| {
                let cells = (1..header.len()).map(|at| text(row, at)).collect();
                (text(row, 0), cells)
            })
            .collect();
        return Some(Grid {
            heads: header[1..].iter().map(String::as_str).collect(),
            metrics,
            corner,
            counts: match field(corner) {
                Some(Field::Rate | Field::InputSize | Field::OutputSize) => Heads::Named(corner),
                _ => Heads::Streams,
            },
        });
    }
    // A first column of numbers does not name results: the load stands further right.
    let at_load = || header.iter().position(|name| is_load(name));
    let named = !known(corner) || is_load(corner);
    let heads_at = if named { 0 } else { at_load().unwrap_or(0) };
    let metrics = (0..header.len())
        .filter(|at| *at != heads_at)
        .map(|at| {
            let cells = all_rows().map(|row| text(row, at)).collect();
            (header[at].as_str(), cells)
        })
        .collect();
    let head = header[heads_at].as_str();
    let counts = match field(head) {
        Some(_) => Heads::Named(head),
        None if is_numbering(head) => Heads::Numbering,
        None if let Some(setting) = Column::named(head) => Heads::Flag(setting),
        None if at_load().is_some() => Heads::Setting(head),
        None => Heads::Streams,
    };
    Some(Grid {
        heads: all_rows().map(|row| text(row, heads_at)).collect(),
        metrics,
        corner: head,
        counts,
    })
}

/// A column between others that says how far they are apart, and nothing else.
fn is_comparison(head: &str) -> bool {
    let end = head.find(['(', '（', '%']).unwrap_or(head.len());
    let head = head[..end].trim().to_lowercase();
    let names = "change|delta|δ|diff|difference|gain|improvement|speedup|变化|变化率|变化幅度|提升|\
        提升率|提升幅度|增幅|降幅|差异|对比|加速比";
    names.split('|').any(|name| name == head)
}

/// A column that only counts its rows.
fn is_numbering(name: &str) -> bool {
    matches!(
        name.to_lowercase().trim_end_matches('.'),
        "#" | "no"
            | "id"
            | "index"
            | "run"
            | "round"
            | "trial"
            | "test"
            | "case"
            | "序号"
            | "编号"
            | "轮次"
            | "试验"
            | "实验"
            | "测试"
            | "用例"
    )
}

/// The load of a row that its head calls a repeat: `32（重测）`, `32 (again)`.
fn repeated(head: &str) -> Option<&str> {
    let (load, remark) = head.split_once(['(', '（'])?;
    let load = load.trim_end();
    (says_again(remark) && head_number(load).is_some()).then_some(load)
}

/// The number of a head such as `8`, `并发 8`, `c=8` or `8路`.
fn head_number(head: &str) -> Option<f64> {
    if let Some(quantity) = quantity(head) {
        return Some(quantity.value);
    }
    let lower = head.to_lowercase();
    let word = lower
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches(['=', ':', '：', ' ', '-', '_']);
    let mut named = "并发|并发数|concurrency|parallel|c|bs|batch|conc|users".split('|');
    if named.any(|name| name == word) {
        let digits = &lower[lower.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
        return leading_number(digits).map(|(value, _, _)| value);
    }
    let (value, _, rest) = leading_number(&lower)?;
    ["并发", "路", "users", "concurrency", "并发数"]
        .contains(&rest.trim())
        .then_some(value)
}

/// Says which units were not written.
pub(crate) fn assumed(columns: &Columns<'_>, units: &[Option<Unit>]) -> Vec<Assumption> {
    let metrics = columns.iter().zip(units);
    let assumed = metrics.filter_map(|((name, cells), unit)| {
        let numbers = || cells.iter().filter_map(|cell| quantity(cell));
        if label(name)?.unit.is_some() || numbers().all(|number| number.unit.is_some()) {
            return None;
        }
        let read_as = match unit {
            Some(Unit::Seconds) => TimeUnit::Seconds,
            Some(Unit::Millis) => TimeUnit::Milliseconds,
            _ => return None,
        };
        let name = printable(name, 80);
        Some(Assumption::Unit { name, read_as })
    });
    assumed.collect()
}
