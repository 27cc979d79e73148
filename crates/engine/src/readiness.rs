//! When an engine is ready.

use crate::http::{Client, origin};
use inferometer_catalog::engine::{EngineKind, ready_line};

/// What must hold before an engine counts as ready: all that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Paths on the measured server, or whole addresses: one of them answers 200.
    pub probes: Vec<String>,
    /// A piece of a line that its log must have.
    pub line: Option<String>,
}

impl Readiness {
    /// As each engine shows it.
    pub fn of(engine: EngineKind) -> Self {
        let probes: &[&str] = match engine {
            EngineKind::Vllm | EngineKind::LlamaServer | EngineKind::Sglang => &["/health"],
            EngineKind::Mindie => &["/v1/models", "/health", "/v2/health/ready"],
            EngineKind::Custom => &["/health", "/v1/models"],
        };
        // These two answer probes before they have warmed up.
        let has_line = matches!(engine, EngineKind::Sglang | EngineKind::Mindie);
        Readiness {
            probes: probes.iter().map(|path| (*path).to_owned()).collect(),
            line: ready_line(engine).filter(|_| has_line).map(str::to_owned),
        }
    }

    /// Does a probe answer? True without any.
    pub(crate) fn answers(&self, client: &Client, url: &str) -> bool {
        let good = |probe: &String| {
            let address = match probe.contains("://") {
                true => probe.clone(),
                false => format!("{}{probe}", origin(url).unwrap_or(url)),
            };
            client.get(&address).is_ok_and(|reply| reply.status == 200)
        };
        self.probes.is_empty() || self.probes.iter().any(good)
    }
}
