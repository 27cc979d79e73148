//! The requests of one run as columns: what pictures show, and whether two runs are one.

use super::metric::Column;
use inferometer_core::record::Record;
use std::time::Duration;

/// Complete answers of a run in the order of their starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    ttft_ms: Vec<f64>,
    tpot_ms: Vec<f64>,
    e2e_ms: Vec<f64>,
    completed: Vec<u64>,
    /// Times of each answer by its number in the run, in the order of the numbers.
    numbered: Vec<Numbered>,
    /// Mean characters of the prompts.
    pub(crate) input_chars_mean: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Numbered {
    number: u64,
    ttft_ms: Option<f64>,
    tpot_ms: Option<f64>,
    e2e_ms: Option<f64>,
}

struct Answer {
    number: u64,
    start: u64,
    completed: u64,
    ttft_ms: Option<f64>,
    tpot_ms: Option<f64>,
    e2e_ms: Option<f64>,
    input_chars: u64,
}

impl Series {
    /// From the records of a run, in any order; warm-up and what was not answered is left out.
    /// Failures are in the summary.
    pub fn of_records(records: impl IntoIterator<Item = Record>) -> Self {
        let measured = records.into_iter().filter(Record::is_measured);
        let mut answers: Vec<Answer> = measured.filter_map(|it| Answer::of(&it)).collect();
        answers.sort_unstable_by_key(|answer| answer.start);
        let column = |value: fn(&Answer) -> Option<f64>| answers.iter().filter_map(value).collect();
        let mut numbered: Vec<Numbered> = (answers.iter())
            .map(|answer| Numbered {
                number: answer.number,
                ttft_ms: answer.ttft_ms,
                tpot_ms: answer.tpot_ms,
                e2e_ms: answer.e2e_ms,
            })
            .collect();
        numbered.sort_unstable_by_key(|answer| answer.number);
        let chars: f64 = answers.iter().map(|answer| answer.input_chars as f64).sum();
        Series {
            ttft_ms: column(|answer| answer.ttft_ms),
            tpot_ms: column(|answer| answer.tpot_ms),
            e2e_ms: column(|answer| answer.e2e_ms),
            completed: answers.iter().map(|answer| answer.completed).collect(),
            numbered,
            input_chars_mean: (!answers.is_empty()).then(|| chars / answers.len() as f64),
        }
    }

    /// One answer after the other.
    #[cfg(test)]
    pub(crate) fn of_latencies(e2e_ms: Vec<f64>) -> Self {
        let numbered = (0..).zip(&e2e_ms).map(|(number, &ms)| Numbered {
            number,
            ttft_ms: None,
            tpot_ms: None,
            e2e_ms: Some(ms),
        });
        Series {
            numbered: numbered.collect(),
            completed: e2e_ms.iter().map(|ms| (ms * 1e6) as u64).collect(),
            e2e_ms,
            ..Series::default()
        }
    }

    /// Times to first token in milliseconds, in the order of the starts.
    pub fn ttft_ms(&self) -> &[f64] {
        &self.ttft_ms
    }

    /// Times per output token, likewise.
    pub fn tpot_ms(&self) -> &[f64] {
        &self.tpot_ms
    }

    pub fn e2e_ms(&self) -> &[f64] {
        &self.e2e_ms
    }

    pub(crate) fn answers(&self) -> usize {
        self.numbered.len()
    }

    /// The times of requests that both runs answered, by their numbers.
    pub(crate) fn paired(&self, other: &Self, column: Column) -> Vec<[f64; 2]> {
        let time = |answer: &Numbered| match column {
            Column::Ttft => answer.ttft_ms,
            Column::Tpot => answer.tpot_ms,
            Column::E2e => answer.e2e_ms,
            Column::MaxGap | Column::Rtf => None,
        };
        let mut others = other.numbered.iter().peekable();
        let mut pairs = Vec::new();
        for own in &self.numbered {
            while others.next_if(|other| other.number < own.number).is_some() {}
            let partner = others.next_if(|other| other.number == own.number);
            pairs.extend(partner.and_then(|other| Some([time(own)?, time(other)?])));
        }
        pairs
    }

    /// Whether every request took the same time and ended at the same moment.
    pub(crate) fn has_times_of(&self, other: &Self) -> bool {
        !self.e2e_ms.is_empty() && self.e2e_ms == other.e2e_ms && self.completed == other.completed
    }
}

impl Answer {
    fn of(record: &Record) -> Option<Self> {
        let ms = |span: Option<Duration>| span.map(|span| span.as_secs_f64() * 1e3);
        record.is_done().then_some(())?;
        Some(Answer {
            number: record.index,
            start: record.start()?.0,
            completed: record.completed()?.0,
            ttft_ms: ms(record.ttft().filter(|_| record.streamed)),
            tpot_ms: ms(record.tpot()),
            e2e_ms: ms(record.e2e()),
            input_chars: record.input_chars,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_columns_and_what_was_not_answered_is_left_out() {
        let mut made_up = inferometer_analysis::fold::testing::MadeUp::closed(4, 400);
        made_up.records[0].stage = inferometer_core::record::Stage::Warmup;
        made_up.records[1].outcome = inferometer_core::record::Outcome::Cut;
        let run = Series::of_records(made_up.records);
        assert_eq!((run.ttft_ms.len(), run.completed.len()), (398, 398));
        assert_eq!(run.input_chars_mean, Some(1000.0));
        assert!(run.ttft_ms.iter().all(|&ms| (40.0..=60.0).contains(&ms)));
        assert!(run.has_times_of(&run.clone()) && !run.has_times_of(&Series::default()));
    }
}
