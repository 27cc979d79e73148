//! What the environment says, read once for the runner.

use anyhow::Context;
use inferometer_runner::Session;
use inferometer_text::Lang;
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
