//! Figures of a grid: input lengths by output lengths, a cell for each pair.

use super::metric_name::{MetricUnit, metric_name, unit_of};
use super::omitted::{self, Shown};
use crate::Level;
use inferometer_analysis::compare::Metric;
use inferometer_core::summary::Summary;
use inferometer_message::FigureText as Text;
use inferometer_page::figure::time_unit::TimeUnit;
use inferometer_page::figure::{Axis, Cell, Colour, Figure, Panel, Series, Shape};
use inferometer_page::number;
use inferometer_text::Lang;

/// What was measured at pairs of lengths.
#[derive(Clone, Debug, Default)]
pub struct Grid<'a> {
    /// Input length, output length, and the numbers.
    pub cells: Vec<(Level, Level, &'a Summary)>,
    pub shown: Shown,
    /// What input and output lengths count.
    pub counts: [Counted; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    #[default]
    Tokens,
    Characters,
}

impl Counted {
    fn sign(self, lang: Lang) -> String {
        let text = match self {
            Counted::Tokens => Text::Tokens,
            Counted::Characters => Text::Characters,
        };
        text.text(lang).to_owned()
    }
}

/// Heat maps of a grid: output throughput, TTFT, TPOT and latency, or others.
pub fn heat_maps(grid: &Grid<'_>, metrics: &[Metric], lang: Lang) -> Figure {
    let columns = levels(grid.cells.iter().map(|(input, ..)| input));
    let rows = levels(grid.cells.iter().map(|(_, output, _)| output));
    let panels = metrics
        .iter()
        .map(|&metric| panel(grid, metric, &columns, &rows, lang))
        .collect();
    let left_out: Vec<String> = grid
        .cells
        .iter()
        .filter(|(.., summary)| !grid.shown.takes(summary))
        .map(|(input, output, summary)| {
            let pair = format!("{} × {}", input.text(), output.text());
            omitted::name(&pair, summary)
        })
        .collect();
    Figure::new(
        "grid",
        Text::Grid.text(lang),
        panels,
        omitted::footnote(Text::LeftOut, &left_out, lang)
            .into_iter()
            .collect(),
    )
}

pub const USUAL: [Metric; 4] = [
    Metric::OutputTokensPerS,
    Metric::TtftMean,
    Metric::TpotMean,
    Metric::E2eMean,
];

/// Distinct levels, numbers by their size.
fn levels<'a>(all: impl Iterator<Item = &'a Level>) -> Vec<String> {
    let mut levels: Vec<(f64, String)> = Vec::new();
    for level in all {
        let size = match level {
            Level::Number(value) => *value,
            Level::Name(_) => f64::INFINITY,
        };
        let text = level.text();
        if !levels.iter().any(|(_, known)| *known == text) {
            levels.push((size, text));
        }
    }
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    levels.into_iter().map(|(_, text)| text).collect()
}

fn panel(
    grid: &Grid<'_>,
    metric: Metric,
    columns: &[String],
    rows: &[String],
    lang: Lang,
) -> Panel {
    let values: Vec<(usize, usize, f64)> = grid
        .cells
        .iter()
        .filter(|(.., summary)| grid.shown.takes(summary))
        .filter_map(|(input, output, summary)| {
            let column = columns.iter().position(|name| *name == input.text())?;
            let row = rows.iter().position(|name| *name == output.text())?;
            Some((column, row, metric.of(summary)?))
        })
        .collect();
    let unit = TimeUnit::of(values.iter().map(|value| value.2));
    let (sign, time) = match unit_of(metric) {
        MetricUnit::Time => (unit.sign(), unit),
        MetricUnit::Sign(sign) => (sign, TimeUnit::Milliseconds),
    };
    let mut cells: Vec<Cell> = Vec::new();
    for row in 0..rows.len() {
        for column in 0..columns.len() {
            let found = values
                .iter()
                .rfind(|value| (value.0, value.1) == (column, row));
            let value = found.map(|found| time.of_ms(found.2));
            cells.push(Cell {
                column,
                row,
                value,
                label: value.map_or("–".to_owned(), number::brief),
            });
        }
    }
    Panel {
        title: format!("{} ({sign})", metric_name(metric, lang)),
        x: Axis {
            unit: grid.counts[0].sign(lang),
            ..Axis::of_names(Text::InputLength.text(lang), columns.to_vec())
        },
        y: Axis {
            unit: grid.counts[1].sign(lang),
            ..Axis::of_names(Text::OutputLength.text(lang), rows.to_vec())
        },
        series: vec![Series::new("", Colour::Nth(0), Shape::Heat(cells))],
        when_empty: Text::NoData.text(lang).to_owned(),
        ..Panel::default()
    }
}
