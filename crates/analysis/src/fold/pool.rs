//! Samples that grow with the run: exact while their values are few, counted in fine classes when
//! there are millions, so that memory stays bounded.

use inferometer_core::quantile::sort;
use inferometer_core::summary::Distribution;
use inferometer_core::units::Offset;
use std::time::Duration;

/// Values that are kept as they are; 8 MiB.
const EXACT: usize = 1 << 20;
/// Classes an octave are `1 << BITS`: a counted value is off by less than 0.02 %.
const BITS: u32 = 12;
const NANOS_IN_MS: f64 = 1e6;
/// Sums are of whole 1,024ths of a nanosecond: a gap that tokens share is not whole nanoseconds.
const PARTS_IN_MS: f64 = 1024e6;
const PARTS_IN_NANO: u128 = 1024;
/// Nanoseconds, 18 minutes, up to which a float of milliseconds has all of these parts.
const WHOLE: u64 = 1 << 40;

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
            self.counted().add(ms, times);
        }
    }

    /// Takes each of some spans of nanoseconds once: the same as their milliseconds, and faster.
    pub(super) fn add_nanos(&mut self, spans: &[u64]) {
        if let Some(counted) = &mut self.counted {
            counted.add_nanos(spans);
        } else if self.exact.len() + spans.len() <= EXACT {
            self.exact.extend(spans.iter().map(|&nanos| ms(nanos)));
        } else {
            self.counted().add_nanos(spans);
        }
    }

    pub(super) fn extend(&mut self, ms: Option<f64>) {
        if let Some(ms) = ms {
            self.add(ms, 1);
        }
    }

    /// Takes a span, where there is one.
    pub(super) fn extend_span(&mut self, span: Option<Duration>) {
        if let Some(span) = span {
            self.add_nanos(&[Offset::after(span).0]);
        }
    }

    /// Takes what another part of the same run gathered.
    pub(super) fn merge(&mut self, other: Pool) {
        match other.counted {
            Some(counted) => self.counted().merge(&counted),
            None if self.counted.is_none() && self.exact.len() + other.exact.len() <= EXACT => {
                self.exact.extend(other.exact);
            }
            None => {
                let counted = self.counted();
                other.exact.iter().for_each(|&value| counted.add(value, 1));
            }
        }
    }

    /// Keeps no value as it is from now on.
    pub(super) fn count(&mut self) {
        self.counted();
    }

    /// Its values by class from now on.
    fn counted(&mut self) -> &mut Counted {
        let exact = &mut self.exact;
        self.counted.get_or_insert_with(|| {
            let mut counted = Counted::default();
            (std::mem::take(exact).iter()).for_each(|&value| counted.add(value, 1));
            counted
        })
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

/// Values counted by class. Mean, deviation, least and largest are exact, and the same in whatever
/// order, and in however many parts, the values come: sums are of whole numbers.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    counts: Vec<u64>,
    n: u64,
    /// In parts of a nanosecond, see [`PARTS_IN_MS`].
    sum: u128,
    /// Squares of these, modulo 2¹²⁸: what is left of them is the deviation, which is smaller.
    squares: u128,
    ends: Option<[f64; 2]>,
    /// What came as whole nanoseconds, which is most, apart from the above.
    nanos: Nanos,
}

/// Sums of whole nanoseconds, each below [`WHOLE`].
#[derive(Clone, Copy, Debug)]
struct Nanos {
    sum: u128,
    squares: u128,
    least: u64,
    most: u64,
}

impl Default for Nanos {
    fn default() -> Self {
        Nanos {
            sum: 0,
            squares: 0,
            least: u64::MAX,
            most: 0,
        }
    }
}

impl Nanos {
    #[inline]
    fn add(&mut self, nanos: u64) {
        self.sum += u128::from(nanos);
        self.squares += u128::from(nanos) * u128::from(nanos);
        self.least = self.least.min(nanos);
        self.most = self.most.max(nanos);
    }
}

impl Counted {
    pub(super) fn add(&mut self, ms: f64, times: u32) {
        self.count(nanos_of(ms), u64::from(times));
        self.n += u64::from(times);
        let (parts, times) = (u128::from(parts_of(ms)), u128::from(times));
        self.sum += parts * times;
        let squares = (parts * parts).wrapping_mul(times);
        self.squares = self.squares.wrapping_add(squares);
        let [least, most] = self.ends.unwrap_or([ms, ms]);
        self.ends = Some([least.min(ms), most.max(ms)]);
    }

    /// The same for whole nanoseconds that come once each.
    #[inline]
    pub(super) fn add_nanos(&mut self, spans: &[u64]) {
        let mut sums = self.nanos;
        for &nanos in spans {
            // What is beyond whole parts of a number is the same only where it is computed alike.
            if nanos >= WHOLE {
                self.add(ms(nanos), 1);
                continue;
            }
            self.count(nanos, 1);
            self.n += 1;
            sums.add(nanos);
        }
        self.nanos = sums;
    }

    #[inline]
    fn count(&mut self, nanos: u64, times: u64) {
        let class = class_of(nanos);
        match self.counts.get_mut(class) {
            Some(count) => *count += times,
            None => self.count_beyond(class, times),
        }
    }

    #[cold]
    fn count_beyond(&mut self, class: usize, times: u64) {
        self.counts.resize(class + 1, 0);
        self.counts[class] += times;
    }

    /// Sum and squares of all, in parts of a nanosecond.
    fn sums(&self) -> [u128; 2] {
        let squares = (self.nanos.squares).wrapping_mul(PARTS_IN_NANO * PARTS_IN_NANO);
        [
            self.sum + self.nanos.sum * PARTS_IN_NANO,
            self.squares.wrapping_add(squares),
        ]
    }

    /// The least and the largest of all.
    fn ends(&self) -> Option<[f64; 2]> {
        let Nanos { least, most, .. } = self.nanos;
        let whole = (least <= most).then(|| [ms(least), ms(most)]);
        widest(self.ends, whole)
    }

    /// Takes what another part of the same run counted.
    pub(super) fn merge(&mut self, other: &Counted) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.n += other.n;
        self.sum += other.sum;
        self.squares = self.squares.wrapping_add(other.squares);
        self.ends = widest(self.ends, other.ends);
        self.nanos.sum += other.nanos.sum;
        self.nanos.squares += other.nanos.squares;
        self.nanos.least = self.nanos.least.min(other.nanos.least);
        self.nanos.most = self.nanos.most.max(other.nanos.most);
    }

    /// Value of a rank, by counting; the ends are known exactly.
    fn at(&self, rank: u64) -> f64 {
        let [least, most] = self.ends().unwrap_or_default();
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
        let [min, max] = self.ends()?;
        let [sum, squares] = self.sums();
        let n = u128::from(self.n);
        let mean = sum as f64 / self.n as f64 / PARTS_IN_MS;
        // About the whole number below the mean, so that no digit is lost.
        let (whole, rest) = (sum / n, sum % n);
        let about = squares
            .wrapping_sub(sum.wrapping_mul(whole).wrapping_mul(2))
            .wrapping_add(n.wrapping_mul(whole).wrapping_mul(whole));
        let rest = rest as f64;
        let squares = (about as f64 - rest * rest / self.n as f64).max(0.0);
        let squares = squares / (PARTS_IN_MS * PARTS_IN_MS);
        let found = Distribution::from_ranks(self.n, |rank| self.at(rank), mean, squares)?;
        Some(Distribution { min, max, ..found })
    }
}

/// From the least to the largest of both, where there are any.
fn widest(one: Option<[f64; 2]>, other: Option<[f64; 2]>) -> Option<[f64; 2]> {
    match (one, other) {
        (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
        (one, other) => one.or(other),
    }
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / NANOS_IN_MS
}

/// The nearest: what was whole before is the same again.
#[inline]
fn nanos_of(ms: f64) -> u64 {
    (ms * NANOS_IN_MS + 0.5) as u64
}

#[inline]
fn parts_of(ms: f64) -> u64 {
    (ms * PARTS_IN_MS + 0.5) as u64
}

/// As many classes an octave as fit above the first, in which each nanosecond is one.
#[inline]
fn class_of(nanos: u64) -> usize {
    let shift = (63 - BITS) - (nanos | 1 << BITS).leading_zeros();
    ((shift as usize) << BITS) + (nanos >> shift) as usize
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
