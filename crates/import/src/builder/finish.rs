//! The result of what was collected.

use super::ResultBuilder;
use crate::assumption::Assumption;
use crate::label::Field;
use crate::quantity::{count, number};
use crate::result::{ImportedResult, Tool};
use crate::summary::{ImportedLatencies, Spread};
use crate::unread::UnreadReason;
use std::borrow::Cow;

/// Share by which a number of requests may be off that follows from a rate and a time.
const LEAST_EXACT: f64 = 0.05;

/// The time after the first token, by the tokens after it.
fn tpot_of_means(latency: &ImportedLatencies, output_mean: Option<f64>) -> Option<f64> {
    let mean = |spread: &Option<Spread>| spread.as_ref()?.mean;
    let after = mean(&latency.e2e_ms)? - mean(&latency.ttft_ms)?;
    let tokens = output_mean? - 1.0;
    (after > 0.0 && tokens > 0.0).then(|| after / tokens)
}

impl ResultBuilder {
    /// Whether rate and time have digits enough to tell how many requests were answered.
    fn counts_by_rate(&self) -> bool {
        let off = |field: Field| {
            let seen = self.seen.iter().find(|seen| seen.field == field)?;
            (seen.value > 0.0).then(|| seen.rounding / seen.value)
        };
        let off = off(Field::RequestsPerS).zip(off(Field::Window));
        off.is_some_and(|(rate, time)| rate + time < LEAST_EXACT)
    }

    /// Everything is in: settles what the tool means and divides where only totals are given.
    pub(crate) fn finish(mut self, tool: Tool, lines: (usize, usize)) -> ImportedResult {
        let mut found = ImportedResult::new(tool, lines);
        let is_exact = self.counts_by_rate();
        if let Some((name, of_one)) = self.per_card.take() {
            let output = &mut self.summary.throughput.output_tokens_per_s;
            match (self.cards, *output) {
                (Some(cards), None) => {
                    *output = Some(of_one * cards);
                    found.derived.push("throughput.output_tokens_per_s".into());
                }
                _ => self.skip(&name, UnreadReason::NoCounterpart),
            }
        }
        let mut summary = self.summary;
        summary.set_zeros_aside();
        // EvalScope writes 0 for the input throughput that it does not compute.
        let input = &mut summary.throughput.input_tokens_per_s;
        if tool == Tool::Evalscope && input.take_if(|input| *input == 0.0).is_some() {
            let name = "Input Throughput (tok/s)".to_owned();
            summary.other.insert(name, 0.0.into());
        }
        // Answers whose text nobody kept have no characters that could be counted.
        let rates = &mut summary.throughput;
        let wrote = rates.output_tokens_per_s.is_some_and(|tokens| tokens > 0.0);
        if wrote && (rates.output_chars_per_s.take_if(|chars| *chars == 0.0)).is_some() {
            let name = "completion-chars/second".to_owned();
            summary.other.insert(name, 0.0.into());
        }
        if let Some(cards) = self.cards.and_then(count) {
            summary.tags.insert("cards".into(), cards.to_string());
        }
        // AIPerf divides what follows the first token by the tokens of each request.
        if tool == Tool::Aiperf && summary.latency.tpot_ms.is_none() {
            summary.latency.tpot_ms = summary.latency.itl_ms.clone();
        }
        match (self.bare_concurrency, summary.concurrency.configured) {
            (Some(mean), Some(_)) => summary.concurrency.mean = Some(mean),
            (Some(mean), None) if matches!(tool, Tool::Sglang | Tool::Aiperf) => {
                summary.concurrency.mean = Some(mean);
            }
            (Some(configured), None) if configured <= 0.0 => {}
            (Some(configured), None) => {
                summary.concurrency.configured = count(configured);
                self.point.insert("concurrency".into(), number(configured));
            }
            (None, _) => {}
        }
        let requests = &mut summary.requests;
        if requests.planned.is_none() {
            requests.planned = self.total;
        } else if let (Some(total), None, None) = (self.total, requests.ok, requests.failed) {
            requests.ok = Some(total);
        }
        let kinds = (self.failed_kinds.iter())
            .map(|(_, count)| *count)
            .reduce(u64::saturating_add);
        if let Some(kinds) = kinds {
            let with_kinds = |failed: u64| failed.saturating_add(kinds);
            // All failures, of which the kinds are a part, or those of no kind: by what is missing.
            let is_beside = |failed: u64| {
                let (planned, ok) = (requests.planned?, requests.ok?);
                Some(planned == ok.saturating_add(with_kinds(failed)))
            };
            requests.failed = Some(match requests.failed {
                None => kinds,
                Some(failed) if is_beside(failed) == Some(true) => with_kinds(failed),
                Some(failed) => failed.max(kinds),
            });
            for (kind, count) in &self.failed_kinds {
                summary.other.insert((*kind).to_owned(), (*count).into());
            }
        }
        // AIPerf prints all that ended beside those that were answered.
        if let (Tool::Aiperf, Some(total), Some(ok), None) =
            (tool, self.total, requests.ok, requests.failed)
        {
            requests.failed = total.checked_sub(ok);
            found.derived.push("requests.failed".into());
        }
        // A row without a number of requests: how many were answered follows from its rate.
        let answered = (summary.throughput.requests_per_s).zip(summary.window_s);
        let answered = answered.and_then(|(per_s, window_s)| count((per_s * window_s).round()));
        let is_sure = is_exact || requests.failed.is_some();
        if let (Some(answered), None, None) = (answered, requests.ok, requests.planned)
            && is_sure
        {
            requests.ok = Some(answered);
            found.derived.push("requests.ok".into());
        }
        let tokens = &mut summary.tokens;
        tokens.input_mean = tokens.input_spread.as_ref().and_then(|spread| spread.mean);
        tokens.output_mean = tokens.output_spread.as_ref().and_then(|spread| spread.mean);
        // MindIE prints all that the mean time per token follows from, and not that.
        if tool == Tool::Mindie
            && summary.latency.tpot_ms.is_none()
            && let Some(mean) = tpot_of_means(&summary.latency, tokens.output_mean)
        {
            summary.latency.tpot_ms = Some(Spread {
                mean: Some(mean),
                ..Spread::default()
            });
            found.derived.push("latency.tpot_ms.mean".into());
            self.assumed.push(Assumption::TpotOfMeans);
        }
        // A mean alone is not a distribution.
        for spread in [&mut tokens.input_spread, &mut tokens.output_spread] {
            spread.take_if(|spread| spread.percentiles().is_empty() && spread.max.is_none());
        }
        let ok = requests.ok;
        let mut derive = |name, place: &mut Option<f64>, total: Option<u64>, by: Option<f64>| {
            if let (None, Some(total), Some(by)) = (*place, total, by.filter(|by| *by > 0.0)) {
                *place = Some(total as f64 / by);
                found.derived.push(Cow::Borrowed(name));
            }
        };
        let answered = ok.map(|ok| ok as f64);
        let (throughput, window) = (&mut summary.throughput, summary.window_s);
        let (input, output) = (tokens.input, tokens.output);
        derive("tokens.input_mean", &mut tokens.input_mean, input, answered);
        let place = &mut tokens.output_mean;
        derive("tokens.output_mean", place, output, answered);
        let place = &mut throughput.requests_per_s;
        derive("throughput.requests_per_s", place, ok, window);
        let place = &mut throughput.input_tokens_per_s;
        derive("throughput.input_tokens_per_s", place, input, window);
        let place = &mut throughput.output_tokens_per_s;
        derive("throughput.output_tokens_per_s", place, output, window);
        let latency = &mut summary.latency;
        // Samples with one value per request; GuideLLM weighs its TPOT by tokens.
        let tpot = Some(&mut latency.tpot_ms).filter(|_| tool != Tool::Guidellm);
        let samples = [&mut latency.ttft_ms, &mut latency.e2e_ms];
        for spread in samples.into_iter().chain(tpot).flatten() {
            spread.n = spread.n.or(ok);
        }
        found.point = self.point;
        found.flags = Some(self.flags).filter(|flags| !flags.is_empty());
        found.assumed = self.assumed;
        found.unread = self.unread.iter().map(|(name, _)| name.clone()).collect();
        found.unread_because = self.unread.into_iter().collect();
        found.twice = self.twice;
        found.summary = Some(summary);
        found
    }
}
