//! Samples that grow with the run: exact while their values are few, counted in fine classes when
//! there are millions, so that memory stays bounded.

use inferometer_core::quantile::sort;
use inferometer_core::summary::Distribution;

/// Values that are kept as they are; 8 MiB.
const EXACT: usize = 1 << 20;
/// Classes an octave are `1 << BITS`: a counted value is off by less than 0.02 %.
const BITS: u32 = 12;
const NANOS_IN_MS: f64 = 1e6;

/// A growing sample of milliseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    exact: Vec<f64>,
    counted: Option<Counted>,
}

impl Pool {
    /// Takes a value so many times.
    pub(super) fn add(&mut self, ms: f64, times: u32) {
        if let Some(counted) = &mut self.counted {
            counted.add(ms, times);
        } else if self.exact.len() + times as usize <= EXACT {
            self.exact.extend(std::iter::repeat_n(ms, times as usize));
        } else {
            let mut counted = Counted::default();
            for &value in &self.exact {
                counted.add(value, 1);
            }
            counted.add(ms, times);
            self.exact = Vec::new();
            self.counted = Some(counted);
        }
    }

    pub(super) fn extend(&mut self, ms: Option<f64>) {
        if let Some(ms) = ms {
            self.add(ms, 1);
        }
    }

    pub(super) fn len(&self) -> u64 {
        (self.counted.as_ref()).map_or(self.exact.len() as u64, |counted| counted.n)
    }

    pub(super) fn into_ordered(mut self) -> Ordered {
        match self.counted {
            Some(counted) => Ordered::Counted(counted),
            None => {
                sort(&mut self.exact);
                Ordered::Exact(self.exact)
            }
        }
    }
}

/// A pool that takes no more.
#[derive(Clone, Debug)]
pub(super) enum Ordered {
    Exact(Vec<f64>),
    Counted(Counted),
}

impl Ordered {
    pub(super) fn distribution(&self) -> Option<Distribution> {
        match self {
            Ordered::Exact(sorted) => Distribution::of_sorted(sorted),
            Ordered::Counted(counted) => counted.distribution(),
        }
    }

    pub(super) fn quantile(&self, p: f64) -> Option<f64> {
        match self {
            Ordered::Exact(sorted) => inferometer_core::quantile::quantile(sorted, p),
            Ordered::Counted(counted) => counted.quantile(p),
        }
    }
}

/// Values counted by class. Mean, deviation, least and largest are exact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    counts: Vec<u64>,
    n: u64,
    /// The first value; sums are of differences from it, to keep their digits.
    shift: f64,
    sum: f64,
    squares: f64,
    ends: Option<[f64; 2]>,
}

impl Counted {
    pub(super) fn add(&mut self, ms: f64, times: u32) {
        let class = class_of((ms * NANOS_IN_MS) as u64);
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += u64::from(times);
        if self.n == 0 {
            self.shift = ms;
        }
        self.n += u64::from(times);
        let (difference, times) = (ms - self.shift, f64::from(times));
        self.sum += difference * times;
        self.squares += difference * difference * times;
        let [least, most] = self.ends.unwrap_or([ms, ms]);
        self.ends = Some([least.min(ms), most.max(ms)]);
    }

    /// Value of a rank, by counting; the ends are known exactly.
    fn at(&self, rank: u64) -> f64 {
        let [least, most] = self.ends.unwrap_or_default();
        let mut before = 0;
        let class = self.counts.iter().position(|&count| {
            before += count;
            before > rank
        });
        class.map_or(most, |class| {
            (middle_of(class) / NANOS_IN_MS).clamp(least, most)
        })
    }

    pub(super) fn quantile(&self, p: f64) -> Option<f64> {
        inferometer_core::quantile::quantile_by_rank(self.n, |rank| self.at(rank), p)
    }

    pub(super) fn distribution(&self) -> Option<Distribution> {
        let n = self.n as f64;
        let squares = (self.squares - self.sum * self.sum / n).max(0.0);
        let mean = self.shift + self.sum / n;
        let [min, max] = self.ends?;
        let found = Distribution::from_ranks(self.n, |rank| self.at(rank), mean, squares)?;
        Some(Distribution { min, max, ..found })
    }
}

fn class_of(nanos: u64) -> usize {
    let top = 63u32.saturating_sub(nanos.leading_zeros());
    if top < BITS {
        return nanos as usize;
    }
    let shift = top - BITS;
    ((shift as usize + 1) << BITS) + ((nanos >> shift) as usize & ((1 << BITS) - 1))
}

fn middle_of(class: usize) -> f64 {
    let octave = class >> BITS;
    if octave == 0 {
        return class as f64;
    }
    let shift = octave - 1;
    let low = ((class & ((1 << BITS) - 1)) | (1 << BITS)) as f64;
    (low + 0.5) * (shift as f64).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_values_stay_within_a_fiftieth_of_a_percent() {
        for nanos in [0u64, 1, 4095, 4096, 5000, 123_456, 987_654_321, 1 << 45] {
            let back = middle_of(class_of(nanos));
            let off = (back - nanos as f64).abs();
            assert!(off <= nanos as f64 * 2e-4 + 1.0, "{nanos} became {back}");
        }
    }

    #[test]
    fn a_huge_pool_says_the_same_as_an_exact_one() {
        let value = |i: u32| 5.0 + f64::from(i.wrapping_mul(2_654_435_761) >> 16) / 1000.0;
        let mut pool = Pool::default();
        let mut all = Vec::new();
        for i in 0..(EXACT as u32 + 10) {
            pool.add(value(i), 1);
            all.push(value(i));
        }
        let counted = pool.into_ordered();
        assert!(matches!(counted, Ordered::Counted(_)));
        let counted = counted.distribution().unwrap();
        let exact = Distribution::of(all).unwrap();
        for (a, b) in [
            (counted.mean, exact.mean),
            (counted.std.unwrap(), exact.std.unwrap()),
            (counted.min, exact.min),
            (counted.p50, exact.p50),
            (counted.p99, exact.p99),
            (counted.max, exact.max),
        ] {
            assert!((a / b - 1.0).abs() < 2e-4, "{a} {b}");
        }
        assert_eq!(counted.n, exact.n);
    }
}
