//! Bounds for a share, and what a sample can say about a percentile.
//!
//! Clopper–Pearson, not Wilson: its coverage is never below what it says, and with no
//! violations it needs exactly the least sample of a tail claim. Wilson's may claim a p99 from
//! fewer.

use inferometer_core::quantile::TAIL_RISK;
use statrs::function::beta::inv_beta_reg;

/// The least share with which `hits` of `n` or more come with probability `risk`: a lower
/// bound that is wrong with that probability.
pub fn share_at_least(hits: u64, n: u64, risk: f64) -> f64 {
    let hits = hits.min(n);
    if hits == 0 || !usable(risk) {
        return 0.0;
    }
    if hits == n {
        return risk.powf(1.0 / n as f64);
    }
    inv_beta_reg(hits as f64, (n - hits + 1) as f64, risk)
}

/// The upper bound of the same kind.
pub fn share_at_most(hits: u64, n: u64, risk: f64) -> f64 {
    1.0 - share_at_least(n.saturating_sub(hits), n, risk)
}

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

fn usable(risk: f64) -> bool {
    risk > 0.0 && risk < 1.0
}

/// What a sample says about a claim "the p99 is within the limit".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailClaim {
    /// True at 99 % confidence.
    Holds,
    /// False at 99 % confidence.
    Fails,
    /// The sample cannot carry it either way.
    Undecided,
}

/// Judges whether the percentile (in percent) is within a limit that `over` of `n` independent
/// values exceed.
pub fn tail_claim(over: u64, n: u64, percent: f64) -> TailClaim {
    let allowed = 1.0 - percent / 100.0;
    // A relative hair, so that rounding does not cost the last sample of the least n.
    if share_at_most(over, n, TAIL_RISK) <= allowed * (1.0 + 1e-9) {
        TailClaim::Holds
    } else if share_at_least(over, n, TAIL_RISK) > allowed {
        TailClaim::Fails
    } else {
        TailClaim::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::quantile::least_samples;

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
    fn a_tail_claim_without_violations_needs_exactly_the_least_sample() {
        for percent in [90.0, 95.0, 99.0, 99.9] {
            let least = least_samples(percent).unwrap();
            assert_eq!(tail_claim(0, least, percent), TailClaim::Holds);
            assert_eq!(tail_claim(0, least - 1, percent), TailClaim::Undecided);
        }
        assert_eq!(tail_claim(40, 1000, 99.0), TailClaim::Fails);
        assert_eq!(tail_claim(10, 1000, 99.0), TailClaim::Undecided);
        assert_eq!(tail_claim(0, 0, 99.0), TailClaim::Undecided);
    }
}
