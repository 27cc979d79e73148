//! What virtual time can compute.

use crate::error::{RunnerError, bail};
use inferometer_core::api::{Answers, Api};
use inferometer_core::scenario::{Scenario, Shape, SimClock};
use inferometer_core::work::PromptSource;
use std::time::Duration;

/// Refuses what a run in virtual time cannot do.
pub fn check_computable(scenario: &Scenario) -> Result<(), RunnerError> {
    if scenario.connection.sim_clock != SimClock::Virtual {
        return Ok(());
    }
    if scenario.connection.api.answers() == Answers::Items {
        bail!(
            "--sim-clock virtual computes answers of tokens; leave it out with --api {}",
            scenario.connection.api
        );
    }
    if scenario.connection.server_traces.is_some() {
        bail!("--sim-clock virtual has no server that sends traces; leave out --server-traces");
    }
    let models = scenario.connection.model.as_ref();
    if models.is_some_and(|mix| !mix.is_one()) {
        bail!("--sim-clock virtual computes one model; name one with --model");
    }
    let work = &scenario.work;
    let is_heard = scenario.connection.api == Api::Transcriptions;
    if is_heard && matches!(work.prompts, PromptSource::Data(_)) {
        bail!(
            "--sim-clock virtual computes sounds that are made; give --audio in place of --data, as in --audio 'seconds=uniform(5,30)'"
        );
    }
    let of_text = scenario.objectives.check.is_some() || scenario.keep_text;
    if of_text || work.tools.is_some() || work.json_schema.is_some() {
        bail!(
            "--sim-clock virtual computes lengths and times, no text; leave out --check, --keep-text, --tools and --json-schema"
        );
    }
    if scenario.load.cancel.is_some() {
        bail!("--sim-clock virtual gives no request up; leave out --cancel");
    }
    if let Shape::Open {
        max_concurrency: Some(_),
        ..
    }
    | Shape::Replay {
        max_concurrency: Some(_),
        ..
    } = scenario.load.shape
    {
        bail!("--sim-clock virtual sends when requests are due; leave out --max-concurrency");
    }
    let limits = [
        ("--read-timeout", scenario.connection.read_timeout, 120),
        (
            "--request-timeout",
            scenario.connection.request_timeout,
            600,
        ),
    ];
    for (option, limit, usual) in limits {
        if limit.0 < Duration::from_secs(usual) {
            bail!("--sim-clock virtual lets every request end; leave out {option}");
        }
    }
    if !scenario.load.stop_when.is_empty() {
        bail!("--sim-clock virtual computes every request; leave out --stop-when");
    }
    if scenario.load.until.is_some() {
        bail!(
            "--sim-clock virtual computes as many requests as --requests says; leave out --until"
        );
    }
    Ok(())
}
