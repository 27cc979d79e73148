//! What would make a model fit: each remedy is tried, none is guessed.

use super::{Answer, Fit, Part, Question, divide};
use inferometer_catalog::device::{Device, Kind};
use inferometer_catalog::engine::{EngineKind, name_for};
use inferometer_catalog::model::{Dtype, KnownModel};
use inferometer_catalog::units::GIB;
use serde::Serialize;

/// A change with which it fits, for programs by the flag that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Weights of a smaller format.
    Weights(Dtype),
    /// A cache of a smaller format.
    #[serde(rename = "kv-cache-dtype")]
    Cache(Dtype),
    /// No request longer than this.
    MaxModelLen(u64),
    /// A cache of at most this many bytes per card, where the flags ask for more.
    #[serde(rename = "kv-cache-memory-bytes")]
    CacheBytes(u64),
    /// Another share of the card for weights and cache.
    #[serde(rename = "gpu-memory-utilization")]
    Share(f64),
    #[serde(untagged)]
    TensorParallel {
        /// Cards that share each layer.
        #[serde(rename = "tensor-parallel-size")]
        size: u32,
        /// Cards of the host, where that is more than was said of it.
        #[serde(rename = "cards", skip_serializing_if = "Option::is_none")]
        host: Option<u32>,
    },
}

/// The most cards that are tried: those of one host.
const MOST_CARDS: u32 = 16;
/// The largest share of a card that vLLM is usually given.
const MOST_OF_A_CARD: f64 = 0.95;
/// A window that is worth serving.
const LEAST_LENGTH: u64 = 256;

pub(super) fn remedies(question: &Question<'_>, answer: &Answer) -> Vec<Remedy> {
    let mut found = Vec::new();
    let fits = |question: &Question<'_>| divide(question).is_ok_and(|tried| tried.fit == Fit::Fits);
    let with = |name: &str, value: &str| {
        let mut tried = question.clone();
        let engine = tried.command.engine;
        tried.command.set(name_for(engine, name), Some(value));
        tried
    };
    if let Some(longest) = answer.longest.filter(|&longest| longest >= LEAST_LENGTH)
        && matches!(answer.fit, Fit::TooLong(_))
    {
        // A round number below what fits, since blocks are whole.
        let longest = longest / 64 * 64;
        if fits(&with("max-model-len", &longest.to_string())) {
            found.push(Remedy::MaxModelLen(longest));
        }
    }
    if matches!(answer.fit, Fit::Cache(_)) {
        let (remedy, tried) = smaller_cache(question, answer);
        if fits(&tried) {
            found.push(remedy);
        }
    }
    let share = MOST_OF_A_CARD.to_string();
    if question.command.engine == EngineKind::Vllm && fits(&with("gpu-memory-utilization", &share))
    {
        found.push(Remedy::Share(MOST_OF_A_CARD));
    }
    let tensor = question.command.parallelism().tensor;
    let (mut tensor, mut cards) = (tensor.clamp(1, MOST_CARDS), answer.cards.max(1));
    while cards <= u64::from(MOST_CARDS / 2) {
        (tensor, cards) = (tensor * 2, cards * 2);
        let host = question.cards.max(cards as u32);
        let tried = Question {
            cards: host,
            ..with("tensor-parallel-size", &tensor.to_string())
        };
        if fits(&tried) {
            found.push(Remedy::TensorParallel {
                size: tensor,
                host: (host > question.cards).then_some(host),
            });
            break;
        }
    }
    for dtype in [eight_bits(question.device), Dtype::Int4] {
        // Formats of four bits differ in little but their scales.
        if dtype.bytes() > 0.9 * question.model.model.dtype.bytes() {
            continue;
        }
        let model = quantised(question.model, dtype);
        if fits(&Question {
            model: &model,
            ..question.clone()
        }) {
            found.push(Remedy::Weights(dtype));
            break;
        }
    }
    if answer.kv_dtype.bytes() > Dtype::Fp8.bytes() && fits(&with("kv-cache-dtype", "fp8")) {
        found.push(Remedy::Cache(Dtype::Fp8));
    }
    found
}

/// The usual 8 bits: Ascend cards have integers only.
fn eight_bits(device: &Device) -> Dtype {
    match (device.kind, device.fp8_tflops) {
        (Kind::Ascend, None) => Dtype::Int8,
        _ => Dtype::Fp8,
    }
}

/// The largest cache that has room, in place of what the flags ask for.
fn smaller_cache<'a>(question: &Question<'a>, answer: &Answer) -> (Remedy, Question<'a>) {
    let mut tried = question.clone();
    for asks in [
        "num-gpu-blocks-override",
        "kv-cache-memory-bytes",
        "npuMemSize",
        "mem-fraction-static",
    ] {
        tried.command.remove(asks);
    }
    // Whole GiB, as MindIE has them.
    let gib = (answer.room / GIB).floor().max(0.0);
    let bytes = (gib * GIB) as u64;
    let (remedy, name, value) = match question.command.engine {
        EngineKind::Mindie => (Remedy::CacheBytes(bytes), "npuMemSize", gib.to_string()),
        EngineKind::Sglang => {
            let beside = |(part, _): &&(Part, f64)| matches!(part, Part::Weights | Part::System);
            let beside: f64 = answer.parts.iter().filter(beside).map(|part| part.1).sum();
            let share = ((answer.room + beside) / answer.total * 100.0).floor() / 100.0;
            (
                Remedy::Share(share),
                "mem-fraction-static",
                share.to_string(),
            )
        }
        _ => (
            Remedy::CacheBytes(bytes),
            "kv-cache-memory-bytes",
            bytes.to_string(),
        ),
    };
    tried.command.set(name, Some(&value));
    (remedy, tried)
}

fn quantised(known: &KnownModel, dtype: Dtype) -> KnownModel {
    KnownModel {
        left_out: known.left_out.clone(),
        ..KnownModel::of_shape(known.model.stored_as(dtype))
    }
}
