//! The engine's unit of time.

/// Nanoseconds since the engine started.
pub type Nanos = u64;

/// Negative seconds and NaN become 0.
pub(crate) fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9).round() as Nanos
}
