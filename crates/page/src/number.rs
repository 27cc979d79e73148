//! Numbers for people: separators, digits that are worth reading, times in a fitting unit.

use std::time::Duration;

/// What stands where a value is not known.
pub const ABSENT: &str = "n/a";

/// As a clock shows it: `7s`, `2m05s` or `1h30m`.
pub fn clock(span: Duration) -> String {
    let seconds = span.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number with so many decimals and a comma between thousands.
pub fn grouped(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = match plain.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (plain.as_str(), None),
    };
    let mut out = String::with_capacity(plain.len() + whole.len() / 3 + 1);
    if value < 0.0 && plain.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
        out.push('-');
    }
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A whole number with a comma between thousands.
pub fn count(value: u64) -> String {
    grouped(value as f64, 0)
}

/// Decimals that leave about three digits to read.
pub fn decimals(value: f64) -> usize {
    match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    }
}

/// A number in about three digits.
pub fn brief(value: f64) -> String {
    grouped(value, decimals(value))
}

/// From here on a ratio is told as so many times: `23 ×` is read faster than `+2200 %`.
pub const MANY_TIMES: f64 = 3.0;

/// A ratio as a change: `+12.3 %`, `-95.0 %` or, from three times on, `23 ×`.
pub fn change(ratio: f64) -> String {
    match change_in_percent(ratio) {
        percent if percent.starts_with(['+', '-']) => format!("{percent} %"),
        told => told,
    }
}

/// The same for a column that says `%`.
pub fn change_in_percent(ratio: f64) -> String {
    if !ratio.is_finite() {
        return ABSENT.to_owned();
    }
    if ratio >= MANY_TIMES {
        let decimals = usize::from(ratio < 9.95);
        return format!("{} ×", grouped(ratio, decimals));
    }
    let percent = 100.0 * (ratio - 1.0);
    let decimals = usize::from(percent.abs() < 99.95);
    // Adding 0 makes +0.0 of -0.0.
    let tens = 10_f64.powi(i32::try_from(decimals).unwrap_or_default());
    let rounded = (percent * tens).round() / tens + 0.0;
    format!("{rounded:+.decimals$}")
}

/// From one change to another, with `%` once where both are in percent.
pub fn changes(least: f64, most: f64) -> String {
    let [from, to] = [least, most].map(change_in_percent);
    let in_percent = |told: &String| told.starts_with(['+', '-']);
    match (in_percent(&from), in_percent(&to)) {
        _ if from == to => change(most),
        (true, true) => format!("{from} … {to} %"),
        _ => format!("{} … {}", change(least), change(most)),
    }
}

/// A whole number without decimals, any other in about three digits.
pub fn whole_or_brief(value: f64) -> String {
    if value.fract() == 0.0 {
        grouped(value, 0)
    } else {
        brief(value)
    }
}

/// A number to so many significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1))
        .parse()
        .unwrap_or(value)
}

/// A number as short as it can be without loss: `5`, not `5.00`.
pub fn exact(value: f64) -> String {
    value.to_string()
}

/// A mean of whole numbers: one decimal, unless it is whole.
pub fn mean(value: f64) -> String {
    let one = grouped(value, 1);
    one.strip_suffix(".0").map(str::to_owned).unwrap_or(one)
}

pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return ABSENT.to_owned();
    }
    let one = format!("{:.1}", share * 100.0);
    // Rounding must turn neither a failure into none nor a miss into all.
    let shown = match one.as_str() {
        "100.0" if share < 1.0 => "> 99.9",
        "0.0" if share > 0.0 => "< 0.1",
        other => other.strip_suffix(".0").unwrap_or(other),
    };
    format!("{shown} %")
}

/// A time in a unit that suits it: milliseconds, seconds, minutes, hours.
pub fn time(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if span.is_zero() {
        return "0 s".to_owned();
    }
    if seconds < 0.9995 {
        return format!("{} ms", brief(seconds * 1e3));
    }
    if seconds < 600.0 {
        let decimals = decimals(seconds).max(1);
        return format!("{} s", grouped(seconds, decimals));
    }
    let whole = seconds.round() as u64;
    if whole < 3_600 {
        format!("{} min {} s", whole / 60, whole % 60)
    } else {
        format!("{} h {} min", count(whole / 3_600), whole % 3_600 / 60)
    }
}

/// A time given in milliseconds, for a table: in milliseconds below ten seconds, so that the
/// rows compare.
pub fn whole_millis(value: f64) -> String {
    if (0.0..10_000.0).contains(&value) && value > 0.0 {
        format!("{} ms", brief(value))
    } else {
        millis(value)
    }
}

/// A time given in milliseconds.
pub fn millis(value: f64) -> String {
    seconds(value / 1e3)
}

/// A time given in seconds.
pub fn seconds(value: f64) -> String {
    match Duration::try_from_secs_f64(value) {
        Ok(span) => time(span),
        Err(_) => ABSENT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_in_percent_until_it_is_so_many_times() {
        for (ratio, told) in [
            (1.123, "+12.3 %"),
            (0.05, "-95.0 %"),
            (0.99999, "+0.0 %"),
            (2.5, "+150 %"),
            (3.0, "3.0 ×"),
            (9.94, "9.9 ×"),
            (23.2, "23 ×"),
            (1_234.5, "1,234 ×"),
            (f64::INFINITY, "n/a"),
        ] {
            assert_eq!(change(ratio), told);
        }
        assert_eq!(change_in_percent(1.123), "+12.3");
        assert_eq!(changes(0.9, 1.2), "-10.0 … +20.0 %");
        assert_eq!(changes(1.2, 1.2), "+20.0 %");
        assert_eq!(changes(0.9, 4.0), "-10.0 % … 4.0 ×");
        assert_eq!(changes(3.2, 4.0), "3.2 × … 4.0 ×");
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(1_234_567.891, 1), "1,234,567.9");
        assert_eq!(grouped(999.96, 1), "1,000.0");
        assert_eq!(grouped(-1_234.5, 0), "-1,234");
        assert_eq!(grouped(-0.001, 1), "0.0");
        assert_eq!(grouped(f64::NAN, 1), "n/a");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn about_three_digits_are_read() {
        assert_eq!(brief(21.46), "21.5");
        assert_eq!(brief(99.97), "100");
        assert_eq!(brief(9.999), "10.0");
        assert_eq!(brief(0.0421), "0.042");
    }

    #[test]
    fn a_share_that_is_not_all_is_not_shown_as_all() {
        assert_eq!(percent(0.99999), "> 99.9 %");
        assert_eq!(percent(0.00001), "< 0.1 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.312), "31.2 %");
    }

    #[test]
    fn times_have_a_fitting_unit() {
        assert_eq!(millis(170.4), "170 ms");
        assert_eq!(millis(999.4), "999 ms");
        assert_eq!(millis(999.6), "1.00 s");
        assert_eq!(millis(7_573.0), "7.57 s");
        assert_eq!(whole_millis(7_573.0), "7,573 ms");
        assert_eq!(whole_millis(0.0), "0 s");
        assert_eq!(whole_millis(12_340.0), "12.3 s");
        assert_eq!(millis(12_340.0), "12.3 s");
        assert_eq!(seconds(725.0), "12 min 5 s");
        assert_eq!(seconds(90_000.0), "25 h 0 min");
        assert_eq!(seconds(-1.0), "n/a");
    }
}
