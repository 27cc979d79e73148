//! `--otlp`: a finished run, sent to an OpenTelemetry collector.

use anyhow::{Context, bail};
use inferometer_dialect::otlp::Exported;
use inferometer_fetch::{Access, Client};
use inferometer_runner::measure::{Measured, records};
use inferometer_store::run_dir::instant;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest that one message may take.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
pub struct OtlpOptions {
    /// Send a span for each request and histograms to this OpenTelemetry collector (HTTP) at the
    /// end, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL", help_heading = "Output")]
    pub otlp: Option<String>,
}

/// Whether the run has just been measured here, by the clocks of this moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    Now,
    Earlier,
}

impl OtlpOptions {
    pub fn check(&self) -> anyhow::Result<()> {
        let is_web = |url: &&String| url.starts_with("http://") || url.starts_with("https://");
        match self.otlp.as_ref().filter(|url| !is_web(url)) {
            Some(url) => bail!(
                "--otlp {url}: give the address of a collector that listens to HTTP, such as http://127.0.0.1:4318"
            ),
            None => Ok(()),
        }
    }

    /// Sends the run, where that was asked for.
    pub fn send(&self, run: &Measured, when: When) -> anyhow::Result<()> {
        let Some(url) = &self.otlp else {
            return Ok(());
        };
        let records = records(&run.directory)?;
        let name = run.directory.path().file_name().unwrap_or_default();
        let exported = Exported {
            records: &records,
            scenario: &run.scenario,
            environment: &run.environment,
            origin_ns: match when {
                When::Now => origin_by_clocks(run.environment.origin_monotonic_ns),
                When::Earlier => instant(&run.environment.started)
                    .and_then(|started| u64::try_from(started).ok())
                    .context("the run does not say when it began")?,
            },
            name: &name.to_string_lossy(),
        };
        let client = Client::for_server(Access::default(), PATIENCE)?;
        let base = url.trim_end_matches('/');
        let traces = exported.traces().map(|message| ("traces", message));
        for (kind, message) in traces.chain([("metrics", exported.metrics())]) {
            let reply = client.post_protobuf(&format!("{base}/v1/{kind}"), &message);
            let reply = reply.with_context(|| format!("--otlp: {kind} were not taken"))?;
            if !(200..300).contains(&reply.status) {
                bail!(
                    "--otlp: the collector answered {} to {base}/v1/{kind}; is that its address for OTLP over HTTP (often port 4318)?",
                    reply.status
                );
            }
        }
        Ok(())
    }
}

/// Wall time of a moment of the monotonic clock, in nanoseconds since 1970.
fn origin_by_clocks(monotonic_ns: u64) -> u64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    let ago = now.saturating_sub(Duration::from_nanos(monotonic_ns));
    let origin = wall.unwrap_or_default().saturating_sub(ago);
    u64::try_from(origin.as_nanos()).unwrap_or(u64::MAX)
}
