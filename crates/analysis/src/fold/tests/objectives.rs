//! What was promised, and whether it was kept.

use super::*;

fn objectives(text: &str) -> inferometer_core::summary::SloResult {
    let mut run = MadeUp::closed(8, 200);
    run.scenario = scenario(&format!("[load]\nconcurrency = 8\n[objectives]\n{text}"));
    run.records[0].outcome = Outcome::Cut;
    run.summary().slo.unwrap()
}

#[test]
fn attainment_is_a_share_of_all_requests_and_every_one_counts_unless_a_share_is_asked() {
    let one_missed = objectives("slo = ['ttft=1s', 'e2e=10s']");
    assert!(close(one_missed.attainment, 199.0 / 200.0));
    assert_eq!(one_missed.met, Some(false));
    assert!(one_missed.goodput_per_s.unwrap() > 0.0);
    assert_eq!(
        objectives("slo = ['ttft=1s']\nattainment = 0.99").met,
        Some(true)
    );
    let missed = objectives("slo = ['ttft=1s', 'e2e=1ms']\nattainment = 0.5");
    assert_eq!((missed.met, missed.attainment), (Some(false), Some(0.0)));
    assert!(close(missed.objectives[0].share, 0.995));
}

#[test]
fn a_mean_says_nothing_of_requests_that_failed() {
    let judged = |failed: usize| {
        let mut run = MadeUp::closed(8, 200);
        run.scenario = scenario("[load]\nconcurrency = 8\n[objectives]\nslo = ['e2e.mean=60s']");
        for record in run.records.iter_mut().take(failed) {
            record.outcome = Outcome::Failed(inferometer_core::record::Failure {
                phase: inferometer_core::record::Phase::Status,
                class: inferometer_core::record::FailureClass::ServerError,
                detail: String::new(),
            });
        }
        run.summary().slo.unwrap().met
    };
    assert_eq!(judged(0), Some(true));
    assert_eq!(judged(2), Some(true));
    assert_eq!(judged(40), Some(false));
}

#[test]
fn an_answer_that_cannot_be_judged_leaves_its_objective_undecided() {
    let judged = |text: &str| {
        let mut run = MadeUp::closed(8, 200);
        run.scenario = scenario(&format!("[load]\nconcurrency = 8\n[objectives]\n{text}"));
        run.records[7].usage = None;
        run.summary().slo.unwrap()
    };
    let open = judged("slo = ['tpot=1s', 'ttft=1s']\nattainment = 0.5");
    assert_eq!(open.outcome(), SloOutcome::Undecided);
    assert_eq!((open.attainment, open.goodput_per_s), (None, None));
    assert_eq!(
        (open.objectives[0].share, open.objectives[0].met),
        (None, None)
    );
    assert_eq!(open.objectives[1].met, Some(true));
    // Another objective that this answer misses decides for it.
    let missed = judged("slo = ['tpot=1s', 'ttft=1us']");
    assert_eq!(
        (missed.outcome(), missed.attainment),
        (SloOutcome::Missed, Some(0.0))
    );
}

#[test]
fn an_arrival_that_never_got_past_the_cap_is_cut_and_misses_every_objective() {
    let mut run = MadeUp::open(100, |_| 50.0);
    let toml = "[load]\nrate = 20\nmax-concurrency = 4\nduration = '5s'\n";
    run.scenario = scenario(&format!("{toml}[objectives]\nslo = ['ttft=1s', 'tpot=1s']"));
    let before = run.summary();
    assert_eq!(before.slo.unwrap().outcome(), SloOutcome::Met);
    run.records.extend((100..125).map(|index| Record {
        index,
        due: Some(at(4000.0 + index as f64)),
        cap_wait: Some(crate::fold::testing::span(500)),
        streamed: true,
        ..Record::default()
    }));
    run.ending.planned = 125;
    let after = run.summary();
    let slo = after.slo.as_ref().unwrap();
    assert!(close(slo.attainment, 0.8) && close(slo.objectives[1].share, 0.8));
    assert_eq!(slo.outcome(), SloOutcome::Missed);
    let accounts = after.requests;
    assert_eq!((accounts.ok, accounts.cut, accounts.unsent), (100, 25, 0));
    assert!(
        after
            .doubts
            .iter()
            .all(|doubt| doubt.severity == Severity::Note)
    );
    assert_eq!(after.latency, before.latency);
    assert_eq!(
        (after.window_s, after.concurrency),
        (before.window_s, before.concurrency)
    );
}

#[test]
fn percentile_objectives_judge_the_run_and_an_absent_metric_leaves_it_open() {
    let met = objectives("slo = ['ttft.p99=1s', 'itl.p50=20ms', 'tpot.mean=11ms']");
    assert_eq!(met.met, Some(true));
    assert_eq!((met.attainment, met.goodput_per_s), (None, None));
    assert!(close(met.objectives[1].value_ms, 10.0));
    assert_eq!(objectives("slo = ['ttft.p50=1ms']").met, Some(false));
    let mut whole = two().each(|record| {
        record.streamed = false;
        record.chunks = Default::default();
    });
    whole.scenario = scenario("[load]\nconcurrency = 1\n[objectives]\nslo = ['ttft.p50=1ms']");
    assert_eq!(whole.summary().slo.unwrap().met, None);
}

#[test]
fn an_objective_of_a_users_speed_is_judged_by_the_speeds_that_are_stated() {
    let speed = MadeUp::closed(8, 200).summary().speed;
    let speed = speed.per_user_tokens_per_s.unwrap();
    let judged =
        |scope: &str, least: f64| objectives(&format!("slo = ['per_user{scope}={least}']"));
    let mean = judged(".mean", 0.9 * speed.mean);
    assert!((1e3 / mean.objectives[0].value_ms.unwrap() / speed.mean - 1.0).abs() < 0.01);
    assert_eq!(judged(".mean", 1.1 * speed.mean).met, Some(false));
    assert_eq!(judged(".p90", 0.5 * speed.min).met, Some(true));
    assert_eq!(judged(".p90", 1.1 * speed.max).met, Some(false));
    let each = judged("", 0.5 * speed.min);
    assert!(
        close(each.attainment, 199.0 / 200.0),
        "one was cut: {each:?}"
    );
}

#[test]
fn a_percentile_counts_failed_requests_as_longer_than_any_limit() {
    let judged = |failed: usize, slo: &str| {
        let mut run = MadeUp::closed(8, 200);
        let text = format!("[load]\nconcurrency = 8\n[objectives]\nslo = ['{slo}']");
        run.scenario = scenario(&text);
        for record in &mut run.records[..failed] {
            record.outcome = Outcome::Failed(Failure {
                phase: Phase::Status,
                class: FailureClass::ServerError,
                detail: String::new(),
            });
        }
        let slo = run.summary().slo.unwrap();
        assert!(slo.objectives[0].value_ms.is_some());
        slo.met
    };
    assert_eq!(judged(0, "ttft.p95=10s"), Some(true));
    assert_eq!(judged(8, "ttft.p95=10s"), Some(true), "96 % were answered");
    assert_eq!(judged(12, "ttft.p95=10s"), Some(false), "94 % were");
    assert_eq!(judged(12, "ttft.p50=10s"), Some(true));
}
