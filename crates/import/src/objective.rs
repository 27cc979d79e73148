//! Objectives judged by the figures that a result states. What it does not state is open, never met.

use crate::doubt::ImportDoubtCode;
use crate::summary::{ImportedSummary, Spread};
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_core::summary::{ObjectiveResult, SloResult};

/// Share of failed requests up to which a mean speaks for all.
const MOST_FAILED: f64 = 0.01;

impl ImportedSummary {
    /// Whether it meets objectives: those of percentiles that it does not give, and of every request
    /// where the longest is not known, stay open. A request that failed or was lost lasted longer than any limit.
    pub fn judged(&self, objectives: &[Slo]) -> SloResult {
        let results = objectives.iter().map(|slo| {
            let value_ms = self.stated(slo).filter(|value| value.is_finite());
            ObjectiveResult {
                objective: slo.to_string(),
                value_ms,
                share: None,
                met: value_ms.map(|value| {
                    let allowed = match slo.scope {
                        SloScope::Percentile(percent) => 1.0 - percent / 100.0,
                        SloScope::Request => 0.0,
                        _ => MOST_FAILED,
                    };
                    value <= limit_ms(slo) && self.requests.unanswered_share() <= allowed + 1e-9
                }),
            }
        });
        let objectives: Vec<ObjectiveResult> = results.collect();
        let is_missed = objectives.iter().any(|it| it.met == Some(false));
        let is_met = !objectives.is_empty() && objectives.iter().all(|it| it.met == Some(true));
        SloResult {
            attainment: None,
            attainment_interval: None,
            goodput_per_s: None,
            jobs: None,
            met: (is_missed || is_met).then_some(is_met),
            objectives,
        }
    }

    /// The figure that an objective limits.
    fn stated(&self, slo: &Slo) -> Option<f64> {
        if slo.metric == SloMetric::PerUser {
            return self.time_of_user(slo);
        }
        let spread = self.spread_of(slo.metric)?.without_copies();
        match slo.scope {
            // Every request is within it where the longest is, and one is not where any figure is not.
            SloScope::Request => {
                let ranks = spread.percentiles().into_iter().map(|(_, value)| value);
                let mut figures = ranks.chain(spread.mean);
                let beyond = figures.find(|value| *value > limit_ms(slo));
                beyond.or(spread.max)
            }
            SloScope::Session => None,
            SloScope::Mean => spread.mean,
            SloScope::Percentile(asked) => {
                let mut known = spread.percentiles().into_iter();
                known
                    .find(|(rank, _)| *rank == asked)
                    .map(|(_, value)| value)
            }
        }
    }

    /// The time of a token of one user, by the speed that is stated.
    fn time_of_user(&self, slo: &Slo) -> Option<f64> {
        let speed = self.speed.per_user_tokens_per_s.as_ref()?;
        let is_beyond = |speed: &f64| 1e3 / speed > limit_ms(slo);
        let speed = match slo.scope {
            SloScope::Mean => speed.mean,
            SloScope::Request => speed.mean.filter(is_beyond).or(speed.min),
            // Of some tools the fast end has the high percentile, of others the slow one.
            SloScope::Percentile(_) | SloScope::Session => None,
        };
        speed.filter(|speed| *speed > 0.0).map(|speed| 1e3 / speed)
    }

    fn spread_of(&self, metric: SloMetric) -> Option<&Spread> {
        // Without a stream there is no first token.
        let is_whole = (self.doubts.iter()).any(|it| it.code == ImportDoubtCode::NotStreamed);
        let latency = &self.latency;
        let streamed = |spread| Option::<&Spread>::filter(spread, |_| !is_whole);
        match metric {
            SloMetric::Ttft => streamed(latency.ttft_ms.as_ref()),
            SloMetric::Tpot => streamed(latency.tpot_ms.as_ref()),
            SloMetric::Itl => streamed(latency.itl_ms.as_ref()),
            SloMetric::MaxGap => streamed(latency.max_gap_ms.as_ref()),
            SloMetric::E2e => latency.e2e_ms.as_ref(),
            SloMetric::FirstAnswer | SloMetric::PerUser | SloMetric::Job => None,
        }
    }
}

fn limit_ms(slo: &Slo) -> f64 {
    1e3 * slo.limit.0.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_does_not_state_is_open_and_never_met() {
        let text = "Successful requests: 40\nRequest throughput (req/s): 2\nMean TTFT (ms): 100\n\
                    P99 TTFT (ms): 600\nP99.9 TTFT (ms): 700\nMean E2EL (ms): 900\n";
        let results = crate::read("notes.md", text).results;
        let summary = results[0].summary.as_ref().unwrap();
        let judged = |slos: &[&str]| {
            let slos: Vec<Slo> = slos.iter().map(|slo| slo.parse().unwrap()).collect();
            summary.judged(&slos)
        };
        assert_eq!(judged(&["ttft.p99=500ms"]).met, Some(false));
        assert_eq!(judged(&["ttft.p99=600ms"]).met, Some(true));
        assert_eq!(judged(&["ttft.p99.9=1s"]).met, Some(true));
        assert_eq!(judged(&["e2e.mean=1us"]).met, Some(false));
        for open in [
            "ttft.p97=1000s",
            "tpot.p99=1000s",
            "e2e.p99=1000s",
            "e2e=1000s",
        ] {
            let found = judged(&[open]);
            assert_eq!(
                (found.met, found.objectives[0].value_ms),
                (None, None),
                "{open}"
            );
        }
        assert_eq!(judged(&["ttft=1s"]).met, None, "one may be beyond p99.9");
        assert_eq!(judged(&["ttft=650ms"]).met, Some(false));
        assert_eq!(
            judged(&["e2e=800ms"]).met,
            Some(false),
            "beyond by the mean"
        );
        let whole = crate::read("notes.md", &format!("{text}Max TTFT (ms): 900\n")).results;
        let slo: Slo = "ttft=1s".parse().unwrap();
        assert_eq!(
            whole[0].summary.as_ref().unwrap().judged(&[slo]).met,
            Some(true)
        );
        let fast = format!("{text}单用户速度(tok/s): 25\n");
        let fast = crate::read("notes.md", &fast).results;
        let of_user = |slo: &str| {
            let slo: Slo = slo.parse().unwrap();
            fast[0].summary.as_ref().unwrap().judged(&[slo]).met
        };
        assert_eq!(of_user("per_user.mean>=20tok/s"), Some(true));
        assert_eq!(of_user("per_user.mean>=30tok/s"), Some(false));
        assert_eq!(
            of_user("per_user>=30tok/s"),
            Some(false),
            "one is below the mean"
        );
        assert_eq!(
            of_user("per_user>=20tok/s"),
            None,
            "the slowest is not stated"
        );
        assert_eq!(of_user("per_user.p99>=1tok/s"), None, "of which end?");
        let mut failing = summary.clone();
        failing.requests.failed = Some(1);
        let slo: Slo = "ttft.p99=600ms".parse().unwrap();
        assert_eq!(failing.judged(&[slo]).met, Some(false), "1 of 41");
        let slo: Slo = "ttft.p90=600ms".parse().unwrap();
        assert_eq!(failing.judged(&[slo]).met, None, "not stated");
        // One that is missed decides, one that is open leaves the others open.
        assert_eq!(judged(&["ttft.p99=500ms", "tpot.p99=1s"]).met, Some(false));
        assert_eq!(judged(&["ttft.p99=700ms", "tpot.p99=1s"]).met, None);
        assert_eq!(judged(&[]).met, None);
    }
}
