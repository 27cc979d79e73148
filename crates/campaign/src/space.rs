//! The space of a search: which flags may take which values, which follow from others, and
//! which settings the engine would refuse.

mod definition;
mod domain;
mod from_toml;
mod grid;
mod legal;
mod preset;
mod rules;
mod starting_points;
mod value;

pub use definition::{Derived, Dimension, Space, SpaceError};
pub use domain::{Coordinate, Domain, DomainError, Edge, Spacing};
pub use from_toml::DomainSpec;
pub use legal::{NoLegalPoint, RefusedValue};
pub use preset::{PRESETS, Preset};
pub use rules::{
    Admission, FlagRules, KeyRules, NoRules, Rules, command_with, config_with, value_in,
};
pub use starting_points::starting_points;
pub use value::{Point, Value};
