//! How well predictions agree with published measurements: what was not predicted first, then the
//! errors.

use inferometer_message::{FigureText, PlanText as Text};
use inferometer_page::doc::{Block, Cell, Column, Section, Table};
use inferometer_page::figure::{Axis, Colour, Figure, Panel, Sample, Scale, Series, Shape};
use inferometer_plan::validate::{
    Compared, ErrorGroup, Grouping, NotPredicted, Quantity, Validation, group_errors,
};
use inferometer_text::Lang;
use std::collections::BTreeMap;

pub fn sections(validation: &Validation, lang: Lang) -> Vec<Section> {
    let counts = [
        ("compared", validation.compared.len().to_string()),
        ("sampled", validation.sampled.to_string()),
        ("rows", validation.rows.to_string()),
    ];
    let mut sections = vec![Section::headed(
        Text::Validation.text(lang),
        [Block::Paragraph(Text::ValidationCounts.with(lang, &counts))],
    )];
    if !validation.not_predicted.is_empty() {
        let heading = Text::NotPredicted.text(lang);
        sections.push(Section::headed(heading, [not_predicted(validation, lang)]));
    }
    for (by, heading) in [
        (Grouping::Half, Text::ByHalf),
        (Grouping::HeldOut, Text::ByHeldOut),
        (Grouping::Engine, Text::ByEngine),
        (Grouping::Card, Text::ByCard),
        (Grouping::Model, Text::ByModel),
        (Grouping::Kind, Text::ByKind),
    ] {
        let mut groups = group_errors(&validation.compared, by);
        if by == Grouping::Half {
            groups.extend(group_errors(&validation.compared, Grouping::All));
        }
        if !groups.is_empty() {
            sections.push(Section::headed(heading.text(lang), [errors(&groups, lang)]));
        }
    }
    sections
}

/// Predicted against measured latencies, a chart for each quantity, and the errors of each engine,
/// model and card.
pub fn figures(validation: &Validation, lang: Lang) -> Vec<Figure> {
    let compared = &validation.compared;
    if compared.is_empty() {
        return Vec::new();
    }
    let quantities = [
        (Quantity::E2e, Text::E2e),
        (Quantity::Tpot, Text::Tpot),
        (Quantity::Ttft, Text::Ttft),
    ];
    let scatter = quantities.map(|(quantity, name)| scatter(compared, quantity, name, lang));
    let bars = quantities.map(|(quantity, name)| medians(compared, quantity, name, lang));
    vec![
        Figure::new(
            "validation-scatter",
            Text::PredictedMeasured.text(lang),
            scatter.to_vec(),
            vec![Text::DiagonalNote.text(lang).to_owned()],
        ),
        Figure::new(
            "validation-errors",
            Text::ErrorsByKind.text(lang),
            bars.to_vec(),
            vec![Text::MedianNote.text(lang).to_owned()],
        ),
    ]
}

/// A point for each row, in the colour of its engine, and the line on which predictions are right.
fn scatter(compared: &[Compared], quantity: Quantity, name: Text, lang: Lang) -> Panel {
    let mut engines: Vec<String> = compared.iter().map(|it| it.row.engine_name()).collect();
    engines.sort_unstable();
    engines.dedup();
    let point = |it: &Compared| {
        let measured = it.measured.get(quantity)?;
        Some(Sample::new(measured, it.predicted.get(quantity)))
    };
    let measured = compared.iter().filter_map(point).map(|point| point.x);
    let ends = measured.fold(None, |ends: Option<[f64; 2]>, it| {
        Some(ends.map_or([it; 2], |[low, high]| [low.min(it), high.max(it)]))
    });
    let line = ends
        .into_iter()
        .flatten()
        .map(|it| Sample::new(it, Some(it)));
    let right = Series::new(String::new(), Colour::Quiet, Shape::Line(line.collect()));
    let series = engines.iter().enumerate().map(|(nth, engine)| {
        let own = compared.iter().filter(|it| it.row.engine_name() == *engine);
        let points = own.filter_map(point).collect();
        Series::new(engine.clone(), Colour::Nth(nth), Shape::Scatter(points))
    });
    Panel {
        title: name.text(lang).to_owned(),
        x: Axis::new(Text::Measured.text(lang), "ms", Scale::Log),
        y: Axis::new(Text::PredictedValue.text(lang), "ms", Scale::Log),
        series: series.chain([right]).collect(),
        when_empty: FigureText::NoData.text(lang).to_owned(),
        ..Panel::default()
    }
}

fn medians(compared: &[Compared], quantity: Quantity, name: Text, lang: Lang) -> Panel {
    let groups = group_errors(compared, Grouping::Kind);
    let groups = groups.iter().filter(|group| group.quantity == quantity);
    let (names, medians): (Vec<String>, Vec<f64>) = groups
        .map(|group| (group.name.clone(), percent(group.median)))
        .unzip();
    let bars = (0u32..).zip(medians);
    let bars = bars.map(|(place, median)| Sample::new(place.into(), Some(median)));
    Panel {
        title: name.text(lang).to_owned(),
        x: Axis::of_names(String::new(), names),
        y: Axis::new(Text::MedianError.text(lang), "%", Scale::FromZero),
        series: vec![Series::new(
            String::new(),
            Colour::Nth(0),
            Shape::Bars(bars.collect()),
        )],
        when_empty: FigureText::NoData.text(lang).to_owned(),
        ..Panel::default()
    }
}

/// An error in percent; what arithmetic alone leaves is none.
fn percent(error: f64) -> f64 {
    if error.abs() < 1e-9 {
        0.0
    } else {
        100.0 * error
    }
}

/// Reasons, the most frequent first.
fn not_predicted(validation: &Validation, lang: Lang) -> Table {
    let mut reasons: BTreeMap<&NotPredicted, (usize, &str)> = BTreeMap::new();
    for (row, reason) in &validation.not_predicted {
        reasons.entry(reason).or_insert((0, &row.id)).0 += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (rows, _))| std::cmp::Reverse(*rows));
    let rows = reasons.into_iter().map(|(reason, (rows, id))| {
        vec![
            Cell::text(reason_text(reason, lang)),
            Cell::text(rows.to_string()),
            Cell::text(id),
        ]
    });
    Table::new(
        vec![
            Column::wrapped(Text::Reason.text(lang)),
            Column::right(Text::Rows.text(lang)),
            Column::left(Text::FirstRow.text(lang)),
        ],
        rows,
    )
}

pub fn reason_text(reason: &NotPredicted, lang: Lang) -> String {
    let named = |text: Text, name: &str| text.with(lang, &[("name", name.to_owned())]);
    match reason {
        NotPredicted::NoWorkers => Text::RowWorkers.text(lang).to_owned(),
        NotPredicted::Engine(name) => named(Text::RowEngine, name),
        NotPredicted::Model(name) => named(Text::RowModel, name),
        NotPredicted::Card(name) => named(Text::RowCard, name),
        NotPredicted::NoConcurrency => Text::RowConcurrency.text(lang).to_owned(),
        NotPredicted::Refused(reason) => Text::Refused.with(lang, &[("reason", reason.clone())]),
        NotPredicted::NoEngine => Text::RowNoEngine.text(lang).to_owned(),
        NotPredicted::NoModel => Text::RowNoModel.text(lang).to_owned(),
        NotPredicted::NoCard => Text::RowNoCard.text(lang).to_owned(),
        NotPredicted::NoLengths => Text::RowNoLengths.text(lang).to_owned(),
        NotPredicted::NoLatency => Text::RowNoLatency.text(lang).to_owned(),
        NotPredicted::Invalid(codes) => Text::RowInvalid.with(lang, &[("codes", codes.clone())]),
        NotPredicted::NothingServed => Text::RowNothingServed.text(lang).to_owned(),
    }
}

/// A line per group: of each quantity, median and mean absolute error and the signed median.
fn errors(groups: &[ErrorGroup], lang: Lang) -> Table {
    let of = |name: &str, quantity: Quantity| {
        let found = groups.iter();
        let mut found = found.filter(|group| group.name == name && group.quantity == quantity);
        Cell::known(found.next().map(|group| {
            let [median, mean, signed] =
                [group.median, group.mean, group.signed_median].map(percent);
            format!("{median:.1} / {mean:.1} / {signed:+.1}")
        }))
    };
    let mut names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    names.dedup();
    let rows = names.into_iter().map(|name| {
        let counts = groups.iter().filter(|group| group.name == name);
        let count = counts.map(|group| group.rows).max().unwrap_or_default();
        vec![
            Cell::text(name),
            Cell::text(count.to_string()),
            of(name, Quantity::E2e),
            of(name, Quantity::Tpot),
            of(name, Quantity::Ttft),
        ]
    });
    let heading = |quantity: Text| Column::right(&format!("{}, %", quantity.text(lang)));
    Table {
        columns: vec![
            Column::left(""),
            Column::right(Text::Rows.text(lang)),
            heading(Text::E2e),
            heading(Text::Tpot),
            heading(Text::Ttft),
        ],
        rows: rows.collect(),
        footnotes: vec![Text::ErrorNote.text(lang).to_owned()],
    }
}
