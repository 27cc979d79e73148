//! What engines call the settings that vLLM's flags name (data/engine/names.toml).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::super::EngineKind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    sglang: BTreeMap<String, String>,
    mindie: BTreeMap<String, String>,
    trtllm: BTreeMap<String, String>,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../data/engine/names.toml"))
        .expect("the shipped names parse")
});

/// The name that an engine has for what vLLM calls `name`; `name` itself where it has no other.
pub fn name_for(engine: EngineKind, name: &str) -> &str {
    let names = match engine {
        EngineKind::Sglang => &NAMES.sglang,
        EngineKind::Mindie => &NAMES.mindie,
        EngineKind::Trtllm => &NAMES.trtllm,
        EngineKind::Vllm | EngineKind::LlamaServer | EngineKind::Custom => return name,
    };
    names.get(name).map_or(name, String::as_str)
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn every_name_is_a_flag_of_its_engine() {
        let known = |engine, name: &str| table(engine).iter().any(|flag| flag.name == name);
        for (engine, names) in [
            (EngineKind::Sglang, &NAMES.sglang),
            (EngineKind::Trtllm, &NAMES.trtllm),
        ] {
            for (own, other) in names {
                assert!(known(EngineKind::Vllm, own), "{own}");
                assert!(known(engine, other), "{other}");
            }
        }
        assert_eq!(name_for(EngineKind::Mindie, "max-model-len"), "maxSeqLen");
        assert_eq!(name_for(EngineKind::Sglang, "dtype"), "dtype");
    }
}
