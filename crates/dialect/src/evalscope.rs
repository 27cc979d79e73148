//! The tables and files of `evalscope perf`, as release 1.14 has them.
//!
//! - TTFT is at the first message with text: content, reasoning or a tool call.
//! - An answer ends with its last JSON message, the usage included; TPOT is
//!   (latency − TTFT) / (output − 1), of answers with more than one token.
//! - ITL is the gap between messages with text, pooled and not weighted.
//! - Percentiles are nearest-rank over the successes.
//! - Without a stream, TTFT is the latency and TPOT 0.
//! - `Avg Decoded Tok/Iter` is the tokens a message, of those answers where it is above 1.

pub(super) mod overview;

use crate::object::Object;
use crate::outline::{Side, outline};
use crate::python::{mean, rounded};
use crate::{Source, all_messages, start};
use inferometer_core::quantile::sort;
use inferometer_core::record::{BareChunk, BareKind, Record};
use inferometer_core::scenario::Shape;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    concurrency: u32,
    /// −1 where no rate was asked for.
    rate: f64,
    total: u64,
    streams: u64,
    duration: Duration,
    answers: Vec<Answer>,
}

/// One success as the tool sees it; times in seconds.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    streamed: bool,
    latency: f64,
    ttft: f64,
    /// 0 where there is no second token.
    tpot: f64,
    gaps: Vec<f64>,
    input: u32,
    output: u32,
    /// Tokens a message, without the first of each.
    tokens_per_message: Option<f64>,
}

/// The run's numbers as the tool would have had them.
pub fn measure(source: &Source<'_>) -> Numbers {
    let records = source.measured();
    let done = records.iter().filter(|record| record.is_done());
    Numbers {
        concurrency: source.max_concurrency().unwrap_or(0),
        rate: match source.scenario.load.shape {
            Shape::Open { rate, .. } if !rate.is_infinite() => rate.0,
            Shape::Open { .. } | Shape::Closed { .. } | Shape::Replay { .. } => -1.0,
        },
        total: records.len() as u64,
        streams: records.iter().filter(|record| record.streamed).count() as u64,
        duration: source.duration(&records),
        answers: done.map(|record| answer(record)).collect(),
    }
}

fn answer(record: &Record) -> Answer {
    let start = start(record);
    let last = all_messages(record).last().copied();
    let latency = last.unwrap_or(start).since(start).as_secs_f64();
    let first = record.first_token().filter(|_| record.streamed);
    let ttft = first.map_or(latency, |first| first.since(start).as_secs_f64());
    let output = record.output_tokens().unwrap_or(0);
    let further = f64::from(output.saturating_sub(1));
    let after = |chunk: &&BareChunk| {
        chunk.kind != BareKind::NoChoice && first.is_some_and(|first| chunk.at > first)
    };
    // An empty message after the first token is still a step of the engine to the tool.
    let steps = record.chunks.at.len() + record.bare.iter().filter(after).count();
    Answer {
        streamed: record.streamed,
        latency,
        ttft,
        tpot: if output > 1 {
            (latency - ttft) / further
        } else {
            0.0
        },
        gaps: record.gaps().map(|gap| gap.as_secs_f64()).collect(),
        input: (record.input_tokens().or(record.input_tokens_asked)).unwrap_or(0),
        output,
        tokens_per_message: (output > 1 && steps > 1 && record.streamed)
            .then(|| further / (steps - 1) as f64),
    }
}

/// Percentiles of the second table; 0 and 100 are the extremes.
const PERCENTILES: [(&str, usize); 11] = [
    ("min", 0),
    ("1%", 1),
    ("5%", 5),
    ("10%", 10),
    ("25%", 25),
    ("50%", 50),
    ("75%", 75),
    ("90%", 90),
    ("95%", 95),
    ("99%", 99),
    ("max", 100),
];

/// The value at rank ⌈n·p/100⌉, to four digits; `nan` of nothing.
fn nearest_rank(ascending: &[f64], percent: usize) -> f64 {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    let value = ascending.get(rank - 1).copied();
    value.map_or(f64::NAN, |value| rounded(value, 4))
}

/// The mean over answers; −1 of none.
fn average(values: &[f64]) -> f64 {
    if values.is_empty() {
        -1.0
    } else {
        mean(values)
    }
}

/// A number as the tables show it: so many digits at most, half upwards, no zeros at the end.
fn shown(value: f64, digits: u32) -> String {
    if !value.is_finite() {
        return "—".to_owned();
    }
    // What is shown was stored with four digits; tens of thousandths are whole numbers.
    let stored = (value.abs() * 1e4).round() as u128;
    let step = 10u128.pow(4 - digits.min(4));
    let kept = (stored + step / 2) / step * step;
    let sign = if value < 0.0 && kept > 0 { "-" } else { "" };
    let text = format!("{sign}{}.{:04}", kept / 10_000, kept % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Numbers {
    fn failed(&self) -> u64 {
        self.total - self.answers.len() as u64
    }

    /// The answers whose TTFT and TPOT count: streams, or all where there is none.
    fn timed(&self) -> Vec<&Answer> {
        let streams: Vec<&Answer> = self.answers.iter().filter(|a| a.streamed).collect();
        if streams.is_empty() {
            self.answers.iter().collect()
        } else {
            streams
        }
    }

    fn per_second(&self, count: f64) -> f64 {
        if self.duration.is_zero() {
            -1.0
        } else {
            count / self.duration.as_secs_f64()
        }
    }

    /// Keys and values of the summary, as its file has them.
    fn summary(&self) -> Vec<(&'static str, f64)> {
        let all = |value: fn(&Answer) -> f64| self.answers.iter().map(value).collect::<Vec<_>>();
        let input = all(|answer| f64::from(answer.input));
        let output = all(|answer| f64::from(answer.output));
        let tokens = (input.iter().sum::<f64>(), output.iter().sum::<f64>());
        let timed = self.timed();
        let ttft: Vec<f64> = timed.iter().map(|answer| answer.ttft).collect();
        let tpot = timed.iter().filter(|a| a.output > 1 || !a.streamed);
        let tpot: Vec<f64> = tpot.map(|answer| answer.tpot).collect();
        let gaps: Vec<f64> = self.answers.iter().flat_map(|a| a.gaps.clone()).collect();
        let speculated = self.answers.iter().filter_map(|a| a.tokens_per_message);
        let speculated: Vec<f64> = speculated.filter(|&tokens| tokens > 1.0).collect();
        let count = self.answers.len() as f64;
        let short = |value| rounded(value, 4);
        let total = tokens.0 + tokens.1;
        let mut summary = vec![
            ("Test Duration (s)", short(self.duration.as_secs_f64())),
            ("Concurrency", f64::from(self.concurrency)),
            ("Request Rate (req/s)", self.rate),
            ("Total Requests", self.total as f64),
            ("Success Requests", count),
            ("Failed Requests", self.failed() as f64),
            ("Stream Requests", self.streams as f64),
            ("Non-Stream Requests", (self.total - self.streams) as f64),
            ("Req Throughput (req/s)", short(self.per_second(count))),
            ("Avg Latency (s)", short(average(&all(|a| a.latency)))),
            ("Avg Input Tokens", short(average(&input))),
            (
                "Output Throughput (tok/s)",
                short(self.per_second(tokens.1)),
            ),
            ("Total Throughput (tok/s)", short(self.per_second(total))),
            ("Avg TTFT (ms)", rounded(average(&ttft) * 1e3, 2)),
            ("Avg TPOT (ms)", rounded(mean(&tpot) * 1e3, 2)),
            ("Avg ITL (ms)", rounded(mean(&gaps) * 1e3, 2)),
            ("Avg Output Tokens", short(average(&output))),
            ("Input Throughput (tok/s)", 0.0),
        ];
        if !speculated.is_empty() {
            let tokens = mean(&speculated);
            let share = (1.0 - 1.0 / tokens).clamp(0.0, 1.0);
            summary.push(("Avg Decoded Tok/Iter", short(tokens)));
            summary.push(("Spec. Accept Rate", short(share)));
        }
        summary
    }

    /// Samples of the percentile table, each with the digits that the table shows.
    fn samples(&self) -> Vec<(&'static str, u32, Vec<f64>)> {
        let timed = self.timed();
        let streams = timed.iter().any(|answer| answer.streamed);
        let known = |value: f64| (value.is_finite()).then_some(value);
        let each = |value: &dyn Fn(&Answer) -> Option<f64>| {
            self.answers.iter().filter_map(value).collect::<Vec<_>>()
        };
        let of = |value: &dyn Fn(&Answer) -> Option<f64>| {
            timed.iter().filter_map(|a| value(a)).collect::<Vec<_>>()
        };
        let gaps = self.answers.iter().flat_map(|a| &a.gaps);
        let gaps: Vec<f64> = gaps.map(|gap| gap * 1e3).collect();
        let tpot = of(&|a| (a.tpot > 0.0 || !streams).then_some(a.tpot * 1e3));
        let output_speed = each(&|a| known(f64::from(a.output) / a.latency));
        let both = |a: &Answer| f64::from(a.input) + f64::from(a.output);
        let total_speed = each(&|a| known(both(a) / a.latency));
        let decode_speed = of(&|a| known(1.0 / a.tpot).filter(|_| a.tpot > 0.0));
        let mut samples = vec![
            ("Latency (s)", 3, each(&|a| Some(a.latency))),
            ("TTFT (ms)", 2, of(&|a| Some(a.ttft * 1e3))),
            ("ITL (ms)", 2, gaps),
            ("TPOT (ms)", 2, tpot),
            ("Input tokens", 2, each(&|a| Some(f64::from(a.input)))),
            ("Output tokens", 2, each(&|a| Some(f64::from(a.output)))),
            ("Output (tok/s)", 2, output_speed),
            ("Total (tok/s)", 2, total_speed),
            ("Decode (tok/s)", 2, decode_speed),
        ];
        for (_, _, sample) in &mut samples {
            sort(sample);
        }
        samples
    }

    pub fn text(&self) -> String {
        let summary = self.summary();
        let value = |key: &str| {
            let found = summary.iter().find(|(name, _)| *name == key);
            found.map(|(_, value)| *value)
        };
        let counts = format!(
            "{} / {} / {}",
            self.total,
            self.answers.len(),
            self.failed()
        );
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut row = |label: &str, text: String| rows.push(vec![label.to_owned(), text]);
        row("── General ──", String::new());
        for (key, digits) in [
            ("Test Duration (s)", 2),
            ("Concurrency", 2),
            ("Request Rate (req/s)", 2),
        ] {
            row(key, shown(value(key).unwrap_or_default(), digits));
        }
        row("Total / Success / Failed", counts);
        let mixed = (self.streams, self.total - self.streams);
        if mixed.0 > 0 && mixed.1 > 0 {
            row("Stream / Non-Stream", format!("{} / {}", mixed.0, mixed.1));
        }
        // What is nought is left out, but for what every run has.
        let mut listed = |title: Option<&str>, keys: &[(&str, u32, Rule)]| {
            if let Some(title) = title {
                row(title, String::new());
            }
            for (key, digits, rule) in keys {
                match value(key) {
                    Some(0.0) if *rule == Rule::UnlessNought => {}
                    Some(value) => row(key, shown(value, *digits)),
                    None => {}
                }
            }
        };
        listed(None, &[("Req Throughput (req/s)", 2, Rule::Always)]);
        listed(
            Some("── Latency ──"),
            &[
                ("Avg Latency (s)", 3, Rule::Always),
                ("Avg TTFT (ms)", 2, Rule::UnlessNought),
                ("Avg TPOT (ms)", 2, Rule::UnlessNought),
                ("Avg ITL (ms)", 2, Rule::UnlessNought),
            ],
        );
        listed(
            Some("── Tokens ──"),
            &[
                ("Avg Input Tokens", 1, Rule::Always),
                ("Avg Output Tokens", 1, Rule::UnlessNought),
                ("Output Throughput (tok/s)", 2, Rule::UnlessNought),
                ("Total Throughput (tok/s)", 2, Rule::UnlessNought),
            ],
        );
        if let (Some(tokens), Some(share)) =
            (value("Avg Decoded Tok/Iter"), value("Spec. Accept Rate"))
        {
            row("── Speculative Decoding ──", String::new());
            row("Avg Decoded Tok/Iter", shown(tokens, 2));
            // In the table it is in percent.
            row("Spec. Accept Rate", shown(share * 100.0, 1));
        }
        let heads = ["Metric", "Value"].map(str::to_owned);
        let first = outline(&heads, &rows, &[Side::Left, Side::Right]);
        let second = self.percentiles();
        format!("\nBenchmarking summary:\n{first}\n\nPercentile results:\n{second}\n")
    }

    fn percentiles(&self) -> String {
        let mut heads = vec!["Metric".to_owned()];
        heads.extend(PERCENTILES.map(|(label, _)| label.to_owned()));
        let rows = self.samples().into_iter().map(|(key, digits, sample)| {
            let values = PERCENTILES.map(|(_, p)| shown(nearest_rank(&sample, p), digits));
            let mut row = vec![key.to_owned()];
            row.extend(values);
            row
        });
        let mut sides = vec![Side::Left];
        sides.resize(heads.len(), Side::Right);
        outline(&heads, &rows.collect::<Vec<_>>(), &sides)
    }

    /// The tool's two files, `benchmark_summary.json` and `benchmark_percentile.json`, as one
    /// object.
    pub fn json(&self) -> String {
        let number = |key: &str, value: f64| -> serde_json::Value {
            match key {
                "Concurrency" => (value as u64).into(),
                key if key.ends_with("Requests") => (value as u64).into(),
                _ if value.is_nan() => serde_json::Value::Null,
                _ => value.into(),
            }
        };
        let summary = self.summary().into_iter();
        let summary = summary.map(|(key, value)| (key, number(key, value)));
        let samples = self.samples();
        let rows = PERCENTILES.map(|(label, percent)| {
            let mut row = vec![("Percentiles", label.into())];
            row.extend(
                samples
                    .iter()
                    .map(|(key, _, sample)| (*key, number(key, nearest_rank(sample, percent)))),
            );
            Object::from_pairs(row)
        });
        let mut object = Object::default();
        object.nest("benchmark_summary", Object::from_pairs(summary));
        object.nest_all("benchmark_percentile", rows);
        object.finished()
    }
}

/// When a line of the summary is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Always,
    UnlessNought,
}

#[cfg(test)]
mod tests {
    use crate::evalscope::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be_and_round_half_upwards() {
        assert_eq!(shown(0.2025, 3), "0.203");
        assert_eq!(shown(2.0, 2), "2");
        assert_eq!(shown(-1.0, 2), "-1");
        assert_eq!(shown(1_234.567_8, 3), "1234.568");
        assert_eq!(shown(f64::NAN, 2), "—");
        assert_eq!(shown(0.0, 2), "0");
    }

    #[test]
    fn a_percentile_is_a_value_that_was_seen() {
        let sample = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(nearest_rank(&sample, 0), 1.0);
        assert_eq!(nearest_rank(&sample, 50), 2.0);
        assert_eq!(nearest_rank(&sample, 51), 3.0);
        assert_eq!(nearest_rank(&sample, 100), 4.0);
        assert!(nearest_rank(&[], 50).is_nan());
    }
}
