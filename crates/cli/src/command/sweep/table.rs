//! The table that grows while a sweep goes on, with the time left.

use crate::progress::Progress;
use inferometer_core::point::Point;
use inferometer_core::summary::Summary;
use inferometer_message::{ProgressText, SweepText};
use inferometer_page::text::pad_left;
use inferometer_runner::{Event, Observer};
use inferometer_store::sweep_dir::{SweepPlan, Trial, TrialState};
use inferometer_text::Lang;
use std::time::Duration;

/// The view of a sweep under way, on standard error.
pub struct Table {
    quiet: bool,
    lang: Lang,
    axes: Vec<String>,
    widths: Vec<usize>,
    done: usize,
    todo: usize,
}

impl Table {
    pub fn new(plan: &SweepPlan, quiet: bool, lang: Lang) -> Table {
        let width = |axis: &String| {
            let values = plan
                .points
                .iter()
                .map(|point| value(&point.point, axis).chars().count());
            values.max().unwrap_or(0).max(axis.chars().count()).min(40)
        };
        Table {
            quiet,
            lang,
            widths: plan.axes.iter().map(width).collect(),
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
        let axes = self
            .axes
            .iter()
            .zip(&self.widths)
            .map(|(axis, width)| format!("{axis:>width$}"));
        let head: Vec<String> = axes
            .chain(
                [
                    ("req/s", 8),
                    ("tok/s", 9),
                    ("TTFT p50", 9),
                    ("TPOT p50", 9),
                    (SweepText::Failed.text(self.lang), 7),
                ]
                .map(|(name, width)| pad_left(name, width)),
            )
            .collect();
        progress.keep(&format!("{:>9}  {}", "", head.join("  ")));
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
        let number = |value: Option<f64>, width: usize, decimals: usize| match value {
            Some(value) => format!("{value:>width$.decimals$}"),
            None => format!("{:>width$}", "n/a"),
        };
        let cells: Vec<String> = match summary {
            Some(summary) => axes
                .chain([
                    number(summary.throughput.requests_per_s, 8, 2),
                    number(summary.throughput.output_tokens_per_s, 9, 1),
                    number(summary.latency.ttft_ms.map(|ttft| ttft.p50), 9, 1),
                    number(summary.latency.tpot_ms.map(|tpot| tpot.p50), 9, 2),
                    format!("{:>7}", summary.requests.failed),
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
                let time = [("time", crate::clock::clock(left))];
                format!("  {}", ProgressText::TimeLeft.with(lang, &time))
            });
        let all = self.done + self.todo;
        let place = format!("{}/{all}", self.done);
        progress.keep(&format!("{place:>9}  {}  {note}{left}", cells.join("  ")));
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
