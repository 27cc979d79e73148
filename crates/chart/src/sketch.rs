//! What is drawn of a run, thinned from its records: made once, for every language and picture.

use inferometer_analysis::trace::{Row, RunTrace};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::units::Offset;
use inferometer_page::figure::thin;

/// Fewest and most parts of a time line.
const PARTS: [f64; 2] = [60.0, 240.0];
/// Parts of a time line that share a median, so that it has something to stand on.
const COARSE: usize = 4;

/// A run as its figures draw it.
pub struct Drawing<'a> {
    pub(crate) trace: &'a RunTrace,
    pub(crate) sketch: Sketch,
}

impl<'a> Drawing<'a> {
    pub fn of(trace: &'a RunTrace) -> Self {
        let sketch = Sketch::of(trace);
        Drawing { trace, sketch }
    }
}

/// Times in milliseconds, moments in seconds; points are `[x, y]`.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    /// Shares of answers by TTFT, TPOT and end-to-end latency.
    pub(crate) ttft: Vec<[f64; 2]>,
    pub(crate) tpot: Vec<[f64; 2]>,
    pub(crate) e2e: Vec<[f64; 2]>,
    /// Begin and end of what is drawn over time.
    pub(crate) span: [f64; 2],
    /// Its parts: tokens a second, requests under way, failures.
    pub(crate) tokens_per_s: Vec<f64>,
    pub(crate) in_flight: Vec<f64>,
    pub(crate) failures: Option<Vec<f64>>,
    /// TTFT by start, and its medians.
    pub(crate) ttft_at: Vec<[f64; 2]>,
    pub(crate) ttft_medians: Vec<[f64; 2]>,
    /// TTFT by input length, latency by output length.
    pub(crate) by_input: Vec<[f64; 2]>,
    pub(crate) by_output: Vec<[f64; 2]>,
    /// The largest gap of each answer by its end: those that are no stall, and those that are.
    pub(crate) smooth: Vec<[f64; 2]>,
    pub(crate) stalled: Vec<[f64; 2]>,
}

pub(crate) fn seconds(at: Offset) -> f64 {
    at.as_duration().as_secs_f64()
}

impl Sketch {
    fn of(trace: &RunTrace) -> Self {
        let share = |of: fn(&Row) -> Option<f64>| {
            let mut values: Vec<f64> = trace.rows.iter().filter_map(of).collect();
            sort(&mut values);
            thin::cumulative(&values, thin::MOST)
        };
        let cloud = |of: fn(&Row) -> Option<[f64; 2]>| {
            let points = trace.rows.iter().filter_map(of);
            thin::cloud(points.collect(), thin::MOST)
        };
        let window = trace.window().unwrap_or([Offset(0), Offset(1)]);
        let span = window.map(seconds);
        let parts = (span[1] - span[0]).ceil().clamp(PARTS[0], PARTS[1]) as usize;
        let width = (span[1] - span[0]) / parts as f64;
        let started = |row: &Row| Some([seconds(row.start.offset()?), row.ttft.ms()?]);
        Sketch {
            ttft: share(|row| row.ttft.ms()),
            tpot: share(|row| row.tpot.ms()),
            e2e: share(|row| row.e2e.ms()),
            span,
            tokens_per_s: trace.tokens_per_s(window, parts),
            in_flight: trace.in_flight(window, parts),
            failures: trace.failures(window, parts),
            ttft_at: cloud(started),
            ttft_medians: medians(
                trace.rows.iter().filter_map(started),
                [span[0], span[1]],
                COARSE as f64 * width,
                parts.div_ceil(COARSE),
            ),
            by_input: cloud(|row| Some([f64::from(row.input?), row.ttft.ms()?])),
            by_output: cloud(|row| Some([f64::from(row.output?), row.e2e.ms()?])),
            smooth: cloud(|row| {
                row.gap
                    .filter(|gap| !gap.stall)
                    .map(|gap| [seconds(gap.at), gap.ms])
            }),
            stalled: cloud(|row| {
                row.gap
                    .filter(|gap| gap.stall)
                    .map(|gap| [seconds(gap.at), gap.ms])
            }),
        }
    }

    pub(crate) fn over_time(&self, values: &[f64]) -> Vec<[f64; 2]> {
        let width = (self.span[1] - self.span[0]) / values.len().max(1) as f64;
        let values = values.iter().enumerate();
        values
            .map(|(part, &value)| [self.span[0] + (part as f64 + 0.5) * width, value])
            .collect()
    }
}

/// The median of each part of time that has values.
fn medians(
    points: impl Iterator<Item = [f64; 2]>,
    [from, to]: [f64; 2],
    width: f64,
    parts: usize,
) -> Vec<[f64; 2]> {
    let mut bins = vec![Vec::new(); parts];
    for [at, ms] in points {
        let bin = ((at - from) / width).max(0.0) as usize;
        bins[bin.min(parts - 1)].push(ms);
    }
    let medians = bins.iter_mut().enumerate().filter_map(|(bin, values)| {
        sort(values);
        let at = from + (bin as f64 + 0.5) * width;
        Some([at.min(to), quantile(values, 0.5)?])
    });
    medians.collect()
}
