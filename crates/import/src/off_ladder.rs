//! A latency of one load in another unit than those of the loads beside it.

use crate::doubt::ImportDoubt;
use crate::result::ImportedResult;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many times less or more than at both loads beside it no load makes a latency, and a unit does.
const OTHER_UNIT: f64 = 50.0;
/// Axes that a ladder climbs.
const CLIMBED: [&str; 2] = ["concurrency", "rate"];

/// Rows of one table by all but their load, with their place and the load.
type Ladders<'r> = BTreeMap<(&'r str, (u64, u64), &'static str, String), Vec<(f64, usize)>>;

/// The doubts that loads of one table raise about each other, by place.
pub(crate) fn judge(results: &[ImportedResult]) -> Vec<(usize, ImportDoubt)> {
    let mut ladders = Ladders::new();
    for (at, found) in results.iter().enumerate() {
        let climbed = CLIMBED.into_iter().find_map(|axis| {
            let load = found.point.get(axis)?.as_f64()?;
            Some((axis, load))
        });
        if let (Some((axis, load)), Some(_)) = (climbed, &found.summary) {
            let others = found.point.iter().filter(|(name, _)| *name != axis);
            let others: Vec<(&String, &Value)> = others.collect();
            let rest = format!("{others:?} {:?} {:?}", found.flags, found.label);
            let key = (found.file.as_str(), found.lines, axis, rest);
            ladders.entry(key).or_default().push((load, at));
        }
    }
    let mut doubts = Vec::new();
    for mut ladder in ladders.into_values() {
        ladder.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut latencies: BTreeMap<&'static str, Vec<(usize, f64)>> = BTreeMap::new();
        for (_, at) in ladder {
            let known = results[at].summary.iter().flat_map(|it| it.latency.known());
            for (metric, spread) in known {
                if let Some(value) = spread.mean.or(spread.p50).filter(|it| *it > 0.0) {
                    latencies.entry(metric).or_default().push((at, value));
                }
            }
        }
        for (metric, values) in latencies {
            doubts.extend(values.windows(3).filter_map(|beside| {
                let [(_, below), (at, value), (_, above)] = beside else {
                    return None;
                };
                let is_less = value * OTHER_UNIT < below.min(*above);
                let is_more = *value > OTHER_UNIT * below.max(*above);
                let doubt = ImportDoubt::OffLadder {
                    metric,
                    value: *value,
                    beside: [*below, *above],
                };
                (is_less || is_more).then_some((*at, doubt))
            }));
        }
    }
    doubts
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_latency_that_was_typed_in_another_unit_is_doubted_and_one_that_rises_is_not() {
        let doubted = |ttft: [&str; 4]| -> Vec<bool> {
            let rows = [8, 16, 32, 64].into_iter().zip(ttft);
            let rows: String = rows
                .map(|(load, ttft)| format!("| {load} | {load}0 | {ttft} |\n"))
                .collect();
            let notes = format!("| 并发 | 吞吐(tok/s) | TTFT(ms) |\n|---|---|---|\n{rows}");
            let results = crate::read("notes.md", &notes).results;
            let is_doubted = |found: &crate::ImportedResult| !found.doubts.is_empty();
            results.iter().map(is_doubted).collect()
        };
        assert_eq!(
            doubted(["71", "140", "0.91", "4810"]),
            [false, false, true, false]
        );
        assert_eq!(doubted(["71", "140", "910", "48100"]), [false; 4]);
    }
}
