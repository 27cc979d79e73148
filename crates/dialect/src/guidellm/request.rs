//! One request as the tool sees it. Times are seconds of the run.

use crate::{GoodputMetric, input_tokens, start};
use inferometer_core::record::{Outcome, Record};
use inferometer_core::units::Offset;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Successful,
    Errored,
    /// Stopped at the end of the run.
    Incomplete,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) status: Status,
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) due: Option<f64>,
    first: Option<f64>,
    first_output: Option<f64>,
    last: Option<f64>,
    /// Messages of all kinds, and those with text.
    pub(super) messages: f64,
    texts: usize,
    pub(super) prompt: f64,
    output: Option<f64>,
    /// It does not go on a conversation.
    pub(super) is_first_turn: bool,
}

impl Request {
    pub(super) fn of(record: &Record) -> Self {
        let seconds = |at: Offset| at.0 as f64 / 1e9;
        let begin = start(record);
        let texts = record.chunks.at.len();
        let counted = record.output_tokens().map(f64::from);
        let end = record.end.max(record.completed()).unwrap_or(begin);
        Request {
            status: match record.outcome {
                Outcome::Done => Status::Successful,
                Outcome::Cut => Status::Incomplete,
                Outcome::Failed(_) | Outcome::Cancelled => Status::Errored,
            },
            start: seconds(begin),
            end: seconds(end),
            due: record.due.map(seconds),
            first: record.first_token().map(seconds),
            first_output: (record.first_answer.or(record.first_token())).map(seconds),
            last: record.last_token().map(seconds),
            messages: (texts + record.bare.len()) as f64,
            texts,
            prompt: f64::from(input_tokens(record)),
            // Tokens that nobody counted are the messages with text.
            output: counted.or((texts > 0).then_some(texts as f64)),
            is_first_turn: record.turn.is_none_or(|turn| turn == 0),
        }
    }

    pub(super) fn output(&self) -> f64 {
        self.output.unwrap_or(0.0)
    }

    /// Only an answer has one.
    pub(super) fn latency(&self) -> Option<f64> {
        (self.status == Status::Successful).then_some(self.end - self.start)
    }

    pub(super) fn ttft_ms(&self) -> Option<f64> {
        Some((self.first? - self.start) * 1e3)
    }

    pub(super) fn first_output_ms(&self) -> Option<f64> {
        Some((self.first_output? - self.start) * 1e3)
    }

    /// From the start to the last token, by tokens, and how many these are.
    pub(super) fn per_token_ms(&self) -> (f64, f64) {
        let output = self.output();
        let took = (self.last.unwrap_or(self.end) - self.start) * 1e3;
        let each = if output > 0.0 { took / output } else { 0.0 };
        (each, output)
    }

    fn between_ms(&self) -> Option<f64> {
        let further = self.output? - 1.0;
        let took = (self.last? - self.first?) * 1e3;
        (further > 0.0).then(|| took / further)
    }

    /// With the number of gaps; absent where no token was seen.
    pub(super) fn gap_ms(&self) -> Option<(f64, f64)> {
        self.first?;
        let gaps = self.output.unwrap_or(1.0) - 1.0;
        Some((self.between_ms().unwrap_or(0.0), gaps))
    }

    pub(super) fn prompt_at(&self) -> (f64, f64) {
        (self.first.unwrap_or(self.end), self.prompt)
    }

    /// Tokens after the first, as if the messages had come evenly.
    pub(super) fn further_at(&self) -> Vec<(f64, f64)> {
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return Vec::new();
        };
        let steps = self.texts.saturating_sub(1) as f64;
        let further = self.output() - 1.0;
        if steps < 1.0 || further <= 0.0 {
            return Vec::new();
        }
        let at = |step: usize| first + (last - first) * step as f64 / steps;
        (1..self.texts)
            .map(|step| (at(step), further / steps))
            .collect()
    }

    pub(super) fn output_at(&self) -> Vec<(f64, f64)> {
        match self.first.filter(|_| self.texts > 1) {
            Some(first) => {
                let one = if self.output() > 0.0 { 1.0 } else { 0.0 };
                let mut all = vec![(first, one)];
                all.extend(self.further_at());
                all
            }
            None => vec![(self.last.unwrap_or(self.end), self.output())],
        }
    }

    /// Whether it meets all objectives; unknown where it lacks what one is about.
    pub(super) fn meets(&self, objectives: &[(GoodputMetric, f64)]) -> Option<bool> {
        let within = objectives.iter().map(|(metric, limit_ms)| {
            let value = match metric {
                GoodputMetric::Ttft => self.ttft_ms(),
                GoodputMetric::Tpot => self.between_ms(),
                GoodputMetric::E2el => self.latency().map(|latency| latency * 1e3),
            };
            Some(value? <= *limit_ms)
        });
        let within: Option<Vec<bool>> = within.collect();
        within.map(|within| within.into_iter().all(|met| met))
    }
}
