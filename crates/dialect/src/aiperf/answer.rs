//! One answered request as the tool sees it.

use crate::{GoodputMetric, all_messages, millis, start};
use inferometer_core::record::Record;
use inferometer_core::units::Offset;

/// Share of the length asked for, in percent, and tokens, from which on an answer's length is
/// another one.
const LENGTH_TOLERANCE: (f64, f64) = (5.0, 50.0);

#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) record: &'a Record,
    pub(super) start: Offset,
    /// Its last message with text.
    pub(super) end: Offset,
    /// Its last message of any kind, until which it is under way.
    pub(super) closed: Offset,
    pub(super) first: Option<Offset>,
    pub(super) input: Option<f64>,
    pub(super) output: Option<f64>,
}

impl<'a> Answer<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        let start = start(record);
        let last = record.last_token().or(record.end);
        Answer {
            record,
            start,
            end: last.unwrap_or(start),
            closed: last
                .max(all_messages(record).last().copied())
                .unwrap_or(start),
            first: record.first_token(),
            input: record
                .input_tokens()
                .or(record.input_tokens_asked)
                .map(f64::from),
            output: record.output_tokens().map(f64::from),
        }
    }

    pub(super) fn latency(&self) -> f64 {
        millis(self.end.since(self.start))
    }

    pub(super) fn ttft(&self) -> Option<f64> {
        Some(millis(self.first?.since(self.start)))
    }

    pub(super) fn decoding(&self) -> Option<f64> {
        Some(millis(self.end.since(self.first?)))
    }

    pub(super) fn itl(&self) -> Option<f64> {
        let further = self.output? - 1.0;
        self.decoding()
            .filter(|_| further > 0.0)
            .map(|time| time / further)
    }

    /// Whether something came before what is its answer.
    pub(super) fn reasons(&self) -> bool {
        let answer = self.record.first_answer;
        answer.is_some_and(|answer| self.first != Some(answer))
    }

    /// By how much of the length asked for its own differs, in percent.
    pub(super) fn mismatch(&self) -> Option<f64> {
        let asked = f64::from(self.record.output_tokens_asked?);
        let differs = (self.output? - asked) / asked * 100.0;
        (asked > 0.0).then_some(differs)
    }

    pub(super) fn is_mismatch(&self) -> bool {
        let (percent, tokens) = LENGTH_TOLERANCE;
        let asked = self.record.output_tokens_asked.map(f64::from);
        asked.zip(self.output).is_some_and(|(asked, output)| {
            (output - asked).abs() > (asked * percent / 100.0).min(tokens)
        })
    }

    /// Whether it meets all objectives; one that it has no value for it does not meet.
    pub(super) fn is_good(&self, objectives: &[(GoodputMetric, f64)]) -> bool {
        objectives.iter().all(|(metric, limit_ms)| {
            let value = match metric {
                GoodputMetric::Ttft => self.ttft(),
                GoodputMetric::Tpot => self.itl(),
                GoodputMetric::E2el => Some(self.latency()),
            };
            value.is_some_and(|value| value <= *limit_ms)
        })
    }
}
