//! What was done inside the window.
//!
//! A request counts, with its tokens, by the share of its time that lies inside. In a steady load
//! this adds up to what is completed and received in the window, and it does not depend on where
//! the edges fall when streams send in waves: counts of completions or tokens between two moments
//! would jump by a whole wave, or by the pause before its first tokens.

use super::run::Run;
use super::tally::Handled;
use crate::statistics::batch_means;
use inferometer_core::summary::{Throughput, Tokens};
use inferometer_core::units::Offset;
use std::time::Duration;

/// Batches of an interval.
const MOST_BATCHES: usize = 10;
const LEAST_BATCHES: usize = 5;
/// Part of an answer's time that a window may lack to hold so many answers in a row.
const NEARLY: f64 = 0.05;

/// A part of the window.
#[derive(Clone, Copy)]
struct Part {
    from: Offset,
    to: Offset,
}

impl Part {
    fn seconds(self) -> f64 {
        self.to.since(self.from).as_secs_f64()
    }

    /// Share of a request's time that lies inside.
    fn share(self, request: &Handled) -> f64 {
        let inside = (request.to.min(self.to)).since(request.from.max(self.from));
        let whole = request.to.since(request.from).as_secs_f64();
        if whole > 0.0 {
            inside.as_secs_f64() / whole
        } else {
            f64::from(u8::from(self.from <= request.to && request.to < self.to))
        }
    }
}

/// Rates inside the window of a load that is steady by construction.
pub(super) struct WindowRates {
    whole: Part,
    handled: Vec<Handled>,
    mean_s: f64,
}

impl WindowRates {
    /// Absent for a run without such a window, or without an answer.
    pub(super) fn new(run: &Run<'_>, handled: &[Handled], tokens: &Tokens) -> Option<Self> {
        let (from, to) = run.window.filter(|_| run.is_steady())?;
        let whole = Part { from, to };
        let times = run.answers.iter().filter_map(|answer| answer.e2e.ms());
        let mean_s = times.sum::<f64>() / 1e3 / run.answers.len() as f64;
        let mean = Duration::try_from_secs_f64(mean_s).ok()?;
        let usual = |mean: Option<f64>| mean.map(|tokens| tokens.round() as u32);
        // What was cut while it held the load would have gone on like the others.
        let whole_answer = |request: &Handled| {
            if request.complete {
                return *request;
            }
            Handled {
                to: request.to.max(request.from + mean),
                input: usual(tokens.input_mean),
                output: usual(tokens.output_mean),
                ..*request
            }
        };
        let touches = |request: &Handled| request.to >= from && request.from <= to;
        Some(WindowRates {
            whole,
            handled: handled.iter().map(whole_answer).filter(touches).collect(),
            mean_s,
        })
    }

    /// How many answers follow each other inside the window.
    pub(super) fn waves(&self) -> f64 {
        self.whole.seconds() / self.mean_s
    }

    fn weighted(&self, part: Part, weight: impl Fn(&Handled) -> Option<u64>) -> Option<f64> {
        let (mut sum, mut known) = (0.0, false);
        for request in &self.handled {
            let share = part.share(request);
            if share > 0.0 {
                // An answer without a count is left out, as it is from the totals.
                let weight = weight(request);
                known |= weight.is_some();
                sum += share * weight.unwrap_or_default() as f64;
            }
        }
        known.then(|| sum / part.seconds())
    }

    fn requests(&self, part: Part) -> f64 {
        self.weighted(part, |_| Some(1)).unwrap_or_default()
    }

    fn output_tokens(&self, part: Part) -> Option<f64> {
        self.weighted(part, |request| request.output.map(u64::from))
    }

    pub(super) fn throughput(&self, tokens: &Tokens) -> Throughput {
        let whole = self.whole;
        let output = tokens.output.and_then(|_| self.output_tokens(whole));
        let input = tokens
            .input
            .and_then(|_| self.weighted(whole, |request| request.input.map(u64::from)));
        // What was computed and not sent has no characters.
        let chars = |rate: Option<f64>| rate.filter(|&rate| rate > 0.0);
        Throughput {
            requests_per_s: Some(self.requests(whole)),
            input_tokens_per_s: input,
            output_tokens_per_s: output,
            total_tokens_per_s: input.zip(output).map(|(input, output)| input + output),
            input_chars_per_s: chars(self.weighted(whole, |request| Some(request.input_chars))),
            output_chars_per_s: chars(self.weighted(whole, |request| Some(request.output_chars))),
            requests_per_s_interval: self.interval(|part| Some(self.requests(part))),
            output_tokens_per_s_interval: output
                .and_then(|_| self.interval(|part| self.output_tokens(part))),
        }
    }

    /// 95 % interval by the means of batches; none for a short window. Each batch is as long as
    /// a whole number of answers takes: neighbours share no more than a few requests, and streams
    /// that send in waves do as much in one as in the next.
    fn interval(&self, rate: impl Fn(Part) -> Option<f64>) -> Option<[f64; 2]> {
        let waves = (self.waves() + NEARLY).floor();
        let waves_of_batch = (waves / MOST_BATCHES as f64).floor().max(1.0);
        let count = (waves / waves_of_batch).floor() as u32;
        if count < LEAST_BATCHES as u32 {
            return None;
        }
        let seconds = self
            .whole
            .seconds()
            .min(f64::from(count) * waves_of_batch * self.mean_s);
        let width = Duration::from_secs_f64(seconds / f64::from(count));
        // What is left over is at the beginning, where the load is least settled.
        let from = self.whole.to - width * count;
        let batch = |batch| Part {
            from: from + width * batch,
            to: from + width * (batch + 1),
        };
        let rates: Option<Vec<f64>> = (0..count).map(|nth| rate(batch(nth))).collect();
        let means = batch_means(&rates?, count as usize)?;
        // Neighbours that are alike tell less than they seem to.
        let alike = means.correlation.clamp(0.0, 0.9);
        let half = (means.interval[1] - means.mean) * ((1.0 + alike) / (1.0 - alike)).sqrt();
        let middle = rate(self.whole)?;
        Some([middle - half, middle + half])
    }

    /// By how much, as a share, the token rate would change if the edges of the window fell
    /// up to half an answer's time further inside.
    pub(super) fn off_by(&self) -> Option<f64> {
        let rate = |part| self.output_tokens(part).or(Some(self.requests(part)));
        let whole = rate(self.whole).filter(|&rate| rate > 0.0)?;
        let seconds = self.whole.seconds();
        let inset = (self.mean_s / 2.0).min(seconds / 3.0);
        let moved = [0.0, 0.5, 1.0].map(|part| Duration::from_secs_f64(inset * part));
        let pairs = moved
            .iter()
            .flat_map(|&a| moved.iter().map(move |&b| (a, b)));
        let changes = pairs.filter_map(|(a, b)| {
            let inner = Part {
                from: self.whole.from + a,
                to: self.whole.to - b,
            };
            Some((rate(inner)? / whole - 1.0).abs())
        });
        changes.reduce(f64::max)
    }
}
