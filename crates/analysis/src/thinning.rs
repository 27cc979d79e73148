//! Which requests are kept one by one where a run has more than memory should hold.

/// Requests that are kept one by one. Beyond, every second of them is, then every fourth, and so
/// on; what must be known of all is counted beside.
pub(crate) const MOST_KEPT: usize = 1 << 18;

/// A share of the requests: 1 in 2ⁿ, chosen by their numbers as if at random, so that no rhythm of
/// the load decides. What is kept after a halving was kept before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thinning {
    halvings: u32,
}

impl Thinning {
    pub fn halve(&mut self) {
        self.halvings += 1;
    }

    /// What both keep.
    pub fn with(self, other: Self) -> Self {
        Thinning {
            halvings: self.halvings.max(other.halvings),
        }
    }

    /// How many requests each one that is kept stands for.
    pub fn weight(self) -> f64 {
        f64::from(self.halvings).exp2()
    }

    pub fn keeps(self, index: u64) -> bool {
        mixed(index).trailing_zeros() >= self.halvings
    }
}

/// The finaliser of SplitMix64: every bit depends on all bits of the number.
fn mixed(index: u64) -> u64 {
    let mixed = index.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_halving_keeps_about_half_of_those_before_whatever_the_rhythm() {
        let mut thinning = Thinning::default();
        let mut before: Vec<u64> = (0..65_536).collect();
        for _ in 0..4 {
            thinning.halve();
            let kept: Vec<u64> = (0..65_536).filter(|&at| thinning.keeps(at)).collect();
            let expected = 65_536.0 / thinning.weight();
            assert!((kept.len() as f64 / expected - 1.0).abs() < 0.03);
            assert!(kept.iter().all(|index| before.binary_search(index).is_ok()));
            let every_eighth = kept.iter().filter(|&at| at % 8 == 3).count() as f64;
            assert!((every_eighth / expected * 8.0 - 1.0).abs() < 0.1);
            before = kept;
        }
    }
}
