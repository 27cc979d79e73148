//! What an engine tells of itself while it starts.

use inferometer_catalog::engine::{EngineKind, Fact, read_line};
use serde::Serialize;
use std::time::Duration;

/// Facts of a start, from the log and the metrics; what was not said is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StartFacts {
    /// The engine's version.
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
    /// Memory of the graphs.
    pub graphs_gib: Option<f64>,
    /// Seconds that the engine says it took to start, without the load of its program.
    pub engine_s: Option<f64>,
    /// Seconds from our start to the first good answer.
    pub ready_s: Option<f64>,
}

impl StartFacts {
    /// Facts of a whole log.
    pub fn read<'a>(engine: EngineKind, lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut facts = Self::default();
        for line in lines {
            if let Some(fact) = read_line(engine, line) {
                facts.take(&fact);
            }
        }
        facts
    }

    /// Lays one fact in. Of several workers the first counts for times, the largest for memory.
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

    /// Time from our start to the first good answer.
    pub(crate) fn ready_after(&mut self, span: Duration) {
        self.ready_s = Some(span.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
