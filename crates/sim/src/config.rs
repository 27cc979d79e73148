//! What a server is configured with.

use std::{path::PathBuf, time::Duration};

use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_catalog::with_defaults;

use crate::{
    engine::{EngineConfig, Policy},
    fault::Faults,
    tls::Tls,
    tokenizer::Tokenizer,
};

with_defaults! {
    /// How the simulated engine serves. No `Debug`: it may hold an API key.
    #[derive(Clone)]
    pub struct Config {
        /// The model's name, as `/v1/models` lists it and requests must give it.
        pub model: String = "sim".to_owned(),
        /// Further names that it serves, as an engine serves adapters.
        pub adapters: Vec<String> = Vec::new(),
        /// Where set, a scheduler decides when tokens come, instead of the fixed times below.
        pub engine: Option<EngineSetup> = None,
        /// From the arrival of a request to its first token.
        pub ttft: Duration = Duration::from_millis(200),
        /// From one token to the next.
        pub itl: Duration = Duration::from_millis(20),
        /// Each of these times is drawn from ± this, never below zero.
        pub jitter: Duration = Duration::ZERO,
        /// Of every random draw: jitter, lengths, words, faults.
        pub seed: u64 = 0,
        pub faults: Faults = Faults::default(),
        /// Where to write what was really sent and when; an existing file is replaced.
        pub truth: Option<PathBuf> = None,
        /// Where set, requests must carry it as a bearer token.
        pub api_key: Option<String> = None,
        /// Prompt and asked output together may not exceed this many tokens. An engine's own limit
        /// takes its place.
        pub max_model_len: u32 = 32_768,
        /// What cuts prompts into tokens and makes the text of answers.
        pub tokenizer: Tokenizer = Tokenizer::default(),
        /// A path before every endpoint, as behind a gateway: `/team-a` serves
        /// `/team-a/v1/models`, and nothing else.
        pub path_prefix: Option<String> = None,
        /// Where set, the server speaks HTTPS.
        pub tls: Option<Tls> = None,
    }
}

impl Config {
    /// Whether a request may name this model.
    pub(crate) fn serves(&self, model: &str) -> bool {
        model == self.model || self.adapters.iter().any(|adapter| adapter == model)
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
