//! One picture of the view: a pure function of what is known and said.

use super::Said;
use inferometer_core::doubt::Severity;
use inferometer_core::record::Stage;
use inferometer_core::slo::Slo;
use inferometer_core::summary::{ObjectiveResult, StatedDoubt};
use inferometer_message::{
    CapacityText, LiveText, ProgressText, SweepText, TerminalText, VerdictText,
};
use inferometer_page::number::{self, clock};
use inferometer_page::text::{pad_left, pad_right, shorten, width, wrap};
use inferometer_runner::now::{Ladder, Now, Purpose, RunNow, Step, StepState};
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use std::time::Duration;

/// Heights of a curve that is one line high.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Lines of a doubt at most.
const DOUBT_LINES: usize = 3;
/// Columns of the names and of the values of figures.
const NAMES: usize = 20;
const VALUES: usize = 17;
/// Longest text of others that is shown.
const LONGEST: usize = 400;

const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const BAD: Style = Style::new().fg(Color::Red);
const CURVE: Style = Style::new().fg(Color::Cyan);

pub struct Screen<'a> {
    pub title: &'a str,
    pub now: Option<&'a Now>,
    pub said: &'a Said,
    pub footer: Footer,
    pub lang: Lang,
}

/// What the last line says of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footer {
    Keys,
    /// Whether it is to end.
    Sure,
    Ending,
}

impl Screen<'_> {
    pub fn draw(&self, buffer: &mut Buffer) {
        let columns = usize::from(buffer.area.width);
        let rows = usize::from(buffer.area.height);
        let mut lines = self.head(columns);
        lines.extend(self.figures(columns));
        let foot = self.foot(columns);
        let room = rows.saturating_sub(lines.len() + foot.len());
        lines.extend(self.sections(columns, room));
        lines.truncate(rows.saturating_sub(foot.len()));
        lines.resize(rows.saturating_sub(foot.len()), Line::default());
        lines.extend(foot);
        for (line, row) in lines.iter().zip(0..buffer.area.height) {
            buffer.set_line(0, row, line, buffer.area.width);
        }
    }

    fn run(&self) -> Option<&RunNow> {
        self.now?.run.as_ref()
    }

    fn ladder(&self) -> Option<&Ladder> {
        self.now?.ladder.as_ref()
    }

    /// What is measured, for how long, and where it stands.
    fn head(&self, columns: usize) -> Vec<Line<'static>> {
        let elapsed = self.run().map(|run| clock(seconds(run.elapsed_s)));
        let elapsed = elapsed.unwrap_or_default();
        let mut title = format!("inferometer  {}", printable(self.title, LONGEST));
        if let (Some(run), Some(_)) = (self.run(), self.ladder()) {
            title += &format!(" / {}", printable(&run.name, LONGEST));
        }
        let title = shorten(&title, columns.saturating_sub(width(&elapsed) + 1));
        let gap = columns.saturating_sub(width(&title) + width(&elapsed));
        let mut lines = vec![Line::from(vec![
            Span::styled(title, STRONG),
            Span::raw(" ".repeat(gap)),
            Span::styled(elapsed, FAINT),
        ])];
        if let Some(run) = self.run() {
            let about = self.about(run);
            lines.push(Line::styled(shorten(&about, columns), FAINT));
        }
        let parts = match self.run() {
            Some(run) => self.standing(run),
            None if self.ladder().is_some() => vec![LiveText::Between.text(self.lang).to_owned()],
            None => vec![LiveText::Waiting.text(self.lang).to_owned()],
        };
        lines.push(Line::raw(shorten(&parts.join(" · "), columns)));
        if let Some(ladder) = self.ladder() {
            let done = ("done", ladder.steps.len().to_string());
            let mut parts = vec![match ladder.planned {
                Some(all) => LiveText::StepsOf.with(self.lang, &[done, ("all", all.to_string())]),
                None => LiveText::Steps.with(self.lang, &[done]),
            }];
            parts.extend(ladder.left_s.map(|left| self.time_left(left)));
            lines.push(Line::raw(shorten(&parts.join(" · "), columns)));
        }
        lines
    }

    /// What answers, with which model, and the load.
    fn about(&self, run: &RunNow) -> String {
        let simulated = LiveText::Simulated.text(self.lang).to_owned();
        let simulated = run.about.is_simulated.then_some(simulated);
        let facts = run.about.facts.iter().map(|it| printable(it, LONGEST));
        Vec::from_iter(simulated.into_iter().chain(facts)).join(" · ")
    }

    fn standing(&self, run: &RunNow) -> Vec<String> {
        let lang = self.lang;
        let phase = run.phases.last().map(|phase| match phase.stage {
            Stage::Warmup => ProgressText::WarmUp,
            Stage::Measured => ProgressText::Measuring,
            Stage::Hold => ProgressText::Hold,
        });
        let phase = phase.map_or(LiveText::Waiting.text(lang), |phase| phase.text(lang));
        let done = match run.planned {
            Some(planned) => format!(
                "{} / {}",
                number::count(run.measured),
                number::count(planned)
            ),
            None => number::count(run.measured),
        };
        let count = |count: String, text: LiveText| format!("{count} {}", text.text(lang));
        let mut parts = vec![
            phase.to_owned(),
            count(done, LiveText::Done),
            count(number::count(run.in_flight), LiveText::InFlight),
            count(number::count(run.failed), LiveText::Failed),
        ];
        parts.extend(run.left_s.map(|left| self.time_left(left)));
        parts
    }

    fn time_left(&self, left_s: f64) -> String {
        ProgressText::TimeLeft.with(self.lang, &[("time", clock(seconds(left_s)))])
    }

    /// A line for each figure, with its course.
    fn figures(&self, columns: usize) -> Vec<Line<'static>> {
        let Some(run) = self.run() else {
            return Vec::new();
        };
        let lang = self.lang;
        let parts = &run.course.parts;
        // Of the last ones not all is known yet.
        let parts = &parts[..run.course.whole.min(parts.len())];
        let latest = run.course.latest();
        let rate = |value: Option<f64>| value.map_or(number::ABSENT.to_owned(), number::brief);
        let both = |pair: Option<(f64, f64)>| match pair {
            Some((p50, p99)) => format!("{} / {}", number::brief(p50), number::brief(p99)),
            None => number::ABSENT.to_owned(),
        };
        let figure = |name: &str, value: String, course: Vec<Option<f64>>| {
            let name = pad_right(&shorten(name, NAMES), NAMES);
            let value = pad_left(&value, VALUES);
            let room = columns.saturating_sub(width(&name) + width(&value) + 2);
            Line::from(vec![
                Span::styled(name, FAINT),
                Span::styled(value, STRONG),
                Span::styled(format!("  {}", curve(&course, room)), CURVE),
            ])
        };
        let mut lines = vec![
            Line::default(),
            figure(
                TerminalText::TokenRate.text(lang),
                rate(latest.map(|it| it.output_tokens_per_s)),
                parts
                    .iter()
                    .map(|it| Some(it.output_tokens_per_s))
                    .collect(),
            ),
            figure(
                TerminalText::RequestRate.text(lang),
                rate(latest.map(|it| it.requests_per_s)),
                parts.iter().map(|it| Some(it.requests_per_s)).collect(),
            ),
            figure(
                LiveText::InFlight.text(lang),
                number::count(run.in_flight),
                parts.iter().map(|it| Some(it.in_flight as f64)).collect(),
            ),
            figure(
                LiveText::Ttft.text(lang),
                both(run.ttft_ms.map(|it| (it.p50, it.p99))),
                parts.iter().map(|it| it.ttft_ms.map(|it| it.p50)).collect(),
            ),
            figure(
                LiveText::TpotBoth.text(lang),
                both(run.tpot_ms.map(|it| (it.p50, it.p99))),
                parts.iter().map(|it| it.tpot_ms.map(|it| it.p50)).collect(),
            ),
            figure(
                LiveText::Failed.text(lang),
                number::count(run.failed),
                parts.iter().map(|it| Some(it.failed as f64)).collect(),
            ),
        ];
        let said = |course: &[Option<f64>]| course.iter().rev().find_map(|value| *value);
        let gauges = &run.gauges;
        if let Some(running) = said(&gauges.running) {
            let waiting = said(&gauges.waiting).map_or(number::ABSENT.to_owned(), number::mean);
            let value = format!("{} / {waiting}", number::mean(running));
            let name = TerminalText::Server.text(lang);
            lines.push(figure(name, value, gauges.running.clone()));
        }
        if let Some(share) = said(&gauges.kv_use) {
            let name = TerminalText::KvUse.text(lang);
            lines.push(figure(name, number::percent(share), gauges.kv_use.clone()));
        }
        if let Some(power) = said(&gauges.power_w) {
            let (name, value) = (TerminalText::Power.text(lang), number::brief(power));
            lines.push(figure(name, format!("{value} W"), gauges.power_w.clone()));
        }
        lines.extend(run.objectives.iter().map(|it| self.objective(it, columns)));
        lines
    }

    fn objective(&self, objective: &ObjectiveResult, columns: usize) -> Line<'static> {
        let slo = objective.objective.parse::<Slo>().ok();
        let speed = |ms| Some(format!("{} tok/s", number::brief(slo?.speed_of(ms)?)));
        let value = objective.value_ms;
        let value = value.map(|ms| speed(ms).unwrap_or_else(|| number::millis(ms)));
        let value = value.or_else(|| objective.share.map(number::percent));
        let (state, style) = match objective.met {
            Some(true) => (LiveText::Met, FAINT),
            Some(false) => (LiveText::Missed, BAD),
            None => (LiveText::Undecided, FAINT),
        };
        let value = value.unwrap_or_else(|| number::ABSENT.to_owned());
        let name = printable(&objective.objective, LONGEST);
        let text = format!("{name}: {value} · {}", state.text(self.lang));
        Line::styled(shorten(&text, columns), style)
    }

    /// Doubts, what was measured before, and messages, as far as there is room.
    fn sections(&self, columns: usize, room: usize) -> Vec<Line<'static>> {
        let ladder = self.ladder().map(|ladder| self.table(ladder, columns));
        let ladder = ladder.unwrap_or_default();
        let for_doubts = if ladder.is_empty() { room } else { room / 2 };
        let mut doubts = self.doubts(columns);
        doubts.truncate(for_doubts);
        let room = room - doubts.len();
        let mut lines = doubts;
        let room_left = room.saturating_sub(ladder.len());
        lines.extend(last_of(ladder, 2, room));
        let mut messages: Vec<Line<'static>> = (self.said.messages.iter())
            .map(|it| Line::raw(shorten(&printable(it, LONGEST), columns)))
            .collect();
        if !messages.is_empty() {
            messages.insert(
                0,
                self.rule(TerminalText::Messages.text(self.lang), columns),
            );
        }
        if room_left > 1 {
            lines.extend(last_of(messages, 1, room_left));
        }
        lines
    }

    fn rule(&self, title: &str, columns: usize) -> Line<'static> {
        let rest = "─".repeat(columns.saturating_sub(width(title) + 4));
        Line::styled(format!("── {title} {rest}"), FAINT)
    }

    fn doubts(&self, columns: usize) -> Vec<Line<'static>> {
        let Some(run) = self.run() else {
            return Vec::new();
        };
        let mut lines = vec![self.rule(LiveText::Doubts.text(self.lang), columns)];
        let doubts = run.doubts.in_language(self.lang);
        if doubts.is_empty() {
            lines.push(Line::raw(LiveText::NoDoubts.text(self.lang)));
        }
        lines.extend(
            doubts
                .iter()
                .flat_map(|doubt| doubt_lines(doubt, columns, self.lang)),
        );
        lines
    }

    /// The rows of what was measured before, below a title and the names of the columns.
    fn table(&self, ladder: &Ladder, columns: usize) -> Vec<Line<'static>> {
        let lang = self.lang;
        let heads: Vec<(String, usize)> = match &ladder.objective {
            Some(path) => {
                let name = path.rsplit('.').next().unwrap_or(path);
                vec![(name.to_owned(), 20)]
            }
            None => vec![
                ("req/s".to_owned(), 8),
                ("tok/s".to_owned(), 9),
                ("TTFT p50".to_owned(), 9),
                ("TPOT p50".to_owned(), 9),
                (SweepText::Failed.text(lang).to_owned(), 6),
            ],
        };
        let figures = heads.iter().map(|(_, width)| width + 1).sum::<usize>();
        let (states, rest) = (12, columns.saturating_sub(figures + 12));
        let places = (rest * 2 / 3).clamp(rest.min(10), 40);
        let notes = rest.saturating_sub(places + 2);
        let row = |place: &str, cells: &[String], state: &str, note: &str| {
            let cells = (cells.iter().zip(&heads))
                .map(|(cell, (_, width))| format!(" {}", pad_left(cell, *width)));
            format!(
                "{}{} {} {}",
                pad_right(&shorten(&printable(place, LONGEST), places), places),
                cells.collect::<String>(),
                pad_right(&shorten(state, states), states),
                shorten(&printable(note, LONGEST), notes),
            )
        };
        let names: Vec<String> = heads.iter().map(|(name, _)| name.clone()).collect();
        let place = LiveText::Place.text(lang);
        let head = row(place, &names, LiveText::State.text(lang), "");
        let mut lines = vec![
            self.rule(LiveText::Ladder.text(lang), columns),
            Line::styled(head, FAINT),
        ];
        lines.extend(ladder.steps.iter().map(|step| {
            let cells = cells(step, ladder.objective.is_some());
            let note = step.why.clone().unwrap_or_else(|| step.doubts.join(" "));
            let state = state_text(step.state).text(lang);
            let place = match step.purpose {
                Some(purpose) => format!("{} {}", purpose_text(purpose).text(lang), step.place),
                None if step.place == "–" => ProgressText::Default.text(lang).to_owned(),
                None => step.place.clone(),
            };
            Line::styled(row(&place, &cells, state, &note), tone(step.state))
        }));
        lines
    }

    /// What is done at the moment, and what keys do.
    fn foot(&self, columns: usize) -> Vec<Line<'static>> {
        let (keys, style) = match self.footer {
            Footer::Keys => (TerminalText::Keys, FAINT),
            Footer::Sure => (TerminalText::Sure, STRONG),
            Footer::Ending => (TerminalText::Ending, STRONG),
        };
        vec![
            Line::raw(shorten(&printable(&self.said.status, LONGEST), columns)),
            Line::styled(shorten(keys.text(self.lang), columns), style),
        ]
    }
}

/// The words for what became of a step.
pub fn state_text(state: StepState) -> ProgressText {
    match state {
        StepState::Done => ProgressText::Done,
        StepState::Invalid => ProgressText::Invalid,
        StepState::Met => ProgressText::Met,
        StepState::Missed => ProgressText::Missed,
        StepState::Undecided => ProgressText::Undecided,
        StepState::SloMissed => ProgressText::SloMissed,
        StepState::Failed => ProgressText::Failed,
        StepState::Skipped => ProgressText::Skipped,
        StepState::Refused => ProgressText::Refused,
        StepState::Crashed => ProgressText::Crashed,
        StepState::Timeout => ProgressText::Timeout,
        StepState::Stopped => ProgressText::Stopped,
    }
}

fn tone(state: StepState) -> Style {
    match state {
        StepState::Done | StepState::Met | StepState::Undecided | StepState::Stopped => {
            Style::new()
        }
        StepState::Missed | StepState::SloMissed | StepState::Skipped => {
            Style::new().fg(Color::Yellow)
        }
        StepState::Invalid
        | StepState::Failed
        | StepState::Refused
        | StepState::Crashed
        | StepState::Timeout => Style::new().fg(Color::Red),
    }
}

fn cells(step: &Step, is_study: bool) -> Vec<String> {
    let brief = |value: Option<f64>| value.map_or(number::ABSENT.to_owned(), number::brief);
    if is_study {
        return vec![brief(step.objective)];
    }
    vec![
        brief(step.requests_per_s),
        brief(step.output_tokens_per_s),
        brief(step.ttft_p50_ms),
        brief(step.tpot_p50_ms),
        step.failed.map_or(number::ABSENT.to_owned(), number::count),
    ]
}

fn purpose_text(purpose: Purpose) -> CapacityText {
    match purpose {
        Purpose::Bracket => CapacityText::Bracket,
        Purpose::Bisect => CapacityText::Bisect,
        Purpose::Confirm => CapacityText::Confirm,
    }
}

fn doubt_lines(doubt: &StatedDoubt, columns: usize, lang: Lang) -> Vec<Line<'static>> {
    let (severity, style) = match doubt.severity {
        Severity::Invalid => (VerdictText::SeverityInvalid, Style::new().fg(Color::Red)),
        Severity::Warn => (VerdictText::SeverityWarn, Style::new().fg(Color::Yellow)),
        Severity::Note => (VerdictText::SeverityNote, Style::new()),
    };
    let text = printable(&format!("{} → {}", doubt.text, doubt.remedy), LONGEST);
    let mut lines = wrap(
        &format!("{} {}: {text}", severity.text(lang), doubt.code),
        columns,
    );
    if lines.len() > DOUBT_LINES {
        lines.truncate(DOUBT_LINES);
        if let Some(last) = lines.last_mut() {
            *last = shorten(&format!("{last} …"), columns);
        }
    }
    let styled = |line: String| Line::styled(line, style);
    lines.into_iter().map(styled).collect()
}

/// The first lines and as many of the last as there is room for.
fn last_of(mut lines: Vec<Line<'static>>, first: usize, room: usize) -> Vec<Line<'static>> {
    if lines.len() > room && room > first {
        lines.drain(first..lines.len() - (room - first));
    }
    lines.truncate(room);
    lines
}

/// The last values of a course, each as high as its share of the largest.
fn curve(values: &[Option<f64>], columns: usize) -> String {
    let shown = &values[values.len().saturating_sub(columns)..];
    let largest = shown.iter().flatten().copied().fold(0.0, f64::max);
    let height = |value: &Option<f64>| match value {
        None => ' ',
        Some(value) if *value > 0.0 => {
            HEIGHTS[((value / largest * 7.0).round() as usize).clamp(1, 7)]
        }
        Some(_) => HEIGHTS[0],
    };
    shown.iter().map(height).collect()
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
