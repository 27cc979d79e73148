//! The unit of times under whose names none is written.

use crate::label::{Field, Label, Sample, label};
use crate::quantity::{Unit, quantity};

/// No server answers faster than this.
const LEAST_TTFT_MS: f64 = 1.0;

/// Columns of one table, each with its name and a cell for each result.
pub(crate) type Columns<'a> = [(&'a str, Vec<&'a str>)];

struct Times<'a> {
    sample: Sample,
    written: Option<Unit>,
    cells: &'a [&'a str],
}

impl Times<'_> {
    /// Numbers without a unit of their own, by place.
    fn bare(&self) -> impl Iterator<Item = (usize, f64)> {
        let cells = self.cells.iter().enumerate();
        cells.filter_map(|(at, cell)| {
            let quantity = quantity(cell).filter(|quantity| quantity.unit.is_none())?;
            Some((at, quantity.value))
        })
    }

    fn largest(&self) -> f64 {
        self.bare().map(|(_, value)| value).fold(0.0, f64::max)
    }

    /// In milliseconds, by place.
    fn in_ms(&self, assumed: Unit) -> impl Iterator<Item = (usize, f64)> {
        let cells = self.cells.iter().enumerate();
        cells.filter_map(move |(at, cell)| {
            let quantity = quantity(cell)?;
            let unit = quantity.unit.or(self.written).unwrap_or(assumed);
            Some((at, quantity.value * unit.in_ms()?))
        })
    }
}

/// The unit of each column of times that has none, one for all columns of a sample: as another
/// column of the sample has it, else such that a request does not end before it begins, by
/// Little's law, or by size. `loads` is the concurrency of each result.
pub(crate) fn units(columns: &Columns<'_>, loads: &[Option<f64>]) -> Vec<Option<Unit>> {
    let mut about = None;
    let times: Vec<Option<Times<'_>>> = (columns.iter())
        .map(|(name, cells)| {
            let Label { field, unit } = label(name)?;
            let sample = match field {
                Field::Of(sample, _) => sample,
                Field::Bare(_) => about?,
                _ => return None,
            };
            about = Some(sample);
            sample.is_time().then_some(Times {
                sample,
                written: unit.filter(|unit| unit.in_ms().is_some()),
                cells,
            })
        })
        .collect();
    let of = |sample: Sample| -> Vec<&Times<'_>> {
        let of_sample = times.iter().flatten();
        of_sample.filter(|times| times.sample == sample).collect()
    };
    let latencies = of(Sample::E2e);
    let of_latency = latencies
        .iter()
        .find_map(|times| times.written)
        .or_else(|| {
            let first = latencies.first()?;
            Some(by_load(first, columns, loads))
        });
    let assumed = |sample: Sample| {
        let columns = of(sample);
        if let Some(unit) = as_written(&columns) {
            return unit;
        }
        let largest = columns.iter().map(|times| times.largest());
        let largest = largest.fold(0.0, f64::max);
        match (sample, of_latency) {
            (Sample::Ttft, Some(unit)) => first_token(&columns, &latencies, unit, largest),
            (Sample::Ttft, None) if is_after_a_gap(&columns, &of(Sample::Tpot)) => Unit::Millis,
            (Sample::Tpot | Sample::Itl, _) => of_gaps(largest),
            (_, Some(unit)) => unit,
            (_, None) => by_size(largest),
        }
    };
    let mut known: Vec<(Sample, Unit)> = Vec::new();
    let of_columns = times.iter().map(|times| {
        let times = times.as_ref()?;
        if times.written.is_some() {
            return times.written;
        }
        let sample = times.sample;
        if let Some((_, unit)) = known.iter().find(|(known, _)| *known == sample) {
            return Some(*unit);
        }
        let unit = assumed(sample);
        known.push((sample, unit));
        Some(unit)
    });
    of_columns.collect()
}

/// Statistics of one sample that differ more than this have different units.
const LARGEST_RATIO: f64 = 50.0;

/// The unit that other columns of the sample have written, unless the numbers without one are then
/// of another size: `TTFT` 0.35 beside `TTFT P99 (ms)` 900 is in seconds.
fn as_written(columns: &[&Times<'_>]) -> Option<Unit> {
    let written = columns.iter().find(|times| times.written.is_some())?;
    let unit = written.written?;
    let known = written.in_ms(unit).map(|(_, ms)| ms).fold(0.0, f64::max);
    let bare = columns.iter().filter(|times| times.written.is_none());
    let bare = bare.map(|times| times.largest()).fold(0.0, f64::max);
    let fits = |unit: &Unit| {
        let ratio = unit.in_ms().unwrap_or(1.0) * bare / known;
        (1.0 / LARGEST_RATIO..=LARGEST_RATIO).contains(&ratio)
    };
    let mut others = [unit, Unit::Millis, Unit::Seconds].into_iter();
    Some(others.find(fits).unwrap_or(unit))
}

fn of_gaps(largest: f64) -> Unit {
    if largest > 1.0 {
        Unit::Millis
    } else {
        Unit::Seconds
    }
}

/// Whether first tokens come no sooner than one more token does, if they are in milliseconds.
fn is_after_a_gap(columns: &[&Times<'_>], gaps: &[&Times<'_>]) -> bool {
    let largest = gaps.iter().map(|times| times.largest()).fold(0.0, f64::max);
    let gaps = gaps.iter().flat_map(|times| times.in_ms(of_gaps(largest)));
    let Some(longest) = gaps.map(|(_, ms)| ms).reduce(f64::max) else {
        return false;
    };
    let mut first = columns.iter().flat_map(|times| times.in_ms(Unit::Millis));
    first.all(|(_, ms)| ms >= longest)
}

/// Seconds of more than this are milliseconds.
fn by_size(largest: f64) -> Unit {
    if largest > 50.0 {
        Unit::Millis
    } else {
        Unit::Seconds
    }
}

/// The unit in which first tokens come before the end, and not at once.
fn first_token(
    columns: &[&Times<'_>],
    latencies: &[&Times<'_>],
    of_latency: Unit,
    largest: f64,
) -> Unit {
    let ends = latencies.iter().flat_map(|times| times.in_ms(of_latency));
    let mut last_end: Vec<f64> = Vec::new();
    for (at, end) in ends {
        if last_end.len() <= at {
            last_end.resize(at + 1, 0.0);
        }
        last_end[at] = last_end[at].max(end);
    }
    let fits = |unit: &Unit| {
        let first = columns.iter().flat_map(|times| times.in_ms(*unit));
        let mut ended = first.filter_map(|(at, first)| Some((first, *last_end.get(at)?)));
        ended.all(|(first, end)| (LEAST_TTFT_MS..=end).contains(&first))
    };
    [of_latency, Unit::Millis, Unit::Seconds]
        .into_iter()
        .find(fits)
        .unwrap_or_else(|| by_size(largest))
}

/// By Little's law where requests/s are known, else by size.
fn by_load(latency: &Times<'_>, columns: &Columns<'_>, loads: &[Option<f64>]) -> Unit {
    let rates = (columns.iter())
        .find_map(|(name, cells)| (label(name)?.field == Field::RequestsPerS).then_some(cells));
    let in_flight = rates.into_iter().flat_map(|rates| {
        latency.bare().filter_map(|(at, value)| {
            let rate = quantity(rates.get(at)?)?.value;
            Some(rate * value / loads.get(at).copied().flatten()?)
        })
    });
    match in_flight.reduce(f64::max) {
        Some(share) if share > 20.0 => Unit::Millis,
        Some(_) => Unit::Seconds,
        None if latency.largest() > 300.0 => Unit::Millis,
        None => Unit::Seconds,
    }
}
