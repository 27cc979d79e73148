//! How vLLM and SGLang divide a card.

use super::counted::{Extras, Windows, is_on};
use super::layout::{Budget, Layout};
use super::{Answer, MemoryError, Part, Question, ShownStage};
use crate::model::{KnownModel, Weights};
use inferometer_catalog::device::{Device, Kind, Parallel};
use inferometer_catalog::engine::defaults::sglang_defaults;
use inferometer_catalog::engine::{EngineKind, ResolvedFlags};
use inferometer_catalog::memory::{
    Dealing, ExpertSplit, Reserve, Sampler, Spread, Tile, VllmMemory, overhead, seen_by_framework,
};
use inferometer_catalog::model::{Dtype, Model};
use std::borrow::Cow;

/// What the flags make of weights and cache.
struct Formats<'a> {
    model: Cow<'a, Model>,
    weights: Weights,
    cache: Dtype,
}

fn formats<'a>(known: &'a KnownModel, flags: &ResolvedFlags) -> Result<Formats<'a>, MemoryError> {
    let model = &known.model;
    let asked = match flags.quantization.as_deref() {
        Some(method) => match Dtype::named(method) {
            // A method of many formats: the model's own files say which.
            None if model.is_quantised() => None,
            None => return Err(MemoryError::Quantisation(method.chars().take(60).collect())),
            wanted => wanted,
        },
        // Quantised weights stay so, whatever they are computed in.
        None if model.is_quantised() => None,
        None => Dtype::named(&flags.dtype).or(Some(model.dtype.by_default())),
    };
    let dtype = asked.unwrap_or(model.dtype);
    let same = dtype.bytes() == model.dtype.bytes();
    let cache = Dtype::named(&flags.kv_cache_dtype).unwrap_or(dtype.cache());
    Ok(match same {
        true => Formats {
            model: Cow::Borrowed(model),
            weights: known.weights,
            cache,
        },
        false => {
            let other = model.stored_as(dtype);
            let weights = match (known.weights, model.is_quantised()) {
                // All numbers of a plain checkpoint change alike.
                (Weights::Stored(bytes), false) if dtype.cache() == dtype => {
                    Weights::Stored(bytes * dtype.bytes() / model.dtype.bytes())
                }
                _ => Weights::Computed(other.weight_bytes()),
            };
            Formats {
                model: Cow::Owned(other),
                weights,
                cache,
            }
        }
    })
}

/// Cards by what they share.
struct Cards {
    spread: Spread,
    replicas: u32,
    all: u64,
}

fn cards(question: &Question<'_>, flags: &ResolvedFlags) -> Result<Cards, MemoryError> {
    let tensor = flags.tensor_parallel.max(1);
    let pipeline = flags.pipeline_parallel.max(1);
    let replicas = flags.data_parallel.max(1);
    let split = match flags.expert_parallel {
        true => ExpertSplit::Whole,
        false => ExpertSplit::Sliced,
    };
    let (own, experts, each, dealing) = match flags.engine {
        // Attention is divided among the replicas of one group, experts among the whole group.
        EngineKind::Sglang if is_on(flags, "enable-dp-attention") => {
            ((tensor / replicas).max(1), tensor, 1, Dealing::Last)
        }
        EngineKind::Sglang => (tensor, tensor, replicas, Dealing::Last),
        // The replicas of vLLM form one group for the experts.
        _ => (
            tensor,
            tensor.saturating_mul(replicas),
            replicas,
            Dealing::BeforeLast,
        ),
    };
    let all = u64::from(tensor)
        .saturating_mul(u64::from(pipeline))
        .saturating_mul(u64::from(each));
    let elsewhere = [
        "nnodes",
        "data-parallel-size-local",
        "data-parallel-address",
    ];
    let elsewhere = elsewhere.iter().any(|name| flags.get(name).is_some());
    if all > u64::from(question.cards) && !elsewhere {
        return Err(MemoryError::Cards {
            needed: all,
            have: question.cards,
            how: format!("{tensor} tensor × {pipeline} pipeline × {each} data parallel"),
        });
    }
    let model = &question.model.model;
    let nvidia_with_vllm = flags.engine == EngineKind::Vllm && question.device.kind == Kind::Cuda;
    Ok(Cards {
        spread: Spread {
            tensor: own,
            pipeline,
            experts,
            split,
            dealing,
            tile: Tile::of_vllm(model).filter(|_| nvidia_with_vllm),
        },
        replicas,
        all,
    })
}

fn settings(device: &Device, flags: &ResolvedFlags, cache: Dtype) -> VllmMemory {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    VllmMemory {
        utilization: flags.gpu_memory_utilization,
        max_num_batched_tokens: narrow(flags.max_num_batched_tokens),
        max_num_seqs: narrow(sampled_at_once(device, flags)),
        max_model_len: narrow(flags.max_model_len),
        block_size: narrow(flags.block_size).max(1),
        kv_dtype: cache,
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
    }
}

/// Sequences whose logits lie on a card together. vLLM tries as many as it allows. SGLang tries
/// none: its own reserve is for the largest batch with a graph, which it chooses by the card.
fn sampled_at_once(device: &Device, flags: &ResolvedFlags) -> u64 {
    if flags.engine != EngineKind::Sglang {
        return flags.max_num_seqs;
    }
    let usual = || {
        let class = super::class_of(device, 1);
        let (tensor, pipeline) = (flags.tensor_parallel, flags.pipeline_parallel);
        sglang_defaults(&class, tensor.into(), pipeline.into(), None).graph_batch
    };
    let batch = match flags.max_graph_batch {
        0 => usual(),
        batch => batch,
    };
    flags.max_num_seqs.min(batch.max(1))
}

pub(super) fn divide(
    question: &Question<'_>,
    flags: &ResolvedFlags,
) -> Result<Answer, MemoryError> {
    let formats = formats(question.model, flags)?;
    let Cards {
        spread,
        replicas,
        all,
    } = cards(question, flags)?;
    let model = formats.model.as_ref();
    let extras = Extras::of(flags, model, spread.tensor);
    let settings = settings(question.device, flags, formats.cache);
    let parallel = Parallel {
        tensor: spread.tensor,
        pipeline: spread.pipeline,
    };
    let over = overhead(model, question.device, &parallel, &settings);
    let total = seen_by_framework(question.device);
    let cached = match extras.windows {
        Windows::Kept => Cow::Borrowed(model),
        Windows::Ignored => Cow::Owned(model.without_windows()),
    };
    // The files may hold more or less than the shape says; a card's part is scaled alike.
    let real = formats.weights.bytes() / model.weight_bytes().max(1.0);
    let stages = spread.stages(model);
    let of_stage = stages.iter().map(|stage| {
        let weights = spread.weight_bytes(model, stage) * real;
        let adapters = extras.adapters * stage.share();
        let weights = (weights - extras.offloaded).max(0.0) + adapters;
        let layout = Layout {
            model: cached.as_ref(),
            tensor: spread.tensor,
            share: stage.share() / f64::from(extras.context),
            dtype: formats.cache,
        };
        (
            stage,
            weights,
            over.cache(&settings, total, weights),
            layout,
        )
    });
    // All stages have as many blocks as the poorest.
    let poorest = of_stage.enumerate().min_by(|(_, a), (_, b)| {
        let tokens = |left: f64, layout: &Layout<'_>| left / layout.per_token();
        tokens(a.2, &a.3).total_cmp(&tokens(b.2, &b.3))
    });
    let (place, (stage, weights, left, layout)) = poorest.expect("there is a stage");
    let token = layout.per_token();
    let block_size = settings.block_size;
    let kv = match (settings.blocks_override, flags.kv_cache_memory_bytes) {
        // SGLang counts tokens, and never takes more than is left.
        (Some(tokens), _) if settings.reserve == Reserve::Remainder => {
            left.min(tokens as f64 * token)
        }
        (Some(blocks), _) => blocks as f64 * token * f64::from(block_size),
        (None, Some(bytes)) => bytes as f64,
        (None, None) => left,
    };
    let budget = Budget {
        kv,
        room: over.room(total, weights),
    };
    let unseen = question.device.memory_bytes() - total;
    let parts = vec![
        (Part::Weights, weights),
        (Part::Activations, over.activations),
        (Part::Graphs, over.graphs),
        (Part::System, over.non_torch + unseen),
        (Part::KvCache, kv.max(0.0)),
        (Part::Unused, budget.unused()),
    ];
    let cache = layout.cache(budget, block_size, flags.max_model_len, question.lengths);
    let answer = cache.answer(question, flags.version, parts, formats.weights);
    let count = stages.len() as u32;
    Ok(Answer {
        cards: u32::try_from(all).unwrap_or(u32::MAX),
        replicas,
        stage: (count > 1).then(|| ShownStage {
            number: place as u32 + 1,
            of: count,
            layers: stage.layers.len() as u32,
        }),
        not_counted: extras.not_counted,
        ..answer
    })
}
