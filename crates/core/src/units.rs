//! Units as types: a point on the run's clock, and a span of time as users write it.

pub use crate::value::serde_as_text;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZero;
use std::str::FromStr;
use std::time::Duration;

/// Time since the run began, in nanoseconds of one monotonic clock.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Offset(pub u64);

impl Offset {
    /// The moment `span` after the run began.
    #[inline]
    pub fn after(span: Duration) -> Self {
        Offset(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Time from `earlier` to `self`; zero if `earlier` is in fact later.
    #[inline]
    pub fn since(self, earlier: Offset) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// `self` as a span from the beginning of the run.
    pub fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl std::ops::Add<Duration> for Offset {
    type Output = Offset;
    #[inline]
    fn add(self, span: Duration) -> Offset {
        Offset(self.0.saturating_add(Offset::after(span).0))
    }
}

impl std::ops::Sub<Duration> for Offset {
    type Output = Offset;
    #[inline]
    fn sub(self, span: Duration) -> Offset {
        Offset(self.0.saturating_sub(Offset::after(span).0))
    }
}

/// A moment or a span that may be absent, in eight bytes where an `Option` takes sixteen: for what
/// is kept of each of a million requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slim(Option<NonZero<u64>>);

impl Slim {
    /// Nanoseconds, one more than there are, so that none needs no room of its own.
    #[inline]
    fn of_nanos(nanos: u64) -> Self {
        Slim(NonZero::new(nanos.saturating_add(1)))
    }

    #[inline]
    pub fn nanos(self) -> Option<u64> {
        self.0.map(|stored| stored.get() - 1)
    }

    #[inline]
    pub fn offset(self) -> Option<Offset> {
        self.nanos().map(Offset)
    }

    #[inline]
    pub fn ms(self) -> Option<f64> {
        self.nanos().map(|nanos| nanos as f64 / 1e6)
    }

    /// This one, or another where there is none.
    #[inline]
    pub fn or(self, other: Self) -> Self {
        Slim(self.0.or(other.0))
    }

    pub fn is_some(self) -> bool {
        self.0.is_some()
    }
}

impl From<Option<Offset>> for Slim {
    #[inline]
    fn from(moment: Option<Offset>) -> Self {
        moment.map_or(Slim::default(), |at| Slim::of_nanos(at.0))
    }
}

impl From<Option<Duration>> for Slim {
    #[inline]
    fn from(span: Option<Duration>) -> Self {
        span.map_or(Slim::default(), |span| {
            Slim::of_nanos(Offset::after(span).0)
        })
    }
}

/// A length of time as users write it: `200ms`, `5s`, `1.5m`, `2h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a length of time; write a number and a unit, as in 200ms, 5s, 10m or 2h")]
pub struct BadSpan(String);

/// Longest span that is taken: a century, far below any overflow.
const LONGEST_SECONDS: f64 = 100.0 * 365.25 * 86_400.0;

impl FromStr for Span {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let bad = || BadSpan(text.to_owned());
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .ok_or_else(bad)?;
        let (number, unit) = trimmed.split_at(split);
        let number: f64 = number.parse().map_err(|_| bad())?;
        let scale = match unit.trim() {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return Err(bad()),
        };
        let seconds = number * scale;
        if !seconds.is_finite() || seconds > LONGEST_SECONDS {
            return Err(bad());
        }
        // Whole nanoseconds, so that what is written reads back the same.
        Ok(Span(Duration::from_nanos((seconds * 1e9).round() as u64)))
    }
}

impl fmt::Display for Span {
    /// The largest unit that keeps the number whole, so that reading it back is exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        for (size, unit) in [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
        ] {
            if nanos >= size && nanos.is_multiple_of(size) {
                return write!(f, "{}{unit}", nanos / size);
            }
        }
        match nanos {
            0 => f.write_str("0s"),
            _ => write!(f, "{nanos}ns"),
        }
    }
}

serde_as_text!(Span);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slim_time_is_as_exact_as_the_optional_one_and_half_as_large() {
        for nanos in [0, 1, 123_456_789, u64::MAX - 1] {
            let slim = Slim::from(Some(Offset(nanos)));
            assert_eq!(slim.offset(), Some(Offset(nanos)));
            assert_eq!(slim.ms(), Some(nanos as f64 / 1e6));
        }
        assert_eq!(Slim::from(None::<Duration>).ms(), None);
        assert!(Slim::default() < Slim::from(Some(Offset(0))));
        assert_eq!(size_of::<Slim>(), 8);
    }

    #[test]
    fn spans_are_read_with_their_unit() {
        let cases = [
            ("200ms", 200_000_000),
            ("5s", 5_000_000_000),
            ("10m", 600_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("0s", 0),
        ];
        for (text, nanos) in cases {
            assert_eq!(text.parse::<Span>().unwrap().0.as_nanos(), nanos, "{text}");
        }
    }

    #[test]
    fn a_number_without_unit_or_a_negative_one_is_refused_with_the_remedy() {
        for text in ["5", "", "ms", "-5s", "5 parsecs", "1e400s", "1.2.3s"] {
            let message = text.parse::<Span>().unwrap_err().to_string();
            assert!(message.contains("200ms"), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn a_written_span_reads_back_the_same(nanos in 0u64..1_000_000_000_000_000) {
            let span = Span(Duration::from_nanos(nanos));
            prop_assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
    }
}
