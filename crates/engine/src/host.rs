//! The host's CPU and memory, from the text of `/proc`.

use inferometer_core::server::HostState;

/// CPU time of all cores since boot, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    pub busy: u64,
    pub total: u64,
}

impl CpuTimes {
    /// Share of the time since `earlier` in which cores were busy.
    pub fn share_since(self, earlier: CpuTimes) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total);
        let total = total.filter(|total| *total > 0)?;
        let busy = self.busy.saturating_sub(earlier.busy);
        Some((busy as f64 / total as f64).min(1.0))
    }
}

/// The first line of `/proc/stat`.
pub fn read_cpu_times(text: &str) -> Option<CpuTimes> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks = line.split_whitespace();
    let ticks: Vec<u64> = ticks.filter_map(|tick| tick.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest time is in user already.
    let counted = ticks.iter().take(8);
    let total = counted.fold(0, |sum: u64, tick| sum.saturating_add(*tick));
    let idle = ticks.get(3)?.saturating_add(*ticks.get(4)?);
    Some(CpuTimes {
        busy: total.saturating_sub(idle),
        total,
    })
}

/// Memory in use and in all, from `/proc/meminfo`; the CPU share is left open.
pub fn read_memory(text: &str) -> HostState {
    let kib = |name: &str| -> Option<f64> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let total = kib("MemTotal");
    let used = total
        .zip(kib("MemAvailable"))
        .map(|(total, free)| (total - free).max(0.0));
    HostState {
        cpu: None,
        memory_used_mib: used.map(|kib| kib / 1024.0),
        memory_total_mib: total.map(|kib| kib / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_and_memory_are_read() {
        let before = read_cpu_times("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2\n").unwrap();
        let after = read_cpu_times("cpu  150 0 150 750 100 0 0 0 50 0\n").unwrap();
        assert_eq!(
            before,
            CpuTimes {
                busy: 200,
                total: 1000
            }
        );
        assert_eq!(after.share_since(before), Some(100.0 / 150.0));
        assert_eq!(before.share_since(before), None);
        let memory = read_memory("MemTotal: 2048 kB\nMemFree: 1 kB\nMemAvailable:   1024 kB\n");
        assert_eq!(memory.memory_used_mib, Some(1.0));
        assert_eq!(memory.memory_total_mib, Some(2.0));
        assert_eq!(read_cpu_times(""), None);
        assert_eq!(read_memory("x").memory_used_mib, None);
    }
}
