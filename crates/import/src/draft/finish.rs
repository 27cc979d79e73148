//! The result of what was collected.

use super::{Draft, count, number};
use crate::found::{Found, Tool};
use crate::summary::{ImportedSummary, Spread};
use std::borrow::Cow;

impl Draft {
    /// Everything is in: settles what the tool means and divides where only totals are given.
    pub(crate) fn finish(mut self, tool: Tool, lines: (usize, usize)) -> Found {
        let mut found = Found::new(tool, lines);
        if let Some((name, of_one)) = self.per_card.take() {
            let output = &mut self.summary.throughput.output_tokens_per_s;
            match (self.cards, *output) {
                (Some(cards), None) => {
                    *output = Some(of_one * cards);
                    found.derived.push("throughput.output_tokens_per_s".into());
                }
                _ => self.pass_over(&name),
            }
        }
        let mut summary = self.summary;
        if let Some(cards) = self.cards.and_then(count) {
            summary.tags.insert("cards".into(), cards.to_string());
        }
        // AIPerf divides what follows the first token by the tokens of each request.
        if tool == Tool::Aiperf && summary.latency.tpot_ms.is_none() {
            summary.latency.tpot_ms = summary.latency.itl_ms.clone();
        }
        match (self.bare_concurrency, summary.concurrency.configured) {
            (Some(mean), Some(_)) => summary.concurrency.mean = Some(mean),
            (Some(mean), None) if tool == Tool::Sglang => summary.concurrency.mean = Some(mean),
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
        let tokens = &mut summary.tokens;
        tokens.input_mean = tokens.input_spread.as_ref().and_then(|spread| spread.mean);
        tokens.output_mean = tokens.output_spread.as_ref().and_then(|spread| spread.mean);
        // A mean alone is no distribution.
        for spread in [&mut tokens.input_spread, &mut tokens.output_spread] {
            if spread
                .as_ref()
                .is_some_and(|s| s.percentiles().is_empty() && s.max.is_none())
            {
                *spread = None;
            }
        }
        let ok = requests.ok;
        let mut derive = |name, place: &mut Option<f64>, total: Option<u64>, by: Option<f64>| {
            if let (None, Some(total), Some(by)) = (*place, total, by.filter(|by| *by > 0.0)) {
                *place = Some(total as f64 / by);
                found.derived.push(Cow::Borrowed(name));
            }
        };
        let requests_made = ok.map(|ok| ok as f64);
        derive(
            "tokens.input_mean",
            &mut tokens.input_mean,
            tokens.input,
            requests_made,
        );
        derive(
            "tokens.output_mean",
            &mut tokens.output_mean,
            tokens.output,
            requests_made,
        );
        let (throughput, window) = (&mut summary.throughput, summary.window_s);
        derive(
            "throughput.requests_per_s",
            &mut throughput.requests_per_s,
            ok,
            window,
        );
        derive(
            "throughput.input_tokens_per_s",
            &mut throughput.input_tokens_per_s,
            tokens.input,
            window,
        );
        derive(
            "throughput.output_tokens_per_s",
            &mut throughput.output_tokens_per_s,
            tokens.output,
            window,
        );
        for spread in latencies(&mut summary) {
            spread.n = spread.n.or(ok);
        }
        found.point = self.point;
        found.assumed = self.assumed;
        found.unread = self.unread;
        found.twice = self.twice;
        found.summary = Some(summary);
        found
    }
}

/// Samples with one value for each request.
fn latencies(summary: &mut ImportedSummary) -> impl Iterator<Item = &mut Spread> {
    let latency = &mut summary.latency;
    [
        &mut latency.ttft_ms,
        &mut latency.tpot_ms,
        &mut latency.e2e_ms,
    ]
    .into_iter()
    .flatten()
}
