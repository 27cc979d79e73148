//! The processes of this host as `/proc` shows them, and signals to groups of them.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// Clock ticks from boot to its start: with the pid it names one process for good.
    pub started: u64,
    pub zombie: bool,
}

/// All that can be read now; processes that end meanwhile are left out.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(one).collect()
}

pub(crate) fn one(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    read_stat(&String::from_utf8_lossy(&stat))
}

fn read_stat(stat: &str) -> Option<Process> {
    // The name in parentheses may hold anything, parentheses too.
    let pid = stat.split('(').next()?.trim().parse().ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        group,
        started,
        zombie: matches!(state, "Z" | "X"),
    })
}

/// Living members of a group.
pub(crate) fn in_group(group: i32) -> Vec<Process> {
    let mut members = all();
    members.retain(|process| process.group == group && !process.zombie);
    members
}

/// Living descendants of a process, itself not among them.
pub(crate) fn below(root: i32) -> Vec<Process> {
    let everyone = all();
    let mut family = vec![root];
    let mut found: Vec<Process> = Vec::new();
    while let Some(parent) = family.pop() {
        for child in everyone.iter().filter(|process| process.parent == parent) {
            if found.iter().all(|had| had.pid != child.pid) {
                family.push(child.pid);
                found.push(*child);
            }
        }
    }
    found.retain(|process| !process.zombie);
    found
}

/// Sends a signal to a whole group; one that is already gone is not an error.
pub(crate) fn signal_group(group: i32, signal: Signal) {
    // 0 and 1 would mean ourselves or everybody.
    if group > 1
        && let Some(pid) = Pid::from_raw(group)
    {
        let _ = kill_process_group(pid, signal);
    }
}

/// Sends a signal to one process that is still the one that we looked at.
pub(crate) fn signal_one(process: &Process, signal: Signal) {
    let same = one(process.pid).is_some_and(|now| now.started == process.started);
    if same
        && process.pid > 1
        && let Some(pid) = Pid::from_raw(process.pid)
    {
        let _ = kill_process(pid, signal);
    }
}

/// Waits until something is true; false if the time is over first.
pub(crate) fn wait_until(limit: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if is_true() {
            return true;
        }
        if began.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// This boot of the host: ticks of another boot mean another process.
pub(crate) fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let stat = "77 (a) b (c) S 12 70 70 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2 3";
        let process = read_stat(stat).unwrap();
        assert_eq!(
            (process.pid, process.parent, process.group, process.started),
            (77, 12, 70, 4242)
        );
        for bad in ["", "77", "77 (x", "77 (x) S 1", ") 1"] {
            assert_eq!(read_stat(bad), None, "{bad}");
        }
    }

    #[test]
    fn we_find_ourselves() {
        let own = std::process::id() as i32;
        assert!(all().contains(&one(own).unwrap()));
    }
}
