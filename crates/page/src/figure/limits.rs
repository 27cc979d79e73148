//! The span of values that an axis covers.

use super::{Axis, On, Panel, Scale, Shape};
use std::collections::BTreeMap;

/// Least and largest value of an axis, with room for what is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub low: f64,
    pub high: f64,
}

/// Room beyond the outermost values, as a share of the span.
const ROOM: f64 = 0.04;
/// Widest span by ratio; smaller values are at the edge.
const MOST_DECADES: f64 = 12.0;

/// What an axis of a panel covers.
pub fn limits(panel: &Panel, on: On) -> Limits {
    let axis = match on {
        On::X => &panel.x,
        On::Y => &panel.y,
    };
    if let Scale::Category(names) = &axis.scale {
        return Limits {
            low: -0.5,
            high: names.len().max(1) as f64 - 0.5,
        };
    }
    let mut values = values(panel, on);
    values.extend(axis.bounds.into_iter().flatten());
    let marks = panel.marks.iter().filter(|mark| mark.on == on);
    values.extend(marks.map(|mark| mark.at));
    values.retain(|value| value.is_finite());
    match axis.scale {
        Scale::Log => by_ratio(&values),
        Scale::FromZero => {
            values.push(0.0);
            evenly(&values, axis)
        }
        Scale::Linear | Scale::Category(_) => evenly(&values, axis),
    }
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((low, high))
}

fn evenly(values: &[f64], axis: &Axis) -> Limits {
    let (low, high) = ends(values).unwrap_or((0.0, 1.0));
    if low == high {
        // One value, at the middle or at the top.
        let reach = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
        return match axis.scale {
            Scale::FromZero => Limits {
                low,
                high: low + reach,
            },
            _ => Limits {
                low: low - reach,
                high: low + reach,
            },
        };
    }
    // A bound is an end that nothing exceeds, as 100 %.
    let bound = |end: f64| axis.bounds.is_some_and(|ends| ends.contains(&end));
    let room = (high - low) * ROOM;
    let zero = |end: f64| end == 0.0 && axis.scale == Scale::FromZero;
    Limits {
        low: if bound(low) || zero(low) {
            low
        } else {
            low - room
        },
        high: if bound(high) || zero(high) {
            high
        } else {
            high + room
        },
    }
}

fn by_ratio(values: &[f64]) -> Limits {
    let above: Vec<f64> = values
        .iter()
        .copied()
        .filter(|&value| value > 0.0)
        .collect();
    let (low, high) = ends(&above).unwrap_or((1.0, 10.0));
    let low = low.max(high / 10f64.powf(MOST_DECADES));
    let room = (high / low).powf(ROOM).max(1.05);
    Limits {
        low: low / room,
        high: high * room,
    }
}

fn values(panel: &Panel, on: On) -> Vec<f64> {
    let mut values = Vec::new();
    for series in &panel.series {
        match &series.shape {
            // The whole of a stack is what its highest part reaches.
            Shape::Stack(_) if on == On::Y => values.extend(stacked(panel).into_values()),
            Shape::Stack(samples) => values.extend(samples.iter().map(|sample| sample.x)),
            Shape::Step(points) => values.extend(points.iter().map(|point| match on {
                On::X => point[0],
                On::Y => point[1],
            })),
            Shape::Ranges(ranges) => {
                if on == On::X {
                    for range in ranges {
                        values.push(range.value);
                        values.extend(range.interval.into_iter().flatten());
                    }
                }
            }
            Shape::Heat(..) => {}
            shape => {
                for sample in shape.samples().iter().filter(|sample| sample.y.is_some()) {
                    match on {
                        On::X => values.push(sample.x),
                        On::Y => {
                            values.extend(sample.y);
                            values.extend(sample.interval.into_iter().flatten());
                        }
                    }
                }
            }
        }
    }
    if on == On::X {
        values.extend(panel.shades.iter().flat_map(|shade| [shade.from, shade.to]));
    }
    values
}

/// The height of each stack, by its place.
fn stacked(panel: &Panel) -> BTreeMap<u64, f64> {
    let mut heights = BTreeMap::new();
    for series in &panel.series {
        if let Shape::Stack(samples) = &series.shape {
            for sample in samples {
                *heights.entry(sample.x.to_bits()).or_insert(0.0) += sample.y.unwrap_or(0.0);
            }
        }
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::super::{Colour, Sample, Series};
    use super::*;

    fn panel(scale: Scale, ys: &[f64]) -> Panel {
        let samples = ys.iter().map(|&y| Sample::new(1.0, Some(y))).collect();
        Panel {
            y: Axis::new("", "", scale),
            series: vec![Series::new("", Colour::Nth(0), Shape::Line(samples))],
            ..Panel::default()
        }
    }

    #[test]
    fn every_axis_has_a_span_even_without_or_with_one_value() {
        for scale in [Scale::FromZero, Scale::Linear, Scale::Log] {
            for ys in [&[][..], &[0.0], &[5.0], &[-3.0], &[0.0, 1e300], &[f64::NAN]] {
                let limits = limits(&panel(scale.clone(), ys), On::Y);
                assert!(limits.low < limits.high, "{scale:?} {ys:?} {limits:?}");
                assert!(limits.low.is_finite() && limits.high.is_finite());
            }
        }
    }

    #[test]
    fn zero_is_an_end_where_values_start_from_it() {
        let limits = limits(&panel(Scale::FromZero, &[2.0, 4.0]), On::Y);
        assert_eq!(limits.low, 0.0);
        assert!(limits.high > 4.0);
    }

    #[test]
    fn zero_has_no_place_among_ratios() {
        let limits = limits(&panel(Scale::Log, &[0.0, 1.0, 100.0]), On::Y);
        assert!(limits.low > 0.5 && limits.low < 1.0);
    }

    #[test]
    fn an_axis_reaches_to_the_top_of_the_highest_stack() {
        let mut panel = panel(Scale::FromZero, &[]);
        let part = |ys: [f64; 2]| {
            Series::new(
                "",
                Colour::Nth(0),
                Shape::Stack(
                    (ys.iter().enumerate())
                        .map(|(place, &y)| Sample::new(place as f64, Some(y)))
                        .collect(),
                ),
            )
        };
        panel.series = vec![part([10.0, 20.0]), part([5.0, 30.0])];
        let high = limits(&panel, On::Y).high;
        assert!(high > 50.0 && high < 55.0, "{high}");
    }
}
