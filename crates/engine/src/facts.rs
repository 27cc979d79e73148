//! What an engine tells of itself while it starts.

use crate::log::excerpt;
use inferometer_catalog::engine::{EngineKind, Fact, read_line};
use inferometer_core::environment::StartedEngine;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::path::Path;

/// Facts of a start, from the log and the metrics; absent where nothing says it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StartFacts {
    pub version: Option<String>,
    /// Memory of the weights on one device.
    pub weights_gib: Option<f64>,
    /// Memory for the KV cache on one device.
    pub kv_gib: Option<f64>,
    /// Tokens that the KV cache holds.
    pub kv_tokens: Option<u64>,
    /// How many of the longest requests fit at once.
    pub max_concurrency: Option<f64>,
    /// The length that it serves.
    pub max_model_len: Option<u64>,
    /// Seconds of the graph capture.
    pub graphs_s: Option<f64>,
    pub graphs_gib: Option<f64>,
    /// Seconds that the engine says it took to start, without the load of its program.
    pub engine_s: Option<f64>,
    /// Seconds from our start to the first good answer.
    pub ready_s: Option<f64>,
}

impl StartFacts {
    /// The engine that wrote a log, by what can be read of it, and its facts.
    pub fn of_log(path: &Path) -> io::Result<Option<(EngineKind, Self)>> {
        File::open(path)?;
        let lines = excerpt(path);
        let text = || lines.iter().map(String::as_str);
        let known = |engine: &EngineKind| {
            let facts = text().filter_map(|line| read_line(*engine, line));
            facts.count()
        };
        // Of those that know as many lines, `max_by_key` takes the last.
        let engines = [
            EngineKind::Mindie,
            EngineKind::LlamaServer,
            EngineKind::Sglang,
            EngineKind::Vllm,
        ];
        let engine = engines.into_iter().max_by_key(known);
        let engine = engine.filter(|engine| known(engine) > 0);
        Ok(engine.map(|engine| (engine, Self::read(engine, text()))))
    }

    pub fn read<'a>(engine: EngineKind, lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut facts = Self::default();
        for line in lines {
            if let Some(fact) = read_line(engine, line) {
                facts.take(&fact);
            }
        }
        facts
    }

    pub fn fill_in(&self, engine: StartedEngine) -> StartedEngine {
        StartedEngine {
            start_s: self.ready_s,
            weights_gib: self.weights_gib,
            kv_gib: self.kv_gib,
            kv_tokens: self.kv_tokens,
            max_concurrency: self.max_concurrency,
            max_model_len: self.max_model_len,
            graphs_s: self.graphs_s,
            ..engine
        }
    }

    /// Adds one fact. Of several workers the first counts for times, the largest for memory.
    pub fn take(&mut self, fact: &Fact) {
        let most =
            |had: &mut Option<f64>, new: f64| *had = Some(had.map_or(new, |had| had.max(new)));
        match fact {
            Fact::Version(version) => {
                self.version.get_or_insert_with(|| version.clone());
            }
            Fact::MaxModelLen { tokens } => self.max_model_len = Some(*tokens),
            Fact::WeightsLoaded { gib, .. } => most(&mut self.weights_gib, *gib),
            Fact::KvCacheMemory { gib } => most(&mut self.kv_gib, *gib),
            Fact::KvCacheTokens { tokens } => self.kv_tokens = Some(*tokens),
            Fact::MaxConcurrency { requests, .. } => self.max_concurrency = Some(*requests),
            Fact::KvCacheCapacity {
                tokens, requests, ..
            } => {
                self.kv_tokens = Some(*tokens);
                self.max_concurrency = Some(*requests);
            }
            Fact::PoolSized {
                tokens,
                request_tokens,
                ..
            } => {
                self.kv_tokens = Some(*tokens);
                self.max_model_len = Some(*request_tokens);
            }
            Fact::Slots { slots, tokens } => {
                self.max_model_len = Some(*tokens);
                self.max_concurrency = Some(*slots as f64);
                self.kv_tokens.get_or_insert(slots.saturating_mul(*tokens));
            }
            Fact::GraphsCaptured { seconds, gib } => {
                most(&mut self.graphs_s, *seconds);
                if let Some(gib) = gib {
                    most(&mut self.graphs_gib, *gib);
                }
            }
            Fact::EngineStarted { seconds } => self.engine_s = Some(*seconds),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_of_a_log_is_known_by_its_lines() {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/engine");
        let of = |file: &str| StartFacts::of_log(&Path::new(fixtures).join(file));
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
        let facts = StartFacts::read(EngineKind::Vllm, log.lines());
        assert_eq!(facts.version.as_deref(), Some("0.32.0"));
        assert_eq!(facts.kv_tokens, Some(1_048_576));
        assert_eq!(
            (facts.max_model_len, facts.engine_s),
            (Some(4096), Some(0.63))
        );
        assert_eq!(facts.graphs_s, None);
        let log = include_str!("../../../fixtures/engine/llama-server/start-cpu.log");
        let facts = StartFacts::read(EngineKind::LlamaServer, log.lines());
        assert_eq!(
            (facts.max_concurrency, facts.kv_tokens),
            (Some(4.0), Some(16384))
        );
    }
}
