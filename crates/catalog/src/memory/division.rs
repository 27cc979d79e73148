//! How an engine divides a card: between weights, activations, graphs, the system and the KV
//! cache, and what that cache holds.

use serde::Serialize;

use super::flag_effects::{FlagEffects, Windows};
use super::format::{UnknownQuantization, formats};
use super::layout::KvLayout;
use super::spread::{ExpertSplit, ExtraLayers, Spread, Tile};
use super::{MemoryError, MemorySettings, Profile, Reserve, overhead, seen_by_framework};
use crate::device::{Device, Kind, Parallel};
use crate::engine::defaults::sglang_defaults;
use crate::engine::{DeviceClass, EngineKind, ResolvedFlags};
use crate::model::{Dtype, KnownModel, Model, Weights};
use crate::units::GIB;

/// How one card is divided, in bytes. Where layers lie on several stages, it is a card of the
/// stage whose cache holds the fewest tokens: all others have as many blocks as that one.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// The model in the format that the flags ask for.
    pub model: Model,
    pub model_weights: Weights,
    /// The card's stage, where there are several.
    pub stage: Option<CardStage>,
    /// The card's whole memory.
    pub total: f64,
    pub weights: f64,
    /// Activations at the peak that the settings allow.
    pub activations: f64,
    pub graphs: f64,
    /// What the card's system, contexts and libraries hold.
    pub system: f64,
    /// What the settings leave for the cache, whatever size the flags ask for; negative where
    /// nothing is left.
    pub available: f64,
    /// What the cache gets; negative where nothing is left.
    pub kv: f64,
    pub layout: KvLayout,
    /// Blocks that `kv` holds.
    pub blocks: u64,
    pub max_model_len: u64,
    /// Given flags that change memory in ways which are not counted here.
    pub not_counted: Vec<String>,
}

/// Which stage of layers a card holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CardStage {
    /// From 1.
    pub number: u32,
    pub of: u32,
    pub layers: u32,
}

/// Whether a division leaves room for all that the flags ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// It starts, and serves its longest request.
    Fits,
    /// Nothing is left for the cache; bytes that a card lacks for one block.
    NoCache(f64),
    /// The cache is too small for one request of the greatest length; bytes that a card lacks.
    TooLong(f64),
    /// The cache that the flags ask for has no room beside the rest; bytes that a card lacks.
    Cache(f64),
}

impl Division {
    pub fn kv_tokens(&self) -> u64 {
        (self.blocks).saturating_mul(u64::from(self.layout.block_size))
    }

    /// Requests of `tokens` tokens that the cache holds at once.
    pub fn concurrency(&self, tokens: u64) -> f64 {
        if !self.layout.keeps_everything() {
            let request = self.layout.whole_blocks(tokens.max(1));
            return self.kv / self.layout.request_bytes(request);
        }
        let blocks = tokens.max(1).div_ceil(u64::from(self.layout.block_size));
        self.blocks as f64 / blocks as f64
    }

    /// What the card has for a cache beside all else.
    pub fn room(&self) -> f64 {
        self.total - self.weights - self.activations - self.graphs - self.system
    }

    /// What the card has left for activations beside all else.
    pub fn headroom(&self) -> f64 {
        self.room() + self.activations - self.kv
    }

    /// Whether steps of any size have room, too.
    pub fn fit(&self) -> Fit {
        let least = self.layout.least_bytes();
        let excess = self.kv - self.room();
        if self.kv < least {
            Fit::NoCache(least - self.kv)
        } else if excess > 1.0 {
            // More than a byte of rounding.
            Fit::Cache(excess)
        } else {
            self.too_long().map_or(Fit::Fits, Fit::TooLong)
        }
    }

    /// Bytes that the longest allowed request lacks.
    fn too_long(&self) -> Option<f64> {
        let needed = self.longest_bytes();
        let lacks = needed > self.kv && self.kv_tokens() < self.max_model_len;
        lacks.then_some(needed - self.kv)
    }

    fn longest_bytes(&self) -> f64 {
        let tokens = self.layout.whole_blocks(self.max_model_len);
        self.layout.request_bytes(tokens)
    }

    /// Why the engine would not start. One that starts may still run out of memory in a step,
    /// where a cache of the size that was asked for leaves too little for activations.
    pub fn check_start(&self) -> Result<(), MemoryError> {
        let gib = |bytes: f64| bytes / GIB;
        let total = gib(self.total);
        let weights = gib(self.weights);
        if self.weights > self.total - self.system {
            return Err(MemoryError::Weights { weights, total });
        }
        if self.kv < self.layout.least_bytes() {
            return Err(MemoryError::NoCache { kv: gib(self.kv) });
        }
        if self.headroom() < 0.0 {
            return Err(MemoryError::Cache {
                cache: gib(self.kv),
                weights,
                total,
            });
        }
        if self.too_long().is_none() {
            return Ok(());
        }
        let size = u64::from(self.layout.block_size);
        let longest = self.layout.longest_request(self.kv).unwrap_or(0);
        Err(MemoryError::TooLong {
            max_model_len: self.max_model_len,
            needed: gib(self.longest_bytes()),
            kv: gib(self.kv),
            fits: longest / size * size,
        })
    }
}

/// How the engine that these flags start divides each of its cards.
///
/// An engine whose rules are not known is taken for vLLM.
pub fn divide(
    flags: &ResolvedFlags,
    model: &KnownModel,
    device: &Device,
) -> Result<Division, UnknownQuantization> {
    if flags.engine == EngineKind::Mindie {
        return Ok(super::mindie::divide(flags, model, device));
    }
    let (model, cache) = formats(model, flags)?;
    let spread = spread(flags, &model.model, device);
    let effects = FlagEffects::of(flags, &model.model, spread.tensor);
    let settings = settings(device, flags, cache);
    Ok(divide_by(&settings, &spread, effects, &model, device))
}

/// The same by settings that are known already, with a model of a known shape.
pub fn divide_settings(
    settings: &MemorySettings,
    parallel: &Parallel,
    model: &Model,
    device: &Device,
) -> Division {
    let spread = Spread {
        tensor: parallel.tensor.max(1),
        pipeline: parallel.pipeline.max(1),
        experts: parallel.tensor.max(1),
        split: ExpertSplit::Sliced,
        extra_layers: ExtraLayers::BeforeLast,
        tile: None,
    };
    let known = KnownModel::of_shape(model.clone());
    divide_by(settings, &spread, FlagEffects::default(), &known, device)
}

fn divide_by(
    settings: &MemorySettings,
    spread: &Spread,
    effects: FlagEffects,
    known: &KnownModel,
    device: &Device,
) -> Division {
    let model = &known.model;
    let parallel = Parallel {
        pipeline: spread.pipeline,
        ..Parallel::tensor(spread.tensor)
    };
    let over = overhead(model, device, &parallel, settings);
    let visible = seen_by_framework(device);
    let cached = match effects.windows {
        Windows::Kept => model.clone(),
        Windows::Ignored => model.without_windows(),
    };
    // The files may hold more or less than the shape says; a card's part is scaled alike.
    let real = known.weights.bytes() / model.weight_bytes().max(1.0);
    let max_model_len = u64::from(settings.max_model_len);
    let stages = spread.stages(model);
    let several = stages.len() > 1;
    let cards = stages.iter().enumerate().map(|(place, stage)| {
        let adapters = effects.adapters * stage.share();
        let stored = spread.weight_bytes(model, stage) * real;
        let weights = (stored - effects.offloaded).max(0.0) + adapters;
        let layout = KvLayout {
            model: cached.clone(),
            tensor: spread.tensor,
            share: stage.share() / f64::from(effects.context),
            dtype: settings.kv_dtype,
            block_size: settings.block_size.max(1),
        };
        let available = over.cache(settings, visible, weights);
        let kv = cache_bytes(settings, available, &layout);
        let asked = (settings.blocks_override)
            .filter(|_| settings.reserve == Reserve::Profiled && layout.keeps_everything());
        Division {
            model: model.clone(),
            model_weights: known.weights,
            stage: several.then_some(CardStage {
                number: place as u32 + 1,
                of: stages.len() as u32,
                layers: stage.layers.len() as u32,
            }),
            total: device.memory_bytes(),
            weights,
            activations: over.activations,
            graphs: over.graphs,
            system: over.non_torch + device.memory_bytes() - visible,
            available,
            kv,
            blocks: asked.unwrap_or_else(|| layout.blocks(kv, max_model_len)),
            layout,
            max_model_len,
            not_counted: effects.not_counted.clone(),
        }
    });
    // Where the flags ask for a number of blocks, the stage with the least room for them.
    let fewest = cards.min_by(|a, b| {
        let tokens = |card: &Division| card.kv / card.layout.token_bytes();
        let spare = |card: &Division| card.room() - card.kv;
        (tokens(a).total_cmp(&tokens(b))).then(spare(a).total_cmp(&spare(b)))
    });
    fewest.expect("a model has at least one stage")
}

/// What the cache of a card gets: as many bytes or blocks as the flags ask for, else what is
/// available.
fn cache_bytes(settings: &MemorySettings, available: f64, layout: &KvLayout) -> f64 {
    match (settings.blocks_override, settings.cache_bytes) {
        // SGLang's `--max-total-tokens` counts tokens, and never raises what is available
        // (`_apply_token_constraints`).
        (Some(tokens), _) if settings.reserve == Reserve::Remainder => {
            available.min(tokens as f64 * layout.token_bytes())
        }
        // vLLM replaces the available bytes, whether profiled or given, by those of the blocks
        // (`get_kv_cache_configs`).
        (Some(blocks), _) => blocks as f64 * layout.block_bytes(),
        (None, Some(bytes)) => bytes as f64,
        (None, None) => available,
    }
}

fn spread(flags: &ResolvedFlags, model: &Model, device: &Device) -> Spread {
    let parallel = flags.parallelism();
    let tensor = parallel.tensor;
    let (own, experts, extra_layers) = match flags.engine {
        // Attention is divided among the cards of a replica, experts among all of the group.
        EngineKind::Sglang if parallel.replicas_share_cards => (
            (tensor / parallel.replicas).max(1),
            tensor,
            ExtraLayers::Last,
        ),
        EngineKind::Sglang => (tensor, tensor, ExtraLayers::Last),
        // The replicas of vLLM form one group for the experts (`FusedMoEParallelConfig`).
        _ => {
            let all = tensor.saturating_mul(parallel.replicas);
            (tensor, all, ExtraLayers::BeforeLast)
        }
    };
    let nvidia_with_vllm = flags.engine == EngineKind::Vllm && device.kind == Kind::Cuda;
    Spread {
        tensor: own,
        pipeline: parallel.pipeline,
        experts,
        split: if flags.expert_parallel {
            ExpertSplit::Whole
        } else {
            ExpertSplit::Sliced
        },
        extra_layers,
        tile: Tile::of_vllm(model).filter(|_| nvidia_with_vllm),
    }
}

fn settings(device: &Device, flags: &ResolvedFlags, cache: Dtype) -> MemorySettings {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    MemorySettings {
        utilization: flags.gpu_memory_utilization,
        max_num_batched_tokens: narrow(flags.max_num_batched_tokens),
        max_num_seqs: narrow(sampled_at_once(device, flags)),
        max_model_len: narrow(flags.max_model_len),
        block_size: narrow(flags.block_size).max(1),
        kv_dtype: cache,
        enforce_eager: flags.enforce_eager,
        blocks_override: flags.num_gpu_blocks_override,
        cache_bytes: flags.kv_cache_memory_bytes,
        reserve: match flags.engine {
            EngineKind::Sglang => Reserve::Remainder,
            EngineKind::Trtllm => Reserve::Free,
            _ => Reserve::Profiled,
        },
        profile: match flags.engine {
            EngineKind::Vllm => Profile::of_vllm(flags.version),
            _ => Profile::default(),
        },
    }
}

/// Sequences whose logits lie on a card together. vLLM's trial run samples for as many as may
/// run. SGLang has no such run: it reserves for the largest batch with a graph, which it chooses
/// by the card (`reserve_for_graph_mb`).
fn sampled_at_once(device: &Device, flags: &ResolvedFlags) -> u64 {
    if flags.engine != EngineKind::Sglang {
        return flags.max_num_seqs;
    }
    let batch = if flags.max_graph_batch > 0 {
        flags.max_graph_batch
    } else {
        let (tensor, pipeline) = (flags.tensor_parallel, flags.pipeline_parallel);
        let class = DeviceClass::of(device, 1);
        sglang_defaults(&class, tensor.into(), pipeline.into(), None).graph_batch
    };
    flags.max_num_seqs.min(batch.max(1))
}
