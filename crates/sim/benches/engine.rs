//! How fast the engine runs in virtual time, in simulated output tokens per second:
//! `cargo bench -p inferometer-sim --bench engine`.

use divan::{Bencher, counter::ItemsCount};
use inferometer_catalog::{
    device::{Device, Parallel},
    memory::MemorySettings,
    model::Model,
    timing::Timing,
};
use inferometer_sim::engine::{
    Engine, EngineConfig, Request, VllmPolicy,
    virtual_time::{Keep, closed_loop},
};

fn main() {
    divan::main();
}

fn config() -> EngineConfig {
    let device = Device::named("h200").expect("a preset");
    let config = EngineConfig::vllm(
        &Model::named("qwen2.5-7b").expect("a preset"),
        device,
        &Parallel::default(),
        &Timing::shipped(device),
        VllmPolicy::default(),
        &MemorySettings::default(),
    );
    config.expect("it fits")
}

/// 512 prompt tokens and 128 output tokens a request.
#[divan::bench(args = [16, 128, 1024], sample_count = 3)]
fn closed_loop_of_512_128(bencher: Bencher<'_, '_>, streams: usize) {
    serve(bencher, config(), streams, 20_000, false);
}

#[divan::bench(sample_count = 1)]
fn a_hundred_thousand_requests(bencher: Bencher<'_, '_>) {
    serve(bencher, config(), 256, 100_000, false);
}

/// Every prompt shares its first half with others.
#[divan::bench(sample_count = 3)]
fn with_prefix_cache(bencher: Bencher<'_, '_>) {
    let mut config = config();
    config.prefix_caching = true;
    serve(bencher, config, 128, 20_000, true);
}

fn serve(bencher: Bencher<'_, '_>, config: EngineConfig, streams: usize, count: u64, shared: bool) {
    let requests = move || {
        (0..count).map(move |id| {
            let mut request = Request::new(id, 512, 128);
            if shared {
                let own = 1_000_000 + id * 32;
                let common = (id % 10) * 32;
                request.hashes = (0..16).map(|block| common + block).collect();
                request.hashes.extend((16..32).map(|block| own + block));
            }
            request
        })
    };
    bencher
        .counter(ItemsCount::new(count * 128))
        .with_inputs(|| Engine::new(config.clone(), 1))
        .bench_local_values(|mut engine| {
            closed_loop(&mut engine, requests(), streams, Keep::default()).ended
        });
}
