//! MindIE's division of a card, by its manual.

use super::GIB;
use crate::model::{Dtype, Model};

/// MindIE's division of a card.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MindieMemory {
    /// Memory of a card, GB.
    pub card: f64,
    /// Weights on all cards together, GB.
    pub weights: f64,
    pub cards: u32,
    /// Run-time variables and post-processing, GB a card.
    pub run_time: f64,
    /// What the system holds at rest, GB a card.
    pub system: f64,
    pub fraction: f64,
}

impl MindieMemory {
    /// The automatic npuMemSize (−1), GB: the fraction of the card less all that is not cache.
    pub fn automatic(&self) -> f64 {
        (self.card * self.fraction - self.other()).max(0.0)
    }

    /// npuMemSize as older manuals compute it, whole GB: the fraction of what is left.
    pub fn by_hand(&self) -> f64 {
        ((self.card - self.other()) * self.fraction)
            .floor()
            .max(0.0)
    }

    /// What a cache of `npu_mem` leaves of a card for the run, GB; negative where it does not fit.
    pub fn left(&self, npu_mem: f64) -> f64 {
        self.card - self.other() + self.run_time - npu_mem
    }

    fn other(&self) -> f64 {
        self.weights / f64::from(self.cards.max(1)) + self.run_time + self.system
    }
}

/// Blocks that `npu_mem_gb` holds on each card.
pub fn mindie_blocks(
    model: &Model,
    cards: u32,
    cache_block_size: u32,
    npu_mem_gb: f64,
    dtype: Dtype,
) -> u64 {
    let block = model.kv_bytes_per_token(cards, dtype) * f64::from(cache_block_size.max(1));
    (npu_mem_gb.max(0.0) * GIB / block) as u64
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
        let model = Model::named("qwen2.5-72b").unwrap();
        // 80 layers × 128 tokens × 1 head × 128 × 2 bytes × 2 = 5 MiB a block and card.
        let blocks = mindie_blocks(&model, 8, 128, 34.0, Dtype::F16);
        assert_eq!(blocks, 34 * 1024 / 5);
        assert_eq!(mindie_max_batch(blocks, 1024, 512, 128), blocks / 12);
    }
}
