//! Real engines: described, checked, started, watched and stopped. The only place of the project
//! that spawns them; the facts about them are in `catalog`.
//!
//! The flow is `words → Engine (probe, check) → Launch → Running → Stopped`, or a [`Failure`]
//! with its class and the lines of the log that say so. While a measurement runs, a [`Watch`]
//! stores what the server, its devices and its host say.

mod config_file;
mod describe;
mod device;
mod exit;
mod facts;
mod failure;
mod host;
mod http;
mod inquiry;
mod launch;
mod leash;
mod log;
mod metrics;
mod probe;
mod processes;
mod profiler;
mod readiness;
mod registry;
mod rule;
mod running;
mod supervisor;
mod tool;
mod watch;

pub use config_file::{ConfigCopy, ConfigCopyError, changed_config};
pub use describe::{Engine, Objection};
pub use device::{DeviceTool, device_class, read_npu_smi, read_nvidia_smi};
pub use exit::Exit;
pub use facts::StartFacts;
pub use failure::Failure;
pub use host::{CpuTimes, read_cpu_times, read_memory};
pub use http::{Access, Client, HttpError, Reply};
pub use launch::{
    Launch, Patience, Progress, StartError, Supervisor, Wrapper, free_port, is_listening,
};
pub use log::{LogFollower, excerpt};
pub use metrics::{discover, engine_state};
pub use probe::{Help, Installed, Interview, probe};
pub use profiler::{ProfileError, Profiler};
pub use readiness::{Proof, Readiness};
pub use registry::{Leftover, LeftoverState, leftovers, without_secrets};
pub use rule::{BadRule, FlagRule};
pub use running::{MemoryAfter, Running, Stopped};
pub use supervisor::{SUPERVISOR_WORD, StopSignal, supervise};
pub use watch::{Devices, Watch, WatchError, WatchPlan, WatchReport};
