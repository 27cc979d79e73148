//! From an engine's command line, or MindIE's file, to the engine that it starts; or to what
//! that engine would say instead of starting.

mod start_log;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use inferometer_catalog::{
    device::{Device, Kind, Parallel},
    engine::{
        DeviceClass, DeviceKind, EngineKind, Fact, LaunchCommand, ModelLimits, Refusal,
        ResolvedFlags, Value, Version, log, mindie, resolve, write_line,
    },
    memory::{self, Activations, GIB, MemoryError, MindieMemory, Reserve, Sampler, VllmMemory},
    model::{Dtype, Model},
    timing::{Launch as Launching, StepTime, Timing},
};

use crate::engine::{
    EngineConfig, Headroom, MindiePolicy, Order, Policy, SglangPolicy, Speculation, VllmPolicy,
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
    /// What it says while it starts, and when it would say so.
    pub log: Vec<(Duration, String)>,
    /// Flags that were accepted and change nothing here.
    pub without_effect: Vec<String>,
}

/// Why an engine does not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The engine refuses its flags.
    #[error("{}", .0.message)]
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
    /// Nothing is known of the model.
    #[error(
        "nothing is known of the model '{name}'; give a folder with a config.json, or one of: {known}"
    )]
    UnknownModel {
        name: String,
        known: String,
    },
    /// The model's own file is of no use.
    #[error("{path}: {why}")]
    BadModel {
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The model of a name: a preset, a repository that is one, or a folder with a `config.json`.
pub fn model(name: &str) -> Result<Model, LaunchError> {
    let folder = Path::new(name);
    let file = if folder.is_dir() {
        folder.join("config.json")
    } else {
        folder.to_owned()
    };
    if file.is_file() {
        let bad = |why: String| LaunchError::BadModel {
            path: file.display().to_string(),
            why,
        };
        let text = std::fs::read_to_string(&file).map_err(|error| bad(error.to_string()))?;
        return Model::from_config_json(name, &text).map_err(|error| bad(error.to_string()));
    }
    Model::named(name).ok_or_else(|| LaunchError::UnknownModel {
        name: name.to_owned(),
        known: names(Model::presets().iter().map(|model| model.name.as_str())),
    })
}

pub fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl Launch {
    /// Starts what a command line says.
    pub fn of_command(words: &[String], host: &Host) -> Result<Launch, LaunchError> {
        let command = LaunchCommand::parse(words)?;
        let model = model(command.model.as_deref().unwrap_or(USUAL_MODEL))?;
        Launch::of_model(&command, &model, host)
    }

    /// Starts what a command line says, with a model whose shape is known already.
    pub fn of_model(
        command: &LaunchCommand,
        model: &Model,
        host: &Host,
    ) -> Result<Launch, LaunchError> {
        // An image says which version it holds.
        let tag = (command.container.as_ref()).and_then(|container| container.tag.as_deref());
        let version = host
            .version
            .or_else(|| tag?.parse().ok())
            .unwrap_or(command.engine.newest());
        let class = DeviceClass {
            kind: match host.device.kind {
                Kind::Cuda => DeviceKind::Gpu,
                Kind::Ascend => DeviceKind::Npu,
            },
            name: host.device.title.clone(),
            memory_gib: host.device.memory_bytes() / GIB,
            count: host.cards,
        };
        let limits = ModelLimits {
            max_position: u64::from(model.max_position),
            heads: model.heads,
            multimodal: false,
        };
        let flags = resolve(command, version, &class, &limits)
            .map_err(|refusal| LaunchError::Refused(Box::new(refusal)))?;
        Launch::of_flags(&flags, model, host)
    }

    /// Starts MindIE as its `config.json` says. The weights' path names the model.
    pub fn of_mindie(text: &str, host: &Host) -> Result<Launch, LaunchError> {
        let config = mindie::Config::parse(text)
            .map_err(|error| LaunchError::Config(format!("the MindIE configuration: {error}")))?;
        let version = host.version.unwrap_or(EngineKind::Mindie.newest());
        let flags = config.resolved(version);
        let named = match Path::new(&flags.model).is_dir() {
            true => flags.model.as_str(),
            // A path of another machine: its last part, or the model's name, may be known.
            false => [flags.model.as_str(), flags.served_names[0].as_str()]
                .into_iter()
                .find(|name| Model::named(name).is_some())
                .unwrap_or(&flags.model),
        };
        Launch::of_mindie_model(&config, &flags, &model(named)?, host)
    }

    /// Starts MindIE with a model whose shape is known already. The flags are the file's,
    /// with the share of memory that the environment may set.
    pub fn of_mindie_model(
        config: &mindie::Config,
        flags: &ResolvedFlags,
        model: &Model,
        host: &Host,
    ) -> Result<Launch, LaunchError> {
        if let Some(refusal) = config.refusals().into_iter().next() {
            return Err(LaunchError::Refused(Box::new(refusal)));
        }
        let cards = flags.tensor_parallel;
        let size = u32_of(flags.block_size);
        let memory = MindieMemory {
            card: host.device.memory_bytes() / GIB,
            weights: model.weight_bytes() / GIB,
            cards,
            run_time: 2.0,
            system: memory::ASCEND_SYSTEM / GIB,
            fraction: flags.gpu_memory_utilization,
        };
        let gib = match flags.kv_cache_memory_bytes {
            Some(bytes) => bytes as f64 / GIB,
            None => memory.automatic(),
        };
        let left = memory.left(gib);
        if left < 0.0 {
            let error = MemoryError::Cache {
                cache: gib,
                weights: memory.weights / f64::from(cards.max(1)),
                total: memory.card,
            };
            let line = write_line(EngineKind::Mindie, flags.version, &Fact::DeviceOutOfMemory);
            return Err(LaunchError::Memory(error, line.into_iter().collect()));
        }
        let blocks = memory::mindie_blocks(model, cards, size, gib, model.dtype.cache());
        if blocks == 0 {
            let error = MemoryError::NoCache { kv: gib };
            return Err(LaunchError::Memory(error, Vec::new()));
        }
        let schedule = &config.backend.schedule;
        let policy = MindiePolicy {
            max_prefill_batch_size: u32_of(config.prefill_batch()),
            max_prefill_tokens: u32_of(schedule.max_prefill_tokens),
            max_batch_size: u32_of(schedule.max_batch_size),
            max_iter_times: u32_of(schedule.max_iter_times),
            max_queue_delay_us: schedule.max_queue_delay_microseconds,
            select_batch: schedule.support_select_batch,
            prefill_time_ms: schedule.prefill_time_ms_per_req as f64,
            decode_time_ms: schedule.decode_time_ms_per_req as f64,
        };
        let parallel = Parallel {
            tensor: cards,
            pipeline: 1,
        };
        let time = StepTime::new(model, &host.device, &parallel, &host.timing());
        let longest = u32_of(flags.max_model_len);
        let policy = Policy::Mindie(policy);
        let config = EngineConfig {
            headroom: Some(Headroom {
                bytes: left * GIB,
                activations: Activations::new(model, &parallel),
            }),
            ..EngineConfig::new(policy, time, (blocks, size), longest)
        };
        let ready = write_line(EngineKind::Mindie, flags.version, &Fact::Ready);
        let log = ready.map(|line| (Duration::from_secs(60), line));
        Ok(Launch::new(flags, config, log.into_iter().collect()))
    }

    fn of_flags(flags: &ResolvedFlags, model: &Model, host: &Host) -> Result<Launch, LaunchError> {
        let parallel = Parallel {
            tensor: flags.tensor_parallel.max(1),
            pipeline: flags.pipeline_parallel.max(1),
        };
        let model = in_format(model, flags);
        let policy = VllmPolicy {
            max_num_batched_tokens: u32_of(flags.max_num_batched_tokens),
            max_num_seqs: u32_of(flags.max_num_seqs),
            chunked_prefill: flags.chunked_prefill,
            long_prefill_token_threshold: u32_of(flags.long_prefill_token_threshold),
            async_scheduling: flags.async_scheduling,
            order: match flags.policy {
                inferometer_catalog::engine::Policy::Priority => Order::Priority,
                _ => Order::Arrival,
            },
        };
        let settings = VllmMemory {
            utilization: flags.gpu_memory_utilization,
            max_num_batched_tokens: policy.max_num_batched_tokens,
            max_num_seqs: policy.max_num_seqs,
            max_model_len: u32_of(flags.max_model_len),
            block_size: u32_of(flags.block_size).max(1),
            kv_dtype: Dtype::named(&flags.kv_cache_dtype).unwrap_or(model.dtype.cache()),
            enforce_eager: flags.enforce_eager,
            blocks_override: flags.num_gpu_blocks_override,
            reserve: match flags.engine {
                EngineKind::Sglang => Reserve::Remainder,
                _ => Reserve::Profiled,
            },
            sampler: match flags.engine {
                EngineKind::Vllm => Sampler::of_vllm(flags.version),
                _ => Sampler::default(),
            },
        };
        let told = StartLog::new(flags, &model, &parallel, &host.stamp);
        let mut settings = settings;
        if let Some(bytes) = flags.kv_cache_memory_bytes {
            let token = model.kv_bytes_per_token(parallel.tensor, settings.kv_dtype);
            let block = token * f64::from(settings.block_size);
            settings.blocks_override = Some((bytes as f64 / block) as u64);
        }
        let budget = memory::vllm(&model, &host.device, &parallel, &settings)
            .map_err(|error| LaunchError::Memory(error.clone(), told.given_up(&error)))?;
        let mut config = EngineConfig::vllm(
            &model,
            &host.device,
            &parallel,
            &host.timing(),
            policy,
            &settings,
        )
        .map_err(|error| LaunchError::Memory(error.clone(), told.given_up(&error)))?;
        if !flags.enforce_eager {
            let largest = u32_of(flags.max_graph_batch);
            config.step_time = config.step_time.launched(match largest {
                0 => Launching::Eager,
                size => Launching::Graphs(size),
            });
        }
        if flags.engine == EngineKind::Sglang {
            config.policy = Policy::Sglang(sglang(flags));
        }
        config.replicas = flags.data_parallel.max(1);
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
        Ok(Launch::new(flags, config, told.started(&budget)))
    }

    /// What the engine says when it dies, and the status with which its process ends.
    pub fn epitaph(&self, death: Death, stamp: &str) -> (Vec<String>, u8) {
        let line = |process: &str, fact: &Fact| {
            let line = write_line(self.engine, self.version, fact)?;
            Some(match self.engine {
                EngineKind::Vllm => log::vllm_prefix(self.version, process, 1, stamp, fact) + &line,
                _ => line,
            })
        };
        let amount = match death {
            Death::OutOfMemory(memory) => {
                format!(" Tried to allocate {:.2} GiB.", memory.needed as f64 / GIB)
            }
            Death::Injected => String::new(),
        };
        let cause = line("EngineCore", &Fact::DeviceOutOfMemory).map(|line| line + &amount);
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
        Launch {
            engine: flags.engine,
            version: flags.version,
            served: flags.served_names.clone(),
            host: flags.host.clone(),
            port: flags.port,
            api_keys: flags.api_keys.clone(),
            tokenizer: tokenizer(flags),
            config,
            log,
            without_effect: flags.without_effect.clone(),
        }
    }
}

fn sglang(flags: &ResolvedFlags) -> SglangPolicy {
    let budget = u32_of(flags.max_num_batched_tokens);
    SglangPolicy {
        chunked_prefill_size: flags.chunked_prefill.then_some(budget),
        max_prefill_tokens: budget,
        max_running_requests: u32_of(flags.max_num_seqs),
        mixed_chunk: flags.get("enable-mixed-chunk") == Some(&Value::Bool(true)),
        overlap: flags.async_scheduling,
        order: match flags.policy {
            inferometer_catalog::engine::Policy::Priority => Order::Priority,
            _ => Order::Arrival,
        },
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

impl Host {
    fn timing(&self) -> Timing {
        self.timing
            .clone()
            .unwrap_or_else(|| Timing::shipped(&self.device))
    }
}

/// The model in the format that the flags ask for.
fn in_format(model: &Model, flags: &ResolvedFlags) -> Model {
    let asked = match &flags.quantization {
        Some(method) => Dtype::named(method),
        // Quantised weights stay so, whatever they are computed in.
        None if model.is_quantised() => None,
        None => Dtype::named(&flags.dtype).or(Some(model.dtype.by_default())),
    };
    match asked.filter(|&dtype| dtype != model.dtype) {
        Some(dtype) => model.stored_as(dtype),
        None => model.clone(),
    }
}

fn u32_of(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
