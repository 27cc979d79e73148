//! What a server is configured with.

use std::{path::PathBuf, time::Duration};

use inferometer_catalog::engine::{EngineKind, Version};

use crate::{
    engine::{EngineConfig, Policy},
    fault::Faults,
    tls::Tls,
    tokenizer::Tokenizer,
};

/// How the simulated engine serves. No `Debug`: it may hold an API key.
#[derive(Clone)]
pub struct Config {
    /// The model's name, as `/v1/models` lists it and requests must give it.
    pub model: String,
    /// Further names that it serves, as an engine serves adapters.
    pub adapters: Vec<String>,
    /// Where set, a scheduler decides when tokens come, instead of the fixed times below.
    pub engine: Option<EngineSetup>,
    /// From the arrival of a request to its first token.
    pub ttft: Duration,
    /// From one token to the next.
    pub itl: Duration,
    /// Each of these times is drawn from ± this, never below zero.
    pub jitter: Duration,
    /// Of every random draw: jitter, lengths, words, faults.
    pub seed: u64,
    pub faults: Faults,
    /// Where to write what was really sent and when; an existing file is replaced.
    pub truth: Option<PathBuf>,
    /// Where set, requests must carry it as a bearer token.
    pub api_key: Option<String>,
    /// Prompt and asked output together may not exceed this many tokens. An engine's own limit
    /// takes its place.
    pub max_model_len: u32,
    /// What cuts prompts into tokens and makes the text of answers.
    pub tokenizer: Tokenizer,
    /// A path before every endpoint, as behind a gateway: `/team-a` serves
    /// `/team-a/v1/models`, and nothing else.
    pub path_prefix: Option<String>,
    /// Where set, the server speaks HTTPS.
    pub tls: Option<Tls>,
}

impl Config {
    /// Whether a request may name this model.
    pub(crate) fn serves(&self, model: &str) -> bool {
        model == self.model || self.adapters.iter().any(|adapter| adapter == model)
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            model: "sim".to_owned(),
            adapters: Vec::new(),
            engine: None,
            ttft: Duration::from_millis(200),
            itl: Duration::from_millis(20),
            jitter: Duration::ZERO,
            seed: 0,
            faults: Faults::default(),
            truth: None,
            api_key: None,
            max_model_len: 32_768,
            tokenizer: Tokenizer::default(),
            path_prefix: None,
            tls: None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct EngineSetup {
    pub config: EngineConfig,
    /// Whose endpoints, answers, errors and metrics it has.
    pub kind: EngineKind,
    /// The version that it says it is, which decides on the names of its metrics.
    pub version: Version,
    /// Where to write a line for each step; an existing file is replaced.
    pub steps: Option<PathBuf>,
    /// Where `/stop_profile` writes the trace of the steps since `/start_profile`. Without it
    /// there are no such endpoints, as in an engine that was started without a profiler.
    pub profile: Option<PathBuf>,
    /// Where spans of requests are sent, as a URL.
    pub otlp_traces: Option<String>,
}

impl EngineSetup {
    /// The newest version of the engine whose scheduler this is, without logs.
    pub fn new(config: EngineConfig) -> EngineSetup {
        let kind = match config.policy {
            Policy::Vllm(_) => EngineKind::Vllm,
            Policy::Mindie(_) => EngineKind::Mindie,
            Policy::Sglang(_) => EngineKind::Sglang,
            Policy::Trtllm(_) => EngineKind::Trtllm,
        };
        EngineSetup {
            config,
            kind,
            version: kind.newest(),
            steps: None,
            profile: None,
            otlp_traces: None,
        }
    }
}
