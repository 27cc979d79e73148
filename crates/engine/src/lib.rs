//! Real engines: described, checked, started, watched and stopped. The only place of the project
//! that spawns them; the facts about them are in `catalog`.
//!
//! The flow is `words → Engine (probe, check) → Launch → Running → Stopped`, or a [`Failure`]
//! with its class and the lines of the log that say so. While a measurement runs, a [`Watch`]
//! stores what the server, its devices and its host say.

mod bounded_log;
mod config_file;
mod describe;
mod device;
mod exit;
mod facts;
mod failure;
mod host;
mod inquiry;
mod launch;
mod log;
mod metrics;
mod port;
mod probe;
mod processes;
mod profiler;
mod readiness;
mod registry;
mod rule;
mod running;
mod start;
mod supervisor;
mod supervisor_handle;
mod tool;
mod traces;
mod watch;

pub use config_file::{ConfigCopy, ConfigCopyError, changed_config};
pub use describe::{Engine, Objection};
pub use device::{DeviceTool, device_class, read_npu_smi, read_nvidia_smi};
pub use exit::Exit;
pub use facts::facts_of_log;
pub use failure::Failure;
pub use host::{CpuTimes, read_cpu_times, read_memory};
pub use inferometer_fetch::{Access, Client};
pub use launch::{Launch, LaunchTimeouts};
pub use log::{LogFollower, excerpt};
pub use metrics::{discover, engine_state};
pub use port::{free_port, is_listening};
pub use probe::{Help, Installed, Interview, probe};
pub use profiler::{ProfileError, Profiler};
pub use readiness::{Proof, Readiness};
pub use registry::{Leftover, LeftoverState, leftovers};
pub use rule::{BadRule, FlagRule};
pub use running::{MemoryAfter, Running, Stopped};
pub use start::{StartError, StartProgress};
pub use supervisor::{SUPERVISOR_WORD, StopSignal, Supervisor, supervise};
pub use traces::{TraceReceiver, TraceReceiverError, TraceReport};
pub use watch::{Devices, Watch, WatchError, WatchPlan};
