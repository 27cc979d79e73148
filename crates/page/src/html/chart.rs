//! Figures as JSON for the page's script, which draws them in the language and the theme of
//! the moment. Numbers stand once; texts stand in both languages.

use super::{Edition, script_words};
use crate::figure::theme::Theme;
use crate::figure::{
    Axis, Colour, Figure, Fill, Mark, MarkKind, On, Panel, Sample, Scale, Series, Shade, Shape,
    names,
};
use serde_json::{Map, Value, json};

/// Digits that an eye can tell apart in a chart.
const DIGITS: usize = 6;

/// All figures of both editions, and the colours of both themes.
pub(super) fn json([en, zh]: &[Edition; 2]) -> Value {
    let figures = |edition: &Edition| Value::Array(edition.figures.iter().map(figure).collect());
    json!({
        "figures": merged(figures(en), figures(zh)),
        "themes": {
            "light": Theme::Light.look(),
            "dark": Theme::Dark.look(),
        },
        "words": script_words(),
    })
}

/// Two values in one: what differs becomes `{"en": …, "zh": …}`.
fn merged(en: Value, zh: Value) -> Value {
    match (en, zh) {
        (Value::Object(en), Value::Object(mut zh)) if en.len() == zh.len() => {
            let pairs = en.into_iter().map(|(key, value)| {
                let other = zh.remove(&key).unwrap_or(Value::Null);
                (key, merged(value, other))
            });
            Value::Object(pairs.collect())
        }
        (Value::Array(en), Value::Array(zh)) if en.len() == zh.len() => {
            let pairs = en.into_iter().zip(zh);
            Value::Array(pairs.map(|(en, zh)| merged(en, zh)).collect())
        }
        (en, zh) if en == zh => en,
        (en, zh) => json!({"en": en, "zh": zh}),
    }
}

fn figure(figure: &Figure) -> Value {
    json!({
        "stacked": figure.arrangement == crate::figure::Arrangement::Stack,
        "panels": figure.panels.iter().map(panel).collect::<Vec<_>>(),
    })
}

fn panel(panel: &Panel) -> Value {
    json!({
        "title": panel.title,
        "x": axis(&panel.x),
        "y": axis(&panel.y),
        "series": panel.series.iter().map(series).collect::<Vec<_>>(),
        "marks": panel.marks.iter().map(mark).collect::<Vec<_>>(),
        "shades": panel.shades.iter().map(shade).collect::<Vec<_>>(),
    })
}

fn axis(axis: &Axis) -> Value {
    let (scale, names) = match &axis.scale {
        Scale::FromZero => ("zero", None),
        Scale::Linear => ("linear", None),
        Scale::Log => ("log", None),
        Scale::Category(names) => ("names", Some(names)),
    };
    json!({
        "title": axis.caption(),
        "unit": axis.unit,
        "scale": scale,
        "names": names,
        "labels": names.map(|names| names::told_apart(names, names::WHOLE)),
        "bounds": axis.bounds.map(|ends| ends.map(rounded)),
        "tickNames": axis.tick_names,
        "ticks": axis.ticks_at.iter().map(|&at| rounded(at)).collect::<Vec<_>>(),
    })
}

fn series(series: &Series) -> Value {
    let colour = match series.colour {
        Colour::Nth(number) => json!(number),
        Colour::Good => json!("good"),
        Colour::Bad => json!("bad"),
        Colour::Quiet => json!("axis"),
    };
    let mut out = Map::new();
    out.insert("name".to_owned(), json!(series.name));
    out.insert("colour".to_owned(), colour);
    let (shape, values) = match &series.shape {
        Shape::Line(it) => ("line", samples(it)),
        Shape::Area(it) => ("area", samples(it)),
        Shape::Scatter(it) => ("scatter", samples(it)),
        Shape::Bars(it) => ("bars", samples(it)),
        Shape::Stack(it) => ("stack", samples(it)),
        Shape::Words(it) => ("words", samples(it)),
        Shape::Step(points) => {
            let column = |at: usize| points.iter().map(move |point| rounded(point[at]));
            let [x, y] = [0, 1].map(|at| column(at).collect::<Vec<_>>());
            ("step", vec![("x", json!(x)), ("y", json!(y))])
        }
        Shape::Ranges(ranges) => {
            let ends = |it: &crate::figure::Range| it.interval.map(|ends| ends.map(rounded));
            let x: Vec<Value> = ranges.iter().map(|range| rounded(range.value)).collect();
            let y: Vec<usize> = ranges.iter().map(|range| range.row).collect();
            let interval: Vec<_> = ranges.iter().map(ends).collect();
            let values = vec![
                ("x", json!(x)),
                ("y", json!(y)),
                ("interval", json!(interval)),
            ];
            ("ranges", values)
        }
        Shape::Heat(cells, ends) => {
            let cells: Vec<Value> = (cells.iter())
                .map(|it| json!([it.column, it.row, it.value.map(rounded), it.label]))
                .collect();
            let ends = ends.map(|ends| ends.map(rounded));
            ("heat", vec![("cells", json!(cells)), ("ends", json!(ends))])
        }
    };
    out.insert("shape".to_owned(), json!(shape));
    out.extend(
        values
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value)),
    );
    Value::Object(out)
}

fn samples(samples: &[Sample]) -> Vec<(&'static str, Value)> {
    let x: Vec<Value> = samples.iter().map(|sample| rounded(sample.x)).collect();
    let y: Vec<Value> = (samples.iter())
        .map(|sample| sample.y.map_or(Value::Null, rounded))
        .collect();
    let mut out = vec![("x", json!(x)), ("y", json!(y))];
    if samples.iter().any(|sample| sample.interval.is_some()) {
        let ends = |sample: &Sample| sample.interval.map(|ends| ends.map(rounded));
        out.push((
            "interval",
            json!(samples.iter().map(ends).collect::<Vec<_>>()),
        ));
    }
    if samples.iter().any(|sample| sample.label.is_some()) {
        let labels: Vec<_> = samples.iter().map(|sample| &sample.label).collect();
        out.push(("labels", json!(labels)));
    }
    if samples.iter().any(|sample| sample.fill == Fill::Hollow) {
        let hollow = samples.iter().map(|sample| sample.fill == Fill::Hollow);
        out.push(("hollow", json!(hollow.collect::<Vec<_>>())));
    }
    out
}

fn mark(mark: &Mark) -> Value {
    let kind = match mark.kind {
        MarkKind::Objective => "bad",
        MarkKind::Capacity => "good",
        MarkKind::Knee => "knee",
        MarkKind::Percentile | MarkKind::Reference => "muted",
    };
    let on = match mark.on {
        On::X => "x",
        On::Y => "y",
    };
    json!({"on": on, "at": rounded(mark.at), "label": mark.label, "colour": kind})
}

fn shade(shade: &Shade) -> Value {
    json!({"from": rounded(shade.from), "to": rounded(shade.to), "label": shade.label})
}

/// The nearest number that has few digits. A page has tens of thousands of them, so that no text
/// is made of each; powers of ten are exact up to this one.
fn short(value: f64) -> f64 {
    const MOST_EXACT: i32 = 22;
    let magnitude = value.abs().log10().floor() as i32;
    let places = (DIGITS as i32 - 1).saturating_sub(magnitude);
    let scale = 10f64.powi(places.abs());
    match places {
        0..=MOST_EXACT => (value * scale).round() / scale,
        ..0 if -places <= MOST_EXACT => (value / scale).round() * scale,
        _ => format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value),
    }
}

/// A number with the digits that a chart can show.
fn rounded(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let short = short(value);
    if short.fract() == 0.0 && short.abs() < 1e15 {
        json!(short as i64)
    } else {
        json!(short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_in_both_languages_stands_once() {
        let en = json!({"title": "Time", "x": [1, 2], "unit": "s"});
        let zh = json!({"title": "时间", "x": [1, 2], "unit": "s"});
        let both = json!({"title": {"en": "Time", "zh": "时间"}, "x": [1, 2], "unit": "s"});
        assert_eq!(merged(en, zh), both);
    }

    #[test]
    fn numbers_are_short_and_finite() {
        assert_eq!(rounded(1.0 / 3.0).to_string(), "0.333333");
        assert_eq!(rounded(128.0).to_string(), "128");
        assert_eq!(rounded(-0.001_234_567_8).to_string(), "-0.00123457");
        assert_eq!(rounded(98_765_432.1).to_string(), "98765400");
        assert_eq!(rounded(1.234_567_89e-30).to_string(), "1.23457e-30");
        assert_eq!(rounded(0.0).to_string(), "0");
        assert_eq!(rounded(f64::NAN), Value::Null);
        assert_eq!(rounded(123_456_789.0).to_string(), "123457000");
    }
}
