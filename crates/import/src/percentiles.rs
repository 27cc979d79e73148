//! Percentiles that a tool gives apart from its summary, as EvalScope does in a second table or
//! file.

use crate::result::{ImportedResult, Tool};
use crate::summary::Spread;

/// Percentiles belong to the summary before them; alone they are a result of their own.
pub(crate) fn join(results: &mut Vec<ImportedResult>, percentiles: ImportedResult) {
    let of_evalscope = |found: &&mut ImportedResult| found.tool == Tool::Evalscope;
    let lacks_all = results.last().is_some_and(|last| has_ranks(last, &[]));
    let before = if lacks_all {
        results.last_mut().filter(of_evalscope)
    } else {
        // EvalScope's page has the rows of all runs, with their 99th, before the percentiles of
        // the first.
        (results.iter_mut().rev())
            .take_while(|found| of_evalscope(found) && has_ranks(found, &[99.0]))
            .last()
    };
    match before {
        Some(before) => complete(before, &percentiles),
        None => results.push(percentiles),
    }
}

/// Whether its latencies have these percentiles and no others.
fn has_ranks(found: &ImportedResult, ranks: &[f64]) -> bool {
    found.summary.as_ref().is_some_and(|summary| {
        let latencies = summary.latency.known();
        latencies.iter().all(|(_, spread)| {
            let own = spread.percentiles().into_iter().map(|(rank, _)| rank);
            own.eq(ranks.iter().copied())
        })
    })
}

pub(crate) fn complete(found: &mut ImportedResult, percentiles: &ImportedResult) {
    found.lines.1 = percentiles.lines.1;
    found.unread.extend(percentiles.unread.iter().cloned());
    let because = percentiles.unread_because.iter();
    let because = because.map(|(name, reason)| (name.clone(), *reason));
    found.unread_because.extend(because);
    if let (Some(summary), Some(more)) = (&mut found.summary, &percentiles.summary) {
        let fill = |mine: &mut Option<Spread>, more: &Option<Spread>| {
            if let Some(more) = more {
                mine.get_or_insert_default().fill(more.clone());
            }
        };
        let (latency, more_latency) = (&mut summary.latency, &more.latency);
        fill(&mut latency.ttft_ms, &more_latency.ttft_ms);
        fill(&mut latency.tpot_ms, &more_latency.tpot_ms);
        fill(&mut latency.itl_ms, &more_latency.itl_ms);
        fill(&mut latency.e2e_ms, &more_latency.e2e_ms);
        let (speed, more_speed) = (&mut summary.speed, &more.speed);
        fill(
            &mut speed.per_user_tokens_per_s,
            &more_speed.per_user_tokens_per_s,
        );
        fill(
            &mut speed.decode_tokens_per_s,
            &more_speed.decode_tokens_per_s,
        );
        let (tokens, more_tokens) = (&mut summary.tokens, &more.tokens);
        tokens.input_mean = tokens.input_mean.or(more_tokens.input_mean);
        tokens.output_mean = tokens.output_mean.or(more_tokens.output_mean);
        fill(&mut tokens.input_spread, &more_tokens.input_spread);
        fill(&mut tokens.output_spread, &more_tokens.output_spread);
        // Zeros of answers that came whole among them.
        for (name, value) in &more.other {
            (summary.other.entry(name.clone())).or_insert_with(|| value.clone());
        }
        if found.tool == Tool::Evalscope {
            summary.set_zeros_aside();
        }
    }
}
