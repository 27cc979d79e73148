//! What a search raises, and how far.

use inferometer_campaign::capacity::Settings;
use inferometer_core::options::Positive;

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Over {
    /// Poisson arrivals per second.
    Rate,
    /// Streams of a closed loop.
    Concurrency,
}

impl Over {
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Settings of a search that lack their targets, tolerance and budget.
pub fn levels(
    over: Over,
    start: Option<Positive>,
    lowest: Option<Positive>,
    highest: Option<Positive>,
) -> Settings {
    let (from, low, high): (f64, f64, f64) = match over {
        Over::Rate => (2.0, 0.05, 10_000.0),
        Over::Concurrency => (8.0, 1.0, 8192.0),
    };
    let floor = lowest.map_or(low, |level| level.0);
    let ceiling = highest.map_or(high, |level| level.0);
    Settings {
        over: over.word().to_owned(),
        targets: Vec::new(),
        start: start.map_or(from.clamp(floor, ceiling.max(floor)), |level| level.0),
        floor,
        ceiling,
        whole: over == Over::Concurrency,
        tolerance: 0.04,
        budget: 0,
    }
}
