//! From flags as given to settings as the engine would run with them, or its refusal.

use super::command::LaunchCommand;
use super::defaults::{DeviceClass, ModelLimits};
use super::refusal::{Refusal, Rule, Voice};
pub(super) use super::resolved::{Policy, ResolvedFlags, Speculative};
use super::{EngineKind, Version};

mod given;
mod llama;
mod sglang;
mod trtllm;
mod vllm;

pub(super) use vllm::block_unit;

/// Settings as this version of the engine would run with them on this device, or its refusal.
///
/// A custom command has no rules: its settings are vLLM's defaults, for lack of any other.
pub fn resolve(
    command: &LaunchCommand,
    version: Version,
    device: &DeviceClass,
    model: &ModelLimits,
) -> Result<ResolvedFlags, Refusal> {
    let voice = Voice {
        engine: command.engine,
        form: command.form,
        version,
    };
    let given = given::read(command, voice)?;
    match command.engine {
        EngineKind::Vllm | EngineKind::Custom => {
            vllm::resolve(command, given, voice, device, model)
        }
        EngineKind::Sglang => sglang::resolve(command, given, voice, device, model),
        EngineKind::Trtllm => trtllm::resolve(command, given, voice, model),
        EngineKind::LlamaServer => llama::resolve(command, given, voice, model),
        EngineKind::Mindie => Ok(super::mindie::Config::default().resolved(version)),
    }
}

fn served_names(given: &given::Given, flag: &str, model: &str) -> Vec<String> {
    match given.list(flag) {
        names if names.is_empty() => vec![model.to_owned()],
        names => names,
    }
}

fn no_model(voice: Voice, flag: &str) -> Refusal {
    voice.command(
        Rule::NoModel,
        flag,
        format!("the following arguments are required: --{flag}"),
    )
}

#[cfg(test)]
mod tests;
