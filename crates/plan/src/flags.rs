//! Flags as users name them for several engines at once: vLLM's names are understood by all.

use inferometer_catalog::engine::command::CommandError;
use inferometer_catalog::engine::{EngineKind, LaunchCommand, name_for};
use std::collections::BTreeMap;

/// A flag and its value; a switch has none.
pub type Flag = (String, Option<String>);

/// The value of a flag under vLLM's name, the last one given.
pub fn value<'a>(flags: &'a [Flag], name: &str) -> Option<&'a str> {
    let found = flags.iter().rev().find(|(known, _)| known == name);
    found.and_then(|(_, value)| value.as_deref())
}

/// Flags as files keep them: a switch is empty.
pub fn stored(flags: &[Flag]) -> BTreeMap<String, String> {
    let flags = flags.iter().cloned();
    flags
        .map(|(name, value)| (name, value.unwrap_or_default()))
        .collect()
}

pub fn restored(flags: &BTreeMap<String, String>) -> Vec<Flag> {
    let flags = flags.iter().map(|(name, value)| {
        let value = (!value.is_empty()).then(|| value.clone());
        (name.clone(), value)
    });
    flags.collect()
}

/// Cards that an engine with these flags takes.
pub fn cards(engine: EngineKind, flags: &[Flag]) -> u32 {
    let command = command(engine, "model", flags);
    let cards = command.map_or(1, |command| command.parallelism().cards());
    u32::try_from(cards).unwrap_or(u32::MAX)
}

/// The flag with which so many cards share every layer; absent where the flags say how the model
/// is divided.
pub fn shared_by(engine: EngineKind, flags: &[Flag], cards: u32) -> Option<Flag> {
    let divides = ["tensor", "pipeline", "data"].map(|how| format!("{how}-parallel-size"));
    let is_said = flags.iter().any(|(name, _)| {
        let mut own = divides.iter().map(|flag| name_for(engine, flag));
        own.any(|own| own == name_for(engine, name))
    });
    (!is_said).then(|| ("tensor-parallel-size".to_owned(), Some(cards.to_string())))
}

/// The command line that starts an engine with these flags.
pub fn command(
    engine: EngineKind,
    model: &str,
    flags: &[Flag],
) -> Result<LaunchCommand, CommandError> {
    let words: &[&str] = match engine {
        EngineKind::Sglang => &[
            "python",
            "-m",
            "sglang.launch_server",
            "--model-path",
            model,
        ],
        EngineKind::LlamaServer => &["llama-server", "-m", model],
        EngineKind::Mindie => &["mindieservice_daemon"],
        EngineKind::Trtllm => &["trtllm-serve", model],
        EngineKind::Vllm | EngineKind::Custom => &["vllm", "serve", model],
    };
    Ok(with_flags(LaunchCommand::parse(words)?, flags))
}

/// A command with these flags in place of its own.
pub fn with_flags(mut command: LaunchCommand, flags: &[Flag]) -> LaunchCommand {
    for (name, value) in flags {
        command.set(name_for(command.engine, name), value.as_deref());
    }
    command
}

/// The flags of a command that a scheduler may depend on.
pub fn flags_of(command: &LaunchCommand) -> Vec<Flag> {
    let about_serving = [
        "model",
        "model-path",
        "port",
        "host",
        "served-model-name",
        "api-key",
    ];
    let given = command.flags.iter().filter(|given| {
        given.known && given.key.is_none() && !about_serving.contains(&given.name.as_str())
    });
    given
        .map(|given| {
            let value = match (given.value(), given.on) {
                (Some(value), _) => Some(value.to_owned()),
                (None, true) => None,
                (None, false) => Some("false".to_owned()),
            };
            (given.name.clone(), value)
        })
        .collect()
}

/// Flags with values, as tests write them.
#[cfg(test)]
pub(crate) fn given(flags: &[(&str, &str)]) -> Vec<Flag> {
    let flags = flags.iter();
    flags
        .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_serves_every_engine() {
        let flags = given(&[("max-model-len", "4096")]);
        let words = |engine| {
            command(engine, "qwen2.5-7b", &flags)
                .unwrap()
                .to_words()
                .join(" ")
        };
        assert!(words(EngineKind::Vllm).contains("--max-model-len 4096"));
        assert!(words(EngineKind::Sglang).contains("--context-length 4096"));
        assert!(words(EngineKind::Trtllm).contains("--max_seq_len 4096"));
        assert!(words(EngineKind::Mindie).contains("--maxSeqLen 4096"));
    }

    #[test]
    fn a_flag_takes_the_place_of_its_name() {
        let flags = given(&[("max-num-seqs", "8"), ("max-num-seqs", "16")]);
        assert_eq!(value(&flags, "max-num-seqs"), Some("16"));
        let command = command(EngineKind::Sglang, "m", &flags).unwrap();
        let names: Vec<_> = command.flags.iter().map(|given| &*given.name).collect();
        assert_eq!(names, ["model-path", "max-running-requests"]);
    }
}
