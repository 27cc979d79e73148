//! Figures of a grid: input lengths by output lengths, or a length by loads, a cell for each pair.

use super::metric_name::{MetricUnit, metric_name, unit_of};
use super::omitted::{self, Shown};
use crate::Level;
use inferometer_compare::Metric;
use inferometer_core::summary::Summary;
use inferometer_message::FigureText as Text;
use inferometer_page::figure::time_unit::TimeUnit;
use inferometer_page::figure::{Axis, Cell, Colour, Figure, Panel, Series, Shape};
use inferometer_page::number;
use inferometer_text::Lang;

/// What was measured at pairs of levels.
#[derive(Clone, Debug, Default)]
pub struct Grid<'a> {
    /// Level of each axis, and the numbers.
    pub cells: Vec<(Level, Level, &'a Summary)>,
    pub shown: Shown,
    /// From left to right, and upwards.
    pub axes: [GridAxis; 2],
}

/// What the levels of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridAxis {
    Input(Counted),
    Output(Counted),
    /// The length that a prompt asks for; answers may be shorter or longer.
    Asked(Counted),
    Concurrency,
    Rate,
}

impl Default for GridAxis {
    fn default() -> Self {
        GridAxis::Input(Counted::default())
    }
}

impl GridAxis {
    /// Of an axis of a sweep that is a length or a load.
    pub fn of(axis: &str) -> Self {
        let counted = if axis.ends_with("-chars") {
            Counted::Characters
        } else {
            Counted::Tokens
        };
        match axis {
            "concurrency" => GridAxis::Concurrency,
            "rate" => GridAxis::Rate,
            "ask-chars" => GridAxis::Asked(counted),
            axis if axis.starts_with("input") => GridAxis::Input(counted),
            _ => GridAxis::Output(counted),
        }
    }

    fn title(self, lang: Lang) -> &'static str {
        match self {
            GridAxis::Input(_) => Text::InputLength,
            GridAxis::Output(_) => Text::OutputLength,
            GridAxis::Asked(_) => Text::AskedLength,
            GridAxis::Concurrency => Text::Concurrency,
            GridAxis::Rate => Text::Rate,
        }
        .text(lang)
    }

    fn unit(self, lang: Lang) -> String {
        match self {
            GridAxis::Input(counted) | GridAxis::Output(counted) | GridAxis::Asked(counted) => {
                counted.sign(lang)
            }
            GridAxis::Concurrency => String::new(),
            GridAxis::Rate => "req/s".to_owned(),
        }
    }

    fn named(self, levels: &[String], lang: Lang) -> Axis {
        Axis {
            unit: self.unit(lang),
            ..Axis::of_names(self.title(lang), levels.to_vec())
        }
    }
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

/// What the colour of a heat map stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Heat {
    Of(Metric),
    CharsPerS,
    /// Tokens per second of one answer.
    PerUser,
}

impl Heat {
    fn of(self, summary: &Summary) -> Option<f64> {
        match self {
            Heat::Of(metric) => metric.of(summary),
            Heat::CharsPerS => summary.throughput.output_chars_per_s,
            Heat::PerUser => summary.speed.per_user_tokens_per_s.map(|speed| speed.mean),
        }
        .filter(|value| value.is_finite())
    }

    fn name(self, lang: Lang) -> String {
        match self {
            Heat::Of(metric) => metric_name(metric, lang),
            Heat::CharsPerS => Text::CharThroughput.text(lang).to_owned(),
            Heat::PerUser => Text::PerUser.text(lang).to_owned(),
        }
    }

    fn unit(self, lang: Lang) -> MetricUnit {
        match self {
            Heat::Of(metric) => unit_of(metric),
            Heat::CharsPerS => MetricUnit::Sign(Text::CharsPerS.text(lang)),
            Heat::PerUser => MetricUnit::Sign("tok/s"),
        }
    }
}

/// Heat maps of a grid: one for each figure.
pub fn heat_maps(grid: &Grid<'_>, heats: &[Heat], lang: Lang) -> Figure {
    let columns = levels(grid.cells.iter().map(|(input, ..)| input));
    let rows = levels(grid.cells.iter().map(|(_, output, _)| output));
    let panels = heats
        .iter()
        .map(|&heat| panel(grid, heat, &columns, &rows, lang))
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
        title(grid.axes, lang),
        panels,
        omitted::footnote(Text::LeftOut, &left_out, lang)
            .into_iter()
            .collect(),
    )
}

/// Of input and output lengths.
pub const USUAL: [Heat; 4] = [
    Heat::Of(Metric::OutputTokensPerS),
    Heat::Of(Metric::TtftMean),
    Heat::Of(Metric::TpotMean),
    Heat::Of(Metric::E2eMean),
];

/// Of a length and loads: what all users get, and what one gets.
pub const SPEEDS: [Heat; 4] = [
    Heat::Of(Metric::OutputTokensPerS),
    Heat::CharsPerS,
    Heat::Of(Metric::RequestsPerS),
    Heat::PerUser,
];

fn title([across, up]: [GridAxis; 2], lang: Lang) -> String {
    format!("{} × {}", across.title(lang), up.title(lang).to_lowercase())
}

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

fn panel(grid: &Grid<'_>, heat: Heat, columns: &[String], rows: &[String], lang: Lang) -> Panel {
    let values: Vec<(usize, usize, f64)> = grid
        .cells
        .iter()
        .filter(|(.., summary)| grid.shown.takes(summary))
        .filter_map(|(input, output, summary)| {
            let column = columns.iter().position(|name| *name == input.text())?;
            let row = rows.iter().position(|name| *name == output.text())?;
            Some((column, row, heat.of(summary)?))
        })
        .collect();
    let unit = TimeUnit::of(values.iter().map(|value| value.2));
    let (sign, time) = match heat.unit(lang) {
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
        title: format!("{} ({sign})", heat.name(lang)),
        x: grid.axes[0].named(columns, lang),
        y: grid.axes[1].named(rows, lang),
        series: vec![Series::new("", Colour::Nth(0), Shape::Heat(cells, None))],
        when_empty: Text::NoData.text(lang).to_owned(),
        ..Panel::default()
    }
}
