//! What a history of runs finds.

use inferometer_campaign::history::*;
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::Environment;
use inferometer_core::options::Options;
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::server::{DeviceSummary, ServerSummary};
use inferometer_core::summary::StatedDoubt;
use inferometer_core::summary::Summary;
use rand_distr::{Distribution as _, StandardNormal};

/// What a run says that was stored once.
fn stored() -> Summary {
    let text = include_str!("../../../../fixtures/run-v1/summary.json");
    serde_json::from_str(text).unwrap()
}

/// A run whose speed is off by a share, in a history that has a run every day.
fn run(day: usize, speed: f64, version: &str) -> PastRun {
    let mut summary = stored();
    summary.valid = true;
    summary.throughput.output_tokens_per_s = Some(1_000.0 * speed);
    for sample in [
        &mut summary.latency.ttft_ms,
        &mut summary.latency.tpot_ms,
        &mut summary.latency.e2e_ms,
    ] {
        let Some(sample) = sample else { continue };
        sample.mean = 100.0 / speed;
        sample.p99 = 300.0 / speed;
    }
    PastRun {
        path: format!("runs/{day}"),
        started: format!("2026-{:02}-{:02}T10:00:00Z", 1 + day / 28, 1 + day % 28),
        began: [day as i128, 0],
        summary,
        conditions: [("concurrency".to_owned(), "8".to_owned())].into(),
        facts: [("engine".to_owned(), format!("vllm {version}"))].into(),
    }
}

/// Noise of 3 % from run to run.
fn noise(seed: u64, day: usize) -> f64 {
    let noise: f64 = StandardNormal.sample(&mut rng(seed, Dimension::Words, day as u64));
    (0.03 * noise).exp()
}

fn history(seed: u64, days: usize, slower_from: usize) -> History {
    let runs = (0..days).map(|day| {
        if day < slower_from {
            run(day, noise(seed, day), "0.31.1")
        } else {
            run(day, noise(seed, day) / 1.15, "0.32.0")
        }
    });
    History::of(runs.collect(), &Settings::default())
}

#[test]
fn a_slower_version_is_found_dated_and_named() {
    let found = history(7, 40, 30);
    let [timeline] = &found.timelines[..] else {
        panic!("{found:?}");
    };
    assert_eq!((timeline.runs.len(), timeline.invalid), (40, 0));
    assert!(timeline.differs.is_empty());
    assert!(found.is_worse());
    for metric in &timeline.metrics {
        let [change] = &metric.changes[..] else {
            panic!("{metric:?}");
        };
        let truth = if metric.metric.more_is_better() {
            1.0 / 1.15
        } else {
            1.15
        };
        assert_eq!(change.between, [29, 30], "{change:?}");
        assert_eq!(change.started[1], "2026-02-03T10:00:00Z");
        assert!(
            change.low < truth && truth < change.high && change.worse,
            "{change:?}"
        );
        let [fact] = &change.facts[..] else {
            panic!("{change:?}");
        };
        assert_eq!(fact.from.as_deref(), Some("vllm 0.31.1"));
        assert_eq!(fact.to.as_deref(), Some("vllm 0.32.0"));
    }
    assert!(timeline.runs[0].new_facts.contains_key("engine"));
    assert!(timeline.runs[29].new_facts.is_empty());
    assert!(timeline.runs[30].new_facts.contains_key("engine"));
}

#[test]
fn what_changed_a_run_away_from_the_place_is_not_denied() {
    // The last run of the old version is slow by chance already.
    let speed = |day: usize| if day < 29 { 1.0 } else { 0.85 } * (0.002 * noise(3, day)).exp();
    let version = |day: usize| if day < 30 { "0.31.1" } else { "0.32.0" };
    let runs = (0..50).map(|day| run(day, speed(day), version(day)));
    let found = History::of(runs.collect(), &Settings::default());
    let metrics = &found.timelines[0].metrics;
    let change = metrics.iter().find_map(|it| it.changes.first()).unwrap();
    assert_eq!((change.between, change.facts.len()), ([28, 29], 0));
    assert_eq!(change.nearby[0].to.as_deref(), Some("vllm 0.32.0"));
}

#[test]
fn noise_alone_rarely_alarms_however_many_metrics_are_followed() {
    let independent = |seed: u64| {
        let runs = (0..30).map(|day| {
            let mut run = run(day, noise(seed, day), "1");
            for (nth, sample) in [
                &mut run.summary.latency.ttft_ms,
                &mut run.summary.latency.tpot_ms,
                &mut run.summary.latency.e2e_ms,
            ]
            .into_iter()
            .enumerate()
            {
                let Some(sample) = sample else { continue };
                sample.mean = noise(1_000 * (nth as u64 + 1) + seed, day);
                sample.p99 = noise(10_000 * (nth as u64 + 1) + seed, day);
            }
            run
        });
        History::of(runs.collect(), &Settings::default())
    };
    // Changes for the better are alarms as well.
    let alarms = (0..200).filter(|seed| {
        let found = independent(*seed);
        let metrics = found.timelines.iter().flat_map(|it| &it.metrics);
        metrics.clone().count() == 5 && metrics.clone().any(|it| !it.changes.is_empty())
    });
    let alarms = alarms.count();
    assert!(alarms <= 10, "{alarms} of 200");
}

#[test]
fn a_change_of_ten_percent_is_found_within_five_runs_whatever_is_followed() {
    let found = (0..500).filter(|seed| {
        let speed = |day: usize| if day < 25 { 1.0 } else { 1.0 / 1.1 };
        // Each metric has noise of its own.
        let runs = (0..30).map(|day| {
            let mut run = run(day, speed(day) * noise(*seed, day), "1");
            let latency = &mut run.summary.latency;
            let metrics = [
                &mut latency.ttft_ms,
                &mut latency.tpot_ms,
                &mut latency.e2e_ms,
            ];
            for (nth, sample) in metrics.into_iter().enumerate() {
                let Some(sample) = sample else { continue };
                let noise = |kind: u64| noise(kind * (nth as u64 + 1) + seed, day);
                sample.mean = 100.0 * noise(1_000) / speed(day);
                sample.p99 = 300.0 * noise(10_000) / speed(day);
            }
            run
        });
        History::of(runs.collect(), &Settings::default()).is_worse()
    });
    let found = found.count();
    assert!(found >= 450, "{found} of 500");
}

#[test]
fn a_scenario_whose_latest_runs_are_invalid_is_worse() {
    let history = |invalid: &[usize]| {
        let runs = (0..12).map(|day| {
            let mut run = run(day, noise(5, day), "1");
            run.summary.valid = !invalid.contains(&day);
            run
        });
        History::of(runs.collect(), &Settings::default())
    };
    let broken = history(&[3, 9, 10, 11]);
    assert!(broken.is_worse());
    let found = broken.timelines[0].broken.as_ref().unwrap();
    assert_eq!(
        (found.runs, found.started.as_str()),
        (3, "2026-01-10T10:00:00Z")
    );
    for passing in [&[3, 4, 5][..], &[11], &[8, 10]] {
        assert!(!history(passing).is_worse(), "{passing:?}");
    }
    // A server that fails every second time is not steady.
    let runs = (0..12).map(|day| {
        let mut run = run(day, noise(5, day), "1");
        if [8, 10].contains(&day) {
            run.summary.valid = false;
            run.summary.doubts.push(StatedDoubt {
                code: DoubtCode::Failures,
                severity: Severity::Invalid,
                text: String::new(),
                remedy: String::new(),
            });
        }
        run
    });
    let failing = History::of(runs.collect(), &Settings::default());
    assert!(failing.is_worse());
    let found = failing.timelines[0].broken.as_ref().unwrap();
    assert_eq!((found.runs, found.of), (2, Some(5)));
}

#[test]
fn what_recovered_is_not_worse_any_more_and_scenarios_are_told_apart() {
    let speed = |day: usize| if (20..30).contains(&day) { 0.8 } else { 1.0 };
    let mut runs: Vec<PastRun> = (0..50)
        .map(|day| run(day, speed(day) * noise(3, day), "1"))
        .collect();
    for day in 0..4 {
        let mut other = run(day, 1.0, "1");
        other.conditions = [("concurrency".to_owned(), "64".to_owned())].into();
        other.summary.valid = day > 0;
        runs.push(other);
    }
    let found = History::of(runs, &Settings::default());
    let [long, short] = &found.timelines[..] else {
        panic!("{found:?}");
    };
    assert_eq!(long.differs["concurrency"], "8");
    assert_eq!(long.metrics[0].changes.len(), 2);
    assert!(long.metrics[0].changes[0].worse && !found.is_worse());
    assert_eq!((short.runs.len(), short.invalid), (3, 1));
    assert!(short.metrics.iter().all(|it| it.changes.is_empty()));
}

#[test]
fn the_driver_of_the_devices_is_a_fact_that_may_explain_a_change() {
    let mut summary = stored();
    let device = DeviceSummary {
        driver: Some("570.86.15".to_owned()),
        ..DeviceSummary::default()
    };
    summary.server = Some(ServerSummary {
        devices: vec![DeviceSummary::default(), device],
        ..ServerSummary::default()
    });
    let options = Options::from_toml("[connection]\nurl = ['http://localhost:1']").unwrap();
    let (scenario, environment) = (options.resolve().unwrap(), Environment::default());
    let run = PastRun::of("a".to_owned(), [0, 0], &scenario, &environment, summary);
    assert_eq!(run.value("driver"), Some("570.86.15"));
}
