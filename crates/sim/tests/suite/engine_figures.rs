//! The shipped profile against what vLLM 0.26 measured on one H200: a Qwen2.5-7B shape with a
//! vocabulary of 8192, closed loop without stagger, four requests a stream, TTFT from sending.

use inferometer_catalog::{
    device::{Device, Parallel},
    memory::MemorySettings,
    model::Model,
    timing::Timing,
};
use inferometer_sim::engine::{
    Engine, EngineConfig, Request, VllmPolicy,
    virtual_time::{Keep, Run, Served, closed_loop},
};

struct Measured {
    batched_tokens: u32,
    sequences: u32,
    streams: usize,
    input: u32,
    output: u32,
    requests_per_second: f64,
    ttft_ms: f64,
    tpot_ms: f64,
}

const fn measured(
    (batched_tokens, sequences): (u32, u32),
    streams: usize,
    (input, output): (u32, u32),
    (requests_per_second, ttft_ms, tpot_ms): (f64, f64, f64),
) -> Measured {
    Measured {
        batched_tokens,
        sequences,
        streams,
        input,
        output,
        requests_per_second,
        ttft_ms,
        tpot_ms,
    }
}

const FIGURES: [Measured; 6] = [
    measured((8192, 1024), 1, (512, 128), (1.70, 27.0, 4.4)),
    measured((8192, 1024), 16, (512, 128), (20.4, 153.0, 5.0)),
    measured((8192, 1024), 128, (512, 128), (56.3, 788.0, 11.6)),
    measured((8192, 1024), 32, (4096, 64), (9.6, 1157.0, 34.2)),
    measured((512, 256), 64, (512, 128), (46.9, 208.0, 8.8)),
    measured((8192, 32), 64, (512, 128), (32.7, 1060.0, 5.8)),
];

fn simulate(figure: &Measured, requests_a_stream: usize) -> Run {
    let mut model = Model::named("qwen2.5-7b").expect("a preset");
    model.vocabulary = 8192;
    let device = Device::named("h200").expect("a preset");
    let policy = VllmPolicy {
        max_num_batched_tokens: figure.batched_tokens,
        max_num_seqs: figure.sequences,
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
    let config = config.expect("it fits");
    let count = (requests_a_stream * figure.streams) as u64;
    let requests = (0..count).map(|id| Request::new(id, figure.input, figure.output));
    let mut engine = Engine::new(config, 1);
    closed_loop(&mut engine, requests, figure.streams, Keep::default())
}

/// Relative errors of req/s, TTFT and TPOT.
fn errors(figure: &Measured, run: &Run) -> [f64; 3] {
    let ttft = run.mean(Served::ttft_ms).expect("some finished");
    let tpot = run.mean(Served::tpot_ms).expect("some finished");
    [
        run.requests_per_second() / figure.requests_per_second - 1.0,
        ttft / figure.ttft_ms - 1.0,
        tpot / figure.tpot_ms - 1.0,
    ]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_h200_profile_agrees_with_six_measured_points() {
    // How many requests a stream sent is not recorded; the answer must not hang on it.
    for requests_a_stream in [3, 4, 6, 12] {
        let all: Vec<[f64; 3]> = FIGURES
            .iter()
            .map(|figure| errors(figure, &simulate(figure, requests_a_stream)))
            .collect();
        println!("{requests_a_stream} a stream, errors of req/s, TTFT and TPOT: {all:.3?}");
        for metric in [0, 2] {
            let absolute: Vec<f64> = all.iter().map(|errors| errors[metric].abs()).collect();
            let worst = absolute.iter().copied().fold(0.0, f64::max);
            assert!(
                worst < 0.25,
                "metric {metric}, {requests_a_stream} a stream: {absolute:?}"
            );
            let median = median(absolute);
            assert!(
                median < 0.15,
                "metric {metric}, {requests_a_stream} a stream: {median}"
            );
        }
        let ttft = median(all.iter().map(|errors| errors[1].abs()).collect());
        assert!(ttft < 0.25, "TTFT, {requests_a_stream} a stream: {ttft}");
    }
}

#[test]
fn the_six_points_come_in_the_measured_order() {
    let runs: Vec<Run> = FIGURES.iter().map(|figure| simulate(figure, 4)).collect();
    let order = |values: Vec<f64>| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        order
    };
    assert_eq!(
        order(runs.iter().map(Run::requests_per_second).collect()),
        order(
            FIGURES
                .iter()
                .map(|figure| figure.requests_per_second)
                .collect()
        )
    );
    for (simulated, known) in [
        (
            runs.iter()
                .map(|run| run.mean(Served::tpot_ms).expect("some finished"))
                .collect(),
            FIGURES.iter().map(|figure| figure.tpot_ms).collect(),
        ),
        (
            runs.iter()
                .map(|run| run.mean(Served::ttft_ms).expect("some finished"))
                .collect(),
            FIGURES.iter().map(|figure| figure.ttft_ms).collect(),
        ),
    ] {
        let (simulated, known): (Vec<f64>, Vec<f64>) = (simulated, known);
        assert_eq!(order(simulated), order(known));
    }
}
