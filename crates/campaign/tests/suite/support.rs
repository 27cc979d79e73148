//! The simulated engine as a server whose capacity is looked for, in virtual time. The test and
//! the benchmark each use a part of it.
#![allow(dead_code)]

use std::ops::ControlFlow;

use inferometer_campaign::capacity::stored::TierCapacity;
use inferometer_campaign::capacity::{Next, ObservedRequest, Search, Settings, Step, Target};
use inferometer_catalog::{
    device::{Device, Parallel},
    memory::MemorySettings,
    model::Model,
    timing::Timing,
};
use inferometer_core::seed::{Dimension, rng};
use inferometer_sim::engine::{Engine, EngineConfig, EventKind, Request, VllmPolicy};
use rand::RngExt;

/// Qwen2.5-7B on an A100-80G under vLLM, with prompts and answers of mixed lengths.
pub struct EngineServer {
    config: EngineConfig,
    /// Fewest and most tokens of prompts and of answers.
    lengths: [[u32; 2]; 2],
    /// Least TPOT, in seconds, that is too long.
    tpot_limit_s: f64,
    /// TPOT alone counts.
    is_level: bool,
}

/// A request as its client saw it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answered {
    /// Its number in the order of sending.
    pub order: u64,
    pub sent_s: f64,
    /// Requests under way when it was sent, itself included.
    pub in_flight: u64,
    /// Time to the first token.
    pub ttft_s: f64,
    /// Time per token after the first.
    pub tpot_s: f64,
}

/// Limit of TPOT where it levels off.
const LEVEL_TPOT_S: f64 = 0.027;

/// Limit of TTFT in the objectives below, ns.
const TTFT_LIMIT: u64 = 500_000_000;

/// What is known of a request under way.
#[derive(Clone, Copy)]
struct UnderWay {
    sent_at: u64,
    first_token: Option<u64>,
    told: bool,
    answered: Answered,
}

impl EngineServer {
    pub fn new() -> Self {
        EngineServer::with(VllmPolicy::default())
    }

    fn with(policy: VllmPolicy) -> Self {
        let device = Device::named("a100-80g").expect("a preset");
        let config = EngineConfig::vllm(
            &Model::named("qwen2.5-7b").expect("a preset"),
            device,
            &Parallel::default(),
            &Timing::shipped(device),
            policy,
            &MemorySettings::default(),
        );
        EngineServer {
            config: config.expect("it fits"),
            lengths: [[64, 960], [32, 224]],
            tpot_limit_s: 0.05,
            is_level: false,
        }
    }

    /// The same with 64 places and lengths that do not vary. Its TPOT levels off as the places are
    /// taken, and the objective is near that level: a little more load misses a little more.
    pub fn level() -> Self {
        let mut server = EngineServer::with(VllmPolicy {
            max_num_seqs: 64,
            ..VllmPolicy::default()
        });
        server.lengths = [[512, 512], [128, 128]];
        server.tpot_limit_s = LEVEL_TPOT_S;
        server.is_level = true;
        server
    }

    /// Whether a request is within the limits of each objective.
    pub fn within(&self, answered: &Answered) -> [bool; 2] {
        let ttft = answered.ttft_s <= TTFT_LIMIT as f64 * 1e-9;
        let tpot = answered.tpot_s <= self.tpot_limit_s;
        [ttft, tpot && (ttft || self.is_level)]
    }

    /// Sends Poisson arrivals to an idle engine until whoever hears of the answers has heard
    /// enough. Says how many were sent.
    pub fn open_loop(
        &self,
        rate: f64,
        seed: u64,
        mut hear: impl FnMut(Answered) -> ControlFlow<()>,
    ) -> u64 {
        let mut engine = Engine::new(self.config.clone(), seed);
        let mut gaps = rng(seed, Dimension::Arrival, 0);
        let mut lengths = rng(seed, Dimension::InputLength, 0);
        let mut under_way: Vec<Option<UnderWay>> = Vec::new();
        let (mut next_arrival, mut open) = (0u64, 0u64);
        let (mut late, mut ended) = (Vec::new(), Vec::new());
        loop {
            match engine.wake() {
                Some(wake) if wake < next_arrival => {
                    for event in engine.step(wake).events {
                        let Some(request) = &mut under_way[event.request as usize] else {
                            continue;
                        };
                        match event.kind {
                            EventKind::Tokens { .. } if request.first_token.is_none() => {
                                request.first_token = Some(event.at);
                                if event.at - request.sent_at > TTFT_LIMIT {
                                    late.push(event.request);
                                }
                            }
                            EventKind::Finished { .. } => ended.push((event.request, event.at)),
                            _ => {}
                        }
                    }
                }
                _ => {
                    let order = under_way.len() as u64;
                    let [prompt, tokens] =
                        (self.lengths).map(|[least, most]| lengths.random_range(least..=most));
                    open += 1;
                    under_way.push(Some(UnderWay {
                        sent_at: next_arrival,
                        first_token: None,
                        told: false,
                        answered: Answered {
                            order,
                            sent_s: next_arrival as f64 * 1e-9,
                            in_flight: open,
                            // Until it ends, the tokens that it asks for.
                            tpot_s: f64::from(tokens),
                            ..Answered::default()
                        },
                    }));
                    let request = Request::new(order, prompt, tokens);
                    engine.add(next_arrival, request).expect("short enough");
                    let gap = -(1.0 - gaps.random::<f64>()).ln() / rate;
                    next_arrival += (gap * 1e9) as u64;
                }
            }
            // Too late for every objective: no need to wait for its end.
            for order in late.drain(..) {
                let Some(request) = &mut under_way[order as usize] else {
                    continue;
                };
                let first = request.first_token.expect("it is late");
                request.told = true;
                let answered = Answered {
                    ttft_s: (first - request.sent_at) as f64 * 1e-9,
                    tpot_s: f64::INFINITY,
                    ..request.answered
                };
                if hear(answered).is_break() {
                    return under_way.len() as u64;
                }
            }
            for (order, at) in ended.drain(..) {
                let request = under_way[order as usize].take().expect("ends once");
                let first = request.first_token.expect("it has tokens");
                open -= 1;
                if request.told {
                    continue;
                }
                let after_first = request.answered.tpot_s - 1.0;
                let answered = Answered {
                    ttft_s: (first - request.sent_at) as f64 * 1e-9,
                    tpot_s: (at - first) as f64 * 1e-9 / after_first,
                    ..request.answered
                };
                if hear(answered).is_break() {
                    return under_way.len() as u64;
                }
            }
        }
    }
}

/// The objectives of the benchmark, each with its own capacity: the p99 of TTFT within half a
/// second, and 95 % of requests within that and 50 ms a token.
pub const TARGETS: [(&str, f64); 2] = [("ttft.p99", 0.99), ("attainment", 0.95)];

/// Their capacities, by `cargo bench --bench capacity -- truth 200000 3`: 600 000
/// requests at each of 21 rates, 1 % apart.
pub const TRUTH: [f64; 2] = [18.355, 18.114];

/// First rate of every search.
pub const START: f64 = 2.0;

/// The search for the capacity of the targets given, each a tier, and its requests.
pub fn search(
    server: &EngineServer,
    targets: &[usize],
    seed: u64,
    budget: u64,
) -> (Vec<TierCapacity>, u64) {
    let target = |(tier, &at): (usize, &usize)| Target {
        name: TARGETS[at].0.to_owned(),
        share: TARGETS[at].1,
        tier,
    };
    let mut search = Search::new(Settings {
        over: "rate".to_owned(),
        targets: targets.iter().enumerate().map(target).collect(),
        start: START,
        floor: START / 64.0,
        ceiling: 1000.0,
        whole: false,
        tolerance: 0.04,
        budget,
    })
    .expect("sensible settings");
    for probes in 0.. {
        let mut probe = match search.ask() {
            Next::Done(answers) => return (answers, search.spent()),
            Next::Probe(probe) => *probe,
        };
        let sent = server.open_loop(probe.level, 1000 * seed + probes, |answered| {
            let all = server.within(&answered);
            let within: Vec<bool> = targets.iter().map(|&at| all[at]).collect();
            let step = probe.observe(ObservedRequest {
                order: answered.order,
                sent_s: Some(answered.sent_s),
                in_flight: answered.in_flight,
                ttft_s: Some(answered.ttft_s),
                within: &within,
            });
            match step {
                Step::Continue => ControlFlow::Continue(()),
                Step::Stop(_) => ControlFlow::Break(()),
            }
        });
        search.tell(probe.finish(sent));
    }
    unreachable!("a search ends when its budget is spent")
}

/// Shares of requests within each target in a run of `length` requests after the waves in which
/// the server settles; and the requests sent until that many had ended.
pub fn fixed_run(server: &EngineServer, rate: f64, length: u64, seed: u64) -> ([f64; 2], u64) {
    let mut first_wave = u64::MAX;
    let mut ended: Vec<Answered> = Vec::new();
    let sent = server.open_loop(rate, seed, |answered| {
        if answered.in_flight <= answered.order {
            first_wave = first_wave.min(answered.order);
        }
        let least = first_wave.saturating_mul(WAVES).saturating_add(length);
        ended.push(answered);
        if ended.len() as u64 >= least {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let settled = WAVES * first_wave;
    let counted: Vec<[bool; 2]> = (ended.iter())
        .filter(|answered| answered.order >= settled)
        .map(|answered| server.within(answered))
        .collect();
    let share = |at: usize| {
        counted.iter().filter(|within| within[at]).count() as f64 / counted.len().max(1) as f64
    };
    ([share(0), share(1)], sent)
}

/// Waves that a fixed run leaves out.
const WAVES: u64 = 4;

/// Doubling, then bisection until the ends are within `ratio`, then a run at the answer to
/// confirm it, every one of one length.
pub fn plain_bisection(
    server: &EngineServer,
    at: usize,
    (length, ratio): (u64, f64),
    seed: u64,
) -> (f64, u64) {
    let (mut spent, mut probes) = (0, 0);
    let mut meets = |rate: f64| {
        probes += 1;
        let (shares, sent) = fixed_run(server, rate, length, 1000 * seed + 500 + probes);
        spent += sent;
        shares[at] >= TARGETS[at].1
    };
    let (mut low, mut high) = (START / 2.0, START);
    while meets(high) {
        low = high;
        high *= 2.0;
    }
    while high / low > ratio {
        let middle = (low * high).sqrt();
        if meets(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let answer = (low * high).sqrt();
    meets(answer);
    (answer, spent)
}
