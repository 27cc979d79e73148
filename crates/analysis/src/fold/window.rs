//! What was done inside the window.
//!
//! A token counts where it was received. A request counts by the share of its time that lies
//! inside: in a steady load this adds up to as many requests as are completed in it, and does not
//! jump where streams send in waves and an edge falls before or behind one.

use super::run::Run;
use super::tally::Handled;
use super::timeline::Accumulated;
use crate::statistics::batch_means;
use inferometer_core::summary::{Throughput, Tokens};
use inferometer_core::units::Offset;

/// Batches of an interval: each at least as long as an answer takes, or neighbours would share
/// their requests.
const MOST_BATCHES: usize = 10;
const LEAST_BATCHES: usize = 5;

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
pub(super) struct WindowRates<'a> {
    whole: Part,
    handled: Vec<&'a Handled>,
    events: &'a Accumulated,
    /// Tokens of an event; absent where answers come whole, or nothing counts them.
    per_event: Option<f64>,
    mean_s: f64,
}

impl<'a> WindowRates<'a> {
    /// Absent for a run without such a window, or without an answer.
    pub(super) fn new(
        run: &Run<'a>,
        handled: &'a [Handled],
        events: &'a Accumulated,
        per_event: Option<f64>,
    ) -> Option<Self> {
        let (from, to) = run.window.filter(|_| run.is_steady())?;
        let whole = Part { from, to };
        let times = run.answers.iter().filter_map(|answer| answer.e2e.ms());
        let mean_s = times.sum::<f64>() / 1e3 / run.answers.len() as f64;
        let touches = |request: &&Handled| request.to >= from && request.from <= to;
        mean_s.is_finite().then(|| WindowRates {
            whole,
            handled: handled.iter().filter(touches).collect(),
            events,
            per_event: per_event.filter(|_| run.context.scenario.connection.stream),
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
        match self.per_event {
            Some(tokens) => Some(self.events.between(part.from, part.to) * tokens / part.seconds()),
            None => self.weighted(part, |request| request.output.map(u64::from)),
        }
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

    /// 95 % interval by means of batches that are whole waves long; none for a short window.
    fn interval(&self, rate: impl Fn(Part) -> Option<f64>) -> Option<[f64; 2]> {
        let waves = self.waves().floor() as usize;
        if waves < LEAST_BATCHES {
            return None;
        }
        let count = if waves < 2 * MOST_BATCHES {
            waves.min(MOST_BATCHES)
        } else {
            MOST_BATCHES
        };
        let width = self.whole.to.since(self.whole.from) / count as u32;
        let rates: Option<Vec<f64>> = (0..count as u32)
            .map(|batch| {
                rate(Part {
                    from: self.whole.from + width * batch,
                    to: self.whole.from + width * (batch + 1),
                })
            })
            .collect();
        let means = batch_means(&rates?, count)?;
        // Neighbours that are alike tell less than they seem to.
        let alike = means.correlation.clamp(0.0, 0.9);
        let half = (means.interval[1] - means.mean) * ((1.0 + alike) / (1.0 - alike)).sqrt();
        Some([means.mean - half, means.mean + half])
    }

    /// By how much, as a share, the token rate would change if the edges of the window fell
    /// up to half an answer's time further inside.
    pub(super) fn off_by(&self) -> Option<f64> {
        let rate = |part| self.output_tokens(part).or(Some(self.requests(part)));
        let whole = rate(self.whole).filter(|&rate| rate > 0.0)?;
        let seconds = self.whole.seconds();
        let inset = (self.mean_s / 2.0).min(seconds / 3.0);
        let moved = [0.0, 0.5, 1.0].map(|part| std::time::Duration::from_secs_f64(inset * part));
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
