//! A study: the best launch flags of an engine, by trials that start it.

mod driver;
mod external_searcher;
mod given_rules;
mod journal;
mod prior;
mod test_bed;
mod trial;

pub use driver::{Finish, NewObserver, StudyDriver};
pub use given_rules::GivenRules;
pub use journal::{Journal, read};
pub use prior::read as read_prior;
pub use test_bed::{Slot, TestBed};
pub use trial::check as check_measurable;

use crate::error::{RunnerError, bail};
use inferometer_campaign::space::Rules;
use inferometer_campaign::study::{SearcherName, Study};
use inferometer_campaign::trial::Level;
use inferometer_text::secret::{Secrets, command_secrets, without_secrets};

/// A study as it may be stored and shown: without the secrets of its command.
pub fn without_secrets_of(study: &Study, text: &str) -> String {
    let words = study.engine.command.to_words();
    let mut secrets = Secrets::default();
    for secret in command_secrets(&words) {
        secrets.add(&secret);
    }
    let plain = without_secrets(&words);
    let changed = words
        .iter()
        .zip(&plain)
        .filter(|(word, plain)| word != plain);
    let text = changed.fold(text.to_owned(), |text, (word, plain)| {
        text.replace(word, plain)
    });
    secrets.redact(&text)
}

/// Refuses what no trial could mend.
pub fn check(study: &Study) -> Result<(), RunnerError> {
    if !study.levels.contains(&Level::Capacity) {
        return Ok(());
    }
    if matches!(study.searcher, SearcherName::Halving(_)) {
        bail!(
            "[search] halving races at fixed loads; give [load] concurrency, or another searcher"
        );
    }
    let places = ["value", "low", "high", "requests_spent"];
    for objective in &study.goal.objectives {
        let path = &objective.path;
        if !places.contains(&path.as_str()) && !path.starts_with("confirmed.") {
            bail!(
                "[goal] '{path}' is not a figure of a capacity; give \"value\", the highest rate that meets the SLOs, or \"confirmed.{path}\""
            );
        }
    }
    Ok(())
}

/// Refuses a space in which the engine takes no point, before anything is started.
pub fn check_space(study: &Study, rules: &dyn Rules) -> Result<(), RunnerError> {
    match study.space.legal_point(rules) {
        Ok(_) => Ok(()),
        Err(none) => bail!("[space] {none}"),
    }
}
