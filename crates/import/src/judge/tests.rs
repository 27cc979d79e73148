use super::*;
use crate::doubt::ImportDoubtCode;
use inferometer_text::Lang;

fn codes(summary: &ImportedSummary) -> Vec<&'static str> {
    judge(summary, None)
        .into_iter()
        .map(|doubt| doubt.code().name())
        .collect()
}

fn spread(mean: f64, percentiles: [f64; 3]) -> Option<Spread> {
    let [p50, p95, p99] = percentiles.map(Some);
    Some(Spread {
        mean: Some(mean),
        p50,
        p95,
        p99,
        ..Spread::default()
    })
}

/// 10 streams, 1000 requests of 2 s and 50 tokens, 5 requests a second.
fn sound() -> ImportedSummary {
    let mut summary = ImportedSummary::default();
    summary.requests.planned = Some(1000);
    summary.requests.ok = Some(1000);
    summary.requests.failed = Some(0);
    summary.window_s = Some(200.0);
    summary.concurrency.configured = Some(10);
    summary.throughput.requests_per_s = Some(5.0);
    summary.throughput.output_tokens_per_s = Some(250.0);
    summary.tokens.output_mean = Some(50.0);
    summary.latency.ttft_ms = spread(100.0, [90.0, 180.0, 250.0]);
    summary.latency.e2e_ms = spread(1990.0, [1900.0, 2500.0, 2900.0]);
    summary
}

#[test]
fn a_sound_result_raises_no_doubt() {
    assert!(codes(&sound()).is_empty(), "{:?}", judge(&sound(), None));
}

#[test]
fn requests_are_lost_whether_or_not_failures_are_reported() {
    for failed in [None, Some(0), Some(2)] {
        let mut summary = sound();
        summary.requests.ok = Some(990);
        summary.requests.failed = failed;
        assert!(codes(&summary).contains(&"lost-requests"), "{failed:?}");
        assert_eq!(judge(&summary, None)[0].severity(), Invalid);
    }
    let mut summary = sound();
    (summary.requests.ok, summary.requests.failed) = (Some(995), Some(5));
    assert!(!codes(&summary).contains(&"lost-requests"));
}

#[test]
fn many_failures_are_a_warning_and_most_are_invalid() {
    for (failed, severity) in [(5, None), (50, Some(Warn)), (300, Some(Invalid))] {
        let mut summary = sound();
        (summary.requests.ok, summary.requests.failed) = (Some(1000 - failed), Some(failed));
        assert_eq!(
            failures(&summary).map(|doubt| doubt.severity()),
            severity,
            "{failed}"
        );
    }
}

#[test]
fn a_client_that_shrank_is_seen_by_littles_law() {
    let mut summary = sound();
    summary.concurrency.configured = Some(20);
    assert!(codes(&summary).contains(&"shrunk-concurrency"));
    // Without a latency, one user's speed gives it.
    summary.latency = Default::default();
    summary.speed.per_user_tokens_per_s = Some(Spread {
        mean: Some(25.0),
        ..Spread::default()
    });
    assert!(codes(&summary).contains(&"shrunk-concurrency"));
}

#[test]
fn a_short_run_drains_and_has_not_shrunk() {
    let mut summary = sound();
    summary.concurrency.configured = Some(64);
    (summary.requests.planned, summary.requests.ok) = (Some(100), Some(100));
    // 100 requests of 2 s in 64 streams: two waves, the second half empty.
    summary.window_s = Some(4.2);
    summary.throughput.requests_per_s = Some(100.0 / 4.2);
    assert!(shrunk_concurrency(&summary).is_none());
}

#[test]
fn ttft_that_equals_latency_was_not_streamed() {
    let mut summary = sound();
    summary.latency.ttft_ms = summary.latency.e2e_ms.clone();
    assert!(codes(&summary).contains(&"not-streamed"));
    // One token comes whole.
    summary.tokens.output_mean = Some(1.0);
    assert!(not_streamed(&summary).is_none());
}

#[test]
fn equal_percentiles_are_no_distribution() {
    let mut summary = sound();
    summary.latency.tpot_ms = spread(38.5, [38.5, 38.5, 38.5]);
    assert!(codes(&summary).contains(&"not-a-distribution"));
    summary.latency.tpot_ms = spread(0.0, [0.0, 0.0, 0.0]);
    assert!(
        not_a_distribution(&summary).is_empty(),
        "zeros are a value that was not measured"
    );
}

#[test]
fn latency_percentiles_must_rise_and_speeds_may_fall() {
    let mut summary = sound();
    summary.speed.per_user_tokens_per_s = spread(25.0, [24.0, 21.0, 20.0]);
    assert!(disordered_percentiles(&summary).is_empty());
    summary.latency.ttft_ms = spread(100.0, [90.0, 80.0, 250.0]);
    assert!(codes(&summary).contains(&"disordered-percentiles"));
}

#[test]
fn throughput_must_follow_from_the_counts() {
    let mut summary = sound();
    summary.throughput.output_tokens_per_s = Some(300.0);
    assert!(codes(&summary).contains(&"inconsistent-import"));
    // 0.02 requests a second is rounded by up to a quarter.
    let mut summary = sound();
    summary.window_s = None;
    summary.throughput.requests_per_s = Some(0.02);
    summary.throughput.output_tokens_per_s = Some(1.2);
    assert!(inconsistent(&summary).is_empty());
}

#[test]
fn outputs_that_end_at_one_value_are_capped() {
    let mut summary = sound();
    summary.tokens.output_spread = Some(Spread {
        p75: Some(512.0),
        p99: Some(512.0),
        max: Some(512.0),
        min: Some(1.0),
        ..Spread::default()
    });
    assert_eq!(codes(&summary), ["output-capped"]);
    summary.tokens.output_spread = None;
    summary.tokens.output_asked = Some(50.0);
    assert_eq!(codes(&summary), ["output-capped"]);
}

#[test]
fn a_small_sample_carries_no_p99() {
    let mut summary = sound();
    (summary.requests.planned, summary.requests.ok) = (Some(100), Some(100));
    summary.window_s = Some(20.5);
    let doubt = few_samples(&summary).expect("100 requests are few for a p99");
    let doubt = doubt.stated(Lang::En);
    assert!(
        doubt.text.contains("p99") && !doubt.text.contains("p95"),
        "{}",
        doubt.text
    );
    assert!(doubt.remedy.contains("459"), "{}", doubt.remedy);
}

#[test]
fn a_flood_without_cap_is_noted() {
    let mut summary = sound();
    summary.concurrency.configured = None;
    assert!(
        judge(&summary, Some(f64::INFINITY))
            .iter()
            .any(|doubt| doubt.code() == ImportDoubtCode::AllAtOnce)
    );
}

#[test]
fn a_client_that_sends_faster_than_asked_is_told_and_a_slower_server_is_not() {
    // 5 requests a second were completed.
    let told = |rate: f64| {
        let doubts = judge(&sound(), Some(rate));
        doubts
            .iter()
            .any(|doubt| doubt.code() == ImportDoubtCode::OtherRate)
    };
    assert!(told(3.3));
    assert!(!told(4.8) && !told(5.0) && !told(20.0));
}
