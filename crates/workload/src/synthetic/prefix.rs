//! Beginnings that several prompts share.

use super::error::{MOST_GROUPS, SyntheticError};
use crate::weighted::Weighted;
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::work::{Prefix, PrefixLength, PrefixSpread};
use rand::Rng;

/// Which prompts share a beginning, and how long it is.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    prefix: Prefix,
    /// Absent: all groups are equally frequent.
    chances: Option<Weighted>,
}

impl Groups {
    pub(super) fn new(prefix: Prefix) -> Result<Self, SyntheticError> {
        let groups = prefix.groups;
        let refused = SyntheticError::Groups(groups);
        if !(1..=MOST_GROUPS).contains(&groups) {
            return Err(refused);
        }
        let chances = match prefix.spread {
            PrefixSpread::Uniform => None,
            PrefixSpread::Zipf(exponent) => {
                let weights = (1..=groups).map(|rank| f64::from(rank).powf(-exponent));
                Some(Weighted::new(weights).ok_or(refused)?)
            }
        };
        Ok(Groups { prefix, chances })
    }

    /// How many different beginnings there are.
    pub(super) fn count(&self) -> u32 {
        self.prefix.groups
    }

    pub(super) fn of(&self, seed: u64, index: u64) -> u32 {
        let mut random = rng(seed, Dimension::PrefixGroup, index);
        match &self.chances {
            Some(chances) => chances.draw(&mut random) as u32,
            None => ((u64::from(random.next_u32()) * u64::from(self.prefix.groups)) >> 32) as u32,
        }
    }

    /// Tokens of the shared beginning and of the rest in a prompt of `length`. There is always
    /// a rest: without one it would be the same prompt again.
    pub(super) fn cut(&self, length: u32) -> (u32, u32) {
        match self.prefix.length {
            PrefixLength::Tokens(tokens) => (tokens, length.saturating_sub(tokens).max(1)),
            PrefixLength::Share(share) => {
                let shared = (f64::from(length) * share).round() as u32;
                let shared = shared.min(length.saturating_sub(1));
                (shared, length - shared)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(spread: PrefixSpread) -> Groups {
        Groups::new(Prefix {
            length: PrefixLength::Tokens(100),
            groups: 10,
            spread,
        })
        .unwrap()
    }

    fn frequencies(groups: &Groups) -> [u32; 10] {
        let mut seen = [0; 10];
        for index in 0..30_000 {
            seen[groups.of(5, index) as usize] += 1;
        }
        seen
    }

    #[test]
    fn groups_are_used_as_often_as_asked() {
        let even = frequencies(&groups(PrefixSpread::Uniform));
        assert!(even.iter().all(|n| (2_700..3_300).contains(n)), "{even:?}");
        // The n-th is used 1/n as often as the first, which has 1/2.929 of all.
        let zipf = frequencies(&groups(PrefixSpread::Zipf(1.0)));
        for (rank, seen) in (1..).zip(zipf) {
            let expected = 30_000.0 / 2.929 / f64::from(rank);
            let off = (f64::from(seen) / expected - 1.0).abs();
            assert!(off < 0.15, "{rank}: {seen} in place of {expected}");
        }
    }

    #[test]
    fn a_prompt_always_has_a_rest_of_its_own() {
        let fixed = groups(PrefixSpread::Uniform);
        assert_eq!(fixed.cut(150), (100, 50));
        assert_eq!(fixed.cut(20), (100, 1));
        for (share, cut) in [
            (0.5, (50, 50)),
            (1.0, (99, 1)),
            (0.0, (0, 100)),
            (f64::NAN, (0, 100)),
        ] {
            let mut shared = groups(PrefixSpread::Uniform);
            shared.prefix.length = PrefixLength::Share(share);
            assert_eq!(shared.cut(100), cut);
            assert_eq!(shared.cut(0), (0, 0));
        }
    }
}
