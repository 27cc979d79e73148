//! Milliseconds or seconds: whichever a chart reads better in.

use super::{On, Panel, Sample, Series, Shape};
use crate::number;

/// From here on a chart counts seconds.
const SECONDS_FROM_MS: f64 = 5_000.0;

/// A panel of lines whose vertical axis counts milliseconds, in seconds where these read better.
pub fn in_readable_time(mut panel: Panel) -> Panel {
    let unit = TimeUnit::of_series(&panel.series);
    unit.rescale(&mut panel.series);
    for mark in panel.marks.iter_mut().filter(|mark| mark.on == On::Y) {
        mark.at = unit.of_ms(mark.at);
    }
    panel.y.unit = unit.sign().to_owned();
    panel
}

/// The unit of a chart's latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    Milliseconds,
    Seconds,
}

impl TimeUnit {
    /// The unit that suits values in milliseconds.
    pub fn of(values_ms: impl IntoIterator<Item = f64>) -> Self {
        let finite = values_ms.into_iter().filter(|value| value.is_finite());
        if finite.fold(0.0, f64::max) >= SECONDS_FROM_MS {
            TimeUnit::Seconds
        } else {
            TimeUnit::Milliseconds
        }
    }

    /// The unit that suits all samples of series, in milliseconds.
    pub fn of_series(series: &[Series]) -> Self {
        let samples = series.iter().flat_map(|series| series.shape.samples());
        Self::of(samples.filter_map(|sample| sample.y))
    }

    /// Puts lines and points in milliseconds into this unit.
    pub fn rescale(self, series: &mut [Series]) {
        for series in series {
            if let Shape::Line(samples) | Shape::Scatter(samples) = &mut series.shape {
                let old = std::mem::take(samples);
                *samples = old.into_iter().map(|sample| self.sample(sample)).collect();
            }
        }
    }

    pub fn sign(self) -> &'static str {
        match self {
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Seconds => "s",
        }
    }

    pub fn of_ms(self, ms: f64) -> f64 {
        match self {
            TimeUnit::Milliseconds => ms,
            TimeUnit::Seconds => ms / 1e3,
        }
    }

    pub fn text(self, ms: f64) -> String {
        format!("{} {}", number::brief(self.of_ms(ms)), self.sign())
    }

    /// A sample in milliseconds, in this unit.
    pub fn sample(self, sample: Sample) -> Sample {
        Sample {
            y: sample.y.map(|y| self.of_ms(y)),
            interval: sample.interval.map(|ends| ends.map(|end| self.of_ms(end))),
            ..sample
        }
    }
}
