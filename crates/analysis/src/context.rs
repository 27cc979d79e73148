//! What a run is judged by, besides its records.

use inferometer_core::environment::{Ending, Environment};
use inferometer_core::scenario::Scenario;
use inferometer_text::Lang;

#[derive(Clone, Copy, Debug)]
pub struct RunContext<'a> {
    pub scenario: &'a Scenario,
    pub environment: &'a Environment,
    pub ending: &'a Ending,
    pub lang: Lang,
}
