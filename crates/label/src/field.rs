//! What the name of a number stands for.

use crate::Stat;
use crate::quantity::Unit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    Ttft,
    SecondToken,
    Tpot,
    Itl,
    MaxGap,
    E2e,
    PerUserSpeed,
    DecodeSpeed,
    InputLength,
    OutputLength,
}

impl Sample {
    pub fn is_time(self) -> bool {
        !matches!(
            self,
            Sample::PerUserSpeed | Sample::DecodeSpeed | Sample::InputLength | Sample::OutputLength
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field {
    Planned,
    Total,
    Ok,
    Failed,
    /// Failures of one kind, beside all of them or other kinds.
    Rejected,
    TimedOut,
    /// Share of the requests that were answered.
    OkShare,
    FailedShare,
    Window,
    Concurrency,
    /// A bare `Concurrency`, which SGLang prints for the mean.
    BareConcurrency,
    PeakConcurrency,
    Rate,
    InputTokens,
    OutputTokens,
    RequestsPerS,
    InputPerS,
    OutputPerS,
    TotalPerS,
    /// A speed of this sample beside the server's throughput, and else that throughput.
    Speed(Sample),
    OutputPerCard,
    Cards,
    InputCharsPerS,
    OutputCharsPerS,
    Goodput,
    /// Share of the requests that met all objectives.
    Attainment,
    InputChars,
    AskChars,
    OutputCap,
    InputSize,
    OutputSize,
    /// A number about a sample; the mean where no statistic is named.
    Of(Sample, Option<Stat>),
    /// A percentile of whatever was named before.
    Bare(Stat),
    /// Known, and without a place in a summary.
    Other,
}

impl Field {
    /// Whether it tells of what came out, not of what was asked for.
    pub fn is_result(self) -> bool {
        matches!(
            self,
            Field::RequestsPerS
                | Field::OutputPerS
                | Field::TotalPerS
                | Field::InputPerS
                | Field::OutputCharsPerS
                | Field::Speed(_)
                | Field::OutputPerCard
                | Field::Of(_, _)
                | Field::Ok
        )
    }

    pub fn is_length(self) -> bool {
        matches!(self, Field::InputSize | Field::OutputSize)
    }

    /// The sample that it is about where its numbers are statistics of single requests.
    pub fn sample(self) -> Option<Sample> {
        match self {
            Field::Of(sample, _) => Some(sample),
            Field::InputTokens | Field::InputSize => Some(Sample::InputLength),
            Field::OutputTokens | Field::OutputSize => Some(Sample::OutputLength),
            Field::OutputPerS => Some(Sample::PerUserSpeed),
            Field::Speed(sample) => Some(sample),
            _ => None,
        }
    }

    /// `Throughput: 3 requests/s` is decided by the unit.
    pub fn with_unit(self, unit: Option<Unit>) -> Field {
        match (self, unit) {
            (Field::OutputPerS | Field::TotalPerS, Some(Unit::RequestsPerSecond)) => {
                Field::RequestsPerS
            }
            (Field::OutputPerS, Some(Unit::CharsPerSecond)) => Field::OutputCharsPerS,
            (field, _) => field,
        }
    }

    pub fn takes(self, unit: Unit) -> bool {
        match self {
            Field::Of(sample, _) if sample.is_time() => unit.in_ms().is_some(),
            Field::Of(Sample::PerUserSpeed | Sample::DecodeSpeed, _)
            | Field::InputPerS
            | Field::OutputPerS
            | Field::TotalPerS
            | Field::Speed(_)
            | Field::OutputPerCard => matches!(unit, Unit::TokensPerSecond | Unit::Count),
            Field::InputCharsPerS | Field::OutputCharsPerS => {
                matches!(unit, Unit::CharsPerSecond | Unit::Count)
            }
            Field::RequestsPerS | Field::Rate | Field::Goodput => {
                matches!(unit, Unit::RequestsPerSecond | Unit::Count)
            }
            Field::Window => unit.in_ms().is_some(),
            Field::Ok
            | Field::Failed
            | Field::Rejected
            | Field::TimedOut
            | Field::OkShare
            | Field::FailedShare
            | Field::Attainment => {
                matches!(unit, Unit::Percent | Unit::Count)
            }
            Field::Bare(_) | Field::Other => true,
            _ => unit == Unit::Count,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    pub field: Field,
    /// Unit written in the label: `TTFT (ms)`, `mean_itl_ms`.
    pub unit: Option<Unit>,
}

impl Label {
    /// Whether it names the prefill, which ends with the first token.
    pub fn is_prefill(text: &str) -> bool {
        let text = text.to_lowercase();
        text.contains("prefill") || text.contains("全量")
    }
}
