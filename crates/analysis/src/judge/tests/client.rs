//! Doubts about the client itself.

use crate::fold::testing::{MadeUp, answer, at, scenario, span};
use inferometer_core::doubt::{DoubtCode as Code, Severity};

#[test]
fn a_late_client_warns_and_a_very_late_one_is_invalid() {
    let late = |ms: f64| {
        MadeUp::open(200, |_| 200.0)
            .each(|record| record.due = record.sent.map(|sent| sent - span(ms as u64)))
    };
    assert_eq!(late(2.0).doubt(Code::ClientLate), None);
    assert_eq!(late(6.0).doubt(Code::ClientLate), Some(Severity::Warn));
    assert_eq!(late(60.0).doubt(Code::ClientLate), Some(Severity::Invalid));
}

#[test]
fn a_client_that_is_woken_late_warns_in_any_loop_and_is_invalid_if_that_spoils_the_first_token() {
    let woken = |mut run: MadeUp, late_ms: f64| {
        run.ending.pulse_p99_ms = Some(late_ms);
        run.doubt(Code::ClientLate)
    };
    let open = |ttft: f64| MadeUp::open(200, move |_| ttft);
    assert_eq!(woken(MadeUp::closed(8, 128), 4.0), None);
    for (run, late_ms, severity) in [
        (MadeUp::closed(8, 128), 6.0, Severity::Warn),
        (MadeUp::closed(8, 128), 190.0, Severity::Invalid),
        (slow_first_tokens(), 45.0, Severity::Warn),
        (slow_first_tokens(), 60.0, Severity::Invalid),
        (open(719.0), 6.0, Severity::Warn),
        (open(719.0), 100.0, Severity::Warn),
        (open(719.0), 562.0, Severity::Invalid),
        (open(250.0), 190.0, Severity::Invalid),
    ] {
        assert_eq!(woken(run, late_ms), Some(severity), "{late_ms}");
    }
}

#[test]
fn a_client_that_stood_still_once_is_told_though_no_percentile_shows_it() {
    let paused = |longest_ms: f64, p99_ms: f64| {
        let mut run = MadeUp::closed(8, 128);
        run.ending.pulse_p99_ms = Some(p99_ms);
        run.ending.longest_pause_ms = Some(longest_ms);
        run.doubt(Code::ClientLate)
    };
    assert_eq!(paused(900.0, 0.1), None);
    assert_eq!(paused(3_000.0, 0.1), Some(Severity::Warn));
    assert_eq!(paused(3_000.0, 190.0), Some(Severity::Invalid));
}

/// A closed loop in which a quarter of the median TTFT is long.
fn slow_first_tokens() -> MadeUp {
    let records = (0..40u64).map(|index| answer(index, index as f64 * 2_200.0, 2_000.0, 10, 20.0));
    let toml = "[load]\nconcurrency = 1\nrequests = 40";
    MadeUp::of(scenario(toml), records.collect())
}

#[test]
fn lag_counts_against_a_short_ttft_but_not_below_what_timers_can_do() {
    let late = |lag_ms: f64| {
        MadeUp::open(200, |_| 8.0).each(|record| {
            record.due = record.sent.map(|sent| at(sent.0 as f64 / 1e6 - lag_ms));
        })
    };
    assert_eq!(late(0.45).doubt(Code::ClientLate), None);
    assert_eq!(late(0.9).doubt(Code::ClientLate), Some(Severity::Warn));
}

#[test]
fn a_busy_client_warns_and_is_invalid_if_it_was_late_too() {
    let mut run = MadeUp::open(200, |_| 200.0);
    run.ending.thread_cpu_shares = vec![0.2, 0.95];
    assert_eq!(run.doubt(Code::ClientBusy), Some(Severity::Warn));
    run.ending.thread_cpu_shares = vec![0.2];
    assert_eq!(run.doubt(Code::ClientBusy), None);
    run.environment.ceiling_tokens_per_s = Some(800.0);
    assert_eq!(run.doubt(Code::ClientBusy), Some(Severity::Warn));
    let run = run.each(|record| record.due = record.sent.map(|sent| sent - span(8)));
    assert_eq!(run.doubt(Code::ClientBusy), Some(Severity::Invalid));
}
