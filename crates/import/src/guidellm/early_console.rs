//! The two tables that releases up to 0.3 print: two lines of header between rules of `=`, and a row
//! for each run. A narrow console wraps every line; how many bars a line has tells where it ends.

use super::columns::{Column, Run, cells, column_names, statistic};
use crate::label::{Field, Sample};
use crate::quantity::{Unit, quantity};
use crate::result::ImportedResult;
use crate::unread::UnreadReason;
use inferometer_notes::Notes;

const INFO: &str = "Benchmarks Info:";
const STATS: &str = "Benchmarks Stats:";
const METADATA: &str = "Benchmarks Metadata:";
/// The box of bars of progress, whose figures the tables have again.
const PROGRESS: &str = "╭─ Benchmarks ─";
/// Lines of the header.
const HEIGHT: usize = 2;

pub(super) fn find(notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(info) = line_from(notes, from, |line| line == INFO) {
        from = info + 1;
        let Some(first) = Table::below(notes, info) else {
            continue;
        };
        let stats = line_from(notes, first.last + 1, |line| line == STATS || line == INFO);
        let stats = stats.filter(|at| notes.lines[*at].trim() == STATS);
        let second = stats.and_then(|stats| Table::below(notes, stats));
        let mut runs: Vec<Run> = first.rows().map(|row| Run::new(&row[0])).collect();
        first.read_into(&mut runs);
        let last = second.as_ref().map_or(first.last, |second| {
            second.read_into(&mut runs);
            second.last
        });
        let begin = |word: &str| {
            (0..info)
                .rev()
                .find(|at| notes.lines[*at].starts_with(word))
        };
        let begin = [PROGRESS, METADATA].into_iter().find_map(begin);
        let begin = begin.filter(|begin| (*begin..info).all(|at| !notes.is_taken(at)));
        let begin = begin.unwrap_or(info);
        for run in &mut runs {
            settings(notes, begin..info, run);
        }
        notes.take((begin, last));
        found.extend(runs.into_iter().filter_map(|run| run.finish((begin, last))));
        from = last + 1;
    }
    found
}

fn line_from(notes: &Notes<'_>, from: usize, is: impl Fn(&str) -> bool) -> Option<usize> {
    let mut lines = from..notes.lines.len();
    lines.find(|at| !notes.is_taken(*at) && is(notes.lines[*at].trim()))
}

/// What the run was asked to do stands above its tables, as `    Args:max_number=40, …`.
fn settings(notes: &Notes<'_>, lines: std::ops::Range<usize>, run: &mut Run) {
    let above = notes.lines[lines].iter();
    let above = above.skip_while(|line| !line.starts_with(METADATA)).skip(1);
    for (name, text) in above.filter_map(|line| line.strip_prefix("    ")?.split_once(':')) {
        // A wrapped line goes on inside a value.
        if !name.starts_with(char::is_uppercase) {
            continue;
        }
        let asked = text
            .split(", ")
            .find_map(|it| it.strip_prefix("max_number="));
        if let Some(asked) = asked.and_then(quantity) {
            run.set("max_number", Column::Is(Field::Planned, None), asked);
        }
        if text.contains(|c: char| c.is_ascii_digit()) {
            run.builder.skip(name, UnreadReason::NotMeasured);
        }
    }
}

/// A table as lines of cells, however it was wrapped.
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    last: usize,
}

impl Table {
    /// The table whose upper rule is the line below `title`.
    fn below(notes: &Notes<'_>, title: usize) -> Option<Self> {
        let is_rule = |at: &usize| {
            let line = notes.lines[*at].trim();
            !line.is_empty() && line.chars().all(|c| c == '=')
        };
        let end = notes.lines.len();
        let upper = (title + 1..end).take_while(is_rule).count();
        let first = title + 1 + upper;
        let below = (first..end).find(is_rule).filter(|_| upper > 0)?;
        let last = (below..end).take_while(is_rule).last()?;
        let body = notes.lines[first..below].iter().map(|line| line.trim());
        let is_ruler = |line: &str| line.contains('-') && line.chars().all(|c| "-|".contains(c));
        let bars_of = |line: &str| line.matches('|').count();
        let bars = body
            .clone()
            .filter(|line| is_ruler(line))
            .map(bars_of)
            .sum();
        let mut lines: Vec<String> = Vec::new();
        for line in body {
            match lines.last_mut() {
                Some(open) if bars_of(open) < bars || bars_of(line) == 0 => {
                    open.push(' ');
                    open.push_str(line);
                }
                _ => lines.push(line.to_owned()),
            }
        }
        let mut lines = lines.iter().map(|line| cells(&format!("|{line}|")));
        let header: Vec<Vec<String>> = lines.by_ref().take(HEIGHT).collect();
        let rows = lines.skip(1).filter(|row| row.len() == bars + 1);
        Some(Table {
            columns: column_names(&header),
            rows: rows.collect(),
            last,
        })
        .filter(|table| bars > 0 && !table.rows.is_empty())
    }

    fn rows(&self) -> impl Iterator<Item = &[String]> {
        self.rows.iter().map(Vec::as_slice)
    }

    fn read_into(&self, runs: &mut [Run]) {
        for (run, row) in runs.iter_mut().zip(self.rows()) {
            if !run.is(&row[0]) {
                continue;
            }
            for (name, cell) in self.columns.iter().zip(row).skip(1) {
                if let Some(quantity) = quantity(cell) {
                    run.set(name, column(name), quantity);
                }
            }
        }
    }
}

/// All but the counts of requests are of complete ones.
fn column(name: &str) -> Column {
    let (group, stat) = name.split_once(" / ").unwrap_or((name, ""));
    let (ms, seconds) = (Some(Unit::Millis), Some(Unit::Seconds));
    let is = |field| Column::Is(field, None);
    let mean_of = |sample| statistic(sample, "mean", None);
    match (group, stat) {
        ("Metadata", "Duration (s)") => is(Field::Window),
        ("Requests Made", "Comp") => is(Field::Ok),
        ("Requests Made", "Inc") => Column::Cut,
        ("Requests Made", "Err") => is(Field::Failed),
        ("Prompt Tok/Req", "Comp") => mean_of(Sample::InputLength),
        ("Output Tok/Req", "Comp") => mean_of(Sample::OutputLength),
        ("Prompt Tok Total", "Comp") => is(Field::InputTokens),
        ("Output Tok Total", "Comp") => is(Field::OutputTokens),
        ("Request Stats", "Per Second") => is(Field::RequestsPerS),
        ("Request Stats", "Concurrency") => Column::MeanConcurrency,
        ("Out Tok/sec", "mean") => is(Field::OutputPerS),
        ("Tot Tok/sec", "mean") => is(Field::TotalPerS),
        ("Req Latency (sec)", stat) => statistic(Sample::E2e, stat, seconds),
        ("TTFT (ms)", stat) => statistic(Sample::Ttft, stat, ms),
        ("ITL (ms)", stat) => statistic(Sample::Itl, stat, ms),
        ("TPOT (ms)", stat) => statistic(Sample::Tpot, stat, ms),
        _ => Column::Other,
    }
}
