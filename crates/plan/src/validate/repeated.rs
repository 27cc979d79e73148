//! Loads whose tool makes a few prompts and sends them over and over, as AIPerf does with the
//! arguments of aiconfigurator's `bench_run.sh`: 100 prompts in turn, after a warm-up of two requests
//! for each stream. A server that keeps prompts has computed most of them before it is measured.

use crate::work::Work;
use inferometer_sim::engine::virtual_time::{Keep, Run, closed_loop};
use inferometer_sim::engine::{Engine, EngineConfig, Request};

/// Prompts of AIPerf where nothing else is said (`--num-dataset-entries`).
const PROMPTS: u64 = 100;
/// `--warmup-request-count $(($concurrency*2))`.
const WARM_UP_PER_STREAM: u32 = 2;

pub(super) fn serve(config: EngineConfig, work: &Work, streams: u32, seed: u64) -> Run {
    let warm_up = streams.saturating_mul(WARM_UP_PER_STREAM);
    let work = Work {
        requests: work.requests.saturating_add(warm_up),
        ..work.clone()
    };
    let sizes = work.sizes(seed);
    let block = config.block_size.max(1);
    let request = |(id, output): (u64, u32)| {
        let prompt = id % PROMPTS;
        let input = sizes[prompt as usize % sizes.len()].input;
        let blocks = u64::from(input / block);
        Request {
            hashes: (0..blocks).map(|place| prompt << 32 | place).collect(),
            ..Request::new(id, input, output)
        }
    };
    let outputs = (0u64..).zip(sizes.iter().map(|sizes| sizes.output));
    let mut engine = Engine::new(config, seed);
    let requests = outputs.map(request);
    let mut run = closed_loop(&mut engine, requests, streams as usize, Keep::default());
    let warm_up = (warm_up as usize).min(run.served.len());
    run.around = run.served.drain(..warm_up).collect();
    run
}
