//! What AIPerf concludes from several runs: `profile_export_aiperf_aggregate` has the mean of each
//! statistic over the runs of one load, `profile_export_aiperf_sweep` the same for each load. Beside
//! the runs themselves they are no results; alone, they are all that is known of them.

use crate::aiperf_metrics;
use crate::builder::ResultBuilder;
use crate::label::Field;
use crate::label::Stat;
use crate::quantity::{Quantity, Unit, finite, quantity};
use crate::result::{ImportedResult, Tool};
use crate::unread::{UnreadReason, has_numbers};
use inferometer_notes::Notes;
use inferometer_notes::TextTable;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// How the runs differ from each other.
const BETWEEN_RUNS: [&str; 6] = ["std", "cv", "se", "ci_low", "ci_high", "t_critical"];
/// Lines below a table that say what it is of.
const LARGEST_FOOT: usize = 20;

type Statistics = Vec<(String, Quantity)>;

/// The results of an aggregate in JSON, if the object is one.
pub(crate) fn results(
    object: &Map<String, Value>,
    lines: (usize, usize),
) -> Option<Vec<ImportedResult>> {
    of_one_load(object, lines)
        .map(|found| vec![found])
        .or_else(|| of_each_load(object, lines))
}

fn of_one_load(object: &Map<String, Value>, lines: (usize, usize)) -> Option<ImportedResult> {
    let about = object.get("metadata")?;
    if about.get("aggregation_type")? != "confidence" {
        return None;
    }
    let mut aggregate = Aggregate::default();
    for (key, over_runs) in object.get("metrics")?.as_object()? {
        let (name, stat) = metric_and_statistic(key);
        if let Some(mean) = finite(over_runs.get("mean")) {
            let unit = over_runs.get("unit").and_then(Value::as_str);
            aggregate.add(name, unit, stat, Quantity::exact(mean));
        }
    }
    let mut builder = aggregate.into_builder();
    for stat in BETWEEN_RUNS.into_iter().chain(["min", "max"]) {
        builder.skip(&format!("metrics.*.{stat}"), UnreadReason::SeveralRuns);
    }
    builder.skip("metadata", UnreadReason::NotMeasured);
    let values = about.get("variation_values").and_then(Value::as_object);
    set_load(&mut builder, values);
    finish(builder, lines, about.get("model").and_then(Value::as_str))
}

fn of_each_load(object: &Map<String, Value>, lines: (usize, usize)) -> Option<Vec<ImportedResult>> {
    if object.get("aggregation_type")? != "sweep" {
        return None;
    }
    let loads = object.get("per_combination_metrics")?.as_array()?;
    let mut found = Vec::new();
    for load in loads {
        let mut aggregate = Aggregate::default();
        let metrics = load.get("metrics").and_then(Value::as_object);
        for (name, stats) in metrics.into_iter().flatten() {
            let unit = stats.get("unit").and_then(Value::as_str);
            // Of several trials, each statistic has its own mean over them.
            let (metric, own) = metric_and_statistic(name);
            if let Some(mean) = finite(stats.get("mean")).filter(|_| !own.is_empty()) {
                aggregate.add(metric, unit, own, Quantity::exact(mean));
                continue;
            }
            let stats = stats.as_object().into_iter().flatten();
            // The mean over the runs is there as `avg` as well.
            let is_own = |stat: &str| stat != "mean" && !BETWEEN_RUNS.contains(&stat);
            for (stat, value) in stats.filter(|(stat, _)| is_own(stat)) {
                if let Some(value) = finite(Some(value)) {
                    aggregate.add(name, unit, stat, Quantity::exact(value));
                }
            }
        }
        let mut builder = aggregate.into_builder();
        for stat in BETWEEN_RUNS {
            let path = format!("per_combination_metrics.*.metrics.*.{stat}");
            builder.skip(&path, UnreadReason::SeveralRuns);
        }
        for (key, value) in object {
            if key != "per_combination_metrics" && has_numbers(value) {
                builder.skip(key, UnreadReason::SeveralRuns);
            }
        }
        set_load(
            &mut builder,
            load.get("parameters").and_then(Value::as_object),
        );
        found.extend(finish(builder, lines, None));
    }
    (!found.is_empty()).then_some(found)
}

/// The results of an aggregate's CSV, if the table is one.
pub(crate) fn results_of_table(
    table: &TextTable,
    notes: &mut Notes<'_>,
) -> Option<Vec<ImportedResult>> {
    let (header, rows) = table.rows.split_first()?;
    let names: Vec<&str> = header.iter().map(String::as_str).collect();
    if let ["metric", "mean", "std", "min", "max", "cv", ..] = names[..] {
        return Some(vec![table_of_one_load(table, &names, rows, notes)?]);
    }
    table_of_each_load(table, &names, rows)
}

fn table_of_one_load(
    table: &TextTable,
    header: &[&str],
    rows: &[Vec<String>],
    notes: &mut Notes<'_>,
) -> Option<ImportedResult> {
    let at_unit = header.iter().position(|name| *name == "unit")?;
    let mut aggregate = Aggregate::default();
    for row in rows {
        let (Some(key), Some(mean)) = (row.first(), row.get(1).and_then(|cell| quantity(cell)))
        else {
            continue;
        };
        let (name, stat) = metric_and_statistic(key);
        aggregate.add(name, row.get(at_unit).map(String::as_str), stat, mean);
    }
    let mut builder = aggregate.into_builder();
    for stat in BETWEEN_RUNS.into_iter().chain(["min", "max"]) {
        builder.skip(stat, UnreadReason::SeveralRuns);
    }
    let end = (table.last + 1 + LARGEST_FOOT).min(notes.lines.len());
    let mut model = None;
    let mut last = table.last;
    for at in table.last + 1..end {
        match notes.lines[at].split_once(',') {
            Some(("Variation Label", label)) => {
                let values = label.trim_matches('"').split(',');
                let values = values.filter_map(|it| {
                    let (name, value) = it.split_once('=')?;
                    Some((name.trim().to_owned(), Value::from(quantity(value)?.value)))
                });
                set_load(&mut builder, Some(&values.collect()));
            }
            Some(("Model", name)) => model = Some(name.trim_matches('"')),
            Some(_) => {}
            None => continue,
        }
        last = at;
    }
    notes.take((table.first, last));
    finish(builder, (table.first, last), model)
}

/// A row for each load, a column for each metric and statistic; in the units that AIPerf prints.
fn table_of_each_load(
    table: &TextTable,
    header: &[&str],
    rows: &[Vec<String>],
) -> Option<Vec<ImportedResult>> {
    let column = |name: &'static str| header.contains(&name);
    // Of several trials, each statistic has its own mean over them.
    let of_trials = column("request_latency_avg_mean") && column("request_latency_avg_cv");
    let of_runs = column("request_latency_mean") && column("request_latency_cv");
    if !of_trials && !of_runs {
        return None;
    }
    let mut found = Vec::new();
    for row in rows {
        let mut aggregate = Aggregate::default();
        let mut load = Map::new();
        for (name, cell) in header.iter().zip(row) {
            let Some(number) = quantity(cell) else {
                continue;
            };
            match metric_and_statistic(name) {
                (_, stat) if BETWEEN_RUNS.contains(&stat) => {}
                (name, stat) if of_trials && !stat.is_empty() => {
                    let (name, own) = metric_and_statistic(name);
                    if stat == "mean" && !own.is_empty() {
                        aggregate.add(name, unit_of(name), own, number);
                    }
                }
                (name, "mean") => aggregate.add(name, unit_of(name), "avg", number),
                (name, stat) if !stat.is_empty() => {
                    aggregate.add(name, unit_of(name), stat, number);
                }
                (name, _) => drop(load.insert(name.to_owned(), number.value.into())),
            }
        }
        let mut builder = aggregate.into_builder();
        let between: &[&str] = if of_trials {
            &["std", "cv", "min", "max"]
        } else {
            &["std", "cv"]
        };
        for stat in between {
            builder.skip(&format!("*_{stat}"), UnreadReason::SeveralRuns);
        }
        set_load(&mut builder, Some(&load));
        found.extend(finish(builder, (table.first, table.last), None));
    }
    (!found.is_empty()).then_some(found)
}

/// The table has no units: AIPerf prints all times of requests in milliseconds.
fn unit_of(name: &str) -> Option<&'static str> {
    match aiperf_metrics::field(name) {
        Some(Field::Of(sample, _)) if sample.is_time() => Some("ms"),
        _ => None,
    }
}

/// `request_latency_p99` is the 99th percentile of the request latency.
fn metric_and_statistic(key: &str) -> (&str, &str) {
    let is_statistic = |word: &str| {
        Stat::of_word(word).is_some()
            || matches!(word, "sum" | "count" | "cv")
            || BETWEEN_RUNS.contains(&word)
    };
    match key.rsplit_once('_') {
        // `request_count` is a metric.
        Some((name, stat)) if is_statistic(stat) && aiperf_metrics::field(key).is_none() => {
            (name, stat)
        }
        _ => (key, ""),
    }
}

/// The statistics of each metric, with its unit.
#[derive(Default)]
struct Aggregate(BTreeMap<String, (Option<Unit>, Statistics)>);

impl Aggregate {
    fn add(&mut self, name: &str, unit: Option<&str>, stat: &str, value: Quantity) {
        let unit = unit.and_then(Unit::of_word);
        let unit = unit.filter(|unit| unit.in_ms().is_some());
        let (_, stats) = (self.0)
            .entry(name.to_owned())
            .or_insert_with(|| (unit, Vec::new()));
        stats.push((stat.to_owned(), value));
    }

    fn into_builder(self) -> ResultBuilder {
        let mut builder = ResultBuilder::default();
        for (name, (unit, stats)) in self.0 {
            aiperf_metrics::set(&mut builder, &name, unit, &stats);
        }
        builder
    }
}

/// Takes the load from what differs between the runs: `phases.profiling.concurrency`.
fn set_load(builder: &mut ResultBuilder, values: Option<&Map<String, Value>>) {
    for (name, value) in values.into_iter().flatten() {
        let field = match name.rsplit('.').next() {
            Some("concurrency") => Field::Concurrency,
            Some("request_rate" | "rate") => Field::Rate,
            _ => continue,
        };
        builder.set_exact(field, finite(Some(value)));
    }
}

fn finish(
    builder: ResultBuilder,
    lines: (usize, usize),
    model: Option<&str>,
) -> Option<ImportedResult> {
    if builder.results() == 0 {
        return None;
    }
    let mut found = builder.finish(Tool::Aiperf, lines);
    if let Some(model) = model {
        found.is_of_model(model);
        found.label = Some(inferometer_text::hostile::printable(model, 200));
    }
    Some(found)
}
