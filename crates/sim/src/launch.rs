//! From an engine's command line, or MindIE's file, to the engine that it starts; or to what
//! that engine would say instead of starting.

mod start_log;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use inferometer_catalog::{
    device::{Device, ExpertGroup, Parallel},
    engine::{
        DeviceClass, EngineKind, Fact, Fp8Cache, LaunchCommand, ModelLimits, Refusal,
        ResolvedFlags, Rule, Value, Version, mindie, resolve, write_line,
    },
    memory::{self, Division, MemoryError},
    model::{KnownModel, SourceError},
    timing::{KernelLaunch, StepTime, Timing},
    units::GIB,
};

use crate::engine::{
    Capacity, EngineConfig, MindiePolicy, Order, Policy, SglangPolicy, Speculation, TrtllmPolicy,
    VllmPolicy,
};
use crate::{engine_driver::Death, reply::ENGINE_DEAD, tokenizer};
use start_log::StartLog;

/// On what the engine is started, and as which.
#[derive(Clone, Debug)]
pub struct Host {
    pub device: Device,
    pub cards: u32,
    /// The version of the engine; absent: the newest known.
    pub version: Option<Version>,
    /// Coefficients of step times; absent: those shipped for the device.
    pub timing: Option<Timing>,
    /// The time of its log lines, `month-day hour:minute:second`.
    pub stamp: String,
}

#[derive(Clone, Debug)]
pub struct Launch {
    pub engine: EngineKind,
    pub version: Version,
    /// Names of the model in the API; at least one.
    pub served: Vec<String>,
    /// Address to listen on, where it was given.
    pub host: Option<String>,
    pub port: u16,
    /// Keys that clients must present; empty for none.
    pub api_keys: Vec<String>,
    /// Where its tokenizer lies: as its flags say, or beside the weights. Absent where that is
    /// not on this machine.
    pub tokenizer: Option<PathBuf>,
    pub config: EngineConfig,
    /// Where it sends spans of requests.
    pub otlp_traces: Option<String>,
    /// What it says while it starts, and when it would say so.
    pub log: Vec<(Duration, String)>,
    /// Flags that were accepted and change nothing here.
    pub without_effect: Vec<String>,
    /// What the engine warns of.
    pub warnings: Vec<String>,
    /// What the engine does with a KV cache in FP8, where the card does not compute in it.
    pub fp8_cache: Option<Fp8Cache>,
}

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The memory does not suffice: what the engine logs before it gives up.
    #[error("{0}")]
    Memory(MemoryError, Vec<String>),
    /// The command line cannot be understood.
    #[error(transparent)]
    Command(#[from] inferometer_catalog::engine::command::CommandError),
    /// The file cannot be understood.
    #[error("{0}")]
    Config(String),
    #[error(transparent)]
    Model(#[from] SourceError),
}

/// The model that a command names, or the usual one.
pub fn model(command: &LaunchCommand) -> Result<KnownModel, LaunchError> {
    Ok(KnownModel::find(
        command.model.as_deref().unwrap_or(USUAL_MODEL),
    )?)
}

impl Launch {
    /// vLLM with its defaults.
    pub fn of_defaults(model: Option<&str>, host: &Host) -> Result<Launch, LaunchError> {
        let words = ["vllm", "serve", model.unwrap_or(USUAL_MODEL)];
        Launch::of_command(&LaunchCommand::parse(&words)?, host)
    }

    /// Starts what a command line says.
    pub fn of_command(command: &LaunchCommand, host: &Host) -> Result<Launch, LaunchError> {
        Launch::of_model(command, &model(command)?, host)
    }

    /// Starts what a command line says, with a model that is known already.
    pub fn of_model(
        command: &LaunchCommand,
        model: &KnownModel,
        host: &Host,
    ) -> Result<Launch, LaunchError> {
        let version = command.version(host.version);
        let class = DeviceClass::of(&host.device, host.cards);
        let flags = resolve(command, version, &class, &ModelLimits::of(&model.model))
            .map_err(|refusal| LaunchError::Refused(Box::new(refusal)))?;
        match command.engine {
            EngineKind::Mindie => {
                Launch::of_mindie_model(&mindie::Config::default(), &flags, model, host)
            }
            _ => Launch::of_flags(&flags, model, host),
        }
    }

    /// Starts MindIE as its `config.json` says. The weights' path names the model.
    pub fn of_mindie(text: &str, host: &Host) -> Result<Launch, LaunchError> {
        let config = mindie::Config::parse(text)
            .map_err(|error| LaunchError::Config(format!("the MindIE configuration: {error}")))?;
        let version = host.version.unwrap_or(EngineKind::Mindie.newest());
        let flags = config.resolved(version);
        let model = KnownModel::find(&config.model_name())?;
        Launch::of_mindie_model(&config, &flags, &model, host)
    }

    /// Starts MindIE with a model that is known already. The flags are the file's, with the
    /// share of memory that the environment may set.
    pub fn of_mindie_model(
        config: &mindie::Config,
        flags: &ResolvedFlags,
        model: &KnownModel,
        host: &Host,
    ) -> Result<Launch, LaunchError> {
        if let Some(refusal) = config.refusals().into_iter().next() {
            return Err(LaunchError::Refused(Box::new(refusal)));
        }
        let (limits, cards) = (ModelLimits::of(&model.model), flags.tensor_parallel);
        if !limits.is_divided_by(cards) {
            let heads = limits.undivided_heads(cards);
            let message = format!("worldSize {cards} does not divide the model's {heads}");
            let refusal = Refusal {
                rule: Rule::HeadsNotDivisible,
                flag: "worldSize".to_owned(),
                printed: message.clone(),
                message,
                hint: None,
                exit_code: 1,
            };
            return Err(LaunchError::Refused(Box::new(refusal)));
        }
        let division = divide(flags, model, host)?;
        match division.check_start() {
            // Whether it refuses a cache that holds less than its longest request is not known.
            Ok(()) | Err(MemoryError::TooLong { .. }) => {}
            Err(error) => {
                let line = write_line(EngineKind::Mindie, flags.version, &Fact::DeviceOutOfMemory);
                let line = line.filter(|_| !matches!(error, MemoryError::NoCache { .. }));
                return Err(LaunchError::Memory(error, line.into_iter().collect()));
            }
        }
        let (deploy, schedule) = (&config.backend.deploy, &config.backend.schedule);
        let policy = MindiePolicy {
            max_prefill_batch_size: u32_of(config.prefill_batch()),
            max_prefill_tokens: u32_of(schedule.max_prefill_tokens),
            longest_input: (!deploy.truncation).then(|| u32_of(deploy.max_input_token_len)),
            max_batch_size: u32_of(schedule.max_batch_size),
            max_iter_times: u32_of(schedule.max_iter_times),
            max_queue_delay_us: schedule.max_queue_delay_microseconds,
            select_batch: schedule.support_select_batch,
            prefill_time_ms: schedule.prefill_time_ms_per_req as f64,
            decode_time_ms: schedule.decode_time_ms_per_req as f64,
        };
        let time = step_time(flags, &division, host);
        let config = EngineConfig::divided(Policy::Mindie(policy), time, &division);
        let ready = write_line(EngineKind::Mindie, flags.version, &Fact::Ready);
        let log = ready.map(|line| (Duration::from_secs(60), line));
        Ok(Launch::new(flags, config, log.into_iter().collect()))
    }

    fn of_flags(
        flags: &ResolvedFlags,
        model: &KnownModel,
        host: &Host,
    ) -> Result<Launch, LaunchError> {
        let division = divide(flags, model, host)?;
        let told = StartLog::new(flags, &division, &host.stamp);
        division
            .check_start()
            .map_err(|error| LaunchError::Memory(error.clone(), told.given_up(&error)))?;
        let policy = match flags.engine {
            EngineKind::Sglang => Policy::Sglang(sglang(flags)),
            EngineKind::Trtllm => Policy::Trtllm(trtllm(flags)),
            EngineKind::Vllm
            | EngineKind::Mindie
            | EngineKind::LlamaServer
            | EngineKind::Custom => Policy::Vllm(vllm(flags)),
        };
        let capability = host.device.capability;
        let fp8_cache = Fp8Cache::of(
            flags.engine,
            flags.version,
            &flags.kv_cache_dtype,
            capability,
        );
        let time = step_time(flags, &division, host)
            .kv_dtype(division.layout.dtype)
            .launched(match (u32_of(flags.max_graph_batch), flags.engine) {
                (0, _) => KernelLaunch::Eager,
                (size, EngineKind::Sglang | EngineKind::Trtllm) => KernelLaunch::DecodeGraphs(size),
                (size, _) => KernelLaunch::Graphs(size),
            });
        let mut config = EngineConfig::divided(policy, time, &division);
        config.replicas = flags.data_parallel.max(1);
        config.api_servers = u32_of(flags.api_servers).max(1);
        config.prefix_caching = flags.prefix_caching;
        config.stream_interval = u32_of(flags.stream_interval).max(1);
        config.speculation = flags.speculative.as_ref().map(|speculative| Speculation {
            tokens: u32_of(speculative.tokens),
            acceptance: USUAL_ACCEPTANCE,
            draft_cost: match speculative.method.as_str() {
                "ngram" => 0.0,
                "draft_model" => 0.15,
                _ => 0.05,
            },
        });
        Ok(Launch {
            fp8_cache,
            ..Launch::new(flags, config, told.started(&division))
        })
    }

    /// What the engine says when it dies, and the status with which its process ends.
    pub fn epitaph(&self, death: Death, stamp: &str) -> (Vec<String>, u8) {
        let amount = match death {
            Death::OutOfMemory(memory) => {
                format!(" Tried to allocate {:.2} GiB.", memory.needed as f64 / GIB)
            }
            Death::Injected => String::new(),
        };
        let engine = (self.engine, self.version);
        let cause = start_log::line(engine, stamp, "EngineCore", &Fact::DeviceOutOfMemory);
        let cause = cause.map(|line| line + &amount);
        let dead = match self.engine {
            EngineKind::Vllm => Some(format!(
                "vllm.v1.engine.exceptions.EngineDeadError: {ENGINE_DEAD}"
            )),
            _ => None,
        };
        let status = match self.engine {
            // Seen with 0.32: the API server shuts down in good order.
            EngineKind::Vllm => 0,
            // Not seen. By its source the parent kills the whole tree, itself included.
            EngineKind::Sglang => 137,
            // Not known.
            _ => 1,
        };
        (cause.into_iter().chain(dead).collect(), status)
    }

    fn new(flags: &ResolvedFlags, config: EngineConfig, log: Vec<(Duration, String)>) -> Launch {
        let mut without_effect = flags.without_effect.clone();
        if config.step_time.groups_experts() {
            without_effect.retain(|name| name != EXCHANGE);
        }
        Launch {
            engine: flags.engine,
            version: flags.version,
            served: flags.served_names.clone(),
            host: flags.host.clone(),
            port: flags.port,
            api_keys: flags.api_keys.clone(),
            tokenizer: tokenizer(flags),
            config,
            otlp_traces: match flags.engine {
                EngineKind::Vllm => flags
                    .get("otlp-traces-endpoint")
                    .and_then(|url| url.as_str())
                    .map(str::to_owned),
                _ => None,
            },
            log,
            fp8_cache: None,
            without_effect,
            warnings: flags.warnings.clone(),
        }
    }
}

/// Names the library that brings tokens to the cards of their experts.
const EXCHANGE: &str = "moe-a2a-backend";

/// The division of each card, or a refusal where nobody knows what the flags ask for.
fn divide(flags: &ResolvedFlags, model: &KnownModel, host: &Host) -> Result<Division, LaunchError> {
    memory::divide(flags, model, &host.device).map_err(|unknown| {
        let message = unknown.to_string();
        LaunchError::Refused(Box::new(Refusal {
            rule: Rule::BadValue,
            flag: "quantization".to_owned(),
            printed: format!("ValueError: {message}"),
            message,
            hint: None,
            exit_code: 1,
        }))
    })
}

fn step_time(flags: &ResolvedFlags, division: &Division, host: &Host) -> StepTime {
    let sizes = flags.parallelism();
    let parallel = Parallel {
        tensor: if sizes.replicas_share_cards {
            (sizes.tensor / sizes.replicas).max(1)
        } else {
            sizes.tensor
        },
        pipeline: sizes.pipeline,
        experts: experts(flags),
        grouped_experts: flags.get(EXCHANGE).and_then(|library| library.as_str()) == Some("deepep"),
    };
    let fitted = || Timing::fitted(&host.device, flags.engine);
    let timing = host.timing.clone().unwrap_or_else(fitted);
    StepTime::new(&division.model, &host.device, &parallel, &timing)
}

/// Cards that share the routed experts: the replicas of vLLM and TensorRT-LLM do so together.
fn experts(flags: &ResolvedFlags) -> ExpertGroup {
    let parallel = flags.parallelism();
    match (flags.expert_parallel, flags.engine) {
        // The experts stay on all cards, among which the replicas are divided.
        (false, _) if parallel.replicas_share_cards => ExpertGroup::Whole(parallel.tensor),
        (false, _) => ExpertGroup::Sliced,
        (true, EngineKind::Vllm | EngineKind::Trtllm) => {
            ExpertGroup::Whole(parallel.tensor.saturating_mul(parallel.replicas))
        }
        (true, _) => ExpertGroup::Whole(parallel.tensor),
    }
}

fn order(flags: &ResolvedFlags) -> Order {
    match flags.policy {
        inferometer_catalog::engine::Policy::Priority => Order::Priority,
        _ => Order::Arrival,
    }
}

fn vllm(flags: &ResolvedFlags) -> VllmPolicy {
    VllmPolicy {
        max_num_batched_tokens: u32_of(flags.max_num_batched_tokens),
        max_num_seqs: u32_of(flags.max_num_seqs),
        chunked_prefill: flags.chunked_prefill,
        long_prefill_token_threshold: u32_of(flags.long_prefill_token_threshold),
        async_scheduling: flags.async_scheduling,
        order: order(flags),
    }
}

fn sglang(flags: &ResolvedFlags) -> SglangPolicy {
    let budget = u32_of(flags.max_num_batched_tokens);
    SglangPolicy {
        chunked_prefill_size: flags.chunked_prefill.then_some(budget),
        max_prefill_tokens: budget,
        max_running_requests: u32_of(flags.max_num_seqs),
        mixed_chunk: flags.is_on("enable-mixed-chunk"),
        overlap: flags.async_scheduling,
        order: order(flags),
        recv_interval: flags
            .get("scheduler-recv-interval")
            .and_then(Value::as_i64)
            .map_or(1, |steps| u32::try_from(steps).unwrap_or(1)),
    }
}

fn trtllm(flags: &ResolvedFlags) -> TrtllmPolicy {
    let capacity = flags.get("scheduler_config.capacity_scheduler_policy");
    TrtllmPolicy {
        max_num_tokens: u32_of(flags.max_num_batched_tokens),
        max_batch_size: u32_of(flags.max_num_seqs),
        capacity: match capacity.and_then(Value::as_str) {
            Some("MAX_UTILIZATION") => Capacity::MaxUtilization,
            _ => Capacity::GuaranteedNoEvict,
        },
        chunked_context: flags.chunked_prefill,
        wait_steps: flags
            .get("batch_wait_timeout_iters")
            .and_then(Value::as_i64)
            .map_or(0, |steps| u32::try_from(steps).unwrap_or(0)),
        wait_share: flags
            .get("batch_wait_max_tokens_ratio")
            .and_then(Value::as_f64)
            .unwrap_or(0.0),
        overlap: flags.async_scheduling,
    }
}

/// A flag names a folder or a hub's repository; only the former is at hand.
fn tokenizer(flags: &ResolvedFlags) -> Option<PathBuf> {
    let said = ["tokenizer", "tokenizer-path"];
    let said = said.iter().find_map(|name| flags.get(name)?.as_str());
    let folder = Path::new(said.unwrap_or(&flags.model));
    let file = folder.join(tokenizer::FILE);
    file.is_file().then_some(file)
}

/// What runs where nothing is said.
pub const USUAL_MODEL: &str = "qwen2.5-7b";
/// On what it runs where nothing is said.
pub const USUAL_DEVICE: &str = "a100-80g";

/// Share of drafted tokens that are accepted; published figures lie around it.
const USUAL_ACCEPTANCE: f64 = 0.7;

fn u32_of(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
