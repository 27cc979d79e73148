//! What is said of results once all are read: where they are from, and what is doubtful.

use crate::copies::repeats;
use crate::doubt::{ImportDoubt, ImportDoubtCode};
use crate::doubt_texts::ImportDoubtText as Text;
use crate::result::{ImportedResult, Tool};
use crate::{cross_check, judge};
use inferometer_core::doubt::Severity;
use inferometer_core::summary::INVALID_KEY;
use inferometer_text::Lang;

pub(crate) fn conclude(name: &str, results: &mut [ImportedResult]) {
    for found in results.iter_mut() {
        found.file = name.to_owned();
    }
    let doubts = doubts(results);
    for (found, doubts) in results.iter_mut().zip(doubts) {
        found.doubts = doubts.iter().map(|doubt| doubt.stated(Lang::En)).collect();
        if let Some(summary) = &mut found.summary {
            summary.label = found.label.clone();
            summary.doubts = found.doubts.clone();
            let is_invalid = |doubt: &ImportDoubt| doubt.severity() == Severity::Invalid;
            summary.valid = !doubts.iter().any(is_invalid);
        }
    }
}

/// Doubts of each result, the worst first; those of one file are looked at together.
pub fn doubts(results: &[ImportedResult]) -> Vec<Vec<ImportDoubt>> {
    let mut all = Vec::with_capacity(results.len());
    for results in results.chunk_by(|a, b| a.file == b.file) {
        let mut doubts: Vec<Vec<ImportDoubt>> = results.iter().map(own_doubts).collect();
        for (at, doubt) in cross_check::judge(results) {
            doubts[at].push(doubt);
        }
        // A table and the block that it repeats are one measurement, unless it says otherwise.
        let contradicts = |doubts: &Vec<ImportDoubt>| {
            let mut doubts = doubts.iter();
            doubts.any(|it| matches!(it, ImportDoubt::TableContradicts { .. }))
        };
        for (at, block) in repeats(results).into_iter().enumerate() {
            // What a remark says of a row is said of what was measured.
            if let Some(block) = block {
                let said = doubts[at].iter().filter(|it| it.is_said()).cloned();
                let said = Vec::from_iter(said.filter(|it| !doubts[block].contains(it)));
                doubts[block].extend(said);
            }
            if contradicts(&doubts[at]) {
                continue;
            }
            for doubt in block.map(|block| doubts[block].clone()).unwrap_or_default() {
                if !doubts[at].contains(&doubt) {
                    doubts[at].push(doubt);
                }
            }
        }
        for of_one in &mut doubts {
            of_one.sort_by_key(|doubt| std::cmp::Reverse(doubt.severity()));
        }
        all.extend(doubts);
    }
    all
}

fn own_doubts(found: &ImportedResult) -> Vec<ImportDoubt> {
    let rate = found.point.get("rate").and_then(|rate| match rate {
        rate if rate == "inf" => Some(f64::INFINITY),
        rate => rate.as_f64(),
    });
    let summary = found.summary.as_ref();
    let mut doubts = summary.map_or(Vec::new(), |summary| judge::judge(summary, rate));
    // At a rate that was asked for, the concurrency is a cap that need not be reached.
    if rate.is_some_and(f64::is_finite) {
        doubts.retain(|doubt| doubt.code() != ImportDoubtCode::ShrunkConcurrency);
    }
    if found.tool == Tool::Aiperf {
        doubts.retain(|doubt| !is_of_other_window(doubt));
    }
    // GuideLLM's time per token has that of the first token in it.
    if found.tool == Tool::Guidellm {
        doubts.retain(|doubt| !follows_from_tpot(doubt));
    }
    let marked = summary.and_then(|it| it.other.get(INVALID_KEY)?.as_str());
    doubts.extend(marked.map(|codes| ImportDoubt::MarkedInvalid {
        codes: codes.to_owned(),
    }));
    doubts.extend(judge::unread_accounts(found));
    doubts.extend(judge::told_failures(found));
    doubts.extend(
        found
            .said_void
            .clone()
            .map(|remark| ImportDoubt::SaidVoid { remark }),
    );
    let doubtful = found.said_doubtful.clone();
    doubts.extend(doubtful.map(|remark| ImportDoubt::SaidDoubtful { remark }));
    doubts.extend(found.twice.iter().cloned().map(ImportDoubt::RepeatedNumber));
    doubts.extend(cross_check::heading_doubt(found));
    doubts.extend(cross_check::heading_lengths(found));
    doubts
}

/// Throughput against what the latency and the time per token make it.
fn follows_from_tpot(doubt: &ImportDoubt) -> bool {
    matches!(doubt, ImportDoubt::Contradiction { from, .. } if from.0 == Text::QpsTimesTokens)
}

/// AIPerf divides by the time from its start on, which is a little longer than the duration that
/// it prints, from the first request on.
fn is_of_other_window(doubt: &ImportDoubt) -> bool {
    let ImportDoubt::Contradiction { printed, from, .. } = doubt else {
        return false;
    };
    let over_time = matches!(
        from.0,
        Text::OutputOverTime | Text::InputOverTime | Text::RequestsOverTime
    );
    over_time && printed.1 < from.1 && printed.1 > 0.9 * from.1
}
