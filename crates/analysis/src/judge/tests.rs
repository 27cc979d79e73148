//! Each doubt provoked by a made-up run, and healthy runs that raise none.

mod client;
mod ranks;
mod tokens;

use crate::fold::testing::{MadeUp, answer, at, healthy, noise, scenario, span};
use inferometer_core::doubt::{DoubtCode as Code, Severity};
use inferometer_core::environment::{EndCause, Health};
use inferometer_core::record::{Chunks, Failure, FailureClass, Outcome, Phase, Record, Stage};

fn fail(record: &mut Record) {
    record.outcome = Outcome::Failed(Failure {
        phase: Phase::Status,
        class: FailureClass::ServerError,
        detail: "out of memory".to_owned(),
    });
}

/// Doubts of a run that are more than a note.
fn serious(run: &MadeUp) -> Vec<Code> {
    let summary = run.summary();
    let worse = summary
        .doubts
        .iter()
        .filter(|doubt| doubt.severity > Severity::Note);
    worse.map(|doubt| doubt.code).collect()
}

#[test]
fn a_healthy_run_raises_no_doubt_at_all_if_it_is_long_enough() {
    for run in [
        MadeUp::closed(8, 600),
        MadeUp::open(600, |i| 40.0 + 20.0 * noise(i)),
    ] {
        let summary = run.summary();
        assert_eq!(summary.doubts, [], "{:#?}", summary.doubts);
        assert!(summary.valid);
    }
}

#[test]
fn healthy_short_runs_raise_nothing_serious_about_their_concurrency() {
    for (streams, requests) in [(8, 16), (8, 128), (64, 64), (64, 70), (1, 5), (64, 640)] {
        let found = serious(&MadeUp::closed(streams, requests));
        assert!(
            found.iter().all(|&code| code == Code::NoSteadyState),
            "{streams} streams, {requests} requests: {found:?}"
        );
    }
    assert_eq!(serious(&MadeUp::closed(8, 128)), []);
}

#[test]
fn a_run_by_duration_whose_last_requests_are_cut_raises_nothing_serious() {
    let mut run = MadeUp::closed(8, 400);
    run.scenario = scenario("[load]\nconcurrency = 8\nduration = '15s'");
    run.records
        .retain(|record| record.sent < Some(at(15_000.0)));
    for record in &mut run.records {
        if record.end > Some(at(15_000.0)) {
            record.outcome = Outcome::Cut;
            record.end = None;
            record.chunks.at.retain(|&chunk| chunk < at(15_000.0));
        }
    }
    run.ending.sending_ended = at(15_000.0);
    run.ending.planned = run.records.len() as u64;
    assert_eq!(serious(&run), []);
    assert_eq!(run.summary().requests.cut, 8);
}

#[test]
fn streams_with_their_own_share_of_the_work_are_not_shrunk() {
    for (streams, requests) in [(64u64, 70u64), (64, 200), (8, 20)] {
        let mut run = MadeUp::closed(streams as u32, requests);
        run.records.clear();
        for stream in 0..streams {
            let mut sent = 360.0 * stream as f64 / streams as f64;
            for index in (stream..requests).step_by(streams as usize) {
                let record = healthy(index, sent);
                sent = record.end.unwrap().0 as f64 / 1e6;
                run.records.push(record);
            }
        }
        assert_eq!(
            run.doubt(Code::ShrunkConcurrency),
            None,
            "{streams} {requests}"
        );
    }
}

#[test]
fn a_run_by_duration_with_one_long_wave_is_not_shrunk() {
    let records = (0..16u64).map(|index| answer(index, index as f64 * 100.0, 500.0, 600, 100.0));
    let toml = "[load]\nconcurrency = 16\nduration = '30s'";
    let mut run = MadeUp::of(scenario(toml), records.collect());
    run.ending.sending_ended = at(30_000.0);
    run.ending.stagger_ns = Some(1_500_000_000);
    assert_eq!(serious(&run), []);
}

#[test]
fn one_pause_of_the_client_in_a_short_run_is_no_loss_of_streams() {
    let sent = [0.0, 180.0, 550.0, 700.0];
    let mut records: Vec<_> = (0..).zip(sent).map(|(i, at)| healthy(i, at)).collect();
    let toml = "[load]\nconcurrency = 2\nrequests = 4";
    let mut run = MadeUp::of(scenario(toml), records.clone());
    run.ending.stagger_ns = Some(360_000_000);
    assert_eq!(run.doubt(Code::ShrunkConcurrency), None);
    // One stream that does the work of two is told in as short a run.
    for (record, sent) in records.iter_mut().zip([0.0, 400.0, 800.0, 1200.0]) {
        *record = healthy(record.index, sent);
    }
    run.records = records;
    assert_eq!(run.doubt(Code::ShrunkConcurrency), Some(Severity::Invalid));
}

#[test]
fn requests_that_cannot_fill_the_streams_are_told() {
    let unfilled = Some(Severity::Warn);
    for (streams, requests, told) in [(64, 20, unfilled), (64, 640, None), (1, 5, None)] {
        let run = MadeUp::closed(streams, requests);
        assert_eq!(
            run.doubt(Code::UnfilledStreams),
            told,
            "{streams} {requests}"
        );
    }
}

#[test]
fn streams_that_die_silently_shrink_the_concurrency() {
    let half = MadeUp::closed_with(64, 1000, |stream, time| stream % 2 == 0 || time < 500.0);
    assert_eq!(half.doubt(Code::ShrunkConcurrency), Some(Severity::Invalid));
    assert_eq!(half.doubt(Code::LostRequests), None);
    let few = MadeUp::closed_with(8, 128, |stream, _| stream < 4);
    assert_eq!(few.doubt(Code::ShrunkConcurrency), Some(Severity::Invalid));
    let one = MadeUp::closed_with(64, 640, |stream, time| stream > 0 || time < 500.0);
    assert_eq!(one.doubt(Code::ShrunkConcurrency), None);
}

#[test]
fn requests_that_vanish_or_come_twice_are_lost_requests() {
    let mut run = MadeUp::closed(8, 128);
    assert_eq!(run.doubt(Code::LostRequests), None);
    run.records.pop();
    assert_eq!(run.doubt(Code::LostRequests), Some(Severity::Invalid));
    run.records.push(healthy(0, 100.0));
    assert_eq!(run.doubt(Code::LostRequests), Some(Severity::Invalid));
    assert!(!run.summary().valid);
}

/// A closed loop whose streams form `groups` that send together, evenly apart.
fn in_groups(streams: u64, groups: u64, waves: u64) -> MadeUp {
    let records = (0..streams * waves).map(|index| {
        let (wave, stream) = (index / streams, index % streams);
        let late = (stream % groups) as f64 / groups as f64 + 0.01 * noise(index);
        healthy(index, 400.0 * (wave as f64 + late))
    });
    let toml = format!(
        "[load]\nconcurrency = {streams}\nrequests = {}",
        streams * waves
    );
    MadeUp::of(scenario(&toml), records.collect())
}

#[test]
fn streams_that_send_together_are_in_step_and_spread_ones_are_not() {
    for streams in [4, 16, 64] {
        let together = in_groups(streams, 1, 8);
        assert_eq!(together.doubt(Code::InStep), Some(Severity::Note));
        assert_eq!(in_groups(streams, streams, 8).doubt(Code::InStep), None);
        let natural = MadeUp::closed(streams as u32, streams * 8);
        assert_eq!(natural.doubt(Code::InStep), None, "{streams}");
    }
    // Most of them is enough, a fourth is not.
    assert_eq!(
        in_groups(64, 2, 8).doubt(Code::InStep),
        Some(Severity::Note)
    );
    assert_eq!(in_groups(64, 4, 8).doubt(Code::InStep), None);
}

#[test]
fn waves_behind_a_queue_are_in_step_too() {
    // Four batches of 64, one after the other: an answer is made in a fourth of its time.
    let queued = |apart: u64| {
        let records = (0..256 * 8u64).map(|index| {
            let (turn, batch) = (index / 64, index % 64 / apart);
            let sent = 800.0 * turn as f64 + 800.0 * (batch * apart) as f64 / 64.0;
            answer(index, sent + noise(index), 2400.0, 33, 25.0)
        });
        let load = "[load]\nconcurrency = 256\nrequests = 2048";
        MadeUp::of(scenario(load), records.collect())
    };
    assert_eq!(queued(64).doubt(Code::InStep), Some(Severity::Note));
    assert_eq!(queued(1).doubt(Code::InStep), None);
    // Each wave in batches of 16 prompts, which are computed together.
    let batches = |of: u64| {
        let records = (0..256 * 8u64).map(|index| {
            let (wave, batch) = (index / 64, index % 64 / of);
            let sent = 1850.0 * wave as f64 + 6.25 * (batch * of) as f64;
            answer(index, sent + noise(index), 5600.0, 129, 14.3)
        });
        let load = "[load]\nconcurrency = 256\nrequests = 2048";
        MadeUp::of(scenario(load), records.collect())
    };
    assert_eq!(batches(16).doubt(Code::InStep), Some(Severity::Note));
}

#[test]
fn waves_are_not_told_of_few_requests_or_of_users_who_think() {
    assert_eq!(in_groups(64, 1, 3).doubt(Code::InStep), None);
    assert_eq!(in_groups(2, 1, 50).doubt(Code::InStep), None);
    let mut thinking = in_groups(16, 1, 8);
    thinking.scenario =
        scenario("[work]\nthink = '5s'\nturns = '3'\n[load]\nconcurrency = 16\nrequests = 128");
    assert_eq!(thinking.doubt(Code::InStep), None);
    assert_eq!(MadeUp::open(600, |_| 40.0).doubt(Code::InStep), None);
}

#[test]
fn an_interrupted_run_is_invalid_but_a_stop_condition_is_what_was_asked() {
    let mut run = MadeUp::closed(8, 128);
    use EndCause::{Killed, Running, Signal, Watchdog};
    for cause in [Signal, Watchdog, Killed, Running] {
        run.ending.cause = cause;
        assert_eq!(run.doubt(Code::Interrupted), Some(Severity::Invalid));
    }
    run.ending.cause = EndCause::StopCondition;
    assert_eq!(run.doubt(Code::Interrupted), Some(Severity::Note));
}

#[test]
fn a_killed_run_has_no_ending_and_still_adds_up() {
    let mut run = MadeUp::closed(8, 128);
    run.records.truncate(90);
    run.ending = inferometer_core::environment::Ending {
        cause: EndCause::Killed,
        ..Default::default()
    };
    let accounts = run.summary().requests;
    assert_eq!(
        (accounts.planned, accounts.ok, accounts.unsent),
        (128, 90, 38)
    );
    assert_eq!(serious(&run), [Code::Interrupted]);
}

#[test]
fn failures_warn_above_one_in_a_hundred_and_invalidate_above_one_in_five() {
    let with = |failed: usize| {
        let mut run = MadeUp::closed(8, 200);
        run.records.iter_mut().take(failed).for_each(fail);
        run
    };
    assert_eq!(with(2).doubt(Code::Failures), None);
    assert_eq!(with(3).doubt(Code::Failures), Some(Severity::Warn));
    assert_eq!(with(41).doubt(Code::Failures), Some(Severity::Invalid));
    let summary = with(3).summary();
    assert_eq!(summary.failures[0].sample, "out of memory");
    assert!(
        summary.doubts[0].text.contains("server-error"),
        "{}",
        summary.doubts[0].text
    );
}

#[test]
fn failures_of_the_warm_up_are_told_where_the_measured_requests_have_none() {
    let with = |unmeasured: usize, measured: usize| {
        let mut run = MadeUp::closed(8, 200);
        let (before, after) = run.records.split_at_mut(16);
        before.iter_mut().for_each(|it| it.stage = Stage::Warmup);
        before.iter_mut().take(unmeasured).for_each(fail);
        after.iter_mut().take(measured).for_each(fail);
        run.ending.planned = after.len() as u64;
        run
    };
    assert_eq!(with(0, 0).doubt(Code::UnmeasuredFailures), None);
    let warmed = with(8, 0);
    assert_eq!(warmed.doubt(Code::UnmeasuredFailures), Some(Severity::Warn));
    assert!(warmed.summary().valid);
    let doubts = warmed.summary().doubts;
    let told = doubts.iter().find(|it| it.code == Code::UnmeasuredFailures);
    let text = &told.unwrap().text;
    assert!(
        text.contains("8 of the 16") && text.contains("server-error"),
        "{text}"
    );
    // Where measured ones fail, too, that is what counts.
    assert_eq!(with(8, 20).doubt(Code::UnmeasuredFailures), None);
}

#[test]
fn a_run_without_any_answer_measured_nothing() {
    let all_failed = MadeUp::closed(8, 20).each(fail);
    assert_eq!(
        all_failed.doubt(Code::NothingMeasured),
        Some(Severity::Invalid)
    );
    let empty = MadeUp::of(scenario(""), Vec::new());
    assert_eq!(empty.doubt(Code::NothingMeasured), Some(Severity::Invalid));
    assert_eq!(empty.summary().throughput.requests_per_s, None);
}

#[test]
fn percentiles_without_their_least_sample_are_named_in_one_note() {
    let summary = MadeUp::closed(8, 128).summary();
    let few = summary
        .doubts
        .iter()
        .find(|doubt| doubt.code == Code::FewSamples);
    // As many as are worth 459 where answers share their fate, told alike wherever they are told.
    let remedy = &few.unwrap().remedy;
    let asked = remedy.split("--requests ").nth(1).unwrap();
    let asked: u64 = asked.split(',').next().unwrap().parse().unwrap();
    let text = &few.unwrap().text;
    assert!(
        text.contains(&format!("p99 (needs {asked})")) && !text.contains("p95"),
        "{text}"
    );
    assert_eq!(summary.latency.requests_for(99.0), Some(asked));
    let latency = &summary.latency;
    let worth = [latency.ttft_ms, latency.tpot_ms, latency.e2e_ms]
        .into_iter()
        .flatten();
    let worth = worth.map(|it| it.independent.unwrap_or(it.n) as f64 / it.n as f64);
    let worth = worth.fold(1.0, f64::min);
    assert!(
        asked as f64 * worth >= 459.0 && asked as f64 * worth < 475.0,
        "{asked} {worth}"
    );
}

#[test]
fn a_queue_that_grows_is_overload_and_a_stable_one_is_not() {
    let growing = MadeUp::open(600, |index| 50.0 + index as f64 * 20.0);
    assert_eq!(growing.doubt(Code::Overload), Some(Severity::Warn));
    assert_eq!(growing.doubt(Code::NoSteadyState), None);
    let stable = MadeUp::open(600, |index| 50.0 + 50.0 * noise(index));
    assert_eq!(stable.doubt(Code::Overload), None);
}

#[test]
fn a_queue_that_grows_behind_a_cap_and_is_never_sent_is_overload() {
    // Twenty arrivals a second, ten answers a second: half of them never leave.
    let mut run = MadeUp::open(600, |_| 100.0).each(|record| {
        let (due, sent) = (record.due.unwrap(), at(record.index as f64 * 100.0));
        *record = answer(record.index, 0.1 + sent.0 as f64 / 1e6, 90.0, 1, 0.0);
        record.due = Some(due);
        record.cap_wait = Some(sent.since(due));
    });
    for record in run.records.iter_mut().skip(300) {
        *record = Record {
            index: record.index,
            due: record.due,
            streamed: true,
            ..Record::default()
        };
    }
    assert_eq!(run.doubt(Code::Overload), Some(Severity::Warn));
    assert_eq!(run.summary().requests.cut, 300);
}

#[test]
fn a_server_that_slows_or_quickens_is_seen_in_a_short_run() {
    let drifting = |gap: fn(f64) -> f64| {
        let records = (0..150).map(|index| {
            let progress = index as f64 / 150.0;
            answer(
                index,
                40.0 * index as f64,
                50.0,
                32,
                gap(progress) + noise(index),
            )
        });
        let load = scenario("[load]\nconcurrency = 16\nrequests = 150");
        MadeUp::of(load, records.collect())
    };
    let slowing = drifting(|progress| 10.0 * (1.0 + 2.0 * progress));
    assert_eq!(slowing.doubt(Code::Drift), Some(Severity::Warn));
    let quickening = drifting(|progress| 30.0 * (1.0 - 0.6 * progress));
    assert_eq!(quickening.doubt(Code::Drift), Some(Severity::Warn));
    assert_eq!(drifting(|_| 10.0).doubt(Code::Drift), None);
    assert_eq!(
        drifting(|progress| 10.0 + progress).doubt(Code::Drift),
        None
    );
}

#[test]
fn a_few_slow_answers_that_are_waited_for_are_told() {
    let slow_last = |times: f64| {
        MadeUp::closed(16, 200).each(|record| {
            if record.index == 199 {
                let sent = record.sent.unwrap().0 as f64 / 1e6;
                *record = answer(record.index, sent, 400.0 * times, 32, 10.0);
            }
        })
    };
    assert_eq!(
        slow_last(20.0).doubt(Code::Stragglers),
        Some(Severity::Warn)
    );
    assert_eq!(slow_last(1.0).doubt(Code::Stragglers), None);
    assert_eq!(MadeUp::closed(16, 40).doubt(Code::Stragglers), None);
    // Nothing lasts as long as the idle time: requests found nobody, one after another.
    let mut away = MadeUp::closed(16, 160);
    for (place, record) in away.records.iter_mut().rev().take(10).enumerate() {
        fail(record);
        record.chunks = Chunks::default();
        let late = at(100_000.0 - 5_000.0 * place as f64);
        (record.sent, record.end) = (Some(late), Some(late));
    }
    assert_eq!(away.doubt(Code::Stragglers), None);
    let rates = away.summary().throughput;
    let rate = rates.requests_per_s.unwrap();
    let holds = |[low, high]: [f64; 2]| low <= rate && rate <= high;
    assert!(rates.requests_per_s_interval.is_none_or(holds), "{rates:?}");
}

#[test]
fn a_burst_never_settles_and_its_ttft_is_queueing() {
    let records = (0..200u64).map(|index| {
        let mut record = answer(index, 0.1, 50.0 + 20.0 * index as f64, 32, 10.0);
        record.due = Some(at(0.0));
        record
    });
    let run = MadeUp::of(
        scenario("[load]\nrate = 'inf'\nrequests = 200"),
        records.collect(),
    );
    assert_eq!(run.doubt(Code::NoSteadyState), Some(Severity::Warn));
    assert_eq!(run.doubt(Code::AllAtOnce), Some(Severity::Note));
}

#[test]
fn an_unstaggered_first_wave_is_noted_whether_wished_or_not() {
    let mut run = MadeUp::closed(8, 128);
    assert_eq!(run.doubt(Code::AllAtOnce), None);
    run.ending.stagger_ns = None;
    assert_eq!(run.doubt(Code::AllAtOnce), Some(Severity::Note));
    run.scenario = scenario("[load]\nconcurrency = 8\nstagger = 'none'");
    assert_eq!(run.doubt(Code::AllAtOnce), Some(Severity::Note));
    run.scenario = scenario("[load]\nconcurrency = 1\nstagger = 'none'");
    assert_eq!(run.doubt(Code::AllAtOnce), None);
}

#[test]
fn a_stall_in_one_answer_of_fifty_is_noted() {
    let stall = |every: u64| {
        MadeUp::closed(8, 400).each(|record| {
            if record.index % every == 0 {
                for chunk in &mut record.chunks.at[20..] {
                    *chunk = *chunk + span(300);
                }
            }
        })
    };
    assert_eq!(stall(50).doubt(Code::Stalls), Some(Severity::Note));
    assert_eq!(stall(200).doubt(Code::Stalls), None);
    // A client that paused as long may have made them.
    let told = |pause_ms: f64| {
        let mut run = stall(50);
        run.ending.longest_pause_ms = Some(pause_ms);
        let doubts = run.summary().doubts.into_iter();
        let mut stalls = doubts.filter(|doubt| doubt.code == Code::Stalls);
        stalls.next().unwrap().text
    };
    assert!(!told(20.0).contains("client"), "{}", told(20.0));
    assert!(told(250.0).contains("the client itself"), "{}", told(250.0));
}

#[test]
fn chunks_that_come_together_are_no_reason_to_see_a_stall() {
    // Four tokens a read, a read every 60 ms: the median gap of all chunks is nought.
    let bursts = |reads: usize| {
        MadeUp::closed(8, 128).each(|record| {
            let first = record.chunks.at[0];
            record.chunks.at = (0..reads * 4)
                .map(|i| first + span(i as u64 / 4 * 60))
                .collect();
            record.chunks.same_read = (0..reads * 4).map(|i| i % 4 > 0).collect();
        })
    };
    assert_eq!(bursts(20).doubt(Code::Stalls), None);
    let stalled = bursts(20).each(|record| {
        for chunk in &mut record.chunks.at[40..] {
            *chunk = *chunk + span(2000);
        }
    });
    assert_eq!(stalled.doubt(Code::Stalls), Some(Severity::Note));
    assert_eq!(bursts(5).doubt(Code::Stalls), None);
}

#[test]
fn workers_beyond_the_cores_raise_no_ceiling() {
    let mut run = MadeUp::closed(8, 128);
    run.environment.workers = 16;
    run.environment.host.cores = 2;
    assert_eq!(run.summary().client.ceiling_tokens_per_s, Some(2e6));
    run.environment.host.cores = 0;
    assert_eq!(run.summary().client.ceiling_tokens_per_s, Some(16e6));
}

#[test]
fn a_ramp_inside_the_measured_part_is_told_whatever_its_figures_look_like() {
    let ramped = |over: &str, window: bool| {
        let mut run = MadeUp::open(400, |index| 50.0 + noise(index));
        let load = "[load]\nrate = 20\nrequests = 400\nramp = 'linear'\nramp-over = ";
        run.scenario = scenario(&format!("{load}'{over}'"));
        run.ending.steady_window = window;
        run.doubt(Code::NoSteadyState)
    };
    assert_eq!(ramped("16s", false), Some(Severity::Warn));
    assert_eq!(ramped("16s", true), None, "it lay before the window");
    assert_eq!(ramped("500ms", false), None);
}

#[test]
fn a_handful_of_answers_has_no_steady_state_and_is_not_blamed_for_it() {
    let run = MadeUp::closed(2, 49);
    assert_eq!(run.summary().steady, None);
    assert_eq!(run.doubt(Code::NoSteadyState), None);
}

#[test]
fn requests_that_went_out_again_warn_above_one_in_a_hundred() {
    let with =
        |resent: u64| MadeUp::closed(8, 200).each(|record| record.resent = record.index < resent);
    assert_eq!(with(2).doubt(Code::Resent), None);
    assert_eq!(with(3).doubt(Code::Resent), Some(Severity::Warn));
}

#[test]
fn a_number_of_requests_that_ends_by_itself_has_sent_them_all() {
    let mut run = MadeUp::closed(8, 128);
    (run.ending.planned, run.ending.unsent) = (130, 2);
    assert_eq!(run.doubt(Code::LostRequests), Some(Severity::Invalid));
    let text = &run.summary().doubts[0].text;
    assert!(
        text.starts_with("2 of 130 planned requests were never sent"),
        "{text}"
    );
    run.ending.cause = EndCause::Signal;
    assert_eq!(run.doubt(Code::LostRequests), None);
}

#[test]
fn a_server_that_died_invalidates_the_run() {
    let mut run = MadeUp::closed(8, 128);
    run.ending.health = Health::Dead("connection refused".to_owned());
    assert_eq!(run.doubt(Code::ServerDied), Some(Severity::Invalid));
    let summary = run.summary();
    assert_eq!(summary.doubts[0].code, Code::ServerDied);
    assert!(summary.doubts[0].text.contains("connection refused"));
}
