//! A searcher outside of this program: JSON lines on its stdin and stdout.
//!
//! The tuner writes one `study`, then a `tell` for every trial that ended, also those of an
//! earlier run, then `ask`s. The searcher answers each `ask` with one line, a `point` or
//! `finished`; a `tell` is not answered. `docs/optuna-searcher.py` is an example.

use super::ask::{Observation, Outcome};
use crate::space::{Point, Space, Value};
use serde::{Deserialize, Serialize};

pub const FORM: &str = "inferometer.searcher/1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ToSearcher {
    Study {
        /// `inferometer.searcher/1`.
        form: String,
        space: Vec<SearchedFlag>,
        /// How many objectives each measured trial has; larger is always better.
        objectives: usize,
        seed: u64,
    },
    Tell(TrialReport),
    Ask {
        /// What is being tried now.
        pending: Vec<Point>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchedFlag {
    pub flag: String,
    pub ordered: bool,
    /// Its values, or those of a grid where there are too many to list.
    pub values: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialReport {
    pub point: Point,
    pub outcome: TrialReportOutcome,
    /// What is wanted, larger is better; empty unless it was measured.
    pub objectives: Vec<f64>,
    /// By how much the SLOs were missed; 0 where they were met, absent unless it was measured.
    pub violation: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TrialReportOutcome {
    Measured,
    Dominated,
    /// The engine did not start or did not survive, or its rules refused the point.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FromSearcher {
    Point {
        /// A value of its domain for each searched flag.
        point: Point,
    },
    /// Nothing is left to try.
    Finished,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the searcher answered '{line}', which is neither a point nor finished: {why}")]
    Unreadable { line: String, why: String },
    #[error(
        "the searcher proposed {0}, which is not in the space; give each searched flag one of its values"
    )]
    OutOfSpace(String),
}

/// Most of a line that an error shows.
const SHOWN: usize = 200;

pub fn study(space: &Space, objectives: usize, seed: u64) -> ToSearcher {
    let searched = space.dimensions().iter().map(|dimension| SearchedFlag {
        flag: dimension.name.clone(),
        ordered: !dimension.domain.is_unordered(),
        values: dimension.domain.levels(),
    });
    ToSearcher::Study {
        form: FORM.to_owned(),
        space: searched.collect(),
        objectives,
        seed,
    }
}

impl From<&Observation> for TrialReport {
    fn from(observation: &Observation) -> Self {
        let (outcome, objectives, violation) = match &observation.outcome {
            Outcome::Measured {
                objectives,
                violation,
            } => (
                TrialReportOutcome::Measured,
                objectives.clone(),
                Some(*violation),
            ),
            Outcome::Dominated => (TrialReportOutcome::Dominated, Vec::new(), None),
            Outcome::Failed => (TrialReportOutcome::Failed, Vec::new(), None),
        };
        TrialReport {
            point: observation.point.clone(),
            outcome,
            objectives,
            violation,
        }
    }
}

impl ToSearcher {
    /// As a line, with its end.
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("names and finite numbers");
        line.push('\n');
        line
    }
}

/// The point of an answer, or `None` where the searcher has finished.
pub fn answer(space: &Space, line: &str) -> Result<Option<Point>, AnswerError> {
    let shown = || -> String {
        let printable = line.chars().filter(|character| !character.is_control());
        printable.take(SHOWN).collect()
    };
    match serde_json::from_str(line) {
        Ok(FromSearcher::Finished) => Ok(None),
        Ok(FromSearcher::Point { point }) if space.contains(&point) => Ok(Some(point)),
        Ok(FromSearcher::Point { .. }) => Err(AnswerError::OutOfSpace(shown())),
        Err(error) => Err(AnswerError::Unreadable {
            line: shown(),
            why: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Dimension, Domain, Spacing};
    use proptest::prelude::*;

    fn space() -> Space {
        let seqs = Domain::int(16, 64, Spacing::Log(Some(2.0))).unwrap();
        let dimensions = [("seqs", seqs), ("eager", Domain::bool())];
        let dimensions = dimensions.map(Dimension::from);
        Space::new(dimensions.to_vec(), Vec::new()).unwrap()
    }

    #[test]
    fn the_lines_are_those_of_the_documentation() {
        assert_eq!(
            study(&space(), 1, 7).line(),
            r#"{"type":"study","form":"inferometer.searcher/1","space":[{"flag":"eager","ordered":false,"values":[false,true]},{"flag":"seqs","ordered":true,"values":[16,32,64]}],"objectives":1,"seed":7}
"#
        );
        let crashed = Observation {
            point: space().at([0.0, 0.0]),
            outcome: Outcome::Failed,
        };
        assert_eq!(
            ToSearcher::Tell(TrialReport::from(&crashed)).line(),
            r#"{"type":"tell","point":{"eager":false,"seqs":16},"outcome":"failed","objectives":[],"violation":null}
"#
        );
        let asked = ToSearcher::Ask {
            pending: Vec::new(),
        };
        assert_eq!(asked.line(), "{\"type\":\"ask\",\"pending\":[]}\n");
    }

    #[test]
    fn an_answer_is_a_point_of_the_space_or_the_end() {
        let point = answer(
            &space(),
            r#"{"type":"point","point":{"seqs":32,"eager":true}}"#,
        );
        assert_eq!(point.unwrap().unwrap().to_string(), "eager=true seqs=32");
        assert_eq!(answer(&space(), r#"{"type":"finished"}"#), Ok(None));
        for bad in [
            r#"{"type":"point","point":{"seqs":33,"eager":true}}"#,
            r#"{"type":"point","point":{"seqs":32}}"#,
        ] {
            assert!(
                matches!(answer(&space(), bad), Err(AnswerError::OutOfSpace(_))),
                "{bad}"
            );
        }
        let said = answer(&space(), "Traceback").unwrap_err().to_string();
        assert!(said.contains("Traceback"), "{said}");
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(line in any::<String>()) {
            let _ = answer(&space(), &line);
        }
    }
}
