//! When requests are sent, how many are under way, and when a run ends.

use crate::support::{Place, Run, Sim, records};
use inferometer_core::record::{Outcome, Record};
use inferometer_core::units::Offset;
use std::time::Duration;

const SHORT: [&str; 2] = ["--output-tokens", "4"];

fn run(sim: &Sim, options: &[&str]) -> Run {
    Place::new().measure(&sim.url, &[&SHORT, options].concat())
}

/// Time from each due moment to the next, in seconds.
fn gaps(records: &[Record]) -> Vec<f64> {
    let due: Vec<_> = records.iter().map(|record| record.due.unwrap()).collect();
    assert!(due.is_sorted());
    due.windows(2)
        .map(|pair| pair[1].since(pair[0]).as_secs_f64())
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Nothing is sent before it is due, and what is late is told.
fn assert_schedule(run: &Run) {
    for record in &run.records {
        let (due, sent) = (record.due.unwrap(), record.sent.unwrap());
        assert!(sent >= due);
        let told = record.lag().unwrap()
            + record.cap_wait.unwrap_or_default()
            + record.connect.unwrap_or_default();
        assert!(told >= sent.since(due));
        assert!(record.ttft().unwrap() >= record.ttft_from_sent().unwrap());
    }
    assert_eq!(
        run.summary.latency.lag_ms.unwrap().n,
        run.summary.requests.ok
    );
}

#[test]
fn constant_arrivals_are_evenly_spaced() {
    let sim = Sim::start(&[]);
    let run = run(
        &sim,
        &["--rate", "100", "--arrival", "constant", "--requests", "50"],
    );
    run.assert_all_ok(50);
    assert!(
        gaps(&run.records)
            .iter()
            .all(|gap| (gap - 0.01).abs() < 1e-6)
    );
    assert_schedule(&run);
}

#[test]
fn poisson_and_gamma_arrivals_keep_the_rate_and_differ_in_spread() {
    let sim = Sim::start(&[]);
    let poisson = run(&sim, &["--rate", "150", "--requests", "150"]);
    let bursty = run(
        &sim,
        &[
            "--rate",
            "150",
            "--requests",
            "150",
            "--arrival",
            "gamma",
            "--burstiness",
            "0.1",
        ],
    );
    let regular = run(
        &sim,
        &[
            "--rate",
            "150",
            "--requests",
            "150",
            "--arrival",
            "gamma",
            "--burstiness",
            "50",
        ],
    );
    let spread = |run: &Run| {
        run.assert_all_ok(150);
        assert_schedule(run);
        let gaps = gaps(&run.records);
        let mean = mean(&gaps);
        // Arrivals come from the seed, so these bounds do not depend on the machine.
        assert!((mean * 150.0 - 1.0).abs() < 0.5, "{mean}");
        (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt() / mean
    };
    let (poisson, bursty, regular) = (spread(&poisson), spread(&bursty), spread(&regular));
    assert!(
        regular < 0.5 * poisson && poisson < 0.7 * bursty,
        "{regular} {poisson} {bursty}"
    );
}

#[test]
fn a_ramp_begins_slowly() {
    let sim = Sim::start(&[]);
    for curve in ["linear", "exponential"] {
        let options = [
            "--rate",
            "100",
            "--arrival",
            "constant",
            "--ramp",
            curve,
            "--ramp-from",
            "10",
            "--ramp-over",
            "1s",
            "--requests",
            "70",
        ];
        let run = run(&sim, &options);
        run.assert_all_ok(70);
        // The rate rises before the window opens, and is held inside it.
        let rising = gaps(&run.warmup);
        assert!(
            mean(&rising[..4]) > 3.0 * mean(&rising[rising.len() - 4..]),
            "{curve}: {rising:?}"
        );
        let held = gaps(&run.records);
        assert!(
            held.iter().all(|gap| (gap - held[0]).abs() < 1e-3),
            "{held:?}"
        );
    }
}

#[test]
fn at_an_infinite_rate_all_are_due_at_once_and_the_cap_is_charged_and_told() {
    let sim = Sim::start(&["--ttft", "60ms"]);
    let run = run(
        &sim,
        &[
            "--rate",
            "inf",
            "--requests",
            "12",
            "--max-concurrency",
            "3",
        ],
    );
    run.assert_all_ok(12);
    assert!(gaps(&run.records).iter().all(|gap| *gap == 0.0));
    assert_schedule(&run);
    assert_eq!(run.summary.concurrency.configured, Some(3));
    assert!(run.summary.concurrency.peak.unwrap() <= 3);
    // Three go at once; each later wave waits for one more answer of 60 ms and more.
    let mut waits: Vec<Duration> = run
        .records
        .iter()
        .map(|record| record.cap_wait.unwrap())
        .collect();
    waits.sort();
    for (wave, waits) in waits.chunks(3).enumerate() {
        assert!(
            waits[0] >= Duration::from_millis(40) * wave as u32,
            "{waits:?}"
        );
    }
    for record in &run.records {
        assert!(record.ttft().unwrap() >= record.cap_wait.unwrap() + Duration::from_millis(60));
    }
    let told = run.summary.latency.cap_wait_ms.unwrap();
    assert_eq!(told.n, 12);
    assert!(told.max >= 120.0);
    // The wait is the cap's, not the client's.
    assert!(run.summary.latency.lag_ms.unwrap().mean < 0.5 * told.mean);
}

#[test]
fn an_uncapped_infinite_rate_has_all_under_way_at_once() {
    let sim = Sim::start(&["--ttft", "300ms"]);
    let run = run(&sim, &["--rate", "inf", "--requests", "20"]);
    run.assert_all_ok(20);
    assert!(
        run.summary.concurrency.peak.unwrap() >= 15,
        "{:?}",
        run.summary.concurrency
    );
    assert!(run.records.iter().all(|record| record.cap_wait.is_none()));
}

#[test]
fn a_closed_loop_never_has_more_under_way_than_asked() {
    let sim = Sim::start(&[]);
    for workers in ["1", "2"] {
        let run = run(
            &sim,
            &[
                "--concurrency",
                "5",
                "--requests",
                "40",
                "--workers",
                workers,
            ],
        );
        run.assert_all_ok(40);
        assert_eq!(run.summary.concurrency.configured, Some(5));
        assert!(run.summary.concurrency.peak.unwrap() <= 5);
        assert!(
            run.records
                .iter()
                .all(|record| record.due.is_none() && record.lag().is_none())
        );
    }
}

#[test]
fn a_duration_ends_sending_and_what_is_under_way_is_waited_for() {
    let sim = Sim::start(&["--ttft", "50ms"]);
    for load in [["--concurrency", "3"], ["--rate", "40"]] {
        let run = run(&sim, &[&load[..], &["--duration", "600ms"]].concat());
        let accounts = run.summary.requests;
        assert_eq!(
            (
                accounts.ok,
                accounts.failed + accounts.cut + accounts.unsent
            ),
            (accounts.planned, 0)
        );
        assert!(accounts.ok > 3);
        let first = run.records.iter().filter_map(Record::start).min().unwrap();
        let last = run
            .records
            .iter()
            .filter_map(|record| record.due.or(record.sent))
            .max()
            .unwrap();
        assert!(last.since(first) < Duration::from_secs(5));
    }
}

#[test]
fn requests_and_a_duration_end_at_whichever_comes_first() {
    let sim = Sim::start(&[]);
    let few = run(
        &sim,
        &["--concurrency", "2", "--requests", "6", "--duration", "1m"],
    );
    few.assert_all_ok(6);
    let short = run(
        &sim,
        &[
            "--concurrency",
            "2",
            "--requests",
            "100000",
            "--duration",
            "300ms",
        ],
    );
    assert_eq!(short.summary.requests.planned, 100_000);
    assert!(short.summary.requests.unsent > 0);
}

#[test]
fn what_does_not_end_within_the_drain_is_cut_and_counted() {
    let sim = Sim::start(&["--itl", "100ms"]);
    let place = Place::new();
    for load in [["--concurrency", "3"], ["--rate", "20"]] {
        let options = [
            &load[..],
            &[
                "--duration",
                "300ms",
                "--drain",
                "50ms",
                "--output-tokens",
                "600",
                "--warmup",
                "0",
            ],
        ]
        .concat();
        let run = place.measure(&sim.url, &options);
        let accounts = run.summary.requests;
        assert!(accounts.cut > 0 && accounts.ok == 0, "{accounts:?}");
        let cut: Vec<_> = run
            .records
            .iter()
            .filter(|record| record.outcome == Outcome::Cut)
            .collect();
        assert_eq!(cut.len() as u64, accounts.cut);
        assert!(
            cut.iter().any(|record| !record.chunks.is_empty()),
            "what had come is kept"
        );
    }
}

#[test]
fn warm_up_window_and_hold_are_one_load() {
    let sim = Sim::start(&["--ttft", "20ms", "--itl", "5ms"]);
    let by_count = ["--concurrency", "2", "--requests", "8", "--warmup", "5"];
    let by_time = ["--rate", "50", "--requests", "8", "--warmup", "200ms"];
    let one_wave = ["--concurrency", "3", "--requests", "8"];
    for options in [&by_count[..], &by_time, &one_wave] {
        let run = run(&sim, options);
        run.assert_all_ok(8);
        assert_eq!(
            run.summary.tokens.output,
            Some(32),
            "only measured ones count"
        );
        let window = run.summary.window.expect("it has a window");
        assert!(window.steady_by_construction);
        let inside = |record: &Record| {
            let sent = record.start().expect("it was sent").as_duration();
            sent.as_secs_f64() >= window.start_s
        };
        assert!(run.warmup.iter().all(|record| !inside(record)));
        assert!(run.records.iter().all(inside) && run.hold.iter().all(inside));
        // The server is never idle between the stages.
        let warm_until = run.warmup.iter().filter_map(|record| record.end).max();
        let first = run.records.iter().filter_map(|record| record.sent).min();
        assert!(warm_until > first, "{options:?}");
        let accounts = run.summary.requests;
        assert_eq!(accounts.warmup, run.warmup.len() as u64);
        assert_eq!(accounts.hold, run.hold.len() as u64);
        assert_eq!(accounts.planned, 8);
    }
}

#[test]
fn without_warm_up_and_hold_a_run_is_the_burst_that_others_measure() {
    let sim = Sim::start(&["--ttft", "20ms", "--itl", "5ms"]);
    let burst = ["--warmup", "none", "--hold", "none", "--stagger", "none"];
    let run = run(
        &sim,
        &[&["--concurrency", "2", "--requests", "8"], &burst[..]].concat(),
    );
    run.assert_all_ok(8);
    assert!(run.warmup.is_empty() && run.hold.is_empty());
    let window = run.summary.window.unwrap();
    assert!(!window.steady_by_construction);
    let sent = run.records.iter().filter_map(|record| record.sent).min();
    let done = run.records.iter().filter_map(|record| record.completed());
    let length = done.max().unwrap().since(sent.unwrap()).as_secs_f64();
    assert_eq!(run.summary.window_s, Some(length));
    assert_eq!(
        run.summary.throughput.requests_per_s,
        Some(8.0 / length),
        "first send to last completion"
    );
}

#[test]
fn a_stagger_spreads_the_first_wave_and_none_does_not() {
    let sim = Sim::start(&["--ttft", "100ms"]);
    let first_wave = |stagger: &str| {
        let run = run(
            &sim,
            &[
                "--concurrency",
                "5",
                "--requests",
                "10",
                "--stagger",
                stagger,
            ],
        );
        run.assert_all_ok(10);
        let mut sent: Vec<_> = run
            .warmup
            .iter()
            .map(|record| record.sent.unwrap())
            .collect();
        sent.sort();
        sent[4].since(sent[0])
    };
    let spread = first_wave("500ms");
    assert!(spread >= Duration::from_millis(100), "{spread:?}");
    assert!(first_wave("none") < spread);
    let auto = run(&sim, &["--concurrency", "5", "--requests", "10"]);
    let said = &auto.ended.stdout;
    assert!(said.contains("spread during the warm-up"), "{said}");
    let alone = ["--concurrency", "5", "--requests", "10", "--warmup", "none"];
    let alone = run(&sim, &alone);
    let said = &alone.ended.stdout;
    assert!(said.contains("first wave spread over"), "{said}");
}

#[test]
fn several_servers_are_used_in_rotation() {
    let sims = [Sim::start(&[]), Sim::start(&[]), Sim::start(&[])];
    let urls = sims.each_ref().map(|sim| sim.url.as_str());
    let run = Place::new().measure(
        urls[0],
        &[
            urls[1],
            urls[2],
            "--concurrency",
            "3",
            "--requests",
            "12",
            "--output-tokens",
            "4",
        ],
    );
    run.assert_all_ok(12);
    for record in &run.records {
        let expected = urls[record.index as usize % 3];
        assert!(
            record.url.starts_with(expected),
            "{} is not of {expected}",
            record.url
        );
    }
    for sim in sims {
        let measured = sim
            .truth()
            .keys()
            .filter(|id| run.records.iter().any(|record| record.id == **id))
            .count();
        assert_eq!(measured, 4);
    }
}

#[test]
fn too_many_failures_end_the_run_early_where_asked() {
    let sim = Sim::start(&["--seed", "10", "--faults", "error500=50%"]);
    let run = run(
        &sim,
        &[
            "--concurrency",
            "2",
            "--requests",
            "100000",
            "--warmup",
            "0",
            "--stop-when",
            "failures>20%",
        ],
    );
    assert!(
        run.summary.requests.unsent > 90_000,
        "{:?}",
        run.summary.requests
    );
    assert_eq!(run.ended.code, Some(1));
    assert!(
        run.ended.stdout.contains("interrupted"),
        "{}",
        run.ended.stdout
    );
}

#[test]
fn a_missed_objective_ends_the_run_early_where_asked() {
    let sim = Sim::start(&[]);
    let options = [
        "--concurrency",
        "2",
        "--requests",
        "2000",
        "--slo",
        "ttft.p99=1ms",
        "--stop-when",
        "slo-missed",
    ];
    let run = run(&sim, &options);
    assert!(run.summary.requests.unsent > 0);
    assert_eq!(run.ended.code, Some(1));
}

#[test]
fn a_soak_tells_drift_in_ten_parts() {
    let sim = Sim::start(&[]);
    let run = run(&sim, &["--concurrency", "3", "--soak", "2s"]);
    let drift = run.summary.drift.unwrap();
    assert_eq!(drift.len(), 10);
    assert!(drift.windows(2).all(|pair| pair[0].from_s < pair[1].from_s));
    assert_eq!(
        drift.iter().map(|part| part.ok).sum::<u64>(),
        run.summary.requests.ok
    );
}

#[test]
fn the_smallest_runs_have_numbers_where_there_are_any_and_none_elsewhere() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let one = place.measure(
        &sim.url,
        &[
            "--requests",
            "1",
            "--concurrency",
            "1",
            "--output-tokens",
            "1",
            "--warmup",
            "0",
        ],
    );
    one.assert_all_ok(1);
    let latency = &one.summary.latency;
    assert_eq!(latency.ttft_ms.unwrap().n, 1);
    assert!(
        latency.ttft_ms.unwrap().std.is_none()
            && latency.tpot_ms.is_none()
            && latency.itl_ms.is_none()
    );
    let fewer_than_streams = run(&sim, &["--requests", "3", "--concurrency", "8"]);
    fewer_than_streams.assert_all_ok(3);
    assert!(
        fewer_than_streams.summary.valid,
        "{:?}",
        fewer_than_streams.summary.doubts
    );
}

#[test]
fn a_window_that_opens_in_virtual_time_delays_no_arrival() {
    let place = Place::new();
    let slowest = |warmup: &[&str], out: &str| {
        let load = "run --lang en --sim-clock virtual --quiet --rate 1 --requests 300 --out";
        let load: Vec<&str> = load.split(' ').chain([out]).collect();
        let ended = place.run(&[load.as_slice(), warmup].concat());
        let run = Run::read(ended, place.path(out));
        let ttft = run.records.iter().map(|record| record.ttft().unwrap());
        ttft.max().unwrap().as_secs_f64()
    };
    let (opened, bare) = (
        slowest(&[], "window"),
        slowest(&["--warmup", "none"], "bare"),
    );
    // The same arrivals on an engine that is mostly idle: nobody waits for anything.
    assert!(opened < 1.5 * bare, "{opened} against {bare}");
}

/// Figures of a run in virtual time: tokens per second and mean TPOT.
fn computed(place: &Place, load: &str, requests: u32, seed: u32) -> [f64; 2] {
    let command = format!(
        "run --sim-clock virtual --quiet --no-html --format json {load} --requests {requests} \
         --seed {seed} --out {requests}-{seed} -- vllm serve qwen2.5-7b --max-num-seqs 48"
    );
    let ended = place.run(&command.split_whitespace().collect::<Vec<_>>());
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let rate = &summary["throughput"]["output_tokens_per_s"];
    [rate, &summary["latency"]["tpot_ms"]["mean"]].map(|figure| figure.as_f64().unwrap())
}

#[test]
fn a_few_long_answers_are_under_way_from_the_start_as_often_as_later() {
    let place = Place::new();
    let load = "--concurrency 24 --length-pairs 200:20=9,2000:600=1";
    let truth = computed(&place, load, 6000, 99);
    let short: Vec<_> = (1..=6)
        .map(|seed| computed(&place, load, 240, seed))
        .collect();
    for (figure, truth) in truth.into_iter().enumerate() {
        let values: Vec<f64> = short.iter().map(|run| run[figure]).collect();
        let ratio = mean(&values) / truth;
        assert!((0.96..1.05).contains(&ratio), "{figure}: {ratio}");
    }
}

#[test]
fn a_model_that_the_simulated_engine_does_not_serve_is_refused_in_virtual_time_too() {
    let place = Place::new();
    place
        .run(&[
            "run",
            "--sim-clock",
            "virtual",
            "--model",
            "Qwen/Qwen2.5-72B-Instruct",
        ])
        .assert_refused(&["does not serve the model", "--sim-model"]);
}

#[test]
fn what_waits_in_a_growing_queue_is_no_throughput() {
    let place = Place::new();
    let command = "run --sim-clock virtual --quiet --no-html --format json --rate 40 --requests 400 \
        --input-tokens 64 --output-tokens 64 --out flooded -- vllm serve qwen2.5-7b --max-num-seqs 8";
    let ended = place.run(&command.split_whitespace().collect::<Vec<_>>());
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let [from, to] = ["start_s", "end_s"].map(|end| summary["window"][end].as_f64().unwrap());
    let inside = |at: &Offset| (from..=to).contains(&at.as_duration().as_secs_f64());
    let records = records(&place.path("flooded"));
    let chunks = records.iter().flat_map(|record| &record.chunks.at);
    let received = chunks.filter(|at| inside(at)).count() as f64 / (to - from);
    let rate = &summary["throughput"];
    let stated = rate["output_tokens_per_s"].as_f64().unwrap();
    assert!(
        (stated / received - 1.0).abs() < 0.02,
        "{stated} {received}"
    );
    let requests = rate["requests_per_s"].as_f64().unwrap();
    assert!(
        (64.0 * requests / received - 1.0).abs() < 0.02,
        "{requests} {received}"
    );
}

#[test]
fn virtual_time_refuses_the_limits_that_it_does_not_keep() {
    let place = Place::new();
    for limit in [
        "--max-concurrency=4",
        "--request-timeout=500ms",
        "--read-timeout=5ms",
    ] {
        let command = [
            "run",
            "--sim-clock",
            "virtual",
            "--rate",
            "5",
            "--requests",
            "20",
            limit,
        ];
        let option = limit.split('=').next().unwrap();
        place.run(&command).assert_refused(&["leave out", option]);
    }
}
