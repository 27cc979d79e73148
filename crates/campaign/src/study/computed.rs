//! A study as the simulated engine can answer it.

use super::definition::Study;
use super::from_toml::StudyError;
use crate::space::Space;
use crate::trial::TrialLog;
use inferometer_catalog::engine::flag;

impl Study {
    /// The study of a log. `computed`: what the trials say of themselves, where the log does not.
    pub fn of_log(log: &TrialLog, computed: bool) -> Result<Study, StudyError> {
        let study: Study = log.header.study.parse()?;
        let bed = log.header.bed.as_ref();
        Ok(if bed.map_or(computed, |bed| bed.computed) {
            study.computed()
        } else {
            study
        })
    }

    /// The study in virtual time. Flags that the simulated engine accepts and does not act on are
    /// left as the engine has them, unless there are no others: it does the same with any value.
    pub fn computed(mut self) -> Study {
        let table = flag::table(self.engine.kind());
        let is_modelled = |name: &str| table.iter().any(|flag| flag.name == name && flag.modelled);
        let names = self.space.dimensions().iter().map(|it| it.name.clone());
        self.unmodelled = names.filter(|name| !is_modelled(name)).collect();
        let derived = self.space.derived().to_vec();
        let followed: Vec<&str> = (derived.iter())
            .flat_map(|it| it.expression.names())
            .collect();
        let mut searched = self.space.dimensions().to_vec();
        searched.retain(|it| !self.unmodelled.contains(&it.name) || followed.contains(&&*it.name));
        if let Ok(space) = Space::new(searched, derived.clone()) {
            self.space = space;
        }
        self
    }
}
