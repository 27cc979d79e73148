//! Loads at which hardly more is missed with more load.

use super::*;

const SHARE: f64 = 0.95;
const CAPACITY: f64 = 37.0;

/// Log-odds of meeting that fall evenly with the logarithm of the load.
fn slope(steepness: f64) -> impl Fn(f64) -> f64 {
    move |level| {
        let logit = (SHARE / (1.0 - SHARE)).ln() - steepness * (level / CAPACITY).ln();
        1.0 / (1.0 + (-logit).exp())
    }
}

/// How many of ten searches have an interval that holds the capacity, and how many are confirmed.
fn held(steepness: f64) -> [usize; 2] {
    let small = || Settings {
        budget: 12_000,
        ..settings(SHARE, 4.0)
    };
    let found = (0..10).map(|seed| search_one(small(), seed, slope(steepness)).0);
    let found: Vec<TierCapacity> = found.collect();
    let holds = |it: &&TierCapacity| {
        let (low, high) = (it.low.unwrap_or_default(), it.high.unwrap_or(f64::MAX));
        low <= CAPACITY && CAPACITY <= high
    };
    let is_confirmed = |it: &&TierCapacity| it.ending == SearchEnding::Confirmed;
    [
        found.iter().filter(holds).count(),
        found.iter().filter(is_confirmed).count(),
    ]
}

#[test]
fn an_interval_is_as_wide_as_a_flat_slope_makes_it_and_a_usual_one_is_soon_known() {
    // Twice the load misses 10 % where this one misses 5 %: by far flatter than any queue.
    let [flat, _] = held(1.0);
    let [usual, confirmed] = held(22.0);
    assert!(flat >= 8, "{flat} of 10");
    assert!(usual >= 9 && confirmed >= 9, "{usual}, {confirmed} of 10");
}
