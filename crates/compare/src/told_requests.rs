//! Another tool's result whose requests are told one by one: its figures stay as the tool has them,
//! and what they lack, above all intervals, comes from its requests as from those of a run of ours.

use super::sample::RunSample;
use super::series::Series;
use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::summarize;
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::options::{Count, Options};
use inferometer_core::record::Record;
use inferometer_core::scenario::{Rate, Scenario};
use inferometer_core::summary::{Distribution, Summary, Throughput};
use inferometer_text::Lang;

/// Largest share by which a figure may differ from that of the requests it is said to be of.
const OFF_BY: f64 = 0.05;

impl RunSample {
    /// The same with its answers; those that contradict its figures are left aside.
    pub fn with_answers(mut self, answers: Vec<Record>) -> Self {
        let Some(scenario) = self.told_scenario() else {
            return self;
        };
        let last = answers.iter().filter_map(|answer| answer.sent).max();
        let ending = Ending {
            planned: answers.len() as u64,
            sending_ended: last.unwrap_or_default(),
            ..Ending::default()
        };
        let context = RunContext {
            scenario: &scenario,
            environment: &Environment::default(),
            ending: &ending,
            lang: Lang::En,
        };
        let folded = summarize(&context, answers.iter().cloned());
        if !agree(&self.summary, &folded) {
            return self;
        }
        self.summary = completed(self.summary, &folded);
        self.series = Some(Series::of_records(answers));
        self
    }

    /// The load, as our own options say it.
    fn told_scenario(&self) -> Option<Scenario> {
        let mut options = Options::default();
        if self.point.is_open_loop() {
            let rate = self.point.0.get("rate")?.as_f64()?;
            options.load.rate = Some(Rate(rate));
        } else {
            match self.summary.concurrency.configured.filter(|&it| it > 0) {
                Some(streams) => options.load.concurrency = Some(Count(streams.into())),
                None => options.load.rate = Some(Rate(f64::INFINITY)),
            }
        }
        options.resolve().ok()
    }
}

fn is_near(stated: f64, own: f64) -> bool {
    !stated.is_finite() || (own / stated - 1.0).abs() <= OFF_BY
}

/// Whether the figures are those of the requests.
fn agree(stated: &Summary, own: &Summary) -> bool {
    let latency = |of: fn(&Summary) -> Option<Distribution>| {
        let (stated, own) = (of(stated), of(own));
        stated
            .zip(own)
            .is_none_or(|(it, own)| is_near(it.mean, own.mean))
    };
    let counted = stated.requests.ok;
    latency(|it| it.latency.ttft_ms)
        && latency(|it| it.latency.tpot_ms)
        && latency(|it| it.latency.e2e_ms)
        && (counted == 0 || counted == own.requests.ok)
}

/// The summary with the intervals of its requests, and with figures that it does not state.
fn completed(mut stated: Summary, own: &Summary) -> Summary {
    let latency = &mut stated.latency;
    for (stated, own) in [
        (&mut latency.ttft_ms, own.latency.ttft_ms),
        (&mut latency.tpot_ms, own.latency.tpot_ms),
        (&mut latency.e2e_ms, own.latency.e2e_ms),
        (&mut latency.max_gap_ms, own.latency.max_gap_ms),
    ] {
        *stated = match (*stated, own) {
            (Some(stated), Some(own)) => Some(with_intervals(stated, own)),
            (stated, own) => stated.or(own),
        };
    }
    let rates = stated.throughput;
    let around = |rate: Option<f64>, interval: Option<[f64; 2]>| {
        interval.filter(|[low, high]| rate.is_some_and(|rate| (*low..=*high).contains(&rate)))
    };
    let own = own.throughput;
    stated.throughput = Throughput {
        requests_per_s_interval: around(rates.requests_per_s, own.requests_per_s_interval),
        output_tokens_per_s_interval: around(
            rates.output_tokens_per_s,
            own.output_tokens_per_s_interval,
        ),
        requests_needed: own.requests_needed,
        ..rates
    };
    stated
}

fn with_intervals(stated: Distribution, own: Distribution) -> Distribution {
    let known = |stated: f64, own: f64| if stated.is_finite() { stated } else { own };
    Distribution {
        n: own.n,
        mean: known(stated.mean, own.mean),
        std: stated.std.or(own.std),
        min: known(stated.min, own.min),
        p50: known(stated.p50, own.p50),
        p75: known(stated.p75, own.p75),
        p90: known(stated.p90, own.p90),
        p95: known(stated.p95, own.p95),
        p99: known(stated.p99, own.p99),
        max: known(stated.max, own.max),
        ..own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Basis, Group, Settings, Verdict, compare};
    use inferometer_analysis::fold::testing::{MadeUp, answer, noise};
    use inferometer_core::point::Point;
    use serde_json::json;

    /// A closed loop of 16 streams, a token every `gap` ms, as another tool tells it.
    fn told(name: &str, gap: f64, salt: u64) -> Group {
        let mut free = [0.0f64; 16];
        let answers: Vec<Record> = (0..500)
            .map(|index| {
                let stream = index as usize % 16;
                let sent = free[stream];
                let ttft = 80.0 + 40.0 * noise(index + salt);
                free[stream] = sent + ttft + 31.0 * gap;
                answer(index, sent, ttft, 32, gap)
            })
            .collect();
        let load = "[load]\nconcurrency = 16\nrequests = 500\n";
        let scenario = inferometer_analysis::fold::testing::scenario(load);
        let mut summary = MadeUp::of(scenario, answers.clone()).summary();
        summary.doubts.clear();
        summary.valid = true;
        // What the tool prints.
        let bare = |it: Option<Distribution>| {
            it.map(|it| Distribution {
                p50_interval: None,
                mean_interval: None,
                p99_interval: None,
                requests_needed: None,
                ..it
            })
        };
        let latency = &mut summary.latency;
        (latency.ttft_ms, latency.tpot_ms) = (bare(latency.ttft_ms), bare(latency.tpot_ms));
        (latency.e2e_ms, latency.max_gap_ms) = (None, None);
        summary.throughput.requests_per_s_interval = None;
        summary.throughput.output_tokens_per_s_interval = None;
        summary.throughput.requests_needed = None;
        let point: Point =
            serde_json::from_value(json!({ "concurrency": 16, "rate": "inf" })).unwrap();
        let run = RunSample::imported("vllm", point, summary).with_answers(answers);
        Group {
            name: name.to_owned(),
            runs: vec![run],
            ..Group::default()
        }
    }

    #[test]
    fn requests_that_are_told_decide_as_those_of_a_run_of_ours() {
        let compared = |a, b| {
            let groups = [told("a", a, 0), told("b", b, 1000)];
            let found = compare(&groups, &Settings::default());
            let row = found.rows.into_iter().find(|row| row.primary).unwrap();
            assert_eq!(row.basis, Basis::OneRunEach);
            row.verdict
        };
        assert_eq!(compared(10.0, 12.0), Verdict::Worse);
        assert_eq!(compared(12.0, 10.0), Verdict::Better);
        assert!(matches!(
            compared(10.0, 10.0),
            Verdict::Same | Verdict::Unknown
        ));
    }

    #[test]
    fn figures_stay_the_tools_own_and_what_it_lacks_is_added() {
        let Group { runs, .. } = told("a", 10.0, 0);
        let summary = &runs[0].summary;
        assert!(summary.latency.ttft_ms.unwrap().mean_interval.is_some());
        assert!(summary.latency.ttft_ms.unwrap().p99_interval.is_some());
        assert!((400.0..420.0).contains(&summary.latency.e2e_ms.unwrap().mean));
        assert_eq!(runs[0].series.as_ref().unwrap().e2e_ms().len(), 500);
    }

    #[test]
    fn requests_that_contradict_the_figures_are_left_aside() {
        let Group { runs, .. } = told("a", 10.0, 0);
        let mut stated = runs[0].clone();
        stated.series = None;
        let faster: Vec<Record> = (0..500)
            .map(|index| answer(index, 30.0 * index as f64, 40.0, 32, 10.0))
            .collect();
        assert_eq!(stated.clone().with_answers(faster), stated);
    }
}
