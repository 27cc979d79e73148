//! Reasons to distrust an imported result, in the words of the judge of runs.

use inferometer_core::doubt::Severity;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    /// All of them.
    pub const ALL: [Code; 10] = [
        Code::LostRequests,
        Code::ShrunkConcurrency,
        Code::Failures,
        Code::FewSamples,
        Code::OutputCapped,
        Code::AllAtOnce,
        Code::NotStreamed,
        Code::NotADistribution,
        Code::DisorderedPercentiles,
        Code::InconsistentImport,
    ];

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

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let code = Code::ALL.into_iter().find(|code| code.name() == name);
        code.ok_or_else(|| serde::de::Error::custom(format!("'{name}' is no doubt known here")))
    }
}

/// A doubt about an imported result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
