//! What was done inside the window.
//!
//! A request counts, with its tokens, by the share of its time that lies inside: in a closed loop
//! of all its time, else of the time since its first token ([`CountsOver`](super::row::CountsOver)).
//! In a steady load this adds up to what is completed and received in the window, and it does not
//! depend on where the edges fall when streams send in waves: counts of completions or tokens
//! between two moments would jump by a whole wave, or by the pause before its first tokens.
//! In the rush at the beginning, when all prompts came at once, answers advanced like none later:
//! what a stream began with counts by what was received of it inside ([`Beginning`]).

use super::crowd::{Amount, SettledAmounts};
use super::precision::{Precision, RestsOn};
use super::run::Run;
use super::tally::{Answer, Handled};
use super::total;
use inferometer_core::summary::{Throughput, Tokens};
use inferometer_core::units::Offset;
use inferometer_statistics::Batches;
use std::time::Duration;

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
        let inside = (request.to.min(self.to)).since(request.counts_from.max(self.from));
        let whole = request.to.since(request.counts_from).as_secs_f64();
        if whole > 0.0 {
            inside.as_secs_f64() / whole
        } else {
            f64::from(u8::from(self.from <= request.to && request.to < self.to))
        }
    }
}

/// The first answers of the streams of a closed loop.
struct Beginning {
    opening: Offset,
    /// What was sent until then was sent at once.
    first_token: Option<Offset>,
    later: UnderWayLater,
}

impl Beginning {
    /// A request with the weight of what was received of it after the opening, if it is one of
    /// these.
    fn counted(&self, request: Handled) -> Counted {
        let is_first = Some(request.from) < self.first_token && request.counts_from == request.from;
        let received = (request.after_opening).filter(|_| is_first && request.to > self.opening);
        let Some(received) = received.map(f64::from) else {
            return Counted {
                request,
                answer: 1.0,
                rest: 1.0,
            };
        };
        // The time that others wait for their first token, which counts at the end of the window,
        // is taken off.
        let answer = received / (1.0 + self.later.wait_share);
        // A first answer is the rest of a whole one.
        let whole = match (request.output, self.later.tokens) {
            (Some(tokens), Some(whole)) if whole > 0.0 => (f64::from(tokens) / whole).min(1.0),
            _ => 1.0,
        };
        Counted {
            request: Handled {
                counts_from: self.opening,
                ..request
            },
            answer,
            rest: answer * whole,
        }
    }
}

/// What answers are like that are under way at some moment: long ones more often than not, so
/// each has the weight of its time.
struct UnderWayLater {
    /// How long they wait for their first token, as a share of the time after it.
    wait_share: f64,
    tokens: Option<f64>,
}

impl UnderWayLater {
    fn of(run: &Run<'_>) -> Self {
        let mean = |of: &dyn Fn(&Answer, f64) -> Option<f64>| {
            let weighted = run.answers.iter().filter_map(|answer| {
                let whole = answer.e2e.ms()?;
                Some([whole * of(answer, whole)?, whole])
            });
            let [sum, weight] =
                weighted.fold([0.0; 2], |[a, b], [sum, weight]| [a + sum, b + weight]);
            (weight > 0.0).then(|| sum / weight)
        };
        let wait = mean(&|answer, _| answer.ttft_from_sent.ms());
        let rest = mean(&|answer, whole| Some((whole - answer.ttft_from_sent.ms()?).max(0.0)));
        UnderWayLater {
            wait_share: match (wait, rest) {
                (Some(wait), Some(rest)) if rest > 0.0 => wait / rest,
                _ => 0.0,
            },
            tokens: mean(&|answer, _| answer.output.map(f64::from)),
        }
    }
}

/// A request, and how much of its answer and of the rest counts, spread over its time.
struct Counted {
    request: Handled,
    answer: f64,
    rest: f64,
}

impl Counted {
    fn weight(&self, amount: Amount) -> f64 {
        match amount {
            Amount::Output | Amount::OutputChars => self.answer,
            _ => self.rest,
        }
    }
}

/// Rates inside the window of a load that is steady by construction.
pub(super) struct WindowRates {
    whole: Part,
    handled: Vec<Counted>,
    /// Those of a crowd.
    others: Option<SettledAmounts>,
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
        let beginning = Beginning {
            opening: from,
            first_token: (handled.iter())
                .filter_map(|request| request.first_token.offset())
                .min(),
            later: UnderWayLater::of(run),
        };
        let touches = |request: &Handled| request.to >= from && request.from <= to;
        Some(WindowRates {
            whole,
            handled: (handled.iter().map(whole_answer).filter(touches))
                .map(|request| beginning.counted(request))
                .collect(),
            others: run.crowd.map(|crowd| crowd.amounts.settled()),
            mean_s,
        })
    }

    /// How many answers follow each other inside the window.
    pub(super) fn waves(&self) -> f64 {
        self.whole.seconds() / self.mean_s
    }

    fn weighted(&self, part: Part, amount: Amount) -> Option<f64> {
        let others = self.others.as_ref();
        let others = others.and_then(|others| others.between(amount, part.from, part.to));
        let (mut sum, mut known) = (others.unwrap_or_default(), others.is_some());
        for counted in &self.handled {
            let request = &counted.request;
            let share = counted.weight(amount) * part.share(request);
            if share > 0.0 {
                // An answer without a count is left out, as it is from the totals.
                let amount = amount.of(request);
                known |= amount.is_some();
                sum += share * amount.unwrap_or_default() as f64;
            }
        }
        known.then(|| sum / part.seconds())
    }

    fn requests(&self, part: Part) -> f64 {
        self.weighted(part, Amount::Requests).unwrap_or_default()
    }

    fn items(&self, part: Part) -> Option<f64> {
        self.weighted(part, Amount::Items)
    }

    /// Seconds of sound a second.
    fn audio(&self, part: Part) -> Option<f64> {
        Some(self.weighted(part, Amount::AudioMs)? / 1e3)
    }

    fn output_tokens(&self, part: Part) -> Option<f64> {
        self.weighted(part, Amount::Output)
    }

    pub(super) fn throughput(
        &self,
        tokens: &Tokens,
        run: &Run<'_>,
        precision: &Precision,
    ) -> Throughput {
        let whole = self.whole;
        let batches = precision.batches(RestsOn::Requests);
        let by_batches = batches.ok();
        let output = tokens.output.and_then(|_| self.output_tokens(whole));
        let input = tokens
            .input
            .and_then(|_| self.weighted(whole, Amount::Input));
        let audio = total(run.totals.audio_ms, run.totals.answers).and_then(|_| self.audio(whole));
        // What was computed and not sent has no characters.
        let chars = |rate: Option<f64>| rate.filter(|&rate| rate > 0.0);
        Throughput {
            requests_per_s: Some(self.requests(whole)),
            input_tokens_per_s: input,
            output_tokens_per_s: output,
            items_per_s: self.items(whole),
            audio_s_per_s: audio,
            total_tokens_per_s: input.zip(output).map(|(input, output)| input + output),
            input_chars_per_s: chars(self.weighted(whole, Amount::InputChars)),
            output_chars_per_s: chars(self.weighted(whole, Amount::OutputChars)),
            requests_per_s_interval: by_batches
                .and_then(|batches| self.interval(batches, |part| Some(self.requests(part)))),
            output_tokens_per_s_interval: (by_batches.filter(|_| output.is_some()))
                .and_then(|batches| self.interval(batches, |part| self.output_tokens(part))),
            items_per_s_interval: (by_batches.filter(|_| self.items(whole).is_some()))
                .and_then(|batches| self.interval(batches, |part| self.items(part))),
            audio_s_per_s_interval: (by_batches.filter(|_| audio.is_some()))
                .and_then(|batches| self.interval(batches, |part| self.audio(part))),
            requests_needed: batches.err(),
        }
    }

    /// 95 % interval by equal parts of the window; none for a short one.
    fn interval(&self, batches: Batches, rate: impl Fn(Part) -> Option<f64>) -> Option<[f64; 2]> {
        let count = batches.count() as u32;
        let width = self.whole.to.since(self.whole.from) / count;
        let batch = |batch| Part {
            from: self.whole.from + width * batch,
            to: self.whole.from + width * (batch + 1),
        };
        let rates: Option<Vec<f64>> = (0..count).map(|nth| rate(batch(nth))).collect();
        batches
            .mean(&rates?)
            .map(|[low, high]| [low.max(0.0), high])
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
