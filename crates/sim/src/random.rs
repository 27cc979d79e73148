//! Seeded random numbers.
//!
//! Every request has its own streams, keyed by (seed, request number, purpose): what one
//! request draws never depends on how requests interleave. SplitMix64 keeps eight bytes
//! per stream, which matters at ten thousand open requests; nothing here needs more.

/// What a stream of numbers is for; separate purposes never share numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Fault,
    Length,
    Pace,
    Words,
    Split,
    Items,
}

#[derive(Clone, Debug)]
pub(crate) struct RandomStream(u64);

impl RandomStream {
    pub(crate) fn new(seed: u64, request: u64, purpose: Purpose) -> RandomStream {
        let mut draw = RandomStream(seed);
        draw.0 = draw.next_u64() ^ request;
        draw.0 = draw.next_u64() ^ purpose as u64;
        draw
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..bound` (`bound` > 0); the bias of multiply-and-shift is below 2^-32
    /// for the small bounds used here.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        (wide >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_request_and_purpose() {
        let first = |seed, request, purpose| RandomStream::new(seed, request, purpose).next_u64();
        assert_eq!(first(1, 2, Purpose::Pace), first(1, 2, Purpose::Pace));
        assert_ne!(first(1, 2, Purpose::Pace), first(1, 3, Purpose::Pace));
        assert_ne!(first(1, 2, Purpose::Pace), first(1, 2, Purpose::Words));
        assert_ne!(first(1, 2, Purpose::Pace), first(2, 2, Purpose::Pace));
    }

    #[test]
    fn below_covers_its_range_and_stays_in_it() {
        let mut draw = RandomStream::new(7, 0, Purpose::Words);
        let mut seen = [0u32; 5];
        for _ in 0..1000 {
            seen[draw.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
    }
}
