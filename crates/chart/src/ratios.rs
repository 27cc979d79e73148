//! The figure of a comparison: each ratio to the baseline with its interval.

use super::metric_name::metric_name;
use crate::measured::distinct;
use inferometer_compare::{Comparison, Metric, Row, Verdict};
use inferometer_core::point::Point;
use inferometer_message::FigureText as Text;
use inferometer_page::figure::{
    Axis, Colour, Figure, Mark, MarkKind, On, Panel, Range, Scale, Series, Shade, Shape,
};
use inferometer_page::number;
use inferometer_text::Lang;
use std::collections::BTreeMap;

/// Most loads that have a panel each, with every metric.
const MOST_PANELS: usize = 3;
/// Most loads in the panel of a metric.
const MOST_LOADS: usize = 60;
/// Metrics that have a panel over the loads, beside the primary one.
const USUAL: [Metric; 4] = [
    Metric::OutputTokensPerS,
    Metric::TtftMean,
    Metric::TpotMean,
    Metric::E2eMean,
];

/// Ratios with intervals, coloured by what they mean: for each group a panel for each load, or,
/// where these are many, one for each of the usual metrics over all loads. `labels` names groups
/// as legends do.
pub fn ratios(comparison: &Comparison, labels: &BTreeMap<String, String>, lang: Lang) -> Figure {
    let label = |group: &str| labels.get(group).map_or(group, String::as_str).to_owned();
    let groups = distinct(comparison.rows.iter().map(|row| row.group.as_str()));
    let mut panels = Vec::new();
    let mut left = 0;
    for group in &groups {
        let of_group = |row: &&Row| row.group == *group;
        let rows: Vec<&Row> = comparison.rows.iter().filter(of_group).collect();
        let loads: Vec<&[&Row]> = rows.chunk_by(|a, b| a.point == b.point).collect();
        // Whose ratios these are stands over the axis, where a long name has room.
        let side = match groups.len() {
            1 => String::new(),
            _ => label(group),
        };
        if loads.len() > MOST_PANELS {
            // Loads under one heading of an import are a panel by themselves.
            for heading in distinct(rows.iter().map(|row| row.point.group())) {
                let of_heading = |row: &&Row| row.point.group() == heading;
                let rows: Vec<&Row> = rows.iter().copied().filter(of_heading).collect();
                let names = [side.as_str(), heading.unwrap_or_default()];
                let names: Vec<&str> = names.into_iter().filter(|it| !it.is_empty()).collect();
                panels.extend(over_loads(comparison, &rows, &names.join(", "), lang));
            }
            left = left.max(loads.len().saturating_sub(MOST_LOADS));
            continue;
        }
        for rows in loads {
            let names = |row: &Row| metric_name(row.metric, lang);
            let load = if rows[0].point.0.is_empty() {
                label(group)
            } else {
                rows[0].point.to_string()
            };
            panels.push(panel(comparison, [load, side.clone()], rows, names, lang));
        }
    }
    panels.retain(|panel| !panel.is_empty());
    share_scale(&mut panels);
    if panels.is_empty() {
        let none = Default::default();
        panels.push(panel(comparison, none, &[], |_| String::new(), lang));
    }
    let more = (left > 0).then(|| Text::MorePanels.with(lang, &[("count", left.to_string())]));
    let reasons = comparison.reasons.iter();
    let reasons = reasons.map(|reason| reason.without_remedy().text(lang));
    let footnotes = distinct(more.into_iter().chain(reasons));
    // What the user named goes in last, so that braces in it are not placeholders.
    let baseline = ("baseline", label(&comparison.baseline));
    Figure {
        id: "ratios".to_owned(),
        // Of several sides each stands over its own panels.
        title: match groups.as_slice() {
            [alone] => Text::RatiosOf.with(lang, &[baseline, ("side", label(alone))]),
            _ => Text::Ratios.with(lang, &[baseline]),
        },
        panels,
        footnotes,
        ..Figure::default()
    }
}

/// All panels have one scale, so that a longer bar is a larger difference in whichever of them.
fn share_scale(panels: &mut [Panel]) {
    let ends = |range: &Range| range.interval.unwrap_or([range.value; 2]);
    let shown = panels.iter().flat_map(|panel| &panel.series);
    let shown = shown.flat_map(|series| match &series.shape {
        Shape::Ranges(ranges) => ranges.as_slice(),
        _ => &[],
    });
    // The baseline itself, which a line marks, is always there.
    let widest = shown.map(ends).fold([1.0f64; 2], |[low, high], ends| {
        [low.min(ends[0]), high.max(ends[1])]
    });
    for panel in panels {
        panel.x.bounds = Some(widest).filter(|[low, high]| low < high);
    }
}

/// The primary metric and the usual ones at every load.
fn over_loads(comparison: &Comparison, rows: &[&Row], side: &str, lang: Lang) -> Vec<Panel> {
    let primary = rows.iter().filter(|row| row.primary).map(|row| row.metric);
    let metrics = distinct(primary.chain(USUAL));
    let panels = metrics.into_iter().filter_map(|metric| {
        let those = rows.iter().copied().filter(|row| row.metric == metric);
        let those: Vec<&Row> = those.take(MOST_LOADS).collect();
        let points: Vec<Point> = those.iter().map(|row| row.point.without_group()).collect();
        // What all loads share stands once, so that short names tell them apart.
        let (apart, shared) = Point::told_apart(&points.iter().collect::<Vec<_>>());
        let name = |row: &Row| {
            let place = points
                .iter()
                .position(|it| *it == row.point.without_group());
            place.map_or_else(String::new, |place| apart[place].to_string())
        };
        let what = Text::OverLoads.with(lang, &[("metric", metric_name(metric, lang))]);
        let sides = [side.to_owned(), shared.to_string()];
        let sides = sides.into_iter().filter(|it| !it.is_empty());
        let titles = [what, sides.collect::<Vec<_>>().join(", ")];
        (!those.is_empty()).then(|| panel(comparison, titles, &those, name, lang))
    });
    panels.collect()
}

fn panel(
    comparison: &Comparison,
    [title, side]: [String; 2],
    rows: &[&Row],
    name: impl Fn(&Row) -> String,
    lang: Lang,
) -> Panel {
    let drawable = |ratio: f64| ratio > 0.0 && ratio.is_finite();
    let rows = rows.iter().filter(|row| row.ratio.is_some_and(drawable));
    let rows: Vec<&Row> = rows.copied().collect();
    let names = rows.iter().map(|row| name(row)).collect();
    let series = [
        (Verdict::Better, Text::Better, Colour::Good),
        (Verdict::Worse, Text::Worse, Colour::Bad),
        (Verdict::Same, Text::Same, Colour::Nth(0)),
        (Verdict::Unknown, Text::Unknown, Colour::Quiet),
        (Verdict::NotComparable, Text::NotComparable, Colour::Nth(1)),
    ];
    let series = series
        .into_iter()
        .map(|(verdict, name, colour)| {
            let shape = Shape::Ranges(ranges(&rows, verdict));
            Series::new(name.text(lang), colour, shape)
        })
        .filter(|series| !series.shape.is_empty())
        .collect();
    let margin = comparison.margin;
    let shade = (margin > 0.0 && margin < 1.0).then(|| Shade {
        from: 1.0 - margin,
        to: 1.0 + margin,
        label: Text::WithinMargin.with(lang, &[("margin", number::percent(margin))]),
    });
    Panel {
        title,
        x: Axis::new(Text::Ratio.text(lang), "", Scale::Log),
        y: Axis::of_names(side, names),
        series,
        marks: vec![Mark::new(On::X, 1.0, "", MarkKind::Reference)],
        shades: shade.into_iter().collect(),
        when_empty: Text::NoData.text(lang).to_owned(),
    }
}

fn ranges(rows: &[&Row], verdict: Verdict) -> Vec<Range> {
    let rows = rows.iter().enumerate();
    rows.filter(|(_, row)| row.verdict == verdict)
        .filter_map(|(place, row)| {
            Some(Range {
                value: row.ratio.filter(|ratio| ratio.is_finite())?,
                interval: row
                    .low
                    .zip(row.high)
                    .map(|(low, high)| [low, high])
                    .filter(|ends| ends.iter().all(|end| end.is_finite() && *end > 0.0)),
                row: place,
            })
        })
        .collect()
}
