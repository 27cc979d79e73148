//! GPUs and NPUs as the tools of their drivers show them. Reading is a pure function of the
//! tool's text.

use crate::exit::Exit;
use crate::tool;
use inferometer_catalog::engine::{DeviceClass, DeviceKind};
use inferometer_core::server::DeviceState;
use inferometer_text::hostile::printable;
use std::time::Duration;

/// What `nvidia-smi` is asked for, in the order in which [`read_nvidia_smi`] takes it.
const QUERY: &str =
    "index,name,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,driver_version";

/// A driver that takes longer is stuck.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceTool {
    /// `nvidia-smi`, by this command.
    NvidiaSmi(Vec<String>),
    /// `npu-smi`, by this command.
    NpuSmi(Vec<String>),
}

impl DeviceTool {
    /// The tool of this host that works and shows a device.
    pub fn find() -> Option<DeviceTool> {
        let query = format!("--query-gpu={QUERY}");
        let nvidia = ["nvidia-smi", &query, "--format=csv,noheader,nounits"];
        let npu = ["npu-smi", "info"];
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        [
            DeviceTool::NvidiaSmi(words(&nvidia)),
            DeviceTool::NpuSmi(words(&npu)),
        ]
        .into_iter()
        .find(|tool| !tool.look().is_empty())
    }

    /// The devices now; none if the tool fails.
    pub fn look(&self) -> Vec<DeviceState> {
        let (DeviceTool::NvidiaSmi(words) | DeviceTool::NpuSmi(words)) = self;
        let Ok(output) = tool::run(words, &[], LIMIT) else {
            return Vec::new();
        };
        if output.exit != Some(Exit::Code(0)) {
            return Vec::new();
        }
        match self {
            DeviceTool::NvidiaSmi(_) => read_nvidia_smi(&output.stdout),
            DeviceTool::NpuSmi(_) => read_npu_smi(&output.stdout),
        }
    }

    /// Memory in use on all devices together, in MiB.
    pub fn memory_used_mib(&self) -> Option<f64> {
        let devices = self.look();
        let used = devices.iter().filter_map(|device| device.memory_used_mib);
        used.reduce(|sum, used| sum + used)
    }

    pub fn kind(&self) -> DeviceKind {
        match self {
            DeviceTool::NvidiaSmi(_) => DeviceKind::Gpu,
            DeviceTool::NpuSmi(_) => DeviceKind::Npu,
        }
    }
}

/// What defaults and refusals depend on, of devices that are alike.
pub fn device_class(kind: DeviceKind, devices: &[DeviceState]) -> Option<DeviceClass> {
    let first = devices.first()?;
    Some(DeviceClass {
        kind,
        name: first.name.clone(),
        memory_gib: first.memory_total_mib? / 1024.0,
        count: u32::try_from(devices.len()).ok()?,
    })
}

/// The devices in the text of `nvidia-smi --query-gpu=… --format=csv,noheader,nounits`.
pub fn read_nvidia_smi(text: &str) -> Vec<DeviceState> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        // `[N/A]` and `[Not Supported]` are not numbers, and become absent.
        let number = |at: usize| finite(fields.get(at)?);
        Some(DeviceState {
            index: fields.first()?.parse().ok()?,
            name: printable(fields.get(1)?, 80),
            driver: fields.get(7).and_then(|text| version(text)),
            busy: number(2).map(|percent| percent / 100.0),
            memory_used_mib: number(3),
            memory_total_mib: number(4),
            memory_system_mib: None,
            power_w: number(5),
            temperature_c: number(6),
        })
    };
    text.lines().filter_map(line).collect()
}

/// A version as a driver's tool writes it; what it does not know is no version.
fn version(text: &str) -> Option<String> {
    let is_version = text.starts_with(|c: char| c.is_ascii_digit());
    is_version.then(|| printable(text, 40))
}

/// The devices in the text of `npu-smi info`: a table with two lines per chip, and a table of
/// processes, whose memory taken off leaves what the system itself holds.
pub fn read_npu_smi(text: &str) -> Vec<DeviceState> {
    let mut devices: Vec<DeviceState> = Vec::new();
    let head = text.lines().find_map(|line| line.split_once("Version:"));
    let driver = head.and_then(|(_, rest)| version(rest.split_whitespace().next()?));
    // A chip's first line: NPU and name, health, power and temperature.
    let mut upper: Option<(u32, String, Vec<Option<f64>>)> = None;
    let mut in_processes = false;
    let mut held: Vec<(u32, u32, f64)> = Vec::new();
    let mut places: Vec<(u32, u32)> = Vec::new();
    for row in text.lines().filter(|row| row.trim_start().starts_with('|')) {
        let cells = row.trim().trim_matches('|').split('|');
        let cells: Vec<&str> = cells.map(str::trim).collect();
        if row.contains("Process id") || row.contains("Process memory") {
            in_processes = true;
            continue;
        }
        let first = cells.first().copied().unwrap_or_default();
        let first: Vec<&str> = first.split_whitespace().collect();
        let Some(number) = first.first().and_then(|word| word.parse::<u32>().ok()) else {
            continue;
        };
        if in_processes {
            let chip = first.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
            if let Some(memory) = cells.last().and_then(|cell| finite(cell)) {
                held.push((number, chip, memory));
            }
            continue;
        }
        // What a chip does not tell is a dash, and keeps its place.
        let numbers = |cell: usize| -> Vec<Option<f64>> {
            let cell = cells.get(cell).copied().unwrap_or_default();
            let words = cell.split(['/', ' ']).filter(|word| !word.is_empty());
            words.map(finite).collect()
        };
        match upper.take() {
            None => upper = Some((number, first.get(1).unwrap_or(&"").to_string(), numbers(2))),
            Some((npu, name, power_and_heat)) => {
                // AICore share, then memory as used and total; the last pair is the HBM.
                let last = numbers(2);
                let at = last.len().checked_sub(2).filter(|at| *at >= 1);
                let hbm = at.map(|at| &last[at..]);
                let busy = last.first().copied().flatten();
                places.push((npu, number));
                devices.push(DeviceState {
                    index: devices.len() as u32,
                    name: printable(&name, 80),
                    driver: driver.clone(),
                    busy: busy.map(|percent| percent / 100.0),
                    memory_used_mib: hbm.and_then(|pair| pair[0]),
                    memory_total_mib: hbm.and_then(|pair| pair[1]),
                    memory_system_mib: None,
                    power_w: power_and_heat.first().copied().flatten(),
                    temperature_c: power_and_heat.get(1).copied().flatten(),
                });
            }
        }
    }
    if in_processes {
        for (device, (npu, chip)) in devices.iter_mut().zip(&places) {
            let own = held.iter().filter(|(n, c, _)| (n, c) == (npu, chip));
            let processes: f64 = own.map(|(_, _, memory)| memory).sum();
            let used = device.memory_used_mib;
            device.memory_system_mib = used.map(|used| (used - processes).max(0.0));
        }
    }
    devices
}

fn finite(word: &str) -> Option<f64> {
    let number: f64 = word.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NPU: &str = "\
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.rc2                 Version: 24.1.rc2                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 97.5        48                0    / 0             |
| 0                         | 0000:C1:00.0  | 35          0    / 0          61234/ 65536         |
+===========================+===============+====================================================+
| 1     910B3               | OK            | 92.1        46                0    / 0             |
| 0                         | 0000:01:00.0  | 0           0    / 0          3367 / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 4711          | mindie_llm_back          | 57800                   |
| 0       0                 | 4712          | python3                  | 50                      |
+===========================+===============+====================================================+
| No running processes found in NPU 1                                                            |
+===========================+===============+====================================================+
";

    #[test]
    fn npus_are_read_with_what_the_system_itself_holds() {
        let devices = read_npu_smi(NPU);
        assert_eq!(devices.len(), 2);
        assert_eq!(devices[0].name, "910B3");
        assert_eq!(devices[1].driver.as_deref(), Some("24.1.rc2"));
        assert_eq!(devices[0].busy, Some(0.35));
        assert_eq!(devices[0].power_w, Some(97.5));
        assert_eq!(devices[0].temperature_c, Some(48.0));
        assert_eq!(devices[0].memory_used_mib, Some(61234.0));
        assert_eq!(devices[0].memory_system_mib, Some(61234.0 - 57850.0));
        assert_eq!(devices[1].memory_system_mib, Some(3367.0));
        let class = device_class(DeviceKind::Npu, &devices).unwrap();
        assert_eq!((class.count, class.memory_gib), (2, 64.0));
    }

    #[test]
    fn a_second_die_without_power_of_its_own_keeps_its_temperature() {
        let text = "\
| 0     Ascend910           | OK            | 171.2       36                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 12          0    / 0          3364 / 65536         |
| 0     Ascend910           | OK            | -           37                0    / 0             |
| 1     1                   | 0000:9F:00.0  | 0           0    / 0          2960 / 65536         |
";
        let devices = read_npu_smi(text);
        assert_eq!(devices.len(), 2);
        assert_eq!(devices[0].power_w, Some(171.2));
        assert_eq!(devices[1].power_w, None);
        assert_eq!(devices[1].temperature_c, Some(37.0));
        assert_eq!(devices[1].memory_used_mib, Some(2960.0));
    }

    #[test]
    fn gpus_are_read_and_what_they_do_not_support_is_absent() {
        let text = "0, NVIDIA H200, 37, 132456, 143771, 512.30, 61, 570.86.15\n1, NVIDIA H200, [N/A], 4, 143771, [Not Supported], 30, [N/A]\nNo devices\n";
        let devices = read_nvidia_smi(text);
        assert_eq!(devices.len(), 2);
        assert_eq!(devices[0].busy, Some(0.37));
        assert_eq!((devices[1].busy, devices[1].power_w), (None, None));
        let drivers = devices.iter().map(|device| device.driver.as_deref());
        assert_eq!(drivers.collect::<Vec<_>>(), [Some("570.86.15"), None]);
        assert_eq!(devices[1].memory_used_mib, Some(4.0));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "[ -~|\n/]{0,300}") {
            read_npu_smi(&text);
            read_nvidia_smi(&text);
        }
    }
}
