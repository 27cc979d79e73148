//! Objectives: limits that each request must meet, or that a percentile of the run must.

use crate::record::Record;
use crate::units::Span;
use crate::value::serde_as_text;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// One objective: `ttft=500ms` (every request), `ttft.p99=1s` (the run's percentile), `job=30s`
/// (every session) or `per_user>=20tok/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slo {
    pub metric: SloMetric,
    /// Over which part of the run.
    pub scope: SloScope,
    /// The limit; meeting it exactly is meeting it. Of a speed the time that a token may take.
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
    /// The speed of one user, as the time of an answer, its first token included, by its tokens: so
    /// all objectives are upper limits of times, and a percentile is that of the slow end.
    #[strum(to_string = "per_user", serialize = "per-user")]
    PerUser,
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
    "'{0}' is not an objective; write METRIC=TIME or METRIC.pNN=TIME, as in ttft=500ms or tpot.p99=50ms (metrics: ttft, first-answer, tpot, itl, max-gap, e2e, and job for whole sessions), or per_user>=20tok/s for the speed of one user"
)]
pub struct BadSlo(String);

impl FromStr for Slo {
    type Err = BadSlo;

    fn from_str(text: &str) -> Result<Self, BadSlo> {
        let bad = || BadSlo(text.to_owned());
        let (name, limit) = text.trim().split_once('=').ok_or_else(bad)?;
        let (name, is_least) = match name.strip_suffix('>') {
            Some(name) => (name.trim(), true),
            None => (name.trim(), false),
        };
        let (metric, scope) = match name.split_once('.') {
            None => (name, SloScope::Request),
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
        let limit = match metric {
            SloMetric::PerUser => time_of(limit).ok_or_else(bad)?,
            _ if is_least => return Err(bad()),
            _ => limit.parse().map_err(|_| bad())?,
        };
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
        match self.speed_of(1e3 * self.limit.0.as_secs_f64()) {
            Some(speed) => write!(f, ">={speed}tok/s"),
            None => write!(f, "={}", self.limit),
        }
    }
}

/// The time of a token at a speed: `20tok/s`.
fn time_of(speed: &str) -> Option<Span> {
    let speed = speed.trim();
    let mut units = ["tokens/s", "tok/s"].iter();
    let number = units.find_map(|unit| speed.strip_suffix(unit));
    let speed: f64 = number.unwrap_or(speed).trim().parse().ok()?;
    let time = Duration::try_from_secs_f64(1.0 / speed).ok()?;
    (!time.is_zero()).then_some(Span(time))
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
            SloMetric::PerUser => {
                let tokens = record.output_tokens().filter(|tokens| *tokens > 0)?;
                Some(record.e2e()? / tokens)
            }
            SloMetric::Job => None,
        }
    }
}

impl Slo {
    /// Whether it is about sessions: no single request can tell.
    pub fn is_of_sessions(&self) -> bool {
        self.metric == SloMetric::Job
    }

    /// Tokens per second of what is told in milliseconds for each, where this limits a speed; without
    /// the digits that a limit in nanoseconds does not have.
    pub fn speed_of(&self, ms: f64) -> Option<f64> {
        let speed = format!("{:.5e}", 1e3 / ms).parse().ok()?;
        (self.metric == SloMetric::PerUser).then_some(speed)
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
            SloMetric::PerUser | SloMetric::Job => None,
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
        let times =
            "ttft=500ms ttft.p99=1s tpot.p99.9=50ms e2e.mean=10s max-gap=2s job=30s job.p95=1m";
        let speeds = "per_user>=20tok/s per_user.p99>=33.3tok/s per_user.mean>=0.7tok/s";
        for text in times.split(' ').chain(speeds.split(' ')) {
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
    fn a_user_is_served_at_a_speed_or_faster() {
        // 8 tokens in 120 ms: 66.7 tok/s.
        for (slo, met) in [
            ("per_user>=66tok/s", Some(true)),
            ("per_user=66", Some(true)),
            ("per-user>= 67 tokens/s", Some(false)),
        ] {
            assert_eq!(verdict(slo, |_| {}), met, "{slo}");
        }
        let untold = verdict("per_user>=1tok/s", |record| record.usage = None);
        assert_eq!(untold, None, "nobody counted its tokens");
        for text in [
            "ttft>=1s",
            "per_user=50ms",
            "per_user>=0tok/s",
            "per_user>=-1",
        ] {
            assert!(text.parse::<Slo>().is_err(), "{text}");
        }
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
