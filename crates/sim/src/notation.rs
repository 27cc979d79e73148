//! How shares and durations are written in a line of faults: exact in both directions, so
//! that a line that was read and written again means the same.

use std::{fmt, time::Duration};

/// A part of all requests, in millionths: exact for any share that one would write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share(pub(crate) u32);

impl Share {
    pub(crate) const ALL: Share = Share(1_000_000);
}

/// A share in per cent with up to four decimals; no value at all means every request.
pub(crate) fn parse_share(value: Option<&str>) -> Option<Share> {
    let Some(text) = value else {
        return Some(Share::ALL);
    };
    let (whole, decimals) = decimal(text.strip_suffix('%')?, 4)?;
    let millionths = whole.checked_mul(10_000)?.checked_add(decimals)?;
    let share = Share(u32::try_from(millionths).ok()?);
    (share <= Share::ALL).then_some(share)
}

/// A number followed by `ns`, `us`, `ms`, `s`, `m` or `h`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let nanos_per_unit = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, billionths) = decimal(number.trim(), 9)?;
    let nanos = u128::from(whole) * u128::from(nanos_per_unit)
        + u128::from(billionths) * u128::from(nanos_per_unit) / 1_000_000_000;
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Splits `12.5` into the whole part and `places` decimals as an integer: exact, unlike a
/// float, so that a share or a duration survives being written and read.
fn decimal(text: &str, places: usize) -> Option<(u64, u64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > places {
        return None;
    }
    let padded = format!("{fraction:0<places$}");
    Some((whole.parse().ok()?, padded.parse().ok()?))
}

/// Millionths, written as per cent without trailing zeros.
pub(crate) struct Percent(pub(crate) u64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:04}", self.0 / 10_000, self.0 % 10_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A duration in the largest unit that divides it.
pub(crate) struct Exact(pub(crate) Duration);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let whole = |unit: &&(&str, u64)| nanos.is_multiple_of(u128::from(unit.1));
        let (name, per_unit) = if nanos == 0 {
            ("s", 1_000_000_000)
        } else {
            *UNITS
                .iter()
                .find(whole)
                .expect("one nanosecond divides all")
        };
        write!(f, "{}{name}", nanos / u128::from(per_unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_exactly() {
        for (text, nanos, written) in [
            ("200ms", 200_000_000, "200ms"),
            ("1.5s", 1_500_000_000, "1500ms"),
            ("10m", 600_000_000_000, "10m"),
            ("0s", 0, "0s"),
            ("7ns", 7, "7ns"),
            ("3600s", 3_600_000_000_000, "1h"),
        ] {
            let duration = parse_duration(text).unwrap();
            assert_eq!(duration, Duration::from_nanos(nanos));
            assert_eq!(Exact(duration).to_string(), written);
        }
        for text in ["", "s", "5", "-5s", "5 years", "1e3s", ".5s"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn shares_are_read_and_written_exactly() {
        for (text, millionths) in [("0.5%", 5_000), ("100%", 1_000_000), ("0.0001%", 1)] {
            let share = parse_share(Some(text)).unwrap();
            assert_eq!(share, Share(millionths));
            assert_eq!(format!("{}%", Percent(share.0.into())), text);
        }
        assert_eq!(parse_share(None), Some(Share::ALL));
        assert_eq!(parse_share(Some("100.1%")), None);
    }
}
