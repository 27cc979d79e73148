//! How good the answers are, where they were checked.

use super::RunContext;
use super::pool::Pool;
use inferometer_core::record::Record;
use inferometer_core::summary::{CheckResult, StructuredResult};
use inferometer_statistics::ExactSum;
use inferometer_statistics::share_bounds;

const CONFIDENCE: f64 = 0.95;

/// Scores of complete answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Checked {
    answers: u64,
    scored: u64,
    sum: ExactSum,
    differs_at: Pool,
}

impl Checked {
    pub(super) fn add(&mut self, record: &Record) {
        self.answers += 1;
        if let Some(score) = record.score {
            self.scored += 1;
            self.sum.add(score);
        }
        self.differs_at
            .extend(record.differs_at.map(|at| at as f64));
    }

    /// Takes what another part of the same run holds.
    pub(super) fn merge(&mut self, other: Self) {
        self.answers += other.answers;
        self.scored += other.scored;
        self.sum.merge(other.sum);
        self.differs_at.merge(other.differs_at);
    }

    pub(super) fn result(self, context: &RunContext<'_>) -> Option<CheckResult> {
        let check = context.scenario.objectives.check.as_ref()?;
        let n = self.scored as f64;
        let score = (n > 0.0).then(|| self.sum.value() / n);
        // A prompt that is asked again tells little more. A score between right and wrong is taken
        // for a share of right answers, which is wider than it need be.
        let distinct = context.environment.distinct_prompts.map(|all| all as f64);
        let draws = distinct.map_or(n, |all| n.min(all)).max(1.0);
        Some(CheckResult {
            check: check.to_string(),
            score,
            score_interval: score.map(|score| share_bounds(score, draws, CONFIDENCE)),
            checked: self.scored,
            unchecked: self.answers - self.scored,
            differs_at_p50: self.differs_at.into_ordered().quantile(0.5),
        })
    }
}

/// Whether complete answers have the form that was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Structured {
    json_asked: u64,
    valid_json: u64,
    tools_offered: u64,
    with_calls: u64,
    tool_calls: u64,
    valid_calls: u64,
}

impl Structured {
    pub(super) fn add(&mut self, record: &Record) {
        self.json_asked += u64::from(record.valid_json.is_some());
        self.valid_json += u64::from(record.valid_json == Some(true));
        if let Some((calls, valid)) = record.tool_calls.zip(record.valid_tool_calls) {
            self.tools_offered += 1;
            self.with_calls += u64::from(calls > 0);
            self.tool_calls += u64::from(calls);
            self.valid_calls += u64::from(valid);
        }
    }

    /// Takes what another part of the same run holds.
    pub(super) fn merge(&mut self, other: Self) {
        self.json_asked += other.json_asked;
        self.valid_json += other.valid_json;
        self.tools_offered += other.tools_offered;
        self.with_calls += other.with_calls;
        self.tool_calls += other.tool_calls;
        self.valid_calls += other.valid_calls;
    }

    /// Absent where no form was asked for.
    pub(super) fn result(self) -> Option<StructuredResult> {
        if self.json_asked + self.tools_offered == 0 {
            return None;
        }
        let share = |valid: u64, all: u64| (all > 0).then(|| valid as f64 / all as f64);
        let bounds = |share: Option<f64>, all: u64| {
            share.map(|share| share_bounds(share, all as f64, CONFIDENCE))
        };
        let valid_json = share(self.valid_json, self.json_asked);
        let valid_tool_calls = share(self.valid_calls, self.tool_calls);
        Some(StructuredResult {
            json_asked: self.json_asked,
            valid_json,
            valid_json_interval: bounds(valid_json, self.json_asked),
            tools_offered: self.tools_offered,
            with_calls: self.with_calls,
            tool_calls: self.tool_calls,
            valid_tool_calls,
            valid_tool_calls_interval: bounds(valid_tool_calls, self.tool_calls),
        })
    }
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
