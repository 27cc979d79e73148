//! The server's own view beside the client's: found before the run, read while it goes on, summed
//! up with it.

use crate::error::{Context as _, RunnerError, bail};
use crate::keys::Keys;
use inferometer_analysis::server::{explain, summarize};
use inferometer_core::environment::Ending;
use inferometer_core::record::Record;
use inferometer_core::scenario::{Connection, ServerMetrics};
use inferometer_core::server::{Evidence, Explained, Sample, ServerSummary, Spans};
use inferometer_core::summary::Summary;
use inferometer_engine::{Access, Client, Devices, Watch, WatchPlan, discover, engine_state};
use inferometer_load::http::Target;
use inferometer_store::run_dir::RunDir;
use std::net::ToSocketAddrs;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Longest look for metrics that nobody asked for.
const GLANCE: Duration = Duration::from_millis(300);

/// Longest look for metrics at an address that was given.
const LOOK: Duration = Duration::from_secs(5);

const EVERY: Duration = Duration::from_secs(1);

/// The tail that is explained, in percent.
const TAIL: f64 = 99.0;

/// Records are held in memory to be explained; more than this would be too many.
pub const MOST_EXPLAINED: u64 = 100_000;

/// A look for metrics, on a thread of its own so that the run need not wait for it.
pub struct MetricsSearch {
    access: Access,
    found: Receiver<Found>,
    limit: Duration,
}

struct Found {
    metrics: String,
    devices: Devices,
}

impl MetricsSearch {
    /// Begins to look; absent where nothing is to be watched.
    pub fn begin(
        connection: &Connection,
        targets: &[Target],
        keys: &Keys,
    ) -> Result<Option<MetricsSearch>, RunnerError> {
        let access = keys.access(connection)?;
        // What several servers say cannot be told apart from what one says, and a server behind
        // a proxy is not to be asked past it.
        let only = match targets {
            [only] if connection.proxy.is_none() => Some(only.clone()),
            _ => None,
        };
        let (sender, found) = mpsc::channel();
        let limit = match (&connection.server_metrics, only) {
            (ServerMetrics::Off, _) | (ServerMetrics::Auto, None) => return Ok(None),
            (ServerMetrics::At(url), target) => {
                let client = Client::for_server(access.clone(), LOOK)?;
                let reply = client.get(url).context("--server-metrics")?;
                if engine_state(&reply.body).is_none() {
                    bail!(
                        "--server-metrics {url} has none of the metrics of vLLM, SGLang, MindIE, llama.cpp or TGI; check the address, or leave it out"
                    );
                }
                let metrics = url.clone();
                std::thread::spawn(move || {
                    let devices = target.map_or(Devices::None, |target| devices_of(&target));
                    let _ = sender.send(Found { metrics, devices });
                });
                LOOK
            }
            (ServerMetrics::Auto, Some(target)) => {
                let access = access.clone();
                std::thread::spawn(move || {
                    let client = Client::for_server(access, GLANCE).ok()?;
                    let metrics = discover(&client, &target.to_string())?;
                    let devices = devices_of(&target);
                    sender.send(Found { metrics, devices }).ok()
                });
                GLANCE
            }
        };
        Ok(Some(MetricsSearch {
            access,
            found,
            limit,
        }))
    }

    /// Watches what was found, if it was found in time.
    pub fn watch(self, directory: &RunDir, origin_monotonic_ns: u64) -> Option<Watch> {
        let found = self.found.recv_timeout(self.limit).ok()?;
        std::fs::create_dir_all(directory.server_path()).ok()?;
        let plan = WatchPlan {
            origin_monotonic_ns,
            every: EVERY,
            metrics: Some(found.metrics),
            access: self.access,
            devices: found.devices,
            samples: directory.samples_path(),
        };
        // A measurement does not fail because nobody looks on.
        Watch::start(plan).ok()
    }
}

/// Those of this host, where the server is on it. The tool that shows them is looked for later:
/// it may take longer than a glance.
fn devices_of(target: &Target) -> Devices {
    let addresses = (target.host.as_str(), target.port).to_socket_addrs();
    if addresses.is_ok_and(|mut all| all.all(|address| address.ip().is_loopback())) {
        Devices::OfThisHost
    } else {
        Devices::None
    }
}

/// The server's view of a run, with what its slowest requests waited for where the records of a
/// run that is not too large are given.
pub fn server_view(
    samples: &[Sample],
    spans: &Spans,
    records: &[Record],
    ending: &Ending,
    summary: &Summary,
) -> Option<ServerSummary> {
    let from = ending.measured_from;
    let window = Duration::from_secs_f64(summary.window_s.unwrap_or_default().clamp(0.0, 1e9));
    let seen = summarize(samples, from, from + window);
    let mut view = seen.or_else(|| (!spans.is_empty()).then(ServerSummary::default))?;
    if !records.is_empty() {
        let explained = [Explained::Ttft, Explained::E2e]
            .into_iter()
            .filter_map(|of| explain(records, samples, spans, of, TAIL))
            .filter(|explanation| {
                explanation.main().is_some()
                    || !explanation.evidence.contains(&Evidence::ServerSilent)
            });
        view.slowest = explained.collect();
    }
    Some(view)
}
