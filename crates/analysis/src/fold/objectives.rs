//! Objectives and how the run met them.

use super::FoundSessions;
use super::precision::{Precision, RestsOn};
use super::tally::{Tally, Verdicts, together};
use inferometer_core::scenario::Objectives;
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_core::summary::{ObjectiveResult, SloResult};

/// Judges every objective. `value` gives a percentile (from 0 to 1) or, without one, the mean
/// of a metric over the run, in milliseconds. Where it cannot be told of an answer whether it
/// meets a request objective, no share is known, and nothing that rests on one.
pub(super) fn judge(
    objectives: &Objectives,
    tally: &Tally,
    completed_per_s: Option<f64>,
    window_s: Option<f64>,
    precision: &Precision,
    sessions: Option<&FoundSessions>,
    value: impl Fn(SloMetric, Option<f64>) -> Option<f64>,
) -> Option<SloResult> {
    if objectives.slos.is_empty() {
        return None;
    }
    let (ended, ok) = (tally.totals.requests, tally.totals.answers);
    let failed: u64 = tally.failures.values().map(|(_, kind)| kind.count).sum();
    // A failed request took longer than any limit, which no mean of the others shows.
    let few_failed = |metric: SloMetric| {
        let (failed, all) = match (metric, sessions) {
            (SloMetric::Job, Some(sessions)) => (sessions.result.failed, sessions.result.began),
            _ => (failed, ok + failed),
        };
        failed as f64 <= objectives.thresholds.failures_warn * all as f64
    };
    let share =
        |seen: &Verdicts| (ended > 0 && seen.unknown == 0).then(|| seen.met as f64 / ended as f64);
    let enough = |share: Option<f64>| Some(share? >= objectives.least_share());
    let mut shares = tally.objectives.iter().map(share);
    let results: Vec<ObjectiveResult> = objectives
        .slos
        .iter()
        .map(|slo| match slo.scope {
            SloScope::Request => {
                let share = shares.next().flatten();
                result(slo, None, share, enough(share))
            }
            SloScope::Session => {
                let share = sessions.and_then(|sessions| sessions.share(slo));
                result(slo, None, share, enough(share))
            }
            // A session with a failed turn is never done.
            SloScope::Percentile(percent) if slo.is_of_sessions() => {
                let p = percent / 100.0;
                let share = sessions.and_then(|sessions| sessions.share(slo));
                let met = share.map(|share| share >= p);
                result(slo, value(slo.metric, Some(p)), None, met)
            }
            SloScope::Percentile(percent) => {
                let p = percent / 100.0;
                let stated = value(slo.metric, Some(p));
                // A request that failed took longer than any limit: of the answered ones as many
                // more must be within it.
                let asked = p * (ok + failed) as f64 / ok.max(1) as f64;
                let judged = value(slo.metric, Some(asked.min(1.0)));
                let enough = asked <= 1.0;
                let limit = super::tally::ms(slo.limit.0);
                let met = judged.map(|value| enough && value <= limit);
                result(slo, stated, None, met)
            }
            SloScope::Mean => {
                let value = value(slo.metric, None);
                let limit = super::tally::ms(slo.limit.0);
                let met = value.map(|value| few_failed(slo.metric) && value <= limit);
                result(slo, value, None, met)
            }
        })
        .collect();
    let by_request = !tally.objectives.is_empty();
    let attainment = share(&tally.together).filter(|_| by_request);
    let mut verdicts: Vec<Option<bool>> = objectives
        .slos
        .iter()
        .zip(&results)
        .filter(|(slo, _)| matches!(slo.scope, SloScope::Percentile(_) | SloScope::Mean))
        .map(|(_, result)| result.met)
        .collect();
    if by_request {
        verdicts.push(enough(attainment));
    }
    let jobs = sessions.and_then(|sessions| sessions.attainment(&objectives.slos));
    if objectives
        .slos
        .iter()
        .any(|slo| slo.scope == SloScope::Session)
    {
        verdicts.push(enough(jobs.and_then(|jobs| jobs.attainment)));
    }
    let interval = || {
        let hits: Option<Vec<bool>> = tally.rows.iter().map(|row| row.good).collect();
        let batches = precision.batches(RestsOn::Waits).ok()?;
        batches.share(&hits?, precision.effect)
    };
    Some(SloResult {
        attainment,
        attainment_interval: attainment.and_then(|_| interval()),
        goodput_per_s: match completed_per_s {
            // Of the requests that a steady window completes, the share that is good.
            Some(rate) => (ok > 0).then(|| rate * tally.together.met as f64 / ok as f64),
            None => window_s.map(|seconds| tally.together.met as f64 / seconds),
        }
        .filter(|_| attainment.is_some()),
        jobs,
        objectives: results,
        met: together(verdicts.into_iter()),
    })
}

fn result(
    slo: &Slo,
    value_ms: Option<f64>,
    share: Option<f64>,
    met: Option<bool>,
) -> ObjectiveResult {
    ObjectiveResult {
        objective: slo.to_string(),
        value_ms,
        share,
        met,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_miss_decides_and_one_unknown_leaves_it_open() {
        assert_eq!(together([Some(true), Some(true)].into_iter()), Some(true));
        assert_eq!(together([Some(true), None].into_iter()), None);
        assert_eq!(together([None, Some(false)].into_iter()), Some(false));
        assert_eq!(together([].into_iter()), None);
    }
}
