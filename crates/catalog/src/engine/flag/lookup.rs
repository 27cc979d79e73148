//! Which flag a word names.

use super::super::{EngineKind, Kind, Version};
use super::{Flag, table};
use crate::nearest::nearest;

/// What a word that begins with a dash means.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// A flag; `on` is false for its negative spelling.
    Found {
        /// The flag's place in its table.
        flag: &'static str,
        /// False for `--no-x`.
        on: bool,
    },
    Ambiguous(Vec<String>),
    Unknown,
}

/// Finds a flag by a spelling without its `=value`, as the engine would: vLLM and SGLang accept
/// any unambiguous beginning (run: `--max-num-seq 4` started vLLM 0.32), llama.cpp and click, which
/// reads TensorRT-LLM's, do not, and vLLM takes underscores for dashes.
pub fn lookup(engine: EngineKind, version: Option<Version>, spelled: &str) -> Lookup {
    let spelled = match engine {
        EngineKind::Vllm => dashed(spelled),
        _ => spelled.to_owned(),
    };
    let known = || {
        table(engine)
            .iter()
            .filter(|flag| version.is_none_or(|version| flag.known_in(version)))
    };
    for flag in known() {
        let negates = version.is_none_or(|version| flag.can_negate_in(engine, version));
        if let Some(on) = exact(flag, negates, &spelled) {
            return Lookup::Found {
                flag: &flag.name,
                on,
            };
        }
    }
    let whole_only = matches!(engine, EngineKind::LlamaServer | EngineKind::Trtllm);
    if whole_only || !spelled.starts_with("--") || spelled.len() < 3 {
        return Lookup::Unknown;
    }
    let mut matches: Vec<(String, &'static str, bool)> = Vec::new();
    for flag in known() {
        let name = format!("--{}", flag.name);
        let negative = format!("--no-{}", flag.name);
        if name.starts_with(&spelled) {
            matches.push((name, &flag.name, true));
        }
        let negates = version.is_none_or(|version| flag.can_negate_in(engine, version));
        if flag.kind == Kind::Switch && negates && negative.starts_with(&spelled) {
            matches.push((negative, &flag.name, false));
        }
        for alias in flag
            .aliases
            .iter()
            .filter(|alias| alias.starts_with(&spelled))
        {
            matches.push((alias.clone(), &flag.name, true));
        }
    }
    match matches.as_slice() {
        [] => Lookup::Unknown,
        [(_, flag, on)] => Lookup::Found { flag, on: *on },
        several => Lookup::Ambiguous(several.iter().map(|(name, ..)| name.clone()).collect()),
    }
}

fn exact(flag: &Flag, negates: bool, spelled: &str) -> Option<bool> {
    let bare = spelled.strip_prefix("--");
    if bare == Some(flag.name.as_str()) || flag.aliases.iter().any(|alias| alias == spelled) {
        return Some(true);
    }
    let switched_off = bare.and_then(|bare| bare.strip_prefix("no-")) == Some(flag.name.as_str());
    if (flag.kind == Kind::Switch && negates && switched_off)
        || flag.negative.iter().any(|n| n == spelled)
    {
        return Some(false);
    }
    None
}

/// Underscores become dashes up to the first dot, as vLLM does it.
fn dashed(spelled: &str) -> String {
    if !spelled.starts_with("--") {
        return spelled.to_owned();
    }
    let end = spelled.find('.').unwrap_or(spelled.len());
    format!("{}{}", spelled[..end].replace('_', "-"), &spelled[end..])
}

/// Known names nearest to a mistyped one, best first, at most three.
pub fn nearest_names(engine: EngineKind, version: Version, name: &str) -> Vec<&'static str> {
    let known = table(engine).iter().filter(|flag| flag.known_in(version));
    nearest(known.map(|flag| flag.name.as_str()), name)
}
