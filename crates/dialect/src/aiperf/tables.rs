//! The tables of the console.

use super::metric::{Group, Metric};
use crate::outline::heavy_head;

const STATISTICS: [&str; 7] = ["avg", "min", "max", "p99", "p90", "p50", "std"];

const TABLES: [(Group, &str); 4] = [
    (Group::Effective, "NVIDIA AIPerf | LLM Metrics: Effective"),
    (Group::Active, "NVIDIA AIPerf | LLM Metrics: Active"),
    (Group::Usage, "NVIDIA AIPerf | LLM Metrics: Usage"),
    (Group::Main, "NVIDIA AIPerf | LLM Metrics"),
];

/// A table for each group that has a metric.
pub(super) fn text(metrics: &[Metric]) -> String {
    let tables = TABLES.into_iter().filter_map(|(group, title)| {
        let of_group = metrics.iter().filter(|metric| metric.group == group);
        let rows: Vec<Vec<String>> = of_group.flat_map(rows).collect();
        (!rows.is_empty()).then(|| heavy_head(title, &heads(), &rows))
    });
    tables.collect()
}

fn heads() -> Vec<String> {
    let names = ["Metric"].into_iter().chain(STATISTICS);
    names.map(str::to_owned).collect()
}

/// A long name has its unit in a line of its own.
fn rows(metric: &Metric) -> Vec<Vec<String>> {
    let unit = format!("({})", metric.unit);
    let mut numbers = STATISTICS
        .map(|name| shown(metric.values.statistic(name)))
        .to_vec();
    if metric.header.len() <= 30 {
        numbers.insert(0, format!("{} {unit}", metric.header));
        return vec![numbers];
    }
    numbers.insert(0, metric.header.clone());
    let mut second = vec![String::new(); numbers.len()];
    second[0] = unit;
    vec![numbers, second]
}

/// Two decimals, and a comma between thousands.
fn shown(value: Option<f64>) -> String {
    match value {
        Some(value) => inferometer_page::number::grouped(value, 2),
        None => "N/A".to_owned(),
    }
}
