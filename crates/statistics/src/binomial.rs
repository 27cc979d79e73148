//! Bounds for a share.
//!
//! Clopper–Pearson, not Wilson: its coverage is never below what it says, and with no
//! violations it needs exactly the least sample of a tail claim. Wilson's may claim a p99 from
//! fewer.

use statrs::function::beta::inv_beta_reg;

/// Both bounds of a share that was seen in as many trials as `n` independent ones.
pub fn share_bounds(share: f64, n: f64, confidence: f64) -> [f64; 2] {
    let risk = (1.0 - confidence) / 2.0;
    let at_least = |share: f64| {
        let hits = share * n;
        if hits <= 0.0 {
            0.0
        } else if share >= 1.0 {
            risk.powf(1.0 / n)
        } else {
            inv_beta_reg(hits, n - hits + 1.0, risk)
        }
    };
    [at_least(share), 1.0 - at_least(1.0 - share)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::quantile::{TAIL_RISK, least_samples};

    #[test]
    fn bounds_agree_with_published_ones() {
        // 10 trials at 95 %, as tabled by Clopper and Pearson.
        for (hits, low, high) in [
            (0, 0.0, 0.3085),
            (1, 0.0025, 0.4450),
            (5, 0.1871, 0.8129),
            (10, 0.6915, 1.0),
        ] {
            let [l, h] = share_bounds(hits as f64 / 10.0, 10.0, 0.95);
            assert!(
                (l - low).abs() < 1e-4 && (h - high).abs() < 1e-4,
                "{hits}: {l} {h}"
            );
        }
    }

    #[test]
    fn without_violations_the_least_sample_bounds_the_tail() {
        for percent in [90.0, 95.0, 99.0, 99.9] {
            let (least, allowed) = (least_samples(percent).unwrap(), 1.0 - percent / 100.0);
            // A relative hair, so that rounding does not cost the last sample of the least n.
            let most = |n: u64| share_bounds(0.0, n as f64, 1.0 - 2.0 * TAIL_RISK)[1];
            let within = |n: u64| most(n) <= allowed * (1.0 + 1e-9);
            assert!(within(least) && !within(least - 1), "p{percent}: {least}");
        }
    }
}
