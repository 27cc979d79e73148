//! How good the answers are, where they were checked.

use super::RunContext;
use super::tally::Answer;
use crate::statistics::share_bounds;
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::summary::CheckResult;

const CONFIDENCE: f64 = 0.95;

pub(super) fn fold(context: &RunContext<'_>, answers: &[&Answer]) -> Option<CheckResult> {
    let check = context.scenario.objectives.check.as_ref()?;
    let scores: Vec<f64> = answers.iter().filter_map(|answer| answer.score).collect();
    let n = scores.len() as f64;
    let score = (n > 0.0).then(|| scores.iter().sum::<f64>() / n);
    // A prompt that is asked again tells little more. A score between right and wrong is taken
    // for a share of right answers, which is wider than it need be.
    let distinct = context.environment.distinct_prompts.map(|all| all as f64);
    let draws = distinct.map_or(n, |all| n.min(all)).max(1.0);
    let mut differs_at: Vec<f64> = (answers.iter().filter_map(|answer| answer.differs_at))
        .map(|at| at as f64)
        .collect();
    sort(&mut differs_at);
    Some(CheckResult {
        check: check.to_string(),
        score,
        score_interval: score.map(|score| share_bounds(score, draws, CONFIDENCE)),
        checked: scores.len() as u64,
        unchecked: (answers.len() - scores.len()) as u64,
        differs_at_p50: quantile(&differs_at, 0.5),
    })
}

#[cfg(test)]
mod tests {
    use crate::fold::testing::{MadeUp, answer, scenario};

    fn scored(scores: &[Option<f64>]) -> MadeUp {
        let records = scores.iter().enumerate().map(|(index, score)| {
            let mut record = answer(index as u64, index as f64 * 1e3, 10.0, 4, 10.0);
            record.score = *score;
            record.differs_at = (*score == Some(0.0)).then_some(index as u64);
            record
        });
        let toml =
            "[load]\nconcurrency = 1\n[work]\ndata = 'q.jsonl'\n[objectives]\ncheck = 'exact'";
        MadeUp::of(scenario(toml), records.collect())
    }

    #[test]
    fn the_score_is_a_mean_over_checked_answers_and_repeated_prompts_widen_its_interval() {
        let mut run = scored(&[Some(1.0), Some(0.0), Some(1.0), None, Some(0.0)]);
        let found = run.summary().check.unwrap();
        assert_eq!(
            (found.score, found.checked, found.unchecked),
            (Some(0.5), 4, 1)
        );
        assert_eq!(found.differs_at_p50, Some(2.5));
        let width = |interval: Option<[f64; 2]>| interval.map(|[low, high]| high - low).unwrap();
        let of_all = width(found.score_interval);
        run.environment.distinct_prompts = Some(2);
        assert!(width(run.summary().check.unwrap().score_interval) > of_all);
        assert_eq!(MadeUp::closed(2, 8).summary().check, None);
    }
}
