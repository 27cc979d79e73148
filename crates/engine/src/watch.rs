//! Watching while a measurement runs: the engine's metrics, the devices and the host, each at
//! its own pace on its own thread, stamped on the run's clock and stored as they come.

use crate::device::DeviceTool;
use crate::host::{read_cpu_times, read_memory};
use crate::metrics::engine_state;
use inferometer_core::server::Sample;
use inferometer_core::units::Offset;
use inferometer_fetch::{Access, Client, FetchError};
use inferometer_store::error::StorageError;
use inferometer_store::samples_file::SampleWriter;
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The tools of drivers take long and load the host.
const DEVICES_EVERY: Duration = Duration::from_secs(1);

/// An answer that takes longer is missed; the next look comes all the same.
const SCRAPE_LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// The run's origin on CLOCK_MONOTONIC.
    pub origin_monotonic_ns: u64,
    /// Time between two looks at the engine and the host; 200 ms to 1 s is sensible.
    pub every: Duration,
    /// Where the engine's metrics are.
    pub metrics: Option<String>,
    pub access: Access,
    pub devices: Devices,
    /// Where the samples go, as `RunDir::samples_path` says.
    pub samples: PathBuf,
}

#[derive(Clone, Debug)]
pub enum Devices {
    None,
    /// Those of this host, if it has a tool that shows them; to find it may take seconds.
    OfThisHost,
}

/// A watch under way. Dropping it ends it, after one more look at everything.
#[derive(Debug)]
pub struct Watch {
    ends: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    origin_monotonic_ns: u64,
    /// Absent once it has failed: a full disk ends the storing, never the measurement.
    writer: Mutex<Option<SampleWriter>>,
}

impl Shared {
    fn now(&self) -> Offset {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
        let ns = seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Offset(ns.saturating_sub(self.origin_monotonic_ns))
    }

    fn store(&self, sample: &Sample) {
        // A thread that panicked while it held the lock left whole lines behind.
        let mut kept = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = (kept.take()).and_then(|mut writer| writer.push(sample).ok().map(|()| writer));
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The given certificates are not usable.
    #[error(transparent)]
    Access(#[from] FetchError),
}

impl Watch {
    pub fn start(plan: WatchPlan) -> Result<Watch, WatchError> {
        let shared = Arc::new(Shared {
            origin_monotonic_ns: plan.origin_monotonic_ns,
            writer: Mutex::new(Some(SampleWriter::create(&plan.samples)?)),
        });
        let mut watch = Watch {
            ends: Vec::new(),
            threads: Vec::new(),
            shared,
        };
        if let Some(url) = plan.metrics {
            let client = Client::for_server(plan.access, SCRAPE_LIMIT)?;
            watch.repeat(plan.every, move |shared| scrape(shared, &client, &url));
        }
        if !matches!(plan.devices, Devices::None) {
            let mut tool = None;
            watch.repeat(DEVICES_EVERY.max(plan.every), move |shared| {
                let tool = tool.get_or_insert_with(|| match &plan.devices {
                    Devices::None => None,
                    Devices::OfThisHost => DeviceTool::find(),
                });
                let devices = tool.as_ref().map_or(Vec::new(), DeviceTool::look);
                if !devices.is_empty() {
                    shared.store(&Sample {
                        at: shared.now(),
                        devices,
                        ..Sample::default()
                    });
                }
            });
        }
        let mut last = None;
        watch.repeat(plan.every, move |shared| {
            let text = |path| std::fs::read_to_string(path).unwrap_or_default();
            let times = read_cpu_times(&text("/proc/stat"));
            let mut host = read_memory(&text("/proc/meminfo"));
            host.cpu = times
                .zip(last)
                .and_then(|(now, last)| now.share_since(last));
            last = times;
            shared.store(&Sample {
                at: shared.now(),
                host: Some(host),
                ..Sample::default()
            });
        });
        Ok(watch)
    }

    fn repeat(&mut self, every: Duration, mut look: impl FnMut(&Shared) + Send + 'static) {
        let (end, ended): (Sender<()>, Receiver<()>) = mpsc::channel();
        let shared = Arc::clone(&self.shared);
        self.ends.push(end);
        self.threads.push(std::thread::spawn(move || {
            loop {
                let began = Instant::now();
                look(&shared);
                let rest = every.saturating_sub(began.elapsed());
                match ended.recv_timeout(rest) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            // One more, so that counters have a reading after the last request.
            look(&shared);
        }));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ends.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A look that gives nothing is missed; the next comes all the same.
fn scrape(shared: &Shared, client: &Client, url: &str) {
    let reply = client.get(url).ok().filter(|reply| reply.status == 200);
    let at = shared.now();
    if let Some(engine) = reply.and_then(|reply| engine_state(&reply.body)) {
        shared.store(&Sample {
            at,
            engine: Some(engine),
            ..Sample::default()
        });
    }
}
