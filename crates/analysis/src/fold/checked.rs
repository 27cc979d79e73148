//! How good the answers are, where they were checked.

use super::RunContext;
use super::tally::Answer;
use crate::statistics::share_bounds;
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::summary::{CheckResult, StructuredResult};

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

/// Whether answers have the form that was asked for; absent where none was.
pub(super) fn structured(answers: &[&Answer]) -> Option<StructuredResult> {
    let known = |of: fn(&Answer) -> bool| answers.iter().filter(|it| of(it)).count() as u64;
    let json_asked = known(|it| it.valid_json.is_some());
    let tools_offered = known(|it| it.tool_calls.is_some());
    if json_asked + tools_offered == 0 {
        return None;
    }
    let share = |valid: u64, all: u64| (all > 0).then(|| valid as f64 / all as f64);
    let bounds = |share: Option<f64>, all: u64| {
        share.map(|share| share_bounds(share, all as f64, CONFIDENCE))
    };
    let calls = answers.iter().filter_map(|it| it.tool_calls);
    let (tool_calls, valid_calls) = calls.fold((0, 0), |(all, valid), (calls, right)| {
        (all + u64::from(calls), valid + u64::from(right))
    });
    let valid_json = share(known(|it| it.valid_json == Some(true)), json_asked);
    let valid_tool_calls = share(valid_calls, tool_calls);
    Some(StructuredResult {
        json_asked,
        valid_json,
        valid_json_interval: bounds(valid_json, json_asked),
        tools_offered,
        with_calls: known(|it| it.tool_calls.is_some_and(|(calls, _)| calls > 0)),
        tool_calls,
        valid_tool_calls,
        valid_tool_calls_interval: bounds(valid_tool_calls, tool_calls),
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

    #[test]
    fn shares_of_valid_json_and_calls_are_of_those_that_were_asked_for() {
        let records = (0..6).map(|index| {
            let mut record = answer(index, index as f64 * 1e3, 10.0, 4, 10.0);
            record.valid_json = (index < 4).then_some(index > 0);
            record.tool_calls = (index >= 4).then(|| 2 * (index as u32 - 4));
            record.valid_tool_calls = record.tool_calls.map(|calls| calls / 2);
            record
        });
        let run = MadeUp::of(scenario("[load]\nconcurrency = 1"), records.collect());
        let found = run.summary().structured.unwrap();
        assert_eq!((found.json_asked, found.valid_json), (4, Some(0.75)));
        assert_eq!((found.tools_offered, found.with_calls), (2, 1));
        assert_eq!((found.tool_calls, found.valid_tool_calls), (2, Some(0.5)));
        assert_eq!(MadeUp::closed(2, 8).summary().structured, None);
    }
}
