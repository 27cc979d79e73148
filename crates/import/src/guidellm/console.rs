//! The tables that it prints: three lines of header, with names over several columns, and a row
//! for each run. All tables with the same runs are of these.

use super::columns::{Column, Run, cells, column_names, statistic};
use crate::label::{Field, Sample};
use crate::quantity::{Quantity, Unit, leading_number, quantity};
use crate::result::ImportedResult;
use inferometer_notes::Notes;

/// Lines of the header.
const HEIGHT: usize = 3;

pub(super) fn find(notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let mut found = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut span: Option<(usize, usize)> = None;
    let mut title = String::new();
    let mut seen: Vec<String> = Vec::new();
    for at in 0..notes.lines.len().saturating_sub(HEIGHT) {
        let line = notes.lines[at].trim();
        if let Some(text) = line.strip_prefix('ℹ') {
            title = text.trim().to_owned();
        }
        if notes.is_taken(at)
            || !is_header(notes, at)
            || !title.contains("Statistics") && !title.contains("Summary Info")
        {
            continue;
        }
        let header: Vec<_> = (at..at + HEIGHT).map(|at| cells(notes.lines[at])).collect();
        let columns = column_names(&header);
        let key = format!("{title}: {}", columns.join(", "));
        // The same table again is the next result.
        if seen.contains(&key) {
            close(&mut runs, &mut span, &mut found);
            seen.clear();
        }
        seen.push(key);
        let first = at + HEIGHT + 1;
        let rows = (first..notes.lines.len()).take_while(|at| is_row(notes.lines[*at]));
        let rows: Vec<usize> = rows.collect();
        for (index, row) in rows.iter().enumerate() {
            let cells = cells(notes.lines[*row]);
            let strategy = cells.first().map_or("", |cell| cell.as_str());
            if runs.get(index).is_none_or(|run| !run.is(strategy)) {
                runs.truncate(index);
                runs.push(Run::new(strategy));
            }
            for (name, cell) in columns.iter().zip(&cells).skip(1) {
                take(&mut runs[index], &title, name, cell);
            }
        }
        if let Some(last) = rows.last() {
            let begin = at
                .saturating_sub(2)
                .max(span.map_or(0, |(_, last)| last + 1));
            notes.take((begin, last + 1));
            span = Some((span.map_or(begin, |(first, _)| first), last + 1));
        }
    }
    close(&mut runs, &mut span, &mut found);
    found
}

fn close(runs: &mut Vec<Run>, span: &mut Option<(usize, usize)>, found: &mut Vec<ImportedResult>) {
    let Some(span) = span.take() else { return };
    for run in runs.drain(..).filter_map(|run| run.finish(span)) {
        // With an output of the kind `console` it prints tables twice, all of them the second time.
        let latency = |of: &ImportedResult| {
            let spread = of.summary.as_ref()?.latency.e2e_ms.as_ref()?;
            Some((spread.mean, spread.percentiles()))
        };
        let is_same = |known: &&mut ImportedResult| {
            known.label == run.label && known.point == run.point && latency(known) == latency(&run)
        };
        match found.iter_mut().find(is_same) {
            Some(known) => *known = run,
            None => found.push(run),
        }
    }
}

fn is_header(notes: &Notes<'_>, at: usize) -> bool {
    let begins = |line: usize, word: &str| {
        let cells = notes.lines[line].trim().strip_prefix('|');
        cells.is_some_and(|cells| cells.trim_start().starts_with(word))
    };
    begins(at, "Benchmark ") && begins(at + 1, "Strategy ")
}

fn is_row(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("| ") && !line.starts_with("| Benchmark ")
}

fn take(run: &mut Run, title: &str, name: &str, cell: &str) {
    // A star says that it has no interval.
    let Some(quantity) = quantity(cell.trim_end_matches('*')) else {
        return;
    };
    let full = format!("{title}: {name}");
    let column = column(title, name);
    // Tenths of a second: of a short answer nothing is left.
    if matches!(column, Column::Is(Field::Of(Sample::E2e, _), _)) && quantity.value == 0.0 {
        return;
    }
    run.set(&full, column, quantity);
    if let Some((_, deviation)) = cell.split_once('±')
        && let Some((deviation, _, _)) = leading_number(deviation.trim())
    {
        run.set(
            &format!("{full} ±"),
            Column::Other,
            Quantity::exact(deviation),
        );
    }
}

fn column(title: &str, name: &str) -> Column {
    let (front, stat) = name.rsplit_once(" / ").unwrap_or((name, ""));
    let (ms, seconds) = (Some(Unit::Millis), Some(Unit::Seconds));
    let is = |field| Column::Is(field, None);
    match (title.split(" (").next().unwrap_or_default(), front) {
        ("Run Summary Info", front) => match (front, stat) {
            ("Timings / Dur", "Sec") => is(Field::Window),
            ("Requests / Comp", "Tot") => is(Field::Ok),
            ("Requests / Inc", "Tot") => Column::Cut,
            ("Requests / Err", "Tot") => is(Field::Failed),
            ("Input Tokens / Comp", "Tot") => is(Field::InputTokens),
            ("Output Tokens / Comp", "Tot") => is(Field::OutputTokens),
            _ => Column::Other,
        },
        ("Request Token Statistics", "Input Tok / Per Req") => {
            statistic(Sample::InputLength, stat, None)
        }
        ("Request Token Statistics", "Output Tok / Per Req") => {
            statistic(Sample::OutputLength, stat, None)
        }
        ("Request Latency Statistics", "Request Latency / Sec") => {
            statistic(Sample::E2e, stat, seconds)
        }
        ("Request Latency Statistics", "TTFT / ms") => statistic(Sample::Ttft, stat, ms),
        ("Request Latency Statistics", "ITL / ms") => statistic(Sample::Itl, stat, ms),
        ("Request Latency Statistics", "TPOT / ms") => statistic(Sample::Tpot, stat, ms),
        ("Server Throughput Statistics", front) => match (front, stat) {
            ("Requests / Concurrency", "Mean") => Column::MeanConcurrency,
            ("Requests / Per Sec", "Mean") => Column::OfAll(Field::RequestsPerS),
            ("Input Tokens / Per Sec", "Mean") => Column::OfAll(Field::InputPerS),
            ("Output Tokens / Per Sec", "Mean") => Column::OfAll(Field::OutputPerS),
            ("Total Tokens / Per Sec", "Mean") => Column::OfAll(Field::TotalPerS),
            _ => Column::Other,
        },
        _ => Column::Other,
    }
}
