//! The table that grows while a sweep goes on, with the time left.

use crate::progress::Progress;
use inferometer_core::point::Point;
use inferometer_core::summary::Summary;
use inferometer_message::{ProgressText, SweepText};
use inferometer_page::number;
use inferometer_page::text::pad_left;
use inferometer_runner::{Event, Observer};
use inferometer_store::sweep_dir::{SweepPlan, Trial, TrialState};
use inferometer_text::Lang;
use std::time::Duration;

/// Columns of the narrowest usual terminal.
const ROOM: usize = 80;
/// Widest value of an axis.
const WIDEST: usize = 40;
/// Widths of the figures: requests and tokens per second, TTFT, TPOT, failed requests.
const FIGURES: [usize; 5] = [7, 8, 8, 8, 6];
/// What the time left takes.
const LEFT: usize = 10;
const GAP: usize = 2;

/// The view of a sweep under way, on standard error.
pub struct Table {
    quiet: bool,
    lang: Lang,
    axes: Vec<String>,
    widths: Vec<usize>,
    /// Names of the axes stand above their columns, or in a line before where these would be too
    /// wide.
    names_above: bool,
    /// Width of `12/24`.
    place: usize,
    done: usize,
    todo: usize,
}

impl Table {
    pub fn new(plan: &SweepPlan, quiet: bool, lang: Lang) -> Table {
        let of_values = |axis: &String| {
            let values =
                (plan.points.iter()).map(|point| value(&point.point, axis).chars().count());
            values.max().unwrap_or(0).min(WIDEST)
        };
        let place = 2 * plan.visits.len().to_string().len() + 1;
        let narrow: Vec<usize> = plan.axes.iter().map(of_values).collect();
        let named: Vec<usize> = (plan.axes.iter().zip(&narrow))
            .map(|(axis, width)| axis.chars().count().max(*width))
            .collect();
        let columns = named.iter().chain(&FIGURES).map(|width| width + GAP);
        let names_above = place + columns.sum::<usize>() + LEFT <= ROOM;
        Table {
            quiet,
            lang,
            widths: if names_above { named } else { narrow },
            names_above,
            place,
            axes: plan.axes.clone(),
            done: 0,
            todo: 0,
        }
    }

    /// The head, and what was found done.
    fn begin(&mut self, done: usize, todo: usize, progress: &Progress) {
        (self.done, self.todo) = (done, todo);
        if self.quiet {
            return;
        }
        if done > 0 {
            let values = [
                ("done", done.to_string()),
                ("all", (done + todo).to_string()),
            ];
            progress.keep(&ProgressText::SweepGoesOn.with(self.lang, &values));
        }
        if !self.names_above {
            progress.keep(&self.axes.join(" × "));
        }
        let axes = self.axes.iter().zip(&self.widths).map(|(axis, width)| {
            let name = if self.names_above { axis } else { "" };
            format!("{name:>width$}")
        });
        let failed = SweepText::Failed.text(self.lang);
        let figures = ["req/s", "tok/s", "TTFT p50", "TPOT p50", failed];
        let figures = figures.into_iter().zip(FIGURES);
        let head: Vec<String> = axes
            .chain(figures.map(|(name, width)| pad_left(name, width)))
            .collect();
        let place = self.place;
        progress.keep(&format!("{:>place$}  {}", "", head.join("  ")));
    }

    /// A point is done; `left` is the time for the others.
    fn row(
        &mut self,
        place: &Point,
        trial: &Trial,
        summary: Option<&Summary>,
        left: Option<Duration>,
        progress: &Progress,
    ) {
        self.done += 1;
        self.todo = self.todo.saturating_sub(1);
        if self.quiet {
            return;
        }
        let axes = (self.axes.iter().zip(&self.widths))
            .map(|(axis, width)| format!("{:>width$}", value(place, axis)));
        let number = |value: Option<f64>, place: usize, decimals: usize| {
            let width = FIGURES[place];
            match value {
                Some(value) => format!("{value:>width$.decimals$}"),
                None => format!("{:>width$}", "n/a"),
            }
        };
        let cells: Vec<String> = match summary {
            Some(summary) => axes
                .chain([
                    number(summary.throughput.requests_per_s, 0, 2),
                    number(summary.throughput.output_tokens_per_s, 1, 1),
                    number(summary.latency.ttft_ms.map(|ttft| ttft.p50), 2, 1),
                    number(summary.latency.tpot_ms.map(|tpot| tpot.p50), 3, 2),
                    format!("{:>width$}", summary.requests.failed, width = FIGURES[4]),
                ])
                .collect(),
            None => axes.collect(),
        };
        let lang = self.lang;
        let reason = [("reason", trial.reason.clone().unwrap_or_default())];
        let note = match (trial.state, summary) {
            (TrialState::Failed, _) => ProgressText::FailedBecause.with(lang, &reason),
            (TrialState::Skipped, _) => ProgressText::SkippedBecause.with(lang, &reason),
            (TrialState::Interrupted, _) => ProgressText::Stopped.text(lang).to_owned(),
            (TrialState::Done, Some(summary)) if !summary.valid => {
                SweepText::Invalid.text(lang).to_owned()
            }
            (TrialState::Done, _) => String::new(),
        };
        let left = left
            .filter(|_| self.todo > 0)
            .map_or(String::new(), |left| {
                let time = [("time", number::clock(left))];
                let gap = if note.is_empty() { "" } else { "  " };
                format!("{gap}{}", ProgressText::TimeLeft.with(lang, &time))
            });
        let all = self.done + self.todo;
        let (place, width) = (format!("{}/{all}", self.done), self.place);
        let line = format!("{place:>width$}  {}  {note}{left}", cells.join("  "));
        progress.keep(line.trim_end());
    }
}

/// Shows the table of a sweep, and the progress of each point below it.
pub struct SweepView<'a> {
    pub table: Table,
    pub progress: &'a mut Progress,
}

impl Observer for SweepView<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::SweepBegins { done, todo } => self.table.begin(done, todo, self.progress),
            Event::Visited {
                point,
                trial,
                summary,
                left,
            } => self.table.row(point, trial, summary, left, self.progress),
            other => self.progress.event(other),
        }
    }
}

fn value(place: &Point, axis: &str) -> String {
    place.0.get(axis).map_or(String::new(), shown)
}

pub fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
