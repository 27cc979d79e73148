//! What an engine tells of itself while it starts.

use crate::log::excerpt;
use inferometer_catalog::engine::{EngineKind, Fact, read_line};
use inferometer_core::environment::StartedEngine;
use std::fs::File;
use std::io;
use std::path::Path;
use strum::VariantArray as _;

/// The engine that wrote a log, by what can be read of it, and its facts.
pub fn facts_of_log(path: &Path) -> io::Result<Option<(EngineKind, StartedEngine)>> {
    File::open(path)?;
    let lines = excerpt(path);
    let text = || lines.iter().map(String::as_str);
    let known = |engine: &EngineKind| {
        let facts = text().filter_map(|line| read_line(*engine, line));
        facts.count()
    };
    // Of those that know as many lines, `max_by_key` takes the last: the most usual.
    let engines = EngineKind::VARIANTS.iter().rev();
    let engine = engines.copied().max_by_key(known);
    let engine = engine.filter(|engine| known(engine) > 0);
    Ok(engine.map(|engine| (engine, read(engine, text()))))
}

fn read<'a>(engine: EngineKind, lines: impl Iterator<Item = &'a str>) -> StartedEngine {
    let mut facts = StartedEngine::default();
    for fact in lines.filter_map(|line| read_line(engine, line)) {
        take(&mut facts, &fact);
    }
    facts
}

/// Adds one fact. Of several workers the first counts for times, the largest for memory.
pub(crate) fn take(facts: &mut StartedEngine, fact: &Fact) {
    let most = |had: &mut Option<f64>, new: f64| *had = Some(had.map_or(new, |had| had.max(new)));
    match fact {
        Fact::Version(version) => {
            facts.version.get_or_insert_with(|| version.clone());
        }
        Fact::MaxModelLen { tokens } => facts.max_model_len = Some(*tokens),
        Fact::WeightsLoaded { gib, .. } => most(&mut facts.weights_gib, *gib),
        Fact::KvCacheMemory { gib } => most(&mut facts.kv_gib, *gib),
        Fact::KvCacheTokens { tokens } => facts.kv_tokens = Some(*tokens),
        Fact::MaxConcurrency { requests, .. } => facts.max_concurrency = Some(*requests),
        Fact::KvCacheCapacity {
            tokens, requests, ..
        } => {
            facts.kv_tokens = Some(*tokens);
            facts.max_concurrency = Some(*requests);
        }
        Fact::PoolSized {
            tokens,
            request_tokens,
            ..
        } => {
            facts.kv_tokens = Some(*tokens);
            facts.max_model_len = Some(*request_tokens);
        }
        Fact::Slots { slots, tokens } => {
            facts.max_model_len = Some(*tokens);
            facts.max_concurrency = Some(*slots as f64);
            facts.kv_tokens.get_or_insert(slots.saturating_mul(*tokens));
        }
        Fact::GraphsCaptured { seconds, .. } => most(&mut facts.graphs_s, *seconds),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_of_a_log_is_known_by_its_lines() {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/engine");
        let of = |file: &str| facts_of_log(&Path::new(fixtures).join(file));
        let (engine, facts) = of("vllm/start-cpu.log").unwrap().unwrap();
        assert_eq!(engine, EngineKind::Vllm);
        assert_eq!(facts.kv_tokens, Some(1_048_576));
        let (engine, _) = of("llama-server/start-cpu.log").unwrap().unwrap();
        assert_eq!(engine, EngineKind::LlamaServer);
        assert!(of("no-such.log").is_err());
    }

    #[test]
    fn facts_of_real_starts_are_read() {
        let log = include_str!("../../../fixtures/engine/vllm/start-cpu.log");
        let facts = read(EngineKind::Vllm, log.lines());
        assert_eq!(facts.version.as_deref(), Some("0.32.0"));
        assert_eq!(facts.kv_tokens, Some(1_048_576));
        assert_eq!(facts.max_model_len, Some(4096));
        assert_eq!(facts.graphs_s, None);
        let log = include_str!("../../../fixtures/engine/llama-server/start-cpu.log");
        let facts = read(EngineKind::LlamaServer, log.lines());
        assert_eq!(facts.max_concurrency, Some(4.0));
        assert_eq!(facts.kv_tokens, Some(16384));
    }
}
