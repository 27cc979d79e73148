//! Objectives: limits that each request must meet, or that a percentile of the run must.

use crate::record::Record;
use crate::units::Span;
use crate::value::serde_as_text;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// One objective: `ttft=500ms` (every request), `ttft.p99=1s` (the run's percentile) or `job=30s`
/// (every session).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slo {
    pub metric: SloMetric,
    /// Over which part of the run.
    pub scope: SloScope,
    /// The limit; meeting it exactly is meeting it.
    pub limit: Span,
}

/// Latencies that can be limited.
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SloMetric {
    Ttft,
    /// Time to the first token that is not reasoning.
    FirstAnswer,
    /// Time per output token.
    Tpot,
    /// Gap between tokens; for a single request, its mean gap.
    Itl,
    MaxGap,
    E2e,
    /// Time of a whole session, from the start of its first turn to its last answer.
    Job,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SloScope {
    /// Every request; the share that meets all such objectives is the attainment.
    Request,
    /// Every session, likewise.
    Session,
    /// The run's percentile, in percent.
    Percentile(f64),
    Mean,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not an objective; write METRIC=TIME or METRIC.pNN=TIME, as in ttft=500ms or tpot.p99=50ms (metrics: ttft, first-answer, tpot, itl, max-gap, e2e, and job for whole sessions)"
)]
pub struct BadSlo(String);

impl FromStr for Slo {
    type Err = BadSlo;

    fn from_str(text: &str) -> Result<Self, BadSlo> {
        let bad = || BadSlo(text.to_owned());
        let (name, limit) = text.trim().split_once('=').ok_or_else(bad)?;
        let limit: Span = limit.parse().map_err(|_| bad())?;
        let (metric, scope) = match name.trim().split_once('.') {
            None => (name.trim(), SloScope::Request),
            Some((metric, "mean")) => (metric, SloScope::Mean),
            Some((metric, "median")) => (metric, SloScope::Percentile(50.0)),
            Some((metric, percentile)) => {
                let percent: f64 = percentile
                    .strip_prefix('p')
                    .and_then(|number| number.parse().ok())
                    .filter(|percent| (0.0..100.0).contains(percent))
                    .ok_or_else(bad)?;
                (metric, SloScope::Percentile(percent))
            }
        };
        let metric = metric.trim().parse().map_err(|_| bad())?;
        let scope = match (metric, scope) {
            (SloMetric::Job, SloScope::Request) => SloScope::Session,
            (_, scope) => scope,
        };
        Ok(Slo {
            metric,
            scope,
            limit,
        })
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.metric)?;
        match self.scope {
            SloScope::Request | SloScope::Session => {}
            SloScope::Percentile(percent) => write!(f, ".p{percent}")?,
            SloScope::Mean => f.write_str(".mean")?,
        }
        write!(f, "={}", self.limit)
    }
}

serde_as_text!(Slo);

impl SloMetric {
    /// The metric of one request; absent where the request has none.
    pub fn of(self, record: &Record) -> Option<Duration> {
        match self {
            SloMetric::Ttft => record.ttft(),
            SloMetric::FirstAnswer => record.first_answer(),
            SloMetric::Tpot => record.tpot(),
            SloMetric::Itl => {
                let gaps = record
                    .chunks
                    .len()
                    .checked_sub(1)
                    .filter(|&gaps| gaps > 0)?;
                Some(record.gaps().sum::<Duration>() / u32::try_from(gaps).ok()?)
            }
            SloMetric::MaxGap => record.max_gap(),
            SloMetric::E2e => record.e2e(),
            SloMetric::Job => None,
        }
    }
}

impl Slo {
    /// Whether it is about sessions: no single request can tell.
    pub fn is_of_sessions(&self) -> bool {
        self.metric == SloMetric::Job
    }

    /// Whether a request is known to meet this objective.
    pub fn met_by(&self, record: &Record) -> bool {
        self.verdict(record) == Some(true)
    }

    /// Whether a request meets this objective; absent where that cannot be told. A request
    /// that was not answered misses it, and so does a stream whose first token never came. A
    /// gap that an answer of one token cannot have is no miss; a gap that nobody could see (no
    /// stream, no count of tokens) is neither.
    pub fn verdict(&self, record: &Record) -> Option<bool> {
        if self.is_of_sessions() {
            return None;
        }
        if !record.is_done() {
            return Some(false);
        }
        if let Some(value) = self.metric.of(record) {
            return Some(value <= self.limit.0);
        }
        let one_token = record.output_tokens().is_some_and(|tokens| tokens <= 1);
        let one_chunk = record.streamed && record.chunks.len() <= 1;
        match self.metric {
            SloMetric::E2e => Some(false),
            SloMetric::Ttft | SloMetric::FirstAnswer => record.streamed.then_some(false),
            SloMetric::Tpot => one_token.then_some(true),
            SloMetric::Itl | SloMetric::MaxGap => (one_token || one_chunk).then_some(true),
            SloMetric::Job => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Chunks, Outcome, Usage};
    use crate::units::Offset;

    #[test]
    fn objectives_read_back_as_written() {
        let texts =
            "ttft=500ms ttft.p99=1s tpot.p99.9=50ms e2e.mean=10s max-gap=2s job=30s job.p95=1m";
        for text in texts.split(' ') {
            assert_eq!(text.parse::<Slo>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in " ttft ttft=500 speed=1s ttft.p101=1s ttft.p99".split(' ') {
            let message = text.parse::<Slo>().unwrap_err().to_string();
            assert!(message.contains("ttft=500ms"), "{message}");
        }
    }

    fn verdict(slo: &str, change: impl Fn(&mut Record)) -> Option<bool> {
        let chunks: Vec<Offset> = (5..13).map(|tick| Offset(tick * 10_000_000)).collect();
        let mut record = Record {
            sent: Some(Offset(0)),
            first_byte: chunks.first().copied(),
            first_answer: chunks.first().copied(),
            end: chunks.last().copied(),
            chunks: Chunks {
                same_read: vec![false; chunks.len()],
                at: chunks,
                tokens: None,
            },
            outcome: Outcome::Done,
            usage: Some(Usage {
                output: Some(8),
                ..Usage::default()
            }),
            streamed: true,
            ..Record::default()
        };
        change(&mut record);
        slo.parse::<Slo>().unwrap().verdict(&record)
    }

    #[test]
    fn what_nobody_could_see_is_neither_met_nor_missed() {
        let no_usage = |record: &mut Record| record.usage = None;
        let whole = |record: &mut Record| {
            record.streamed = false;
            record.chunks = Default::default();
            record.first_answer = None;
        };
        assert_eq!(verdict("tpot=1h", |_| {}), Some(true));
        assert_eq!(verdict("tpot=1h", no_usage), None);
        assert_eq!(verdict("itl=1h", no_usage), Some(true));
        for metric in ["tpot", "itl", "max-gap", "ttft", "first-answer"] {
            assert_eq!(verdict(&format!("{metric}=1h"), whole), None, "{metric}");
        }
        assert_eq!(verdict("e2e=1h", whole), Some(true));
    }

    #[test]
    fn an_answer_of_one_token_has_no_gap_that_could_be_too_long() {
        let one = |record: &mut Record| {
            record.usage.as_mut().unwrap().output = Some(1);
            record.chunks.at.truncate(1);
        };
        for slo in ["tpot=1us", "itl=1us", "max-gap=1us"] {
            assert_eq!(verdict(slo, one), Some(true), "{slo}");
        }
        // Eight tokens in one chunk came at some speed, and nobody knows at which.
        let one_chunk = |record: &mut Record| record.chunks.at.truncate(1);
        assert_eq!(verdict("tpot=1h", one_chunk), None);
        assert_eq!(verdict("max-gap=1us", one_chunk), Some(true));
    }

    #[test]
    fn a_stream_without_any_token_misses_the_first() {
        let empty = |record: &mut Record| {
            record.chunks = Default::default();
            record.first_answer = None;
        };
        assert_eq!(verdict("ttft=1h", empty), Some(false));
    }

    #[test]
    fn a_failed_request_misses_every_objective() {
        let slo: Slo = "tpot=1h".parse().unwrap();
        assert!(!slo.met_by(&Record::default()));
    }
}
