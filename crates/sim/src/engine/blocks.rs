//! The KV cache: a pool of blocks, and the prefix cache in it.
//!
//! A block that nobody holds stays in the prefix cache until it is needed: the free list is in
//! the order of release, and blocks are taken from its old end. A request releases its blocks
//! from the last to the first, so that of one request the end is forgotten first.

use std::collections::HashMap;

const NONE: u32 = u32::MAX;

/// Hash of each full block of a prompt, each covering all blocks before it.
pub fn block_hashes(tokens: &[u32], block_size: u32) -> Vec<u64> {
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    let blocks = tokens.chunks_exact(block_size.max(1) as usize);
    blocks
        .map(|block| {
            for &token in block {
                hash = mix(hash ^ u64::from(token));
            }
            hash
        })
        .collect()
}

fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[derive(Clone, Debug)]
struct Block {
    holders: u32,
    /// Neighbours in the free list.
    older: u32,
    newer: u32,
    hash: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct BlockPool {
    /// Those that were ever used: a cache may be far larger than what a run touches.
    blocks: Vec<Block>,
    count: u32,
    /// Ends of the list of released blocks.
    oldest: u32,
    newest: u32,
    free: u32,
    /// Full blocks by content; `None` where prefixes are not cached.
    cached: Option<HashMap<u64, u32>>,
}

impl BlockPool {
    pub(super) fn new(count: u32, prefix_caching: bool) -> BlockPool {
        let count = count.min(NONE - 1);
        BlockPool {
            blocks: Vec::new(),
            count,
            oldest: NONE,
            newest: NONE,
            free: count,
            cached: prefix_caching.then(HashMap::new),
        }
    }

    pub(super) fn free(&self) -> u32 {
        self.free
    }

    pub(super) fn used(&self) -> u32 {
        self.count - self.free
    }

    pub(super) fn len(&self) -> u32 {
        self.count
    }

    pub(super) fn caches_prefixes(&self) -> bool {
        self.cached.is_some()
    }

    /// How many blocks from the beginning are cached, and how many of those nobody holds.
    pub(super) fn hits(&self, hashes: &[u64]) -> (u32, u32) {
        let Some(cached) = &self.cached else {
            return (0, 0);
        };
        let found = hashes.iter().map_while(|hash| cached.get(hash));
        found.fold((0, 0), |(hits, free), &index| {
            let unheld = self.blocks[index as usize].holders == 0;
            (hits + 1, free + u32::from(unheld))
        })
    }

    /// Takes the cached blocks of these hashes, which [`Self::hits`] has counted.
    pub(super) fn hold(&mut self, hashes: &[u64], table: &mut Vec<u32>) {
        for hash in hashes {
            let Some(&index) = self.cached.as_ref().and_then(|cached| cached.get(hash)) else {
                return;
            };
            if self.blocks[index as usize].holders == 0 {
                self.unlink(index);
            }
            self.blocks[index as usize].holders += 1;
            table.push(index);
        }
    }

    /// Takes free blocks until the table has `length`; false, and nothing taken, where too few
    /// are free.
    pub(super) fn grow(&mut self, table: &mut Vec<u32>, length: u32) -> bool {
        let missing = length.saturating_sub(table.len() as u32);
        if missing > self.free {
            return false;
        }
        for _ in 0..missing {
            table.push(self.take());
        }
        true
    }

    /// Takes a free block, of which there is one. What was never used holds no prefix, so it goes
    /// first; without a prefix cache the one released last goes first, which is still in the
    /// processor's cache.
    fn take(&mut self) -> u32 {
        let fresh = self.blocks.len() as u32;
        let index = match (&self.cached, self.newest) {
            (None, index) if index != NONE => index,
            _ if fresh < self.count => {
                self.blocks.push(Block {
                    holders: 1,
                    older: NONE,
                    newer: NONE,
                    hash: None,
                });
                self.free -= 1;
                return fresh;
            }
            _ => self.oldest,
        };
        self.unlink(index);
        let block = &mut self.blocks[index as usize];
        block.holders = 1;
        if let Some(hash) = block.hash.take()
            && let Some(cached) = &mut self.cached
        {
            cached.remove(&hash);
        }
        index
    }

    /// Makes a full block findable. Where another block has the same content, that one stays.
    pub(super) fn publish(&mut self, index: u32, hash: u64) {
        let Some(cached) = &mut self.cached else {
            return;
        };
        if let std::collections::hash_map::Entry::Vacant(entry) = cached.entry(hash) {
            entry.insert(index);
            self.blocks[index as usize].hash = Some(hash);
        }
    }

    /// Gives all blocks of a table back.
    pub(super) fn release(&mut self, table: &mut Vec<u32>) {
        while let Some(index) = table.pop() {
            let block = &mut self.blocks[index as usize];
            block.holders -= 1;
            if block.holders == 0 {
                self.link_newest(index);
            }
        }
    }

    /// Forgets all cached prefixes; false, and nothing forgotten, where a block is held.
    pub(super) fn reset(&mut self) -> bool {
        if self.used() > 0 {
            return false;
        }
        if let Some(cached) = &mut self.cached {
            cached.clear();
        }
        for block in &mut self.blocks {
            block.hash = None;
        }
        true
    }

    fn unlink(&mut self, index: u32) {
        let Block { older, newer, .. } = self.blocks[index as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.blocks[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.blocks[newer as usize].older = older,
        }
        self.free -= 1;
    }

    fn link_newest(&mut self, index: u32) {
        let older = self.newest;
        let block = &mut self.blocks[index as usize];
        block.older = older;
        block.newer = NONE;
        match older {
            NONE => self.oldest = index,
            older => self.blocks[older as usize].newer = index,
        }
        self.newest = index;
        self.free += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_finds_the_blocks_that_it_shares_with_an_earlier_one() {
        let first: Vec<u32> = (0..64).collect();
        let mut second = first.clone();
        second[40] = 7;
        let (first, second) = (block_hashes(&first, 16), block_hashes(&second, 16));
        let mut pool = BlockPool::new(8, true);
        let mut table = Vec::new();
        assert!(pool.grow(&mut table, 4));
        for (&index, &hash) in table.iter().zip(&first) {
            pool.publish(index, hash);
        }
        assert_eq!(pool.hits(&second), (2, 0));
        pool.release(&mut table);
        assert_eq!(pool.hits(&second), (2, 2));
        assert_eq!(pool.hits(&first), (4, 4));
    }

    #[test]
    fn the_oldest_blocks_are_forgotten_first_and_the_end_of_a_prompt_before_its_beginning() {
        let hashes = block_hashes(&(0..64).collect::<Vec<u32>>(), 16);
        let mut pool = BlockPool::new(6, true);
        let (mut table, mut other) = (Vec::new(), Vec::new());
        assert!(pool.grow(&mut table, 4));
        for (&index, &hash) in table.iter().zip(&hashes) {
            pool.publish(index, hash);
        }
        pool.release(&mut table);
        assert!(pool.grow(&mut other, 2), "never used blocks go first");
        assert_eq!(pool.hits(&hashes), (4, 4));
        assert!(pool.grow(&mut other, 3));
        assert_eq!(pool.hits(&hashes), (3, 3));
        assert!(!pool.grow(&mut other, 7));
        assert_eq!((other.len(), pool.used()), (3, 3));
    }

    #[test]
    fn a_shared_block_stays_until_its_last_holder_leaves() {
        let hashes = block_hashes(&[1; 16], 16);
        let mut pool = BlockPool::new(2, true);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        assert!(pool.grow(&mut first, 1));
        pool.publish(first[0], hashes[0]);
        pool.hold(&hashes, &mut second);
        assert_eq!(first, second);
        pool.release(&mut first);
        assert_eq!(pool.used(), 1);
        assert!(!pool.reset());
        pool.release(&mut second);
        assert!(pool.reset());
        assert_eq!(pool.hits(&hashes), (0, 0));
    }
}
