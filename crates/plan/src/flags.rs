//! Flags as users name them for several engines at once: vLLM's names are understood by all.

use inferometer_catalog::engine::{EngineKind, LaunchCommand, command::CommandError};

/// A flag and its value; a switch has none.
pub type Flag = (String, Option<String>);

/// The name that an engine has for what vLLM calls `name`.
pub fn name_for(engine: EngineKind, name: &str) -> &str {
    match engine {
        EngineKind::Sglang => match name {
            "max-model-len" => "context-length",
            "gpu-memory-utilization" => "mem-fraction-static",
            "tensor-parallel-size" => "tp-size",
            "pipeline-parallel-size" => "pp-size",
            "data-parallel-size" => "dp-size",
            "max-num-seqs" => "max-running-requests",
            "max-num-batched-tokens" => "chunked-prefill-size",
            "block-size" => "page-size",
            "enforce-eager" => "disable-cuda-graph",
            other => other,
        },
        EngineKind::Mindie => match name {
            "max-model-len" => "maxSeqLen",
            "tensor-parallel-size" => "worldSize",
            "max-num-seqs" => "maxBatchSize",
            "max-num-batched-tokens" => "maxPrefillTokens",
            "block-size" => "cacheBlockSize",
            "gpu-memory-utilization" => "NPU_MEMORY_FRACTION",
            other => other,
        },
        EngineKind::Vllm | EngineKind::LlamaServer | EngineKind::Custom => name,
    }
}

/// The value of a flag under vLLM's name, the last one given.
pub fn value<'a>(flags: &'a [Flag], name: &str) -> Option<&'a str> {
    let found = flags.iter().rev().find(|(known, _)| known == name);
    found.and_then(|(_, value)| value.as_deref())
}

/// These flags with one more, in place of those of its name.
pub fn with(flags: &[Flag], name: &str, value: &str) -> Vec<Flag> {
    let kept = flags.iter().filter(|(known, _)| known != name).cloned();
    let more = (name.to_owned(), Some(value.to_owned()));
    kept.chain([more]).collect()
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
        EngineKind::Vllm | EngineKind::Mindie | EngineKind::Custom => &["vllm", "serve", model],
    };
    let mut command = LaunchCommand::parse(words)?;
    for (name, value) in flags {
        command.set(name_for(engine, name), value.as_deref());
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_serves_every_engine() {
        let flags = vec![("max-model-len".to_owned(), Some("4096".to_owned()))];
        let words = |engine| {
            command(engine, "qwen2.5-7b", &flags)
                .unwrap()
                .to_words()
                .join(" ")
        };
        assert!(words(EngineKind::Vllm).contains("--max-model-len 4096"));
        assert!(words(EngineKind::Sglang).contains("--context-length 4096"));
        assert_eq!(name_for(EngineKind::Mindie, "max-model-len"), "maxSeqLen");
    }

    #[test]
    fn a_flag_takes_the_place_of_its_name() {
        let flags = with(&with(&[], "max-num-seqs", "8"), "max-num-seqs", "16");
        assert_eq!(value(&flags, "max-num-seqs"), Some("16"));
        assert_eq!(flags.len(), 1);
    }
}
