//! A study: what is searched, on which work and load, towards what, and for how long.

mod computed;
mod confirmation;
mod definition;
mod from_toml;
mod goal;
mod importance;
mod last_stage;
mod observations;
mod proposals;
mod requests;
mod requirement;
mod result;
mod series;
mod started;
mod template;
mod toml_errors;
mod trimming;
mod verdict;

pub use confirmation::NextStart;
pub use definition::{Budget, Engine, SearcherName, Study};
pub use from_toml::StudyError;
pub use goal::{Direction, Goal, Objective};
pub use importance::{Effect, Importance, Spread, asked_of_met, importance};
pub use last_stage::LastStage;
pub use observations::observations;
pub use requirement::{Bound, Requirement};
pub use result::{Best, FailureCount, SCHEMA, Standing, StudyResult, TrialRow};
pub use started::FreshStart;
pub use template::template;
pub use trimming::{FigureChange, NeededFlag, Trimming, changes_answers};
pub use verdict::{
    Change, ChangeEffect, Comparison, FigurePair, Finding, Gain, Refuted, StartPair, StartsInStep,
    StudyVerdict,
};
