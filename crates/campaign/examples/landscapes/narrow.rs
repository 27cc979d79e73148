//! Test beds of narrow memory, of which much does not start.

use crate::landscape::test_bed::{TestBed, test_bed};

/// Memory is narrow, so that much of the space does not start: with long contexts on one card,
/// and on several cards with tensor parallelism, of which the default uses one.
pub const NARROW: [TestBed; 5] = [
    TestBed {
        model_len: 16384,
        ..test_bed(
            "qwen2.5-14b",
            "l20",
            &["0.7", "0.8", "0.9"],
            48,
            [1000, 128, 384],
        )
    },
    TestBed {
        model_len: 32768,
        ..test_bed(
            "llama-3.1-8b",
            "a100-40g",
            &["0.45", "0.5", "0.55"],
            64,
            [2000, 128, 0],
        )
    },
    TestBed {
        cards: 4,
        ..test_bed(
            "qwen2.5-14b",
            "a100-40g",
            &["0.5", "0.7", "0.9"],
            128,
            [600, 200, 128],
        )
    },
    TestBed {
        cards: 4,
        ..test_bed(
            "qwen2.5-32b",
            "a100-40g",
            &["0.6", "0.75", "0.9"],
            64,
            [700, 200, 0],
        )
    },
    TestBed {
        cards: 8,
        model_len: 8192,
        ..test_bed(
            "llama-3.1-70b",
            "a100-80g",
            &["0.5", "0.7", "0.9"],
            64,
            [1000, 160, 256],
        )
    },
];
