//! Times as a clock shows them.

use std::time::Duration;

/// As in `7s`, `2m05s` or `1h30m`.
pub fn clock(span: Duration) -> String {
    let seconds = span.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}
