//! The host that measures: facts, limits, wall time and randomness.

use inferometer_core::environment::Host;
use inferometer_core::note::Known;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::hash::{BuildHasher, Hasher};

pub fn host() -> Host {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    Host {
        system: format!("{} {}", text(name.sysname()), text(name.release())),
        architecture: text(name.machine()),
        cpu: cpu(),
        cores: cores(),
        open_files: getrlimit(Resource::Nofile).current,
    }
}

pub fn name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

fn cpu() -> Option<String> {
    let facts = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = facts
        .lines()
        .find(|line| line.starts_with("model name") || line.starts_with("Hardware"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

/// Files that a process needs beside its connections.
const OTHER_FILES: u64 = 64;

/// Raises the limit of open files to what the streams need, as far as the hard limit allows.
/// Says what a reader should know.
pub fn raise_open_files(streams: u64) -> Result<Option<Known>, String> {
    let needed = streams + OTHER_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else {
        return Ok(None);
    };
    if current >= needed {
        return Ok(None);
    }
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if hard < needed {
        return Err(format!(
            "{streams} streams need {needed} open files and this host allows {hard}; raise the hard limit (ulimit -Hn {needed}) or lower the concurrency"
        ));
    }
    limit.current = limit.maximum.or(Some(needed));
    match setrlimit(Resource::Nofile, limit) {
        Ok(()) => Ok(Some(Known::RaisedOpenFiles {
            from: current,
            to: limit.current.unwrap_or(needed),
        })),
        Err(error) => Err(format!(
            "{streams} streams need {needed} open files, and the limit of {current} cannot be raised ({error}); run ulimit -n {needed} first"
        )),
    }
}

/// A random number, new in every process.
pub fn random() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// Wall time, RFC 3339 with the local offset.
/// To the millisecond: runs that began in the same second keep their order.
pub fn now() -> String {
    jiff::Zoned::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.3f%:z")
        .to_string()
}

pub fn folder_time() -> String {
    jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string()
}

/// The time as engines write it into their logs.
pub fn log_time() -> String {
    jiff::Zoned::now().strftime("%m-%d %H:%M:%S").to_string()
}
