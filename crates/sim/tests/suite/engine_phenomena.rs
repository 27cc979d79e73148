//! What users know of real engines, in virtual time: launch flags must change TTFT, TPOT and
//! ITL as they do on a device.

use inferometer_catalog::{
    device::{Device, Parallel},
    memory::MemorySettings,
    model::{Dtype, Model},
    timing::{KernelLaunch, StepTime, Timing},
    units::GIB,
};
use inferometer_sim::engine::{
    Engine, EngineConfig, MindiePolicy, Noise, Order, Policy, Request, Speculation, VllmPolicy,
    virtual_time::{Keep, Run, Served, closed_loop, open_loop},
};

const EVERYTHING: Keep = Keep {
    chunk_times: true,
    batches: true,
    steps: true,
};
const MILLISECOND: u64 = 1_000_000;

/// Qwen2.5-7B on an A100-80G under vLLM.
fn vllm(policy: VllmPolicy) -> EngineConfig {
    let device = Device::named("a100-80g").expect("a preset");
    let config = EngineConfig::vllm(
        &Model::named("qwen2.5-7b").expect("a preset"),
        device,
        &Parallel::default(),
        &Timing::shipped(device),
        policy,
        &MemorySettings::default(),
    );
    config.expect("it fits")
}

/// QwQ-32B on four 910B3 under MindIE, with this npuMemSize.
fn mindie(policy: MindiePolicy, npu_mem_gb: f64) -> EngineConfig {
    let model = Model::named("qwq-32b").expect("a preset");
    let device = Device::named("910b3").expect("a preset");
    let parallel = Parallel::tensor(4);
    let time = StepTime::new(&model, device, &parallel, &Timing::shipped(device))
        .launched(KernelLaunch::Graphs(u32::MAX));
    let block = model.kv_bytes_per_token(4, Dtype::F16) * 128.0;
    let blocks = (npu_mem_gb * GIB / block) as u64;
    EngineConfig::new(Policy::Mindie(policy), time, (blocks, 128), 8192)
}

fn uniform(count: u64, input: u32, output: u32) -> impl Iterator<Item = Request> {
    (0..count).map(move |id| Request::new(id, input, output))
}

fn closed(config: EngineConfig, streams: usize, requests: impl Iterator<Item = Request>) -> Run {
    closed_loop(&mut Engine::new(config, 1), requests, streams, EVERYTHING)
}

fn ttft(run: &Run) -> f64 {
    run.mean(Served::ttft_ms).expect("some finished")
}

fn tpot(run: &Run) -> f64 {
    run.mean(Served::tpot_ms).expect("some finished")
}

/// The time between chunks that 99 % are below.
fn gap_p99(run: &Run) -> f64 {
    let gaps = run.gaps_ms();
    gaps[gaps.len() * 99 / 100]
}

fn preemptions(run: &Run) -> u32 {
    run.served.iter().map(|served| served.preemptions).sum()
}

fn greatest_batch(run: &Run) -> u32 {
    run.steps
        .iter()
        .map(|step| step.batch)
        .max()
        .expect("some steps")
}

#[test]
fn when_all_come_at_once_a_smaller_token_budget_gives_a_longer_ttft_and_a_shorter_itl_tail() {
    let run = |max_num_batched_tokens| {
        let policy = VllmPolicy {
            max_num_batched_tokens,
            max_num_seqs: 256,
            ..VllmPolicy::default()
        };
        closed(vllm(policy), 64, uniform(64, 1024, 128))
    };
    let runs = [256, 512, 2048].map(run);
    assert!(ttft(&runs[0]) > ttft(&runs[1]) && ttft(&runs[1]) > ttft(&runs[2]));
    assert!(gap_p99(&runs[0]) < gap_p99(&runs[1]) && gap_p99(&runs[1]) < gap_p99(&runs[2]));
}

#[test]
fn in_a_closed_loop_a_smaller_token_budget_may_shorten_the_mean_ttft() {
    let run = |max_num_batched_tokens| {
        let policy = VllmPolicy {
            max_num_batched_tokens,
            max_num_seqs: 256,
            ..VllmPolicy::default()
        };
        closed(vllm(policy), 64, uniform(512, 512, 128))
    };
    assert!(ttft(&run(512)) < ttft(&run(8192)));
}

#[test]
fn without_chunked_prefill_whole_prefills_stall_those_who_decode() {
    // Eight streams decode; every half second a prompt of 6000 tokens comes.
    let requests = || {
        let decoding = (0..8).map(|id| (0, Request::new(id, 64, 400)));
        let long = (8..14).map(|id| ((id - 7) * 500 * MILLISECOND, Request::new(id, 6000, 8)));
        decoding.chain(long)
    };
    let run = |chunked_prefill, max_num_batched_tokens| {
        let policy = VllmPolicy {
            chunked_prefill,
            max_num_batched_tokens,
            ..VllmPolicy::default()
        };
        open_loop(&mut Engine::new(vllm(policy), 1), requests(), EVERYTHING)
    };
    let (whole, chunked) = (run(false, 8192), run(true, 512));
    let prefill = whole
        .steps
        .iter()
        .map(|step| step.duration_ns)
        .max()
        .unwrap();
    let stall = |run: &Run| {
        run.served[..8]
            .iter()
            .map(|served| served.longest_gap)
            .max()
            .unwrap()
    };
    assert!(stall(&whole) >= prefill, "{} {prefill}", stall(&whole));
    assert!(
        stall(&whole) > 5 * stall(&chunked),
        "{} {}",
        stall(&whole),
        stall(&chunked)
    );
    let mixed = |run: &Run| {
        let both = |step: &&_| {
            matches!(
                step,
                inferometer_sim::engine::StepRecord {
                    prefill_tokens: 1..,
                    decode_tokens: 1..,
                    ..
                }
            )
        };
        run.steps.iter().filter(both).count()
    };
    assert_eq!(mixed(&whole), 0);
    assert!(mixed(&chunked) > 10);
}

#[test]
fn a_prefill_batch_of_one_on_mindie_keeps_the_batch_at_one_and_generation_an_order_lower() {
    let run = |max_prefill_batch_size| {
        let policy = MindiePolicy {
            max_prefill_batch_size,
            ..MindiePolicy::default()
        };
        closed(mindie(policy, 20.0), 16, uniform(64, 60, 256))
    };
    let (one, fifty) = (run(1), run(50));
    assert_eq!(greatest_batch(&one), 1);
    assert_eq!(greatest_batch(&fifty), 16);
    let gain = fifty.tokens_per_second() / one.tokens_per_second();
    assert!(gain > 8.0, "{gain}");
}

#[test]
fn more_memory_changes_nothing_on_mindie_while_the_batch_is_stuck() {
    let run = |npu_mem_gb| {
        let policy = MindiePolicy {
            max_prefill_batch_size: 1,
            ..MindiePolicy::default()
        };
        let config = mindie(policy, npu_mem_gb);
        closed(config, 16, uniform(32, 60, 64)).tokens_per_second()
    };
    assert_eq!(run(8.0), run(35.0));
}

#[test]
fn selecting_batches_on_mindie_trades_ttft_for_smoother_decoding() {
    let run = |select_batch| {
        let policy = MindiePolicy {
            select_batch,
            prefill_time_ms: 600.0,
            ..MindiePolicy::default()
        };
        let arrivals = (0..60).map(|id| (id * 400 * MILLISECOND, Request::new(id, 1000, 100)));
        open_loop(
            &mut Engine::new(mindie(policy, 20.0), 1),
            arrivals,
            EVERYTHING,
        )
    };
    let (first, select) = (run(false), run(true));
    assert!(
        ttft(&select) > 1.5 * ttft(&first),
        "{} {}",
        ttft(&select),
        ttft(&first)
    );
    assert!(
        tpot(&select) < tpot(&first),
        "{} {}",
        tpot(&select),
        tpot(&first)
    );
}

#[test]
fn mindie_cuts_answers_at_its_iteration_limit_and_waits_for_company() {
    let policy = MindiePolicy {
        max_iter_times: 10,
        max_queue_delay_us: 50_000,
        ..MindiePolicy::default()
    };
    let run = closed(mindie(policy, 20.0), 1, uniform(1, 60, 256));
    assert_eq!(run.served[0].tokens, 10);
    assert!(run.served[0].queue_ms().unwrap() >= 50.0);
}

#[test]
fn throughput_rises_with_concurrency_and_saturates_and_latency_then_grows_in_proportion() {
    let runs: Vec<Run> = [1, 4, 16, 64, 256, 512, 1024]
        .map(|streams| {
            closed(
                vllm(VllmPolicy::default()),
                streams,
                uniform(streams as u64 * 4, 512, 128),
            )
        })
        .into();
    let rates: Vec<f64> = runs.iter().map(Run::requests_per_second).collect();
    assert!(
        rates[1] > 2.5 * rates[0] && rates[2] > 2.0 * rates[1],
        "{rates:?}"
    );
    assert!(rates[6] < 1.1 * rates[5], "{rates:?}");
    let latency = |run: &Run| run.mean(Served::latency_ms).expect("some finished");
    let growth = latency(&runs[6]) / latency(&runs[5]);
    assert!((1.7..2.3).contains(&growth), "{growth}");
}

#[test]
fn too_little_kv_memory_gives_preemptions_and_a_latency_cliff() {
    let run = |blocks| {
        let mut config = vllm(VllmPolicy::default());
        config.blocks = blocks;
        closed(config, 64, uniform(256, 512, 512))
    };
    // 64 requests grow to 64 blocks each.
    let (ample, scarce, tiny) = (run(64 * 64 + 1), run(2400), run(600));
    assert_eq!(preemptions(&ample), 0);
    assert!(preemptions(&scarce) > 0 && preemptions(&tiny) > 0);
    let latency = |run: &Run| run.mean(Served::latency_ms).expect("some finished");
    assert!(latency(&scarce) > 1.2 * latency(&ample));
    assert!(latency(&tiny) > 2.0 * latency(&ample));
    for run in [ample, scarce, tiny] {
        assert!(run.served.iter().all(|served| served.tokens == 512));
    }
}

#[test]
fn hits_in_the_prefix_cache_cut_the_ttft() {
    let requests = || {
        (0..64).map(|id| {
            let mut prompt: Vec<u32> = (0..2048).collect();
            prompt.extend((0..64).map(|token| 10_000 + id as u32 * 64 + token));
            Request::with_prompt(id, &prompt, 32, 16)
        })
    };
    let run = |prefix_caching| {
        let mut config = vllm(VllmPolicy::default());
        config.prefix_caching = prefix_caching;
        closed(config, 4, requests())
    };
    let (cold, warm) = (run(false), run(true));
    assert!(
        ttft(&warm) < 0.5 * ttft(&cold),
        "{} {}",
        ttft(&warm),
        ttft(&cold)
    );
    let hits = warm
        .served
        .iter()
        .filter(|served| served.cached_tokens == 2048)
        .count();
    assert!(hits >= 59, "{hits}");
    assert!(cold.served.iter().all(|served| served.cached_tokens == 0));
}

#[test]
fn a_prompt_that_is_cached_whole_still_computes_its_last_token() {
    let prompt: Vec<u32> = (0..64).collect();
    let mut config = vllm(VllmPolicy::default());
    config.prefix_caching = true;
    let run = closed(
        config,
        1,
        (0..2).map(|id| Request::with_prompt(id, &prompt, 4, 16)),
    );
    assert_eq!(run.served[1].cached_tokens, 48);
    assert_eq!(run.served[1].tokens, 4);
}

#[test]
fn fewer_sequences_than_streams_put_a_queue_into_ttft_and_keep_tpot_short() {
    let run = |max_num_seqs| {
        let policy = VllmPolicy {
            max_num_seqs,
            ..VllmPolicy::default()
        };
        closed(vllm(policy), 64, uniform(256, 512, 128))
    };
    let (few, many) = (run(16), run(256));
    assert!(ttft(&few) > 2.0 * ttft(&many));
    assert!(tpot(&few) < 0.8 * tpot(&many));
    let queue = few.mean(Served::queue_ms).expect("some finished");
    assert!(queue > 0.7 * ttft(&few), "{queue} {}", ttft(&few));
    assert_eq!(greatest_batch(&few), 16);
}

#[test]
fn long_input_with_short_output_is_the_least_efficient_cell_of_the_grid() {
    let mut cells = Vec::new();
    for input in [128, 1024, 4096] {
        for output in [32, 128, 512] {
            let run = closed(vllm(VllmPolicy::default()), 32, uniform(128, input, output));
            cells.push((run.tokens_per_second(), input, output));
        }
    }
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!((cells[0].1, cells[0].2), (4096, 32), "{cells:?}");
    assert_eq!((cells[8].1, cells[8].2), (128, 512), "{cells:?}");
}

#[test]
fn a_bound_on_long_prefills_lets_short_prompts_pass() {
    let run = |long_prefill_token_threshold| {
        let policy = VllmPolicy {
            max_num_batched_tokens: 2048,
            long_prefill_token_threshold,
            ..VllmPolicy::default()
        };
        let long = (0..4).map(|id| (0, Request::new(id, 8000, 4)));
        let short = (4..12).map(|id| (100 * MILLISECOND, Request::new(id, 64, 4)));
        open_loop(
            &mut Engine::new(vllm(policy), 1),
            long.chain(short),
            EVERYTHING,
        )
    };
    let short = |run: &Run| {
        run.served[4..]
            .iter()
            .filter_map(Served::ttft_ms)
            .sum::<f64>()
    };
    assert!(short(&run(256)) < 0.5 * short(&run(0)));
}

#[test]
fn by_priority_who_matters_most_waits_least() {
    let run = |order| {
        let policy = VllmPolicy {
            order,
            max_num_seqs: 4,
            ..VllmPolicy::default()
        };
        let requests = uniform(64, 256, 64).map(|mut request| {
            request.priority = if request.id % 8 == 7 { -1 } else { 0 };
            request
        });
        closed(vllm(policy), 64, requests)
    };
    let urgent = |run: &Run| {
        run.served
            .iter()
            .skip(7)
            .step_by(8)
            .filter_map(Served::ttft_ms)
            .sum::<f64>()
    };
    assert!(urgent(&run(Order::Priority)) < 0.5 * urgent(&run(Order::Arrival)));
}

#[test]
fn a_stream_interval_sends_the_same_tokens_in_fewer_chunks() {
    let run = |stream_interval| {
        let mut config = vllm(VllmPolicy::default());
        config.stream_interval = stream_interval;
        closed(config, 1, uniform(1, 64, 101))
    };
    let (each, tenth) = (run(1), run(10));
    assert_eq!((each.served[0].tokens, each.served[0].chunks), (101, 101));
    // The first token goes at once, then every tenth.
    assert_eq!((tenth.served[0].tokens, tenth.served[0].chunks), (101, 11));
}

#[test]
fn speculation_sends_several_tokens_a_chunk_and_helps_while_the_batch_is_small() {
    let run = |streams: usize, speculation| {
        let mut config = vllm(VllmPolicy::default());
        config.speculation = speculation;
        closed(config, streams, uniform(streams as u64 * 4, 128, 200))
    };
    let drafts = Some(Speculation {
        tokens: 4,
        acceptance: 0.7,
        draft_cost: 0.05,
    });
    let (plain, speculative) = (run(1, None), run(1, drafts));
    let chunks: u32 = speculative.served.iter().map(|served| served.chunks).sum();
    let a_chunk = 800.0 / f64::from(chunks);
    // 1 + 0.7 + 0.7² + 0.7³ + 0.7⁴.
    assert!((a_chunk - 2.77).abs() < 0.2, "{a_chunk}");
    assert!(speculative.served.iter().all(|served| served.tokens == 200));
    let gain = |streams| tpot(&run(streams, None)) / tpot(&run(streams, drafts));
    assert!(tpot(&plain) / tpot(&speculative) > 1.8);
    assert!(gain(256) < gain(1), "{} {}", gain(256), gain(1));
}

#[test]
fn eager_execution_costs_a_lone_stream_most() {
    let run = |eager, streams: usize| {
        let policy = VllmPolicy::default();
        let launch = policy.launch(eager, None);
        let mut config = vllm(policy);
        config.step_time = config.step_time.launched(launch);
        tpot(&closed(
            config,
            streams,
            uniform(streams as u64 * 2, 128, 64),
        ))
    };
    assert!(run(true, 1) > 1.2 * run(false, 1));
    assert!(run(true, 256) / run(false, 256) < run(true, 1) / run(false, 1));
}

#[test]
fn the_core_of_the_api_server_bounds_the_tokens_of_many_streams() {
    let run = |costly: bool| {
        let mut config = vllm(VllmPolicy::default());
        if costly {
            config.api.chunk_us = 300.0;
            config.api.token_us = 0.0;
        }
        closed(config, 256, uniform(512, 64, 256)).tokens_per_second()
    };
    assert!(run(true) < 3334.0);
    assert!(run(false) > 2.0 * run(true));
}

#[test]
fn the_same_seed_repeats_a_run_exactly_and_another_does_not() {
    let run = |seed| {
        let mut config = vllm(VllmPolicy::default());
        config.noise = Noise {
            restart: 0.03,
            drift: 0.05,
            drift_period_s: 2.0,
            jitter: 0.02,
            stragglers: 0.01,
            straggler_factor: 4.0,
        };
        closed_loop(
            &mut Engine::new(config, seed),
            uniform(64, 512, 64),
            16,
            EVERYTHING,
        )
    };
    let (first, again, other) = (run(1), run(1), run(2));
    assert_eq!(first.served, again.served);
    assert_eq!(first.steps, again.steps);
    assert_ne!(first.ended, other.ended);
}
