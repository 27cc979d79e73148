//! What an engine inherits of our environment, as far as that must be known before its start.

use crate::session::Session;
use inferometer_catalog::engine::{DeviceKind, LaunchCommand};
use std::collections::BTreeMap;

/// With these a rule of vLLM does not hold.
const LIFTING: [&str; 1] = ["VLLM_ALLOW_LONG_MAX_MODEL_LEN"];

/// A command that knows what it inherits; its words stay the same.
pub fn with_inherited(mut command: LaunchCommand, session: &Session) -> LaunchCommand {
    for name in LIFTING {
        let is_given = command.environment.iter().any(|(given, _)| given == name);
        if let Some(value) = session.variables.get(name)
            && !is_given
        {
            command.environment.push((name.to_owned(), value.clone()));
        }
    }
    command
}

/// The variable that restricts an engine to some of the host's devices.
pub fn device_variable(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Npu => "ASCEND_RT_VISIBLE_DEVICES",
        DeviceKind::Gpu | DeviceKind::Cpu => "CUDA_VISIBLE_DEVICES",
    }
}

/// The devices that an engine of this command may use, as the variable names them: those of the
/// command, else those that we were given ourselves, else all that are `present`.
pub fn visible_devices(
    command: &LaunchCommand,
    kind: DeviceKind,
    present: &[u32],
    inherited: &BTreeMap<String, String>,
) -> Vec<String> {
    let name = device_variable(kind);
    let own = command
        .environment
        .iter()
        .rev()
        .find(|(own, _)| own == name);
    let given = own.map(|(_, value)| value).or_else(|| inherited.get(name));
    visible(given.map(String::as_str), present)
}

fn visible(given: Option<&str>, present: &[u32]) -> Vec<String> {
    let Some(given) = given else {
        return present.iter().map(ToString::to_string).collect();
    };
    // A place that is not there hides itself and all behind it; names such as GPU-8932 are taken
    // at their word.
    let is_there = |name: &&str| match name.parse::<i64>() {
        Ok(place) => u32::try_from(place).is_ok_and(|place| present.contains(&place)),
        Err(_) => !name.is_empty(),
    };
    let names = given.split(',').map(str::trim);
    names.take_while(is_there).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_devices_that_the_user_has_are_taken() {
        let present = [0, 1, 2, 3];
        assert_eq!(visible(None, &present), ["0", "1", "2", "3"]);
        assert_eq!(visible(Some("2, 3"), &present), ["2", "3"]);
        assert_eq!(visible(Some("3,9,1"), &present), ["3"]);
        assert_eq!(visible(Some("GPU-8932,1"), &present), ["GPU-8932", "1"]);
        for none in ["", "-1"] {
            assert!(visible(Some(none), &present).is_empty(), "{none}");
        }
    }

    #[test]
    fn the_commands_own_word_counts_before_ours() {
        let command = LaunchCommand::parse_line("CUDA_VISIBLE_DEVICES=1 vllm serve m").unwrap();
        let ours = BTreeMap::from([("CUDA_VISIBLE_DEVICES".to_owned(), "0".to_owned())]);
        assert_eq!(
            visible_devices(&command, DeviceKind::Gpu, &[0, 1], &ours),
            ["1"]
        );
    }
}
