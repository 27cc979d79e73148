//! The list that `inferometer runs` shows: one line per run, sweep or search, the newest
//! first.

use crate::message::{NumbersText, RunsText, SetupText, VerdictText};
use inferometer_core::scenario::Shape;
use inferometer_page::doc::{Block, Cell, Column, Doc, Section, Table, Tone, Unit};
use inferometer_page::number;
use inferometer_text::Lang;

/// One stored run, sweep or search.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedResult {
    pub name: String,
    pub label: Option<String>,
    /// Wall time of its beginning, RFC 3339; absent where it cannot be read.
    pub started: Option<String>,
    pub state: RunState,
    /// What it is, and how large.
    pub what: Listed,
    pub requests_per_s: Option<f64>,
    pub output_tokens_per_s: Option<f64>,
    pub ttft_p50_ms: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Listed {
    /// A run, and when its requests were sent; absent where that cannot be read.
    Run(Option<Shape>),
    /// A sweep; its figures are those of its best valid one.
    Sweep { points: usize },
    /// A search for the highest load, and what it found.
    Capacity {
        /// `rate` or `concurrency`.
        over: String,
        /// The load; absent where none can be claimed.
        value: Option<f64>,
    },
    /// A study of launch flags; its figures are those of its best configuration.
    Study { trials: usize },
    /// Results of another tool.
    Import { results: usize },
}

impl Listed {
    pub(crate) fn kind(&self) -> RunsText {
        match self {
            Listed::Run(_) => RunsText::Run,
            Listed::Sweep { .. } => RunsText::Sweep,
            Listed::Capacity { .. } => RunsText::Capacity,
            Listed::Study { .. } => RunsText::Study,
            Listed::Import { .. } => RunsText::Import,
        }
    }

    /// The load in a few characters.
    pub(crate) fn load(&self, lang: Lang) -> String {
        match self {
            Listed::Run(shape) => shape.as_ref().map(load).unwrap_or_default(),
            Listed::Sweep { points } => {
                RunsText::Points.with(lang, &[("count", points.to_string())])
            }
            Listed::Study { trials } => {
                RunsText::Trials.with(lang, &[("count", trials.to_string())])
            }
            Listed::Import { results } => {
                RunsText::Results.with(lang, &[("count", results.to_string())])
            }
            Listed::Capacity { value: None, .. } => number::ABSENT.to_owned(),
            Listed::Capacity {
                over,
                value: Some(value),
            } => match over.as_str() {
                "concurrency" => format!("≤ c{}", number::exact(*value)),
                _ => format!("≤ {}/s", number::brief(*value)),
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It has a summary without a grave doubt.
    Valid,
    /// It has a summary with one.
    Invalid,
    /// It has no summary: still running, or killed.
    Unfinished,
    /// It is another tool's; its doubts are in its report.
    Foreign,
}

/// The list as a document; without runs, it says so.
pub fn compose(runs: &[ListedResult], lang: Lang) -> Doc {
    let block = if runs.is_empty() {
        Block::Paragraph(RunsText::NoRuns.text(lang).to_owned())
    } else {
        Block::Table(table(runs, lang))
    };
    Doc {
        sections: vec![Section::plain([block])],
    }
}

fn table(runs: &[ListedResult], lang: Lang) -> Table {
    let mut runs: Vec<&ListedResult> = runs.iter().collect();
    runs.sort_by(|a, b| (&b.started, &b.name).cmp(&(&a.started, &a.name)));
    // Names of directories end with the label unless the user chose the directory.
    let labels = (runs.iter())
        .any(|run| (run.label.as_ref()).is_some_and(|label| !run.name.contains(label.as_str())));
    let mut columns = vec![
        Column::left(RunsText::When.text(lang)),
        Column::left(RunsText::Kind.text(lang)),
        Column::left(RunsText::Verdict.text(lang)),
        Column::right(&SetupText::Load.text(lang).to_lowercase()),
        Column::right(Unit::RequestsPerSecond.sign()),
        Column::right(Unit::TokensPerSecond.sign()),
        Column::right(NumbersText::TtftMedian.text(lang)),
    ];
    if labels {
        columns.push(Column::wrapped(RunsText::RunLabel.text(lang)));
    }
    // Names are there to be copied: never broken, and last, so that a long one hurts least.
    columns.push(Column::left(RunsText::RunName.text(lang)));
    let rows = runs.into_iter().map(|run| {
        let mut row = row(run, lang);
        if labels {
            row.push(Cell::text(run.label.clone().unwrap_or_default()));
        }
        row.push(Cell::text(&run.name));
        row
    });
    Table::new(columns, rows)
}

fn row(run: &ListedResult, lang: Lang) -> Vec<Cell> {
    let (state, tone) = match run.state {
        RunState::Valid => (VerdictText::Valid.text(lang).to_owned(), Tone::Plain),
        RunState::Invalid => (VerdictText::Invalid.text(lang).to_owned(), Tone::Bad),
        RunState::Unfinished => (VerdictText::Unfinished.text(lang).to_owned(), Tone::Caution),
        RunState::Foreign => (VerdictText::Foreign.text(lang).to_owned(), Tone::Plain),
    };
    vec![
        Cell::text(run.started.as_deref().map(minute).unwrap_or_default()),
        Cell::text(run.what.kind().text(lang)),
        Cell::Toned(state, tone),
        Cell::text(run.what.load(lang)),
        Cell::rate(run.requests_per_s, Unit::RequestsPerSecond),
        Cell::rate(run.output_tokens_per_s, Unit::TokensPerSecond),
        Cell::known(run.ttft_p50_ms.map(number::whole_millis)),
    ]
}

/// `2026-11-15T02:23:34Z` as `11-15 02:23`: the directory's name has the rest.
pub(crate) fn minute(started: &str) -> String {
    match (started.get(5..10), started.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute}"),
        _ => started.to_owned(),
    }
}

/// The load in a few characters: `c64`, `5/s`, `inf`, `5/s c32`.
fn load(shape: &Shape) -> String {
    match shape {
        Shape::Closed { concurrency, .. } => format!("c{concurrency}"),
        Shape::Replay { speed, .. } => format!("trace {}x", number::exact(*speed)),
        Shape::Open {
            rate,
            max_concurrency,
            ..
        } => {
            let rate = if rate.is_infinite() {
                "inf".to_owned()
            } else {
                format!("{}/s", number::exact(rate.0))
            };
            match max_concurrency {
                Some(cap) => format!("{rate} c{cap}"),
                None => rate,
            }
        }
    }
}
