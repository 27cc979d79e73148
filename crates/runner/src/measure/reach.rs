//! The way to the servers, and what they understand.

use super::structured::Form;
use crate::error::{Context as _, RunnerError};
use crate::keys::Keys;
use crate::observer::{Event, Observer};
use crate::session::Session;
use crate::work::{self, WorkJobs};
use inferometer_core::scenario::{Connection, Scenario};
use inferometer_core::work::{LengthPairs, Output, PromptSource, SyntheticLengths, Work};
use inferometer_load::api::RequestOptions;
use inferometer_load::connect::{Network, TlsSettings};
use inferometer_load::exchange::Timeouts;
use inferometer_load::http::Target;
use inferometer_load::preflight::{
    PreflightRequest, PreflightStep, ServerProfile, preflight, unreachable,
};
use inferometer_load::setup::{Job, Jobs};
use inferometer_text::secret::Secrets;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A server may take so long before anybody is told that it is waited for.
const SILENT_FOR: Duration = Duration::from_secs(2);

/// Learns what the servers understand, without a run.
pub async fn look_at(
    scenario: &Scenario,
    targets: Vec<Target>,
    keys: &Keys,
    session: &Session,
    observer: &mut dyn Observer,
) -> Result<ServerProfile, RunnerError> {
    let workload = work::open(scenario, None, None, session)?;
    let sample = WorkJobs::new(Arc::new(workload), scenario).job(0, 0);
    look(scenario, targets, keys, sample, None, observer).await
}

/// Learns what the servers understand.
pub async fn look(
    scenario: &Scenario,
    targets: Vec<Target>,
    keys: &Keys,
    sample: Job,
    chunk_usage: Option<bool>,
    observer: &mut dyn Observer,
) -> Result<ServerProfile, RunnerError> {
    let connection = &scenario.connection;
    let networks = networks(connection, &targets, &keys.secrets).await?;
    let (steps, heard) = watch::channel(None);
    let request = PreflightRequest {
        targets,
        networks,
        api: connection.api,
        raw: connection.raw.clone(),
        models: (connection.model.iter())
            .flat_map(|mix| mix.names().map(str::to_owned))
            .collect(),
        headers: keys.headers.clone(),
        options: ask(connection, &scenario.work)?,
        content: sample.content,
        media: sample.media,
        as_token_ids: scenario.work.as_token_ids,
        longest: longest(&scenario.work),
        limit: sample.output_tokens,
        chunk_usage,
        timeouts: timeouts(connection),
        secrets: keys.secrets.clone(),
        steps,
    };
    Ok(tell_of_waiting(preflight(request), heard, observer).await?)
}

/// Tells what the preflight waits for, once it has waited for a while.
async fn tell_of_waiting<T>(
    asking: impl Future<Output = T>,
    mut heard: watch::Receiver<Option<PreflightStep>>,
    observer: &mut dyn Observer,
) -> T {
    let mut asking = std::pin::pin!(asking);
    let mut begun = Instant::now();
    loop {
        // Whoever asks has dropped its end of the channel only when it is done.
        tokio::select! {
            done = &mut asking => return done,
            Ok(()) = heard.changed() => begun = Instant::now(),
            () = tokio::time::sleep(SILENT_FOR) => {
                if let Some(step) = &*heard.borrow() {
                    let since = begun.elapsed();
                    observer.event(Event::WaitingForServer { step, since });
                }
            }
        }
    }
}

/// The ways to the servers, with TLS where one wants it.
pub async fn networks(
    connection: &Connection,
    targets: &[Target],
    secrets: &Secrets,
) -> Result<Vec<Network>, RunnerError> {
    let settings = TlsSettings {
        ca: connection.ca.clone(),
        client: connection
            .client_cert
            .clone()
            .zip(connection.client_key.clone()),
        insecure: connection.insecure,
    };
    let tls = if targets.iter().any(|target| target.tls) {
        Some(settings.connector()?)
    } else {
        None
    };
    let proxy = connection
        .proxy
        .as_deref()
        .map(Target::parse)
        .transpose()
        .context("--proxy")?;
    let mut networks = Vec::new();
    for target in targets {
        let network = Network::resolve(
            target.clone(),
            proxy.clone(),
            tls.clone(),
            connection.connect_timeout.0,
        )
        .await
        .map_err(|failure| unreachable(&target.to_string(), &failure, secrets))?;
        networks.push(network.from_sources(&connection.source_addresses));
    }
    Ok(networks)
}

/// What is asked for, before the preflight takes away what is not understood.
pub fn ask(connection: &Connection, work: &Work) -> Result<RequestOptions, RunnerError> {
    let mut extra = Form::of_work(work)?.fields();
    extra.extend(
        work.extra
            .clone()
            .map(|object| object.0)
            .unwrap_or_default(),
    );
    Ok(RequestOptions {
        model: String::new(),
        stream: connection.stream,
        stream_usage: true,
        chunk_usage: false,
        ignore_eos: work.ignore_eos,
        min_tokens: work.min_tokens,
        limit_field: Default::default(),
        temperature: work.temperature,
        top_p: work.top_p,
        stop: work.stop.clone(),
        extra,
    })
}

/// Prompt and output tokens of the longest request, where they have a bound.
fn longest(work: &Work) -> Option<(u32, u32)> {
    let PromptSource::Synthetic(synthetic) = &work.prompts else {
        return None;
    };
    let output = match &work.output {
        Output::Tokens(spec) => spec.longest(),
        Output::AtMost(limit) => Some(*limit),
        Output::FromWork | Output::Free => None,
    };
    match &synthetic.lengths {
        SyntheticLengths::Input(spec) => Some((spec.longest()?, output?)),
        SyntheticLengths::Pairs(LengthPairs::Listed(pairs)) => {
            let longest = pairs.iter().max_by_key(|pair| pair.input + pair.output)?;
            Some((longest.input, longest.output))
        }
        SyntheticLengths::Pairs(LengthPairs::File(_)) => None,
    }
}

pub fn timeouts(connection: &Connection) -> Timeouts {
    Timeouts {
        read: connection.read_timeout.0,
        request: connection.request_timeout.0,
    }
}

/// A health probe is no generation; it need not wait as long.
pub fn health_timeouts(connection: &Connection) -> Timeouts {
    let longest = Duration::from_secs(10);
    Timeouts {
        read: connection.read_timeout.0.min(longest),
        request: connection.request_timeout.0.min(longest),
    }
}
