//! Test beds that no constant of a searcher was chosen on: other models, devices and loads.

use crate::landscape::test_bed::{TestBed, test_bed};

/// Three models on two devices each; of some loads the prompts share nothing.
pub const OTHERS: [TestBed; 6] = [
    test_bed(
        "deepseek-coder-6.7b",
        "h100",
        &["0.24", "0.34", "0.44"],
        96,
        [300, 300, 0],
    ),
    test_bed(
        "deepseek-coder-6.7b",
        "a100-80g",
        &["0.26", "0.32", "0.38"],
        48,
        [1500, 60, 1024],
    ),
    test_bed(
        "qwen2.5-32b",
        "h100",
        &["0.86", "0.9", "0.94"],
        64,
        [700, 200, 0],
    ),
    test_bed(
        "qwen2.5-32b",
        "a100-80g",
        &["0.86", "0.9", "0.94"],
        128,
        [400, 100, 192],
    ),
    test_bed(
        "llama-3.1-8b",
        "l40s",
        &["0.4", "0.45", "0.5"],
        96,
        [1800, 180, 64],
    ),
    test_bed(
        "qwen2.5-14b",
        "h200",
        &["0.24", "0.28", "0.32"],
        192,
        [250, 350, 96],
    ),
];
