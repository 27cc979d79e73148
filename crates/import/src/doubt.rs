//! Reasons to distrust an imported result, in the words of the judge of runs.

use inferometer_core::doubt::Severity;
use serde::{Serialize, Serializer};

/// Kinds of doubt that an import can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Fewer requests ended than were expected.
    LostRequests,
    /// Requests a second × latency is far below the concurrency.
    ShrunkConcurrency,
    /// Too many failures.
    Failures,
    /// A printed percentile lacks its least sample.
    FewSamples,
    /// Most answers end at one value.
    OutputCapped,
    /// All requests started together.
    AllAtOnce,
    /// TTFT equals latency.
    NotStreamed,
    /// Percentiles are equal to the last digit.
    NotADistribution,
    /// Latency percentiles fall.
    DisorderedPercentiles,
    /// Numbers contradict each other.
    InconsistentImport,
}

impl Code {
    /// Its word in files.
    pub fn name(self) -> &'static str {
        match self {
            Code::LostRequests => "lost-requests",
            Code::ShrunkConcurrency => "shrunk-concurrency",
            Code::Failures => "failures",
            Code::FewSamples => "few-samples",
            Code::OutputCapped => "output-capped",
            Code::AllAtOnce => "all-at-once",
            Code::NotStreamed => "not-streamed",
            Code::NotADistribution => "not-a-distribution",
            Code::DisorderedPercentiles => "disordered-percentiles",
            Code::InconsistentImport => "inconsistent-import",
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A doubt about an imported result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportDoubt {
    /// Its code.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen.
    pub text: String,
    /// What to do.
    pub remedy: String,
}

impl ImportDoubt {
    pub(crate) fn new(code: Code, severity: Severity, text: String, remedy: &str) -> Self {
        ImportDoubt {
            code,
            severity,
            text,
            remedy: remedy.to_owned(),
        }
    }
}
