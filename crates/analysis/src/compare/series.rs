//! The requests of one run as columns, and how much a figure moves between blocks of them.
//!
//! A block holds at least as many requests as were under way together, since those share their
//! fate. Each resample costs one step a block, not one a request: means and rates are ratios of
//! block sums, and a quantile moves as the share of values below it does (Woodruff's method).

use super::metric::{Amount, Column, Metric, Source};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::Record;
use inferometer_core::seed::{Dimension, rng};
use rand::RngExt;
use std::time::Duration;

/// Fewest values and fewest blocks that show how blocks differ.
const LEAST_VALUES: usize = 20;
const LEAST_BLOCKS: usize = 8;
/// Resamples: they give a variance, to a few percent.
const RESAMPLES: usize = 400;

/// Complete answers of a run: latencies ordered by start, amounts ordered by completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    ttft_ms: Vec<f64>,
    tpot_ms: Vec<f64>,
    e2e_ms: Vec<f64>,
    max_gap_ms: Vec<f64>,
    output_tokens: Vec<f64>,
    all_tokens: Vec<f64>,
    /// Time since the completion before.
    shares_s: Vec<f64>,
    under_way: f64,
    /// Mean characters of the prompts.
    pub(crate) input_chars_mean: Option<f64>,
}

struct Answer {
    start: u64,
    completed: u64,
    ttft_ms: f64,
    tpot_ms: f64,
    e2e_ms: f64,
    max_gap_ms: f64,
    input: f64,
    output: f64,
}

impl Series {
    /// From the records of a run, in any order; warm-up and what was not answered is left out.
    /// Failures are in the summary.
    pub fn of_records(records: impl IntoIterator<Item = Record>) -> Self {
        let mut answers = Vec::new();
        let (mut chars, mut first_sent) = (0u64, u64::MAX);
        for record in records {
            if !record.is_measured() {
                continue;
            }
            first_sent = first_sent.min(record.sent.map_or(u64::MAX, |sent| sent.0));
            if let Some(answer) = Answer::of(&record) {
                chars = chars.saturating_add(record.input_chars);
                answers.push(answer);
            }
        }
        let mut series = Series::of_answers(answers, first_sent);
        let n = series.shares_s.len();
        series.input_chars_mean = (n > 0).then(|| chars as f64 / n as f64);
        series
    }

    fn of_answers(mut answers: Vec<Answer>, first_sent: u64) -> Self {
        answers.sort_unstable_by_key(|answer| answer.start);
        let column = |value: fn(&Answer) -> f64| {
            let values = answers.iter().map(value).filter(|value| value.is_finite());
            values.collect::<Vec<f64>>()
        };
        let mut series = Series {
            ttft_ms: column(|answer| answer.ttft_ms),
            tpot_ms: column(|answer| answer.tpot_ms),
            e2e_ms: column(|answer| answer.e2e_ms),
            max_gap_ms: column(|answer| answer.max_gap_ms),
            ..Series::default()
        };
        answers.sort_unstable_by_key(|answer| answer.completed);
        let mut before = first_sent;
        for answer in &answers {
            let share = answer.completed.saturating_sub(before);
            before = answer.completed;
            series.shares_s.push(share as f64 / 1e9);
            series.output_tokens.push(answer.output);
            series.all_tokens.push(answer.input + answer.output);
        }
        let window: f64 = series.shares_s.iter().sum();
        let busy: f64 = series.e2e_ms.iter().sum::<f64>() / 1e3;
        series.under_way = if window > 0.0 { busy / window } else { 1.0 };
        series
    }

    /// Times to first token in milliseconds, in the order of the starts.
    pub fn ttft_ms(&self) -> &[f64] {
        &self.ttft_ms
    }

    /// Times per output token, likewise.
    pub fn tpot_ms(&self) -> &[f64] {
        &self.tpot_ms
    }

    pub fn e2e_ms(&self) -> &[f64] {
        &self.e2e_ms
    }

    /// Whether every request took the same time and ended at the same moment.
    pub(crate) fn has_times_of(&self, other: &Self) -> bool {
        !self.e2e_ms.is_empty() && self.e2e_ms == other.e2e_ms && self.shares_s == other.shares_s
    }

    fn column(&self, column: Column) -> &[f64] {
        match column {
            Column::Ttft => &self.ttft_ms,
            Column::Tpot => &self.tpot_ms,
            Column::E2e => &self.e2e_ms,
            Column::MaxGap => &self.max_gap_ms,
        }
    }

    /// Variance of the logarithm of a metric from one set of blocks to another like it; absent
    /// where there are too few.
    pub(crate) fn log_variance(&self, metric: Metric, seed: u64) -> Option<f64> {
        match metric.source() {
            Source::Mean(column) => {
                let values = self.column(column);
                let blocks = self.blocks(values, |_| 1.0)?;
                variance(resampled(&blocks, metric, seed).map(f64::ln))
            }
            Source::Quantile(column, p) => {
                let mut sorted = self.column(column).to_vec();
                sort(&mut sorted);
                let limit = quantile(&sorted, p)?;
                let below: Vec<f64> = self
                    .column(column)
                    .iter()
                    .map(|&value| f64::from(u8::from(value <= limit)))
                    .collect();
                let blocks = self.blocks(&below, |_| 1.0)?;
                let share = below.iter().sum::<f64>() / below.len() as f64;
                // Where more lies below the limit, the quantile is lower by as much.
                let moved = resampled(&blocks, metric, seed)
                    .map(|drawn| quantile(&sorted, p + share - drawn).unwrap_or(limit).ln());
                variance(moved)
            }
            Source::Rate(amount) => {
                let ones = vec![1.0; self.shares_s.len()];
                let amounts = match amount {
                    Amount::Requests => &ones,
                    Amount::OutputTokens => &self.output_tokens,
                    Amount::AllTokens => &self.all_tokens,
                    Amount::Unknown => return None,
                };
                let blocks = self.blocks(amounts, |at| self.shares_s[at])?;
                variance(resampled(&blocks, metric, seed).map(f64::ln))
            }
        }
    }

    /// Sums of both over consecutive blocks.
    fn blocks(&self, above: &[f64], below: impl Fn(usize) -> f64) -> Option<Vec<[f64; 2]>> {
        let n = above.len();
        let length = ((n as f64).cbrt().ceil()).max(self.under_way.ceil()) as usize;
        if n < LEAST_VALUES || n / length.max(1) < LEAST_BLOCKS {
            return None;
        }
        let count = n / length;
        // Blocks of nearly equal length, so that no request is left out.
        let bound = |block: usize| block * n / count;
        let sums = (0..count).map(|block| {
            (bound(block)..bound(block + 1))
                .fold([0.0, 0.0], |[a, b], at| [a + above[at], b + below(at)])
        });
        Some(sums.collect())
    }
}

impl Answer {
    fn of(record: &Record) -> Option<Self> {
        let ms = |span: Option<Duration>| span.map_or(f64::NAN, |span| span.as_secs_f64() * 1e3);
        let count = |tokens: Option<u32>| tokens.map_or(f64::NAN, f64::from);
        record.is_done().then_some(())?;
        Some(Answer {
            start: record.start()?.0,
            completed: record.completed()?.0,
            ttft_ms: ms(record.ttft().filter(|_| record.streamed)),
            tpot_ms: ms(record.tpot()),
            e2e_ms: ms(record.e2e()),
            max_gap_ms: ms(record.max_gap()),
            input: count(record.input_tokens()),
            output: count(record.output_tokens()),
        })
    }
}

/// Ratios of the sums of as many blocks, drawn with replacement.
fn resampled(blocks: &[[f64; 2]], metric: Metric, seed: u64) -> impl Iterator<Item = f64> {
    let mut random = rng(seed, Dimension::Bootstrap, 0x636f_6d70 + metric as u64);
    (0..RESAMPLES).map(move |_| {
        let (mut above, mut below) = (0.0, 0.0);
        for _ in 0..blocks.len() {
            let [a, b] = blocks[random.random_range(0..blocks.len() as u32) as usize];
            above += a;
            below += b;
        }
        above / below
    })
}

/// Variance of the values; absent if one of them is no number (tokens unknown, a time of 0).
fn variance(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0);
    variance.is_finite().then_some(variance)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A closed loop of one stream whose answers take `latency_ms(i)` and have 100 tokens.
    pub(crate) fn series(n: u64, latency_ms: impl Fn(u64) -> f64) -> Series {
        let mut now = 0;
        let answers = (0..n).map(|index| {
            let latency = latency_ms(index);
            let start = now;
            now += (latency * 1e6) as u64;
            Answer {
                start,
                completed: now,
                ttft_ms: latency / 4.0,
                tpot_ms: latency / 100.0,
                e2e_ms: latency,
                max_gap_ms: latency / 10.0,
                input: 200.0,
                output: 100.0,
            }
        });
        Series::of_answers(answers.collect(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::testing::series;
    use super::*;
    use rand_distr::{Distribution, Exp1};

    fn exponential(n: u64, seed: u64) -> Series {
        let mut random = rng(seed, Dimension::Words, 0);
        let values: Vec<f64> = (0..n).map(|_| Exp1.sample(&mut random)).collect();
        series(n, |index| 100.0 * values[index as usize])
    }

    #[test]
    fn the_variance_of_a_mean_and_of_quantiles_is_the_textbooks() {
        // Exponential: relative variance of the mean is 1/n, of the quantile
        // p/(1−p)/n/ln²(1−p).
        let n = 20_000u64;
        let run = exponential(n, 3);
        let expected = |p: f64| p / (1.0 - p) / (1.0 - p).ln().powi(2) / n as f64;
        for (metric, expected) in [
            (Metric::E2eMean, 1.0 / n as f64),
            (Metric::OutputTokensPerS, 1.0 / n as f64),
            (Metric::E2eP50, expected(0.5)),
            (Metric::E2eP99, expected(0.99)),
        ] {
            let found = run.log_variance(metric, 1).unwrap();
            assert!(
                (found / expected - 1.0).abs() < 0.35,
                "{metric}: {found} {expected}"
            );
        }
    }

    #[test]
    fn blocks_are_as_long_as_requests_under_way() {
        let mut run = exponential(1000, 3);
        run.under_way = 200.0;
        assert_eq!(run.log_variance(Metric::E2eMean, 1), None);
        run.under_way = 100.0;
        assert!(run.log_variance(Metric::E2eMean, 1).is_some());
    }

    #[test]
    fn records_become_columns_and_what_was_not_answered_is_left_out() {
        let mut made_up = crate::fold::testing::MadeUp::closed(4, 400);
        made_up.records[0].stage = inferometer_core::record::Stage::Warmup;
        made_up.records[1].outcome = inferometer_core::record::Outcome::Cut;
        let run = Series::of_records(made_up.records);
        assert_eq!((run.ttft_ms.len(), run.shares_s.len()), (398, 398));
        assert_eq!(run.input_chars_mean, Some(1000.0));
        assert!((run.under_way - 4.0).abs() < 0.2, "{}", run.under_way);
        assert!(run.ttft_ms.iter().all(|&ms| (40.0..=60.0).contains(&ms)));
        assert!(run.log_variance(Metric::OutputTokensPerS, 1).is_some());
        assert_eq!(run.log_variance(Metric::Goodput, 1), None);
    }

    #[test]
    fn no_records_and_unknown_tokens_have_no_variance() {
        assert_eq!(
            Series::of_records([]).log_variance(Metric::E2eMean, 1),
            None
        );
        let mut run = exponential(1000, 1);
        run.output_tokens.fill(f64::NAN);
        assert_eq!(run.log_variance(Metric::OutputTokensPerS, 1), None);
    }
}
