//! Metrics of made-up runs, whose right values are known.

mod objectives;
mod parts;

use parts::thinned_and_whole;

use super::testing::{MadeUp, TOKENS, answer, at, noise, scenario, span};
use super::{Folding, RunContext};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::EndCause;
use inferometer_core::record::{Failure, FailureClass, Outcome, Phase, Record, Stage, TokenSource};
use inferometer_core::server::ServerSummary;
use inferometer_core::summary::{Distribution, SloOutcome, Summary};
use inferometer_core::units::Offset;
use inferometer_text::Lang;

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-6 * b.abs().max(1.0))
}

fn two() -> MadeUp {
    let records = vec![
        answer(0, 0.0, 100.0, 11, 10.0),
        answer(1, 200.0, 300.0, 21, 25.0),
    ];
    MadeUp::of(scenario("[load]\nconcurrency = 1\nrequests = 2"), records)
}

#[test]
fn every_metric_of_two_requests_is_what_its_definition_says() {
    let summary = two().summary();
    // First send at 0, last token at 200 + 300 + 20 × 25 ms.
    assert!(close(summary.window_s, 1.0));
    assert!(close(summary.throughput.requests_per_s, 2.0));
    assert!(close(summary.throughput.output_tokens_per_s, 32.0));
    assert!(close(summary.throughput.input_tokens_per_s, 512.0));
    assert!(close(summary.throughput.total_tokens_per_s, 544.0));
    assert!(close(summary.throughput.input_chars_per_s, 2000.0));
    assert!(close(summary.throughput.output_chars_per_s, 128.0));
    // Under way for 200 ms and 800 ms of 1000 ms.
    assert!(close(summary.concurrency.mean, 1.0));
    assert_eq!(summary.concurrency.peak, Some(1));
    assert_eq!(summary.concurrency.configured, Some(1));
    let latency = summary.latency;
    assert!(close(latency.ttft_ms.map(|d| d.mean), 200.0));
    assert!(close(latency.tpot_ms.map(|d| d.p50), 17.5));
    assert!(close(latency.second_token_ms.map(|d| d.max), 25.0));
    assert!(close(latency.e2e_ms.map(|d| d.max), 800.0));
    assert!(close(latency.max_gap_ms.map(|d| d.min), 10.0));
    let itl = latency.itl_ms.unwrap();
    assert_eq!(itl.n, 30);
    assert!(close(Some(itl.mean), 20.0) && close(Some(itl.p50), 25.0));
    assert!(latency.itl_is_per_token);
    assert_eq!(latency.lag_ms, None);
    assert_eq!(latency.cap_wait_ms, None);
    assert_eq!(latency.first_answer_ms, None);
    assert_eq!(summary.tokens.source, TokenSource::Usage);
    assert_eq!(summary.tokens.output, Some(32));
    assert!(close(summary.tokens.output_mean, 16.0));
    assert!(close(summary.tokens.chars_per_token, 4.0));
    // 11 tokens in 200 ms and 21 in 800 ms; then a token every 10 and every 25 ms.
    let per_user = summary.speed.per_user_tokens_per_s.unwrap();
    assert!(close(Some(per_user.max), 55.0) && close(Some(per_user.min), 26.25));
    let decode = summary.speed.decode_tokens_per_s.unwrap();
    assert!(close(Some(decode.max), 100.0) && close(Some(decode.min), 40.0));
    assert!(close(summary.tokens.input_asked_mean, 250.0));
    assert_eq!(
        (summary.slo, summary.drift, summary.server),
        (None, None, None)
    );
}

#[test]
fn latencies_are_of_measured_requests_alone() {
    let mut run = two();
    for (index, stage) in [(7, Stage::Warmup), (8, Stage::Hold)] {
        let mut other = answer(index, 0.0, 5000.0, 11, 500.0);
        other.stage = stage;
        run.records.push(other);
    }
    let (summary, without) = (run.summary(), two().summary());
    assert_eq!(summary.latency, without.latency);
    assert_eq!(summary.throughput, without.throughput, "it has no window");
    assert_eq!(summary.tokens, without.tokens);
    let accounts = summary.requests;
    assert_eq!(
        (accounts.planned, accounts.warmup, accounts.hold),
        (2, 1, 1)
    );
}

/// Streams with answers of 1,000 ms and 16 tokens; the window opens and closes in mid-answer.
fn steady(streams: u64, offset: impl Fn(u64) -> f64) -> MadeUp {
    let mut records = Vec::new();
    for stream in 0..streams {
        for turn in 0..8 {
            let sent = offset(stream) + turn as f64 * 1000.0;
            let mut record = answer(records.len() as u64, sent, 250.0, 16, 50.0);
            record.stage = match sent {
                early if early < 1500.0 => Stage::Warmup,
                late if late >= 6250.0 => Stage::Hold,
                _ => Stage::Measured,
            };
            records.push(record);
        }
    }
    let toml = format!("[load]\nconcurrency = {streams}\nrequests = 100");
    let mut run = MadeUp::of(scenario(&toml), records);
    run.ending.measured_from = at(1500.0);
    run.ending.sending_ended = at(6250.0);
    run.ending.steady_window = true;
    run
}

#[test]
fn a_steady_window_gives_the_rate_of_the_server_wherever_its_edges_fall() {
    let spread = |stream: u64| stream as f64 * 125.0;
    for run in [steady(8, spread), steady(8, |_| 0.0)] {
        let summary = run.summary();
        assert_eq!(summary.window_s, Some(4.75));
        let rate = summary.throughput;
        assert!(close(rate.requests_per_s, 8.0), "{rate:?}");
        // Tokens come in steps, and in waves all streams step together.
        let tokens = rate.output_tokens_per_s.unwrap();
        assert!((tokens / 128.0 - 1.0).abs() < 0.06, "{tokens}");
        assert!(close(summary.concurrency.mean, 8.0));
    }
}

#[test]
fn a_window_of_few_answers_in_a_row_is_doubted() {
    let mut run = steady(8, |stream| stream as f64 * 125.0);
    assert_eq!(run.doubt(DoubtCode::ShortWindow), None);
    run.ending.sending_ended = at(3500.0);
    assert_eq!(run.doubt(DoubtCode::ShortWindow), Some(Severity::Warn));
}

#[test]
fn the_order_of_records_does_not_matter() {
    let mut run = MadeUp::closed(8, 200);
    let summary = run.summary();
    run.records.reverse();
    assert_eq!(run.summary(), summary);
}

#[test]
fn without_a_stream_there_is_no_ttft_and_the_latency_is_that_of_the_body() {
    let run = two().each(|record| {
        record.streamed = false;
        record.chunks = Default::default();
        record.first_answer = None;
    });
    let summary = run.summary();
    let latency = summary.latency;
    assert_eq!(
        (latency.ttft_ms, latency.tpot_ms, latency.itl_ms),
        (None, None, None)
    );
    assert!(!latency.itl_is_per_token);
    assert!(close(latency.e2e_ms.map(|d| d.max), 800.0));
    assert!(close(summary.throughput.output_tokens_per_s, 32.0));
}

#[test]
fn gaps_are_shared_by_the_tokens_of_a_chunk_where_these_are_known() {
    let chunks = |tokens: Option<Vec<u32>>| {
        let mut record = answer(0, 0.0, 100.0, 4, 30.0);
        record.usage.as_mut().unwrap().output = Some(8);
        record.chunks.tokens = tokens;
        MadeUp::of(scenario("[load]\nconcurrency = 1"), vec![record])
            .summary()
            .latency
    };
    // Gaps of 30 ms ended by 3, 0 and 2 tokens: 3 × 10 ms, then 2 × (30 + 30) / 2 ms.
    let known = chunks(Some(vec![3, 3, 0, 2]));
    let itl = known.itl_ms.unwrap();
    assert!(known.itl_is_per_token);
    assert_eq!((itl.n, itl.min, itl.max), (5, 10.0, 30.0));
    assert!(close(Some(itl.mean), 18.0));
    assert_eq!(known.inter_chunk_ms.unwrap().n, 3);
    let unknown = chunks(None);
    assert!(!unknown.itl_is_per_token);
    assert_eq!(unknown.itl_ms, unknown.inter_chunk_ms);
}

#[test]
fn an_end_of_sequence_token_without_text_still_leaves_a_token_a_chunk() {
    let plus = |more: u32| {
        let change = move |record: &mut Record| {
            let usage = record.usage.as_mut().unwrap();
            usage.output = usage.output.map(|tokens| tokens + more);
        };
        two().each(change).summary().latency.itl_is_per_token
    };
    assert!(plus(0) && plus(1));
    assert!(!plus(2));
}

#[test]
fn failures_and_cut_requests_are_counted_but_not_measured() {
    let mut run = MadeUp::closed(8, 200);
    run.records[3].outcome = Outcome::Cut;
    run.records[3].end = None;
    run.ending.planned = 205;
    run.ending.unsent = 5;
    let summary = run.summary();
    let accounts = summary.requests;
    assert_eq!((accounts.planned, accounts.ok), (205, 199));
    assert_eq!((accounts.cut, accounts.unsent), (1, 5));
    assert_eq!(summary.latency.e2e_ms.unwrap().n, 199);
    assert_eq!(summary.tokens.output, Some(199 * u64::from(TOKENS)));
}

#[test]
fn ttft_counts_from_due_and_the_lag_and_the_wait_at_the_cap_stand_apart() {
    let run = MadeUp::open(100, |_| 50.0).each(|record| {
        let due = record.due.unwrap();
        record.cap_wait = Some(super::testing::span(10));
        record.sent = Some(due + super::testing::span(12));
    });
    let latency = run.summary().latency;
    assert!(close(latency.lag_ms.map(|d| d.p99), 2.0));
    assert!(close(latency.cap_wait_ms.map(|d| d.p50), 10.0));
    assert!(close(latency.ttft_ms.map(|d| d.p50), 50.05));
    assert!(close(latency.ttft_from_sent_ms.map(|d| d.p50), 38.05));
}

#[test]
fn the_steady_state_is_shorter_than_the_run_and_its_throughput_higher() {
    let summary = MadeUp::closed(8, 600).summary();
    let steady = summary.steady.unwrap();
    assert!(summary.steady_s.unwrap() < summary.window_s.unwrap());
    let (inside, whole) = (
        steady.output_tokens_per_s.unwrap(),
        summary.throughput.output_tokens_per_s.unwrap(),
    );
    // Eight streams, 32 tokens in 50 + 310 ms.
    let expected = 8.0 * 32.0 / 0.36;
    assert!(
        (inside / expected - 1.0).abs() < 0.02,
        "{inside} {expected}"
    );
    assert!(inside > whole);
    assert!((steady.requests_per_s.unwrap() * 32.0 / expected - 1.0).abs() < 0.02);
}

#[test]
fn intervals_hold_their_estimates() {
    let summary = MadeUp::closed(8, 600).summary();
    let holds = |interval: Option<[f64; 2]>, value: f64| {
        let [low, high] = interval.unwrap();
        assert!(low <= value && value <= high, "{low} {value} {high}");
        assert!(high - low < value * 0.2);
    };
    let ttft = summary.latency.ttft_ms.unwrap();
    holds(ttft.mean_interval, ttft.mean);
    holds(ttft.p50_interval, ttft.p50);
    holds(ttft.p99_interval, ttft.p99);
    let throughput = summary.throughput;
    holds(
        throughput.requests_per_s_interval,
        throughput.requests_per_s.unwrap(),
    );
    holds(
        throughput.output_tokens_per_s_interval,
        throughput.output_tokens_per_s.unwrap(),
    );
    let itl = summary.latency.itl_ms.unwrap();
    holds(itl.mean_interval, itl.mean);
    assert_eq!(itl.p99_interval, None);
}

#[test]
fn a_soak_is_told_in_ten_parts_that_add_up() {
    let mut run = MadeUp::closed(8, 400);
    run.scenario = scenario("[load]\nconcurrency = 8\nsoak = '18s'");
    let parts = run.summary().drift.unwrap();
    assert_eq!(parts.len(), 10);
    assert_eq!(parts.iter().map(|part| part.ok).sum::<u64>(), 400);
    assert!(parts.iter().all(|part| part.ttft_p50_ms.is_some()));
}

#[test]
fn first_answers_stand_apart_only_where_there_was_reasoning() {
    let run = two().each(|record| record.first_answer = Some(record.chunks.at[3]));
    let found = run.summary().latency.first_answer_ms.unwrap();
    assert!(close(Some(found.min), 130.0));
}

#[test]
fn a_summary_is_written_with_null_for_what_is_absent() {
    let json = serde_json::to_value(MadeUp::of(scenario(""), vec![]).summary()).unwrap();
    assert!(json["latency"]["ttft_ms"].is_null());
    assert!(json["window_s"].is_null() && json["steady"].is_null());
    assert_eq!(json["doubts"][0]["code"], "nothing-measured");
    assert_eq!(json["requests"]["planned"], 0);
}

#[test]
fn strange_records_are_survived() {
    let odd = [
        Record::default(),
        Record {
            outcome: Outcome::Done,
            ..Record::default()
        },
        Record {
            outcome: Outcome::Done,
            sent: Some(at(5.0)),
            end: Some(at(1.0)),
            ..Record::default()
        },
        Record {
            index: u64::MAX,
            sent: Some(Offset(u64::MAX)),
            ..Record::default()
        },
    ];
    let mut far = answer(1, 5.0, 100.0, 3, 10.0);
    far.chunks.at[2] = Offset(u64::MAX);
    far.chunks.tokens = Some(vec![1, u32::MAX, 7]);
    for record in odd.into_iter().chain([far]) {
        MadeUp::of(scenario(""), vec![record]).summary();
    }
}

#[test]
fn time_between_the_engine_and_the_client_is_named_where_it_matters() {
    // Answers of 32 tokens, 10 ms apart; the engine says how long it decoded.
    let run = MadeUp::closed(8, 200);
    let found = |decode_mean_ms: f64| {
        let summary = run.summary_beside(Some(ServerSummary {
            samples: 10,
            decode_mean_ms: Some(decode_mean_ms),
            front_end_cores: Some(0.97),
            ..ServerSummary::default()
        }));
        let between = summary.server.unwrap().between.unwrap();
        let doubts = summary.doubts.into_iter();
        let mut named = doubts.filter(|doubt| doubt.code == DoubtCode::FrontEnd);
        (between.tpot_ms, named.next().map(|doubt| doubt.text))
    };
    let (between, said) = found(31.0 * 7.0);
    assert!(close(between, 3.0));
    let said = said.expect("three of ten milliseconds");
    assert!(said.contains("3.00 ms of 10.0 ms per token"), "{said}");
    assert!(said.contains("process used 97 % of a core"), "{said}");
    let (between, said) = found(31.0 * 9.8);
    assert!(close(between, 0.2) && said.is_none());
}

#[test]
fn an_outage_that_ended_the_run_lasted_as_long_as_it_was_waited_for() {
    let refused = |index: u64, ms: f64| Record {
        index,
        end: Some(at(ms)),
        outcome: Outcome::Failed(Failure {
            phase: Phase::Connect,
            class: FailureClass::Refused,
            detail: String::new(),
        }),
        ..answer(index, ms, 100.0, 1, 1.0)
    };
    let mut records = vec![answer(0, 0.0, 100.0, 11, 10.0)];
    // It asks ever more rarely: the last refusal comes well before the wait is over.
    records.extend((1..5).map(|index| Record {
        first_byte: None,
        ..refused(index, 1000.0 + 300.0 * index as f64)
    }));
    let toml = "[load]\nconcurrency = 1\nrequests = 5\n[connection]\ngive-up-after = '2s'";
    let mut run = MadeUp::of(scenario(toml), records);
    assert!(close(Some(run.summary().outages[0].length_s), 0.9));
    run.ending.cause = EndCause::ServerAway;
    assert!(close(Some(run.summary().outages[0].length_s), 2.0));
}

#[test]
fn a_server_that_hangs_until_the_timeout_is_not_fast() {
    let mut run = MadeUp::closed(2, 60);
    let quick = run.summary().throughput.output_tokens_per_s.unwrap();
    let last = run.records.last_mut().unwrap();
    last.outcome = Outcome::Failed(Failure {
        phase: Phase::Timeout,
        class: FailureClass::RequestTimeout,
        detail: String::new(),
    });
    last.end = last
        .sent
        .map(|sent| sent + std::time::Duration::from_secs(600));
    last.chunks = Default::default();
    let hung = run.summary().throughput.output_tokens_per_s.unwrap();
    assert!(hung < quick / 10.0, "{quick} {hung}");
}

#[test]
fn a_number_that_comes_twice_is_seen_in_a_run_of_any_size() {
    let mut run = MadeUp::closed(16, 3_000);
    run.records[2_999].index = 7;
    let [thinned, whole] = thinned_and_whole(&run);
    let told = |summary: &Summary| {
        let mut codes = summary.doubts.iter().map(|doubt| doubt.code);
        codes.any(|code| code == DoubtCode::LostRequests)
    };
    assert!(told(&thinned) && told(&whole));
}

#[test]
fn times_beyond_any_run_break_no_count() {
    let mut run = MadeUp::closed(4, 1_500);
    for (record, end) in run
        .records
        .iter_mut()
        .zip([u64::MAX, u64::MAX - 1, 1 << 62])
    {
        record.sent = Some(Offset(end - 1));
        record.end = Some(Offset(end));
        record.chunks.at = vec![Offset(end); 2];
    }
    let [thinned, whole] = thinned_and_whole(&run);
    assert_eq!(thinned.requests, whole.requests);
}

#[test]
fn sounds_are_counted_a_second_and_each_request_has_a_real_time_factor() {
    let mut run = MadeUp::closed(4, 200);
    for record in &mut run.records {
        (record.media, record.audio_ms) = (Some(1), Some(4000));
    }
    let summary = run.summary();
    let media = summary.media.unwrap();
    assert_eq!(media.audio_s, Some(800.0));
    let rtf = media.rtf.unwrap();
    let e2e = summary.latency.e2e_ms.unwrap();
    assert_eq!(rtf.n, 200);
    for (factor, ms) in [(rtf.mean, e2e.mean), (rtf.p50, e2e.p50), (rtf.p99, e2e.p99)] {
        assert!((factor - ms / 4000.0).abs() < 1e-9, "{factor} {ms}");
    }
    let throughput = &summary.throughput;
    let per_s = throughput.audio_s_per_s.unwrap();
    assert!((per_s - 4.0 * throughput.requests_per_s.unwrap()).abs() < 1e-9);
    let [low, high] = throughput.audio_s_per_s_interval.unwrap();
    assert!(low <= per_s && per_s <= high);
    // Nobody knows how long many of them are.
    for record in run.records.iter_mut().step_by(2) {
        record.audio_ms = None;
    }
    let summary = run.summary();
    assert_eq!(summary.throughput.audio_s_per_s, None);
    assert_eq!(summary.media.unwrap().rtf.unwrap().n, 100);
}
