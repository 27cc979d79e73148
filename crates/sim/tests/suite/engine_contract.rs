//! What a driver of the engine may rely on.

use inferometer_catalog::{
    device::{Device, Parallel},
    memory::MemorySettings,
    model::Model,
    timing::Timing,
};
use inferometer_sim::engine::{
    Engine, EngineConfig, EventKind, Finish, MindiePolicy, Order, Policy, Rejection, Request,
    VllmPolicy,
    virtual_time::{Happening, Keep, Run, closed_loop, drive_each, open_loop},
};
use proptest::prelude::*;

fn config() -> EngineConfig {
    let device = Device::named("l20").expect("a preset");
    let settings = MemorySettings {
        max_model_len: 1024,
        ..MemorySettings::default()
    };
    let config = EngineConfig::vllm(
        &Model::named("qwen2-0.5b").expect("a preset"),
        device,
        &Parallel::default(),
        &Timing::shipped(device),
        VllmPolicy::default(),
        &settings,
    );
    config.expect("it fits")
}

fn run_out(engine: &mut Engine) -> Vec<(u64, EventKind)> {
    let mut events = Vec::new();
    while let Some(wake) = engine.wake() {
        let outcome = engine.step(wake);
        events.extend(
            outcome
                .events
                .iter()
                .map(|event| (event.request, event.kind)),
        );
    }
    events
}

#[test]
fn what_can_never_be_served_is_refused_at_once() {
    let mut config = config();
    config.blocks = 20;
    let mut engine = Engine::new(config, 1);
    let mut refusal =
        |id, prompt, output| engine.add(0, Request::new(id, prompt, output)).unwrap_err();
    assert_eq!(
        refusal(1, 0, 1),
        Rejection::Empty {
            prompt: 0,
            output: 1
        }
    );
    assert_eq!(
        refusal(1, 1, 0),
        Rejection::Empty {
            prompt: 1,
            output: 0
        }
    );
    assert_eq!(
        refusal(1, 1024, 1),
        Rejection::TooLong {
            prompt: 1024,
            most: 1024
        }
    );
    assert_eq!(
        refusal(1, u32::MAX, u32::MAX),
        Rejection::TooLong {
            prompt: u32::MAX,
            most: 1024
        }
    );
    let large = Rejection::TooLargeForCache {
        needed: 21,
        blocks: 20,
    };
    assert_eq!(refusal(1, 300, 21), large);
    engine.add(0, Request::new(1, 300, 20)).unwrap();
    assert_eq!(
        engine.add(0, Request::new(1, 1, 1)),
        Err(Rejection::Duplicate { id: 1 })
    );
}

#[test]
fn a_prompt_that_may_not_be_cut_must_fit_a_step() {
    let mut config = config();
    config.policy = Policy::Vllm(VllmPolicy {
        chunked_prefill: false,
        max_num_batched_tokens: 256,
        ..VllmPolicy::default()
    });
    let refused = Engine::new(config, 1).add(0, Request::new(1, 257, 1));
    assert_eq!(
        refused,
        Err(Rejection::TooLongForStep {
            prompt: 257,
            most: 256
        })
    );
}

#[test]
fn mindie_rejects_prompts_beyond_its_longest_input_unless_it_cuts_them() {
    let add = |longest_input| {
        let mut config = config();
        config.policy = Policy::Mindie(MindiePolicy {
            longest_input,
            ..MindiePolicy::default()
        });
        let added = Engine::new(config, 1).add(0, Request::new(1, 257, 1));
        added.map_err(|refused| refused.to_string())
    };
    let words = "This model's maximum input ids length cannot be greater than 256,the input ids length is 257";
    assert_eq!(add(Some(256)), Err(words.to_owned()));
    assert!(add(Some(257)).is_ok() && add(None).is_ok());
}

#[test]
fn an_answer_ends_by_itself_or_by_a_limit() {
    let finish = |request: Request| {
        let mut engine = Engine::new(config(), 1);
        engine.add(0, request).unwrap();
        let events = run_out(&mut engine);
        let tokens: u32 = events
            .iter()
            .map(|(_, kind)| match kind {
                EventKind::Tokens { count, .. } => *count,
                _ => 0,
            })
            .sum();
        match events.last() {
            Some((_, EventKind::Finished { finish, .. })) => (*finish, tokens),
            other => panic!("{other:?}"),
        }
    };
    let stops = Request {
        stops: true,
        ..Request::new(1, 1000, 20)
    };
    assert_eq!(finish(stops.clone()), (Finish::Stop, 20));
    assert_eq!(finish(Request::new(1, 1000, 20)), (Finish::Length, 20));
    let cut = Request {
        output_tokens: 100,
        ..stops
    };
    assert_eq!(finish(cut), (Finish::Length, 24));
}

#[test]
fn a_cancelled_request_is_silent_and_gives_its_blocks_back() {
    let mut config = config();
    config.policy = Policy::Vllm(VllmPolicy {
        max_num_seqs: 1,
        ..VllmPolicy::default()
    });
    let mut engine = Engine::new(config, 1);
    for id in 0..4 {
        engine.add(0, Request::new(id, 100, 50)).unwrap();
    }
    // 0 runs, 1 and 2 wait, 3 is still with the API server.
    while engine.stats().waiting < 2 {
        let wake = engine.wake().unwrap();
        engine.step(wake);
    }
    assert!(engine.cancel(0) && engine.cancel(1) && engine.cancel(3));
    assert!(!engine.cancel(0) && !engine.cancel(99));
    // The id is free again.
    engine
        .add(engine.wake().unwrap(), Request::new(0, 10, 3))
        .unwrap();
    let events = run_out(&mut engine);
    assert!(events.iter().all(|(id, _)| [0, 2].contains(id)));
    let chunks = |id| {
        let of = |event: &&(u64, EventKind)| {
            event.0 == id && matches!(event.1, EventKind::Tokens { .. })
        };
        events.iter().filter(of).count()
    };
    assert_eq!((chunks(0), chunks(2)), (3, 50));
    let stats = engine.stats();
    assert_eq!((stats.running, stats.waiting, stats.blocks_used), (0, 0, 0));
}

#[test]
fn a_late_driver_gets_the_same_times() {
    let times = |late: u64| {
        let mut engine = Engine::new(config(), 1);
        for id in 0..8 {
            engine.add(0, Request::new(id, 100, 20)).unwrap();
        }
        let mut times = Vec::new();
        while let Some(wake) = engine.wake() {
            times.extend(engine.step(wake + late).events.iter().map(|event| event.at));
        }
        times
    };
    assert_eq!(times(0), times(123_456));
}

#[test]
fn a_call_before_time_changes_nothing() {
    let mut engine = Engine::new(config(), 1);
    assert_eq!(engine.wake(), None);
    assert!(engine.step(u64::MAX).events.is_empty());
    engine.add(0, Request::new(1, 100, 20)).unwrap();
    let wake = engine.wake().unwrap();
    let outcome = engine.step(wake - 1);
    assert!(outcome.events.is_empty() && outcome.began.is_none());
    assert_eq!(engine.wake(), Some(wake));
}

#[test]
fn a_run_without_a_finished_request_has_no_rate() {
    let run = open_loop(
        &mut Engine::new(config(), 1),
        [(5, Request::new(0, 2000, 1))],
        Keep::default(),
    );
    assert!(run.served[0].refused.is_some());
    assert_eq!(
        (run.requests_per_second(), run.tokens_per_second()),
        (0.0, 0.0)
    );
    assert_eq!(run.mean(|served| served.ttft_ms()), None);
}

#[test]
fn counters_agree_with_what_was_served() {
    let mut config = config();
    config.prefix_caching = true;
    let mut engine = Engine::new(config, 1);
    let prompt: Vec<u32> = (0..160).collect();
    let requests = (0..5).map(|id| Request::with_prompt(id, &prompt, 7, 16));
    let run = closed_loop(&mut engine, requests, 1, Keep::default());
    let stats = engine.stats();
    assert_eq!((stats.prompt_tokens, stats.generation_tokens), (800, 35));
    // The last block of the prompt is computed again for its last token.
    assert_eq!((stats.prefix_queries, stats.prefix_hits), (800, 4 * 144));
    assert_eq!(run.served[4].cached_tokens, 144);
    assert!(engine.reset_prefix_cache());
}

#[test]
fn an_answer_that_is_known_can_be_found_as_the_next_prompt() {
    let mut config = config();
    config.prefix_caching = true;
    let conversation: Vec<u32> = (0..320).collect();
    let mut first = Request::with_prompt(0, &conversation[..160], 100, 16);
    first.hashes = inferometer_sim::engine::block_hashes(&conversation[..260], 16);
    let second = Request::with_prompt(1, &conversation, 10, 16);
    let run = closed_loop(
        &mut Engine::new(config, 1),
        [first, second],
        1,
        Keep::default(),
    );
    // 160 + 99 tokens are in the cache: the last one was never computed with.
    assert_eq!(run.served[1].cached_tokens, 256);
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let vllm = (
        1u32..600,
        1u32..20,
        any::<bool>(),
        0u32..64,
        any::<bool>(),
        any::<bool>(),
    );
    let vllm = vllm.prop_map(|(budget, seqs, chunked, threshold, ahead, priority)| {
        Policy::Vllm(VllmPolicy {
            max_num_batched_tokens: budget,
            max_num_seqs: seqs,
            chunked_prefill: chunked,
            long_prefill_token_threshold: threshold,
            async_scheduling: ahead,
            order: if priority {
                Order::Priority
            } else {
                Order::Arrival
            },
        })
    });
    let mindie = (0u32..20, 1u32..600, 0u32..20, 0u64..20_000, any::<bool>());
    let mindie = mindie.prop_map(|(prefill, tokens, batch, delay, select)| {
        Policy::Mindie(MindiePolicy {
            max_prefill_batch_size: prefill,
            max_prefill_tokens: tokens,
            max_batch_size: batch,
            max_queue_delay_us: delay,
            select_batch: select,
            ..MindiePolicy::default()
        })
    });
    prop_oneof![vllm, mindie]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the settings: every request gets all its tokens or a refusal, nothing is left
    /// behind, and nobody exceeds the cache or the batch.
    #[test]
    fn every_request_is_served_in_full_or_refused(
        policy in any_policy(),
        blocks in 1u32..60,
        block_size in prop_oneof![Just(1u32), Just(16), Just(128)],
        prefix_caching in any::<bool>(),
        drafts in 0u32..4,
        stream_interval in 0u32..5,
        requests in prop::collection::vec((0u64..50_000_000, 1u32..200, 1u32..60, -2i32..3, 0u32..4), 1..40),
    ) {
        let mut config = config();
        config.policy = policy;
        config.blocks = blocks;
        config.block_size = block_size;
        config.prefix_caching = prefix_caching;
        config.stream_interval = stream_interval;
        config.speculation = (drafts > 0).then_some(inferometer_sim::engine::Speculation {
            tokens: drafts,
            acceptance: 0.6,
            draft_cost: 0.1,
        });
        let arrivals: Vec<(u64, Request)> = requests
            .iter()
            .enumerate()
            .map(|(id, &(at, prompt, output, priority, family))| {
                let prompt: Vec<u32> = (0..prompt).map(|token| token ^ (family << 20)).collect();
                let mut request = Request::with_prompt(id as u64, &prompt, output, block_size);
                request.priority = priority;
                (at, request)
            })
            .collect();
        let mut engine = Engine::new(config, 7);
        let keep = Keep { chunk_times: true, steps: true, ..Keep::default() };
        let run: Run = open_loop(&mut engine, arrivals, keep);
        for (served, &(_, _, output, _, _)) in run.served.iter().zip(&requests) {
            match served.refused {
                Some(_) => prop_assert_eq!(served.tokens, 0),
                None => prop_assert_eq!(served.tokens, output, "{:?}", served),
            }
            prop_assert!(served.chunk_times.is_sorted());
        }
        prop_assert!(run.steps.iter().all(|step| step.blocks_used <= blocks && step.batch > 0));
        let stats = engine.stats();
        prop_assert_eq!((stats.running, stats.waiting, stats.blocks_used), (0, 0, 0));
    }
}

#[test]
fn requests_are_handed_over_when_they_are_over_and_none_is_held_longer() {
    let mut engine = Engine::new(config(), 1);
    let mut left = (0..60).map(|id| Request::new(id, 32, 4));
    let mut scheduled = 0;
    let scheduled_so_far = std::cell::Cell::new(0);
    let mut held = Vec::new();
    let mut served = Vec::new();
    drive_each(
        &mut engine,
        Keep::default(),
        |agenda, happening| {
            let free = match happening {
                Happening::Begin => 3,
                Happening::Arrived { .. } => 0,
                Happening::Ended { .. } => 1,
            };
            let at = match happening {
                Happening::Ended { at, .. } => at,
                Happening::Begin | Happening::Arrived { .. } => 0,
            };
            for request in left.by_ref().take(free) {
                agenda.schedule(at, request);
                scheduled += 1;
            }
            scheduled_so_far.set(scheduled);
        },
        |place, one| {
            served.push((place as u64, one.id));
            held.push(scheduled_so_far.get() - served.len());
        },
    );
    assert!(held.iter().all(|&held| held <= 3), "{held:?}");
    served.sort_unstable();
    let all: Vec<(u64, u64)> = (0..60).map(|id| (id, id)).collect();
    assert_eq!(served, all);
}
