use super::*;
use crate::fold::testing::{answer, at};
use inferometer_core::record::Stage;
use inferometer_core::server::{EngineState, Total};
use inferometer_core::trace_id::TraceId;

/// Fifty answers, one after the other, of which the last is slow.
fn fast(count: u64) -> Vec<Record> {
    (0..count)
        .map(|i| answer(i, i as f64 * 100.0, 40.0, 5, 10.0))
        .collect()
}

fn sample(ms: f64, state: EngineState) -> Sample {
    Sample {
        at: at(ms),
        engine: Some(state),
        ..Sample::default()
    }
}

fn total(sum: f64, count: f64) -> Option<Total> {
    Some(Total { sum, count })
}

fn share(explanation: &Explanation, cause: Cause) -> f64 {
    let part = explanation.parts.iter().find(|part| part.cause == cause);
    part.map_or(0.0, |part| part.share)
}

fn adds_up(explanation: &Explanation) {
    let sum: f64 = explanation.parts.iter().map(|part| part.ms).sum();
    assert!((sum - explanation.mean_ms).abs() < 1e-6, "{explanation:?}");
}

#[test]
fn a_wait_that_the_server_tells_of_is_queueing() {
    let mut records = fast(50);
    records.push(answer(50, 5000.0, 1000.0, 5, 10.0));
    let state = |sum: f64, prefill: f64, count| EngineState {
        queue_s: total(sum, count),
        prefill_s: total(prefill, count),
        ..EngineState::default()
    };
    let samples = [
        sample(0.0, state(0.0, 0.0, 0.0)),
        sample(6000.0, state(0.05, 1.5, 50.0)),
        sample(6200.0, state(0.95, 1.53, 51.0)),
    ];
    let why = explain(&records, &samples, &Spans::default(), Explained::Ttft, 99.0).unwrap();
    assert_eq!((why.requests, why.main()), (1, Some(Cause::Queueing)));
    assert!((share(&why, Cause::Queueing) - 0.9).abs() < 1e-6, "{why:?}");
    assert!((share(&why, Cause::Prefill) - 0.03).abs() < 1e-6);
    assert!((share(&why, Cause::Unknown) - 0.07).abs() < 1e-6);
    adds_up(&why);
    assert!(why.evidence.iter().any(|seen| matches!(
        seen,
        Evidence::ServerQueue { slow_ms, run_ms } if (slow_ms - 900.0).abs() < 1e-6 && *run_ms < 20.0
    )));
}

#[test]
fn a_server_that_says_nothing_leaves_the_time_unknown() {
    let why = explain(&fast(50), &[], &Spans::default(), Explained::Ttft, 99.0).unwrap();
    assert_eq!(why.main(), None);
    assert_eq!(share(&why, Cause::Unknown), 1.0);
    assert_eq!(why.evidence, [Evidence::ServerSilent]);
}

#[test]
fn a_late_client_is_the_clients_own_fault() {
    let mut records = fast(50);
    records.push(Record {
        due: Some(at(4000.0)),
        ..answer(50, 5000.0, 40.0, 5, 10.0)
    });
    let why = explain(&records, &[], &Spans::default(), Explained::Ttft, 99.0).unwrap();
    assert_eq!(why.main(), Some(Cause::Client));
    adds_up(&why);
}

#[test]
fn a_queue_that_was_seen_stands_in_for_times_that_the_server_does_not_tell() {
    let mut records = fast(50);
    records.push(answer(50, 5000.0, 1000.0, 5, 10.0));
    let waiting = |queue| EngineState {
        waiting: Some(queue),
        ..EngineState::default()
    };
    let seen = [2.0, 2.0, 1.0, 0.0];
    let samples: Vec<Sample> = seen
        .iter()
        .enumerate()
        .map(|(i, queue)| sample(5100.0 + 200.0 * i as f64, waiting(*queue)))
        .collect();
    let why = explain(&records, &samples, &Spans::default(), Explained::Ttft, 99.0).unwrap();
    assert!((share(&why, Cause::Queueing) - 0.75).abs() < 1e-9);
    assert!((share(&why, Cause::Prefill) - 0.25).abs() < 1e-9);
    let too_few = explain(
        &records,
        &samples[..2],
        &Spans::default(),
        Explained::Ttft,
        99.0,
    )
    .unwrap();
    assert_eq!(too_few.main(), None);
}

/// An answer of 20 tokens that stalls for 500 ms after its tenth.
fn stalled(sent: f64) -> Record {
    let mut record = answer(50, sent, 40.0, 20, 10.0);
    for moment in &mut record.chunks.at[10..] {
        *moment = *moment + Duration::from_millis(500);
    }
    record.end = record.chunks.at.last().copied();
    record
}

#[test]
fn a_stall_that_ends_with_anothers_first_token_is_interference() {
    let mut records = fast(50);
    records.push(stalled(9000.0));
    // Its prompt was worked on from about 9140 to 9640.
    records.push(answer(51, 9135.0, 505.0, 2, 10.0));
    let why = explain(&records, &[], &Spans::default(), Explained::E2e, 99.0).unwrap();
    assert_eq!(why.main(), Some(Cause::Interference), "{why:?}");
    assert!(why.evidence.iter().any(|seen| matches!(
        seen,
        Evidence::Stalls {
            count: 1,
            interfered: 1,
            preempted: 0,
            ..
        }
    )));
    adds_up(&why);
}

/// The server throws a request back between 9.2 s and 9.4 s.
fn preempting() -> [Sample; 4] {
    let thrown = |count| EngineState {
        preemptions: Some(count),
        ..EngineState::default()
    };
    [
        sample(9000.0, thrown(3.0)),
        sample(9200.0, thrown(3.0)),
        sample(9400.0, thrown(4.0)),
        sample(9700.0, thrown(4.0)),
    ]
}

#[test]
fn an_answer_that_stalls_alone_with_a_preemption_was_thrown_back() {
    let mut records = fast(50);
    records.push(stalled(9000.0));
    let alone = explain(&records, &[], &Spans::default(), Explained::E2e, 99.0).unwrap();
    assert!(share(&alone, Cause::Unknown) > 0.6, "{alone:?}");
    // Another goes on all the while, and a third begins.
    records.push(answer(51, 8900.0, 40.0, 60, 10.0));
    records.push(answer(52, 9600.0, 40.0, 2, 10.0));
    let quiet = explain(&records, &[], &Spans::default(), Explained::E2e, 99.0).unwrap();
    assert!(share(&quiet, Cause::Unknown) > 0.6, "{quiet:?}");
    let why = explain(
        &records,
        &preempting(),
        &Spans::default(),
        Explained::E2e,
        99.0,
    )
    .unwrap();
    assert_eq!(why.main(), Some(Cause::Preemption), "{why:?}");
    assert!(why.evidence.contains(&Evidence::Preemptions { count: 1.0 }));
    adds_up(&why);
}

#[test]
fn a_stall_of_everybody_is_a_prefill_though_somebody_was_thrown_back_then() {
    let mut records = fast(50);
    records.push(stalled(9000.0));
    records.push(answer(51, 9135.0, 505.0, 2, 10.0));
    let why = explain(
        &records,
        &preempting(),
        &Spans::default(),
        Explained::E2e,
        99.0,
    )
    .unwrap();
    assert_eq!(why.main(), Some(Cause::Interference), "{why:?}");
}

#[test]
fn a_step_whose_tokens_arrive_one_by_one_is_still_one_step() {
    let mut records = fast(50);
    // Nine answers in one batch: each of its steps is written over four milliseconds.
    records.extend((0..9).map(|place| stalled(9000.0 + 0.5 * f64::from(place))));
    records.push(answer(60, 9135.0, 505.0, 2, 10.0));
    let why = explain(
        &records,
        &preempting(),
        &Spans::default(),
        Explained::E2e,
        99.0,
    )
    .unwrap();
    assert_eq!(why.main(), Some(Cause::Interference), "{why:?}");
    assert_eq!(share(&why, Cause::Preemption), 0.0, "{why:?}");
}

#[test]
fn clocks_that_cannot_be_are_not_believed() {
    for sum in [1e300, -1e9, f64::INFINITY, f64::NAN] {
        let mut records = fast(50);
        records.push(stalled(9000.0));
        let state = |sum, count| EngineState {
            queue_s: total(sum, count),
            prefill_s: total(sum, count),
            ..EngineState::default()
        };
        let samples = [
            sample(0.0, state(0.0, 0.0)),
            sample(12_000.0, state(sum, 51.0)),
        ];
        for of in [Explained::Ttft, Explained::E2e] {
            let why = explain(&records, &samples, &Spans::default(), of, 99.0).unwrap();
            assert!(
                why.parts.iter().all(|part| part.share.is_finite()),
                "{why:?}"
            );
            adds_up(&why);
        }
    }
}

#[test]
fn a_prompt_in_several_steps_stalls_others_before_its_first_token_comes() {
    let mut records = fast(50);
    records.push(stalled(9000.0));
    records.push(answer(51, 9135.0, 680.0, 2, 10.0));
    let prefilling = |sum, count| EngineState {
        prefill_s: total(sum, count),
        ..EngineState::default()
    };
    let samples = [
        sample(0.0, prefilling(0.0, 0.0)),
        sample(12_000.0, prefilling(52.0 * 0.5, 52.0)),
    ];
    let silent = explain(&records, &[], &Spans::default(), Explained::E2e, 99.0).unwrap();
    assert_eq!(share(&silent, Cause::Interference), 0.0);
    let why = explain(&records, &samples, &Spans::default(), Explained::E2e, 99.0).unwrap();
    assert!(share(&why, Cause::Interference) > 0.4, "{why:?}");
}

#[test]
fn tokens_that_are_delivered_in_bundles_are_decoded_at_their_usual_pace() {
    let mut records = fast(50);
    let mut late = answer(50, 9000.0, 40.0, 41, 10.0);
    // Ten tokens at a time, as from a server that is late to write them.
    for (place, moment) in late.chunks.at.iter_mut().enumerate().skip(1) {
        *moment = at(9040.0 + 100.0 * (1 + (place - 1) / 10) as f64);
    }
    records.push(late);
    let why = explain(&records, &[], &Spans::default(), Explained::E2e, 99.0).unwrap();
    assert_eq!(why.main(), Some(Cause::Decode), "{why:?}");
    assert!(share(&why, Cause::Decode) > 0.9, "{why:?}");
    adds_up(&why);
}

#[test]
fn slow_requests_are_divided_as_those_that_ended_with_them() {
    // All end between two looks: twenty with a short prompt, one with a long one and one that
    // waited longest.
    let mut records: Vec<Record> = (0..20).map(|i| answer(i, 1000.0, 200.0, 2, 10.0)).collect();
    records.push(answer(20, 1000.0, 400.0, 2, 10.0));
    let state = |queue: f64, prefill: f64, count: f64| EngineState {
        queue_s: total(queue * count, count),
        prefill_s: total(prefill * count, count),
        ..EngineState::default()
    };
    let waiting = [
        sample(0.0, state(0.0, 0.0, 0.0)),
        sample(5000.0, state(0.16, 0.02, 21.0)),
    ];
    let why = explain(&records, &waiting, &Spans::default(), Explained::Ttft, 99.0).unwrap();
    assert_eq!((why.requests, why.main()), (1, Some(Cause::Queueing)));
    assert!(
        (0.7..0.8).contains(&share(&why, Cause::Queueing)),
        "{why:?}"
    );
    adds_up(&why);
    let working = [
        sample(0.0, state(0.0, 0.0, 0.0)),
        sample(5000.0, state(0.08, 0.08, 21.0)),
    ];
    let long = Some(inferometer_core::record::Usage {
        input: Some(2560),
        output: Some(2),
        cached: None,
    });
    records[20].usage = long;
    let why = explain(&records, &working, &Spans::default(), Explained::Ttft, 99.0).unwrap();
    assert_eq!(why.main(), Some(Cause::Prefill), "{why:?}");
    adds_up(&why);
}

#[test]
fn without_a_complete_answer_there_is_nothing_to_explain() {
    assert_eq!(
        explain(&[], &[], &Spans::default(), Explained::Ttft, 99.0),
        None
    );
    let mut warmup = fast(3);
    warmup
        .iter_mut()
        .for_each(|record| record.stage = Stage::Warmup);
    assert_eq!(
        explain(&warmup, &[], &Spans::default(), Explained::E2e, 99.0),
        None
    );
}

fn span(record: &Record, queue_s: f64, prefill_s: f64, decode_s: f64) -> RequestSpan {
    RequestSpan {
        queue_s: Some(queue_s),
        prefill_s: Some(prefill_s),
        decode_s: Some(decode_s),
        ..RequestSpan::new(TraceId::of_request(&record.id))
    }
}

#[test]
fn a_trace_of_the_server_divides_the_slow_request_itself() {
    let mut records = fast(50);
    // By the averages it would have waited like all others.
    records.push(answer(50, 5000.0, 1000.0, 5, 10.0));
    let spans: Spans = [span(&records[50], 0.1, 0.3, 0.04)].into_iter().collect();
    let why = explain(&records, &[], &spans, Explained::Ttft, 99.0).unwrap();
    assert_eq!((why.requests, why.main()), (1, Some(Cause::FrontEnd)));
    assert!((share(&why, Cause::FrontEnd) - 0.6).abs() < 1e-6, "{why:?}");
    assert!((share(&why, Cause::Prefill) - 0.3).abs() < 1e-6);
    assert!((share(&why, Cause::Queueing) - 0.1).abs() < 1e-6);
    assert_eq!(why.evidence, [Evidence::Traced { requests: 1 }]);
    adds_up(&why);
    // One of another request says nothing of this one.
    let spans: Spans = [span(&records[3], 0.1, 0.3, 0.04)].into_iter().collect();
    let why = explain(&records, &[], &spans, Explained::Ttft, 99.0).unwrap();
    assert_eq!(why.evidence, [Evidence::ServerSilent]);
}

#[test]
fn tokens_that_the_engine_made_faster_were_held_up_behind_it() {
    let mut records = fast(50);
    records.push(answer(50, 5000.0, 40.0, 21, 50.0));
    let spans: Spans = [span(&records[50], 0.0, 0.04, 0.4)].into_iter().collect();
    let why = explain(&records, &[], &spans, Explained::E2e, 99.0).unwrap();
    // A second after the first token, of which the engine needed 400 ms.
    let ms = |cause| share(&why, cause) * why.mean_ms;
    assert!((ms(Cause::FrontEnd) - 600.0).abs() < 1e-6, "{why:?}");
    assert!((ms(Cause::Decode) - 400.0).abs() < 1e-6, "{why:?}");
    adds_up(&why);
}

#[test]
fn a_trace_that_says_more_than_there_was_takes_no_more() {
    let mut records = fast(50);
    records.push(answer(50, 5000.0, 1000.0, 5, 10.0));
    let spans: Spans = [span(&records[50], 9e9, 9e9, 9e9)].into_iter().collect();
    for of in [Explained::Ttft, Explained::E2e] {
        adds_up(&explain(&records, &[], &spans, of, 99.0).unwrap());
    }
}
