//! MindIE's division of a card, by its manual.

use super::{ASCEND_SYSTEM, Division, KvLayout};
use crate::device::Device;
use crate::engine::ResolvedFlags;
use crate::model::{KnownModel, Weights};
use crate::units::GIB;

/// Run-time variables and post-processing, GiB per card.
const RUN_TIME: f64 = 2.0;

/// The sizes from which MindIE's manual computes `npuMemSize`, in GiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MindieMemory {
    pub card: f64,
    /// Weights on all cards together.
    pub weights: f64,
    pub cards: u32,
    /// Run-time variables and post-processing, per card.
    pub run_time: f64,
    /// What the system holds at rest, per card.
    pub system: f64,
    /// `NPU_MEMORY_FRACTION`.
    pub fraction: f64,
}

impl MindieMemory {
    pub fn new(weights: Weights, cards: u32, device: &Device, fraction: f64) -> MindieMemory {
        MindieMemory {
            card: device.memory_bytes() / GIB,
            weights: weights.bytes() / GIB,
            cards,
            run_time: RUN_TIME,
            system: ASCEND_SYSTEM / GIB,
            fraction,
        }
    }

    /// The automatic npuMemSize (−1): the fraction of the card less all that is not cache.
    pub fn automatic(&self) -> f64 {
        self.rest().max(0.0)
    }

    /// The same where it may be negative, which says how much is lacking.
    fn rest(&self) -> f64 {
        self.card * self.fraction - self.other()
    }

    /// npuMemSize as older manuals compute it, whole GiB: the fraction of what is left.
    pub fn by_hand(&self) -> f64 {
        ((self.card - self.other()) * self.fraction)
            .floor()
            .max(0.0)
    }

    fn other(&self) -> f64 {
        self.weights / f64::from(self.cards.max(1)) + self.run_time + self.system
    }
}

/// What MindIE makes of a card: the cache has `npuMemSize`, or what the fraction leaves.
pub(super) fn divide(flags: &ResolvedFlags, known: &KnownModel, device: &Device) -> Division {
    let tensor = flags.tensor_parallel.max(1);
    let memory = MindieMemory::new(known.weights, tensor, device, flags.gpu_memory_utilization);
    let available = memory.rest() * GIB;
    let kv = flags
        .kv_cache_memory_bytes
        .map_or(available, |bytes| bytes as f64);
    let layout = KvLayout {
        model: known.model.clone(),
        tensor,
        share: 1.0,
        dtype: known.model.dtype.cache(),
        block_size: u32::try_from(flags.block_size).unwrap_or(u32::MAX).max(1),
    };
    Division {
        model: known.model.clone(),
        model_weights: known.weights,
        stage: None,
        total: device.memory_bytes(),
        weights: known.weights.bytes() / f64::from(tensor),
        activations: memory.run_time * GIB,
        graphs: 0.0,
        system: memory.system * GIB,
        available,
        kv,
        blocks: layout.blocks(kv, flags.max_model_len),
        layout,
        max_model_len: flags.max_model_len,
        not_counted: Vec::new(),
    }
}

/// Blocks that a request takes at most, and so the greatest maxBatchSize that never runs out.
pub fn mindie_max_batch(blocks: u64, input: u32, output: u32, cache_block_size: u32) -> u64 {
    let size = cache_block_size.max(1);
    let each = u64::from(input.div_ceil(size)) + u64::from(output.div_ceil(size));
    blocks / each.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineKind;
    use crate::engine::mindie::Config;
    use crate::model::Model;

    #[test]
    fn the_worked_example_of_mindie_comes_out() {
        let memory = MindieMemory {
            card: 64.0,
            weights: 130.0,
            cards: 8,
            run_time: 2.0,
            system: 3.0,
            fraction: 0.8,
        };
        assert_eq!(memory.by_hand(), 34.0);
        assert!((memory.automatic() - (51.2 - 16.25 - 5.0)).abs() < 1e-9);
    }

    #[test]
    fn mindie_counts_blocks_and_the_batch_that_they_carry() {
        let model = KnownModel::of_shape(Model::named("qwen2.5-72b").unwrap());
        let mut config = Config::default();
        config.backend.deploy.models[0].world_size = 8;
        config.backend.deploy.models[0].npu_mem_size = 34;
        let flags = config.resolved(EngineKind::Mindie.newest());
        let blocks = divide(&flags, &model, Device::named("910b3").unwrap()).blocks;
        // 80 layers × 128 tokens × 1 head × 128 × 2 bytes × 2 = 5 MiB per block and card.
        assert_eq!(blocks, 34 * 1024 / 5);
        assert_eq!(mindie_max_batch(blocks, 1024, 512, 128), blocks / 12);
    }
}
