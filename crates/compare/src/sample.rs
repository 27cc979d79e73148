//! One run as a comparison sees it.

use super::metric::Metric;
use super::series::Series;
use super::short_run::ShortRun;
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::point::Point;
use inferometer_core::record::Record;
use inferometer_core::scenario::{Scenario, Shape, SimClock};
use inferometer_core::summary::Summary;
use std::collections::BTreeMap;

/// Whose definitions hold where no tool is named.
pub(crate) const OURS: &str = "inferometer";

/// One run: where it was measured, its figures, and its requests where they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSample {
    /// Where it is, for a reader; empty where that is its group.
    pub name: String,
    pub point: Point,
    pub summary: Summary,
    pub definition: Definition,
    pub system: System,
    /// How many requests its figures are of; absent where nobody says.
    pub answered: Option<u64>,
    /// Doubts of another tool's result that no run of ours can have.
    pub foreign_doubts: Vec<ForeignDoubt>,
    /// The Chinese of what doubts of another tool's result say, and of their remedies, by the English:
    /// two doubts may have one code.
    pub in_chinese: BTreeMap<String, String>,
    /// Figures of another tool's result that others of it contradict: nothing is decided by them.
    pub contradicted: Vec<Metric>,
    /// The requests; absent for an import, which then says nothing about its own noise.
    pub series: Option<Series>,
}

/// A doubt about another tool's result.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignDoubt {
    pub code: String,
    pub severity: Severity,
    pub text: String,
    pub remedy: String,
}

/// A doubt about a run, whoever states it.
pub(crate) struct RunDoubt<'a> {
    pub(crate) code: &'a str,
    pub(crate) severity: Severity,
    pub(crate) text: &'a str,
    pub(crate) remedy: &'a str,
}

/// What was measured, for a reader: nothing is decided by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    pub model: Option<String>,
    /// The card; how many there are is among the tags.
    pub device: Option<String>,
    /// The simulated engine answered, whatever tags say.
    pub is_simulated: bool,
}

/// What figures must have in common to be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    /// The tool whose definitions hold; absent for ours.
    pub tool: Option<String>,
    /// What was sent, as the options say it; absent where that is not known.
    pub work: Option<String>,
    /// The seed of its prompts and arrivals; absent where that is not known.
    pub seed: Option<u64>,
    pub streamed: Option<bool>,
    /// Whether latency counts from a planned arrival.
    pub from_due: Option<bool>,
    /// Whether it was computed in virtual time rather than measured.
    pub computed: bool,
}

impl Definition {
    /// Of a run of ours.
    pub fn of(scenario: &Scenario) -> Self {
        Definition {
            tool: None,
            work: toml::to_string(&scenario.options().work).ok(),
            seed: Some(scenario.seed),
            streamed: Some(scenario.connection.stream),
            from_due: Some(!matches!(scenario.load.shape, Shape::Closed { .. })),
            computed: scenario.connection.sim_clock == SimClock::Virtual,
        }
    }
}

impl RunSample {
    /// A run of ours that belongs to no sweep; set `point` for one that does.
    pub fn new(
        scenario: &Scenario,
        summary: Summary,
        records: impl IntoIterator<Item = Record>,
    ) -> Self {
        RunSample {
            name: String::new(),
            point: Point::of_load(&scenario.load),
            answered: Some(summary.requests.ok),
            summary,
            definition: Definition::of(scenario),
            system: System::default(),
            foreign_doubts: Vec::new(),
            in_chinese: BTreeMap::new(),
            contradicted: Vec::new(),
            series: Some(Series::of_records(records)),
        }
    }

    /// A result of another tool, of which only figures are known; set `answered` where the summary
    /// does not account for its requests and their number is known all the same.
    pub fn imported(tool: &str, point: Point, summary: Summary) -> Self {
        RunSample {
            name: String::new(),
            point,
            answered: Some(summary.requests.ok).filter(|count| *count > 0),
            summary,
            definition: Definition {
                tool: Some(tool.to_owned()),
                ..Definition::default()
            },
            system: System::default(),
            foreign_doubts: Vec::new(),
            in_chinese: BTreeMap::new(),
            contradicted: Vec::new(),
            series: None,
        }
    }

    /// Whose definitions hold.
    pub(crate) fn tool(&self) -> &str {
        self.definition.tool.as_deref().unwrap_or(OURS)
    }

    pub(crate) fn doubts(&self) -> impl Iterator<Item = RunDoubt<'_>> {
        let own = self.summary.doubts.iter().map(|doubt| RunDoubt {
            code: doubt.code.into_str(),
            severity: doubt.severity,
            text: &doubt.text,
            remedy: &doubt.remedy,
        });
        own.chain(self.foreign_doubts.iter().map(|doubt| RunDoubt {
            code: &doubt.code,
            severity: doubt.severity,
            text: &doubt.text,
            remedy: &doubt.remedy,
        }))
    }

    /// Doubts that make it invalid.
    pub(crate) fn invalid_by(&self) -> impl Iterator<Item = RunDoubt<'_>> {
        self.doubts().filter(|it| it.severity == Severity::Invalid)
    }

    /// Whether it is invalid by what the server did, whoever measured it.
    pub(crate) fn server_failed(&self) -> bool {
        let failures = DoubtCode::Failures.into_str();
        let by_another = |it: RunDoubt<'_>| it.code == failures;
        self.summary.server_failed() || self.invalid_by().any(by_another)
    }

    /// Whether it is the same run once more: computed twice with one seed, or copied. Measured
    /// runs never agree to the last digit.
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        match (&self.series, &other.series) {
            (Some(own), Some(others)) => own.has_times_of(others),
            (None, None) => {
                (&self.summary.latency, &self.summary.throughput)
                    == (&other.summary.latency, &other.summary.throughput)
            }
            _ => false,
        }
    }

    /// As one that lacks an interval.
    pub(crate) fn as_short(&self) -> ShortRun<'_> {
        let is_closed = match self.definition.from_due {
            Some(from_due) => !from_due,
            None => !self.point.is_open_loop(),
        };
        ShortRun {
            summary: &self.summary,
            streams: self.summary.concurrency.configured.filter(|_| is_closed),
        }
    }

    pub(crate) fn input_chars_mean(&self) -> Option<f64> {
        self.series.as_ref()?.input_chars_mean
    }
}
