//! A prediction: a run of the simulated engine in virtual time.

use crate::arrivals;
use crate::flags::{Flag, command};
use crate::mindie::{Configured, configured};
use crate::refusal::with_remedy;
use crate::split::Split;
use crate::work::{Load, Start, Work};
use inferometer_catalog::device::{Device, Kind};
use inferometer_catalog::engine::mindie::Config;
use inferometer_catalog::engine::{EngineKind, ModelLimits, ResolvedFlags, Version, name_for};
use inferometer_catalog::model::{KnownModel, Model};
use inferometer_catalog::timing::Timing;
use inferometer_sim::engine::virtual_time::{
    Keep, Run, Served, spread_over, staggered_loop, steady_loop,
};
use inferometer_sim::engine::{Engine, EngineConfig, Policy, Rejection, Request};
use inferometer_sim::launch::{Host, Launch, LaunchError};

#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    pub model: Model,
    pub device: Device,
    pub cards: u32,
    pub engine: EngineKind,
    /// Its version; absent: the newest known.
    pub version: Option<Version>,
    /// Workers that compute the prompts; absent where those that answer do.
    pub split: Option<Split>,
}

impl Subject {
    /// The engine that these flags start, with these step times.
    pub fn start(&self, flags: &[Flag], timing: &Timing) -> Result<EngineConfig, LaunchError> {
        Ok(self.launch(flags, timing)?.config)
    }

    fn launch(&self, flags: &[Flag], timing: &Timing) -> Result<Launch, LaunchError> {
        let mut launch = self.worker(flags, timing)?;
        if let Some(split) = &self.split {
            let prefill = self.worker(&split.prefill_flags(), timing)?.config;
            let link = split.link_gbs * 1e9;
            launch.config = launch.config.fed_by(prefill, split.workers, link);
        }
        Ok(launch)
    }

    fn worker(&self, flags: &[Flag], timing: &Timing) -> Result<Launch, LaunchError> {
        let host = Host {
            device: self.device.clone(),
            cards: self.cards,
            version: self.version,
            timing: Some(timing.clone()),
            stamp: String::new(),
        };
        let model = KnownModel::of_shape(self.model.clone());
        match self.engine {
            EngineKind::Mindie => self.mindie(flags, &model, &host),
            _ => {
                let command = command(self.engine, &self.model.name, flags)?;
                Launch::of_model(&command, &model, &host)
            }
        }
    }

    /// Why it does not start, and what would.
    pub fn refusal(&self, error: &LaunchError) -> String {
        match error {
            LaunchError::Refused(refusal) => {
                with_remedy(refusal, &ModelLimits::of(&self.model), self.cards)
            }
            error => error.to_string(),
        }
    }

    /// What it warns of when it starts; nothing where it does not.
    pub fn warnings(&self, flags: &[Flag], timing: &Timing) -> Vec<String> {
        (self.launch(flags, timing)).map_or(Vec::new(), |launch| launch.warnings)
    }

    /// Flags with the values that defaults come to, so that a default and the same value given
    /// are the same: a flag whose absence changes nothing is at its default.
    pub fn settled(&self, flags: &[Flag], timing: &Timing) -> Result<Vec<Flag>, LaunchError> {
        let whole = self.launch(flags, timing)?;
        let simulated = |name: &str| {
            let name = name_for(self.engine, name);
            self.engine != EngineKind::Mindie && !whole.without_effect.iter().any(|it| it == name)
        };
        let usual = |name: &str| {
            let others: Vec<Flag> = flags.iter().filter(|it| it.0 != name).cloned().collect();
            let without = self.launch(&others, timing);
            without.is_ok_and(|without| without.config == whole.config)
        };
        let given = flags
            .iter()
            .filter(|(name, _)| !(simulated(name) && usual(name)));
        let own = |(name, value): &Flag| (name_for(self.engine, name).to_owned(), value.clone());
        let mut all: Vec<Flag> = given.map(own).collect();
        for (name, number) in scheduler(&whole.config.policy) {
            if !all.iter().any(|(known, _)| known == name) {
                all.push((name.to_owned(), Some(number.to_string())));
            }
        }
        Ok(all)
    }

    fn mindie(
        &self,
        flags: &[Flag],
        model: &KnownModel,
        host: &Host,
    ) -> Result<Launch, LaunchError> {
        if host.device.kind != Kind::Ascend {
            return Err(LaunchError::Config(format!(
                "mindie runs on Ascend cards, and {} is not one; choose 910b3 or 910b4, or kind=ascend",
                host.device.name
            )));
        }
        let flags = flags.iter();
        let flags = flags.map(|(name, value)| (name.as_str(), value.as_deref()));
        let Configured { config, fraction } = configured(Config::default(), flags)
            .map_err(|reason| LaunchError::Config(format!("mindie: {reason}")))?;
        let version = self.version.unwrap_or(self.engine.newest());
        let resolved = ResolvedFlags {
            gpu_memory_utilization: fraction,
            ..config.resolved(version)
        };
        Launch::of_mindie_model(&config, &resolved, model, host)
    }
}

/// The limits that a scheduler works with, whether given or by default.
fn scheduler(policy: &Policy) -> Vec<(&'static str, u32)> {
    match policy {
        Policy::Vllm(policy) => vec![
            ("max-num-batched-tokens", policy.max_num_batched_tokens),
            ("max-num-seqs", policy.max_num_seqs),
        ],
        Policy::Mindie(policy) => vec![
            ("maxBatchSize", policy.max_batch_size),
            ("maxPrefillBatchSize", policy.max_prefill_batch_size),
            ("maxPrefillTokens", policy.max_prefill_tokens),
        ],
        Policy::Trtllm(policy) => vec![
            ("max_num_tokens", policy.max_num_tokens),
            ("max_batch_size", policy.max_batch_size),
        ],
        Policy::Sglang(_) => Vec::new(),
    }
}

/// Serves the work; the same seed gives the same answer. Requests that are longer than the
/// engine takes are refused, never cut.
pub fn simulate(config: EngineConfig, work: &Work, seed: u64) -> Run {
    simulate_keeping(config, work, seed, Keep::default())
}

/// The same, and keeps more of it.
pub fn simulate_keeping(config: EngineConfig, work: &Work, seed: u64, keep: Keep) -> Run {
    match work.load {
        Load::Open(rate) => arrivals::serve(config, work, rate, seed, keep),
        Load::Closed(streams) => in_streams(config, work, streams.max(1), seed, keep),
    }
}

fn in_streams(config: EngineConfig, work: &Work, streams: u32, seed: u64, keep: Keep) -> Run {
    let most = config.max_model_len;
    let numbered = (0u64..).zip(work.sizes(seed));
    let (taken, too_long): (Vec<_>, Vec<_>) = numbered.partition(|(_, sizes)| sizes.fit(most));
    let requests = taken
        .into_iter()
        .map(|(id, sizes)| Request::new(id, sizes.input, sizes.output));
    let mut engine = Engine::new(config, seed);
    let starting = |engine: &mut Engine, requests: Vec<Request>, span| {
        staggered_loop(engine, requests, &spread_over(span, streams), keep)
    };
    let requests: Vec<Request> = requests.collect();
    let mut run = match work.start {
        Start::Spread => steady_loop(&mut engine, &requests, streams as usize, keep),
        Start::AtOnce => starting(&mut engine, requests, 0),
        Start::Over(span) => starting(&mut engine, requests, span),
    };
    let began = run.served.iter().map(|served| served.arrived).min();
    for (id, sizes) in too_long {
        let mut refused = Served::default();
        refused.id = id;
        refused.arrived = began.unwrap_or_default();
        refused.refused = Some(Rejection::TooLong {
            prompt: sizes.input,
            most,
        });
        run.served.push(refused);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::given;
    use crate::means::Means;
    use crate::work::Sizes;
    use inferometer_core::length::Distribution as Lengths;
    use std::sync::Arc;

    fn subject() -> Subject {
        Subject {
            model: Model::named("qwen2.5-7b").unwrap(),
            device: Device::named("h200").unwrap().clone(),
            cards: 1,
            engine: EngineKind::Vllm,
            version: None,
            split: None,
        }
    }

    fn config(flags: &[Flag]) -> EngineConfig {
        let subject = subject();
        let timing = Timing::shipped(&subject.device);
        subject.start(flags, &timing).unwrap()
    }

    fn work(load: Load, input: u32, output: u32, requests: u32) -> Work {
        Work {
            load,
            start: Start::AtOnce,
            input: Lengths::Fixed(input),
            output: Lengths::Fixed(output),
            requests,
            trace: None,
        }
    }

    #[test]
    fn an_open_loop_delivers_its_rate_and_a_closed_one_its_streams() {
        let config = config(&[]);
        let work = |load| work(load, 128, 32, 2000);
        let open = Means::of(&simulate(config.clone(), &work(Load::Open(5.0)), 1));
        let rate = open.requests_per_s.unwrap();
        assert!((rate / 5.0 - 1.0).abs() < 0.1, "{rate}");
        let closed = Means::of(&simulate(config, &work(Load::Closed(8)), 1));
        let (rate, latency) = (closed.requests_per_s.unwrap(), closed.e2e_ms.unwrap() / 1e3);
        assert!((rate * latency / 8.0 - 1.0).abs() < 0.02);
    }

    #[test]
    fn the_window_of_an_open_loop_leaves_out_its_empty_begin_and_its_tail() {
        // Two hundred arrivals within the time of a few answers.
        let run = |start| {
            let work = Work {
                start,
                ..work(Load::Open(20.0), 128, 512, 200)
            };
            simulate(config(&[]), &work, 3)
        };
        let (bare, steady) = (run(Start::AtOnce), run(Start::Spread));
        assert_eq!(steady.served.len(), 200);
        let rate = |run: &Run| Means::of(run).requests_per_s.unwrap();
        assert!(rate(&bare) < 17.0, "{}", rate(&bare));
        assert!(
            (rate(&steady) / 20.0 - 1.0).abs() < 0.1,
            "{}",
            rate(&steady)
        );
        let tpot = |run: &Run| Means::of(run).tpot_ms.unwrap();
        assert!(tpot(&steady) > tpot(&bare));
    }

    /// Arrivals with drawn lengths, as `run` sends them.
    fn arriving(rate: f64) -> Work {
        Work {
            start: Start::Spread,
            input: Lengths::Uniform(64, 512),
            output: Lengths::Uniform(16, 64),
            ..work(Load::Open(rate), 1, 1, 200)
        }
    }

    #[test]
    fn what_is_measured_does_not_depend_on_how_long_the_warm_up_takes() {
        let served = |rate: f64| {
            let run = simulate(config(&[]), &arriving(rate), 3);
            let [from, _] = run.window.unwrap();
            let served = run.served.iter();
            let of = |it: &Served| ((it.arrived - from) as f64 * rate, it.tokens);
            (served.map(of).collect::<Vec<_>>(), run.around.len())
        };
        let ((slow, few), (quick, many)) = (served(1.0), served(20.0));
        assert_eq!(slow.len(), 200);
        for (slow, quick) in slow.iter().zip(&quick) {
            assert!((slow.0 / quick.0 - 1.0).abs() < 1e-6, "{slow:?} {quick:?}");
            assert_eq!(slow.1, quick.1, "lengths go by number");
        }
        assert!(few < many, "a full server takes longer to warm up");
    }

    #[test]
    fn a_server_that_falls_behind_for_good_is_not_sent_requests_without_end() {
        let run = simulate(config(&[]), &arriving(1e6), 3);
        assert_eq!(run.served.len(), 200);
        assert!(run.around.len() <= 2 * 200, "{}", run.around.len());
        assert!(run.served.iter().all(|it| it.finished.is_some()));
    }

    #[test]
    fn no_more_is_completed_than_has_arrived() {
        for rate in [0.5, 8.0, 64.0] {
            // So many that what was under way at the edges is not worth a hundredth of them.
            let work = Work {
                requests: 2000,
                ..arriving(rate)
            };
            let run = simulate(config(&[]), &work, 0);
            let [from, to] = run.window.unwrap();
            let arrived = run.served.len() as f64 / ((to - from) as f64 * 1e-9);
            let completed = run.requests_per_second();
            assert!(completed < arrived * 1.03, "{rate}: {completed} {arrived}");
        }
    }

    #[test]
    fn a_first_wave_that_is_spread_waits_less_for_its_first_tokens() {
        let config = config(&[]);
        let ttft = |start| {
            let work = Work {
                start,
                ..work(Load::Closed(64), 1024, 64, 128)
            };
            Means::of(&simulate(config.clone(), &work, 1))
                .ttft_ms
                .unwrap()
        };
        let (at_once, spread) = (ttft(Start::AtOnce), ttft(Start::Spread));
        assert!(spread < 0.7 * at_once, "{spread} {at_once}");
        assert_eq!(ttft(Start::Over(0)), at_once);
    }

    #[test]
    fn mindie_serves_with_its_own_scheduler_and_names() {
        let ascend = Subject {
            device: Device::named("910b3").unwrap().clone(),
            engine: EngineKind::Mindie,
            ..subject()
        };
        let timing = Timing::shipped(&ascend.device);
        let rate = |batch: &str| {
            let flags = given(&[("maxPrefillBatchSize", batch)]);
            let config = ascend.start(&flags, &timing).unwrap();
            let names = ascend.settled(&flags, &timing).unwrap();
            assert!(names.iter().any(|(name, _)| name == "maxBatchSize"));
            let work = work(Load::Closed(32), 64, 32, 128);
            Means::of(&simulate(config, &work, 1))
                .requests_per_s
                .unwrap()
        };
        assert!(
            rate("50") > 1.2 * rate("1"),
            "prompts that come together are taken together"
        );
        let elsewhere = Subject {
            engine: EngineKind::Mindie,
            ..subject()
        };
        let error = elsewhere.start(&[], &timing).unwrap_err().to_string();
        assert!(error.contains("Ascend"), "{error}");
        let unknown = given(&[("maxSpeed", "9")]);
        let error = ascend.start(&unknown, &timing).unwrap_err().to_string();
        assert!(error.contains("maxSpeed"), "{error}");
    }

    #[test]
    fn the_requests_of_a_trace_are_served_one_after_another() {
        let sizes = |output| Sizes { input: 100, output };
        let work = Work {
            trace: Some(Arc::new([sizes(2), sizes(10)])),
            ..work(Load::Closed(1), 100, 6, 5)
        };
        let run = simulate(config(&[]), &work, 1);
        let served: Vec<u32> = run.served.iter().map(|served| served.tokens).collect();
        assert_eq!(served, [2, 10, 2, 10, 2]);
    }

    #[test]
    fn a_flag_at_its_default_is_as_if_it_were_not_given() {
        let subject = subject();
        let timing = Timing::shipped(&subject.device);
        let settled = |flags: &[(&str, &str)]| subject.settled(&given(flags), &timing).unwrap();
        let bare = settled(&[]);
        let usual = [
            ("tensor-parallel-size", "1"),
            ("gpu-memory-utilization", "0.92"),
        ];
        assert_eq!(settled(&usual), bare);
        assert_ne!(settled(&[("gpu-memory-utilization", "0.5")]), bare);
        assert_ne!(settled(&[("max-num-seqs", "32")]), bare);
    }

    #[test]
    fn requests_that_are_too_long_are_refused_and_never_cut() {
        let config = config(&given(&[("max-model-len", "1024")]));
        let sizes = |input, output| Sizes { input, output };
        let trace = [
            sizes(100, 8),
            sizes(2000, 8),
            sizes(1000, 24),
            sizes(1000, 25),
        ];
        let served = |load| {
            let work = Work {
                trace: Some(Arc::new(trace)),
                ..work(load, 100, 8, 8)
            };
            let run = simulate(config.clone(), &work, 1);
            let refused = run.served.iter().filter(|served| served.refused.is_some());
            let mut refused: Vec<u64> = refused.map(|served| served.id).collect();
            refused.sort_unstable();
            let tokens: u32 = run.served.iter().map(|served| served.tokens).sum();
            (refused, tokens)
        };
        for load in [Load::Closed(2), Load::Open(5.0)] {
            assert_eq!(served(load), (vec![1, 3, 5, 7], 2 * (8 + 24)));
        }
    }

    #[test]
    fn what_the_engine_refuses_is_an_error_in_its_words() {
        let flags = given(&[("max-num-seqs", "0")]);
        let timing = Timing::shipped(&subject().device);
        assert!(matches!(
            subject().start(&flags, &timing),
            Err(LaunchError::Refused(_))
        ));
    }
}
