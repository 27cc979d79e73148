//! A load point that is ready to be measured.

use super::simulate::check_computable;
use crate::error::{RunnerError, bail};
use crate::keys::Keys;
use crate::launch::Flags;
use crate::observer::Observer;
use crate::session::Session;
use crate::work;
use inferometer_core::check::Check;
use inferometer_core::environment::StartedEngine;
use inferometer_core::options::Options;
use inferometer_core::scenario::Scenario;
use inferometer_load::http::url::{REDACTED, Target};
use inferometer_load::recorder::Watch;
use std::path::PathBuf;

pub struct Point {
    /// The command as it was typed, without secrets; empty for a part of something else.
    pub typed: Vec<String>,
    pub scenario: Scenario,
    /// Where its data lie on this machine, if it has any.
    pub data: Option<PathBuf>,
    /// The servers; none means the embedded engine.
    pub targets: Vec<Target>,
    pub keys: Keys,
    /// What to do about the cache of earlier requests.
    pub cache: PrefixCache,
    /// Who wants to see each record when it is complete.
    pub watch: Option<Watch>,
    /// Flags of the engine that is started for it, in place of its command's own.
    pub flags: Flags,
    pub engine: Option<StartedEngine>,
    /// Whether usage is asked for with each chunk, as at an earlier point of the same server:
    /// points are to be compared.
    pub chunk_usage: Option<bool>,
}

/// The server's prefix cache before a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixCache {
    Kept,
    /// Emptied, where the server offers that.
    Emptied,
}

impl Point {
    /// Resolves what was typed: keys read, data brought here, everything checked.
    pub fn prepare(
        mut options: Options,
        cache: PrefixCache,
        session: &Session,
        observer: &mut dyn Observer,
    ) -> Result<Point, RunnerError> {
        let targets: Vec<Target> = (options.connection.url.iter().flatten())
            .map(|url| Target::parse(url))
            .collect::<Result<_, _>>()?;
        let keys = Keys::read(&options, &targets, session)?;
        let stored = |target: &&Target| target.query_secrets().any(|secret| secret == REDACTED);
        if let Some(url) = targets.iter().find(stored) {
            bail!("{url} was stored without its secret; give the URL again on the command line");
        }
        // A password in a URL must not reach scenario.toml.
        if let Some(urls) = &mut options.connection.url {
            *urls = targets.iter().map(ToString::to_string).collect();
        }
        let data = work::localize(&mut options, session, observer)?;
        options.objectives.check = options.objectives.check.map(Check::absolute);
        for file in [&mut options.work.tools, &mut options.work.json_schema] {
            *file = (file.take()).map(|file| std::path::absolute(&file).unwrap_or(file));
        }
        let scenario = options.resolve()?;
        check_computable(&scenario)?;
        Ok(Point {
            typed: Vec::new(),
            scenario,
            data,
            targets,
            keys,
            cache,
            watch: None,
            flags: Flags::new(),
            engine: None,
            chunk_usage: None,
        })
    }
}
