//! A calibration: its points and errors, and the range that it was measured in.

use super::labels::{brief, metric_text};
use inferometer_message::PlanText as Text;
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table};
use inferometer_plan::calibrate::{Calibration, FittedPoint};
use inferometer_plan::observation::LeftOut;
use inferometer_text::Lang;
use std::collections::BTreeSet;

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

pub fn sections(
    calibration: &Calibration,
    longest: Option<u64>,
    written: &str,
    lang: Lang,
) -> Vec<Section> {
    let held_out = &calibration.held_out;
    let mut columns = vec![Column::left(Text::Point.text(lang))];
    for known in held_out {
        columns.push(Column::right(metric_text(known.metric).text(lang)));
    }
    let sources: BTreeSet<&str> = (calibration.points.iter())
        .map(|point| point.name.as_str())
        .collect();
    let several = sources.len() > 1;
    if several {
        columns.push(Column::wrapped(Text::Source.text(lang)));
    }
    let mut footnotes = vec![Text::HeldOutNote.text(lang).to_owned()];
    if let (false, Some(only)) = (several, sources.first()) {
        footnotes.push(format!(
            "{}: {}",
            Text::Source.text(lang),
            source_text(only, lang)
        ));
    }
    footnotes.extend(left_out(&calibration.points, lang));
    if let Some(tokens) = longest {
        footnotes.push(Text::AssumedLength.with(lang, &[("tokens", tokens.to_string())]));
    }
    let rows = calibration.points.iter().map(|point| {
        let mut cells = vec![Cell::text(load_text(&point.load, lang))];
        for known in held_out {
            let error = point.errors.get(known.metric.into_str());
            cells.push(Cell::known(
                error.map(|error| format!("{:+.1} %", error * 100.0)),
            ));
        }
        if several {
            cells.push(Cell::text(source_text(&point.name, lang)));
        }
        cells
    });
    let points = Table {
        columns,
        rows: rows.collect(),
        footnotes,
    };
    let stated = Table::new(
        vec![
            Column::left(Text::Metric.text(lang)),
            Column::right(Text::MedianError.text(lang)),
            Column::right(Text::Bound.text(lang)),
        ],
        held_out.iter().map(|known| {
            vec![
                Cell::text(metric_text(known.metric).text(lang)),
                Cell::text(percent(known.median)),
                Cell::text(percent(known.bound)),
            ]
        }),
    );
    let too_fast = calibration.too_fast.as_ref().map(|broken| {
        let said = Text::TooFast.with(
            lang,
            &[
                ("point", source_text(&broken.point, lang)),
                ("token", format!("{:.1}", broken.token_ms)),
                ("weights", format!("{:.1}", broken.weights_ms)),
                ("device", calibration.device.clone()),
            ],
        );
        Section::plain([Block::Paragraph(said)])
    });
    let mut ranges = vec![Block::Pairs(envelope(calibration, lang))];
    let heading = match distrusted(calibration, lang) {
        Some(why) => {
            ranges.push(Block::Paragraph(why));
            Text::Spanned
        }
        None => Text::Envelope,
    };
    let sections = [
        Section::headed(Text::Calibration.text(lang), [points]),
        Section::headed(Text::HeldOut.text(lang), [stated]),
        Section::headed(heading.text(lang), ranges),
        Section::plain([Block::Paragraph(
            Text::Written.with(lang, &[("file", written.to_owned())]),
        )]),
    ];
    too_fast.into_iter().chain(sections).collect()
}

/// Why a calibration may not be trusted, and which point is the worst.
pub(super) fn distrusted(calibration: &Calibration, lang: Lang) -> Option<String> {
    let worst = calibration.distrusted()?;
    let shares = [
        ("metric", metric_text(worst.metric).text(lang).to_owned()),
        ("point", load_text(&worst.point.load, lang)),
        ("error", format!("{:+.0} %", worst.error * 100.0)),
    ];
    Some(Text::Distrusted.with(lang, &shares))
}

/// Which rates were not used, and why: a line for each reason.
fn left_out(points: &[FittedPoint], lang: Lang) -> Vec<String> {
    let named = |of: fn(&FittedPoint) -> Option<Option<f64>>| {
        let named = points.iter().filter_map(|point| {
            let load = load_text(&point.load, lang);
            Some(match of(point)? {
                Some(n) => Text::InFlight.with(lang, &[("load", load), ("n", brief(n))]),
                None => load,
            })
        });
        named.collect::<Vec<_>>().join(", ")
    };
    let reasons = [
        (
            Text::LeftOutOtherTime,
            named(|point| (point.left_out? == LeftOut::OtherTime).then_some(None)),
        ),
        (
            Text::LeftOutIdle,
            named(|point| match point.left_out? {
                LeftOut::Idle { in_flight } => Some(in_flight),
                LeftOut::OtherTime => None,
            }),
        ),
    ];
    let given = reasons.into_iter().filter(|(_, points)| !points.is_empty());
    given
        .map(|(text, points)| text.with(lang, &[("points", points)]))
        .collect()
}

/// A load as files have it, in words: `concurrency 8`, `rate 2.5`.
fn load_text(load: &str, lang: Lang) -> String {
    match load.split_once(' ') {
        Some(("concurrency", n)) => Text::LoadStreams.with(lang, &[("n", n.to_owned())]),
        Some(("rate", n)) => Text::LoadRate.with(lang, &[("n", n.to_owned())]),
        _ => load.to_owned(),
    }
}

/// Where a point is from, in words: `points.csv line 2`.
fn source_text(name: &str, lang: Lang) -> String {
    match name.rsplit_once(" line ") {
        Some((file, n)) if n.parse::<u32>().is_ok() => {
            Text::FileLine.with(lang, &[("file", file.to_owned()), ("n", n.to_owned())])
        }
        _ => name.to_owned(),
    }
}

/// What an envelope is of, in words.
fn range_text(name: &str, lang: Lang) -> &str {
    match name {
        "concurrency" => Text::RangeConcurrency.text(lang),
        "rate" => Text::RangeRate.text(lang),
        "input-tokens" => Text::RangeInput.text(lang),
        "output-tokens" => Text::RangeOutput.text(lang),
        other => other,
    }
}

fn envelope(calibration: &Calibration, lang: Lang) -> Vec<Pair> {
    let envelope = &calibration.envelope;
    let ranges = [
        ("concurrency", envelope.concurrency),
        ("rate", envelope.rate),
        ("input-tokens", envelope.input_tokens),
        ("output-tokens", envelope.output_tokens),
    ];
    let mut pairs: Vec<Pair> = ranges
        .into_iter()
        .filter_map(|(name, range)| {
            let [low, high] = range?;
            let range = if low == high {
                low.to_string()
            } else {
                format!("{low} – {high}")
            };
            Some(Pair::new(range_text(name, lang), range))
        })
        .collect();
    for (name, values) in envelope.flags.iter().flatten() {
        let shown = values.iter().map(|value| match value.as_str() {
            "" => Text::Usual.text(lang),
            value => value,
        });
        pairs.push(Pair::new(name, shown.collect::<Vec<_>>().join(", ")));
    }
    pairs
}
