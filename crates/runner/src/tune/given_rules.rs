//! What the user knows of an engine beside what we know.

use crate::error::{Context as _, RunnerError};
use inferometer_campaign::space::{Admission, Point, Rules, Space, value_in};
use inferometer_campaign::study::Engine;
use inferometer_engine::FlagRule;

/// Rules of the user, asked after those of the engine.
pub struct GivenRules {
    engine: Engine,
    given: Vec<FlagRule>,
    known: Box<dyn Rules>,
}

impl GivenRules {
    /// The user's rules about an engine, with those that are known anyway.
    pub fn new(engine: &Engine, known: Box<dyn Rules>) -> Result<GivenRules, RunnerError> {
        let given = engine.rules.iter().map(|text| text.parse::<FlagRule>());
        Ok(GivenRules {
            engine: engine.clone(),
            given: given.collect::<Result<_, _>>().context("[engine] rules")?,
            known,
        })
    }

    fn broken_by(&self, space: &Space, point: &Point) -> Option<Admission> {
        let flags = space.flags(point).ok()?;
        let words = self.engine.command_with(&flags).to_words();
        self.given.iter().find_map(|rule| {
            Some(Admission::Refused {
                flag: rule.flag().to_owned(),
                because: rule.broken_by(&words)?,
            })
        })
    }
}

impl Rules for GivenRules {
    fn admit(&self, space: &Space, point: Point) -> Admission {
        let admitted = self.known.admit(space, point);
        let broken = match &admitted {
            Admission::Legal(point) | Admission::Repaired { point, .. } => {
                self.broken_by(space, point)
            }
            Admission::Refused { .. } => None,
        };
        broken.unwrap_or(admitted)
    }

    fn defaults(&self, space: &Space) -> Point {
        self.values(space, &Point::default())
    }

    fn values(&self, space: &Space, flags: &Point) -> Point {
        let mut values = self.known.values(space, flags);
        // What the command sets and the flags do not replace is what a trial runs with.
        let names = space.dimensions().iter().map(|it| &it.name);
        for name in names.filter(|name| !flags.0.contains_key(*name)) {
            if let Some(value) = value_in(&self.engine.command, name) {
                values.0.insert(name.clone(), value);
            }
        }
        values
    }
}
