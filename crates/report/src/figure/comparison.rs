//! The figure of a comparison: each ratio to the baseline with its interval.

use super::metric_name::metric_name;
use super::{Axis, Colour, Figure, Mark, MarkKind, On, Panel, Range, Scale, Series, Shade, Shape};
use crate::number;
use inferometer_core::compare::{Comparison, Row, Verdict};
use inferometer_core::message::Lang;
use inferometer_core::message::figures::FigureText as Text;

/// Most ratios in a figure; the first are the primary ones.
const MOST_ROWS: usize = 120;

/// Ratios with intervals, coloured by what they mean; a panel for each group.
pub fn ratios(comparison: &Comparison, lang: Lang) -> Figure {
    let mut groups: Vec<&str> = Vec::new();
    for row in &comparison.rows {
        if !groups.contains(&row.group.as_str()) {
            groups.push(&row.group);
        }
    }
    let panels = match groups.is_empty() {
        true => vec![panel(comparison, "", lang)],
        false => groups
            .iter()
            .map(|group| panel(comparison, group, lang))
            .collect(),
    };
    let drawable = |row: &&Row| row.ratio.is_some_and(|ratio| ratio > 0.0);
    let hidden = groups.iter().map(|group| {
        let rows = comparison.rows.iter().filter(|row| row.group == *group);
        rows.filter(drawable).count().saturating_sub(MOST_ROWS)
    });
    let hidden: usize = hidden.sum();
    let mut footnotes = comparison.why_not.clone();
    if hidden > 0 {
        let count = [("count", number::count(hidden as u64))];
        footnotes.push(Text::MoreRatios.with(lang, &count));
    }
    // What the user named goes in last, so that braces in it are no places.
    let baseline = [("baseline", comparison.baseline.clone())];
    Figure {
        id: "ratios".to_owned(),
        title: Text::Ratios.with(lang, &baseline),
        panels,
        footnotes,
        ..Figure::default()
    }
}

fn panel(comparison: &Comparison, group: &str, lang: Lang) -> Panel {
    let drawable = |row: &&Row| row.group == group && row.ratio.is_some_and(|ratio| ratio > 0.0);
    let rows: Vec<&Row> = comparison
        .rows
        .iter()
        .filter(drawable)
        .take(MOST_ROWS)
        .collect();
    let several = rows.iter().any(|row| row.point != rows[0].point);
    let names = rows
        .iter()
        .map(|row| match several {
            true => format!("{} · {}", metric_name(row.metric, lang), row.point),
            false => metric_name(row.metric, lang),
        })
        .collect();
    let series = [
        (Verdict::Better, Text::Better, Colour::Good),
        (Verdict::Worse, Text::Worse, Colour::Bad),
        (Verdict::Same, Text::Same, Colour::Nth(0)),
        (Verdict::Unknown, Text::Unknown, Colour::Quiet),
    ];
    let series = series
        .into_iter()
        .map(|(verdict, name, colour)| Series {
            name: name.text(lang).to_owned(),
            colour,
            shape: Shape::Ranges(ranges(&rows, verdict)),
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
        title: group.to_owned(),
        x: Axis::new(Text::Ratio.text(lang), "", Scale::Log),
        y: Axis::of_names("", names),
        series,
        marks: vec![Mark {
            on: On::X,
            at: 1.0,
            label: String::new(),
            kind: MarkKind::Reference,
        }],
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
