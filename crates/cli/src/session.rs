//! What the environment says, read once for the runner.

use anyhow::Context;
use inferometer_runner::Session;
use inferometer_text::Lang;
use std::path::PathBuf;
use std::sync::Arc;

pub fn session(lang: Lang) -> anyhow::Result<Arc<Session>> {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Arc::new(Session {
        lang,
        program: std::env::current_exe().context("cannot find this program's own file")?,
        variables: variables.collect(),
    }))
}

/// Our folder in the user's cache; absent on a host without a home.
pub fn cache_folder() -> Option<PathBuf> {
    session(Lang::En).ok()?.cache_folder()
}
