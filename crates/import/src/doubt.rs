//! Reasons to distrust an imported result, in the words of the judge of runs.

mod wording;

use crate::doubt_texts::ImportDoubtText as Text;
use inferometer_core::doubt::Severity;
use inferometer_text::Lang;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ImportDoubtCode {
    LostRequests,
    /// Requests/s × latency is far below the concurrency.
    ShrunkConcurrency,
    Failures,
    /// A printed percentile lacks its least sample.
    FewSamples,
    /// Most answers end at one length.
    OutputCapped,
    AllAtOnce,
    /// Accounts of requests that could not be read.
    UnreadAccounts,
    /// Fewer requests/s were completed than offered.
    Overload,
    /// More requests came than at the rate that was asked for.
    OtherRate,
    /// Answers of another length than those of the same ask.
    OutputLengths,
    NotStreamed,
    /// Percentiles are equal to the last digit.
    NotADistribution,
    DisorderedPercentiles,
    InconsistentImport,
    /// The author of the notes says that he does not trust it.
    DoubtedByAuthor,
    /// We called it INVALID when we wrote it.
    MarkedInvalid,
}

impl ImportDoubtCode {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatedImportDoubt {
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub code: ImportDoubtCode,
    pub severity: Severity,
    pub text: String,
    pub remedy: String,
}

/// A number that a result gives again under another name or with another value; the first is
/// kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatedNumber {
    /// The name of the second.
    pub name: String,
    /// The first, in the unit of a summary.
    pub kept: f64,
    /// The second.
    #[serde(rename = "passed_over")]
    pub ignored: f64,
}

/// What lines of a log beside a result say of requests that failed or were refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToldFailures {
    pub requests: u64,
    /// The first of these lines.
    pub sample: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ImportDoubt {
    LostRequests {
        missing: u64,
        planned: u64,
        ended: u64,
        /// Requests reported as failed; absent where the tool reports none at all.
        failed: Option<u64>,
    },
    Failures {
        failed: u64,
        all: u64,
        severity: Severity,
    },
    /// Failures of a number of requests that is not stated.
    FailuresOfUnknown {
        failed: u64,
    },
    /// Too many failures, of which only the share is known.
    FailedShare {
        share: f64,
        severity: Severity,
    },
    /// A number is given twice, and not the same.
    RepeatedNumber(RepeatedNumber),
    /// The mean time to first token is above the mean latency.
    FirstAfterEnd {
        ttft_ms: f64,
        e2e_ms: f64,
        severity: Severity,
    },
    ShrunkConcurrency {
        in_flight: f64,
        configured: f64,
        expected: f64,
    },
    /// Fewer requests than streams.
    IdleStreams {
        requests: f64,
        configured: f64,
    },
    /// The note itself says that it does not count.
    SaidVoid {
        remark: String,
    },
    /// The note itself says that it is not to be trusted.
    SaidDoubtful {
        remark: String,
    },
    /// The same numbers as of another engine, card or command.
    Copied {
        /// Of the other.
        lines: (u64, u64),
        other: String,
    },
    /// Answers far shorter or longer than those of the same ask beside them; tokens of both.
    OtherAnswers {
        mean: f64,
        others: f64,
    },
    NotStreamed,
    NotADistribution {
        metric: &'static str,
    },
    /// A percentile is below one of a lower rank; each with its rank.
    DisorderedPercentiles {
        metric: &'static str,
        lower: (String, f64),
        upper: (String, f64),
    },
    /// A latency in another unit than those of the loads beside it; all in milliseconds.
    OffLadder {
        metric: &'static str,
        value: f64,
        beside: [f64; 2],
    },
    /// A number does not follow from the others; each with its name.
    Contradiction {
        printed: (Text, f64),
        from: (Text, f64),
        /// Invalid where no rounding and no other count explains it.
        severity: Severity,
    },
    /// Results of one load and setting that are too far apart for repeats.
    UnlikeRepeats {
        load: String,
        /// Of both.
        lines: [(u64, u64); 2],
        name: String,
        values: [f64; 2],
    },
    /// Lines beside it tell of failed requests that it does not count.
    ToldFailures(ToldFailures),
    OutputCapped {
        cap: f64,
    },
    FewSamples {
        count: u64,
        /// The percentiles, in percent.
        ranks: Vec<f64>,
        /// Requests that are enough for all of them.
        least: u64,
    },
    AllAtOnce,
    OtherRate {
        asked: f64,
        sent: f64,
    },
    Overload {
        /// Requests/s.
        offered: f64,
        done: f64,
    },
    UnreadAccounts {
        names: Vec<String>,
    },
    /// A table's column is not what the block below it says.
    TableContradicts {
        /// First and last line of the block.
        lines: (u64, u64),
        /// Name, the table's value, the block's.
        differences: Vec<(String, f64, f64)>,
        /// These are percentiles that the block gives as one number.
        is_copied: bool,
    },
    /// Mean lengths differ by a whole number of tokens.
    TokenOffset {
        mean: f64,
        offset: f64,
        base: f64,
    },
    HeadingNumber {
        number: u64,
    },
    /// A switch is not as the heading says.
    HeadingSwitch {
        /// `enable` or `disable`.
        word: &'static str,
        /// As the command has it.
        given: bool,
    },
    HeadingConcurrency {
        heading: u64,
        configured: u64,
    },
    /// Two percentiles that are equal at several loads of a table.
    CopiedPercentile {
        metric: &'static str,
        lower: String,
        upper: String,
        /// At all of them.
        is_whole: bool,
    },
    HeadingLength {
        is_output: bool,
        heading: f64,
        mean: f64,
    },
    MarkedInvalid {
        /// Of its doubts.
        codes: String,
    },
}

impl ImportDoubt {
    pub fn code(&self) -> ImportDoubtCode {
        use ImportDoubtCode as Code;
        match self {
            ImportDoubt::LostRequests { .. } => Code::LostRequests,
            ImportDoubt::Failures { .. }
            | ImportDoubt::FailuresOfUnknown { .. }
            | ImportDoubt::FailedShare { .. }
            | ImportDoubt::ToldFailures(_) => Code::Failures,
            ImportDoubt::ShrunkConcurrency { .. } | ImportDoubt::IdleStreams { .. } => {
                Code::ShrunkConcurrency
            }
            ImportDoubt::NotStreamed => Code::NotStreamed,
            ImportDoubt::NotADistribution { .. } | ImportDoubt::CopiedPercentile { .. } => {
                Code::NotADistribution
            }
            ImportDoubt::DisorderedPercentiles { .. } => Code::DisorderedPercentiles,
            ImportDoubt::OutputCapped { .. } => Code::OutputCapped,
            ImportDoubt::FewSamples { .. } => Code::FewSamples,
            ImportDoubt::AllAtOnce => Code::AllAtOnce,
            ImportDoubt::OtherRate { .. } => Code::OtherRate,
            ImportDoubt::OtherAnswers { .. } => Code::OutputLengths,
            ImportDoubt::Overload { .. } => Code::Overload,
            ImportDoubt::UnreadAccounts { .. } => Code::UnreadAccounts,
            ImportDoubt::MarkedInvalid { .. } | ImportDoubt::SaidVoid { .. } => Code::MarkedInvalid,
            ImportDoubt::SaidDoubtful { .. } => Code::DoubtedByAuthor,
            ImportDoubt::Contradiction { .. }
            | ImportDoubt::OffLadder { .. }
            | ImportDoubt::RepeatedNumber(_)
            | ImportDoubt::FirstAfterEnd { .. }
            | ImportDoubt::UnlikeRepeats { .. }
            | ImportDoubt::TableContradicts { .. }
            | ImportDoubt::Copied { .. }
            | ImportDoubt::TokenOffset { .. }
            | ImportDoubt::HeadingNumber { .. }
            | ImportDoubt::HeadingSwitch { .. }
            | ImportDoubt::HeadingLength { .. }
            | ImportDoubt::HeadingConcurrency { .. } => Code::InconsistentImport,
        }
    }

    /// Whether it is what the note itself says.
    pub(crate) fn is_said(&self) -> bool {
        matches!(
            self,
            ImportDoubt::SaidDoubtful { .. } | ImportDoubt::SaidVoid { .. }
        )
    }

    /// Figures that it says are not to be compared by, as keys of a summary or their beginnings.
    pub fn contradicted(&self) -> Vec<String> {
        let rate = |name: &Text| match name {
            Text::OutputThroughput => Some("throughput.output_tokens_per_s"),
            Text::TotalThroughput => Some("throughput.total_tokens_per_s"),
            Text::Qps | Text::QpsTimesOutput => Some("throughput.requests_per_s"),
            _ => None,
        };
        let keys = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect();
        match self {
            ImportDoubt::Contradiction { printed, from, .. } => {
                let rates = [rate(&printed.0), rate(&from.0)];
                keys(&Vec::from_iter(rates.into_iter().flatten()))
            }
            ImportDoubt::FirstAfterEnd { .. } => keys(&["latency.ttft_ms", "latency.e2e_ms"]),
            ImportDoubt::OffLadder { metric, .. } => vec![format!("latency.{metric}")],
            ImportDoubt::DisorderedPercentiles { metric, .. } => {
                vec![format!("latency.{metric}.p")]
            }
            ImportDoubt::CopiedPercentile {
                metric,
                lower,
                upper,
                ..
            } => [lower, upper]
                .map(|it| format!("latency.{metric}.{it}"))
                .into(),
            // All begin with nothing.
            ImportDoubt::SaidDoubtful { .. } => vec![String::new()],
            _ => Vec::new(),
        }
    }

    pub fn severity(&self) -> Severity {
        match self {
            ImportDoubt::Failures { severity, .. }
            | ImportDoubt::FailedShare { severity, .. }
            | ImportDoubt::FirstAfterEnd { severity, .. }
            | ImportDoubt::Contradiction { severity, .. } => *severity,
            ImportDoubt::Copied { .. } => Severity::Invalid,
            _ => match self.code() {
                ImportDoubtCode::LostRequests
                | ImportDoubtCode::ShrunkConcurrency
                | ImportDoubtCode::MarkedInvalid => Severity::Invalid,
                ImportDoubtCode::OutputCapped
                | ImportDoubtCode::FewSamples
                | ImportDoubtCode::AllAtOnce => Severity::Note,
                _ => Severity::Warn,
            },
        }
    }

    pub fn stated(&self, lang: Lang) -> StatedImportDoubt {
        let (text, values, remedy) = self.wording(lang);
        StatedImportDoubt {
            code: self.code(),
            severity: self.severity(),
            text: text.with(lang, &values),
            remedy: remedy.with(lang, &values),
        }
    }
}
