//! The highest load at which each side still meets its objectives.

use super::sample::RunSample;
use super::{Group, Verdict};
use inferometer_core::point::Point;
use inferometer_core::summary::Summary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far a ladder of loads meets its objectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithinSlo {
    pub group: String,
    /// What the loads of the ladder have in common, beside the load itself.
    pub setting: Point,
    pub objectives: Vec<String>,
    /// What the load counts: `concurrency` or `rate`.
    pub load: String,
    /// The highest load that meets all objectives, as every lower one does that was measured
    /// validly; absent where the lowest does not.
    pub met_up_to: Option<f64>,
    /// The next load that misses one; absent where none was measured.
    pub missed_at: Option<f64>,
    /// The first load above those that are met, where its result does not state what an objective
    /// is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_stated_at: Option<f64>,
    /// Requests a second at `met_up_to`.
    pub requests_per_s: Option<f64>,
    /// Output tokens a second at `met_up_to`.
    pub output_tokens_per_s: Option<f64>,
    /// Cards that served it, where that is stated.
    pub cards: Option<f64>,
    /// Against the baseline, which has none.
    pub verdict: Option<Verdict>,
    /// The same by the load of one card, where the sides differ in the number of cards.
    pub verdict_per_card: Option<Verdict>,
}

impl WithinSlo {
    /// The highest load that is met, as far as the ladder tells: between these.
    fn bounds(&self, cards: f64) -> (f64, f64) {
        let low = self.met_up_to.unwrap_or(0.0);
        (low / cards, self.missed_at.unwrap_or(f64::INFINITY) / cards)
    }

    fn against(&self, baseline: &WithinSlo, cards: [f64; 2]) -> Verdict {
        if self.objectives != baseline.objectives || self.load != baseline.load {
            return Verdict::NotComparable;
        }
        let (a, b) = (baseline.bounds(cards[0]), self.bounds(cards[1]));
        if b.0 >= a.1 {
            Verdict::Better
        } else if a.0 >= b.1 {
            Verdict::Worse
        } else if a == b && a.1.is_finite() {
            Verdict::Same
        } else {
            Verdict::Unknown
        }
    }

    fn judged(mut self, baseline: &WithinSlo) -> WithinSlo {
        self.verdict = Some(self.against(baseline, [1.0, 1.0]));
        let cards = baseline.cards.zip(self.cards).filter(|(a, b)| a != b);
        self.verdict_per_card = cards.map(|(a, b)| self.against(baseline, [a, b]));
        self
    }
}

/// Every ladder of two loads or more that has objectives, those of the baseline first.
pub(super) fn of_groups(groups: &[Group]) -> Vec<WithinSlo> {
    let Some((baseline, others)) = groups.split_first() else {
        return Vec::new();
    };
    let baseline = of_group(baseline);
    let others = others.iter().flat_map(of_group).map(|ladder| {
        match (baseline.iter()).find(|it| it.setting.key() == ladder.setting.key()) {
            Some(partner) => ladder.judged(partner),
            None => ladder,
        }
    });
    let others: Vec<WithinSlo> = others.collect();
    baseline.into_iter().chain(others).collect()
}

/// Runs with their loads.
type Levels<'a> = Vec<(f64, &'a RunSample)>;

fn of_group(group: &Group) -> Vec<WithinSlo> {
    let mut ladders: BTreeMap<(String, &str), (Point, Levels<'_>)> = BTreeMap::new();
    for run in group.counted() {
        let mut setting = run.point.clone();
        let found = ["concurrency", "rate"].iter().find_map(|axis| {
            let level = setting.0.remove(*axis)?;
            Some((*axis, number(&level)?))
        });
        if let Some((axis, level)) = found {
            let entry = ladders.entry((setting.key(), axis));
            let (_, runs) = entry.or_insert((setting, Vec::new()));
            runs.push((level, run));
        }
    }
    let ladders = ladders
        .into_iter()
        .filter_map(|((key, axis), (setting, runs))| {
            let ladder = of_ladder(runs)?;
            // A server that ran out of memory meets nothing.
            let exhausted = group.out_of_memory.iter().filter_map(|point| {
                let mut setting = point.clone();
                let level = number(&setting.0.remove(axis)?)?;
                (setting.key() == key && Some(level) > ladder.met_up_to).then_some(level)
            });
            let missed_at = exhausted.chain(ladder.missed_at).reduce(f64::min);
            Some(WithinSlo {
                group: group.name.clone(),
                setting,
                load: axis.to_owned(),
                missed_at,
                ..ladder
            })
        });
    ladders.collect()
}

fn number(value: &serde_json::Value) -> Option<f64> {
    let number = match value {
        serde_json::Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    };
    number.filter(|number| f64::is_finite(*number))
}

fn of_ladder(mut runs: Levels<'_>) -> Option<WithinSlo> {
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let objectives = |run: &RunSample| -> Option<Vec<String>> {
        let results = run.summary.slo.as_ref()?.objectives.iter();
        Some(results.map(|it| it.objective.clone()).collect())
    };
    let wanted = objectives(runs.first()?.1).filter(|all| !all.is_empty())?;
    let alike = |(_, run): &(f64, &RunSample)| objectives(run).as_ref() == Some(&wanted);
    let levels: Vec<&[(f64, &RunSample)]> = runs.chunk_by(|a, b| a.0 == b.0).collect();
    if levels.len() < 2 || !runs.iter().all(alike) {
        return None;
    }
    // An invalid run says nothing of its load, neither that it meets the objectives nor that not.
    let is_known = |level: &&[(f64, &RunSample)]| level.iter().all(|it| it.1.summary.valid);
    let levels: Vec<&[(f64, &RunSample)]> = levels.into_iter().filter(is_known).collect();
    let met = |(_, run): &(f64, &RunSample)| run.summary.slo.as_ref().and_then(|slo| slo.met);
    let meets = |level: &&&[(f64, &RunSample)]| {
        (level.iter()).all(|it| it.1.summary.did_the_work() && met(it) == Some(true))
    };
    let misses = |level: &&&[(f64, &RunSample)]| level.iter().any(|it| met(it) == Some(false));
    let good = levels.iter().take_while(meets).count();
    let best = good.checked_sub(1).map(|last| levels[last]);
    let mean = |of: fn(&Summary) -> Option<f64>| {
        let values: Option<Vec<f64>> = best?.iter().map(|(_, run)| of(&run.summary)).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    };
    let is_open = |level: &&&[(f64, &RunSample)]| {
        let has_work = level.iter().all(|it| it.1.summary.did_the_work());
        has_work && level.iter().any(|it| met(it).is_none()) && !misses(level)
    };
    let cards = runs[0].1.summary.cards();
    let one_number = runs.iter().all(|(_, run)| run.summary.cards() == cards);
    Some(WithinSlo {
        group: String::new(),
        setting: Point::default(),
        objectives: wanted,
        load: String::new(),
        met_up_to: best.map(|level| level[0].0),
        missed_at: levels[good..].iter().find(misses).map(|level| level[0].0),
        not_stated_at: levels[good..]
            .first()
            .filter(is_open)
            .map(|level| level[0].0),
        requests_per_s: mean(|summary| summary.throughput.requests_per_s),
        output_tokens_per_s: mean(|summary| summary.throughput.output_tokens_per_s),
        cards: cards.filter(|_| one_number),
        verdict: None,
        verdict_per_card: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_analysis::fold::testing::MadeUp;
    use inferometer_core::summary::{ObjectiveResult, SloResult};
    use serde_json::json;

    /// A run at a load whose TTFT is so many milliseconds, judged by `ttft.p99=100ms`.
    fn run(concurrency: u32, ttft_ms: f64, cards: u32) -> RunSample {
        let mut summary = MadeUp::closed(4, 200).summary();
        summary.valid = true;
        summary.doubts.clear();
        summary.tags.insert("cards".to_owned(), cards.to_string());
        let sample = summary.latency.ttft_ms.as_mut().unwrap();
        sample.p99 = ttft_ms;
        let met = Some(ttft_ms <= 100.0);
        summary.slo = Some(SloResult {
            attainment: None,
            attainment_interval: None,
            goodput_per_s: None,
            jobs: None,
            objectives: vec![ObjectiveResult {
                objective: "ttft.p99=100ms".to_owned(),
                value_ms: Some(ttft_ms),
                share: None,
                met,
            }],
            met,
        });
        let point = json!({"concurrency": concurrency});
        RunSample::imported("vllm", serde_json::from_value(point).unwrap(), summary)
    }

    fn group(name: &str, cards: u32, loads: &[(u32, f64)]) -> Group {
        let runs = loads.iter().map(|(load, ttft)| run(*load, *ttft, cards));
        Group {
            name: name.to_owned(),
            runs: runs.collect(),
            ..Group::default()
        }
    }

    fn verdicts(a: &[(u32, f64)], b: &[(u32, f64)], cards: u32) -> [Option<Verdict>; 2] {
        let ladders = of_groups(&[group("a", 1, a), group("b", cards, b)]);
        assert_eq!(ladders.len(), 2);
        [ladders[1].verdict, ladders[1].verdict_per_card]
    }

    #[test]
    fn what_no_result_states_is_neither_met_nor_missed() {
        let mut open = group("a", 1, &[(8, 40.0), (32, 60.0), (64, 190.0)]);
        for run in &mut open.runs[..2] {
            let slo = run.summary.slo.as_mut().unwrap();
            (slo.met, slo.objectives[0].met) = (None, None);
        }
        let ladders = of_groups(&[open, group("b", 1, &[(8, 40.0), (32, 60.0)])]);
        let found = &ladders[0];
        assert_eq!((found.met_up_to, found.not_stated_at), (None, Some(8.0)));
        assert_eq!(ladders[1].not_stated_at, None);
    }

    #[test]
    fn a_load_at_which_memory_ran_out_is_missed() {
        let mut exhausted = group("a", 1, &[(8, 40.0), (32, 60.0)]);
        let point = serde_json::from_value(json!({"concurrency": 64})).unwrap();
        exhausted.out_of_memory.push(point);
        let further = group("b", 1, &[(8, 40.0), (32, 60.0), (64, 90.0)]);
        let ladders = of_groups(&[exhausted, further]);
        assert_eq!(ladders[0].missed_at, Some(64.0));
        assert_eq!(ladders[1].verdict, Some(Verdict::Better));
    }

    #[test]
    fn a_ladder_counts_up_to_its_first_miss() {
        let ladder = &of_groups(&[group("a", 2, &[(32, 90.0), (8, 40.0), (16, 120.0)])])[0];
        assert_eq!(
            (ladder.met_up_to, ladder.missed_at),
            (Some(8.0), Some(16.0))
        );
        assert_eq!(ladder.cards, Some(2.0));
        let ladder = &of_groups(&[group("a", 2, &[(8, 140.0), (16, 150.0)])])[0];
        assert_eq!((ladder.met_up_to, ladder.missed_at), (None, Some(8.0)));
    }

    #[test]
    fn an_invalid_run_says_nothing_of_its_load() {
        let mut group = group(
            "a",
            1,
            &[(4, 40.0), (8, 40.0), (16, 50.0), (32, 60.0), (64, 150.0)],
        );
        for place in [1, 3] {
            group.runs[place].summary.valid = false;
        }
        let ladder = &of_groups(&[group])[0];
        let found = (ladder.met_up_to, ladder.missed_at);
        assert_eq!(found, (Some(16.0), Some(64.0)));
    }

    #[test]
    fn a_load_that_one_side_meets_and_the_other_misses_decides() {
        let low = [(8, 50.0), (16, 150.0), (32, 250.0)];
        let high = [(8, 50.0), (16, 60.0), (32, 150.0)];
        let endless = [(8, 50.0), (16, 60.0), (32, 70.0)];
        assert_eq!(verdicts(&low, &high, 1), [Some(Verdict::Better), None]);
        assert_eq!(verdicts(&high, &low, 1), [Some(Verdict::Worse), None]);
        assert_eq!(verdicts(&low, &low, 1), [Some(Verdict::Same), None]);
        assert_eq!(
            verdicts(&endless, &endless, 1),
            [Some(Verdict::Unknown), None]
        );
    }

    #[test]
    fn twice_the_load_on_twice_the_cards_is_no_gain_of_a_card() {
        let low = [(8, 50.0), (16, 150.0), (32, 250.0)];
        let high = [(8, 50.0), (16, 60.0), (32, 150.0)];
        let both = [Some(Verdict::Better), Some(Verdict::Same)];
        assert_eq!(verdicts(&low, &high, 2), both);
        let both = [Some(Verdict::Better), Some(Verdict::Worse)];
        assert_eq!(verdicts(&low, &high, 4), both);
    }
}
