//! What stands between the engine and the client, against what vLLM measured on one H200 with its
//! default flags: a Qwen2.5-7B shape, prompts of 512 and answers of 128 tokens, a closed loop whose
//! clients began together.

use inferometer_catalog::{
    device::{Device, Parallel},
    memory::MemorySettings,
    model::Model,
    timing::{ApiCost, Timing},
};
use inferometer_sim::engine::{
    Engine, EngineConfig, Request, VllmPolicy,
    virtual_time::{Keep, Run, Served, closed_loop},
};

/// Means of the runs of `fixtures/plan/h200-front-end.md`.
struct Measured {
    streams: usize,
    ttft_ms: f64,
    client_tpot_ms: f64,
    engine_ttft_ms: f64,
    engine_tpot_ms: f64,
    requests_per_second: f64,
}

const ROWS: [Measured; 3] = [
    Measured {
        streams: 64,
        ttft_ms: 514.0,
        client_tpot_ms: 7.2,
        engine_ttft_ms: 464.0,
        engine_tpot_ms: 7.1,
        requests_per_second: 44.8,
    },
    Measured {
        streams: 256,
        ttft_ms: 1749.0,
        client_tpot_ms: 28.5,
        engine_ttft_ms: 1625.0,
        engine_tpot_ms: 20.1,
        requests_per_second: 47.5,
    },
    Measured {
        streams: 512,
        ttft_ms: 2637.0,
        client_tpot_ms: 56.2,
        engine_ttft_ms: 2459.0,
        engine_tpot_ms: 37.7,
        requests_per_second: 51.9,
    },
];

fn config() -> EngineConfig {
    let mut model = Model::named("qwen2.5-7b").expect("a preset");
    model.vocabulary = 8192;
    let device = Device::named("h200").expect("a preset");
    let policy = VllmPolicy {
        max_num_batched_tokens: 8192,
        max_num_seqs: 1024,
        ..VllmPolicy::default()
    };
    let config = EngineConfig::vllm(
        &model,
        device,
        &Parallel::default(),
        &Timing::shipped(device),
        policy,
        &MemorySettings::default(),
    );
    config.expect("it fits")
}

fn serve(config: EngineConfig, streams: usize, per_stream: usize) -> Run {
    let count = (per_stream * streams) as u64;
    let requests = (0..count).map(|id| Request::new(id, 512, 128));
    let mut engine = Engine::new(config, 1);
    closed_loop(&mut engine, requests, streams, Keep::default())
}

fn mean(run: &Run, figure: fn(&Served) -> Option<f64>) -> f64 {
    run.mean(figure).expect("all finished")
}

#[test]
fn client_and_engine_differ_as_measured() {
    // With 256 streams 2, 4 and 8 were measured, and came out alike.
    for per_stream in [2, 4, 8] {
        for row in &ROWS {
            let run = serve(config(), row.streams, per_stream);
            for (what, simulated, measured) in [
                (
                    "TTFT at the client",
                    mean(&run, Served::ttft_ms),
                    row.ttft_ms,
                ),
                (
                    "TTFT by the engine",
                    mean(&run, Served::engine_ttft_ms),
                    row.engine_ttft_ms,
                ),
                (
                    "TPOT at the client",
                    mean(&run, Served::tpot_ms),
                    row.client_tpot_ms,
                ),
                (
                    "TPOT by the engine",
                    mean(&run, Served::engine_tpot_ms),
                    row.engine_tpot_ms,
                ),
                ("req/s", run.requests_per_second(), row.requests_per_second),
            ] {
                let error = simulated / measured - 1.0;
                let streams = row.streams;
                println!(
                    "{per_stream} a stream, {streams}: {what} {simulated:.1}, {measured} measured"
                );
                assert!(error.abs() < 0.15, "{what}, {streams}: {error:.3}");
            }
            let waited = mean(&run, Served::ttft_ms) - mean(&run, Served::engine_ttft_ms);
            assert!(waited > 10.0, "{waited}");
        }
    }
}

#[test]
fn four_api_servers_raise_what_one_holds_back() {
    for (streams, requests_per_second, ttft_ms, tpot_ms) in
        [(256, 63.2, 869.0, 24.9), (512, 65.3, 1321.0, 51.0)]
    {
        let mut more = config();
        more.api_servers = 4;
        let four = serve(more, streams, 4);
        for (what, simulated, measured) in [
            ("req/s", four.requests_per_second(), requests_per_second),
            ("TTFT", mean(&four, Served::ttft_ms), ttft_ms),
            ("TPOT", mean(&four, Served::tpot_ms), tpot_ms),
        ] {
            let error = simulated / measured - 1.0;
            println!("{streams}: {what} {simulated:.1}, {measured} measured");
            assert!(error.abs() < 0.1, "{what}, {streams}: {error:.3}");
        }
        let between = mean(&four, Served::tpot_ms) / mean(&four, Served::engine_tpot_ms);
        assert!((0.98..1.02).contains(&between), "{between}");
    }
}

#[test]
fn a_stream_interval_relieves_the_front_end() {
    let one = serve(config(), 256, 5);
    let mut fewer = config();
    fewer.stream_interval = 4;
    let four = serve(fewer, 256, 5);
    assert!(four.tokens_per_second() > 1.1 * one.tokens_per_second());
    let chunks = |run: &Run| run.served.iter().map(|served| served.chunks).sum::<u32>();
    assert!(3 * chunks(&four) < chunks(&one));
}

#[test]
fn an_ideal_front_end_shows_the_engine_as_it_is() {
    let mut ideal = config();
    ideal.api = ApiCost::FREE;
    for servers in [1, 4] {
        ideal.api_servers = servers;
        let run = serve(ideal.clone(), 256, 4);
        for served in &run.served {
            assert_eq!(
                served.made,
                Some([served.first_token, served.finished].map(|at| at.expect("done")))
            );
            assert_eq!(
                (served.accepted, served.chunks),
                (served.arrived, served.tokens)
            );
        }
        // As it was before there was a front end to switch off.
        assert!(
            (run.requests_per_second() - IDEAL_REQUESTS_PER_SECOND).abs() < 1e-3,
            "{}",
            run.requests_per_second()
        );
    }
}

/// Of the same requests, by the scheduler alone.
const IDEAL_REQUESTS_PER_SECOND: f64 = 62.106_075;
